/* A summary as a table or JSON: ours in the counter's unit, and measureme's, which
 * shows every counter as ns, byte for byte (rows of equal self value come in the
 * order of their names; measureme leaves that to its hash table). */
#include "grid.h"
#include "json.h"
#include "quantity.h"
#include "sink.h"
#include "why.h"

#include <tare/analysis.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The columns that only rustc's profiles fill. */
struct shown {
	bool hits, blocked, load, hashing;
};

static struct shown columns_of(const struct tare_summary *s, bool measureme)
{
	struct shown c = { 0 };
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct tare_summary_row *const r = &s->rows[i];
		c.hits |= r->hits > 0;
		c.blocked |= r->blocked > 0;
		c.load |= r->load > 0;
		c.hashing |= r->hashing > 0;
		/* measureme stops looking here, and can miss the last column */
		if (measureme && c.hits && c.blocked && c.load)
			break;
	}
	return c;
}

static double percent(int64_t self, uint64_t total)
{
	return (double)self / (double)total * 100.0;
}

static uint64_t key_of(const struct tare_summary_row *r, enum tare_sort key)
{
	switch (key) {
	case TARE_SORT_TIME: return r->time;
	case TARE_SORT_COUNT: return r->count;
	case TARE_SORT_HITS: return r->hits;
	default: return 0;
	}
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct tare_summary_row *const x = *(const struct tare_summary_row *const *)a;
	const struct tare_summary_row *const y = *(const struct tare_summary_row *const *)b;
	const enum tare_sort key = *(const enum tare_sort *)arg;
	const uint64_t kx = key_of(x, key), ky = key_of(y, key);
	if (kx != ky)
		return kx > ky ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* As asked; NULL: out of memory. */
static const struct tare_summary_row **sorted(const struct tare_summary *s, enum tare_sort key)
{
	const struct tare_summary_row **const rows = calloc(s->n_rows + 1, sizeof(*rows));
	for (size_t i = 0; rows && i < s->n_rows; i++)
		rows[i] = &s->rows[i];
	if (rows && key != TARE_SORT_SELF)	/* they come so */
		qsort_r(rows, s->n_rows, sizeof(*rows), compare_rows, &key);
	return rows;
}

static bool is_shown(const struct tare_summary *s, const struct tare_summary_row *r,
		     const struct tare_summary_print *o)
{
	return o->percent_above == 0 || percent(r->self, s->total) >= o->percent_above;
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
		percent_add(&g->text, percent(r->self, s->total));
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

static void own_text(const struct tare_summary *s, const struct tare_summary_row **rows,
		     const struct tare_summary_print *o, struct buf *out)
{
	const struct shown c = columns_of(s, false);
	struct grid g = { 0 };
	size_t shown = 0;
	double share = 0;
	own_head(s, out);
	own_title(&g, &c);
	for (size_t i = 0; i < s->n_rows && (!o->top || shown < o->top); i++) {
		if (i + AHEAD < s->n_rows)
			__builtin_prefetch(rows[i + AHEAD]->name);
		if (!is_shown(s, rows[i], o))
			continue;
		own_row(&g, s, &c, rows[i]);
		share += percent(rows[i]->self, s->total);
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

static void measureme_title(struct grid *g, const struct shown *c)
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

static void measureme_row(struct grid *g, const struct tare_summary *s, const struct shown *c,
			  const struct tare_summary_row *r, size_t longest)
{
	dotted_cell(g, r->name, longest);
	rust_cell(g, r->self);
	rust_float(&g->text, percent(r->self, s->total), 3, false);
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

static void measureme_text(const struct tare_summary *s, const struct tare_summary_print *o,
			   struct buf *out)
{
	const struct shown c = columns_of(s, true);
	const size_t longest = longest_name(s);
	struct grid g = { 0 };
	double share = 0;
	measureme_title(&g, &c);
	for (size_t i = 0; i < s->n_rows; i++) {
		const double p = percent(s->rows[i].self, s->total);
		if (p < o->percent_above)
			break;
		share += p;
		measureme_row(&g, s, &c, &s->rows[i], longest);
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

int tare_summary_text(const struct tare_summary *s, const struct tare_summary_print *o, int fd,
		      struct tare_why *why)
{
	struct buf out = { 0 };
	if (o->measureme) {
		measureme_text(s, o, &out);
	} else {
		const struct tare_summary_row **const rows = sorted(s, o->sort);
		if (rows)
			own_text(s, rows, o, &out);
		else
			out.failed = true;
		free(rows);
	}
	const int err = sink_buf(&out, fd, why);
	buf_free(&out);
	return err;
}

static void duration(struct json *j, const char *key, int64_t v)
{
	json_object(j, key);
	json_u64(j, "secs", (uint64_t)v / 1000000000);
	json_u64(j, "nanos", (uint64_t)v % 1000000000);
	json_end(j);
}

static void measureme_json(struct json *j, const struct tare_summary *s)
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

void json_profile_info(struct json *j, const struct tare_profile_info *i)
{
	json_str(j, "file", i->path);
	json_u64(j, "version", i->version);
	json_u64(j, "events", i->n_events);
	json_bool(j, "complete", i->complete);
	json_str(j, "counter", *i->counter ? i->counter : NULL);
	json_str(j, "unit", *i->unit ? i->unit : NULL);
	json_str(j, "provenance", *i->provenance ? i->provenance : NULL);
	json_str(j, "cpu", *i->cpu ? i->cpu : NULL);
	json_str(j, "command", i->has_metadata ? i->cmd : NULL);
	json_u64(j, "process", i->process_id);
	json_u64(j, "clamped", i->clamped);
	json_u64(j, "dropped", i->dropped);
	json_u64(j, "pages", i->pages);
	json_u64(j, "page_cost", i->page_cost);
}

static void own_json_row(struct json *j, const struct tare_summary *s,
			 const struct tare_summary_row *r)
{
	json_object(j, NULL);
	json_str(j, "name", r->name);
	json_i64(j, "self", r->self);
	json_f64(j, "self_percent", s->total ? percent(r->self, s->total) : NAN);
	json_u64(j, "total", r->time);
	json_u64(j, "count", r->count);
	json_u64(j, "cache_misses", r->misses);
	json_u64(j, "cache_hits", r->hits);
	json_u64(j, "blocked", r->blocked);
	json_i64(j, "loading", r->load);
	json_i64(j, "hashing", r->hashing);
	json_end(j);
}

static bool own_json(struct json *j, const struct tare_summary *s,
		     const struct tare_summary_print *o)
{
	const struct tare_summary_row **const rows = sorted(s, o->sort);
	if (!rows)
		return false;
	json_object(j, NULL);
	json_profile_info(j, s->info);
	json_u64(j, "threads", s->n_threads);
	json_u64(j, "intervals", s->n_intervals);
	json_u64(j, "instants", s->n_instants);
	json_u64(j, "integers", s->n_integers);
	json_u64(j, "total", s->total);
	json_array(j, "rows");
	size_t shown = 0;
	for (size_t i = 0; i < s->n_rows && (!o->top || shown < o->top); i++) {
		if (!is_shown(s, rows[i], o))
			continue;
		own_json_row(j, s, rows[i]);
		shown++;
	}
	json_end(j);
	json_array(j, "artifacts");
	for (size_t i = 0; i < s->n_artifacts; i++) {
		json_object(j, NULL);
		json_str(j, "name", s->artifacts[i].name);
		json_u64(j, "size", s->artifacts[i].value);
		json_end(j);
	}
	json_end(j);
	json_end(j);
	free(rows);
	return true;
}

int tare_summary_json(const struct tare_summary *const *s, size_t n,
		      const struct tare_summary_print *o, int fd, struct tare_why *why)
{
	struct buf out = { 0 };
	struct json j = { .out = &out, .indent = !o->measureme };
	if (o->measureme) {
		for (size_t i = 0; i < n; i++)
			measureme_json(&j, s[i]);
	} else {
		json_object(&j, NULL);
		json_str(&j, "schema", "tare.summary/1");
		json_array(&j, "profiles");
		for (size_t i = 0; i < n; i++)
			out.failed |= !own_json(&j, s[i], o);
		json_end(&j);
		json_end(&j);
		buf_chr(&out, '\n');
	}
	const int err = sink_buf(&out, fd, why);
	buf_free(&out);
	return err;
}
