/* The rows of the tables of tare annotate. */
#include "annotate.h"
#include "complain.h"
#include "function-rules.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

const char *const annotate_by_words[] = { "function", "line", "insn", "object", "file", NULL };

const char *annotate_base(const char *path)
{
	const char *const slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

double annotate_share(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- order ---- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_size(const void *a, const void *b, void *arg)
{
	const struct annotate_row *const x = a, *const y = b;
	const size_t n = *(const size_t *)arg;
	for (size_t e = 0; e < n; e++) {
		const int64_t u = x->inclusive ? x->inclusive[e] : x->counts[e];
		const int64_t v = y->inclusive ? y->inclusive[e] : y->counts[e];
		if (u != v)
			return u < v ? 1 : -1;
		if (x->counts[e] != y->counts[e])
			return x->counts[e] < y->counts[e] ? 1 : -1;
	}
	if (x->function != y->function)
		return compare_u64(x->function, y->function);
	if (x->file != y->file)
		return compare_u64(x->file, y->file);
	return x->line != y->line ? compare_u64(x->line, y->line) : compare_u64(x->insn, y->insn);
}

/* ---- the kinds of rows ---- */

static const struct annotate_row no_place = { ANNOTATE_NONE, ANNOTATE_NONE, ANNOTATE_NONE, 0, ANNOTATE_NONE,
					      NULL, NULL, 0 };

static void *zeros(size_t n, size_t size)
{
	void *const p = calloc(n + 1, size);
	if (!p)
		abort();
	return p;
}

static void add(int64_t *to, const int64_t *from, size_t n)
{
	for (size_t e = 0; e < n; e++)
		to[e] += from[e];
}

static void function_rows(const struct tare_codeprofile *p, struct annotate_rows *out)
{
	out->rows = zeros(p->n_functions, sizeof(*out->rows));
	for (uint32_t i = 0; i < p->n_functions; i++) {
		struct annotate_row r = no_place;
		r.function = i;
		r.object = p->functions[i].object;
		r.counts = p->functions[i].counts;
		r.inclusive = p->functions[i].inclusive;
		r.calls = p->functions[i].calls;
		out->rows[out->n++] = r;
	}
}

static void insn_rows(const struct tare_codeprofile *p, struct annotate_rows *out)
{
	out->rows = zeros(p->n_insns, sizeof(*out->rows));
	for (uint32_t i = 0; i < p->n_insns; i++) {
		struct annotate_row r = no_place;
		r.insn = i;
		r.function = p->insns[i].function;
		r.object = p->functions[r.function].object;
		r.file = p->insns[i].file;
		r.line = p->insns[i].line;
		r.counts = p->insns[i].counts;
		out->rows[out->n++] = r;
	}
}

static int by_line(const void *a, const void *b)
{
	const struct annotate_row *const x = a, *const y = b;
	if (x->file != y->file)
		return compare_u64(x->file, y->file);
	return x->line != y->line ? compare_u64(x->line, y->line) : compare_u64(x->function, y->function);
}

/* A line can be in several functions, where it was inlined. Instructions without a line are a row of
 * their function. */
static void line_rows(const struct tare_codeprofile *p, bool files, struct annotate_rows *out)
{
	out->rows = zeros(p->n_lines, sizeof(*out->rows));
	out->sums = zeros(p->n_lines * p->n_events, sizeof(*out->sums));
	for (uint32_t i = 0; i < p->n_lines; i++) {
		const struct tare_codeprofile_line *const l = &p->lines[i];
		out->rows[i] = no_place;
		out->rows[i].file = l->file;
		out->rows[i].line = files ? 0 : l->line;
		out->rows[i].function = files && l->file != ANNOTATE_NONE ? ANNOTATE_NONE : l->function;
		out->rows[i].object = p->functions[l->function].object;
		out->rows[i].counts = l->counts;
	}
	qsort(out->rows, p->n_lines, sizeof(*out->rows), by_line);
	for (size_t i = 0; i < p->n_lines; i++) {
		const struct annotate_row *const r = &out->rows[i];
		const struct annotate_row *const last = out->n ? &out->rows[out->n - 1] : NULL;
		const bool same = last && last->file == r->file && last->line == r->line &&
				  (r->file != ANNOTATE_NONE ||
				   (files ? last->object == r->object : last->function == r->function));
		int64_t *const sum = out->sums + (out->n - same) * p->n_events;
		add(sum, r->counts, p->n_events);
		if (!same) {
			out->rows[out->n] = *r;
			out->rows[out->n++].counts = sum;
		}
	}
}

static void object_rows(const struct tare_codeprofile *p, struct annotate_rows *out)
{
	out->rows = zeros(p->n_objects, sizeof(*out->rows));
	for (uint32_t i = 0; i < p->n_objects; i++) {
		out->rows[out->n] = no_place;
		out->rows[out->n].object = i;
		out->rows[out->n++].counts = p->objects[i].counts;
	}
}

static void share_rows(const struct tare_codeprofile *p, enum annotate_by by, uint32_t task,
		       struct annotate_rows *out)
{
	const size_t most = by == BY_OBJECT ? p->n_objects : p->n_functions;
	out->rows = zeros(most, sizeof(*out->rows));
	out->sums = zeros(most * p->n_events, sizeof(*out->sums));
	uint32_t *const row_of = zeros(most, sizeof(*row_of));	/* 1 + the row */
	for (size_t i = 0; i < p->n_shares; i++) {
		const struct tare_codeprofile_share *const s = &p->shares[i];
		const uint32_t object = p->functions[s->function].object;
		const uint32_t key = by == BY_OBJECT ? object : s->function;
		if (s->task != task)
			continue;
		if (!row_of[key]) {
			struct annotate_row r = no_place;
			r.object = object;
			r.function = by == BY_OBJECT ? ANNOTATE_NONE : s->function;
			r.counts = out->sums + out->n * p->n_events;
			out->rows[out->n++] = r;
			row_of[key] = (uint32_t)out->n;
		}
		add(out->sums + (row_of[key] - 1) * p->n_events, s->counts, p->n_events);
	}
	free(row_of);
}

static void drop_empty(const struct tare_codeprofile *p, struct annotate_rows *out)
{
	size_t n = 0;
	for (size_t i = 0; i < out->n; i++) {
		bool any = out->rows[i].calls != 0;
		for (size_t e = 0; e < p->n_events; e++)
			any |= out->rows[i].counts[e] || (out->rows[i].inclusive && out->rows[i].inclusive[e]);
		if (any)
			out->rows[n++] = out->rows[i];
	}
	out->n = n;
}

void annotate_rows(const struct tare_codeprofile *p, enum annotate_by by, uint32_t task,
		   struct annotate_rows *out)
{
	*out = (struct annotate_rows){ 0 };
	if (task != ALL_TASKS)
		share_rows(p, by, task, out);
	else if (by == BY_FUNCTION)
		function_rows(p, out);
	else if (by == BY_INSN)
		insn_rows(p, out);
	else if (by == BY_OBJECT)
		object_rows(p, out);
	else
		line_rows(p, by == BY_FILE, out);
	drop_empty(p, out);
	size_t n = p->n_events;
	if (out->n)
		qsort_r(out->rows, out->n, sizeof(*out->rows), by_size, &n);
}

void annotate_rows_free(struct annotate_rows *r)
{
	free(r->rows);
	free(r->sums);
}

/* ---- names ---- */

static void put_place(const struct tare_codeprofile *p, uint32_t insn, struct buf *out)
{
	const struct tare_codeprofile_insn *const i = &p->insns[insn];
	buf_printf(out, "%s+0x%llx", annotate_base(p->objects[p->functions[i->function].object].path),
		   (unsigned long long)i->offset);
}

void annotate_row_name(const struct tare_codeprofile *p, enum annotate_by by, const struct annotate_row *r,
		       struct buf *name, struct buf *beside)
{
	const char *const object = r->object == ANNOTATE_NONE ? "" : p->objects[r->object].path;
	const char *const function = r->function == ANNOTATE_NONE ? "" : p->functions[r->function].name;
	name->len = beside->len = 0;
	buf_str(name, "");
	buf_str(beside, "");
	switch (by) {
	case BY_FUNCTION:
		buf_str(name, function);
		buf_str(beside, annotate_base(object));
		break;
	case BY_OBJECT:
		buf_str(name, object);
		break;
	case BY_INSN:
		put_place(p, r->insn, name);
		buf_str(beside, function);
		break;
	default:
		if (r->file == ANNOTATE_NONE) {
			buf_printf(name, "(no line) %s", by == BY_FILE ? annotate_base(object) : function);
			break;
		}
		buf_str(name, p->files[r->file].path);
		if (by == BY_LINE)
			buf_printf(name, ":%u", r->line);
		buf_str(beside, by == BY_LINE ? function : "");
	}
	if (name->data)
		text_printable(name->data, name->len);
	if (beside->data)
		text_printable(beside->data, beside->len);
}

/* ---- --function ---- */

/* In a list of parameters a * behind a type is part of it: "f(char*)" does not match "f(char**)"; "f(*)",
 * "f(int, *)" and "f(std::*" are wildcards. */
static bool is_pointer(const char *pattern, size_t at)
{
	const char after = pattern[at + 1];
	return memchr(pattern, '(', at) && !strchr("(, :", pattern[at - 1]) && after && strchr("),*& >", after);
}

static bool wildcard_matches(const char *pattern, const char *name)
{
	struct buf escaped = { 0 };
	for (size_t i = 0; pattern[i]; i++) {
		if (pattern[i] == '*' && is_pointer(pattern, i))
			buf_chr(&escaped, '\\');
		buf_chr(&escaped, pattern[i]);
	}
	const bool matches = !buf_failed(&escaped) && escaped.data && fnmatch(escaped.data, name, 0) == 0;
	buf_free(&escaped);
	return matches;
}

/* "f" matches "f", and "f(int)" and "f<int>(int)" too. */
bool annotate_name_matches(const char *pattern, const char *name)
{
	if (!strcmp(pattern, name) || (strpbrk(pattern, "*?[") && wildcard_matches(pattern, name)))
		return true;
	const size_t n = strlen(pattern);
	return !strncmp(pattern, name, n) && (name[n] == '(' || name[n] == '<' || name[n] == '@');
}

bool annotate_matches(const struct opt_list *patterns, const struct tare_codeprofile_function *f)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (annotate_name_matches(patterns->items[i], f->name) ||
		    annotate_name_matches(patterns->items[i], f->linkage))
			return true;
	return false;
}

static bool has_function(const struct tare_codeprofile *p, const char *pattern)
{
	const struct opt_list one = { .n = 1, .items = &pattern };
	for (size_t i = 0; i < p->n_functions; i++)
		if (annotate_matches(&one, &p->functions[i]))
			return true;
	return false;
}

bool annotate_in_found(const struct opt_list *in, const struct tare_codeprofile *p)
{
	bool all = true;
	for (size_t i = 0; i < in->n; i++) {
		struct function_rule rule = { .pattern = in->items[i] };
		struct buf near = { 0 };
		if (has_function(p, in->items[i]))
			continue;
		all = false;
		for (size_t k = 0; k < p->n_functions; k++)
			function_rule_consider(&rule, p->functions[k].name);
		function_rule_nearest(&rule, &near);
		complain("--in %s: no function that ran has this name%s. It was not called, is inlined, or has no symbol; "
			 "tare annotate --calls --top 1000 -- COMMAND lists those that ran", in->items[i],
			 buf_failed(&near) ? "" : near.data);
		buf_free(&near);
	}
	return all;
}

bool annotate_wants(const struct annotate_opts *o, const struct tare_codeprofile_function *f)
{
	return annotate_matches(&o->functions, f);
}

uint32_t *annotate_wanted(const struct annotate *a, size_t *n)
{
	struct annotate_rows rows;
	annotate_rows(a->p, BY_FUNCTION, ALL_TASKS, &rows);
	uint32_t *const list = zeros(rows.n, sizeof(*list));
	*n = 0;
	for (size_t i = 0; i < rows.n; i++)
		if (annotate_wants(a->o, &a->p->functions[rows.rows[i].function]))
			list[(*n)++] = rows.rows[i].function;
	annotate_rows_free(&rows);
	return list;
}
