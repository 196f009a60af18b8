/* The doctor's known code has the counts it claims: single-stepped, so that the
 * doctor may call a counter wrong.
 *
 * Each region is stepped for 0 and for n rounds in a child; the difference is
 * what n rounds execute, to the instruction. */
#include "func.h"
#include "regions.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 500

/* Steps from one stop of the child's own making to the next. -1: cannot step. */
static long step_region(void (*region)(uint64_t, uint64_t *), uint64_t n)
{
	const pid_t pid = fork();
	if (pid == 0) {
		uint64_t cell = 0;
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		region(n, &cell);
		raise(SIGSTOP);
		_exit(0);
	}
	int status;
	long steps = 0;
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return -1;
	for (;;) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0 ||
		    waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status)) {
			steps = -1;
			break;
		}
		if (WSTOPSIG(status) == SIGSTOP)
			break;
		steps++;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return steps;
}

static bool check_region(const char *name, void (*region)(uint64_t, uint64_t *), long per_round,
			 long at_end)
{
	const long empty = step_region(region, 0), full = step_region(region, ROUNDS);
	if (empty < 0 || full < 0)
		SKIP("a child cannot be single-stepped here: %s", strerror(errno));
	const long expected = per_round * ROUNDS + at_end;
	printf("%s: %ld instructions for %d rounds, expected %ld\n", name, full - empty, ROUNDS,
	       expected);
	return full - empty == expected;
}

int main(void)
{
	/* x86: lock add, dec, jnz; xor, xor, cpuid, dec, jnz and a last xor,
	 * cpuid. arm64: ldxr, add, stxr, cbnz, subs, b.ne cannot be stepped (a
	 * step clears the reservation); subs, b.ne. */
	bool good = check_region("loop", region_loop, 4, 0);
#ifdef __x86_64__
	good &= check_region("locked", region_locked, 3, 0);
	good &= check_region("cpuid", region_cpuid, 5, 2);
#else
	good &= check_region("cpuid", region_cpuid, 2, 0);
#endif
	return good ? 0 : 1;
}
