/* Starts N threads, one after another, each of which does a little work. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned sink;

static void *work(void *arg)
{
	for (unsigned i = 0; i < 100; i++)
		sink += i;
	return arg;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 10;
	for (int i = 0; i < n; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, work, NULL)) {
			perror("pthread_create");
			return 1;
		}
		pthread_join(t, NULL);
	}
	return 0;
}
