#include "grid.h"
#include "json.h"
#include "quantity.h"
#include "sink.h"
#include "why.h"

#include <tare/analysis.h>

#include <inttypes.h>
#include <math.h>

static bool excluded(const struct tare_diff_print *o, const char *name)
{
	for (size_t i = 0; i < o->n_exclude; i++)
		if (strstr(name, o->exclude[i]))
			return true;
	return false;
}

static double change_percent(const struct tare_diff_row *r, double base, double change)
{
	if (!r->change.present)
		return -100.0;
	if (!r->base.present)
		return INFINITY;
	return (change - base) / base * 100.0;
}

static void cell(struct grid *g, const char *text)
{
	grid_cell(g, text, strlen(text));
}

/* Two groups that overlap say nothing. */
static const char *verdict(const struct tare_diff *d, const struct tare_diff_row *r)
{
	if (r->self == 0 && r->gap == 0)
		return "same";
	if (d->n_base == 1 && d->n_change == 1)
		return !r->base.present ? "new" : !r->change.present ? "gone" : "";
	return r->beyond ? "beyond" : "within";
}

static void range_cell(struct grid *g, const struct tare_diff *d, const struct tare_diff_side *s)
{
	quantity_range(&g->text, d->info, s->self_min, s->self_max);
	grid_done(g);
}

static double middle(const struct tare_diff_side *s)
{
	return ((double)s->self_min + (double)s->self_max) / 2;
}

static void own_row(struct grid *g, const struct tare_diff *d, const struct tare_diff_row *r)
{
	cell(g, r->name);
	range_cell(g, d, &r->base);
	range_cell(g, d, &r->change);
	quantity_signed(&g->text, d->info, r->self);
	grid_done(g);
	const double p = change_percent(r, middle(&r->base), middle(&r->change));
	if (isnan(p))
		buf_str(&g->text, "-");
	else if (isinf(p))
		buf_str(&g->text, "new");
	else
		buf_printf(&g->text, "%+.2f%%", p);
	grid_done(g);
	buf_printf(&g->text, "%+" PRId64, (int64_t)(r->change.count_mean - r->base.count_mean));
	grid_done(g);
	cell(g, verdict(d, r));
}

static void put_grid(const struct grid *g, const struct tare_diff_print *o, struct buf *out)
{
	if (o->markdown)
		grid_markdown(g, out);
	else
		grid_plain(g, out);
}

static void own_artifacts(const struct tare_diff *d, const struct tare_diff_print *o,
			  struct buf *out)
{
	struct grid g = { .columns = 4 };
	cell(&g, "artifact");
	cell(&g, "base");
	cell(&g, "change");
	cell(&g, "difference");
	for (size_t i = 0; i < d->n_artifacts; i++) {
		const struct tare_diff_artifact *const a = &d->artifacts[i];
		if (excluded(o, a->name) || (!o->all && a->change == 0))
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
		put_grid(&g, o, out);
	}
	out->failed |= g.failed;
	grid_free(&g);
}

static void own_text(const struct tare_diff *d, const struct tare_diff_print *o, struct buf *out)
{
	static const char *const titles[] = { "item", "base", "change", "difference", "percent",
					      "count", "variation" };
	struct grid g = { .columns = sizeof(titles) / sizeof(titles[0]) };
	size_t shown = 0, same = 0;
	buf_printf(out, "%s%s%s, self values: %zu base run%s, %zu changed\n\n",
		   *d->info->counter ? d->info->counter : "no counter named",
		   d->info->is_time ? "" : " in ", d->info->is_time ? "" : d->info->unit, d->n_base,
		   d->n_base == 1 ? "" : "s", d->n_change);
	for (size_t i = 0; i < g.columns; i++)
		cell(&g, titles[i]);
	for (size_t i = 0; i < d->n_rows; i++) {
		const struct tare_diff_row *const r = &d->rows[i];
		if (excluded(o, r->name))
			continue;
		if (!o->all && r->self == 0 && !r->beyond &&
		    r->base.count_mean == r->change.count_mean) {
			same++;
			continue;
		}
		if (!o->top || shown++ < o->top)
			own_row(&g, d, r);
	}
	own_row(&g, d, &d->total);
	put_grid(&g, o, out);
	grid_free(&g);
	if (o->markdown)
		buf_chr(out, '\n');
	if (o->top && shown > o->top)
		buf_printf(out, "(%zu more items)\n", shown - o->top);
	if (same)
		buf_printf(out, "(%zu items are the same)\n", same);
	if (d->n_base == 1 && d->n_change == 1)
		buf_str(out, "(one run each: nothing is known of the runs' own variation)\n");
	own_artifacts(d, o, out);
}

/* measureme: a sign, then a Duration with all its digits. */
static void signed_duration(struct buf *b, int64_t v, bool negative_zero)
{
	buf_chr(b, v < 0 || (v == 0 && negative_zero) ? '-' : '+');
	rust_duration(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

static void duration_cell(struct grid *g, const struct tare_diff_row *r, int64_t base,
			  int64_t change)
{
	signed_duration(&g->text, change - base, !r->change.present);
	grid_done(g);
}

static void percent_cell(struct grid *g, const struct tare_diff_row *r, double base,
			 double change)
{
	rust_float(&g->text, change_percent(r, base, change), 2, true);
	buf_chr(&g->text, '%');
	grid_done(g);
}

static void measureme_row(struct grid *g, const struct tare_diff_row *r, size_t longest)
{
	const struct tare_diff_side *const b = &r->base, *const c = &r->change;
	const size_t len = strlen(r->name);
	buf_str(&g->text, r->name);
	buf_chr(&g->text, ' ');
	for (size_t i = len + 1; i < longest; i++)
		buf_chr(&g->text, '.');
	grid_done(g);
	duration_cell(g, r, b->self_mean, c->self_mean);
	percent_cell(g, r, (double)b->self_mean, (double)c->self_mean);
	duration_cell(g, r, (int64_t)b->time_mean, (int64_t)c->time_mean);
	percent_cell(g, r, (double)b->time_mean, (double)c->time_mean);
	buf_printf(&g->text, "%+" PRId64, (int64_t)(c->count_mean - b->count_mean));
	grid_done(g);
	buf_printf(&g->text, "%+" PRId64, (int64_t)(c->hits_mean - b->hits_mean));
	grid_done(g);
	duration_cell(g, r, b->blocked_mean, c->blocked_mean);
	duration_cell(g, r, b->load_mean, c->load_mean);
	duration_cell(g, r, b->hashing_mean, c->hashing_mean);
}

static void measureme_text(const struct tare_diff *d, const struct tare_diff_print *o,
			   struct buf *out)
{
	static const char *const titles[] = {
		"Item", "Self Time", "Self Time Change", "Time", "Time Change", "Item count",
		"Cache hits", "Blocked time", "Incremental load time", "Incremental hashing time",
	};
	struct grid g = { .columns = sizeof(titles) / sizeof(titles[0]) };
	struct grid a = { .columns = 2 };
	size_t longest = 0;
	for (size_t i = 0; i < g.columns; i++)
		cell(&g, titles[i]);
	for (size_t i = 0; i < d->n_rows; i++)
		longest = strlen(d->rows[i].name) > longest ? strlen(d->rows[i].name) : longest;
	for (size_t i = 0; i < d->n_rows; i++)
		if (!excluded(o, d->rows[i].name))
			measureme_row(&g, &d->rows[i], longest);
	grid_framed(&g, out);
	buf_str(out, "Total cpu time: ");
	signed_duration(out, d->total.change.self_mean - d->total.base.self_mean, false);
	buf_chr(out, '\n');
	cell(&a, "Item");
	cell(&a, "Artifact Size Change");
	for (size_t i = 0; i < d->n_artifacts; i++) {
		if (excluded(o, d->artifacts[i].name))
			continue;
		cell(&a, d->artifacts[i].name);
		buf_printf(&a.text, "%" PRId64 " bytes", d->artifacts[i].change);
		grid_done(&a);
	}
	grid_framed(&a, out);
	grid_free(&g);
	grid_free(&a);
}

int tare_diff_text(const struct tare_diff *d, const struct tare_diff_print *o, int fd,
		   struct tare_why *why)
{
	struct buf out = { 0 };
	if (o->measureme)
		measureme_text(d, o, &out);
	else
		own_text(d, o, &out);
	const int err = sink_buf(&out, fd, why);
	buf_free(&out);
	return err;
}

static void json_side(struct json *j, const char *key, const struct tare_diff_side *s)
{
	if (!s->present) {
		json_null(j, key);
		return;
	}
	json_object(j, key);
	json_i64(j, "self_min", s->self_min);
	json_i64(j, "self_max", s->self_max);
	json_i64(j, "self_mean", s->self_mean);
	json_u64(j, "total_mean", s->time_mean);
	json_u64(j, "count_mean", s->count_mean);
	json_end(j);
}

static void json_row(struct json *j, const char *key, const struct tare_diff_row *r)
{
	json_object(j, key);
	json_str(j, "name", r->name);
	json_side(j, "base", &r->base);
	json_side(j, "change", &r->change);
	json_i64(j, "self", r->self);
	json_f64(j, "self_percent", change_percent(r, middle(&r->base), middle(&r->change)));
	json_i64(j, "gap", r->gap);
	json_bool(j, "beyond_variation", r->beyond);
	json_end(j);
}

static void rust_signed(struct json *j, const char *key, const struct tare_diff_row *r, int64_t v)
{
	const uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	json_object(j, key);
	json_object(j, "duration");
	json_u64(j, "secs", u / 1000000000);
	json_u64(j, "nanos", u % 1000000000);
	json_end(j);
	json_bool(j, "is_positive", v > 0 || (v == 0 && r->change.present));
	json_end(j);
}

static void measureme_json(struct json *j, const struct tare_diff *d)
{
	json_object(j, NULL);
	json_array(j, "query_data");
	for (size_t i = 0; i < d->n_rows; i++) {
		const struct tare_diff_row *const r = &d->rows[i];
		const struct tare_diff_side *const b = &r->base, *const c = &r->change;
		const int64_t time = (int64_t)(c->time_mean - b->time_mean);
		json_object(j, NULL);
		json_str(j, "label", r->name);
		rust_signed(j, "time", r, time);
		json_f64(j, "time_change",
			 change_percent(r, (double)b->time_mean, (double)c->time_mean));
		rust_signed(j, "self_time", r, c->self_mean - b->self_mean);
		json_f64(j, "self_time_change",
			 change_percent(r, (double)b->self_mean, (double)c->self_mean));
		json_i64(j, "number_of_cache_misses", (int64_t)(c->misses_mean - b->misses_mean));
		json_i64(j, "number_of_cache_hits", (int64_t)(c->hits_mean - b->hits_mean));
		json_i64(j, "invocation_count", (int64_t)(c->count_mean - b->count_mean));
		rust_signed(j, "blocked_time", r, c->blocked_mean - b->blocked_mean);
		rust_signed(j, "incremental_load_time", r, c->load_mean - b->load_mean);
		rust_signed(j, "incremental_hashing_time", r, c->hashing_mean - b->hashing_mean);
		json_end(j);
	}
	json_end(j);
	json_array(j, "artifact_sizes");
	for (size_t i = 0; i < d->n_artifacts; i++) {
		json_object(j, NULL);
		json_str(j, "label", d->artifacts[i].name);
		json_i64(j, "size_change", d->artifacts[i].change);
		json_end(j);
	}
	json_end(j);
	rust_signed(j, "total_time", &d->total,
		    d->total.change.self_mean - d->total.base.self_mean);
	json_end(j);
}

int tare_diff_json(const struct tare_diff *d, const struct tare_diff_print *o, int fd,
		   struct tare_why *why)
{
	struct buf out = { 0 };
	struct json j = { .out = &out, .indent = !o->measureme };
	if (o->measureme) {
		measureme_json(&j, d);
	} else {
		json_object(&j, NULL);
		json_str(&j, "schema", "tare.diff/1");
		json_str(&j, "counter", d->info->counter);
		json_str(&j, "unit", d->info->unit);
		json_u64(&j, "base_runs", d->n_base);
		json_u64(&j, "change_runs", d->n_change);
		json_row(&j, "total", &d->total);
		json_array(&j, "rows");
		for (size_t i = 0; i < d->n_rows; i++)
			if (!excluded(o, d->rows[i].name))
				json_row(&j, NULL, &d->rows[i]);
		json_end(&j);
		json_array(&j, "artifacts");
		for (size_t i = 0; i < d->n_artifacts; i++) {
			json_object(&j, NULL);
			json_str(&j, "name", d->artifacts[i].name);
			json_i64(&j, "size_change", d->artifacts[i].change);
			json_end(&j);
		}
		json_end(&j);
		json_end(&j);
		buf_chr(&out, '\n');
	}
	const int err = sink_buf(&out, fd, why);
	buf_free(&out);
	return err;
}
