/* riprel: RIP-relative operands of every kind, next to uses of every register as base, so that a
 * rewritten operand must not disturb what is beside it. */
//@ about RIP-relative operands: with immediates, implicit registers, stack, x87, SSE
//@ loops 50000
//@ need cx16
#include "section.inc"
	KERNEL	riprel
	SAVE_FP
	BODY
	CASE	movq	$5, q0(%rip)		//= store
	CASE	movb	$6, q1(%rip)		//= store
	CASE	movl	$7, q2(%rip)		//= store
	CASE	movw	$0x0809, q3(%rip)	//= store
	/* immediates of every size follow the displacement */
	CASE	addq	$0x11223344, q0(%rip)	//= load store
	CASE	addb	$1, q0(%rip)		//= load store
	CASE	addw	$0x1122, q0+2(%rip)	//= load store
	CASE	imulq	$3, q1(%rip), %rax	//= load mul
	CASE	imull	$0x1000, q1(%rip), %ecx	//= load mul
	CASE	testb	$1, q0(%rip)		//= load
	CASE	testl	$0x12345678, q0(%rip)	//= load
	CASE	shlq	$4, q1(%rip)		//= load store
	CASE	shrq	q1(%rip)		//= load store
	CASE	shld	$3, %rax, q2(%rip)	//= load store
	CASE	btsl	$3, q3(%rip)		//= load store
	CASE	pshufd	$0x1b, v0(%rip), %xmm0	//= load int
	/* implicit registers beside it */
	CASE
	movl	$5, %eax
	xorl	%edx, %edx
	divq	three(%rip)			//= load div
	CASE	mulq	three(%rip)		//= load mul
	CASE	lock cmpxchgq %rcx, q3(%rip)	//= load store lock
	CASE
	movq	q3(%rip), %rax			//= load
	movl	$77, %ecx
	lock cmpxchgq %rcx, q3(%rip)		//= load store lock
	jnz	failed				//= cond
	cmpq	$77, q3(%rip)			//= load
	jne	failed				//= cond
	CASE
	movq	v1(%rip), %rax			//= load
	movq	v1+8(%rip), %rdx		//= load
	leaq	1(%rax), %rbx
	movl	$44, %ecx
	lock cmpxchg16b v1(%rip)		//= load store lock
	jnz	failed				//= cond
	cmpq	$44, v1+8(%rip)			//= load
	jne	failed				//= cond
	CASE
	movl	v1(%rip), %eax			//= load
	movl	v1+4(%rip), %edx		//= load
	cmpxchg8b v1(%rip)			//= load store
	jnz	failed				//= cond
	CASE	xaddq	%rax, q0(%rip)		//= load store
	CASE
	movl	$3, %ecx
	shlq	%cl, q1(%rip)			//= load store
	/* stack forms */
	CASE
	pushq	three(%rip)			//= load store
	popq	q2(%rip)			//= load store
	cmpq	$3, q2(%rip)			//= load
	jne	failed				//= cond
	CASE
	leaq	leaf(%rip), %rax
	movq	%rax, pleaf(%rip)		//= store
	call	*pleaf(%rip)			//= icall load
	//+ ret
	CASE
	leaq	next(%rip), %rax
	movq	%rax, pnext(%rip)		//= store
	jmp	*pnext(%rip)			//= ijmp load
	ud2					//= x0
next:
	leaq	three(%rip), %rax
	cmpq	$3, (%rax)			//= load
	jne	failed				//= cond
	CASE	leal	q2(%rip), %eax
	CASE	leaw	q2(%rip), %ax
	/* x87, SSE, control registers */
	CASE
	fldl	d0(%rip)			//= load x87
	fstpl	d1(%rip)			//= store x87
	CASE
	fnstcw	cw(%rip)			//= store x87
	fldcw	cw(%rip)			//= load x87
	CASE
	movsd	d0(%rip), %xmm0			//= load
	addsd	d0(%rip), %xmm0			//= load fp
	movsd	%xmm0, d1(%rip)			//= store
	cvttsd2si d1(%rip), %rax		//= load fp
	cmpq	$5, %rax
	jne	failed				//= cond
	CASE
	stmxcsr	mxcsr(%rip)			//= store
	ldmxcsr	mxcsr(%rip)			//= load
	CASE
	cmpl	%eax, %eax
	cmovel	three(%rip), %eax		//= load
	sete	q1(%rip)			//= store
	movzbl	q1(%rip), %ecx			//= load
	cmpl	$1, %ecx
	jne	failed				//= cond
	CASE	prefetcht0 q0(%rip)		//= load
	CASE	clflush	q0(%rip)
	CASE	movntiq	%rax, q1(%rip)		//= store
	CASE	nopl	q0(%rip)
	/* each register holds its own mark beside a RIP-relative load and store */
	.irp	reg, rax, rbx, rcx, rdx, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	CASE
	leaq	block(%rip), %\reg
	movq	three(%rip), %xmm0		//= load
	movq	%xmm0, q1(%rip)			//= store
	addq	$1, 8(%\reg)			//= load store
	movq	q1(%rip), %\reg			//= load
	cmpq	$3, %\reg
	jne	failed				//= cond
	.endr
	/* and each register is source and destination of one */
	.irp	reg, rax, rbx, rcx, rdx, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	CASE
	movq	$12345, %\reg
	movq	%\reg, q2(%rip)			//= store
	addq	q2(%rip), %\reg			//= load
	cmpq	$24690, %\reg
	jne	failed				//= cond
	xchgq	%\reg, q2(%rip)			//= load store lock
	cmpq	$12345, %\reg
	jne	failed				//= cond
	.endr
	BODY_END
	RESTORE_FP
	RETURN
	FAILED
leaf:	ret					//= x0
	IMAGE
	KERNEL_END riprel
	CELLS	riprel
v0:	.quad	1, 2, 3, 4
v1:	.quad	5, 6
q0:	.quad	0
q1:	.quad	0
q2:	.quad	0
q3:	.quad	0
three:	.quad	3
d0:	.double	2.5
d1:	.double	0
pleaf:	.quad	0
pnext:	.quad	0
block:	.quad	0, 0
cw:	.word	0x37f
	.word	0
mxcsr:	.long	0x1f80
	CELLS_END riprel
