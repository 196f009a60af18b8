#include "clocale.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* The C locale is static data of the C library: nothing to free, and it cannot fail. */
static locale_t c_locale(void)
{
	return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

double clocale_strtod(const char *text, char **end)
{
	return strtod_l(text, end, c_locale());
}

/* printf has no variant with a locale: the thread's own is set aside. */
int clocale_vsnprintf(char *out, size_t size, const char *fmt, va_list ap)
{
	const locale_t before = uselocale(c_locale());
	const int n = vsnprintf(out, size, fmt, ap);
	uselocale(before);
	return n;
}

int clocale_snprintf(char *out, size_t size, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	const int n = clocale_vsnprintf(out, size, fmt, ap);
	va_end(ap);
	return n;
}

int clocale_casecmp(const char *a, const char *b)
{
	return strcasecmp_l(a, b, c_locale());
}

int clocale_ncasecmp(const char *a, const char *b, size_t n)
{
	return strncasecmp_l(a, b, n, c_locale());
}
