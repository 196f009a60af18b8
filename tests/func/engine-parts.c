/* Switches counting at difficult moments: while other threads run, in signal handlers, before and
 * after fork, vfork and thread creation, with dumps and zeroing. code-sums checks that the code and the
 * counts of each part agree; without it, the program only has to run to its end. */
#include <tare/region.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int done;
static volatile unsigned work;

static unsigned spend(unsigned n)
{
	unsigned h = n;
	for (unsigned i = 0; i < n; i++)
		h = h % 3 ? h * 5 + i : h / 3 + i;
	return h;
}

static void *spin(void *arg)
{
	while (!done)
		work += spend(*(unsigned *)arg);
	return NULL;
}

static volatile sig_atomic_t signals;

/* A handler may interrupt the main thread between any two instructions. */
static void on_signal(int number)
{
	(void)number;
	if (signals++ % 2)
		tare_region_start();
	else
		tare_region_stop();
	work += spend(20);
}

static void with_threads(void)
{
	static unsigned sizes[3] = { 10, 1000, 100000 };
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, spin, &sizes[i]);
	for (int i = 0; i < 60; i++) {
		tare_region_start();
		work += spend(500);
		if (i % 7 == 3)
			tare_region_dump(i % 2 ? "odd" : "even");
		if (i % 11 == 5)
			tare_region_zero();
		tare_region_stop();
		work += spend(100);
	}
	tare_region_start();
	done = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

static void with_signals(void)
{
	const struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction a;
	memset(&a, 0, sizeof(a));
	a.sa_handler = on_signal;
	sigaction(SIGVTALRM, &a, NULL);
	setitimer(ITIMER_VIRTUAL, &often, NULL);
	while (signals < 20)
		work += spend(5000);
	setitimer(ITIMER_VIRTUAL, &never, NULL);
	tare_region_start();
}

static void child_of(int is_vfork)
{
	const pid_t child = is_vfork ? vfork() : fork();
	if (child == 0 && is_vfork)
		_exit(0);
	if (child == 0) {
		work += spend(300);
		tare_region_dump("child");
		tare_region_stop();
		work += spend(300);
		tare_region_start();
		work += spend(50);
		exit(0);
	}
	work += spend(700);
	waitpid(child, NULL, 0);
}

int main(void)
{
	work += spend(1000);
	tare_region_start();
	work += spend(1000);
	child_of(0);
	child_of(1);
	tare_region_stop();
	child_of(0);
	with_threads();
	with_signals();
	tare_region_dump("the end");
	work += spend(10);
	puts("done");
	return 0;
}
