/* avx512bw: bytes and words, masks of 32 and 64 bits. */
//@ about AVX-512BW: bytes and words, 32- and 64-bit masks
//@ loops 60000
//@ need avx512f avx512bw
#include "section.inc"
	KERNEL	avx512bw
	vmovaps	(%rsi), %zmm1		//= load
	vmovaps	%zmm1, %zmm0
	movl	$0x5555, %eax
	kmovw	%eax, %k1
	BODY
	.irp	op, vpaddb, vpaddw, vpaddsb, vpaddusw, vpsubb, vpsubsw, vpmullw, vpmulhw, vpmulhrsw, vpmaddwd, vpmaddubsw, vpminsb, vpminuw, vpmaxub, vpmaxsw, vpavgb, vpavgw, vpshufb, vpacksswb, vpackusdw, vpunpckhbw, vpunpcklwd, vpermw, vpermi2w, vpermt2w, vpsllvw, vpsrlvw, vpsravw, vpblendmb, vpblendmw
	CASE	\op	%zmm1, %zmm0, %zmm2	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	%zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	.endr
	.irp	op, vpsadbw
	CASE	\op	%zmm1, %zmm0, %zmm2	//= int
	CASE	\op	(%rsi), %zmm0, %zmm2	//= int load
	.endr
	.irp	op, vdbpsadbw, vpalignr
	CASE	\op	$1, %zmm1, %zmm0, %zmm2	//= int
	CASE	\op	$1, (%rsi), %zmm0, %zmm2	//= int load
	CASE	\op	$1, %zmm1, %zmm0, %zmm2{%k1}	//= int
	CASE	\op	$1, (%rsi), %zmm0, %zmm2{%k1}{z}	//= int load
	.endr
	.irp	op, vpabsb, vpabsw
	CASE	\op	%zmm1, %zmm2	//= int
	CASE	\op	(%rsi), %zmm2	//= int load
	CASE	\op	%zmm1, %zmm2{%k1}	//= int
	CASE	\op	(%rsi), %zmm2{%k1}{z}	//= int load
	.endr
	.irp	op, vpshufhw, vpshuflw, vpsllw, vpsraw
	CASE	\op	$3, %zmm1, %zmm2	//= int
	CASE	\op	$3, (%rsi), %zmm2	//= int load
	CASE	\op	$3, %zmm1, %zmm2{%k1}	//= int
	CASE	\op	$3, (%rsi), %zmm2{%k1}{z}	//= int load
	.endr
	.irp	cc, eq, lt, le, neq
	CASE	vpcmp\cc\()b	%zmm1, %zmm0, %k2	//= int
	CASE	vpcmp\cc\()uw	(%rsi), %zmm0, %k2{%k1}	//= int load
	.endr
	.irp	w, d, q
	CASE	kand\w	%k1, %k1, %k2
	CASE	kor\w	%k1, %k1, %k2
	CASE	kxnor\w	%k1, %k1, %k2
	CASE	kadd\w	%k1, %k1, %k2
	CASE	knot\w	%k1, %k2
	CASE	kortest\w %k1, %k1
	CASE	ktest\w	%k1, %k1
	CASE	kshiftl\w $3, %k1, %k2
	CASE	kmov\w	%k1, 64(%rsi)		//= store
	CASE	kmov\w	(%rsi), %k2		//= load
	.endr
	CASE	kmovd	%eax, %k2
	CASE	kmovq	%k1, %rax
	CASE	kunpckwd %k1, %k1, %k2
	CASE	kunpckdq %k1, %k1, %k2
	CASE	vptestmb %zmm1, %zmm0, %k2	//= int
	CASE	vptestnmw (%rsi), %zmm0, %k2	//= int load
	CASE	vpmovb2m %zmm1, %k2		//= int
	CASE	vpmovm2w %k1, %zmm2		//= int
	CASE	vpmovwb	%zmm1, %ymm2		//= int
	CASE	vpmovuswb %zmm1, 64(%rsi)	//= int store
	CASE	vpmovzxbw (%rsi), %zmm2		//= int load
	CASE	vpbroadcastb %eax, %zmm2	//= int
	CASE	vpbroadcastw (%rsi), %zmm2{%k1}	//= int load
	CASE	vmovdqu8 (%rsi), %zmm2{%k1}	//= load
	CASE	vmovdqu16 %zmm1, 64(%rsi){%k1}	//= store
	CASE	vpextrb	$1, %xmm17, %eax	//= int
	CASE	vpinsrw	$1, (%rsi), %xmm17, %xmm18	//= int load
	CASE	vpslldq	$3, %zmm1, %zmm2	//= int
	BODY_END
	vzeroupper
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	192, 1, 0
	KERNEL_END avx512bw
