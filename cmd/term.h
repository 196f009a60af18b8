/* The terminal: colour and a progress line, only where somebody looks at one. */
#ifndef CMD_TERM_H
#define CMD_TERM_H

#include <stdbool.h>
#include <stddef.h>

enum style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW };

/* Colour may be used on this descriptor: a terminal that can, and no NO_COLOR
 * (https://no-color.org: set and not empty). */
bool term_colour(int fd);
/* The escape sequence, or "" when fd has no colour. STYLE_NONE ends any other. */
const char *term_style(int fd, enum style s);
/* Columns of the terminal; 80 when it is none. */
int term_width(int fd);

/* Replaces the progress line on stderr; nothing when stderr is no terminal. */
void progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same at the right edge, where a command writes to the same terminal: the cursor stays
 * where it is, and what the command wrote stays when the text is wiped. */
void progress_aside(const char *text);
void progress_clear(void);

/* The locale can show what is written as UTF-8. */
bool term_utf8(void);
/* Replaces ± by +-, … by ... and – by - in a text, where the locale lacks them. */
struct buf;
void term_text(struct buf *text);
/* Replaces … by ... in one of tare's own texts, where the locale has no …. */
void term_own_text(char *text);
/* Cuts the command line of so many words that was appended to a text at `start`, where it is longer
 * than a few lines of the terminal; and none of it steers the terminal. */
void term_command(struct buf *text, size_t start, size_t words);
/* The sign before a spread: ± or, where the locale lacks it, +- */
const char *term_plus_minus(void);

#endif
