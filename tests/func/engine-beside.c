/* Branches of all sorts, first by the only thread there is, then beside another one: the
 * engine lays code out in one way when nobody else runs it and in another when somebody
 * may. The same work stands here several times, because code that was translated stays. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int faults;
static int ends[2];
static int *volatile nowhere;

static void on_fault(int sig)
{
	(void)sig;
	faults++;
	siglongjmp(back, 1);
}

/* Its first passes go one way and its later ones another; long chains of conditions of
 * which few are ever true; loops that run once at first; a fault in the middle. */
#define WORK(name) \
static __attribute__((noinline)) uint32_t name(uint32_t seed, int passes) \
{ \
	uint32_t x = seed, sum = 0; \
	for (int i = 0; i < passes; i++) { \
		x = x * 1664525u + 1013904223u; \
		const uint32_t y = x >> 16; \
		if (i > 3 && y % 2) \
			sum += 1; \
		else if (y % 3 == 0) \
			sum ^= y; \
		else if (y % 5 == 0) \
			sum += y << 1; \
		else if (y % 7 == 0) \
			sum -= y; \
		else if (y % 11 == 0) \
			sum += 11; \
		else if (y % 13 == 0) \
			sum ^= 13; \
		else if (y == 17) \
			sum = 0; \
		for (uint32_t k = 0; k < (uint32_t)(i & 7); k++) { \
			if (k == y % 9) \
				continue; \
			if (sum % (k + 2) == 1) \
				break; \
			sum += k; \
		} \
		switch (y & 7) { \
		case 0: sum += 3; break; \
		case 1: sum += 5; /* fallthrough */ \
		case 2: sum ^= 9; break; \
		case 5: sum = sum << 3 | sum >> 29; break; \
		default: sum--; \
		} \
		if (i % 16 == 9 && sigsetjmp(back, 1) == 0) { \
			volatile int *const nothing = nowhere; \
			if (y & 1) \
				sum += (uint32_t)*nothing; \
			else if (y & 2) \
				*nothing = 1; \
		} \
	} \
	return sum; \
}

WORK(alone)
WORK(beside)
WORK(beside_too)

/* Writes more than fits into the pipe: where a byte can be read, this thread is in its last system
 * call, and stays there. */
static void *sleeper(void *arg)
{
	static const char lots[1 << 21];
	return write(ends[1], lots, sizeof(lots)) > 0 ? arg : NULL;
}

int main(void)
{
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	sigaction(SIGSEGV, &act, NULL);
	if (pipe(ends) < 0)
		return 2;
	uint32_t sum = alone(1, 1) + alone(2, 100);
	pthread_t t;
	char c;
	if (pthread_create(&t, NULL, sleeper, NULL) || read(ends[0], &c, 1) != 1)
		return 2;
	sum = sum * 31 + beside(3, 1) + beside(4, 100);
	sum = sum * 31 + alone(5, 50);		/* translated before */
	sum = sum * 31 + beside_too(6, 80);
	sum = sum * 31 + beside(7, 50);
	printf("%u, %d faults\n", sum, faults);
	return 0;			/* it sleeps on: how a thread ends depends on time */
}
