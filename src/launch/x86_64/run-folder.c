/* See run-folder.h. The keeper is forked from a process that may have other threads, which may hold
 * locks of the C library: it calls no allocator. */
#include "run-folder.h"

#include "why.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
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

#define PREFIX "tare-run-"
#define LOCK "lock"
#define MAX_DEPTH 8
#define YOUNG_S 10	/* a younger folder may not have its lock yet */

struct entry64 {
	uint64_t ino, off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static void empty_folder(int dir, int depth);

static bool remove_one(int dir, const char *name, int depth)
{
	if (unlinkat(dir, name, 0) == 0)
		return true;
	if (errno != EISDIR && errno != EPERM)
		return false;
	const int sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sub < 0)
		return false;
	if (depth < MAX_DEPTH)
		empty_folder(sub, depth + 1);
	close(sub);
	return unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

static void empty_folder(int dir, int depth)
{
	_Alignas(struct entry64) char buf[2048];
	bool any = true;
	while (any) {		/* removing entries while listing may skip others */
		any = false;
		lseek(dir, 0, SEEK_SET);
		for (long n; (n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0;) {
			const struct entry64 *e;
			for (long at = 0; at < n; at += e->len) {
				e = (const struct entry64 *)(buf + at);
				if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0)
					any |= remove_one(dir, e->name, depth);
			}
		}
	}
}

static void remove_folder(const char *path)
{
	const int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return;
	empty_folder(dir, 0);
	close(dir);
	rmdir(path);
}

/* ---- folders of runs that were killed ---- */

/* Is the folder of this user, not young, and without a keeper? */
static bool is_left(const char *path)
{
	struct stat st;
	const int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return false;
	const bool old = fstat(dir, &st) == 0 && st.st_uid == geteuid() &&
			 st.st_mtime + YOUNG_S < time(NULL);
	const int lock = old ? openat(dir, LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	close(dir);
	if (lock < 0)
		return false;
	const bool left = flock(lock, LOCK_EX | LOCK_NB) == 0;
	close(lock);
	return left;
}

static void sweep(const char *tmp)
{
	DIR *const d = opendir(tmp);
	if (!d)
		return;
	for (const struct dirent *e; (e = readdir(d));) {
		char path[512];
		if (strncmp(e->d_name, PREFIX, sizeof(PREFIX) - 1) == 0 &&
		    snprintf(path, sizeof(path), "%s/%s", tmp, e->d_name) < (int)sizeof(path) &&
		    is_left(path))
			remove_folder(path);
	}
	closedir(d);
}

/* ---- the folder of this run ---- */

int run_folder_make(struct run_folder *f, struct tare_why *why)
{
	const char *const env = secure_getenv("TMPDIR");
	const char *const tmp = env && *env == '/' ? env : "/tmp";
	char path[sizeof(f->path)];
	if (snprintf(path, sizeof(path), "%s/" PREFIX "XXXXXX", tmp) >= (int)sizeof(path))
		return why_set(why, TARE_E_RANGE, "TMPDIR is too long: %s", tmp);
	sweep(tmp);
	if (!mkdtemp(path))
		return why_errno(why, TARE_E_IO, errno, "a folder in %s", tmp);
	memcpy(f->path, path, sizeof(path));
	chmod(path, 0755);		/* the command may change its user */
	char lock[sizeof(path) + sizeof(LOCK) + 1];
	snprintf(lock, sizeof(lock), "%s/" LOCK, path);
	f->lock = open(lock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->lock < 0 || flock(f->lock, LOCK_EX) < 0)
		return why_errno(why, TARE_E_IO, errno, "%s", lock);
	return 0;
}

static void close_from(int first)
{
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
	for (int fd = first; fd < 65536; fd++)
		close(fd);
}

/* flock() of the memfd belongs to the open file that every process of the tree shares by descriptor or
 * mapping: it is released when the last of these is gone. */
static void keep(const struct run_folder *f, int memfd, const struct run_folder_map *maps)
{
	char again[40];
	snprintf(again, sizeof(again), "/proc/self/fd/%d", memfd);
	const int own = open(again, O_RDWR | O_CLOEXEC);
	if (own < 0)
		_exit(1);
	for (; maps->size; maps++)
		munmap(maps->at, maps->size);
	setsid();
	prctl(PR_SET_NAME, "tare-keeper");
	if (chdir("/") < 0 || dup2(own, 0) < 0 || dup2(f->lock, 1) < 0)
		_exit(1);
	close_from(2);
	if (flock(0, LOCK_EX) == 0)
		remove_folder(f->path);
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

void run_folder_keep(struct run_folder *f, int memfd, const struct run_folder_map *maps)
{
	sigset_t all, old;
	int ready[2];
	if (flock(memfd, LOCK_EX) < 0 || pipe2(ready, O_CLOEXEC) < 0)
		return;
	sigfillset(&all);
	/* no handler of the program runs in the keeper */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	/* without SIGCHLD at its end */
	const pid_t pid = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (pid == 0)
		keep(f, memfd, maps);
	close(ready[1]);
	wait_for_keeper(ready[0]);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	f->keeper = pid > 0 ? pid : 0;
}

void run_folder_remove(struct run_folder *f)
{
	if (f->path[0])
		remove_folder(f->path);
	if (f->keeper) {
		kill(f->keeper, SIGKILL);
		while (waitpid(f->keeper, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	if (f->lock >= 0)
		close(f->lock);
	*f = (struct run_folder)RUN_FOLDER_NONE;
}
