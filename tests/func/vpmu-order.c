/* A thread takes its first steps before its creator goes on, so that what both map lies at
 * the same addresses in every run. Run by `tare run --cpu zen2`. */
#include "vpmu.h"

#include <pthread.h>
#include <semaphore.h>

#define THREADS 8

static sem_t enough;
static void *mapped[THREADS];

static void *map_and_wait(void *arg)
{
	void **const at = arg;
	*at = mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sem_wait(&enough);
	return NULL;
}

/* One that never waits holds nobody up for good. */
static void *spin(void *arg)
{
	while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE))
		;
	return NULL;
}

/* Nor does one that reads what its creator writes later. */
static void *read_byte(void *arg)
{
	char byte = 0;
	CHECK(read(*(const int *)arg, &byte, 1) == 1 && byte == 'x', "read");
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	sem_init(&enough, 0, 0);
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_create(&t[i], NULL, map_and_wait, &mapped[i]) == 0, "thread %d", i);
		CHECK(mapped[i], "thread %d has not begun", i);
	}
	for (int i = 0; i < THREADS; i++)
		sem_post(&enough);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);

	int stop = 0, fds[2];
	CHECK(pthread_create(&t[0], NULL, spin, &stop) == 0, "spin");
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(t[0], NULL);
	CHECK(pipe(fds) == 0 && pthread_create(&t[0], NULL, read_byte, &fds[0]) == 0, "read");
	CHECK(write(fds[1], "x", 1) == 1, "write");
	pthread_join(t[0], NULL);
	return 0;
}
