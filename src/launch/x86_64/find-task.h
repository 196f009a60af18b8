/* Which task asks? It knows its numbers in its own pid namespace, which need not be
 * the launcher's; attaching to whoever has them here could hit a stranger.
 */
#ifndef LAUNCH_FIND_TASK_H
#define LAUNCH_FIND_TASK_H

#include "abi.h"

#include <stdbool.h>
#include <sys/types.h>

/* The task whose memory has the slot's cookie; false if there is none to be read. */
bool find_task(const struct soft_slot *slot, pid_t *pid, pid_t *tid);

#endif
