/* Figures made of two counts, as perf stat shows them after a `#`. */
#include "stat.h"

#include <linux/perf_event.h>

enum part {
	PART_NONE,
	PART_TIME,		/* task-clock or cpu-clock, ns */
	PART_CYCLES,
	PART_INSTRUCTIONS,
	PART_BRANCHES,
	PART_BRANCH_MISSES,
	PART_CACHE_REFERENCES,
	PART_CACHE_MISSES,
	PART_SOFTWARE,		/* any other kernel event: a rate is all there is to say */
};

static enum part hardware_part(uint64_t config)
{
	switch (config & 0xffffffff) {
	case PERF_COUNT_HW_CPU_CYCLES:
		return PART_CYCLES;
	case PERF_COUNT_HW_INSTRUCTIONS:
		return PART_INSTRUCTIONS;
	case PERF_COUNT_HW_BRANCH_INSTRUCTIONS:
		return PART_BRANCHES;
	case PERF_COUNT_HW_BRANCH_MISSES:
		return PART_BRANCH_MISSES;
	case PERF_COUNT_HW_CACHE_REFERENCES:
		return PART_CACHE_REFERENCES;
	case PERF_COUNT_HW_CACHE_MISSES:
		return PART_CACHE_MISSES;
	}
	return PART_NONE;
}

static enum part part_of(const struct tare_event *e)
{
	if (e->kind == TARE_EVENT_WALL_TIME || e->kind == TARE_EVENT_ZERO)
		return PART_NONE;
	if (e->base.type == PERF_TYPE_SOFTWARE && !e->needs_engine) {
		const bool clock = e->base.config == PERF_COUNT_SW_TASK_CLOCK ||
				   e->base.config == PERF_COUNT_SW_CPU_CLOCK;
		return clock ? PART_TIME : PART_SOFTWARE;
	}
	if (e->base.type == PERF_TYPE_HARDWARE && !e->needs_engine)
		return hardware_part(e->base.config);
	if (e->role == TARE_ROLE_INSTRUCTIONS)
		return PART_INSTRUCTIONS;
	if (e->role == TARE_ROLE_BRANCHES)
		return PART_BRANCHES;
	return PART_NONE;
}

/* A ratio needs both parts to have been counted in the same modes. */
static bool same_modes(const struct tare_event *a, const struct tare_event *b)
{
	return a->base.exclude_user == b->base.exclude_user &&
	       a->base.exclude_kernel == b->base.exclude_kernel &&
	       a->base.exclude_hv == b->base.exclude_hv;
}

static const struct tare_count *find(const struct stat_session *s,
				     const struct tare_count *counts, enum part part,
				     const struct tare_event *modes_of)
{
	for (size_t i = 0; i < s->n_events; i++) {
		const struct tare_event *const e = stat_event(s, i);
		if (part_of(e) == part && counts[i].state == TARE_COUNT_OK &&
		    (part == PART_TIME || same_modes(e, modes_of)))
			return &counts[i];
	}
	return NULL;
}

static bool ratio(const struct tare_count *top, const struct tare_count *bottom,
		  double factor, const char *unit, struct stat_derived *out)
{
	if (!bottom || !bottom->value)
		return false;
	*out = (struct stat_derived){ factor * (double)top->value / (double)bottom->value, unit };
	return true;
}

/* Per second of task-clock; a rate of a run that tare slowed down means nothing. */
static bool rate(const struct tare_count *c, const struct tare_count *time,
		 struct stat_derived *out)
{
	if (!time || !time->value || time->perturbed)
		return false;
	const double per_second = 1e9 * (double)c->value / (double)time->value;
	if (per_second >= 1e6)
		*out = (struct stat_derived){ per_second / 1e6, "M/sec" };
	else if (per_second >= 1e3)
		*out = (struct stat_derived){ per_second / 1e3, "K/sec" };
	else
		*out = (struct stat_derived){ per_second, "/sec" };
	return true;
}

bool stat_derive(const struct stat_session *s, const struct tare_count *counts,
		 size_t event, uint64_t wall_ns, struct stat_derived *out)
{
	const struct tare_event *const e = stat_event(s, event);
	const struct tare_count *const c = &counts[event];
	const enum part part = part_of(e);
	if (c->state != TARE_COUNT_OK || part == PART_NONE)
		return false;
	const struct tare_count *const time = find(s, counts, PART_TIME, e);
	switch (part) {
	case PART_TIME:
		if (!wall_ns || c->perturbed)
			return false;
		*out = (struct stat_derived){ (double)c->value / (double)wall_ns, "CPUs utilized" };
		return true;
	case PART_CYCLES:
		if (!time || time->perturbed)
			return false;
		return ratio(c, time, 1, "GHz", out);
	case PART_INSTRUCTIONS:
		return ratio(c, find(s, counts, PART_CYCLES, e), 1, "insn per cycle", out) ||
		       rate(c, time, out);
	case PART_BRANCH_MISSES:
		return ratio(c, find(s, counts, PART_BRANCHES, e), 100, "% of all branches", out) ||
		       rate(c, time, out);
	case PART_CACHE_MISSES:
		return ratio(c, find(s, counts, PART_CACHE_REFERENCES, e), 100,
			     "% of all cache refs", out) ||
		       rate(c, time, out);
	default:
		return rate(c, time, out);
	}
}
