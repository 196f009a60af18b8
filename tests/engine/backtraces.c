/* Calls without frame pointers: through libc, in a signal handler, in the vDSO. For backtraces.py. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile int sink;

__attribute__((noinline)) static void leaf(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}

__attribute__((noinline)) static int middle(int n)
{
	volatile char big[300];
	big[n % 300] = (char)n;
	leaf(n);
	return sink + big[n % 300];
}

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	return middle(*(const int *)a) - *(const int *)b;
}

__attribute__((noinline)) static void handler(int sig)
{
	sink = middle(sig);
}

__attribute__((noinline)) static void outer(void)
{
	int v[] = { 30, 20, 60, 10 };
	struct timespec t;
	qsort(v, 4, sizeof(v[0]), compare);
	raise(SIGUSR1);
	clock_gettime(CLOCK_MONOTONIC, &t);
	sink += v[0];
}

int main(void)
{
	signal(SIGUSR1, handler);
	outer();
	sink++;
	return 0;
}
