/* avx: the VEX forms, 128 and 256 bits; masked moves, broadcasts, vzeroupper. */
//@ about AVX: the VEX forms, masked moves, broadcasts, vzeroupper
//@ loops 60000
//@ need avx
#include "section.inc"
	KERNEL	avx
	SAVE_FP
	vmovaps	(%rsi), %ymm1		//= load
	vmovaps	%ymm1, %ymm0
	BODY
	.irp	op, vaddps, vsubps, vmulps, vdivps, vminps, vmaxps, vaddpd, vsubpd, vmulpd, vdivpd, vminpd, vmaxpd, vaddsubps, vaddsubpd, vhaddps, vhaddpd, vhsubps, vhsubpd, vcmpeqps, vcmplepd
	CASE	\op	%ymm1, %ymm0, %ymm2	//= fp
	CASE	\op	(%rsi), %ymm0, %ymm2	//= fp load
	.endr
	.irp	op, vaddps, vsubps, vmulps, vdivps, vminps, vmaxps, vaddpd, vsubpd, vmulpd, vdivpd, vminpd, vmaxpd, vaddsubps, vaddsubpd, vhaddps, vhaddpd, vhsubps, vhsubpd, vcmpeqps, vcmplepd
	CASE	\op	%xmm1, %xmm0, %xmm12	//= fp
	CASE	\op	cells(%rip), %xmm0, %xmm12	//= fp load
	.endr
	.irp	op, vaddss, vsubsd, vmulss, vdivsd, vsqrtss, vminsd, vmaxss, vcmpeqsd, vcvtss2sd, vcvtsd2ss, vrcpss, vrsqrtss
	CASE	\op	%xmm1, %xmm0, %xmm2	//= fp
	CASE	\op	(%rsi), %xmm0, %xmm2	//= fp load
	.endr
	.irp	op, vsqrtps, vsqrtpd, vrcpps, vrsqrtps, vcvtdq2ps, vcvtps2dq, vcvttps2dq
	CASE	\op	%ymm1, %ymm2	//= fp
	CASE	\op	(%rsi), %ymm2	//= fp load
	.endr
	CASE	vroundps $1, %ymm1, %ymm2	//= fp
	CASE	vdpps	$1, (%rsi), %ymm1, %ymm2	//= fp load
	CASE	vcomiss	%xmm1, %xmm0		//= fp
	CASE	vucomisd (%rsi), %xmm0		//= fp load
	CASE	vcvtsi2sdq %rax, %xmm0, %xmm2	//= fp
	CASE	vcvttsd2si (%rsi), %rax		//= fp load
	.irp	op, vandps, vandnpd, vorps, vxorpd, vunpckhps, vunpcklpd
	CASE	\op	%ymm1, %ymm0, %ymm2
	CASE	\op	(%rsi), %ymm0, %ymm2	//= load
	.endr
	.irp	op, vpaddb, vpsubw, vpmullw, vpand, vpxor, vpcmpeqd, vpshufb, vpunpcklbw, vpacksswb, vpsllw, vpmaxub, vpminsd, vpsadbw
	CASE	\op	%xmm1, %xmm0, %xmm2	//= int
	CASE	\op	(%rsi), %xmm0, %xmm2	//= int load
	.endr
	CASE	vptest	%ymm1, %ymm0		//= int
	CASE	vtestps	%ymm1, %ymm0
	CASE	vshufps	$1, %ymm1, %ymm0, %ymm2
	CASE	vblendps $1, (%rsi), %ymm0, %ymm2	//= load
	CASE	vblendvps %ymm0, %ymm1, %ymm2, %ymm3
	CASE	vpermilps $1, %ymm1, %ymm2	//= int
	CASE	vperm2f128 $1, (%rsi), %ymm0, %ymm2	//= int load
	CASE	vbroadcastss (%rsi), %ymm2	//= load
	CASE	vbroadcastsd (%rsi), %ymm2	//= load
	CASE	vbroadcastf128 (%rsi), %ymm2	//= load
	CASE	vinsertf128 $1, %xmm1, %ymm0, %ymm2
	CASE	vinsertf128 $1, (%rsi), %ymm0, %ymm2	//= load
	CASE	vextractf128 $1, %ymm1, %xmm2
	CASE	vextractf128 $1, %ymm1, 64(%rsi)	//= store
	CASE	vmaskmovps (%rsi), %ymm0, %ymm2		//= load
	CASE	vmaskmovps %ymm2, %ymm0, 64(%rsi)	//= store
	CASE	vmovups	4(%rsi), %ymm2		//= load
	CASE	vmovups	%ymm2, 68(%rsi)		//= store
	CASE	vmovdqa	%ymm1, %ymm2
	CASE	vmovdqu	%xmm2, 64(%rsi)		//= store
	CASE	vmovntps %ymm2, 64(%rsi)	//= store
	CASE	vlddqu	(%rsi), %ymm2		//= load
	CASE	vmovss	(%rsi), %xmm2		//= load
	CASE	vmovsd	%xmm2, 64(%rsi)		//= store
	CASE	vmovd	%eax, %xmm2
	CASE	vmovq	%xmm2, %rax
	CASE	vmovmskps %ymm0, %eax
	CASE	vldmxcsr 160(%rsi)		//= load
	CASE	vstmxcsr 64(%rsi)		//= store
	CASE
	vzeroupper
	vmovaps	(%rsi), %ymm1		//= load
	vmovaps	%ymm1, %ymm0
	CASE
	vzeroall
	vmovaps	(%rsi), %ymm1		//= load
	vmovaps	%ymm1, %ymm0
	BODY_END
	vzeroupper
	RESTORE_FP
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	128, 1, 0
	.long	0x1f80, 0
	KERNEL_END avx
	CELLS	avx
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	CELLS_END avx
