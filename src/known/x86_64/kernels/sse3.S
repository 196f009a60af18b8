/* sse3 and ssse3. */
//@ about SSE3 and SSSE3: horizontal arithmetic, pshufb palignr, fisttp
//@ loops 120000
//@ need pni ssse3
#include "section.inc"
	KERNEL	sse3
	SAVE_FP
	movaps	(%rsi), %xmm1		//= load
	BODY
	.irp	op, addsubps, addsubpd, haddps, haddpd, hsubps, hsubpd
	CASE
	movaps	%xmm1, %xmm0
	\op	%xmm1, %xmm0		//= fp
	CASE
	movaps	%xmm1, %xmm0
	\op	(%rsi), %xmm0		//= fp load
	.endr
	CASE	movddup	%xmm1, %xmm0
	CASE	movddup	(%rsi), %xmm0		//= load
	CASE	movshdup %xmm1, %xmm0
	CASE	movsldup (%rsi), %xmm0		//= load
	CASE	lddqu	1(%rsi), %xmm0		//= load
	CASE
	emms
	fld1				//= x87
	fisttpl	64(%rsi)		//= x87 store
	CASE
	emms
	fld1				//= x87
	fisttpll 64(%rsi)		//= x87 store
	.irp	op, pabsb, pabsw, pabsd, psignb, psignw, psignd, phaddw, phaddd, phaddsw, phsubw, phsubd, phsubsw, pmaddubsw, pmulhrsw, pshufb
	CASE	\op	%xmm1, %xmm0		//= int
	CASE	\op	(%rsi), %xmm0		//= int load
	CASE	\op	%mm1, %mm0		//= int
	CASE	\op	(%rsi), %mm0		//= int load
	.endr
	CASE	palignr	$3, %xmm1, %xmm0	//= int
	CASE	palignr	$3, (%rsi), %xmm0	//= int load
	CASE	palignr	$3, %mm1, %mm0		//= int
	CASE	emms
	BODY_END
	RESTORE_FP
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	96, 1, 0
	KERNEL_END sse3
