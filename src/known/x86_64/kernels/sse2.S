/* sse2: double precision and 128-bit integers. */
//@ about SSE2: double precision, conversions, 128-bit integers, moves
//@ loops 40000
//@ need sse2
#include "section.inc"
	KERNEL	sse2
	SAVE_FP
	movapd	(%rsi), %xmm1		//= load
	BODY
	.irp	op, addpd, subpd, mulpd, divpd, minpd, maxpd
	CASE
	movapd	%xmm1, %xmm0
	\op	%xmm1, %xmm0		//= fp
	CASE
	movapd	%xmm1, %xmm0
	\op	(%rsi), %xmm0		//= fp load
	.endr
	.irp	op, addsd, subsd, mulsd, divsd, minsd, maxsd
	CASE
	movapd	%xmm1, %xmm9
	\op	%xmm1, %xmm9		//= fp
	CASE
	movapd	%xmm1, %xmm9
	\op	cells(%rip), %xmm9		//= fp load
	.endr
	.irp	op, sqrtpd, cvtpd2ps, cvtpd2dq, cvttpd2dq, cvtdq2ps, cvtps2dq, cvttps2dq
	CASE	\op	%xmm1, %xmm0		//= fp
	CASE	\op	(%rsi), %xmm0	//= fp load
	.endr
	.irp	op, sqrtsd, comisd, ucomisd, cvtsd2ss, cvtss2sd, cvtps2pd, cvtdq2pd
	CASE	\op	%xmm1, %xmm10		//= fp
	CASE	\op	cells(%rip), %xmm10	//= fp load
	.endr
	.irp	cc, eq, lt, le, unord, neq, nlt, nle, ord
	CASE
	movapd	%xmm1, %xmm0
	cmp\cc\()pd	%xmm1, %xmm0	//= fp
	CASE
	movapd	%xmm1, %xmm0
	cmp\cc\()sd	(%rsi), %xmm0	//= fp load
	.endr
	.irp	op, andpd, andnpd, orpd, xorpd, unpckhpd, unpcklpd
	CASE	\op	%xmm1, %xmm0
	CASE	\op	(%rsi), %xmm0	//= load
	.endr
	CASE	shufpd	$1, %xmm1, %xmm0
	CASE	shufpd	$1, (%rsi), %xmm0	//= load
	.irp	op, paddb, paddw, paddd, paddq, paddsb, paddsw, paddusb, paddusw, psubb, psubw, psubd, psubq, psubsb, psubsw, psubusb, psubusw, pmulhw, pmullw, pmulhuw, pmuludq, pmaddwd, pand, pandn, por, pxor, pcmpeqb, pcmpeqw, pcmpeqd, pcmpgtb, pcmpgtw, pcmpgtd, packsswb, packssdw, packuswb, punpckhbw, punpckhwd, punpckhdq, punpckhqdq, punpcklqdq, punpcklbw, punpcklwd, punpckldq, psllw, pslld, psllq, psrlw, psrld, psrlq, psraw, psrad, pavgb, pavgw, pmaxsw, pmaxub, pminsw, pminub, psadbw
	CASE	\op	%xmm1, %xmm0		//= int
	CASE	\op	(%rsi), %xmm0	//= int load
	.endr
	.irp	op, psllw, pslld, psllq, psrlw, psrld, psrlq, psraw, psrad, pslldq, psrldq
	CASE	\op	$3, %xmm0		//= int
	.endr
	.irp	op, pshufd, pshufhw, pshuflw
	CASE	\op	$0x1b, %xmm1, %xmm0		//= int
	CASE	\op	$0x1b, (%rsi), %xmm0	//= int load
	.endr
	CASE	pextrw	$1, %xmm0, %eax		//= int
	CASE	pinsrw	$1, (%rsi), %xmm0	//= int load
	CASE	pmovmskb %xmm0, %eax		//= int
	/* moves */
	CASE	movd	%eax, %xmm2
	CASE	movd	%xmm2, %eax
	CASE	movd	(%rsi), %xmm2		//= load
	CASE	movq	%rax, %xmm2
	CASE	movq	(%rsi), %xmm2		//= load
	CASE	movq	%xmm2, 64(%rsi)		//= store
	CASE	movq	%xmm2, %xmm3
	CASE	movdqa	(%rsi), %xmm2		//= load
	CASE	movdqa	%xmm2, 64(%rsi)		//= store
	CASE	movdqu	1(%rsi), %xmm2		//= load
	CASE	movdqu	%xmm2, 65(%rsi)		//= store
	CASE	movapd	%xmm2, 64(%rsi)		//= store
	CASE	movupd	1(%rsi), %xmm2		//= load
	CASE	movsd	(%rsi), %xmm2		//= load
	CASE	movsd	%xmm2, 64(%rsi)		//= store
	CASE	movsd	%xmm2, %xmm3
	CASE	movlpd	(%rsi), %xmm2		//= load
	CASE	movhpd	%xmm2, 64(%rsi)		//= store
	CASE	movmskpd %xmm0, %eax
	CASE	movq2dq	%mm0, %xmm2
	CASE	movdq2q	%xmm2, %mm0
	CASE	movntpd	%xmm0, 64(%rsi)		//= store
	CASE	movntdq	%xmm0, 64(%rsi)		//= store
	CASE	cvtsi2sdl %eax, %xmm4		//= fp
	CASE	cvtsi2sdq (%rsi), %xmm4		//= fp load
	CASE	cvtsd2si %xmm1, %eax		//= fp
	CASE	cvttsd2si (%rsi), %rax		//= fp load
	CASE	cvtpi2pd (%rsi), %xmm4		//= fp load
	CASE	cvtpd2pi %xmm1, %mm0		//= fp
	CASE	emms
	CASE	pause
	CASE	clflush	64(%rsi)
	CASE
	leaq	64(%rsi), %rdi
	maskmovdqu %xmm1, %xmm0		//= store
	BODY_END
	RESTORE_FP
	RETURN
	IMAGE
	.double	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	128, 1, 0
	KERNEL_END sse2
	CELLS	sse2
	.double	1.5, 2.5
	CELLS_END sse2
