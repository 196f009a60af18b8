/* Kept code on disk: what processes of a run have translated (soft/translate/kept.c), for other runs.
 *
 *	struct kept_store *store = NULL;
 *	err = kept_store_open(&store, o, &setup, why);	sets SOFT_FLAG_KEEP
 *	…
 *	kept_store_read(store, pid);			at the exec stop of each process
 *	…
 *	kept_store_write(store, m);			when the run is over
 *	kept_store_close(store);
 *
 * A folder has one file for each program, engine, CPU and way of counting; its name is a hash of these. The first
 * process of a program reads its file into its own memory (soft/translate/kept-read.c); when there is a second one, the file is
 * copied into the run's memfd, which processes map. There is a hash over all bytes, on the way: what the hash is of is
 * what runs. A file that does not fit, is damaged or belongs to another user is not used; the run goes on without it, and
 * replaces it at its end. Files are written beside their place and renamed, so a reader finds the old one or the new
 * one. What was used longest ago is removed when the folder exceeds its size. A file that has code of a library which the
 * program does not have any more is removed after three such runs.
 *
 * What is in a file: soft/abi/kept-abi.h.
 *
 * All functions accept NULL for the store. kept_store_read() is called by the tracer thread, the others by the
 * thread that runs soft_run(), before and after the tracer thread exists.
 */
#ifndef LAUNCH_KEPT_STORE_H
#define LAUNCH_KEPT_STORE_H

#include "soft-setup.h"

struct kept_store;

/* 0, and *store NULL where nothing can be kept in such a run; or an error: the folder is not the user's alone. */
int kept_store_open(struct kept_store **store, const struct tare_measure_options *o, const struct soft_setup *setup,
		    struct tare_why *why);
void kept_store_read(struct kept_store *store, pid_t pid);
void kept_store_write(struct kept_store *store, struct tare_measurement *m);
void kept_store_close(struct kept_store *store);

#endif
