/* mmx: integer SIMD on the mm registers; moves are neither fp nor simd-int. */
//@ about MMX: integer SIMD on the mm registers
//@ loops 80000
//@ need mmx
#include "section.inc"
	KERNEL	mmx
	SAVE_FP
	BODY
	CASE	movd	%eax, %mm0
	CASE	movd	(%rsi), %mm1		//= load
	CASE	movd	%mm0, %eax
	CASE	movd	%mm0, 64(%rsi)		//= store
	CASE	movq	%rax, %mm2
	CASE	movq	(%rsi), %mm3		//= load
	CASE	movq	%mm3, %mm4
	CASE	movq	%mm3, 64(%rsi)		//= store
	.irp	op, paddb, paddw, paddd, paddq, paddsb, paddsw, paddusb, paddusw, psubb, psubw, psubd, psubq, psubsb, psubsw, psubusb, psubusw, pmulhw, pmullw, pmulhuw, pmuludq, pmaddwd, pand, pandn, por, pxor, pcmpeqb, pcmpeqw, pcmpeqd, pcmpgtb, pcmpgtw, pcmpgtd, packsswb, packssdw, packuswb, punpckhbw, punpckhwd, punpckhdq, punpcklbw, punpcklwd, punpckldq, psllw, pslld, psllq, psrlw, psrld, psrlq, psraw, psrad, pavgb, pavgw, pmaxsw, pmaxub, pminsw, pminub, psadbw
	CASE	\op	%mm1, %mm0		//= int
	CASE	\op	(%rsi), %mm0	//= int load
	.endr
	.irp	op, psllw, pslld, psllq, psrlw, psrld, psrlq, psraw, psrad
	CASE	\op	$3, %mm0		//= int
	.endr
	CASE	pshufw	$0x1b, %mm0, %mm1	//= int
	CASE	pshufw	$0x1b, (%rsi), %mm1	//= int load
	CASE	pextrw	$1, %mm0, %eax		//= int
	CASE	pinsrw	$1, %eax, %mm0		//= int
	CASE	pinsrw	$1, (%rsi), %mm0	//= int load
	CASE	pmovmskb %mm0, %eax		//= int
	CASE	movntq	%mm0, 64(%rsi)		//= store
	CASE	emms
	CASE
	leaq	64(%rsi), %rdi
	maskmovq %mm1, %mm0		//= store
	BODY_END
	RESTORE_FP
	RETURN
	IMAGE
	.fill	16, 8, 0x0102030405060708
	KERNEL_END mmx
