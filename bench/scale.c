/* Busy threads that share nothing: does counting make them wait for each other?
 * usage: scale THREADS; each does the same work. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *work(void *arg)
{
	uint64_t x = (uintptr_t)arg, s = 0;
	for (long i = 0; i < 500000000; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		if (x >> 63)
			s += x >> 40;
		else
			s ^= x;
	}
	return (void *)(uintptr_t)s;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t t[64];
	for (int i = 0; i < n && i < 64; i++)
		pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(i + 1));
	uintptr_t sum = 0;
	for (int i = 0; i < n && i < 64; i++) {
		void *r;
		pthread_join(t[i], &r);
		sum += (uintptr_t)r;
	}
	printf("%lx\n", (unsigned long)sum);
	return 0;
}
