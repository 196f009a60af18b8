/* A summary as a table, in the counter's unit. */
#include "summarize-show.h"

#include "grid.h"
#include "quantity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The columns that only rustc's profiles fill. */
struct shown {
	bool hits, blocked, load, hashing;
};

static struct shown columns_of(const struct tare_summary *s)
{
	struct shown c = { 0 };
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct tare_summary_row *const r = &s->rows[i];
		c.hits |= r->hits > 0;
		c.blocked |= r->blocked > 0;
		c.load |= r->load > 0;
		c.hashing |= r->hashing > 0;
	}
	return c;
}

double self_percent(int64_t self, uint64_t total)
{
	return (double)self / (double)total * 100.0;
}

static uint64_t key_of(const struct tare_summary_row *r, enum summarize_sort key)
{
	switch (key) {
	case SUMMARIZE_BY_TIME: return r->time;
	case SUMMARIZE_BY_COUNT: return r->count;
	case SUMMARIZE_BY_HITS: return r->hits;
	default: return 0;
	}
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct tare_summary_row *const x = *(const struct tare_summary_row *const *)a;
	const struct tare_summary_row *const y = *(const struct tare_summary_row *const *)b;
	const enum summarize_sort key = *(const enum summarize_sort *)arg;
	const uint64_t kx = key_of(x, key), ky = key_of(y, key);
	if (kx != ky)
		return kx > ky ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* As asked; NULL: out of memory. */
const struct tare_summary_row **summarize_sorted(const struct tare_summary *s,
						 enum summarize_sort key)
{
	const struct tare_summary_row **const rows = calloc(s->n_rows + 1, sizeof(*rows));
	for (size_t i = 0; rows && i < s->n_rows; i++)
		rows[i] = &s->rows[i];
	if (rows && key != SUMMARIZE_BY_SELF)	/* they come so */
		qsort_r(rows, s->n_rows, sizeof(*rows), compare_rows, &key);
	return rows;
}

bool summarize_shows(const struct tare_summary *s, const struct tare_summary_row *r,
		     const struct summarize_show *o)
{
	return o->percent_above == 0 || self_percent(r->self, s->total) >= o->percent_above;
}

static void text_cell(struct grid *g, const char *text)
{
	grid_cell(g, text, strlen(text));
}

static void value_cell(struct grid *g, const struct tare_profile_info *i, int64_t v)
{
	quantity_add(&g->text, i, v);
	grid_done(g);
}

static void count_cell(struct grid *g, uint64_t n)
{
	buf_grouped(&g->text, n);
	grid_done(g);
}

static void own_row(struct grid *g, const struct tare_summary *s, const struct shown *c,
		    const struct tare_summary_row *r)
{
	text_cell(g, r->name);
	value_cell(g, s->info, r->self);
	if (s->total)
		percent_add(&g->text, self_percent(r->self, s->total));
	else
		buf_str(&g->text, "-");
	grid_done(g);
	value_cell(g, s->info, (int64_t)r->time);
	count_cell(g, r->count);
	if (c->hits)
		count_cell(g, r->hits);
	if (c->blocked)
		value_cell(g, s->info, (int64_t)r->blocked);
	if (c->load)
		value_cell(g, s->info, r->load);
	if (c->hashing)
		value_cell(g, s->info, r->hashing);
}

static void own_title(struct grid *g, const struct shown *c)
{
	text_cell(g, "item");
	text_cell(g, "self");
	text_cell(g, "of total");
	text_cell(g, "total");
	text_cell(g, "count");
	if (c->hits)
		text_cell(g, "cache hits");
	if (c->blocked)
		text_cell(g, "blocked");
	if (c->load)
		text_cell(g, "loading");
	if (c->hashing)
		text_cell(g, "hashing");
	g->columns = g->n;
}

static void own_artifacts(const struct tare_summary *s, struct buf *out)
{
	struct grid g = { .columns = 2 };
	if (!s->n_artifacts)
		return;
	text_cell(&g, "artifact");
	text_cell(&g, "size");
	for (size_t i = 0; i < s->n_artifacts; i++) {
		text_cell(&g, s->artifacts[i].name);
		count_cell(&g, s->artifacts[i].value);
	}
	buf_chr(out, '\n');
	grid_plain(&g, out);
	grid_free(&g);
}

static void own_head(const struct tare_summary *s, struct buf *out)
{
	const struct tare_profile_info *const i = s->info;
	buf_printf(out, "%s: %s", i->path, *i->counter ? i->counter : "no counter named");
	if (*i->unit && !i->is_time)
		buf_printf(out, " in %s", i->unit);
	if (*i->provenance)
		buf_printf(out, " (%s)", i->provenance);
	buf_str(out, ", ");
	buf_grouped(out, i->n_events);
	buf_printf(out, " events, %zu thread%s\n\n", s->n_threads, s->n_threads == 1 ? "" : "s");
}

#define AHEAD 8		/* rows: there may be millions, and their names lie anywhere */

static void put_text(const struct tare_summary *s, const struct tare_summary_row **rows,
		     const struct summarize_show *o, struct buf *out)
{
	const struct shown c = columns_of(s);
	struct grid g = { 0 };
	size_t shown = 0;
	double share = 0;
	own_head(s, out);
	own_title(&g, &c);
	for (size_t i = 0; i < s->n_rows && (!o->top || shown < o->top); i++) {
		if (i + AHEAD < s->n_rows)
			__builtin_prefetch(rows[i + AHEAD]->name);
		if (!summarize_shows(s, rows[i], o))
			continue;
		own_row(&g, s, &c, rows[i]);
		share += self_percent(rows[i]->self, s->total);
		shown++;
	}
	grid_plain(&g, out);
	grid_free(&g);
	buf_str(out, "\ntotal ");
	quantity_add(out, s->info, (int64_t)s->total);
	if (!s->info->is_time && *s->info->unit)
		buf_printf(out, " %s", s->info->unit);
	if (shown < s->n_rows && s->total)
		buf_printf(out, "; %zu of %zu items shown, %.2f%% of it", shown, s->n_rows, share);
	buf_chr(out, '\n');
	if (s->info->clamped)
		buf_printf(out, "%" PRIu64 " counter reads ran backwards and were clamped\n",
			   s->info->clamped);
	if (s->info->dropped)
		buf_printf(out, "%" PRIu64 " events were dropped while recording\n",
			   s->info->dropped);
	if (s->info->pages) {
		buf_printf(out, "%" PRIu64 " page%s written while recording: ", s->info->pages,
			   s->info->pages == 1 ? " was" : "s were");
		quantity_add(out, s->info, (int64_t)s->info->page_cost);
		if (s->info->is_time)
			buf_str(out, ", in the table as \"page written\"\n");
		else
			buf_printf(out, "%s%s, in no interval\n", *s->info->unit ? " " : "",
				   s->info->unit);
	}
	own_artifacts(s, out);
}

void summarize_text(const struct tare_summary *s, const struct summarize_show *o, struct buf *out)
{
	const struct tare_summary_row **const rows = summarize_sorted(s, o->sort);
	if (rows)
		put_text(s, rows, o, out);
	else
		out->failed = true;
	free(rows);
}
