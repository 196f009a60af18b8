/* avx512cd: conflicts and leading zeros. */
//@ about AVX-512CD: vpconflict vplzcnt vpbroadcastm
//@ loops 300000
//@ need avx512f avx512cd
#include "section.inc"
	KERNEL	avx512cd
	vmovaps	(%rsi), %zmm1		//= load
	vmovaps	%zmm1, %zmm0
	movl	$0x5555, %eax
	kmovw	%eax, %k1
	BODY
	.irp	op, vpconflictd, vplzcntd
	CASE	\op	%zmm1, %zmm2	//= int
	CASE	\op	(%rsi), %zmm2	//= int load
	CASE	\op	%zmm1, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm2{%k1}{z}	//= int load
	CASE	\op	(%rsi){1to16}, %zmm2	//= int load
	.endr
	.irp	op, vpconflictq, vplzcntq
	CASE	\op	%zmm1, %zmm2	//= int
	CASE	\op	(%rsi), %zmm2	//= int load
	CASE	\op	%zmm1, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm2{%k1}{z}	//= int load
	CASE	\op	(%rsi){1to8}, %zmm2	//= int load
	.endr
	CASE	vpbroadcastmw2d %k1, %zmm2	//= int
	CASE	vpbroadcastmb2q %k1, %zmm2	//= int
	BODY_END
	vzeroupper
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	192, 1, 0
	KERNEL_END avx512cd
