/* Sorts numbers, with branches that follow no pattern, in a program that sees the flags of its faults: code asks late
 * there, behind the first instructions of a block. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBERS 150

static sigjmp_buf back;
static volatile int faults;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	faults++;
	siglongjmp(back, 1);
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* A function of its own: variables of a function that calls sigsetjmp() may be lost. */
static void fault_at(long address)
{
	if (!sigsetjmp(back, 1))
		*(volatile int *)address = 1;
}

int main(void)
{
	const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	static int numbers[NUMBERS];
	static unsigned long sum;
	static unsigned x = 1;
	sigaction(SIGSEGV, &action, NULL);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < NUMBERS; i++)
			numbers[i] = (int)((x = x * 1103515245u + 12345u) >> 8);
		qsort(numbers, NUMBERS, sizeof(*numbers), by_value);
		for (int i = 0; i < NUMBERS; i++)
			sum = sum * 31 + (unsigned)numbers[i] + (unsigned)(numbers[i] & 7 ? i : round);
		fault_at(8 + round);
	}
	printf("%lx %d\n", sum, faults);
	return faults == 4 ? 0 : 1;
}
