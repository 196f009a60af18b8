/* Set-up of one run under the engine: the engine's image and the run's shared memory.
 *
 *	struct soft_setup s;
 *	err = soft_setup_open(&s, o, why);
 *	child_start(&c, &(struct child_plan){ …, .inherit = { s.memfd, s.own.fd } }, why);
 *	…
 *	soft_setup_close(&s);
 *
 * The shared memory is a memfd (layout: abi.h). Every process of the run has it open under one
 * number, s.memfd. All descriptors have FD_CLOEXEC in this process.
 *
 * Used by the thread that runs soft_run() and by its tracer thread; soft_setup_image() by the
 * tracer thread alone.
 */
#ifndef LAUNCH_SOFT_SETUP_H
#define LAUNCH_SOFT_SETUP_H

#include "abi.h"
#include "inject.h"
#include "run-folder.h"

#include <tare/measure.h>

#include <stdbool.h>

struct soft_setup {
	struct soft_shared *shared;
	int memfd;
	struct image own;	/* the image within our own executable file, open in the command
				 * too; fd -1: not available */
	struct run_folder folder;	/* with the files of the machine, if there is one */
	bool image_written;	/* the memfd holds a copy of the image */
};

/* On failure nothing is left open. */
int soft_setup_open(struct soft_setup *s, const struct tare_measure_options *o,
		    struct tare_why *why);
/* Tells processes that outlive the run that no launcher answers any more, then unmaps and
 * closes. */
void soft_setup_close(struct soft_setup *s);

/* The image for a process that has just execed; the command itself (`first`) can use our own
 * file, all others the copy in the memfd, which they have as `reserved_fd`. 0 or a negative
 * errno. */
int soft_setup_image(struct soft_setup *s, bool first, int reserved_fd, struct image *image);

/* Takes a record for a process; *index is 0 where all are taken. Records are taken by processes
 * of the run at the same time: the counter is atomic, and no lock is needed. */
struct soft_record *soft_setup_record(struct soft_setup *s, pid_t pid, uint32_t *index);

/* Answers a request of a process (enum soft_request): enum soft_reply. */
void soft_setup_reply(struct soft_slot *slot, uint32_t answer);

/* The error code for a failure to get memory or descriptors. */
int soft_memory_code(int err);

#endif
