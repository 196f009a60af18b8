/* A program that traces others, with ptrace: stops in the middle of their turns, at signals and where it attaches.
 * usage: hermetic-traces [native] */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Follows the child to its end, with the signals that it gets. */
static void follow(pid_t child)
{
	int status, sum = 0, stops = 0;
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		struct user_regs_struct r;
		const int sig = WSTOPSIG(status);
		if (ptrace(PTRACE_GETREGS, child, 0, &r) == 0)
			stops++;
		sum = sum * 3 + sig;
		ptrace(PTRACE_CONT, child, 0, sig == SIGSTOP || sig == SIGTRAP ? 0 : sig);
	}
	printf("stops=%d signals=%d end=%x\n", stops, sum, status);
}

static void on_signal(int sig) { (void)sig; }

static void asks_to_be_traced(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	signal(SIGUSR1, on_signal);
	raise(SIGSTOP);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	_exit(3);
}

/* The tracer sees the signal that it dies of once. */
static void dies(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGABRT);
	_exit(4);
}

/* It works, and sleeps, and is attached to in the meantime. */
static void works(int sleeps)
{
	for (;;) {
		for (volatile long i = 0; i < 100000; i++)
			;
		if (sleeps)
			usleep(1000);
	}
}

/* As /proc shows it. */
static char state_of(pid_t pid)
{
	char path[64], state = '?';
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *const f = fopen(path, "r");
	for (char line[256]; f && fgets(line, sizeof(line), f);)
		sscanf(line, "State: %c", &state);
	if (f)
		fclose(f);
	return state;
}

static void attach(int sleeps)
{
	int status = 0, good = 0;
	const pid_t child = fork();
	if (!child)
		works(sleeps);
	for (int i = 0; i < 5; i++) {
		usleep(20000);
		good += ptrace(PTRACE_ATTACH, child, 0, 0) == 0 && waitpid(child, &status, 0) == child &&
			WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP && state_of(child) == 't' && ptrace(PTRACE_DETACH, child, 0, 0) == 0;
	}
	kill(child, SIGTERM);
	waitpid(child, &status, 0);
	printf("attached=%d end=%x\n", good, status);
}

/* The child's own child gets its id from the kernel, in an event. */
static void native(void)
{
	int status, makes = 0, ends = 0;
	pid_t pid, child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execl("/bin/sh", "sh", "-c", "/bin/true; /bin/true; exit 5", NULL);
		_exit(9);
	}
	waitpid(child, &status, 0);
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE);
	ptrace(PTRACE_CONT, child, 0, 0);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		unsigned long made = 0;
		if (!WIFSTOPPED(status)) {
			ends += pid == child ? WEXITSTATUS(status) * 100 : 1;
			continue;
		}
		if (status >> 16 && ptrace(PTRACE_GETEVENTMSG, pid, 0, &made) == 0)
			makes += (int)made > child && kill((pid_t)made, 0) == 0;
		const int sig = WSTOPSIG(status);
		ptrace(PTRACE_CONT, pid, 0, sig == SIGCHLD ? sig : 0);
	}
	printf("makes=%d ends=%d\n", makes, ends);
}

int main(int argc, char **argv)
{
	(void)argv;
	setbuf(stdout, NULL);
	if (argc > 1) {
		native();
		return 0;
	}
	static void (*const children[])(void) = { asks_to_be_traced, dies };
	for (int i = 0; i < 2; i++) {
		const pid_t child = fork();
		if (!child)
			children[i]();
		follow(child);
	}
	attach(0);
	attach(1);
	return 0;
}
