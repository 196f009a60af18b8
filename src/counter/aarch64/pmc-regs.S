/* A register's number is part of the instruction: one reader for each, in the order
 * of the page's index. pmc-here.c finds them, eight bytes an entry. */
#define ONE(to, reg)	mrs to, reg; ret
#define EV(to, n)	ONE(to, pmevcntr##n##_el0)
#define READERS(to)							\
	EV(to, 0); EV(to, 1); EV(to, 2); EV(to, 3);			\
	EV(to, 4); EV(to, 5); EV(to, 6); EV(to, 7);			\
	EV(to, 8); EV(to, 9); EV(to, 10); EV(to, 11);			\
	EV(to, 12); EV(to, 13); EV(to, 14); EV(to, 15);			\
	EV(to, 16); EV(to, 17); EV(to, 18); EV(to, 19);			\
	EV(to, 20); EV(to, 21); EV(to, 22); EV(to, 23);			\
	EV(to, 24); EV(to, 25); EV(to, 26); EV(to, 27);			\
	EV(to, 28); EV(to, 29); EV(to, 30); ONE(to, pmccntr_el0)

	.text
	.balign	8
	.globl	counter_pmc_x9, counter_pmc_x10
	.hidden	counter_pmc_x9, counter_pmc_x10
	.type	counter_pmc_x9, %function
	.type	counter_pmc_x10, %function
counter_pmc_x9:
	READERS(x9)
	.size	counter_pmc_x9, . - counter_pmc_x9
counter_pmc_x10:
	READERS(x10)
	.size	counter_pmc_x10, . - counter_pmc_x10

	.section .note.GNU-stack, "", %progbits
