/* tare annotate --diff BASE NEW: what changed, by function and line.
 *
 *	       change   % of base           base            new  function
 *	         +300       +0.43          1,506          1,806  inner [prog]
 *	         +200                      1,000          1,200    prog.c:13  sink ^= n;
 */
#include "annotate-diff.h"

#include "command.h"
#include "complain.h"
#include "json.h"
#include "output.h"
#include "term.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN 20u		/* rows without --top */
#define SHOWN_LINES 3u		/* of each function in the table of functions */
enum { SHARE_WIDTH = 12 };

static void *space(size_t n, size_t size)
{
	void *const p = calloc(n + 1, size);
	if (!p)
		abort();
	return p;
}

/* ---- cells ---- */

struct table {
	const struct annotate *a;
	const struct profile_diff *d;
	struct buf *out;
	int width;			/* of a count */
};

static void put_signed(struct buf *b, int64_t v)
{
	buf_str(b, v > 0 ? "+" : "");
	buf_grouped_i64(b, v);
}

static void put_cell(const struct table *t, int64_t v, bool is_change)
{
	struct buf cell = { 0 };
	if (is_change)
		put_signed(&cell, v);
	else
		buf_grouped_i64(&cell, v);
	buf_printf(t->out, "%*s", t->width, cell.data);
	buf_free(&cell);
}

static enum style style_of(int64_t change)
{
	return change > 0 ? STYLE_RED : change < 0 ? STYLE_GREEN : STYLE_NONE;
}

static void put_numbers(const struct table *t, int64_t base, int64_t new, bool with_share)
{
	const int fd = t->a->fd;
	const int64_t whole = t->d->base->events[t->d->base_event[0]].total;
	char share[32] = "";
	if (with_share && whole)
		snprintf(share, sizeof(share), "%+.3f", annotate_share(new - base, whole));
	buf_str(t->out, term_style(fd, style_of(new - base)));
	put_cell(t, new - base, true);
	buf_str(t->out, term_style(fd, STYLE_NONE));
	buf_printf(t->out, "%*s", SHARE_WIDTH, share);
	put_cell(t, base, false);
	put_cell(t, new, false);
}

/* The rest of a line: no more than the terminal has columns for. */
static void put_rest(const struct table *t, struct buf *text)
{
	const size_t used = 3 * (size_t)t->width + SHARE_WIDTH + 2;
	text_printable(text->data, text->len);
	buf_str(t->out, "  ");
	annotate_cut(t->out, text->data, t->a->width == SIZE_MAX ? SIZE_MAX :
		     t->a->width > used + 8 ? t->a->width - used : 8);
	buf_chr(t->out, '\n');
	buf_free(text);
}

static void put_titles(const struct table *t, const char *last)
{
	buf_printf(t->out, "%s%*s%*s%*s%*s  %s%s\n", term_style(t->a->fd, STYLE_BOLD), t->width, "change", SHARE_WIDTH,
		   "% of base", t->width, "base", t->width, "new", last, term_style(t->a->fd, STYLE_NONE));
}

/* ---- names ---- */

static const char *object_of(const struct tare_codeprofile *p, uint32_t function)
{
	return p->objects[p->functions[function].object].path;
}

static const char *only_in(uint32_t base, uint32_t new)
{
	return new == ANNOTATE_NONE ? "only in base" : base == ANNOTATE_NONE ? "only in new" : NULL;
}

/* As the new profile has it; what the base had differently stands behind it. */
static void function_name(const struct profile_diff *d, const struct function_pair *f, struct buf *out)
{
	const bool in_new = f->new != ANNOTATE_NONE;
	const struct tare_codeprofile *const p = in_new ? d->new : d->base;
	const uint32_t at = in_new ? f->new : f->base;
	buf_printf(out, "%s [%s]", p->functions[at].name, annotate_base(object_of(p, at)));
	if (only_in(f->base, f->new))
		buf_printf(out, ", %s", only_in(f->base, f->new));
	else if (strcmp(d->base->functions[f->base].name, p->functions[at].name) != 0)
		buf_printf(out, ", in base %s", d->base->functions[f->base].name);
}

static void line_name(const struct profile_diff *d, const struct line_pair *l, const char *text, struct buf *out)
{
	const bool in_new = l->new != ANNOTATE_NONE;
	const struct tare_codeprofile *const p = in_new ? d->new : d->base;
	const struct tare_codeprofile_line *const at = &p->lines[in_new ? l->new : l->base];
	if (at->file == ANNOTATE_NONE)
		buf_str(out, "(no line)");
	else
		buf_printf(out, "%s:%u", annotate_base(p->files[at->file].path), at->line);
	if (only_in(l->base, l->new))
		buf_printf(out, ", %s", only_in(l->base, l->new));
	else if (d->base->lines[l->base].line != at->line)
		buf_printf(out, ", in base line %u", d->base->lines[l->base].line);
	if (text)
		buf_printf(out, "  %s", text + strspn(text, " \t"));
}

/* ---- source ---- */

/* The text of a line, if its file is as it was when the profile was made. The caller frees it. */
static char *line_text(const struct table *t, const struct line_pair *l)
{
	const bool in_new = l->new != ANNOTATE_NONE;
	const struct tare_codeprofile *const p = in_new ? t->d->new : t->d->base;
	const struct tare_codeprofile_line *const at = &p->lines[in_new ? l->new : l->base];
	struct source_text s;
	char *text = NULL;
	if (at->file == ANNOTATE_NONE || !source_text_read(&s, t->a->o, &p->files[at->file]))
		return NULL;
	if (!s.newer && at->line && at->line <= s.n)
		text = strdup(s.lines[at->line - 1]);
	source_text_free(&s);
	return text;
}

static void put_line(const struct table *t, const struct line_pair *l, const char *before, const char *behind)
{
	struct buf name = { 0 };
	char *const text = line_text(t, l);
	buf_str(&name, before);
	line_name(t->d, l, text, &name);
	if (behind)
		buf_printf(&name, "  (%s)", behind);
	put_numbers(t, line_base(t->d, l, 0), line_new(t->d, l, 0), *before == '\0');
	put_rest(t, &name);
	free(text);
}

/* ---- lines in the order of their change ---- */

static uint64_t size_of(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

struct ordered_line {
	const struct line_pair *line;
	const struct function_pair *function;
};

static int by_change(const void *a, const void *b, void *arg)
{
	const struct ordered_line *const x = a, *const y = b;
	const struct profile_diff *const d = arg;
	for (size_t e = 0; e < d->n_events; e++)
		if (size_of(x->line->change[e]) != size_of(y->line->change[e]))
			return size_of(x->line->change[e]) < size_of(y->line->change[e]) ? 1 : -1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static bool line_differs(const struct profile_diff *d, const struct line_pair *l)
{
	for (size_t e = 0; e < d->n_events; e++)
		if (l->change[e])
			return true;
	return false;
}

/* The lines of f (NULL: of all functions) that differ, the largest change first. */
static struct ordered_line *changed_lines(const struct profile_diff *d, const struct function_pair *f, size_t *n)
{
	const struct function_pair *const from = f ? f : d->functions, *const end = f ? f + 1 : from + d->n_differ;
	size_t most = 0;
	for (const struct function_pair *g = from; g < end; g++)
		most += g->n_lines;
	struct ordered_line *const list = space(most, sizeof(*list));
	*n = 0;
	for (const struct function_pair *g = from; g < end; g++)
		for (size_t k = g->lines; k < g->lines + g->n_lines; k++)
			if (line_differs(d, &d->lines[k]))
				list[(*n)++] = (struct ordered_line){ &d->lines[k], g };
	if (*n)
		qsort_r(list, *n, sizeof(*list), by_change, (void *)d);
	return list;
}

/* ---- tables ---- */

static void put_rest_of_rows(const struct table *t, size_t n, int64_t base, int64_t new, const char *what)
{
	struct buf text = { 0 };
	if (!n)
		return;
	buf_printf(&text, "%zu other %s%s", n, what, n > 1 ? "s" : "");
	put_numbers(t, base, new, true);
	put_rest(t, &text);
}

static void put_function(const struct table *t, const struct function_pair *f)
{
	struct buf name = { 0 };
	function_name(t->d, f, &name);
	put_numbers(t, pair_base(t->d, f, 0), pair_new(t->d, f, 0), true);
	put_rest(t, &name);
}

static void put_more_lines(const struct table *t, size_t n)
{
	struct buf text = { 0 };
	buf_printf(&text, "  %zu more lines: --function", n);
	buf_printf(t->out, "%*s", 3 * t->width + SHARE_WIDTH, "");
	put_rest(t, &text);
}

static void put_functions(const struct table *t)
{
	const struct profile_diff *const d = t->d;
	const size_t most = t->a->o->top ? t->a->o->top : SHOWN;
	int64_t base = 0, new = 0;
	put_titles(t, "function");
	for (size_t i = 0; i < d->n_differ && i < most; i++) {
		const struct function_pair *const f = &d->functions[i];
		size_t n;
		struct ordered_line *const lines = changed_lines(d, f, &n);
		put_function(t, f);
		/* A function on one side only has changed in all of its lines. */
		for (size_t k = 0; !only_in(f->base, f->new) && k < n && k < SHOWN_LINES; k++)
			put_line(t, lines[k].line, "  ", NULL);
		if (n > SHOWN_LINES && !only_in(f->base, f->new))
			put_more_lines(t, n - SHOWN_LINES);
		free(lines);
	}
	for (size_t i = most; i < d->n_differ; i++) {
		base += pair_base(d, &d->functions[i], 0);
		new += pair_new(d, &d->functions[i], 0);
	}
	put_rest_of_rows(t, d->n_differ > most ? d->n_differ - most : 0, base, new, "function");
}

static void put_lines(const struct table *t)
{
	const size_t most = t->a->o->top ? t->a->o->top : SHOWN;
	size_t n;
	int64_t base = 0, new = 0;
	struct ordered_line *const lines = changed_lines(t->d, NULL, &n);
	put_titles(t, "line");
	for (size_t i = 0; i < n; i++) {
		if (i < most) {
			struct buf name = { 0 };
			function_name(t->d, lines[i].function, &name);
			put_line(t, lines[i].line, "", name.data);
			buf_free(&name);
			continue;
		}
		base += line_base(t->d, lines[i].line, 0);
		new += line_new(t->d, lines[i].line, 0);
	}
	put_rest_of_rows(t, n > most ? n - most : 0, base, new, "line");
	free(lines);
}

static bool wanted(const struct profile_diff *d, const struct annotate_opts *o, const struct function_pair *f)
{
	return (f->base != ANNOTATE_NONE && annotate_wants(o, &d->base->functions[f->base])) ||
	       (f->new != ANNOTATE_NONE && annotate_wants(o, &d->new->functions[f->new]));
}

/* --function: all lines, in the order of the source. */
static void put_wanted(const struct table *t)
{
	const struct profile_diff *const d = t->d;
	size_t n = 0;
	for (size_t i = 0; i < d->n_functions; i++) {
		const struct function_pair *const f = &d->functions[i];
		if (!wanted(d, t->a->o, f) || (t->a->o->top && n == t->a->o->top))
			continue;
		buf_str(t->out, n++ ? "\n" : "");
		put_titles(t, "function");
		put_function(t, f);
		for (size_t k = f->lines; k < f->lines + f->n_lines; k++)
			put_line(t, &d->lines[k], "  ", NULL);
	}
	if (!n)
		buf_str(t->out, " No function that ran has such a name.\n");
}

/* ---- the whole as text ---- */

static void put_total(const struct profile_diff *d, size_t e, struct buf *out)
{
	const struct tare_codeprofile_event *const x = &d->base->events[d->base_event[e]];
	const struct tare_codeprofile_event *const y = &d->new->events[d->new_event[e]];
	const struct tare_codeprofile_event *const both[] = { x, y };
	buf_str(out, " ");
	for (int i = 0; i < 2; i++) {
		buf_str(out, i ? " -> " : "");
		buf_str(out, both[i]->provenance == TARE_PROV_INCOMPLETE ? "at least " : "");
		buf_grouped_i64(out, both[i]->total);
	}
	buf_printf(out, " %s: ", x->name);
	put_signed(out, y->total - x->total);
	if (x->total)
		buf_printf(out, " (%+.3f %%)", annotate_share(y->total - x->total, x->total));
	buf_chr(out, '\n');
}

static void put_head(const struct annotate *a, const struct profile_diff *d, struct buf *out)
{
	const struct tare_codeprofile *const both[] = { d->base, d->new };
	for (int i = 0; i < 2; i++) {
		struct buf name = { 0 };
		buf_str(&name, both[i]->command);
		text_printable(name.data, name.len);
		buf_str(out, i ? " new:  '" : "\n base: '");
		annotate_cut(out, name.data, a->width == SIZE_MAX ? SIZE_MAX : a->width > 24 ? a->width - 12 : 8);
		buf_str(out, "'");
		if (both[i]->runs > 1)
			buf_printf(out, ", %u runs added up", both[i]->runs);
		buf_chr(out, '\n');
		buf_free(&name);
	}
	buf_chr(out, '\n');
	for (size_t e = 0; e < d->n_events; e++)
		put_total(d, e, out);
	buf_chr(out, '\n');
}

static void put_notes(const struct profile_diff *d, struct buf *out)
{
	const struct tare_codeprofile *const both[] = { d->base, d->new };
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < both[i]->n_reasons; k++)
			buf_printf(out, " %s: %s\n", i ? "new" : "base", both[i]->reasons[k]);
	if (d->base->runs != d->new->runs)
		buf_printf(out, " The base is a sum of %u runs, the new profile of %u.\n", d->base->runs, d->new->runs);
	if (d->n_events > 1)
		buf_printf(out, " The table shows %s; -j shows all events.\n",
			   d->base->events[d->base_event[0]].name);
}

static int width_of(const struct profile_diff *d)
{
	struct buf b = { 0 };
	size_t n = 10;
	buf_grouped_i64(&b, d->base->events[d->base_event[0]].total);
	n = b.len > n ? b.len : n;
	b.len = 0;
	buf_grouped_i64(&b, d->new->events[d->new_event[0]].total);
	n = b.len > n ? b.len : n;
	buf_free(&b);
	return (int)n + 3;
}

void annotate_diff_text(const struct annotate *a, const struct profile_diff *d, struct buf *out)
{
	const struct table t = { a, d, out, width_of(d) };
	put_head(a, d, out);
	if (a->o->functions.n)
		put_wanted(&t);
	else if (!d->n_differ)
		buf_str(out, " Every function and every line has the same counts in both.\n");
	else if (a->o->by == BY_LINE)
		put_lines(&t);
	else
		put_functions(&t);
	if (d->n_differ && !a->o->functions.n)
		buf_printf(out, "\n %zu of %zu functions differ; the others have the same counts in both.\n", d->n_differ,
			   d->n_functions);
	put_notes(d, out);
}

/* ---- JSON: tare.annotate-diff/1 ---- */

static void side_json(struct json *j, const char *key, const struct tare_codeprofile *p)
{
	json_object(j, key);
	json_str(j, "command", p->command);
	json_u64(j, "runs", p->runs);
	json_bool(j, "complete", p->complete);
	json_array(j, "reasons");
	for (size_t i = 0; i < p->n_reasons; i++)
		json_str(j, NULL, p->reasons[i]);
	json_end(j);
	json_end(j);
}

static void change_json(struct json *j, const struct profile_diff *d, const int64_t *change)
{
	json_object(j, "change");
	for (size_t e = 0; e < d->n_events; e++)
		json_i64(j, d->base->events[d->base_event[e]].name, change[e]);
	json_end(j);
}

/* The counts of a side; null: the side lacks it. */
static void counts_json(struct json *j, const char *key, const struct tare_codeprofile *p, const uint32_t *events,
			size_t n, const int64_t *counts)
{
	if (!counts) {
		json_null(j, key);
		return;
	}
	json_object(j, key);
	for (size_t e = 0; e < n; e++)
		json_i64(j, p->events[events[e]].name, counts[events[e]]);
	json_end(j);
}

static void line_json(struct json *j, const struct profile_diff *d, const struct line_pair *l)
{
	const bool base = l->base != ANNOTATE_NONE, new = l->new != ANNOTATE_NONE;
	const struct tare_codeprofile *const p = new ? d->new : d->base;
	const struct tare_codeprofile_line *const at = &p->lines[new ? l->new : l->base];
	json_object(j, NULL);
	if (at->file != ANNOTATE_NONE)
		json_str(j, "file", p->files[at->file].path);
	if (base && at->file != ANNOTATE_NONE)
		json_u64(j, "base_line", d->base->lines[l->base].line);
	if (new && at->file != ANNOTATE_NONE)
		json_u64(j, "new_line", at->line);
	counts_json(j, "base", d->base, d->base_event, d->n_events, base ? d->base->lines[l->base].counts : NULL);
	counts_json(j, "new", d->new, d->new_event, d->n_events, new ? at->counts : NULL);
	change_json(j, d, l->change);
	json_end(j);
}

static void function_json(struct json *j, const struct profile_diff *d, const struct function_pair *f, bool all)
{
	const bool base = f->base != ANNOTATE_NONE, new = f->new != ANNOTATE_NONE;
	const struct tare_codeprofile *const p = new ? d->new : d->base;
	const struct tare_codeprofile_function *const at = &p->functions[new ? f->new : f->base];
	json_object(j, NULL);
	json_str(j, "function", at->name);
	if (*at->linkage)
		json_str(j, "linkage", at->linkage);
	if (base)
		json_str(j, "base_object", object_of(d->base, f->base));
	if (new)
		json_str(j, "new_object", object_of(d->new, f->new));
	counts_json(j, "base", d->base, d->base_event, d->n_events,
		    base ? d->base->functions[f->base].counts : NULL);
	counts_json(j, "new", d->new, d->new_event, d->n_events, new ? at->counts : NULL);
	change_json(j, d, f->change);
	json_array(j, "lines");
	for (size_t k = f->lines; k < f->lines + f->n_lines; k++)
		if (all || line_differs(d, &d->lines[k]))
			line_json(j, d, &d->lines[k]);
	json_end(j);
	json_end(j);
}

static void events_json(struct json *j, const struct profile_diff *d)
{
	json_array(j, "events");
	for (size_t e = 0; e < d->n_events; e++) {
		const struct tare_codeprofile_event *const x = &d->base->events[d->base_event[e]];
		const struct tare_codeprofile_event *const y = &d->new->events[d->new_event[e]];
		const bool whole = x->provenance == y->provenance;
		json_object(j, NULL);
		json_str(j, "name", x->name);
		json_str(j, "provenance", tare_provenance_name(whole ? x->provenance : TARE_PROV_INCOMPLETE));
		json_i64(j, "base", x->total);
		json_i64(j, "new", y->total);
		json_i64(j, "change", y->total - x->total);
		json_end(j);
	}
	json_end(j);
}

void annotate_diff_json(const struct profile_diff *d, const struct annotate_opts *o, struct buf *out)
{
	struct json j = { .out = out, .indent = true };
	const bool chosen = o->functions.n != 0;
	size_t shown = 0;
	json_object(&j, NULL);
	json_str(&j, "schema", "tare.annotate-diff/1");
	side_json(&j, "base", d->base);
	side_json(&j, "new", d->new);
	events_json(&j, d);
	json_u64(&j, "same_functions", d->n_functions - d->n_differ);
	json_array(&j, "functions");
	for (size_t i = 0; i < (chosen ? d->n_functions : d->n_differ) && (!o->top || shown < o->top); i++) {
		if (chosen && !wanted(d, o, &d->functions[i]))
			continue;
		function_json(&j, d, &d->functions[i], chosen);
		shown++;
	}
	json_end(&j);
	json_end(&j);
	buf_chr(out, '\n');
}

/* ---- the command ---- */

static int json_file(const struct profile_diff *d, const struct annotate_opts *o, const struct tare_output *out)
{
	struct buf text = { 0 };
	annotate_diff_json(d, o, &text);
	if (buf_failed(&text))
		abort();
	const int err = out->write(out->arg, text.data, text.len);
	buf_free(&text);
	return err;
}

bool annotate_diff_writes(int format)
{
	static const char *const known[] = { "json", "collapsed", "flamegraph" };
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(annotate_format_words[format], known[i]))
			return true;
	return false;
}

static bool write_file(const struct annotate_opts *o, const struct profile_diff *d, struct output *file)
{
	const char *const format = annotate_format_words[o->format];
	const struct tare_output out = { output_bytes, file };
	struct tare_why why = { 0 };
	int err;
	if (!strcmp(format, "collapsed"))
		err = annotate_diff_collapsed(d, &out, &why);
	else if (!strcmp(format, "flamegraph"))
		err = annotate_diff_flamegraph(d, &out, &why);
	else
		return json_file(d, o, &out) == 0;
	if (err && !file->failed)
		complain_why(&why);
	return !err;
}

static bool show(const struct annotate_opts *o, const struct profile_diff *d, struct output *to)
{
	struct buf text = { 0 };
	struct annotate a = { .o = o, .fd = to->fd, .is_terminal = isatty(to->fd), .width = SIZE_MAX };
	if (a.is_terminal)
		a.width = (size_t)term_width(to->fd);
	if (o->json)
		annotate_diff_json(d, o, &text);
	else
		annotate_diff_text(&a, d, &text);
	if (buf_failed(&text))
		abort();
	const bool ok = output_write(to, text.data, text.len);
	buf_free(&text);
	return ok;
}

static bool diff_to(const struct annotate_opts *o, const struct tare_codeprofile *base,
		    const struct tare_codeprofile *new, struct output *file, struct output *report)
{
	struct profile_diff d;
	struct tare_why why = { 0 };
	bool ok = profile_diff(&d, base, new, o, &why) == 0;
	if (!ok)
		complain_why(&why);
	else {
		ok = !o->output || write_file(o, &d, file);
		ok &= show(o, &d, report);
	}
	profile_diff_free(&d);
	return ok;
}

int annotate_diff(const struct annotate_opts *o, const char *base, const char *new)
{
	struct output file = { .fd = -1 }, report = { .fd = -1 };
	struct tare_codeprofile *x = NULL, *y = NULL;
	struct tare_why why = { 0 };
	bool ok = (!o->output || output_open(&file, o->output)) && output_open(&report, o->report ? o->report : "-");
	if (ok && (tare_codeprofile_read(base, &x, &why) < 0 || tare_codeprofile_read(new, &y, &why) < 0)) {
		complain_why(&why);
		ok = false;
	}
	if (ok)
		ok = diff_to(o, x, y, &file, &report);
	ok &= output_close(&report);
	ok &= file.fd < 0 || output_close(&file);
	tare_codeprofile_free(x);
	tare_codeprofile_free(y);
	return ok ? EXIT_GOOD : EXIT_BAD;
}
