/* avx512dq: doublewords and quadwords. */
//@ about AVX-512DQ: quadword conversions, ranges, classes, logic on floating point
//@ loops 60000
//@ need avx512f avx512dq
#include "section.inc"
	KERNEL	avx512dq
	SAVE_FP
	vmovaps	(%rsi), %zmm1		//= load
	vmovaps	%zmm1, %zmm0
	movl	$0x5555, %eax
	kmovw	%eax, %k1
	BODY
	.irp	op, vandps, vandnps, vorps, vxorps
	CASE	\op	%zmm1, %zmm0, %zmm2
	CASE	\op	(%rsi), %zmm0, %zmm2	//= load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= load
	CASE	\op	(%rsi){1to16}, %zmm0, %zmm2	//= load
	.endr
	.irp	op, vandpd, vorpd
	CASE	\op	%zmm1, %zmm0, %zmm2
	CASE	\op	(%rsi), %zmm0, %zmm2	//= load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= load
	CASE	\op	(%rsi){1to8}, %zmm0, %zmm2	//= load
	.endr
	.irp	op, vpmullq
	CASE	\op	%zmm1, %zmm0, %zmm2	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	CASE	\op	(%rsi){1to8}, %zmm0, %zmm2	//= int load
	.endr
	.irp	op, vcvtpd2qq, vcvttpd2qq, vcvtpd2uqq, vcvttpd2uqq, vcvtqq2pd, vcvtuqq2pd
	CASE	\op	%zmm1, %zmm2	//= fp
	CASE	\op	(%rsi), %zmm2	//= fp load
	CASE	\op	%zmm1, %zmm2{%k1}	//= fp
	CASE	\op	(%rsi), %zmm2{%k1}{z}	//= fp load
	CASE	\op	(%rsi){1to8}, %zmm2	//= fp load
	.endr
	.irp	op, vrangepd
	CASE	\op	$1, %zmm1, %zmm0, %zmm2	//= fp
	CASE	\op	$1, (%rsi), %zmm0, %zmm2	//= fp load
	CASE	\op	$1, %zmm1, %zmm0, %zmm2{%k1}	//= fp
	CASE	\op	$1, (%rsi), %zmm0, %zmm2{%k1}{z}	//= fp load
	CASE	\op	$1, (%rsi){1to8}, %zmm0, %zmm2	//= fp load
	.endr
	.irp	op, vreducepd
	CASE	\op	$1, %zmm1, %zmm2	//= fp
	CASE	\op	$1, (%rsi), %zmm2	//= fp load
	CASE	\op	$1, %zmm1, %zmm2{%k1}	//= fp
	CASE	\op	$1, (%rsi), %zmm2{%k1}{z}	//= fp load
	CASE	\op	$1, (%rsi){1to8}, %zmm2	//= fp load
	.endr
	CASE	vcvtqq2ps %zmm1, %ymm2		//= fp
	CASE	vcvtps2qq (%rsi), %zmm2		//= fp load
	CASE	vrangess $1, %xmm1, %xmm0, %xmm2	//= fp
	CASE	vreducesd $1, (%rsi), %xmm0, %xmm2	//= fp load
	CASE	vfpclasspd $1, %zmm1, %k2	//= fp
	CASE	vfpclassps $1, (%rsi){1to16}, %k2	//= fp load
	CASE	vfpclassss $1, %xmm1, %k2{%k1}	//= fp
	CASE	vpmovd2m %zmm1, %k2		//= int
	CASE	vpmovm2q %k1, %zmm2		//= int
	CASE	vbroadcastf32x8 (%rsi), %zmm2	//= load
	CASE	vbroadcasti64x2 (%rsi), %zmm2{%k1}	//= load
	CASE	vbroadcastf32x2 %xmm1, %zmm2
	CASE	vinsertf64x2 $1, %xmm1, %zmm0, %zmm2
	CASE	vinserti32x8 $1, (%rsi), %zmm0, %zmm2	//= load
	CASE	vextractf64x2 $1, %zmm1, 64(%rsi)	//= store
	CASE	vextracti32x8 $1, %zmm1, %ymm2
	CASE	vpextrd	$1, %xmm17, %eax	//= int
	CASE	vpinsrq	$1, (%rsi), %xmm17, %xmm18	//= int load
	CASE	kmovb	%eax, %k2
	CASE	kmovb	%k1, 64(%rsi)		//= store
	CASE	kandb	%k1, %k1, %k2
	CASE	kaddb	%k1, %k1, %k2
	CASE	kaddw	%k1, %k1, %k2
	CASE	ktestw	%k1, %k1
	CASE	kortestb %k1, %k1
	CASE	kshiftrb $3, %k1, %k2
	BODY_END
	vzeroupper
	RESTORE_FP
	RETURN
	IMAGE
	.double	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	192, 1, 0
	KERNEL_END avx512dq
