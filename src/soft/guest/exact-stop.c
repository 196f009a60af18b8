/* Exact stops: `tare stat --stop-at` and `--limit`.
 *
 * The rules are in the shared memory (soft_shared.stops). Each task counts for itself: the count of
 * an event is the sum of its accumulator (vpmu-abi.h), begins with 0 in a new thread or process, and
 * goes on through an exec. Code of the process has budgets (vpmu-sampling.h has the idea), so the
 * task comes here right after the instruction that makes the N-th event, or, if that is a system
 * call, before the call is made.
 *
 * A limit is for all tasks of the run together. Its events are in a pool in the shared memory;
 * each task takes a portion, and gives the unused rest back before each of its system calls, in
 * which it may sleep or end. A task that needs more when the pool is empty waits until the others,
 * which run, have given theirs back: only then it is sure that the limit is exceeded. Portions of a
 * task that was killed or stopped from outside never come back; after PATIENCE_NS they are taken
 * for unused.
 *
 * At the end of a limit the task lets the launcher end all other processes first, so that none of
 * them sees its death and goes on: the counts of a run that exceeds a limit repeat.
 */
#include "guest-room.h"
#include "sys.h"
#include "vpmu-abi.h"

#define NEVER (~0ull)
#define PORTION (1 << 20)		/* at most, of a limit */
#define FAR_FROM_LIMIT (8 * PORTION)
#define PATIENCE_NS 2000000000ull

static struct vpmu_task_mem *mem_of(const struct thread *t)
{
	return (void *)((uint64_t)t + THREAD_ACC);
}

static uint64_t total(const struct thread *t, unsigned event)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < VPMU_BANKS; i++)
		sum += mem_of(t)->acc[event][i];
	return sum;
}

static struct soft_stop *rule_at(uint32_t i) { return &E.shared->stops[i]; }

/* ---- limits ---- */

/* False: the pool has changed, and *was is what it is now. */
static bool pool_change(struct soft_pool *p, struct soft_pool *was, struct soft_pool to)
{
	bool done;
	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*p), "+a"(was->left), "+d"(was->taken)
			 : "b"(to.left), "c"(to.taken) : "memory");
	return done;
}

static struct soft_pool pool_read(struct soft_pool *p)
{
	struct soft_pool now = { 0 };
	pool_change(p, &now, now);
	return now;
}

/* The task has used all of its portion, but so much. */
static void give_back(struct thread *t, uint32_t i, uint64_t unused)
{
	struct soft_pool *const p = &rule_at(i)->pool;
	struct soft_pool was = pool_read(p), to;
	do {
		to.left = was.left + (int64_t)unused;
		to.taken = was.taken > t->exact.taken[i] ? was.taken - t->exact.taken[i] : 0;
	} while (!pool_change(p, &was, to));
	t->exact.taken[i] = 0;
}

/* The pool is empty, and other tasks hold portions. Returns the pool when that has changed. */
static struct soft_pool await_others(struct soft_pool *p, struct soft_pool was)
{
	const int64_t nap[2] = { 0, 100000 };
	const uint64_t begin = now_ns();
	for (;;) {
		sys2(__NR_nanosleep, nap, 0);
		const struct soft_pool now = pool_read(p);
		if (now.left != was.left || now.taken != was.taken)
			return now;
		if (now_ns() - begin < PATIENCE_NS)
			continue;
		const struct soft_pool to = { .left = was.left + (int64_t)was.taken };
		struct soft_pool seen = was;
		return pool_change(p, &seen, to) ? to : seen;
	}
}

/* Takes a portion of the limit, which begins at the count exact.at. False: the limit is used up. */
static bool take(struct thread *t, uint32_t i)
{
	struct soft_pool *const p = &rule_at(i)->pool;
	if (t->exact.taken[i])
		give_back(t, i, 0);
	struct soft_pool was = pool_read(p);
	for (;;) {
		if (was.left <= 0 && !was.taken)
			return false;
		if (was.left <= 0) {
			was = await_others(p, was);
			continue;
		}
		int64_t n = was.left / 8 + 1;
		if (n > PORTION)
			n = PORTION;
		const struct soft_pool to = { was.left - n, was.taken + (uint64_t)n };
		if (!pool_change(p, &was, to))
			continue;
		t->exact.taken[i] = (uint64_t)n;
		t->exact.at[i] += (uint64_t)n;
		return true;
	}
}

/* What the task has not used of its portion. */
static uint64_t unused_of(const struct thread *t, uint32_t i)
{
	return t->exact.at[i] - 1 - total(t, rule_at(i)->event);
}

static void return_portion(struct thread *t, uint32_t i)
{
	const uint64_t unused = unused_of(t, i);
	give_back(t, i, unused);
	t->exact.at[i] -= unused;
}

/* The end of a portion is an exact stop, which costs more than the ticks on the way there. So while the
 * limit is far away, a task takes its next portion before the end of this one. */
static void renew(struct thread *t, uint32_t i)
{
	if (unused_of(t, i) >= PORTION / 4 || pool_read(&rule_at(i)->pool).left < FAR_FROM_LIMIT)
		return;
	return_portion(t, i);
	take(t, i);
}

/* The task gives everything back that it has not used. Its next block asks. */
static void give_all_back(struct thread *t)
{
	for (uint32_t i = 0; i < E.shared->n_stops; i++) {
		const struct soft_stop *const r = rule_at(i);
		if (r->then != THEN_OVER || !t->exact.taken[i])
			continue;
		return_portion(t, i);
		count_use_up(mem_of(t), r->event);
		if (r->event == SOFT_TAKEN)
			mem_of(t)->taken_budget = 0;
	}
}

/* ---- stops ---- */

static void describe(struct thread *t, uint32_t rule, int64_t call, struct soft_stopped *s)
{
	*s = (struct soft_stopped){
		.rule = rule,
		.several = !thread_is_last(t),
		.count = total(t, rule_at(rule)->event),
		.last_pc = t->code.last_pc,
		.pc = t->pc,
		.rflags = t->rflags,
		.gs_base = t->app_gs,
		.mask = t->signal.mask,
		.call = call,
	};
	for (int i = 0; i < 16; i++)
		s->regs[i] = t->regs[i];
	sys2(__NR_arch_prctl, ARCH_GET_FS, &s->fs_base);
}

/* Ends the run. If the launcher is gone, this process ends alone. */
static void end_all(struct thread *t, uint32_t rule, int64_t call) __attribute__((noreturn));
static void end_all(struct thread *t, uint32_t rule, int64_t call)
{
	struct soft_stopped s;
	uint32_t none = 0;
	describe(t, rule, call, &s);
	__atomic_compare_exchange_n(&E.shared->over, &none, rule + 1, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	if (!t->is_vfork)
		lock_take();		/* and keep it: no other thread may fold the counts again */
	count_fold_all(REC_KILLED_BY_SIGNAL);
	ask_launcher(t, REQ_OVER, &s);
	for (;;)
		sys2(__NR_kill, sys0(__NR_getpid), SIGKILL);
}

static void raise_signal(struct thread *t, int sig)
{
	struct k_siginfo info = { .signo = sig, .code = SI_QUEUE };
	const int32_t from[2] = { (int32_t)sys0(__NR_getpid), (int32_t)sys0(__NR_getuid) };
	if (sig == SIGKILL)
		signal_fatal(t, sig);
	__builtin_memcpy(info.rest, from, sizeof(from));
	sys4(__NR_rt_tgsigqueueinfo, from[0], sys0(__NR_gettid), sig, &info);
}

/* The process leaves the engine: what the kernel has of it becomes the program's own, and the
 * launcher lets it go on at the program's address, with the program's registers. A system call that
 * was about to be made is then made natively. */
static void hand_over(struct thread *t, struct soft_stopped *s)
{
	if (s->call >= 0)
		s->pc = t->code.last_pc;
	record_state(t, REC_HANDED);
	pages_unguard(t, 0, USER_END);
	signals_hand_back(t);
	sys2(__NR_prctl, PR_SET_PTRACER, -1);	/* any debugger */
	ask_launcher(t, REQ_HANDED, s);
	refuse("the launcher could not hand the process over to a debugger");
}

static void ask(struct thread *t, uint32_t rule, int64_t call)
{
	struct soft_stopped s;
	describe(t, rule, call, &s);
	if (!t->is_vfork)
		lock_take();
	count_fold(t);			/* the record has the counts at the stop */
	if (!t->is_vfork)
		lock_drop();
	s.way = E.shared->records[t->record].way;
	const uint32_t answer = ask_launcher(t, REQ_STOP, &s);
	if (answer == REPLY_END)
		end_all(t, rule, call);
	if (answer == REPLY_HAND_OVER)
		hand_over(t, &s);
}

static void stop_here(struct thread *t, uint32_t i, int64_t call)
{
	struct soft_stop *const r = rule_at(i);
	t->exact.at[i] = r->every ? t->exact.at[i] + r->n : NEVER;
	__atomic_fetch_add(&r->hits, 1, __ATOMIC_RELAXED);
	if (r->then == THEN_SIGNAL)
		raise_signal(t, r->signal);
	else if (r->then == THEN_ASK)
		ask(t, i, call);
}

/* The task is at t->pc, and thread.code.last_pc is the instruction before. */
static void stops_reached(struct thread *t, int64_t call)
{
	for (uint32_t i = 0; i < E.shared->n_stops; i++) {
		const struct soft_stop *const r = rule_at(i);
		if (total(t, r->event) < t->exact.at[i])
			continue;
		if (r->then != THEN_OVER)
			stop_here(t, i, call);
		else if (!take(t, i))
			end_all(t, i, call);
	}
	if (E.hermetic)
		hermetic_reached(t, total(t, SOFT_INSTRUCTIONS));
}

static void set_budgets(struct thread *t, const struct block_to_run *next)
{
	const uint32_t kinds = cache.modes[cache.mode].budgets;
	uint64_t left[SOFT_EVENTS];
	for (unsigned k = 0; k < SOFT_EVENTS; k++)
		left[k] = BUDGET_NEVER;
	for (uint32_t i = 0; i < E.shared->n_stops; i++) {
		const struct soft_stop *const r = rule_at(i);
		const uint64_t now = total(t, r->event), at = t->exact.at[i];
		const uint64_t n = at > now ? at - now : 1;
		if (n < left[r->event])
			left[r->event] = n;
	}
	if (E.hermetic) {
		const uint64_t n = hermetic_left(t, total(t, SOFT_INSTRUCTIONS));
		if (n < left[SOFT_INSTRUCTIONS])
			left[SOFT_INSTRUCTIONS] = n;
	}
	t->code.stops = 0;
	for (unsigned k = 0; k < SOFT_EVENTS; k++)
		if (kinds >> k & 1)
			budget_set(t, k, left[k], next);
}

void exact_tick(struct thread *t, const struct block_to_run *next)
{
	for (uint32_t i = 0; i < E.shared->n_stops; i++) {
		const struct soft_stop *const r = rule_at(i);
		if (r->then != THEN_OVER)
			continue;
		if (t->exact.taken[i])
			renew(t, i);
		else if (pool_read(&rule_at(i)->pool).left > 0)	/* after a system call it has none */
			take(t, i);
	}
	set_budgets(t, next);
}

void exact_stepped(struct thread *t)
{
	if (t->code.single_pc == t->pc)
		return;			/* the run has not begun */
	t->vpmu.stepping = false;
	t->code.single_pc = 0;
	stops_reached(t, -1);
	set_budgets(t, NULL);
}

void exact_call(struct thread *t, long nr)
{
	if (t->vpmu.stepping)
		stops_reached(t, nr);
	give_all_back(t);
}

void exact_ended(struct thread *t)
{
	give_all_back(t);
}

/* ---- tasks ---- */

static bool is_of_other(const struct thread *t, const struct soft_stop *r)
{
	return r->branch && r->branch != E.shared->records[t->record].branch;
}

/* The counts of the task are `before`, or all 0. */
static void begin(struct thread *t, const uint64_t *before)
{
	const bool left_out = E.shared->flags & SOFT_FLAG_NO_INHERIT &&
			      E.shared->records[t->record].parent;
	struct vpmu_task_mem *const m = mem_of(t);
	for (unsigned k = 0; k < SOFT_EVENTS; k++) {
		for (unsigned i = 0; i < VPMU_BANKS; i++)
			m->acc[k][i] = 0;
		m->acc[k][0] = before ? before[k] : 0;
	}
	for (uint32_t i = 0; i < E.shared->n_stops; i++) {
		const struct soft_stop *const r = rule_at(i);
		const uint64_t now = total(t, r->event);
		t->exact.taken[i] = 0;
		t->exact.at[i] = left_out || is_of_other(t, r) ? NEVER : r->then == THEN_OVER ? now + 1 :
				 now < r->first ? r->first :
				 r->every ? r->first + ((now - r->first) / r->n + 1) * r->n : NEVER;
	}
	t->vpmu.stepping = false;
	t->code.single_pc = 0;
	if (E.hermetic)
		hermetic_counts_from(t, total(t, SOFT_INSTRUCTIONS));
	set_budgets(t, NULL);
}

/* With stops that follow each other closely, blocks ask at their start: what is saved by asking late
 * would be lost by the runs before each stop. */
#define FAR 10000000

static void add_mode(uint32_t events, bool late)
{
	E.stops = true;
	cache.modes[++cache.n_modes] = (struct mode){
		.acc = events, .cells = true, .budgets = events, .late = late ? BUDGET_LATE : 0,
		.taken = events >> SOFT_TAKEN & 1,
	};
	cache.mode = cache.n_modes;
}

void exact_start(struct thread *t)
{
	uint32_t events = E.hermetic ? 1u << SOFT_INSTRUCTIONS : 0;
	bool late = true;
	for (uint32_t i = 0; i < E.shared->n_stops; i++) {
		events |= 1u << rule_at(i)->event;
		late &= !rule_at(i)->every || rule_at(i)->n >= FAR;
	}
	add_mode(events, late);
	zone_map((uint64_t)mem_of(t), VPMU_TASK_SIZE);	/* (other threads have it mapped) */
	begin(t, t->record ? E.shared->records[t->record].before : NULL);
}

void exact_begin(struct thread *t)
{
	begin(t, NULL);
}

/* ---- for a still world ---- */

bool exact_instructions(const struct thread *t, uint64_t *n)
{
	if (!E.stops)
		return false;
	*n = total(t, SOFT_INSTRUCTIONS);
	return true;
}

/* Only a process with one thread comes here without budgets. */
bool exact_wanted(struct thread *t)
{
	if (E.stops) {
		set_budgets(t, NULL);
		return true;
	}
	if (E.vpmu || !cache_flush(t))
		return false;
	const uint64_t before[SOFT_EVENTS] = { [SOFT_INSTRUCTIONS] = count_instructions(t) };
	add_mode(1u << SOFT_INSTRUCTIONS, true);
	zone_try_map((uint64_t)mem_of(t), VPMU_TASK_SIZE);	/* (there, if it was a thread that forked) */
	hermetic_settle(t);
	begin(t, before);
	return true;
}
