/* A process that reads the ring of another one: data_head changes at its system calls only, so a reader that
 * looks twice takes each record once (perf_mmap__push() of perf looks twice). Run by `tare run --cpu zen2`. */
#include "sampling.h"

#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define TURNS 40000u

/* The child's loop begins when the parent has opened its event. */
static pid_t start(int *go)
{
	int pipes[2];
	CHECK(pipe(pipes) == 0, "pipe");
	const pid_t pid = fork();
	if (!pid) {
		char c;
		close(pipes[1]);
		CHECK(read(pipes[0], &c, 1) == 1, "read");
		loop(TURNS);
		_exit(0);
	}
	close(pipes[0]);
	*go = pipes[1];
	return pid;
}

static struct ring open_ring(pid_t pid, unsigned pages, int *fd)
{
	const struct perf_event_attr a = sampling(1, PERF_SAMPLE_IP | PERF_SAMPLE_READ);
	*fd = open_or_die(&a, pid, -1);
	struct ring r = ring_map(*fd, pages, PROT_READ | PROT_WRITE);
	ioctl(*fd, PERF_EVENT_IOC_ENABLE, 0);
	return r;
}

static uint64_t head_of(const struct ring *r)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

/* The records up to data_head: the counter goes on by one. */
static void take(struct ring *r, uint64_t *n)
{
	for (struct perf_event_header *h; (h = ring_next(r));) {
		const uint64_t *const w = (const uint64_t *)(h + 1);
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		CHECK(w[1] == ++*n, "sample %ju: the counter says %ju", (uintmax_t)*n, (uintmax_t)w[1]);
	}
	ring_done(r);
}

/* At its end a task shows everything. */
static bool ends_now(pid_t child, int *status)
{
	for (int i = 0; i < 100; i++) {
		if (waitpid(child, status, WNOHANG))
			return true;
		usleep(10000);
	}
	return false;
}

/* Between two looks is time for many records. */
static void looks_twice(unsigned pages)
{
	int go, fd, status;
	const pid_t child = start(&go);
	struct ring r = open_ring(child, pages, &fd);
	uint64_t n = 0, looks = 0;
	CHECK(write(go, "", 1) == 1, "write");
	while (waitpid(child, &status, WNOHANG) == 0) {
		const uint64_t first = head_of(&r);
		loop(3000);
		const uint64_t second = head_of(&r);
		looks += first != r.tail;
		if (first != second) {
			CHECK(ends_now(child, &status), "data_head was %ju, now %ju", (uintmax_t)first,
			      (uintmax_t)second);
			break;
		}
		take(&r, &n);
	}
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "%d", status);
	take(&r, &n);
	CHECK(looks > 1, "%ju looks found records", (uintmax_t)looks);
	CHECK(n > 2 * TURNS && n == vpmu_read(fd), "%ju samples, the counter says %ju", (uintmax_t)n,
	      (uintmax_t)vpmu_read(fd));
	munmap(r.page, r.size + PAGE);
	close(fd);
	close(go);
}

/* A reader that makes no system call sees the records, too. */
static void only_looks(void)
{
	int go, fd, status;
	const pid_t child = start(&go);
	struct ring r = open_ring(child, 8, &fd);
	uint64_t n = 0;
	CHECK(write(go, "", 1) == 1, "write");
	while (n < 2 * TURNS)
		take(&r, &n);
	CHECK(waitpid(child, &status, 0) == child && status == 0, "%d", status);
	take(&r, &n);
	CHECK(n == vpmu_read(fd), "%ju samples, the counter says %ju", (uintmax_t)n, (uintmax_t)vpmu_read(fd));
	munmap(r.page, r.size + PAGE);
	close(fd);
	close(go);
}

/* A child that runs without end. */
static pid_t run_child(void)
{
	const pid_t pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		loop(1000000);
}

/* An event on a task that runs: what is counted is sampled, from the first instruction on. */
static void from_the_first(void)
{
	const pid_t child = run_child();
	for (int turn = 0; turn < 20; turn++) {
		int fd;
		uint64_t n = 0;
		struct ring r = open_ring(child, 8, &fd);
		while (n < 1000)
			take(&r, &n);
		munmap(r.page, r.size + PAGE);
		close(fd);
	}
	kill(child, SIGKILL);
	CHECK(waitpid(child, NULL, 0) == child, "waitpid");
}

int main(void)
{
	from_the_first();
	looks_twice(1);
	looks_twice(64);
	only_looks();
	return 0;
}
