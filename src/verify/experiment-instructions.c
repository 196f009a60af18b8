/* D and M: instructions that an event counts too often, or too rarely.
 *
 * First each case of each kernel runs alone, a few hundred times, so that two deviations of a
 * section that cancel out are found too. Then the sections are looked at again: what the cases do
 * not explain is too rare to show in a few hundred executions, and is bisected with whole runs,
 * from the section to the case.
 *
 * A part of a kernel has more than its cases: the end of the loop, and jumps over what is left out.
 * Where these deviate, all cases seem to: what most of them have in common is taken off, and
 * reported once.
 */
#include "experiment.h"

#include "why.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASSES 400		/* of a case alone */
#define AGAIN 2			/* a deviation is counted again so often */
#define BISECTED 3		/* runs of each half */
#define PLAIN 5			/* cases that are enough to tell what a jump adds */
#define CLEAR 30		/* cases that are enough to tell that many deviate */
#define MANY 0.4		/* of all cases deviate: the event counts something else */

/* A kernel whose parts are run for a batch. */
struct sweep {
	struct verify *v;
	const struct batch *b;
	struct trial t;
	size_t k;			/* in v->kernels */
	const struct kernel *kernel;
	struct kernel_part *part;
	bool *wanted;
	double *alone[TRIAL_EVENTS];	/* by case: deviation for each execution */
	double common[TRIAL_EVENTS];	/* of the loop's end and one jump */
	double jump[TRIAL_EVENTS];
	double together[TRIAL_EVENTS];	/* of cases that deviate only with others */
};

/* What the chosen cases count above the expected, in each pass: one number for each subject. */
static int deviation(struct sweep *w, uint64_t passes, double *out, struct tare_why *why)
{
	uint64_t each[KERNEL_EVENTS] = { 0 };
	struct observation seen[TRIAL_EVENTS];
	const struct trial_code one = { .part = w->part, .loops = 1 };
	const struct trial_code code = { .part = w->part, .loops = passes + 1 };
	int64_t base[BASE_SIZE];
	kernel_part_choose(w->part, w->wanted, each);
	int err = trial_run(&w->t, &one, base, why);	/* loads the code */
	if (!err)
		err = trial_run(&w->t, &one, base, why);
	base[BASE_FAULTS] = (int64_t)w->t.faults;
	if (!err)
		err = batch_count(w->v, w->b, &w->t, &code, base, seen, why);
	for (size_t i = 0; !err && i < w->b->n; i++) {
		const struct subject *const s = w->b->subjects[i];
		seen[i].excess -= (double)(each[s->kind] * passes);
		seen[i].instructions = (double)(each[KERNEL_INSTRUCTIONS] * passes);
		out[i] = verify_rest(w->v, s, &seen[i]) / (double)passes;
	}
	return err;
}

static double limit_of(const struct subject *s, uint64_t passes)
{
	return verify_limit(s) / (double)passes;
}

/* The smallest of several: interrupts of a kind that nothing counts can only add. */
static double nearer_to_zero(double a, double b)
{
	return fabs(a) < fabs(b) ? a : b;
}

static int sweep_case(struct sweep *w, size_t c, struct tare_why *why)
{
	double first[TRIAL_EVENTS], again[TRIAL_EVENTS];
	w->wanted[c] = true;
	int err = deviation(w, PASSES, first, why);
	for (int n = 0; !err && n < AGAIN; n++) {
		bool doubtful = false;
		for (size_t i = 0; i < w->b->n; i++)
			doubtful |= first[i] != w->common[i];
		if (!doubtful)
			break;
		err = deviation(w, PASSES, again, why);
		for (size_t i = 0; !err && i < w->b->n; i++)
			first[i] = w->common[i] + nearer_to_zero(first[i] - w->common[i],
								 again[i] - w->common[i]);
	}
	w->wanted[c] = false;
	for (size_t i = 0; !err && i < w->b->n; i++)
		w->alone[i][c] = first[i];
	return err;
}

/* What a jump adds: the middle one of the cases that count nothing of the event themselves; where these
 * are few, what other kernels have shown. */
static double jump_of(const struct sweep *w, size_t i, double *values)
{
	struct subject *const s = w->b->subjects[i];
	const size_t n = w->kernel->n_cases;
	size_t plain = 0;
	for (size_t c = 1; c + 1 < n; c++)
		if (!w->kernel->cases[c].counts[s->kind])
			values[plain++] = w->alone[i][c];
	if (plain >= PLAIN) {
		s->per_jump = verify_median(values, plain) - w->common[i];
		s->has_jump = true;
	}
	if (s->has_jump)
		return s->per_jump;
	memcpy(values, w->alone[i], n * sizeof(*values));
	return verify_median(values, n) - w->common[i];
}

/* A case in the middle has one more jump than no case at all. */
static void take_common(struct sweep *w)
{
	const size_t n = w->kernel->n_cases;
	double *const values = calloc(n, sizeof(*values));
	for (size_t i = 0; values && n > 4 && i < w->b->n; i++) {
		if (fabs(w->common[i]) <= limit_of(w->b->subjects[i], PASSES))
			continue;	/* it has a jump too */
		w->jump[i] = jump_of(w, i, values);
		if (fabs(w->jump[i]) <= limit_of(w->b->subjects[i], PASSES))
			w->jump[i] = 0;
	}
	free(values);
	for (size_t i = 0; i < w->b->n; i++)
		for (size_t c = 0; c < n; c++)
			w->alone[i][c] -= w->common[i] + (c && c + 1 < n ? w->jump[i] : 0);
}

static int sweep_cases(struct sweep *w, struct tare_why *why)
{
	int err = deviation(w, PASSES, w->common, why);
	for (size_t c = 0; !err && c < w->kernel->n_cases; c++)
		err = sweep_case(w, c, why);
	if (!err)
		take_common(w);
	return err;
}

/* ---- what was found ---- */

static void put_code(const struct kernel *k, size_t c, char *out, size_t size)
{
	size_t n = 0;
	for (uint32_t at = k->at[c]; at < k->at[c + 1] && n + 3 < size; at++)
		n += (size_t)snprintf(out + n, size - n, "%02x", k->code[at]);
}

static struct tare_verify_cause *cause_of(const struct subject *s, const struct kernel *k, size_t c)
{
	char code[sizeof(s->causes[0].code)] = "";
	put_code(k, c, code, sizeof(code));
	for (size_t i = 0; i < s->n_causes; i++)
		if (!strcmp(s->causes[i].kernel, k->name) && !strcmp(s->causes[i].code, code))
			return &s->causes[i];
	return NULL;
}

/* After some locked instructions a CPU counts again what came before them (the report's
 * SpecLockMap): how much depends on that, and not on the instruction. */
static bool is_replay(const struct kernel *k, size_t c, double amount)
{
	return c < k->n_cases && k->cases[c].counts[KERNEL_LOCKED] && amount != round(amount);
}

/* A flag that nobody clears raises no second exception. */
static bool clears_flags(const char *text)
{
	static const char *const names[] = { "ldmxcsr", "init", "clex", "fldenv", "rstor", "save" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strstr(text, names[i]))
			return true;
	return false;
}

/* `c` is n_cases: the end of the loop. */
static int report(struct sweep *w, size_t i, size_t c, double amount, double error)
{
	const struct kernel *const k = w->kernel;
	struct subject *const s = w->b->subjects[i];
	if (verify_is_exceptions(s, k, amount) && c < k->n_cases && clears_flags(k->cases[c].text)) {
		s->raised[w->k] += amount;
		return 0;
	}
	if (is_replay(k, c, amount)) {
		s->replays++;
		return 0;
	}
	struct tare_verify_cause *const cause =
		verify_cause(s, amount > 0 ? TARE_CAUSE_OVERCOUNTED :
			     TARE_CAUSE_UNDERCOUNTED, amount, error, "execution");
	if (!cause)
		return TARE_E_NOMEM;
	snprintf(cause->instruction, sizeof(cause->instruction), "%s",
		 c < k->n_cases ? k->cases[c].text : "end of a loop");
	snprintf(cause->kernel, sizeof(cause->kernel), "%s", k->name);
	if (c < k->n_cases)
		put_code(k, c, cause->code, sizeof(cause->code));
	s->n_deviating += c < k->n_cases && k->cases[c].counts[s->kind] > 0;
	cause->share = amount * (double)w->v->loops[w->k];
	return 0;
}

static double exact(double amount, double limit)
{
	return fabs(amount - round(amount)) <= limit ? round(amount) : amount;
}

static int report_cases(struct sweep *w)
{
	for (size_t i = 0; i < w->b->n; i++) {
		const struct subject *const s = w->b->subjects[i];
		const double limit = limit_of(s, PASSES);
		for (size_t c = 0; c < w->kernel->n_cases; c++) {
			double *const d = &w->alone[i][c];
			w->b->subjects[i]->n_tried += w->kernel->cases[c].counts[s->kind] > 0;
			*d -= verify_exceptions_of(s, w->kernel, c);
			if (fabs(*d) <= limit) {
				*d = 0;
				continue;
			}
			*d = exact(*d, limit);
			if (report(w, i, c, *d, *d == round(*d) ? 0 : limit) < 0)
				return TARE_E_NOMEM;
		}
	}
	return 0;
}

/* ---- bisection ---- */

/* What a pass of the section counts too much, by what is known of its cases. */
static double known_of(const struct sweep *w, size_t i)
{
	const struct subject *const s = w->b->subjects[i];
	const double limit = limit_of(s, PASSES);
	const double end = exact(w->common[i] - w->jump[i], limit);
	double known = w->together[i] + (fabs(end) <= limit ? 0 : end);
	for (size_t c = 0; c < w->kernel->n_cases; c++)
		known += w->alone[i][c] + verify_exceptions_of(s, w->kernel, c);
	return known;
}

static double unexplained(const struct sweep *w, size_t i)
{
	const struct verify *const v = w->v;
	const struct subject *const s = w->b->subjects[i];
	double rests[64];
	const unsigned runs = v->runs < 64 ? v->runs : 64;
	for (unsigned r = 0; r < runs; r++)
		rests[r] = verify_rest(v, s, &s->seen[w->k * v->runs + r]);
	return verify_median(rests, runs) - known_of(w, i) * (double)v->loops[w->k];
}

/* What the wanted cases count too much in a pass, that their runs alone did not show. */
static int count_wanted(struct sweep *w, size_t i, uint64_t passes, double *out,
			struct tare_why *why)
{
	double all[BISECTED], d[TRIAL_EVENTS], known = w->common[i] - w->jump[i];
	for (size_t c = 0; c < w->kernel->n_cases; c++) {
		const bool skips = !w->wanted[c] && (!c || w->wanted[c - 1]);
		known += skips ? w->jump[i] : 0;
		if (w->wanted[c])
			known += w->alone[i][c] +
				 verify_exceptions_of(w->b->subjects[i], w->kernel, c);
	}
	int err = 0;
	for (int n = 0; !err && n < BISECTED; n++) {
		err = deviation(w, passes, d, why);
		all[n] = err ? 0 : d[i] - known;
	}
	*out = verify_median(all, BISECTED);
	return err;
}

static int count_range(struct sweep *w, size_t i, size_t from, size_t to, double *out,
		       struct tare_why *why)
{
	memset(w->wanted, 0, w->kernel->n_cases * sizeof(*w->wanted));
	for (size_t c = from; c < to; c++)
		w->wanted[c] = true;
	const int err = count_wanted(w, i, w->v->loops[w->k], out, why);
	memset(w->wanted, 0, w->kernel->n_cases * sizeof(*w->wanted));
	return err;
}

/* ---- cases that deviate together only ---- */

/* Leaves out [from, to) where the others still deviate by half of d. */
static int leave_out(struct sweep *w, size_t i, size_t from, size_t to, uint64_t passes, double d,
		     struct tare_why *why)
{
	bool before[256];
	double now;
	const size_t n = to - from;
	memcpy(before, w->wanted + from, n * sizeof(*before));
	memset(w->wanted + from, 0, n * sizeof(*before));
	if (!memcmp(before, w->wanted + from, n * sizeof(*before)))
		return 0;
	const int err = count_wanted(w, i, passes, &now, why);
	if (err || now / d < 0.5)
		memcpy(w->wanted + from, before, n * sizeof(*before));
	return err;
}

static int report_together(struct sweep *w, size_t i, double d)
{
	char text[sizeof(((struct tare_verify_cause *)0)->instruction)] = "";
	size_t at = 0, last = 0;
	for (size_t c = 0; c < w->kernel->n_cases && at < sizeof(text); c++) {
		if (!w->wanted[c])
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? " + " : "",
				       w->kernel->cases[c].text);
		last = c;
	}
	struct subject *const s = w->b->subjects[i];
	const size_t before = s->n_causes;
	for (size_t c = 0; c < w->kernel->n_cases; c++)
		last = w->wanted[c] && w->kernel->cases[c].counts[KERNEL_LOCKED] ? c : last;
	w->together[i] += d;
	if (verify_is_exceptions(s, w->kernel, d) && clears_flags(text)) {
		s->raised[w->k] += d;
		return 0;
	}
	if (report(w, i, last, d, 0) < 0)
		return TARE_E_NOMEM;
	if (s->n_causes > before)
		memcpy(s->causes[before].instruction, text, sizeof(text));
	return 0;
}

/* One instruction leaves a state (a flag of the x87 unit) with which another one is counted
 * differently: neither deviates alone. The set of all is made smaller as long as it deviates. */
static int search_together(struct sweep *w, size_t i, struct tare_why *why)
{
	const size_t n = w->kernel->n_cases;
	const uint64_t passes = w->v->loops[w->k] < PASSES ? w->v->loops[w->k] : PASSES;
	const double limit = limit_of(w->b->subjects[i], passes);
	double d;
	for (size_t c = 0; c < n; c++)
		w->wanted[c] = true;
	int err = count_wanted(w, i, passes, &d, why);
	if (!err && fabs(d) > limit) {
		for (size_t size = n < 256 ? n / 2 : 256; !err && size; size /= 2)
			for (size_t from = 0; !err && from < n; from += size)
				err = leave_out(w, i, from, from + size < n ? from + size : n, passes, d,
						why);
		if (!err)
			err = count_wanted(w, i, passes, &d, why);
		if (!err && fabs(d) > limit)
			err = report_together(w, i, exact(d, limit));
	}
	memset(w->wanted, 0, n * sizeof(*w->wanted));
	return err;
}

static int bisect(struct sweep *w, size_t i, size_t from, size_t to, struct tare_why *why)
{
	const double limit = limit_of(w->b->subjects[i], w->v->loops[w->k]);
	double d;
	int err = count_range(w, i, from, to, &d, why);
	if (err || fabs(d) <= limit)
		return err;
	if (to - from == 1) {
		struct tare_verify_cause *const known =
			cause_of(w->b->subjects[i], w->kernel, from);
		w->alone[i][from] += d;
		if (!known)
			return report(w, i, from, d, limit);
		known->amount = w->alone[i][from];
		known->error = fmax(limit, fabs(d));
		known->share = known->amount * (double)w->v->loops[w->k];
		return 0;
	}
	const size_t middle = from + (to - from) / 2;
	err = bisect(w, i, from, middle, why);
	return err ? err : bisect(w, i, middle, to, why);
}

/* Flags stay set until something clears them: cases that raise an exception alone may raise none
 * together. So the number of exceptions in a section of arithmetic is not known, but it is whole. */
static double by_exceptions(const struct sweep *w, size_t i)
{
	const struct subject *const s = w->b->subjects[i];
	const double loops = (double)w->v->loops[w->k];
	const double each = unexplained(w, i) / loops, whole = round(each);
	if (fabs(each - whole) * loops > verify_limit(s) || !whole)
		return 0;
	return verify_is_exceptions(s, w->kernel, fabs(whole)) ||
			       verify_is_exceptions(s, w->kernel, -fabs(whole)) ? whole : 0;
}

/* Where so many deviate, what is left over is of no interest. */
static bool is_clear(const struct subject *s)
{
	return s->per_instruction ||
	       (s->n_tried >= CLEAR && (double)s->n_deviating >= MANY * (double)s->n_tried);
}

static int bisect_section(struct sweep *w, struct tare_why *why)
{
	for (size_t i = 0; i < w->b->n; i++) {
		const struct subject *const s = w->b->subjects[i];
		if (is_clear(s))
			continue;
		if (fabs(unexplained(w, i)) <= verify_limit(s) || !w->kernel->n_cases ||
		    (s->replays && w->kernel->each[KERNEL_LOCKED]))
			continue;
		int err = verify_progress(w->v, "%s: searching %s", s->name, w->kernel->name);
		if (!err)
			err = bisect(w, i, 0, w->kernel->n_cases, why);
		if (!err && fabs(unexplained(w, i)) > verify_limit(s) && !s->replays)
			err = search_together(w, i, why);
		if (err)
			return err;
	}
	return 0;
}

/* The end of the loop deviates in each kernel, and is reported with the first one. */
static int report_end(struct sweep *w)
{
	for (size_t i = 0; i < w->b->n; i++) {
		struct subject *const s = w->b->subjects[i];
		const double limit = limit_of(s, PASSES);
		const double d = exact(w->common[i] - w->jump[i], limit);
		if (fabs(d) <= limit)
			continue;
		if (!s->has_end && report(w, i, w->kernel->n_cases, d, d == round(d) ? 0 : limit) < 0)
			return TARE_E_NOMEM;
		s->has_end = true;
	}
	return 0;
}

/* ---- all kernels ---- */

static int sweep_kernel(struct sweep *w, struct tare_why *why)
{
	const size_t n = w->kernel->n_cases + 1;
	int err = kernel_part_open(w->kernel, &w->part, why);
	if (err)
		return err;
	w->wanted = calloc(n, sizeof(*w->wanted));
	for (size_t i = 0; i < w->b->n; i++)
		w->alone[i] = calloc(n, sizeof(**w->alone));
	for (size_t i = 0; i < w->b->n; i++)
		err = w->wanted && w->alone[i] ? err : TARE_E_NOMEM;
	memset(w->common, 0, sizeof(w->common));
	memset(w->jump, 0, sizeof(w->jump));
	memset(w->together, 0, sizeof(w->together));
	if (!err)
		err = sweep_cases(w, why);
	if (!err)
		err = report_end(w);
	if (!err)
		err = report_cases(w);
	if (!err)
		err = bisect_section(w, why);
	for (size_t i = 0; !err && i < w->b->n; i++) {
		struct subject *const s = w->b->subjects[i];
		const double rest = by_exceptions(w, i);
		s->known[w->k] = known_of(w, i) + rest;
		s->raised[w->k] += rest;
	}
	for (size_t i = 0; i < w->b->n; i++)
		free(w->alone[i]);
	free(w->wanted);
	kernel_part_close(w->part);
	return err;
}

static int sweep_batch(struct verify *v, const struct batch *b, struct tare_why *why)
{
	struct sweep w = { .v = v, .b = b };
	int err = batch_open(v, b, &w.t, why);
	for (size_t k = 0; !err && k < v->n_kernels; k++) {
		w.k = k;
		w.kernel = v->kernels[k];
		err = verify_progress(v, "each instruction of %s alone", w.kernel->name);
		if (!err)
			err = sweep_kernel(&w, why);
	}
	trial_close(&w.t);
	return err;
}

/* A section with locked instructions deviates, and not by the same number in each run: by numbers that are far apart, or
 * by less than one in each pass, where a difference of one is enough. */
static bool is_erratic(const struct verify *v, const struct subject *s, size_t k)
{
	double mean = 0, spread = 0;
	if (!v->kernels[k]->each[KERNEL_LOCKED])
		return false;
	for (unsigned r = 0; r < v->runs; r++)
		mean += verify_rest(v, s, &s->seen[k * v->runs + r]) / v->runs;
	for (unsigned r = 0; r < v->runs; r++)
		spread = fmax(spread, fabs(verify_rest(v, s, &s->seen[k * v->runs + r]) - mean));
	const double unexplained = fabs(mean - s->known[k] * (double)v->loops[k]);
	const bool is_seldom = unexplained < (double)v->loops[k] / 2 && spread > 0;
	return unexplained > verify_limit(s) && (is_seldom || spread > verify_limit(s) / 2);
}

/* Replays are one cause, whatever locked instruction each came after. */
static void judge_replays(const struct verify *v, struct subject *s)
{
	double share = 0, locked = 0, low = INFINITY, high = -INFINITY;
	for (size_t k = 0; k < v->n_kernels; k++)
		s->replays += is_erratic(v, s, k);
	if (!s->replays)
		return;
	for (size_t k = 0; k < v->n_kernels; k++) {
		const double executed = (double)(v->kernels[k]->each[KERNEL_LOCKED] * v->loops[k]);
		double mean = 0;
		if (!executed)
			continue;
		for (unsigned r = 0; r < v->runs; r++)
			mean += verify_rest(v, s, &s->seen[k * v->runs + r]) / v->runs;
		s->known[k] = mean / (double)v->loops[k];
		share += mean;
		locked += executed;
		low = fmin(low, mean / executed);
		high = fmax(high, mean / executed);
	}
	struct tare_verify_cause *const c = locked ?
		verify_cause(s, share > 0 ? TARE_CAUSE_OVERCOUNTED : TARE_CAUSE_UNDERCOUNTED,
			     share / locked, high - low, "execution") : NULL;
	if (!c)
		return;
	c->share = share;
	snprintf(c->instruction, sizeof(c->instruction), "locked instructions");
	snprintf(c->kernel, sizeof(c->kernel), "all");
	snprintf(c->source, sizeof(c->source), "kernels with and without them; not repeatable");
}

/* What the runs of a kernel count too much, on average, but for interrupts, page faults and exceptions: what its
 * instructions do alone is not the whole, where some of it comes at random. */
static double unexplained_in(const struct verify *v, const struct subject *s, size_t k)
{
	double mean = 0;
	for (unsigned r = 0; r < v->runs; r++) {
		const struct observation *const seen = &s->seen[k * v->runs + r];
		mean += (verify_rest(v, s, seen) + s->per_instruction * seen->instructions) / v->runs;
	}
	return mean - s->raised[k] * (double)v->loops[k];
}

/* Instructions that a person could list are one thing; where many of those that the event is to
 * count deviate, it counts another thing. */
static void judge_uops(const struct verify *v, struct subject *s)
{
	size_t all = 0;
	for (size_t k = 0; k < v->n_kernels; k++)
		for (size_t c = 0; c < v->kernels[k]->n_cases; c++)
			all += v->kernels[k]->cases[c].counts[s->kind] > 0;
	if (!s->per_instruction && (all < 8 || (double)s->n_deviating < MANY * (double)all))
		return;
	double expected = 0, share = 0;
	for (size_t k = 0; k < v->n_kernels; k++) {
		expected += (double)verify_expected(v, s, k);
		share += unexplained_in(v, s, k);
	}
	size_t n = 0;
	for (size_t i = 0; i < s->n_causes; i++)
		if (s->causes[i].cause != TARE_CAUSE_OVERCOUNTED &&
		    s->causes[i].cause != TARE_CAUSE_UNDERCOUNTED)
			s->causes[n++] = s->causes[i];
	s->n_causes = n;
	s->counts_uops = true;
	struct tare_verify_cause *const c =
		verify_cause(s, TARE_CAUSE_UOPS, share / expected, 0, "expected count");
	if (!c)
		return;
	c->share = share;
	c->error = s->noise / fmax(expected, 1);
	if (s->per_instruction)
		snprintf(c->source, sizeof(c->source), "runs that are not repeatable");
	else
		snprintf(c->source, sizeof(c->source), "%zu of %zu instructions that deviate",
			 s->n_deviating, all);
}

static int run(struct verify *v, struct tare_why *why)
{
	for (size_t i = 0; i < v->n_batches; i++) {
		const struct batch *const b = &v->batches[i];
		for (size_t k = 0; k < b->n; k++) {
			b->subjects[k]->known = calloc(v->n_kernels, sizeof(double));
			b->subjects[k]->raised = calloc(v->n_kernels, sizeof(double));
			if (!b->subjects[k]->known || !b->subjects[k]->raised)
				return why_set(why, TARE_E_NOMEM, "deviations");
		}
		const int err = sweep_batch(v, b, why);
		if (err && !verify_is_lost(err) && err != TARE_E_PERMISSION)
			return err;
		for (size_t k = 0; k < b->n; k++) {
			if (err)
				verify_doubt(b->subjects[k], "instructions could not be tried alone: "
					     "%s: %s", why->what, tare_err_sentence(err));
			else
				judge_replays(v, b->subjects[k]);
			if (!err)
				judge_uops(v, b->subjects[k]);
		}
	}
	return 0;
}

const struct experiment experiment_instructions = {
	.name = "instructions",
	.about = "instructions that are counted too often or too rarely",
	.hardware = true, .cause = true,
	.with = (const char *const[]){ "page-faults", "interrupts", "exceptions", NULL },
	.run = run,
};
