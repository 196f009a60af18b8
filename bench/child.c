/* Runs a command and writes what it used: `user_us system_us maxrss_kib`.
 * usage: child FILE COMMAND…
 *
 * A child of a large process (the Python that drives the bench) inherits that
 * process's peak of memory; one of this small program does not.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3)
		return 125;
	const pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);	/* when the bench loses its patience */
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	int status;
	struct rusage u;
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid)
		return 125;
	FILE *const f = fopen(argv[1], "we");
	if (!f)
		return 125;
	fprintf(f, "%ld %ld %ld\n", u.ru_utime.tv_sec * 1000000 + u.ru_utime.tv_usec,
		u.ru_stime.tv_sec * 1000000 + u.ru_stime.tv_usec, u.ru_maxrss);
	if (fclose(f))
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
