/* A counter of a traced task that overflows, and how late its interrupts come.
 *
 *	const int fd = overflow_open(event, pid, period, false);
 *	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
 *	ptrace(PTRACE_CONT, pid, 0, 0);
 *	if (overflow_stop(pid, false) == OVERFLOW_SIGNAL)
 *		overflow_read(fd, &count);		// count >= period
 */
#ifndef LAUNCH_OVERFLOW_H
#define LAUNCH_OVERFLOW_H

#include <tare/err.h>
#include <tare/event.h>

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OVERFLOW_SIGNAL SIGSTKFLT	/* what the task gets; nothing else sends it */

/* A descriptor, or a negative errno. The counter is not enabled, or with the task's next exec. */
int overflow_open(const struct tare_event *e, pid_t pid, uint64_t period, bool on_exec);
/* False: it was not counted all of the time. */
bool overflow_read(int fd, uint64_t *value);

enum { OVERFLOW_ENDED = -1, OVERFLOW_NO_STOP = 0 };

/* Waits for a stop of the traced process. Returns its signal, with a ptrace event in the second byte;
 * OVERFLOW_ENDED, and it stays a zombie; with `now`, OVERFLOW_NO_STOP where it runs. */
int overflow_stop(pid_t pid, bool now);

/* The most events between an overflow and its interrupt, of that many overflows in a process of its own
 * that executes the events of step_counts(). 0 or a negative error; *stop != 0 (may be NULL) ends it with
 * TARE_E_TIMEOUT. */
int overflow_skid(const struct tare_event *e, unsigned overflows, volatile const int *stop, uint64_t *most,
		  struct tare_why *why);

#endif
