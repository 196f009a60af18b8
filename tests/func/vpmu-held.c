/* A debugger holds (PTRACE_SEIZE, PTRACE_INTERRUPT) a task that shares the memory of another while this one wants a
 * counter that the code in that memory does not count yet: the counter is refused, or says that it has lost events. No
 * program ends for it. Run by `tare run --cpu zen2`. */
#include "vpmu.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static volatile unsigned long spins;
static volatile bool stop;

static int spin(void *arg)
{
	(void)arg;
	while (!stop)
		spins++;
	return 7;
}

/* A task of this memory that executes code. */
static pid_t start(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	const pid_t pid = clone(spin, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	CHECK(pid > 0, "clone: %s", strerror(errno));
	while (spins < 1000)
		;
	return pid;
}

static void await_stop(pid_t pid)
{
	int status;
	CHECK(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status), "status %x", status);
}

/* … and was stopped in the middle of it. */
static pid_t hold(void)
{
	const pid_t pid = start();
	CHECK(ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0, "seize: %s", strerror(errno));
	CHECK(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0, "interrupt: %s", strerror(errno));
	await_stop(pid);
	return pid;
}

static void let_go(pid_t pid)
{
	CHECK(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0, "detach: %s", strerror(errno));
}

static void end(pid_t pid)
{
	int status;
	stop = true;
	CHECK(waitpid(pid, &status, __WALL) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %x", status);
}

__attribute__((noinline)) static uint64_t of_loop(int fd, uint64_t n)
{
	const uint64_t was = vpmu_read(fd);
	vpmu_loop(n);
	return vpmu_read(fd) - was;
}

/* The counter counts each of the so many events in a turn of the loop. */
static void counts(int fd, uint64_t each)
{
	of_loop(fd, 1);			/* the functions are loaded */
	const uint64_t few = of_loop(fd, 1000), more = of_loop(fd, 3000);
	CHECK(more == few + each * 2000, "%ju, then %ju", (uintmax_t)few, (uintmax_t)more);
}

/* Of the task itself. */
static void refused(void)
{
	const struct perf_event_attr a = vpmu_instructions();
	const pid_t pid = hold();
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	CHECK(fd == -EBUSY, "open: %d", fd);
	let_go(pid);
	const int later = vpmu_open(&a, 0, -1, -1, 0);
	CHECK(later >= 0, "open: %d", later);
	counts(later, 2);
	end(pid);
}

/* A task that a signal has stopped is not in the middle of code, and keeps no event from being counted. */
static void attached(void)
{
	const struct perf_event_attr a = vpmu_instructions();
	const pid_t pid = start();
	CHECK(ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0, "attach: %s", strerror(errno));
	await_stop(pid);
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	CHECK(fd >= 0, "open: %d", fd);
	counts(fd, 2);
	let_go(pid);
	end(pid);
}

/* What counts already goes on, also in its group. */
static void refused_another(void)
{
	const struct perf_event_attr a = vpmu_instructions(),
				     b = vpmu_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	const int first = vpmu_open(&a, 0, -1, -1, 0);
	CHECK(first >= 0, "open: %d", first);
	const pid_t pid = hold();
	const int fd = vpmu_open(&b, 0, -1, first, 0);
	CHECK(fd == -EBUSY, "open: %d", fd);
	counts(first, 2);
	const int same = vpmu_open(&a, 0, -1, first, 0);
	CHECK(same >= 0, "open: %d", same);
	counts(same, 2);
	let_go(pid);
	const int later = vpmu_open(&b, 0, -1, first, 0);
	CHECK(later >= 0, "open: %d", later);
	counts(later, 1);
	end(pid);
}

/* Of the task that is held: it counts when it goes on. */
static void on_the_held(void)
{
	const struct perf_event_attr a = vpmu_instructions();
	const pid_t pid = hold();
	const int fd = vpmu_open(&a, pid, -1, -1, 0);
	CHECK(fd >= 0 && vpmu_read(fd) == 0, "open: %d", fd);
	let_go(pid);
	while (!vpmu_read(fd))
		usleep(1000);
	end(pid);
}

/* Another process counts the task. */
static void by_another(void)
{
	int ready[2], go[2], status;
	char c = 0;
	CHECK(pipe(ready) == 0 && pipe(go) == 0, "pipe");
	const pid_t task = fork();
	if (!task) {
		const pid_t pid = hold();
		CHECK(write(ready[1], &c, 1) == 1, "pipe");
		/* runs code, so that it must follow at once */
		const unsigned long since = spins;
		vpmu_loop(20000000);
		CHECK(spins == since && read(go[0], &c, 1) == 1, "pipe");
		let_go(pid);
		end(pid);
		_exit(0);
	}
	CHECK(read(ready[0], &c, 1) == 1, "pipe");
	struct perf_event_attr a = vpmu_instructions();
	a.read_format = PERF_FORMAT_LOST;
	const int fd = vpmu_open(&a, task, -1, -1, 0);
	CHECK(fd >= 0, "open: %d", fd);
	CHECK(write(go[1], &c, 1) == 1, "pipe");
	CHECK(waitpid(task, &status, 0) == task && status == 0, "status %x", status);
	uint64_t v[2];
	CHECK(read(fd, v, sizeof(v)) == sizeof(v) && v[1] == 1, "lost %ju", (uintmax_t)v[1]);
}

int main(void)
{
	void (*const cases[])(void) = { refused, attached, refused_another, on_the_held, by_another };
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status;
		const pid_t pid = fork();
		if (!pid) {
			cases[i]();
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0, "case %u: status %x", i, status);
	}
	return 0;
}
