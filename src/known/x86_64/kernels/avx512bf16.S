/* avx512_bf16: dot products and conversions of 16-bit floating point. */
//@ about AVX-512 BF16: vdpbf16ps vcvtneps2bf16 vcvtne2ps2bf16
//@ loops 300000
//@ need avx512f avx512_bf16
#include "section.inc"
	KERNEL	avx512bf16
	SAVE_FP
	vmovaps	(%rsi), %zmm1		//= load
	vmovaps	%zmm1, %zmm0
	movl	$0x5555, %eax
	kmovw	%eax, %k1
	BODY
	CASE
	vmovaps	%zmm1, %zmm2
	vdpbf16ps %zmm1, %zmm0, %zmm2	//= fp
	CASE
	vmovaps	%zmm1, %zmm2
	vdpbf16ps (%rsi){1to16}, %zmm0, %zmm2{%k1}	//= fp load
	CASE	vcvtneps2bf16 %zmm1, %ymm2	//= fp
	CASE	vcvtneps2bf16 (%rsi), %ymm2{%k1}	//= fp load
	CASE	vcvtne2ps2bf16 %zmm1, %zmm0, %zmm2	//= fp
	CASE	vcvtne2ps2bf16 (%rsi), %zmm0, %zmm2	//= fp load
	BODY_END
	vzeroupper
	RESTORE_FP
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	192, 1, 0
	KERNEL_END avx512bf16
