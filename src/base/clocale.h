/* Numbers and names as in the C locale, whatever locale the program has set: a decimal point in
 * files and messages, and no Turkish i in event names. */
#ifndef BASE_CLOCALE_H
#define BASE_CLOCALE_H

#include <stdarg.h>
#include <stddef.h>

double clocale_strtod(const char *text, char **end);
int clocale_vsnprintf(char *out, size_t size, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
int clocale_snprintf(char *out, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int clocale_casecmp(const char *a, const char *b);
int clocale_ncasecmp(const char *a, const char *b, size_t n);

#endif
