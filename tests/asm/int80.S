/* int80: the 32-bit gate used from 64-bit code: 32-bit call numbers. */
//@ kernel int 0x80 (CONFIG_IA32_EMULATION)
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
1:
//@ loop LOOPS
	movl	$39, %eax
	syscall				//= syscall
	movl	%eax, %r12d
	movl	$20, %eax		// getpid there
	int	$0x80			//= syscall
	cmpl	%r12d, %eax
	jne	failed			//= cond
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	FAILED
