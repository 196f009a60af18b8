/* A program that single-steps itself (TF) while a timer sends signals: one trap for each instruction, whether
 * the handler of the trap blocks the timer's signal or not. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

#define ROUNDS 400	/* 2 instructions each, and 3 after them */
#define SECONDS 2

static volatile unsigned traps, alarms;

static void on_trap(int sig)
{
	(void)sig;
	traps++;
}

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void steps(void)
{
	unsigned n = ROUNDS;
	__asm__ volatile("pushfq\n"
			 "orq $0x100, (%%rsp)\n"
			 "popfq\n"
			 "1: decl %0\n"
			 "jnz 1b\n"
			 "pushfq\n"
			 "andq $~0x100, (%%rsp)\n"
			 "popfq\n"
			 : "+r"(n) : : "memory", "cc");
}

/* Returns how often the number of traps was wrong. */
static unsigned run(bool block)
{
	struct sigaction trap = { .sa_handler = on_trap };
	unsigned wrong = 0;
	sigemptyset(&trap.sa_mask);
	if (block)
		sigaddset(&trap.sa_mask, SIGALRM);
	sigaction(SIGTRAP, &trap, NULL);
	alarms = 0;
	for (const time_t begin = time(NULL); time(NULL) - begin < SECONDS || alarms < 100;) {
		traps = 0;
		steps();
		wrong += traps != 2 * ROUNDS + 3;
	}
	return wrong;
}

int main(void)
{
	const struct itimerval often = { { 0, 100 }, { 0, 100 } };
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	const unsigned open = run(false), blocked = run(true);
	printf("wrong numbers of traps: %u, with the signal blocked %u\n", open, blocked);
	return open || blocked;
}
