/* See run-folder.h. The keeper removes the folder, too, and calls no allocator (run-keeper.c). */
#include "run-folder.h"

#include "run-keeper.h"
#include "why.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "tare-run-"
#define LOCK "lock"
#define MAX_DEPTH 8
#define YOUNG_S 10	/* a younger folder may not have its lock yet */

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
	_Alignas(struct folder_entry) char buf[2048];
	bool any = true;
	while (any) {		/* removing entries while listing may skip others */
		any = false;
		lseek(dir, 0, SEEK_SET);
		for (long n; (n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0;) {
			const struct folder_entry *e;
			for (long at = 0; at < n; at += e->len) {
				e = (const struct folder_entry *)(buf + at);
				if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0)
					any |= remove_one(dir, e->name, depth);
			}
		}
	}
}

void run_folder_clear(const char *path)
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
			run_folder_clear(path);
	}
	closedir(d);
}

/* ---- the folder of this run ---- */

static const char *folder_of_folders(void)
{
	const char *const env = secure_getenv("TMPDIR");
	return env && *env == '/' ? env : "/tmp";
}

int run_folder_name(struct run_folder *f, struct tare_why *why)
{
	uint64_t random;
	const char *const tmp = folder_of_folders();
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return why_errno(why, TARE_E_IO, errno, "a random number");
	if (snprintf(f->path, sizeof(f->path), "%s/" PREFIX "%016jx", tmp, (uintmax_t)random) < (int)sizeof(f->path))
		return 0;
	f->path[0] = '\0';
	return why_set(why, TARE_E_RANGE, "TMPDIR is too long: %s", tmp);
}

int run_folder_make(struct run_folder *f, struct tare_why *why)
{
	sweep(folder_of_folders());
	if (mkdir(f->path, 0700) < 0) {
		const int err = errno;
		f->path[0] = '\0';	/* it is not ours to remove */
		return why_errno(why, TARE_E_IO, err, "a folder in %s", folder_of_folders());
	}
	chmod(f->path, 0755);		/* the command may change its user */
	char lock[sizeof(f->path) + sizeof(LOCK) + 1];
	snprintf(lock, sizeof(lock), "%s/" LOCK, f->path);
	f->lock = open(lock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->lock < 0 || flock(f->lock, LOCK_EX) < 0)
		return why_errno(why, TARE_E_IO, errno, "%s", lock);
	return 0;
}

void run_folder_keep(struct run_folder *f, int memfd, bool ends_run)
{
	f->keeper = run_keeper_start(f->path, f->lock, memfd, ends_run);
}

void run_folder_remove(struct run_folder *f)
{
	if (f->lock >= 0)
		run_folder_clear(f->path);
	run_keeper_stop(f->keeper);
	if (f->lock >= 0)
		close(f->lock);
	*f = (struct run_folder)RUN_FOLDER_NONE;
}
