/* See run-keeper.h. The keeper is forked from a process that may have other threads, which may hold
 * locks of the C library: it calls no allocator. */
#include "run-keeper.h"

#include "run-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The keeper's descriptors. */
enum { RUN_FD, LOCK_FD, TARE_FD, PROC_FD, FIRST_FREE_FD };

static void nap(long ns)
{
	nanosleep(&(struct timespec){ 0, ns }, NULL);
}

/* ---- the end of the run's processes ---- */

/* Has the process the run's memory open, under the run's number? (Its children and what it execs have it, too,
 * but not what the engine lets run natively.) */
static bool is_of_run(const char *pid, int number)
{
	char path[64];
	struct stat run, its;
	snprintf(path, sizeof(path), "%s/fd/%d", pid, number);
	return fstat(RUN_FD, &run) == 0 && fstatat(PROC_FD, path, &its, 0) == 0 &&
	       its.st_dev == run.st_dev && its.st_ino == run.st_ino;
}

/* Kills what is there now; false: nothing was. */
static bool kill_all(int number)
{
	_Alignas(struct folder_entry) char buf[4096];
	bool any = false;
	lseek(PROC_FD, 0, SEEK_SET);
	for (long n; (n = syscall(SYS_getdents64, PROC_FD, buf, sizeof(buf))) > 0;) {
		const struct folder_entry *e;
		for (long at = 0; at < n; at += e->len) {
			e = (const struct folder_entry *)(buf + at);
			if (e->name[0] >= '1' && e->name[0] <= '9' && is_of_run(e->name, number))
				any |= kill((pid_t)atoi(e->name), SIGKILL) == 0;
		}
	}
	return any;
}

/* Until none is left. A process that is being made is not found yet, and one that ends has its memory for a while. */
static void end_run(int number)
{
	enum { TRIES = 100, NAP_NS = 2000000 };
	for (int tries = 0; tries < TRIES && flock(RUN_FD, LOCK_EX | LOCK_NB) < 0; tries++) {
		if (kill_all(number))
			tries = 0;
		nap(NAP_NS);
	}
}

/* `tare` is the process that made this one: its parent. (Its zombie is not.) */
static void await_end_of(pid_t tare)
{
	struct pollfd p = { .fd = TARE_FD, .events = POLLIN };
	while (getppid() == tare)
		if (poll(&p, 1, -1) < 0 || !(p.revents & POLLIN))
			nap(100000000);		/* a kernel without pidfds */
}

/* ---- the keeper ---- */

static void close_from(int first)
{
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
	for (int fd = first; fd < 65536; fd++)
		close(fd);
}

/* Removes this process's mappings of the run's memory: a line of /proc/self/maps is
 * START-END FLAGS OFFSET DEVICE INODE PATH. */
static void unmap_line(const char *line, uint64_t inode)
{
	char *end;
	const uint64_t from = strtoull(line, &end, 16), to = *end == '-' ? strtoull(end + 1, &end, 16) : 0;
	for (int i = 0; i < 3 && *end; i++)	/* to the fields flags, offset, device, and their ends */
		end += 1 + strcspn(end + 1, " ");
	if (to > from && strtoull(end, NULL, 10) == inode && strstr(end, "memfd:"))
		munmap((void *)from, to - from);
}

static void unmap_run(int own)
{
	static char buf[8192];
	struct stat run;
	size_t have = 0;
	const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (maps < 0 || fstat(own, &run) < 0)
		_exit(1);
	for (ssize_t n; (n = read(maps, buf + have, sizeof(buf) - 1 - have)) > 0;) {
		char *line = buf, *end;
		buf[have + (size_t)n] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			unmap_line(line, run.st_ino);
		}
		have = strlen(line);
		memmove(buf, line, have);
	}
	close(maps);
}

/* flock() of the memfd belongs to the open file that every process of the tree shares by descriptor or
 * mapping: it is released when the last of these is gone. */
static void keep(const char *path, int lock, int memfd, pid_t tare)
{
	char again[40];
	snprintf(again, sizeof(again), "/proc/self/fd/%d", memfd);
	const int own = open(again, O_RDWR | O_CLOEXEC), proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (own < 0)
		_exit(1);
	unmap_run(own);
	setsid();
	prctl(PR_SET_NAME, "tare-keeper");
	const int fd = tare ? (int)syscall(SYS_pidfd_open, tare, 0) : -1;
	const int fds[] = { [RUN_FD] = own, [LOCK_FD] = lock, [TARE_FD] = fd, [PROC_FD] = proc };
	int high[FIRST_FREE_FD];
	for (int i = 0; i < FIRST_FREE_FD; i++)
		high[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
	for (int i = 0; i < FIRST_FREE_FD; i++)
		if (high[i] < 0 || dup2(high[i], i) < 0)
			close(i);
	if (chdir("/") < 0 || high[RUN_FD] < 0 || high[LOCK_FD] < 0)
		_exit(1);
	close_from(FIRST_FREE_FD);
	if (tare) {
		await_end_of(tare);
		end_run(memfd);
	}
	if (flock(RUN_FD, LOCK_EX) == 0)
		run_folder_clear(path);
	_exit(0);
}

/* Until the keeper has left the process group: a signal to the whole group would kill it, too. It
 * closes its end of the pipe after that. */
static void wait_for_keeper(int ready)
{
	char none;
	while (read(ready, &none, 1) < 0 && errno == EINTR)
		;
	close(ready);
}

pid_t run_keeper_start(const char *path, int lock, int memfd, bool ends_run)
{
	sigset_t all, old;
	int ready[2];
	const pid_t tare = getpid();
	if (flock(memfd, LOCK_EX) < 0 || pipe2(ready, O_CLOEXEC) < 0)
		return 0;
	sigfillset(&all);
	/* no handler of the program runs in the keeper */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	/* without SIGCHLD at its end */
	const pid_t pid = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (pid == 0)
		keep(path, lock, memfd, ends_run ? tare : 0);
	close(ready[1]);
	wait_for_keeper(ready[0]);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return pid > 0 ? pid : 0;
}

void run_keeper_stop(pid_t keeper)
{
	if (!keeper)
		return;
	kill(keeper, SIGKILL);
	while (waitpid(keeper, NULL, __WALL) < 0 && errno == EINTR)
		;
}
