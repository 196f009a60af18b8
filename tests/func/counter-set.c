/* Sets of software events on other processes, with the real kernel: from exec, by
 * inheritance, in groups, by attaching to threads; and the ways they fail.
 *
 * The program is its own measured command: "touch N" touches N fresh pages, each
 * one page fault, so that two runs differ by exactly the difference of their N.
 */
#include "func.h"
#include "set.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct tare_event faults = {
	.name = (char *)"page-faults:u",
	.kind = TARE_EVENT_PERF,
	.base = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS,
		  .exclude_kernel = true },
	.unit = "", .scale = 1.0, .group = -1, .has_modifier = true,
};

static struct tare_event software(const char *name, uint64_t config)
{
	struct tare_event e = faults;
	e.name = (char *)name;
	e.base.config = config;
	e.base.exclude_kernel = geteuid() != 0;	/* what everybody may count */
	return e;
}

static void touch(long pages)
{
	const size_t size = (size_t)pages * 4096;
	char *const p = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED, "mmap");
	madvise(p, size, MADV_NOHUGEPAGE);
	for (long i = 0; i < pages; i++)
		((volatile char *)p)[i * 4096] = 1;
	munmap(p, size ? size : 1);
}

static void *touch_thread(void *arg)
{
	touch(*(long *)arg);
	return NULL;
}

static int command(char **argv)
{
	long n = atol(argv[2]);
	if (strcmp(argv[1], "touch") == 0)
		touch(n);
	if (strcmp(argv[1], "fork") == 0) {	/* the child does it */
		const pid_t pid = fork();
		if (pid == 0) {
			touch(n);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	if (strcmp(argv[1], "thread") == 0) {
		pthread_t t;
		pthread_create(&t, NULL, touch_thread, &n);
		pthread_join(t, NULL);
	}
	return 0;
}

/* A child that waits for a byte, then execs itself as a command. */
static pid_t start(const char *what, long n, int *go)
{
	int fds[2];
	char text[32];
	snprintf(text, sizeof(text), "%ld", n);
	CHECK(pipe(fds) == 0, "pipe");
	const pid_t pid = fork();
	if (pid == 0) {
		char byte;
		close(fds[1]);
		personality(ADDR_NO_RANDOMIZE);
		if (read(fds[0], &byte, 1) != 1)
			_exit(9);
		close(fds[0]);
		execl("/proc/self/exe", "func", what, text, (char *)NULL);
		_exit(9);
	}
	close(fds[0]);
	*go = fds[1];
	return pid;
}

static void finish(pid_t pid, int go)
{
	int status;
	CHECK(write(go, "x", 1) == 1, "write");
	close(go);
	waitpid(pid, &status, 0);
	CHECK(status == 0, "status %d", status);
}

static struct counter_set *open_set(const struct tare_event *const *events, size_t n,
				    struct counter_set_opts o)
{
	struct counter_set *set;
	struct tare_why why;
	const int err = counter_set_open(events, n, &o, &set, &why);
	CHECK(err == 0, "%s: %s", tare_err_name(err), why.what);
	for (size_t i = 0; i < n; i++) {
		const struct tare_why *const w = counter_set_why(set, i);
		if (w->code == TARE_E_PARANOID || w->code == TARE_E_SECCOMP ||
		    w->code == TARE_E_NO_PERF || w->code == TARE_E_PERMISSION)
			SKIP("perf_event_open is not to be had here: %s", w->what);
		CHECK(w->code == 0, "%s", w->what);
	}
	return set;
}

static uint64_t faults_of(const char *what, long n, bool inherit)
{
	const struct tare_event *const events[] = { &faults };
	int go;
	const pid_t pid = start(what, n, &go);
	struct counter_set *const set = open_set(
		events, 1,
		(struct counter_set_opts){ .pid = pid, .inherit = inherit, .enable_on_exec = true });
	finish(pid, go);
	struct tare_count c;
	CHECK(counter_set_read(set, &c) == 0, "read");
	CHECK(c.state == TARE_COUNT_OK, "state %d", c.state);
	CHECK(c.provenance == TARE_PROV_RAW, "provenance %d", c.provenance);
	CHECK(c.running_ns == c.enabled_ns && c.enabled_ns > 0, "times");
	counter_set_close(set);
	return c.value;
}

/* Two tasks that touch one page at the same time may both fault on it: a fault
 * more now and then, never one less. So the least of a few runs is compared. */
static uint64_t least_faults_of(const char *what, long n)
{
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < 5; i++) {
		const uint64_t v = faults_of(what, n, true);
		least = v < least ? v : least;
	}
	return least;
}

static void counts_from_exec(void)
{
	uint64_t few = 0, many = 0;
	CHECK(WHEN_STILL((few = faults_of("touch", 100, false), many = faults_of("touch", 1100, false),
			  IS_COUNT(many - few, 1000u))), "%" PRIu64 " and %" PRIu64, few, many);
}

static void inherits(const char *what)
{
	uint64_t few = 0, many = 0;
	CHECK(WHEN_STILL((few = least_faults_of(what, 100), many = least_faults_of(what, 1100),
			  IS_COUNT(many - few, 1000u))), "%s: %" PRIu64 " and %" PRIu64, what, few, many);
	const uint64_t alone = faults_of(what, 1100, false);
	CHECK(SANITIZED || alone < 1000, "%s without inherit: %" PRIu64, what, alone);
}

static void groups(bool inherit)
{
	struct tare_event all = software("page-faults", PERF_COUNT_SW_PAGE_FAULTS);
	struct tare_event minor = software("minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN);
	struct tare_event major = software("major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	struct tare_event clock = software("task-clock", PERF_COUNT_SW_TASK_CLOCK);
	struct tare_event pair = software("page-faults-minus", PERF_COUNT_SW_PAGE_FAULTS);
	struct tare_event wall = { .name = (char *)"wall-time", .kind = TARE_EVENT_WALL_TIME,
				   .group = -1 };
	struct tare_event zero = { .name = (char *)"zero", .kind = TARE_EVENT_ZERO, .group = -1 };
	/* A large number minus a pair and minus the page faults of the run. */
	struct tare_event both = software("task-clock-minus-both", PERF_COUNT_SW_TASK_CLOCK);
	both.kind = TARE_EVENT_MINUS_TOTAL;
	both.minus = minor.base;
	both.minus_total = TARE_MINUS_PAIR | TARE_MINUS_PAGE_FAULTS;
	all.group = minor.group = major.group = pair.group = 0;
	pair.kind = TARE_EVENT_MINUS;
	pair.minus = minor.base;
	const struct tare_event *const events[] = { &all, &minor, &major, &pair,
						    &clock, &wall, &zero, &both };
	int go;
	const pid_t pid = start("fork", 500, &go);
	struct counter_set *const set = open_set(
		events, 8,
		(struct counter_set_opts){ .pid = pid, .inherit = inherit, .enable_on_exec = true });
	finish(pid, go);
	struct tare_count c[8];
	CHECK(counter_set_read(set, c) == 0, "read");
	for (int i = 0; i < 8; i++)
		CHECK(c[i].state == TARE_COUNT_OK, "%s: state %d", c[i].event, c[i].state);
	CHECK(c[0].value == c[1].value + c[2].value, "%" PRIu64 " = %" PRIu64 " + %" PRIu64,
	      c[0].value, c[1].value, c[2].value);
	CHECK(c[3].value == c[0].value - c[1].value, "pair %" PRIu64, c[3].value);
	CHECK(c[3].provenance == TARE_PROV_CORRECTED, "pair provenance");
	CHECK(c[4].value > 0 && c[5].value > 0, "clocks");
	CHECK(c[6].value == 0 && c[6].provenance == TARE_PROV_EXACT, "zero");
	CHECK(c[7].value == c[7].raw - c[0].value - c[1].value && c[7].raw > c[0].value + c[1].value,
	      "both corrections: %" PRIu64 " of %" PRIu64, c[7].value, c[7].raw);
	CHECK(c[7].provenance == TARE_PROV_CORRECTED, "provenance of both corrections");
	CHECK(SANITIZED || inherit == (c[0].value > 500), "inherit %d gives %" PRIu64, inherit, c[0].value);
	counter_set_close(set);
}

/* A group that starts now starts whole: no member waits for the next tick. */
static void groups_start_whole(void)
{
	struct tare_event all = software("page-faults", PERF_COUNT_SW_PAGE_FAULTS);
	struct tare_event clock = software("task-clock", PERF_COUNT_SW_TASK_CLOCK);
	all.group = clock.group = 0;
	const struct tare_event *const events[] = { &all, &clock };
	for (int i = 0; i < 20; i++) {
		struct counter_set *const set =
			open_set(events, 2, (struct counter_set_opts){ .pid = 0 });
		struct tare_count c[2];
		touch(100);
		CHECK(counter_set_read(set, c) == 0, "read");
		CHECK(c[0].value >= 100, "%" PRIu64, c[0].value);
		/* The same clock twice, read one after the other. */
		CHECK(c[1].value >= c[1].enabled_ns / 2, "task-clock started late: %" PRIu64
		      " of %" PRIu64, c[1].value, c[1].enabled_ns);
		counter_set_close(set);
	}
}

struct worker {
	pthread_t thread;
	pthread_barrier_t *start, *end;
	long pages;
	pid_t tid;
};

static void *worker(void *arg)
{
	struct worker *const w = arg;
	w->tid = gettid();
	pthread_barrier_wait(w->start);
	pthread_barrier_wait(w->start);	/* counting begins between the two */
	touch(w->pages);
	pthread_barrier_wait(w->end);
	pthread_barrier_wait(w->end);	/* counting ends between the two */
	return NULL;
}

static void attaches_to_threads(void)
{
	pthread_barrier_t begin, end;
	struct worker w[3];
	pthread_barrier_init(&begin, NULL, 4);
	pthread_barrier_init(&end, NULL, 4);
	for (int i = 0; i < 3; i++) {
		w[i] = (struct worker){ .start = &begin, .end = &end, .pages = 1000 * (i + 1) };
		pthread_create(&w[i].thread, NULL, worker, &w[i]);
	}
	pthread_barrier_wait(&begin);
	const struct tare_event *const events[] = { &faults };
	struct counter_set *const set = open_set(
		events, 1, (struct counter_set_opts){ .pid = getpid(), .all_threads = true,
						      .disabled = true });
	CHECK(IS_COUNT(counter_set_targets(set), 4u), "%zu targets", counter_set_targets(set));
	CHECK(counter_set_enable(set, NULL) == 0, "enable");
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	CHECK(counter_set_disable(set, NULL) == 0, "disable");
	uint64_t sum = 0;
	for (size_t t = 0; t < counter_set_targets(set); t++) {
		struct tare_count c;
		CHECK(counter_set_read_target(set, t, &c) == 0, "read");
		if (c.state == TARE_COUNT_OK)
			sum += c.value;
		/* Its stack and the barrier may add a few of its own. */
		for (int i = 0; i < 3; i++)
			if (counter_set_tid(set, t) == w[i].tid)
				CHECK(c.value >= (uint64_t)w[i].pages &&
				      (SANITIZED || c.value < (uint64_t)w[i].pages + 50),
				      "thread %d: %" PRIu64, i, c.value);
	}
	struct tare_count total;
	CHECK(counter_set_read(set, &total) == 0, "read");
	CHECK(total.value == sum, "%" PRIu64 " is not %" PRIu64, total.value, sum);
	counter_set_close(set);
	pthread_barrier_wait(&end);
	for (int i = 0; i < 3; i++)
		pthread_join(w[i].thread, NULL);
}

/* Not opened, never scheduled and counted zero are three different results. */
static void three_kinds_of_nothing(void)
{
	struct tare_event nonsense = software("nonsense", 0xffff);
	struct tare_event align = software("alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS);
	const struct tare_event *const events[] = { &nonsense, &align };
	struct counter_set *set;
	const struct counter_set_opts now = { .pid = 0 };
	CHECK(counter_set_open(events, 2, &now, &set, NULL) == 0, "open");
	struct tare_count c[2];
	CHECK(counter_set_read(set, c) == 0, "read");
	CHECK(c[0].state == TARE_COUNT_NOT_OPENED && c[0].code == TARE_E_EVENT_UNSUPPORTED,
	      "state %d code %s", c[0].state, tare_err_name(c[0].code));
	CHECK(counter_set_why(set, 0)->sys_errno == ENOENT, "errno %d",
	      counter_set_why(set, 0)->sys_errno);
	CHECK(counter_set_opened(set) == 1, "opened");
	CHECK(c[1].state == TARE_COUNT_OK && c[1].value == 0, "zero");
	counter_set_close(set);

	const struct counter_set_opts never = { .pid = 0, .enable_on_exec = true };
	CHECK(counter_set_open(events + 1, 1, &never, &set, NULL) == 0, "open");
	CHECK(counter_set_read(set, c) == 0, "read");
	CHECK(c[0].state == TARE_COUNT_NOT_SCHEDULED && c[0].code == TARE_E_NOT_SCHEDULED,
	      "state %d", c[0].state);
	counter_set_close(set);
}

static void no_such_process(void)
{
	const struct tare_event *const events[] = { &faults };
	const pid_t gone = fork();
	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	for (int all = 0; all < 2; all++) {
		const struct counter_set_opts o = { .pid = gone, .all_threads = all };
		struct counter_set *set;
		struct tare_why why;
		CHECK(counter_set_open(events, 1, &o, &set, &why) == TARE_E_NO_PROCESS, "%s",
		      why.what);
		CHECK(set == NULL, "set");
	}
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return command(argv);
	counts_from_exec();
	inherits("fork");
	inherits("thread");
	groups(true);
	groups(false);
	groups_start_whole();
	attaches_to_threads();
	three_kinds_of_nothing();
	no_such_process();
	return 0;
}
