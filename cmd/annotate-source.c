/* tare annotate --function: the source of a function with the counts of each line, then its instructions
 * with theirs. */
#include "annotate.h"

#include "disassembler.h"
#include "quantity.h"
#include "term.h"

#include <tare/code.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BEFORE = 3 };		/* lines of source that are shown around those that ran */

/* ---- source files ---- */

static FILE *open_source(struct source_text *t, const char *folder, const char *path)
{
	snprintf(t->path, sizeof(t->path), "%s", path);
	FILE *f = fopen(t->path, "re");
	/* Below --source: the whole path, then without its first folder, … */
	for (const char *tail = path; !f && folder && tail; tail = strchr(tail + 1, '/')) {
		snprintf(t->path, sizeof(t->path), "%s/%s", folder, tail + (*tail == '/'));
		f = fopen(t->path, "re");
		if (!strchr(tail + 1, '/'))
			break;
	}
	return f;
}

static bool split(struct source_text *t, size_t len)
{
	size_t n = 1;
	for (size_t i = 0; i < len; i++)
		n += t->text[i] == '\n';
	t->lines = calloc(n, sizeof(*t->lines));
	if (!t->lines)
		return false;
	for (char *at = t->text; at < t->text + len;) {
		char *const end = memchr(at, '\n', (size_t)(t->text + len - at));
		t->lines[t->n++] = at;
		if (!end)
			break;
		*end = '\0';
		at = end + 1;
	}
	return true;
}

bool source_text_read(struct source_text *t, const struct annotate_opts *o, const struct tare_codeprofile_file *f)
{
	struct stat st;
	struct buf b = { 0 };
	char part[65536];
	size_t n;
	*t = (struct source_text){ 0 };
	FILE *const in = open_source(t, o->source, f->path);
	if (!in)
		return false;
	if (fstat(fileno(in), &st) == 0 && S_ISREG(st.st_mode)) {
		t->newer = f->mtime && (int64_t)st.st_mtime > f->mtime;
		while ((n = fread(part, 1, sizeof(part), in)) > 0)
			buf_add(&b, part, n);
	}
	fclose(in);
	buf_str(&b, "");
	t->text = b.data;
	return t->text && split(t, b.len);
}

void source_text_free(struct source_text *t)
{
	free(t->text);
	free(t->lines);
	*t = (struct source_text){ 0 };
}

/* ---- cells ---- */

static void put_right(struct buf *out, const char *text, size_t width)
{
	for (size_t n = strlen(text); n < width; n++)
		buf_chr(out, ' ');
	buf_str(out, text);
}

static size_t count_width(const struct annotate *a, size_t e)
{
	struct buf b = { 0 };
	buf_grouped_i64(&b, a->p->events[e].total);
	const size_t n = strlen(a->p->events[e].name) > b.len ? strlen(a->p->events[e].name) : b.len;
	buf_free(&b);
	return n + 2;
}

/* How many events fit beside `rest` columns of other things. */
static size_t events_that_fit(const struct annotate *a, size_t rest)
{
	size_t used = rest, n = 0;
	while (n < a->p->n_events) {
		used += count_width(a, n);
		if (n && a->width != SIZE_MAX && used > a->width)
			break;
		n++;
	}
	return n;
}

/* The counts of a line or an instruction, and the share of the function's. NULL: blank. */
static void put_counts(const struct annotate *a, const int64_t *counts, int64_t whole, size_t events,
		       struct buf *out)
{
	for (size_t e = 0; e < events; e++) {
		struct buf cell = { 0 };
		buf_str(&cell, "");
		if (counts && (counts[e] || !e))
			buf_grouped_i64(&cell, counts[e]);
		put_right(out, cell.data, count_width(a, e));
		buf_free(&cell);
		if (e)
			continue;
		char share[16] = "";
		const double v = counts ? annotate_share(counts[0], whole) : 0;
		if (counts)
			snprintf(share, sizeof(share), "%.2f", v);
		const enum style s = v >= 20 ? STYLE_RED : v >= 5 ? STYLE_YELLOW : STYLE_NONE;
		buf_str(out, s == STYLE_NONE ? "" : term_style(a->fd, s));
		put_right(out, share, 8);
		buf_str(out, s == STYLE_NONE ? "" : term_style(a->fd, STYLE_NONE));
	}
}

static void put_titles(const struct annotate *a, size_t events, const char *rest, struct buf *out)
{
	buf_str(out, term_style(a->fd, STYLE_BOLD));
	for (size_t e = 0; e < events; e++) {
		put_right(out, a->p->events[e].name, count_width(a, e));
		if (!e)
			put_right(out, "%", 8);
	}
	buf_printf(out, "  %s%s\n", rest, term_style(a->fd, STYLE_NONE));
}

/* Tabs become spaces, control characters question marks; no more than fits. */
static void put_line_text(const struct annotate *a, const char *text, size_t used, struct buf *out)
{
	struct buf b = { 0 };
	size_t column = 0;
	buf_str(&b, "");
	for (; *text && *text != '\r'; text++) {
		if (*text != '\t') {
			buf_chr(&b, *text);
			column += ((unsigned char)*text & 0xc0) != 0x80;
			continue;
		}
		do
			buf_chr(&b, ' ');
		while (++column % 8);
	}
	text_printable(b.data, b.len);
	size_t len = b.len;
	while (a->width != SIZE_MAX && len && display_width(b.data, len) + used > a->width)
		do
			len--;
		while (len && ((unsigned char)b.data[len] & 0xc0) == 0x80);
	buf_add(out, b.data, len);
	buf_free(&b);
}

/* ---- source ---- */

/* The lines of one file in a function: p->lines[first … end - 1]. */
static void put_file(const struct annotate *a, const struct tare_codeprofile_function *f, uint32_t first,
		     uint32_t end, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	const struct tare_codeprofile_file *const file = &p->files[p->lines[first].file];
	const size_t events = events_that_fit(a, 8 + 8 + 20);
	struct source_text t;
	const bool found = source_text_read(&t, a->o, file);
	size_t used = 8 + 8;
	for (size_t e = 0; e < events; e++)
		used += count_width(a, e);
	buf_printf(out, "\n %s%s\n", file->path, found ? "" : " (the file cannot be read: lines without text)");
	if (found && t.newer)
		buf_str(out, " The file was changed after the profile was made: lines may have moved.\n");
	buf_chr(out, '\n');
	put_titles(a, events, "line", out);
	uint32_t shown = 0;		/* the last line that was shown */
	for (uint32_t i = first; i < end; i++) {
		const struct tare_codeprofile_line *const l = &p->lines[i];
		uint32_t from = l->line > BEFORE ? l->line - BEFORE : 1;
		if (i == first && f->file == l->file && f->line && f->line < l->line && l->line - f->line < 20)
			from = f->line;
		if (from <= shown || shown + 1 + BEFORE >= from)
			from = shown && from > shown ? shown + 1 : from <= shown ? shown + 1 : from;
		else if (shown && found)
			buf_str(out, "\n");
		for (uint32_t k = from; found && k < l->line && k <= t.n; k++) {
			put_counts(a, NULL, 0, events, out);
			buf_printf(out, "%s%6u  ", term_style(a->fd, STYLE_DIM), k);
			put_line_text(a, t.lines[k - 1], used, out);
			buf_printf(out, "%s\n", term_style(a->fd, STYLE_NONE));
		}
		put_counts(a, l->counts, f->counts[0], events, out);
		buf_printf(out, "%6u  ", l->line);
		if (found && l->line && l->line <= t.n)
			put_line_text(a, t.lines[l->line - 1], used, out);
		buf_chr(out, '\n');
		shown = l->line;
	}
	source_text_free(&t);
}

static void put_source(const struct annotate *a, const struct tare_codeprofile_function *f, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	const uint32_t end = f->lines + f->n_lines;
	for (uint32_t i = f->lines; i < end;) {
		uint32_t next = i + 1;
		while (next < end && p->lines[next].file == p->lines[i].file)
			next++;
		if (p->lines[i].file != ANNOTATE_NONE)
			put_file(a, f, i, next, out);
		i = next;
	}
}

/* ---- instructions ---- */

/* The function at an address of an object; NULL: none that ran. Functions are sorted. */
static const struct tare_codeprofile_function *function_at(const struct tare_codeprofile *p, uint32_t object,
							   uint64_t offset)
{
	size_t low = 0, high = p->n_functions;
	while (low < high) {
		const size_t middle = (low + high) / 2;
		const struct tare_codeprofile_function *const f = &p->functions[middle];
		if (f->object < object || (f->object == object && f->offset <= offset))
			low = middle + 1;
		else
			high = middle;
	}
	const struct tare_codeprofile_function *const f = low ? &p->functions[low - 1] : NULL;
	return f && f->object == object && offset < f->offset + (f->size ? f->size : 1) ? f : NULL;
}

/* " <name>" behind a direct call or a jump out of the function. */
static void put_target(const struct annotate *a, const struct tare_codeprofile_function *f,
		       const struct tare_codeprofile_insn *in, struct buf *out)
{
	struct tare_code_insn decoded;
	if (!tare_code_insn(in->bytes, in->size, in->offset, &decoded) || !decoded.has_target)
		return;
	const struct tare_codeprofile_function *const to = function_at(a->p, f->object, decoded.target);
	if (to && (to != f || decoded.is_call))
		buf_printf(out, " <%s>", to->name);
}

static void put_insns(const struct annotate *a, const struct tare_codeprofile_function *f, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	const size_t events = events_that_fit(a, 8 + 20 + 30);
	uint32_t file = ANNOTATE_NONE, line = 0;
	buf_str(out, "\n");
	put_titles(a, events, "instruction", out);
	for (uint32_t i = f->insns; i < f->insns + f->n_insns; i++) {
		const struct tare_codeprofile_insn *const in = &p->insns[i];
		char text[256], hex[2 * sizeof(in->bytes) + 1] = "";
		const char *const insn = disassemble(in->bytes, in->size, in->offset, text, sizeof(text));
		for (unsigned k = 0; k < in->size; k++)
			snprintf(hex + 2 * k, 3, "%02x", in->bytes[k]);
		put_counts(a, in->counts, f->counts[0], events, out);
		buf_printf(out, "  %8llx  %s", (unsigned long long)in->offset, insn ? insn : hex);
		put_target(a, f, in, out);
		if (in->file != ANNOTATE_NONE && (in->file != file || in->line != line)) {
			file = in->file;
			line = in->line;
			buf_printf(out, "%s  ; %s:%u%s", term_style(a->fd, STYLE_DIM),
				   annotate_base(p->files[file].path), line, term_style(a->fd, STYLE_NONE));
		}
		buf_chr(out, '\n');
	}
}

void annotate_source(const struct annotate *a, uint32_t function, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	const struct tare_codeprofile_function *const f = &p->functions[function];
	const size_t start = out->len;
	buf_printf(out, " %s [%s]", f->name, p->objects[f->object].path);
	if (f->file != ANNOTATE_NONE)
		buf_printf(out, ", %s:%u", p->files[f->file].path, f->line);
	if (out->data)
		text_printable(out->data + start, out->len - start);
	annotate_break_line(a, out, start, 3);
	buf_str(out, "\n ");
	buf_grouped_i64(out, f->counts[0]);
	buf_printf(out, " %s, %.2f %% of all\n", p->events[0].name,
		   annotate_share(f->counts[0], p->events[0].total));
	annotate_calls(a, function, out);
	if (a->o->by != BY_INSN)
		put_source(a, f, out);
	put_insns(a, f, out);
	buf_chr(out, '\n');
}
