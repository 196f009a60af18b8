/* The folder with the files that show the model of one `tare run`.
 *
 * It must not outlive the run, however that ends. The launcher removes it; if the launcher is
 * killed, a small process of its own does (the keeper), as soon as no process of the tree is
 * left. If that one is killed as well, the next run removes what nobody keeps.
 */
#ifndef LAUNCH_RUN_FOLDER_H
#define LAUNCH_RUN_FOLDER_H

#include <tare/err.h>

#include <stddef.h>
#include <sys/types.h>

struct run_folder {
	char path[256];		/* "" while there is none */
	int lock;		/* descriptor of the file in it that says: kept */
	pid_t keeper;		/* 0: none */
};

#define RUN_FOLDER_NONE { .lock = -1 }

int run_folder_make(struct run_folder *f, struct tare_why *why);

/* Starts the keeper. Every process of the tree has the run's memfd open; `maps` (ended by one
 * without size) are the mappings of it in this process. Without a keeper all works as well. */
struct run_folder_map { void *at; size_t size; };
void run_folder_keep(struct run_folder *f, int memfd, const struct run_folder_map *maps);

void run_folder_remove(struct run_folder *f);

#endif
