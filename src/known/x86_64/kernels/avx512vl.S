/* avx512vl: the same with 128 and 256 bits, in registers that only EVEX reaches. */
//@ about AVX-512VL: EVEX forms with 128 and 256 bits, registers 16 to 31
//@ loops 60000
//@ need avx512f avx512vl
#include "section.inc"
	KERNEL	avx512vl
	SAVE_FP
	vmovaps	(%rsi), %zmm1		//= load
	vmovaps	%zmm1, %zmm0
	movl	$0x5555, %eax
	kmovw	%eax, %k1
	vmovaps	(%rsi), %zmm17		//= load
	vmovaps	%zmm17, %zmm16
	BODY
	.irp	op, vaddps, vsubps, vmulps, vdivps, vminps, vmaxps
	CASE	\op	%xmm17, %xmm16, %xmm18	//= fp
	CASE	\op	(%rsi), %xmm16, %xmm18	//= fp load
	CASE	\op	%xmm17, %xmm16, %xmm18{%k1}	//= fp
	CASE	\op	(%rsi), %xmm16, %xmm18{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to4}, %xmm16, %xmm18	//= fp load
	.endr
	.irp	op, vpaddd, vpsubd, vpmulld, vpandd, vpxord, vpminud, vpermi2d, vprolvd
	CASE	\op	%xmm17, %xmm16, %xmm18	//= int
	CASE	\op	(%rsi), %xmm16, %xmm18	//= int load
	CASE	\op	%xmm17, %xmm16, %xmm18{%k1}	//= int
	CASE	\op	(%rsi), %xmm16, %xmm18{%k1}{z}	//= int load
	CASE	\op	(%rsi){1to4}, %xmm16, %xmm18	//= int load
	.endr
	.irp	op, vsqrtps, vgetexpps, vcvtudq2ps
	CASE	\op	%xmm17, %xmm18	//= fp
	CASE	\op	(%rsi), %xmm18	//= fp load
	CASE	\op	%xmm17, %xmm18{%k1}	//= fp
	CASE	\op	(%rsi), %xmm18{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to4}, %xmm18	//= fp load
	.endr
	.irp	op, vaddps, vsubps, vmulps, vdivps, vminps, vmaxps
	CASE	\op	%ymm17, %ymm16, %ymm18	//= fp
	CASE	\op	(%rsi), %ymm16, %ymm18	//= fp load
	CASE	\op	%ymm17, %ymm16, %ymm18{%k1}	//= fp
	CASE	\op	(%rsi), %ymm16, %ymm18{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to8}, %ymm16, %ymm18	//= fp load
	.endr
	.irp	op, vpaddd, vpsubd, vpmulld, vpandd, vpxord, vpminud, vpermi2d, vprolvd
	CASE	\op	%ymm17, %ymm16, %ymm18	//= int
	CASE	\op	(%rsi), %ymm16, %ymm18	//= int load
	CASE	\op	%ymm17, %ymm16, %ymm18{%k1}	//= int
	CASE	\op	(%rsi), %ymm16, %ymm18{%k1}{z}	//= int load
	CASE	\op	(%rsi){1to8}, %ymm16, %ymm18	//= int load
	.endr
	.irp	op, vsqrtps, vgetexpps, vcvtudq2ps
	CASE	\op	%ymm17, %ymm18	//= fp
	CASE	\op	(%rsi), %ymm18	//= fp load
	CASE	\op	%ymm17, %ymm18{%k1}	//= fp
	CASE	\op	(%rsi), %ymm18{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to8}, %ymm18	//= fp load
	.endr
	CASE	vpmovqd	%ymm17, %xmm18		//= int
	CASE	vpmovdb	%ymm17, 64(%rsi){%k1}	//= int store
	CASE	vpcompressd %ymm17, %ymm18{%k1}	//= int
	CASE	vmovdqu32 (%rsi), %ymm18{%k1}{z}	//= load
	CASE	vmovdqu64 %xmm17, 64(%rsi){%k1}	//= store
	CASE	vpcmpeqd %ymm17, %ymm16, %k2	//= int
	CASE	vcmpltps (%rsi), %ymm16, %k2	//= fp load
	CASE	valignq	$1, %ymm17, %ymm16, %ymm18
	CASE	vshufi32x4 $1, (%rsi), %ymm16, %ymm18	//= load
	BODY_END
	vzeroupper
	RESTORE_FP
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	192, 1, 0
	KERNEL_END avx512vl
