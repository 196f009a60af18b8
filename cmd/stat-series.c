/* Runs to series: the values of one event over the runs that count. */
#include "stat.h"

#include <stdlib.h>

const struct tare_event *stat_event(const struct stat_session *s, size_t i)
{
	return tare_events_at(s->events, i);
}

const struct tare_measurement *stat_part(const struct stat_run *r)
{
	return r->parts[0];
}

static bool any_complete(const struct stat_session *s)
{
	for (size_t r = 0; r < s->n_runs; r++)
		if (s->runs[r].complete)
			return true;
	return false;
}

/* An interrupted run says nothing about the others, but when it is all there is,
 * it is shown (with a note). */
bool stat_run_counts(const struct stat_session *s, const struct stat_run *r)
{
	return r->complete || !any_complete(s);
}

size_t stat_counted_runs(const struct stat_session *s)
{
	size_t n = 0;
	for (size_t r = 0; r < s->n_runs; r++)
		n += stat_run_counts(s, &s->runs[r]);
	return n;
}

void stat_series(const struct stat_session *s, size_t event, struct stat_series *out)
{
	size_t n = 0;
	uint64_t outside = 0;
	bool equal_outside = true;
	*out = (struct stat_series){ .values = calloc(s->n_runs + 1, sizeof(uint64_t)) };
	if (!out->values)
		abort();
	for (size_t r = 0; r < s->n_runs; r++) {
		const struct tare_count *const c = &s->runs[r].counts[event];
		if (!stat_run_counts(s, &s->runs[r]))
			continue;
		if (c->state != TARE_COUNT_OK) {
			out->missing = c;
			continue;
		}
		equal_outside &= !n || c->value - c->vdso == outside;
		outside = c->value - c->vdso;
		out->values[n++] = c->value;
		if (c->provenance > out->provenance)
			out->provenance = c->provenance;
		out->perturbed |= c->perturbed;
		out->user_only |= c->user_only;
		out->lower_bound |= c->lower_bound;
		out->enabled_ns += c->enabled_ns;
		out->running_ns += c->running_ns;
	}
	summarize_values(&out->sum, out->values, n);
	out->clocks_only = n && equal_outside && out->sum.min != out->sum.max;
}

void stat_series_free(struct stat_series *series)
{
	free(series->values);
	series->values = NULL;
}

void stat_wall_series(const struct stat_session *s, struct summary *out)
{
	uint64_t *const values = calloc(s->n_runs + 1, sizeof(*values));
	size_t n = 0;
	if (!values)
		abort();
	for (size_t r = 0; r < s->n_runs; r++)
		if (stat_run_counts(s, &s->runs[r]))
			values[n++] = stat_part(&s->runs[r])->wall_ns;
	summarize_values(out, values, n);
	free(values);
}

struct tare_count *stat_middle(const struct stat_session *s, uint64_t *wall_ns)
{
	struct tare_count *const middle = calloc(s->n_events + 1, sizeof(*middle));
	struct summary wall;
	if (!middle)
		abort();
	for (size_t i = 0; i < s->n_events; i++) {
		struct stat_series v;
		stat_series(s, i, &v);
		if (v.sum.n)
			middle[i] = (struct tare_count){
				.value = v.sum.min + v.sum.max,
				.provenance = v.provenance,
				.perturbed = v.perturbed,
			};
		else if (v.missing)
			middle[i] = *v.missing;
		stat_series_free(&v);
	}
	stat_wall_series(s, &wall);
	*wall_ns = wall.n ? wall.min + wall.max : 0;
	return middle;
}

/* Scaled over the times of the interval alone, as perf does: an event that had a
 * counter in this interval is not punished for one in which it had none. */
struct tare_count stat_delta(const struct tare_count *now, const struct tare_count *before)
{
	struct tare_count d = *now;
	if (now->state != TARE_COUNT_OK)
		return d;
	const bool had = before->state == TARE_COUNT_OK;
	d.enabled_ns = now->enabled_ns - (had ? before->enabled_ns : 0);
	d.running_ns = now->running_ns - (had ? before->running_ns : 0);
	d.raw = now->raw - (had ? before->raw : 0);
	d.vdso = now->vdso - (had ? before->vdso : 0);
	const uint64_t old = had ? before->value : 0;
	d.value = now->value > old ? now->value - old : 0;
	if (now->provenance != TARE_PROV_SCALED)
		return d;
	if (d.running_ns == 0) {
		d.state = d.enabled_ns ? TARE_COUNT_NOT_SCHEDULED : TARE_COUNT_OK;
		d.code = TARE_E_NOT_SCHEDULED;
		d.value = 0;
		return d;
	}
	d.value = (uint64_t)((unsigned __int128)d.raw * d.enabled_ns / d.running_ns);
	if (d.running_ns >= d.enabled_ns)
		d.provenance = TARE_PROV_RAW;
	return d;
}
