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
	.type	region_loop, @function
region_loop:
	test	%rdi, %rdi
	jz	2f
1:	mov	(%rsi), %rax		/* load */
	mov	%rax, (%rsi)		/* store */
	dec	%rdi
	jnz	1b			/* conditional branch */
2:	ret
	.size	region_loop, . - region_loop

/* per round: 1 locked instruction */
	.globl	region_locked
	.hidden	region_locked
	.type	region_locked, @function
region_locked:
	test	%rdi, %rdi
	jz	2f
1:	lock addq $1, (%rsi)
	dec	%rdi
	jnz	1b
2:	ret
	.size	region_locked, . - region_locked

/* per round: 1 conditional branch, a CPUID before and after it */
	.globl	region_cpuid
	.hidden	region_cpuid
	.type	region_cpuid, @function
region_cpuid:
	push	%rbx
	test	%rdi, %rdi
	jz	2f
1:	xor	%eax, %eax
	xor	%ecx, %ecx
	cpuid
	dec	%rdi
	jnz	1b
	xor	%eax, %eax
	cpuid
2:	pop	%rbx
	ret
	.size	region_cpuid, . - region_cpuid

	.section .note.GNU-stack, "", @progbits
