#include "term.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool progress_stands;

bool term_colour(int fd)
{
	const char *const no = getenv("NO_COLOR");
	const char *const term = getenv("TERM");
	if (no && *no)
		return false;
	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

const char *term_style(int fd, enum style s)
{
	static const char *const codes[] = {
		[STYLE_NONE] = "\033[0m",
		[STYLE_BOLD] = "\033[1m",
		[STYLE_DIM] = "\033[2m",
		[STYLE_RED] = "\033[31m",
		[STYLE_GREEN] = "\033[32m",
		[STYLE_YELLOW] = "\033[33m",
	};
	return term_colour(fd) ? codes[s] : "";
}

int term_width(int fd)
{
	struct winsize w;
	if (ioctl(fd, TIOCGWINSZ, &w) != 0 || w.ws_col == 0)
		return 80;
	return w.ws_col;
}

void progress(const char *fmt, ...)
{
	if (!isatty(STDERR_FILENO))
		return;
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "\r\033[K%.*s", term_width(STDERR_FILENO) - 1, text);
	fflush(stderr);
	progress_stands = true;
}

void progress_clear(void)
{
	if (!progress_stands)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_stands = false;
}
