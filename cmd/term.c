#include "term.h"

#include "buf.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool progress_stands;
static int aside_column;	/* where the text of progress_aside() begins; 0: none stands */

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

void progress_aside(const char *text)
{
	const char *const term = getenv("TERM");
	if (!isatty(STDERR_FILENO) || !term || strcmp(term, "dumb") == 0)
		return;
	progress_clear();
	aside_column = term_width(STDERR_FILENO) - (int)strlen(text);
	if (aside_column < 1)
		aside_column = 1;
	/* save the cursor, go to the column, write, restore the cursor */
	fprintf(stderr, "\0337\033[%dG%s\0338", aside_column, text);
	fflush(stderr);
}

bool term_utf8(void)
{
	static int known = -1;
	if (known < 0) {
		setlocale(LC_CTYPE, "");
		known = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	}
	return known;
}

void term_own_text(char *text)
{
	static const char dots[] = "…";
	if (term_utf8())
		return;
	/* both take three bytes */
	while ((text = strstr(text, dots)))
		memcpy(text, "...", 3);
}

/* `by` is no longer than `what`. */
static void replace(struct buf *text, const char *what, const char *by)
{
	const size_t n = strlen(what), n_by = strlen(by);
	char *from = text->data, *const end = text->data + text->len, *to = from;
	for (char *at; (at = memmem(from, (size_t)(end - from), what, n)); from = at + n) {
		memmove(to, from, (size_t)(at - from));
		to += at - from;
		memcpy(to, by, n_by);
		to += n_by;
	}
	if (to == from)
		return;
	memmove(to, from, (size_t)(end - from));
	text->len -= (size_t)(from - to);
	text->data[text->len] = '\0';
}

void term_text(struct buf *text)
{
	if (term_utf8() || !text->data)
		return;
	replace(text, "±", "+-");
	replace(text, "…", "...");
	replace(text, "–", "-");
}

const char *term_plus_minus(void)
{
	return term_utf8() ? "±" : "+-";
}

void term_command(struct buf *text, size_t start, size_t words)
{
	enum { WIDTH = 200 };
	if (text->len > start + WIDTH) {
		size_t cut = start + WIDTH;
		while (cut > start && (text->data[cut] & 0xc0) == 0x80)
			cut--;			/* not inside of a character */
		text->len = cut;
		text->data[cut] = '\0';
		buf_printf(text, "... [%zu words]", words);
	}
	if (start < text->len)
		text_printable(text->data + start, text->len - start);
}

void progress_clear(void)
{
	if (aside_column) {
		fprintf(stderr, "\0337\033[%dG\033[K\0338", aside_column);
		fflush(stderr);
		aside_column = 0;
	}
	if (!progress_stands)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_stands = false;
}
