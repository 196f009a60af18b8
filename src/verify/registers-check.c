/* Before anything is counted: which registers count at all as the others do, and how far.
 *
 * One register may be wrong, and the events on it look as if they were. So one event is counted on
 * each register in turn, and registers that differ from most are left to a filler. Counters may also
 * wrap long before the kernel expects it: then no run may count more than they can hold.
 */
#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REGISTERS 16
#define ROUNDS 20000		/* of the kernel, on each register */
#define LEAST_BITS 16
#define MOST_BITS 25		/* wraps that a short run can reach */

/* An event that goes to a general register on each CPU, and the kernel that is counted. */
struct check {
	struct verify *v;
	const struct tare_event *event;
	const struct kernel *kernel;
	enum kernel_event kind;
};

static int count(const struct check *c, unsigned fillers, uint64_t loops, int64_t *excess)
{
	const struct trial_options o = { .events = &c->event, .n = 1, .filler = c->event,
					 .fillers = fillers };
	const struct trial_code code = { .kernel = c->kernel, .loops = loops };
	const struct trial_code none = { .kernel = c->kernel, .loops = 0 };
	struct trial t;
	int64_t base = 0, n = 0;
	int err = trial_open(&o, &t, NULL);
	if (!err)
		err = trial_run(&t, &none, &base, NULL);
	if (!err)
		err = trial_run(&t, &code, &n, NULL);
	trial_close(&t);
	*excess = n - base - (int64_t)(loops * c->kernel->each[c->kind]);
	return err;
}

/* The longest row of registers that count alike. */
static void choose_registers(struct verify *v, const int64_t *excess, unsigned n)
{
	double copy[REGISTERS];
	unsigned best = 0, first = 0;
	for (unsigned i = 0; i < n; i++)
		copy[i] = (double)excess[i];
	const double usual = verify_median(copy, n);
	bool good = true;
	for (unsigned i = 0; i < n; i++) {
		unsigned k = i;
		while (k < n && fabs((double)excess[k] - usual) < ROUNDS / 200.0)
			k++;
		good &= k > i;
		if (k - i > best) {
			best = k - i;
			first = i;
		}
	}
	if (good || best < 2)
		return;
	v->fillers = first;
	v->at_once = best;
}

/* A count that is too small by a power of two: the counter wrapped. */
static unsigned find_bits(const struct check *c)
{
	const uint64_t each = c->kernel->each[c->kind];
	int64_t first;
	/* An event that does not count a few thousand tells nothing. */
	if (count(c, c->v->fillers, (1ull << (LEAST_BITS - 4)) / each, &first) < 0 ||
	    llabs(first) > 1ll << (LEAST_BITS - 6))
		return 0;
	for (unsigned bits = LEAST_BITS; bits <= MOST_BITS; bits++) {
		int64_t excess;
		if (count(c, c->v->fillers, (1ull << bits) / each + 1, &excess) < 0)
			return 0;
		/* It may have wrapped twice where it started high. */
		for (int times = 1; times <= 2; times++)
			if (llabs(excess + ((int64_t)times << bits)) < 1ll << (bits - 3))
				return bits;
	}
	return 0;
}

static void shorten_runs(struct verify *v)
{
	for (size_t k = 0; k < v->n_kernels; k++) {
		const uint64_t each = v->kernels[k]->each[KERNEL_INSTRUCTIONS];
		const uint64_t most = (1ull << v->bits) / 4 / each;
		if (v->loops[k] > most)
			v->loops[k] = most ? most : 1;
	}
}

int registers_check(struct verify *v, struct tare_why *why)
{
	struct check c = { .v = v, .kernel = kernel_by_name("nops"), .kind = KERNEL_BRANCHES };
	int64_t excess[REGISTERS];
	unsigned n = 0;
	(void)why;
	c.event = verify_event(v, "branches:u");
	if (v->soft || !c.event || !c.kernel)
		return 0;
	while (n < REGISTERS && count(&c, n, ROUNDS, &excess[n]) == 0)
		n++;
	if (!n)
		return 0;
	v->filler = c.event;
	choose_registers(v, excess, n);
	c.kernel = kernel_by_name("branches");
	v->bits = c.kernel ? find_bits(&c) : 0;
	if (v->bits)
		shorten_runs(v);
	return 0;
}
