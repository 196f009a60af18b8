/* string: cmps lods movs scas stos, alone and with rep, repe, repne. A repeated
 * one is one instruction whatever rcx, 0 included. cmps is one load. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	from(%rip), %r8
	leaq	to(%rip), %r9
	xorl	%eax, %eax
1:
//@ loop LOOPS
	movq	%r8, %rsi
	movq	%r9, %rdi
	.irp	w, b, w, l, q
	movs\w				//= load store
	cmps\w				//= load
	lods\w				//= load
	stos\w				//= store
	scas\w				//= load
	.endr
	/* the accumulator must not match what repne scas meets, see below */
	xorl	%eax, %eax
	.irp	n, 0, 1, 100
	.irp	w, b, w, l, q
	movl	$\n, %ecx
	movq	%r8, %rsi
	movq	%r9, %rdi
	rep movs\w			//= load store
	movl	$\n, %ecx
	movq	%r9, %rdi
	rep stos\w			//= store
	movl	$\n, %ecx
	movq	%r8, %rsi
	rep lods\w			//= load
	xorl	%eax, %eax
	movl	$\n, %ecx
	movq	%r9, %rdi
	repe scas\w			//= load
	movl	$\n, %ecx
	movq	%r8, %rdi
	repne scas\w			//= load
	movl	$\n, %ecx
	movq	%r8, %rsi
	movq	%r8, %rdi
	repe cmps\w			//= load
	movl	$\n, %ecx
	movq	%r8, %rsi
	movq	%r9, %rdi
	repne cmps\w			//= load
	.endr
	.endr
	/* address size 32, segment override, backwards */
	movl	$10, %ecx
	movq	%r8, %rsi
	movq	%r9, %rdi
	addr32 rep movsb		//= load store
	movl	$10, %ecx
	movq	%r8, %rsi
	movq	%r9, %rdi
	rep movsb %fs:(%rsi), %es:(%rdi)	//= load store
	movl	$10, %ecx
	leaq	100(%r8), %rsi
	leaq	100(%r9), %rdi
	std
	rep movsb			//= load store
	cld
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	/* what the last copy left behind, and the registers after it */
	leaq	90(%r8), %rax
	cmpq	%rax, %rsi
	jne	failed			//= cond
	testq	%rcx, %rcx
	jne	failed			//= cond
	EXIT
	FAILED
	.data
	.balign	64
from:	.fill	1024, 1, 0x11
to:	.fill	1024, 1, 0x22
