/* Code whose counts are known: see enum tare_region in <tare/doctor.h>.
 *
 *	void region_X(uint64_t n, uint64_t *cell);
 *
 * Entry and exit are the same for every n (0 included), so the difference of
 * two counts is that of the rounds alone. */
	.text

/* per round: 4 instructions, 1 load, 1 store, 1 conditional branch */
	.globl	region_loop
	.hidden	region_loop
	.type	region_loop, %function
region_loop:
	cbz	x0, 2f
1:	ldr	x2, [x1]		/* load */
	str	x2, [x1]		/* store */
	subs	x0, x0, #1
	b.ne	1b			/* conditional branch */
2:	ret
	.size	region_loop, . - region_loop

/* per round: 1 store exclusive that succeeds, and those that do not */
	.globl	region_locked
	.hidden	region_locked
	.type	region_locked, %function
region_locked:
	cbz	x0, 2f
1:	ldxr	x2, [x1]
	add	x2, x2, #1
	stxr	w3, x2, [x1]
	cbnz	w3, 1b
	subs	x0, x0, #1
	b.ne	1b
2:	ret
	.size	region_locked, . - region_locked

/* arm64 has no CPUID: the branches alone */
	.globl	region_cpuid
	.hidden	region_cpuid
	.type	region_cpuid, %function
region_cpuid:
	cbz	x0, 2f
1:	subs	x0, x0, #1
	b.ne	1b
2:	ret
	.size	region_cpuid, . - region_cpuid

	.section .note.GNU-stack, "", %progbits
