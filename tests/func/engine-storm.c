/* Code that runs once, under signals that come while it is being translated: an argument
 * says how often (0: never). Prints the number of signals in as many
 * instructions whatever it is; each costs inc, ret, and the restorer's mov and syscall. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

__asm__(".text\n"
	"fresh:	xorl %eax, %eax\n"
	".rept 6000\n"
	"	testl %eax, %eax\n"
	"	jne 9f\n"
	"	nop\n	nop\n	nop\n"
	"	cmpl $1, %eax\n"
	"	jae 9f\n"
	".endr\n"
	"9:	ret\n"
	"handler:	incq hits(%rip)\n"
	"	ret\n");
extern void fresh(void);
extern void handler(int sig);
long hits;

int main(int argc, char **argv)
{
	/* (read in as many instructions, too) */
	const long each[] = { 900000000, 50000, 20000 }, ns = each[argc > 1 ? argv[1][0] - '0' : 0];
	const struct itimerspec often = { { 0, ns }, { 0, ns } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction act = { .sa_handler = handler };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	timer_t timer;
	sigaction(SIGALRM, &act, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		return 2;
	timer_settime(timer, 0, &often, NULL);
	fresh();
	timer_settime(timer, 0, &never, NULL);
	return write(1, &hits, sizeof(hits)) != sizeof(hits);
}
