/* sse1: single precision. Arithmetic, compares and conversions are fp; logic, shuffles and moves
 * are not. What adds up starts anew in each case, so that nothing overflows. */
//@ about SSE: single precision, its compares, conversions, shuffles and moves
//@ loops 80000
//@ need sse
#include "section.inc"
	KERNEL	sse1
	SAVE_FP
	movaps	(%rsi), %xmm1		//= load
	BODY
	.irp	op, addps, subps, mulps, divps, minps, maxps
	CASE
	movaps	%xmm1, %xmm0
	\op	%xmm1, %xmm0		//= fp
	CASE
	movaps	%xmm1, %xmm0
	\op	(%rsi), %xmm0		//= fp load
	.endr
	.irp	op, addss, subss, mulss, divss, minss, maxss
	CASE
	movaps	%xmm1, %xmm8
	\op	%xmm1, %xmm8		//= fp
	CASE
	movaps	%xmm1, %xmm8
	\op	cells(%rip), %xmm8		//= fp load
	.endr
	.irp	op, sqrtps, rcpps, rsqrtps
	CASE	\op	%xmm1, %xmm0		//= fp
	CASE	\op	(%rsi), %xmm0	//= fp load
	.endr
	.irp	op, sqrtss, rcpss, rsqrtss, comiss, ucomiss
	CASE	\op	%xmm1, %xmm8		//= fp
	CASE	\op	cells(%rip), %xmm8	//= fp load
	.endr
	.irp	cc, eq, lt, le, unord, neq, nlt, nle, ord
	CASE
	movaps	%xmm1, %xmm0
	cmp\cc\()ps	%xmm1, %xmm0	//= fp
	CASE
	movaps	%xmm1, %xmm0
	cmp\cc\()ss	(%rsi), %xmm0	//= fp load
	.endr
	.irp	op, andps, andnps, orps, xorps, unpckhps, unpcklps
	CASE	\op	%xmm1, %xmm0
	CASE	\op	(%rsi), %xmm0	//= load
	.endr
	CASE	shufps	$0x1b, %xmm1, %xmm0
	CASE	shufps	$0x1b, (%rsi), %xmm0	//= load
	CASE	movaps	(%rsi), %xmm2		//= load
	CASE	movaps	%xmm2, 64(%rsi)		//= store
	CASE	movups	4(%rsi), %xmm2		//= load
	CASE	movups	%xmm2, 68(%rsi)		//= store
	CASE	movss	(%rsi), %xmm2		//= load
	CASE	movss	%xmm2, 64(%rsi)		//= store
	CASE	movss	%xmm2, %xmm3
	CASE	movlps	(%rsi), %xmm2		//= load
	CASE	movlps	%xmm2, 64(%rsi)		//= store
	CASE	movhps	(%rsi), %xmm2		//= load
	CASE	movhps	%xmm2, 64(%rsi)		//= store
	CASE	movhlps	%xmm2, %xmm3
	CASE	movlhps	%xmm2, %xmm3
	CASE	movmskps %xmm1, %eax
	CASE	movntps	%xmm1, 64(%rsi)		//= store
	CASE	cvtsi2ssl %eax, %xmm4		//= fp
	CASE	cvtsi2ssq (%rsi), %xmm4		//= fp load
	CASE	cvtss2si %xmm1, %eax		//= fp
	CASE	cvttss2si (%rsi), %rax		//= fp load
	CASE	cvtpi2ps (%rsi), %xmm4		//= fp load
	CASE	cvtps2pi %xmm1, %mm0		//= fp
	CASE	cvttps2pi (%rsi), %mm0		//= fp load
	CASE	emms
	CASE	ldmxcsr	128(%rsi)		//= load
	CASE	stmxcsr	64(%rsi)		//= store
	BODY_END
	RESTORE_FP
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	96, 1, 0
	.long	0x1f80, 0
	KERNEL_END sse1
	CELLS	sse1
	.float	1.5, 2.5, 3.5, 4.5
	CELLS_END sse1
