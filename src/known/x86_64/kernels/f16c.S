/* f16c: conversions to and from half precision. */
//@ about F16C: vcvtph2ps and vcvtps2ph
//@ loops 2000000
//@ need f16c
#include "section.inc"
	KERNEL	f16c
	SAVE_FP
	vmovaps	(%rsi), %ymm1		//= load
	vmovaps	%ymm1, %ymm0
	vcvtps2ph $0, %ymm1, 64(%rsi)	//= fp store
	BODY
	CASE	vcvtph2ps 64(%rsi), %ymm2	//= fp load
	CASE	vcvtph2ps 64(%rsi), %xmm2	//= fp load
	CASE	vcvtps2ph $0, %ymm1, %xmm2	//= fp
	CASE	vcvtps2ph $0, %xmm1, %xmm2	//= fp
	CASE	vcvtps2ph $0, %ymm1, 96(%rsi)	//= fp store
	CASE	vcvtps2ph $3, %xmm1, 96(%rsi)	//= fp store
	CASE
	vcvtps2ph $0, %ymm1, %xmm2	//= fp
	vcvtph2ps %xmm2, %ymm3		//= fp
	BODY_END
	vzeroupper
	RESTORE_FP
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	128, 1, 0
	.long	0x1f80, 0
	KERNEL_END f16c
