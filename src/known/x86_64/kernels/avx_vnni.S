/* avx_vnni: the VEX forms of the dot products. */
//@ about AVX-VNNI: VEX forms of vpdpbusd and vpdpwssd
//@ loops 400000
//@ need avx avx_vnni
#include "section.inc"
	KERNEL	avx_vnni
	vmovaps	(%rsi), %ymm1		//= load
	vmovaps	%ymm1, %ymm0
	BODY
	.irp	op, vpdpbusd, vpdpbusds, vpdpwssd, vpdpwssds
	CASE
	{vex} \op	%ymm1, %ymm0, %ymm2	//= int
	CASE
	{vex} \op	(%rsi), %ymm0, %ymm2	//= int load
	CASE
	{vex} \op	%xmm1, %xmm0, %xmm2	//= int
	.endr
	BODY_END
	vzeroupper
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	192, 1, 0
	KERNEL_END avx_vnni
