/* sse4.1, sse4.2, popcnt, aes, pclmul. */
//@ need sse4_1 sse4_2 popcnt aes pclmulqdq
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
	movaps	(%rsi), %xmm1		//= load
	movaps	%xmm1, %xmm0
1:
//@ loop LOOPS
	.irp	op, pmulld, pmuldq, pminsb, pminsd, pminuw, pminud, pmaxsb, pmaxsd, pmaxuw, pmaxud, phminposuw, packusdw, pcmpeqq, pcmpgtq, ptest, pblendvb, pmovsxbw, pmovsxbd, pmovsxbq, pmovsxwd, pmovsxwq, pmovsxdq, pmovzxbw, pmovzxbd, pmovzxbq, pmovzxwd, pmovzxwq, pmovzxdq, aesenc, aesenclast, aesdec, aesdeclast, aesimc
	\op	%xmm1, %xmm2		//= int
	\op	(%rsi), %xmm2		//= int load
	.endr
	.irp	op, pblendw, mpsadbw, pcmpestri, pcmpestrm, pcmpistri, pcmpistrm, pclmulqdq, aeskeygenassist
	\op	$1, %xmm1, %xmm2	//= int
	\op	$1, (%rsi), %xmm2	//= int load
	.endr
	.irp	op, roundps, roundpd, roundss, roundsd, dpps, dppd
	\op	$1, %xmm1, %xmm2	//= fp
	\op	$1, (%rsi), %xmm2	//= fp load
	.endr
	.irp	op, blendps, blendpd, insertps
	\op	$1, %xmm1, %xmm2
	\op	$1, (%rsi), %xmm2	//= load
	.endr
	blendvps %xmm0, %xmm1, %xmm2
	blendvpd %xmm0, (%rsi), %xmm2	//= load
	extractps $1, %xmm1, %eax
	extractps $1, %xmm1, 64(%rsi)	//= store
	pextrb	$1, %xmm1, %eax		//= int
	pextrb	$1, %xmm1, 64(%rsi)	//= int store
	pextrd	$1, %xmm1, 64(%rsi)	//= int store
	pextrq	$1, %xmm1, %rax		//= int
	pextrw	$1, %xmm1, 64(%rsi)	//= int store
	pinsrb	$1, (%rsi), %xmm2	//= int load
	pinsrd	$1, %eax, %xmm2		//= int
	pinsrq	$1, (%rsi), %xmm2	//= int load
	movntdqa (%rsi), %xmm2		//= load
	crc32b	(%rsi), %eax		//= load
	crc32q	%rbx, %rax
	popcntl	%ebx, %eax
	popcntq	(%rsi), %rax		//= load
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	.data
	.balign	64
data:	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	96, 1, 0
