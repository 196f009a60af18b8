/* Two threads, one variable and no lock. */
#include <pthread.h>

static volatile int shared;

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000000; i++)
		shared = i;
	return 0;
}

int main(void)
{
	pthread_t t;
	volatile int n = 0;
	pthread_create(&t, 0, work, 0);
	for (int i = 0; i < 200000; i++)
		if (shared & 64) {
			n = n + 1;
			n = n + 2;
		}
	pthread_join(t, 0);
	return 0;
}
