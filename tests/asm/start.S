/* A kernel of src/known as a program: runs its loop LOOPS times. */
#include "kernel.inc"
	.globl	_start
_start:
	/* arch_prctl(ARCH_SET_FS): as a C library does, the first word there is its own address */
	movl	$158, %eax
	movl	$0x1002, %edi
	leaq	thread(%rip), %rsi
	movq	%rsi, (%rsi)		//= store
	syscall				//= syscall
	movl	$LOOPS, %edi
	leaq	memory(%rip), %rsi
	call	KERNEL			//= call
	EXIT
	.section .note.GNU-stack, "", @progbits
	.bss
	.balign	4096
thread:	.skip	4096
memory:	.skip	65536
