/* Lines no longer than the terminal is wide: rows of tables are cut, sentences and names broken. */
#include "annotate.h"

#include "quantity.h"

#include <string.h>

/* The length of the character, or of the escape sequence, at `text`; *columns: how many columns it takes. */
static size_t step(const char *text, size_t len, size_t *columns)
{
	size_t n = 1;
	if (*text == '\033') {
		while (n < len && text[n - 1] != 'm')
			n++;
		*columns = 0;
		return n;
	}
	while (n < len && ((unsigned char)text[n] & 0xc0) == 0x80)
		n++;
	*columns = display_width(text, n);
	return n;
}

void annotate_cut_lines(const struct annotate *a, struct buf *out, size_t start)
{
	size_t used = 0, to = start;
	if (a->width == SIZE_MAX || !out->data)
		return;
	for (size_t at = start; at < out->len;) {
		size_t columns;
		const size_t n = step(out->data + at, out->len - at, &columns);
		used = out->data[at] == '\n' ? 0 : used + columns;
		if (used <= a->width || !columns) {	/* (a sequence behind the edge ends a style) */
			memmove(out->data + to, out->data + at, n);
			to += n;
		}
		at += n;
	}
	out->len = to;
	out->data[to] = '\0';
}

/* Where a line that begins at `text` ends: at the last space that fits, or where the edge is. */
static size_t line_end(const char *text, size_t len, size_t width)
{
	size_t used = 0, space = 0;
	for (size_t at = 0; at < len;) {
		size_t columns;
		const size_t n = step(text + at, len - at, &columns);
		used += columns;
		if (used > width)
			return space ? space : at;
		if (text[at] == ' ' && used > width / 2)
			space = at;
		at += n;
	}
	return len;
}

void annotate_break_line(const struct annotate *a, struct buf *out, size_t start, size_t indent)
{
	struct buf text = { 0 };
	if (a->width == SIZE_MAX || !out->data || a->width < indent + 10)
		return;
	buf_add(&text, out->data + start, out->len - start);
	out->len = start;
	for (size_t at = 0; at < text.len;) {
		const size_t n = line_end(text.data + at, text.len - at, a->width - (at ? indent : 0));
		if (at)
			buf_printf(out, "\n%*s", (int)indent, "");
		buf_add(out, text.data + at, n);
		at += n;
		while (at < text.len && text.data[at] == ' ')
			at++;
	}
	buf_free(&text);
}
