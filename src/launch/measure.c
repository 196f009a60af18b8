/* Measuring a command: which backend, and one run with it. */
#include "descriptors.h"
#include "measure-room.h"
#include "perf-facts.h"
#include "set.h"
#include "soft-run.h"
#include "why.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- who can count what ---- */

/* What the engine sees retire. Nothing here depends on time. */
static bool engine_knows(enum tare_role role)
{
	switch (role) {
	case TARE_ROLE_INSTRUCTIONS:
	case TARE_ROLE_INSTRUCTIONS_FIXED:
	case TARE_ROLE_BRANCHES:
	case TARE_ROLE_COND_BRANCHES:
	case TARE_ROLE_TAKEN_BRANCHES:
	case TARE_ROLE_FAR_BRANCHES:
	case TARE_ROLE_CALLS:
	case TARE_ROLE_RETURNS:
	case TARE_ROLE_INDIRECT_BRANCHES:
	case TARE_ROLE_SYSCALLS:
	case TARE_ROLE_LOADS:
	case TARE_ROLE_STORES:
	case TARE_ROLE_MULTIPLIES:
	case TARE_ROLE_DIVIDES:
	case TARE_ROLE_X87:
	case TARE_ROLE_FP:
	case TARE_ROLE_SIMD_INT:
	case TARE_ROLE_LOCKED:
		return true;
	default:
		return false;
	}
}

static bool is_clock(const struct tare_event *e)
{
	return e->kind == TARE_EVENT_WALL_TIME || e->kind == TARE_EVENT_ZERO;
}

/* The engine never enters the kernel. Without a modifier the user left it open,
 * and the count is marked user_only. */
static bool asks_for_kernel(const struct tare_event *e)
{
	return e->base.exclude_user || (e->has_modifier && !e->base.exclude_kernel);
}

bool tare_engine_counts(const struct tare_event *e)
{
	return !is_clock(e) && engine_knows(e->role) && !asks_for_kernel(e);
}

enum event_place event_place(const struct tare_event *e)
{
	struct perf_facts facts;
	if (e->needs_engine)
		return PLACE_ENGINE_ONLY;
	if (is_clock(e) || e->base.type == PERF_TYPE_SOFTWARE ||
	    e->base.type == PERF_TYPE_TRACEPOINT || e->base.type == PERF_TYPE_BREAKPOINT)
		return PLACE_KERNEL;
	if (e->base.type < PERF_TYPE_MAX)	/* the same everywhere: no need to look */
		return PLACE_CORE;
	perf_facts_read(&facts, "");
	return perf_type_is_core(&facts, e->base.type) ? PLACE_CORE : PLACE_KERNEL;
}

const struct tare_event **event_array(const struct tare_events *list)
{
	const size_t n = tare_events_count(list);
	const struct tare_event **const array = calloc(n + 1, sizeof(*array));
	for (size_t i = 0; array && i < n; i++)
		array[i] = tare_events_at(list, i);
	return array;
}

/* Precision is a property of samples: perf takes the modifier and counts as without it. */
static int refuse_precise(const struct tare_events *list, struct tare_why *why)
{
	for (size_t i = 0; i < tare_events_count(list); i++) {
		const struct tare_event *const e = tare_events_at(list, i);
		if (e->base.precise_asked)
			return why_set(why, TARE_E_INVALID,
				       "%s: modifier p asks for precise samples, and a count has "
				       "none; leave it out", e->name);
	}
	return 0;
}

/* ---- the choice ---- */

static int engine_only(const struct tare_events *list, struct tare_why *why)
{
	for (size_t i = 0; i < tare_events_count(list); i++) {
		const struct tare_event *const e = tare_events_at(list, i);
		if (e->needs_engine)
			return why_set(why, TARE_E_EVENT_NOT_ON_CPU, "%s",
				       e->why_engine ? e->why_engine : e->name);
	}
	return 0;
}

/* Opens everything on this thread, without letting it count: what works here works
 * for the command too. Where there is no PMU at all, that is the reason, and not
 * what this CPU lacks besides. */
static int try_hardware(const struct tare_events *list, struct tare_why *why)
{
	const size_t all = tare_events_count(list);
	const struct tare_event **const events = event_array(list);
	if (!events)
		return why_set(why, TARE_E_NOMEM, "%zu events", all);
	size_t n = 0;
	for (size_t i = 0; i < all; i++)
		if (!events[i]->needs_engine)
			events[n++] = events[i];
	const struct counter_set_opts o = { .disabled = true, .inherit = true,
					    .user_fallback = true };
	struct counter_set *set = NULL;
	int err = n ? counter_set_open(events, n, &o, &set, why) : 0;
	for (size_t i = 0; !err && i < n; i++) {
		const struct tare_why *const w = counter_set_why(set, i);
		if (w->code) {
			err = w->code;
			if (why)
				*why = *w;
		}
	}
	counter_set_close(set);
	free(events);
	return err ? err : engine_only(list, why);
}

static bool lacks_counters(int code)
{
	return code == TARE_E_NO_COUNTERS || code == TARE_E_WATCHDOG;
}

/* Opens them pinned and reads: pinned events that get no counter read as lost at once, so
 * that nothing has to run. As tare_events_fit(). */
static int fit_now(const struct tare_event *const *events, size_t n, struct tare_why *why)
{
	struct tare_count *const counts = calloc(n + 1, sizeof(*counts));
	const struct counter_set_opts o = { .pinned = true, .user_fallback = true };
	struct counter_set *set = NULL;
	int answer = counts ? counter_set_open(events, n, &o, &set, why) :
			      why_set(why, TARE_E_NOMEM, "%zu events", n);
	for (size_t i = 0; !answer && i < n; i++) {
		const struct tare_why *const w = counter_set_why(set, i);
		if (!w->code)
			continue;
		answer = w->code;
		if (why)
			*why = *w;
	}
	if (!answer && counter_set_read(set, counts) == 0) {
		answer = 1;
		for (size_t i = 0; answer && i < n; i++) {
			if (counts[i].state == TARE_COUNT_OK)
				continue;
			counter_set_disable(set, NULL);
			counter_set_explain(set, i, why);
			answer = 0;
		}
	}
	if (lacks_counters(answer))
		answer = 0;
	counter_set_close(set);
	free(counts);
	return answer;
}

int tare_events_fit(const struct tare_events *list, struct tare_why *why)
{
	const size_t n = tare_events_count(list);
	if (n == 0)
		return why_set(why, TARE_E_INVALID, "no events to count");
	const struct tare_event **const events = event_array(list);
	if (!events)
		return why_set(why, TARE_E_NOMEM, "%zu events", n);
	const int answer = fit_now(events, n, why);
	free(events);
	return answer;
}

/* Whether each group by itself has counters now: events that take turns need not fit all
 * at once. 0, or the code of what is lacking. That a group belongs to another core type
 * does not count here: the command may move there. */
static int groups_fit(const struct tare_events *list, struct tare_why *why)
{
	const size_t n = tare_events_count(list);
	const struct tare_event **const group = calloc(n + 1, sizeof(*group));
	int err = group ? 0 : why_set(why, TARE_E_NOMEM, "%zu events", n);
	for (size_t i = 0; !err && i < n; i++) {
		const struct tare_event *const first = tare_events_at(list, i);
		size_t members = 0;
		if (i && first->group >= 0 && tare_events_at(list, i - 1)->group == first->group)
			continue;
		if (event_place(first) != PLACE_CORE && first->group < 0)
			continue;
		for (size_t k = i; k < n; k++) {
			const struct tare_event *const e = tare_events_at(list, k);
			if (k > i && (first->group < 0 || e->group != first->group))
				break;
			group[members++] = e;
		}
		struct tare_why w = { 0 };
		if (fit_now(group, members, &w) == 0 && lacks_counters(w.code)) {
			err = w.code;
			if (why)
				*why = w;
		}
	}
	free(group);
	return err;
}

/* The first event that the engine cannot count and the kernel does not; or NULL. */
static const struct tare_event *engine_lacks(const struct tare_events *list)
{
	for (size_t i = 0; i < tare_events_count(list); i++) {
		const struct tare_event *const e = tare_events_at(list, i);
		if (event_place(e) != PLACE_KERNEL && !tare_engine_counts(e))
			return e;
	}
	return NULL;
}

int engine_available(struct tare_why *why)
{
	if (access("/proc/self/maps", F_OK) < 0)
		return why_errno(why, TARE_E_NO_PROC, errno, "/proc/self/maps");
	return soft_available(why);
}

static int try_engine(const struct tare_events *list, struct tare_why *why)
{
	const struct tare_event *const e = engine_lacks(list);
	if (!e)
		return engine_available(why);
	why_set(why, TARE_E_EVENT_UNCOUNTABLE, "%s%s", e->name,
		engine_knows(e->role) ? ": the engine sees user mode only" : "");
	if (engine_knows(e->role))
		why_remedy(why, "count user mode (:u), or the kernel on a machine with hardware "
			   "counters");
	return TARE_E_EVENT_UNCOUNTABLE;
}

static bool only_kernel_events(const struct tare_events *list)
{
	for (size_t i = 0; i < tare_events_count(list); i++)
		if (event_place(tare_events_at(list, i)) != PLACE_KERNEL)
			return false;
	return true;
}

static void say(char *reason, size_t size, const char *text)
{
	if (reason && size)
		snprintf(reason, size, "%s", text);
}

/* Then the cause names it; of the others any event has the same. */
static bool is_of_one_event(int code)
{
	return code == TARE_E_EVENT_NOT_ON_CPU || code == TARE_E_EVENT_UNSUPPORTED ||
	       code == TARE_E_NO_COUNTERS || code == TARE_E_WRONG_CORE;
}

/* Both ways fail: the event to blame is the one that neither can count. */
static int neither(const struct tare_events *events, int hw, const struct tare_why *why_hw,
		   struct tare_why *why)
{
	const struct tare_event *const e = engine_lacks(events);
	if (!why)
		return hw;
	*why = *why_hw;
	if (e && is_of_one_event(hw)) {
		const size_t len = strlen(why->what);
		snprintf(why->what + len, sizeof(why->what) - len,
			 "; the software engine cannot count %s", e->name);
	} else if (e) {
		why_set(why, hw, "%s (%s)", e->name,
			engine_knows(e->role) ? "and the software engine sees user mode only" :
						"and the software engine cannot know it");
	}
	why->sys_errno = why_hw->sys_errno;
	return hw;
}

static int choose(const struct tare_events *events, char *reason, size_t size,
		  struct tare_why *why)
{
	struct tare_why why_hw = { 0 };
	const int hw = try_hardware(events, &why_hw);
	if (only_kernel_events(events)) {
		say(reason, size, "only kernel events were asked for");
		if (hw && why)
			*why = why_hw;
		return hw ? hw : TARE_BACKEND_HW;
	}
	/* Events that open and never get a counter are no reason to fail before the run:
	 * on another CPU they may. Where the engine knows them, its counts are better. */
	const int waits = hw ? 0 : groups_fit(events, &why_hw);
	if (!hw && (!waits || try_engine(events, NULL))) {
		say(reason, size, "hardware counters are available");
		return TARE_BACKEND_HW;
	}
	if (!hw) {
		say(reason, size, why_hw.what);
		return TARE_BACKEND_SOFT;
	}
	if (try_engine(events, NULL))
		return neither(events, hw, &why_hw, why);
	say(reason, size, is_of_one_event(hw) ? why_hw.what : tare_err_sentence(hw));
	return TARE_BACKEND_SOFT;
}

static int backend_for(const struct tare_events *events, enum tare_backend asked,
		       char *reason, size_t reason_size, struct tare_why *why)
{
	if (asked == TARE_BACKEND_AUTO)
		return choose(events, reason, reason_size, why);
	const bool hw = asked == TARE_BACKEND_HW;
	const int err = hw ? try_hardware(events, why) : try_engine(events, why);
	say(reason, reason_size, "it was asked for");
	return err ? err : (int)asked;
}

int tare_backend_for(const struct tare_events *events, enum tare_backend asked,
		     char *reason, size_t reason_size, struct tare_why *why)
{
	if (tare_events_count(events) == 0)
		return why_set(why, TARE_E_INVALID, "no events to count");
	if (refuse_precise(events, why))
		return TARE_E_INVALID;
	const int err = descriptors_begin(why);
	if (err)
		return err;
	const int backend = backend_for(events, asked, reason, reason_size, why);
	descriptors_end();
	return backend;
}

/* ---- a run under the engine, with kernel counters beside it ---- */

struct beside {
	const struct tare_measure_opts *o;
	struct tare_measurement *m;
	const struct tare_event **events;	/* the kernel's part */
	size_t *index;				/* where each goes in the measurement */
	size_t n;
	struct counter_set *set;
	struct tare_count *counts;
	uint64_t start_ns;
};

static int beside_open(pid_t child, void *arg, struct tare_why *why)
{
	struct beside *const b = arg;
	b->start_ns = launch_now_ns();
	if (!b->n)
		return 0;
	const struct counter_set_opts co = { .pid = child, .inherit = !b->o->no_inherit,
					     .enable_on_exec = true, .user_fallback = true };
	const int err = counter_set_open(b->events, b->n, &co, &b->set, why);
	if (err)
		return err;
	for (size_t i = 0; i < b->n; i++) {
		const struct tare_why *const w = counter_set_why(b->set, i);
		if (w->code) {
			*why = *w;
			return w->code;
		}
	}
	return 0;
}

static void beside_read(struct beside *b)
{
	if (!b->set || counter_set_read(b->set, b->counts) < 0)
		return;
	for (size_t i = 0; i < b->n; i++) {
		struct tare_count *const to = &b->m->counts[b->index[i]];
		*to = b->counts[i];
		to->user_only = counter_set_user_only(b->set, i);
		to->perturbed = b->events[i]->kind != TARE_EVENT_ZERO;
	}
}

static void beside_interval(struct tare_measurement *so_far, void *arg)
{
	struct beside *const b = arg;
	beside_read(b);
	so_far->wall_ns = launch_now_ns() - b->start_ns;
	if (b->o->on_interval)
		b->o->on_interval(so_far, b->o->arg);
}

static void beside_end(pid_t child, void *arg)
{
	(void)child;
	beside_read(arg);
}

static void beside_free(struct beside *b)
{
	counter_set_close(b->set);
	free(b->events);
	free(b->index);
	free(b->counts);
}

static int beside_select(struct beside *b)
{
	const size_t n = tare_events_count(b->o->events);
	b->events = calloc(n + 1, sizeof(*b->events));
	b->index = calloc(n + 1, sizeof(*b->index));
	b->counts = calloc(n + 1, sizeof(*b->counts));
	if (!b->events || !b->index || !b->counts)
		return TARE_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct tare_event *const e = tare_events_at(b->o->events, i);
		if (tare_engine_counts(e)) {
			b->m->counts[i].user_only = !e->has_modifier;
			continue;
		}
		b->events[b->n] = e;
		b->index[b->n++] = i;
	}
	return 0;
}

/* A total that lacks what some tasks did is still true, as a bound. */
static void mark_lower_bounds(const struct tare_measure_opts *o, struct tare_measurement *m)
{
	bool lacking = false;
	for (size_t t = 0; t < m->n_tasks && !o->no_inherit; t++)
		lacking |= m->tasks[t].not_counted || m->tasks[t].cut_off;
	for (size_t i = 0; i < m->n_counts; i++) {
		if (!tare_engine_counts(tare_events_at(o->events, i)))
			continue;
		if (lacking)
			counter_set_mark_incomplete(&m->counts[i]);
		for (size_t t = 0; t < m->n_tasks; t++)
			if (m->tasks[t].cut_off && m->tasks[t].counts)
				counter_set_mark_incomplete(&m->tasks[t].counts[i]);
	}
}

static int engine_run(const struct tare_measure_opts *o, struct tare_measurement *m,
		      struct tare_why *why)
{
	struct beside b = { .o = o, .m = m };
	const struct soft_hooks hooks = { beside_open, beside_interval, beside_end, &b };
	int err = beside_select(&b);
	if (err)
		why_set(why, err, "a run");
	else
		err = soft_run(o, &hooks, m, why);
	if (!err)
		mark_lower_bounds(o, m);
	/* The kernel's counters are those of the whole run. */
	for (size_t t = 0; !err && t < m->n_tasks; t++)
		for (size_t i = 0; m->tasks[t].counts && i < b.n; i++)
			m->tasks[t].counts[b.index[i]] = (struct tare_count){
				.event = b.events[i]->name, .unit = b.events[i]->unit,
				.state = TARE_COUNT_NOT_OPENED, .code = TARE_E_NOT_OPENED };
	beside_free(&b);
	return err;
}

/* ---- one run ---- */

static int check(const struct tare_measure_opts *o, struct tare_why *why)
{
	const bool command = o->argv && o->argv[0];
	if (!o->events || tare_events_count(o->events) == 0)
		return why_set(why, TARE_E_INVALID, "no events to count");
	if (o->pid && o->tid)
		return why_set(why, TARE_E_INVALID, "both a process and a thread to attach to");
	if (o->pid < 0 || o->tid < 0)
		return why_set(why, TARE_E_INVALID, "a negative process id");
	if (!command && !o->pid && !o->tid)
		return why_set(why, TARE_E_NO_COMMAND, "no command");
	return refuse_precise(o->events, why);
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

/* Adds one more way out to the remedy of the case. */
static void or_else(struct tare_why *why, const char *text)
{
	const size_t len = strlen(why->remedy);
	snprintf(why->remedy + len, sizeof(why->remedy) - len, "%s%s", len ? ", or " : "", text);
}

static bool is_attached(const struct tare_measure_opts *o)
{
	return o->pid || o->tid;
}

static bool engine_could(const struct tare_measure_opts *o)
{
	return !is_attached(o) && o->backend != TARE_BACKEND_SOFT && !try_engine(o->events, NULL);
}

/* What helps where counters are lacking: never what the user did already. */
static void remedy_counters(const struct tare_measure_opts *o, bool together,
			    struct tare_why *why)
{
	const bool waited = why->code == TARE_E_NOT_SCHEDULED;
	if (!lacks_counters(why->code) && !waited)
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

/* Where there is no PMU: which of the ways out in the list are open to this run. */
static void remedy_no_pmu(const struct tare_measure_opts *o, struct tare_why *why)
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

/* Events of two core types in one run: what ran on one is missing on the other, and
 * nothing is wrong. */
static bool counted_elsewhere(const struct tare_measure_opts *o, const struct tare_measurement *m)
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

void measure_explain(const struct tare_measure_opts *o, struct tare_measurement *m,
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

/* What runs already can only be counted by hardware: then its error is the reason. */
static int backend_of_run(const struct tare_measure_opts *o, struct measured *r,
			  struct tare_why *why)
{
	const pid_t target = o->pid ? o->pid : o->tid;
	if (target && o->backend == TARE_BACKEND_SOFT)
		return why_set(why, TARE_E_NO_ATTACH, "process %d", (int)target);
	if (o->backend == TARE_BACKEND_SOFT && tare_events_count(o->events) &&
	    !engine_lacks(o->events)) {
		say(r->reason, sizeof(r->reason), "it was asked for");
		return TARE_BACKEND_SOFT;	/* whether it can, the run itself will tell */
	}
	int backend = tare_backend_for(o->events, o->backend, r->reason, sizeof(r->reason), why);
	if (target && backend == TARE_BACKEND_SOFT) {
		backend = tare_backend_for(o->events, TARE_BACKEND_HW, NULL, 0, why);
		say(r->reason, sizeof(r->reason), "only hardware can count what runs already");
	}
	if (backend < 0) {
		remedy_counters(o, true, why);
		remedy_no_pmu(o, why);
	}
	return backend;
}

static int measure(const struct tare_measure_opts *o, struct tare_measurement **m,
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
	r->m.backend = (enum tare_backend)backend;
	if (backend == TARE_BACKEND_SOFT)
		err = engine_run(o, &r->m, w);
	else if (o->per_task && !o->pid && !o->tid)
		err = task_run(o, &r->m, w);
	else
		err = hw_run(o, &r->m, w);
	if (err) {
		tare_measurement_free(&r->m);
		return err;
	}
	*m = &r->m;
	return 0;
}

int tare_measure(const struct tare_measure_opts *o, struct tare_measurement **m,
		 struct tare_why *why)
{
	struct tare_why local = { 0 };
	struct tare_why *const w = why ? why : &local;
	*m = NULL;
	int err = check(o, w);
	if (!err)
		err = descriptors_begin(w);
	if (err)
		return err;
	err = measure(o, m, w);
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
	free(m->counts);
	free((struct measured *)m);	/* its first member */
}
