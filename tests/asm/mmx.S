/* mmx: integer SIMD on the mm registers; moves are neither fp nor simd-int. */
//@ need mmx
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
1:
//@ loop LOOPS
	movd	%eax, %mm0
	movd	(%rsi), %mm1		//= load
	movd	%mm0, %eax
	movd	%mm0, 64(%rsi)		//= store
	movq	%rax, %mm2
	movq	(%rsi), %mm3		//= load
	movq	%mm3, %mm4
	movq	%mm3, 64(%rsi)		//= store
	.irp	op, paddb, paddw, paddd, paddq, paddsb, paddsw, paddusb, paddusw, psubb, psubw, psubd, psubq, psubsb, psubsw, psubusb, psubusw, pmulhw, pmullw, pmulhuw, pmuludq, pmaddwd, pand, pandn, por, pxor, pcmpeqb, pcmpeqw, pcmpeqd, pcmpgtb, pcmpgtw, pcmpgtd, packsswb, packssdw, packuswb, punpckhbw, punpckhwd, punpckhdq, punpcklbw, punpcklwd, punpckldq, psllw, pslld, psllq, psrlw, psrld, psrlq, psraw, psrad, pavgb, pavgw, pmaxsw, pmaxub, pminsw, pminub, psadbw
	\op	%mm1, %mm0		//= int
	\op	(%rsi), %mm0		//= int load
	.endr
	.irp	op, psllw, pslld, psllq, psrlw, psrld, psrlq, psraw, psrad
	\op	$3, %mm0		//= int
	.endr
	pshufw	$0x1b, %mm0, %mm1	//= int
	pshufw	$0x1b, (%rsi), %mm1	//= int load
	pextrw	$1, %mm0, %eax		//= int
	pinsrw	$1, %eax, %mm0		//= int
	pinsrw	$1, (%rsi), %mm0	//= int load
	pmovmskb %mm0, %eax		//= int
	movntq	%mm0, 64(%rsi)		//= store
	leaq	64(%rsi), %rdi
	maskmovq %mm1, %mm0		//= store
	emms
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	.data
	.balign	64
data:	.fill	64, 8, 0x0102030405060708
