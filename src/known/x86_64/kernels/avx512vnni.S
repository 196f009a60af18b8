/* avx512_vnni: dot products of integers. */
//@ about AVX-512 VNNI: vpdpbusd vpdpwssd and saturating forms
//@ loops 300000
//@ need avx512f avx512_vnni
#include "section.inc"
	KERNEL	avx512vnni
	vmovaps	(%rsi), %zmm1		//= load
	vmovaps	%zmm1, %zmm0
	movl	$0x5555, %eax
	kmovw	%eax, %k1
	BODY
	.irp	op, vpdpbusd, vpdpbusds, vpdpwssd, vpdpwssds
	CASE	\op	%zmm1, %zmm0, %zmm2	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	CASE	\op	(%rsi){1to16}, %zmm0, %zmm2	//= int load
	.endr
	BODY_END
	vzeroupper
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	192, 1, 0
	KERNEL_END avx512vnni
