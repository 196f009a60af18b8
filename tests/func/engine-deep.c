/* Recursions deeper than the shadow of the stack has memory of its own: returns find their
 * way, also in a child forked in the middle, in threads, and with functions that take turns. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef long (*step)(long n);
static step turns[4];
static long fork_at = -1;
static pid_t first;

static long between(long n)
{
	if (n != fork_at)
		return 0;
	fork_at = -1;
	fflush(stdout);
	const pid_t child = fork();
	if (child == 0)
		return 1000000;
	int status = 0;
	waitpid(child, &status, 0);
	return status ? 5000000 : 0;
}

/* Four functions of which each calls the one that the number says, from places of its own. */
#define STEP(name, size, mix) \
	__attribute__((noinline)) static long name(long n) \
	{ \
		volatile long frame[size]; \
		frame[n % size] = n; \
		if (n == 0) \
			return 0; \
		const long extra = between(n); \
		const long got = (n * mix) % 3 ? turns[(n * mix) & 3](n - 1) : turns[n & 3](n - 1) + 1; \
		return got + frame[n % size] % 7 + extra; \
	}
STEP(one, 8, 7)
STEP(two, 40, 11)
STEP(three, 3, 13)
STEP(four, 21, 5)

static void *in_thread(void *depth)
{
	long sum = 0;
	for (int i = 0; i < 2; i++)
		sum += turns[i]((long)depth);
	if (getpid() != first) {		/* nobody joins this thread there */
		printf("child %ld\n", sum);
		fflush(stdout);
		_exit(0);
	}
	return (void *)sum;
}

static long with_stack(long depth)
{
	pthread_attr_t attr;
	pthread_t t;
	void *sum;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256u << 20);
	if (pthread_create(&t, &attr, in_thread, (void *)depth))
		exit(1);
	pthread_join(t, &sum);
	return (long)sum;
}

int main(void)
{
	first = getpid();
	turns[0] = one, turns[1] = two, turns[2] = three, turns[3] = four;
	for (long depth = 1000; depth <= 60000; depth *= 4)
		printf("%ld: %ld\n", depth, with_stack(depth));
	fork_at = 300;			/* when most of the stack is in use */
	const long sum = with_stack(40000);
	printf("parent %ld\n", sum);
	return 0;
}
