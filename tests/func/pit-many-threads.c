/* More threads at once than fit into the engine's zone, each of which runs code; again after
 * they have ended. */
#include <pthread.h>
#include <stdio.h>

#define MANY 3600

static pthread_barrier_t all;
static long sum;

static void *run(void *arg)
{
	pthread_barrier_wait(&all);
	for (int i = 0; i < 10; i++)
		__atomic_add_fetch(&sum, i + (arg != NULL), __ATOMIC_RELAXED);
	return NULL;
}

static int round_of(int n, pthread_attr_t *a)
{
	static pthread_t t[MANY];
	pthread_barrier_init(&all, NULL, (unsigned)n);
	for (int i = 0; i < n; i++) {
		const int err = pthread_create(&t[i], a, run, i % 2 ? &all : NULL);
		if (err) {
			printf("thread %d: error %d\n", i, err);
			return 1;
		}
	}
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	printf("%d threads: %ld\n", n, sum);
	return 0;
}

int main(void)
{
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	setvbuf(stdout, NULL, _IONBF, 0);
	return round_of(MANY, &a) || round_of(100, &a) || round_of(MANY, &a);
}
