/* Comparisons for a terminal, for a pull request and for programs. */
#include "compare.h"
#include "term.h"

#include <tare/version.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_time(const struct compare_series *s)
{
	return strcmp(s->unit, "ns") == 0;
}

/* 1,234 ±5; times in milliseconds. One run has no spread, which is not ±0. */
static void put_side(struct buf *b, const struct compare_series *s)
{
	if (!s || !s->sum.n) {
		buf_str(b, "-");
		return;
	}
	const bool one = s->sum.n == 1;
	if (is_time(s))
		put_real(b, summary_midpoint(&s->sum) / 1e6, 2);
	else
		put_midpoint(b, &s->sum, true);
	if (!one) {
		buf_printf(b, " %s", term_plus_minus());
		if (is_time(s))
			put_real(b, summary_half_range(&s->sum) / 1e6, 2);
		else
			put_half_range(b, &s->sum, true);
	}
	buf_str(b, is_time(s) ? " ms" : "");
	buf_str(b, one ? " (one run)" : "");
}

static void put_change(struct buf *b, const struct compare_line *l)
{
	if (!l->base || !l->new || !l->base->sum.n || !l->new->sum.n)
		return;
	const double shown = is_time(l->base) ? l->delta / 1e6 : l->delta;
	const int decimals = is_time(l->base) ? 2 : l->delta == floor(l->delta) ? 0 : 1;
	if (l->delta == 0) {
		buf_chr(b, '0');
		return;
	}
	if (shown > 0)
		buf_chr(b, '+');
	put_real(b, shown, decimals);
	if (isinf(l->percent))
		return;
	buf_str(b, shown > 0 ? " (+" : " (");
	put_percent(b, l->percent);
	buf_str(b, " %)");
}

static void put_provenance(struct buf *b, const struct compare_line *l)
{
	const enum tare_provenance p = l->base ? l->base->provenance : l->new->provenance;
	const enum tare_provenance q = l->new ? l->new->provenance : p;
	buf_str(b, tare_provenance_name(p));
	if (p != q)
		buf_printf(b, "/%s", tare_provenance_name(q));
}

static int columns(const char *text)
{
	int n = 0;
	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static void put_padded(struct buf *out, const char *text, int width, bool right)
{
	const int pad = width - columns(text);
	if (right && pad > 0)
		buf_printf(out, "%*s", pad, "");
	buf_str(out, text);
	if (!right && pad > 0)
		buf_printf(out, "%*s", pad, "");
}

enum { N_CELLS = 6 };

static void cells_of(const struct compare_line *l, struct buf cells[N_CELLS])
{
	for (int i = 0; i < N_CELLS; i++) {
		cells[i] = (struct buf){ 0 };
		buf_str(&cells[i], "");
	}
	buf_str(&cells[0], l->event);
	put_side(&cells[1], l->base);
	put_side(&cells[2], l->new);
	put_change(&cells[3], l);
	put_provenance(&cells[4], l);
	buf_str(&cells[5], compare_verdict_name(l->verdict));
	if (l->reason[0])
		buf_printf(&cells[5], " (%s)", l->reason);
}

static void free_cells(struct buf cells[N_CELLS])
{
	for (int i = 0; i < N_CELLS; i++)
		buf_free(&cells[i]);
}

static enum style style_of(enum compare_verdict v)
{
	switch (v) {
	case COMPARE_REGRESSION:
		return STYLE_RED;
	case COMPARE_IMPROVED:
		return STYLE_GREEN;
	case COMPARE_CANNOT:
		return STYLE_YELLOW;
	default:
		return STYLE_NONE;
	}
}

static const char *const titles[N_CELLS] = { "event", "base", "new", "change", "provenance",
					     "verdict" };

static void put_lines(struct buf *out, const struct buf *lines, const char *before)
{
	const char *p = lines->data;
	while (p && *p) {
		const size_t n = strcspn(p, "\n");
		buf_printf(out, "%s%.*s.\n", before, (int)n, p);
		p += n + 1;
	}
}

/* "instructions: +120 in inner [prog], base 6,004, new 6,124" */
static void put_functions(struct buf *out, const struct comparison *c, const char *before)
{
	for (size_t i = 0; i < c->n_functions; i++) {
		const struct compare_function *const f = &c->functions[i];
		buf_printf(out, "%s%s: ", before, f->event);
		if (f->new > f->base)
			buf_chr(out, '+');
		buf_grouped_i64(out, f->new - f->base);
		buf_printf(out, " in %s [%s], base ", f->function, f->object);
		buf_grouped_i64(out, f->base);
		buf_str(out, ", new ");
		buf_grouped_i64(out, f->new);
		buf_chr(out, '\n');
	}
}

static void text_one(const struct comparison *c, int fd, struct buf *out)
{
	int width[N_CELLS] = { 0 };
	for (int k = 0; k < N_CELLS; k++)
		width[k] = columns(titles[k]);
	for (size_t i = 0; i < c->n_lines; i++) {
		struct buf cells[N_CELLS];
		cells_of(&c->lines[i], cells);
		for (int k = 0; k < N_CELLS; k++)
			if (columns(cells[k].data) > width[k])
				width[k] = columns(cells[k].data);
		free_cells(cells);
	}
	buf_printf(out, "\n %s -> %s: %s%s%s", c->base->path, c->new->path,
		   term_style(fd, style_of(c->verdict)), compare_verdict_name(c->verdict),
		   term_style(fd, STYLE_NONE));
	if (c->reason[0])
		buf_printf(out, ": %s", c->reason);
	buf_str(out, "\n\n");
	for (int k = 0; k < N_CELLS; k++) {
		buf_str(out, "  ");
		put_padded(out, titles[k], k == N_CELLS - 1 ? 0 : width[k], k >= 1 && k <= 3);
	}
	buf_chr(out, '\n');
	for (size_t i = 0; i < c->n_lines; i++) {
		struct buf cells[N_CELLS];
		cells_of(&c->lines[i], cells);
		for (int k = 0; k < N_CELLS; k++) {
			buf_str(out, "  ");
			if (k == N_CELLS - 1)
				buf_str(out, term_style(fd, style_of(c->lines[i].verdict)));
			put_padded(out, cells[k].data, k == N_CELLS - 1 ? 0 : width[k],
				   k >= 1 && k <= 3);
		}
		buf_printf(out, "%s\n", term_style(fd, STYLE_NONE));
		free_cells(cells);
	}
	buf_chr(out, '\n');
	put_functions(out, c, " Function: ");
	put_lines(out, &c->differences, " Differs: ");
	put_lines(out, &c->notes, " Note: ");
}

void compare_text(const struct comparison *c, size_t n, int fd, struct buf *out)
{
	for (size_t i = 0; i < n; i++)
		text_one(&c[i], fd, out);
}

/* | would end a cell. */
static void put_cell(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			buf_chr(out, '\\');
		buf_chr(out, *text);
	}
}

static void markdown_one(const struct comparison *c, struct buf *out)
{
	const bool bad = c->verdict == COMPARE_REGRESSION;
	buf_printf(out, "### `%s` → `%s`: %s%s%s", c->base->path, c->new->path,
		   bad ? "**" : "", compare_verdict_name(c->verdict), bad ? "**" : "");
	if (c->reason[0])
		buf_printf(out, " (%s)", c->reason);
	buf_str(out, "\n\n|");
	for (int k = 0; k < N_CELLS; k++)
		buf_printf(out, " %s |", titles[k]);
	buf_str(out, "\n|---|---:|---:|---:|---|---|\n");
	for (size_t i = 0; i < c->n_lines; i++) {
		struct buf cells[N_CELLS];
		cells_of(&c->lines[i], cells);
		buf_chr(out, '|');
		for (int k = 0; k < N_CELLS; k++) {
			const bool strong = k == N_CELLS - 1 &&
					    c->lines[i].verdict == COMPARE_REGRESSION;
			buf_str(out, strong ? " **" : " ");
			put_cell(out, cells[k].data);
			buf_str(out, strong ? "** |" : " |");
		}
		buf_chr(out, '\n');
		free_cells(cells);
	}
	buf_chr(out, '\n');
	put_functions(out, c, "- ");
	put_lines(out, &c->differences, "- **Differs**: ");
	put_lines(out, &c->notes, "- ");
	if (c->notes.len || c->differences.len || c->n_functions)
		buf_chr(out, '\n');
}

void compare_markdown(const struct comparison *c, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++)
		markdown_one(&c[i], out);
}

/* ---- JSON: tare.compare/1 ---- */

static void side_json(struct json *j, const char *key, const struct compare_series *s)
{
	if (!s || !s->sum.n) {
		json_null(j, key);
		return;
	}
	json_object(j, key);
	json_u64(j, "n", s->sum.n);
	json_f64(j, "midpoint", summary_midpoint(&s->sum));
	json_f64(j, "half_range", s->sum.n > 1 ? summary_half_range(&s->sum) : NAN);
	json_u64(j, "min", s->sum.min);
	json_u64(j, "max", s->sum.max);
	json_str(j, "provenance", tare_provenance_name(s->provenance));
	json_end(j);
}

static void line_json(struct json *j, const struct compare_line *l)
{
	const bool both = l->base && l->new && l->base->sum.n && l->new->sum.n;
	json_object(j, NULL);
	json_str(j, "event", l->event);
	json_str(j, "unit", l->base ? l->base->unit : l->new->unit);
	side_json(j, "base", l->base);
	side_json(j, "new", l->new);
	json_f64(j, "delta", both ? l->delta : NAN);
	json_f64(j, "percent", both ? l->percent : NAN);
	json_f64(j, "allowed", l->allowed);
	json_str(j, "verdict", compare_verdict_name(l->verdict));
	json_str(j, "reason", l->reason[0] ? l->reason : NULL);
	json_end(j);
}

static void lines_json(struct json *j, const char *key, const struct buf *lines)
{
	const char *p = lines->data;
	json_array(j, key);
	while (p && *p) {
		const size_t n = strcspn(p, "\n");
		json_strn(j, NULL, p, n);
		p += n + 1;
	}
	json_end(j);
}

static void function_json(struct json *j, const struct compare_function *f)
{
	json_object(j, NULL);
	json_str(j, "event", f->event);
	json_str(j, "function", f->function);
	json_str(j, "object", f->object);
	json_i64(j, "base", f->base);
	json_i64(j, "new", f->new);
	json_i64(j, "change", f->new - f->base);
	json_end(j);
}

static void comparison_json(struct json *j, const struct comparison *c)
{
	json_object(j, NULL);
	json_str(j, "base", c->base->path);
	json_str(j, "new", c->new->path);
	json_str(j, "verdict", compare_verdict_name(c->verdict));
	json_str(j, "reason", c->reason[0] ? c->reason : NULL);
	lines_json(j, "differences", &c->differences);
	lines_json(j, "notes", &c->notes);
	json_array(j, "events");
	for (size_t i = 0; i < c->n_lines; i++)
		line_json(j, &c->lines[i]);
	json_end(j);
	json_array(j, "functions");
	for (size_t i = 0; i < c->n_functions; i++)
		function_json(j, &c->functions[i]);
	json_end(j);
	json_end(j);
}

void compare_json(const struct comparison *c, size_t n, struct buf *out)
{
	struct json j = { .out = out, .indent = true };
	json_object(&j, NULL);
	json_str(&j, "schema", "tare.compare/1");
	json_str(&j, "tare", TARE_VERSION);
	json_str(&j, "verdict", compare_verdict_name(compare_overall(c, n)));
	json_array(&j, "comparisons");
	for (size_t i = 0; i < n; i++)
		comparison_json(&j, &c[i]);
	json_end(&j);
	json_end(&j);
}
