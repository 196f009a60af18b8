/* The flags of the alternate signal stack that a frame shows: an exec ends the stack but keeps
 * them, a new thread starts with SS_DISABLE. Each stage is an exec of the one before.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static stack_t seen;

static void on_signal(int sig, siginfo_t *si, void *arg)
{
	(void)sig, (void)si;
	seen = ((ucontext_t *)arg)->uc_stack;
}

static void look(const char *who)
{
	stack_t now;
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	sigaction(SIGUSR1, &sa, NULL);
	pthread_kill(pthread_self(), SIGUSR1);
	sigaltstack(NULL, &now);
	printf("%s: flags %x, size %zu; asked: %x\n", who, (unsigned)seen.ss_flags, seen.ss_size,
	       (unsigned)now.ss_flags);
}

static void set(int flags)
{
	static char stack[65536];
	const stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack), .ss_flags = flags };
	if (sigaltstack(&ss, NULL))
		perror("sigaltstack");
}

static const char *self;
static int stage;

static void next(void)
{
	char text[16];
	snprintf(text, sizeof(text), "%d", stage + 1);
	execl(self, self, text, (char *)NULL);
	_exit(1);
}

static void *in_thread(void *arg)
{
	look("a thread");
	next();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	self = argv[0];
	stage = argc > 1 ? atoi(argv[1]) : 0;
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("stage %d\n", stage);
	look("at first");
	switch (stage) {
	case 0: set(0); break;
	case 1: set(SS_DISABLE); break;
	case 2: set(1u << 31); break;		/* SS_AUTODISARM */
	case 3: set(1); break;			/* SS_ONSTACK, which means nothing here */
	case 4: set(SS_DISABLE); set(0); break;
	case 5:
		execl("/nonexistent", "nothing", (char *)NULL);
		look("after an exec that failed");
		pthread_create(&thread, NULL, in_thread, NULL);
		pthread_join(thread, NULL);
		break;
	case 6:
		if (fork() == 0) {
			look("a child");
			next();
		}
		wait(NULL);
		return 0;
	case 7:
		if (vfork() == 0)
			next();
		wait(NULL);
		return 0;
	default:
		return 0;
	}
	next();
}
