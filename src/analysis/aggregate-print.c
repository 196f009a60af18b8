/* The variation over runs as text (ours, and measureme's byte for byte) and JSON. */
#include "aggregate.h"

#include "grid.h"
#include "json.h"
#include "quantity.h"
#include "sink.h"
#include "why.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static enum point_type type_of(uint64_t record)
{
	return (enum point_type)(record & 3);
}

/* What lies between two points of the first run: a whole event, before or after
 * something in one, or between two. */
static int describe(const struct tare_aggregate *a, const struct tare_extreme *x, bool lines,
		    struct buf *out, struct tare_why *why)
{
	struct tare_profile *const p = a->runs[0];
	struct buf from = { 0 }, to = { 0 }, parent = { 0 };
	const bool starts = type_of(x->from) == POINT_START, ends = type_of(x->to) == POINT_END;
	int err = points_describe(p, x->from >> 2, &from, why);
	if (err == 0)
		err = points_describe(p, x->to >> 2, &to, why);
	if (err == 0 && x->parent != NO_RECORD)
		err = points_describe(p, x->parent, &parent, why);
	if (err == 0) {
		if (starts && ends)
			buf_add(out, from.data, from.len);
		else if (starts)
			buf_printf(out, "in %s, before %s", from.data, to.data);
		else if (ends)
			buf_printf(out, "in %s, after %s", to.data, from.data);
		else if (x->parent == NO_RECORD)
			buf_printf(out, "between %s and %s", from.data, to.data);
		else if (lines)
			buf_printf(out, "in %s,\n    between %s\n        and %s\n", parent.data,
				   from.data, to.data);
		else
			buf_printf(out, "in %s, between %s and %s", parent.data, from.data, to.data);
	}
	buf_free(&from);
	buf_free(&to);
	buf_free(&parent);
	return err;
}

static int add_occurrences(const struct tare_aggregate *a, const struct tare_extreme *x,
			   bool measureme, struct buf *out, struct tare_why *why)
{
	if (x->count > 1) {
		buf_printf(out, "%" PRIu64 " occurrences, or ", x->count);
		rust_float(out, (double)x->count / (double)a->n_intervals * 100.0, 2, false);
		buf_str(out, "%\n");
		return 0;
	}
	const int err = describe(a, x, measureme, out, why);
	if (!measureme && a->n_threads > 1)
		buf_printf(out, " (thread %u)", x->thread);
	if (!measureme && x->outlier)
		buf_printf(out, " (run %zu differs most)", x->outlier);
	buf_chr(out, '\n');
	return err;
}

static int add_block(const struct tare_aggregate *a, const struct tare_extremes *e,
		     const char *title, bool half, bool measureme, struct buf *out,
		     struct tare_why *why)
{
	const char *const unit = measureme ? "ns" : a->runs[0]->info.unit;
	int err = 0;
	buf_printf(out, title, e->n);
	for (size_t i = 0; err == 0 && i < e->n; i++) {
		buf_str(out, half ? "  ±" : "  ");
		if (half)
			quantity_half(out, e->list[i].value);
		else
			buf_printf(out, "%" PRIu64, e->list[i].value);
		buf_printf(out, "%s%s: ", *unit ? " " : "", unit);
		err = add_occurrences(a, &e->list[i], measureme, out, why);
	}
	return err;
}

static int micro(const struct tare_aggregate *a, bool measureme, struct buf *out,
		 struct tare_why *why)
{
	int err = add_block(a, &a->smallest, "Smallest %zu durations:\n", false, measureme, out, why);
	buf_chr(out, '\n');
	if (err == 0)
		err = add_block(a, &a->largest, "Largest %zu durations:\n", false, measureme, out, why);
	buf_chr(out, '\n');
	if (err == 0)
		err = add_block(a, &a->smallest_range, "Smallest %zu variances:\n", true, measureme,
				out, why);
	buf_chr(out, '\n');
	if (err == 0)
		err = add_block(a, &a->largest_range, "Largest %zu variances:\n", true, measureme,
				out, why);
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
	const struct tare_profile_info *const i = &a->runs[0]->info;
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

static void differences(const struct tare_aggregate *a, struct buf *out)
{
	if (!a->n_regions)
		return;
	buf_printf(out, "\nThe runs went different ways at %" PRIu64 " place%s; %" PRIu64
		   " intervals there were not compared.\n", a->n_regions,
		   a->n_regions == 1 ? "" : "s", a->n_skipped);
	struct grid g = { .columns = a->n_runs + 1 };
	grid_cell(&g, "event there", 11);
	for (size_t r = 0; r < a->n_runs; r++) {
		buf_printf(&g.text, "run %zu", r + 1);
		grid_done(&g);
	}
	for (size_t i = 0; i < a->n_differences && i < 20; i++) {
		const struct tare_difference *const d = &a->differences[i];
		grid_cell(&g, d->name, strlen(d->name));
		for (size_t r = 0; r < a->n_runs; r++) {
			buf_printf(&g.text, "%" PRIu64, d->counts[r]);
			grid_done(&g);
		}
	}
	grid_plain(&g, out);
	grid_free(&g);
	const uint64_t more = (a->n_differences > 20 ? a->n_differences - 20 : 0) +
			      a->n_more_differences;
	if (more)
		buf_printf(out, "(%" PRIu64 " more events)\n", more);
}

int tare_aggregate_text(const struct tare_aggregate *a, const struct tare_aggregate_print *o,
			int fd, struct tare_why *why)
{
	struct buf out = { 0 };
	int err = 0;
	if (o->measureme) {
		err = micro(a, true, &out, why);
	} else {
		const struct tare_profile_info *const i = &a->runs[0]->info;
		buf_printf(&out, "%zu run%s with %s%s%zu thread%s, ", a->n_runs, a->n_runs == 1 ? "" : "s",
			   *i->provenance ? i->provenance : "", *i->provenance ? " counts, " : "", a->n_threads,
			   a->n_threads == 1 ? "" : "s");
		buf_grouped(&out, a->n_intervals);
		buf_str(&out, " sample intervals compared\n\n");
		if (!o->no_macro) {
			macro(a, o->top ? o->top : 10, &out);
			buf_chr(&out, '\n');
		}
		if (o->by_name)
			by_name(a, o->top ? o->top : 10, &out);
		if (!o->no_micro) {
			err = micro(a, false, &out, why);
			buf_chr(&out, '\n');
			histogram(a, &out);
		}
		differences(a, &out);
	}
	if (err == 0)
		err = sink_buf(&out, fd, why);
	buf_free(&out);
	return err;
}

static void json_outlier(struct json *j, size_t outlier)
{
	if (outlier)
		json_u64(j, "outlier_run", outlier);
	else
		json_null(j, "outlier_run");
}

static int json_extremes(struct json *j, const struct tare_aggregate *a, const char *key,
			 const struct tare_extremes *e, bool ranges, struct tare_why *why)
{
	int err = 0;
	json_array(j, key);
	for (size_t i = 0; err == 0 && i < e->n; i++) {
		json_object(j, NULL);
		json_u64(j, "value", e->list[i].value);
		json_u64(j, "count", e->list[i].count);
		if (e->list[i].count == 1) {
			struct buf text = { 0 };
			err = describe(a, &e->list[i], false, &text, why);
			json_strn(j, "where", text.data ? text.data : "", text.len);
			json_u64(j, "thread", e->list[i].thread);
			if (ranges)
				json_outlier(j, e->list[i].outlier);
			buf_free(&text);
		}
		json_end(j);
	}
	json_end(j);
	return err;
}

static void json_macro(struct json *j, const struct tare_aggregate *a)
{
	json_array(j, "items");
	for (size_t i = 0; i < a->n_macro; i++) {
		const struct tare_macro_row *const r = &a->macro[i];
		json_object(j, NULL);
		json_str(j, "name", r->name);
		json_i64(j, "self_min", r->min);
		json_i64(j, "self_max", r->max);
		json_u64(j, "count_min", r->min_count);
		json_u64(j, "count_max", r->max_count);
		json_outlier(j, r->outlier);
		json_end(j);
	}
	json_end(j);
}

static void json_by_name(struct json *j, const struct tare_aggregate *a)
{
	json_array(j, "by_name");
	for (size_t i = 0; i < a->n_by_name; i++) {
		json_object(j, NULL);
		json_str(j, "name", *a->by_name[i].name ? a->by_name[i].name : NULL);
		json_u64(j, "intervals", a->by_name[i].n);
		json_u64(j, "largest_range", a->by_name[i].largest);
		json_u64(j, "sum_of_ranges", a->by_name[i].sum);
		json_end(j);
	}
	json_end(j);
}

static void json_differences(struct json *j, const struct tare_aggregate *a)
{
	json_u64(j, "regions", a->n_regions);
	json_u64(j, "skipped", a->n_skipped);
	json_array(j, "differences");
	for (size_t i = 0; i < a->n_differences; i++) {
		json_object(j, NULL);
		json_str(j, "event", a->differences[i].name);
		json_array(j, "counts");
		for (size_t r = 0; r < a->n_runs; r++)
			json_u64(j, NULL, a->differences[i].counts[r]);
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

int tare_aggregate_json(const struct tare_aggregate *a, int fd, struct tare_why *why)
{
	struct buf out = { 0 };
	struct json j = { .out = &out, .indent = true };
	json_object(&j, NULL);
	json_str(&j, "schema", "tare.aggregate/1");
	json_array(&j, "profiles");
	for (size_t r = 0; r < a->n_runs; r++) {
		json_object(&j, NULL);
		json_profile_info(&j, &a->runs[r]->info);
		json_end(&j);
	}
	json_end(&j);
	json_u64(&j, "threads", a->n_threads);
	json_u64(&j, "intervals", a->n_intervals);
	json_u64(&j, "total_min", a->total_min);
	json_u64(&j, "total_max", a->total_max);
	if (a->total_outlier)
		json_u64(&j, "total_outlier_run", a->total_outlier);
	else
		json_null(&j, "total_outlier_run");
	json_macro(&j, a);
	json_by_name(&j, a);
	int err = json_extremes(&j, a, "smallest_durations", &a->smallest, false, why);
	if (err == 0)
		err = json_extremes(&j, a, "largest_durations", &a->largest, false, why);
	if (err == 0)
		err = json_extremes(&j, a, "smallest_ranges", &a->smallest_range, true, why);
	if (err == 0)
		err = json_extremes(&j, a, "largest_ranges", &a->largest_range, true, why);
	json_array(&j, "histogram");
	for (unsigned i = 0; i < TARE_AGGREGATE_BUCKETS; i++) {
		if (!a->histogram[i])
			continue;
		json_object(&j, NULL);
		json_u64(&j, "range_up_to", i ? 1ull << (i - 1) : 0);
		json_u64(&j, "count", a->histogram[i]);
		json_end(&j);
	}
	json_end(&j);
	json_differences(&j, a);
	json_end(&j);
	buf_chr(&out, '\n');
	if (err == 0)
		err = sink_buf(&out, fd, why);
	buf_free(&out);
	return err;
}
