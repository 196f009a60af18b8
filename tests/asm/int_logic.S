/* int_logic: and or xor neg not bsf bsr bt* shifts rotates shld shrd test. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
	movl	$3, %ebx
	movl	$5, %ecx
1:
//@ loop LOOPS
	.irp	op, and, or, xor
	\op\()b	%bl, %al
	\op\()w	%bx, %ax
	\op\()l	%ebx, %eax
	\op\()q	%rbx, %rax
	\op\()b	$0x55, %al
	\op\()l	$0x55555555, %eax
	\op\()q	$-2, %r9
	\op\()b	(%rsi), %al		//= load
	\op\()w	2(%rsi), %ax		//= load
	\op\()l	4(%rsi), %eax		//= load
	\op\()q	data(%rip), %rax	//= load
	\op\()b	%bl, (%rsi)		//= load store
	\op\()l	%ebx, 4(%rsi)		//= load store
	\op\()q	%rbx, data(%rip)	//= load store
	\op\()q	$0x7f, 8(%rsi)		//= load store
	.endr
	testb	%bl, %al
	testl	%ebx, %eax
	testq	%rbx, %rax
	testb	$1, %al
	testl	$0x1000, %r8d
	testb	%bl, (%rsi)		//= load
	testl	$1, 4(%rsi)		//= load
	testq	%rbx, data(%rip)	//= load
	.irp	op, neg, not
	\op\()b	%al
	\op\()w	%ax
	\op\()l	%eax
	\op\()q	%rax
	\op\()b	(%rsi)			//= load store
	\op\()l	4(%rsi)			//= load store
	\op\()q	data(%rip)		//= load store
	.endr
	.irp	op, bsf, bsr
	\op\()w	%bx, %ax
	\op\()l	%ebx, %eax
	\op\()q	%rbx, %rax
	\op\()l	16(%rsi), %eax		//= load
	\op\()q	16(%rsi), %rax		//= load
	.endr
	/* bt reads; bts btr btc with memory also write */
	btw	%bx, %ax
	btl	%ebx, %eax
	btq	%rbx, %rax
	btl	$3, %eax
	btl	%ebx, 16(%rsi)		//= load
	btq	$3, 16(%rsi)		//= load
	.irp	op, bts, btr, btc
	\op\()l	%ebx, %eax
	\op\()q	$40, %rax
	\op\()l	%ebx, 24(%rsi)		//= load store
	\op\()q	$3, 24(%rsi)		//= load store
	.endr
	.irp	op, rcl, rcr, rol, ror, shl, shr, sar
	\op\()b	$1, %al
	\op\()b	$3, %al
	\op\()b	%cl, %al
	\op\()w	$1, %ax
	\op\()l	$7, %eax
	\op\()l	%cl, %eax
	\op\()q	$1, %rax
	\op\()q	$13, %rax
	\op\()q	%cl, %rax
	\op\()b	$1, (%rsi)		//= load store
	\op\()l	$5, 4(%rsi)		//= load store
	\op\()q	%cl, data(%rip)		//= load store
	.endr
	.irp	op, shld, shrd
	\op\()w	$3, %bx, %ax
	\op\()l	$3, %ebx, %eax
	\op\()q	%cl, %rbx, %rax
	\op\()q	$3, %rbx, 8(%rsi)	//= load store
	\op\()l	%cl, %ebx, 8(%rsi)	//= load store
	.endr
	bswap	%eax
	bswap	%r9
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	.data
	.balign	64
data:	.quad	1, 2, 0x1234, 4, 5, 6, 7, 8
