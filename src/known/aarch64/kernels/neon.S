/* neon: vectors of integers and of floating point; structure loads and stores are one each. */
//@ about vectors: integers, floating point, permutations, ld1 to ld4, st1 to st4
//@ loops 200000
#include "section.inc"
	KERNEL	neon
	COPY_IMAGE
	ldp	q0, q1, [x20]			//= load
	BODY
	.irp	t, 16b, 8h, 4s
	.irp	op, add, sub, mul, mla, smax, umin, sabd, cmeq, cmhi, uhadd, addp
	CASE	\op	v4.\t, v0.\t, v1.\t	//= int
	.endr
	.irp	op, abs, neg, cls, clz
	CASE	\op	v4.\t, v0.\t		//= int
	.endr
	CASE	shl	v4.\t, v0.\t, #3	//= int
	CASE	sshr	v4.\t, v0.\t, #3	//= int
	.endr
	CASE	add	v4.2d, v0.2d, v1.2d	//= int
	.irp	op, and, orr, eor, bic, bsl
	CASE	\op	v4.16b, v0.16b, v1.16b	//= int
	.endr
	CASE	cnt	v4.16b, v0.16b		//= int
	CASE	umull	v4.2d, v0.2s, v1.2s	//= int
	CASE	addv	s4, v0.4s		//= int
	CASE	xtn	v4.2s, v0.2d		//= int
	.irp	op, zip1, zip2, uzp1, trn2
	CASE	\op	v4.4s, v0.4s, v1.4s	//= int
	.endr
	CASE	ext	v4.16b, v0.16b, v1.16b, #3	//= int
	CASE
	tbl	v4.16b, {v0.16b}, v1.16b	//= int
	CASE	dup	v4.4s, v0.s[1]		//= int
	CASE	dup	v4.2d, x1		//= int
	.irp	op, fadd, fsub, fmul, fdiv, fmin, fmax, fcmeq, fcmgt, faddp, fabd
	CASE	\op	v4.4s, v0.4s, v1.4s	//= fp
	CASE	\op	v4.2d, v0.2d, v1.2d	//= fp
	.endr
	CASE
	mov	v4.16b, v0.16b
	fmla	v4.4s, v0.4s, v1.4s		//= fp
	.irp	op, fsqrt, frecpe, frsqrte, fcvtzs, scvtf
	CASE	\op	v4.4s, v0.4s		//= fp
	.endr
	CASE
	ld1	{v4.16b}, [x20]		//= load
	CASE
	ld1	{v4.16b, v5.16b}, [x20]	//= load
	CASE
	ld1	{v4.s}[1], [x20]	//= load
	CASE
	ld1r	{v4.4s}, [x20]		//= load
	CASE
	ld2	{v4.4s, v5.4s}, [x20]	//= load
	CASE
	ld4	{v4.4s, v5.4s, v6.4s, v7.4s}, [x20]	//= load
	CASE
	add	x2, x20, #256
	st1	{v4.16b}, [x2]			//= store
	CASE
	add	x2, x20, #256
	st3	{v4.4s, v5.4s, v6.4s}, [x2]	//= store
	CASE
	add	x2, x20, #256
	st1	{v4.s}[1], [x2]			//= store
	BODY_END
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	KERNEL_END neon
