/* sweep_step: signals injected from outside (tests/tool/sweeper.c) after every
 * number of single steps. Says its pid first. */
#include "kernel.inc"
#define RETURNS HITS
	.globl	_start
_start:
	movl	$39, %eax
	syscall				//= syscall
	movl	%eax, %r15d
	SIGACTION 10, handler, 0x04000004	// not within itself: steps can be slower than signals
	movq	%r15, passes(%rip)	//= store
	movl	$1, %eax
	movl	$1, %edi
	leaq	passes(%rip), %rsi
	movl	$8, %edx
	syscall				//= syscall
	xorl	%r14d, %r14d
#include "sweep.inc"
