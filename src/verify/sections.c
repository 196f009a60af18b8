/* The sections: each event over all kernels, several times.
 *
 * Events are counted together as far as counters reach, with the event that counts interrupts
 * beside them. What is kept of a run is the excess: what was counted above the count that
 * inspection gives. The call of a kernel, and what stands outside of its loop, is not part of the
 * comparison: a run of one pass is subtracted from a run of one pass more. So what happens once only,
 * in the first pass, is not part of it either.
 */
#include "experiment.h"

#include "interrupts.h"
#include "known-work.h"
#include "why.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BASES 5
#define TRIES 3			/* of a batch whose counters were taken away */

uint64_t verify_expected(const struct verify *v, const struct subject *s, size_t kernel)
{
	return v->loops[kernel] * v->kernels[kernel]->each[s->kind];
}

uint64_t verify_proc_interrupts(void)
{
	cpu_set_t cpus;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return 0;
	return interrupts_total("", &cpus);
}

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int batch_open(const struct verify *v, const struct batch *b, struct trial *t, struct tare_why *why)
{
	const struct trial_options o = { .events = b->events, .n = b->n_events, .soft = v->soft,
					 .child = v->o.child, .filler = v->filler,
					 .fillers = v->fillers };
	return trial_open(&o, t, why);
}

bool verify_is_lost(int err)
{
	return err == TARE_E_STOLEN || err == TARE_E_NOT_SCHEDULED || err == TARE_E_NO_COUNTERS ||
	       err == TARE_E_WATCHDOG || err == TARE_E_BUSY;
}

static bool is_waiting(const struct subject *s)
{
	return s->event && s->kind >= 0 && !s->counted && !s->reason[0];
}

/* The subjects that fit on the counters together; at least one, or none is left. */
static int batch_fill(struct verify *v, struct batch *b, struct trial *t, struct tare_why *why)
{
	/* a second event would get the register that counts wrongly */
	const struct tare_event *const irq = v->soft || v->most_events == 1 ? NULL : v->irq;
	size_t most = v->at_once > 1 && irq ? v->at_once - 1 :
		      v->at_once ? v->at_once : TRIAL_EVENTS - 1;
	bool spared = false;
	int err;
	if (v->most_events)
		most = v->most_events > 1 && irq ? v->most_events - 1 : v->most_events;
	do {
		*b = (struct batch){ 0 };
		for (size_t i = 0; i < v->n_subjects && b->n < most; i++) {
			struct subject *const s = &v->subjects[i];
			if (!is_waiting(s))
				continue;
			b->events[b->n] = s->event;
			b->subjects[b->n++] = s;
		}
		if (!b->n)
			return 0;
		b->n_events = b->n;
		if (irq)
			b->events[b->n_events++] = irq;
		err = batch_open(v, b, t, why);
		most = b->n - 1;
		/* as many as there are registers would leave none to move to */
		if (!err && v->moves && most && !spared) {
			spared = true;
			trial_close(t);
			err = TARE_E_NO_COUNTERS;
		}
	} while (err && most);
	if (err && irq) {	/* there may be one counter only */
		b->n_events = 1;
		err = batch_open(v, b, t, why);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

int batch_base(const struct batch *b, struct trial *t, const struct trial_code *code, int64_t *base,
	       struct tare_why *why)
{
	const int n = t->o.soft ? 1 : BASES;
	int64_t seen[TRIAL_EVENTS][BASES], counts[TRIAL_EVENTS];
	int err = t->o.soft ? 0 : trial_run(t, code, counts, why);	/* loads code and data */
	for (int i = 0; !err && i < n; i++) {
		err = trial_run(t, code, counts, why);
		for (size_t e = 0; !err && e < b->n_events; e++)
			seen[e][i] = counts[e];
	}
	for (size_t e = 0; !err && e < b->n_events; e++) {
		qsort(seen[e], (size_t)n, sizeof(seen[e][0]), compare);
		base[e] = seen[e][n / 2];
	}
	base[BASE_FAULTS] = (int64_t)t->faults;
	return err;
}

int64_t verify_unwrapped(const struct verify *v, int64_t count)
{
	if (!v->bits)
		return count;
	const int64_t range = 1ll << v->bits, low = -(range / 4);
	while (count < low)
		count += range;
	while (count >= low + range)
		count -= range;
	return count;
}

int batch_count(const struct verify *v, const struct batch *b, struct trial *t,
		const struct trial_code *code, const int64_t *base, struct observation *out,
		struct tare_why *why)
{
	static const int64_t zero[BASE_SIZE];
	int64_t counts[TRIAL_EVENTS];
	const bool listed = !v->soft && v->reads_proc;
	const uint64_t before = listed ? verify_proc_interrupts() : 0;
	const double start = now_ns();
	const int err = trial_run(t, code, counts, why);
	if (err)
		return err;
	const double ns = now_ns() - start;
	const double interrupts = listed ? (double)(verify_proc_interrupts() - before) : NAN;
	if (!base)
		base = zero;
	for (size_t i = 0; i < b->n_events; i++)
		counts[i] = verify_unwrapped(v, counts[i] - base[i]);
	for (size_t i = 0; i < b->n; i++)
		out[i] = (struct observation){
			.excess = (double)counts[i],
			.counted_interrupts = b->n_events > b->n ? (double)counts[b->n] : NAN,
			.listed_interrupts = interrupts, .ns = ns,
			.faults = (double)((int64_t)t->faults - base[BASE_FAULTS]),
		};
	return 0;
}

static int one_kernel(struct verify *v, const struct batch *b, struct trial *t, size_t k,
		      struct tare_why *why)
{
	const struct trial_code one = { .kernel = v->kernels[k], .loops = 1 };
	const struct trial_code code = { .kernel = v->kernels[k], .loops = v->loops[k] + 1 };
	struct observation seen[TRIAL_EVENTS];
	int64_t base[BASE_SIZE];
	const double instructions =
		(double)(v->loops[k] * v->kernels[k]->each[KERNEL_INSTRUCTIONS]);
	int err = batch_base(b, t, &one, base, why);
	for (unsigned r = 0; !err && r < v->runs; r++) {
		err = batch_count(v, b, t, &code, base, seen, why);
		for (size_t i = 0; !err && i < b->n; i++) {
			seen[i].excess -= (double)verify_expected(v, b->subjects[i], k);
			seen[i].instructions = instructions;
			b->subjects[i]->seen[k * v->runs + r] = seen[i];
		}
	}
	return err;
}

static int batch_run(struct verify *v, const struct batch *b, struct trial *t, struct tare_why *why)
{
	size_t done = 0, all = 0;
	for (size_t i = 0; i < v->n_subjects; i++) {
		all += v->subjects[i].counted || is_waiting(&v->subjects[i]);
		done += v->subjects[i].counted;
	}
	for (size_t k = 0; k < v->n_kernels; k++) {
		const double part = (double)done + (double)(b->n * k) / (double)v->n_kernels;
		v->share = v->sections_share * part / (double)all;
		int err = verify_progress(v, "%zu events over %s", b->n, v->kernels[k]->name);
		if (!err)
			err = one_kernel(v, b, t, k, why);
		if (err)
			return err;
	}
	return 0;
}

/* No run counted anything, where something was to be counted. */
static bool is_dead(const struct verify *v, const struct subject *s)
{
	uint64_t all = 0;
	for (size_t k = 0; k < v->n_kernels; k++) {
		const uint64_t expected = verify_expected(v, s, k);
		all += expected;
		for (unsigned r = 0; r < v->runs; r++)
			if (s->seen[k * v->runs + r].excess != -(double)expected)
				return false;
	}
	return all;
}

void verify_dead(struct subject *s)
{
	s->dead = true;
	verify_doubt(s, "opens, and counts nothing%s%s", s->also ? "; the code of " : "",
		     s->also ? s->also : "");
}

/* An event that never counts has no causes to look for: every instruction would be one. */
static void bury_dead(const struct verify *v, struct batch *b)
{
	const struct tare_event *const irq = b->n_events > b->n ? b->events[b->n] : NULL;
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++) {
		struct subject *const s = b->subjects[i];
		if (is_dead(v, s)) {
			verify_dead(s);
			continue;
		}
		b->subjects[n] = s;
		b->events[n++] = s->event;
	}
	b->n = b->n_events = n;
	if (irq)
		b->events[b->n_events++] = irq;
}

static int keep_batch(struct verify *v, const struct batch *b)
{
	struct batch *const all = realloc(v->batches, (v->n_batches + 1) * sizeof(*all));
	if (!all)
		return TARE_E_NOMEM;
	v->batches = all;
	for (size_t i = 0; i < b->n; i++)
		b->subjects[i]->counted = true;
	all[v->n_batches] = *b;
	bury_dead(v, &all[v->n_batches]);
	v->n_batches += all[v->n_batches].n > 0;
	return 0;
}

/* Counters can be taken away at any time; then the batch is counted again. */
static int batch_try(struct verify *v, const struct batch *b, struct trial *t, struct tare_why *why)
{
	int err = batch_run(v, b, t, why);
	for (int i = 1; i < TRIES && verify_is_lost(err); i++) {
		trial_close(t);
		err = batch_open(v, b, t, why);
		if (!err)
			err = batch_run(v, b, t, why);
	}
	trial_close(t);
	if (!err)
		return keep_batch(v, b);
	if (!verify_is_lost(err))
		return err;
	for (size_t i = 0; i < b->n; i++)
		verify_doubt(b->subjects[i], "the counter was taken away in each of %d attempts",
			     TRIES);
	return 0;
}

int sections_run(struct verify *v, struct tare_why *why)
{
	for (size_t i = 0; i < v->n_subjects; i++) {
		struct subject *const s = &v->subjects[i];
		if (!is_waiting(s))
			continue;
		s->seen = calloc(v->n_kernels * v->runs, sizeof(*s->seen));
		if (!s->seen)
			return why_set(why, TARE_E_NOMEM, "observations");
	}
	for (;;) {
		struct batch b;
		struct trial t;
		struct tare_why open_why = { 0 };
		int err = verify_stopped(v, why);
		if (err)
			return err;
		err = batch_fill(v, &b, &t, &open_why);
		if (!b.n)
			return 0;
		if (err) {	/* the first one alone does not open */
			verify_doubt(b.subjects[0], "%s: %s", open_why.what,
				     tare_err_sentence(open_why.code));
			b.subjects[0]->absent = err == TARE_E_EVENT_UNSUPPORTED ||
						err == TARE_E_EVENT_NOT_ON_CPU;
		}
		if (!err)
			err = batch_try(v, &b, &t, why);
		if (err && !b.subjects[0]->reason[0])
			return err;
	}
}

/* ---- what runs have in common ---- */

double verify_median(double *values, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const double x = values[i];
		size_t k = i;
		for (; k && values[k - 1] > x; k--)
			values[k] = values[k - 1];
		values[k] = x;
	}
	return n % 2 ? values[n / 2] : n ? (values[n / 2 - 1] + values[n / 2]) / 2 : NAN;
}

double verify_interrupts(const struct verify *v, const struct observation *seen,
			 enum interrupt_source source)
{
	switch (source) {
	case BY_EVENT: return seen->counted_interrupts - v->irq_per_fault * seen->faults;
	case BY_PROC: return seen->listed_interrupts;
	case BY_TICKS: return seen->ns / known_work_tick_ns();
	case BY_NOTHING: break;
	}
	return NAN;
}

double verify_rest(const struct verify *v, const struct subject *s, const struct observation *seen)
{
	const double interrupts = s->per_interrupt ?
		s->per_interrupt * verify_interrupts(v, seen, s->source) : 0;
	return seen->excess - interrupts - s->per_fault * seen->faults -
	       s->per_instruction * seen->instructions;
}

double verify_limit(const struct subject *s)
{
	return 2 + 4 * s->noise;
}
