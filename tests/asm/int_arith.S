/* int_arith: adc add cmp dec div idiv imul inc lea mul sbb sub, every width,
 * registers, immediates and memory on either side. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
	movl	$3, %ebx
1:
//@ loop LOOPS
	/* add, adc, sub, sbb, cmp: reg,reg */
	addb	%bl, %al
	addw	%bx, %ax
	addl	%ebx, %eax
	addq	%rbx, %rax
	adcb	%bl, %al
	adcw	%bx, %ax
	adcl	%ebx, %eax
	adcq	%rbx, %rax
	subb	%bl, %al
	subw	%bx, %ax
	subl	%ebx, %eax
	subq	%rbx, %rax
	sbbb	%bl, %al
	sbbw	%bx, %ax
	sbbl	%ebx, %eax
	sbbq	%rbx, %rax
	cmpb	%bl, %al
	cmpw	%bx, %ax
	cmpl	%ebx, %eax
	cmpq	%rbx, %rax
	/* immediates: accumulator forms, sign-extended imm8, imm32 */
	addb	$5, %al
	addw	$0x1234, %ax
	addl	$0x12345678, %eax
	addq	$0x12345678, %rax
	addq	$-1, %r8
	adcq	$7, %r9
	subl	$0x7fffffff, %r10d
	sbbl	$1, %r11d
	cmpq	$-128, %r12
	cmpb	$0, %r13b
	/* reg <- mem */
	addb	(%rsi), %al		//= load
	addw	2(%rsi), %ax		//= load
	addl	4(%rsi), %eax		//= load
	addq	8(%rsi), %rax		//= load
	adcb	(%rsi), %al		//= load
	adcq	8(%rsi), %rax		//= load
	subl	4(%rsi), %eax		//= load
	subq	data(%rip), %rax	//= load
	sbbq	8(%rsi), %rax		//= load
	cmpb	(%rsi), %al		//= load
	cmpq	%fs:0(%rsi), %rax	//= load
	/* mem <- reg, imm: read-modify-write */
	addb	%bl, (%rsi)		//= load store
	addw	%bx, 2(%rsi)		//= load store
	addl	%ebx, 4(%rsi)		//= load store
	addq	%rbx, 8(%rsi)		//= load store
	addq	$1, data(%rip)		//= load store
	adcl	%ebx, 4(%rsi)		//= load store
	adcq	$0, 8(%rsi)		//= load store
	subb	$1, (%rsi)		//= load store
	subq	%rbx, 8(%rsi)		//= load store
	sbbl	$2, 4(%rsi)		//= load store
	sbbq	%rbx, 8(%rsi)		//= load store
	/* compares with memory only read */
	cmpb	%bl, (%rsi)		//= load
	cmpl	$100, 4(%rsi)		//= load
	cmpq	%rbx, data(%rip)	//= load
	/* inc, dec, neg-free unary */
	incb	%al
	incw	%ax
	incl	%eax
	incq	%rax
	decb	%al
	decw	%ax
	decl	%eax
	decq	%rax
	incb	(%rsi)			//= load store
	incw	2(%rsi)			//= load store
	incl	4(%rsi)			//= load store
	incq	8(%rsi)			//= load store
	decb	(%rsi)			//= load store
	decq	data(%rip)		//= load store
	/* lea accesses nothing */
	leaq	(%rsi,%rbx,8), %rdi
	leal	4(%esi), %edi
	leaw	8(%rsi), %di
	leaq	data(%rip), %rdi
	/* multiply */
	movl	$7, %eax
	mulb	%bl			//= mul
	mulw	%bx			//= mul
	mull	%ebx			//= mul
	mulq	%rbx			//= mul
	mulb	16(%rsi)		//= mul load
	mulw	16(%rsi)		//= mul load
	mull	16(%rsi)		//= mul load
	mulq	16(%rsi)		//= mul load
	imulb	%bl			//= mul
	imulw	%bx			//= mul
	imull	%ebx			//= mul
	imulq	%rbx			//= mul
	imulq	16(%rsi)		//= mul load
	imulw	%bx, %ax		//= mul
	imull	%ebx, %eax		//= mul
	imulq	%rbx, %rax		//= mul
	imulq	16(%rsi), %rax		//= mul load
	imull	$3, %ebx, %eax		//= mul
	imulq	$0x12345, %rbx, %rax	//= mul
	imulq	$3, 16(%rsi), %rax	//= mul load
	/* divide; 16(%rsi) holds 3 in every width */
	movl	$100, %eax
	divb	%bl			//= div
	movl	$100, %eax
	xorl	%edx, %edx
	divw	%bx			//= div
	xorl	%edx, %edx
	divl	%ebx			//= div
	xorl	%edx, %edx
	divq	%rbx			//= div
	xorl	%edx, %edx
	divl	16(%rsi)		//= div load
	xorl	%edx, %edx
	divq	16(%rsi)		//= div load
	movl	$100, %eax
	idivb	%bl			//= div
	movl	$100, %eax
	cwd
	idivw	%bx			//= div
	movl	$100, %eax
	cltd
	idivl	%ebx			//= div
	cqto
	idivq	%rbx			//= div
	cqto
	idivq	16(%rsi)		//= div load
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	.data
	.balign	64
data:	.quad	1, 2, 3, 4, 5, 6, 7, 8
