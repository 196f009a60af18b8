/* Metrics: ratios of two events that have a name (-M), and how they come out. Only what two
 * counts of one run can tell is here: no metric needs to know the CPU. */
#include "stat.h"

#include <string.h>
#include <strings.h>

static const struct stat_metric metrics[] = {
	{ "ipc", "instructions", "cycles", 1, "", "instructions per cycle" },
	{ "cpi", "cycles", "instructions", 1, "", "cycles per instruction" },
	{ "branch-miss-rate", "branch-misses", "branches", 100, "%",
	  "branches that were predicted wrong" },
	{ "branch-mpki", "branch-misses", "instructions", 1000, "",
	  "branches predicted wrong per 1000 instructions" },
	{ "cache-miss-rate", "cache-misses", "cache-references", 100, "%",
	  "references to the last cache that missed it" },
	{ "cache-mpki", "cache-misses", "instructions", 1000, "",
	  "misses of the last cache per 1000 instructions" },
	{ "insn-per-branch", "instructions", "branches", 1, "", "instructions per branch" },
	{ "cond-branch-share", "cond-branches", "branches", 100, "%",
	  "branches that are conditional" },
	{ "taken-ratio", "taken-branches", "branches", 100, "%", "branches that were taken" },
	{ "loads-per-insn", "loads", "instructions", 1, "", "loads per instruction" },
	{ "stores-per-insn", "stores", "instructions", 1, "", "stores per instruction" },
	{ "loads-per-store", "loads", "stores", 1, "", "loads per store" },
	{ "calls-per-kinsn", "calls", "instructions", 1000, "", "calls per 1000 instructions" },
	{ "syscalls-per-minsn", "syscalls", "instructions", 1e6, "",
	  "system calls per million instructions" },
	{ "fp-share", "fp", "instructions", 100, "%", "floating-point instructions" },
	{ "simd-int-share", "simd-int", "instructions", 100, "%", "integer SIMD instructions" },
};

const struct stat_metric *stat_metric_at(size_t i)
{
	return i < sizeof(metrics) / sizeof(metrics[0]) ? &metrics[i] : NULL;
}

const char *stat_metric_word(size_t i, const char **about)
{
	const struct stat_metric *const m = stat_metric_at(i);

	if (m && about)
		*about = m->help;
	return m ? m->name : NULL;
}

const struct stat_metric *stat_metric_find(const char *name)
{
	const struct stat_metric *m;
	for (size_t i = 0; (m = stat_metric_at(i)); i++)
		if (strcasecmp(m->name, name) == 0)
			return m;
	return NULL;
}

bool stat_metric_of(const struct stat_session *s, size_t i, const struct tare_count *counts,
		    double *out)
{
	const struct stat_asked_metric *const a = &s->metrics[i];
	const struct tare_count *const top = &counts[a->top], *const bottom = &counts[a->bottom];
	if (top->state != TARE_COUNT_OK || bottom->state != TARE_COUNT_OK || !bottom->value)
		return false;
	*out = a->metric->factor * (double)top->value / (double)bottom->value;
	return true;
}

static void add_value(struct stat_ratio *r, double value)
{
	if (!r->n || value < r->min)
		r->min = value;
	if (!r->n || value > r->max)
		r->max = value;
	r->n++;
}

static void add_doubts(struct stat_ratio *r, const struct tare_count *c)
{
	if (c->provenance > r->provenance)
		r->provenance = c->provenance;
	r->perturbed |= c->perturbed;
	r->user_only |= c->user_only;
	r->lower_bound |= c->lower_bound;
}

void stat_metric_series(const struct stat_session *s, size_t i, struct stat_ratio *out)
{
	const struct stat_asked_metric *const a = &s->metrics[i];
	*out = (struct stat_ratio){ 0 };
	for (size_t r = 0; r < s->n_runs; r++) {
		const struct tare_count *const counts = s->runs[r].counts;
		double value;
		if (!stat_run_counts(s, &s->runs[r]) || !stat_metric_of(s, i, counts, &value))
			continue;
		add_value(out, value);
		add_doubts(out, &counts[a->top]);
		add_doubts(out, &counts[a->bottom]);
	}
}
