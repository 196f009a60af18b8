/* -x SEP: one line per event, fields in perf stat's order, so that its parsers read
 * it: value, unit, event, with -r the spread of the runs (half the range in %), run time
 * of the counter, percentage of the time it ran, derived value, its unit; then, ours,
 * the provenance. -I puts the time in front. (perf 6 has the spread there, and only with
 * -r; its man page has it elsewhere.) A metric of -M is a line with the first fields empty. */
#include "stat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void field(struct buf *out, const char *text, const char *sep)
{
	if (!strstr(text, sep) && !strchr(text, '"')) {
		buf_str(out, text);
		return;
	}
	buf_chr(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			buf_chr(out, '"');
		buf_chr(out, *text);
	}
	buf_chr(out, '"');
}

static void missing(struct buf *out, const struct tare_count *c)
{
	const bool tried = c->state != TARE_COUNT_NOT_OPENED || c->code == TARE_E_NOT_COUNTED;
	buf_str(out, tried ? "<not counted>" : "<not supported>");
}

static const char *unit_of(const struct tare_event *e)
{
	return e->unit && strcmp(e->unit, "ns") == 0 ? "msec" : "";
}

/* Times are in milliseconds, as perf stat has them; sysfs scales are applied. */
static void number(struct buf *out, const struct tare_event *e, const struct summary *sum)
{
	if (e->unit && strcmp(e->unit, "ns") == 0)
		buf_printf(out, "%.6f", summary_midpoint(sum) / 1e6);
	else if (e->scale != 0 && e->scale != 1.0)
		buf_printf(out, "%.9g", summary_midpoint(sum) * e->scale);
	else
		put_midpoint(out, sum, false);
}

/* The clocks and the engine's counts have no times: they count all the time. */
static void times(struct buf *out, bool counted, uint64_t enabled, uint64_t running,
		  const char *sep)
{
	const double percent = !counted ? 0 :
			       enabled ? 100.0 * (double)running / (double)enabled : 100.0;
	buf_printf(out, "%llu%s%.2f", (unsigned long long)running, sep, percent);
}

static void derived(struct buf *out, const struct stat_session *s,
		    const struct tare_count *counts, size_t i, uint64_t wall_ns, const char *sep)
{
	struct stat_derived d;
	if (stat_derive(s, counts, i, wall_ns, &d)) {
		buf_printf(out, "%.6g%s", d.value, sep);
		field(out, d.unit, sep);
	} else {
		buf_str(out, sep);
	}
}

/* The fields of an event are empty; the unit carries the metric's name, as with perf. */
static void metric(struct buf *out, const struct stat_session *s, size_t i, bool spread,
		   bool counted, double value)
{
	const struct stat_metric *const m = s->metrics[i].metric;
	const char *const sep = s->o->separator;
	for (int k = 0; k < 5 + spread; k++)
		buf_str(out, sep);
	if (counted)
		buf_printf(out, "%.6g", value);
	buf_str(out, sep);
	char unit[64];
	snprintf(unit, sizeof(unit), "%s%s%s", m->unit, m->unit[0] ? "  " : "", m->name);
	field(out, unit, sep);
}

void stat_csv(const struct stat_session *s, struct buf *out)
{
	const char *const sep = s->o->separator;
	uint64_t wall_ns;
	struct tare_count *const middle = stat_middle(s, &wall_ns);
	for (size_t i = 0; i < s->n_events; i++) {
		const struct tare_event *const e = stat_event(s, i);
		struct stat_series v;
		stat_series(s, i, &v);
		if (v.sum.n)
			number(out, e, &v.sum);
		else
			missing(out, v.missing);
		buf_printf(out, "%s%s%s", sep, unit_of(e), sep);
		field(out, e->name, sep);
		buf_str(out, sep);
		if (s->o->repeat != 1)	/* with perf's two decimals, 0 too */
			buf_printf(out, "%.2f%%%s", summary_percent(&v.sum), sep);
		times(out, v.sum.n, v.enabled_ns, v.running_ns, sep);
		buf_str(out, sep);
		derived(out, s, middle, i, wall_ns, sep);
		buf_printf(out, "%s%s%s%s%s\n", sep,
			   v.sum.n ? tare_provenance_name(v.provenance) : "",
			   v.perturbed ? "+perturbed" : "", v.user_only ? "+user-only" : "",
			   v.lower_bound ? "+lower-bound" : "");
		stat_series_free(&v);
	}
	for (size_t i = 0; i < s->n_metrics; i++) {
		struct stat_ratio v;
		stat_metric_series(s, i, &v);
		metric(out, s, i, s->o->repeat != 1, v.n, (v.min + v.max) / 2);
		buf_printf(out, "%s%s%s%s%s\n", sep, v.n ? tare_provenance_name(v.provenance) : "",
			   v.perturbed ? "+perturbed" : "", v.user_only ? "+user-only" : "",
			   v.lower_bound ? "+lower-bound" : "");
	}
	free(middle);
}

void stat_csv_interval(const struct stat_session *s, const struct stat_interval *in,
		       struct buf *out)
{
	const char *const sep = s->o->separator;
	for (size_t i = 0; i < s->n_events; i++) {
		const struct tare_event *const e = stat_event(s, i);
		const struct tare_count *const c = &in->counts[i];
		struct summary one;
		summarize_values(&one, &c->value, 1);
		buf_printf(out, "%.9f%s", (double)in->at_ns / 1e9, sep);
		if (c->state == TARE_COUNT_OK)
			number(out, e, &one);
		else
			missing(out, c);
		buf_printf(out, "%s%s%s", sep, unit_of(e), sep);
		field(out, e->name, sep);
		buf_str(out, sep);
		times(out, c->state == TARE_COUNT_OK, c->enabled_ns, c->running_ns, sep);
		buf_str(out, sep);
		derived(out, s, in->counts, i, 0, sep);
		buf_printf(out, "%s%s%s\n", sep,
			   c->state == TARE_COUNT_OK ? tare_provenance_name(c->provenance) : "",
			   c->perturbed ? "+perturbed" : "");
	}
	for (size_t i = 0; i < s->n_metrics; i++) {
		double value = 0;
		const bool counted = stat_metric_of(s, i, in->counts, &value);
		buf_printf(out, "%.9f%s", (double)in->at_ns / 1e9, sep);
		metric(out, s, i, false, counted, value);
		buf_printf(out, "%s\n", sep);
	}
}
