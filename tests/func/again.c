/* usage: again N [--early LIBRARY] COMMAND [ARGUMENT]...
 *
 * Runs the command N times, one after the other. Ends with 1 if one of them fails: the status of the first
 * that does is printed. --early: the library (kept-early.c) ends the first two before main(), so that all that
 * is special in the command first happens in a process that has taken over code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const int early = argc > 4 && !strcmp(argv[2], "--early") ? 2 : 0;
	char **const command = argv + 2 + early;
	if (early)
		setenv("LD_PRELOAD", argv[3], 1);
	for (int i = 0, n = argc > 2 ? atoi(argv[1]) : 0; i < n; i++) {
		int status;
		if (early)
			setenv("TARE_TEST_EARLY", i < early ? "1" : "0", 1);
		const pid_t pid = fork();
		if (pid == 0) {
			execvp(command[0], command);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status) {
			printf("run %d: status %#x\n", i + 1, pid < 0 ? 0 : (unsigned)status);
			return 1;
		}
	}
	return 0;
}
