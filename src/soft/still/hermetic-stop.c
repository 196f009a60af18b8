/* Processes of a still world that are stopped, by SIGSTOP or one of the terminal's signals, and go on after SIGCONT. A
 * stopped process is given no turn. Who stops another process waits until it stands still, and then until its
 * parent has been told; who stops itself gives its turn away first, and the next task waits for that. The same holds for
 * going on: the task that lets a process go on waits until that one waits for its turn.
 *
 * So a process is in the same state at the same point of every run, whatever the host takes to stop it. Where a signal
 * comes from outside of the run, or from the kernel's terminal, this is not so: such a process keeps its turn.
 *
 * A task that is traced stops in the middle of its turn, at a signal, a system call or a breakpoint. Its tracer takes the
 * turn, and gives it back with the ptrace call that lets the task go on: the tracer itself goes on when that one
 * stops again, or when it is its turn.
 */
#include "still-room.h"
#include "sys.h"
#include "text.h"

#define OF_TERMINAL (SIG_BIT(SIGTSTP) | SIG_BIT(SIGTTIN) | SIG_BIT(SIGTTOU))

static struct hermetic_shared *H(void)
{
	return hermetic_shared();
}

static bool is_still(char state)
{
	return state == 'T' || state == 't' || state == 'Z' || state == 'X' || !state;
}

/* The signals of the terminal that would stop this process. */
static uint64_t stopping_signals(const struct thread *t)
{
	uint64_t set = 0;
	for (int sig = SIGTSTP; sig <= SIGTTOU; sig++)
		if (t->signal.actions[sig].handler == SIGNAL_DEFAULT)
			set |= SIG_BIT(sig);
	return set;
}

uint64_t stops_held(const struct thread *t)
{
	return H()->terminal_stops ? stopping_signals(t) : 0;
}

/* ---- marking ---- */

static void mark(struct hermetic_task *k)
{
	if (k->state == HT_FREE || k->state >= HT_STOPPED)
		return;
	k->state_before = k->state;
	k->stop_seen = 0;
	k->state = HT_STOPPED;
	H()->stops = 1;
	H()->stopping = 1;
}

static void unmark(struct hermetic_task *k)
{
	uint32_t state = HT_STOPPED;
	__atomic_compare_exchange_n(&k->state, &state, k->state_before, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Is it of a process that kill(to) is for? `to` is the kernel's number. */
static bool is_for(const struct thread *t, const struct hermetic_task *k, int32_t to)
{
	if (k->pid <= 0 || k->tid <= 0)
		return false;
	if (to > 0)
		return k->pid == to || k->tid == to;
	if (to == -1)
		return k->group != own_task(t)->group;
	return sys1(__NR_getpgid, k->pid) == (to ? -(long)to : sys0(__NR_getpgrp));
}

static void mark_all(const struct thread *t, int32_t to)
{
	struct hermetic_shared *const h = H();
	for (uint32_t i = h->first_live; i < h->n_tasks; i++) {
		if (h->tasks[i].state == HT_FREE || h->tasks[i].state >= HT_STOPPED || !is_for(t, &h->tasks[i], to))
			continue;
		for (uint32_t j = h->tasks[i].group; j < h->n_tasks; j++)
			if (h->tasks[j].group == h->tasks[i].group)
				mark(&h->tasks[j]);
	}
}

/* ---- waiting until they stand still, or go on ---- */

/* The kernel shows a task as stopped just before it tells the parent; what is read here waits until it has left the CPU. */
static void await_off_cpu(int32_t tid)
{
	struct line path = { 0 };
	char text[128];
	line_str(&path, "/proc/");
	line_num(&path, (uint64_t)tid, 10);
	line_str(&path, "/syscall");
	path.text[path.len] = '\0';
	const long fd = own_open(AT_FDCWD, path.text, O_CLOEXEC);
	if (fd < 0)
		return;
	sys3(__NR_read, fd, text, sizeof(text));
	sys1(__NR_close, fd);
}

static void nap(void)
{
	static const int64_t little[2] = { 0, 20000 };
	sys2(__NR_nanosleep, little, 0);
}

void stops_await(void)
{
	struct hermetic_shared *const h = H();
	if (!h->stopping)
		return;
	const uint64_t begin = now_ns();
	for (uint32_t i = h->first_live; i < h->n_tasks; i++) {
		struct hermetic_task *const k = &h->tasks[i];
		if (k->stop_seen)
			continue;
		/* (One that does not stop says so itself: the signal was ignored, or came to nothing.) */
		while (__atomic_load_n(&k->state, __ATOMIC_ACQUIRE) == HT_STOPPED && !is_still(task_state(k->tid)) &&
		       now_ns() - begin < LONGEST_WAIT_NS)
			nap();
		if (__atomic_load_n(&k->state, __ATOMIC_ACQUIRE) != HT_STOPPED)
			continue;
		await_off_cpu(k->tid);
		k->stop_seen = 1;
	}
	h->stopping = 0;
	h->progress++;
}

void stops_over(void)
{
	struct hermetic_shared *const h = H();
	const uint64_t begin = now_ns();
	if (!h->stops)
		return;
	for (uint32_t i = h->first_live; i < h->n_tasks; i++) {
		struct hermetic_task *const k = &h->tasks[i];
		if (!k->stop_seen || k->lent || is_still(task_state(k->tid)))
			continue;
		unmark(k);
		k->stop_seen = 0;
		h->progress++;
		/* it tells its parent, and waits for its turn */
		for (char s = 'R'; s != 'S' && s != 'D' && !is_still(s) && now_ns() - begin < LONGEST_WAIT_NS; nap())
			s = task_state(k->tid);
	}
}

void stops_look(struct thread *t)
{
	const struct hermetic_task *const own = own_task(t);
	struct hermetic_shared *const h = H();
	if (__atomic_load_n(&own->state, __ATOMIC_ACQUIRE) != HT_STOPPED)
		return;
	for (uint32_t i = own->group; i < h->n_tasks; i++)
		if (h->tasks[i].group == own->group)
			unmark(&h->tasks[i]);
}

/* ---- stopping ---- */

/* `call` may stop this process: the others go on before it is made. Returns when it is this task's turn again. */
static long stopping(struct thread *t, int32_t to, long nr, const uint64_t *a)
{
	struct hermetic_shared *const h = H();
	uint32_t nobody = 0;
	mark_all(t, E.pid);
	if (to != E.pid)
		mark_all(t, to);
	h->progress++;
	turn_hand_on(t);
	const long ret = syscall_usual(t, nr, a);
	stops_look(t);
	__atomic_compare_exchange_n(&h->running, &nobody, t->hermetic.number + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	turn_wait(t);
	return ret;
}

bool stops_pending(const struct thread *t, uint64_t mask)
{
	uint64_t pending = 0;
	if (!H()->terminal_stops)
		return false;
	sys2(__NR_rt_sigpending, &pending, SIGSET_SIZE);
	return pending & stopping_signals(t) & ~mask;
}

void stops_take(struct thread *t)
{
	const uint64_t open = ~(SYNC_SIGNALS | (stopping_signals(t) & ~t->signal.mask));
	uint64_t was;
	uint32_t nobody = 0;
	mark_all(t, E.pid);
	H()->progress++;
	turn_hand_on(t);
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &open, &was, SIGSET_SIZE);	/* it is stopped here */
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &was, 0, SIGSET_SIZE);
	stops_look(t);
	__atomic_compare_exchange_n(&H()->running, &nobody, t->hermetic.number + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* A signal of the terminal was sent to others. They wait for their turn, and keep it until then; but a new process, or one with
 * several threads, may not have begun to keep signals. */
static void settle(struct thread *t, int32_t to)
{
	struct hermetic_shared *const h = H();
	const uint64_t begin = now_ns();
	for (uint32_t i = h->first_live; i < h->n_tasks; i++) {
		const struct hermetic_task *const k = &h->tasks[i];
		if (k->state == HT_FREE || k->state >= HT_STOPPED || k->group == own_task(t)->group || !is_for(t, k, to))
			continue;
		char s = task_state(k->tid);
		for (; s != 'S' && s != 'D' && !is_still(s) && now_ns() - begin < LONGEST_WAIT_NS; s = task_state(k->tid))
			nap();
		if (s == 'T')
			mark_all(t, k->pid);
	}
	stops_await();
}

long stops_signal(struct thread *t, long nr, const uint64_t *a, int32_t to, int32_t sig)
{
	const uint64_t bit = sig > 0 && sig <= N_SIGNALS ? SIG_BIT(sig) : 0;
	const bool whole = sig == SIGSTOP;
	if (bit & OF_TERMINAL)
		H()->terminal_stops = 1;
	turn_progress();
	if (is_for(t, own_task(t), to) && (whole || bit & stopping_signals(t) & ~t->signal.mask))
		return stopping(t, whole ? to : E.pid, nr, a);
	const long ret = syscall_usual(t, nr, a);
	if (ret == 0 && whole) {
		mark_all(t, to);
		stops_await();
	}
	if (ret == 0 && bit & OF_TERMINAL)
		settle(t, to);
	if (ret == 0 && sig == SIGCONT)
		stops_over();
	return ret;
}

/* A signal that was blocked may stop the process now. */
long stops_mask(struct thread *t, long nr, const uint64_t *a)
{
	return stops_pending(t, 0) ? stopping(t, E.pid, nr, a) : syscall_usual(t, nr, a);
}

/* ---- tracing ---- */

int32_t tracer_of(int32_t tid)
{
	struct line path = { 0 };
	char text[1024];
	uint64_t n = 0;
	line_str(&path, "/proc/");
	line_num(&path, (uint64_t)tid, 10);
	line_str(&path, "/status");
	path.text[path.len] = '\0';
	const long fd = own_open(AT_FDCWD, path.text, O_CLOEXEC);
	const long got = fd < 0 ? 0 : sys3(__NR_read, fd, text, sizeof(text) - 1);
	if (fd >= 0)
		sys1(__NR_close, fd);
	text[got > 0 ? got : 0] = '\0';
	for (const char *p = text; *p; p++)
		if (text_starts(p, "\nTracerPid:\t"))
			text_decimal(p + 12, &n);
	return (int32_t)n;
}

/* (At a stop the kernel tells the tracer before the task has left the CPU.) */
static bool is_traced_still(int32_t tid)
{
	return tid > 0 && task_state(tid) == 't';
}

static void lend(struct thread *t, struct hermetic_task *k)
{
	k->state_before = k->state;
	k->lent = t->hermetic.number + 1;
	k->state = HT_STOPPED;
}

bool trace_borrow(struct thread *t)
{
	struct hermetic_shared *const h = H();
	uint32_t who = __atomic_load_n(&h->running, __ATOMIC_ACQUIRE);
	if (!own_task(t)->traces || !who || who == t->hermetic.number + 1)
		return false;
	struct hermetic_task *const k = hermetic_task(who - 1);
	if (!is_traced_still(k->tid) || tracer_of(k->tid) != t->tid)
		return false;
	await_off_cpu(k->tid);
	if (!__atomic_compare_exchange_n(&h->running, &who, t->hermetic.number + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	lend(t, k);
	return true;
}

static long give_back(struct thread *t, struct hermetic_task *k, const uint64_t *a)
{
	k->lent = 0;
	unmark(k);
	const long ret = turn_return(t, (uint32_t)(k - H()->tasks), a);
	if (ret < 0)
		lend(t, k);
	return ret;
}

static struct hermetic_task *lent_by(const struct thread *t, int32_t tid)
{
	struct hermetic_shared *const h = H();
	for (uint32_t i = h->first_live; i < h->n_tasks; i++)
		if (h->tasks[i].tid == tid && h->tasks[i].lent == t->hermetic.number + 1 && h->tasks[i].state == HT_STOPPED)
			return &h->tasks[i];
	return NULL;
}

static bool resumes(uint64_t request)
{
	switch (request) {
	case PTRACE_CONT:
	case PTRACE_KILL:
	case PTRACE_SINGLESTEP:
	case PTRACE_DETACH:
	case PTRACE_SYSCALL:
	case PTRACE_SYSEMU:
	case PTRACE_SYSEMU_SINGLESTEP:
	case 33:			/* PTRACE_SINGLEBLOCK */
		return true;
	default:
		return false;
	}
}

void trace_over(struct thread *t)
{
	struct hermetic_shared *const h = H();
	for (uint32_t i = h->first_live; h->traces && i < h->n_tasks; i++) {
		struct hermetic_task *const k = &h->tasks[i];
		if (k->lent == t->hermetic.number + 1 && k->state == HT_STOPPED && !is_still(task_state(k->tid)))
			give_back(t, k, NULL);
	}
}

int64_t trace_left(const struct thread *t)
{
	struct hermetic_shared *const h = H();
	for (uint32_t i = h->first_live; h->traces && i < h->n_tasks; i++) {
		struct hermetic_task *const k = &h->tasks[i];
		if (k->lent != t->hermetic.number + 1 || k->state != HT_STOPPED)
			continue;
		k->lent = 0;
		unmark(k);
		return i;
	}
	return -1;
}

/* It stops wherever it is, so that the next wait finds that. */
static void await_traced(int32_t tid)
{
	const uint64_t begin = now_ns();
	while (!is_still(task_state(tid)) && now_ns() - begin < LONGEST_WAIT_NS)
		nap();
	await_off_cpu(tid);
}

/* This task, or any thread of its parent. */
static void note_tracer(const struct thread *t, bool parent)
{
	struct hermetic_shared *const h = H();
	h->traces = 1;
	if (!parent)
		own_task(t)->traces = 1;
	for (uint32_t i = 0; parent && i < h->n_tasks; i++)
		if (h->tasks[i].group + 1 == own_task(t)->parent)
			h->tasks[i].traces = 1;
}

/* A counted task waits in many calls of the engine. To stop at each of them would keep the clock from going on. */
static bool is_waiting(int32_t tid)
{
	const struct hermetic_shared *const h = H();
	for (uint32_t i = h->first_live; i < h->n_tasks; i++) {
		const struct hermetic_task *const k = &h->tasks[i];
		if (k->tid == tid && (k->state == HT_WAITS || (k->state == HT_STOPPED && k->lent && k->state_before == HT_WAITS)))
			return true;
	}
	return false;
}

long trace_syscall(struct thread *t, const uint64_t *a)
{
	if (a[0] == PTRACE_TRACEME || a[0] == PTRACE_ATTACH || a[0] == PTRACE_SEIZE)
		note_tracer(t, a[0] == PTRACE_TRACEME);
	if (a[0] == PTRACE_SYSCALL && is_waiting((int32_t)a[1]))
		return -EPERM;
	struct hermetic_task *const k = resumes(a[0]) ? lent_by(t, (int32_t)a[1]) : NULL;
	const long ret = k ? give_back(t, k, a) : syscall_usual(t, __NR_ptrace, a);
	trace_over(t);
	if (ret == 0 && (a[0] == PTRACE_ATTACH || a[0] == PTRACE_INTERRUPT))
		await_traced((int32_t)a[1]);
	stops_over();
	return ret;
}
