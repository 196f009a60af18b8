/* The inline reads of tare/counter.h for x86-64: included by it.
 *
 * The asm falls through to the slow path, so that jrcxz, which reaches 127 bytes,
 * has its target at hand: it both switches the fast path off (forked child, no
 * rdpmc, another serialising instruction) and costs only one instruction.
 *
 * The kernel changes index and offset of a page only on the CPU the thread runs
 * on, between two of its instructions, so program order is all the order needed:
 * if the key read after rdpmc is the remembered one, nothing changed before.
 *
 * The key is added to the word that the read began with: the sum tells also that no signal
 * handler has changed bias since then. If only that is different, the read begins again, by
 * the instructions without a number, which are elsewhere, for jrcxz to reach its target. They
 * have the same effect when a handler interrupts them and reads: check is computed again, and
 * bias changes by one instruction.
 *
 * Each rdpmc has an ELF note that tells where it is and where its slow path begins, so
 * that tare_read_guard_install() can tell a fault of this very instruction from any
 * other, in whatever program or library it was inlined.
 */
#ifndef TARE_COUNTER_H
#include <tare/counter.h>	/* which includes this file */
#elif defined(__x86_64__) && !defined(__ILP32__) && !defined(TARE_COUNTER_X86_64_H)
#define TARE_COUNTER_X86_64_H

/* asm goto with outputs: gcc 11; clang has them on all edges from 17 on. */
#if (defined(__clang__) && __clang_major__ >= 17) || (!defined(__clang__) && __GNUC__ >= 11)

/* struct perf_event_mmap_page: index at 12, offset at 16. */
#define TARE_KEY_AT 12

/* An ELF note, name "tare", type 1: the places of rdpmc (local label `at`) and of the slow
 * path (local label 9), each relative to its own word. "?": in the function's group, if it
 * has one, so that the note goes where the function goes. */
#define TARE_READ_NOTE(at)                                                                         \
	"\n\t.pushsection .note.tare.read,\"a?\",@note\n\t"                                         \
	".balign 4\n\t"                                                                            \
	".long 5, 8, 1\n\t"                                                                        \
	".asciz \"tare\"\n\t"                                                                      \
	".balign 4\n\t"                                                                            \
	".long " at "b - .\n\t"                                                                    \
	".long 9b - .\n\t"                                                                         \
	".popsection"

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
		"6:\tmovq %c[select](%[c]), %%rcx\n\t"	/*  1 */
		"jrcxz 9f\n\t"				/*  2 */
		"lfence\n"				/*  3 */
		"8:\trdpmc\n\t"			/*  4 */
		"shlq $32, %%rdx\n\t"			/*  5 */
		"orq %%rdx, %%rax\n\t"			/*  6 */
		"xorq %c[sign](%[c]), %%rax\n\t"	/*  7 */
		"addq %c[bias](%[c]), %%rax\n\t"	/*  8 */
		"addq %c[page](%[c]), %%rcx\n\t"	/*  9 */
		"cmpq %c[check](%[c]), %%rcx\n\t"	/* 10 */
		"je %l[fast]\n\t"			/* 11 */
		"jmp 5f\n"
		"9:" TARE_READ_NOTE("8") "\n\t"
		".subsection 1\n"
		"5:\tmovq %c[page](%[c]), %%rcx\n\t"
		"cmpq %c[key](%[c]), %%rcx\n\t"
		"jne 9b\n\t"
		"addq %c[select](%[c]), %%rcx\n\t"
		"movq %%rcx, %c[check](%[c])\n\t"
		"movq %c[again](%[c]), %%rcx\n\t"
		"subq %%rcx, %c[bias](%[c])\n\t"
		"jmp 6b\n\t"
		".previous"
		: "=&a"(v)
		: [c] "r"(c), [select] "i"(offsetof(struct tare_counter, select)),
		  [sign] "i"(offsetof(struct tare_counter, sign)),
		  [bias] "i"(offsetof(struct tare_counter, bias)),
		  [key] "i"(offsetof(struct tare_counter, key)),
		  [check] "i"(offsetof(struct tare_counter, check)),
		  [again] "i"(offsetof(struct tare_counter, again)),
		  [page] "i"(sizeof(struct tare_counter) + TARE_KEY_AT)
		: "rcx", "rdx", "cc", "memory"
		: fast);
	return tare_counter_read_aside(c, value);
fast:
	*value = v;
	return 0;
}

/* Three instructions lie between the two rdpmc. What is subtracted is read first:
 * an interrupt in between is then counted by the other only, and the value is one
 * too large, never less than the truth (the report: usually one or two in a total,
 * and rare). */
TARE_INLINE int tare_counter_read_pair(struct tare_counter *c, uint64_t *value)
{
	uint64_t v, minus;

	__asm__ goto volatile(
		"6:\tmovq %c[pair](%[c]), %%rcx\n\t"	/*  1 */
		"jrcxz 9f\n\t"				/*  2 */
		"lfence\n"				/*  3 */
		"7:\trdpmc\n\t"			/*  4 */
		"shlq $32, %%rdx\n\t"			/*  5 */
		"leaq (%%rax,%%rdx), %[minus]\n\t"	/*  6 */
		"addq %c[step](%[c]), %%rcx\n"		/*  7 */
		"8:\trdpmc\n\t"			/*  8 */
		"shlq $32, %%rdx\n\t"			/*  9 */
		"orq %%rdx, %%rax\n\t"			/* 10 */
		"xorq %c[sign](%[c]), %%rax\n\t"	/* 11 */
		"xorq %c[sign2](%[c]), %[minus]\n\t"	/* 12 */
		"subq %[minus], %%rax\n\t"		/* 13 */
		"addq %c[bias](%[c]), %%rax\n\t"	/* 14 */
		"addq %c[page](%[c]), %%rcx\n\t"	/* 15 */
		"cmpq %c[check](%[c]), %%rcx\n\t"	/* 16 */
		"jne 5f\n\t"				/* 17 */
		"movq %c[page]+4096(%[c]), %%rcx\n\t"	/* 18 */
		"cmpq %c[key2](%[c]), %%rcx\n\t"	/* 19 */
		"je %l[fast]\n"				/* 20 */
		"9:" TARE_READ_NOTE("7") TARE_READ_NOTE("8") "\n\t"
		".subsection 1\n"
		"5:\tmovq %c[page](%[c]), %%rcx\n\t"
		"cmpq %c[key](%[c]), %%rcx\n\t"
		"jne 9b\n\t"
		"addq %c[pair](%[c]), %%rcx\n\t"
		"addq %c[step](%[c]), %%rcx\n\t"
		"movq %%rcx, %c[check](%[c])\n\t"
		"movq %c[again](%[c]), %%rcx\n\t"
		"subq %%rcx, %c[bias](%[c])\n\t"
		"jmp 6b\n\t"
		".previous"
		: "=&a"(v), [minus] "=&r"(minus)
		: [c] "r"(c), [pair] "i"(offsetof(struct tare_counter, pair)),
		  [step] "i"(offsetof(struct tare_counter, step)),
		  [sign] "i"(offsetof(struct tare_counter, sign)),
		  [sign2] "i"(offsetof(struct tare_counter, sign2)),
		  [bias] "i"(offsetof(struct tare_counter, bias)),
		  [key] "i"(offsetof(struct tare_counter, key)),
		  [key2] "i"(offsetof(struct tare_counter, key2)),
		  [check] "i"(offsetof(struct tare_counter, check)),
		  [again] "i"(offsetof(struct tare_counter, again)),
		  [page] "i"(sizeof(struct tare_counter) + TARE_KEY_AT)
		: "rcx", "rdx", "cc", "memory"
		: fast);
	return tare_counter_read_aside(c, value);
fast:
	*value = v;
	return 0;
}

#undef TARE_KEY_AT
#undef TARE_READ_NOTE

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
