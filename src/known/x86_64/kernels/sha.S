/* sha: SHA-1 and SHA-256. */
//@ about SHA: SHA-1 and SHA-256 rounds and messages
//@ loops 600000
//@ need sha_ni sse2
#include "section.inc"
	KERNEL	sha
	movaps	(%rsi), %xmm1		//= load
	BODY
	.irp	op, sha1nexte, sha1msg1, sha1msg2, sha256msg1, sha256msg2, sha256rnds2
	CASE	\op	%xmm1, %xmm2		//= int
	CASE	\op	(%rsi), %xmm2	//= int load
	.endr
	.irp	op, sha1rnds4
	CASE	\op	$1, %xmm1, %xmm3		//= int
	CASE	\op	$1, (%rsi), %xmm3	//= int load
	.endr
	.irp	op, sha1rnds4
	CASE	\op	$3, %xmm1, %xmm3		//= int
	CASE	\op	$3, cells(%rip), %xmm3	//= int load
	.endr
	BODY_END
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	96, 1, 0
	KERNEL_END sha
	CELLS	sha
	.quad	1, 2
	CELLS_END sha
