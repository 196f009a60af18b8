/* tare_measure(): checks the options, chooses the backend, makes one run with it, and explains what
 * could not be counted. The runs themselves: measure-hw.c, measure-tasks.c, measure-soft.c. */
#include "descriptors.h"
#include "measure-backend.h"
#include "code.h"
#include "measure-room.h"
#include "options-copy.h"
#include "parts.h"
#include "perf-facts.h"
#include "set.h"
#include "world.h"
#include "why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A measurement and the texts it points to. */
struct measured {
	struct tare_measurement m;
	char reason[256];
};

const char *tare_provenance_name(enum tare_provenance p)
{
	switch (p) {
	case TARE_PROV_EXACT:
		return "exact";
	case TARE_PROV_CORRECTED:
		return "corrected";
	case TARE_PROV_RAW:
		return "raw";
	case TARE_PROV_SCALED:
		return "scaled";
	case TARE_PROV_SIMULATED:
		return "simulated";
	case TARE_PROV_INCOMPLETE:
		return "incomplete";
	case TARE_PROV_NONE:
		break;
	}
	return "none";
}

/* ---- one run ---- */

static int check(const struct tare_measure_options *o, struct tare_why *why)
{
	const bool command = o->argv && o->argv[0];
	if (!o->events || tare_events_count(o->events) == 0)
		return why_set(why, TARE_E_INVALID, "no events to count");
	if (o->pid && o->tid)
		return why_set(why, TARE_E_INVALID, "both a process and a thread to attach to");
	if (o->pid < 0 || o->tid < 0)
		return why_set(why, TARE_E_INVALID, "a negative process id");
	if ((unsigned)o->backend > TARE_BACKEND_SOFT)
		return why_set(why, TARE_E_INVALID, "backend %d: there is none with that number",
			       (int)o->backend);
	if (!(o->timeout_s >= 0))		/* nor is NaN a time */
		return why_set(why, TARE_E_INVALID, "timeout_s: %f is not a time", o->timeout_s);
	if (!command && !o->pid && !o->tid)
		return why_set(why, TARE_E_NO_COMMAND, "no command");
	if (parts_refuse(o, why))
		return TARE_E_INVALID;
	if (command && !child_status_kept(why))
		return TARE_E_INVALID;
	int err = stop_check_rules(o, why);
	if (!err && o->machine)
		err = tare_machine_check(o->machine, why);
	if (!err && o->hermetic)
		err = tare_seed_check(o->hermetic, why);
	if (!err && o->schedule)
		err = o->hermetic ? tare_seed_check(o->schedule, why) :
		      why_set(why, TARE_E_INVALID, "schedule: only tasks of a still world (hermetic) have an order that "
			      "can be chosen");
	if (err)
		return err;
	return backend_refuse_precise(o->events, why);
}

static struct measured *new_measured(const struct tare_events *events)
{
	struct measured *const r = calloc(1, sizeof(*r));
	const size_t n = tare_events_count(events);
	if (!r)
		return NULL;
	r->m.counts = calloc(n + 1, sizeof(*r->m.counts));
	if (!r->m.counts) {
		free(r);
		return NULL;
	}
	r->m.n_counts = n;
	r->m.backend_reason = r->reason;
	for (size_t i = 0; i < n; i++) {
		const struct tare_event *const e = tare_events_at(events, i);
		r->m.counts[i] = (struct tare_count){ .event = e->name, .unit = e->unit,
						      .state = TARE_COUNT_NOT_OPENED,
						      .code = TARE_E_NOT_OPENED };
	}
	return r;
}

/* Adds an alternative to the remedy. */
static void or_else(struct tare_why *why, const char *text)
{
	const size_t len = strlen(why->remedy);
	snprintf(why->remedy + len, sizeof(why->remedy) - len, "%s%s", len ? ", or " : "", text);
}

static bool is_attached(const struct tare_measure_options *o)
{
	return o->pid || o->tid;
}

static bool engine_could(const struct tare_measure_options *o)
{
	return !is_attached(o) && o->backend != TARE_BACKEND_SOFT &&
	       !backend_try_engine(o->events, NULL);
}

/* The remedy where counters are lacking; options that the user has given already are left out. */
static void remedy_counters(const struct tare_measure_options *o, bool together,
			    struct tare_why *why)
{
	const bool waited = why->code == TARE_E_NOT_SCHEDULED;
	if (!backend_lacks_counters(why->code) && !waited)
		return;
	if (together && !o->pinned && !waited && !strstr(why->remedy, "ungrouped"))
		or_else(why, "put fewer events in the group, or count them ungrouped");
	else if (together && o->pinned && !strstr(why->remedy, "fewer events"))
		or_else(why, "count fewer events at once");
	if ((together || waited) && !o->pinned && !is_attached(o))
		or_else(why, "count in batches (--exact)");
	if (engine_could(o))
		or_else(why, "count in software (--backend soft)");
}

#define SHOWN_PMU "use a machine or VM type that shows its PMU"

/* The remedy where there is no PMU; only what is possible for this run. */
static void remedy_no_pmu(const struct tare_measure_options *o, struct tare_why *why)
{
	if (why->code != TARE_E_NO_PMU)
		return;
	if (is_attached(o))
		why_remedy(why, "the software engine cannot join a process that runs already: start "
			   "the program with `tare stat -- PROGRAM`, or " SHOWN_PMU);
	else if (engine_could(o))
		why_remedy(why, "count in software (--backend soft), or " SHOWN_PMU);
	else
		why_remedy(why, "leave this event out, or " SHOWN_PMU);
}

static void explain_unscheduled(struct counter_set *set, size_t i, struct tare_count *c,
				struct tare_why *why)
{
	c->code = counter_set_explain(set, i, why);
	if (c->code == TARE_E_STOLEN)
		c->state = TARE_COUNT_STOLEN;
}

/* With events of two core types in one run, the events of the core type that was not used have no
 * count, which is no error. */
static bool counted_elsewhere(const struct tare_measure_options *o, const struct tare_measurement *m)
{
	for (size_t i = 0; i < m->n_counts; i++)
		if (m->counts[i].state == TARE_COUNT_OK &&
		    event_place(tare_events_at(o->events, i)) == PLACE_CORE)
			return true;
	return false;
}

static bool all_counted(const struct tare_measurement *m)
{
	for (size_t i = 0; i < m->n_counts; i++)
		if (m->counts[i].state != TARE_COUNT_OK)
			return false;
	return true;
}

void measure_explain(const struct tare_measure_options *o, struct tare_measurement *m,
		     struct counter_set *set)
{
	const struct counter_set_opts co = { .disabled = true, .pinned = o->pinned,
					     .user_fallback = true };
	if (all_counted(m))
		return;
	const struct tare_event **const events = set ? NULL : event_array(o->events);
	struct counter_set *own = NULL;
	if (events && counter_set_open(events, m->n_counts, &co, &own, NULL) == 0)
		set = own;
	for (size_t i = 0; i < m->n_counts; i++) {
		struct tare_count *const c = &m->counts[i];
		struct tare_why w = { 0 };
		if (c->state == TARE_COUNT_STOLEN)
			why_set(&w, c->code, "%s", c->event);
		else if (c->state == TARE_COUNT_NOT_SCHEDULED && set)
			explain_unscheduled(set, i, c, &w);
		else if (c->state == TARE_COUNT_NOT_SCHEDULED)
			why_set(&w, c->code, "%s", c->event);
		if (!w.code || m->lacking.code ||
		    (w.code == TARE_E_WRONG_CORE && counted_elsewhere(o, m)))
			continue;
		remedy_counters(o, set && counter_set_together(set, i) > 1, &w);
		m->lacking = w;
	}
	counter_set_close(own);
	free(events);
}

/* A run with stops or limits: only the engine stops without skid. */
static int backend_of_stops(const struct tare_measure_options *o, struct measured *r,
			    struct tare_why *why)
{
	snprintf(r->reason, sizeof(r->reason), "only the software engine stops exactly");
	return tare_backend_for(o->events, TARE_BACKEND_SOFT, NULL, 0, why);
}

/* Only the engine moves a program. */
static int layout_backend(const struct tare_measure_options *o, struct measured *r, struct tare_why *why)
{
	if (is_attached(o) || o->backend == TARE_BACKEND_HW || o->aslr) {
		why_set(why, TARE_E_INVALID, "layout %u: the software engine puts a command there that it starts, without "
			"address space randomisation", o->layout);
		why_remedy(why, "count a command in software (--backend soft), without --aslr");
		return TARE_E_INVALID;
	}
	snprintf(r->reason, sizeof(r->reason), "only the software engine moves a program");
	return tare_backend_for(o->events, TARE_BACKEND_SOFT, NULL, 0, why);
}

static int machine_backend(const struct tare_measure_options *o, struct measured *r,
			   struct tare_why *why)
{
	if (is_attached(o) && o->hermetic)
		why_set(why, TARE_E_INVALID, "a still world (hermetic): a process that runs already has seen another "
			"world");
	else if (o->backend == TARE_BACKEND_HW && o->hermetic)
		why_set(why, TARE_E_INVALID, "a still world (hermetic): with hardware counters the program runs "
			"natively, and sees the host's time, random numbers, process ids and files");
	else if (is_attached(o))
		why_set(why, TARE_E_INVALID, "machine %s: a process that runs already has asked for its CPU",
			o->machine);
	else if (o->backend == TARE_BACKEND_HW)
		why_set(why, TARE_E_INVALID, "machine %s: with hardware counters the program runs natively, and "
			"sees the host's CPU", o->machine);
	else {
		snprintf(r->reason, sizeof(r->reason), "only the software engine can show a %s",
			 o->hermetic ? "still world" : "machine");
		return tare_backend_for(o->events, TARE_BACKEND_SOFT, NULL, 0, why);
	}
	why_remedy(why, "count a command in software (--backend soft)");
	return TARE_E_INVALID;
}

/* Only hardware can count a process that runs already: then the error is the hardware's. */
static int backend_of_run(const struct tare_measure_options *o, struct measured *r,
			  struct tare_why *why)
{
	const pid_t target = o->pid ? o->pid : o->tid;
	if (o->layout && (target || o->aslr || o->backend != TARE_BACKEND_SOFT))
		return layout_backend(o, r, why);
	if (o->machine && (target || o->backend != TARE_BACKEND_SOFT))
		return machine_backend(o, r, why);
	if (o->n_stops && o->backend == TARE_BACKEND_AUTO)
		return backend_of_stops(o, r, why);
	if (target && o->backend == TARE_BACKEND_SOFT)
		return why_set(why, TARE_E_NO_ATTACH, "process %d", (int)target);
	if (o->backend == TARE_BACKEND_SOFT && tare_events_count(o->events) &&
	    !backend_engine_lacks(o->events)) {
		snprintf(r->reason, sizeof(r->reason), "it was asked for");
		return TARE_BACKEND_SOFT;	/* the run itself finds out whether it can */
	}
	int backend = tare_backend_for(o->events, o->backend, r->reason, sizeof(r->reason), why);
	if (target && backend == TARE_BACKEND_SOFT) {
		backend = tare_backend_for(o->events, TARE_BACKEND_HW, NULL, 0, why);
		snprintf(r->reason, sizeof(r->reason),
			 "only hardware can count what runs already");
	}
	if (backend < 0) {
		remedy_counters(o, true, why);
		remedy_no_pmu(o, why);
	}
	return backend;
}

static void mark_part(struct tare_count *counts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (counts[i].state != TARE_COUNT_OK || counts[i].provenance != TARE_PROV_EXACT)
			continue;
		counts[i].lower_bound = true;
		counts[i].provenance = TARE_PROV_INCOMPLETE;
	}
}

/* A command that was ended early has not done all its work: its counts, and those of the task
 * that got the signal, are exact for what ran, and cover only part of the run. */
static void mark_cut_short(const struct tare_measure_options *o, struct tare_measurement *m)
{
	if (is_attached(o) || !(m->timed_out || m->stopped || m->limited))
		return;
	mark_part(m->counts, m->n_counts);
	for (size_t t = 0; t < m->n_tasks; t++)
		if (m->tasks[t].counts && m->tasks[t].pid == m->tasks[0].pid)
			mark_part(m->tasks[t].counts, m->n_counts);
}

/* The command would be traced from its start, and a traced image runs without the engine. */
static int refuse_tasks_inside_run(struct tare_why *why)
{
	why_set(why, TARE_E_INVALID, "counts of every thread inside `tare run`: following the command "
		"with ptrace would keep the virtual PMU out of it");
	why_remedy(why, "count every thread with the software engine, outside of `tare run`");
	return TARE_E_INVALID;
}

static int measure(const struct tare_measure_options *o, struct tare_measurement **m,
		   struct tare_why *w)
{
	int err;
	struct measured *const r = new_measured(o->events);
	if (!r)
		return why_set(w, TARE_E_NOMEM, "a measurement");
	const int backend = backend_of_run(o, r, w);
	if (backend < 0) {
		tare_measurement_free(&r->m);
		return backend;
	}
	if ((o->code || o->trace) && backend != TARE_BACKEND_SOFT) {
		tare_measurement_free(&r->m);
		return why_set(w, TARE_E_INVALID, "which code ran: only the software engine knows, and "
			       "the backend is the hardware's counters (tare_measure_options.backend)");
	}
	if (o->calls && !o->code) {
		tare_measurement_free(&r->m);
		return why_set(w, TARE_E_INVALID, "tare_measure_options.calls: the call graph is a part of "
			       "the code that ran (tare_measure_options.code), which is not asked for");
	}
	r->m.backend = (enum tare_backend)backend;
	if (backend == TARE_BACKEND_SOFT && !(r->m.world = world_new(&(struct world_asked){ o->machine, o->hermetic, o->schedule }))) {
		tare_measurement_free(&r->m);
		return why_set(w, TARE_E_NOMEM, "a measurement");
	}
	if (backend == TARE_BACKEND_SOFT)
		err = measure_soft(o, &r->m, w);
	else if (o->n_stops)
		err = measure_stop(o, &r->m, w);
	else if (o->per_task && !o->pid && !o->tid && perf_is_virtual(""))
		err = refuse_tasks_inside_run(w);
	else if (o->per_task && (o->starts_off || o->control))
		err = why_set(w, TARE_E_INVALID, "starts_off or control: hardware counters of every task "
			      "separately (per_task) cannot be switched");
	else if (o->per_task && !o->pid && !o->tid)
		err = measure_tasks(o, &r->m, w);
	else
		err = measure_hw(o, &r->m, w);
	if (err) {
		tare_measurement_free(&r->m);
		return err;
	}
	mark_cut_short(o, &r->m);
	parts_judge(o, &r->m);
	*m = &r->m;
	return 0;
}

int tare_measure(const struct tare_measure_options *given, struct tare_measurement **m,
		 struct tare_why *why)
{
	struct tare_why local = { 0 };
	struct tare_why *const w = why ? why : &local;
	struct tare_measure_options o;
	if (!m)
		return why_set(w, TARE_E_INVALID, "no place for the measurement");
	*m = NULL;
	int err = options_copy(&o, sizeof(o), given, "tare_measure_options", w);
	if (!err && o.hermetic && !o.machine)
		o.machine = WORLD_HERMETIC_MACHINE;
	if (!err)
		err = check(&o, w);
	if (!err)
		err = descriptors_begin(w);
	if (err)
		return err;
	err = measure(&o, m, w);
	descriptors_end();
	return err;
}

void tare_measurement_free(struct tare_measurement *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_tasks; i++)
		free(m->tasks[i].counts);
	free(m->tasks);
	code_free(m->code);
	free(m->stops);
	parts_free(m->parts);
	world_free(m->world);
	free(m->counts);
	free((struct measured *)m);	/* its first member */
}
