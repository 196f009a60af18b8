/* avx512_vbmi and vbmi2: permutations and shifts of bytes, words and double shifts. */
//@ about AVX-512 VBMI and VBMI2: byte permutations, compressions, double shifts
//@ loops 150000
//@ need avx512f avx512bw avx512vbmi avx512_vbmi2
#include "section.inc"
	KERNEL	avx512vbmi
	vmovaps	(%rsi), %zmm1		//= load
	vmovaps	%zmm1, %zmm0
	movl	$0x5555, %eax
	kmovw	%eax, %k1
	BODY
	.irp	op, vpermb, vpermi2b, vpermt2b
	CASE	\op	%zmm1, %zmm0, %zmm2	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	.endr
	.irp	op, vpmultishiftqb
	CASE	\op	%zmm1, %zmm0, %zmm2	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	CASE	\op	(%rsi){1to8}, %zmm0, %zmm2	//= int load
	.endr
	.irp	op, vpshldvw, vpshrdvw
	CASE	\op	%zmm1, %zmm0, %zmm2	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	.endr
	.irp	op, vpshldvd, vpshrdvd
	CASE	\op	%zmm1, %zmm0, %zmm2	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	CASE	\op	(%rsi){1to16}, %zmm0, %zmm2	//= int load
	.endr
	.irp	op, vpshldw, vpshrdw
	CASE	\op	$3, %zmm1, %zmm0, %zmm2	//= int
	CASE	\op	$3, (%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	$3, %zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	$3, (%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	.endr
	.irp	op, vpshldq, vpshrdq
	CASE	\op	$3, %zmm1, %zmm0, %zmm2	//= int
	CASE	\op	$3, (%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	$3, %zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	$3, (%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	CASE	\op	$3, (%rsi){1to8}, %zmm0, %zmm2	//= int load
	.endr
	CASE	vpcompressb %zmm1, %zmm2{%k1}	//= int
	CASE	vpcompressw %zmm1, 64(%rsi){%k1}	//= int store
	CASE	vpexpandb (%rsi), %zmm2{%k1}	//= int load
	CASE	vpexpandw %zmm1, %zmm2{%k1}{z}	//= int
	BODY_END
	vzeroupper
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	192, 1, 0
	KERNEL_END avx512vbmi
