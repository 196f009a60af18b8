/* Code that is written, run and replaced without end, as a JIT compiler does: the engine
 * empties its cache from time to time, while other threads run, sleep and take signals.
 *
 * With a number, one thread and so few functions that they can be single-stepped. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define FUNCTIONS 64
#define EACH 1000
#define AREA (FUNCTIONS * EACH)

typedef unsigned function(unsigned);

/* lea n(%rdi), %eax; ret */
static function *write_function(unsigned char *at, uint32_t n)
{
	at[0] = 0x8d;
	at[1] = 0x87;
	memcpy(at + 2, &n, 4);
	at[6] = 0xc3;
	return (function *)at;
}

static unsigned char *code_area(void)
{
	void *const p = mmap(NULL, AREA, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		exit(1);
	return p;
}

/* In the same place again and again, or each time in a new one. */
static uint64_t churn(unsigned rounds, int fresh)
{
	unsigned char *area = code_area();
	uint64_t sum = 0;
	for (unsigned r = 0; r < rounds; r++) {
		for (unsigned i = 0; i < FUNCTIONS; i++)
			sum += write_function(area + i * EACH, r + i)(i);
		if (!fresh)
			continue;
		munmap(area, AREA);
		area = code_area();
	}
	munmap(area, AREA);
	return sum;
}

static uint64_t expected(unsigned rounds)
{
	const uint64_t n = rounds, f = FUNCTIONS;
	return n * (n - 1) / 2 * f + n * f * (f - 1);
}

static volatile int done;
static volatile sig_atomic_t ticks;

static void on_alarm(int sig)
{
	(void)sig;
	ticks++;
}

#define ROUNDS 12000u

static void *churner(void *arg)
{
	const int fresh = arg != NULL;
	const unsigned rounds = fresh ? ROUNDS / 8 : ROUNDS;
	return (void *)(uintptr_t)(churn(rounds, fresh) == expected(rounds));
}

/* No system call, no new code: it has to be fetched out of the cache. */
static void *spinner(void *arg)
{
	unsigned long n = 0, steps = 0;
	(void)arg;
	while (!done) {
		n = n * 6364136223846793005ul + 1442695040888963407ul;
		steps++;
	}
	return (void *)(uintptr_t)(steps > 0 && n != 1);
}

/* Sleeps through it all, once. */
static void *sleeper(void *arg)
{
	sigset_t all;
	int early = 0;
	(void)arg;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	while (!done) {
		struct timespec nap = { 0, 20000000 }, left = { 0, 0 };
		early += nanosleep(&nap, &left) != 0;
	}
	return (void *)(uintptr_t)!early;
}

static long resident_kib(void)
{
	char line[128];
	long kib = 0;
	FILE *const f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static int threads(void)
{
	struct sigaction a = { .sa_handler = on_alarm };
	const struct itimerval often = { { 0, 3000 }, { 0, 3000 } }, never = { { 0, 0 }, { 0, 0 } };
	pthread_t t[5];
	void *(*const what[5])(void *) = { churner, churner, churner, spinner, sleeper };
	void *ok;
	a.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &a, NULL);
	for (int i = 0; i < 5; i++)
		pthread_create(&t[i], NULL, what[i], i == 2 ? &t : NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 5; i++) {
		if (i == 3)
			done = 1;
		pthread_join(t[i], &ok);
		printf("thread %d: %s\n", i, ok ? "right" : "WRONG");
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("signals: %s\n", ticks ? "some" : "none");
	/* 1.6 million functions: 460 MiB when nothing is used again */
	printf("memory: %s\n", resident_kib() < 160 * 1024 ? "bounded" : "GROWS");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "queue") == 0) {
		/* no signal can be queued: the engine's own arrive without what they say */
		const struct rlimit none = { 0, 0 };
		setrlimit(RLIMIT_SIGPENDING, &none);
		return threads();
	}
	if (argc == 1)
		return threads();
	const unsigned rounds = (unsigned)atoi(argv[1]);
	printf("%s\n", churn(rounds, 0) == expected(rounds) ? "right" : "WRONG");
	return 0;
}
