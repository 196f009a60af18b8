/* pages: the first touch of pages, by stores and by loads. A case maps a megabyte, touches it every
 * 64 KB (pages may be that large), and unmaps it. Huge pages are refused. */
//@ about fresh pages: 16 touched by stores, 16 by loads
//@ loops 3000
#include "section.inc"
.macro MAP
	mov	x8, #222		// mmap
	mov	x0, #0
	mov	x1, #0x100000
	mov	x2, #3
	mov	x3, #0x22
	mov	x4, #-1
	mov	x5, #0
	svc	#0			//= svc
	mov	x21, x0
	mov	x8, #233		// madvise(MADV_NOHUGEPAGE)
	mov	x1, #0x100000
	mov	x2, #15
	svc	#0			//= svc
	mov	x0, x21
.endm
.macro UNMAP
	mov	x8, #215		// munmap
	mov	x0, x21
	mov	x1, #0x100000
	svc	#0			//= svc
	cbnz	x0, failed		//= cond
.endm
	KERNEL	pages
	BODY
	CASE
	MAP
	.rept	16
	strb	w8, [x0]		//= store page
	add	x0, x0, #16, lsl #12
	.endr
	UNMAP
	CASE
	MAP
	.rept	16
	ldrb	w8, [x0]		//= load page
	add	x0, x0, #16, lsl #12
	.endr
	UNMAP
	BODY_END
	RETURN
	FAILED
	IMAGE
	KERNEL_END pages
