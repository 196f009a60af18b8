/* Counters of the program itself, read by every path, against the real driver. */
#include "guest.h"
#include "tap.h"

#include "counter-room.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 100000
/* Instructions, counted in tare/counter-aarch64.h. A compiler may put one move of its own
 * between two reads (GCC 14 does, GCC 12 does not). */
#define INLINE_READ 17
#define INLINE_PAIR 27
#define COMPILERS_MOVE 1
#define NET (8 * (ROUNDS - 1))	/* known_loop(ROUNDS) beyond known_loop(1) */

static struct tare_counter *open_by(const char *name, enum tare_path path)
{
	struct tare_events *list = NULL;
	struct tare_counter *c = NULL;
	struct tare_why why = { 0 };
	const struct tare_counter_options o = TARE_OPTIONS(counter, .path = path);
	int err = tare_events_parse(name, NULL, &list, &why);
	if (!err)
		err = tare_counter_open_event(tare_events_at(list, 0), &o, &c, &why);
	tare_events_free(list);
	if (err)
		tap_ok(false, "open %s by %s: %s: %s", name, tare_path_name(path),
		       tare_err_name(err), why.what);
	return c;
}

NOT_SPECIALISED static uint64_t over_loop(struct tare_counter *c, uint64_t n)
{
	uint64_t before = 0, after = 0;
	if (tare_counter_read(c, &before) != 0)
		return UINT64_MAX;
	known_loop(n);
	return tare_counter_read(c, &after) == 0 ? after - before : UINT64_MAX;
}

NOT_SPECIALISED static uint64_t over_loop_pair(struct tare_counter *c, uint64_t n)
{
	uint64_t before = 0, after = 0;
	if (tare_counter_read_pair(c, &before) != 0)
		return UINT64_MAX;
	known_loop(n);
	return tare_counter_read_pair(c, &after) == 0 ? after - before : UINT64_MAX;
}

static unsigned exact_runs(struct tare_counter *c, uint64_t (*over)(struct tare_counter *, uint64_t))
{
	unsigned good = 0;
	over(c, 1);
	for (int run = 0; run < 10; run++) {
		const uint64_t one = over(c, 1);
		good += over(c, ROUNDS) - one == NET;
	}
	return good;
}

/* Opens, checks the path and what it reads, ten of ten. */
static void exact(const char *name, enum tare_path ask, enum tare_path want)
{
	struct tare_counter *const c = open_by(name, ask);
	if (!c)
		return;
	const char *reason = "";
	const enum tare_path path = tare_counter_path(c, &reason);
	tap_ok(path == want, "%s: path %s (%s)", name, tare_path_name(path), reason);
	tap_is(exact_runs(c, over_loop), 10, "%s by %s: exact, ten of ten", name,
	       tare_path_name(path));
	const uint64_t one = over_loop(c, 1);
	tap_is(over_loop(c, 1000000) - one, 8 * 999999, "%s by %s: 8 million", name,
	       tare_path_name(path));
	struct tare_overhead o = { 0 };
	const int err = tare_counter_overhead(c, &o);
	tap_ok(err == 0 && o.agreeing == o.samples, "%s by %s: an empty pair is always %" PRIu64 " (%u of %u)", name,
	       tare_path_name(path), o.typical, o.agreeing, o.samples);
	if (path == TARE_PATH_RDPMC)
		tap_ok(o.typical >= INLINE_READ && o.typical <= INLINE_READ + COMPILERS_MOVE,
		       "%s: an inline read is %d instructions (%" PRIu64 " with the compiler's)", name,
		       INLINE_READ, o.typical);
	char text[64];
	tap_is(tare_counter_status(c), 0, "%s by %s: undisturbed (%s)", name, tare_path_name(path),
	       tare_status_text(tare_counter_status(c), text, sizeof(text)));
	tare_counter_close(c);
}

/* instructions minus another event, read together. */
static struct tare_counter *open_pair(const char *minus, enum tare_path path)
{
	struct tare_events *list = NULL;
	struct tare_counter *c = NULL;
	struct tare_why why = { 0 };
	char text[64];
	snprintf(text, sizeof(text), "r08:u,%s", minus);
	int err = tare_events_parse(text, NULL, &list, &why);
	if (!err) {
		struct tare_event e = *tare_events_at(list, 0);
		e.kind = TARE_EVENT_MINUS;
		e.minus = tare_events_at(list, 1)->base;
		err = tare_counter_open_event(&e, &TARE_OPTIONS(counter, .path = path), &c,
					      &why);
	}
	tare_events_free(list);
	if (err)
		tap_ok(false, "open the pair r08:u minus %s by %s: %s: %s", minus,
		       tare_path_name(path), tare_err_name(err), why.what);
	return c;
}

static void pair(enum tare_path ask)
{
	const char *const by = tare_path_name(ask);
	/* Counts nothing in this emulation: the difference is all instructions. */
	struct tare_counter *c = open_pair("r09:u", ask);
	if (!c)
		return;
	tap_is(exact_runs(c, over_loop_pair), 10, "a pair by %s: exact, ten of ten", by);
	tap_is(exact_runs(c, over_loop), 10, "a pair by %s, read as one counter: ten of ten", by);
	tap_is(tare_counter_status(c), 0, "a pair by %s: undisturbed", by);
	struct tare_overhead o = { 0 };
	if (ask == TARE_PATH_RDPMC) {
		const int err = tare_counter_overhead(c, &o);
		tap_ok(err == 0 && o.min >= INLINE_PAIR && o.max <= INLINE_PAIR + COMPILERS_MOVE && o.min == o.max,
		       "an inline read of a pair is %d instructions (%" PRIu64 " with the compiler's)",
		       INLINE_PAIR, o.min);
	}
	tare_counter_close(c);

	/* Counts one per instruction: the difference is none. */
	c = open_pair("cycles:u", ask);
	if (!c)
		return;
	over_loop_pair(c, 1);
	tap_is(over_loop_pair(c, ROUNDS), 0, "instructions minus as many cycles by %s", by);
	tare_counter_close(c);
}

static void refused(const char *name, enum tare_path path, int code, const char *says)
{
	struct tare_events *list = NULL;
	struct tare_counter *c = NULL;
	struct tare_why why = { 0 };
	const struct tare_counter_options o = TARE_OPTIONS(counter, .path = path);
	int err = tare_events_parse(name, NULL, &list, &why);
	if (!err)
		err = tare_counter_open_event(tare_events_at(list, 0), &o, &c, &why);
	tap_ok(err == code && strstr(why.what, says), "%s by %s: %s (%s)", name,
	       tare_path_name(path), tare_err_name(code), why.what);
	if (err != code)
		tap_note("it is %s", tare_err_name(err));
	tare_counter_close(c);
	tare_events_free(list);
}

NOT_SPECIALISED static uint64_t group_over(struct tare_group *g, size_t i, uint64_t n)
{
	uint64_t before[8], after[8];
	if (tare_group_read(g, before) != 0)
		return UINT64_MAX;
	known_loop(n);
	return tare_group_read(g, after) == 0 ? after[i] - before[i] : UINT64_MAX;
}

static void group(const char *text, enum tare_path ask, int want)
{
	struct tare_events *list = NULL;
	struct tare_group *g = NULL;
	struct tare_why why = { 0 };
	const struct tare_event *events[8];
	const struct tare_counter_options o = TARE_OPTIONS(counter, .path = ask);
	if (tare_events_parse(text, NULL, &list, &why) != 0) {
		tap_ok(false, "parse %s: %s", text, why.what);
		return;
	}
	const size_t n = tare_events_count(list);
	for (size_t i = 0; i < n; i++)
		events[i] = tare_events_at(list, i);
	const int err = tare_group_open(events, n, &o, &g, &why);
	tap_ok(err == want, "group %s by %s: %s (%s)", text, tare_path_name(ask),
	       tare_err_name(err), why.what);
	for (size_t i = 0; !err && i < n; i++) {
		unsigned good = 0;
		group_over(g, i, 1);
		for (int run = 0; run < 10; run++) {
			const uint64_t one = group_over(g, i, 1);
			good += group_over(g, i, ROUNDS) - one == NET;
		}
		tap_is(good, 10, "group %s by %s: member %zu exact, ten of ten", text,
		       tare_path_name(ask), i);
	}
	tare_group_close(g);
	tare_events_free(list);
}

/* Pinned events of the whole CPU come first: the kernel moves ours to another
 * register, then takes it away. */
static void moved_and_stolen(enum tare_path ask)
{
	struct tare_counter *const c = open_by("instructions:u", ask);
	if (!c)
		return;
	const char *const by = tare_path_name(ask);
	struct hog hog;
	uint64_t value = 0;
	const uint64_t one = (over_loop(c, 1), over_loop(c, 1));
	tare_counter_read(c, &value);
	hog_counters(&hog, HOG_ALL - 2);
	tap_is(over_loop(c, ROUNDS) - one < NET + 1000, 1, "moved, %s: right away still a number", by);
	tap_is(over_loop(c, ROUNDS) - one, NET, "moved, %s: exact afterwards", by);
	const bool shows = tare_counter_status(c) & TARE_STATUS_MOVED;
	tap_ok(shows == (ask == TARE_PATH_RDPMC), "moved, %s: the status says so where it matters", by);
	release_counters(&hog);

	hog_counters(&hog, HOG_ALL);
	tap_is(tare_counter_read(c, &value), (uint64_t)TARE_E_STOLEN, "stolen, %s: an error", by);
	tap_ok(tare_counter_status(c) & TARE_STATUS_STOLEN, "stolen, %s: the status says so", by);
	struct tare_why why = { 0 };
	tap_is(tare_counter_reopen(c, &why), (uint64_t)TARE_E_NO_COUNTERS,
	       "stolen, %s: no counter to reopen (%s)", by, why.what);
	release_counters(&hog);
	tap_is(tare_counter_reopen(c, &why), 0, "stolen, %s: reopened", by);
	tap_is(exact_runs(c, over_loop), 10, "stolen, %s: exact again, ten of ten", by);
	tare_counter_close(c);
}

/* In a child of fork() the page is gone and the register forbidden. */
static int child_of_fork(struct tare_counter *c)
{
	uint64_t value = 7;
	if (tare_counter_read(c, &value) != TARE_E_FORKED)
		return 1;
	if (!(tare_counter_status(c) & TARE_STATUS_FORKED))
		return 2;
	if (tare_counter_reopen(c, NULL) != 0)
		return 3;
	return exact_runs(c, over_loop) == 10 ? 0 : 4;
}

static void forked(enum tare_path ask)
{
	struct tare_counter *const c = open_by("instructions:u", ask);
	if (!c)
		return;
	fflush(NULL);
	const pid_t pid = fork();
	if (pid == 0)
		_exit(child_of_fork(c));
	int status = 0;
	waitpid(pid, &status, 0);
	tap_is((uint64_t)status, 0, "fork, %s: the child is told, reopens and counts exactly",
	       tare_path_name(ask));
	tap_is(exact_runs(c, over_loop), 10, "fork, %s: the parent still counts exactly",
	       tare_path_name(ask));
	tare_counter_close(c);
}

static void *read_elsewhere(void *arg)
{
	uint64_t value;
	return (void *)(intptr_t)tare_counter_read_slow(arg, &value);
}

static void other_thread(void)
{
	struct tare_counter *const c = open_by("instructions:u", TARE_PATH_AUTO);
	if (!c)
		return;
	pthread_t t;
	void *result = NULL;
	pthread_create(&t, NULL, read_elsewhere, c);
	pthread_join(t, &result);
	tap_is((uint64_t)(intptr_t)result, (uint64_t)TARE_E_WRONG_THREAD, "another thread is told");
	tap_is(exact_runs(c, over_loop), 10, "and the owner's counts stay exact");
	tare_counter_close(c);
}

/* Out of counters is not the same as an event that is not there. */
static void refusals(void)
{
	struct tare_counter *six[HOG_ALL];
	refused("branch-misses:u", TARE_PATH_AUTO, TARE_E_EVENT_UNSUPPORTED, "branch-misses");
	for (int i = 0; i < HOG_ALL; i++)
		six[i] = open_by("r08:u", TARE_PATH_AUTO);
	refused("r08:u", TARE_PATH_AUTO, TARE_E_NO_COUNTERS, "r08");
	for (int i = 0; i < HOG_ALL; i++)
		tare_counter_close(six[i]);
}

/* How far apart two counters stand, by one inline read of each. */
NOT_SPECIALISED static uint64_t apart(struct tare_counter *a, struct tare_counter *b)
{
	uint64_t x = 0, y = UINT64_MAX;
	const int err = tare_counter_read(a, &x);
	return tare_counter_read(b, &y) == 0 && err == 0 ? y - x : UINT64_MAX;
}

/* Unpinned counters share what there is: more of them than registers, each an
 * estimate from the page's times or from read(2), and said to be one. The bound is
 * 15 %: opening them one after the other takes a tenth of the time, in which the
 * first ones are enabled and nothing is there to count. (set-check.c enables all at
 * once, and is within 0.5 %.) */
static void unpinned(enum tare_path ask)
{
	enum { N = 12 };
	const uint64_t rounds = 20000000;
	struct tare_counter *c[N];
	const struct tare_counter_options o = TARE_OPTIONS(counter, .path = ask, .unpinned = true);
	struct tare_events *list = NULL;
	struct tare_why why = { 0 };
	unsigned near = 0, flagged = 0, sampled = 0;
	double worst = 0;
	if (tare_events_parse("r08:u", NULL, &list, &why) != 0)
		return;
	unsigned opened = 0;
	for (int i = 0; i < N; i++)
		opened += tare_counter_open_event(tare_events_at(list, 0), &o, &c[i], &why) == 0;
	if (!tap_is(opened, N, "%d unpinned counters by %s: open %s", N, tare_path_name(ask),
		    why.what))
		return;
	known_loop(rounds);
	for (int i = 0; i < N; i++) {
		uint64_t value = 0;
		struct tare_sample s = { 0 };
		const int err = tare_counter_read(c[i], &value);
		const double off = (double)value / (double)(8 * rounds) - 1;
		near += !err && off > -0.15 && off < 0.15;
		worst = off > worst ? off : -off > worst ? -off : worst;
		flagged += (tare_counter_status(c[i]) & TARE_STATUS_SCALED) != 0;
		sampled += tare_counter_sample(c[i], &s) == 0 && s.scaled &&
			   s.provenance == TARE_PROV_SCALED && s.percent < 90;
		tare_counter_close(c[i]);
	}
	tare_events_free(list);
	tap_is(flagged, N, "%d unpinned counters by %s: the status says scaled", N, tare_path_name(ask));
	tap_is(sampled, N, "%d unpinned counters by %s: so does a sample", N, tare_path_name(ask));
	tap_is(near, N, "%d unpinned counters by %s: within 15 %% of the truth", N, tare_path_name(ask));
	tap_note("farthest from the truth: %.3f %%", worst * 100);
}

/* What a user without privileges gets, in a child that becomes one. */
static int open_as_user(const char *name, enum tare_path want)
{
	struct tare_counter *c = NULL;
	struct tare_why why = { 0 };
	if (setgid(1000) != 0 || setuid(1000) != 0)
		return 100;
	const int err = tare_counter_open(name, &c, &why);
	if (err)
		return -err;
	if (tare_counter_path(c, NULL) != want)
		return 101;
	return exact_runs(c, over_loop) == 10 ? 0 : 102;
}

static void as_user(int paranoid, const char *name, enum tare_path want, int code)
{
	sysctl_set("perf_event_paranoid", paranoid);
	fflush(NULL);
	const pid_t pid = fork();
	if (pid == 0)
		_exit(open_as_user(name, want));
	int status = 0;
	waitpid(pid, &status, 0);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == -code,
	       "a user, perf_event_paranoid %d, %s by %s: %s", paranoid, name,
	       tare_path_name(want), code ? tare_err_name(code) : "exact, ten of ten");
	sysctl_set("perf_event_paranoid", 3);
}

static void unprivileged(enum tare_path path)
{
	as_user(3, "instructions:u", path, TARE_E_PARANOID);
	as_user(2, "instructions:u", path, 0);
	as_user(2, "instructions:k", path, TARE_E_PARANOID);
	as_user(2, "instructions", path, TARE_E_PARANOID);
	as_user(1, "instructions:u", path, 0);
}

/* With 32 bits the kernel starts the register 2^31 events before its end: the
 * interrupt rewinds it, and offset takes over. The read that finds this out takes
 * some hundred instructions of its own, which count; so the witness is the cycle
 * counter, which has 64 bits and counts one per instruction in this emulation: the
 * two stay equally far apart. */
static void wrapped(void)
{
	const uint64_t rounds = (1ull << 31) / 8 + ROUNDS;
	struct tare_counter *const c = open_by("instructions:u", TARE_PATH_RDPMC);
	struct tare_counter *const witness = open_by("cycles:u", TARE_PATH_RDPMC);
	if (!c || !witness)
		return;
	const unsigned bits = counter_cold(c)->parts[0].page->pmc_width;
	apart(c, witness);
	const uint64_t before = apart(c, witness);
	known_loop(rounds);
	apart(c, witness);
	tap_is(apart(c, witness), before, "2^31 instructions in %u bits: none is lost", bits);
	tap_ok(!(tare_counter_status(c) & TARE_STATUS_WRAPPED) == (bits == 64),
	       "2^31 instructions in %u bits: the status tells", bits);
	tap_is(tare_counter_status(witness), 0, "the witness was undisturbed");
	tap_is(exact_runs(c, over_loop), 10, "and after: exact, ten of ten");
	tare_counter_close(c);
	tare_counter_close(witness);
}

/* The kernel takes the right to read the registers away, and the event's index
 * with it: the program must notice before it tries, or die by SIGILL. (Between the
 * change and the next time the program is scheduled the index is still there, and
 * nothing can be noticed.) */
static void access_withdrawn(void)
{
	struct tare_counter *const c = open_by("instructions:u", TARE_PATH_RDPMC);
	if (!c)
		return;
	over_loop(c, 1);
	sysctl_set("perf_user_access", 0);
	usleep(10000);
	tap_is(exact_runs(c, over_loop), 10, "access withdrawn: read(2) goes on, ten of ten");
	tap_ok(tare_counter_status(c) & TARE_STATUS_FELL_BACK, "access withdrawn: the status tells");
	sysctl_set("perf_user_access", 1);
	tare_counter_close(c);
}

/* A counter that was stolen, found out only after another task that uses the PMU
 * without user access has run: the kernel has switched the access off. */
static void stolen_and_scheduled(void)
{
	struct tare_counter *const c = open_by("instructions:u", TARE_PATH_RDPMC);
	if (!c)
		return;
	struct hog hog;
	uint64_t value;
	over_loop(c, 1);
	hog_counters(&hog, HOG_ALL);
	release_counters(&hog);
	char *out;
	guest_run((char *[]){ "/bin/tare", "stat", "-e", "instructions:u", "/bin/known-program",
			      NULL }, 0, &out);
	free(out);
	tap_is(tare_counter_read(c, &value), (uint64_t)TARE_E_STOLEN,
	       "stolen, then another task counted: an error, not a signal");
	tare_counter_close(c);
}

/* From one CPU to the other and back, 400 times: what the register there reads must
 * lie between what read(2) says before and after. (Not more than that: with two CPUs
 * the emulator's instruction count is shared.) */
static void migrated(bool other_register)
{
	struct tare_counter *const c = open_by("instructions:u", TARE_PATH_RDPMC);
	if (!c)
		return;
	enum { MOVES = 400 };
	unsigned moved = 0, between = 0;
	uint64_t last = 0;
	for (int i = 0; i < MOVES; i++) {
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(i % 2, &one);
		sched_setaffinity(0, sizeof(one), &one);
		moved += sched_getcpu() == i % 2;
		struct tare_sample before = { 0 }, after = { 0 };
		uint64_t value = 0;
		int err = tare_counter_sample(c, &before);
		err = err ? err : tare_counter_read(c, &value);
		err = err ? err : tare_counter_sample(c, &after);
		known_loop(100);
		between += !err && before.value >= last && before.value < value &&
			   value < after.value;
		last = value;
	}
	tap_is(moved, MOVES, "%d moves between CPUs", MOVES);
	tap_is(between, MOVES, "%d moves: %s agrees with read(2) each time", MOVES,
	       tare_path_name(tare_counter_path(c, NULL)));
	tap_is(tare_counter_status(c), other_register ? TARE_STATUS_MOVED : 0,
	       "%d moves: to %s register", MOVES, other_register ? "another" : "the same");
	tare_counter_close(c);
}

static void width(const char *name, unsigned want)
{
	struct tare_counter *const c = open_by(name, TARE_PATH_RDPMC);
	if (!c)
		return;
	tap_is(counter_cold(c)->parts[0].page->pmc_width, want, "%s has %u bits", name, want);
	tare_counter_close(c);
}

static void user_access_off(void)
{
	sysctl_set("perf_user_access", 0);
	exact("instructions:u", TARE_PATH_AUTO, TARE_PATH_READ);
	exact("cycles:u", TARE_PATH_AUTO, TARE_PATH_READ);
	refused("instructions:u", TARE_PATH_RDPMC, TARE_E_RDPMC_FORBIDDEN, "perf_user_access");
	pair(TARE_PATH_READ);
	group("{instructions:u,cycles:u,r08:u}", TARE_PATH_AUTO, 0);
	unpinned(TARE_PATH_READ);
	unprivileged(TARE_PATH_READ);
	moved_and_stolen(TARE_PATH_READ);
	forked(TARE_PATH_READ);
	other_thread();
	refusals();
}

static void user_access_on(unsigned instruction_bits)
{
	sysctl_set("perf_user_access", 1);
	exact("instructions:u", TARE_PATH_AUTO, TARE_PATH_RDPMC);
	exact("r08:u", TARE_PATH_RDPMC, TARE_PATH_RDPMC);
	exact("cycles:u", TARE_PATH_RDPMC, TARE_PATH_RDPMC);
	exact("instructions:u", TARE_PATH_READ, TARE_PATH_READ);
	width("instructions:u", instruction_bits);
	width("cycles:u", 64);
	pair(TARE_PATH_RDPMC);
	group("{instructions:u,cycles:u,r08:u}", TARE_PATH_RDPMC, 0);
	group("{r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u}", TARE_PATH_AUTO, TARE_E_NO_COUNTERS);
	unpinned(TARE_PATH_AUTO);
	unprivileged(TARE_PATH_RDPMC);
	moved_and_stolen(TARE_PATH_RDPMC);
	stolen_and_scheduled();
	access_withdrawn();
	forked(TARE_PATH_RDPMC);
	other_thread();
	refusals();
}

void suite_counter_32(void)
{
	user_access_off();
	user_access_on(32);
}

void suite_counter_64(void)
{
	user_access_off();
	user_access_on(64);
}

void suite_migrate(void)
{
	struct hog hog;
	sysctl_set("perf_user_access", 1);
	migrated(false);
	/* With registers of CPU 0 taken, the two CPUs give different ones. */
	hog_counters(&hog, HOG_ALL - 1);
	migrated(true);
	release_counters(&hog);
}

void suite_wrap(void)
{
	sysctl_set("perf_user_access", 1);
	wrapped();
}
