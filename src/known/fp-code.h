/* Floating-point code of the experiments E and F (ARCH/fp-code.c). */
#ifndef KNOWN_FP_CODE_H
#define KNOWN_FP_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A division in each round. Whether it raises an exception depends on the divisor alone: the
 * instructions are the same with 1 and with 0. Each round clears the flag, so that each division by
 * 0 raises an exception again; exceptions are masked. */
struct fp_division {
	const char *name;		/* "x87", "SSE" */
	void (*run)(uint64_t rounds, const double *divisor);
};
extern const struct fp_division fp_divisions[];
extern const size_t n_fp_divisions;

/* Uses a floating-point register, or does not: the page of the code can be touched before. */
void fp_use(bool really);

/* A child that has used no floating-point instruction since it was started: `child` runs in it
 * with `arg` and must not use one, nor call into libc. Returns the child's id, to be waited for, or
 * -errno. */
int fp_fresh_process(void (*child)(void *arg), void *arg);
/* A bare system call without libc: 0 or more, or -errno. */
long fp_call(long number, long a, long b, long c, long d, long e);

#endif
