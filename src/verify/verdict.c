/* The verdicts: one row of the report for each subject, from what the sections saw and from the
 * causes that the experiments found. */
#include "steady.h"

#include "clocale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sum over the kernels of what one run counted above the expected. */
static double excess_of_run(const struct verify *v, const struct subject *s, unsigned run)
{
	double sum = 0;
	for (size_t k = 0; k < v->n_kernels; k++)
		sum += s->seen[k * v->runs + run].excess;
	return sum;
}

static void fill_section(const struct verify *v, const struct subject *s, size_t k,
			 struct tare_verify_section *out)
{
	const struct observation *const seen = &s->seen[k * v->runs];
	double mean = 0, rest = 0, distance = 0;
	for (unsigned r = 0; r < v->runs; r++) {
		mean += seen[r].excess / v->runs;
		rest += verify_rest(v, s, &seen[r]) / v->runs;
	}
	for (unsigned r = 0; r < v->runs; r++)
		distance = fmax(distance, fabs(seen[r].excess - mean));
	*out = (struct tare_verify_section){
		.kernel = v->kernels[k]->name, .expected = verify_expected(v, s, k),
		.mean = (double)verify_expected(v, s, k) + mean, .distance = distance,
		.rest = rest, .passes = v->loops[k],
		.limit = verify_limit(s) / (double)v->loops[k],
	};
}

static void fill_counts(const struct verify *v, const struct subject *s, struct tare_verify_row *row)
{
	double mean = 0;
	row->runs = v->runs;
	row->interrupts = row->faults = 0;
	for (size_t k = 0; k < v->n_kernels; k++) {
		row->expected += verify_expected(v, s, k);
		for (unsigned r = 0; r < v->runs; r++) {
			row->interrupts += verify_interrupts(v, &s->seen[k * v->runs + r],
							     s->source) / v->runs;
			row->faults += s->seen[k * v->runs + r].faults / v->runs;
		}
	}
	for (unsigned r = 0; r < v->runs; r++)
		mean += excess_of_run(v, s, r) / v->runs;
	for (unsigned r = 0; r < v->runs; r++)
		row->distance = fmax(row->distance, fabs(excess_of_run(v, s, r) - mean));
	row->excess = calloc(v->runs, sizeof(*row->excess));
	for (unsigned r = 0; row->excess && r < v->runs; r++)
		row->excess[r] = excess_of_run(v, s, r);
	row->difference = mean;
	row->mean = (double)row->expected + mean;
}

static int fill_sections(const struct verify *v, const struct subject *s, struct tare_verify_row *row)
{
	row->sections = calloc(v->n_kernels, sizeof(*row->sections));
	if (!row->sections)
		return TARE_E_NOMEM;
	row->n_sections = v->n_kernels;
	for (size_t k = 0; k < v->n_kernels; k++) {
		fill_section(v, s, k, &row->sections[k]);
		row->limit = fmax(row->limit, row->sections[k].limit);
	}
	return 0;
}

/* In the order of the paper's key: h p E F D M U. */
static void fill_letters(const struct subject *s, char *letters)
{
	for (int c = 0; c < TARE_CAUSE_COUNT; c++)
		for (size_t i = 0; i < s->n_causes; i++)
			if (s->causes[i].cause == (enum tare_cause)c) {
				*letters++ = tare_cause_letter((enum tare_cause)c);
				break;
			}
	*letters = '\0';
}

static enum tare_event_verdict judge(const struct subject *s, const struct tare_verify_row *row)
{
	if (!s->event || s->absent)
		return TARE_EVENT_NOT_AVAILABLE;
	if (s->dead)
		return TARE_EVENT_NEVER_COUNTS;
	if (s->counted && s->kind >= 0 && !row->expected && !row->mean && !row->distance)
		return TARE_EVENT_NOT_RUN;	/* whatever could be asked of other code */
	if (s->reason[0])
		return TARE_EVENT_INCONCLUSIVE;
	if (!s->counted)
		return TARE_EVENT_NOT_RUN;
	if (!row->expected && s->kind >= 0)
		return TARE_EVENT_NOT_RUN;
	return row->letters[0] ? TARE_EVENT_DEVIATES : TARE_EVENT_DETERMINISTIC;
}

static const char *word_of(const struct tare_verify_row *row)
{
	switch (row->verdict) {
	case TARE_EVENT_DETERMINISTIC: return "DETERMINISTIC";
	case TARE_EVENT_DEVIATES: return row->letters;
	case TARE_EVENT_NEVER_COUNTS: return "0";
	case TARE_EVENT_NOT_AVAILABLE: return "–";
	case TARE_EVENT_NOT_RUN: return "!";
	case TARE_EVENT_INCONCLUSIVE: break;
	}
	return "?";
}

/* One count more or less in a pass of its loop could not be seen in most kernels. */
static bool is_too_noisy(const struct verify *v, const struct tare_verify_row *row)
{
	size_t n = 0;
	for (size_t k = 0; k < row->n_sections; k++)
		n += row->sections[k].limit > 0.5;
	return 2 * n > v->n_kernels;
}

/* Whole where it is large. */
static const char *signed_number(double n, char *out, size_t size)
{
	if (fabs(n) < 1000)
		clocale_snprintf(out, size, "%+.4g", n);
	else {
		out[0] = n < 0 ? '-' : '+';
		steady_number(llround(fabs(n)), out + 1, size - 1);
	}
	return out;
}

/* A difference that no cause explains: by those that were looked for. */
static void doubt_difference(const struct verify *v, struct subject *s, double difference, const char *of)
{
	char names[120], number[40];
	signed_number(difference, number, sizeof(number));
	if (verify_left_out(v, names, sizeof(names))[0])
		verify_doubt(s, "the difference of %s in a run of %s is not explained; not tried: %s",
			     number, of, names);
	else
		verify_doubt(s, "no experiment explains the difference of %s in a run of %s", number, of);
}

/* What exceptions of arithmetic add in a run of a kernel. Flags that stay set prevent some, so how many there are is
 * not known, but it is a whole number in each pass. */
static double raised_in(const struct verify *v, const struct subject *s, size_t k, double rest)
{
	const double passes = (double)v->loops[k], each = round(rest / passes);
	if (s->known)
		return s->raised[k] * passes;
	if (fabs(rest - each * passes) > verify_limit(s) || !verify_is_exceptions(s, v->kernels[k], each))
		return 0;
	return each * passes;
}

/* What exceptions add in a run of a kernel that has one in each case. */
static double planned_in(const struct verify *v, const struct subject *s, size_t k)
{
	double sum = 0;
	for (size_t c = 0; c < v->kernels[k]->n_cases; c++)
		sum += verify_exceptions_of(s, v->kernels[k], c) * (double)v->loops[k];
	return sum;
}

/* What instructions and exceptions count too much in a run of a kernel. Where instructions were not
 * examined, exceptions are known all the same. */
static double known_of(const struct verify *v, const struct subject *s, size_t k, double rest)
{
	if (s->known)
		return s->known[k] * (double)v->loops[k];
	const double planned = planned_in(v, s, k);
	return planned ? planned : raised_in(v, s, k, rest);
}

/* What no cause explains of each section, and of all runs together. */
static void find_doubts(const struct verify *v, struct subject *s, struct tare_verify_row *row)
{
	double mean = 0, square = 0;
	const double n = (double)(v->n_kernels * v->runs);
	if (s->dead || !row->expected)
		return;
	if (is_too_noisy(v, row)) {
		verify_doubt(s, "this machine is too noisy: equal runs differ by %.3g when interrupts "
			     "and page faults are subtracted", s->noise);
		s->n_causes = 0;
		return;
	}
	if (s->counts_uops)
		return;
	for (size_t k = 0; k < v->n_kernels; k++) {
		const struct tare_verify_section *const x = &row->sections[k];
		const double known = known_of(v, s, k, x->rest);
		for (unsigned r = 0; r < v->runs; r++) {
			const double rest = verify_rest(v, s, &s->seen[k * v->runs + r]) - known;
			row->residue = fmax(row->residue, fabs(rest));
			mean += rest / n;
			square += rest * rest / n;
		}
		if (s->replays && v->kernels[k]->each[KERNEL_LOCKED])
			continue;
		if (fabs(x->rest - known) > x->limit * (double)x->passes)
			doubt_difference(v, s, x->rest - known, x->kernel);
	}
	const double error = sqrt(fmax(square - mean * mean, 0) / n);
	if (fabs(mean) > 5 * error && error > 1e-6 && !s->replays)
		doubt_difference(v, s, mean, "each kernel");
	if (row->residue && !s->n_causes)
		verify_doubt(s, "runs differ from what is expected by %.4g, which is below the "
			     "detection limit", row->residue);
}

/* The part of the row's difference that each cause explains; instructions have theirs. */
static void fill_shares(const struct verify *v, const struct subject *s,
			const struct tare_verify_row *row)
{
	double exceptions[2] = { 0 };
	for (size_t k = 0; k < v->n_kernels; k++) {
		const struct kernel *const kernel = v->kernels[k];
		const double raised = raised_in(v, s, k, row->sections[k].rest);
		for (size_t c = 0; c < kernel->n_cases; c++)
			exceptions[!kernel->cases[c].counts[KERNEL_X87]] +=
				verify_exceptions_of(s, kernel, c) * (double)v->loops[k];
		if (raised)
			exceptions[!kernel->each[KERNEL_X87] || !s->per_exception[0]] += raised;
	}
	unsigned n = 0;
	for (size_t i = 0; i < s->n_causes; i++) {
		struct tare_verify_cause *const c = &s->causes[i];
		if (c->cause == TARE_CAUSE_INTERRUPTS)
			c->share = c->amount * row->interrupts;
		else if (c->cause == TARE_CAUSE_FAULTS)
			c->share = c->amount * row->faults;
		else if (c->cause == TARE_CAUSE_EXCEPTIONS && n < 2)
			c->share = exceptions[s->per_exception[n] ? n : 1], n++;
	}
}

static int fill_row(const struct verify *v, struct subject *s, struct tare_verify_row *row)
{
	row->event = strdup(s->name);
	row->role = tare_role_name(s->role);
	row->interrupts = row->faults = NAN;
	if (!row->event)
		return TARE_E_NOMEM;
	if (s->counted) {
		fill_counts(v, s, row);
		if (fill_sections(v, s, row) < 0)
			return TARE_E_NOMEM;
	}
	if (s->counted) {
		find_doubts(v, s, row);
		fill_shares(v, s, row);
	}
	fill_letters(s, row->letters);
	row->causes = s->causes;
	row->n_causes = s->n_causes;
	s->causes = NULL;
	s->n_causes = 0;
	return 0;
}

/* "4 of 8 events are deterministic, 3 deviate": what there is none of is left out. */
static void conclude(const struct verify *v, struct tare_verify_report *r)
{
	static const struct {
		enum tare_event_verdict verdict;
		const char *one, *several;
	} words[] = {
		{ TARE_EVENT_DEVIATES, "deviates", "deviate" },
		{ TARE_EVENT_NEVER_COUNTS, "never counts", "never count" },
		{ TARE_EVENT_INCONCLUSIVE, "inconclusive", "inconclusive" },
		{ TARE_EVENT_NOT_AVAILABLE, "not available", "not available" },
		{ TARE_EVENT_NOT_RUN, "not run", "not run" },
	};
	unsigned n[TARE_EVENT_INCONCLUSIVE + 1] = { 0 }, bad = 0;
	for (size_t i = 0; i < r->n_rows; i++)
		n[r->rows[i].verdict]++;
	for (size_t i = 0; i < r->n_findings; i++)
		bad += r->findings[i].verdict == TARE_VERDICT_BAD;
	const unsigned right = n[TARE_EVENT_DETERMINISTIC];
	char *const out = r->conclusion;
	const size_t size = sizeof(r->conclusion);
	size_t at = (size_t)snprintf(out, size, "%u of %zu event%s %s deterministic", right, r->n_rows,
				     r->n_rows == 1 ? "" : "s", right == 1 || r->n_rows == 1 ? "is" : "are");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (n[words[i].verdict])
			at += (size_t)snprintf(out + at, size - at, ", %u %s", n[words[i].verdict],
					       n[words[i].verdict] == 1 ? words[i].one : words[i].several);
	if (bad)
		at += (size_t)snprintf(out + at, size - at, "; %u finding%s bad", bad, bad == 1 ? " is" : "s are");
	if (v->why_soft)
		snprintf(out + at, size - at, "; counted by the software engine, because %s", v->why_soft);
	else
		snprintf(out + at, size - at, "%s", v->soft ? "; counted by the software engine" : r->simulated ?
			 "; counted by a virtual PMU, which says nothing of this machine" : "");
}

int verdict_make(struct verify *v)
{
	struct tare_verify_report *const r = v->report;
	r->rows = calloc(v->n_subjects ? v->n_subjects : 1, sizeof(*r->rows));
	if (!r->rows)
		return TARE_E_NOMEM;
	r->n_rows = v->n_subjects;
	for (size_t i = 0; i < v->n_subjects; i++) {
		struct subject *const s = &v->subjects[i];
		struct tare_verify_row *const row = &r->rows[i];
		if (fill_row(v, s, row) < 0)
			return TARE_E_NOMEM;
		row->verdict = judge(s, row);
		if (row->verdict != TARE_EVENT_NOT_RUN)
			memcpy(row->reason, s->reason, sizeof(row->reason));
		row->word = word_of(row);
	}
	conclude(v, r);
	return 0;
}
