/* moves: between registers, immediates, extensions, addresses, system registers of user mode. */
//@ about mov movz movk movn, extensions, adr, literals, fmov, system registers of user mode
//@ loops 400000
#include "section.inc"
	KERNEL	moves
	mov	x1, #3
	BODY
	CASE	mov	x3, x1
	CASE	mov	w3, w1
	CASE	mov	x3, sp
	CASE	movz	x3, #0x1234
	CASE	movz	x3, #0x1234, lsl #32
	CASE	movn	x3, #5
	CASE	movk	x3, #0x5678, lsl #16
	CASE	mov	x3, #0xff00ff00ff00ff00
	CASE	mvn	w3, w1
	.irp	op, sxtb, sxth, uxtb, uxth
	CASE	\op	w3, w1
	.endr
	CASE	sxtb	x3, w1
	CASE	sxtw	x3, w1
	CASE	adr	x3, .Limage
	CASE	adrp	x3, .Lbegin
	CASE	ldr	x3, .Limage		//= load
	CASE	ldr	w3, .Limage		//= load
	CASE	ldrsw	x3, .Limage		//= load
	CASE	ldr	d0, .Limage		//= load
	CASE	fmov	d0, x1
	CASE	fmov	x3, d0
	CASE	fmov	s0, w1
	CASE	fmov	d0, #1.5
	CASE	fmov	d1, d0
	CASE	mov	v0.d[0], x1
	CASE	mov	x3, v0.d[1]
	CASE	mrs	x3, nzcv
	CASE	msr	nzcv, x3
	CASE	mrs	x3, tpidr_el0
	CASE	mrs	x3, fpsr
	CASE	nop
	CASE	yield
	CASE	isb
	CASE	dmb	ish
	CASE	dsb	ish
	BODY_END
	RETURN
	IMAGE
	.quad	0x0102030405060708
	KERNEL_END moves
