/* How the program says that something is wrong. A progress line that stands on the
 * terminal is wiped first. */
#include "complain.h"
#include "command.h"
#include "term.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static void say(const char *kind, const char *fmt, va_list ap)
{
	char *const own = strdup(fmt);		/* names in it are left alone */
	if (own)
		term_own_text(own);
	progress_clear();
	fflush(stdout);
	fprintf(stderr, "tare: %s", kind);
	vfprintf(stderr, own ? own : fmt, ap);
	fputc('\n', stderr);
	free(own);
}

void complain(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
}

void caution(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say("warning: ", fmt, ap);
	va_end(ap);
}

int complain_errno(int errno_value, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	complain("%s: %s", text, strerror(errno_value));
	return EXIT_BAD;
}

/* Some errnos have the same text as the code: "Permission denied: permission denied". */
static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);
	return n >= m && strcasecmp(text + n - m, end) == 0;
}

/* What can be done; one code may have several causes. */
static const char *remedy_of(const struct tare_why *why)
{
	if (why->code == TARE_E_NOT_EXECUTABLE && why->sys_errno == EISDIR)
		return "name a program, not a directory";
	if (why->code == TARE_E_NOT_EXECUTABLE && why->sys_errno == ENOENT)
		return "install it, or correct the first line (#!) of the script";
	if (why->code == TARE_E_NO_COMMAND && !strchr(why->what, '/') &&
	    access(why->what, X_OK) == 0)
		return "the current directory is not in PATH: put ./ before the name";
	return tare_why_remedy(why);
}

void complain_why(const struct tare_why *why)
{
	const char *const sentence = tare_err_sentence(why->code);
	if (!why->what[0])
		complain("%s", sentence);
	else if (ends_with(why->what, sentence))
		complain("%s", why->what);
	else
		complain("%s: %s", why->what, sentence);
	const char *const remedy = remedy_of(why);
	if (remedy[0])
		fprintf(stderr, "      %s\n", remedy);
}

int finish_stdout(int status)
{
	/* fclose, not fflush: some file systems tell only then. EBADF with nothing
	 * ever printed is a stdout that was closed and not needed. */
	const bool failed = ferror(stdout) || fflush(stdout) != 0;
	const int saved = errno;
	if (!failed)
		return status;
	if (saved == EPIPE)
		return status ? status : EXIT_BAD;
	complain("standard output: %s", strerror(saved ? saved : EIO));
	return EXIT_BAD;
}
