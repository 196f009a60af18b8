/* Injects SIGUSR1 into a running program after every number of single steps.
 *
 *	sweeper SPAN -- COMMAND…
 *
 * The program (which COMMAND may start as a descendant) writes its pid as eight
 * bytes to descriptor 1. The sweeper attaches, and until the program has enough and
 * ends: interrupts it wherever it is, steps n times (n = 1 … SPAN in turn), injects
 * the signal right there and lets it run on. Under the engine the steps are of the translated
 * code and of the engine itself. What else the program writes is passed on.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "sweeper: %s: %s\n", what, strerror(errno));
	exit(125);
}

static jmp_buf ended;
static int end_status;

/* The stop's status; the end of the program ends the sweep. */
static int wait_stop(pid_t pid)
{
	int status;
	if (waitpid(pid, &status, __WALL) < 0)
		die("waitpid");
	if (WIFSTOPPED(status))
		return status;
	end_status = status;
	longjmp(ended, 1);
}

/* pushf and syscall would show the program the trap flag that stepping sets, and
 * it could come back to life long after; at popf the kernel takes the flag for the
 * program's own. Both are done here, and r11 is cleaned. */
static bool move_flags(pid_t pid, struct user_regs_struct *r, long word)
{
	const int opcode = word & 0xff;
	if (opcode != 0x9c && opcode != 0x9d)
		return false;
	if (opcode == 0x9c) {
		r->rsp -= 8;
		ptrace(PTRACE_POKEDATA, pid, r->rsp, r->eflags & ~0x100ul);
	} else {
		const long flags = ptrace(PTRACE_PEEKDATA, pid, r->rsp, NULL);
		r->eflags = (r->eflags & ~0x40dd5ul) | ((unsigned long)flags & 0x40cd5ul);
		r->rsp += 8;
	}
	r->rip++;
	if (ptrace(PTRACE_SETREGS, pid, NULL, r) < 0)
		die("doing pushf or popf");
	return true;
}

static void clean_r11(pid_t pid)
{
	struct user_regs_struct r;
	if (ptrace(PTRACE_GETREGS, pid, NULL, &r) < 0)
		die("PTRACE_GETREGS");
	r.r11 &= ~0x100ul;
	ptrace(PTRACE_SETREGS, pid, NULL, &r);
}

/* Steps once; signals that come on the way are passed on. */
static void step(pid_t pid)
{
	int sig = 0;
	struct user_regs_struct r;
	if (ptrace(PTRACE_GETREGS, pid, NULL, &r) < 0)
		die("PTRACE_GETREGS");
	const long word = ptrace(PTRACE_PEEKTEXT, pid, r.rip, NULL);
	if (move_flags(pid, &r, word))
		return step(pid);	/* the next one is stepped for real */
	for (;;) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, sig) < 0)
			die("PTRACE_SINGLESTEP");
		const int status = wait_stop(pid);
		if (WSTOPSIG(status) == SIGTRAP) {
			if ((word & 0xffff) == 0x050f)
				clean_r11(pid);
			return;
		}
		sig = status >> 16 ? 0 : WSTOPSIG(status);
	}
}

/* Until the stop that PTRACE_INTERRUPT asked for. */
static void interrupt(pid_t pid)
{
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);	/* fails when it has just ended */
	for (;;) {
		const int status = wait_stop(pid);
		if (status >> 16 == PTRACE_EVENT_STOP)
			return;
		const int sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_CONT, pid, NULL, sig);
	}
}

/* Lets it go on for a while. A signal injected while its like was blocked comes when the
 * handler returns and stops the program for us: were it left standing there, the next
 * one would come before it has run one instruction, and so on for ever. */
static void run_on(pid_t pid)
{
	for (int i = 0; i < 30; i++) {
		int status;
		const pid_t got = waitpid(pid, &status, __WALL | WNOHANG);
		if (got < 0)
			die("waitpid");
		if (got == 0) {
			usleep(100);
			continue;
		}
		if (!WIFSTOPPED(status)) {
			end_status = status;
			longjmp(ended, 1);
		}
		const int sig = status >> 16 || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (ptrace(PTRACE_CONT, pid, NULL, sig) < 0)
			die("PTRACE_CONT");
	}
}

static void sweep(pid_t pid, int span)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		die("PTRACE_SEIZE");
	for (int i = 0;; i++) {
		interrupt(pid);
		for (int k = 0; k <= i % span; k++)
			step(pid);
		/* the step's SIGTRAP becomes the signal */
		if (ptrace(PTRACE_CONT, pid, NULL, SIGUSR1) < 0)
			die("PTRACE_CONT");
		run_on(pid);
	}
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: sweeper SPAN -- COMMAND…\n");
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
		execvp(argv[3], argv + 3);
		die(argv[3]);
	}
	close(out[1]);
	uint64_t pid;
	if (read(out[0], &pid, 8) != 8)
		die("no pid from the program");
	if (!setjmp(ended))
		sweep((pid_t)pid, atoi(argv[1]));
	int status = end_status;
	char rest[4096];
	for (ssize_t n; (n = read(out[0], rest, sizeof(rest))) > 0;)
		if (write(1, rest, (size_t)n) != n)
			die("write");
	if ((pid_t)pid != child && waitpid(child, &status, 0) < 0)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
