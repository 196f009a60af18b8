/* Injects SIGUSR1 into a running program after every number of single steps.
 *
 *	sweeper SIGNALS SPAN -- COMMAND…
 *
 * The program (which COMMAND may start as a descendant) writes its pid as eight
 * bytes to descriptor 1. The sweeper attaches, and SIGNALS times: interrupts it
 * wherever it is, steps n times (n = 1 … SPAN in turn), injects the signal right
 * there and lets it run on. Under the engine the steps are of the translated
 * code and of the engine itself. What else the program writes is passed on.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "sweeper: %s: %s\n", what, strerror(errno));
	exit(125);
}

static int wait_stop(pid_t pid)
{
	int status;
	if (waitpid(pid, &status, __WALL) < 0)
		die("waitpid");
	if (!WIFSTOPPED(status)) {
		fprintf(stderr, "sweeper: the program ended: status %#x\n", status);
		exit(124);
	}
	return status;
}

/* Steps once; signals that come on the way are passed on. */
static void step(pid_t pid)
{
	int sig = 0;
	for (;;) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, sig) < 0)
			die("PTRACE_SINGLESTEP");
		const int status = wait_stop(pid);
		if (WSTOPSIG(status) == SIGTRAP)
			return;
		sig = status >> 16 ? 0 : WSTOPSIG(status);
	}
}

/* Until the stop that PTRACE_INTERRUPT asked for. */
static void interrupt(pid_t pid)
{
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
		die("PTRACE_INTERRUPT");
	for (;;) {
		const int status = wait_stop(pid);
		if (status >> 16 == PTRACE_EVENT_STOP)
			return;
		const int sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_CONT, pid, NULL, sig);
	}
}

static int sweep(pid_t pid, int signals, int span)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		die("PTRACE_SEIZE");
	for (int i = 0; i < signals; i++) {
		interrupt(pid);
		for (int k = 0; k <= i % span; k++)
			step(pid);
		/* the step's SIGTRAP becomes the signal */
		if (ptrace(PTRACE_CONT, pid, NULL, SIGUSR1) < 0)
			die("PTRACE_CONT");
		usleep(300);
	}
	/* that was the last one it waits for: it ends now */
	int status;
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, NULL,
		       status >> 16 || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
	return status;
}

int main(int argc, char **argv)
{
	if (argc < 5) {
		fprintf(stderr, "usage: sweeper SIGNALS SPAN -- COMMAND…\n");
		return 125;
	}
	int out[2];
	if (pipe(out))
		die("pipe");
	const pid_t child = fork();
	if (child == 0) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execvp(argv[4], argv + 4);
		die(argv[4]);
	}
	close(out[1]);
	uint64_t pid;
	if (read(out[0], &pid, 8) != 8)
		die("no pid from the program");
	int status = sweep((pid_t)pid, atoi(argv[1]), atoi(argv[2]));
	char rest[4096];
	for (ssize_t n; (n = read(out[0], rest, sizeof(rest))) > 0;)
		if (write(1, rest, (size_t)n) != n)
			die("write");
	if ((pid_t)pid != child && waitpid(child, &status, 0) < 0)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
