/* Sets of events on other processes.
 *
 * A target is one thread (or, with inherit, a whole tree of them) and has three slots
 * per event: the event itself, the event that is subtracted from it as a pair, and the
 * page faults that are subtracted from its total. Slots of one group hang on the first
 * that opened, the leader. Without inherit the leader is read with PERF_FORMAT_GROUP, one
 * consistent snapshot; the kernel refuses that format together with inherit, so then every
 * slot is read by itself.
 */
#include "set.h"

#include "counter-room.h"
#include "interrupts.h"
#include "perf-attr.h"
#include "perf-diagnose.h"
#include "perf-facts.h"
#include "perf-free.h"
#include "scale.h"
#include "why.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Whoever takes turns has had one after so long: the kernel changes them every few ms. */
#define TURNS_NS 100000000u

enum { BASE, PAIR, FAULTS, SLOTS };	/* of an event */

struct slot {
	int fd;			/* -1: not open */
	int leader;		/* slot number of the group's leader; itself if alone */
	int read_status;	/* of perf_read: 0, 1 (no counter), -errno */
	bool seen_running;	/* by an earlier read: then no counter is a lost one */
	struct perf_value v;
};

struct target {
	pid_t tid;
	struct slot *slots;	/* SLOTS per event */
};

struct counter_set {
	const struct tare_event **events;
	size_t n;
	struct tare_why *why;	/* per event */
	bool *user_only;	/* per event */
	struct counter_set_opts o;
	char *root;
	struct perf_facts facts;	/* through set_facts() */
	bool has_facts;
	int free_counters;		/* through set_free() */
	bool has_free;
	struct target *targets;
	size_t n_targets;
	uint64_t start_ns, stop_ns;	/* of wall-time; stop 0: still running */
	uint64_t irqs_start;
	bool virtual;			/* core events are a virtual PMU's, see count_slots() */
	cpu_set_t cpus;			/* where the target may run, asked while it lives */
	bool wants_irqs;
};

/* Two dozen files, so they are read only when something is to be explained. */
static const struct perf_facts *set_facts(struct counter_set *set)
{
	if (!set->has_facts)
		perf_facts_read(&set->facts, set->root);
	set->has_facts = true;
	return &set->facts;
}

static int set_free(struct counter_set *set)
{
	if (!set->has_free)
		set->free_counters = perf_free_counters();
	set->has_free = true;
	return set->free_counters;
}

static bool is_core(struct counter_set *set, uint32_t type)
{
	if (type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_TRACEPOINT ||
	    type == PERF_TYPE_BREAKPOINT)
		return false;
	return perf_type_is_core(set_facts(set), type);
}

static bool has_pair(const struct tare_event *e)
{
	return e->kind == TARE_EVENT_MINUS ||
	       (e->kind == TARE_EVENT_MINUS_TOTAL && e->minus_total & TARE_MINUS_PAIR);
}

static bool has_faults(const struct tare_event *e)
{
	return e->kind == TARE_EVENT_MINUS_TOTAL && e->minus_total & TARE_MINUS_PAGE_FAULTS;
}

static bool has_irqs(const struct tare_event *e)
{
	return e->kind == TARE_EVENT_MINUS_TOTAL && e->minus_total & TARE_MINUS_PROC_INTERRUPTS;
}

static bool has_first(const struct tare_event *e)
{
	return e->kind == TARE_EVENT_PERF || e->kind == TARE_EVENT_MINUS ||
	       e->kind == TARE_EVENT_MINUS_TOTAL;
}

/* Page faults as the base event sees them: in the same modes. */
static struct tare_encoding faults_of(const struct tare_event *e)
{
	struct tare_encoding faults = e->base;
	faults.type = PERF_TYPE_SOFTWARE;
	faults.config = PERF_COUNT_SW_PAGE_FAULTS;
	faults.config1 = faults.config2 = 0;
	return faults;
}

static unsigned group_members(const struct target *t, size_t n_slots, int leader)
{
	unsigned members = 0;
	for (size_t i = 0; i < n_slots; i++)
		members += t->slots[i].fd >= 0 && t->slots[i].leader == leader;
	return members;
}

/* What the open slots need that hang on `leader`; -1: on any. */
static void add_needs(struct counter_set *set, const struct target *t, int leader,
		      struct perf_needs *needs)
{
	for (size_t i = 0; i < set->n * SLOTS; i++) {
		const struct tare_event *const e = set->events[i / SLOTS];
		const struct slot *const s = &t->slots[i];
		struct perf_event_attr attr;
		if (s->fd < 0 || i % SLOTS == FAULTS || (leader >= 0 && s->leader != leader))
			continue;
		perf_attr_fill(&attr, i % SLOTS == PAIR ? &e->minus : &e->base);
		perf_needs_add(needs, &attr, set_facts(set));
	}
}

/* Opens slot s of a target, joining `leader` unless it is -1. */
static int open_slot(struct counter_set *set, struct target *t, int s, int leader,
		     const struct tare_encoding *e, struct tare_why *why)
{
	const struct tare_event *const event = set->events[s / SLOTS];
	struct perf_event_attr attr;
	perf_attr_fill(&attr, e);
	attr.inherit = set->o.inherit;
	if (leader < 0) {
		attr.disabled = 1;	/* until the group is complete: see part_enable() */
		/* Not only for the exec: arm64 leaves a disabled leader out when it
		 * checks whether a group fits its counters, unless it has this. Once
		 * the event is enabled it means nothing any more. */
		attr.enable_on_exec = !set->o.off;
		attr.pinned |= set->o.pinned;
		if (!set->o.inherit)
			attr.read_format |= PERF_FORMAT_GROUP;
	} else {
		attr.pinned = 0;	/* the leader's, and an error on a sibling */
	}
	if (set->user_only[s / SLOTS])
		attr.exclude_kernel = attr.exclude_hv = 1;
	if (set->virtual)
		attr.read_format |= PERF_FORMAT_LOST;

	const int group_fd = leader < 0 ? -1 : t->slots[leader].fd;
	int fd = perf_open(&attr, t->tid, -1, group_fd);
	if (fd == -EINVAL && set->virtual) {	/* a software event, and Linux before 6.0 */
		attr.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
		fd = perf_open(&attr, t->tid, -1, group_fd);
	}
	if (fd >= 0) {
		t->slots[s].fd = fd;
		t->slots[s].leader = leader < 0 ? s : leader;
		return 0;
	}
	struct perf_ask ask = {
		.name = event->name,
		.pid = set->o.pid,
		.cpu = -1,
		.group_size = leader < 0 ? 1 : group_members(t, set->n * SLOTS, leader) + 1,
		.free = PERF_FREE_UNKNOWN,
		.on_cpu = (unsigned)sched_getcpu(),
	};
	if (leader >= 0)
		add_needs(set, t, leader, &ask.needs);
	perf_needs_add(&ask.needs, &attr, set_facts(set));
	return perf_diagnose_open(-fd, &attr, &ask, set_facts(set), why);
}

static void close_slot(struct slot *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* The leader of event i's group, or -1 when i is to lead. */
static int find_leader(const struct counter_set *set, const struct target *t, size_t i)
{
	const int group = set->events[i]->group;
	for (size_t j = 0; group >= 0 && j < i; j++)
		if (set->events[j]->group == group && t->slots[SLOTS * j].fd >= 0)
			return t->slots[SLOTS * j].leader;
	return -1;
}

static int open_event(struct counter_set *set, struct target *t, size_t i, struct tare_why *why)
{
	const struct tare_event *const e = set->events[i];
	if (!has_first(e))
		return 0;
	if (e->base.precise_asked)
		return why_set(why, TARE_E_INVALID,
			       "%s: modifier p is for sampling, not for counting", e->name);
	const int s = (int)(SLOTS * i);
	int err = open_slot(set, t, s, find_leader(set, t, i), &e->base, why);
	/* A pair must be on counters together, or its difference means nothing. */
	if (!err && has_pair(e))
		err = open_slot(set, t, s + PAIR, t->slots[s].leader, &e->minus, why);
	const struct tare_encoding faults = faults_of(e);
	if (!err && has_faults(e))
		err = open_slot(set, t, s + FAULTS, -1, &faults, why);
	for (int k = FAULTS; err && k >= BASE; k--)
		close_slot(&t->slots[s + k]);
	return err;
}

static bool is_software(const struct tare_event *e, uint64_t config)
{
	return e->base.type == PERF_TYPE_SOFTWARE && e->base.config == config;
}

/* What the kernel does on its own account: of user mode there is nothing to count, and
 * the 0 would look like a count. */
static bool happens_in_kernel(const struct tare_event *e)
{
	return is_software(e, PERF_COUNT_SW_CONTEXT_SWITCHES) ||
	       is_software(e, PERF_COUNT_SW_CPU_MIGRATIONS) ||
	       is_software(e, PERF_COUNT_SW_CGROUP_SWITCHES);
}

static bool may_fall_back(const struct counter_set *set, size_t i, int err)
{
	const struct tare_event *const e = set->events[i];
	return (err == TARE_E_PARANOID || err == TARE_E_VIRTUAL_KERNEL) && set->o.user_fallback && !e->has_modifier &&
	       !e->base.exclude_kernel && !e->base.exclude_user && !set->user_only[i] &&
	       !happens_in_kernel(e);
}

/* A thread that ended between the listing and the opening is no failure. */
static int open_target(struct counter_set *set, struct target *t)
{
	for (size_t i = 0; i < set->n; i++) {
		struct tare_why why = { 0 };
		int err = open_event(set, t, i, &why);
		if (may_fall_back(set, i, err)) {
			set->user_only[i] = true;
			why = (struct tare_why){ 0 };
			err = open_event(set, t, i, &why);
		}
		if (err == TARE_E_NO_PROCESS)
			return err;
		if (err && !set->why[i].code)
			set->why[i] = why;
	}
	return 0;
}

static int add_target(struct counter_set *set, pid_t tid)
{
	struct target *const more =
		realloc(set->targets, (set->n_targets + 1) * sizeof(*more));
	if (!more)
		return TARE_E_NOMEM;
	set->targets = more;
	struct target *const t = &more[set->n_targets];
	*t = (struct target){ .tid = tid, .slots = calloc(set->n * SLOTS + 1, sizeof(*t->slots)) };
	if (!t->slots)
		return TARE_E_NOMEM;
	for (size_t i = 0; i < set->n * SLOTS; i++)
		t->slots[i].fd = t->slots[i].leader = -1;
	set->n_targets++;
	return 0;
}

static void drop_last_target(struct counter_set *set)
{
	struct target *const t = &set->targets[--set->n_targets];
	for (size_t i = 0; i < set->n * SLOTS; i++)
		close_slot(&t->slots[i]);
	free(t->slots);
}

/* The text of ESRCH is the code's own sentence: once is enough. */
static int no_process(const struct counter_set *set, int err, struct tare_why *why)
{
	if (err != ESRCH)
		return why_errno(why, TARE_E_NO_PROCESS, err, "process %d", (int)set->o.pid);
	why_set(why, TARE_E_NO_PROCESS, "process %d", (int)set->o.pid);
	if (why)
		why->sys_errno = err;
	return TARE_E_NO_PROCESS;
}

static int open_threads(struct counter_set *set, struct tare_why *why)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/proc/%d/task", set->root, (int)set->o.pid);
	DIR *const d = opendir(path);
	if (!d)
		return no_process(set, errno == ENOENT ? ESRCH : errno, why);
	int err = 0;
	for (const struct dirent *e; !err && (e = readdir(d));) {
		const pid_t tid = (pid_t)atoi(e->d_name);
		if (tid <= 0)
			continue;
		err = add_target(set, tid);
		if (!err && open_target(set, &set->targets[set->n_targets - 1]) < 0)
			drop_last_target(set);
	}
	closedir(d);
	if (err)
		return why_set(why, err, "counters");
	if (set->n_targets == 0)
		return no_process(set, ESRCH, why);
	return 0;
}

static int open_all(struct counter_set *set, struct tare_why *why)
{
	if (set->o.all_threads)
		return open_threads(set, why);
	const int err = add_target(set, set->o.pid);
	if (err)
		return why_set(why, err, "counters");
	if (open_target(set, &set->targets[0]) < 0)
		return no_process(set, ESRCH, why);
	return 0;
}

static bool wants_irqs(const struct tare_event *const *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has_irqs(events[i]))
			return true;
	return false;
}

static struct counter_set *new_set(const struct tare_event *const *events, size_t n,
				   const struct counter_set_opts *o)
{
	struct counter_set *const set = calloc(1, sizeof(*set));
	if (!set)
		return NULL;
	set->o = *o;
	set->n = n;
	set->root = strdup(o->root ? o->root : "");
	set->events = calloc(n + 1, sizeof(*set->events));
	set->why = calloc(n + 1, sizeof(*set->why));
	set->user_only = calloc(n + 1, sizeof(*set->user_only));
	if (!set->root || !set->events || !set->why || !set->user_only) {
		counter_set_close(set);
		return NULL;
	}
	memcpy(set->events, events, n * sizeof(*events));
	set->wants_irqs = wants_irqs(events, n);
	set->virtual = perf_is_virtual(set->root);
	return set;
}

int counter_set_open(const struct tare_event *const *events, size_t n,
		     const struct counter_set_opts *o, struct counter_set **out,
		     struct tare_why *why)
{
	*out = NULL;
	struct counter_set *const set = new_set(events, n, o);
	if (!set)
		return why_set(why, TARE_E_NOMEM, "a set of %zu events", n);
	const int err = open_all(set, why);
	if (err) {
		counter_set_close(set);
		return err;
	}
	*out = set;
	if (o->disabled || o->off)
		return 0;
	counter_set_started(set);
	return o->enable_on_exec ? 0 : counter_set_enable(set, why);
}

void counter_set_close(struct counter_set *set)
{
	if (!set)
		return;
	while (set->n_targets)
		drop_last_target(set);
	free(set->targets);
	free(set->events);
	free(set->why);
	free(set->user_only);
	free(set->root);
	free(set);
}

size_t counter_set_opened(const struct counter_set *set)
{
	size_t opened = 0;
	for (size_t i = 0; i < set->n; i++)
		opened += set->why[i].code == 0;
	return opened;
}

const struct tare_why *counter_set_why(const struct counter_set *set, size_t i)
{
	return &set->why[i];
}

bool counter_set_user_only(const struct counter_set *set, size_t i)
{
	/* The kernel ignores the modes (:u, :k) of its clocks: they run in every mode. */
	return set->user_only[i] && !is_software(set->events[i], PERF_COUNT_SW_TASK_CLOCK) &&
	       !is_software(set->events[i], PERF_COUNT_SW_CPU_CLOCK);
}

void counter_set_started(struct counter_set *set)
{
	set->start_ns = counter_now_ns();
	set->stop_ns = 0;
	if (!set->wants_irqs)
		return;
	if (sched_getaffinity(set->o.pid, sizeof(set->cpus), &set->cpus) < 0)
		memset(&set->cpus, 0xff, sizeof(set->cpus));
	set->irqs_start = interrupts_total(set->root, &set->cpus);
}

/* Enabling or disabling a leader does so for its group. */
static int switch_all(struct counter_set *set, unsigned long request, struct tare_why *why)
{
	for (size_t t = 0; t < set->n_targets; t++) {
		for (size_t i = 0; i < set->n * SLOTS; i++) {
			const struct slot *const s = &set->targets[t].slots[i];
			if (s->fd < 0 || s->leader != (int)i)
				continue;
			if (ioctl(s->fd, request, 0) < 0)
				return why_errno(why, TARE_E_IO, errno, "%s",
						 set->events[i / SLOTS]->name);
		}
	}
	return 0;
}

size_t counter_set_leaders(const struct counter_set *set, int *fds, size_t max)
{
	size_t n = 0;
	for (size_t i = 0; set->n_targets && i < set->n * SLOTS; i++) {
		const struct slot *const s = &set->targets[0].slots[i];
		if (s->fd < 0 || s->leader != (int)i)
			continue;
		if (n < max)
			fds[n] = s->fd;
		n++;
	}
	return n;
}

int counter_set_enable(struct counter_set *set, struct tare_why *why)
{
	counter_set_started(set);
	return switch_all(set, PERF_EVENT_IOC_ENABLE, why);
}

int counter_set_disable(struct counter_set *set, struct tare_why *why)
{
	const int err = switch_all(set, PERF_EVENT_IOC_DISABLE, why);
	set->stop_ns = counter_now_ns();
	return err;
}

static void read_group_of(struct target *t, size_t n_slots, int leader)
{
	struct perf_value v[64];
	const unsigned members = group_members(t, n_slots, leader);
	const int status = perf_read_group(t->slots[leader].fd, v, members);
	unsigned k = 0;
	for (size_t i = 0; i < n_slots; i++) {
		struct slot *const s = &t->slots[i];
		if (s->fd < 0 || s->leader != leader)
			continue;
		s->read_status = status;
		if (status == 0)
			s->v = v[k++];
	}
}

static int read_slots(struct counter_set *set, struct target *t)
{
	for (size_t i = 0; i < set->n * SLOTS; i++) {
		struct slot *const s = &t->slots[i];
		if (s->fd < 0)
			continue;
		if (set->o.inherit)
			s->read_status = perf_read(s->fd, &s->v);
		else if (s->leader == (int)i)
			read_group_of(t, set->n * SLOTS, (int)i);
	}
	int err = 0;
	for (size_t i = 0; i < set->n * SLOTS; i++) {
		struct slot *const s = &t->slots[i];
		if (s->fd >= 0 && s->read_status < 0)
			err = TARE_E_IO;
		s->seen_running |= s->fd >= 0 && s->read_status == 0 && s->v.running != 0;
	}
	return err;
}

/* A correction can exceed a tiny count (the two are not read at one instant);
 * a count below nothing is nothing. */
static uint64_t minus(uint64_t base, uint64_t correction)
{
	return base > correction ? base - correction : 0;
}

static void fail_count(struct tare_count *c, enum tare_count_state state, int code)
{
	c->state = state;
	c->code = code;
	c->value = c->raw = 0;
	c->provenance = TARE_PROV_NONE;
}

static void count_clock(const struct counter_set *set, const struct tare_event *e,
			struct tare_count *c)
{
	const uint64_t end = set->stop_ns ? set->stop_ns : counter_now_ns();
	const uint64_t ns = set->start_ns ? end - set->start_ns : 0;
	c->enabled_ns = c->running_ns = ns;
	c->value = c->raw = e->kind == TARE_EVENT_WALL_TIME ? ns : 0;
	c->provenance = e->kind == TARE_EVENT_WALL_TIME ? TARE_PROV_RAW : TARE_PROV_EXACT;
}

static bool is_together(const struct counter_set *set, size_t a, size_t b)
{
	const int group = set->events[a]->group;
	return a == b || set->o.pinned || (group >= 0 && group == set->events[b]->group);
}

size_t counter_set_together(const struct counter_set *set, size_t i)
{
	size_t n = 0;
	for (size_t k = 0; k < set->n; k++)
		n += has_first(set->events[k]) && is_together(set, i, k);
	return n;
}

static int diagnose(struct counter_set *set, const struct target *t, size_t i, const char *name,
		    int free, struct tare_why *why)
{
	const int leader = t->slots[SLOTS * i].leader;
	struct perf_event_attr attr;
	struct perf_ask ask = {
		.name = name,
		.pid = set->o.pid,
		.cpu = -1,
		.group_size = group_members(t, set->n * SLOTS, leader),
		.free = free,
		.pinned = set->o.pinned,
		.shares = !set->o.pinned && counter_set_together(set, i) < set->n &&
			  t->slots[SLOTS * i].v.enabled < TURNS_NS,
		.on_cpu = (unsigned)sched_getcpu(),
	};
	perf_attr_fill(&attr, &set->events[i]->base);
	add_needs(set, t, set->o.pinned ? -1 : leader, &ask.needs);
	return perf_diagnose_unscheduled(&attr, &ask, set_facts(set), why);
}

int counter_set_explain(struct counter_set *set, size_t i, struct tare_why *why)
{
	const char *const event = set->events[i]->name;
	const size_t others = counter_set_together(set, i) - 1;
	char name[160];
	if (others)
		snprintf(name, sizeof(name), "%.80s and %zu more event%s %s", event, others,
			 others == 1 ? "" : "s",
			 set->o.pinned ? "at the same time" : "in its group");
	else
		snprintf(name, sizeof(name), "%.120s", event);
	if (!is_core(set, set->events[i]->base.type))
		return why_set(why, TARE_E_NOT_SCHEDULED, "%s", name);
	return diagnose(set, &set->targets[0], i, name, set_free(set), why);
}

/* A pinned event reads as end of file from the moment it has no counter. If it
 * was never seen with one, there was none to have: too many events, or somebody
 * else's pinned ones. */
static void count_without_counter(struct counter_set *set, const struct target *t,
				  size_t i, struct tare_count *c)
{
	const struct slot *const s = &t->slots[SLOTS * i];
	if (s->seen_running) {
		fail_count(c, TARE_COUNT_STOLEN, TARE_E_STOLEN);
		return;
	}
	fail_count(c, TARE_COUNT_NOT_SCHEDULED,
		   diagnose(set, t, i, set->events[i]->name, PERF_FREE_UNKNOWN, NULL));
}

void counter_set_mark_incomplete(struct tare_count *c)
{
	if (c->state != TARE_COUNT_OK)
		return;
	c->lower_bound = true;
	if (c->provenance == TARE_PROV_EXACT)
		c->provenance = TARE_PROV_INCOMPLETE;
	if (c->value)
		return;
	fail_count(c, TARE_COUNT_NOT_OPENED, TARE_E_NOT_COUNTED);
	c->lower_bound = false;
}

/* What the slots say about event i. Enabled without running is a counter that
 * never came; neither is a task that has not run since the event was enabled. */
static void count_slots(struct counter_set *set, const struct target *t, size_t i,
			struct tare_count *c)
{
	const struct tare_event *const e = set->events[i];
	const struct slot *const s = &t->slots[SLOTS * i];
	if (s->fd < 0) {
		fail_count(c, TARE_COUNT_NOT_OPENED, set->why[i].code);
		return;
	}
	struct scaled v[SLOTS] = { 0 };
	for (int k = BASE; k < SLOTS; k++) {
		if (s[k].fd < 0)
			continue;
		if (s[k].read_status == 1) {
			count_without_counter(set, t, i, c);
			return;
		}
		v[k] = scale_count(s[k].v.value, s[k].v.enabled, s[k].v.running);
	}
	c->enabled_ns = s->v.enabled;
	c->running_ns = s->v.running;
	/* Processes below the counter that ran outside of the virtual PMU are missing in the count:
	 * it reports them as lost (vpmu-read.c). */
	c->uncounted = s->v.lost;
	if (c->uncounted && !s->v.value) {
		fail_count(c, TARE_COUNT_NOT_OPENED, TARE_E_NOT_COUNTED);
		return;
	}
	if (v[BASE].never_ran || v[PAIR].never_ran || v[FAULTS].never_ran) {
		fail_count(c, TARE_COUNT_NOT_SCHEDULED, TARE_E_NOT_SCHEDULED);
		return;
	}
	c->raw = s->v.value;
	c->value = minus(minus(v[BASE].value, v[PAIR].value), v[FAULTS].value);
	const bool scaled = v[BASE].scaled || v[PAIR].scaled || v[FAULTS].scaled;
	const bool core = is_core(set, e->base.type);
	const struct perf_event_attr attr = { .type = e->base.type, .config = e->base.config,
		.exclude_kernel = e->base.exclude_kernel || set->user_only[i] };
	c->provenance = counter_provenance(core ? perf_facts_simulated(set_facts(set), &attr) :
						  PERF_SIM_NO, core,
					   e->kind != TARE_EVENT_PERF, scaled);
	/* A virtual PMU's counts are exact, but its interrupts and faults are not those
	 * of the machine, which is where totals come from. */
	if (e->kind == TARE_EVENT_MINUS_TOTAL && c->provenance == TARE_PROV_EXACT)
		c->provenance = TARE_PROV_CORRECTED;
	if (c->uncounted)
		counter_set_mark_incomplete(c);
}

int counter_set_read_target(struct counter_set *set, size_t target, struct tare_count *counts)
{
	struct target *const t = &set->targets[target];
	const int err = read_slots(set, t);
	for (size_t i = 0; i < set->n; i++) {
		const struct tare_event *const e = set->events[i];
		counts[i] = (struct tare_count){ .event = e->name, .unit = e->unit };
		if (has_first(e))
			count_slots(set, t, i, &counts[i]);
		else
			count_clock(set, e, &counts[i]);
	}
	return err;
}

/* Ran, and was on no counter: what it did is in no sum. */
static bool ran_uncounted(const struct tare_count *c)
{
	return c->state == TARE_COUNT_NOT_SCHEDULED && c->enabled_ns;
}

/* Adds one target's count to the sum. A thread that never ran adds nothing; one that ran
 * without a counter makes the sum a lower bound; one that lost its counter spoils it. */
static void add_count(struct tare_count *sum, const struct tare_count *c)
{
	if (sum->state == TARE_COUNT_STOLEN || c->state == TARE_COUNT_NOT_OPENED)
		return;
	if (c->state == TARE_COUNT_STOLEN || sum->state == TARE_COUNT_NOT_OPENED) {
		*sum = *c;
		return;
	}
	const bool lacks = sum->lower_bound || ran_uncounted(sum) || ran_uncounted(c);
	sum->enabled_ns += c->enabled_ns;
	sum->running_ns += c->running_ns;
	if (c->state == TARE_COUNT_NOT_SCHEDULED) {
		sum->lower_bound = lacks && sum->state == TARE_COUNT_OK;
		return;
	}
	if (sum->state == TARE_COUNT_NOT_SCHEDULED) {
		const uint64_t enabled = sum->enabled_ns, running = sum->running_ns;
		*sum = *c;
		sum->enabled_ns = enabled;
		sum->running_ns = running;
		sum->lower_bound |= lacks;
		return;
	}
	sum->value += c->value;
	sum->raw += c->raw;
	sum->uncounted += c->uncounted;
	sum->lower_bound |= c->lower_bound;
	if (c->provenance == TARE_PROV_SCALED)
		sum->provenance = TARE_PROV_SCALED;
}

static void correct_by_interrupts(struct counter_set *set, struct tare_count *counts)
{
	if (!set->wants_irqs)
		return;
	const uint64_t irqs = interrupts_total(set->root, &set->cpus) - set->irqs_start;
	for (size_t i = 0; i < set->n; i++)
		if (has_irqs(set->events[i]) && counts[i].state == TARE_COUNT_OK)
			counts[i].value = minus(counts[i].value, irqs);
}

int counter_set_read(struct counter_set *set, struct tare_count *counts)
{
	int err = counter_set_read_target(set, 0, counts);
	struct tare_count *const one = set->n_targets > 1 ? calloc(set->n, sizeof(*one)) : NULL;
	if (set->n_targets > 1 && !one)
		return TARE_E_NOMEM;
	for (size_t t = 1; t < set->n_targets; t++) {
		const int e = counter_set_read_target(set, t, one);
		err = err ? err : e;
		for (size_t i = 0; i < set->n; i++)
			if (has_first(set->events[i]))
				add_count(&counts[i], &one[i]);
	}
	free(one);
	for (size_t i = 0; i < set->n; i++)
		if (counts[i].lower_bound)
			counter_set_mark_incomplete(&counts[i]);
	correct_by_interrupts(set, counts);
	return err;
}

size_t counter_set_targets(const struct counter_set *set)
{
	return set->n_targets;
}

pid_t counter_set_tid(const struct counter_set *set, size_t target)
{
	return set->targets[target].tid;
}
