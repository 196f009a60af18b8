/* What a count means that a scan has seen.
 *
 * /proc/interrupts has every interrupt of the CPU, also those that came while the kernel ran, which
 * an event of user mode does not count, and those that came just before or after the work. So
 * it is an upper bound, and half of it a lower one: the work is in user mode nearly all the time.
 * Two more are allowed for the time between reading the file and the counter. Where the file cannot be
 * read, the number of ticks takes its place: as many interrupts come at least, and seldom ten times as
 * many.
 *
 * The excess of instructions:u knows better. If that equals the count in every trial, or the same
 * multiple of it, the code counts what disturbs the instructions.
 */
#include "scan-judge.h"

#include <stdlib.h>

#define SLACK 2
#define MOST_EACH 16
#define ENOUGH 4		/* interrupts from which on it can be told whether they are counted */
#define SETTLES 200		/* … from which on an event that misses one of 32 is off by more than its trials */

static uint64_t least(const struct tare_scan_trial *t)
{
	return t->interrupts == UINT64_MAX ? t->ticks : t->interrupts;
}

static uint64_t most(const struct tare_scan_trial *t)
{
	return t->interrupts == UINT64_MAX ? 10 * t->ticks : t->interrupts;
}

struct scan_bounds scan_bounds(enum tare_scan_like like, const struct tare_scan_trial *t)
{
	const uint64_t irqs = least(t);
	const uint64_t slack = SLACK + most(t);

	switch (like) {
	case TARE_SCAN_PAGE_FAULTS:
		return (struct scan_bounds){ t->pages, t->pages + slack + t->pages / 50 };
	case TARE_SCAN_INTERRUPTS:
		return (struct scan_bounds){ irqs > 2 ? irqs / 2 - 1 : 0, t->pages + slack };
	default: {
		const uint64_t off = slack + t->wanted / 1000;
		return (struct scan_bounds){ t->wanted > off ? t->wanted - off : 0, t->wanted + off };
	}
	}
}

static bool within(uint64_t n, uint64_t low, uint64_t high)
{
	return n >= low && n <= high;
}

/* Page faults are in the count of each trial, or of none. False: neither. */
static bool judge_faults(const struct tare_scan_found *f, bool *counted)
{
	bool all = true, none = true;

	for (size_t i = 0; i < f->n_trials; i++) {
		const struct tare_scan_trial *const t = &f->trials[i];
		const uint64_t slack = SLACK + most(t);
		all &= within(t->count, t->pages, t->pages + slack + t->pages / 50);
		none &= t->count <= slack;
	}
	*counted = all;
	return all || none;
}

/* So are interrupts; seen in trials without pages. False: the count is of neither kind. */
static bool judge_interrupts(const struct tare_scan_found *f, bool *counted)
{
	uint64_t irqs = 0, bound = 0, count = 0;

	for (size_t i = 0; i < f->n_trials; i++)
		if (!f->trials[i].pages) {
			irqs += least(&f->trials[i]);
			bound += most(&f->trials[i]) + SLACK;
			count += f->trials[i].count;
		}
	*counted = irqs >= ENOUGH && count >= irqs / 2 - 1;
	return count <= bound;
}

/* How many instructions too much are counted for each that the code counts: the same number in every
 * trial; or 0. */
static unsigned excess_each(const struct tare_scan_found *f)
{
	uint64_t each = 0;

	for (size_t i = 0; i < f->n_trials; i++) {
		const struct tare_scan_trial *const t = &f->trials[i];
		/* page faults may count for another number of instructions than interrupts do */
		if (t->pages && (!(f->counts & TARE_SCAN_COUNTS_FAULTS) || each != 1))
			continue;
		if (t->excess < 0 || (t->excess > 0 && !t->count))
			return 0;
		if (!each && t->count)
			each = (uint64_t)t->excess / t->count;
		if ((uint64_t)t->excess != each * t->count)
			return 0;
	}
	return each <= MOST_EACH ? (unsigned)each : 0;
}

/* Interrupts of user mode: what the excess of instructions has besides the page faults, where it follows
 * the count; else the kernel's number. */
static uint64_t interrupts_of(const struct tare_scan_trial *t, unsigned each)
{
	if (!each || t->excess < 0)
		return least(t);
	const uint64_t excess = (uint64_t)t->excess;
	return (excess < t->pages ? excess : excess - t->pages) / each;
}

static uint64_t wanted(const struct tare_scan_found *f, const struct tare_scan_trial *t)
{
	return (f->counts & TARE_SCAN_COUNTS_FAULTS ? t->pages : 0) +
	       (f->counts & TARE_SCAN_COUNTS_INTERRUPTS ? interrupts_of(t, f->each) : 0);
}

bool scan_is_possible(enum tare_scan_like like, const struct tare_scan_found *f)
{
	bool faults;

	if (like != TARE_SCAN_EVENT && like != TARE_SCAN_COUNT)
		return judge_faults(f, &faults);
	for (size_t i = 0; i < f->n_trials; i++) {
		const struct scan_bounds b = scan_bounds(like, &f->trials[i]);
		if (!within(f->trials[i].count, b.low, b.high))
			return false;
	}
	return true;
}

bool scan_judge(enum tare_scan_like like, struct tare_scan_found *f)
{
	bool faults = false, irqs = false;

	f->counts = 0;
	if (!scan_is_possible(like, f))
		return false;
	if (like == TARE_SCAN_EVENT || like == TARE_SCAN_COUNT) {
		f->counts = TARE_SCAN_COUNTS_LIKE;
	} else {
		if (!judge_faults(f, &faults) || !judge_interrupts(f, &irqs))
			return false;
		f->counts = (faults ? TARE_SCAN_COUNTS_FAULTS : 0u) |
			    (irqs ? TARE_SCAN_COUNTS_INTERRUPTS : 0u);
		if (!(f->counts & (like == TARE_SCAN_PAGE_FAULTS ? TARE_SCAN_COUNTS_FAULTS :
								   TARE_SCAN_COUNTS_INTERRUPTS)))
			return false;
		f->each = excess_each(f);
		f->is_excess = f->each;
	}
	f->exact = true;
	for (size_t i = 0; i < f->n_trials; i++) {
		struct tare_scan_trial *const t = &f->trials[i];
		if (f->counts != TARE_SCAN_COUNTS_LIKE)
			t->wanted = wanted(f, t);
		f->exact &= t->count == t->wanted;
	}
	return true;
}

static uint64_t between(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t distance(const struct tare_scan_found *f)
{
	uint64_t d = 0;

	for (size_t i = 0; i < f->n_trials; i++) {
		const struct tare_scan_trial *const t = &f->trials[i];
		d += between(t->count, t->wanted);
	}
	return d;
}

/* The multiple of the count that the excess of instructions is nearest to; both are above 0. */
static uint64_t each_of(const struct tare_scan_trial *t)
{
	return ((uint64_t)t->excess + t->count / 2) / t->count;
}

static uint64_t off_excess(const struct tare_scan_trial *t)
{
	return between((uint64_t)t->excess, each_of(t) * t->count);
}

bool scan_may_be_best(const struct tare_scan_found *f)
{
	const struct tare_scan_trial *const t = &f->trials[f->n_trials - 1];
	const uint64_t irqs = t->interrupts;

	if (t->pages || irqs == UINT64_MAX || between(t->count, irqs) <= SLACK + irqs / 64)
		return true;
	if (t->excess <= 0 || !t->count)
		return false;
	/* a page fault or an interrupt between two reads may be in one of them only */
	return off_excess(t) <= each_of(t) * (SLACK + t->count / 32);
}

bool scan_is_near(const struct tare_scan_found *f)
{
	uint64_t irqs = 0, count = 0, trials = 0;

	for (size_t i = 0; i < f->n_trials; i++) {
		const struct tare_scan_trial *const t = &f->trials[i];
		if (t->pages)
			continue;
		if (t->interrupts == UINT64_MAX)
			return false;
		irqs += t->interrupts;
		count += t->count;
		trials++;
	}
	return between(count, irqs) <= trials;
}

bool scan_is_settled(const struct tare_scan_found *f)
{
	uint64_t irqs = 0;

	for (size_t i = 0; i < f->n_trials; i++)
		irqs += f->trials[i].pages ? 0 : least(&f->trials[i]);
	return !(f->counts & TARE_SCAN_COUNTS_FAULTS) &&
	       (f->is_excess || (irqs >= SETTLES && scan_is_near(f)));
}

uint64_t scan_off_excess(const struct tare_scan_trial *t)
{
	if (t->excess <= 0 || !t->count)	/* (INT64_MIN: not counted) */
		return UINT64_MAX / 2 + between(t->count, least(t));
	return off_excess(t);
}

/* Does the excess of instructions:u follow the count, but for one interrupt in each trial? */
static bool is_excess_but_one(const struct tare_scan_found *f)
{
	uint64_t count = 0, excess = 0;

	for (size_t i = 0; i < f->n_trials; i++) {
		const struct tare_scan_trial *const t = &f->trials[i];
		if (t->pages)
			continue;
		if (t->excess < 0)
			return false;
		count += t->count;
		excess += (uint64_t)t->excess;
	}
	const uint64_t each = count ? (excess + count / 2) / count : 0;
	if (!each || each > MOST_EACH)
		return false;
	for (size_t i = 0; i < f->n_trials; i++) {
		const struct tare_scan_trial *const t = &f->trials[i];
		if (!t->pages && between((uint64_t)t->excess, each * t->count) > each)
			return false;
	}
	return true;
}

bool scan_may_improve(const struct tare_scan_found *f, bool apart)
{
	if (f->is_excess)
		return false;
	if (f->counts != TARE_SCAN_COUNTS_LIKE && apart && is_excess_but_one(f))
		return true;	/* also where /proc/interrupts has as many as were counted */
	return !f->exact && distance(f) <= f->n_trials;
}

int scan_compare(const void *a, const void *b)
{
	const struct tare_scan_found *const x = a, *const y = b;
	const uint64_t dx = distance(x), dy = distance(y);

	if (x->is_excess != y->is_excess)
		return x->is_excess ? -1 : 1;
	if (x->exact != y->exact)
		return x->exact ? -1 : 1;
	if (dx != dy)
		return dx < dy ? -1 : 1;
	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return x->mask < y->mask ? -1 : x->mask > y->mask;
}
