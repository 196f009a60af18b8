/* A loop that runs as often as the clock says. */
#include <time.h>

int main(void)
{
	struct timespec t;
	volatile long n = 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	for (int i = 0; i < 20000; i++)
		n = n + 1;
	for (long i = t.tv_nsec / 1000 % 100; i > 0; i--)
		n = n + 1;
	return 0;
}
