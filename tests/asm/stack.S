/* stack: push, pop, enter, leave in all forms. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebx
	leaq	data(%rip), %rsi
	movq	%rsp, %rbp
1:
//@ loop LOOPS
	.irp	reg, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
	pushq	%\reg			//= store
	popq	%\reg			//= load
	.endr
	pushw	%ax			//= store
	popw	%ax			//= load
	pushq	$1			//= store
	popq	%rax			//= load
	pushq	$0x12345678		//= store
	popq	%rax			//= load
	pushw	$0x1234			//= store
	popw	%ax			//= load
	pushq	(%rsi)			//= load store
	popq	8(%rsi)			//= load store
	pushq	data(%rip)		//= load store
	popq	data+8(%rip)		//= load store
	pushw	(%rsi)			//= load store
	popw	8(%rsi)			//= load store
	/* push and pop of the stack pointer, and relative to it */
	pushq	%rsp			//= store
	popq	%rax			//= load
	subq	%rsp, %rax
	jnz	failed			//= cond
	pushq	$7			//= store
	pushq	(%rsp)			//= load store
	popq	(%rsp)			//= load store
	popq	%rax			//= load
	cmpl	$7, %eax
	jne	failed			//= cond
	pushq	%rsp			//= store
	popq	%rsp			//= load
	pushq	%fs			//= store
	popq	%fs			//= load
	pushq	%gs			//= store
	popq	%rax			//= load
	pushfq				//= store
	popfq				//= load
	enter	$16, $0			//= store
	leave				//= load
	enter	$0, $0			//= store
	leave				//= load
	decl	%ebx
	jnz	1b			//= cond loop
//@ end
	EXIT
	FAILED
	.data
	.balign	8
data:	.quad	1, 2
