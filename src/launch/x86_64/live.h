/* Reading the counts of a process that runs under the engine, from outside.
 *
 * The process goes on while it is read: its cells are not of one instant, and each
 * thread may be in the middle of a block that is counted as a whole. Nothing is
 * counted twice or lost, though: what one look does not see, the next does.
 */
#ifndef LAUNCH_LIVE_H
#define LAUNCH_LIVE_H

#include "abi.h"

#include <stdbool.h>
#include <stddef.h>

/* What has been counted so far by the task of record `index`, folded or not. False
 * when it cannot be read (gone, not ours to read, or about to report). */
bool live_read(struct soft_shared *shared, uint32_t index, uint64_t counts[SOFT_EVENTS]);

#endif
