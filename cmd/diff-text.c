/* The difference between two groups of runs as a table. */
#include "diff-show.h"

#include "grid.h"
#include "quantity.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool diff_excludes(const struct diff_show *o, const char *name)
{
	for (size_t i = 0; i < o->n_exclude; i++)
		if (strstr(name, o->exclude[i]))
			return true;
	return false;
}

double diff_percent(const struct tare_diff_row *r, double base, double change)
{
	if (!r->change.present)
		return -100.0;
	if (!r->base.present)
		return INFINITY;
	return (change - base) / base * 100.0;
}

double diff_middle(const struct tare_diff_side *s)
{
	return ((double)s->self_min + (double)s->self_max) / 2;
}

static void cell(struct grid *g, const char *text)
{
	grid_cell(g, text, strlen(text));
}

/* A word for the column "variation". */
static const char *verdict(const struct tare_diff_row *r)
{
	switch (r->verdict) {
	case TARE_DIFF_BEYOND:
		return "beyond";
	case TARE_DIFF_TOO_FEW:
		return "unclear";
	case TARE_DIFF_ONE_EACH:
		return !r->base.present ? "new" : !r->change.present ? "gone" : "";
	case TARE_DIFF_WITHIN:
		return r->self == 0 && r->gap == 0 ? "same" : "within";
	default:
		return "same";
	}
}

/* One run has no spread, which is not ±0. */
static void range_cell(struct grid *g, const struct tare_diff *d, const struct tare_diff_side *s,
		       size_t runs)
{
	if (runs > 1)
		quantity_range(&g->text, d->info, s->self_min, s->self_max);
	else
		quantity_add(&g->text, d->info, s->self_min);
	grid_done(g);
}

static void put_row(struct grid *g, const struct tare_diff *d, const struct tare_diff_row *r)
{
	cell(g, r->name);
	range_cell(g, d, &r->base, d->n_base);
	range_cell(g, d, &r->change, d->n_change);
	quantity_signed(&g->text, d->info, r->self);
	grid_done(g);
	const double p = diff_percent(r, diff_middle(&r->base), diff_middle(&r->change));
	if (isnan(p))
		buf_str(&g->text, "-");
	else if (isinf(p))
		buf_str(&g->text, "new");
	else
		buf_printf(&g->text, "%+.2f%%", p);
	grid_done(g);
	buf_printf(&g->text, "%+" PRId64, (int64_t)(r->change.count_mean - r->base.count_mean));
	grid_done(g);
	cell(g, verdict(r));
}

static void put_grid(const struct grid *g, bool markdown, struct buf *out)
{
	if (markdown)
		grid_markdown(g, out);
	else
		grid_plain(g, out);
}

static void put_artifacts(const struct tare_diff *d, const struct diff_show *o, bool markdown,
			  struct buf *out)
{
	struct grid g = { .columns = 4 };
	cell(&g, "artifact");
	cell(&g, "base");
	cell(&g, "change");
	cell(&g, "difference");
	for (size_t i = 0; i < d->n_artifacts; i++) {
		const struct tare_diff_artifact *const a = &d->artifacts[i];
		if (diff_excludes(o, a->name) || (!o->all && a->change == 0))
			continue;
		cell(&g, a->name);
		buf_printf(&g.text, "%" PRIu64, a->base);
		grid_done(&g);
		buf_printf(&g.text, "%" PRIu64, a->now);
		grid_done(&g);
		buf_printf(&g.text, "%+" PRId64, a->change);
		grid_done(&g);
	}
	if (g.n > g.columns) {
		buf_chr(out, '\n');
		put_grid(&g, markdown, out);
	}
	out->failed |= g.failed;
	grid_free(&g);
}

static void put_diff(const struct tare_diff *d, const struct diff_show *o, bool markdown,
		     struct buf *out)
{
	static const char *const titles[] = { "item", "base", "change", "difference", "percent",
					      "count", "variation" };
	struct grid g = { .columns = sizeof(titles) / sizeof(titles[0]) };
	size_t shown = 0, same = 0;
	bool unclear = d->total.verdict == TARE_DIFF_TOO_FEW;
	buf_printf(out, "%s%s%s, self values: %zu base run%s, %zu changed\n\n",
		   *d->info->counter ? d->info->counter : "no counter named",
		   d->info->is_time ? "" : " in ", d->info->is_time ? "" : d->info->unit, d->n_base,
		   d->n_base == 1 ? "" : "s", d->n_change);
	for (size_t i = 0; i < g.columns; i++)
		cell(&g, titles[i]);
	for (size_t i = 0; i < d->n_rows; i++) {
		const struct tare_diff_row *const r = &d->rows[i];
		if (diff_excludes(o, r->name))
			continue;
		if (!o->all && r->self == 0 && r->verdict <= TARE_DIFF_WITHIN &&
		    r->base.count_mean == r->change.count_mean) {
			same++;
			continue;
		}
		unclear |= r->verdict == TARE_DIFF_TOO_FEW;
		if (!o->top || shown++ < o->top)
			put_row(&g, d, r);
	}
	put_row(&g, d, &d->total);
	put_grid(&g, markdown, out);
	grid_free(&g);
	if (markdown)
		buf_chr(out, '\n');
	if (o->top && shown > o->top)
		buf_printf(out, "(%zu more items)\n", shown - o->top);
	if (same)
		buf_printf(out, "(%zu items are the same)\n", same);
	if (d->n_base == 1 && d->n_change == 1)
		buf_str(out, "(one run each: nothing is known of the runs' own variation)\n");
	if (unclear)
		buf_printf(out, "(unclear: %zu and %zu runs are too few to tell a difference from the "
			   "runs' own variation; 5 and 5 can)\n", d->n_base, d->n_change);
	put_artifacts(d, o, markdown, out);
}

void diff_text(const struct tare_diff *d, const struct diff_show *o, struct buf *out)
{
	put_diff(d, o, false, out);
}

void diff_markdown(const struct tare_diff *d, const struct diff_show *o, struct buf *out)
{
	put_diff(d, o, true, out);
}
