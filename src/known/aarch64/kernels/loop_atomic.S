/* loop_atomic: what the report's bump allocator does, with the loop's end 5 instructions. */
//@ about the report's bump allocator: ldadd
//@ loops 1000000
//@ need atomics
	.arch	armv8-a+lse
#include "section.inc"
	KERNEL	loop_atomic
	BODY
	CASE
	mov	x3, #16
	ldadd	x3, x4, [x20]			//= load store lock
	add	x5, x4, #16
	BODY_END
	RETURN
	IMAGE
	KERNEL_END loop_atomic
