/* Test lines on the serial console, in the Test Anything Protocol.
 *
 *	tap_is(net, 8000004, "read(2) over the loop");
 *	tap_ok(fd >= 0, "opens: %s", strerror(errno));
 *	return tap_done();
 *
 * The console is all a guest has to speak with: every line is written at once,
 * and a guest that dies before tap_done() leaves no plan, which is a failure.
 */
#ifndef KERNEL_TAP_H
#define KERNEL_TAP_H

#include <stdbool.h>
#include <stdint.h>

/* Returns `good`. */
bool tap_ok(bool good, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Both numbers are printed when they differ. */
bool tap_is(uint64_t got, uint64_t want, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void tap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Every line of a text as a note. */
void tap_note_lines(const char *text);
/* Prints the plan; 0 when all was good. */
int tap_done(void);

#endif
