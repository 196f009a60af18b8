/* The inline reads of tare/counter.h for arm64: included by it.
 *
 * A system register's number is part of the instruction that reads it, so the
 * counter remembers a function of the library that reads its register into x9 (the
 * second of a pair: x10) and returns. 17 instructions, 27 for a pair. See
 * tare/counter-x86_64.h for the rest of the reasoning, which is the same; the
 * kernel takes the overflow as an ordinary interrupt here. An address has no bits to spare: the
 * number that tells whether a signal handler has changed bias is a word of its own, and a read
 * that finds another one takes the slow path.
 *
 * Unlike there, the page is looked at before the register too, for an index of 0:
 * the kernel takes the right to read away together with the counter (when
 * kernel.perf_user_access becomes 0, or other tasks use the PMU after it was
 * stolen), and a register that may not be read is a SIGILL. For the same reason a
 * thread must not read another's counter inline: it has no right to any register.
 */
#ifndef TARE_COUNTER_H
#include <tare/counter.h>	/* which includes this file */
#elif defined(__aarch64__) && !defined(TARE_COUNTER_AARCH64_H)
#define TARE_COUNTER_AARCH64_H

#if (defined(__clang__) && __clang_major__ >= 17) || (!defined(__clang__) && __GNUC__ >= 11)

/* struct perf_event_mmap_page: index at 12, offset at 16. */
#define TARE_KEY_AT 12

/* Only a variable of its own has its address taken, so that the caller's can stay
 * in a register; in a function with many reads, too, where it would not be inlined by
 * itself. */
TARE_INLINE_PART int tare_counter_read_aside(struct tare_counter *c, uint64_t *value)
{
	uint64_t v;
	const int err = tare_counter_read_slow(c, &v);

	*value = v;
	return err;
}

TARE_INLINE int tare_counter_read(struct tare_counter *c, uint64_t *value)
{
	uint64_t v;

	__asm__ goto volatile(
		"ldp x9, x10, [%[c], %[select]]\n\t"	/*  1: select, sign */
		"cbz x9, %l[slow]\n\t"			/*  2 */
		"ldr w11, [%[c], %[page]]\n\t"		/*  3: index */
		"cbz w11, %l[slow]\n\t"			/*  4 */
		"ldr x12, [%[c], %[age]]\n\t"		/*  5 */
		"isb\n\t"				/*  6 */
		"blr x9\n\t"				/*  7-9: mrs x9, …; ret */
		"eor x9, x9, x10\n\t"			/* 10 */
		"ldr x10, [%[c], %[bias]]\n\t"		/* 11 */
		"add %[v], x9, x10\n\t"			/* 12 */
		"ldur x10, [%[c], %[page]]\n\t"		/* 13 */
		"add x10, x10, x12\n\t"			/* 14 */
		"ldr x11, [%[c], %[check]]\n\t"		/* 15 */
		"cmp x10, x11\n\t"			/* 16 */
		"b.ne %l[slow]"				/* 17 */
		: [v] "=&r"(v)
		: [c] "r"(c), [select] "i"(offsetof(struct tare_counter, select)),
		  [bias] "i"(offsetof(struct tare_counter, bias)),
		  [age] "i"(offsetof(struct tare_counter, age)),
		  [check] "i"(offsetof(struct tare_counter, check)),
		  [page] "i"(sizeof(struct tare_counter) + TARE_KEY_AT)
		: "x9", "x10", "x11", "x12", "x30", "cc", "memory"
		: slow);
	*value = v;
	return 0;
slow:
	return tare_counter_read_aside(c, value);
}

TARE_INLINE int tare_counter_read_pair(struct tare_counter *c, uint64_t *value)
{
	uint64_t v;

	__asm__ goto volatile(
		"ldp x9, x11, [%[c], %[pair]]\n\t"	/*  1: pair, select2 */
		"cbz x9, %l[slow]\n\t"			/*  2 */
		"ldr w12, [%[c], %[page]]\n\t"		/*  3: index; both have one or none */
		"cbz w12, %l[slow]\n\t"			/*  4 */
		"ldr x13, [%[c], %[age]]\n\t"		/*  5 */
		"isb\n\t"				/*  6 */
		"blr x9\n\t"				/*  7-9: mrs x9, …; ret */
		"blr x11\n\t"				/* 10-12: mrs x10, …; ret */
		"ldr x11, [%[c], %[sign]]\n\t"		/* 13 */
		"eor x10, x10, x11\n\t"			/* 14 */
		"ldp x11, x12, [%[c], %[sign2]]\n\t"	/* 15: sign2, key2 */
		"eor x9, x9, x11\n\t"			/* 16 */
		"sub x9, x10, x9\n\t"			/* 17 */
		"ldr x10, [%[c], %[bias]]\n\t"		/* 18 */
		"add %[v], x9, x10\n\t"			/* 19 */
		"ldur x9, [%[c], %[page]]\n\t"		/* 20 */
		"add x9, x9, x13\n\t"			/* 21 */
		"ldr x11, [%[c], %[check]]\n\t"		/* 22 */
		"ldr x10, [%[c], %[page2]]\n\t"		/* 23 */
		"ldur x10, [x10, %[at]]\n\t"		/* 24 */
		"cmp x9, x11\n\t"			/* 25 */
		"ccmp x10, x12, #0, eq\n\t"		/* 26 */
		"b.ne %l[slow]"				/* 27 */
		: [v] "=&r"(v)
		: [c] "r"(c), [pair] "i"(offsetof(struct tare_counter, pair)),
		  [sign] "i"(offsetof(struct tare_counter, sign)),
		  [sign2] "i"(offsetof(struct tare_counter, sign2)),
		  [bias] "i"(offsetof(struct tare_counter, bias)),
		  [page2] "i"(offsetof(struct tare_counter, page2)),
		  [age] "i"(offsetof(struct tare_counter, age)),
		  [check] "i"(offsetof(struct tare_counter, check)),
		  [page] "i"(sizeof(struct tare_counter) + TARE_KEY_AT), [at] "i"(TARE_KEY_AT)
		: "x9", "x10", "x11", "x12", "x13", "x30", "cc", "memory"
		: slow);
	*value = v;
	return 0;
slow:
	return tare_counter_read_aside(c, value);
}

#undef TARE_KEY_AT

#else

TARE_INLINE int tare_counter_read(struct tare_counter *c, uint64_t *value)
{
	return tare_counter_read_slow(c, value);
}

TARE_INLINE int tare_counter_read_pair(struct tare_counter *c, uint64_t *value)
{
	return tare_counter_read_slow(c, value);
}

#endif
#endif
