/* The variation over runs as tables and lists, in the counter's unit. */
#include "aggregate-show.h"

#include "grid.h"
#include "quantity.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int aggregate_put_place(const struct tare_aggregate *a, const struct tare_extreme *x, bool lines,
			struct buf *out, struct tare_why *why)
{
	struct tare_place *p;
	const int err = tare_aggregate_place(a, x, &p, why);
	if (err < 0)
		return err;
	switch (p->kind) {
	case TARE_PLACE_EVENT:
		buf_str(out, p->from);
		break;
	case TARE_PLACE_BEFORE:
		buf_printf(out, "in %s, before %s", p->from, p->to);
		break;
	case TARE_PLACE_AFTER:
		buf_printf(out, "in %s, after %s", p->to, p->from);
		break;
	case TARE_PLACE_BETWEEN:
		if (!p->inside)
			buf_printf(out, "between %s and %s", p->from, p->to);
		else if (lines)
			buf_printf(out, "in %s,\n    between %s\n        and %s\n", p->inside, p->from,
				   p->to);
		else
			buf_printf(out, "in %s, between %s and %s", p->inside, p->from, p->to);
		break;
	}
	tare_place_free(p);
	return 0;
}

static int add_occurrences(const struct tare_aggregate *a, const struct tare_extreme *x,
			   struct buf *out, struct tare_why *why)
{
	if (x->count > 1) {
		buf_printf(out, "%" PRIu64 " occurrences, or ", x->count);
		rust_float(out, (double)x->count / (double)a->n_intervals * 100.0, 2, false);
		buf_str(out, "%\n");
		return 0;
	}
	const int err = aggregate_put_place(a, x, false, out, why);
	if (a->n_threads > 1)
		buf_printf(out, " (thread %u)", x->thread);
	if (x->outlier)
		buf_printf(out, " (run %zu differs most)", x->outlier);
	buf_chr(out, '\n');
	return err;
}

static int add_block(const struct tare_aggregate *a, const struct tare_extremes *e,
		     const char *title, bool half, struct buf *out,
		     struct tare_why *why)
{
	const char *const unit = tare_profile_info(a->runs[0])->unit;
	int err = 0;
	buf_printf(out, title, e->n);
	for (size_t i = 0; err == 0 && i < e->n; i++) {
		buf_str(out, half ? "  ±" : "  ");
		if (half)
			quantity_half(out, e->list[i].value);
		else
			buf_printf(out, "%" PRIu64, e->list[i].value);
		buf_printf(out, "%s%s: ", *unit ? " " : "", unit);
		err = add_occurrences(a, &e->list[i], out, why);
	}
	return err;
}

static int micro(const struct tare_aggregate *a, struct buf *out, struct tare_why *why)
{
	int err = add_block(a, &a->smallest, "Smallest %zu durations:\n", false, out, why);
	buf_chr(out, '\n');
	if (err == 0)
		err = add_block(a, &a->largest, "Largest %zu durations:\n", false, out, why);
	buf_chr(out, '\n');
	if (err == 0)
		err = add_block(a, &a->smallest_range, "Smallest %zu variances:\n", true, out, why);
	buf_chr(out, '\n');
	if (err == 0)
		err = add_block(a, &a->largest_range, "Largest %zu variances:\n", true, out, why);
	return err;
}

/* As the report prints it: ±~5.2%, ±~0.00004%, ±~0%. */
static void add_rough_percent(struct buf *out, double half, double middle)
{
	const double p = middle != 0 ? fabs(half / middle * 100.0) : half == 0 ? 0 : INFINITY;
	if (p == 0 || isinf(p)) {
		buf_str(out, p == 0 ? "(±~0%)" : "(±~inf%)");
		return;
	}
	const int decimals = p >= 1 ? 1 : (int)ceil(-log10(p));
	char text[64];
	snprintf(text, sizeof(text), "%.*f", decimals > 30 ? 30 : decimals, p);
	size_t n = strlen(text);
	while (n && strchr(text, '.') && (text[n - 1] == '0' || text[n - 1] == '.'))
		if (text[--n] == '.')
			break;
	buf_printf(out, "(±~%.*s%%)", (int)n, text);
}

/* middle ±half (±~percent) */
static void add_spread(struct buf *out, int64_t min, int64_t max)
{
	const int64_t sum = min + max;
	const uint64_t range = (uint64_t)max - (uint64_t)min;
	if (sum < 0)
		buf_chr(out, '-');
	quantity_half(out, sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum);
	buf_str(out, " ±");
	quantity_half(out, range);
	buf_chr(out, ' ');
	add_rough_percent(out, (double)range / 2, (double)sum / 2);
}

static void add_count_range(struct buf *out, uint64_t min, uint64_t max)
{
	buf_printf(out, "%" PRIu64, min);
	if (max != min)
		buf_printf(out, "..%" PRIu64, max);
}

static void outlier_cell(struct grid *g, size_t outlier)
{
	if (outlier)
		buf_printf(&g->text, "run %zu", outlier);
	grid_done(g);
}

static void macro(const struct tare_aggregate *a, size_t top, struct buf *out)
{
	const struct tare_profile_info *const i = tare_profile_info(a->runs[0]);
	const bool runs = a->n_runs > 2;
	struct grid g = { .columns = 3 + runs };
	buf_printf(out, "Self values over %zu run%s (%s%s%s), middle and half of their range:\n",
		   a->n_runs, a->n_runs == 1 ? "" : "s",
		   *i->counter ? i->counter : "no counter named", *i->unit ? ", " : "", i->unit);
	grid_cell(&g, "item", 4);
	grid_cell(&g, "count", 5);
	grid_cell(&g, "self", 4);
	if (runs)
		grid_cell(&g, "differs most", 12);
	for (size_t k = 0; k < a->n_macro && k < top; k++) {
		const struct tare_macro_row *const r = &a->macro[k];
		grid_cell(&g, r->name, strlen(r->name));
		add_count_range(&g.text, r->min_count, r->max_count);
		grid_done(&g);
		add_spread(&g.text, r->min, r->max);
		grid_done(&g);
		if (runs)
			outlier_cell(&g, r->outlier);
	}
	grid_cell(&g, "total of all threads", 20);
	grid_cell(&g, "", 0);
	add_spread(&g.text, (int64_t)a->total_min, (int64_t)a->total_max);
	grid_done(&g);
	if (runs)
		outlier_cell(&g, a->total_outlier);
	grid_plain(&g, out);
	grid_free(&g);
	if (a->n_macro > top)
		buf_printf(out, "(%zu more items)\n", a->n_macro - top);
}

/* Which names the variation lies in. */
static void by_name(const struct tare_aggregate *a, size_t top, struct buf *out)
{
	struct grid g = { .columns = 4 };
	buf_str(out, "Sample intervals that vary, by the name they lie in:\n");
	grid_cell(&g, "item", 4);
	grid_cell(&g, "intervals", 9);
	grid_cell(&g, "largest", 7);
	grid_cell(&g, "sum", 3);
	for (size_t k = 0; k < a->n_by_name && k < top; k++) {
		const struct tare_name_variation *const v = &a->by_name[k];
		if (*v->name)
			grid_cell(&g, v->name, strlen(v->name));
		else
			grid_cell(&g, "(outside of all)", 16);
		buf_printf(&g.text, "%" PRIu64, v->n);
		grid_done(&g);
		buf_str(&g.text, "±");
		quantity_half(&g.text, v->largest);
		grid_done(&g);
		buf_str(&g.text, "±");
		quantity_half(&g.text, v->sum);
		grid_done(&g);
	}
	grid_plain(&g, out);
	grid_free(&g);
	if (a->n_by_name > top)
		buf_printf(out, "(%zu more items)\n", a->n_by_name - top);
	buf_chr(out, '\n');
}

static void histogram(const struct tare_aggregate *a, struct buf *out)
{
	uint64_t most = 1;
	buf_str(out, "Sample intervals by variation (bars are logarithmic):\n");
	for (unsigned i = 0; i < TARE_AGGREGATE_BUCKETS; i++)
		most = a->histogram[i] > most ? a->histogram[i] : most;
	for (unsigned i = 0; i < TARE_AGGREGATE_BUCKETS; i++) {
		if (!a->histogram[i])
			continue;
		struct buf label = { 0 };
		buf_str(&label, i > 1 ? "up to ±" : "±");
		quantity_half(&label, i ? 1ull << (i - 1) : 0);
		buf_printf(out, "  %*s%s %12" PRIu64 " %6.2f%% ",
			   (int)(22 - display_width(label.data, label.len)), "", label.data,
			   a->histogram[i],
			   100.0 * (double)a->histogram[i] / (double)a->n_intervals);
		/* as long as its number has bits: rare ones stay visible */
		const double bar = 30.0 * log2((double)a->histogram[i] + 1) / log2((double)most + 1);
		for (int k = 0; k < (int)bar; k++)
			buf_chr(out, '#');
		buf_chr(out, '\n');
		buf_free(&label);
	}
}

/* How much of the table of differing events is printed; JSON has all of it. */
enum { DIFFERENCES_MOST = 20, COLUMNS_MOST = 8, NAMED_MOST = 3 };

/* Runs with the same counts share a column of that table. */
struct column {
	size_t first, n;	/* in the sorted runs */
};

static int by_counts(const void *x, const void *y, void *arg)
{
	const struct tare_aggregate *const a = arg;
	const size_t r = *(const size_t *)x, q = *(const size_t *)y;
	for (size_t i = 0; i < a->n_differences && i < DIFFERENCES_MOST; i++) {
		const uint64_t *const counts = a->differences[i].counts;
		if (counts[r] != counts[q])
			return counts[r] < counts[q] ? -1 : 1;
	}
	return 0;
}

/* The same counts, then the order of the runs. */
static int by_column(const void *x, const void *y, void *arg)
{
	const int order = by_counts(x, y, arg);
	const size_t r = *(const size_t *)x, q = *(const size_t *)y;
	return order ? order : r < q ? -1 : r > q;
}

/* Most runs first, then the order of the runs. */
static int by_size(const void *x, const void *y, void *arg)
{
	const struct column *const c = x, *const d = y;
	const size_t *const runs = arg;
	if (c->n != d->n)
		return c->n > d->n ? -1 : 1;
	const size_t r = runs[c->first], q = runs[d->first];
	return r < q ? -1 : r > q;
}

/* Few runs have a column each, in their order; of many, those with the same counts share one.
 * Returns the number of columns. */
static size_t make_columns(const struct tare_aggregate *a, size_t *runs, struct column *columns)
{
	size_t n = 0;
	for (size_t r = 0; r < a->n_runs; r++)
		runs[r] = r;
	if (a->n_runs <= COLUMNS_MOST) {
		for (; n < a->n_runs; n++)
			columns[n] = (struct column){ n, 1 };
		return n;
	}
	qsort_r(runs, a->n_runs, sizeof(*runs), by_column, (void *)a);
	for (size_t r = 0; r < a->n_runs; r++) {
		if (!r || by_counts(&runs[r - 1], &runs[r], (void *)a) != 0)
			columns[n++] = (struct column){ .first = r };
		columns[n - 1].n++;
	}
	qsort_r(columns, n, sizeof(*columns), by_size, runs);
	return n;
}

/* run 5; runs 5, 7; 170 runs */
static void column_title(struct grid *g, const struct column *c, const size_t *runs)
{
	if (c->n > NAMED_MOST) {
		buf_printf(&g->text, "%zu runs", c->n);
	} else {
		buf_printf(&g->text, "run%s %zu", c->n == 1 ? "" : "s", runs[c->first] + 1);
		for (size_t i = 1; i < c->n; i++)
			buf_printf(&g->text, ", %zu", runs[c->first + i] + 1);
	}
	grid_done(g);
}

static void put_difference_table(const struct tare_aggregate *a, const size_t *runs,
				 const struct column *columns, size_t n, struct buf *out)
{
	const size_t shown = n < COLUMNS_MOST ? n : COLUMNS_MOST;
	struct grid g = { .columns = shown + 1 };
	grid_cell(&g, "event there", 11);
	for (size_t c = 0; c < shown; c++)
		column_title(&g, &columns[c], runs);
	for (size_t i = 0; i < a->n_differences && i < DIFFERENCES_MOST; i++) {
		const struct tare_difference *const d = &a->differences[i];
		grid_cell(&g, d->name, strlen(d->name));
		for (size_t c = 0; c < shown; c++) {
			buf_printf(&g.text, "%" PRIu64, d->counts[runs[columns[c].first]]);
			grid_done(&g);
		}
	}
	grid_plain(&g, out);
	out->failed |= g.failed;
	grid_free(&g);
	size_t left = 0;
	for (size_t c = shown; c < n; c++)
		left += columns[c].n;
	if (left)
		buf_printf(out, "(%zu more run%s with other counts: --json has them all)\n", left,
			   left == 1 ? "" : "s");
}

static void differences(const struct tare_aggregate *a, struct buf *out)
{
	if (!a->n_regions)
		return;
	buf_printf(out, "\nThe runs went different ways at %" PRIu64 " place%s; %" PRIu64
		   " interval%s there %s not compared.\n", a->n_regions, a->n_regions == 1 ? "" : "s",
		   a->n_skipped, a->n_skipped == 1 ? "" : "s", a->n_skipped == 1 ? "was" : "were");
	size_t *const runs = calloc(a->n_runs, sizeof(*runs));
	struct column *const columns = calloc(a->n_runs, sizeof(*columns));
	if (runs && columns)
		put_difference_table(a, runs, columns, make_columns(a, runs, columns), out);
	else
		out->failed = true;
	free(columns);
	free(runs);
	const uint64_t more = (a->n_differences > DIFFERENCES_MOST ?
			       a->n_differences - DIFFERENCES_MOST : 0) + a->n_more_differences;
	if (more)
		buf_printf(out, "(%" PRIu64 " more events)\n", more);
}

int aggregate_text(const struct tare_aggregate *a, const struct aggregate_show *o, struct buf *out,
		   struct tare_why *why)
{
	const struct tare_profile_info *const i = tare_profile_info(a->runs[0]);
	int err = 0;
	buf_printf(out, "%zu run%s with %s%s%zu thread%s, ", a->n_runs, a->n_runs == 1 ? "" : "s",
		   *i->provenance ? i->provenance : "", *i->provenance ? " counts, " : "",
		   a->n_threads, a->n_threads == 1 ? "" : "s");
	buf_grouped(out, a->n_intervals);
	buf_str(out, " sample intervals compared\n\n");
	if (!o->no_macro) {
		macro(a, o->top, out);
		buf_chr(out, '\n');
	}
	if (o->by_name)
		by_name(a, o->top, out);
	if (!o->no_micro) {
		err = micro(a, out, why);
		buf_chr(out, '\n');
		histogram(a, out);
	}
	differences(a, out);
	return err;
}
