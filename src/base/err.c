/* The texts of the error list in tare/err.h. */
#include "why.h"

#include "clocale.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct err_text {
	const char *name;
	const char *sentence;
	const char *remedy;
};

/* A switch, so that a number that is used twice does not compile. */
static struct err_text text_of(int code)
{
	switch (code < 0 ? code : -code) {
	case TARE_OK:
		return (struct err_text){ "OK", "no error", "" };
#define TEXT(name, number, sentence, remedy)                                                       \
	case -(number):                                                                            \
		return (struct err_text){ #name, sentence, remedy };
	TARE_ERR_LIST(TEXT)
#undef TEXT
	}
	return (struct err_text){ "UNKNOWN", "unknown error", "" };
}

const char *tare_err_name(int code)
{
	return text_of(code).name;
}

const char *tare_err_sentence(int code)
{
	return text_of(code).sentence;
}

const char *tare_err_remedy(int code)
{
	return text_of(code).remedy;
}

const char *tare_why_remedy(const struct tare_why *why)
{
	if (!why)
		return "";
	return why->remedy[0] ? why->remedy : tare_err_remedy(why->code);
}

int why_set(struct tare_why *why, int code, const char *fmt, ...)
{
	if (!why)
		return code;
	va_list ap;
	va_start(ap, fmt);
	why->code = code;
	why->sys_errno = 0;
	why->remedy[0] = '\0';
	clocale_vsnprintf(why->what, sizeof(why->what), fmt, ap);
	va_end(ap);
	return code;
}

int why_errno(struct tare_why *why, int code, int sys_errno, const char *fmt, ...)
{
	if (!why)
		return code;
	va_list ap;
	va_start(ap, fmt);
	int n = clocale_vsnprintf(why->what, sizeof(why->what), fmt, ap);
	va_end(ap);
	why->code = code;
	why->sys_errno = sys_errno;
	why->remedy[0] = '\0';
	if (n < 0)
		n = 0;
	if ((size_t)n < sizeof(why->what))
		snprintf(why->what + n, sizeof(why->what) - (size_t)n, ": %s",
			 strerror(sys_errno));
	return code;
}

void why_remedy(struct tare_why *why, const char *fmt, ...)
{
	if (!why)
		return;
	va_list ap;
	va_start(ap, fmt);
	clocale_vsnprintf(why->remedy, sizeof(why->remedy), fmt, ap);
	va_end(ap);
}
