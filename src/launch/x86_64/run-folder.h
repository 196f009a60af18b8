/* The folder with the files that show the CPU of one `tare run`, or the machine of another run.
 *
 * The folder must not outlive the run. The launcher removes it; if the launcher is killed, the keeper
 * does (run-keeper.h), as soon as no process of the tree is left. If the keeper is
 * killed as well, the next run that makes a folder removes the folders that no keeper holds.
 *
 * One thread uses a struct run_folder; several runs at the same time have a folder each.
 */
#ifndef LAUNCH_RUN_FOLDER_H
#define LAUNCH_RUN_FOLDER_H

#include <tare/err.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct run_folder {
	char path[256];		/* "" while it has no name */
	int lock;		/* the file "lock" in the folder; flock()ed while the folder is in use; -1: it is not made */
	pid_t keeper;		/* 0: none */
};

#define RUN_FOLDER_NONE { .lock = -1 }

/* Chooses its path. */
int run_folder_name(struct run_folder *f, struct tare_why *why);
/* Makes it, with that path. */
int run_folder_make(struct run_folder *f, struct tare_why *why);

/* Starts the keeper, for a folder that is made. A run works without a keeper, too. */
void run_folder_keep(struct run_folder *f, int memfd, bool ends_run);

void run_folder_remove(struct run_folder *f);

/* Removes a folder and what is in it, without an allocator. */
void run_folder_clear(const char *path);

/* What getdents64() gives. */
struct folder_entry {
	uint64_t ino, off;
	uint16_t len;
	uint8_t type;
	char name[];
};

#endif
