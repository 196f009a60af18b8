/* fp_exceptions: x87 and SSE exceptions. Masked ones set flags only; an unmasked x87 exception stays
 * pending until the next instruction that waits, and the forms without wait run with it. Each case
 * clears what it raised. */
//@ about x87 and SSE exceptions: masked ones, pending ones with the no-wait instructions
//@ loops 20000
//@ need sse2
#include "section.inc"
	KERNEL	fp_exceptions
	SAVE_FP
	fninit					//= x87
	BODY
	/* x87, masked: zero divide, invalid, stack fault, denormal, overflow, underflow */
	CASE
	fld1					//= x87
	fldz					//= x87
	fdivrp	%st, %st(1)			//= x87 exception
	fstp	%st(0)				//= x87
	fnclex					//= x87
	CASE
	fldz					//= x87
	fldz					//= x87
	fdivrp	%st, %st(1)			//= x87 exception
	fstp	%st(0)				//= x87
	fnclex					//= x87
	CASE
	fld1					//= x87
	fchs					//= x87
	fsqrt					//= x87 exception
	fstp	%st(0)				//= x87
	fnclex					//= x87
	CASE
	fninit					//= x87
	fst	%st(1)				//= x87 exception
	fninit					//= x87
	CASE
	fldl	(%rsi)				//= x87 load exception
	fstp	%st(0)				//= x87
	fnclex					//= x87
	CASE
	fldl	8(%rsi)				//= x87 load
	fstps	64(%rsi)			//= x87 store exception
	fnclex					//= x87
	CASE
	fldl	16(%rsi)			//= x87 load
	fstps	64(%rsi)			//= x87 store exception
	fnclex					//= x87
	CASE
	fldl	8(%rsi)				//= x87 load
	fistpl	64(%rsi)			//= x87 store exception
	fnclex					//= x87
	/* x87, unmasked and pending: every instruction that does not wait */
	.irp	op, fnclex, fninit
	CASE
	fldcw	24(%rsi)			//= x87 load
	fld1					//= x87
	fldz					//= x87
	fdivrp	%st, %st(1)			//= x87 exception
	fnstsw	%ax				//= x87
	testb	$0x80, %al
	jz	failed				//= cond
	\op					//= x87
	fninit					//= x87
	.endr
	.irp	op, fnstsw, fnstcw, fnstenv, fnsave
	CASE
	fldcw	24(%rsi)			//= x87 load
	fld1					//= x87
	fldz					//= x87
	fdivrp	%st, %st(1)			//= x87 exception
	\op	64(%rsi)			//= x87 store
	fninit					//= x87
	.endr
	/* SSE, masked */
	.irp	at, 32, 48
	CASE
	movaps	\at(%rsi), %xmm1		//= load
	divps	192(%rsi), %xmm1		//= fp load exception
	ldmxcsr	28(%rsi)			//= load
	.endr
	CASE
	movsd	8(%rsi), %xmm1			//= load
	mulsd	8(%rsi), %xmm1			//= fp load exception
	ldmxcsr	28(%rsi)			//= load
	CASE
	movsd	16(%rsi), %xmm1			//= load
	mulsd	16(%rsi), %xmm1			//= fp load exception
	ldmxcsr	28(%rsi)			//= load
	CASE
	movsd	8(%rsi), %xmm1			//= load
	addsd	(%rsi), %xmm1			//= fp load exception
	ldmxcsr	28(%rsi)			//= load
	CASE
	sqrtps	208(%rsi), %xmm1		//= fp load exception
	ldmxcsr	28(%rsi)			//= load
	CASE
	cvttsd2si 8(%rsi), %eax			//= fp load exception
	ldmxcsr	28(%rsi)			//= load
	CASE
	comisd	224(%rsi), %xmm0		//= fp load exception
	ldmxcsr	28(%rsi)			//= load
	BODY_END
	RESTORE_FP
	RETURN
	FAILED
	IMAGE
	.quad	1				# the least denormal
	.double	1e300, 1e-300
	.word	0x37b, 0			# x87: zero divide not masked
	.long	0x1f80				# MXCSR: all masked, no flag
	.float	1, 1, 1, 1			# 32: by zero
	.float	0, 0, 0, 0			# 48: zero by zero
	.skip	128				# 64: stored to
	.float	0, 0, 0, 0			# 192
	.float	-1, -1, -1, -1			# 208
	.quad	0x7ff0000000000001, 0		# 224: a signaling NaN
	KERNEL_END fp_exceptions
