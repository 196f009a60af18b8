/* The room still: the still world (`--hermetic`). The program sees nothing that changes from run to run, unless it
 * changes it itself. docs/hermetic.md lists what is fixed, what is left and what is refused.
 *
 *	hermetic.c		which system call is answered where; start and end of tasks
 *	hermetic-random.c	random numbers, from the seed
 *	hermetic-time.c		clocks, counted in instructions; sleeping; timers
 *	hermetic-ids.c		process and thread ids, numbered in order of creation
 *	hermetic-files.c	devices, inode numbers and times of files
 *	hermetic-listing.c	folders, sorted
 *	hermetic-host.c		the host's name, memory, load, limits; files of /proc
 *	hermetic-order.c	whose turn it is: one task runs at a time
 *	hermetic-stop.c		processes that are stopped by a signal
 *	hermetic-robust.c	locks whose owner died, and those with priority inheritance
 *	hermetic-locks.c	locks of files that others hold
 *	hermetic-deadlock.c	all wait for each other
 *
 * The room answers the program's system calls first (hermetic_syscall()), and has the calls that it does not answer made
 * by the room guest (syscall_usual()). What guest asks of it is declared in guest.h; engine.c uses the function below.
 * What only its files share is in still-room.h. The room sees guest, translate, decode and the root.
 */
#ifndef SOFT_STILL_H
#define SOFT_STILL_H

#include "guest.h"

TAKES_LOCK void hermetic_start(struct thread *t);	/* a new image, if E.hermetic */

#endif
