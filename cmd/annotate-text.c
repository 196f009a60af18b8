/* tare annotate for people: a table with the largest rows first, and bars.
 *
 *	  instructions       %  ▌                     function
 *	     6,400,012   66.67  ██████████████████    fib              [prog]
 *
 * On a terminal no line is longer than it is wide: bars go first, then the object, then the events
 * behind the first; names are cut. Elsewhere names are whole. */
#include "annotate.h"

#include "quantity.h"
#include "term.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN 20u		/* rows without --top */
#define SHOWN_TASKS 20u
#define SHOWN_FUNCTIONS 10u	/* of --function */
enum { SHARE_WIDTH = 8, CALLS_WIDTH = 14, BAR = 16, NAME_LEAST = 16 };

/* What fits. */
struct columns {
	size_t events;			/* how many of them have a column */
	size_t width[64];		/* of each event's */
	size_t bar;			/* 0: none */
	size_t name;			/* SIZE_MAX: any */
	bool calls;			/* inclusive and calls too */
};

static size_t number_width(const struct tare_codeprofile *p, size_t e)
{
	struct buf b = { 0 };
	buf_grouped_i64(&b, p->events[e].total);
	const size_t n = b.len > strlen(p->events[e].name) ? b.len : strlen(p->events[e].name);
	buf_free(&b);
	return n + 2;
}

static void plan(const struct annotate *a, bool calls, struct columns *c)
{
	*c = (struct columns){ .bar = BAR, .name = SIZE_MAX, .calls = calls && a->p->has_calls };
	size_t used = 0;
	for (size_t e = 0; e < a->p->n_events && e < 64; e++) {
		c->width[e] = number_width(a->p, e);
		size_t more = c->width[e] + (e ? 0 : SHARE_WIDTH);
		if (!e && c->calls)
			more += c->width[0] + CALLS_WIDTH;
		if (e && a->width != SIZE_MAX && used + more + NAME_LEAST > a->width)
			break;
		used += more;
		c->events++;
	}
	if (a->width == SIZE_MAX)
		return;
	if (used + BAR + 4 + 2 * NAME_LEAST > a->width)
		c->bar = 0;
	used += c->bar ? c->bar + 2 : 0;
	c->name = used + 2 + 8 < a->width ? a->width - used - 2 : 8;
}

/* ---- cells ---- */

static void put_right(struct buf *out, const struct buf *cell, size_t width)
{
	for (size_t n = cell->len; n < width; n++)
		buf_chr(out, ' ');
	buf_add(out, cell->data, cell->len);
}

static void put_count(struct buf *out, int64_t v, size_t width)
{
	struct buf cell = { 0 };
	buf_grouped_i64(&cell, v);
	put_right(out, &cell, width);
	buf_free(&cell);
}

/* Eighths of a column where the locale has them. */
static void put_bar(struct buf *out, double share, size_t width)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	const bool fine = term_utf8();
	size_t n = share > 0 ? (size_t)(share * (double)width * 8 + 0.5) : 0;
	if (n > 8 * width)
		n = 8 * width;
	size_t used = n / 8;
	for (size_t i = 0; i < n / 8; i++)
		buf_str(out, fine ? "█" : "#");
	if (fine && n % 8) {
		buf_str(out, eighths[n % 8]);
		used++;
	}
	while (used++ < width)
		buf_chr(out, ' ');
}

/* As many characters as fit into `room` columns; the end of a name matters less than its beginning. */
void annotate_cut(struct buf *out, const char *text, size_t room)
{
	const size_t len = strlen(text);
	if (display_width(text, len) <= room) {
		buf_add(out, text, len);
		return;
	}
	size_t at = 0, used = 0;
	while (at < len) {
		size_t step = 1;
		while (at + step < len && ((unsigned char)text[at + step] & 0xc0) == 0x80)
			step++;
		const size_t w = display_width(text + at, step);
		if (used + w + (term_utf8() ? 1 : 2) > room)
			break;
		used += w;
		at += step;
	}
	buf_add(out, text, at);
	buf_str(out, room < 2 ? "" : term_utf8() ? "…" : "..");
}

/* Of a path the end matters. */
static void put_cut_start(struct buf *out, const char *text, size_t room)
{
	const size_t len = strlen(text);
	const size_t columns = display_width(text, len);
	if (columns <= room) {
		buf_add(out, text, len);
		return;
	}
	const size_t mark = term_utf8() ? 1 : 2;
	size_t at = 0, left = columns;
	while (at < len && left + mark > room) {
		size_t step = 1;
		while (at + step < len && ((unsigned char)text[at + step] & 0xc0) == 0x80)
			step++;
		left -= display_width(text + at, step);
		at += step;
	}
	buf_str(out, term_utf8() ? "…" : "..");
	buf_add(out, text + at, len - at);
}

static const char *share_style(const struct annotate *a, double share)
{
	return share >= 20 ? term_style(a->fd, STYLE_RED) : share >= 5 ? term_style(a->fd, STYLE_YELLOW) : "";
}

static const char *plain(const struct annotate *a)
{
	return term_style(a->fd, STYLE_NONE);
}

/* ---- rows ---- */

struct shown_row {
	const int64_t *counts, *inclusive;
	uint64_t calls;
	const char *name, *beside;
	bool is_path;
	double bar;			/* 0 … 1; negative: no bar */
};

static void put_row(const struct annotate *a, const struct columns *c, const struct shown_row *r, struct buf *out)
{
	const int64_t *const first = c->calls && r->inclusive ? r->inclusive : r->counts;
	const double share = annotate_share(first[0], a->p->events[0].total);
	const char *const style = share_style(a, share);
	struct buf cell = { 0 };
	if (c->calls)
		put_count(out, first[0], c->width[0]);
	else
		put_count(out, r->counts[0], c->width[0]);
	buf_printf(&cell, "%.2f", share);
	buf_str(out, style);
	put_right(out, &cell, SHARE_WIDTH);
	buf_str(out, *style ? plain(a) : "");
	buf_free(&cell);
	if (c->calls) {
		put_count(out, r->counts[0], c->width[0]);
		put_count(out, (int64_t)r->calls, CALLS_WIDTH);
	}
	for (size_t e = 1; e < c->events; e++)
		put_count(out, r->counts[e], c->width[e]);
	if (c->bar) {
		buf_str(out, "  ");
		put_bar(out, r->bar < 0 ? 0 : r->bar, c->bar);
	}
	buf_str(out, "  ");
	/* The name has two thirds of the room at least; what is beside it the rest. */
	const size_t name = display_width(r->name, strlen(r->name)), beside = strlen(r->beside);
	size_t room = c->name;
	const bool both = beside && (room == SIZE_MAX || name + beside + 3 <= room);
	if (r->is_path)
		put_cut_start(out, r->name, room);
	else
		annotate_cut(out, r->name, room);
	if (both)
		buf_printf(out, " %s[%s]%s", term_style(a->fd, STYLE_DIM), r->beside, plain(a));
	buf_chr(out, '\n');
}

static void put_title(const struct annotate *a, const struct columns *c, const char *what, struct buf *out)
{
	struct buf cell = { 0 };
	buf_str(out, term_style(a->fd, STYLE_BOLD));
	buf_str(&cell, c->calls ? "inclusive" : a->p->events[0].name);
	put_right(out, &cell, c->width[0]);
	cell.len = 0;
	buf_chr(&cell, '%');
	put_right(out, &cell, SHARE_WIDTH);
	if (c->calls) {
		cell.len = 0;
		buf_str(&cell, "self");
		put_right(out, &cell, c->width[0]);
		cell.len = 0;
		buf_str(&cell, "calls");
		put_right(out, &cell, CALLS_WIDTH);
	}
	for (size_t e = 1; e < c->events; e++) {
		cell.len = 0;
		buf_str(&cell, a->p->events[e].name);
		put_right(out, &cell, c->width[e]);
	}
	buf_free(&cell);
	for (size_t i = 0; c->bar && i < c->bar + 2; i++)
		buf_chr(out, ' ');
	buf_printf(out, "  %s%s\n", what, plain(a));
}

/* The rows that are not shown, as one. */
static void put_others(const struct annotate *a, const struct columns *c, const struct annotate_rows *rows,
		       size_t shown, struct buf *out)
{
	if (shown >= rows->n)
		return;
	int64_t *const sum = calloc(a->p->n_events, sizeof(*sum));
	if (!sum)
		abort();
	for (size_t i = shown; i < rows->n; i++)
		for (size_t e = 0; e < a->p->n_events; e++)
			sum[e] += rows->rows[i].counts[e];
	struct buf name = { 0 };
	buf_printf(&name, "%zu others", rows->n - shown);
	struct columns own = *c;
	if (c->calls) {		/* inclusive values do not add up */
		struct buf blank = { 0 };
		put_right(out, &blank, c->width[0] + SHARE_WIDTH);
		put_count(out, sum[0], c->width[0]);
		put_right(out, &blank, CALLS_WIDTH);
		for (size_t e = 1; e < c->events; e++)
			put_count(out, sum[e], c->width[e]);
		put_right(out, &blank, c->bar ? c->bar + 2 : 0);
		buf_printf(out, "  %s\n", name.data);
	} else {
		put_row(a, &own, &(struct shown_row){ .counts = sum, .name = name.data, .beside = "", .bar = -1 },
			out);
	}
	buf_free(&name);
	free(sum);
}

static const char *const titles[] = { "function", "line", "instruction", "object", "file" };

static void put_table(const struct annotate *a, uint32_t task, struct buf *out)
{
	const enum annotate_by by = (enum annotate_by)a->o->by;
	struct annotate_rows rows;
	struct columns c;
	struct buf name = { 0 }, beside = { 0 };
	annotate_rows(a->p, by, task, &rows);
	plan(a, by == BY_FUNCTION && task == ALL_TASKS, &c);
	put_title(a, &c, titles[by], out);
	const size_t most = a->o->top ? a->o->top : SHOWN;
	const size_t shown = rows.n < most ? rows.n : most;
	for (size_t i = 0; i < shown; i++) {
		const struct annotate_row *const r = &rows.rows[i];
		const int64_t *const v = c.calls ? r->inclusive : r->counts;
		const int64_t largest = c.calls ? rows.rows[0].inclusive[0] : rows.rows[0].counts[0];
		annotate_row_name(a->p, by, r, &name, &beside);
		put_row(a, &c, &(struct shown_row){
			.counts = r->counts, .inclusive = r->inclusive, .calls = r->calls, .name = name.data,
			.beside = beside.data, .is_path = by != BY_FUNCTION && by != BY_INSN,
			.bar = largest > 0 ? (double)v[0] / (double)largest : -1 }, out);
	}
	put_others(a, &c, &rows, shown, out);
	if (c.events < a->p->n_events)
		buf_printf(out, " %zu more events: -j, or a wider window\n", a->p->n_events - c.events);
	annotate_rows_free(&rows);
	buf_free(&name);
	buf_free(&beside);
}

/* ---- the whole ---- */

static void put_totals(const struct annotate *a, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	for (size_t e = 0; e < p->n_events; e++) {
		buf_str(out, " ");
		if (p->events[e].provenance == TARE_PROV_INCOMPLETE)
			buf_str(out, "at least ");
		buf_grouped_i64(out, p->events[e].total);
		buf_printf(out, " %s, %s\n", p->events[e].name, tare_provenance_name(p->events[e].provenance));
	}
}

static void put_head(const struct annotate *a, struct buf *out)
{
	buf_str(out, "\n Profile of '");
	const size_t start = out->len;
	if (a->width == SIZE_MAX)
		buf_str(out, a->p->command);
	else
		annotate_cut(out, a->p->command, a->width > 24 ? a->width - 16 : 8);
	if (out->data)
		text_printable(out->data + start, out->len - start);
	buf_str(out, "'");
	for (size_t i = 0; i < a->o->in.n; i++)
		buf_printf(out, "%s %s", i ? " or" : ", in", a->o->in.items[i]);
	if (a->p->runs > 1)
		buf_printf(out, ", %u runs added up", a->p->runs);
	if (a->part)
		buf_printf(out, ", parts of the run (counting went on %llu%s and off %llu%s)",
			   (unsigned long long)a->part->on, term_utf8() ? "×" : "x",
			   (unsigned long long)a->part->off, term_utf8() ? "×" : "x");
	buf_str(out, ":\n\n");
	put_totals(a, out);
	buf_chr(out, '\n');
}

/* Did an object before say the same? */
static bool is_said(const struct tare_codeprofile *p, size_t object)
{
	for (size_t i = 0; i < object; i++)
		if (p->objects[i].counts[0] && !strcmp(p->objects[i].names, p->objects[object].names))
			return true;
	return false;
}

static void put_note(const struct annotate *a, const char *text, struct buf *out)
{
	const size_t start = out->len;
	buf_printf(out, " %s", text);
	annotate_break_line(a, out, start, 3);
	buf_chr(out, '\n');
}

static void put_notes(const struct annotate *a, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	size_t unnamed = 0;
	for (size_t i = 0; i < p->n_reasons; i++)
		put_note(a, p->reasons[i], out);
	for (size_t i = 0; i < p->n_objects; i++)
		if (*p->objects[i].names && p->objects[i].counts[0] && !is_said(p, i) && unnamed++ < 5)
			put_note(a, p->objects[i].names, out);
	if ((a->o->calls || a->o->tree) && !p->has_calls)
		put_note(a, "calls are not known: a process writes them at its end, and none came to its end", out);
	if (unnamed > 5)
		buf_printf(out, " %zu more objects have no names\n", unnamed - 5);
}

struct task_order {
	const struct tare_codeprofile *p;
};

static int by_count(const void *a, const void *b, void *arg)
{
	const struct tare_codeprofile *const p = arg;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int64_t u = p->tasks[x].counts[0], v = p->tasks[y].counts[0];
	return u != v ? (u < v ? 1 : -1) : x < y ? -1 : 1;
}

static void put_task_head(const struct annotate *a, const struct tare_codeprofile_task *t, struct buf *out)
{
	struct buf line = { 0 };
	if (!t->pid)
		buf_printf(&line, "%s", t->command);
	else if (t->tid)
		buf_printf(&line, "thread %d of process %d (%s)", (int)t->tid, (int)t->pid, t->command);
	else
		buf_printf(&line, "process %d (%s)", (int)t->pid, t->command);
	if (line.data)
		text_printable(line.data, line.len);
	buf_chr(out, '\n');
	const size_t start = out->len;
	buf_printf(out, " %s%s%s: %s", term_style(a->fd, STYLE_BOLD), line.data, plain(a),
		   t->incomplete ? "at least " : "");
	buf_grouped_i64(out, t->counts[0]);
	buf_printf(out, " %s, %.2f %%", a->p->events[0].name,
		   annotate_share(t->counts[0], a->p->events[0].total));
	annotate_break_line(a, out, start, 3);
	buf_str(out, "\n\n");
	buf_free(&line);
}

static void put_tasks(const struct annotate *a, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	uint32_t *const order = calloc(p->n_tasks + 1, sizeof(*order));
	if (!order)
		abort();
	for (uint32_t i = 0; i < p->n_tasks; i++)
		order[i] = i;
	qsort_r(order, p->n_tasks, sizeof(*order), by_count, (void *)p);
	const size_t shown = p->n_tasks < SHOWN_TASKS ? p->n_tasks : SHOWN_TASKS;
	for (size_t i = 0; i < shown; i++) {
		put_task_head(a, &p->tasks[order[i]], out);
		put_table(a, order[i], out);
	}
	int64_t rest = 0;
	for (size_t i = shown; i < p->n_tasks; i++)
		rest += p->tasks[order[i]].counts[0];
	if (shown < p->n_tasks) {
		buf_printf(out, "\n %zu more, which -j lists: ", p->n_tasks - shown);
		buf_grouped_i64(out, rest);
		buf_printf(out, " %s\n", p->events[0].name);
	}
	free(order);
}

static void put_functions(const struct annotate *a, struct buf *out)
{
	size_t n;
	uint32_t *const list = annotate_wanted(a, &n);
	const size_t most = a->o->top ? a->o->top : SHOWN_FUNCTIONS;
	for (size_t i = 0; i < n && i < most; i++)
		annotate_source(a, list[i], out);
	if (n > most)
		buf_printf(out, "\n %zu more functions match: --top N shows N of them\n", n - most);
	if (!n)
		buf_str(out, " No function that ran has such a name.\n");
	free(list);
}

void annotate_text(const struct annotate *a, struct buf *out)
{
	put_head(a, out);
	const size_t start = out->len;
	if (a->o->functions.n)
		put_functions(a, out);
	else if (a->o->per_process || a->o->per_thread)
		put_tasks(a, out);
	else if (a->o->tree)
		annotate_tree_text(a, out);
	else
		put_table(a, ALL_TASKS, out);
	if (a->o->syscalls)
		annotate_syscalls(a, out);
	if (a->o->allocations)
		annotate_allocations(a, out);
	annotate_cut_lines(a, out, start);
	buf_chr(out, '\n');
	put_notes(a, out);
}
