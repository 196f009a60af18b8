/* A process that another one traces: what its own engine does. tracer.c has the tracer's part.
 *
 * The engine maps parts of its tables when a thread faults there: T, and the shadows of the stacks.
 * A tracer would see these faults as signals of the program. So before a counted process is
 * traced, because it asks for it (PTRACE_TRACEME) or by another counted process (PTRACE_ATTACH,
 * PTRACE_SEIZE), all of these parts are mapped. Where that is not possible (a limit on address
 * space), the tracer sees the faults.
 *
 * The engine in the tracer sends a signal to the engine in the tracee before it attaches, and waits
 * until the tracee has mapped everything. A process that stops itself does the same, because
 * tracers wait for such a stop; a process that another one has stopped cannot.
 *
 * Steps. When the tracer single-steps the task (soft_record.step), one instruction of the program runs
 * alone, and the task sends itself a SIGTRAP (TRACED_STEPPED), at which the kernel stops it as after a
 * real step. Signals that come before this stop are kept from the tracer, because only this engine knows
 * whether the instruction has retired: a step that is done is told first, and then, or if the
 * instruction has not retired, the signal is sent once more, for the tracer to see. A step that
 * delivers a signal ends before the first instruction of the handler.
 *
 * Execs. The launcher cannot attach to a process that has a tracer. So the tracer attaches when the
 * new image is entered: the task waits for that before its first instruction, and then stops with a
 * SIGTRAP (TRACED_EXECED), which tracer.c shows as the stop of an exec.
 */
#include "guest-room.h"
#include "sys.h"
#include "text.h"

/* Maps the whole shadow of a stack. Its contents are lost, which is allowed (see MAX_RETURNS). */
void traced_thread(struct thread *t)
{
	const long got = sys6(__NR_mmap, gs_of(t), THREAD_SHADOW, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (got != (long)gs_of(t))
		return;
	sys3(__NR_madvise, gs_of(t), THREAD_SHADOW, MADV_NOHUGEPAGE);
	t->shadow.last = gs_of(t);
	t->shadow.common = 0;
}

void traced_code(struct thread *t)
{
	lock_take();
	for (uint32_t i = 0; i < cache.n_regions; i++)
		table_map(cache.regions[i].start, cache.regions[i].end - cache.regions[i].start);
	lock_drop();
}

static void prepare(struct thread *t)
{
	if (cache.traced)
		return;
	cache.traced = true;		/* before a thread is made that must know of it */
	traced_code(t);
	for (uint32_t i = 0; i < E.n_threads; i++)
		if (thread_at(i)->in_use)
			traced_thread(thread_at(i));
}

/* Called where all of the program's state is in struct thread. */
void traced_asked(struct thread *t)
{
	prepare(t);
	__atomic_store_n(&E.shared->records[t->record].traced, TRACED_READY, __ATOMIC_RELEASE);
}

static struct soft_record *own_record(const struct thread *t)
{
	return &E.shared->records[t->record];
}

/* In the signal handler, where the lock may be held: resume() does the rest. */
void traced_heard(struct thread *t, int32_t code)
{
	t->task.trace_asked = true;		/* resume() looks */
	if (code == TRACED_KICK)
		__atomic_store_n(&own_record(t)->traced, TRACED_HEARD, __ATOMIC_RELEASE);
}

/* ---- stops that the task makes for its tracer ---- */

/* Sends itself a signal. The tracer may do anything to counters of the task while it is stopped. */
static void stop_with(struct thread *t, const struct k_siginfo *info)
{
	if (E.vpmu)
		vpmu_pauses(t);
	sys4(__NR_rt_tgsigqueueinfo, sys0(__NR_getpid), sys0(__NR_gettid), info->signo, info);
	if (E.vpmu)
		vpmu_follow(t);
}

static void trap(struct thread *t, int32_t code)
{
	const struct k_siginfo info = { .signo = SIGTRAP, .code = code };
	stop_with(t, &info);
}

/* The tracer saw none of a signal that came to code of the cache. */
static void stop_again(struct thread *t, struct soft_record *r)
{
	const int32_t sig = (int32_t)__atomic_exchange_n(&r->stop_again, 0, __ATOMIC_ACQ_REL);
	if (!sig)
		return;
	if (E.vpmu)
		vpmu_pauses(t);
	sys3(__NR_tgkill, sys0(__NR_getpid), sys0(__NR_gettid), sig);
	if (E.vpmu)
		vpmu_follow(t);
}

void traced_resumes(struct thread *t)
{
	struct soft_record *const r = own_record(t);
	if (r->traced == TRACED_HEARD)
		traced_asked(t);
	stop_again(t, r);
	if (__atomic_exchange_n(&r->code_written, 0, __ATOMIC_ACQ_REL)) {
		lock_take();
		cache_invalidate(0, USER_END);
		lock_drop();
	}
}

/* The tracer's engine ends the step when it sees this stop. Signals that come before it are still kept from the
 * tracer, because they would look as if the instruction had not retired. The kernel drops the SIGTRAP
 * where another one, a kick, is pending: it is sent again. */
#define TELL_TRIES 8

static void tell_step(struct thread *t, struct soft_record *r)
{
	r->step |= STEP_TELLS;
	for (int i = 0; i < TELL_TRIES && r->step & STEP_TELLS; i++)
		trap(t, TRACED_STEPPED);
	if (r->step & STEP_TELLS)	/* there is no tracer any more */
		r->step = 0;
}

void traced_step(struct thread *t)
{
	struct soft_record *const r = own_record(t);
	if (t->traced.step == STEP_RAN && r->step)
		tell_step(t, r);
	t->traced.step = STEP_NONE;
	if (!r->step || t->pending || t->signal.held & ~t->signal.mask)
		return;			/* a signal goes first: traced_suppresses() */
	t->traced.step = STEP_ARMED;
	t->code.single_pc = t->pc;
	t->code.stops = 0;
}

void traced_undone(struct thread *t)
{
	t->traced.step = STEP_NONE;
}

void traced_handler(struct thread *t)
{
	if (own_record(t)->step)
		t->traced.step = STEP_RAN;
}

bool traced_is_unseen(const struct thread *t, const struct k_siginfo *info, uint64_t pc)
{
	const struct soft_record *const r = own_record(t);
	return (r->step && r->step >> STEP_SIGNAL != (uint32_t)info->signo) || (r->watched && !in_engine(pc));
}

void traced_ends(struct thread *t)
{
	struct soft_record *const r = own_record(t);
	if (r->watched)
		r->step = STEP_ENDS;
}

bool traced_suppresses(struct thread *t, const struct k_siginfo *info)
{
	struct soft_record *const r = own_record(t);
	const uint64_t open = ~SYNC_SIGNALS & ~SIG_BIT(info->signo);
	uint64_t mask;
	if ((!r->step && !t->traced.unseen) || t->pending)
		return false;
	t->traced.unseen = false;
	if (r->step >> STEP_SIGNAL == (uint32_t)info->signo) {	/* the tracer's own choice */
		r->step = STEP_WANTED;
		return false;
	}
	t->traced.let_through = false;
	t->traced.showing = (uint8_t)info->signo;
	r->step = STEP_SHOWS | (uint32_t)info->signo << STEP_SIGNAL;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &open, &mask, SIGSET_SIZE);
	stop_with(t, info);
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, SIGSET_SIZE);
	t->traced.showing = 0;
	r->step &= STEP_WANTED;
	return !t->traced.let_through;
}

/* ---- execs ---- */

static bool is_gone(int32_t tid)
{
	const char state = task_state(tid);
	return !state || state == 'Z' || state == 'X';
}

/* Until the tracer has attached. False: it is gone, or cannot. */
static bool await_tracer(struct thread *t)
{
	static const int64_t nap[2] = { 0, 100000000 };
	struct soft_record *const r = own_record(t);
	traced_asked(t);
	sys2(__NR_prctl, PR_SET_PTRACER, r->tracer);
	if (E.vpmu)
		vpmu_pauses(t);
	__atomic_store_n(&r->trace_state, TRACE_AWAITED, __ATOMIC_RELEASE);
	while (r->tracer && __atomic_load_n(&r->trace_state, __ATOMIC_ACQUIRE) == TRACE_AWAITED)
		if (sys4(__NR_futex, &r->trace_state, FUTEX_WAIT, TRACE_AWAITED, nap) == -ETIMEDOUT &&
		    is_gone(r->tracer))
			r->tracer = 0;
	if (E.vpmu)
		vpmu_follow(t);
	return r->tracer;
}

void traced_begin(struct thread *t)
{
	struct soft_record *const r = own_record(t);
	if (r->tracer && await_tracer(t) && r->trace_options & PTRACE_O_TRACEEXEC)
		trap(t, TRACED_EXECED);
}

void traced_release(struct thread *t)
{
	const struct soft_record *const r = own_record(t);
	if (r->tracer && r->trace_state == TRACE_ATTACHED)
		trap(t, TRACED_RELEASE);
}

void traced_again(struct thread *t)
{
	const struct soft_record *const r = own_record(t);
	if (r->tracer && r->trace_state == TRACE_LATER)
		await_tracer(t);
}
