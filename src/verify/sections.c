/* The sections: each event over all kernels, several times.
 *
 * Events are counted together as far as counters reach, with the event that counts interrupts
 * beside them. What is kept of a run is the excess: what was counted above the count that
 * inspection gives. The call of a kernel, and what stands outside of its loop, is not part of the
 * comparison: a run without a pass is subtracted from a run of all passes.
 */
#include "experiment.h"

#include "interrupts.h"
#include "why.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define BASES 5			/* runs without a pass; the middle one is typical */
#define TRIES 3			/* of a batch whose counters were taken away */

struct batch {
	struct subject *subjects[TRIAL_EVENTS];
	const struct tare_event *events[TRIAL_EVENTS];
	size_t n;			/* subjects */
	size_t n_events;		/* one more where interrupts are counted */
	struct trial trial;
};

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

uint64_t verify_faults(void)
{
	struct rusage u;
	getrusage(RUSAGE_THREAD, &u);
	return (uint64_t)u.ru_minflt + (uint64_t)u.ru_majflt;
}

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int batch_open(struct verify *v, struct batch *b, struct tare_why *why)
{
	const struct trial_options o = { .events = b->events, .n = b->n_events, .soft = v->soft,
					 .child = v->o.child };
	return trial_open(&o, &b->trial, why);
}

/* The subjects from `first` on that fit on the counters together; at least one. */
static int batch_fill(struct verify *v, struct batch *b, size_t first, struct tare_why *why)
{
	const struct tare_event *const irq = v->soft ? NULL : v->irq;
	size_t most = TRIAL_EVENTS - 1;
	int err;
	do {
		*b = (struct batch){ 0 };
		for (size_t i = first; i < v->n_subjects && b->n < most; i++) {
			struct subject *const s = &v->subjects[i];
			if (!s->event || s->kind < 0 || s->counted || s->reason[0])
				continue;
			b->events[b->n] = s->event;
			b->subjects[b->n++] = s;
		}
		b->n_events = b->n;
		if (irq && b->n)
			b->events[b->n_events++] = irq;
		if (!b->n)
			return 0;
		err = batch_open(v, b, why);
		most = b->n - 1;
	} while (err && most);
	if (err && irq) {	/* there may be one counter only */
		b->n_events = 1;
		err = batch_open(v, b, why);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

/* What a kernel counts outside of its loop. */
static int base_counts(struct batch *b, const struct kernel *k, int64_t *base, struct tare_why *why)
{
	const struct trial_code none = { .kernel = k, .loops = 0 };
	const int n = b->trial.o.soft ? 1 : BASES;
	int64_t seen[TRIAL_EVENTS][BASES], counts[TRIAL_EVENTS];
	int err = b->trial.o.soft ? 0 : trial_run(&b->trial, &none, counts, why);
	for (int i = 0; !err && i < n; i++) {
		err = trial_run(&b->trial, &none, counts, why);
		for (size_t e = 0; !err && e < b->n_events; e++)
			seen[e][i] = counts[e];
	}
	for (size_t e = 0; !err && e < b->n_events; e++) {
		qsort(seen[e], (size_t)n, sizeof(seen[e][0]), compare);
		base[e] = seen[e][n / 2];
	}
	return err;
}

static int one_run(struct verify *v, struct batch *b, size_t kernel, unsigned run,
		   const int64_t *base, struct tare_why *why)
{
	const struct trial_code code = { .kernel = v->kernels[kernel], .loops = v->loops[kernel] };
	int64_t counts[TRIAL_EVENTS];
	const uint64_t listed = v->soft ? 0 : verify_proc_interrupts(), faults = verify_faults();
	const double start = now_ns();
	const int err = trial_run(&b->trial, &code, counts, why);
	if (err)
		return err;
	const double ns = now_ns() - start;
	const double faulted = (double)(verify_faults() - faults);
	const double interrupts = v->soft ? 0 : (double)(verify_proc_interrupts() - listed);
	for (size_t i = 0; i < b->n; i++) {
		struct subject *const s = b->subjects[i];
		const int64_t expected = (int64_t)verify_expected(v, s, kernel);
		s->seen[kernel * v->runs + run] = (struct observation){
			.excess = (double)(counts[i] - base[i] - expected),
			.counted_interrupts = b->n_events > b->n ?
				(double)(counts[b->n] - base[b->n]) : NAN,
			.listed_interrupts = interrupts,
			.interrupts = NAN,
			.faults = v->soft ? 0 : faulted,
			.ns = ns,
		};
	}
	return 0;
}

static int batch_run(struct verify *v, struct batch *b, struct tare_why *why)
{
	int64_t base[TRIAL_EVENTS];
	for (size_t k = 0; k < v->n_kernels; k++) {
		int err = verify_progress(v, "%zu events over %s", b->n, v->kernels[k]->name);
		if (!err)
			err = base_counts(b, v->kernels[k], base, why);
		for (unsigned r = 0; !err && r < v->runs; r++)
			err = one_run(v, b, k, r, base, why);
		if (err)
			return err;
	}
	for (size_t i = 0; i < b->n; i++)
		b->subjects[i]->counted = true;
	return 0;
}

/* Counters can be taken away at any time; then the batch is counted again. */
static int batch_try(struct verify *v, struct batch *b, struct tare_why *why)
{
	int err = batch_run(v, b, why);
	for (int i = 1; i < TRIES && (err == TARE_E_STOLEN || err == TARE_E_NOT_SCHEDULED); i++) {
		trial_close(&b->trial);
		err = batch_open(v, b, why);
		if (!err)
			err = batch_run(v, b, why);
	}
	trial_close(&b->trial);
	if (err == TARE_E_STOLEN || err == TARE_E_NOT_SCHEDULED || err == TARE_E_NO_COUNTERS ||
	    err == TARE_E_WATCHDOG) {
		for (size_t i = 0; i < b->n; i++)
			verify_doubt(b->subjects[i], "the counter was taken away in each of %d "
				     "attempts", TRIES);
		err = 0;
	}
	return err;
}

int sections_run(struct verify *v, struct tare_why *why)
{
	for (size_t i = 0; i < v->n_subjects; i++) {
		struct subject *const s = &v->subjects[i];
		if (!s->event || s->kind < 0)
			continue;
		s->seen = calloc(v->n_kernels * v->runs, sizeof(*s->seen));
		if (!s->seen)
			return why_set(why, TARE_E_NOMEM, "observations");
	}
	for (;;) {
		struct batch b;
		struct tare_why open_why = { 0 };
		int err = verify_stopped(v, why);
		if (err)
			return err;
		err = batch_fill(v, &b, 0, &open_why);
		if (!b.n)
			return 0;
		if (err)	/* the first one alone does not open */
			verify_doubt(b.subjects[0], "%s: %s", open_why.what,
				     tare_err_sentence(open_why.code));
		else
			err = batch_try(v, &b, why);
		if (err && !b.subjects[0]->reason[0])
			return err;
	}
}

double verify_rest(const struct subject *s, const struct observation *seen)
{
	const double interrupts = s->per_interrupt ? s->per_interrupt * seen->interrupts : 0;
	return seen->excess - interrupts - s->per_fault * seen->faults;
}

double verify_limit(const struct verify *v, const struct subject *s, size_t kernel)
{
	(void)v;
	(void)kernel;
	return s->noise;
}
