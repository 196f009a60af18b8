/* Filling a struct tare_why: one call that also gives the return value.
 *
 *	return why_set(why, TARE_E_EVENT_UNKNOWN, "%s", name);
 *	return why_errno(why, TARE_E_IO, errno, "%s", path);   appends ": strerror"
 *
 * `why` may be NULL. Both return `code`.
 */
#ifndef BASE_WHY_H
#define BASE_WHY_H

#include <tare/err.h>

int why_set(struct tare_why *why, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int why_errno(struct tare_why *why, int code, int sys_errno, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
