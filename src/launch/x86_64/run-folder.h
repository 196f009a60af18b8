/* The folder with the files that show the model of one `tare run`.
 *
 * The folder must not outlive the run. The launcher removes it; if the launcher is killed, a small
 * helper process (the keeper) does, as soon as no process of the tree is left. If the keeper is
 * killed as well, the next run removes the folders that no keeper holds.
 *
 * One thread uses a struct run_folder; several runs at the same time have a folder each.
 */
#ifndef LAUNCH_RUN_FOLDER_H
#define LAUNCH_RUN_FOLDER_H

#include <tare/err.h>

#include <stddef.h>
#include <sys/types.h>

struct run_folder {
	char path[256];		/* "" while there is none */
	int lock;		/* the file "lock" in the folder; flock()ed while the folder is in use */
	pid_t keeper;		/* 0: none */
};

#define RUN_FOLDER_NONE { .lock = -1 }

int run_folder_make(struct run_folder *f, struct tare_why *why);

/* Starts the keeper. Every process of the tree has the run's memfd open; `maps` (ended by one
 * of size 0) are the mappings of it in this process. A run works without a keeper too. */
struct run_folder_map { void *at; size_t size; };
void run_folder_keep(struct run_folder *f, int memfd, const struct run_folder_map *maps);

void run_folder_remove(struct run_folder *f);

#endif
