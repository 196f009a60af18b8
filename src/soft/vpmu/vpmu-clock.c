/* What a task's code must count, and what happens at times of its clock.
 *
 * Code adds up only the events that are wanted, and watches the clock only if something must happen
 * at a certain time: these are the modes of translated code (translate.h). A task that opens a
 * counter on another task changes what is wanted of it, and sends it a signal.
 */
#include "vpmu-sampling.h"

#include "sys.h"

/* ---- following what is wanted ---- */

/* The events that code must watch the budgets of. */
static uint32_t watched(const struct vpmu_slot *s)
{
	return s->budgets | (s->ticks ? 1u << SOFT_INSTRUCTIONS : 0);
}

void vpmu_set_budgets(struct thread *t, const struct block_to_run *next)
{
	const struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	uint64_t left = 0;
	if (s->ticks) {
		uint64_t at = s->next_tick;
		if (s->next_move < at)
			at = s->next_move;
		if (s->next_steal < at)
			at = s->next_steal;
		const uint64_t now = vpmu_clock(t->vpmu.slot);
		left = at > now ? at - now : 1;
	}
	sampling_budgets(t, left, next);
}

/* The next block calls vpmu_tick(). Not while the task is in the cache. */
static void use_up_budgets(struct thread *t)
{
	struct vpmu_task_mem *const m = vpmu_mem(t->vpmu.slot);
	for (int k = 0; k < SOFT_EVENTS; k++) {
		count_use_up(m, k);
		m->stops_at[k] = vpmu_sum(t->vpmu.slot, (unsigned)k);
	}
	m->taken_budget = 0;
}

static bool covers(const struct mode *m, uint32_t want, uint32_t budgets)
{
	return !(want & ~m->acc) && !(budgets & ~m->budgets);
}

/* mode.late of a process that sees the flags of its faults: flags are free late in most of its blocks, and in two
 * thirds of these within four instructions. In other processes most blocks ask at their start anyway, and this
 * would only limit more runs before each overflow. */
#define LATE 4

static bool wants_late(const struct mode *m)
{
	return m->budgets && !m->late && cache.precise && !cache.traced;
}

/* The code does not add up an event that is wanted of this task, or could ask late: all code is translated again,
 * when it is needed. Does nothing while a debugger holds another thread in the code. */
static void change_mode(struct thread *t, uint32_t want, uint32_t budgets)
{
	if (!stop_others(t))
		return;
	const struct mode *const now = &cache.modes[cache.mode];
	if (covers(now, want, budgets) && !wants_late(now)) {	/* another thread was faster */
		release_others();
		return;
	}
	if (cache.n_modes + 1 == MAX_MODES)
		die("the virtual PMU changed its mind too often", t->pc);
	cache.modes[++cache.n_modes] = (struct mode){
		.acc = now->acc | want,
		.budgets = now->budgets | budgets,
		.late = cache.precise ? LATE : 0,
		.taken = (now->acc | want) >> SOFT_TAKEN & 1,
		.locked = now->locked,
		.fp = now->fp,
		.serial = now->serial,
	};
	cache_empty();
	cache.mode = cache.n_modes;
	vpmu_lock(t);
	for (uint32_t i = 0; i < E.n_threads; i++)
		if (thread_at(i)->in_use && thread_at(i)->vpmu.slot)
			use_up_budgets(thread_at(i));
	vpmu_unlock();
	release_others();
}

bool vpmu_can_follow(struct thread *t)
{
	const struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	const uint32_t want = __atomic_load_n(&s->want, __ATOMIC_SEQ_CST), budgets = watched(s);
	if (!covers(&cache.modes[cache.mode], want, budgets))
		change_mode(t, want, budgets);
	return covers(&cache.modes[cache.mode], want, budgets);
}

#define RETRY_NS 20000000000ull		/* a try takes long while a debugger holds a thread */

/* The task goes on with code that does not count what is wanted: its events say so. */
static void lose_events(struct thread *t)
{
	vpmu_lock(t);
	for (uint32_t i = vpmu_slot(t->vpmu.slot)->events; i; i = vpmu_event(i)->next)
		vpmu_event(i)->lost |= !vpmu_event(i)->software && vpmu_event(i)->state >= VE_INACTIVE;
	vpmu_unlock();
}

void vpmu_follow(struct thread *t)
{
	struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	static uint64_t retry_at;	/* guarded by nothing: one try more or less */
	/* pairs with vpmu_has_followed(): a task that opens a counter writes `want`, then reads this */
	__atomic_store_n(&s->in_call, 0, __ATOMIC_SEQ_CST);
	const uint32_t want = __atomic_load_n(&s->want, __ATOMIC_SEQ_CST);
	static bool tried;		/* to ask late; a debugger may hold a thread */
	kernel_follow(t);
	if (!covers(&cache.modes[cache.mode], want, watched(s))) {
		tried |= cache.precise;
		const bool waits = now_ns() < retry_at;
		if (waits || !vpmu_can_follow(t)) {
			if (!waits)
				retry_at = now_ns() + RETRY_NS;
			lose_events(t);
			return;
		}
	} else if (wants_late(&cache.modes[cache.mode]) && !tried) {
		tried |= cache.precise;
		change_mode(t, want, watched(s));
	}
	if (__atomic_exchange_n(&s->stale, 0, __ATOMIC_SEQ_CST)) {
		vpmu_lock(t);
		use_up_budgets(t);
		vpmu_unlock();
	}
	__atomic_store_n(&s->follows_budgets, cache.modes[cache.mode].budgets, __ATOMIC_RELAXED);
	__atomic_store_n(&s->follows, cache.modes[cache.mode].acc, __ATOMIC_RELEASE);
}

void vpmu_pauses(struct thread *t)
{
	__atomic_store_n(&vpmu_slot(t->vpmu.slot)->in_call, 1, __ATOMIC_SEQ_CST);
}

bool vpmu_has_followed(const struct vpmu_slot *s)
{
	if (!s->tid || s->ended || __atomic_load_n(&s->in_call, __ATOMIC_SEQ_CST))
		return true;
	const struct mode m = { .acc = __atomic_load_n(&s->follows, __ATOMIC_ACQUIRE),
				.budgets = s->follows_budgets };
	return covers(&m, s->want, watched(s)) && !s->stale && s->is_told == s->wants_told;
}

static long send_kick(const struct vpmu_slot *s)
{
	struct k_siginfo info = { .signo = SIGTRAP, .code = VPMU_KICK };
	return sys4(__NR_rt_tgsigqueueinfo, s->pid, s->tid, SIGTRAP, &info);
}

void vpmu_goes_on(struct thread *t)
{
	struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	__atomic_store_n(&s->in_call, 0, __ATOMIC_SEQ_CST);
	if (!vpmu_has_followed(s))
		send_kick(s);
}

#define KICKS 2000
#define KICK_NS 200000

static void kick(struct thread *t, struct vpmu_slot *s)
{
	static const int64_t nap[2] = { 0, KICK_NS };
	const uint64_t begin = now_ns();
	for (int i = 0; i < (s->deaf ? 1 : KICKS); i++) {
		if (vpmu_has_followed(s))
			return;
		/* on a busy machine the task may have to wait long for a CPU */
		if (i == KICKS - 1 && now_ns() - begin < LONGEST_WAIT_NS && task_wants_cpu(s->tid))
			i = 0;
		const long err = send_kick(s);
		if (err == -ESRCH)
			s->ended = 1;
		if (err < 0)
			return;
		vpmu_unlock();
		sys2(__NR_nanosleep, nap, 0);
		vpmu_lock(t);
	}
	s->deaf = 1;		/* it is stopped, and gets the signal when it goes on */
}

/* Counters were opened or enabled, maybe on other tasks: the code of these must count from now on,
 * not only after their next system call. The lock is dropped during each nap. A task that is about
 * to exec needs the lock, so no signal reaches a new image. */
void vpmu_tell(struct thread *t)
{
	for (uint32_t i = 1; i <= vpmu()->n_slots; i++)
		if (i != t->vpmu.slot && !vpmu_has_followed(vpmu_slot(i)))
			kick(t, vpmu_slot(i));
}

/* ---- the clock ---- */

#define TICK_SLACK 256		/* more than a block: the budget ends at the start of a block */

static bool reached(uint64_t mark, uint64_t now)
{
	return mark <= now + TICK_SLACK;
}

/* The next waiting group gets its turn: the first group goes to the end of the order. */
static void rotate(uint32_t slot)
{
	const uint32_t first = vpmu_next_group(slot, false, 0);
	if (first)
		vpmu_event(first)->order = ++vpmu()->next_order;
}

/* Takes all counters away, if an event has one. */
static void take_counters(uint32_t slot)
{
	struct vpmu_slot *const s = vpmu_slot(slot);
	for (uint32_t i = s->events; i; i = vpmu_event(i)->next)
		if (vpmu_event(i)->state == VE_ACTIVE && vpmu_needs_counter(vpmu_event(i)))
			s->stolen = ~0ull;
}

/* What is due by the clock. True: events are to be scheduled. */
static bool clock_passed(struct thread *t)
{
	struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	const uint64_t now = vpmu_clock(t->vpmu.slot);
	bool changed = false;
	if (reached(s->next_tick, now)) {
		while (reached(s->next_tick, now))
			s->next_tick += VPMU_TICK;
		sampling_tick(t);
		rotate(t->vpmu.slot);
		changed = true;
	}
	if (reached(s->next_move, now)) {
		s->next_move = now + vpmu()->flaws.move_at;
		vpmu_move(t->vpmu.slot);
	}
	if (reached(s->next_steal, now)) {
		s->next_steal = ~0ull;
		take_counters(t->vpmu.slot);
		changed = true;
	}
	return changed;
}

bool vpmu_tick_again(struct thread *t, const struct block_to_run *next)
{
	const struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	return !s->ticks && !__atomic_load_n(&s->stale, __ATOMIC_RELAXED) && budget_again(t, next);
}

void vpmu_tick(struct thread *t, const struct block_to_run *next)
{
	vpmu_lock(t);
	if (vpmu_slot(t->vpmu.slot)->ticks && clock_passed(t))
		vpmu_schedule(t->vpmu.slot);
	vpmu_set_budgets(t, next);
	vpmu_unlock();
}
