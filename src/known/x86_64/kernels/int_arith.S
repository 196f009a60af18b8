/* int_arith: adc add cmp dec div idiv imul inc lea mul sbb sub, every width,
 * registers, immediates and memory on either side. */
//@ about adc add cmp dec div idiv imul inc lea mul sbb sub, every width
//@ loops 150000
#include "section.inc"
	KERNEL	int_arith
	movl	$3, %ebx
	BODY
	/* add, adc, sub, sbb, cmp: reg,reg */
	CASE	addb	%bl, %al
	CASE	addw	%bx, %ax
	CASE	addl	%ebx, %eax
	CASE	addq	%rbx, %rax
	CASE	adcb	%bl, %al
	CASE	adcw	%bx, %ax
	CASE	adcl	%ebx, %eax
	CASE	adcq	%rbx, %rax
	CASE	subb	%bl, %al
	CASE	subw	%bx, %ax
	CASE	subl	%ebx, %eax
	CASE	subq	%rbx, %rax
	CASE	sbbb	%bl, %al
	CASE	sbbw	%bx, %ax
	CASE	sbbl	%ebx, %eax
	CASE	sbbq	%rbx, %rax
	CASE	cmpb	%bl, %al
	CASE	cmpw	%bx, %ax
	CASE	cmpl	%ebx, %eax
	CASE	cmpq	%rbx, %rax
	/* immediates: accumulator forms, sign-extended imm8, imm32 */
	CASE	addb	$5, %al
	CASE	addw	$0x1234, %ax
	CASE	addl	$0x12345678, %eax
	CASE	addq	$0x12345678, %rax
	CASE	addq	$-1, %r8
	CASE	adcq	$7, %r9
	CASE	subl	$0x7fffffff, %r10d
	CASE	sbbl	$1, %r11d
	CASE	cmpq	$-128, %r12
	CASE	cmpb	$0, %r13b
	/* reg <- mem */
	CASE	addb	(%rsi), %al		//= load
	CASE	addw	2(%rsi), %ax		//= load
	CASE	addl	4(%rsi), %eax		//= load
	CASE	addq	8(%rsi), %rax		//= load
	CASE	adcb	(%rsi), %al		//= load
	CASE	adcq	8(%rsi), %rax		//= load
	CASE	subl	4(%rsi), %eax		//= load
	CASE	subq	cells(%rip), %rax	//= load
	CASE	sbbq	8(%rsi), %rax		//= load
	CASE	cmpb	(%rsi), %al		//= load
	CASE	cmpq	%fs:0, %rax	//= load
	/* mem <- reg, imm: read-modify-write */
	CASE	addb	%bl, (%rsi)		//= load store
	CASE	addw	%bx, 2(%rsi)		//= load store
	CASE	addl	%ebx, 4(%rsi)		//= load store
	CASE	addq	%rbx, 8(%rsi)		//= load store
	CASE	addq	$1, cells(%rip)		//= load store
	CASE	adcl	%ebx, 4(%rsi)		//= load store
	CASE	adcq	$0, 8(%rsi)		//= load store
	CASE	subb	$1, (%rsi)		//= load store
	CASE	subq	%rbx, 8(%rsi)		//= load store
	CASE	sbbl	$2, 4(%rsi)		//= load store
	CASE	sbbq	%rbx, 8(%rsi)		//= load store
	/* compares with memory only read */
	CASE	cmpb	%bl, (%rsi)		//= load
	CASE	cmpl	$100, 4(%rsi)		//= load
	CASE	cmpq	%rbx, cells(%rip)	//= load
	/* inc, dec, neg-free unary */
	CASE	incb	%al
	CASE	incw	%ax
	CASE	incl	%eax
	CASE	incq	%rax
	CASE	decb	%al
	CASE	decw	%ax
	CASE	decl	%eax
	CASE	decq	%rax
	CASE	incb	(%rsi)			//= load store
	CASE	incw	2(%rsi)			//= load store
	CASE	incl	4(%rsi)			//= load store
	CASE	incq	8(%rsi)			//= load store
	CASE	decb	(%rsi)			//= load store
	CASE	decq	cells(%rip)		//= load store
	/* lea accesses nothing */
	CASE	leaq	(%rsi,%rbx,8), %rdi
	CASE	leal	4(%esi), %edi
	CASE	leaw	8(%rsi), %di
	CASE	leaq	cells(%rip), %rdi
	/* multiply */
	CASE	mulb	%bl			//= mul
	CASE	mulw	%bx			//= mul
	CASE	mull	%ebx			//= mul
	CASE	mulq	%rbx			//= mul
	CASE	mulb	16(%rsi)		//= mul load
	CASE	mulw	16(%rsi)		//= mul load
	CASE	mull	16(%rsi)		//= mul load
	CASE	mulq	16(%rsi)		//= mul load
	CASE	imulb	%bl			//= mul
	CASE	imulw	%bx			//= mul
	CASE	imull	%ebx			//= mul
	CASE	imulq	%rbx			//= mul
	CASE	imulq	16(%rsi)		//= mul load
	CASE	imulw	%bx, %ax		//= mul
	CASE	imull	%ebx, %eax		//= mul
	CASE	imulq	%rbx, %rax		//= mul
	CASE	imulq	16(%rsi), %rax		//= mul load
	CASE	imull	$3, %ebx, %eax		//= mul
	CASE	imulq	$0x12345, %rbx, %rax	//= mul
	CASE	imulq	$3, 16(%rsi), %rax	//= mul load
	/* divide; 16(%rsi) holds 3 in every width */
	CASE
	movl	$100, %eax
	divb	%bl		//= div
	CASE
	movl	$100, %eax
	divb	16(%rsi)		//= div load
	CASE
	movl	$100, %eax
	xorl	%edx, %edx
	divw	%bx		//= div
	CASE
	movl	$100, %eax
	xorl	%edx, %edx
	divw	16(%rsi)		//= div load
	CASE
	movl	$100, %eax
	xorl	%edx, %edx
	divl	%ebx		//= div
	CASE
	movl	$100, %eax
	xorl	%edx, %edx
	divl	16(%rsi)		//= div load
	CASE
	movl	$100, %eax
	xorl	%edx, %edx
	divq	%rbx		//= div
	CASE
	movl	$100, %eax
	xorl	%edx, %edx
	divq	16(%rsi)		//= div load
	CASE
	movl	$100, %eax
	idivb	%bl		//= div
	CASE
	movl	$100, %eax
	idivb	16(%rsi)		//= div load
	CASE
	movl	$100, %eax
	cwtd
	idivw	%bx		//= div
	CASE
	movl	$100, %eax
	cwtd
	idivw	16(%rsi)		//= div load
	CASE
	movl	$100, %eax
	cltd
	idivl	%ebx		//= div
	CASE
	movl	$100, %eax
	cltd
	idivl	16(%rsi)		//= div load
	CASE
	movl	$100, %eax
	cqto
	idivq	%rbx		//= div
	CASE
	movl	$100, %eax
	cqto
	idivq	16(%rsi)		//= div load
	BODY_END
	RETURN
	IMAGE
	.quad	1, 2, 3, 4, 5, 6, 7, 8
	KERNEL_END int_arith
	CELLS	int_arith
	.quad	1, 2, 3, 4
	CELLS_END int_arith
