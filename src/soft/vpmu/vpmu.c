/* Tasks, values, and which event is on which counter.
 *
 * An event of the program is a struct vpmu_event in shared memory. While it is on a counter, its
 * value grows by as much as the accumulators of its task. Everything else is done by the task that
 * makes a call, under one lock for the whole run.
 */
#include "vpmu-sampling.h"

#include "sys.h"
#include "text.h"

#include <linux/perf_event.h>

#define ALL_INSTRUCTIONS (1u << SOFT_INSTRUCTIONS)
#define NO_ECX 0x80000000u	/* as minus_ecx of a counter's entry: matches nothing */

/* ---- the lock ---- */

static bool is_gone(uint32_t tid)
{
	return sys2(__NR_tkill, tid, 0) == -ESRCH;
}

void vpmu_lock(struct thread *t)
{
	for (unsigned tries = 1;; tries++) {
		uint32_t owner = 0;
		if (__atomic_compare_exchange_n(&vpmu()->lock, &owner, (uint32_t)t->tid, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		/* an owner that was killed cannot free it */
		if (tries % 256 == 0 && is_gone(owner) &&
		    __atomic_compare_exchange_n(&vpmu()->lock, &owner, (uint32_t)t->tid, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		sys0(__NR_sched_yield);
	}
}

void vpmu_unlock(void)
{
	__atomic_store_n(&vpmu()->lock, 0, __ATOMIC_RELEASE);
}

/* ---- memory ---- */

uint8_t vpmu_mapped[VPMU_MAX_TASKS / VPMU_CHUNK];
uint8_t vpmu_pages_mapped[VPMU_MAX_EVENTS / VPMU_PAGE_CHUNK];

/* Two threads may map the same chunk at the same time: the second mapping replaces the first. */
void vpmu_map_tasks(uint32_t slot)
{
	const uint64_t at = slot / VPMU_CHUNK * VPMU_CHUNK * VPMU_TASK_SIZE;
	zone_map_shared(ZONE_VPMU_TASKS + at, VPMU_TASKS_OFFSET + at, VPMU_CHUNK * VPMU_TASK_SIZE);
	vpmu_mapped[slot / VPMU_CHUNK] = 1;
}

void vpmu_map_pages(uint32_t event)
{
	const uint64_t at = event / VPMU_PAGE_CHUNK * VPMU_PAGE_CHUNK * PAGE;
	zone_map_shared(ZONE_VPMU_PAGES + at, VPMU_PAGES_OFFSET + at, VPMU_PAGE_CHUNK * PAGE);
	vpmu_pages_mapped[event / VPMU_PAGE_CHUNK] = 1;
}

/* ---- values ---- */

uint64_t vpmu_clock(uint32_t slot)
{
	return vpmu_sum(slot, SOFT_INSTRUCTIONS) - vpmu_slot(slot)->zero;
}

/* The clock starts with the task's first event. What the code of the task added up before depends
 * on when another thread of the process had its first event. */
void vpmu_start_clock(uint32_t slot)
{
	struct vpmu_slot *const s = vpmu_slot(slot);
	if (!s->has_clock)
		s->zero = vpmu_sum(slot, SOFT_INSTRUCTIONS);
	s->has_clock = 1;
}

/* What the row would have counted since the task began. */
static uint64_t gross_at(const struct vpmu_event *e, uint64_t clock, bool before)
{
	if (e->is_faults)
		return vpmu_slot(e->slot)->faults;
	if (e->row > VPMU_DECOY_ROW)
		return kernel_gross(e, clock);
	if (e->no_user || e->software)
		return 0;
	if (e->row == VPMU_DECOY_ROW)
		return vpmu_decoy(e->slot, e->code, clock, before);
	return vpmu_row_count(e->slot, e->row, clock, before);
}

static uint64_t gross(const struct vpmu_event *e, uint64_t clock)
{
	return gross_at(e, clock, false);
}

/* A member counts only while its leader may. */
static int state_of(const struct vpmu_event *e)
{
	const int leader = vpmu_event(e->leader)->state;
	return leader < VE_INACTIVE && e->state >= VE_INACTIVE ? VE_OFF : e->state;
}

static bool is_on_bad(const struct vpmu_event *e)
{
	return vpmu()->flaws.bad_counter && e->counter == (int)vpmu()->flaws.bad_counter - 1;
}

/* What its counter has counted since `base`, up to the gross count g. */
static uint64_t counted(const struct vpmu_event *e, uint64_t g)
{
	const struct vpmu_flaws *const f = &vpmu()->flaws;
	const uint64_t d = e->throttled || e->unnoticed ? 0 : g - e->base;
	if (!is_on_bad(e))
		return d;
	const uint64_t wrong = (e->on_bad + d) / f->bad_one_of - e->on_bad / f->bad_one_of;
	return d + wrong * (uint64_t)(int64_t)f->bad_amount;
}

/* What a counter with too few bits has lost of a count. */
static uint64_t carried_away(uint64_t total)
{
	const uint32_t bits = vpmu()->flaws.narrow;
	return bits ? total >> bits << bits : 0;
}

uint64_t vpmu_value(const struct vpmu_event *e)
{
	const uint64_t more =
		e->state == VE_ACTIVE ? counted(e, gross(e, vpmu_clock(e->slot))) : 0;
	return e->value + more - (vpmu_needs_counter(e) ? carried_away(e->total + more) : 0);
}

uint64_t vpmu_total(const struct vpmu_event *e)
{
	return e->total + (e->state == VE_ACTIVE ? counted(e, gross(e, vpmu_clock(e->slot))) : 0);
}

void vpmu_times(const struct vpmu_event *e, uint64_t *enabled, uint64_t *running)
{
	const uint64_t since = vpmu_clock(e->slot) - e->stamp;
	const int state = state_of(e);
	*enabled = e->enabled + (state >= VE_INACTIVE ? since : 0);
	*running = e->running + (state == VE_ACTIVE ? since : 0);
}

static bool on_after_exec(const struct vpmu_event *e)
{
	return e->state >= VE_INACTIVE || e->enable_on_exec;
}

/* A group's member is on while its leader is. */
bool vpmu_lost(const struct vpmu_event *e)
{
	return e->lost || (vpmu_slot(e->slot)->native && !e->software && !e->remove_on_exec &&
			   on_after_exec(e) && on_after_exec(vpmu_event(e->leader)));
}

/* Brings value and times up to now. */
static void update(struct vpmu_event *e)
{
	const uint64_t now = vpmu_clock(e->slot);
	e->lost = vpmu_lost(e);
	vpmu_times(e, &e->enabled, &e->running);
	e->stamp = now;
	if (e->state != VE_ACTIVE)
		return;
	const uint64_t g = gross(e, now), d = counted(e, g);
	e->value += d;
	e->total += d;
	if (is_on_bad(e))
		e->on_bad += g - e->base;
	e->base = g;
}

static void update_all(uint32_t slot)
{
	for (uint32_t i = vpmu_slot(slot)->events; i; i = vpmu_event(i)->next)
		update(vpmu_event(i));
}

/* ---- the page ---- */

static uint64_t mask_of_width(void)
{
	return (1ull << vpmu()->model.width) - 1;
}

unsigned vpmu_width(void)
{
	return vpmu()->model.width;
}

/* The value that the kernel writes into a counter that does not sample: as far below its end as
 * possible, so that it does not overflow. */
static uint64_t first_value(void)
{
	return vpmu()->flaws.wrap ? -1000ull : -(mask_of_width() >> 1);
}

static uint32_t rdpmc_index(int counter)
{
	return counter < VPMU_FIXED_AT ? (uint32_t)counter :
	       RDPMC_FIXED | (uint32_t)(counter - VPMU_FIXED_AT);
}

static uint64_t to_ns(uint64_t instructions)
{
	return (instructions + VPMU_PER_NS - 1) / VPMU_PER_NS;
}

/* The time-stamp counter in nanoseconds, computed as perf_event_open(2) says. With it, the time
 * that a program adds to the page's times is the time since they were written. */
uint64_t vpmu_since_zero(const struct vpmu_shared *v)
{
	uint32_t lo, hi;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	const uint64_t cycles = lo | (uint64_t)hi << 32, low = (1ull << v->time_shift) - 1;
	return (cycles >> v->time_shift) * v->time_mult +
	       ((cycles & low) * v->time_mult >> v->time_shift);
}

void vpmu_show(uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	const struct vpmu_shared *const v = vpmu();
	if (!e->maps)
		return;			/* no process has mapped it */
	struct perf_event_mmap_page *const p = vpmu_page(i);
	const bool on = e->state == VE_ACTIVE;
	__atomic_fetch_add(&p->lock, 1, __ATOMIC_SEQ_CST);
	const bool readable = on && e->user_read;
	p->index = readable ? rdpmc_index(e->counter) + 1 : 0;
	p->offset = (int64_t)(e->value + e->child_value - (readable ? first_value() + e->total : 0));
	p->time_enabled = to_ns(e->enabled + e->child_enabled);
	p->time_running = to_ns(e->running + e->child_running);
	p->cap_bit0_is_deprecated = 1;
	p->cap_user_rdpmc = !!e->user_read;
	p->cap_user_time = v->has_time;
	p->cap_user_time_zero = v->has_time;
	p->pmc_width = (uint16_t)v->model.width;
	p->time_shift = v->time_shift;
	p->time_mult = v->time_mult;
	p->time_offset = v->has_time ? -vpmu_since_zero(v) : 0;
	p->time_zero = v->time_zero;
	p->size = offsetof(struct perf_event_mmap_page, __reserved);
	__atomic_fetch_add(&p->lock, 1, __ATOMIC_SEQ_CST);
}

/* ---- counters ---- */

static struct vpmu_pmc *entry_of_counter(uint32_t slot, int counter)
{
	return &vpmu_mem(slot)->pmcs[counter < VPMU_FIXED_AT ? counter :
				     0x40 + counter - VPMU_FIXED_AT];
}

static void clear_entries(uint32_t slot)
{
	for (int c = 0; c < VPMU_MAX_COUNTERS; c++)
		entry_of_counter(slot, c)->minus_ecx = NO_ECX;
}

static bool may_rdpmc(bool mapped)
{
	return vpmu()->rdpmc == 2 || (vpmu()->rdpmc && mapped);
}

/* Fills the entry in that rdpmc reads. No entry, if only C can compute the value. */
static void set_entry(const struct vpmu_event *e)
{
	const struct vpmu_row *const row = &vpmu()->model.rows[e->row];
	if (!may_rdpmc(vpmu_slot(e->slot)->may_rdpmc))
		return;
	if (e->row >= VPMU_DECOY_ROW || vpmu_is_flawed(e->row) || e->no_user || e->software || e->unnoticed)
		return;
	struct vpmu_pmc *const p = entry_of_counter(e->slot, e->counter);
	/* the sum includes rdpmc itself, which the value must not */
	p->addend = first_value() + e->total - e->base - (row->kind == SOFT_INSTRUCTIONS);
	p->bank = THREAD_ACC + offsetof(struct vpmu_task_mem, acc[row->kind]) - THREAD_AREA;
	__atomic_store_n(&p->minus_ecx, -rdpmc_index(e->counter), __ATOMIC_RELEASE);
}

static uint32_t counters_taken(uint32_t slot)
{
	const struct vpmu_shared *const v = vpmu();
	uint32_t used = (uint32_t)vpmu_slot(slot)->stolen;
	/* The watchdog counts cycles: on Intel the second fixed counter does. */
	if (v->flaws.watchdog)
		used |= 1u << (v->model.fixed >= 2 ? VPMU_FIXED_AT + 1 : v->model.gp - 1);
	return used | v->flaws.held;
}

/* Counters that the row fits on. */
static uint32_t fits_on(const struct vpmu_row *row)
{
	uint32_t fits = row->only_fixed ? 0 : row->counters & ((1u << vpmu()->model.gp) - 1);
	if (row->fixed)
		fits |= 1u << (VPMU_FIXED_AT + row->fixed - 1);
	return fits;
}

/* Events that are to be on counters at the same time. */
struct assignment {
	unsigned n;
	uint32_t taken;			/* by others */
	uint32_t events[VPMU_MAX_COUNTERS], fits[VPMU_MAX_COUNTERS];
	int8_t last[VPMU_MAX_COUNTERS], counter[VPMU_MAX_COUNTERS];
};

static bool add_to(struct assignment *a, uint32_t event, const struct vpmu_row *row, int last)
{
	if (a->n == VPMU_MAX_COUNTERS)
		return false;
	a->events[a->n] = event;
	a->fits[a->n] = fits_on(row);
	a->last[a->n++] = (int8_t)last;
	return true;
}

static bool as_before(struct assignment *a)
{
	uint32_t used = a->taken;
	for (unsigned i = 0; i < a->n; i++) {
		const int c = a->last[i];
		if (c < 0 || !(a->fits[i] & ~used & 1u << c))
			return false;
		a->counter[i] = (int8_t)c;
		used |= 1u << c;
	}
	return true;
}

static int bits_in(uint32_t x)
{
	int n = 0;
	for (; x; x &= x - 1)
		n++;
	return n;
}

/* As the kernel does it: on the counters that they had; else the events that fit on the fewest
 * counters first, each on a fixed counter or on the lowest free one. */
static bool assign(struct assignment *a)
{
	uint32_t used = a->taken;
	if (as_before(a))
		return true;
	for (int weight = 0; weight <= VPMU_MAX_COUNTERS; weight++)
		for (unsigned i = 0; i < a->n; i++) {
			const uint32_t free = a->fits[i] & ~used;
			if (bits_in(a->fits[i]) != weight)
				continue;
			if (!free)
				return false;
			const uint32_t fixed = free >> VPMU_FIXED_AT << VPMU_FIXED_AT;
			a->counter[i] = (int8_t)__builtin_ctz(fixed ? fixed : free);
			used |= 1u << a->counter[i];
		}
	return true;
}

/* Adds the group's events that need a counter; with `on`, only those that are enabled. */
static bool add_group(struct assignment *a, uint32_t slot, uint32_t leader, bool on)
{
	for (uint32_t i = vpmu_slot(slot)->events; i; i = vpmu_event(i)->next) {
		const struct vpmu_event *const e = vpmu_event(i);
		if (e->leader != leader || !vpmu_needs_counter(e) || (on && e->state < VE_INACTIVE))
			continue;
		if (!add_to(a, i, &vpmu()->model.rows[e->row], e->last_counter))
			return false;
	}
	return true;
}

bool vpmu_fits(uint32_t leader, uint32_t extra_row)
{
	struct assignment a = { 0 };
	if (leader && !add_group(&a, vpmu_event(leader)->slot, leader, false))
		return false;
	return add_to(&a, 0, &vpmu()->model.rows[extra_row], -1) && assign(&a);
}

/* Puts the whole group on counters besides the events in `all`. False: not all of it fits. */
static bool place_group(uint32_t slot, uint32_t leader, struct assignment *all)
{
	struct assignment with = *all;
	if (!add_group(&with, slot, leader, true) || !assign(&with))
		return false;
	*all = with;
	for (uint32_t i = vpmu_slot(slot)->events; i; i = vpmu_event(i)->next) {
		struct vpmu_event *const e = vpmu_event(i);
		if (e->leader == leader && e->state >= VE_INACTIVE)
			e->state = VE_ACTIVE;
	}
	return true;
}

uint32_t vpmu_next_group(uint32_t slot, bool pinned, uint64_t after)
{
	uint32_t best = 0;
	for (uint32_t i = vpmu_slot(slot)->events; i; i = vpmu_event(i)->next) {
		const struct vpmu_event *const e = vpmu_event(i);
		if (e->leader == i && e->needs_turn && !e->elsewhere && !!e->pinned == pinned && e->order > after &&
		    e->state >= VE_INACTIVE && (!best || e->order < vpmu_event(best)->order))
			best = i;
	}
	return best;
}

/* Groups of software events need no counter: they count whenever their leader is enabled. */
static void place_software(uint32_t slot)
{
	const uint32_t first = vpmu_slot(slot)->events;
	for (uint32_t i = first; i; i = vpmu_event(i)->next) {
		struct vpmu_event *const e = vpmu_event(i);
		e->needs_turn = e->leader == i && (e->pinned || e->exclusive);
	}
	for (uint32_t i = first; i; i = vpmu_event(i)->next)
		if (vpmu_needs_counter(vpmu_event(i)))
			vpmu_event(vpmu_event(i)->leader)->needs_turn = 1;
	for (uint32_t i = first; i; i = vpmu_event(i)->next) {
		struct vpmu_event *const e = vpmu_event(i);
		const struct vpmu_event *const l = vpmu_event(e->leader);
		if (!l->needs_turn && !e->elsewhere && l->state >= VE_INACTIVE && e->state >= VE_INACTIVE)
			e->state = VE_ACTIVE;
	}
}

/* Pinned groups first, then the others in their order, until one does not fit, as the kernel does
 * it. True: a group has to wait. */
static bool place_all(uint32_t slot)
{
	struct assignment all = { .taken = counters_taken(slot) };
	uint32_t on = 0;
	bool closed = false, waits = false;
	place_software(slot);
	for (int pinned = 1; pinned >= 0; pinned--) {
		uint64_t after = 0;
		uint32_t g;
		while ((g = vpmu_next_group(slot, pinned, after))) {
			struct vpmu_event *const e = vpmu_event(g);
			after = e->order;
			const bool may = !closed && !(e->exclusive && on);
			if (may && place_group(slot, g, &all)) {
				on++;
				closed = e->exclusive;
				continue;
			}
			if (!pinned) {
				waits = true;
				break;		/* all groups after it wait, too */
			}
			e->state = VE_ERROR;
		}
	}
	for (unsigned i = 0; i < all.n; i++)
		vpmu_event(all.events[i])->counter = vpmu_event(all.events[i])->last_counter =
			all.counter[i];
	return waits;
}

/* Does code that counts it watch a budget? */
static bool has_budget(uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	return !e->software && vpmu()->model.rows[e->row].kind < SOFT_EVENTS && e->sampler &&
	       vpmu_sampler(i)->on && !e->elsewhere;
}

static void want_event(struct vpmu_slot *s, uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	const unsigned kind = vpmu()->model.rows[e->row].kind;
	if (e->software)
		return;
	s->want |= ALL_INSTRUCTIONS;	/* the clock */
	if (vpmu_needs_counter(e))
		s->want |= e->row == VPMU_DECOY_ROW ? vpmu_decoy_wanted(e->code) : vpmu_wanted(e->row);
	if (has_budget(i))
		s->budgets |= 1u << kind | (vpmu()->flaws.skid ? ALL_INSTRUCTIONS : 0);
}

/* Events that were just enabled, by another task whose code still runs without stopping for them: what it
 * executes until it stops would be counted, but not sampled. */
static void find_unnoticed(uint32_t slot)
{
	struct vpmu_slot *const s = vpmu_slot(slot);
	for (uint32_t i = s->events; i; i = vpmu_event(i)->next) {
		struct vpmu_event *const e = vpmu_event(i);
		e->unnoticed = e->unnoticed && e->state == VE_ACTIVE && has_budget(i) && !vpmu_has_followed(s);
		s->unnoticed |= e->unnoticed;
	}
}

void vpmu_noticed(uint32_t slot)
{
	struct vpmu_slot *const s = vpmu_slot(slot);
	if (!s->unnoticed)
		return;
	update_all(slot);
	s->unnoticed = 0;
	for (uint32_t i = s->events; i; i = vpmu_event(i)->next)
		vpmu_event(i)->unnoticed = 0;
	vpmu_schedule(slot);
}

void vpmu_schedule(uint32_t slot)
{
	struct vpmu_slot *const s = vpmu_slot(slot);
	const struct vpmu_flaws *const f = &vpmu()->flaws;
	update_all(slot);
	for (uint32_t i = s->events; i; i = vpmu_event(i)->next) {
		struct vpmu_event *const e = vpmu_event(i);
		if (e->state == VE_ACTIVE)
			e->state = VE_INACTIVE;
		e->counter = -1;
	}
	clear_entries(slot);
	s->waits = !s->ended && place_all(slot);
	for (uint32_t i = s->events; i; i = vpmu_event(i)->next) {
		struct vpmu_event *const e = vpmu_event(i);
		if (e->state == VE_ACTIVE)
			e->base = gross(e, vpmu_clock(slot));
	}
	vpmu_want(slot);
	s->wants_told = kernel_wanted(slot);
	s->stale |= s->budgets && sampling_stops_late(slot);
	find_unnoticed(slot);
	for (uint32_t i = s->events; i; i = vpmu_event(i)->next) {
		if (vpmu_event(i)->state == VE_ACTIVE)
			set_entry(vpmu_event(i));
		vpmu_show(i);
	}
	const bool timed = s->waits || f->move_at || f->steal_at || (f->throttle && s->budgets);
	if (timed && s->events && !s->ticks) {
		s->ticks = 1;
		s->stale |= s->budgets != 0;	/* they end with the tick from now on */
		const uint64_t now = vpmu_clock(slot);
		s->next_tick = now + VPMU_TICK;
		s->next_move = f->move_at ? now + f->move_at : ~0ull;
		s->next_steal = f->steal_at ? now + f->steal_at : ~0ull;
	}
}

/* Would all events that count find counters without this one? */
static bool fits_without(uint32_t slot, int counter)
{
	struct assignment a = { .taken = counters_taken(slot) | 1u << counter };
	for (uint32_t i = vpmu_slot(slot)->events; i; i = vpmu_event(i)->next) {
		const struct vpmu_event *const e = vpmu_event(i);
		if (e->state == VE_ACTIVE && vpmu_needs_counter(e) &&
		    !add_to(&a, i, &vpmu()->model.rows[e->row], e->last_counter))
			return false;
	}
	return assign(&a);
}

/* An event that fits on one counter only stays there, and so does each where all counters are in use:
 * what leaves an event without a counter is no move. */
void vpmu_move(uint32_t slot)
{
	struct vpmu_slot *const s = vpmu_slot(slot);
	const uint64_t stolen = s->stolen;
	for (uint32_t i = s->events; i; i = vpmu_event(i)->next) {
		const struct vpmu_event *const e = vpmu_event(i);
		if (e->state != VE_ACTIVE || !vpmu_needs_counter(e) || e->counter >= VPMU_FIXED_AT ||
		    !fits_without(slot, e->counter))
			continue;
		s->stolen |= 1ull << e->counter;
		vpmu_schedule(slot);
		s->stolen = stolen;
		return;
	}
}

/* If other groups wait already, a new group waits after them, and nothing else changes. */
void vpmu_schedule_new(uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	if (vpmu_slot(e->slot)->waits && e->leader == i && !e->pinned && vpmu_needs_counter(e))
		want_event(vpmu_slot(e->slot), i);
	else
		vpmu_schedule(e->slot);
}

/* Sets what the task's code must add up for its events. */
void vpmu_want(uint32_t slot)
{
	for (uint32_t i = vpmu_slot(slot)->events; i; i = vpmu_event(i)->next)
		want_event(vpmu_slot(slot), i);
}

void vpmu_set_state(uint32_t i, bool on)
{
	struct vpmu_event *const e = vpmu_event(i);
	/* all of them: members depend on their leader's state */
	update_all(e->slot);
	if (e->state == VE_EXITED)
		return;
	if (on && e->state < VE_INACTIVE) {
		e->state = VE_INACTIVE;
		e->unnoticed = 1;
		if (e->sampler)
			vpmu_sampler(i)->since = vpmu_clock(e->slot);
	} else if (!on && e->state >= VE_INACTIVE) {
		e->state = VE_OFF;
	}
}

/* ---- events ---- */

/* A thread that execs gets the tid of its process's first thread. */
static bool task_is_gone(const struct vpmu_slot *s)
{
	const int32_t who = s->execing ? s->pid : s->tid;
	return who > 0 && is_gone((uint32_t)who);
}

/* Frees inherited events of tasks that were killed. */
static void reap(void)
{
	for (uint32_t i = 1; i <= vpmu()->n_events; i++) {
		const struct vpmu_event *const e = vpmu_event(i);
		if (e->used && e->parent && task_is_gone(vpmu_slot(e->slot)))
			vpmu_free_event(i);
	}
}

#define COLLECT_FROM 1024

/* Frees events of killed processes: when there are many events, or no room for another one
 * (hard). */
static void collect(bool hard)
{
	struct vpmu_shared *const v = vpmu();
	holds_collect(hard);
	reap();
	v->collect_at = v->n_open < COLLECT_FROM / 2 ? COLLECT_FROM : 2 * v->n_open;
}

static uint32_t place_for_event(void)
{
	struct vpmu_shared *const v = vpmu();
	uint32_t i = v->maybe_free ? v->maybe_free : 1;
	while (i < VPMU_MAX_EVENTS && v->events[i].used)
		i++;
	v->maybe_free = i;
	return i < VPMU_MAX_EVENTS ? i : 0;
}

uint32_t vpmu_new_event(uint32_t slot)
{
	struct vpmu_shared *const v = vpmu();
	if (v->n_open >= (v->collect_at ? v->collect_at : COLLECT_FROM))
		collect(false);
	uint32_t i = place_for_event();
	if (!i) {
		collect(true);
		i = place_for_event();
	}
	if (!i)
		return 0;
	struct vpmu_event *const e = &v->events[i];
	const bool had_page = e->had_page, had_sampler = e->had_sampler;
	mem_zero(e, sizeof(*e));
	if (had_sampler)
		mem_zero(vpmu_sampler(i), sizeof(struct vpmu_sampler));
	if (had_page)
		mem_zero(vpmu_page(i), sizeof(struct perf_event_mmap_page));
	e->used = 1;
	e->slot = slot;
	e->counter = e->last_counter = e->cpu = -1;
	e->leader = i;
	e->state = VE_OFF;
	e->order = ++v->next_order;
	e->id = ++v->next_id;
	e->stamp = vpmu_clock(slot);
	/* at the end: groups are read in the order of opening */
	uint32_t *at = &vpmu_slot(slot)->events;
	while (*at)
		at = &vpmu_event(*at)->next;
	*at = i;
	if (i > v->n_events)
		v->n_events = i;
	v->n_open++;
	return i;
}

static void unlink_event(uint32_t *at, uint32_t i, bool child)
{
	while (*at && *at != i)
		at = child ? &vpmu_event(*at)->next_child : &vpmu_event(*at)->next;
	if (*at)
		*at = child ? vpmu_event(i)->next_child : vpmu_event(i)->next;
}

static bool leads_others(uint32_t i)
{
	for (uint32_t k = vpmu_slot(vpmu_event(i)->slot)->events; k; k = vpmu_event(k)->next)
		if (k != i && vpmu_event(k)->leader == i)
			return true;
	return false;
}

/* Its counts are added to the event that it was inherited from. Members of its group become groups
 * of their own. */
bool vpmu_free_event(uint32_t i)
{
	struct vpmu_event *const e = vpmu_event(i);
	const bool leads = leads_others(i), was_on = e->state == VE_ACTIVE;
	if (leads)
		update_all(e->slot);
	else
		update(e);
	while (e->children)
		vpmu_free_event(e->children);
	if (e->parent) {
		struct vpmu_event *const p = vpmu_event(e->parent);
		p->child_value += vpmu_value(e);
		p->child_enabled += e->enabled;
		p->child_running += e->running;
		p->child_lost += e->lost + e->child_lost;
		unlink_event(&p->children, i, true);
	}
	unlink_event(&vpmu_slot(e->slot)->events, i, false);
	for (uint32_t k = vpmu_slot(e->slot)->events; leads && k; k = vpmu_event(k)->next)
		if (vpmu_event(k)->leader == i)
			vpmu_event(k)->leader = k;
	if (e->sampler)
		sampling_free(i);
	e->used = 0;
	vpmu()->n_open--;
	if (i < vpmu()->maybe_free)
		vpmu()->maybe_free = i;
	return leads || was_on;
}

/* ---- tasks ---- */

static bool reusable(const struct vpmu_slot *s)
{
	return !s->tid || (s->ended && !s->events);
}

static uint32_t slot_find(void)
{
	struct vpmu_shared *const v = vpmu();
	for (uint32_t i = 1; i < VPMU_MAX_TASKS; i++)
		if (reusable(&v->slots[i]))
			return i;
	/* tasks that were killed are not marked as ended yet */
	collect(false);
	for (uint32_t i = 1; i < VPMU_MAX_TASKS; i++) {
		struct vpmu_slot *const s = &v->slots[i];
		s->ended |= task_is_gone(s);
		if (reusable(s))
			return i;
	}
	die("more tasks than the virtual PMU can follow", 0);
}

static uint32_t slot_new(int pid, int tid)
{
	struct vpmu_shared *const v = vpmu();
	const uint32_t i = slot_find();
	if (v->slots[i].has_clock)
		v->past_irqs += vpmu_interrupts(i, vpmu_clock(i));
	v->slots[i] = (struct vpmu_slot){ .pid = pid, .tid = tid, .in_call = 1,
					  .ordinal = ++v->next_ordinal };
	mem_zero(vpmu_mem(i), offsetof(struct vpmu_task_mem, pmcs));
	clear_entries(i);
	if (i > v->n_slots)
		v->n_slots = i;
	return i;
}

/* Maps the slot's memory at THREAD_ACC, where the thread's code uses it. */
static void slot_map(struct thread *t)
{
	const long at = sys6(__NR_mmap, (long)t + (long)THREAD_ACC, VPMU_TASK_SIZE,
			     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			     E.reserved_fd, (long)(VPMU_TASKS_OFFSET + t->vpmu.slot * VPMU_TASK_SIZE));
	if (at < 0)
		no_memory();
}

static uint32_t copy_event(uint32_t from, uint32_t slot)
{
	const uint32_t to = vpmu_new_event(slot);
	if (!to)
		return 0;
	const struct vpmu_event *const f = vpmu_event(from);
	struct vpmu_event *const e = vpmu_event(to);
	const uint32_t root = f->parent ? f->parent : from;
	e->row = f->row;
	e->code = f->code;
	e->parent = root;
	e->copy_of = from;
	e->pinned = f->pinned;
	e->exclusive = f->exclusive;
	e->inherit = f->inherit;
	e->inherit_thread = f->inherit_thread;
	e->inherit_stat = f->inherit_stat;
	e->enable_on_exec = f->enable_on_exec;
	e->remove_on_exec = f->remove_on_exec;
	e->software = f->software;
	e->with_kernel = f->with_kernel;
	e->is_faults = f->is_faults;
	e->cpu = f->cpu;
	e->no_user = f->no_user;
	e->last_counter = f->last_counter;
	e->state = f->state >= VE_INACTIVE ? VE_INACTIVE : VE_OFF;
	e->unbound = f->unbound;
	e->elsewhere = f->elsewhere;
	e->next_child = vpmu_event(root)->children;
	vpmu_event(root)->children = to;
	if (f->sampler)
		sampling_inherit(from, to);
	return to;
}

/* Where there is no place for another event, the child is not counted and the event says so. */
static void inherit(uint32_t parent, uint32_t slot, bool is_thread)
{
	bool full = false;
	for (uint32_t i = vpmu_slot(parent)->events; i; i = vpmu_event(i)->next) {
		const struct vpmu_event *const f = vpmu_event(i);
		if (!f->inherit || (f->inherit_thread && !is_thread) || f->state == VE_EXITED)
			continue;
		const uint32_t e = full ? 0 : copy_event(i, slot);
		full = !e;
		if (full) {
			vpmu_event(f->parent ? f->parent : i)->child_lost += !f->software;
			continue;
		}
		vpmu_slot(slot)->has_clock |= !f->software;
		/* its leader was opened before it, so it has been copied */
		for (uint32_t k = vpmu_slot(slot)->events; k; k = vpmu_event(k)->next)
			if (vpmu_event(k)->copy_of == f->leader)
				vpmu_event(e)->leader = k;
	}
	vpmu_schedule(slot);
}

/* The parent takes the slot for the task that it makes, so that the ordinal (from which its seed is
 * computed) and the inherited events do not depend on when the task runs first. */
void vpmu_making(struct thread *t, bool is_thread)
{
	vpmu_lock(t);
	t->vpmu.child_slot = slot_new(is_thread ? E.pid : 0, SLOT_RESERVED);
	struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	vpmu_slot(t->vpmu.child_slot)->ordinal = s->ordinal * 0x9e3779b1u + ++s->made;
	vpmu_slot(t->vpmu.child_slot)->may_rdpmc = is_thread && s->may_rdpmc;
	vpmu_slot(t->vpmu.child_slot)->home = s->home;
	vpmu_slot(t->vpmu.child_slot)->creator = t->tid;
	inherit(t->vpmu.slot, t->vpmu.child_slot, is_thread);
	if (!is_thread)
		holds_making(t);
	vpmu_unlock();
}

/* Its first steps, in the task itself. */
static void begin(struct thread *t)
{
	struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	vpmu_lock(t);
	s->pid = (int32_t)sys0(__NR_getpid);
	s->tid = t->tid;
	vpmu_fp_begin(t);
	slot_map(t);
	t->vpmu.stepping = false;
	t->vpmu.tells = t->vpmu.n_told = 0;
	s->stale = 1;			/* no budgets are set yet */
	sideband_fork(t, t->vpmu.slot, s->pid, s->tid,
		      s->pid == s->tid ? (int32_t)sys0(__NR_getppid) : s->pid, s->creator, true);
	vpmu_unlock();
	vpmu_follow(t);
}

void vpmu_thread(struct thread *t)
{
	begin(t);
}

void vpmu_forked(struct thread *t)
{
	t->vpmu.slot = t->vpmu.child_slot;
	begin(t);
	vpmu_maps_after_fork();
	vpmu_lock(t);
	holds_forked(t->vpmu.slot);
	vpmu_unlock();
}

static void free_events(uint32_t slot)
{
	while (vpmu_slot(slot)->events)
		vpmu_free_event(vpmu_slot(slot)->events);
}

void vpmu_made(struct thread *t, long ret, bool is_thread)
{
	const uint32_t slot = t->vpmu.child_slot;
	struct vpmu_slot *const s = vpmu_slot(slot);
	vpmu_lock(t);
	/* (the child may have ended, and its slot may be used again) */
	if (!is_thread && (s->tid == SLOT_RESERVED || s->tid == ret))
		holds_made(slot, ret < 0 ? 0 : (int32_t)ret);
	if (ret < 0) {
		free_events(slot);
		s->tid = 0;
	} else if (s->tid == SLOT_RESERVED) {
		s->pid = is_thread ? E.pid : (int32_t)ret;
		s->tid = (int32_t)ret;
	}
	if (ret > 0)
		sideband_fork(t, t->vpmu.slot, is_thread ? E.pid : (int32_t)ret, (int32_t)ret, E.pid,
			      t->tid, false);
	vpmu_unlock();
	if (ret > 0 && is_thread)
		order_child_first(slot, ret);
}

void vpmu_ended(struct thread *t)
{
	struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	order_step_aside(t);
	vpmu_note_usage(t);
	vpmu_lock(t);
	uint32_t next;
	kernel_catch_up(t);
	kernel_stop_telling(t);
	sampling_last(t);
	sideband_exit(t);
	rings_show_of(t->vpmu.slot);
	update_all(t->vpmu.slot);
	for (uint32_t i = s->events; i; i = next) {
		struct vpmu_event *const e = vpmu_event(i);
		next = e->next;
		if (e->parent) {
			vpmu_free_event(i);
			continue;
		}
		if (e->state >= VE_OFF)
			e->state = VE_EXITED;
		e->counter = -1;
		vpmu_show(i);
	}
	s->ended = 1;
	if (t->is_vfork || thread_is_last(t)) {
		if (!t->is_vfork)
			vpmu_maps_before_exec(-1);
		holds_end(t);
	}
	vpmu_unlock();
}

/* ---- exec ---- */

void vpmu_before_exec(struct thread *t, uint64_t native)
{
	order_step_aside(t);
	vpmu_note_usage(t);
	vpmu_lock(t);
	kernel_catch_up(t);
	kernel_stop_telling(t);
	sampling_last(t);
	rings_show_of(t->vpmu.slot);
	if (native)
		sideband_native(t, native);
	vpmu_slot(t->vpmu.slot)->native = native != 0;
	vpmu_slot(t->vpmu.slot)->execing = t->is_vfork ? 2 : 1;
	vpmu_slot(t->vpmu.slot)->pid = (int32_t)sys0(__NR_getpid);
	if (!t->is_vfork)
		vpmu_maps_before_exec(-1);
	holds_before_exec(t);
	vpmu_slot(t->vpmu.slot)->filtered = guest.filtered;
	vpmu_unlock();
	sys0(__NR_gettid);		/* a kick that is under way comes now */
}

void vpmu_exec_failed(struct thread *t)
{
	vpmu_lock(t);
	vpmu_slot(t->vpmu.slot)->execing = vpmu_slot(t->vpmu.slot)->native = 0;
	for (uint32_t i = vpmu_slot(t->vpmu.slot)->events; i; i = vpmu_event(i)->next)
		vpmu_event(i)->lost = 0;
	if (!t->is_vfork)
		vpmu_maps_before_exec(1);
	vpmu_unlock();
}

static uint32_t slot_of_exec(void)
{
	for (uint32_t i = 1; i <= vpmu()->n_slots; i++)
		if (vpmu_slot(i)->execing && vpmu_slot(i)->pid == E.pid && !vpmu_slot(i)->native)
			return i;
	return 0;
}

bool vpmu_awaits_exec(struct thread *t, int32_t tid)
{
	bool found = false;
	vpmu_lock(t);
	for (uint32_t k = 1; k <= vpmu()->n_slots; k++)
		if (vpmu_slot(k)->tid == tid && !vpmu_slot(k)->ended)
			for (uint32_t i = vpmu_slot(k)->events; i; i = vpmu_event(i)->next)
				found |= vpmu_event(i)->enable_on_exec;
	vpmu_unlock();
	return found;
}

static void events_on_exec(uint32_t slot)
{
	uint32_t next;
	for (uint32_t i = vpmu_slot(slot)->events; i; i = next) {
		struct vpmu_event *const e = vpmu_event(i);
		next = e->next;
		if (e->enable_on_exec) {
			e->enable_on_exec = 0;
			e->kernel_on |= e->software;
			vpmu_set_state(i, true);
		}
	}
	for (uint32_t i = vpmu_slot(slot)->events; i; i = next) {
		struct vpmu_event *const e = vpmu_event(i);
		next = e->next;
		if (!e->remove_on_exec)
			continue;
		update(e);
		if (e->parent)
			vpmu_free_event(i);
		else
			e->state = VE_EXITED;
	}
	vpmu_schedule(slot);
}

void vpmu_start(struct thread *t)
{
	E.vpmu = true;
	zone_map_shared(ZONE_VPMU, VPMU_FILE_OFFSET, sizeof(struct vpmu_shared));
	cache.modes[0].locked = vpmu()->flaws.speclock;
	cache.modes[0].fp = vpmu()->flaws.fp;
	cache.modes[0].serial = vpmu()->flaws.early;
	vpmu_lock(t);
	t->vpmu.slot = slot_of_exec();
	if (t->vpmu.slot) {
		struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
		s->execing = 0;
		s->tid = t->tid;
		guest.filtered = s->filtered;
		s->may_rdpmc = 0;
		s->locks_before = s->locks;
		vpmu_note_usage(t);
		events_on_exec(t->vpmu.slot);
	} else {
		t->vpmu.slot = slot_new(E.pid, t->tid);
	}
	vpmu_fp_begin(t);
	slot_map(t);
	vpmu_fds_after_exec();
	holds_after_exec(t->vpmu.slot);
	vpmu_unlock();
	sideband_image(t);
	vpmu_follow(t);
}

/* ---- rdpmc, the long way ---- */

static int counter_of_ecx(uint32_t ecx)
{
	const struct vpmu_model *const m = &vpmu()->model;
	if (ecx < m->gp)
		return (int)ecx;
	if (ecx & RDPMC_FIXED && (ecx & ~RDPMC_FIXED) < m->fixed)
		return VPMU_FIXED_AT + (int)(ecx & ~RDPMC_FIXED);
	return -1;
}

static uint64_t counter_value(struct thread *t, int counter)
{
	for (uint32_t i = vpmu_slot(t->vpmu.slot)->events; i; i = vpmu_event(i)->next) {
		const struct vpmu_event *const e = vpmu_event(i);
		if (e->state != VE_ACTIVE || e->counter != counter)
			continue;
		/* the sums include the rdpmc, which the value must not */
		const uint64_t g = gross_at(e, vpmu_clock(t->vpmu.slot) - 1, true);
		const uint64_t all = e->total + counted(e, g), missed = vpmu_missed(e->slot, e->row);
		const uint64_t total = all - (missed < all ? missed : all);
		return first_value() + total - carried_away(total);
	}
	return 0;
}

void vpmu_rdpmc(struct thread *t)
{
	const int counter = counter_of_ecx((uint32_t)t->regs[RCX]);
	if (counter < 0 || !may_rdpmc(vpmu_readable)) {
		count_add(t, SOFT_INSTRUCTIONS, -1, &cache.modes[cache.mode]);
		signal_raise(t, SIGSEGV, SI_KERNEL, 0, X86_TRAP_GP, 0);
	}
	vpmu_note_usage(t);
	vpmu_lock(t);
	const uint64_t v = counter_value(t, counter) & mask_of_width();
	vpmu_unlock();
	t->regs[RAX] = (uint32_t)v;
	t->regs[RDX] = v >> 32;
}
