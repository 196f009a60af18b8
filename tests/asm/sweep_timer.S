/* sweep_timer: signals from an interval timer, wherever they hit. */
#include "kernel.inc"
#define RETURNS HITS
	.globl	_start
_start:
	movl	$39, %eax
	syscall				//= syscall
	movl	%eax, %r15d
	SIGACTION 14, handler
	movl	$38, %eax		// setitimer(REAL)
	xorl	%edi, %edi
	leaq	timer(%rip), %rsi
	xorl	%edx, %edx
	syscall				//= syscall
	xorl	%r14d, %r14d
	.data
	.balign	8
timer:	.quad	0, 1000, 0, 1000
	.text
#include "sweep.inc"
