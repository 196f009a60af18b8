/* avx2: 256-bit integers. A gather is one load. */
//@ about AVX2: 256-bit integers, permutations, variable shifts, gathers
//@ loops 80000
//@ need avx2
#include "section.inc"
	KERNEL	avx2
	vmovaps	(%rsi), %ymm1		//= load
	vmovaps	%ymm1, %ymm0
	BODY
	.irp	op, vpaddb, vpaddq, vpsubd, vpmulld, vpmuludq, vpand, vpandn, vpor, vpxor, vpcmpeqb, vpcmpgtq, vpshufb, vpunpckhwd, vpackusdw, vpsllvd, vpsrlvq, vpsravd, vpavgb, vpmaxsd, vpminub, vpsadbw, vpmaddwd, vphaddd, vpsignb, vpermd
	CASE	\op	%ymm1, %ymm0, %ymm2	//= int
	CASE	\op	(%rsi), %ymm0, %ymm2	//= int load
	.endr
	.irp	op, vpblendd, vpblendw, vpalignr, vmpsadbw, vperm2i128
	CASE	\op	$1, %ymm1, %ymm0, %ymm2	//= int
	CASE	\op	$1, cells(%rip), %ymm0, %ymm2	//= int load
	.endr
	CASE	vpermq	$0x1b, %ymm1, %ymm2	//= int
	CASE	vpermq	$0x1b, cells(%rip), %ymm2	//= int load
	CASE	vpshufd	$0x1b, (%rsi), %ymm2	//= int load
	CASE	vpsllw	$3, %ymm1, %ymm2	//= int
	CASE	vpslldq	$3, %ymm1, %ymm2	//= int
	CASE	vpbroadcastb %xmm1, %ymm2	//= int
	CASE	vpbroadcastd (%rsi), %ymm2	//= int load
	CASE	vpmovzxbw %xmm1, %ymm2		//= int
	CASE	vpmovsxdq (%rsi), %ymm2		//= int load
	CASE	vpmovmskb %ymm1, %eax		//= int
	CASE	vpabsd	%ymm1, %ymm2		//= int
	CASE	vpmaskmovd (%rsi), %ymm0, %ymm2		//= load
	CASE	vpmaskmovq %ymm2, %ymm0, 64(%rsi)	//= store
	/* gathers: the mask is all ones, then used up */
	CASE
	vpcmpeqd %ymm3, %ymm3, %ymm3	//= int
	vpxor	%ymm4, %ymm4, %ymm4	//= int
	vpgatherdd %ymm3, (%rsi,%ymm4,4), %ymm5	//= load
	CASE
	vpcmpeqd %ymm3, %ymm3, %ymm3	//= int
	vpxor	%ymm4, %ymm4, %ymm4	//= int
	vpgatherdq %ymm3, (%rsi,%xmm4,8), %ymm5	//= load
	CASE
	vpcmpeqd %ymm3, %ymm3, %ymm3	//= int
	vpxor	%ymm4, %ymm4, %ymm4	//= int
	vgatherqpd %ymm3, (%rsi,%ymm4,1), %ymm5	//= load
	CASE
	vpcmpeqd %ymm3, %ymm3, %ymm3	//= int
	vpxor	%ymm4, %ymm4, %ymm4	//= int
	vgatherdps %ymm3, 4(%rsi,%ymm4,2), %ymm5	//= load
	CASE	vinserti128 $1, %xmm1, %ymm0, %ymm2
	CASE	vextracti128 $1, %ymm1, 64(%rsi)	//= store
	CASE	vbroadcasti128 (%rsi), %ymm2	//= load
	BODY_END
	vzeroupper
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	128, 1, 0
	.long	0x1f80, 0
	KERNEL_END avx2
	CELLS	avx2
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	CELLS_END avx2
