/* loop_plain: the report's loop without an access to memory; with the loop's end 5 instructions. */
//@ about the report's plain loop
//@ loops 1000000
#include "section.inc"
	KERNEL	loop_plain
	BODY
	CASE	add	x3, x3, #1
	CASE	add	x4, x3, #16
	CASE	nop
	BODY_END
	RETURN
	IMAGE
	KERNEL_END loop_plain
