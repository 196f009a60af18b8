/* avx512_bitalg and vpopcntdq: population counts. */
//@ about AVX-512 BITALG and VPOPCNTDQ: vpopcnt of all widths, vpshufbitqmb
//@ loops 300000
//@ need avx512f avx512bw avx512_bitalg avx512_vpopcntdq
#include "section.inc"
	KERNEL	avx512bits
	vmovaps	(%rsi), %zmm1		//= load
	vmovaps	%zmm1, %zmm0
	movl	$0x5555, %eax
	kmovw	%eax, %k1
	BODY
	.irp	op, vpopcntb, vpopcntw
	CASE	\op	%zmm1, %zmm2	//= int
	CASE	\op	(%rsi), %zmm2	//= int load
	CASE	\op	%zmm1, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm2{%k1}{z}	//= int load
	.endr
	.irp	op, vpopcntd
	CASE	\op	%zmm1, %zmm2	//= int
	CASE	\op	(%rsi), %zmm2	//= int load
	CASE	\op	%zmm1, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm2{%k1}{z}	//= int load
	CASE	\op	(%rsi){1to16}, %zmm2	//= int load
	.endr
	.irp	op, vpopcntq
	CASE	\op	%zmm1, %zmm2	//= int
	CASE	\op	(%rsi), %zmm2	//= int load
	CASE	\op	%zmm1, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm2{%k1}{z}	//= int load
	CASE	\op	(%rsi){1to8}, %zmm2	//= int load
	.endr
	CASE	vpshufbitqmb %zmm1, %zmm0, %k2	//= int
	CASE	vpshufbitqmb (%rsi), %zmm0, %k2{%k1}	//= int load
	BODY_END
	vzeroupper
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	192, 1, 0
	KERNEL_END avx512bits
