/* avx512_fp16: half precision, complex multiplication. */
//@ about AVX-512 FP16: half-precision arithmetic, complex multiplication, conversions
//@ loops 100000
//@ need avx512f avx512bw avx512_fp16
#include "section.inc"
	KERNEL	avx512fp16
	SAVE_FP
	vmovaps	(%rsi), %zmm1		//= load
	vmovaps	%zmm1, %zmm0
	movl	$0x5555, %eax
	kmovw	%eax, %k1
	BODY
	.irp	op, vaddph, vsubph, vmulph, vdivph
	CASE	\op	%zmm1, %zmm0, %zmm2	//= fp
	CASE	\op	(%rsi), %zmm0, %zmm2	//= fp load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= fp
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to32}, %zmm0, %zmm2	//= fp load
	CASE
	\op	{rn-sae}, %zmm1, %zmm0, %zmm2	//= fp
	.endr
	.irp	op, vminph, vmaxph
	CASE	\op	%zmm1, %zmm0, %zmm2	//= fp
	CASE	\op	(%rsi), %zmm0, %zmm2	//= fp load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= fp
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to32}, %zmm0, %zmm2	//= fp load
	.endr
	.irp	op, vaddsh, vsubsh, vmulsh, vdivsh, vminsh, vmaxsh
	CASE	\op	%xmm1, %xmm0, %xmm18	//= fp
	CASE	\op	(%rsi), %xmm0, %xmm18	//= fp load
	CASE	\op	%xmm1, %xmm0, %xmm18{%k1}	//= fp
	CASE	\op	(%rsi), %xmm0, %xmm18{%k1}{z}	//= fp load
	.endr
	.irp	op, vsqrtph, vrcpph, vrsqrtph, vgetexpph, vcvtw2ph, vcvtph2w, vcvttph2w, vcvtuw2ph, vcvtph2uw
	CASE	\op	%zmm1, %zmm2	//= fp
	CASE	\op	(%rsi), %zmm2	//= fp load
	CASE	\op	%zmm1, %zmm2{%k1}	//= fp
	CASE	\op	(%rsi), %zmm2{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to32}, %zmm2	//= fp load
	.endr
	.irp	op, vrndscaleph, vgetmantph, vreduceph
	CASE	\op	$1, %zmm1, %zmm2	//= fp
	CASE	\op	$1, (%rsi), %zmm2	//= fp load
	CASE	\op	$1, %zmm1, %zmm2{%k1}	//= fp
	CASE	\op	$1, (%rsi), %zmm2{%k1}{z}	//= fp load
	CASE	\op	$1, (%rsi){1to32}, %zmm2	//= fp load
	.endr
	.irp	op, vfmadd132ph, vfmsub213ph, vfnmadd231ph, vfnmsub132ph, vfmaddsub213ph
	CASE
	vmovaps	%zmm1, %zmm2
	\op	%zmm1, %zmm0, %zmm2	//= fp
	CASE
	vmovaps	%zmm1, %zmm2
	\op	(%rsi){1to32}, %zmm0, %zmm2	//= fp load
	.endr
	.irp	op, vfmulcph, vfcmulcph
	CASE	\op	%zmm1, %zmm0, %zmm2	//= fp
	CASE	\op	(%rsi), %zmm0, %zmm2	//= fp load
	.endr
	.irp	op, vfmaddcph, vfcmaddcph
	CASE
	vmovaps	%zmm1, %zmm2
	\op	%zmm1, %zmm0, %zmm2	//= fp
	.endr
	CASE	vcmpeqph %zmm1, %zmm0, %k2	//= fp
	CASE	vcmpltsh (%rsi), %xmm0, %k2	//= fp load
	CASE	vcomish	%xmm1, %xmm0		//= fp
	CASE	vucomish (%rsi), %xmm0		//= fp load
	CASE	vfpclassph $1, %zmm1, %k2	//= fp
	CASE	vscalefph %zmm1, %zmm0, %zmm2	//= fp
	CASE	vcvtph2psx (%rsi), %zmm2	//= fp load
	CASE	vcvtps2phx %zmm1, %ymm2		//= fp
	CASE	vcvtph2dq %ymm1, %zmm2		//= fp
	CASE	vcvtsi2shl %eax, %xmm0, %xmm2	//= fp
	CASE	vcvttsh2si %xmm1, %rax		//= fp
	CASE	vcvtsh2ss (%rsi), %xmm0, %xmm2	//= fp load
	CASE	vmovsh	(%rsi), %xmm2		//= load
	CASE	vmovsh	%xmm1, 64(%rsi)		//= store
	CASE	vmovw	%eax, %xmm2
	CASE	vmovw	%xmm1, 64(%rsi)		//= store
	BODY_END
	vzeroupper
	RESTORE_FP
	RETURN
	IMAGE
	.fill	32, 2, 0x3e00		# 1.5
	.fill	192, 1, 0
	KERNEL_END avx512fp16
