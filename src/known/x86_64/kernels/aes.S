/* aes and pclmul. */
//@ about AES and PCLMULQDQ
//@ loops 600000
//@ need aes pclmulqdq
#include "section.inc"
	KERNEL	aes
	movaps	(%rsi), %xmm1		//= load
	BODY
	.irp	op, aesenc, aesenclast, aesdec, aesdeclast, aesimc
	CASE	\op	%xmm1, %xmm2		//= int
	CASE	\op	(%rsi), %xmm2	//= int load
	.endr
	.irp	op, pclmulqdq, aeskeygenassist
	CASE	\op	$1, %xmm1, %xmm3		//= int
	CASE	\op	$1, (%rsi), %xmm3	//= int load
	.endr
	.irp	op, pclmulqdq
	CASE	\op	$0x11, %xmm1, %xmm3		//= int
	CASE	\op	$0x11, cells(%rip), %xmm3	//= int load
	.endr
	BODY_END
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	96, 1, 0
	KERNEL_END aes
	CELLS	aes
	.quad	1, 2
	CELLS_END aes
