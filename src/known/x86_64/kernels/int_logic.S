/* int_logic: and or xor neg not bsf bsr bt* shifts rotates shld shrd test. */
//@ about and or xor not neg test bit operations, shifts, rotates, bswap
//@ loops 60000
#include "section.inc"
	KERNEL	int_logic
	movl	$3, %ebx
	movl	$5, %ecx
	BODY
	.irp	op, and, or, xor
	CASE	\op\()b	%bl, %al
	CASE	\op\()w	%bx, %ax
	CASE	\op\()l	%ebx, %eax
	CASE	\op\()q	%rbx, %rax
	CASE	\op\()b	$0x55, %al
	CASE	\op\()l	$0x55555555, %eax
	CASE	\op\()q	$-2, %r9
	CASE	\op\()b	(%rsi), %al		//= load
	CASE	\op\()w	2(%rsi), %ax		//= load
	CASE	\op\()l	4(%rsi), %eax		//= load
	CASE	\op\()q	cells(%rip), %rax	//= load
	CASE	\op\()b	%bl, (%rsi)		//= load store
	CASE	\op\()l	%ebx, 4(%rsi)		//= load store
	CASE	\op\()q	%rbx, cells(%rip)	//= load store
	CASE	\op\()q	$0x7f, 8(%rsi)		//= load store
	.endr
	CASE	testb	%bl, %al
	CASE	testl	%ebx, %eax
	CASE	testq	%rbx, %rax
	CASE	testb	$1, %al
	CASE	testl	$0x1000, %r8d
	CASE	testb	%bl, (%rsi)		//= load
	CASE	testl	$1, 4(%rsi)		//= load
	CASE	testq	%rbx, cells(%rip)	//= load
	.irp	op, neg, not
	CASE	\op\()b	%al
	CASE	\op\()w	%ax
	CASE	\op\()l	%eax
	CASE	\op\()q	%rax
	CASE	\op\()b	(%rsi)			//= load store
	CASE	\op\()l	4(%rsi)			//= load store
	CASE	\op\()q	cells(%rip)		//= load store
	.endr
	.irp	op, bsf, bsr
	CASE	\op\()w	%bx, %ax
	CASE	\op\()l	%ebx, %eax
	CASE	\op\()q	%rbx, %rax
	CASE	\op\()l	16(%rsi), %eax		//= load
	CASE	\op\()q	16(%rsi), %rax		//= load
	.endr
	/* bt reads; bts btr btc with memory also write */
	CASE	btw	%bx, %ax
	CASE	btl	%ebx, %eax
	CASE	btq	%rbx, %rax
	CASE	btl	$3, %eax
	CASE	btl	%ebx, 16(%rsi)		//= load
	CASE	btq	$3, 16(%rsi)		//= load
	.irp	op, bts, btr, btc
	CASE	\op\()l	%ebx, %eax
	CASE	\op\()q	$40, %rax
	CASE	\op\()l	%ebx, 24(%rsi)		//= load store
	CASE	\op\()q	$3, 24(%rsi)		//= load store
	.endr
	.irp	op, rcl, rcr, rol, ror, shl, shr, sar
	CASE	\op\()b	$1, %al
	CASE	\op\()b	$3, %al
	CASE	\op\()b	%cl, %al
	CASE	\op\()w	$1, %ax
	CASE	\op\()l	$7, %eax
	CASE	\op\()l	%cl, %eax
	CASE	\op\()q	$1, %rax
	CASE	\op\()q	$13, %rax
	CASE	\op\()q	%cl, %rax
	CASE	\op\()b	$1, (%rsi)		//= load store
	CASE	\op\()l	$5, 4(%rsi)		//= load store
	CASE	\op\()q	%cl, cells(%rip)		//= load store
	.endr
	.irp	op, shld, shrd
	CASE	\op\()w	$3, %bx, %ax
	CASE	\op\()l	$3, %ebx, %eax
	CASE	\op\()q	%cl, %rbx, %rax
	CASE	\op\()q	$3, %rbx, 8(%rsi)	//= load store
	CASE	\op\()l	%cl, %ebx, 8(%rsi)	//= load store
	.endr
	CASE	bswap	%eax
	CASE	bswap	%r9
	BODY_END
	RETURN
	IMAGE
	.quad	1, 2, 0x1234, 4, 5, 6, 7, 8
	KERNEL_END int_logic
	CELLS	int_logic
	.quad	1, 2, 0x1234, 4
	CELLS_END int_logic
