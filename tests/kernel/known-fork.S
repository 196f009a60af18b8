/* A program and its child, both counted by looking at them.
 *
 * Parent: 7 to the fork's return, 1 test, 7 to wait4's return, 3 to exit: 18.
 * Child: 1 test after the fork's return (the `svc` itself is its parent's),
 * 2 to set up, 8 * 1,000,000, 3 to exit: 8,000,006. Together 8,000,024.
 */
	.text
	.global _start
_start:
	mov	x0, #17			/* SIGCHLD */
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	mov	x4, #0
	mov	x8, #220		/* clone */
	svc	#0
	cbz	x0, child
	mov	x0, #-1			/* any child */
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	mov	x8, #260		/* wait4 */
	nop
	svc	#0
	mov	x0, #3
	mov	x8, #93			/* exit */
	svc	#0
child:
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
	mov	x8, #93
	svc	#0

	.section .note.GNU-stack, "", %progbits
