/* tare stat -j: schema tare.stat/1, described in docs/stat-json.md. */
#include "certificate.h"
#include "environment.h"
#include "program.h"
#include "stat.h"
#include "world-show.h"

#include <tare/version.h>

#include <math.h>

static const char *state_name(enum tare_count_state st)
{
	switch (st) {
	case TARE_COUNT_OK:
		return "counted";
	case TARE_COUNT_NOT_OPENED:
		return "not-opened";
	case TARE_COUNT_NOT_SCHEDULED:
		return "not-scheduled";
	case TARE_COUNT_STOLEN:
		return "stolen";
	}
	return "unknown";
}

static void count_json(struct json *j, const struct tare_count *c, const struct tare_event *e)
{
	const bool counted = c->state == TARE_COUNT_OK;
	json_object(j, NULL);
	json_str(j, "event", e->name);
	if (counted)
		json_u64(j, "value", c->value);
	else
		json_null(j, "value");
	json_str(j, "unit", e->unit ? e->unit : "");
	if (e->scale != 0 && e->scale != 1.0)
		json_f64(j, "scale", e->scale);
	json_str(j, "provenance", counted ? tare_provenance_name(c->provenance) : NULL);
	json_str(j, "state", state_name(c->state));
	if (!counted)
		json_str(j, "error", tare_err_name(c->code));
	json_bool(j, "perturbed", c->perturbed);
	json_bool(j, "user_only", c->user_only);
	json_bool(j, "lower_bound", c->lower_bound);
	json_bool(j, "incomplete", c->lower_bound);
	if (counted)
		json_u64(j, "raw", c->raw);
	if (c->vdso)
		json_u64(j, "vdso", c->vdso);
	if (c->uncounted)
		json_u64(j, "uncounted", c->uncounted);
	json_u64(j, "enabled_ns", c->enabled_ns);
	json_u64(j, "running_ns", c->running_ns);
	json_end(j);
}

/* Of scaled counts, whether each may be wrong, and by what. */
static void blind_json(struct json *j, const struct stat_session *s, const struct stat_run *r)
{
	bool any = false;
	for (size_t i = 0; i < s->n_events; i++)
		any |= r->counts[i].provenance == TARE_PROV_SCALED;
	if (!any)
		return;
	json_array(j, "scaled");
	for (size_t i = 0; i < s->n_events; i++) {
		struct stat_blind b;
		stat_blind_of(s, r, i, &b);
		if (!b.share)
			continue;
		json_object(j, NULL);
		json_str(j, "event", stat_event(s, i)->name);
		json_bool(j, "blind_spots", b.warned);
		json_u64(j, "turns", b.turns);
		json_u64(j, "turn_ms", b.turn_ms);
		json_f64(j, "share", b.share);
		if (r->turns && r->turns[i].n >= 3)
			json_f64(j, "error", b.error);
		else
			json_null(j, "error");
		json_end(j);
	}
	json_end(j);
}

void stat_counts_json(struct json *j, const struct stat_session *s, const struct tare_count *counts)
{
	json_array(j, "counts");
	for (size_t i = 0; i < s->n_events; i++)
		count_json(j, &counts[i], stat_event(s, i));
	json_end(j);
}

static void tasks_json(struct json *j, const struct stat_session *s,
		       const struct tare_measurement *m)
{
	if (!m->n_tasks)
		return;
	json_array(j, "tasks");
	for (size_t i = 0; i < m->n_tasks; i++) {
		const struct tare_task *const t = &m->tasks[i];
		json_object(j, NULL);
		json_i64(j, "pid", t->pid);
		json_i64(j, "tid", t->tid);
		json_bool(j, "is_thread", t->is_thread);
		json_str(j, "comm", t->comm);
		json_str(j, "exe", t->exe);
		json_str(j, "not_counted", t->not_counted);
		json_str(j, "cut_off", t->cut_off);
		json_str(j, "remedy", t->remedy);
		if (t->counts && !t->not_counted)
			stat_counts_json(j, s, t->counts);
		json_end(j);
	}
	json_end(j);
}

static void intervals_json(struct json *j, const struct stat_session *s,
			   const struct stat_run *r)
{
	if (!s->o->interval_ms)
		return;
	json_array(j, "intervals");
	for (size_t i = 0; i < r->n_intervals; i++) {
		json_object(j, NULL);
		json_u64(j, "at_ns", r->intervals[i].at_ns);
		stat_counts_json(j, s, r->intervals[i].counts);
		json_end(j);
	}
	json_end(j);
}

static void batches_json(struct json *j, const struct stat_session *s,
			 const struct stat_run *r)
{
	uint64_t least, most;
	if (r->n_parts < 2)
		return;
	json_array(j, "batches");
	for (size_t p = 0; p < r->n_parts; p++) {
		const struct tare_measurement *const m = r->parts[p];
		json_object(j, NULL);
		json_array(j, "events");
		for (size_t i = 0; i < s->batches[p].n; i++)
			json_str(j, NULL, stat_event(s, s->batches[p].index[i])->name);
		json_end(j);
		json_str(j, "witness_event", STAT_WITNESS);
		json_u64(j, "witness", m->counts[m->n_counts - 1].value);
		json_i64(j, "exit_status", m->exit_status);
		json_u64(j, "wall_ns", m->wall_ns);
		json_end(j);
	}
	json_end(j);
	json_bool(j, "witnesses_agree", stat_witnesses_agree(r, &least, &most));
}

/* Why an event has no count, as the error message has it. */
static void failure_json(struct json *j, const struct stat_run *r)
{
	for (size_t p = 0; p < r->n_parts; p++) {
		const struct tare_why *const w = &r->parts[p]->lacking;
		if (!w->code)
			continue;
		json_object(j, "failure");
		json_str(j, "error", tare_err_name(w->code));
		json_str(j, "what", w->what);
		json_str(j, "remedy", tare_why_remedy(w));
		json_end(j);
		return;
	}
}

static void run_json(struct json *j, const struct stat_session *s, const struct stat_run *r)
{
	const struct tare_measurement *const m = stat_part(r);
	json_object(j, NULL);
	json_i64(j, "exit_status", m->exit_status);
	json_u64(j, "wall_ns", m->wall_ns);
	json_u64(j, "user_ns", m->user_ns);
	json_u64(j, "system_ns", m->system_ns);
	json_bool(j, "complete", r->complete);
	json_bool(j, "timed_out", m->timed_out);
	stat_stops_json(j, s, m);
	json_bool(j, "aslr_off", m->aslr_off);
	json_str(j, "aslr_note", m->aslr_note);
	stat_counts_json(j, s, r->counts);
	stat_parts_json(j, s, r);
	blind_json(j, s, r);
	failure_json(j, r);
	batches_json(j, s, r);
	intervals_json(j, s, r);
	tasks_json(j, s, m);
	if (m->backend == TARE_BACKEND_SOFT) {
		json_object(j, "translated");
		json_u64(j, "blocks", m->translated.blocks);
		json_u64(j, "source_bytes", m->translated.source_bytes);
		json_u64(j, "code_bytes", m->translated.code_bytes);
		json_u64(j, "ns", m->translated.ns);
		json_end(j);
	}
	json_end(j);
}

/* Whole numbers stay whole; above 2^53 a double would lose digits. */
static void half_json(struct json *j, const char *key, uint64_t whole, bool half)
{
	if (half)
		json_f64(j, key, (double)whole + 0.5);
	else
		json_u64(j, key, whole);
}

static void summary_json(struct json *j, const struct stat_session *s, size_t i)
{
	const struct tare_event *const e = stat_event(s, i);
	struct stat_series v;
	stat_series(s, i, &v);
	json_object(j, NULL);
	json_str(j, "event", e->name);
	json_str(j, "unit", e->unit ? e->unit : "");
	json_u64(j, "n", v.sum.n);
	json_str(j, "provenance", v.sum.n ? tare_provenance_name(v.provenance) : NULL);
	json_bool(j, "perturbed", v.perturbed);
	json_bool(j, "lower_bound", v.lower_bound);
	json_bool(j, "incomplete", v.lower_bound);
	if (certificate_matters(e) && stat_part(&s->runs[0])->backend == TARE_BACKEND_HW)
		certificate_json(j, certificate_here(), e);
	if (v.sum.n) {
		const uint64_t range = v.sum.max - v.sum.min;
		half_json(j, "midpoint", v.sum.min + range / 2, range % 2);
		if (v.sum.n > 1)		/* one run tells no spread: null */
			half_json(j, "half_range", range / 2, range % 2);
		else
			json_null(j, "half_range");
		json_f64(j, "mean", v.sum.mean);
		json_f64(j, "greatest_distance", v.sum.n > 1 ? v.sum.distance : NAN);
		json_f64(j, "stddev", v.sum.n > 1 ? v.sum.stddev : NAN);
		json_u64(j, "min", v.sum.min);
		json_u64(j, "max", v.sum.max);
	}
	json_array(j, "values");
	for (size_t k = 0; k < v.sum.n; k++)
		json_u64(j, NULL, v.values[k]);
	json_end(j);
	json_end(j);
	stat_series_free(&v);
}

static void metrics_json(struct json *j, const struct stat_session *s)
{
	if (!s->n_metrics)
		return;
	json_array(j, "metrics");
	for (size_t i = 0; i < s->n_metrics; i++) {
		const struct stat_asked_metric *const a = &s->metrics[i];
		struct stat_ratio v;
		stat_metric_series(s, i, &v);
		json_object(j, NULL);
		json_str(j, "metric", a->metric->name);
		json_str(j, "unit", a->metric->unit);
		json_str(j, "top", stat_event(s, a->top)->name);
		json_str(j, "bottom", stat_event(s, a->bottom)->name);
		json_f64(j, "factor", a->metric->factor);
		json_u64(j, "n", v.n);
		json_str(j, "provenance", v.n ? tare_provenance_name(v.provenance) : NULL);
		if (v.n) {
			json_f64(j, "min", v.min);
			json_f64(j, "max", v.max);
		}
		json_end(j);
	}
	json_end(j);
}

static void options_json(struct json *j, const struct stat_session *s)
{
	json_object(j, "options");
	json_u64(j, "repeat", s->o->repeat);
	if (s->o->layouts)
		json_u64(j, "layouts", s->o->layouts);
	json_bool(j, "inherit", !s->o->no_inherit);
	json_bool(j, "exact", s->o->exact);
	json_bool(j, "aslr", s->o->aslr);
	json_bool(j, "clean_env", s->o->clean_env);
	if (s->o->delay_ms)
		json_i64(j, "delay_ms", s->o->delay_ms);
	if (s->o->pid)
		json_u64(j, "pid", s->o->pid);
	if (s->o->tid)
		json_u64(j, "tid", s->o->tid);
	json_end(j);
}

void stat_json(const struct stat_session *s, struct buf *out)
{
	struct json j = { .out = out, .indent = true };
	const struct tare_measurement *const first = stat_part(&s->runs[0]);
	json_object(&j, NULL);
	json_str(&j, "schema", "tare.stat/1");
	json_str(&j, "tare", TARE_VERSION);
	json_array(&j, "command");
	for (size_t i = 0; s->argv[i]; i++)
		json_str(&j, NULL, s->argv[i]);
	json_end(&j);
	cpu_json(&j, "cpu", &s->cpu);
	json_str(&j, "backend", first->backend == TARE_BACKEND_SOFT ? "soft" : "hw");
	json_str(&j, "backend_reason", first->backend_reason);
	json_object(&j, "environment");
	json_bool(&j, "aslr_off", first->aslr_off);
	environment_json(&j, s->envp);
	json_end(&j);
	world_json(&j, stat_part(&s->runs[s->n_runs - 1])->world, first->aslr_off, s->o->clean_env);
	/* Attached, the command only says how long to count. */
	program_json(&j, s->o->pid || s->o->tid ? (char *[]){ NULL } : s->argv, s->envp);
	options_json(&j, s);
	json_array(&j, "runs");
	for (size_t r = 0; r < s->n_runs; r++)
		run_json(&j, s, &s->runs[r]);
	json_end(&j);
	json_array(&j, "summary");
	for (size_t i = 0; i < s->n_events; i++)
		summary_json(&j, s, i);
	json_end(&j);
	metrics_json(&j, s);
	stat_in_json(s->o, &j);
	if (s->o->functions)
		stat_functions_json(&j, s);
	if (s->o->mix)
		stat_mix_json(&j, s);
	if (s->o->mix_from)
		stat_mix_from_json(&j, s);
	json_end(&j);
}
