/* Reading the counts of a process that runs under the engine, from outside.
 *
 * The process runs while it is read: its cells are not read at one instant, and each thread may be
 * in the middle of a block that is counted as a whole. Nothing is counted twice or lost: what one
 * read misses, the next one has.
 */
#ifndef LAUNCH_LIVE_H
#define LAUNCH_LIVE_H

#include "abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Is that a living process of this run? A pid is used again when its process has ended. */
bool live_is_ours(const struct soft_shared *shared, pid_t pid);
/* The counts so far of the task of record `index`, in its record and in its memory. False when they
 * cannot be read: the task has ended, may not be read, or is just reporting. */
bool live_read(struct soft_shared *shared, uint32_t index, uint64_t counts[SOFT_EVENTS]);

#endif
