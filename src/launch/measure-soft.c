/* A run under the software engine.
 *
 * The engine counts what retires in user mode (soft-run.h). The kernel's own events (page faults,
 * context switches, task-clock) are counted beside it: attached to the same child before its exec
 * and inherited by what it starts.
 */
#include "measure-room.h"
#include "set.h"
#include "soft-run.h"
#include "why.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int engine_available(struct tare_why *why)
{
	if (access("/proc/self/maps", F_OK) < 0)
		return why_errno(why, TARE_E_NO_PROC, errno, "/proc/self/maps");
	return soft_available(why);
}

/* ---- the kernel's counters beside the engine ---- */

struct beside {
	const struct tare_measure_options *o;
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

static void beside_control(struct watch *w, void *arg)
{
	struct beside *const b = arg;
	beside_read(b);
	b->m->wall_ns = launch_now_ns() - b->start_ns;
	watch_control(w);
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

/* A total without the counts of some tasks is a lower bound. */
static void mark_lower_bounds(const struct tare_measure_options *o, struct tare_measurement *m)
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

int measure_soft(const struct tare_measure_options *o, struct tare_measurement *m,
		 struct tare_why *why)
{
	struct beside b = { .o = o, .m = m };
	const struct soft_hooks hooks = { .before_exec = beside_open, .on_interval = beside_interval,
					  .on_control = beside_control, .before_reap = beside_end,
					  .arg = &b };
	int err = beside_select(&b);
	if (err)
		why_set(why, err, "a run");
	else
		err = soft_run(o, &hooks, m, why);
	if (!err)
		mark_lower_bounds(o, m);
	/* The kernel's counters exist for the whole run only. */
	for (size_t t = 0; !err && t < m->n_tasks; t++)
		for (size_t i = 0; m->tasks[t].counts && i < b.n; i++)
			m->tasks[t].counts[b.index[i]] = (struct tare_count){
				.event = b.events[i]->name, .unit = b.events[i]->unit,
				.state = TARE_COUNT_NOT_OPENED, .code = TARE_E_NOT_OPENED };
	beside_free(&b);
	return err;
}
