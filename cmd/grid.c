#include "grid.h"

#include "quantity.h"

#include <stdlib.h>
#include <string.h>

void grid_done(struct grid *g)
{
	if (g->n == g->cap) {
		const size_t cap = g->cap ? 2 * g->cap : 256;
		size_t *const end = realloc(g->end, cap * sizeof(*end));
		if (!end) {
			g->failed = true;
			return;
		}
		g->end = end;
		g->cap = cap;
	}
	g->end[g->n++] = g->text.len;
}

void grid_cell(struct grid *g, const char *text, size_t len)
{
	buf_add(&g->text, text, len);
	grid_done(g);
}

void grid_free(struct grid *g)
{
	buf_free(&g->text);
	free(g->end);
}

static const char *cell(const struct grid *g, size_t i, size_t *len)
{
	const size_t start = i ? g->end[i - 1] : 0;
	*len = g->end[i] - start;
	return g->text.data + start;
}

/* Line `k` of a text, and whether there is one. */
static bool line_of(const char **text, size_t *len, size_t k)
{
	for (;;) {
		const char *const nl = memchr(*text, '\n', *len);
		if (k-- == 0) {
			if (nl)
				*len = (size_t)(nl - *text);
			return true;
		}
		if (!nl || nl + 1 == *text + *len)
			return false;
		*len -= (size_t)(nl + 1 - *text);
		*text = nl + 1;
	}
}

static size_t *widths(const struct grid *g)
{
	size_t *const w = calloc(g->columns, sizeof(*w));
	for (size_t i = 0; w && i < g->n; i++) {
		size_t len, n;
		const char *text = cell(g, i, &len);
		for (size_t k = 0; ; k++) {
			const char *line = text;
			n = len;
			if (!line_of(&line, &n, k))
				break;
			const size_t width = display_width(line, n);
			if (width > w[i % g->columns])
				w[i % g->columns] = width;
		}
	}
	return w;
}

static void pad(struct buf *out, size_t n)
{
	enum { MANY = 64 };
	static const char spaces[MANY + 1] =
		"                                                                ";
	if (n <= MANY && out->cap - out->len > MANY && !out->failed) {
		memcpy(out->data + out->len, spaces, MANY);	/* of a fixed size: no call */
		out->len += n;
		out->data[out->len] = '\0';
		return;
	}
	for (size_t step; n; n -= step) {
		step = n < MANY ? n : MANY;
		buf_add(out, spaces, step);
	}
}

/* A label may hold a line break. */
static void add_flat(struct buf *out, const char *text, size_t len)
{
	const size_t from = out->len;
	buf_add(out, text, len);
	for (size_t k = from; k < out->len; k++)
		if (out->data[k] == '\n' || out->data[k] == '\r' || out->data[k] == '\t')
			out->data[k] = ' ';
}

/* The width of every cell; and that of each column into w. NULL: out of memory. */
static uint32_t *cell_widths(const struct grid *g, size_t *w)
{
	uint32_t *const width = malloc((g->n + 1) * sizeof(*width));
	for (size_t i = 0; width && i < g->n; i++) {
		const size_t column = i % g->columns;
		size_t len;
		const char *const text = cell(g, i, &len);
		const size_t here = display_width(text, len);
		width[i] = here < UINT32_MAX ? (uint32_t)here : UINT32_MAX;
		if (here > w[column] && (column || here <= GRID_NAME_MOST))
			w[column] = here;
	}
	return width;
}

void grid_plain(const struct grid *g, struct buf *out)
{
	size_t *const w = calloc(g->columns, sizeof(*w));
	uint32_t *const width = w ? cell_widths(g, w) : NULL;
	if (!width || g->failed || buf_failed(&g->text))
		out->failed = true;
	size_t line = out->len;
	for (size_t i = 0; !out->failed && i < g->n; i++) {
		const size_t column = i % g->columns;
		size_t len;
		const char *const text = cell(g, i, &len);
		const size_t gap = w[column] > width[i] ? w[column] - width[i] : 0;
		if (column)
			pad(out, gap + 2);
		add_flat(out, text, len);
		if (column + 1 < g->columns) {
			if (!column)
				pad(out, gap);
			continue;
		}
		while (out->len > line && out->data[out->len - 1] == ' ')	/* empty last cells */
			out->len--;
		buf_chr(out, '\n');
		line = out->len;
	}
	free(width);
	free(w);
}

static void measure(struct long_grid *g, size_t column, size_t width)
{
	if (width > g->width[column] && (column || width <= GRID_NAME_MOST))
		g->width[column] = width;
}

static void long_grid_cell(struct long_grid *g, const char *text, size_t len, size_t width,
			   bool flat)
{
	const size_t column = g->column;
	g->column = column + 1 == g->columns ? 0 : column + 1;
	if (!g->out) {
		measure(g, column, width);
		return;
	}
	const size_t gap = g->width[column] > width ? g->width[column] - width : 0;
	if (column)
		pad(g->out, gap + 2);
	if (flat)
		buf_add(g->out, text, len);
	else
		add_flat(g->out, text, len);
	if (!g->column)
		buf_chr(g->out, '\n');
	else if (!column)
		pad(g->out, gap);
}

void long_grid_text(struct long_grid *g, const char *text, size_t len)
{
	/* As wide as it is long: plain ASCII. */
	const size_t width = display_width(text, len);
	long_grid_cell(g, text, len, width, width == len);
}

void long_grid_name(struct long_grid *g, const char *text, size_t len)
{
	measure(g, 0, display_width(text, len));
}

void long_grid_number(struct long_grid *g, const struct long_number *n, const char *text)
{
	enum { SHORT = 32 };
	const char *const end = n->slack;
	const size_t len = (size_t)(end - text);
	const size_t width = g->width[g->column] > len ? g->width[g->column] : len;
	struct buf *const out = g->out;
	/* Moved as it is, with the spaces before it and, of a fixed size, what is behind it. */
	if (!out || !g->column || width + 2 > SHORT ||
	    out->cap - out->len <= SHORT + 1 || out->failed) {
		long_grid_cell(g, text, len, len, true);
		return;
	}
	memcpy(out->data + out->len, end - width - 2, SHORT);
	out->len += width + 2;
	g->column++;
	if (g->column == g->columns) {
		g->column = 0;
		out->data[out->len++] = '\n';
	}
	out->data[out->len] = '\0';
}

/* Names are code, so that nothing in them is markup. In code, a | must still be escaped,
 * and a ` would end it. */
static void markdown_cell(struct buf *out, const char *text, size_t len, bool code)
{
	buf_str(out, code && len ? " `" : " ");
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '|')
			buf_chr(out, '\\');
		const bool line = text[i] == '\n' || text[i] == '\r' || text[i] == '\t';
		buf_chr(out, line ? ' ' : code && text[i] == '`' ? '\'' : text[i]);
	}
	buf_str(out, code && len ? "` |" : " |");
}

void grid_markdown(const struct grid *g, struct buf *out)
{
	if (g->failed || buf_failed(&g->text))
		out->failed = true;
	for (size_t i = 0; !out->failed && i < g->n; i++) {
		const size_t column = i % g->columns;
		size_t len;
		const char *const text = cell(g, i, &len);
		if (!column)
			buf_chr(out, '|');
		markdown_cell(out, text, len, !column && i >= g->columns);
		if (column + 1 < g->columns)
			continue;
		buf_chr(out, '\n');
		if (i + 1 == g->columns) {
			buf_str(out, "|---|");
			for (size_t c = 1; c < g->columns; c++)
				buf_str(out, "---:|");
			buf_chr(out, '\n');
		}
	}
}

static void rule(const struct grid *g, const size_t *w, struct buf *out)
{
	for (size_t c = 0; c < g->columns; c++) {
		buf_chr(out, '+');
		for (size_t i = 0; i < w[c] + 2; i++)
			buf_chr(out, '-');
	}
	buf_str(out, "+\n");
}

/* A row of cells with several lines takes as many lines as the highest. */
static void framed_row(const struct grid *g, const size_t *w, size_t row, struct buf *out)
{
	bool more = true;
	for (size_t k = 0; more; k++) {
		struct buf line = { 0 };
		more = false;
		for (size_t c = 0; c < g->columns; c++) {
			size_t n;
			const char *text = cell(g, row * g->columns + c, &n);
			const bool has = line_of(&text, &n, k);
			more |= has;
			buf_str(&line, "| ");
			if (has)
				buf_add(&line, text, n);
			pad(&line, w[c] - (has ? display_width(text, n) : 0) + 1);
		}
		buf_str(&line, "|\n");
		if (more)
			buf_add(out, line.data, line.len);
		out->failed |= buf_failed(&line);
		buf_free(&line);
	}
}

void grid_framed(const struct grid *g, struct buf *out)
{
	size_t *const w = widths(g);
	if (!w || g->failed || buf_failed(&g->text)) {
		out->failed = true;
		free(w);
		return;
	}
	rule(g, w, out);
	for (size_t row = 0; row < g->n / g->columns; row++) {
		framed_row(g, w, row, out);
		if (row == 0)
			rule(g, w, out);
	}
	rule(g, w, out);
	free(w);
}
