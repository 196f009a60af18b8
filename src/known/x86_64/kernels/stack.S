/* stack: push, pop, enter, leave in all forms. The counter is %r12, because enter uses %rbp. */
//@ about push pop enter leave in all forms
//@ loops 150000
#include "section.inc"
	KERNEL	stack, counter=r12
	movq	%rsp, %rbp
	BODY
	.irp	reg, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
	CASE
	pushq	%\reg				//= store
	popq	%\reg				//= load
	.endr
	CASE
	pushw	%ax				//= store
	popw	%ax				//= load
	CASE
	pushq	$1				//= store
	popq	%rax				//= load
	CASE
	pushq	$0x12345678			//= store
	popq	%rax				//= load
	CASE
	pushw	$0x1234				//= store
	popw	%ax				//= load
	CASE
	pushq	(%rsi)				//= load store
	popq	8(%rsi)				//= load store
	CASE
	pushq	cells(%rip)			//= load store
	popq	cells+8(%rip)			//= load store
	CASE
	pushw	(%rsi)				//= load store
	popw	8(%rsi)				//= load store
	/* push and pop of the stack pointer, and relative to it */
	CASE
	pushq	%rsp				//= store
	popq	%rax				//= load
	subq	%rsp, %rax
	jnz	failed				//= cond
	CASE
	pushq	$7				//= store
	pushq	(%rsp)				//= load store
	popq	(%rsp)				//= load store
	popq	%rax				//= load
	cmpl	$7, %eax
	jne	failed				//= cond
	CASE
	pushq	%rsp				//= store
	popq	%rsp				//= load
	CASE
	pushq	%fs				//= store
	popq	%rax				//= load
	CASE
	pushq	%gs				//= store
	popq	%rax				//= load
	CASE
	pushfq					//= store
	popfq					//= load
	CASE
	enter	$16, $0				//= store
	leave					//= load
	CASE
	enter	$0, $0				//= store
	leave					//= load
	BODY_END counter=r12
	RETURN
	FAILED
	IMAGE
	.quad	1, 2
	KERNEL_END stack
	CELLS	stack
	.quad	1, 2
	CELLS_END stack
