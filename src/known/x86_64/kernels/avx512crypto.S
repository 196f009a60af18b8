/* avx512 with vaes, vpclmulqdq and gfni: the EVEX forms. */
//@ about VAES, VPCLMULQDQ and GFNI with 512 bits
//@ loops 300000
//@ need avx512f avx512bw vaes vpclmulqdq gfni
#include "section.inc"
	KERNEL	avx512crypto
	vmovaps	(%rsi), %zmm1		//= load
	vmovaps	%zmm1, %zmm0
	movl	$0x5555, %eax
	kmovw	%eax, %k1
	BODY
	.irp	op, vaesenc, vaesenclast, vaesdec, vaesdeclast
	CASE	\op	%zmm1, %zmm0, %zmm2	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2	//= int load
	.endr
	.irp	op, vpclmulqdq
	CASE	\op	$1, %zmm1, %zmm0, %zmm2	//= int
	CASE	\op	$1, (%rsi), %zmm0, %zmm2	//= int load
	.endr
	.irp	op, vgf2p8mulb
	CASE	\op	%zmm1, %zmm0, %zmm2	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	.endr
	.irp	op, vgf2p8affineqb, vgf2p8affineinvqb
	CASE	\op	$1, %zmm1, %zmm0, %zmm2	//= int
	CASE	\op	$1, (%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	$1, %zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	$1, (%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	CASE	\op	$1, (%rsi){1to8}, %zmm0, %zmm2	//= int load
	.endr
	BODY_END
	vzeroupper
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	192, 1, 0
	KERNEL_END avx512crypto
