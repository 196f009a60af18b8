/* vsyscall: a call into the vsyscall page is emulated by the kernel. The call
 * retires; in the page nothing does. */
//@ kernel vsyscall page
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
1:
//@ loop LOOPS
	movq	$0xffffffffff600400, %rax	// time
	xorl	%edi, %edi
	call	*%rax			//= icall
	movq	%rax, %rbx
	movq	$0xffffffffff600000, %rax	// gettimeofday
	xorl	%edi, %edi
	xorl	%esi, %esi
	call	*%rax			//= icall
	testq	%rax, %rax
	jnz	failed			//= cond
	movq	$0xffffffffff600800, %rax	// getcpu
	xorl	%edi, %edi
	xorl	%esi, %esi
	call	*%rax			//= icall
	nop
	testq	%rbx, %rbx
	jz	failed			//= cond
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	FAILED
