/* Counting children, threads and other processes through the virtual PMU: what is
 * inherited, what is not, and that it adds up. Run by `tare run --cpu zen2`. */
#include "vpmu.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

static int self_counter(struct perf_event_attr a)
{
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	CHECK(fd >= 0, "open: %d", fd);
	return fd;
}

static struct perf_event_attr branches(bool inherit)
{
	struct perf_event_attr a = vpmu_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	a.inherit = inherit;
	return a;
}

#define LOTS 10000000u

static void *work(void *arg)
{
	(void)arg;
	vpmu_loop(LOTS);
	return NULL;
}

static void in_thread(void)
{
	pthread_t t;
	CHECK(pthread_create(&t, NULL, work, NULL) == 0, "thread");
	pthread_join(t, NULL);
}

static void in_child(void)
{
	const pid_t pid = fork();
	if (pid == 0) {
		vpmu_loop(LOTS);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void inheritance(void (*doing)(void))
{
	const int own = self_counter(branches(false)), all = self_counter(branches(true));
	doing();
	const uint64_t a = vpmu_read(own), b = vpmu_read(all);
	CHECK(a < LOTS / 10, "own %ju", (uintmax_t)a);
	CHECK(b > LOTS && b < LOTS + LOTS / 10, "inherited %ju", (uintmax_t)b);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, all, 0) == MAP_FAILED && errno == EINVAL,
	      "an inherited event has no page");
	close(own);
	close(all);
}

/* A child that waits, so that its event stands still while it is looked at. */
static void other_process(void)
{
	int go[2], done[2];
	char byte;
	CHECK(!pipe(go) && !pipe(done), "pipe");
	const pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 2; i++) {
			if (read(go[0], &byte, 1) != 1)
				_exit(1);
			vpmu_loop(1000000);
			if (write(done[1], "", 1) != 1)
				_exit(1);
		}
		pause();
	}
	struct perf_event_attr a = branches(false);
	const int fd = vpmu_open(&a, pid, -1, -1, 0);
	CHECK(fd >= 0, "open of %d: %d", pid, fd);
	uint64_t v[3] = { 0 };
	for (int i = 0; i < 2; i++) {
		CHECK(write(go[1], "", 1) == 1 && read(done[0], &byte, 1) == 1, "pipe");
		usleep(1000);
		v[i + 1] = vpmu_read(fd);
	}
	CHECK(v[2] - v[1] > 1000000 && v[2] - v[1] < 1002000, "%ju", (uintmax_t)(v[2] - v[1]));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(vpmu_read(fd) >= v[2], "the dead keep their counts");
	close(fd);
}

/* Shared with one that makes no system call. */
struct spinner {
	int tid, go, done, stop;
};

static void spin(struct spinner *s)
{
	__atomic_store_n(&s->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&s->go, __ATOMIC_ACQUIRE))
		;
	vpmu_loop(1000000);
	__atomic_store_n(&s->done, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE))
		;
}

static void *spin_thread(void *arg)
{
	spin(arg);
	return NULL;
}

/* It counts from the moment its counter is opened, though it never enters the kernel. */
static void watch(struct spinner *s)
{
	while (!__atomic_load_n(&s->tid, __ATOMIC_ACQUIRE))
		usleep(100);
	struct perf_event_attr a = branches(false), b = vpmu_instructions();
	const int f = vpmu_open(&a, s->tid, -1, -1, 0), g = vpmu_open(&b, s->tid, -1, -1, 0);
	CHECK(f >= 0 && g >= 0, "open: %d %d", f, g);
	const uint64_t before[2] = { vpmu_read(f), vpmu_read(g) };
	__atomic_store_n(&s->go, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&s->done, __ATOMIC_ACQUIRE))
		usleep(100);
	const uint64_t d = vpmu_read(f) - before[0], e = vpmu_read(g) - before[1];
	CHECK(d >= 1000000 && e >= 2000001, "%ju branches, %ju instructions", (uintmax_t)d,
	      (uintmax_t)e);
	__atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);
	close(f);
	close(g);
}

static void without_calls(void)
{
	struct spinner *const s = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const pid_t pid = fork();
	if (pid == 0) {
		spin(s);
		_exit(0);
	}
	watch(s);
	int status;
	waitpid(pid, &status, 0);
	CHECK(status == 0, "%x", status);
	memset(s, 0, sizeof(*s));
	pthread_t t;
	CHECK(pthread_create(&t, NULL, spin_thread, s) == 0, "thread");
	watch(s);
	pthread_join(t, NULL);
}

/* A counter is opened on one that sleeps: it does not wake up for it. False: it had ended. */
static bool of_a_sleeper(long ms)
{
	int ready[2];
	char byte;
	CHECK(!pipe(ready), "pipe");
	const pid_t pid = fork();
	if (pid == 0) {
		const struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(nanosleep(&nap, NULL) == 0 ? 0 : 2);
	}
	CHECK(read(ready[0], &byte, 1) == 1, "pipe");
	usleep(20000);
	struct perf_event_attr a = vpmu_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	const int fd = vpmu_open(&a, pid, -1, -1, 0);
	int status;
	waitpid(pid, &status, 0);
	close(ready[0]);
	close(ready[1]);
	CHECK(status == 0, "%x", status);
	const bool there = fd >= 0 && vpmu_read(fd) > 0;
	if (fd >= 0)
		close(fd);
	return there;
}

/* On a busy machine the sleeper may have ended before the counter is open: it sleeps longer. */
static void of_sleepers(void)
{
	long ms = 300;
	while (!of_a_sleeper(ms)) {
		CHECK(ms < 20000, "no counter on a task that sleeps for %ld ms", ms);
		ms *= 4;
	}
}

static int two_threads_fd[2];

static void *count_self(void *arg)
{
	const int i = *(int *)arg;
	two_threads_fd[i] = self_counter(branches(false));
	ioctl(two_threads_fd[i], PERF_EVENT_IOC_RESET, 0);
	vpmu_loop(i ? 3000000 : 1000000);
	ioctl(two_threads_fd[i], PERF_EVENT_IOC_DISABLE, 0);
	return NULL;
}

static void each_thread(void)
{
	int n[2] = { 0, 1 };
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, count_self, &n[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	const uint64_t a = vpmu_read(two_threads_fd[0]), b = vpmu_read(two_threads_fd[1]);
	CHECK(b - a == 2000000 && a > 1000000 && a < 1000100, "%ju %ju", (uintmax_t)a, (uintmax_t)b);
}

/* Closed on exec or not, an event of the task goes on over it. */
static void over_exec(void)
{
	struct perf_event_attr a = branches(false);
	a.disabled = a.enable_on_exec = 1;
	int go[2];
	char byte;
	CHECK(!pipe(go), "pipe");
	const pid_t pid = fork();
	if (pid == 0) {
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		vpmu_loop(LOTS);
		execl("/proc/self/exe", "vpmu-tasks", "loop", (char *)NULL);
		_exit(1);
	}
	const int fd = vpmu_open(&a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	struct perf_event_attr b = branches(false), c = branches(false);
	b.remove_on_exec = 1;
	c.exclude_user = 1;
	const int until = vpmu_open(&b, pid, -1, -1, 0), nothing = vpmu_open(&c, pid, -1, -1, 0);
	CHECK(until >= 0 && nothing >= 0, "open: %d %d", until, nothing);
	CHECK(fd >= 0 && write(go[1], "", 1) == 1, "open: %d", fd);
	int status;
	waitpid(pid, &status, 0);
	const uint64_t v = vpmu_read(fd);
	CHECK(status == 0 && v > 2000000 && v < LOTS, "%x %ju", status, (uintmax_t)v);
	const uint64_t u = vpmu_read(until);
	CHECK(u >= LOTS && u < LOTS + 100000, "removed on exec: %ju", (uintmax_t)u);
	CHECK(vpmu_read(nothing) == 0, "neither user nor kernel: %ju", (uintmax_t)vpmu_read(nothing));
	close(fd);
	close(until);
	close(nothing);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "loop") == 0) {
		vpmu_loop(2000000);
		return 0;
	}
	without_calls();	/* first: no code counts yet */
	inheritance(in_thread);
	inheritance(in_child);
	other_process();
	of_sleepers();
	each_thread();
	over_exec();
	return 0;
}
