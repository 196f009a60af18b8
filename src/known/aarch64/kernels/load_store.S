/* load_store: every width, addressing mode, pairs, acquire and release. A pair is one instruction,
 * and one load or store. */
//@ about ldr str of every width and mode, pairs, acquire and release
//@ loops 300000
#include "section.inc"
	KERNEL	load_store
	COPY_IMAGE
	mov	x1, #2
	BODY
	.irp	op, ldr, ldur
	CASE	\op	x3, [x20]		//= load
	CASE	\op	w3, [x20, #4]		//= load
	CASE	\op	d0, [x20, #8]		//= load
	CASE	\op	q0, [x20, #16]		//= load
	CASE	\op	s0, [x20, #4]		//= load
	.endr
	.irp	op, ldrb, ldrh, ldrsb, ldrsh, ldurb, ldurh
	CASE	\op	w3, [x20]		//= load
	.endr
	CASE	ldrsb	x3, [x20]		//= load
	CASE	ldrsw	x3, [x20]		//= load
	CASE	ldr	x3, [x20, x1]		//= load
	CASE	ldr	x3, [x20, x1, lsl #3]	//= load
	CASE	ldr	x3, [x20, w1, uxtw #3]	//= load
	CASE	ldr	x3, [x20, w1, sxtw]	//= load
	CASE
	mov	x2, x20
	ldr	x3, [x2, #8]!			//= load
	ldr	x3, [x2], #8			//= load
	.irp	op, str, stur
	CASE	\op	x1, [x20, #64]		//= store
	CASE	\op	w1, [x20, #64]		//= store
	CASE	\op	d0, [x20, #64]		//= store
	CASE	\op	q0, [x20, #64]		//= store
	.endr
	.irp	op, strb, strh, sturb, sturh
	CASE	\op	w1, [x20, #64]		//= store
	.endr
	CASE	str	x1, [x20, x1, lsl #3]	//= store
	CASE	str	xzr, [x20, #64]		//= store
	CASE
	add	x2, x20, #64
	str	x1, [x2, #8]!			//= store
	str	x1, [x2], #8			//= store
	CASE	ldp	x3, x4, [x20]		//= load
	CASE	ldp	w3, w4, [x20]		//= load
	CASE	ldp	q0, q1, [x20]		//= load
	CASE	ldpsw	x3, x4, [x20]		//= load
	CASE	ldnp	x3, x4, [x20]		//= load
	CASE	stp	x3, x4, [x20, #64]	//= store
	CASE	stp	d0, d1, [x20, #64]	//= store
	CASE	stp	xzr, xzr, [x20, #64]	//= store
	CASE	stnp	x3, x4, [x20, #64]	//= store
	CASE
	stp	x3, x4, [sp, #-16]!		//= store
	ldp	x3, x4, [sp], #16		//= load
	.irp	reg, x3, w3
	CASE	ldar	\reg, [x20]		//= load
	CASE
	add	x2, x20, #64
	stlr	\reg, [x2]			//= store
	.endr
	CASE	ldarb	w3, [x20]		//= load
	CASE
	add	x2, x20, #64
	stlrh	w3, [x2]			//= store
	BODY_END
	RETURN
	IMAGE
	.quad	1, 2, 3, 4, 5, 6, 7, 8
	KERNEL_END load_store
