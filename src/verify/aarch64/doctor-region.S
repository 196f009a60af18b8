/* Code whose counts are known: see enum tare_region in <tare/doctor.h>.
 *
 *	void doctor_region_X(uint64_t n, uint64_t *cell);
 *
 * Entry and exit are the same for every n (0 included), so the difference of
 * two counts is that of the rounds alone. */
	.text

/* per round: 4 instructions, 1 load, 1 store, 1 conditional branch */
	.globl	doctor_region_loop
	.hidden	doctor_region_loop
	.type	doctor_region_loop, %function
doctor_region_loop:
	cbz	x0, 2f
1:	ldr	x2, [x1]		/* load */
	str	x2, [x1]		/* store */
	subs	x0, x0, #1
	b.ne	1b			/* conditional branch */
2:	ret
	.size	doctor_region_loop, . - doctor_region_loop

/* per round: 1 store exclusive that succeeds, and those that do not */
	.globl	doctor_region_locked
	.hidden	doctor_region_locked
	.type	doctor_region_locked, %function
doctor_region_locked:
	cbz	x0, 2f
1:	ldxr	x2, [x1]
	add	x2, x2, #1
	stxr	w3, x2, [x1]
	cbnz	w3, 1b
	subs	x0, x0, #1
	b.ne	1b
2:	ret
	.size	doctor_region_locked, . - doctor_region_locked

/* arm64 has no CPUID: the branches alone */
	.globl	doctor_region_cpuid
	.hidden	doctor_region_cpuid
	.type	doctor_region_cpuid, %function
doctor_region_cpuid:
	cbz	x0, 2f
1:	subs	x0, x0, #1
	b.ne	1b
2:	ret
	.size	doctor_region_cpuid, . - doctor_region_cpuid

	.section .note.GNU-stack, "", %progbits
