/* xsave: the state of x87 and SSE (and AVX, where it is) saved and restored by each instruction
 * of the family that user mode has. The area begins 16 KB into the memory. */
//@ about xgetbv, xsave xsaveopt xsavec and xrstor, 32- and 64-bit forms
//@ loops 50000
//@ need xsave xsaveopt xsavec
#include "section.inc"
	KERNEL	xsave
	leaq	16384(%rsi), %rdi
	BODY
	CASE
	xorl	%ecx, %ecx
	xgetbv
	.irp	op, xsave, xsave64, xsaveopt, xsaveopt64
	CASE
	movl	$7, %eax
	xorl	%edx, %edx
	movq	$0, 520(%rdi)			//= store
	movq	$0, 528(%rdi)			//= store
	\op	(%rdi)				//= store
	movl	$7, %eax
	xorl	%edx, %edx
	xrstor	(%rdi)				//= load
	.endr
	.irp	op, xsavec, xsavec64
	CASE
	movl	$7, %eax
	xorl	%edx, %edx
	movq	$0, 528(%rdi)			//= store
	\op	(%rdi)				//= store
	xrstor64 (%rdi)				//= load
	.endr
	BODY_END
	RETURN
	IMAGE
	KERNEL_END xsave
