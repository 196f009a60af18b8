/* avx512f: 512-bit floating point and integers; masks, broadcasts, rounding in the instruction.
 * Gathers are one load, scatters one store, masked accesses count whatever their mask. */
//@ about AVX-512F: arithmetic, masks, broadcasts, conversions, permutations, gathers, scatters
//@ loops 25000
//@ need avx512f
#include "section.inc"
	KERNEL	avx512f
	SAVE_FP
	vmovaps	(%rsi), %zmm1		//= load
	vmovaps	%zmm1, %zmm0
	movl	$0x5555, %eax
	kmovw	%eax, %k1
	BODY
	.irp	op, vaddps, vsubps, vmulps, vdivps
	CASE	\op	%zmm1, %zmm0, %zmm2	//= fp
	CASE	\op	(%rsi), %zmm0, %zmm2	//= fp load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= fp
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to16}, %zmm0, %zmm2	//= fp load
	CASE
	\op	{rn-sae}, %zmm1, %zmm0, %zmm2	//= fp
	.endr
	.irp	op, vminps, vmaxps
	CASE	\op	%zmm1, %zmm0, %zmm2	//= fp
	CASE	\op	(%rsi), %zmm0, %zmm2	//= fp load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= fp
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to16}, %zmm0, %zmm2	//= fp load
	CASE
	\op	{sae}, %zmm1, %zmm0, %zmm2	//= fp
	.endr
	.irp	op, vaddpd, vsubpd, vmulpd, vdivpd, vminpd, vmaxpd
	CASE	\op	%zmm1, %zmm0, %zmm2	//= fp
	CASE	\op	(%rsi), %zmm0, %zmm2	//= fp load
	CASE	\op	(%rsi){1to8}, %zmm0, %zmm2	//= fp load
	.endr
	.irp	op, vaddss, vsubsd, vmulss, vdivsd, vminss, vmaxsd, vgetexpss, vscalefsd, vrcp14ss, vrsqrt14sd
	CASE	\op	%xmm1, %xmm0, %xmm18	//= fp
	CASE	\op	(%rsi), %xmm0, %xmm18	//= fp load
	CASE	\op	%xmm1, %xmm0, %xmm18{%k1}	//= fp
	CASE	\op	(%rsi), %xmm0, %xmm18{%k1}{z}	//= fp load
	.endr
	.irp	op, vsqrtps, vrcp14ps, vrsqrt14ps, vgetexpps, vcvtdq2ps, vcvtps2dq, vcvttps2dq, vcvtudq2ps, vcvtps2udq
	CASE	\op	%zmm1, %zmm2	//= fp
	CASE	\op	(%rsi), %zmm2	//= fp load
	CASE	\op	%zmm1, %zmm2{%k1}	//= fp
	CASE	\op	(%rsi), %zmm2{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to16}, %zmm2	//= fp load
	.endr
	.irp	op, vsqrtpd, vrcp14pd, vrsqrt14pd, vgetexppd
	CASE	\op	%zmm1, %zmm2	//= fp
	CASE	\op	(%rsi), %zmm2	//= fp load
	CASE	\op	%zmm1, %zmm2{%k1}	//= fp
	CASE	\op	(%rsi), %zmm2{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to8}, %zmm2	//= fp load
	.endr
	.irp	op, vscalefps
	CASE	\op	%zmm1, %zmm0, %zmm2	//= fp
	CASE	\op	(%rsi), %zmm0, %zmm2	//= fp load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= fp
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to16}, %zmm0, %zmm2	//= fp load
	.endr
	.irp	op, vrndscaleps, vgetmantps
	CASE	\op	$1, %zmm1, %zmm2	//= fp
	CASE	\op	$1, (%rsi), %zmm2	//= fp load
	CASE	\op	$1, %zmm1, %zmm2{%k1}	//= fp
	CASE	\op	$1, (%rsi), %zmm2{%k1}{z}	//= fp load
	CASE	\op	$1, (%rsi){1to16}, %zmm2	//= fp load
	.endr
	.irp	op, vfixupimmps
	CASE	\op	$0, %zmm1, %zmm0, %zmm2	//= fp
	CASE	\op	$0, (%rsi), %zmm0, %zmm2	//= fp load
	CASE	\op	$0, %zmm1, %zmm0, %zmm2{%k1}	//= fp
	CASE	\op	$0, (%rsi), %zmm0, %zmm2{%k1}{z}	//= fp load
	.endr
	.irp	op, vfmadd132ps, vfmsub213ps, vfnmadd231ps, vfnmsub132ps, vfmaddsub213ps, vfmsubadd231ps
	CASE
	vmovaps	%zmm1, %zmm2
	\op	%zmm1, %zmm0, %zmm2	//= fp
	CASE
	vmovaps	%zmm1, %zmm2
	\op	(%rsi){1to16}, %zmm0, %zmm2	//= fp load
	CASE
	vmovaps	%zmm1, %zmm2
	\op	%zmm1, %zmm0, %zmm2{%k1}	//= fp
	.endr
	.irp	cc, eq, lt, le, unord, neq, nlt, nle, ord
	CASE	vcmp\cc\()ps	%zmm1, %zmm0, %k2	//= fp
	CASE	vcmp\cc\()pd	(%rsi), %zmm0, %k2{%k1}	//= fp load
	CASE	vcmp\cc\()ss	%xmm1, %xmm0, %k2	//= fp
	.endr
	CASE	vcomiss	%xmm17, %xmm16		//= fp
	CASE	vucomisd (%rsi), %xmm16		//= fp load
	CASE	vcvtps2pd %ymm1, %zmm2		//= fp
	CASE	vcvtpd2ps (%rsi), %ymm2		//= fp load
	CASE	vcvtph2ps (%rsi), %zmm2		//= fp load
	CASE	vcvtps2ph $0, %zmm1, %ymm2	//= fp
	CASE	vcvtps2ph $0, %zmm1, 64(%rsi)	//= fp store
	CASE	vcvtusi2sdq %rax, %xmm0, %xmm2	//= fp
	CASE	vcvtusi2ssl %eax, %xmm0, %xmm2	//= fp
	CASE	vcvttsd2usi %xmm1, %rax		//= fp
	CASE	vcvttss2usi (%rsi), %eax	//= fp load
	.irp	op, vpaddd, vpsubd, vpmulld, vpandd, vpord, vpxord, vpandnd, vpminsd, vpmaxud, vpsllvd, vpsrlvd, vpsravd, vprolvd, vprorvd, vpermd, vpunpckhdq, vpermi2d, vpermt2ps, vpblendmd
	CASE	\op	%zmm1, %zmm0, %zmm2	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	CASE	\op	(%rsi){1to16}, %zmm0, %zmm2	//= int load
	.endr
	.irp	op, vpaddq, vpsubq, vpmuludq, vpmuldq, vpandq, vpminsq, vpmaxuq, vpsllvq, vpsravq, vpermq, vpunpcklqdq, vpermi2pd, vpermt2q, vpblendmq
	CASE	\op	%zmm1, %zmm0, %zmm2	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	(%rsi){1to8}, %zmm0, %zmm2	//= int load
	.endr
	.irp	op, vpternlogd
	CASE	\op	$0x1b, %zmm1, %zmm0, %zmm2	//= int
	CASE	\op	$0x1b, (%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	$0x1b, %zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	$0x1b, (%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	CASE	\op	$0x1b, (%rsi){1to16}, %zmm0, %zmm2	//= int load
	.endr
	.irp	op, vpternlogq
	CASE	\op	$0x1b, %zmm1, %zmm0, %zmm2	//= int
	CASE	\op	$0x1b, (%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	$0x1b, %zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	$0x1b, (%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	CASE	\op	$0x1b, (%rsi){1to8}, %zmm0, %zmm2	//= int load
	.endr
	.irp	op, valignd, vshufps, vshuff32x4, vshufi32x4
	CASE	\op	$1, %zmm1, %zmm0, %zmm2
	CASE	\op	$1, (%rsi), %zmm0, %zmm2	//= load
	CASE	\op	$1, %zmm1, %zmm0, %zmm2{%k1}
	CASE	\op	$1, (%rsi), %zmm0, %zmm2{%k1}{z}	//= load
	CASE	\op	$1, (%rsi){1to16}, %zmm0, %zmm2	//= load
	.endr
	.irp	op, vunpckhps, vunpcklps, vblendmps
	CASE	\op	%zmm1, %zmm0, %zmm2
	CASE	\op	(%rsi), %zmm0, %zmm2	//= load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= load
	CASE	\op	(%rsi){1to16}, %zmm0, %zmm2	//= load
	.endr
	.irp	op, vpabsd
	CASE	\op	%zmm1, %zmm2	//= int
	CASE	\op	(%rsi), %zmm2	//= int load
	CASE	\op	%zmm1, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm2{%k1}{z}	//= int load
	CASE	\op	(%rsi){1to16}, %zmm2	//= int load
	.endr
	.irp	op, vpshufd, vprold, vprord, vpslld, vpsrad, vpermilps
	CASE	\op	$3, %zmm1, %zmm2	//= int
	CASE	\op	$3, (%rsi), %zmm2	//= int load
	CASE	\op	$3, %zmm1, %zmm2{%k1}	//= int
	CASE	\op	$3, (%rsi), %zmm2{%k1}{z}	//= int load
	CASE	\op	$3, (%rsi){1to16}, %zmm2	//= int load
	.endr
	.irp	cc, eq, lt, le, neq, nlt, nle
	CASE	vpcmp\cc\()d	%zmm1, %zmm0, %k2	//= int
	CASE	vpcmp\cc\()uq	(%rsi), %zmm0, %k2{%k1}	//= int load
	.endr
	CASE	vptestmd %zmm1, %zmm0, %k2	//= int
	CASE	vptestnmq (%rsi), %zmm0, %k2	//= int load
	CASE	vpbroadcastd %xmm1, %zmm2	//= int
	CASE	vpbroadcastd %eax, %zmm2{%k1}	//= int
	CASE	vpbroadcastq (%rsi), %zmm2	//= int load
	CASE	vbroadcastss (%rsi), %zmm2	//= load
	CASE	vbroadcastsd %xmm1, %zmm2
	CASE	vbroadcastf32x4 (%rsi), %zmm2	//= load
	CASE	vbroadcasti64x4 (%rsi), %zmm2	//= load
	CASE	vinsertf32x4 $1, %xmm1, %zmm0, %zmm2
	CASE	vinserti64x4 $1, (%rsi), %zmm0, %zmm2	//= load
	CASE	vextractf32x4 $1, %zmm1, %xmm2
	CASE	vextracti64x4 $1, %zmm1, 64(%rsi)	//= store
	CASE	vpmovzxbd (%rsi), %zmm2		//= int load
	CASE	vpmovsxdq %ymm1, %zmm2		//= int
	CASE	vpmovdb	%zmm1, %xmm2		//= int
	CASE	vpmovqd	%zmm1, 64(%rsi)		//= int store
	CASE	vpmovusdw %zmm1, 64(%rsi){%k1}	//= int store
	CASE	vcompressps %zmm1, %zmm2{%k1}
	CASE	vcompressps %zmm1, 64(%rsi){%k1}	//= store
	CASE	vpcompressd %zmm1, %zmm2{%k1}	//= int
	CASE	vpcompressq %zmm1, 64(%rsi){%k1}	//= int store
	CASE	vexpandpd (%rsi), %zmm2{%k1}	//= load
	CASE	vpexpandd (%rsi), %zmm2{%k1}{z}	//= int load
	CASE	vmovaps	(%rsi), %zmm2{%k1}	//= load
	CASE	vmovups	%zmm1, 68(%rsi){%k1}	//= store
	CASE	vmovdqa32 %zmm1, %zmm2{%k1}{z}
	CASE	vmovdqu64 8(%rsi), %zmm17	//= load
	CASE	vmovdqu32 %zmm17, 72(%rsi)	//= store
	CASE	vmovntps %zmm1, 64(%rsi)	//= store
	CASE	vmovntdqa (%rsi), %zmm2		//= load
	CASE	vmovss	(%rsi), %xmm2{%k1}{z}	//= load
	CASE	vmovsd	%xmm1, 64(%rsi){%k1}	//= store
	CASE	vmovddup (%rsi), %zmm2		//= load
	CASE	vmovshdup %zmm1, %zmm2
	/* masks */
	CASE	kmovw	%eax, %k2
	CASE	kmovw	%k1, %eax
	CASE	kmovw	%k1, %k2
	CASE	kmovw	(%rsi), %k2		//= load
	CASE	kmovw	%k1, 64(%rsi)		//= store
	CASE	kandw	%k1, %k1, %k2
	CASE	kandnw	%k1, %k1, %k2
	CASE	korw	%k1, %k1, %k2
	CASE	kxorw	%k1, %k1, %k2
	CASE	kxnorw	%k1, %k1, %k2
	CASE	knotw	%k1, %k2
	CASE	kortestw %k1, %k1
	CASE	kshiftlw $3, %k1, %k2
	CASE	kshiftrw $3, %k1, %k2
	CASE	kunpckbw %k1, %k1, %k2
	/* the mask is used up */
	CASE
	kxnorw	%k2, %k2, %k2
	vpxord	%zmm4, %zmm4, %zmm4	//= int
	vpgatherdd (%rsi,%zmm4,4), %zmm5{%k2}	//= load
	CASE
	kxnorw	%k2, %k2, %k2
	vpxord	%zmm4, %zmm4, %zmm4	//= int
	vpgatherqq (%rsi,%zmm4,8), %zmm5{%k2}	//= load
	CASE
	kxnorw	%k2, %k2, %k2
	vpxord	%zmm4, %zmm4, %zmm4	//= int
	vgatherdps 4(%rsi,%zmm4,2), %zmm5{%k2}	//= load
	CASE
	kxnorw	%k2, %k2, %k2
	vpxord	%zmm4, %zmm4, %zmm4	//= int
	vgatherqpd (%rsi,%zmm4,1), %zmm5{%k2}	//= load
	CASE
	kxnorw	%k2, %k2, %k2
	vpxord	%zmm4, %zmm4, %zmm4	//= int
	vpscatterdd %zmm1, 64(%rsi,%zmm4,4){%k2}	//= store
	CASE
	kxnorw	%k2, %k2, %k2
	vpxord	%zmm4, %zmm4, %zmm4	//= int
	vpscatterqq %zmm1, 64(%rsi,%zmm4,8){%k2}	//= store
	CASE
	kxnorw	%k2, %k2, %k2
	vpxord	%zmm4, %zmm4, %zmm4	//= int
	vscatterdps %zmm1, 64(%rsi,%zmm4,2){%k2}	//= store
	CASE
	kxnorw	%k2, %k2, %k2
	vpxord	%zmm4, %zmm4, %zmm4	//= int
	vscatterqpd %zmm1, 64(%rsi,%zmm4,1){%k2}	//= store
	BODY_END
	vzeroupper
	RESTORE_FP
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	192, 1, 0
	KERNEL_END avx512f
