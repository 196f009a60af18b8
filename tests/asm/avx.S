/* avx: the VEX forms, 128 and 256 bits; masked moves, broadcasts, vzeroupper. */
//@ need avx
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
	vmovaps	(%rsi), %ymm1		//= load
	vmovaps	%ymm1, %ymm0
1:
//@ loop LOOPS
	.irp	op, vaddps, vsubps, vmulps, vdivps, vminps, vmaxps, vaddpd, vsubpd, vmulpd, vdivpd, vminpd, vmaxpd, vaddsubps, vaddsubpd, vhaddps, vhaddpd, vhsubps, vhsubpd, vcmpeqps, vcmplepd
	\op	%ymm1, %ymm0, %ymm2	//= fp
	\op	(%rsi), %ymm0, %ymm2	//= fp load
	\op	%xmm1, %xmm0, %xmm12	//= fp
	\op	data(%rip), %xmm0, %xmm12	//= fp load
	.endr
	.irp	op, vaddss, vsubsd, vmulss, vdivsd, vsqrtss, vminsd, vmaxss, vcmpeqsd, vcvtss2sd, vcvtsd2ss, vrcpss, vrsqrtss
	\op	%xmm1, %xmm0, %xmm2	//= fp
	\op	(%rsi), %xmm0, %xmm2	//= fp load
	.endr
	.irp	op, vsqrtps, vsqrtpd, vrcpps, vrsqrtps, vcvtdq2ps, vcvtps2dq, vcvttps2dq
	\op	%ymm1, %ymm2		//= fp
	\op	(%rsi), %ymm2		//= fp load
	.endr
	vroundps $1, %ymm1, %ymm2	//= fp
	vdpps	$1, (%rsi), %ymm1, %ymm2	//= fp load
	vcomiss	%xmm1, %xmm0		//= fp
	vucomisd (%rsi), %xmm0		//= fp load
	vcvtsi2sdq %rax, %xmm0, %xmm2	//= fp
	vcvttsd2si (%rsi), %rax		//= fp load
	.irp	op, vandps, vandnpd, vorps, vxorpd, vunpckhps, vunpcklpd
	\op	%ymm1, %ymm0, %ymm2
	\op	(%rsi), %ymm0, %ymm2	//= load
	.endr
	.irp	op, vpaddb, vpsubw, vpmullw, vpand, vpxor, vpcmpeqd, vpshufb, vpunpcklbw, vpacksswb, vpsllw, vpmaxub, vpminsd, vpsadbw
	\op	%xmm1, %xmm0, %xmm2	//= int
	\op	(%rsi), %xmm0, %xmm2	//= int load
	.endr
	vptest	%ymm1, %ymm0		//= int
	vtestps	%ymm1, %ymm0
	vshufps	$1, %ymm1, %ymm0, %ymm2
	vblendps $1, (%rsi), %ymm0, %ymm2	//= load
	vblendvps %ymm0, %ymm1, %ymm2, %ymm3
	vbroadcastss (%rsi), %ymm2	//= load
	vbroadcastsd (%rsi), %ymm2	//= load
	vbroadcastf128 (%rsi), %ymm2	//= load
	vinsertf128 $1, %xmm1, %ymm0, %ymm2
	vinsertf128 $1, (%rsi), %ymm0, %ymm2	//= load
	vextractf128 $1, %ymm1, %xmm2
	vextractf128 $1, %ymm1, 64(%rsi)	//= store
	vmaskmovps (%rsi), %ymm0, %ymm2		//= load
	vmaskmovps %ymm2, %ymm0, 64(%rsi)	//= store
	vmovups	4(%rsi), %ymm2		//= load
	vmovups	%ymm2, 68(%rsi)		//= store
	vmovdqa	%ymm1, %ymm2
	vmovdqu	%xmm2, 64(%rsi)		//= store
	vmovntps %ymm2, 64(%rsi)	//= store
	vlddqu	(%rsi), %ymm2		//= load
	vmovss	(%rsi), %xmm2		//= load
	vmovsd	%xmm2, 64(%rsi)		//= store
	vmovd	%eax, %xmm2
	vmovq	%xmm2, %rax
	vmovmskps %ymm0, %eax
	vldmxcsr mxcsr(%rip)		//= load
	vstmxcsr 64(%rsi)		//= store
	vzeroupper
	vmovaps	(%rsi), %ymm1		//= load
	vmovaps	%ymm1, %ymm0
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	vzeroall
	EXIT
	.data
	.balign	64
data:	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	128, 1, 0
mxcsr:	.long	0x1f80
