/* Summaries as JSON, schema tare.summary/1. */
#include "summarize-show.h"

#include "json.h"
#include "profiles.h"

#include <math.h>
#include <stdlib.h>

static void put_row(struct json *j, const struct tare_summary *s,
		    const struct tare_summary_row *r)
{
	json_object(j, NULL);
	json_str(j, "name", r->name);
	json_i64(j, "self", r->self);
	json_f64(j, "self_percent", s->total ? self_percent(r->self, s->total) : NAN);
	json_u64(j, "total", r->time);
	json_u64(j, "count", r->count);
	json_u64(j, "cache_misses", r->misses);
	json_u64(j, "cache_hits", r->hits);
	json_u64(j, "blocked", r->blocked);
	json_i64(j, "loading", r->load);
	json_i64(j, "hashing", r->hashing);
	json_end(j);
}

static bool put_summary(struct json *j, const struct tare_summary *s,
			const struct summarize_show *o)
{
	const struct tare_summary_row **const rows = summarize_sorted(s, o->sort);
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
		if (!summarize_shows(s, rows[i], o))
			continue;
		put_row(j, s, rows[i]);
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

void summarize_json(const struct tare_summary *const *s, size_t n, const struct summarize_show *o,
		    struct buf *out)
{
	struct json j = { .out = out, .indent = true };
	json_object(&j, NULL);
	json_str(&j, "schema", "tare.summary/1");
	json_array(&j, "profiles");
	for (size_t i = 0; i < n; i++)
		out->failed |= !put_summary(&j, s[i], o);
	json_end(&j);
	json_end(&j);
	buf_chr(out, '\n');
}
