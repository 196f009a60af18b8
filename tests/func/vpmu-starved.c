/* Threads and processes that get a CPU only after seconds, as on a busy machine: whatever waits for
 * them goes on waiting. They share a CPU with processes of a much higher priority.
 * Run by `tare run --cpu zen2 -- vpmu-starved order|code|traced`. */
#include "vpmu.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define MAX_HOGS 30

static int n_hogs;
static pid_t hogs[MAX_HOGS];

static cpu_set_t one_cpu(void)
{
	cpu_set_t allowed, one;
	CHECK(sched_getaffinity(0, sizeof(allowed), &allowed) == 0, "affinity");
	int cpu = 0;
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return one;
}

static void hogs_start(int n)
{
	const cpu_set_t one = one_cpu();
	for (; n_hogs < n; n_hogs++)
		if ((hogs[n_hogs] = fork()) == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			sched_setaffinity(0, sizeof(one), &one);
			for (;;)
				;
		}
}

static void hogs_end(void)
{
	while (n_hogs) {
		kill(hogs[--n_hogs], SIGKILL);
		waitpid(hogs[n_hogs], NULL, 0);
	}
}

/* The calling thread, and those that it makes. */
static void starve(void)
{
	const cpu_set_t one = one_cpu();
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0, "affinity");
	CHECK(nice(19) != -1, "nice");
}

/* ---- threads take their first steps in order ---- */

#define THREADS 3

static sem_t enough;
static void *mapped[THREADS];

static void *map_and_wait(void *arg)
{
	void **const at = arg;
	*at = mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sem_wait(&enough);
	return NULL;
}

static void threads(void)
{
	pthread_t t[THREADS];
	memset(mapped, 0, sizeof(mapped));
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_create(&t[i], NULL, map_and_wait, &mapped[i]) == 0, "thread %d", i);
		CHECK(mapped[i], "thread %d has not begun", i);
	}
	for (int i = 0; i < THREADS; i++)
		sem_post(&enough);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void order(void)
{
	sem_init(&enough, 0, 0);
	threads();			/* all code is translated then */
	hogs_start(8);
	starve();
	threads();
}

/* ---- code is translated again, for a counter; a thread is in the old code ---- */

static int spins, stop;

static void *spin(void *arg)
{
	(void)arg;
	starve();
	__atomic_store_n(&spins, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		;
	return NULL;
}

static void code(void)
{
	pthread_t t;
	CHECK(pthread_create(&t, NULL, spin, NULL) == 0, "thread");
	while (!__atomic_load_n(&spins, __ATOMIC_ACQUIRE))
		usleep(1000);
	hogs_start(MAX_HOGS);
	usleep(100000);
	const struct perf_event_attr a = vpmu_instructions();
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	CHECK(fd >= 0, "open: %d", fd);
	const uint64_t before = vpmu_read(fd);
	vpmu_loop(1000);
	CHECK(vpmu_read(fd) - before > 2001, "counts");
	hogs_end();
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
}

/* ---- a tracer sees no signals of the engine's ---- */

static int __attribute__((noinline)) deep(int n)
{
	volatile char room[1000];
	room[n % 1000] = (char)n;
	return n ? deep(n - 1) + room[n % 1000] : 0;
}

static void traced(void)
{
	int *const go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const pid_t pid = fork();
	if (pid == 0) {
		starve();
		go[0] = 1;
		while (!__atomic_load_n(&go[1], __ATOMIC_ACQUIRE))
			;
		deep(3000);
		_exit(7);
	}
	while (!__atomic_load_n(&go[0], __ATOMIC_ACQUIRE))
		usleep(1000);
	hogs_start(12);
	usleep(100000);
	CHECK(ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0, "attach");
	int status;
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP,
	      "status %x", status);
	hogs_end();
	go[1] = 1;
	ptrace(PTRACE_CONT, pid, NULL, 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7,
	      "the tracer sees status %x", status);
}

int main(int argc, char **argv)
{
	const char *const what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "order") == 0)
		order();
	else if (strcmp(what, "code") == 0)
		code();
	else if (strcmp(what, "traced") == 0)
		traced();
	else
		CHECK(0, "usage: vpmu-starved order|code|traced");
	hogs_end();
	return 0;
}
