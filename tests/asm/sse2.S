/* sse2: double precision and 128-bit integers. */
//@ need sse2
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
	movapd	(%rsi), %xmm1		//= load
	movapd	%xmm1, %xmm0
1:
//@ loop LOOPS
	.irp	op, addpd, subpd, mulpd, divpd, sqrtpd, minpd, maxpd, cvtpd2ps, cvtpd2dq, cvttpd2dq, cvtdq2ps, cvtps2dq, cvttps2dq
	\op	%xmm1, %xmm0		//= fp
	\op	(%rsi), %xmm0		//= fp load
	.endr
	.irp	op, addsd, subsd, mulsd, divsd, sqrtsd, minsd, maxsd, comisd, ucomisd, cvtsd2ss, cvtss2sd, cvtps2pd, cvtdq2pd
	\op	%xmm1, %xmm9		//= fp
	\op	data(%rip), %xmm9	//= fp load
	.endr
	.irp	cc, eq, lt, le, unord, neq, nlt, nle, ord
	cmp\cc\()pd	%xmm1, %xmm0	//= fp
	cmp\cc\()sd	(%rsi), %xmm0	//= fp load
	.endr
	.irp	op, andpd, andnpd, orpd, xorpd, unpckhpd, unpcklpd
	\op	%xmm1, %xmm0
	\op	(%rsi), %xmm0		//= load
	.endr
	shufpd	$1, %xmm1, %xmm0
	shufpd	$1, (%rsi), %xmm0	//= load
	.irp	op, paddb, paddw, paddd, paddq, paddsb, paddsw, paddusb, paddusw, psubb, psubw, psubd, psubq, psubsb, psubsw, psubusb, psubusw, pmulhw, pmullw, pmulhuw, pmuludq, pmaddwd, pand, pandn, por, pxor, pcmpeqb, pcmpeqw, pcmpeqd, pcmpgtb, pcmpgtw, pcmpgtd, packsswb, packssdw, packuswb, punpckhbw, punpckhwd, punpckhdq, punpckhqdq, punpcklbw, punpcklwd, punpckldq, punpcklqdq, psllw, pslld, psllq, psrlw, psrld, psrlq, psraw, psrad, pavgb, pavgw, pmaxsw, pmaxub, pminsw, pminub, psadbw
	\op	%xmm1, %xmm0		//= int
	\op	(%rsi), %xmm0		//= int load
	.endr
	.irp	op, psllw, pslld, psllq, psrlw, psrld, psrlq, psraw, psrad, pslldq, psrldq
	\op	$3, %xmm0		//= int
	.endr
	.irp	op, pshufd, pshufhw, pshuflw
	\op	$0x1b, %xmm1, %xmm0	//= int
	\op	$0x1b, (%rsi), %xmm0	//= int load
	.endr
	pextrw	$1, %xmm0, %eax		//= int
	pinsrw	$1, (%rsi), %xmm0	//= int load
	pmovmskb %xmm0, %eax		//= int
	/* moves */
	movd	%eax, %xmm2
	movd	%xmm2, %eax
	movd	(%rsi), %xmm2		//= load
	movq	%rax, %xmm2
	movq	(%rsi), %xmm2		//= load
	movq	%xmm2, 64(%rsi)		//= store
	movq	%xmm2, %xmm3
	movdqa	(%rsi), %xmm2		//= load
	movdqa	%xmm2, 64(%rsi)		//= store
	movdqu	1(%rsi), %xmm2		//= load
	movdqu	%xmm2, 65(%rsi)		//= store
	movapd	%xmm2, 64(%rsi)		//= store
	movupd	1(%rsi), %xmm2		//= load
	movsd	(%rsi), %xmm2		//= load
	movsd	%xmm2, 64(%rsi)		//= store
	movsd	%xmm2, %xmm3
	movlpd	(%rsi), %xmm2		//= load
	movhpd	%xmm2, 64(%rsi)		//= store
	movmskpd %xmm0, %eax
	movq2dq	%mm0, %xmm2
	movdq2q	%xmm2, %mm0
	movntpd	%xmm0, 64(%rsi)		//= store
	movntdq	%xmm0, 64(%rsi)		//= store
	leaq	64(%rsi), %rdi
	maskmovdqu %xmm1, %xmm0		//= store
	cvtsi2sdl %eax, %xmm4		//= fp
	cvtsi2sdq (%rsi), %xmm4		//= fp load
	cvtsd2si %xmm1, %eax		//= fp
	cvttsd2si (%rsi), %rax		//= fp load
	cvtpi2pd (%rsi), %xmm4		//= fp load
	cvtpd2pi %xmm1, %mm0		//= fp
	emms
	lfence
	mfence
	pause
	clflush	64(%rsi)
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	.data
	.balign	64
data:	.double	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	128, 1, 0
