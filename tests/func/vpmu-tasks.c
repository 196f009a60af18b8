/* Counting children, threads and other processes through the virtual PMU: what is
 * inherited, what is not, and that it adds up. Run by `tare run --cpu zen2`. */
#include "vpmu.h"

#include <pthread.h>
#include <sys/wait.h>

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
		vpmu_loop(LOTS);
		if (read(go[0], &byte, 1) == 1)
			execl("/proc/self/exe", "vpmu-tasks", "loop", (char *)NULL);
		_exit(1);
	}
	const int fd = vpmu_open(&a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	CHECK(fd >= 0 && write(go[1], "", 1) == 1, "open: %d", fd);
	int status;
	waitpid(pid, &status, 0);
	const uint64_t v = vpmu_read(fd);
	CHECK(status == 0 && v > 2000000 && v < LOTS, "%x %ju", status, (uintmax_t)v);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "loop") == 0) {
		vpmu_loop(2000000);
		return 0;
	}
	inheritance(in_thread);
	inheritance(in_child);
	other_process();
	each_thread();
	over_exec();
	return 0;
}
