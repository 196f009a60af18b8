/* Test lines on the serial console. */
#include "tap.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static unsigned tests, failures;

static bool result(bool good, const char *what)
{
	printf("%sok %u - %s\n", good ? "" : "not ", ++tests, what);
	failures += !good;
	return good;
}

bool tap_ok(bool good, const char *fmt, ...)
{
	char what[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return result(good, what);
}

bool tap_is(uint64_t got, uint64_t want, const char *fmt, ...)
{
	char what[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	const bool good = result(got == want, what);
	if (!good)
		tap_note("got %" PRIu64 ", want %" PRIu64, got, want);
	return good;
}

void tap_note(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("# %s\n", text);
}

void tap_note_lines(const char *text)
{
	while (*text) {
		const size_t n = strcspn(text, "\n");
		printf("# | %.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

int tap_done(void)
{
	printf("1..%u\n", tests);
	return failures ? 1 : 0;
}
