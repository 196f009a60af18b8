/* The keeper of a run: a small process that waits for the end of tare and of all processes of the run. Where
 * tare is killed, nobody else would
 *
 *	end the processes of a still world: what they wait for is told by tare's clock and order
 *	remove the folder of the run (run-folder.h)
 *
 * It is in a session of its own, so that a signal to tare's process group does not reach it. A run works without a
 * keeper, too: then processes of a still world end when they look for tare, and the next run removes the folder.
 */
#ifndef LAUNCH_RUN_KEEPER_H
#define LAUNCH_RUN_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

/* Every process of the run has its shared memory open under the number `memfd`; `lock` is the lock of the folder
 * `path`, locked. `ends_run`: the run's processes are killed if tare is. 0: there is no keeper. */
pid_t run_keeper_start(const char *path, int lock, int memfd, bool ends_run);

/* After an orderly end. */
void run_keeper_stop(pid_t keeper);

#endif
