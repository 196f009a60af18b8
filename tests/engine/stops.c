/* What stat-stops.py stops: stops signals | threads | fork | exec | block | write.
 *
 * Each does the same amount of work in each run. `work()` is a loop of four instructions. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t n_signals;

static void on_signal(int number)
{
	(void)number;
	n_signals++;
}

uint64_t work(uint64_t n);
__attribute__((noinline)) uint64_t work(uint64_t n)
{
	uint64_t sum = 0;
	__asm__ volatile("1:\n\tadd %1, %0\n\tlea 1(%0), %0\n\tdec %1\n\tjnz 1b"
			 : "+r"(sum), "+r"(n) : : "cc");
	return sum;
}

static void *thread(void *arg)
{
	work((uint64_t)(uintptr_t)arg);
	return NULL;
}

static void signals(void)
{
	signal(SIGUSR1, on_signal);
	work(100000);
	printf("%d\n", (int)n_signals);
}

/* The signal is blocked while it is sent, and comes when it is unblocked. */
static void block(void)
{
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	signal(SIGUSR1, on_signal);
	sigprocmask(SIG_BLOCK, &one, NULL);
	work(100000);
	const int before = n_signals;
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	printf("%d %d\n", before, (int)n_signals);
}

static void threads(void)
{
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, thread, (void *)(uintptr_t)(300000 + i)))
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static void forks(void)
{
	for (int i = 0; i < 3; i++) {
		const pid_t child = fork();
		if (!child) {
			work(20000);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

static void writes(void)
{
	for (int i = 0; i < 10; i++)
		if (write(STDOUT_FILENO, "x", 1) != 1)
			abort();
}

int main(int argc, char **argv)
{
	const char *const what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "signals"))
		signals();
	else if (!strcmp(what, "block"))
		block();
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "fork"))
		forks();
	else if (!strcmp(what, "write"))
		writes();
	else if (!strcmp(what, "exec"))
		execl("/proc/self/exe", argv[0], "fork", (char *)NULL);
	else
		return 1;
	return 0;
}
