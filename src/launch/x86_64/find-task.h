/* Finding the task that made a request. The request has the pid and tid of the task in its own pid
 * namespace, which may differ from the launcher's: there another process may have these numbers.
 */
#ifndef LAUNCH_FIND_TASK_H
#define LAUNCH_FIND_TASK_H

#include "abi.h"

#include <stdbool.h>
#include <sys/types.h>

/* The task whose memory has the slot's cookie; false if no task that may be read has it. */
bool find_task(const struct soft_slot *slot, pid_t *pid, pid_t *tid);

#endif
