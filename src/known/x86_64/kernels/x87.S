/* x87: loads, stores, arithmetic, compares, transcendentals, control. The wait mnemonics (finit,
 * fstcw, fstsw, fclex, fsave, fstenv) are two instructions. A case finds two numbers on the x87
 * stack, and leaves two. */
//@ about x87 loads, stores, arithmetic, transcendentals, control with and without wait
//@ loops 30000
#include "section.inc"
	KERNEL	x87
	SAVE_FP
	fninit				//= x87
	fldl	8(%rsi)			//= x87 load
	fldl	8(%rsi)			//= x87 load
	BODY
	.irp	op, fld1, fldz, fldpi, fldl2e, fldl2t, fldlg2, fldln2
	CASE
	\op				//= x87
	fstp	%st(0)			//= x87
	.endr
	CASE
	fld	%st(0)			//= x87
	fstp	%st(0)			//= x87
	CASE
	fld	%st(1)			//= x87
	fstp	%st(0)			//= x87
	CASE
	flds	(%rsi)			//= x87 load
	fstp	%st(0)			//= x87
	CASE
	fldl	8(%rsi)			//= x87 load
	fstp	%st(0)			//= x87
	CASE
	fldt	16(%rsi)			//= x87 load
	fstp	%st(0)			//= x87
	CASE
	fbld	48(%rsi)			//= x87 load
	fstp	%st(0)			//= x87
	.irp	op, filds, fildl, fildq
	CASE
	\op	32(%rsi)		//= x87 load
	fstp	%st(0)			//= x87
	.endr
	.irp	to, fbstp, fistpll, fistpl, fistps, fstpt, fstpl, fstps
	CASE
	fld1				//= x87
	\to	80(%rsi)		//= x87 store
	.endr
	CASE	fstl	80(%rsi)	//= x87 store
	CASE	fsts	80(%rsi)	//= x87 store
	CASE	fists	80(%rsi)	//= x87 store
	CASE	fistl	80(%rsi)	//= x87 store
	CASE	fst	%st(1)		//= x87
	.irp	op, fadd, fsub, fsubr, fmul, fdiv, fdivr
	CASE
	fld1				//= x87
	\op	%st(1), %st		//= x87
	fstp	%st(0)			//= x87
	CASE
	fld1				//= x87
	fld1				//= x87
	\op	%st, %st(1)		//= x87
	fstp	%st(0)			//= x87
	fstp	%st(0)			//= x87
	CASE
	fld1				//= x87
	\op\()s	(%rsi)			//= x87 load
	fstp	%st(0)			//= x87
	CASE
	fld1				//= x87
	\op\()l	8(%rsi)			//= x87 load
	fstp	%st(0)			//= x87
	CASE
	fld1				//= x87
	fld1				//= x87
	\op\()p	%st, %st(1)		//= x87
	fstp	%st(0)			//= x87
	.endr
	.irp	op, fiadd, fisub, fisubr, fimul, fidiv, fidivr
	CASE
	fld1				//= x87
	\op\()s	32(%rsi)		//= x87 load
	fstp	%st(0)			//= x87
	CASE
	fld1				//= x87
	\op\()l	32(%rsi)		//= x87 load
	fstp	%st(0)			//= x87
	.endr
	.irp	op, fabs, fchs, fsqrt, frndint
	CASE
	fld1				//= x87
	\op				//= x87
	fstp	%st(0)			//= x87
	.endr
	CASE
	fld1				//= x87
	fxtract				//= x87
	fscale				//= x87
	fstp	%st(0)			//= x87
	fstp	%st(0)			//= x87
	CASE
	fld1				//= x87
	fld1				//= x87
	fprem				//= x87
	fprem1				//= x87
	fstp	%st(0)			//= x87
	fstp	%st(0)			//= x87
	CASE	fxam			//= x87
	CASE	ftst			//= x87
	CASE	fxch			//= x87
	CASE	fcom	%st(1)		//= x87
	CASE	fcoms	(%rsi)		//= x87 load
	CASE	fcoml	8(%rsi)		//= x87 load
	CASE	ficoms	32(%rsi)	//= x87 load
	CASE	ficoml	32(%rsi)	//= x87 load
	CASE	fucom	%st(1)		//= x87
	CASE	fcomi	%st(1), %st	//= x87
	CASE	fucomi	%st(1), %st	//= x87
	CASE
	fld1				//= x87
	fcomp	%st(1)			//= x87
	CASE
	fld1				//= x87
	fucomp	%st(1)			//= x87
	CASE
	fld1				//= x87
	fcomip	%st(1), %st		//= x87
	CASE
	fld1				//= x87
	fucomip	%st(1), %st		//= x87
	CASE
	fld1				//= x87
	fld1				//= x87
	fcompp				//= x87
	CASE
	fld1				//= x87
	fld1				//= x87
	fucompp				//= x87
	.irp	cc, b, e, be, u, nb, ne, nbe, nu
	CASE	fcmov\cc	%st(1), %st	//= x87
	.endr
	/* control, without wait and with */
	CASE	fnstsw	%ax		//= x87
	CASE	fnstsw	80(%rsi)	//= x87 store
	CASE
	fnstcw	80(%rsi)		//= x87 store
	fldcw	80(%rsi)		//= x87 load
	CASE
	fstcw	80(%rsi)		//= insns=2 x87=2 store
	CASE	fstsw	%ax		//= insns=2 x87=2
	CASE	fstsw	80(%rsi)	//= insns=2 x87=2 store
	CASE	fclex			//= insns=2 x87=2
	CASE	fnclex			//= x87
	CASE	fwait			//= x87
	CASE	fnop			//= x87
	CASE
	fincstp				//= x87
	fdecstp				//= x87
	CASE
	fldz				//= x87
	ffree	%st(0)			//= x87
	fincstp				//= x87
	CASE
	fninit				//= x87
	fldl	8(%rsi)			//= x87 load
	fldl	8(%rsi)			//= x87 load
	CASE
	finit				//= insns=2 x87=2
	fldl	8(%rsi)			//= x87 load
	fldl	8(%rsi)			//= x87 load
	CASE
	fnstenv	128(%rsi)		//= x87 store
	fldenv	128(%rsi)		//= x87 load
	CASE
	fstenv	128(%rsi)		//= insns=2 x87=2 store
	fldenv	128(%rsi)		//= x87 load
	CASE
	fnsave	128(%rsi)		//= x87 store
	frstor	128(%rsi)		//= x87 load
	CASE
	fsave	128(%rsi)		//= insns=2 x87=2 store
	frstor	128(%rsi)		//= x87 load
	CASE
	fxsave	512(%rsi)		//= store
	fxrstor	512(%rsi)		//= load
	CASE
	fxsave64 512(%rsi)		//= store
	fxrstor64 512(%rsi)		//= load
	/* transcendentals */
	.irp	op, fsin, fcos, f2xm1
	CASE
	fldz				//= x87
	\op				//= x87
	fstp	%st(0)			//= x87
	.endr
	.irp	op, fsincos, fptan
	CASE
	fldz				//= x87
	\op				//= x87
	fstp	%st(0)			//= x87
	fstp	%st(0)			//= x87
	.endr
	.irp	op, fpatan, fyl2x, fyl2xp1
	CASE
	fld1				//= x87
	flds	4(%rsi)			//= x87 load
	\op				//= x87
	fstp	%st(0)			//= x87
	.endr
	BODY_END
	RESTORE_FP
	RETURN
	IMAGE
	.float	1.5, 0.25
	.double	2.5
	.quad	0xe000000000000000	# 3.5 in 80 bits; clang has no .tfloat
	.short	0x4000
	.skip	6
	.quad	7, 0
	.quad	1, 0
	.skip	64
	KERNEL_END x87
