/* Trials on counters of the kernel's interface: a PMU, or the virtual one of `tare run`.
 *
 * All code is called in the same way: a function with two arguments, through a pointer, between
 * two reads of the group. So what the reads and the call count is measured with a function that is
 * a return only; what the return counts is known, and part of a kernel's counts.
 */
#include "trial-kinds.h"

#include "why.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define SAMPLES 41		/* of the empty function, odd: the middle one is typical */

struct hw {
	bool by_call;			/* read(2), not the registers */
	struct tare_counter *fillers[TRIAL_EVENTS];
	struct tare_group *group;
	void *memory;
};

struct call {
	void (*function)(uint64_t a, void *b);
	uint64_t a;
	void *b;
};

/* A return. In assembly: compilers may add to a function of C (endbr64, a frame). */
void trial_nothing(uint64_t a, void *b);
__asm__(".text\n.globl trial_nothing\n.hidden trial_nothing\n"
	".type trial_nothing, %function\ntrial_nothing:\n\tret\n"
	".size trial_nothing, . - trial_nothing");

static void run_function(uint64_t a, void *b)
{
	const struct trial_code *const code = b;
	(void)a;
	code->function(code->argument);
}

struct part_call {
	struct kernel_part *part;
	void *memory;
};

static void run_part(uint64_t loops, void *b)
{
	const struct part_call *const c = b;
	kernel_part_run(c->part, loops, c->memory);
}

/* Errors of a read that has no text of its own. */
static int read_failed(const struct trial *t, int err, struct tare_why *why)
{
	return why_set(why, err, "%s", t->o.events[0]->name);
}

/* Asked for here, and not by the caller: this code has run before when a trial counts, and does
 * not fault itself. */
static uint64_t faults_until_now(void)
{
	struct rusage u;
	getrusage(RUSAGE_THREAD, &u);
	return (uint64_t)u.ru_minflt + (uint64_t)u.ru_majflt;
}

static int count_call(struct trial *t, const struct call *c, int64_t *counts, struct tare_why *why)
{
	struct hw *const h = t->state;
	uint64_t before[TRIAL_EVENTS], after[TRIAL_EVENTS];

	const uint64_t faults = faults_until_now();
	int err = tare_group_read(h->group, before);
	c->function(c->a, c->b);
	if (!err)
		err = tare_group_read(h->group, after);
	t->faults = faults_until_now() - faults;
	if (err)
		return read_failed(t, err, why);
	for (size_t i = 0; i < t->o.n; i++)
		counts[i] = (int64_t)(after[i] - before[i]);
	return 0;
}

static int64_t return_counts(enum tare_role role)
{
	switch (kernel_event_of_role(role)) {
	case KERNEL_INSTRUCTIONS:
	case KERNEL_BRANCHES:
	case KERNEL_TAKEN_BRANCHES:
	case KERNEL_RETURNS:
		return 1;
#ifdef __x86_64__
	case KERNEL_LOADS:
		return 1;
#endif
	default:
		return 0;
	}
}

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static int measure_overhead(struct trial *t, struct tare_why *why)
{
	static const struct call empty = { .function = trial_nothing };
	int64_t seen[TRIAL_EVENTS][SAMPLES], counts[TRIAL_EVENTS];

	for (int k = -3; k < SAMPLES; k++) {	/* the first ones load code and data */
		const int err = count_call(t, &empty, counts, why);
		if (err)
			return err;
		for (size_t i = 0; i < t->o.n && k >= 0; i++)
			seen[i][k] = counts[i];
	}
	for (size_t i = 0; i < t->o.n; i++) {
		qsort(seen[i], SAMPLES, sizeof(seen[i][0]), compare);
		const int64_t typical = seen[i][SAMPLES / 2];
		const int64_t up = seen[i][SAMPLES - 1] - typical, down = typical - seen[i][0];
		t->overhead[i] = (uint64_t)(typical - return_counts(t->o.events[i]->role));
		t->overhead_spread[i] = (uint64_t)(up > down ? up : down);
	}
	return 0;
}

static int open_group(struct trial *t, struct tare_why *why)
{
	struct hw *const h = t->state;
	const struct tare_counter_options o = { .size = sizeof(o), .serializer = t->o.serializer,
						.path = h->by_call ? TARE_PATH_READ : t->o.path };
	const int err = tare_group_open(t->o.events, t->o.n, &o, &h->group, why);
	return err ? err : measure_overhead(t, why);
}

int trial_hw_open(struct trial *t, struct tare_why *why)
{
	if (t->o.pattern != TRIAL_READ_READ)
		return why_set(why, TARE_E_INVALID, "a trial that starts or stops its counters");
	struct hw *const h = calloc(1, sizeof(*h));
	if (!h)
		return why_set(why, TARE_E_NOMEM, "a trial");
	t->state = h;
	int err = 0;
	h->memory = kernel_memory_open(why);
	if (!h->memory)
		err = TARE_E_NOMEM;
	for (unsigned i = 0; !err && i < t->o.fillers && i < TRIAL_EVENTS; i++)
		err = tare_counter_open_event(t->o.filler, NULL, &h->fillers[i], why);
	if (!err)
		err = open_group(t, why);
	if (err)
		trial_close(t);
	return err;
}

/* The kernel moves the events to other registers. A read that finds that out executes more than others
 * do, and counts it: from now on read(2) is used, which always executes the same. */
static bool has_moved(const struct trial *t)
{
	const struct hw *const h = t->state;
	return !h->by_call && t->o.path == TARE_PATH_AUTO &&
	       tare_group_status(h->group) & TARE_STATUS_MOVED;
}

static int read_by_call(struct trial *t, struct tare_why *why)
{
	struct hw *const h = t->state;
	tare_group_close(h->group);
	h->group = NULL;
	h->by_call = true;
	return open_group(t, why);
}

int trial_hw_run(struct trial *t, const struct trial_code *code, int64_t *counts,
		 struct tare_why *why)
{
	struct hw *const h = t->state;
	struct part_call part = { .part = code->part, .memory = h->memory };
	struct trial_code function = *code;
	struct call c = { .function = run_function, .b = &function };

	if (code->part)
		c = (struct call){ .function = run_part, .a = code->loops, .b = &part };
	else if (code->kernel)
		c = (struct call){ .function = code->kernel->run, .a = code->loops, .b = h->memory };
	int err = count_call(t, &c, counts, why);
	if (!err && has_moved(t) && !code->function) {	/* a function may not be what it was */
		err = read_by_call(t, why);
		if (!err)
			err = count_call(t, &c, counts, why);
	}
	for (size_t i = 0; !err && i < t->o.n; i++)
		counts[i] -= (int64_t)t->overhead[i];
	return err;
}

void trial_hw_close(struct trial *t)
{
	struct hw *const h = t->state;
	tare_group_close(h->group);
	for (unsigned i = 0; i < TRIAL_EVENTS; i++)
		tare_counter_close(h->fillers[i]);
	kernel_memory_close(h->memory);
	free(h);
}
