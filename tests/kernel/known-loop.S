/* Code whose instructions are counted by looking at it.
 *
 *	void known_loop(uint64_t n);	n >= 1
 *
 * 8 instructions a round. The `ret` makes one more and the caller's `bl` too;
 * setting up the argument is the caller's business, so the tests compare two
 * values of n and nothing else differs: known_loop(n) - known_loop(1) is
 * 8 * (n - 1). Of each round's instructions one is a branch, taken but in the last.
 */
	.text
	.global known_loop
	.type known_loop, %function
	.balign 64
known_loop:
1:	nop
	nop
	nop
	nop
	nop
	nop
	subs	x0, x0, #1
	b.ne	1b
	ret
	.size known_loop, . - known_loop

	.section .note.GNU-stack, "", %progbits
