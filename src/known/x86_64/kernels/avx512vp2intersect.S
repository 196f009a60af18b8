/* avx512_vp2intersect: which elements two registers share. */
//@ about AVX-512 VP2INTERSECT
//@ loops 200000
//@ need avx512f avx512_vp2intersect
#include "section.inc"
	KERNEL	avx512vp2intersect
	vmovaps	(%rsi), %zmm1		//= load
	vmovaps	%zmm1, %zmm0
	movl	$0x5555, %eax
	kmovw	%eax, %k1
	BODY
	CASE	vp2intersectd %zmm1, %zmm0, %k2	//= int
	CASE	vp2intersectd (%rsi), %zmm0, %k2	//= int load
	CASE	vp2intersectq %zmm1, %zmm0, %k2	//= int
	CASE	vp2intersectq (%rsi){1to8}, %zmm0, %k2	//= int load
	BODY_END
	vzeroupper
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	192, 1, 0
	KERNEL_END avx512vp2intersect
