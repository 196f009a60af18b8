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
	.type	doctor_region_loop, @function
doctor_region_loop:
	test	%rdi, %rdi
	jz	2f
1:	mov	(%rsi), %rax		/* load */
	mov	%rax, (%rsi)		/* store */
	dec	%rdi
	jnz	1b			/* conditional branch */
2:	ret
	.size	doctor_region_loop, . - doctor_region_loop

/* per round: 1 locked instruction */
	.globl	doctor_region_locked
	.hidden	doctor_region_locked
	.type	doctor_region_locked, @function
doctor_region_locked:
	test	%rdi, %rdi
	jz	2f
1:	lock addq $1, (%rsi)
	dec	%rdi
	jnz	1b
2:	ret
	.size	doctor_region_locked, . - doctor_region_locked

/* per round: 1 conditional branch, a CPUID before and after it */
	.globl	doctor_region_cpuid
	.hidden	doctor_region_cpuid
	.type	doctor_region_cpuid, @function
doctor_region_cpuid:
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
	.size	doctor_region_cpuid, . - doctor_region_cpuid

	.section .note.GNU-stack, "", @progbits
