/* integer: arithmetic, logic, shifts, bit fields, multiplications, divisions. */
//@ about add sub adc sbc mul div and orr eor bic shifts, bit fields, conditional selects
//@ loops 700000
#include "section.inc"
	KERNEL	integer
	mov	x1, #3
	mov	x2, #7
	BODY
	.irp	op, add, sub, adds, subs, and, orr, eor, bic, orn, eon, ands, bics
	CASE	\op	x3, x1, x2
	CASE	\op	w3, w1, w2
	CASE	\op	x3, x1, x2, lsl #3
	.endr
	.irp	op, adc, sbc, adcs, sbcs, lsl, lsr, asr, ror
	CASE	\op	x3, x1, x2
	CASE	\op	w3, w1, w2
	.endr
	.irp	op, add, sub, adds, subs
	CASE	\op	x3, x1, #100
	CASE	\op	x3, x1, #1, lsl #12
	CASE	\op	x3, x1, w2, uxtw #2
	.endr
	.irp	op, and, orr, eor, ands
	CASE	\op	x3, x1, #0xff00
	.endr
	CASE	cmp	x1, x2
	CASE	cmn	x1, #4
	CASE	tst	x1, #1
	CASE	neg	x3, x1
	CASE	mvn	x3, x1
	CASE	mul	x3, x1, x2		//= mul
	CASE	madd	x3, x1, x2, x1		//= mul
	CASE	msub	w3, w1, w2, w1		//= mul
	CASE	smull	x3, w1, w2		//= mul
	CASE	umulh	x3, x1, x2		//= mul
	CASE	udiv	x3, x2, x1		//= div
	CASE	sdiv	w3, w2, w1		//= div
	.irp	op, clz, cls, rbit, rev, rev16
	CASE	\op	x3, x1
	.endr
	CASE	ubfx	x3, x1, #3, #5
	CASE	sbfx	w3, w1, #3, #5
	CASE	bfi	x3, x1, #3, #5
	CASE	bfxil	x3, x1, #3, #5
	CASE	extr	x3, x1, x2, #9
	.irp	cc, eq, ne, cs, cc, mi, pl, vs, vc, hi, ls, ge, lt, gt, le
	CASE	csel	x3, x1, x2, \cc
	CASE	csinc	w3, w1, w2, \cc
	CASE	cset	x3, \cc
	CASE	ccmp	x1, x2, #0, \cc
	.endr
	BODY_END
	RETURN
	IMAGE
	KERNEL_END integer
