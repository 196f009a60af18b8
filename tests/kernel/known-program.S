/* A whole program whose every instruction is counted by looking at it:
 * 2 + 8 * 1,000,000 + 3 = 8,000,005 from exec to exit. */
	.text
	.global _start
_start:
	movz	x0, #0x4240		/* 1,000,000 = 0xf4240 */
	movk	x0, #0xf, lsl #16
1:	nop
	nop
	nop
	nop
	nop
	nop
	subs	x0, x0, #1
	b.ne	1b
	mov	x0, #0
	mov	x8, #93			/* exit */
	svc	#0

	.section .note.GNU-stack, "", %progbits
