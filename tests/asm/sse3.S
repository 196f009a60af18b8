/* sse3 and ssse3. */
//@ need pni ssse3
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
	movaps	(%rsi), %xmm1		//= load
	movaps	%xmm1, %xmm0
1:
//@ loop LOOPS
	.irp	op, addsubps, addsubpd, haddps, haddpd, hsubps, hsubpd
	\op	%xmm1, %xmm0		//= fp
	\op	(%rsi), %xmm0		//= fp load
	.endr
	movddup	%xmm1, %xmm0
	movddup	(%rsi), %xmm0		//= load
	movshdup %xmm1, %xmm0
	movsldup (%rsi), %xmm0		//= load
	lddqu	1(%rsi), %xmm0		//= load
	fld1				//= x87
	fisttpl	64(%rsi)		//= x87 store
	.irp	op, pabsb, pabsw, pabsd, psignb, psignw, psignd, phaddw, phaddd, phaddsw, phsubw, phsubd, phsubsw, pmaddubsw, pmulhrsw, pshufb
	\op	%xmm1, %xmm0		//= int
	\op	(%rsi), %xmm0		//= int load
	\op	%mm1, %mm0		//= int
	.endr
	palignr	$3, %xmm1, %xmm0	//= int
	palignr	$3, (%rsi), %xmm0	//= int load
	emms
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	.data
	.balign	64
data:	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	96, 1, 0
