/* gfni: SSE and VEX forms. */
//@ about GFNI: Galois field instructions, SSE and VEX forms
//@ loops 600000
//@ need avx gfni
#include "section.inc"
	KERNEL	gfni
	vmovaps	(%rsi), %ymm1		//= load
	vmovaps	%ymm1, %ymm0
	BODY
	.irp	op, gf2p8mulb
	CASE	\op	%xmm1, %xmm2		//= int
	CASE	\op	(%rsi), %xmm2	//= int load
	.endr
	.irp	op, gf2p8affineqb, gf2p8affineinvqb
	CASE	\op	$1, %xmm1, %xmm3		//= int
	CASE	\op	$1, (%rsi), %xmm3	//= int load
	.endr
	.irp	op, vgf2p8mulb
	CASE	\op	%ymm1, %ymm0, %ymm2	//= int
	CASE	\op	(%rsi), %ymm0, %ymm2	//= int load
	.endr
	.irp	op, vgf2p8affineqb, vgf2p8affineinvqb
	CASE	\op	$1, %ymm1, %ymm0, %ymm2	//= int
	CASE	\op	$1, (%rsi), %ymm0, %ymm2	//= int load
	.endr
	BODY_END
	vzeroupper
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	128, 1, 0
	.long	0x1f80, 0
	KERNEL_END gfni
