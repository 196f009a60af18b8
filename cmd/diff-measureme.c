/* The difference between two groups of runs as measureme's `summarize diff` prints it, byte for
 * byte: every counter as ns. */
#include "diff-show.h"

#include "grid.h"
#include "json.h"
#include "quantity.h"

#include <inttypes.h>
#include <string.h>

static void cell(struct grid *g, const char *text)
{
	grid_cell(g, text, strlen(text));
}

/* A sign, then a Duration with all its digits. */
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
	rust_float(&g->text, diff_percent(r, base, change), 2, true);
	buf_chr(&g->text, '%');
	grid_done(g);
}

static void put_row(struct grid *g, const struct tare_diff_row *r, size_t longest)
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

void diff_measureme_text(const struct tare_diff *d, const struct diff_show *o, struct buf *out)
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
		if (!diff_excludes(o, d->rows[i].name))
			put_row(&g, &d->rows[i], longest);
	grid_framed(&g, out);
	buf_str(out, "Total cpu time: ");
	signed_duration(out, d->total.change.self_mean - d->total.base.self_mean, false);
	buf_chr(out, '\n');
	cell(&a, "Item");
	cell(&a, "Artifact Size Change");
	for (size_t i = 0; i < d->n_artifacts; i++) {
		if (diff_excludes(o, d->artifacts[i].name))
			continue;
		cell(&a, d->artifacts[i].name);
		buf_printf(&a.text, "%" PRId64 " bytes", d->artifacts[i].change);
		grid_done(&a);
	}
	grid_framed(&a, out);
	grid_free(&g);
	grid_free(&a);
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

void diff_measureme_json(const struct tare_diff *d, struct buf *out)
{
	struct json json = { .out = out }, *const j = &json;
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
			 diff_percent(r, (double)b->time_mean, (double)c->time_mean));
		rust_signed(j, "self_time", r, c->self_mean - b->self_mean);
		json_f64(j, "self_time_change",
			 diff_percent(r, (double)b->self_mean, (double)c->self_mean));
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
