/* Filling a struct tare_why: one call that also gives the return value.
 *
 *	return why_set(why, TARE_E_EVENT_UNKNOWN, "%s", name);
 *	return why_errno(why, TARE_E_IO, errno, "%s", path);   appends ": strerror"
 *
 * `why` may be NULL. Both return `code` and take away an earlier remedy of the case.
 *
 *	why_remedy(why, "count user mode only (:u)");	instead of the list's remedy
 */
#ifndef BASE_WHY_H
#define BASE_WHY_H

#include <tare/err.h>

int why_set(struct tare_why *why, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int why_errno(struct tare_why *why, int code, int sys_errno, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void why_remedy(struct tare_why *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
