/* Errors and warnings for people: one line on stderr that starts with `tare: `
 * and names the thing, then what can be done about it. */
#ifndef CMD_COMPLAIN_H
#define CMD_COMPLAIN_H

#include <tare/err.h>

/* tare: TEXT */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* tare: warning: TEXT */
void caution(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* tare: WHAT: SENTENCE, and its remedy on a second line */
void complain_why(const struct tare_why *why);
/* tare: WHAT: strerror(errno_value); returns EXIT_BAD */
int complain_errno(int errno_value, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Everything printed to stdout has arrived, or the error is printed and 1 is
 * returned; else `status`. main() ends with it. */
int finish_stdout(int status);

#endif
