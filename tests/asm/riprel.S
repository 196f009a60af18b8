/* riprel: RIP-relative operands of every kind, next to uses of every register as
 * base, so that a rewritten operand must not disturb what is beside it. */
//@ need cx16 avx2 bmi2
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
1:
//@ loop LOOPS
	movq	$5, q0(%rip)		//= store
	movb	$6, q1(%rip)		//= store
	movl	$7, q2(%rip)		//= store
	movw	$0x0809, q3(%rip)	//= store
	/* immediates of every size follow the displacement */
	addq	$0x11223344, q0(%rip)	//= load store
	addb	$1, q0(%rip)		//= load store
	addw	$0x1122, q0+2(%rip)	//= load store
	imulq	$3, q1(%rip), %rax	//= load mul
	imull	$0x1000, q1(%rip), %ecx	//= load mul
	testb	$1, q0(%rip)		//= load
	testl	$0x12345678, q0(%rip)	//= load
	shlq	$4, q1(%rip)		//= load store
	shrq	q1(%rip)		//= load store
	shld	$3, %rax, q2(%rip)	//= load store
	btsl	$3, q3(%rip)		//= load store
	pshufd	$0x1b, v0(%rip), %xmm0	//= load int
	vpermq	$0x1b, v0(%rip), %ymm0	//= load int
	rorx	$7, q0(%rip), %rdx	//= load
	/* implicit registers beside it */
	movl	$5, %eax
	xorl	%edx, %edx
	divq	three(%rip)		//= load div
	mulq	three(%rip)		//= load mul
	movl	$9, %eax
	lock cmpxchgq %rcx, q3(%rip)	//= load store lock
	movq	q3(%rip), %rax		//= load
	movl	$77, %ecx
	lock cmpxchgq %rcx, q3(%rip)	//= load store lock
	jnz	failed			//= cond
	cmpq	$77, q3(%rip)		//= load
	jne	failed			//= cond
	movq	v1(%rip), %rax		//= load
	movq	v1+8(%rip), %rdx	//= load
	leaq	1(%rax), %rbx
	movl	$44, %ecx
	lock cmpxchg16b v1(%rip)	//= load store lock
	jnz	failed			//= cond
	cmpq	$44, v1+8(%rip)		//= load
	jne	failed			//= cond
	movl	v1(%rip), %eax		//= load
	movl	v1+4(%rip), %edx	//= load
	cmpxchg8b v1(%rip)		//= load store
	jnz	failed			//= cond
	xaddq	%rax, q0(%rip)		//= load store
	movl	$2, %edx
	mulx	three(%rip), %rax, %rcx	//= load mul
	cmpq	$6, %rax
	jne	failed			//= cond
	movl	$3, %ecx
	shlq	%cl, q1(%rip)		//= load store
	/* stack forms */
	pushq	three(%rip)		//= load store
	popq	q2(%rip)		//= load store
	cmpq	$3, q2(%rip)		//= load
	jne	failed			//= cond
	call	*pleaf(%rip)		//= icall load
	jmp	*pnext(%rip)		//= ijmp load
	ud2				//= x0
next:
	leaq	q2(%rip), %rax
	cmpq	$3, (%rax)		//= load
	jne	failed			//= cond
	/* 32-bit forms: eip-relative, and 32-bit lea of it */
	movl	q2(%eip), %eax		//= load
	cmpl	$3, %eax
	jne	failed			//= cond
	leal	q2(%rip), %eax
	cmpl	$3, (%rax)		//= load
	jne	failed			//= cond
	leaw	q2(%rip), %ax
	/* x87, SSE, control registers */
	fldl	d0(%rip)		//= load x87
	fstpl	d1(%rip)		//= store x87
	fldcw	cw(%rip)		//= load x87
	fnstcw	cw(%rip)		//= store x87
	movsd	d0(%rip), %xmm0		//= load
	addsd	d0(%rip), %xmm0		//= load fp
	movsd	%xmm0, d1(%rip)		//= store
	ldmxcsr	mxcsr(%rip)		//= load
	stmxcsr	mxcsr(%rip)		//= store
	cvttsd2si d1(%rip), %rax	//= load fp
	cmpq	$5, %rax
	jne	failed			//= cond
	cmpl	%eax, %eax
	cmovel	three(%rip), %eax	//= load
	sete	q1(%rip)		//= store
	movzbl	q1(%rip), %ecx		//= load
	cmpl	$1, %ecx
	jne	failed			//= cond
	prefetcht0 q0(%rip)		//= load
	clflush	q0(%rip)
	movntiq	%rax, q1(%rip)		//= store
	crc32l	q0(%rip), %eax		//= load
	nopl	q0(%rip)
	/* each register holds its own mark beside a RIP-relative load and store */
	.irp	reg, rax, rbx, rcx, rdx, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	leaq	block(%rip), %\reg
	movq	three(%rip), %xmm0	//= load
	movq	%xmm0, q1(%rip)		//= store
	addq	$1, 8(%\reg)		//= load store
	movq	q1(%rip), %\reg		//= load
	cmpq	$3, %\reg
	jne	failed			//= cond
	.endr
	/* and each register is source and destination of one */
	.irp	reg, rax, rbx, rcx, rdx, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	movq	$12345, %\reg
	movq	%\reg, q2(%rip)		//= store
	addq	q2(%rip), %\reg		//= load
	cmpq	$24690, %\reg
	jne	failed			//= cond
	xchgq	%\reg, q2(%rip)		//= load store lock
	cmpq	$12345, %\reg
	jne	failed			//= cond
	.endr
	decl	%ebp
	jnz	far_loop		//= cond loop
//@ end
	vzeroupper
	EXIT
	FAILED
far_loop:
//@ loop LOOPS-1
	jmp	1b			//= jmp
//@ end
leaf:
//@ loop LOOPS
	ret				//= ret
//@ end
	.data
	.balign	64
v0:	.quad	1, 2, 3, 4
v1:	.quad	5, 6
q0:	.quad	0
q1:	.quad	0
q2:	.quad	0
q3:	.quad	0
three:	.quad	3
d0:	.double	2.5
d1:	.double	0
pleaf:	.quad	leaf
pnext:	.quad	next
block:	.quad	0, 0
cw:	.word	0x37f
	.word	0
mxcsr:	.long	0x1f80
