/* Two threads that compute at the same time and share nothing: each must count the same
 * always. The C library does some things once, in the thread that starts or ends first
 * (glibc 2.41: 35 instructions). So the second one starts when the first one runs, and ends
 * when the first one has ended; a read that waits costs no more instructions than one that
 * does not. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int started[2], may_end[2];	/* pipes */

static void tell(const int *pipe)
{
	if (write(pipe[1], "", 1) != 1)
		abort();
}

static void await(const int *pipe)
{
	char byte;
	if (read(pipe[0], &byte, 1) != 1)
		abort();
}

static void *work(void *arg)
{
	uint64_t x = (uintptr_t)arg;
	const int n = (int)(uintptr_t)arg * 100000;
	if (x == 1)
		tell(started);
	for (int i = 0; i < n; i++)
		x = x * 6364136223846793005ull + (x >> 7);
	if (arg == (void *)2)
		await(may_end);
	return (void *)(uintptr_t)x;
}

int main(void)
{
	pthread_t t[2];
	void *first, *second;
	if (pipe(started) || pipe(may_end))
		abort();
	pthread_create(&t[0], NULL, work, (void *)1);
	await(started);
	pthread_create(&t[1], NULL, work, (void *)2);
	pthread_join(t[0], &first);
	tell(may_end);
	pthread_join(t[1], &second);
	printf("%lx\n", (unsigned long)((uintptr_t)first + (uintptr_t)second));
	return 0;
}
