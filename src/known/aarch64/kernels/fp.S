/* fp: scalar floating point, single and double precision. */
//@ about fadd fsub fmul fdiv fsqrt fmadd, conversions, compares, rounding; single and double
//@ loops 200000
#include "section.inc"
	KERNEL	fp
	COPY_IMAGE
	ldr	d0, [x20]			//= load
	ldr	d1, [x20, #8]			//= load
	ldr	s2, [x20, #16]			//= load
	ldr	s3, [x20, #20]			//= load
	mov	x1, #7
	BODY
	.irp	op, fadd, fsub, fmul, fdiv, fmin, fmax, fnmul, fminnm, fmaxnm
	CASE	\op	d4, d0, d1		//= fp
	CASE	\op	s4, s2, s3		//= fp
	.endr
	.irp	op, fmadd, fmsub, fnmadd, fnmsub
	CASE	\op	d4, d0, d1, d0		//= fp
	CASE	\op	s4, s2, s3, s2		//= fp
	.endr
	.irp	op, fsqrt, frintn, frintp, frintm, frintz, frinta, frintx, frinti
	CASE	\op	d4, d0			//= fp
	CASE	\op	s4, s2			//= fp
	.endr
	.irp	op, fabs, fneg
	CASE	\op	d4, d0			//= fp
	.endr
	CASE	fcmp	d0, d1			//= fp
	CASE	fcmpe	s2, s3			//= fp
	CASE	fcmp	d0, #0.0		//= fp
	CASE	fccmp	d0, d1, #0, eq		//= fp
	CASE	fcsel	d4, d0, d1, ne
	CASE	fcvt	s4, d0			//= fp
	CASE	fcvt	d4, s2			//= fp
	CASE	fcvt	h4, s2			//= fp
	.irp	op, fcvtzs, fcvtzu, fcvtns, fcvtms, fcvtps, fcvtas
	CASE	\op	x3, d0			//= fp
	CASE	\op	w3, s2			//= fp
	.endr
	CASE	scvtf	d4, x1			//= fp
	CASE	ucvtf	s4, w1			//= fp
	BODY_END
	RETURN
	IMAGE
	.double	1.5, 2.5
	.float	1.5, 2.5
	KERNEL_END fp
