/* Giving a file its size where the limit on file sizes (RLIMIT_FSIZE, ulimit -f) is lower.
 *
 * The limit is meant for files on disks; ours are memory. It belongs to the whole process, so it
 * is not raised here: where it is too low, a short-lived child process, which has limits of its
 * own, raises it to the hard limit and sets the size.
 */
#ifndef LAUNCH_FILE_SIZE_H
#define LAUNCH_FILE_SIZE_H

#include <tare/err.h>

#include <stdint.h>

/* `what` names the file in the message. 0, or a negative enum tare_err with *why. Sends no signal
 * to this process (neither SIGXFSZ nor SIGCHLD). */
int file_set_size(int fd, uint64_t size, const char *what, struct tare_why *why);

#endif
