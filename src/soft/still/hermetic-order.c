/* Whose turn it is. In the still world one task of the run, thread or process, runs at a time; the others wait
 * for their turn, at a futex in the shared memory. A task gives its turn away
 *
 *	where it would block	calls that may block are made in a form that does not. If such a call has nothing to
 *				give, the task waits, and makes it again when another task has done something.
 *	when its slice is over	after SLICE instructions, in processes of several threads or with shared memory
 *				(exact-stop.c); after MANY_CALLS system calls in all others
 *	when it ends, sleeps, or waits in a loop, with the instruction pause
 *
 * So the order follows from what the tasks do, and a futex, a pipe or a child is the same in every run. If all
 * tasks wait, the clock goes on to the first time that one of them waits for. If none waits for a time, what they
 * wait for comes from outside: then the host's time passes.
 *
 * A wait for a pipe that comes from outside of the run takes no time: the run stands still until there is input,
 * but for a second at most.
 */
#include "still-room.h"
#include "sys.h"
#include "text.h"

#define SLICE 16000000u			/* instructions: a new turn finds the caches cold */
#define MANY_CALLS 1000
#define SLICE_POWERS 19			/* with a schedule: 1 to 2^19 - 1 instructions … */
#define CALL_POWERS 11			/* … and 1 to 2,047 calls */
#define WOULD_BLOCK (-700)		/* beside the results of gate_call() */
#define PIECE 4096			/* a pipe with room has room for this */
#define PATIENCE_MS 1000		/* for input from outside */
#define LOST_NS 100000000		/* after so long a task looks whether the one that runs is still there */
#define TRACED_NS 500000		/* … whether a tracer has stopped it */
#define PAUSE_NS 1000			/* the instruction pause, with a change of tasks */
#define LOOK_SLICES 8			/* after so many turns a process looks whether tare is still there */
#define LOOK_TURNS 100			/* so often, 1 ms apart, all waited: what for? (hermetic-deadlock.c) */
#define IN 1				/* POLLIN, POLLOUT */
#define OUT 4
#define O_NONBLOCK_ 04000

static struct hermetic_shared *H(void)
{
	return hermetic_shared();
}

bool turn_alone(void)
{
	return H()->n_live <= 1;
}

void turn_progress(void)
{
	H()->progress++;
}

/* ---- the turn ---- */

static uint32_t next_random(void)
{
	uint64_t x = E.shared->hermetic.schedule + ++H()->turns * 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)(x >> 33);
}

/* With a schedule, turns of all orders of magnitude are equally frequent: a race of a few instructions is found in
 * threads that run a thousand as well as in those that run a million. */
static uint32_t random_length(uint32_t powers)
{
	const uint32_t power = next_random() % powers;
	return (1u << power) + next_random() % (1u << power);
}

static bool can_go_on(const struct hermetic_task *k)
{
	return k->state == HT_READY ||
	       (k->state == HT_WAITS && (k->woken || k->seen != H()->progress || k->until <= H()->clock));
}

/* The next task that can go on, after that one; -1: there is none. */
static int64_t pick(uint32_t after)
{
	struct hermetic_shared *const h = H();
	uint32_t skip = 0, ready = 0;
	while (h->first_live < h->n_tasks && h->tasks[h->first_live].state >= HT_ENDED)
		h->first_live++;
	const uint32_t first = h->first_live, n = h->n_tasks - first;
	if (E.shared->hermetic.scheduled) {
		for (uint32_t i = first; i < h->n_tasks; i++)
			ready += can_go_on(&h->tasks[i]);
		skip = ready ? next_random() % ready : 0;
	}
	for (uint32_t i = 1; i <= n; i++) {
		const uint32_t k = first + (after - first + i) % n;
		if (can_go_on(&h->tasks[k]) && !skip--)
			return k;
		skip = skip == ~0u ? 0 : skip;
	}
	return -1;
}

void turn_give(struct thread *t, uint32_t to)
{
	struct hermetic_task *const k = hermetic_task(to);
	(void)t;
	__atomic_store_n(&H()->running, to + 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&k->go, 1, __ATOMIC_RELEASE);
	sys3(__NR_futex, &k->go, FUTEX_WAKE, 1);
}

static bool is_gone(const struct hermetic_task *k)
{
	if (sys3(__NR_tgkill, k->pid, k->tid, 0) < 0)
		return true;
	const char state = task_state(k->tid);
	return state == 'Z' || state == 'X' || !state;
}

/* Until all threads of the process have ended. False: the kernel is too old for that. */
static bool await_process(int32_t pid)
{
	const long fd = sys2(__NR_pidfd_open, pid, 0);
	struct { int32_t fd; int16_t events, revents; } p = { (int32_t)fd, IN, 0 };
	if (fd < 0)
		return fd == -ESRCH;
	const long ret = sys3(__NR_poll, &p, 1, (int)(LONGEST_WAIT_NS / 1000000));
	sys1(__NR_close, fd);
	return ret > 0;
}

void turn_killed(int32_t pid)
{
	struct hermetic_shared *const h = H();
	bool known = false;
	for (uint32_t i = h->first_live; i < h->n_tasks; i++)
		known |= h->tasks[i].pid == pid && h->tasks[i].state < HT_ENDING;
	if (!known || !await_process(pid))
		return;
	for (uint32_t i = h->first_live; i < h->n_tasks; i++)
		if (h->tasks[i].pid == pid && h->tasks[i].state != HT_FREE && h->tasks[i].state < HT_ENDING) {
			h->tasks[i].state = HT_ENDED;
			h->n_live--;
		}
	h->progress++;
}

/* A task that dies of a signal stops for its tracer once more, and goes on if that is this task. False: another task has
 * to let it go on. */
static bool traced_can_end(const struct hermetic_task *k)
{
	static const int64_t nap[2] = { 0, 20000 };
	const uint64_t begin = now_ns();
	while (!is_gone(k) && now_ns() - begin < LONGEST_WAIT_NS) {
		if (task_state(k->tid) == 't' && !tracer_lets_end(k->tid))
			return false;
		sys2(__NR_nanosleep, nap, 0);
	}
	return true;
}

/* Waits until a task that ends has done so: what it held is free, and its parent can wait for it. */
static void await_end(void)
{
	static const int64_t nap[2] = { 0, 20000 };
	struct hermetic_shared *const h = H();
	if (!h->ending)
		return;
	struct hermetic_task *const k = hermetic_task(h->ending - 1);
	const bool process = k->tid == k->pid;
	const uint64_t begin = now_ns();
	const bool can_end = !h->traces || traced_can_end(k);
	if (can_end && (!process || !await_process(k->pid)))
		while (!is_gone(k) && now_ns() - begin < LONGEST_WAIT_NS)
			sys2(__NR_nanosleep, nap, 0);
	/* It is seen to be gone before its parent gets SIGCHLD. Both happen under a lock of the kernel that is taken
	 * to look at a process group, so after this call the signal has been sent. */
	sys2(__NR_kill, 0, 0);
	for (uint32_t i = process ? k->group : h->ending - 1; i < h->n_tasks; i++)
		if (h->tasks[i].state == HT_ENDING && (process ? h->tasks[i].group == k->group : &h->tasks[i] == k))
			h->tasks[i].state = HT_ENDED;
	h->ending = 0;
	h->progress++;
	stops_over();			/* a group without a parent goes on */
}

/* The task whose turn it is was killed from outside: another one goes on. */
static void take_over(struct thread *t)
{
	struct hermetic_shared *const h = H();
	uint32_t who = __atomic_load_n(&h->running, __ATOMIC_ACQUIRE);
	if (!who || who == t->hermetic.number + 1)
		return;
	struct hermetic_task *const k = hermetic_task(who - 1);
	if (!k->tid || !is_gone(k))
		return;
	if (!__atomic_compare_exchange_n(&h->running, &who, t->hermetic.number + 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	for (uint32_t i = 0; i < h->n_tasks; i++)
		if (h->tasks[i].tid > 0 && h->tasks[i].group == k->group && h->tasks[i].state < HT_ENDING &&
		    is_gone(&h->tasks[i])) {
			h->tasks[i].state = HT_ENDED;
			h->n_live--;
		}
	hermetic_note_left(HERMETIC_UNORDERED);
	h->progress++;
}

/* The command has ended, and so has the measurement: somebody takes the turn, which nobody has. */
static void go_on_alone(const struct thread *t)
{
	uint32_t nobody = 0;
	if (__atomic_load_n(&E.shared->closed, __ATOMIC_ACQUIRE))
		__atomic_compare_exchange_n(&H()->running, &nobody, t->hermetic.number + 1, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
}

/* May another task have to run before this one blocks or ends? If all others wait, and none for its time, they
 * can wait until then, and the task needs no slices. */
static bool others_want_to_run(const struct thread *t)
{
	const struct hermetic_shared *const h = H();
	for (uint32_t i = h->first_live; i < h->n_tasks; i++) {
		const struct hermetic_task *const k = &h->tasks[i];
		if (i != t->hermetic.number && (k->state == HT_READY || (k->state == HT_WAITS && k->until != NEVER_NS)))
			return true;
	}
	return false;
}

void turn_begin_slice(struct thread *t)
{
	static uint32_t slices;
	uint64_t n;
	t->hermetic.calls = 0;
	t->hermetic.most_calls = E.shared->hermetic.scheduled ? random_length(CALL_POWERS) : MANY_CALLS;
	if (!E.stops && others_want_to_run(t))
		exact_wanted(t);
	if (!exact_instructions(t, &n))
		return;
	if (!turn_alone() && ++slices % LOOK_SLICES == 0)
		deadlock_or_orphaned();
	t->hermetic.slice_end = turn_alone() ? 0 : n + (E.shared->hermetic.scheduled ? random_length(SLICE_POWERS) : SLICE);
	exact_wanted(t);		/* its budget */
}

/* Signals come when it is the task's turn: of two that are the same the kernel keeps one, and others are in its order,
 * however long the task has no CPU. (Where there are several threads, a blocked one would not be chosen.) Returns what
 * was blocked before. */
static uint64_t hold_signals(const struct thread *t)
{
	const uint64_t all = thread_is_last(t) ? ~SYNC_SIGNALS : stops_held(t);
	uint64_t was;
	sys4(__NR_rt_sigprocmask, SIG_BLOCK, &all, &was, SIGSET_SIZE);
	return was;
}

static void await_turn(struct thread *t)
{
	struct hermetic_task *const k = own_task(t);
	const uint32_t own = t->hermetic.number + 1;
	for (;;) {
		const int64_t longest[2] = { 0, k->traces ? TRACED_NS : LOST_NS };
		const uint32_t go = __atomic_load_n(&k->go, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&H()->running, __ATOMIC_ACQUIRE) == own)
			break;
		const long ret = sys4(__NR_futex, &k->go, FUTEX_WAIT, go, longest);
		if (ret == -ETIMEDOUT) {
			if (trace_borrow(t))
				break;
			deadlock_or_orphaned();
			stops_look(t);
			go_on_alone(t);
			take_over(t);
		}
		/* (One from within the run was progress, too.) */
		if (ret == -EINTR && t->pending && k->state == HT_WAITS)
			k->woken = 1;
	}
	await_end();
	stops_await();
}

static void wait_held(struct thread *t, uint64_t mask)
{
	struct hermetic_task *const k = own_task(t);
	await_turn(t);
	while (stops_pending(t, t->signal.mask)) {
		stops_take(t);
		await_turn(t);
	}
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, SIGSET_SIZE);	/* signals that were sent before come now */
	k->state = HT_READY;
	k->woken = 0;
	timers_fire(t);
	turn_begin_slice(t);
}

void turn_wait(struct thread *t)
{
	wait_held(t, hold_signals(t));
}

/* All tasks wait. The clock goes on, or the host's time. */
static void idle(struct thread *t)
{
	static const int64_t nap[2] = { 0, 1000000 };
	struct hermetic_shared *const h = H();
	uint64_t next = NEVER_NS;
	uint32_t outside = 0, for_tasks = 0;
	for (uint32_t i = h->first_live; i < h->n_tasks; i++) {
		const struct hermetic_task *const k = &h->tasks[i];
		if (k->state == HT_NATIVE)
			outside++;
		if (k->state != HT_WAITS)
			continue;
		if (k->outside_fd)
			outside++;
		for_tasks += k->for_tasks;
		if (k->until < next)
			next = k->until;
	}
	struct { int32_t fd; int16_t events, revents; } p = { (int32_t)own_task(t)->outside_fd - 1, IN, 0 };
	if (own_task(t)->outside_fd && sys3(__NR_poll, &p, 1, next == NEVER_NS ? 100 : PATIENCE_MS) > 0) {
		h->progress++;
		return;
	}
	if (own_task(t)->outside_fd && next != NEVER_NS)
		hermetic_note_left(HERMETIC_LATE_INPUT);
	if (next != NEVER_NS) {
		if (next > h->clock)
			h->clock = next;
		return;
	}
	deadlock_notice(outside ? 0 : for_tasks);
	deadlock_or_orphaned();
	sys2(__NR_nanosleep, nap, 0);
	h->progress++;
	h->idle_progress++;
}

void turn_next(struct thread *t)
{
	struct hermetic_task *const k = own_task(t);
	clock_catch_up(t);
	for (;;) {
		const int64_t next = pick(t->hermetic.number);
		if (next >= 0 && next != t->hermetic.number) {
			const uint64_t mask = hold_signals(t);
			turn_give(t, (uint32_t)next);
			wait_held(t, mask);
			return;
		}
		if (next >= 0) {
			k->state = HT_READY;
			k->woken = 0;
			timers_fire(t);
			turn_begin_slice(t);
			return;
		}
		/* one that waits for input from outside looks for it itself */
		idle(t);
		if (t->pending) {
			k->state = HT_READY;
			return;
		}
	}
}

/* A loop that waits for another task would use up its turn. Each time takes time of the run, so that a loop that waits for a
 * task that sleeps is not run millions of times. */
void turn_pause(struct thread *t)
{
	if (turn_alone())
		return;
	H()->clock += PAUSE_NS;
	turn_next(t);
}

long turn_return(struct thread *t, uint32_t to, const uint64_t *a)
{
	const uint64_t mask = hold_signals(t);
	uint32_t who = to + 1;
	clock_catch_up(t);
	turn_give(t, to);		/* (before the call: it may have given it to another one when that returns) */
	const long ret = a ? syscall_usual(t, __NR_ptrace, a) : 0;
	if (ret < 0 && __atomic_compare_exchange_n(&H()->running, &who, t->hermetic.number + 1, false, __ATOMIC_ACQ_REL,
						   __ATOMIC_RELAXED))
		sys4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, SIGSET_SIZE);
	else
		wait_held(t, mask);
	return ret;
}

void hermetic_reached(struct thread *t, uint64_t now)
{
	timers_fire(t);
	if (!t->hermetic.slice_end || now < t->hermetic.slice_end)
		return;
	turn_next(t);
}

static bool command_ends(const struct hermetic_task *k)
{
	const struct hermetic_shared *const h = H();
	if (k->group || k->state != HT_ENDING)
		return false;
	for (uint32_t i = 0; i < h->n_tasks; i++)
		if (!h->tasks[i].group && h->tasks[i].state < HT_ENDING && h->tasks[i].state != HT_FREE)
			return false;
	return true;
}

void turn_hand_on(struct thread *t)
{
	const int64_t next = pick(t->hermetic.number);
	if (next >= 0)
		turn_give(t, (uint32_t)next);
	else
		__atomic_store_n(&H()->running, 0, __ATOMIC_RELEASE);
}

void turn_leave(struct thread *t, uint32_t state)
{
	struct hermetic_shared *const h = H();
	struct hermetic_task *const k = own_task(t);
	k->state = state;
	if (k->held_by)
		hermetic_task(k->held_by - 1)->state = HT_READY;
	k->held_by = 0;
	h->progress++;
	/* (Tasks that the command leaves behind stand still until their counts are taken: go_on_alone().) */
	const int64_t traced = state == HT_ENDING ? trace_left(t) : -1;
	const int64_t next = traced >= 0 ? traced : command_ends(k) ? -1 : pick(t->hermetic.number);
	if (next >= 0)
		turn_give(t, (uint32_t)next);
	else
		__atomic_store_n(&h->running, 0, __ATOMIC_RELEASE);
}

/* ---- waiting ---- */

/* A call that may block, while it is made. */
struct attempt {
	long nr;
	const uint64_t *a;
	uint64_t done;			/* bytes written already */
	uint64_t until;			/* NEVER_NS: it has no time */
	bool restarts;			/* after a handler with SA_RESTART */
	int64_t fd;			/* that it waits for; -1: none or several */
	int64_t opened;			/* a FIFO that has no other end yet; -1: none */
};

typedef long try_it(struct thread *t, struct attempt *w);

static long interrupted(const struct thread *t, const struct attempt *w)
{
	const int sig = t->signal.pending_info.signo;
	if (w->done)
		return (long)w->done;
	return w->restarts && t->signal.actions[sig].flags & SA_RESTART ? GATE_RESTART : -EINTR;
}

/* `at_the_end`: the result when the time is over. */
static long attempt(struct thread *t, struct attempt *w, try_it *again, long at_the_end)
{
	struct hermetic_task *const k = own_task(t);
	for (;;) {
		const long ret = again(t, w);
		if (ret != WOULD_BLOCK)
			return ret;
		if (w->until != NEVER_NS && clock_now(t) >= w->until)
			return at_the_end;
		if (t->pending)
			return interrupted(t, w);
		const uint64_t timer = timers_next(t);
		k->until = w->until < timer ? w->until : timer;
		k->seen = H()->progress;
		k->for_tasks = H()->idle_turns >= LOOK_TURNS && waits_for_tasks(t, w->nr, w->a) && k->until == NEVER_NS;
		k->outside_fd = w->fd >= 0 && is_outside(w->fd) ? (uint32_t)w->fd + 1 : 0;
		k->state = HT_WAITS;
		turn_next(t);
		k->outside_fd = 0;
		if (t->pending)
			return interrupted(t, w);
	}
}

static bool is_ready(uint64_t fd, int events)
{
	struct { int32_t fd; int16_t events, revents; } p = { (int32_t)fd, (int16_t)events, 0 };
	return sys3(__NR_poll, &p, 1, 0) != 0;
}

/* A task that is alone waits in the kernel for what comes from outside. */
static bool waits_natively(uint64_t fd)
{
	return turn_alone() && !timers_armed() && !is_inside((int32_t)fd);
}

static bool is_nonblocking(uint64_t fd)
{
	return sys2(__NR_fcntl, (int32_t)fd, F_GETFL) & O_NONBLOCK_;
}

/* What a call that does not wait found: nothing yet. Others may run before it looks again. */
static long found_nothing(struct thread *t, long ret)
{
	if (!turn_alone())
		turn_next(t);
	return ret;
}

/* ---- reading ---- */

static bool is_pipe(uint64_t fd)
{
	struct k_stat st;
	return sys2(__NR_fstat, (int32_t)fd, &st) == 0 && (st.mode & S_IFMT) == S_IFIFO;
}

/* How much a pipe from outside gives at once depends on when it was written: what was asked for is read. */
static long read_more(struct thread *t, const uint64_t *a, long ret)
{
	struct { int32_t fd; int16_t events, revents; } p = { (int32_t)a[0], IN, 0 };
	if (ret <= 0 || (uint64_t)ret >= a[2] || !is_outside((int32_t)a[0]) || !is_pipe(a[0]) || is_nonblocking(a[0]))
		return ret;
	while ((uint64_t)ret < a[2] && !t->pending) {
		if (sys3(__NR_poll, &p, 1, PATIENCE_MS) <= 0) {
			hermetic_note_left(HERMETIC_LATE_INPUT);
			break;
		}
		const uint64_t b[6] = { a[0], a[1] + (uint64_t)ret, a[2] - (uint64_t)ret };
		const long more = syscall_usual(t, __NR_read, b);
		if (more <= 0)
			break;
		ret += more;
	}
	return ret;
}

#define CANONICAL 2			/* ICANON: read line by line */

static bool is_master(uint64_t fd)
{
	int32_t n;
	return sys3(__NR_ioctl, (int32_t)fd, TIOCGPTN, &n) == 0;
}

/* What is written to a terminal reaches its other end in pieces, by a thread of the kernel. poll() waits for that
 * thread where there is nothing to read. So a raw terminal is read until there is nothing left: all that was written. */
static bool is_raw_terminal(uint64_t fd)
{
	struct k_stat st;
	struct { uint32_t iflag, oflag, cflag, lflag; uint8_t line, cc[19]; } termios;
	int32_t packets = 0;
	if (sys2(__NR_fstat, (int32_t)fd, &st) < 0 || (st.mode & S_IFMT) != S_IFCHR)
		return false;
	if (is_master(fd))
		return sys3(__NR_ioctl, (int32_t)fd, TIOCGPKT, &packets) == 0 && !packets;
	return sys3(__NR_ioctl, (int32_t)fd, TCGETS, &termios) == 0 && !(termios.lflag & CANONICAL);
}

static long read_terminal(struct thread *t, const uint64_t *a, long ret)
{
	if (ret <= 0 || (uint64_t)ret >= a[2] || !is_raw_terminal(a[0]))
		return ret;
	while ((uint64_t)ret < a[2] && !t->pending && is_ready(a[0], IN)) {
		const uint64_t b[6] = { a[0], a[1] + (uint64_t)ret, a[2] - (uint64_t)ret };
		const long more = syscall_usual(t, __NR_read, b);
		if (more <= 0)
			break;
		ret += more;
	}
	return ret;
}

#define DONT_WAIT 0x40			/* MSG_DONTWAIT */

static long try_read(struct thread *t, struct attempt *w)
{
	const bool wait = w->nr != __NR_recvfrom && w->nr != __NR_recvmsg ? true :
			  !(w->a[w->nr == __NR_recvfrom ? 3 : 2] & DONT_WAIT);
	if (wait && !is_ready(w->a[0], IN) && !waits_natively(w->a[0]) && !is_nonblocking(w->a[0]))
		return WOULD_BLOCK;
	const long ret = syscall_usual(t, w->nr, w->a);
	if (ret == -EAGAIN)
		return found_nothing(t, ret);
	random_read(t, w->nr, w->a, ret);
	ids_read(t, w->nr, w->a, ret);
	if (ret == 8 && w->nr == __NR_read)
		timers_read(t, w->a);
	if (ret > 0)
		turn_progress();
	return w->nr == __NR_read ? read_terminal(t, w->a, read_more(t, w->a, ret)) : ret;
}

/* ---- writing ---- */

static long written(struct thread *t, struct attempt *w, long ret)
{
	(void)t;
	if (ret < 0)
		return w->done ? (long)w->done : ret;
	w->done += (uint64_t)ret;
	turn_progress();
	return 0;
}

static long try_write(struct thread *t, struct attempt *w)
{
	struct k_stat st;
	const bool known = sys2(__NR_fstat, (int32_t)w->a[0], &st) == 0;
	const uint32_t kind = known ? st.mode & S_IFMT : 0;
	const bool has_end = kind == S_IFIFO || kind == S_IFSOCK;
	if (kind == S_IFCHR && !turn_alone() && is_master(w->a[0]))
		hermetic_note_left(HERMETIC_TERMINAL);
	if (kind == S_IFREG || !known || (!has_end && turn_alone()) || waits_natively(w->a[0]) || is_nonblocking(w->a[0])) {
		const long ret = syscall_usual(t, w->nr, w->a);
		if (ret == -EAGAIN)
			return found_nothing(t, ret);
		if (ret > 0 && kind == S_IFREG)
			files_written(t, w->a[0]);
		turn_progress();
		return ret;
	}
	if (w->nr != __NR_write || !has_end) {
		if (!is_ready(w->a[0], OUT))
			return WOULD_BLOCK;
		turn_progress();
		return syscall_usual(t, w->nr, w->a);
	}
	while (w->done < w->a[2] || !w->a[2]) {
		const uint64_t left = w->a[2] - w->done, n = kind == S_IFIFO && left > PIECE ? PIECE : left;
		if (!is_ready(w->a[0], OUT))
			return WOULD_BLOCK;
		const uint64_t b[6] = { w->a[0], w->a[1] + w->done, n, DONT_WAIT };
		const long got = syscall_usual(t, kind == S_IFSOCK ? __NR_sendto : __NR_write, b);
		if (got == -EAGAIN)
			return WOULD_BLOCK;
		const long ret = written(t, w, got);
		if (ret || !w->a[2])
			return ret;
	}
	return (long)w->done;
}

/* From a pipe to another file, or back. */
static long try_move(struct thread *t, struct attempt *w)
{
	const bool sendfile = w->nr == __NR_sendfile, tee = w->nr == __NR_tee;
	const uint64_t in = w->a[sendfile ? 1 : 0], out = w->a[sendfile ? 0 : tee ? 1 : 2];
	if (w->nr == __NR_vmsplice ? !is_ready(w->a[0], OUT) : !is_ready(in, IN) || !is_ready(out, OUT))
		return WOULD_BLOCK;
	const long ret = w->nr != __NR_vmsplice && !tee && random_device((int32_t)in) ?
			 random_move(t, out, w->a[sendfile ? 3 : 4]) : syscall_usual(t, w->nr, w->a);
	if (ret > 0 && w->nr != __NR_vmsplice)
		files_written(t, out);
	turn_progress();
	return ret == -EAGAIN ? found_nothing(t, ret) : ret;
}

/* ---- poll, select, epoll ---- */

#define SET_BYTES 1024			/* of select: 8192 descriptors */

static long try_poll(struct thread *t, struct attempt *w)
{
	const uint64_t zero[2] = { 0, 0 };
	uint64_t b[6] = { w->a[0], w->a[1], w->a[2], w->a[3], w->a[4], w->a[5] };
	uint8_t sets[3][SET_BYTES];
	const bool select = w->nr == __NR_select || w->nr == __NR_pselect6;
	const uint64_t bytes = select ? ((uint32_t)w->a[0] + 63u) / 64 * 8 : 0;
	if (bytes > SET_BYTES)
		return -EINVAL;
	for (int i = 0; select && i < 3; i++)
		if (w->a[1 + i] && !copy_guest(sets[i], (const void *)w->a[1 + i], bytes))
			return -EFAULT;
	switch (w->nr) {
	case __NR_poll: b[2] = 0; break;
	case __NR_ppoll: b[2] = (uint64_t)zero; break;
	case __NR_select:
	case __NR_pselect6: b[4] = (uint64_t)zero; break;
	case __NR_epoll_wait:
	case __NR_epoll_pwait: b[3] = 0; break;
	default: b[3] = (uint64_t)zero; break;		/* epoll_pwait2 */
	}
	const long ret = syscall_usual(t, w->nr, b);
	if (ret)
		return ret;
	if (w->until != NEVER_NS && H()->clock >= w->until)
		return found_nothing(t, 0);
	for (int i = 0; select && i < 3; i++)
		if (w->a[1 + i])
			put_guest(w->a[1 + i], sets[i], bytes);
	return WOULD_BLOCK;
}

/* Of all descriptors, one that is a pipe from outside: the run waits for it. */
static int64_t outside_of(const struct attempt *w)
{
	if (w->nr != __NR_poll && w->nr != __NR_ppoll)
		return -1;
	for (uint64_t i = 0; i < (uint32_t)w->a[1] && i < 64; i++) {
		struct { int32_t fd; int16_t events, revents; } p;
		if (!copy_guest(&p, (const void *)(w->a[0] + i * 8), sizeof(p)))
			return -1;
		if (p.fd >= 0 && p.events & IN && is_outside(p.fd))
			return p.fd;
	}
	return -1;
}

/* When the call gives up. */
static long time_of_poll(struct thread *t, struct attempt *w)
{
	const int at = w->nr == __NR_poll || w->nr == __NR_ppoll ? 2 : w->nr == __NR_select || w->nr == __NR_pselect6 ? 4 : 3;
	const bool ms = w->nr == __NR_poll || w->nr == __NR_epoll_wait || w->nr == __NR_epoll_pwait;
	uint64_t ns = 0;
	w->until = NEVER_NS;
	if (ms) {
		if ((int32_t)w->a[at] < 0)
			return 0;
		ns = (uint32_t)w->a[at] * 1000000ull;
	} else {
		if (!w->a[at])
			return 0;
		if (w->nr == __NR_select) {
			uint64_t v[2];
			if (!copy_guest(v, (const void *)w->a[at], sizeof(v)))
				return -EFAULT;
			ns = v[0] * NS + v[1] * 1000;
		} else {
			const long err = read_timespec(w->a[at], &ns);
			if (err)
				return err;
		}
	}
	w->until = ns ? clock_now(t) + ns : 0;
	return 0;
}

static long do_poll(struct thread *t, struct attempt *w)
{
	const long err = time_of_poll(t, w);
	if (err)
		return err;
	w->fd = outside_of(w);
	const long ret = attempt(t, w, try_poll, 0);
	if (ret == 0 && (w->nr == __NR_select || w->nr == __NR_pselect6))
		for (int i = 1; i <= 3; i++) {
			static const uint8_t none[SET_BYTES];
			if (w->a[i])
				put_guest(w->a[i], none, ((uint32_t)w->a[0] + 63u) / 64 * 8);
		}
	return ret;
}

/* ---- FIFOs ---- */

#define O_PATH_ 010000000
#define ACCESS 3			/* O_RDONLY, O_WRONLY, O_RDWR */

static bool is_fifo(const uint64_t *a)
{
	struct k_stat st;
	return sys4(__NR_newfstatat, (int32_t)a[0], a[1], &st, 0) == 0 && (st.mode & S_IFMT) == S_IFIFO;
}

/* The end for reading is open: a writer has come, or is there. (What a writer outside of the run writes meanwhile is not
 * to be read here: the kernel takes nothing out that it cannot put anywhere.) */
static bool has_writer(int64_t fd)
{
	static const uint8_t read_only;
	return is_ready((uint64_t)fd, IN) || sys3(__NR_read, fd, &read_only, 1) < 0;
}

static long try_open(struct thread *t, struct attempt *w)
{
	if (w->opened < 0) {
		const long fd = syscall_usual(t, w->nr, w->a);
		if (fd == -ENXIO)
			return WOULD_BLOCK;
		if (fd < 0)
			return fd;
		turn_progress();		/* the other end need not wait any longer */
		w->opened = fd;
	}
	if ((w->a[2] & ACCESS) == O_RDONLY && !has_writer(w->opened))
		return WOULD_BLOCK;
	const long flags = sys2(__NR_fcntl, w->opened, F_GETFL);
	sys3(__NR_fcntl, w->opened, F_SETFL, flags & ~(long)O_NONBLOCK_);
	return w->opened;
}

/* Who opens a FIFO for writing without waiting is told that nobody reads; who opens it for reading gets it, and
 * waits then. */
long turn_open(struct thread *t, long nr, const uint64_t *a, uint64_t flags)
{
	uint64_t b[6] = { a[0], a[1], flags | O_NONBLOCK_, a[3] };
	struct attempt w = { .nr = __NR_openat, .a = b, .until = NEVER_NS, .fd = -1, .restarts = true, .opened = -1 };
	if (nr == __NR_open || nr == __NR_creat) {
		b[0] = (uint64_t)AT_FDCWD;
		b[1] = a[0];
		b[3] = a[nr == __NR_open ? 2 : 1];
	}
	if ((turn_alone() && !timers_armed()) || nr == __NR_openat2 || flags & (O_NONBLOCK_ | O_PATH_) ||
	    (flags & ACCESS) > O_WRONLY || !is_fifo(b))
		return syscall_usual(t, nr, a);
	long ret = attempt(t, &w, try_open, 0);
	if (ret < 0 && w.opened >= 0 && (ret = try_open(t, &w)) == WOULD_BLOCK)		/* a writer came before the signal */
		ret = interrupted(t, &w);
	if ((ret < 0 || ret != w.opened) && w.opened >= 0)
		sys1(__NR_close, w.opened);
	return ret;
}

/* ---- sleeping, and waiting for signals ---- */

static long try_nothing(struct thread *t, struct attempt *w)
{
	(void)t;
	(void)w;
	return WOULD_BLOCK;
}

static long do_sleep(struct thread *t, struct attempt *w)
{
	const bool clocked = w->nr == __NR_clock_nanosleep;
	const uint64_t request = w->a[clocked ? 2 : 0], rest = w->a[clocked ? 3 : 1];
	const bool absolute = clocked && w->a[1] & 1, real = (int)w->a[0] == 0 || (int)w->a[0] == 11;
	uint64_t ns;
	if (clocked && ((int)w->a[0] == 3 || (int)w->a[0] > 11))
		return -EINVAL;
	const long err = read_timespec(request, &ns);
	if (err)
		return err;
	const uint64_t zero = real ? EPOCH_S * NS : UPTIME_S * NS;
	const uint64_t now = clock_now(t);
	w->until = absolute ? (ns > zero ? ns - zero : 0) : now + ns;
	const long ret = attempt(t, w, try_nothing, 0);
	if (ret == -EINTR && rest && !absolute) {
		const uint64_t then = H()->clock, left = w->until > then ? w->until - then : 0;
		const uint64_t v[2] = { left / NS, left % NS };
		put_guest(rest, v, sizeof(v));
	}
	return ret;
}

static long try_suspend(struct thread *t, struct attempt *w)
{
	const uint64_t zero[2] = { 0, 0 };
	const uint64_t b[6] = { 0, 0, (uint64_t)zero, w->a[0], w->a[1] };
	const long ret = syscall_usual(t, __NR_ppoll, b);
	return ret ? ret : WOULD_BLOCK;
}

static long try_sigwait(struct thread *t, struct attempt *w)
{
	const uint64_t zero[2] = { 0, 0 };
	const uint64_t b[6] = { w->a[0], w->a[1], (uint64_t)zero, w->a[3] };
	const long ret = syscall_usual(t, __NR_rt_sigtimedwait, b);
	return ret == -EAGAIN ? WOULD_BLOCK : show_waited_info(t, w->a, ret);
}

static long do_sigwait(struct thread *t, struct attempt *w)
{
	uint64_t ns;
	const long err = w->a[2] ? read_timespec(w->a[2], &ns) : 0;
	if (err)
		return err;
	if (w->a[2])
		w->until = clock_now(t) + ns;
	return attempt(t, w, try_sigwait, -EAGAIN);
}

/* ---- children ---- */

#define NO_HANG 1

static long try_wait(struct thread *t, struct attempt *w)
{
	uint64_t b[6] = { w->a[0], w->a[1], w->a[2], w->a[3], w->a[4] };
	struct k_siginfo info = { 0 };
	int32_t pid;
	const bool four = w->nr == __NR_wait4;
	b[four ? 2 : 3] |= NO_HANG;
	if (!four)
		b[2] = (uint64_t)&info;
	const long ret = wait_for_child(t, w->nr, b);
	trace_over(t);			/* (a stop that the tracer does not see) */
	__builtin_memcpy(&pid, info.rest, 4);
	const bool none = four ? ret == 0 : ret == 0 && !pid;
	if (none && !(w->a[four ? 2 : 3] & NO_HANG))
		return WOULD_BLOCK;
	if (!four && ret == 0 && w->a[2] && !put_guest(w->a[2], &info, 28))
		return -EFAULT;
	return none ? found_nothing(t, ret) : ret;
}

/* ---- locks of files, System V ---- */

#define LOCK_NB_ 4
#define F_SETLK_ 6
#define F_OFD_SETLK_ 37
#define IPC_NOWAIT_ 04000

static long try_lock(struct thread *t, struct attempt *w)
{
	uint64_t b[6] = { w->a[0], w->a[1], w->a[2], w->a[3], w->a[4] };
	bool wait = true;
	long nr = w->nr;
	switch (w->nr) {
	case __NR_flock:
		wait = !(b[1] & LOCK_NB_);
		b[1] |= LOCK_NB_;
		break;
	case __NR_fcntl:			/* F_SETLKW, F_OFD_SETLKW: one less does not wait */
		b[1]--;
		break;
	case __NR_semop:
	case __NR_semtimedop: {
		struct { uint16_t sem; int16_t op, flags; } ops[64];
		if (w->a[2] > 64 || !copy_guest(ops, (const void *)w->a[1], w->a[2] * sizeof(ops[0])))
			return syscall_usual(t, nr, w->a);
		for (uint64_t i = 0; i < w->a[2]; i++) {
			wait &= !(ops[i].flags & IPC_NOWAIT_);
			ops[i].flags |= IPC_NOWAIT_;
		}
		b[1] = (uint64_t)ops;
		b[3] = 0;
		nr = __NR_semop;
		break;
	}
	default: {				/* msgsnd, msgrcv */
		const int at = w->nr == __NR_msgsnd ? 3 : 4;
		wait = !(b[at] & IPC_NOWAIT_);
		b[at] |= IPC_NOWAIT_;
		break;
	}
	}
	const long ret = syscall_usual(t, nr, b);
	if ((ret == -EAGAIN || ret == -EACCES) && (w->nr == __NR_flock || w->nr == __NR_fcntl))
		locks_refused((int32_t)w->a[0]);
	if (ret == -EAGAIN || ret == -EACCES || (w->nr == __NR_msgrcv && ret == -42 /* ENOMSG */))
		return wait ? WOULD_BLOCK : found_nothing(t, ret);
	turn_progress();
	return ret;
}

/* A message queue has a time at which it gives up: one that is over. */
static long try_queue(struct thread *t, struct attempt *w)
{
	const uint64_t over[2] = { 0 };
	const uint64_t b[6] = { w->a[0], w->a[1], w->a[2], w->a[3], (uint64_t)over };
	const long ret = syscall_usual(t, w->nr, b);
	if (ret == -ETIMEDOUT)
		return WOULD_BLOCK;
	if (ret == -EAGAIN)
		return found_nothing(t, ret);
	turn_progress();
	return ret;
}

static long do_queue(struct thread *t, struct attempt *w)
{
	uint64_t ns = 0;
	const long err = w->a[4] ? read_timespec(w->a[4], &ns) : 0;
	if (err)
		return err;
	if (w->a[4])
		w->until = ns > EPOCH_S * NS ? ns - EPOCH_S * NS : 0;
	return attempt(t, w, try_queue, -ETIMEDOUT);
}

/* A local socket whose listener has as many waiting as it wants. */
static long try_connect(struct thread *t, struct attempt *w)
{
	const long flags = sys2(__NR_fcntl, (int32_t)w->a[0], F_GETFL);
	if (flags < 0 || flags & O_NONBLOCK_)
		return syscall_usual(t, w->nr, w->a);
	sys3(__NR_fcntl, (int32_t)w->a[0], F_SETFL, flags | O_NONBLOCK_);
	const long ret = syscall_usual(t, w->nr, w->a);
	sys3(__NR_fcntl, (int32_t)w->a[0], F_SETFL, flags);
	if (ret == -EAGAIN)
		return WOULD_BLOCK;
	turn_progress();
	return ret;
}

/* ---- futex ---- */

enum { F_WAIT, F_WAKE, F_REQUEUE = 3, F_CMP_REQUEUE, F_WAKE_OP, F_LOCK_PI, F_UNLOCK_PI, F_TRYLOCK_PI, F_WAIT_BITSET,
       F_WAKE_BITSET, F_LOCK_PI2 = 13 };
#define F_PRIVATE 128
#define F_REALTIME 256
#define ALL_BITS 0xffffffffu

/* A private one belongs to the process. Others are known by their address alone: who waits for one also looks
 * at its value, so a wake that does not find it is no harm. */
#define SPACE_OF_ALL 1
#define SPACE_OF_PROCESS(group) (2 + (uint64_t)(group))

static uint64_t space_of(const struct thread *t, uint64_t op)
{
	return op & F_PRIVATE ? SPACE_OF_PROCESS(own_task(t)->group) : SPACE_OF_ALL;
}

static struct hermetic_waiter *waiter_new(void)
{
	for (uint32_t i = 0; i < HERMETIC_WAITERS; i++)
		if (!H()->waiters[i].space) {
			if (i >= H()->n_waiters)
				H()->n_waiters = i + 1;
			return &H()->waiters[i];
		}
	return NULL;
}

static struct hermetic_waiter *waiter_of(uint32_t task)
{
	for (uint32_t i = 0; i < H()->n_waiters; i++)
		if (H()->waiters[i].space && H()->waiters[i].task == task)
			return &H()->waiters[i];
	return NULL;
}

/* Of those at that futex, the one that waits longest. */
static struct hermetic_waiter *first_waiter(uint64_t space, uint64_t at, uint32_t bits)
{
	struct hermetic_waiter *first = NULL;
	for (uint32_t i = 0; i < H()->n_waiters; i++) {
		struct hermetic_waiter *const w = &H()->waiters[i];
		if (w->space == space && w->at == at && w->bits & bits && (!first || w->order < first->order) &&
		    hermetic_task(w->task)->state < HT_ENDING)
			first = w;
	}
	return first;
}

static uint32_t wake(uint64_t space, uint64_t at, uint32_t most, uint32_t bits)
{
	uint32_t n = 0;
	for (struct hermetic_waiter *w; n < most && (w = first_waiter(space, at, bits)); n++) {
		hermetic_task(w->task)->woken = 1;
		w->space = 0;
	}
	return n;
}

static long try_futex(struct thread *t, struct attempt *w)
{
	uint32_t v;
	struct hermetic_waiter *const own = waiter_of(t->hermetic.number);
	if (!own)			/* it was woken */
		return 0;
	if (own->space == SPACE_OF_ALL && copy_guest(&v, (const void *)w->a[0], 4) && v != (uint32_t)w->a[2]) {
		own->space = 0;
		return 0;
	}
	return WOULD_BLOCK;
}

static long futex_wait(struct thread *t, struct attempt *w)
{
	const uint64_t op = w->a[1] & ~(uint64_t)(F_PRIVATE | F_REALTIME);
	uint32_t v;
	uint64_t ns = 0;
	if (w->a[0] & 3)
		return -EINVAL;
	const long err = w->a[3] ? read_timespec(w->a[3], &ns) : 0;
	if (err)
		return err;
	if (!copy_guest(&v, (const void *)w->a[0], 4))
		return -EFAULT;
	if (v != (uint32_t)w->a[2])
		return -EAGAIN;
	const uint64_t zero = w->a[1] & F_REALTIME ? EPOCH_S * NS : UPTIME_S * NS;
	if (w->a[3])
		w->until = op == F_WAIT ? clock_now(t) + ns : ns > zero ? ns - zero : 0;
	struct hermetic_waiter *const own = waiter_new();
	if (!own)
		return -ENOMEM;
	*own = (struct hermetic_waiter){ space_of(t, w->a[1]), w->a[0], ++H()->order, t->hermetic.number,
					 op == F_WAIT ? ALL_BITS : (uint32_t)w->a[5] };
	w->restarts = !w->a[3];
	const long ret = attempt(t, w, try_futex, -ETIMEDOUT);
	struct hermetic_waiter *const still = waiter_of(t->hermetic.number);
	if (still)
		still->space = 0;
	return ret;
}

/* ---- locks with priority inheritance ---- */

static long try_inherits(struct thread *t, struct attempt *w)
{
	long ret;
	if (!waiter_of(t->hermetic.number))	/* it was given the lock */
		return 0;
	return inherits_try(t, w->a[0], true, &ret) ? ret : WOULD_BLOCK;
}

static long inherits_wait(struct thread *t, struct attempt *w, uint32_t op)
{
	uint64_t ns;
	const bool real = op == F_LOCK_PI || w->a[1] & F_REALTIME;
	const uint64_t zero = (real ? EPOCH_S : UPTIME_S) * NS;
	const long err = w->a[3] ? read_timespec(w->a[3], &ns) : 0;
	if (err)
		return err;
	if (w->a[3])
		w->until = ns > zero ? ns - zero : 0;
	struct hermetic_waiter *const own = waiter_new();
	if (!own)
		return -ENOMEM;
	*own = (struct hermetic_waiter){ space_of(t, w->a[1]), w->a[0], ++H()->order, t->hermetic.number, ALL_BITS };
	const long ret = attempt(t, w, try_inherits, -ETIMEDOUT);
	struct hermetic_waiter *const still = waiter_of(t->hermetic.number);
	if (still)
		still->space = 0;
	return ret == -EINTR ? GATE_RESTART : ret;	/* whatever its handler says */
}

static long inherits_call(struct thread *t, struct attempt *w, uint32_t op)
{
	const uint64_t space = space_of(t, w->a[1]), at = w->a[0];
	long ret;
	if (op == F_TRYLOCK_PI)
		return inherits_try(t, at, false, &ret) ? ret : -EAGAIN;
	if (op != F_UNLOCK_PI)
		return inherits_try(t, at, false, &ret) ? ret : inherits_wait(t, w, op);
	struct hermetic_waiter *const next = first_waiter(space, at, ALL_BITS);
	if (!next) {
		turn_progress();		/* of a process that has it at another address */
		return inherits_unlock(t, at, 0, false);
	}
	const uint64_t was = next->space;
	next->space = 0;
	ret = inherits_unlock(t, at, HERMETIC_FIRST_PID + next->task, first_waiter(space, at, ALL_BITS));
	if (ret)
		next->space = was;
	else
		hermetic_task(next->task)->woken = 1;
	return ret;
}

/* FUTEX_WAKE_OP: changes the second word, and says what it was. */
static bool wake_op(uint64_t at, uint32_t code, bool *wakes)
{
	uint32_t old, new;
	const uint32_t op = code >> 28 & 7, cmp = code >> 24 & 15;
	const int32_t sign = (int32_t)(code << 8) >> 20, than = (int32_t)(code << 20) >> 20;
	const uint32_t arg = code >> 31 ? 1u << (sign & 31) : (uint32_t)sign;
	if (!copy_guest(&old, (const void *)at, 4))
		return false;
	new = op == 0 ? arg : op == 1 ? old + arg : op == 2 ? old | arg : op == 3 ? old & ~arg : old ^ arg;
	if (!put_guest(at, &new, 4))
		return false;
	const int32_t was = (int32_t)old;
	*wakes = cmp == 0 ? was == than : cmp == 1 ? was != than : cmp == 2 ? was < than : cmp == 3 ? was <= than :
		 cmp == 4 ? was > than : was >= than;
	return true;
}

static long do_futex(struct thread *t, struct attempt *w)
{
	const uint64_t *const a = w->a;
	const uint64_t space = space_of(t, a[1]);
	const uint32_t op = (uint32_t)a[1] & ~(uint32_t)(F_PRIVATE | F_REALTIME);
	uint32_t v, n;
	bool wakes = false;
	switch (op) {
	case F_WAIT:
	case F_WAIT_BITSET:
		return futex_wait(t, w);
	case F_WAKE:
		return wake(space, a[0], (uint32_t)a[2], ALL_BITS);
	case F_WAKE_BITSET:
		return wake(space, a[0], (uint32_t)a[2], (uint32_t)a[5]);
	case F_CMP_REQUEUE:
		if (!copy_guest(&v, (const void *)a[0], 4))
			return -EFAULT;
		if (v != (uint32_t)a[5])
			return -EAGAIN;
		/* fall through */
	case F_REQUEUE:
		n = wake(space, a[0], (uint32_t)a[2], ALL_BITS);
		for (uint32_t i = 0; i < (uint32_t)a[3]; i++, n++) {
			struct hermetic_waiter *const moved = first_waiter(space, a[0], ALL_BITS);
			if (!moved)
				break;
			moved->at = a[4];
		}
		return n;
	case F_WAKE_OP:
		if (!wake_op(a[4], (uint32_t)a[5], &wakes))
			return -EFAULT;
		n = wake(space, a[0], (uint32_t)a[2], ALL_BITS);
		return n + (wakes ? wake(space, a[4], (uint32_t)a[3], ALL_BITS) : 0);
	case F_LOCK_PI:
	case F_LOCK_PI2:
	case F_TRYLOCK_PI:
	case F_UNLOCK_PI:
		return inherits_call(t, w, op);
	default:			/* FUTEX_WAIT_REQUEUE_PI and its like, which glibc does not use */
		return -ENOSYS;
	}
}

void turn_wake_word(uint32_t group, uint64_t at)
{
	wake(SPACE_OF_ALL, at, 1, ALL_BITS);
	wake(SPACE_OF_PROCESS(group), at, 1, ALL_BITS);
}

void turn_thread_ended(struct thread *t)
{
	const uint32_t zero = 0;
	sys1(__NR_set_tid_address, 0);
	if (t->hermetic.clear_tid && put_guest(t->hermetic.clear_tid, &zero, 4))
		turn_wake_word(own_task(t)->group, t->hermetic.clear_tid);
}

/* ---- the calls ---- */

static bool is_network(const uint64_t *a)
{
	uint16_t family = 0;
	return a[1] && copy_guest(&family, (const void *)a[1], 2) && family != 1 /* AF_UNIX */ && family != 16 && family;
}

static long counted(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	*done = false;
	if (!turn_alone() && ++t->hermetic.calls > t->hermetic.most_calls)
		turn_next(t);
	(void)nr;
	(void)a;
	return 0;
}

/* The call is made behind this one, in the same turn: who looks before it finds nothing, and would not look again. */
static long lets_others_go_on(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	const long ret = counted(t, nr, a, done);
	turn_progress();
	return ret;
}

/* fcntl(F_SETLK): it may also unlock. */
static long try_lock_once(struct thread *t, const uint64_t *a)
{
	bool made;
	lets_others_go_on(t, __NR_fcntl, a, &made);
	const long ret = syscall_usual(t, __NR_fcntl, a);
	if (ret == -EAGAIN || ret == -EACCES)
		locks_refused((int32_t)a[0]);
	return ret;
}

long turn_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	struct attempt w = { .nr = nr, .a = a, .until = NEVER_NS, .fd = -1, .restarts = true, .opened = -1 };
	*done = true;
	switch (nr) {
	case __NR_read:
	case __NR_readv:
	case __NR_pread64:
	case __NR_preadv:
	case __NR_preadv2:
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_recvmmsg:
	case __NR_accept:
	case __NR_accept4:
		w.fd = (int32_t)a[0];
		return attempt(t, &w, try_read, 0);
	case __NR_write:
	case __NR_writev:
	case __NR_sendto:
	case __NR_sendmmsg:
		return attempt(t, &w, try_write, 0);
	case __NR_sendmsg: {
		struct message_sent sent;
		w.a = ids_sent(a, &sent);
		return attempt(t, &w, try_write, 0);
	}
	case __NR_sendfile:
	case __NR_splice:
	case __NR_tee:
	case __NR_vmsplice:
	case __NR_copy_file_range:
		return attempt(t, &w, try_move, 0);
	case __NR_poll:
	case __NR_ppoll:
	case __NR_select:
	case __NR_pselect6:
	case __NR_epoll_wait:
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
		w.restarts = false;
		return do_poll(t, &w);
	case __NR_nanosleep:
	case __NR_clock_nanosleep:
		w.restarts = false;
		return do_sleep(t, &w);
	case __NR_pause:
		w.restarts = false;
		return attempt(t, &w, try_nothing, 0);
	case __NR_rt_sigsuspend:
		w.restarts = false;
		return attempt(t, &w, try_suspend, 0);
	case __NR_rt_sigtimedwait:
		w.restarts = false;
		return do_sigwait(t, &w);
	case __NR_wait4:
	case __NR_waitid:
		return attempt(t, &w, try_wait, 0);
	case __NR_flock:
		return attempt(t, &w, try_lock, 0);
	case __NR_semtimedop:
	case __NR_semop:
	case __NR_msgrcv:
	case __NR_msgsnd:
		w.restarts = false;
		return attempt(t, &w, try_lock, 0);
	case __NR_fcntl:
		if ((int)a[1] == F_SETLKW || (int)a[1] == 38 /* F_OFD_SETLKW */)
			return attempt(t, &w, try_lock, 0);
		if ((int)a[1] == F_SETLK_ || (int)a[1] == F_OFD_SETLK_)
			return try_lock_once(t, a);
		return counted(t, nr, a, done);
	case __NR_futex:
		return do_futex(t, &w);
	case 449:			/* futex_waitv, and the calls that stand for futex() since Linux 6.7 */
	case 454:
	case 455:
	case 456:
		return -ENOSYS;
	case __NR_sched_yield:
		if (!turn_alone())
			turn_next(t);
		return 0;
	case __NR_mq_timedsend:
	case __NR_mq_timedreceive:
		return do_queue(t, &w);
	case __NR_connect:
		if (!is_network(a) && !turn_alone())
			return attempt(t, &w, try_connect, 0);
		/* fall through */
	case __NR_bind:
		if (is_network(a))
			hermetic_note_left(HERMETIC_NETWORK);
		return lets_others_go_on(t, nr, a, done);
	case __NR_close:		/* the other end of a pipe may wait for that */
	case __NR_close_range:
	case __NR_dup2:
	case __NR_dup3:
	case __NR_shutdown:
	case __NR_semctl:
	case __NR_msgctl:
	case __NR_epoll_ctl:		/* what is ready may be waited for from now on */
		return lets_others_go_on(t, nr, a, done);
	default:
		return counted(t, nr, a, done);
	}
}
