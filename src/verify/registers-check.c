/* Before anything is counted: which registers count at all as the others do, and how far.
 *
 * One register may be wrong, and the events on it look as if they were. So one event is counted on
 * each register in turn, and registers that differ from most are left to a filler. Counters may also
 * wrap long before the kernel expects it: then no run may count more than they can hold.
 */
#include "steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REGISTERS 16
#define ROUNDS 20000		/* of the kernel, on each register */
#define PER_INSTRUCTION 16	/* no event counts more than three quarters of that */
#define PIECE 10000		/* instructions between two looks at a counter */
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

/* The longest row of registers that count alike. False: one does not. */
static bool choose_registers(struct verify *v, const int64_t *excess, unsigned n)
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
		return good;
	v->fillers = first;
	v->at_once = best;
	return false;
}

/* Nothing tells when an event is on the wrong register: whatever is counted may be wrong. */
static void doubt_all(struct verify *v)
{
	for (size_t i = 0; i < v->n_subjects; i++) {
		verify_doubt(&v->subjects[i], "a register counts wrongly, and the kernel moves events to it and "
			     "from it while they count");
		v->subjects[i].unsteady = true;
	}
}

/* Where the counter jumps back by a power of two, it has wrapped. What a piece of the code counts need not
 * be known for that: the event may count too much, or something else. False: it does not count at all. */
static bool watch(struct verify *v, const char *name)
{
	const struct kernel *const k = kernel_by_name("branches");
	const struct tare_event *const e = verify_event(v, name);
	uint64_t at = 0, back = 0;
	bool moved = false;
	struct bare b;
	if (!k || !e || bare_open(&b, &e->base, BARE_PINNED) < 0)
		return false;
	const struct steady_code code = { .run = k->run, .memory = v->memory, .name = k->name,
					  .loops = PIECE / k->each[KERNEL_INSTRUCTIONS] + 1 };
	if (bare_on(&b) && steady_jump(&b, &code, 1ull << MOST_BITS, &at, &back, &moved))
		v->bits = (unsigned)lround(log2((double)back));
	v->moves |= moved;
	bare_close(&b);
	return at;
}

/* An event that counts micro-ops may count several for each instruction. */
static void shorten_runs(struct verify *v)
{
	for (size_t k = 0; k < v->n_kernels; k++) {
		const uint64_t each = v->kernels[k]->each[KERNEL_INSTRUCTIONS];
		const uint64_t most = (1ull << v->bits) / PER_INSTRUCTION / each;
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
	const bool good = choose_registers(v, excess, n);
	/* the first is on a general register, which the kernel may change, on every CPU */
	if (!watch(v, "branches:u"))
		watch(v, "instructions:u");
	if (v->moves && !good)
		doubt_all(v);
	if (v->bits)
		shorten_runs(v);
	return 0;
}
