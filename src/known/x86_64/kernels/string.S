/* string: cmps lods movs scas stos, alone and with rep, repe, repne. A repeated one is one
 * instruction whatever rcx, 0 included. cmps is one load. Every case sets %rsi and %rdi; %r8 and
 * %r9 are the memory and 1024 bytes behind. */
//@ about movs cmps lods stos scas, alone and with rep repe repne; 0, 1 and 100 elements
//@ loops 20000
#include "section.inc"
	KERNEL	string
	movq	%rsi, %r8
	leaq	1024(%rsi), %r9
	/* zeros, to be compared with */
	xorl	%eax, %eax
	leaq	2048(%rsi), %rdi
	movl	$128, %ecx
	rep stosq				//= store
	BODY
	.irp	w, b, w, l, q
	CASE
	movq	%r8, %rsi
	movq	%r9, %rdi
	movs\w					//= load store
	CASE
	movq	%r8, %rsi
	movq	%r9, %rdi
	cmps\w					//= load
	CASE
	movq	%r8, %rsi
	movq	%r9, %rdi
	lods\w					//= load
	CASE
	movq	%r8, %rsi
	movq	%r9, %rdi
	stos\w					//= store
	CASE
	movq	%r8, %rsi
	movq	%r9, %rdi
	scas\w					//= load
	.endr
	.irp	n, 0, 1, 100
	.irp	w, b, w, l, q
	CASE
	movl	$\n, %ecx
	movq	%r8, %rsi
	movq	%r9, %rdi
	rep movs\w				//= load store
	CASE
	xorl	%eax, %eax
	movl	$\n, %ecx
	movq	%r9, %rdi
	rep stos\w				//= store
	CASE
	movl	$\n, %ecx
	movq	%r8, %rsi
	rep lods\w				//= load
	/* all elements match, none does, the first one ends it */
	CASE
	xorl	%eax, %eax
	movl	$\n, %ecx
	leaq	2048(%r8), %rdi
	repe scas\w				//= load
	CASE
	xorl	%eax, %eax
	movl	$\n, %ecx
	movq	%r8, %rdi
	repne scas\w				//= load
	CASE
	xorl	%eax, %eax
	movl	$\n, %ecx
	movq	%r8, %rdi
	repe scas\w				//= load
	CASE
	xorl	%eax, %eax
	movl	$\n, %ecx
	leaq	2048(%r8), %rdi
	repne scas\w				//= load
	CASE
	movl	$\n, %ecx
	movq	%r8, %rsi
	movq	%r8, %rdi
	repe cmps\w				//= load
	CASE
	movl	$\n, %ecx
	movq	%r8, %rsi
	leaq	2048(%r8), %rdi
	repne cmps\w				//= load
	CASE
	movl	$\n, %ecx
	movq	%r8, %rsi
	leaq	2048(%r8), %rdi
	repe cmps\w				//= load
	CASE
	movl	$\n, %ecx
	movq	%r8, %rsi
	movq	%r8, %rdi
	repne cmps\w				//= load
	.endr
	.endr
	/* address size 32, segment override, backwards */
	CASE
	movl	$10, %ecx
	movq	%r8, %rsi
	movq	%r9, %rdi
	addr32 rep movsb				//= load store
	CASE
	movl	$10, %ecx
	movq	%r8, %rsi
	movq	%r9, %rdi
	addr32 rep stosq				//= store
	CASE
	movl	$10, %ecx
	movq	%r8, %rsi
	movq	%r9, %rdi
	addr32 rep lodsl				//= load
	CASE
	movl	$10, %ecx
	movq	%r8, %rsi
	movq	%r9, %rdi
	rep movsb %gs:(%rsi), %es:(%rdi)				//= load store
	CASE
	movl	$10, %ecx
	leaq	100(%r8), %rsi
	leaq	100(%r9), %rdi
	std
	rep movsb				//= load store
	cld
	/* the registers after it */
	leaq	90(%r8), %rax
	cmpq	%rax, %rsi
	jne	failed				//= cond
	testq	%rcx, %rcx
	jne	failed				//= cond
	BODY_END
	RETURN
	FAILED
	IMAGE
	.fill	128, 8, 0x1111111111111111
	KERNEL_END string
