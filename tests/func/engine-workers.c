/* Two threads that compute and share nothing: each must count the same always.
 * They start one after the other's creation is over and never contend. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static void *work(void *arg)
{
	uint64_t x = (uintptr_t)arg;
	const int n = (int)(uintptr_t)arg * 100000;
	for (int i = 0; i < n; i++)
		x = x * 6364136223846793005ull + (x >> 7);
	return (void *)(uintptr_t)x;
}

int main(void)
{
	pthread_t t[2];
	uintptr_t sum = 0;
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < 2; i++) {
		void *r;
		pthread_join(t[i], &r);
		sum += (uintptr_t)r;
	}
	printf("%lx\n", (unsigned long)sum);
	return 0;
}
