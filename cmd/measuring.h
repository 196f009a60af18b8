/* What the commands that measure a command share (stat, annotate): signals and exit statuses.
 *
 *	measuring_catch_signals();
 *	o.stop = &measuring_stop;		// struct tare_measure_options
 *	err = tare_measure(&o, &m, &why);
 *	if (err)
 *		return measuring_status(err);
 *	return measuring_caught ? 128 + measuring_caught : m->exit_status;
 */
#ifndef CMD_MEASURING_H
#define CMD_MEASURING_H

#include <signal.h>
#include <stdbool.h>

enum { EXIT_TIMEOUT = 124 };			/* as timeout(1) */

extern volatile int measuring_stop;		/* end the command */
extern volatile sig_atomic_t measuring_caught;	/* the signal; no more runs after this one */
extern bool measuring_attached;			/* to a process that is not ours: set before */

/* Ctrl-C reaches the command too, from the terminal: what the command does about it is its own affair, and
 * the run goes on until it ends. A signal sent to tare alone, a second one, or one while attached, ends
 * the measurement. */
void measuring_catch_signals(void);
/* The exit status for an error of tare_measure(). */
int measuring_status(int err);

#endif
