/* A page that a signal handler writes is in no interval, whatever instruction of the recorder
 * the signal interrupts: the program steps itself (TF) into an interval, and at each
 * instruction in turn a handler records two intervals; once where the page has room for
 * them, once where it has not. All values must be the same, but for one thing: where the
 * signal interrupts the read of a counter, what the handler did may lie before or after that
 * read. Inside `tare run`, where counts are exact: record-window COUNTER
 *
 * Then a second signal comes while the recorder gives the place, right behind the first one's handler. What
 * the recorder takes off may then be more than what was counted between the two; an interval
 * that is shorter for that is told.
 */
#include "func.h"

#ifndef __x86_64__

int main(void)
{
	SKIP("the trap flag is x86-64's");
}

#else

#include <tare/profile.h>
#include <tare/record.h>

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define MOST_STEPS 3000u
#define N_EVENTS 4u			/* of one experiment: two of the handler, main, outer */

static struct tare_recorder *rec;
static struct tare_record_thread *thread;
static uint64_t kind, filler, outer_label, main_label, handler_label, second_label;
static volatile unsigned steps, wanted;
static volatile unsigned beyond;	/* steps after which the page has no place */
/* The first of these; signals are blocked not before so many more, and a trap would then end
 * the program. */
static unsigned overflow_step;
#define STEPS_TO_BLOCK 16u

/* What the library calls instead of the C library's: one signal comes right before it blocks them all,
 * one while they are blocked: at the begin, or at the very end. */
static volatile enum { NONE, EARLY, LATE, NOW } second;

static long raw(long number, const long *a)
{
	long result;
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	__asm__ volatile("syscall" : "=a"(result)
			 : "0"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static void send(int sig)
{
	raw(SYS_tkill, (const long[6]){ getpid(), sig });
}

long syscall(long number, ...)
{
	va_list list;
	long a[6];
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	const bool blocks = number == SYS_rt_sigprocmask;
	const unsigned plan = blocks ? second : NONE;
	if (blocks)
		second = NONE;
	if (plan != NONE)
		send(plan == NOW ? SIGUSR2 : SIGUSR1);
	const long result = raw(number, a);
	if (plan == EARLY)
		send(SIGUSR2);
	if (plan == LATE)
		second = NOW;
	if (result >= 0 || result <= -4096)
		return result;
	errno = (int)-result;
	return -1;
}

static void interval(uint64_t label)
{
	struct tare_interval i;
	tare_record_begin(thread, &i, kind, label);
	__asm__ volatile("" :: "r"(&i) : "memory");
	tare_record_end(thread, &i);
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	beyond += thread->next > thread->end;		/* no branch: all steps cost the same */
	if (steps++ != wanted)
		return;
	if (context)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
	/* Two: the first reads the counter after a page was written, too. */
	interval(handler_label);
	interval(handler_label);
}

static void on_signal(int sig)
{
	interval(sig == SIGUSR1 ? handler_label : second_label);
	interval(sig == SIGUSR1 ? handler_label : second_label);
}

/* Leaves `room` places in the page. */
static void fill_page(unsigned room)
{
	tare_record_flush(rec);
	while (thread->next + 32 * room < thread->end)
		tare_record_integer(thread, filler, handler_label, 0);
}

/* Returns whether the interval had so many steps. */
static __attribute__((noinline)) bool experiment(unsigned at, unsigned room)
{
	struct tare_interval outer;
	fill_page(room);
	if (room == 0 && overflow_step && at > overflow_step + STEPS_TO_BLOCK)
		at = overflow_step + STEPS_TO_BLOCK;
	steps = beyond = 0;
	wanted = at;
	tare_record_begin(thread, &outer, kind, outer_label);
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orl $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
			 ::: "memory", "cc");
	interval(main_label);
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andl $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
			 ::: "memory", "cc");
	const bool in_time = steps > at;
	if (!in_time)
		on_step(0, NULL, NULL);		/* the number of events stays */
	tare_record_end(thread, &outer);
	if (beyond && !overflow_step)
		overflow_step = at;
	return in_time;
}

struct found { char label; uint64_t start, end; };

static size_t load(const char *path, struct found *all, size_t most)
{
	struct tare_profile *p;
	struct tare_why why = { 0 };
	CHECK(tare_profile_open(path, &p, &why) == 0, "%s", why.what);
	struct tare_profile_cursor *const c = tare_profile_cursor_new(p, TARE_PROFILE_FORWARD);
	struct tare_profile_event e;
	size_t n = 0;
	while (tare_profile_next(c, &e)) {
		if (e.type != TARE_PROFILE_INTERVAL)
			continue;
		char text[32];
		tare_profile_text(p, e.id, text, sizeof(text), &why);
		CHECK(n < most, "more than %zu intervals", most);
		all[n++] = (struct found){ text[0], e.start, e.end };
	}
	tare_profile_cursor_free(c);
	tare_profile_close(p);
	return n;
}

/* The same place; or the one after the handler, as far before the outer one's end as if the
 * signal had come before the interval. */
static bool same_place(uint64_t a, uint64_t b, const struct found *fa, const struct found *fb,
		       uint64_t late)
{
	const struct found *const oa = &fa[N_EVENTS - 1], *const ob = &fb[N_EVENTS - 1];
	return a - oa->start == b - ob->start || ob->end - b == late;
}

static const struct found *main_of(const struct found *f)
{
	while (f->label != 'm')
		f++;
	return f;
}

/* The handler came between the place that there was not and the one that the recorder gave. */
static bool same_outer(const struct found *a, const struct found *b)
{
	const struct found *const oa = &a[N_EVENTS - 1], *const ob = &b[N_EVENTS - 1];
	return oa->label == ob->label && oa->end - oa->start == ob->end - ob->start;
}

static bool same(const struct found *a, const struct found *b, const struct found *early)
{
	const uint64_t a0 = a[N_EVENTS - 1].start, b0 = b[N_EVENTS - 1].start;
	const uint64_t early_end = early[N_EVENTS - 1].end;
	const struct found *const e = main_of(early);
	bool equal = true;
	for (unsigned i = 0; i < N_EVENTS; i++) {
		equal &= a[i].label == b[i].label;
		if (a[i].label == 'm')
			equal &= same_place(a[i].start, b[i].start, a, b, early_end - e->start) &&
				 same_place(a[i].end, b[i].end, a, b, early_end - e->end);
		else
			equal &= a[i].start - a0 == b[i].start - b0 && a[i].end - a0 == b[i].end - b0;
	}
	return equal;
}

static void show(const char *name, const struct found *f)
{
	printf("  %s:", name);
	for (unsigned i = 0; i < N_EVENTS; i++)
		printf(" %c %lld to %lld", f[i].label, (long long)(f[i].start - f[N_EVENTS - 1].start),
		       (long long)(f[i].end - f[N_EVENTS - 1].start));
	printf("\n");
}

/* rooms[0] is the experiment in which no page is written. */
static void check(const struct found *all, unsigned n_steps, const unsigned *rooms, unsigned n_rooms)
{
	unsigned wrong = 0;
	for (unsigned k = 0; k < n_steps; k++) {
		const struct found *const first = all + k * n_rooms * N_EVENTS;
		for (unsigned r = 1; r < n_rooms; r++) {
			const struct found *const other = first + r * N_EVENTS;
			const bool given = rooms[r] == 0 && k >= overflow_step;
			/* the last one had no step left where no page was written */
			if (given && (k > overflow_step + STEPS_TO_BLOCK || k + 1 == n_steps))
				continue;
			if (given ? same_outer(first, other) : same(first, other, all))
				continue;
			wrong++;
			printf("signal after step %u, %u places left:\n", k, rooms[r]);
			show("no page written", first);
			show("a page written", other);
		}
	}
	CHECK(!wrong, "%u of %u differ", wrong, n_steps * (n_rooms - 1));
}

static void start(const char *counter, const char *dir)
{
	struct tare_why why = { 0 };
	CHECK(tare_record_start(&TARE_OPTIONS(record, .counter = counter, .dir = dir), &rec,
				&why) == 0, "%s", why.what);
	kind = tare_record_kind(rec, "GenericActivity");
	filler = tare_record_kind(rec, "Filler");
	outer_label = tare_record_string(rec, "outer");
	main_label = tare_record_string(rec, "main");
	handler_label = tare_record_string(rec, "handler");
	second_label = tare_record_string(rec, "second");
	thread = tare_record_here(rec);
	struct sigaction sa = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	sigaction(SIGTRAP, &sa, NULL);
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
}

/* An interval of the second signal is as long as the others; one that is not is counted as clamped. */
static unsigned check_second(const char *counter, const char *dir, bool late)
{
	enum { TIMES = 4, EVENTS = 6 };
	struct found all[TIMES * EVENTS];
	char path[4096];
	start(counter, dir);
	for (unsigned k = 0; k < TIMES; k++) {
		struct tare_interval outer;
		fill_page(0);
		tare_record_begin(thread, &outer, kind, outer_label);
		second = late ? LATE : EARLY;
		interval(main_label);
		tare_record_end(thread, &outer);
	}
	snprintf(path, sizeof(path), "%s", tare_record_path(rec));
	tare_record_flush(rec);
	struct tare_record_state state;
	tare_record_state(rec, &state);
	CHECK(tare_record_stop(rec, NULL) == 0, "stop");
	CHECK(load(path, all, TIMES * EVENTS) == TIMES * EVENTS, "intervals");
	const uint64_t length = all[0].end - all[0].start;
	unsigned n_second = 0, n_short = 0;
	for (size_t i = 0; i < TIMES * EVENTS; i++) {
		n_second += all[i].label == 's';
		n_short += all[i].label == 's' && all[i].end - all[i].start != length;
	}
	CHECK(n_second == 2 * TIMES, "%u intervals of the second signal", n_second);
	CHECK(late || n_short == 0, "%u intervals shorter than %llu", n_short, (unsigned long long)length);
	CHECK(state.clamped == n_short, "%u shorter, %llu clamped", n_short, (unsigned long long)state.clamped);
	return n_short;
}

int main(int argc, char **argv)
{
	static const unsigned rooms[] = { 100, 1, 0 };
	enum { ROOMS = sizeof(rooms) / sizeof(rooms[0]) };
	static struct found all[(MOST_STEPS + 1) * ROOMS * N_EVENTS];
	char dir[] = "/tmp/tare-window-XXXXXX", path[4096];
	CHECK(mkdtemp(dir), "mkdtemp");
	start(argv[1], dir);
	experiment(0, rooms[0]);		/* binds symbols */
	experiment(0, rooms[1]);
	tare_record_stop(rec, NULL);
	start(argv[1], dir);
	unsigned n_steps = 0;
	for (bool in_time = true; in_time; n_steps++) {
		CHECK(n_steps < MOST_STEPS, "no end");
		for (unsigned r = 0; r < ROOMS; r++)
			in_time &= experiment(n_steps, rooms[r]);
	}
	CHECK(overflow_step, "the page was never full");
	CHECK(n_steps > 40, "%u steps: the trap flag does nothing here", n_steps);
	snprintf(path, sizeof(path), "%s", tare_record_path(rec));
	struct tare_why why = { 0 };
	struct tare_record_state state;
	tare_record_state(rec, &state);
	CHECK(tare_record_stop(rec, &why) == 0, "%s", why.what);
	const size_t n = load(path, all, sizeof(all) / sizeof(all[0]));
	CHECK(n == (size_t)n_steps * ROOMS * N_EVENTS, "%zu intervals, %u steps", n, n_steps);
	check(all, n_steps, rooms, ROOMS);
	CHECK(state.dropped == 0, "%llu dropped", (unsigned long long)state.dropped);
	check_second(argv[1], dir, false);
	const unsigned n_short = check_second(argv[1], dir, true);
	char command[64];
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK(system(command) == 0, "rm");
	printf("%u instructions, a page written in a handler at each; %u intervals of a second one shorter\n", n_steps,
	       n_short);
	return 0;
}

#endif
