/* sse1: single precision. Arithmetic, compares and conversions are fp; logic,
 * shuffles and moves are not. */
//@ need sse
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
	movaps	(%rsi), %xmm1		//= load
	movaps	%xmm1, %xmm0
1:
//@ loop LOOPS
	.irp	op, addps, subps, mulps, divps, sqrtps, rcpps, rsqrtps, minps, maxps
	\op	%xmm1, %xmm0		//= fp
	\op	(%rsi), %xmm0		//= fp load
	.endr
	.irp	op, addss, subss, mulss, divss, sqrtss, rcpss, rsqrtss, minss, maxss, comiss, ucomiss
	\op	%xmm1, %xmm8		//= fp
	\op	data(%rip), %xmm8	//= fp load
	.endr
	.irp	cc, eq, lt, le, unord, neq, nlt, nle, ord
	cmp\cc\()ps	%xmm1, %xmm0	//= fp
	cmp\cc\()ss	(%rsi), %xmm0	//= fp load
	.endr
	.irp	op, andps, andnps, orps, xorps, unpckhps, unpcklps
	\op	%xmm1, %xmm0
	\op	(%rsi), %xmm0		//= load
	.endr
	shufps	$0x1b, %xmm1, %xmm0
	shufps	$0x1b, (%rsi), %xmm0	//= load
	movaps	(%rsi), %xmm2		//= load
	movaps	%xmm2, 64(%rsi)		//= store
	movups	4(%rsi), %xmm2		//= load
	movups	%xmm2, 68(%rsi)		//= store
	movss	(%rsi), %xmm2		//= load
	movss	%xmm2, 64(%rsi)		//= store
	movss	%xmm2, %xmm3
	movlps	(%rsi), %xmm2		//= load
	movlps	%xmm2, 64(%rsi)		//= store
	movhps	(%rsi), %xmm2		//= load
	movhps	%xmm2, 64(%rsi)		//= store
	movhlps	%xmm2, %xmm3
	movlhps	%xmm2, %xmm3
	movmskps %xmm0, %eax
	movntps	%xmm0, 64(%rsi)		//= store
	cvtsi2ssl %eax, %xmm4		//= fp
	cvtsi2ssq (%rsi), %xmm4		//= fp load
	cvtss2si %xmm1, %eax		//= fp
	cvttss2si (%rsi), %rax		//= fp load
	cvtpi2ps (%rsi), %xmm4		//= fp load
	cvtps2pi %xmm1, %mm0		//= fp
	cvttps2pi (%rsi), %mm0		//= fp load
	emms
	ldmxcsr	128(%rsi)		//= load
	stmxcsr	64(%rsi)		//= store
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	.data
	.balign	64
data:	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	96, 1, 0
	.long	0x1f80
