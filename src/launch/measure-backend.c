#include "measure-backend.h"

#include "descriptors.h"
#include "perf-facts.h"
#include "role-events.h"
#include "set.h"
#include "soft-run.h"
#include "why.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which backend can count an event ---- */

static bool is_clock(const struct tare_event *e)
{
	return e->kind == TARE_EVENT_WALL_TIME || e->kind == TARE_EVENT_ZERO;
}

/* The engine never sees the kernel. Without a modifier the user did not say which mode, and the
 * count is marked user_only. */
static bool asks_for_kernel(const struct tare_event *e)
{
	return e->base.exclude_user || (e->has_modifier && !e->base.exclude_kernel);
}

bool tare_engine_counts(const struct tare_event *e)
{
	return e && !is_clock(e) && role_event(e->role) >= 0 && !asks_for_kernel(e);
}

enum event_place event_place(const struct tare_event *e)
{
	struct perf_facts facts;
	if (e->needs_engine)
		return PLACE_ENGINE_ONLY;
	if (is_clock(e) || e->base.type == PERF_TYPE_SOFTWARE ||
	    e->base.type == PERF_TYPE_TRACEPOINT || e->base.type == PERF_TYPE_BREAKPOINT)
		return PLACE_KERNEL;
	if (e->base.type < PERF_TYPE_MAX)	/* types that are the same on every machine */
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

/* perf accepts the modifier and counts as without it. */
int backend_refuse_precise(const struct tare_events *list, struct tare_why *why)
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

/* ---- trying both ---- */

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

/* Opens everything on this thread, disabled: what opens here opens for the command too. Where there
 * is no PMU at all, that is the error, even if this CPU also lacks an event. */
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

bool backend_lacks_counters(int code)
{
	return code == TARE_E_NO_COUNTERS || code == TARE_E_WATCHDOG;
}

/* Opens the events pinned and reads them: a pinned event without a counter reads as end of file at
 * once, so that nothing has to run. Returns as tare_events_fit(). */
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
	if (backend_lacks_counters(answer))
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

/* Does each group alone get counters now? (Groups that take turns need not fit together.) 0, or the
 * code of what is lacking. A group of another core type is no obstacle: the command may move
 * there. */
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
		if (fit_now(group, members, &w) == 0 && backend_lacks_counters(w.code)) {
			err = w.code;
			if (why)
				*why = w;
		}
	}
	free(group);
	return err;
}

/* The first event that the engine cannot count and the kernel does not; or NULL. */
const struct tare_event *backend_engine_lacks(const struct tare_events *list)
{
	for (size_t i = 0; i < tare_events_count(list); i++) {
		const struct tare_event *const e = tare_events_at(list, i);
		if (event_place(e) != PLACE_KERNEL && !tare_engine_counts(e))
			return e;
	}
	return NULL;
}

int backend_try_engine(const struct tare_events *list, struct tare_why *why)
{
	const struct tare_event *const e = backend_engine_lacks(list);
	if (!e)
		return engine_available(why);
	why_set(why, TARE_E_EVENT_UNCOUNTABLE, "%s%s", e->name,
		role_event(e->role) >= 0 ? ": the engine sees user mode only" : "");
	if (role_event(e->role) >= 0)
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

/* Does the error concern one event, which its text names, rather than all events? */
static bool is_of_one_event(int code)
{
	return code == TARE_E_EVENT_NOT_ON_CPU || code == TARE_E_EVENT_UNSUPPORTED ||
	       code == TARE_E_NO_COUNTERS || code == TARE_E_WRONG_CORE;
}

/* Both backends fail: the error names the event that neither can count. */
static int neither(const struct tare_events *events, int hw, const struct tare_why *why_hw,
		   struct tare_why *why)
{
	const struct tare_event *const e = backend_engine_lacks(events);
	if (!why)
		return hw;
	*why = *why_hw;
	if (e && is_of_one_event(hw)) {
		const size_t len = strlen(why->what);
		snprintf(why->what + len, sizeof(why->what) - len,
			 "; the software engine cannot count %s", e->name);
	} else if (e) {
		why_set(why, hw, "%s (%s)", e->name,
			role_event(e->role) >= 0 ? "and the software engine sees user mode only" :
						"and the software engine cannot know it");
		if (hw == TARE_E_NO_PMU)	/* the usual remedy is the engine */
			why_remedy(why, "choose an event that `tare list` shows as countable here, or "
				   "use a machine or VM type that shows its PMU");
	}
	why->sys_errno = why_hw->sys_errno;
	return hw;
}

/* ---- the choice ---- */

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
	/* Events that open and get no counter now are no reason to fail before the run: they may
	 * get one later. Where the engine counts them, its counts are better. */
	const int waits = hw ? 0 : groups_fit(events, &why_hw);
	if (!hw && (!waits || backend_try_engine(events, NULL))) {
		say(reason, size, "hardware counters are available");
		return TARE_BACKEND_HW;
	}
	if (!hw) {
		say(reason, size, why_hw.what);
		return TARE_BACKEND_SOFT;
	}
	if (backend_try_engine(events, NULL))
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
	const int err = hw ? try_hardware(events, why) : backend_try_engine(events, why);
	say(reason, reason_size, "it was asked for");
	return err ? err : (int)asked;
}

int tare_backend_for(const struct tare_events *events, enum tare_backend asked,
		     char *reason, size_t reason_size, struct tare_why *why)
{
	if (tare_events_count(events) == 0)
		return why_set(why, TARE_E_INVALID, "no events to count");
	if (backend_refuse_precise(events, why))
		return TARE_E_INVALID;
	const int err = descriptors_begin(why);
	if (err)
		return err;
	const int backend = backend_for(events, asked, reason, reason_size, why);
	descriptors_end();
	return backend;
}
