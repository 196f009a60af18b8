/* sse4.1, sse4.2, popcnt. */
//@ about SSE4.1 and SSE4.2: blends, rounding, dot products, text compares, crc32, popcnt
//@ loops 120000
//@ need sse4_1 sse4_2 popcnt
#include "section.inc"
	KERNEL	sse4
	SAVE_FP
	movaps	(%rsi), %xmm1		//= load
	movaps	%xmm1, %xmm0
	BODY
	.irp	op, pmulld, pmuldq, pminsb, pminsd, pminuw, pminud, pmaxsb, pmaxsd, pmaxuw, pmaxud, phminposuw, packusdw, pcmpeqq, pcmpgtq, ptest, pblendvb, pmovsxbw, pmovsxbd, pmovsxbq, pmovsxwd, pmovsxwq, pmovsxdq, pmovzxbw, pmovzxbd, pmovzxbq, pmovzxwd, pmovzxwq, pmovzxdq
	CASE	\op	%xmm1, %xmm2		//= int
	CASE	\op	(%rsi), %xmm2	//= int load
	.endr
	.irp	op, pblendw, mpsadbw, pcmpestri, pcmpestrm, pcmpistri, pcmpistrm
	CASE	\op	$1, %xmm1, %xmm3		//= int
	CASE	\op	$1, (%rsi), %xmm3	//= int load
	.endr
	.irp	op, roundps, roundpd, roundss, roundsd
	CASE	\op	$1, %xmm1, %xmm4		//= fp
	CASE	\op	$1, (%rsi), %xmm4	//= fp load
	.endr
	.irp	op, dpps, dppd
	CASE
	movaps	%xmm1, %xmm4
	\op	$1, %xmm1, %xmm4		//= fp
	CASE
	movaps	%xmm1, %xmm4
	\op	$1, (%rsi), %xmm4	//= fp load
	.endr
	.irp	op, blendps, blendpd, insertps
	CASE	\op	$1, %xmm1, %xmm2
	CASE	\op	$1, (%rsi), %xmm2	//= load
	.endr
	CASE	blendvps %xmm0, %xmm1, %xmm2
	CASE	blendvpd %xmm0, (%rsi), %xmm2	//= load
	CASE	extractps $1, %xmm1, %eax
	CASE	extractps $1, %xmm1, 64(%rsi)	//= store
	CASE	pextrb	$1, %xmm1, %eax		//= int
	CASE	pextrb	$1, %xmm1, 64(%rsi)	//= int store
	CASE	pextrd	$1, %xmm1, 64(%rsi)	//= int store
	CASE	pextrq	$1, %xmm1, %rax		//= int
	CASE	pextrw	$1, %xmm1, 64(%rsi)	//= int store
	CASE	pinsrb	$1, (%rsi), %xmm2	//= int load
	CASE	pinsrd	$1, %eax, %xmm2		//= int
	CASE	pinsrq	$1, (%rsi), %xmm2	//= int load
	CASE	movntdqa (%rsi), %xmm2		//= load
	CASE	crc32b	(%rsi), %eax		//= load
	CASE	crc32w	%bx, %eax
	CASE	crc32l	cells(%rip), %eax	//= load
	CASE	crc32q	%rbx, %rax
	CASE	popcntw	%bx, %ax
	CASE	popcntl	%ebx, %eax
	CASE	popcntq	(%rsi), %rax		//= load
	BODY_END
	RESTORE_FP
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	96, 1, 0
	KERNEL_END sse4
	CELLS	sse4
	.quad	1
	CELLS_END sse4
