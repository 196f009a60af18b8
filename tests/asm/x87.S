/* x87: loads, stores, arithmetic, compares, transcendentals, control. The wait
 * mnemonics (finit, fstcw, fstsw, fclex, fsave, fstenv) are two instructions. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
	finit				//= insns=2 x87=2
1:
//@ loop LOOPS
	fninit				//= x87
	fld1				//= x87
	fldz				//= x87
	fldpi				//= x87
	fldl2e				//= x87
	fldl2t				//= x87
	fldlg2				//= x87
	fldln2				//= x87
	.rept	7
	fstp	%st(0)			//= x87
	.endr
	flds	(%rsi)			//= x87 load
	fldl	8(%rsi)			//= x87 load
	fldt	16(%rsi)		//= x87 load
	filds	32(%rsi)		//= x87 load
	fildl	32(%rsi)		//= x87 load
	fildq	32(%rsi)		//= x87 load
	fbld	48(%rsi)		//= x87 load
	fbstp	64(%rsi)		//= x87 store
	fistpll	80(%rsi)		//= x87 store
	fistpl	80(%rsi)		//= x87 store
	fistps	80(%rsi)		//= x87 store
	fstpt	80(%rsi)		//= x87 store
	fstl	80(%rsi)		//= x87 store
	fstpl	80(%rsi)		//= x87 store
	fsts	80(%rsi)		//= x87 store
	fists	80(%rsi)		//= x87 store
	fstps	80(%rsi)		//= x87 store
	fld1				//= x87
	fld1				//= x87
	fadd	%st(1), %st		//= x87
	fadd	%st, %st(1)		//= x87
	fadds	(%rsi)			//= x87 load
	faddl	8(%rsi)			//= x87 load
	fiadds	32(%rsi)		//= x87 load
	fiaddl	32(%rsi)		//= x87 load
	fsub	%st(1), %st		//= x87
	fsubr	%st(1), %st		//= x87
	fsubs	(%rsi)			//= x87 load
	fisubl	32(%rsi)		//= x87 load
	fmul	%st(1), %st		//= x87
	fmull	8(%rsi)			//= x87 load
	fimull	32(%rsi)		//= x87 load
	fdiv	%st(1), %st		//= x87
	fdivr	%st(1), %st		//= x87
	fdivl	8(%rsi)			//= x87 load
	fidivl	32(%rsi)		//= x87 load
	fld1				//= x87
	faddp				//= x87
	fld1				//= x87
	fmulp				//= x87
	fabs				//= x87
	fchs				//= x87
	fsqrt				//= x87
	frndint				//= x87
	fxtract				//= x87
	fscale				//= x87
	fstp	%st(0)			//= x87
	fxam				//= x87
	ftst				//= x87
	fxch				//= x87
	fcom	%st(1)			//= x87
	fcoms	(%rsi)			//= x87 load
	ficoml	32(%rsi)		//= x87 load
	fucom	%st(1)			//= x87
	fcomi	%st(1), %st		//= x87
	fucomi	%st(1), %st		//= x87
	fcmovb	%st(1), %st		//= x87
	fcmove	%st(1), %st		//= x87
	fcmovnu	%st(1), %st		//= x87
	fld1				//= x87
	fcompp				//= x87
	fnstsw	%ax			//= x87
	fnstsw	80(%rsi)		//= x87 store
	fnstcw	80(%rsi)		//= x87 store
	fldcw	80(%rsi)		//= x87 load
	fstcw	80(%rsi)		//= insns=2 x87=2 store
	fstsw	%ax			//= insns=2 x87=2
	fstsw	80(%rsi)		//= insns=2 x87=2 store
	fclex				//= insns=2 x87=2
	fnclex				//= x87
	fwait				//= x87
	fincstp				//= x87
	fdecstp				//= x87
	fnop				//= x87
	fninit				//= x87
	fldz				//= x87
	fsin				//= x87
	fcos				//= x87
	fsincos				//= x87
	fpatan				//= x87
	fptan				//= x87
	fstp	%st(0)			//= x87
	f2xm1				//= x87
	fld1				//= x87
	fyl2x				//= x87
	fninit				//= x87
	fnstenv	128(%rsi)		//= x87 store
	fldenv	128(%rsi)		//= x87 load
	fstenv	128(%rsi)		//= insns=2 x87=2 store
	fnsave	128(%rsi)		//= x87 store
	frstor	128(%rsi)		//= x87 load
	fsave	128(%rsi)		//= insns=2 x87=2 store
	fxsave	512(%rsi)		//= store
	fxrstor	512(%rsi)		//= load
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	.data
	.balign	64
data:	.float	1.5, 0
	.double	2.5
	.quad	0xe000000000000000	# 3.5 in 80 bits; clang has no .tfloat
	.short	0x4000
	.skip	6
	.quad	7, 0
	.quad	1, 0
	.fill	1024, 1, 0
