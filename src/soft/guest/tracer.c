/* A process that traces another one of the run: what the tracer's engine does. traced.c has the tracee's
 * part.
 *
 * Between the two engines stands the kernel's own ptrace: its stops, its waits, its signals. The
 * tracer's engine changes three things.
 *
 * Steps. PTRACE_SINGLESTEP would step the engine of the tracee. Instead the tracee is asked to run one
 * instruction of the program (soft_record.step), and continues. Until it says that the step is done,
 * its stops are none that the tracer should see: a wait lets it go on, with its signal.
 *
 * Execs. What a process traces runs natively from its exec on, because the launcher, which enters the
 * new image, cannot attach to it. A tracer that has opened a counter on the tracee that its exec enables
 * (enable_on_exec) wants to count the new image. So its PTRACE_SEIZE is kept: the tracer really attaches
 * when the new image has been entered, or when it wants something else of the tracee. Before a
 * further exec the tracee asks to be detached for it.
 *
 * Stops. A signal may stop the task in the cache, where its registers are not the program's. The tracer is shown
 * no such stop: the task goes on, and stops once more in C, where ptrace.c reads and changes the program's
 * registers. Signals that engines send each other are not shown.
 */
#include "guest-room.h"
#include "procfs.h"
#include "sys.h"
#include "text.h"

#define WAIT_ROUNDS 200			/* of half a millisecond, in which the tracee wants no CPU */

/* ---- before attaching ---- */

/* A stopped task would take the signal when its tracer lets it go on, and the tracer would see
 * it. */
static bool is_stopped(int32_t tid)
{
	const char state = task_state(tid);
	return state == 'T' || state == 't' || !state;
}

static void ask(int32_t tid)
{
	struct soft_record *const r = record_find(tid);
	const struct k_siginfo info = { .signo = SIGTRAP, .code = TRACED_KICK };
	uint32_t state = TRACED_HEARD;	/* a signal is sent only when the one before was taken */
	if (!r)
		return;
	if (__atomic_load_n(&r->traced, __ATOMIC_ACQUIRE) == TRACED_READY)
		return;
	const uint64_t begin = now_ns();
	for (int i = 0; i < WAIT_ROUNDS && now_ns() - begin < LONGEST_WAIT_NS; i += !task_wants_cpu(tid)) {
		const int64_t half_ms[2] = { 0, 500000 };
		if (state == TRACED_HEARD) {
			__atomic_store_n(&r->traced, 0, __ATOMIC_RELEASE);
			if (is_stopped(tid) ||
			    sys4(__NR_rt_tgsigqueueinfo, r->pid, tid, SIGTRAP, &info) < 0)
				return;
		}
		sys2(__NR_nanosleep, half_ms, 0);
		state = __atomic_load_n(&r->traced, __ATOMIC_ACQUIRE);
		if (state == TRACED_READY)
			return;
	}
}

/* ---- attaching later ---- */

static long attach(struct thread *t, struct soft_record *r)
{
	const uint64_t a[6] = { PTRACE_SEIZE, (uint32_t)r->tid, 0, r->trace_options };
	const long ret = gate(t, __NR_ptrace, a);
	if (ret < 0)
		r->tracer = 0;
	__atomic_store_n(&r->trace_state, TRACE_ATTACHED, __ATOMIC_RELEASE);
	sys3(__NR_futex, &r->trace_state, FUTEX_WAKE, 1);
	return ret;
}

static bool remember(struct thread *t, int32_t tid)
{
	for (uint32_t i = 0; i < MAX_TRACEES; i++) {
		int32_t none = 0;
		if (!__atomic_compare_exchange_n(&guest.tracees[i].tracer, &none, t->tid, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		guest.tracees[i].tid = tid;
		return true;
	}
	return false;
}

/* The record of a task that was made a moment ago. */
static struct soft_record *record_of_new(int32_t tid)
{
	static const int64_t nap[2] = { 0, 500000 };
	const uint64_t begin = now_ns();
	struct soft_record *r;
	while (!(r = record_find(tid)) && now_ns() - begin < LONGEST_WAIT_NS && !is_stopped(tid))
		sys2(__NR_nanosleep, nap, 0);
	return r;
}

/* True: the tracer attaches when the task has execed. */
static bool keep_for_exec(struct thread *t, const uint64_t *a)
{
	const int32_t tid = (int32_t)a[1];
	if (!E.vpmu || !(a[3] & PTRACE_O_TRACEEXEC) || !vpmu_awaits_exec(t, tid))
		return false;
	struct soft_record *const r = record_of_new(tid);
	if (!r || r->tracer || r->pid != tid || !remember(t, tid))
		return false;
	r->trace_options = (uint32_t)a[3];
	__atomic_store_n(&r->trace_state, TRACE_LATER, __ATOMIC_RELAXED);
	__atomic_store_n(&r->tracer, t->tid, __ATOMIC_RELEASE);
	return true;
}

/* Attaches to those that wait for it. True: there are others that will. */
static bool attach_awaited(struct thread *t)
{
	bool others = false;
	for (uint32_t i = 0; i < MAX_TRACEES; i++) {
		if (guest.tracees[i].tracer != t->tid)
			continue;
		const int32_t tid = guest.tracees[i].tid;
		struct soft_record *const r = record_find(tid);
		const bool awaited = r && r->tracer == t->tid &&
				     __atomic_load_n(&r->trace_state, __ATOMIC_ACQUIRE) == TRACE_AWAITED;
		const char state = awaited ? 'R' : task_state(tid);
		if (awaited)
			attach(t, r);
		if (awaited || !state || state == 'Z' || state == 'X')
			__atomic_store_n(&guest.tracees[i].tracer, 0, __ATOMIC_RELAXED);
		else
			others = true;
	}
	return others;
}

/* The tracer wants something of the task before its exec. */
static void attach_now(struct thread *t, struct soft_record *r)
{
	for (uint32_t i = 0; i < MAX_TRACEES; i++)
		if (guest.tracees[i].tracer == t->tid && guest.tracees[i].tid == r->tid)
			__atomic_store_n(&guest.tracees[i].tracer, 0, __ATOMIC_RELAXED);
	attach(t, r);
}

/* ---- requests ---- */

/* Where the task is; in the engine, if this thread does not trace it. */
static uint64_t real_rip(int32_t tid)
{
	uint64_t rip = 0;
	return sys4(__NR_ptrace, PTRACE_PEEKUSR, tid, 16 * 8, &rip) < 0 ? (uint64_t)gate_begin : rip;
}

static long single_step(struct thread *t, struct soft_record *r, const uint64_t *a)
{
	const struct k_siginfo kick = { .signo = SIGTRAP, .code = TRACED_KICK };
	const uint64_t go_on[6] = { PTRACE_CONT, a[1], 0, a[3] };
	__atomic_store_n(&r->step, STEP_WANTED | (uint32_t)(a[3] & 0xff) << STEP_SIGNAL, __ATOMIC_RELEASE);
	if (!in_engine(real_rip(r->tid)))
		sys4(__NR_rt_tgsigqueueinfo, r->pid, r->tid, SIGTRAP, &kick);
	const long ret = gate(t, __NR_ptrace, go_on);
	if (ret < 0)
		r->step = 0;
	return ret;
}

static long get_siginfo(struct thread *t, const uint64_t *a)
{
	struct k_siginfo info;
	const long ret = gate(t, __NR_ptrace, a);
	if (ret || !copy_guest(&info, (const void *)a[3], sizeof(info)) || info.code != TRACED_STEPPED)
		return ret;
	info.code = TRAP_TRACE;
	return put_guest(a[3], &info, sizeof(info)) ? 0 : -EFAULT;
}

/* Of a counted task. */
static long request(struct thread *t, struct soft_record *r, const uint64_t *a)
{
	long ret;
	switch (a[0]) {
	case PTRACE_ATTACH:
	case PTRACE_SEIZE:
		ret = gate(t, __NR_ptrace, a);
		if (ret == 0)
			r->watched = 1;
		return ret;
	case PTRACE_SINGLESTEP:
		return single_step(t, r, a);
	case PTRACE_DETACH:
		r->watched = 0;
		r->step = 0;
		return gate(t, __NR_ptrace, a);
	case PTRACE_CONT:
	case PTRACE_SYSCALL:
	case PTRACE_SYSEMU:
		r->resumed_by = (uint32_t)a[0];
		r->step = 0;
		return gate(t, __NR_ptrace, a);
	case PTRACE_POKETEXT:
	case PTRACE_POKEDATA:
		ret = gate(t, __NR_ptrace, a);
		if (ret == 0)
			others_code_written(r);
		return ret;
	case PTRACE_GETSIGINFO:
		return get_siginfo(t, a);
	default:
		return ptrace_registers(t, a);
	}
}

long ptrace_syscall(struct thread *t, const uint64_t *a)
{
	const int32_t tid = (int32_t)a[1];
	if (a[0] == PTRACE_TRACEME) {
		traced_asked(t);
		const long ret = gate(t, __NR_ptrace, a);
		if (ret == 0)
			E.shared->records[t->record].watched = 1;
		return ret;
	}
	if (a[0] == PTRACE_SEIZE && keep_for_exec(t, a))
		return 0;
	if (a[0] == PTRACE_ATTACH || a[0] == PTRACE_SEIZE)
		ask(tid);
	struct soft_record *const r = record_find(tid);
	if (r && r->tracer == t->tid && r->trace_state == TRACE_LATER)
		attach_now(t, r);
	return r ? request(t, r, a) : gate(t, __NR_ptrace, a);
}

/* ---- waits ---- */

#define WNOHANG_ 1
#define STOPPED 0x7f			/* the low byte of a status */

/* The launcher is to attach: it does when this process has let go. */
static bool release(struct soft_record *r, struct thread *t)
{
	if (!remember(t, r->tid))
		return false;
	__atomic_store_n(&r->trace_state, TRACE_LATER, __ATOMIC_RELEASE);
	return sys4(__NR_ptrace, PTRACE_DETACH, r->tid, 0, 0) == 0;
}

/* The task goes on as its tracer wanted, with a signal or without (0). True: it does. */
static bool go_on(const struct soft_record *r, int32_t sig)
{
	const uint32_t how = r->step || !r->resumed_by ? PTRACE_CONT : r->resumed_by;
	return sys4(__NR_ptrace, how, r->tid, 0, sig) == 0;
}

/* Comes a signal that the task does not ignore to its engine? */
static bool reaches_engine(const struct soft_record *r, int32_t sig)
{
	struct k_sigaction act;
	if (SYNC_SIGNALS & SIG_BIT(sig))
		return true;
	return sig != SIGSTOP && proc_read_memory((uint64_t)r->tid, &act, &guest.actions[sig], sizeof(act)) &&
	       (act.handler > SIGNAL_IGNORED || (act.handler == SIGNAL_DEFAULT && signal_dies_by_default(sig)));
}

/* A signal came to code of the cache, where the tracer could not see or change the task's registers. The task
 * shows it once more in C: its engine by traced_suppresses(), or, if the signal does not come there, because it was
 * asked to. */
static bool shown_in_c(struct soft_record *r, int32_t sig)
{
	const struct k_siginfo hint = { .signo = SIGTRAP, .code = TRACED_HINT };
	const uint64_t rip = real_rip(r->tid);
	if (rip >= (uint64_t)copy_begin && rip < (uint64_t)copy_end)
		return go_on(r, sig);	/* the engine looks whether memory is there */
	if (in_engine(rip))
		return false;
	r->watched = 1;			/* a task that its tracer's tracee has made */
	if (reaches_engine(r, sig))
		return go_on(r, sig);
	__atomic_store_n(&r->stop_again, (uint32_t)sig, __ATOMIC_RELEASE);
	sys4(__NR_rt_tgsigqueueinfo, r->pid, r->tid, SIGTRAP, &hint);
	return go_on(r, 0);
}

/* The task has shown the signal that ends it, and its counts are folded: its record is no longer one of a running
 * task. */
static bool is_ending(int32_t tid)
{
	const uint32_t n = __atomic_load_n(&E.shared->n_records, __ATOMIC_ACQUIRE);
	for (uint32_t i = 1; i < n && i < SOFT_MAX_RECORDS; i++)
		if (E.shared->records[i].tid == tid && E.shared->records[i].step == STEP_ENDS)
			return true;
	return false;
}

bool tracer_lets_end(int32_t tid)
{
	struct k_siginfo info;
	return is_ending(tid) && sys4(__NR_ptrace, PTRACE_GETSIGINFO, tid, 0, &info) == 0 &&
	       sys4(__NR_ptrace, PTRACE_CONT, tid, 0, info.signo) == 0;
}

/* A stop of a task: its signal, with an event in the second byte. True: the tracer does not see it, and
 * the task goes on. */
static bool hidden(struct thread *t, int32_t tid, int32_t *stop)
{
	struct soft_record *const r = record_find(tid);
	struct k_siginfo info = { 0 };
	if (*stop >> 8 || sys4(__NR_ptrace, PTRACE_GETSIGINFO, tid, 0, &info) < 0)
		return false;		/* none that this thread traces, or stopped with its group */
	if (!r)
		return tracer_lets_end(tid);
	const int32_t code = *stop == SIGTRAP ? info.code : 0;
	if (code == TRACED_RELEASE)
		return release(r, t);
	if (code == TRACED_EXECED)
		*stop |= PTRACE_EVENT_EXEC << 8;
	const bool shows = r->step & STEP_SHOWS && r->step >> STEP_SIGNAL == (uint32_t)*stop;
	if (code == TRACED_STEPPED || shows)
		r->step = 0;		/* from now on it sees all signals again */
	if (code == TRACED_EXECED || code == TRACED_STEPPED || shows)
		return false;
	if (r->step || code == TRACED_KICK || code == TRACED_HINT || code == STOP_KICK || code == VPMU_KICK)
		return go_on(r, *stop);
	return shown_in_c(r, *stop);
}

/* What the kernel's struct siginfo has of a child. */
struct k_sigchild {
	int32_t signo, err, code, pad, pid, uid, status;
};

static bool stop_hidden(struct thread *t, long nr, const uint64_t *a, long ret)
{
	struct k_sigchild info;
	int32_t status;
	if (nr == __NR_wait4) {
		if (ret <= 0 || !copy_guest(&status, (const void *)a[1], 4) || (status & 0xff) != STOPPED)
			return false;
		int32_t stop = status >> 8;
		if (hidden(t, (int32_t)ret, &stop))
			return true;
		if (stop == status >> 8)
			return false;
		status = stop << 8 | STOPPED;
		put_guest(a[1], &status, 4);
		return false;
	}
	if (ret || !copy_guest(&info, (const void *)a[2], sizeof(info)) || !info.pid ||
	    (info.code != CLD_TRAPPED && info.code != CLD_STOPPED))
		return false;
	const int32_t was = info.status;
	if (hidden(t, info.pid, &info.status))
		return true;
	if (info.status != was)
		put_guest(a[2], &info, sizeof(info));
	return false;
}

static bool found_none(long nr, const uint64_t *a, long ret)
{
	struct k_sigchild info;
	if (nr == __NR_wait4 || ret)
		return !ret;
	return copy_guest(&info, (const void *)a[2], sizeof(info)) && !info.pid;
}

long wait_syscall(struct thread *t, long nr, const uint64_t *a)
{
	static const int64_t nap[2] = { 0, 200000 };
	const unsigned options_at = nr == __NR_wait4 ? 2 : 3;
	const bool blocks = !(a[options_at] & WNOHANG_);
	uint64_t look[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	for (;;) {
		/* a task that is still to exec comes by itself: the kernel knows of no tracer */
		const bool others = attach_awaited(t);
		look[options_at] = a[options_at] | (others ? WNOHANG_ : 0);
		const long ret = plain_syscall(t, nr, look);
		if (stop_hidden(t, nr, a, ret))
			continue;
		if (!blocks || !others || !found_none(nr, a, ret))
			return ret;
		if (t->pending)
			return GATE_ABORTED;
		sys2(__NR_nanosleep, nap, 0);
	}
}
