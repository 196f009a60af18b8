/* rdrand and rdseed: one instruction each, whether a number came or not. */
//@ about rdrand rdseed, every width
//@ loops 5000
//@ need rdrand rdseed
#include "section.inc"
	KERNEL	rdrand
	BODY
	.irp	op, rdrand, rdseed
	CASE	\op	%ax
	CASE	\op	%eax
	CASE	\op	%r9
	.endr
	BODY_END
	RETURN
	IMAGE
	KERNEL_END rdrand
