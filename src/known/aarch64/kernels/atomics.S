/* atomics: single instructions that read, change and write. */
//@ about ldadd ldclr ldeor ldset swp cas with all orders
//@ loops 300000
//@ need atomics
	.arch	armv8-a+lse
#include "section.inc"
	KERNEL	atomics
	COPY_IMAGE
	mov	x1, #1
	BODY
	.irp	op, ldadd, ldclr, ldeor, ldset, ldsmax, ldsmin, ldumax, ldumin, swp
	CASE	\op	x1, x3, [x20]		//= load store lock
	CASE	\op\()a	w1, w3, [x20]		//= load store lock
	CASE	\op\()l	x1, x3, [x20]		//= load store lock
	CASE	\op\()al x1, x3, [x20]		//= load store lock
	CASE	\op\()b	w1, w3, [x20]		//= load store lock
	CASE	\op\()h	w1, w3, [x20]		//= load store lock
	.endr
	.irp	op, cas, casa, casl, casal
	CASE	\op	x1, x3, [x20]		//= load store lock
	.endr
	BODY_END
	RETURN
	IMAGE
	.quad	1
	KERNEL_END atomics
