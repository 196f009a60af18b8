/* vaes and vpclmul: VEX forms with 128 and 256 bits. */
//@ about VAES and VPCLMULQDQ
//@ loops 600000
//@ need avx aes pclmulqdq vaes vpclmulqdq
#include "section.inc"
	KERNEL	vaes
	vmovaps	(%rsi), %ymm1		//= load
	vmovaps	%ymm1, %ymm0
	BODY
	.irp	op, vaesenc, vaesenclast, vaesdec, vaesdeclast
	CASE	\op	%ymm1, %ymm0, %ymm2	//= int
	CASE	\op	(%rsi), %ymm0, %ymm2	//= int load
	.endr
	.irp	op, vaesenc, vaesenclast, vaesdec, vaesdeclast
	CASE	\op	%xmm1, %xmm0, %xmm2	//= int
	CASE	\op	(%rsi), %xmm0, %xmm2	//= int load
	.endr
	.irp	op, vpclmulqdq
	CASE	\op	$1, %ymm1, %ymm0, %ymm2	//= int
	CASE	\op	$1, (%rsi), %ymm0, %ymm2	//= int load
	.endr
	CASE	vaesimc	%xmm1, %xmm2		//= int
	CASE	vaeskeygenassist $1, (%rsi), %xmm2	//= int load
	BODY_END
	vzeroupper
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	128, 1, 0
	.long	0x1f80, 0
	KERNEL_END vaes
