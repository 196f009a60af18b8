/* Descriptors: daemons that close all of them, by loop, by close_range, by
 * /proc/self/fd, and dup2 over them; the program goes on and can still exec.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void try(const char *what, void (*how)(void))
{
	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0) {
		how();
		execl("/bin/sh", "sh", "-c", "exit 5", NULL);
		_exit(9);
	}
	int status;
	waitpid(pid, &status, 0);
	printf("%s: %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status));
}

static void by_range(void) { syscall(SYS_close_range, 3, ~0u, 0); }
static void by_range_all(void) { syscall(SYS_close_range, 0, ~0u, 0); }
static void by_range_cloexec(void) { syscall(SYS_close_range, 3, ~0u, 4); }
static void by_range_unshare(void) { syscall(SYS_close_range, 3, ~0u, 2); }
static void by_loop(void)
{
	struct rlimit r;
	getrlimit(RLIMIT_NOFILE, &r);
	for (int fd = 3; fd < (int)r.rlim_cur; fd++)
		close(fd);
}
static void by_proc(void)
{
	DIR *const d = opendir("/proc/self/fd");
	for (struct dirent *e; (e = readdir(d));)
		if (atoi(e->d_name) > 2 && atoi(e->d_name) != dirfd(d))
			close(atoi(e->d_name));
	closedir(d);
}
static void by_dup2(void)
{
	struct rlimit r;
	getrlimit(RLIMIT_NOFILE, &r);
	for (int fd = 3; fd < (int)r.rlim_cur; fd++)
		dup2(0, fd);
	syscall(SYS_close_range, 3, ~0u, 0);
}
static void low_limit(void)
{
	const struct rlimit r = { 8, 8 };
	setrlimit(RLIMIT_NOFILE, &r);
}
static void exhausted(void)
{
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	syscall(SYS_close_range, 3, ~0u, 0);
}

static void open_ones(void)
{
	int open_fds = 0;
	struct rlimit r;
	getrlimit(RLIMIT_NOFILE, &r);
	for (int fd = 0; fd < (int)r.rlim_cur; fd++)
		open_fds += fcntl(fd, F_GETFD) >= 0;
	printf("open %d\n", open_fds);
	const int high = (int)r.rlim_cur - 1;
	printf("highest is free: %d\n", fcntl(high, F_GETFD) < 0 && errno == EBADF);
	printf("dup2 to the highest: %d\n", dup2(0, high) == high);
	close(high);
	int n = 0;
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		n++;
	printf("could open until the limit: %d\n", n + open_fds == (int)r.rlim_cur);
	syscall(SYS_close_range, 3, ~0u, 0);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	struct rlimit r;
	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = 1024;
	setrlimit(RLIMIT_NOFILE, &r);
	try("close_range", by_range);
	try("close_range from 0", by_range_all);
	try("close_range cloexec", by_range_cloexec);
	try("close_range unshare", by_range_unshare);
	try("loop", by_loop);
	try("/proc/self/fd", by_proc);
	try("dup2 over all", by_dup2);
	try("low limit", low_limit);
	try("exhausted", exhausted);
	open_ones();
	printf("still here\n");
	return 0;
}
