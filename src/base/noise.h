/* Do two groups of runs differ by more than the program varies by itself? `tare compare` and
 * tare_diff() both ask here, so that they judge in the same way.
 *
 *	struct noise_test t;
 *	if (!noise_test_init(&t, n, m)) …		out of memory
 *	for (…)
 *		struct noise o = noise_judge(&t, base, change, true);
 *	noise_test_free(&t);
 *
 * A test belongs to one thread at a time. */
#ifndef BASE_NOISE_H
#define BASE_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum noise_verdict {
	NOISE_SAME,		/* all values are equal */
	NOISE_WITHIN,		/* the program's own variation explains the difference */
	NOISE_BEYOND,		/* it does not */
	NOISE_TOO_FEW,		/* it seems not to, but so few runs are no proof */
	NOISE_ONE_EACH,		/* a difference between one run and one run */
};

struct noise {
	double difference;	/* of the means */
	double margin;		/* what the program's own variation can explain; infinite for
				 * one run and one run */
	enum noise_verdict verdict;
};

struct noise_test {
	size_t n, m;		/* runs of the first and of the second group, 1 at least */
	bool enough;		/* so many runs can prove a difference of values that vary */
	double factor;		/* of the standard deviation: the margin */
	struct noise_run *runs;
	double *ways;
};

bool noise_test_init(struct noise_test *t, size_t n, size_t m);
void noise_test_free(struct noise_test *t);

/* n values and m values. `proof`: exact or corrected counts, which differ for certain when each
 * group has one value and one of the groups has two runs at least. Signed values are passed with
 * their top bit inverted, which keeps their order and their differences. */
struct noise noise_judge(struct noise_test *t, const uint64_t *a, const uint64_t *b, bool proof);

#endif
