/* A summary as measureme's `summarize` prints it: every counter as ns, byte for byte (rows of
 * equal self value are in the order of their names; measureme leaves that order to its hash
 * table). */
#include "summarize-show.h"

#include "grid.h"
#include "json.h"
#include "quantity.h"

#include <inttypes.h>
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
		/* measureme stops looking here, and can miss the last column */
		if (c.hits && c.blocked && c.load)
			break;
	}
	return c;
}

static void text_cell(struct grid *g, const char *text)
{
	grid_cell(g, text, strlen(text));
}

static void rust_cell(struct grid *g, int64_t v)
{
	rust_duration2(&g->text, (uint64_t)v);
	grid_done(g);
}

static void plain_count(struct grid *g, uint64_t n)
{
	buf_printf(&g->text, "%" PRIu64, n);
	grid_done(g);
}

/* The label, a space, dots up to the longest label's bytes. */
static void dotted_cell(struct grid *g, const char *name, size_t longest)
{
	const size_t len = strlen(name);
	buf_add(&g->text, name, len);
	buf_chr(&g->text, ' ');
	for (size_t i = len + 1; i < longest; i++)
		buf_chr(&g->text, '.');
	grid_done(g);
}

static size_t longest_name(const struct tare_summary *s)
{
	size_t longest = 0;
	for (size_t i = 0; i < s->n_rows; i++)
		if (strlen(s->rows[i].name) > longest)
			longest = strlen(s->rows[i].name);
	return longest;
}

static void put_title(struct grid *g, const struct shown *c)
{
	static const char *const always[] = { "Item", "Self time", "% of total time", "Time",
					      "Item count" };
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		text_cell(g, always[i]);
	if (c->hits)
		text_cell(g, "Cache hits");
	if (c->blocked)
		text_cell(g, "Blocked time");
	if (c->load)
		text_cell(g, "Incremental load time");
	if (c->hashing)
		text_cell(g, "Incremental result hashing time");
	g->columns = g->n;
}

static void put_row(struct grid *g, const struct tare_summary *s, const struct shown *c,
		    const struct tare_summary_row *r, size_t longest)
{
	dotted_cell(g, r->name, longest);
	rust_cell(g, r->self);
	rust_float(&g->text, self_percent(r->self, s->total), 3, false);
	grid_done(g);
	rust_cell(g, (int64_t)r->time);
	plain_count(g, r->count);
	if (c->hits)
		plain_count(g, r->hits);
	if (c->blocked)
		rust_cell(g, (int64_t)r->blocked);
	if (c->load)
		rust_cell(g, r->load);
	if (c->hashing)
		rust_cell(g, r->hashing);
}

void summarize_measureme_text(const struct tare_summary *s, const struct summarize_show *o,
			      struct buf *out)
{
	const struct shown c = columns_of(s);
	const size_t longest = longest_name(s);
	struct grid g = { 0 };
	double share = 0;
	put_title(&g, &c);
	for (size_t i = 0; i < s->n_rows; i++) {
		const double p = self_percent(s->rows[i].self, s->total);
		if (p < o->percent_above)
			break;
		share += p;
		put_row(&g, s, &c, &s->rows[i], longest);
	}
	grid_framed(&g, out);
	grid_free(&g);
	buf_str(out, "Total cpu time: ");
	rust_duration(out, s->total);
	buf_chr(out, '\n');
	if (o->percent_above != 0) {
		buf_str(out, "Filtered results account for ");
		rust_float(out, share, 3, false);
		buf_str(out, "% of total time.\n");
	}
	struct grid a = { .columns = 2 };
	text_cell(&a, "Item");
	text_cell(&a, "Artifact Size");
	for (size_t i = 0; i < s->n_artifacts; i++) {
		text_cell(&a, s->artifacts[i].name);
		buf_printf(&a.text, "%" PRIu64 " bytes", s->artifacts[i].value);
		grid_done(&a);
	}
	grid_framed(&a, out);
	grid_free(&a);
}

static void duration(struct json *j, const char *key, int64_t v)
{
	json_object(j, key);
	json_u64(j, "secs", (uint64_t)v / 1000000000);
	json_u64(j, "nanos", (uint64_t)v % 1000000000);
	json_end(j);
}

static void put_json(struct json *j, const struct tare_summary *s)
{
	json_object(j, NULL);
	json_array(j, "query_data");
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct tare_summary_row *const r = &s->rows[i];
		json_object(j, NULL);
		json_str(j, "label", r->name);
		duration(j, "time", (int64_t)r->time);
		duration(j, "self_time", r->self);
		json_u64(j, "number_of_cache_misses", r->misses);
		json_u64(j, "number_of_cache_hits", r->hits);
		json_u64(j, "invocation_count", r->count);
		duration(j, "blocked_time", (int64_t)r->blocked);
		duration(j, "incremental_load_time", r->load);
		duration(j, "incremental_hashing_time", r->hashing);
		json_end(j);
	}
	json_end(j);
	json_array(j, "artifact_sizes");
	for (size_t i = 0; i < s->n_artifacts; i++) {
		json_object(j, NULL);
		json_str(j, "label", s->artifacts[i].name);
		json_u64(j, "value", s->artifacts[i].value);
		json_end(j);
	}
	json_end(j);
	duration(j, "total_time", (int64_t)s->total);
	json_end(j);
}

void summarize_measureme_json(const struct tare_summary *const *s, size_t n, struct buf *out)
{
	struct json j = { .out = out };
	for (size_t i = 0; i < n; i++)
		put_json(&j, s[i]);
}
