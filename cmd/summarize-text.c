/* A summary as a table, in the counter's unit. */
#include "summarize-show.h"

#include "grid.h"
#include "profiles.h"
#include "quantity.h"
#include "sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The columns that only rustc's profiles fill. */
struct shown {
	bool hits, blocked, load, hashing;
};

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

static void text_cell(struct long_grid *g, const char *text)
{
	long_grid_text(g, text, strlen(text));
}

static void value_cell(struct long_grid *g, const struct tare_profile_info *i, int64_t v)
{
	struct long_number n;
	long_grid_number(g, &n, quantity_before(number_begin(&n), i, v));
}

static void count_cell(struct long_grid *g, uint64_t n)
{
	struct long_number number;
	long_grid_number(g, &number, u64_grouped(number_begin(&number), n));
}

static void share_cell(struct long_grid *g, int64_t self, uint64_t total)
{
	struct long_number n;
	const double percent = total ? self_percent(self, total) : 0;
	if (!total) {
		text_cell(g, "-");
	} else if (percent >= 0 && percent < 1e22) {
		long_grid_number(g, &n, percent_before(number_begin(&n), percent));
	} else {
		struct buf b = { 0 };
		percent_add(&b, percent);
		long_grid_text(g, b.data ? b.data : "", b.len);
		buf_free(&b);
	}
}

static void own_row(struct long_grid *g, const struct tare_summary *s, const struct shown *c,
		    const struct tare_summary_row *r)
{
	long_grid_text(g, r->name, r->name_len);
	value_cell(g, s->info, r->self);
	share_cell(g, r->self, s->total);
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

static void own_title(struct long_grid *g, const struct shown *c)
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
}

static void own_artifacts(const struct tare_summary *s, struct buf *out)
{
	struct long_grid g = { .columns = 2 };
	if (!s->n_artifacts)
		return;
	buf_chr(out, '\n');
	for (int pass = 0; pass < 2; pass++) {
		g.out = pass ? out : NULL;
		text_cell(&g, "artifact");
		text_cell(&g, "size");
		for (size_t i = 0; i < s->n_artifacts; i++) {
			text_cell(&g, s->artifacts[i].name);
			count_cell(&g, s->artifacts[i].value);
		}
	}
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
	buf_printf(out, " event%s, %zu thread%s\n\n", i->n_events == 1 ? "" : "s", s->n_threads,
		   s->n_threads == 1 ? "" : "s");
}

/* A table under way. */
struct listing {
	const struct tare_summary *s;
	const struct summarize_show *o;
	const struct tare_summary_row **rows;
	struct shown columns;
	struct buf *out;
	int fd;
	size_t shown;			/* rows */
	double share;			/* of them in the total */
};

#define AHEAD 24			/* rows: there may be millions, and their names lie anywhere */
#define PIECE_BYTES (64u << 10)	/* is written at once */

/* Measures the rows, or writes them. */
static int put_rows(struct listing *l, struct long_grid *g, struct tare_why *why)
{
	const struct tare_summary *const s = l->s;
	int err = 0;
	l->shown = 0;
	l->share = 0;
	own_title(g, &l->columns);
	for (size_t i = 0; err == 0 && i < s->n_rows && (!l->o->top || l->shown < l->o->top); i++) {
		if (i + AHEAD < s->n_rows)
			__builtin_prefetch(l->rows[i + AHEAD]->name);
		if (!summarize_shows(s, l->rows[i], l->o))
			continue;
		own_row(g, s, &l->columns, l->rows[i]);
		l->share += self_percent(l->rows[i]->self, s->total);
		l->shown++;
		if (l->out->len > PIECE_BYTES) {
			err = text_write(l->out, l->fd, why);
			l->out->len = 0;
		}
	}
	return err;
}

static void widen(int64_t v, int64_t *least, int64_t *most)
{
	*least = v < *least ? v : *least;
	*most = v > *most ? v : *most;
}

/* An unsigned count as a signed number, in the same order; and back. */
static int64_t in_order(uint64_t v)
{
	return (int64_t)(v ^ 1ull << 63);
}

static uint64_t from_order(int64_t v)
{
	return (uint64_t)v ^ 1ull << 63;
}

/* The numbers of a row that are printed, as they are printed. */
enum { SELF, TIME, COUNT, HITS, BLOCKED, LOAD, HASHING, NUMBERS };

static void numbers_of(const struct tare_summary_row *r, int64_t n[NUMBERS])
{
	n[SELF] = r->self;
	n[TIME] = (int64_t)r->time;
	n[COUNT] = in_order(r->count);
	n[HITS] = in_order(r->hits);
	n[BLOCKED] = (int64_t)r->blocked;
	n[LOAD] = r->load;
	n[HASHING] = r->hashing;
}

static void extreme_row(struct long_grid *g, const struct listing *l, const int64_t n[NUMBERS])
{
	own_row(g, l->s, &l->columns, &(struct tare_summary_row){
		.name = "", .self = n[SELF], .time = (uint64_t)n[TIME], .count = from_order(n[COUNT]),
		.hits = from_order(n[HITS]), .blocked = (uint64_t)n[BLOCKED], .load = n[LOAD],
		.hashing = n[HASHING] });
}

/* What the rows that are shown have at least and at most: there may be millions. */
struct extremes {
	int64_t least[NUMBERS], most[NUMBERS];
	size_t rows;
};

static void note_columns(struct shown *c, const struct tare_summary_row *r)
{
	c->hits |= r->hits > 0;
	c->blocked |= r->blocked > 0;
	c->load |= r->load > 0;
	c->hashing |= r->hashing > 0;
}

static void note_numbers(struct extremes *x, const struct tare_summary_row *r)
{
	int64_t n[NUMBERS];
	numbers_of(r, n);
	for (size_t k = 0; k < NUMBERS; k++) {
		if (!x->rows)
			x->least[k] = x->most[k] = n[k];
		widen(n[k], &x->least[k], &x->most[k]);
	}
	x->rows++;
}

/* The columns that any row fills; of the rows that are shown, extremes and the width of the names. */
static void look_over(struct listing *l, struct long_grid *g, struct extremes *x)
{
	const struct tare_summary *const s = l->s;
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct tare_summary_row *const r = l->rows[i];
		note_columns(&l->columns, r);
		if ((l->o->top && x->rows == l->o->top) || !summarize_shows(s, r, l->o))
			continue;
		note_numbers(x, r);
		if (r->name_len > g->width[0])		/* no text is wider than its bytes */
			long_grid_name(g, r->name, r->name_len);
	}
}

/* Measures the rows without making their texts: of a column, no number is wider than the
 * smallest and the largest. (Times are: 999 ns, 1.000 us.) */
static int measure_rows(struct listing *l, struct long_grid *g, struct tare_why *why)
{
	const struct shown *const c = &l->columns;
	struct extremes x = { .rows = 0 };
	look_over(l, g, &x);
	g->columns = (size_t)5 + c->hits + c->blocked + c->load + c->hashing;
	if (l->s->info->is_time)
		return put_rows(l, g, why);
	own_title(g, c);
	if (x.rows) {
		extreme_row(g, l, x.least);
		extreme_row(g, l, x.most);
	}
	return 0;
}

static int put_table(struct listing *l, struct tare_why *why)
{
	struct long_grid g = { .columns = 1 };
	const int err = measure_rows(l, &g, why);
	g.out = l->out;
	own_head(l->s, l->out);
	return err < 0 ? err : put_rows(l, &g, why);
}

static void put_pages(const struct tare_profile_info *i, struct buf *out)
{
	buf_printf(out, "%" PRIu64 " page%s written while recording: ", i->pages,
		   i->pages == 1 ? " was" : "s were");
	quantity_add(out, i, (int64_t)i->page_cost);
	if (i->is_time)
		buf_str(out, ", in the table as \"page written\"\n");
	else
		buf_printf(out, "%s%s, in no interval\n", *i->unit ? " " : "", i->unit);
}

static void put_end(const struct listing *l)
{
	const struct tare_summary *const s = l->s;
	struct buf *const out = l->out;
	buf_str(out, "\ntotal ");
	quantity_add(out, s->info, (int64_t)s->total);
	if (!s->info->is_time && *s->info->unit)
		buf_printf(out, " %s", s->info->unit);
	if (l->shown < s->n_rows && s->total)
		buf_printf(out, "; %zu of %zu items shown, %.2f%% of it", l->shown, s->n_rows, l->share);
	buf_chr(out, '\n');
	if (s->info->clamped)
		buf_printf(out, "%" PRIu64 " counter reads ran backwards and were clamped\n",
			   s->info->clamped);
	if (s->info->dropped)
		buf_printf(out, "%" PRIu64 " events were dropped while recording\n",
			   s->info->dropped);
	if (s->info->pages)
		put_pages(s->info, out);
	own_artifacts(s, out);
}

int summarize_text(const struct tare_summary *s, const struct summarize_show *o, struct buf *out,
		   int fd, struct tare_why *why)
{
	struct listing l = { .s = s, .o = o, .out = out, .fd = fd,
			     .rows = summarize_sorted(s, o->sort) };
	int err = 0;
	if (l.rows)
		err = put_table(&l, why);
	else
		out->failed = true;
	if (l.rows && err == 0)
		put_end(&l);
	free(l.rows);
	if (err == 0)
		err = text_write(out, fd, why);
	out->len = 0;
	return err;
}
