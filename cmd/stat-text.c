/* tare stat for people: perf stat's layout, and beside every number how it came
 * about. */
#include "certificate.h"
#include "stat.h"
#include "term.h"
#include "world-show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_WIDTH = 20, EVENT_WIDTH = 26, PROVENANCE_WIDTH = 12 };

/* Pads what was added since `start` on the left to `width` columns. ± and other
 * signs of several bytes count as one column. */
static void right_align(struct buf *b, size_t start, int width)
{
	int columns = 0;
	for (size_t i = start; i < b->len; i++)
		columns += (b->data[i] & 0xc0) != 0x80;
	const int pad = width - columns;
	if (pad <= 0 || buf_failed(b))
		return;
	char *const text = strdup(b->data + start);
	if (!text)
		return;
	b->len = start;
	buf_printf(b, "%*s%s", pad, "", text);
	free(text);
}

static bool is_time(const struct tare_event *e)
{
	return e->unit && strcmp(e->unit, "ns") == 0;
}

static bool is_scaled_unit(const struct tare_event *e)
{
	return e->scale != 0 && e->scale != 1.0;
}

static const char *shown_unit(const struct tare_event *e)
{
	if (is_time(e))
		return "msec";
	return is_scaled_unit(e) && e->unit ? e->unit : "";
}

/* The value of a run, or the middle of several. */
static void put_value(struct buf *b, const struct tare_event *e, const struct summary *s,
		      bool lower_bound)
{
	if (lower_bound)
		buf_str(b, "at least ");
	if (is_time(e))
		put_real(b, summary_midpoint(s) / 1e6, 2);
	else if (is_scaled_unit(e))
		put_real(b, summary_midpoint(s) * e->scale, 2);
	else
		put_midpoint(b, s, true);
}

static void put_spread(struct buf *b, const struct tare_event *e, const struct summary *s)
{
	if (s->n < 2)
		return;
	buf_printf(b, " %s", term_plus_minus());
	if (is_time(e))
		put_real(b, summary_half_range(s) / 1e6, 2);
	else if (is_scaled_unit(e))
		put_real(b, summary_half_range(s) * e->scale, 2);
	else
		put_half_range(b, s, true);
}

static void put_provenance(struct buf *b, const struct stat_series *v)
{
	buf_str(b, tare_provenance_name(v->provenance));
	if (v->provenance == TARE_PROV_SCALED && v->enabled_ns)
		buf_printf(b, " (%.0f%% of the time)",
			   100.0 * (double)v->running_ns / (double)v->enabled_ns);
	if (v->perturbed)
		buf_str(b, ", perturbed");
	if (v->user_only)
		buf_str(b, ", user mode");
	if (v->lower_bound && v->provenance != TARE_PROV_INCOMPLETE)
		buf_str(b, ", incomplete");
}

static void put_missing(struct buf *b, const struct tare_event *e, const struct tare_count *c)
{
	const size_t start = b->len;
	const bool tried = c->state != TARE_COUNT_NOT_OPENED || c->code == TARE_E_NOT_COUNTED;
	buf_str(b, tried ? "<not counted>" : "<not supported>");
	right_align(b, start, VALUE_WIDTH);
	buf_printf(b, "      %-*s %s\n", EVENT_WIDTH, e->name, tare_err_sentence(c->code));
}

static void put_derived(struct buf *b, const struct stat_session *s,
			const struct tare_count *counts, size_t i, uint64_t wall_ns)
{
	struct stat_derived d;
	if (!stat_derive(s, counts, i, wall_ns, &d))
		return;
	buf_str(b, "  #");
	const size_t start = b->len;
	put_real(b, d.value, d.unit[0] == '%' ? 2 : 3);
	right_align(b, start, 10);
	buf_printf(b, d.unit[0] == '%' ? "%s" : " %s", d.unit);
}

static bool exactly_equal(const struct summary *s)
{
	return s->min == s->max;
}

/* The second line of several runs that differ: the paper's ± and the rest. */
static void put_statistics(struct buf *b, const struct tare_event *e, const struct summary *s)
{
	const double unit = is_time(e) ? 1e-6 : is_scaled_unit(e) ? e->scale : 1;
	if (s->n < 2 || exactly_equal(s))
		return;
	buf_printf(b, "%*s", VALUE_WIDTH - 5, "");
	buf_str(b, term_plus_minus());
	put_percent(b, summary_percent(s));
	buf_str(b, " %; mean ");
	if (unit == 1)
		put_mean(b, s);
	else
		put_real(b, s->mean * unit, 2);
	buf_printf(b, " %s", term_plus_minus());
	put_real(b, s->distance * unit, unit == 1 ? 1 : 2);
	buf_str(b, ", stddev ");
	put_real(b, s->stddev * unit, unit == 1 ? 1 : 2);
	buf_str(b, ", min ");
	put_real(b, (double)s->min * unit, unit == 1 ? 0 : 2);
	buf_str(b, ", max ");
	put_real(b, (double)s->max * unit, unit == 1 ? 0 : 2);
	buf_chr(b, '\n');
}

static void put_event(struct buf *b, const struct stat_session *s, size_t i,
		      const struct tare_count *middle, uint64_t wall_ns, int fd)
{
	const struct tare_event *const e = stat_event(s, i);
	struct stat_series v;
	stat_series(s, i, &v);
	if (!v.sum.n) {
		put_missing(b, e, v.missing);
		stat_series_free(&v);
		return;
	}
	size_t start = b->len;
	put_value(b, e, &v.sum, v.lower_bound);
	put_spread(b, e, &v.sum);
	right_align(b, start, VALUE_WIDTH + (v.sum.n > 1 ? 8 : 0));
	buf_printf(b, " %-4s %s%-*s%s ", shown_unit(e), term_style(fd, STYLE_BOLD), EVENT_WIDTH,
		   e->name, term_style(fd, STYLE_NONE));
	struct buf p = { 0 };
	put_provenance(&p, &v);
	buf_printf(b, "%-*s", PROVENANCE_WIDTH, p.data);
	buf_free(&p);
	put_derived(b, s, middle, i, wall_ns);
	while (b->len && b->data[b->len - 1] == ' ')
		b->len--;
	buf_chr(b, '\n');
	put_statistics(b, e, &v.sum);
	if (v.clocks_only)
		buf_printf(b, "%*sthe runs differ only in the vDSO, reading clocks; %s0 outside "
			      "of it\n", VALUE_WIDTH - 5, "", term_plus_minus());
	if (v.missing)
		buf_printf(b, "%*s      (missing in some runs: %s)\n", VALUE_WIDTH, "",
			   tare_err_sentence(v.missing->code));
	stat_series_free(&v);
}

/* ---- metrics ---- */

static void put_metric_value(struct buf *b, double value, const char *unit)
{
	put_real(b, value, unit[0] ? 2 : 4);
}

static void put_metric(struct buf *b, const struct stat_session *s, size_t i, int fd)
{
	const struct stat_metric *const m = s->metrics[i].metric;
	struct stat_ratio v;
	stat_metric_series(s, i, &v);
	const size_t start = b->len;
	if (v.n)
		put_metric_value(b, (v.min + v.max) / 2, m->unit);
	else
		buf_str(b, "<not counted>");
	if (v.n > 1) {
		buf_printf(b, " %s", term_plus_minus());
		if (v.min == v.max)
			buf_chr(b, '0');
		else
			put_metric_value(b, (v.max - v.min) / 2, m->unit);
	}
	right_align(b, start, VALUE_WIDTH + (stat_counted_runs(s) > 1 ? 8 : 0));
	buf_printf(b, " %-4s %s%-*s%s ", m->unit, term_style(fd, STYLE_BOLD), EVENT_WIDTH, m->name,
		   term_style(fd, STYLE_NONE));
	const struct stat_series doubts = { .provenance = v.provenance, .perturbed = v.perturbed,
					    .user_only = v.user_only,
					    .lower_bound = v.lower_bound };
	struct buf p = { 0 };
	if (v.n)
		put_provenance(&p, &doubts);
	buf_printf(b, "%-*s  # %s\n", PROVENANCE_WIDTH, p.data ? p.data : "", m->help);
	buf_free(&p);
}

/* ---- heading and times ---- */

static void put_command(struct buf *b, char *const *argv)
{
	const size_t start = b->len;
	size_t n = 0;
	for (; argv[n]; n++)
		buf_printf(b, "%s%s", n ? " " : "", argv[n]);
	term_command(b, start, n);
}

static void put_heading(struct buf *b, const struct stat_session *s)
{
	const size_t n = stat_counted_runs(s);
	const struct tare_measurement *const m = stat_part(&s->runs[0]);
	buf_str(b, "\n Counter stats for ");
	if (s->o->pid || s->o->tid) {
		buf_printf(b, "%s %d", s->o->pid ? "process" : "thread",
			   (int)(s->o->pid ? s->o->pid : s->o->tid));
	} else {
		buf_chr(b, '\'');
		put_command(b, s->argv);
		buf_chr(b, '\'');
	}
	buf_str(b, " (");
	if (n > 1)
		buf_printf(b, "%zu runs; ", n);
	if (m->backend == TARE_BACKEND_SOFT)
		buf_str(b, "software engine; ");
	if (s->n_batches > 1)
		buf_printf(b, "%zu batches; ", s->n_batches);
	if (s->o->null)
		buf_str(b, "nothing counted; ");
	if (stat_is_part(s, &s->runs[0]))
		buf_str(b, "parts of the run; ");
	const size_t before = b->len;
	world_heading(m->world, b);
	if (b->len > before)
		buf_str(b, "; ");
	buf_printf(b, "ASLR %s", m->aslr_off ? "off" : "on");
	stat_in_text(s->o, b);
	buf_printf(b, "):\n%s", s->n_events ? "\n" : "");
}

static void put_seconds(struct buf *b, const char *what, uint64_t ns)
{
	const size_t start = b->len;
	buf_printf(b, "%.9f", (double)ns / 1e9);
	right_align(b, start, VALUE_WIDTH);
	buf_printf(b, " seconds %s\n", what);
}

static void put_times(struct buf *b, const struct stat_session *s)
{
	const struct tare_measurement *const m = stat_part(&s->runs[s->n_runs - 1]);
	const char *const elapsed = m->backend == TARE_BACKEND_SOFT ?
					    "elapsed (slowed by the engine)" : "elapsed";
	struct summary wall;
	stat_wall_series(s, &wall);
	buf_chr(b, '\n');
	if (wall.n < 2) {
		put_seconds(b, elapsed, m->wall_ns);
		if (!s->o->pid && !s->o->tid) {
			put_seconds(b, "user", m->user_ns);
			put_seconds(b, "sys", m->system_ns);
		}
		return;
	}
	const size_t start = b->len;
	buf_printf(b, "%.6f %s%.6f", summary_midpoint(&wall) / 1e9, term_plus_minus(),
		   summary_half_range(&wall) / 1e9);
	right_align(b, start, VALUE_WIDTH + 8);
	buf_printf(b, " seconds %s (%s", elapsed, term_plus_minus());
	put_percent(b, summary_percent(&wall));
	buf_str(b, " %)\n");
}

/* ---- tables ---- */

static void put_table(struct buf *b, const struct stat_session *s)
{
	buf_printf(b, "\n %5s %14s", "run", "elapsed s");
	for (size_t i = 0; i < s->n_events; i++) {
		const int width = (int)strlen(stat_event(s, i)->name);
		buf_printf(b, "  %*s", width > 16 ? width : 16, stat_event(s, i)->name);
	}
	buf_chr(b, '\n');
	for (size_t r = 0; r < s->n_runs; r++) {
		const struct stat_run *const run = &s->runs[r];
		buf_printf(b, " %5zu %14.9f", r + 1, (double)stat_part(run)->wall_ns / 1e9);
		for (size_t i = 0; i < s->n_events; i++) {
			const struct tare_event *const e = stat_event(s, i);
			const int width = (int)strlen(e->name);
			struct summary one;
			summarize_values(&one, &run->counts[i].value, 1);
			buf_str(b, "  ");
			const size_t start = b->len;
			if (run->counts[i].state == TARE_COUNT_OK)
				put_value(b, e, &one, run->counts[i].lower_bound);
			else
				buf_str(b, "-");
			right_align(b, start, width > 16 ? width : 16);
		}
		if (!run->complete)
			buf_str(b, "  (cut short)");
		buf_chr(b, '\n');
	}
}

static void put_task(struct buf *b, const struct stat_session *s, const struct tare_task *t)
{
	buf_printf(b, "\n %s %d", t->is_thread ? "thread" : "process", (int)t->tid);
	if (t->is_thread)
		buf_printf(b, " of %d", (int)t->pid);
	buf_printf(b, " (%s)", t->comm);
	if (t->not_counted)
		buf_printf(b, ": not counted: %s", t->not_counted);
	if (t->cut_off)
		buf_printf(b, ": cut off: %s", t->cut_off);
	if (t->remedy)
		buf_printf(b, "; to count it: %s", t->remedy);
	buf_chr(b, '\n');
	for (size_t i = 0; !t->not_counted && t->counts && i < s->n_events; i++) {
		const struct tare_event *const e = stat_event(s, i);
		const struct tare_count *const c = &t->counts[i];
		struct summary one;
		summarize_values(&one, &c->value, 1);
		if (c->state == TARE_COUNT_NOT_OPENED && c->code != TARE_E_NOT_COUNTED)
			continue;	/* known of the whole run only */
		if (c->state != TARE_COUNT_OK) {
			put_missing(b, e, c);
			continue;
		}
		const size_t start = b->len;
		put_value(b, e, &one, c->lower_bound);
		right_align(b, start, VALUE_WIDTH);
		buf_printf(b, " %-4s %-*s %s%s\n", shown_unit(e), EVENT_WIDTH, e->name,
			   tare_provenance_name(c->provenance),
			   c->perturbed ? ", perturbed" : "");
	}
}

static void put_tasks(struct buf *b, const struct stat_session *s)
{
	for (size_t r = 0; r < s->n_runs; r++) {
		const struct tare_measurement *const m = stat_part(&s->runs[r]);
		if (m->n_tasks && s->o->per_thread && s->n_runs > 1)
			buf_printf(b, "\n Run %zu:\n", r + 1);
		for (size_t i = 0; i < m->n_tasks; i++)
			if (s->o->per_thread || m->tasks[i].not_counted || m->tasks[i].cut_off)
				put_task(b, s, &m->tasks[i]);
	}
}

/* ---- what else must be said ---- */

static void put_witness(struct buf *b, const struct stat_session *s)
{
	for (size_t r = 0; r < s->n_runs; r++) {
		uint64_t least, most;
		if (s->runs[r].n_parts < 2)
			continue;
		if (stat_witnesses_agree(&s->runs[r], &least, &most)) {
			buf_printf(b, "\n Run %zu: all %zu batches executed ", r + 1,
				   s->runs[r].n_parts);
			buf_grouped(b, least);
			buf_str(b, " " STAT_WITNESS ".\n");
			continue;
		}
		buf_printf(b, "\n Run %zu: its batches did not execute the same: " STAT_WITNESS
			      " from ", r + 1);
		buf_grouped(b, least);
		buf_str(b, " to ");
		buf_grouped(b, most);
		buf_str(b, ",\n so events of different batches are of different runs.\n");
	}
}

/* Inside `tare run`: the largest number of processes that a counter has missed. */
static uint64_t uncounted(const struct stat_session *s)
{
	uint64_t most = 0;
	for (size_t r = 0; r < s->n_runs; r++)
		for (size_t i = 0; i < s->n_events; i++)
			if (s->runs[r].counts[i].uncounted > most)
				most = s->runs[r].counts[i].uncounted;
	return most;
}

static void put_blind_spots(struct buf *b, const struct stat_session *s)
{
	bool heading = false;
	for (size_t i = 0; i < s->n_events; i++) {
		struct buf line = { 0 };
		if (stat_blind_line(s, i, &line)) {
			if (!heading)
				buf_str(b, "\n Scaled counts that may be wrong (" STAT_BLIND_REMEDY
					   "):\n");
			heading = true;
			buf_printf(b, "  %s\n", line.data);
		}
		buf_free(&line);
	}
}

/* Whether a corrected count was proved on this machine, or only follows a table. */
static void put_corrections(struct buf *b, const struct stat_session *s)
{
	if (stat_part(&s->runs[0])->backend != TARE_BACKEND_HW)
		return;
	for (size_t i = 0; i < s->n_events; i++) {
		const struct tare_event *const e = stat_event(s, i);
		struct certificate_says says;
		if (!certificate_matters(e))
			continue;
		certificate_of_event(certificate_here(), e, &says);
		buf_printf(b, "\n %s: %s.\n", e->name, says.text);
	}
}

static void put_band(struct buf *b, const char *name, uint64_t min, uint64_t max)
{
	const double middle = (double)min / 2 + (double)max / 2;

	buf_printf(b, "   %s moves from ", name);
	buf_grouped(b, min);
	buf_str(b, " to ");
	buf_grouped(b, max);
	buf_printf(b, " (±%.2g %%)\n", 50 * (double)(max - min) / middle);
}

/* --layouts: how far each count was moved. */
static void put_bands(struct buf *b, const struct stat_session *s)
{
	buf_printf(b, "\n By layout alone, over %zu layouts:\n", stat_counted_runs(s));
	for (size_t i = 0; i < s->n_events; i++) {
		struct stat_series v;
		stat_series(s, i, &v);
		if (v.sum.n && v.sum.min == v.sum.max)
			buf_printf(b, "   %s does not move\n", stat_event(s, i)->name);
		else if (v.sum.n)
			put_band(b, stat_event(s, i)->name, v.sum.min, v.sum.max);
		stat_series_free(&v);
	}
}

static void put_notes(struct buf *b, const struct stat_session *s)
{
	const struct tare_measurement *const m = stat_part(&s->runs[0]);
	const struct tare_measurement *const last = stat_part(&s->runs[s->n_runs - 1]);
	if (m->backend == TARE_BACKEND_SOFT && s->o->backend == TARE_BACKEND_AUTO)
		buf_printf(b, "\n Counted in software: %s.\n", m->backend_reason);
	if (s->skipped[0])
		buf_printf(b, "\n Not available here: %s (see `tare doctor`).\n", s->skipped);
	world_beyond(last->world, b);
	if (s->o->layouts)
		put_bands(b, s);
	if (m->aslr_note)
		buf_printf(b, "\n %s.\n", m->aslr_note);
	if (uncounted(s))
		buf_printf(b, "\n %ju process%s ran outside of the virtual PMU: the counts cover only part "
			      "of the run.\n `tare run` names the programs when it ends.\n",
			   (uintmax_t)uncounted(s), uncounted(s) == 1 ? "" : "es");
	if (s->o->delay_ms > 0)
		buf_printf(b, "\n The first %d ms were not counted (--delay).\n", s->o->delay_ms);
	if (last->timed_out && !s->o->pid && !s->o->tid)
		buf_printf(b, "\n The command was ended after %u ms (--timeout): the counts cover "
			      "only part of the run.\n", s->o->timeout_ms);
	else if (!s->runs[s->n_runs - 1].complete && !last->limited && !s->o->pid && !s->o->tid)
		buf_printf(b, "\n Interrupted: %s.\n",
			   stat_counted_runs(s) < s->n_runs ?
				   "the run that was cut short is left out" :
				   "the counts cover only part of the run");
	else if (s->n_runs < s->o->repeat && !last->limited)
		buf_printf(b, "\n Interrupted after %zu of %u runs.\n", s->n_runs, s->o->repeat);
}

void stat_text(const struct stat_session *s, int fd, struct buf *out)
{
	uint64_t wall_ns;
	struct tare_count *const middle = stat_middle(s, &wall_ns);
	put_heading(out, s);
	for (size_t i = 0; i < s->n_events; i++)
		put_event(out, s, i, middle, wall_ns, fd);
	for (size_t i = 0; i < s->n_metrics; i++)
		put_metric(out, s, i, fd);
	free(middle);
	put_times(out, s);
	if (s->o->table)
		put_table(out, s);
	if (s->o->functions)
		stat_functions_text(s, out);
	if (s->o->mix)
		stat_mix_text(s, out);
	if (s->o->mix_from)
		stat_mix_from_text(s, out);
	stat_parts_text(s, out);
	put_tasks(out, s);
	put_witness(out, s);
	put_blind_spots(out, s);
	put_corrections(out, s);
	stat_stops_text(s, out);
	put_notes(out, s);
	buf_chr(out, '\n');
}

void stat_text_interval(const struct stat_session *s, const struct stat_interval *in,
			struct buf *out)
{
	for (size_t i = 0; i < s->n_events; i++) {
		const struct tare_event *const e = stat_event(s, i);
		const struct tare_count *const c = &in->counts[i];
		struct summary one;
		summarize_values(&one, &c->value, 1);
		buf_printf(out, "%14.9f ", (double)in->at_ns / 1e9);
		if (c->state != TARE_COUNT_OK) {
			put_missing(out, e, c);
			continue;
		}
		const size_t start = out->len;
		put_value(out, e, &one, c->lower_bound);
		right_align(out, start, VALUE_WIDTH);
		buf_printf(out, " %-4s %-*s %s%s", shown_unit(e), EVENT_WIDTH, e->name,
			   tare_provenance_name(c->provenance),
			   c->perturbed ? ", perturbed" : "");
		put_derived(out, s, in->counts, i, 0);
		buf_chr(out, '\n');
	}
	for (size_t i = 0; i < s->n_metrics; i++) {
		const struct stat_metric *const m = s->metrics[i].metric;
		double value;
		if (!stat_metric_of(s, i, in->counts, &value))
			continue;
		buf_printf(out, "%14.9f ", (double)in->at_ns / 1e9);
		const size_t start = out->len;
		put_metric_value(out, value, m->unit);
		right_align(out, start, VALUE_WIDTH);
		buf_printf(out, " %-4s %s\n", m->unit, m->name);
	}
}
