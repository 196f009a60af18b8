/* Clocks and timers of the still world. One instruction takes one nanosecond, and sleeping takes none, but
 * moves the clock.
 *
 * How many instructions ran is a sum over all blocks, which is slow. A program that reads the clock often gets
 * guesses in between: the clock goes on as it did on average. When to guess, and what, follows from counts
 * only, so it is the same in every run. Where code has budgets (exact-stop.c), no guess is needed.
 *
 * Timers need exact stops: code gets budgets when the first one is armed.
 */
#include "still-room.h"
#include "sys.h"
#include "text.h"

#define MOST_GUESSES 4096
#define OFTEN 4000000u			/* instructions: summing up all blocks takes less time than these */
#define LONGEST_STEP 1000000u
#define TICKS_PER_S 100			/* of times() */

/* ---- the clock ---- */

static void catch_up(struct thread *t, uint64_t n)
{
	struct hermetic_shared *const h = hermetic_shared();
	const uint64_t d = n - t->hermetic.last, ahead = t->hermetic.ahead < d ? t->hermetic.ahead : d;
	t->hermetic.last = n;
	t->hermetic.ahead -= ahead;
	h->clock += d - ahead;
	own_task(t)->ran += d;
}

void clock_catch_up(struct thread *t)
{
	uint64_t n;
	if (exact_instructions(t, &n))
		catch_up(t, n);
}

void clock_end(struct thread *t)
{
	uint64_t n;
	catch_up(t, exact_instructions(t, &n) ? n : count_instructions(t));
}

void hermetic_settle(struct thread *t)
{
	catch_up(t, count_instructions(t));
}

void hermetic_counts_from(struct thread *t, uint64_t n)
{
	t->hermetic.last = n;
}

void clock_forget(struct thread *t)
{
	t->code.past = 0;
	t->code.past_corr = 0;
	t->hermetic.last = t->hermetic.ahead = 0;
	t->hermetic.every = t->hermetic.skip = 0;
}

uint64_t clock_now(struct thread *t)
{
	struct hermetic_shared *const h = hermetic_shared();
	uint64_t n;
	if (exact_instructions(t, &n)) {
		catch_up(t, n);
		return ++h->clock;
	}
	if (t->hermetic.skip) {
		t->hermetic.skip--;
		t->hermetic.ahead += t->hermetic.step;
		h->clock += t->hermetic.step;
		return h->clock;
	}
	const uint64_t before = t->hermetic.last, reads = t->hermetic.every + 1ull;
	catch_up(t, count_instructions(t));
	const uint64_t d = t->hermetic.last - before, each = d / reads;
	if (d >= OFTEN)
		t->hermetic.every /= 2;
	else if (t->hermetic.every < MOST_GUESSES)
		t->hermetic.every = t->hermetic.every * 2 + 1;
	t->hermetic.skip = t->hermetic.every;
	t->hermetic.step = each < 1 ? 1 : each < LONGEST_STEP ? each : LONGEST_STEP;
	return ++h->clock;
}

uint64_t cpu_of_process(struct thread *t, uint32_t group)
{
	const struct hermetic_shared *const h = hermetic_shared();
	uint64_t sum = 0;
	clock_now(t);
	for (uint32_t i = group; i < h->n_tasks; i++)
		if (h->tasks[i].group == group)
			sum += h->tasks[i].ran;
	return sum;
}

struct spec { uint64_t s, ns; };

static struct spec spec_of(uint64_t ns)
{
	return (struct spec){ ns / NS, ns % NS };
}

long read_timespec(uint64_t at, uint64_t *ns)
{
	struct spec v;
	if (!copy_guest(&v, (const void *)at, sizeof(v)))
		return -EFAULT;
	if ((int64_t)v.s < 0 || v.ns >= NS)
		return -EINVAL;
	*ns = v.s > NEVER_NS / NS / 2 ? NEVER_NS / 2 : v.s * NS + v.ns;
	return 0;
}

enum { CPU_OF_PROCESS = 2, CPU_OF_THREAD = 3, BOOTTIME = 7, TAI = 11 };

/* What the clock shows when 0 ns of the run have passed. */
static uint64_t clock_zero(int id)
{
	return id == 0 || id == 5 || id == 8 || id == TAI ? EPOCH_S * NS : UPTIME_S * NS;
}

static bool is_wall(int id)
{
	return id >= 0 && id <= TAI && id != CPU_OF_PROCESS && id != CPU_OF_THREAD && id != 10;
}

/* The number of the task whose CPU time the clock shows; -1: it shows none. */
static int64_t task_of_clock(const struct thread *t, int id)
{
	if (id == CPU_OF_PROCESS)
		return own_task(t)->group;
	if (id == CPU_OF_THREAD)
		return t->hermetic.number;
	if (id >= 0 || (id & 3) > 2)
		return -1;
	const int64_t shown = ~(int64_t)(id >> 3), n = shown - HERMETIC_FIRST_PID;
	if (!shown)
		return id & 4 ? t->hermetic.number : own_task(t)->group;
	return n >= 0 && n < hermetic_shared()->n_tasks ? n : -1;
}

static bool is_of_thread(int id)
{
	return id == CPU_OF_THREAD || (id < 0 && id & 4);
}

/* False: there is no such clock. */
static bool clock_read(struct thread *t, int id, uint64_t *ns)
{
	if (is_wall(id)) {
		*ns = clock_zero(id) + clock_now(t);
		return true;
	}
	const int64_t n = task_of_clock(t, id);
	if (n < 0)
		return false;
	const uint64_t cpu = cpu_of_process(t, hermetic_task((uint32_t)n)->group);
	*ns = is_of_thread(id) ? hermetic_task((uint32_t)n)->ran : cpu;
	return true;
}

static long do_gettime(struct thread *t, const uint64_t *a)
{
	uint64_t ns;
	if (!clock_read(t, (int)a[0], &ns))
		return -EINVAL;
	const struct spec v = spec_of(ns);
	return put_guest(a[1], &v, sizeof(v)) ? 0 : -EFAULT;
}

static long do_getres(struct thread *t, const uint64_t *a)
{
	const int id = (int)a[0];
	const struct spec v = { 0, id == 5 || id == 6 ? 4000000 : 1 };
	if (!is_wall(id) && task_of_clock(t, id) < 0)
		return -EINVAL;
	return !a[1] || put_guest(a[1], &v, sizeof(v)) ? 0 : -EFAULT;
}

static long do_gettimeofday(struct thread *t, const uint64_t *a)
{
	const uint64_t ns = EPOCH_S * NS + clock_now(t);
	const uint64_t v[2] = { ns / NS, ns % NS / 1000 }, zone = 0;
	if ((a[0] && !put_guest(a[0], v, sizeof(v))) || (a[1] && !put_guest(a[1], &zone, 8)))
		return -EFAULT;
	return 0;
}

static long do_time(struct thread *t, const uint64_t *a)
{
	const uint64_t s = EPOCH_S + clock_now(t) / NS;
	return !a[0] || put_guest(a[0], &s, 8) ? (long)s : -EFAULT;
}

static long do_times(struct thread *t, const uint64_t *a)
{
	const uint32_t group = own_task(t)->group;
	const uint64_t unit = NS / TICKS_PER_S;
	const uint64_t v[4] = { cpu_of_process(t, group) / unit, 0, hermetic_task(group)->children / unit, 0 };
	if (a[0] && !put_guest(a[0], v, sizeof(v)))
		return -EFAULT;
	return (long)((UPTIME_S * NS + hermetic_shared()->clock) / unit);
}

#define USAGE_CHILDREN (-1)
#define USAGE_THREAD 1

static long do_getrusage(struct thread *t, const uint64_t *a)
{
	const uint32_t group = own_task(t)->group;
	const uint64_t all = cpu_of_process(t, group);
	const int who = (int)a[0];
	if (who < USAGE_CHILDREN || who > USAGE_THREAD)
		return -EINVAL;
	const uint64_t ns = who == USAGE_CHILDREN ? hermetic_task(group)->children :
			    who == USAGE_THREAD ? own_task(t)->ran : all;
	const uint64_t v[18] = { ns / NS, ns % NS / 1000, 0, 0, 4096 /* ru_maxrss, in KiB */ };
	return put_guest(a[1], v, sizeof(v)) ? 0 : -EFAULT;
}

/* ---- timers ---- */

enum timer_kind { TIMER_NONE, TIMER_REAL, TIMER_VIRTUAL, TIMER_PROF, TIMER_POSIX, TIMER_FD };
enum { SEND_SIGNAL, SEND_NONE, SEND_THREAD, SEND_THREAD_ID = 4 };

#define MAX_TIMERS 128
static struct timer {
	uint8_t kind;			/* enum timer_kind */
	bool cpu;			/* it goes by the CPU time of the process */
	int32_t clock;
	uint64_t at, every;		/* ns of its clock, without clock_zero(); 0: not armed */
	int32_t signal, send;
	int32_t tid;			/* SEND_THREAD_ID, the kernel's */
	int32_t fd;
	uint64_t value;			/* the program's */
	uint64_t fired;			/* TIMER_FD: since it was read */
} timers[MAX_TIMERS];
static uint32_t n_armed;
static bool has_fd_timers;

bool timers_armed(void)
{
	return n_armed != 0;
}

static struct timer *timer_of(enum timer_kind kind, int32_t fd)
{
	for (uint32_t i = 0; i < MAX_TIMERS; i++)
		if (timers[i].kind == kind && (kind != TIMER_FD || timers[i].fd == fd))
			return &timers[i];
	return NULL;
}

static struct timer *timer_new(enum timer_kind kind)
{
	for (uint32_t i = 0; i < MAX_TIMERS; i++)
		if (!timers[i].kind) {
			timers[i] = (struct timer){ .kind = (uint8_t)kind };
			return &timers[i];
		}
	return NULL;
}

static uint64_t time_of(struct thread *t, const struct timer *r)
{
	return r->cpu ? cpu_of_process(t, own_task(t)->group) : clock_now(t);
}

static void arm(struct thread *t, struct timer *r, uint64_t at, uint64_t every)
{
	n_armed -= r->at != 0;
	r->at = at;
	r->every = every;
	r->fired = 0;
	n_armed += r->at != 0;
	if (at)
		exact_wanted(t);
}

static void send(struct thread *t, const struct timer *r)
{
	struct k_siginfo info = { .signo = r->signal, .code = SI_KERNEL };
	if (r->kind == TIMER_POSIX) {
		const uint64_t words[2] = { (uint64_t)(r - timers), r->value };
		info.code = SI_TIMER;
		__builtin_memcpy(info.rest, words, sizeof(words));
	}
	const int32_t tid = r->send == SEND_THREAD_ID ? r->tid : (int32_t)sys0(__NR_gettid);
	sys4(__NR_rt_tgsigqueueinfo, sys0(__NR_getpid), tid, r->signal, &info);
	turn_progress();
}

/* The kernel's timer behind the descriptor is due now, too. */
static void make_readable(const struct timer *r)
{
	const uint64_t soon[4] = { 0, 0, 0, 1 };
	struct { int32_t fd; int16_t events, revents; } p = { r->fd, 1, 0 };
	if (sys4(__NR_timerfd_settime, r->fd, 0, &soon, 0) == 0)
		sys3(__NR_poll, &p, 1, 1000);
	turn_progress();
}

static void fire(struct thread *t, struct timer *r, uint64_t now)
{
	uint64_t at = 0;
	r->fired++;
	if (r->every) {
		const uint64_t more = (now - r->at) / r->every;
		r->fired += more;
		at = r->at + (more + 1) * r->every;
	}
	const uint64_t fired = r->fired;
	arm(t, r, at, r->every);
	r->fired = fired;
	if (r->kind == TIMER_FD)
		make_readable(r);
	else if (r->send != SEND_NONE && r->signal)
		send(t, r);
}

void timers_fire(struct thread *t)
{
	if (!n_armed)
		return;
	const uint64_t now = clock_now(t);
	uint64_t cpu = 0;
	for (uint32_t i = 0; i < MAX_TIMERS; i++) {
		struct timer *const r = &timers[i];
		if (!r->at)
			continue;
		if (r->cpu && !cpu)
			cpu = cpu_of_process(t, own_task(t)->group);
		if ((r->cpu ? cpu : now) >= r->at)
			fire(t, r, r->cpu ? cpu : now);
	}
}

uint64_t timers_next(struct thread *t)
{
	uint64_t next = NEVER_NS;
	(void)t;
	for (uint32_t i = 0; n_armed && i < MAX_TIMERS; i++)
		if (timers[i].at && !timers[i].cpu && timers[i].at < next)
			next = timers[i].at;
	return next;
}

static uint64_t left_of_cpu_timers(struct thread *t)
{
	uint64_t left = NEVER_NS, cpu = 0;
	for (uint32_t i = 0; i < MAX_TIMERS; i++) {
		if (!timers[i].at || !timers[i].cpu)
			continue;
		if (!cpu)
			cpu = cpu_of_process(t, own_task(t)->group);
		const uint64_t n = timers[i].at > cpu ? timers[i].at - cpu : 1;
		left = n < left ? n : left;
	}
	return left;
}

uint64_t hermetic_left(struct thread *t, uint64_t now)
{
	uint64_t left = NEVER_NS;
	if (t->hermetic.slice_end)
		left = t->hermetic.slice_end > now ? t->hermetic.slice_end - now : 1;
	if (!n_armed)
		return left;
	const uint64_t next = timers_next(t), clock = clock_now(t), cpu = left_of_cpu_timers(t);
	const uint64_t wall = next == NEVER_NS ? NEVER_NS : next > clock ? next - clock : 1;
	left = wall < left ? wall : left;
	return cpu < left ? cpu : left;
}

/* They do not go on in the child of a fork. */
void timers_forked(void)
{
	for (uint32_t i = 0; i < MAX_TIMERS; i++)
		if (timers[i].kind != TIMER_FD)
			timers[i] = (struct timer){ 0 };
	n_armed = 0;
	for (uint32_t i = 0; i < MAX_TIMERS; i++)
		n_armed += timers[i].at != 0;
}

/* Those of setitimer do in a new image. */
void hermetic_execing(struct thread *t)
{
	const struct timer *const r = timer_of(TIMER_REAL, 0);
	struct hermetic_task *const k = hermetic_task(own_task(t)->group);
	k->alarm_at = r ? r->at : 0;
	k->alarm_every = r ? r->every : 0;
}

void timers_start(struct thread *t)
{
	const struct hermetic_task *const k = hermetic_task(own_task(t)->group);
	if (!k->alarm_at)
		return;
	struct timer *const r = timer_new(TIMER_REAL);
	r->signal = SIGALRM;
	arm(t, r, k->alarm_at, k->alarm_every);
}

/* ---- the calls ---- */

static uint64_t left_of(struct thread *t, const struct timer *r)
{
	if (!r || !r->at)
		return 0;
	const uint64_t now = time_of(t, r);
	return r->at > now ? r->at - now : 1000;	/* at least a microsecond: 0 would mean that it is off */
}

/* setitimer's: interval, value; in microseconds. */
static bool put_itimer(struct thread *t, uint64_t to, const struct timer *r)
{
	const uint64_t left = left_of(t, r), every = r && r->at ? r->every : 0;
	const uint64_t v[4] = { every / NS, every % NS / 1000, left / NS, left % NS / 1000 };
	return put_guest(to, v, sizeof(v));
}

static struct timer *itimer(int which)
{
	static const int signals[3] = { SIGALRM, SIGVTALRM, SIGPROF };
	const enum timer_kind kind = TIMER_REAL + which;
	struct timer *r = timer_of(kind, 0);
	if (!r && (r = timer_new(kind))) {
		r->signal = signals[which];
		r->cpu = which != 0;
	}
	return r;
}

static long do_setitimer(struct thread *t, const uint64_t *a)
{
	uint64_t v[4] = { 0 };
	if ((uint32_t)a[0] > 2)
		return -EINVAL;
	if (a[1] && !copy_guest(v, (const void *)a[1], sizeof(v)))
		return -EFAULT;
	if (v[1] >= 1000000 || v[3] >= 1000000)
		return -EINVAL;
	struct timer *const r = itimer((int)a[0]);
	if (!r)
		return -ENOMEM;
	if (a[2] && !put_itimer(t, a[2], r))
		return -EFAULT;
	const uint64_t in = v[2] * NS + v[3] * 1000;
	arm(t, r, in ? time_of(t, r) + in : 0, v[0] * NS + v[1] * 1000);
	return 0;
}

static long do_alarm(struct thread *t, const uint64_t *a)
{
	struct timer *const r = itimer(0);
	if (!r)
		return 0;
	const uint64_t left = left_of(t, r);
	arm(t, r, (uint32_t)a[0] ? time_of(t, r) + (uint32_t)a[0] * NS : 0, 0);
	return (long)((left + NS / 2) / NS ? (left + NS / 2) / NS : left != 0);
}

static long do_timer_create(struct thread *t, const uint64_t *a)
{
	struct { uint64_t value; int32_t signal, send, tid; } e = { .signal = SIGALRM };
	const int id = (int)a[0];
	if (!is_wall(id) && task_of_clock(t, id) < 0)
		return -EINVAL;
	if (a[1] && !copy_guest(&e, (const void *)a[1], 20))
		return -EFAULT;
	struct timer *const r = timer_new(TIMER_POSIX);
	if (!r)
		return -EAGAIN;
	const int32_t number = (int32_t)(r - timers);
	r->clock = id;
	r->cpu = !is_wall(id);
	r->value = a[1] ? e.value : (uint64_t)number;
	r->signal = e.signal;
	r->send = e.send;
	r->tid = e.send == SEND_THREAD_ID ? id_real(e.tid) : 0;
	if (put_guest(a[2], &number, 4))
		return 0;
	r->kind = TIMER_NONE;
	return -EFAULT;
}

static struct timer *posix_timer(uint64_t id)
{
	return (uint32_t)id < MAX_TIMERS && timers[(uint32_t)id].kind == TIMER_POSIX ? &timers[(uint32_t)id] : NULL;
}

static bool put_spec(struct thread *t, uint64_t to, const struct timer *r)
{
	const struct spec v[2] = { spec_of(r->at ? r->every : 0), spec_of(left_of(t, r)) };
	return put_guest(to, v, sizeof(v));
}

/* timer_settime and timerfd_settime. */
static long set_spec(struct thread *t, struct timer *r, const uint64_t *a)
{
	uint64_t every, at;
	long err = read_timespec(a[2], &every);
	if (!err)
		err = read_timespec(a[2] + sizeof(struct spec), &at);
	if (err)
		return err;
	if (a[3] && !put_spec(t, a[3], r))
		return -EFAULT;
	const uint64_t now = time_of(t, r), zero = r->cpu ? 0 : clock_zero(r->clock);
	if (at && a[1] & 1)		/* absolute */
		at = at > zero ? at - zero : 1;
	else if (at)
		at += now;
	arm(t, r, at, every);
	if (at && at <= now)
		timers_fire(t);
	return 0;
}

static long do_timerfd_create(struct thread *t, const uint64_t *a)
{
	const long fd = gate(t, __NR_timerfd_create, a);
	if (fd < 0)
		return fd;
	struct timer *r = timer_of(TIMER_FD, (int32_t)fd);
	if (r)				/* of a descriptor that was closed */
		arm(t, r, 0, 0);
	else
		r = timer_new(TIMER_FD);
	if (!r) {
		sys1(__NR_close, fd);
		return -ENOMEM;
	}
	r->fd = (int32_t)fd;
	has_fd_timers = true;
	r->clock = (int32_t)a[0];
	return fd;
}

static long timerfd_call(struct thread *t, long nr, const uint64_t *a)
{
	struct timer *const r = timer_of(TIMER_FD, (int32_t)a[0]);
	if (!r)
		return gate(t, nr, a);
	if (nr == __NR_timerfd_gettime)
		return put_spec(t, a[1], r) ? 0 : -EFAULT;
	const uint64_t off[4] = { 0 };
	const long ret = sys4(__NR_timerfd_settime, a[0], 0, off, 0);
	return ret < 0 ? ret : set_spec(t, r, a);
}

void timers_read(struct thread *t, const uint64_t *a)
{
	struct timer *const r = has_fd_timers ? timer_of(TIMER_FD, (int32_t)a[0]) : NULL;
	if (r && r->fired) {
		put_guest(a[1], &r->fired, 8);
		r->fired = 0;
	}
}

long time_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	struct timer *r;
	*done = true;
	switch (nr) {
	case __NR_clock_gettime: return do_gettime(t, a);
	case __NR_clock_getres: return do_getres(t, a);
	case __NR_gettimeofday: return do_gettimeofday(t, a);
	case __NR_time: return do_time(t, a);
	case __NR_times: return do_times(t, a);
	case __NR_getrusage: return do_getrusage(t, a);
	case __NR_clock_settime:
	case __NR_settimeofday:
	case __NR_adjtimex:
	case __NR_clock_adjtime: return -EPERM;
	case __NR_setitimer: return do_setitimer(t, a);
	case __NR_getitimer:
		return (uint32_t)a[0] > 2 ? -EINVAL : put_itimer(t, a[1], timer_of(TIMER_REAL + (uint32_t)a[0], 0)) ? 0 : -EFAULT;
	case __NR_alarm: return do_alarm(t, a);
	case __NR_timer_create: return do_timer_create(t, a);
	case __NR_timer_settime: return (r = posix_timer(a[0])) ? set_spec(t, r, a) : -EINVAL;
	case __NR_timer_gettime: return !(r = posix_timer(a[0])) ? -EINVAL : put_spec(t, a[1], r) ? 0 : -EFAULT;
	case __NR_timer_getoverrun: return posix_timer(a[0]) ? 0 : -EINVAL;
	case __NR_timer_delete:
		if (!(r = posix_timer(a[0])))
			return -EINVAL;
		arm(t, r, 0, 0);
		r->kind = TIMER_NONE;
		return 0;
	case __NR_timerfd_create: return do_timerfd_create(t, a);
	case __NR_timerfd_settime:
	case __NR_timerfd_gettime: return timerfd_call(t, nr, a);
	default:
		*done = false;
		return 0;
	}
}
