/* exclusive: loads and stores that try to be atomic. A store counts whether it succeeds or not, and
 * is not tried again. */
//@ about ldxr stxr ldaxr stlxr of every width, pairs, clrex
//@ loops 300000
#include "section.inc"
	KERNEL	exclusive
	COPY_IMAGE
	BODY
	.irp	reg, x3, w3
	CASE
	ldxr	\reg, [x20]			//= load
	stxr	w4, \reg, [x20]			//= store
	CASE
	ldaxr	\reg, [x20]			//= load
	stlxr	w4, \reg, [x20]			//= store
	.endr
	.irp	w, b, h
	CASE
	ldxr\w	w3, [x20]			//= load
	stxr\w	w4, w3, [x20]			//= store
	CASE
	ldaxr\w	w3, [x20]			//= load
	stlxr\w	w4, w3, [x20]			//= store
	.endr
	CASE
	ldxp	x3, x5, [x20]			//= load
	stxp	w4, x3, x5, [x20]		//= store
	CASE
	ldaxp	x3, x5, [x20]			//= load
	stlxp	w4, x3, x5, [x20]		//= store
	CASE
	ldxr	x3, [x20]			//= load
	clrex
	stxr	w4, x3, [x20]			//= store
	cbz	w4, failed			//= cond
	BODY_END
	RETURN
	FAILED
	IMAGE
	.quad	1, 2
	KERNEL_END exclusive
