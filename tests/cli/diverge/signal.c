/* A timer's signal comes somewhere in a loop. */
#include <signal.h>
#include <sys/time.h>

static volatile int came;

static void handler(int sig)
{
	(void)sig;
	came = came + 1;
}

int main(void)
{
	const struct itimerval t = { .it_interval = { 0, 3000 }, .it_value = { 0, 3000 } };
	volatile int n = 0;
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &t, 0);
	while (came < 5)
		n = n + 1;
	return 0;
}
