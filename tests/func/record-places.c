/* Each event is in the file once or counted as dropped, whatever instruction a signal handler
 * interrupts that fills pages: the program steps itself (TF) into the recording of a number, and
 * at each instruction in turn a handler records others, so many that the page is full there,
 * or the next one too. The interrupted number's place may be in the first or the second page, or
 * beyond either.
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

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define PAGE 8191u
#define NUMBERS_MOST 40000000u
/* Signals are blocked not before so many instructions after the taking of a place beyond the
 * page; a trap would then end the program. */
#define STEPS_TO_BLOCK 8u

static struct tare_recorder *rec;
static struct tare_record_thread *thread;
static uint64_t kind, label;
static uint64_t number;			/* recorded so far: 1, 2, 3, ... */
static unsigned steps, wanted, burst;
static const uint8_t *next_before;
static unsigned taking_step;		/* the one that takes the place */
static uint8_t seen[NUMBERS_MOST];

static void put(void)
{
	tare_record_integer(thread, kind, label, ++number);
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	if (!taking_step && thread->next != next_before)
		taking_step = steps;
	if (steps++ != wanted)
		return;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
	for (unsigned i = 0; i < burst; i++)
		put();
}

/* Leaves `room` places in the page. */
static void fill_page(unsigned room)
{
	for (unsigned i = 0; thread->next + 32 * room != thread->end; i++) {
		CHECK(i < 3 * PAGE, "the page never has %u places", room);
		put();
	}
}

static __attribute__((noinline)) bool experiment(unsigned at, unsigned room, unsigned n)
{
	fill_page(room);
	steps = 0;
	wanted = at;
	burst = n;
	next_before = thread->next;
	const uint64_t own = ++number;
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orl $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
			 ::: "memory", "cc");
	tare_record_integer(thread, kind, label, own);
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andl $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
			 ::: "memory", "cc");
	return steps > at;
}

static uint64_t dropped(void)
{
	struct tare_record_state state;
	tare_record_state(rec, &state);
	return state.dropped;
}

/* With the handler's numbers the page is full, or the second, or more than both are. */
static const unsigned bursts[] = { 1, 100, PAGE, PAGE + 100, 2 * PAGE - 50, 2 * PAGE + 100 };

static bool all_bursts(unsigned at, unsigned room)
{
	bool in_time = true;
	for (unsigned b = 0; b < sizeof(bursts) / sizeof(bursts[0]); b++) {
		const uint64_t before = dropped();
		in_time &= experiment(at, room, bursts[b]);
		/* the interrupted number has no place yet: no page waits for it */
		CHECK(at >= taking_step || dropped() == before, "step %u, room %u, burst %u: dropped", at, room,
		      bursts[b]);
		put();
		const uint64_t after = dropped();
		for (unsigned i = 0; i < 10; i++)
			put();
		CHECK(dropped() == after, "step %u, room %u, burst %u: still dropped", at, room, bursts[b]);
	}
	return in_time;
}

static void check_file(const char *path, uint64_t n_dropped)
{
	struct tare_profile *p;
	struct tare_why why = { 0 };
	CHECK(tare_profile_open(path, &p, &why) == 0, "%s", why.what);
	struct tare_profile_cursor *const c = tare_profile_cursor_new(p, TARE_PROFILE_FORWARD);
	struct tare_profile_event e;
	uint64_t n = 0;
	while (tare_profile_next(c, &e)) {
		if (e.type == TARE_PROFILE_INTERVAL)	/* a page was written */
			continue;
		CHECK(e.type == TARE_PROFILE_INTEGER && e.start && e.start <= number, "number %llu",
		      (unsigned long long)e.start);
		CHECK(!seen[e.start], "%llu twice", (unsigned long long)e.start);
		seen[e.start] = 1;
		n++;
	}
	tare_profile_cursor_free(c);
	tare_profile_close(p);
	CHECK(n + n_dropped == number, "%llu in the file, %llu dropped, of %llu", (unsigned long long)n,
	      (unsigned long long)n_dropped, (unsigned long long)number);
}

int main(void)
{
	static const unsigned rooms[] = { 40, 2, 1, 0 };
	char dir[] = "/tmp/tare-places-XXXXXX", path[4096], command[64];
	struct tare_why why = { 0 };
	struct sigaction sa = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	CHECK(mkdtemp(dir), "mkdtemp");
	sigaction(SIGTRAP, &sa, NULL);
	CHECK(tare_record_start(&TARE_OPTIONS(record, .dir = dir), &rec,
				&why) == 0, "%s", why.what);
	kind = tare_record_kind(rec, "ArtifactSize");
	label = tare_record_string(rec, "number");
	thread = tare_record_here(rec);
	unsigned n_steps = 0;
	for (bool in_time = true; in_time; n_steps++) {
		CHECK(n_steps < 1000 && number < NUMBERS_MOST - 1000000, "no end");
		for (unsigned r = 0; r < sizeof(rooms) / sizeof(rooms[0]); r++)
			if (rooms[r] || !taking_step || n_steps < taking_step + STEPS_TO_BLOCK)
				in_time &= all_bursts(n_steps, rooms[r]);
	}
	CHECK(taking_step && n_steps > taking_step + 4, "%u steps: the trap flag does nothing here", n_steps);
	snprintf(path, sizeof(path), "%s", tare_record_path(rec));
	const uint64_t n_dropped = dropped();
	CHECK(tare_record_stop(rec, &why) == 0, "%s", why.what);
	check_file(path, n_dropped);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK(system(command) == 0, "rm");
	printf("%u instructions, %llu numbers, %llu dropped\n", n_steps, (unsigned long long)number,
	       (unsigned long long)n_dropped);
	return 0;
}

#endif
