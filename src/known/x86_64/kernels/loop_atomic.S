/* loop_atomic: what the report's bump allocator does, with the loop's end 5 instructions. */
//@ about the report's bump allocator: lock xadd
//@ loops 1000000
#include "section.inc"
	KERNEL	loop_atomic
	BODY
	CASE
	movl	$16, %eax
	lock xaddq %rax, (%rsi)			//= load store lock
	leaq	16(%rax), %rdx
	BODY_END
	RETURN
	IMAGE
	KERNEL_END loop_atomic
