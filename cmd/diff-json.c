/* The difference between two groups of runs as JSON, schema tare.diff/1. */
#include "diff-show.h"

#include "json.h"

static void put_side(struct json *j, const char *key, const struct tare_diff_side *s)
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

static const char *verdict_name(enum tare_diff_verdict v)
{
	static const char *const names[] = {
		[TARE_DIFF_SAME] = "same", [TARE_DIFF_WITHIN] = "within", [TARE_DIFF_BEYOND] = "beyond",
		[TARE_DIFF_TOO_FEW] = "too-few-runs", [TARE_DIFF_ONE_EACH] = "one-run-each",
	};
	return names[v];
}

static void put_row(struct json *j, const char *key, const struct tare_diff_row *r)
{
	json_object(j, key);
	json_str(j, "name", r->name);
	put_side(j, "base", &r->base);
	put_side(j, "change", &r->change);
	json_i64(j, "self", r->self);
	json_f64(j, "self_percent", diff_percent(r, diff_middle(&r->base), diff_middle(&r->change)));
	json_i64(j, "gap", r->gap);
	json_bool(j, "beyond_variation",
		  r->verdict == TARE_DIFF_BEYOND || r->verdict == TARE_DIFF_ONE_EACH);
	json_str(j, "verdict", verdict_name(r->verdict));
	json_end(j);
}

void diff_json(const struct tare_diff *d, const struct diff_show *o, struct buf *out)
{
	struct json j = { .out = out, .indent = true };
	json_object(&j, NULL);
	json_str(&j, "schema", "tare.diff/1");
	json_str(&j, "counter", d->info->counter);
	json_str(&j, "unit", d->info->unit);
	json_u64(&j, "base_runs", d->n_base);
	json_u64(&j, "change_runs", d->n_change);
	put_row(&j, "total", &d->total);
	json_array(&j, "rows");
	for (size_t i = 0; i < d->n_rows; i++)
		if (!diff_excludes(o, d->rows[i].name))
			put_row(&j, NULL, &d->rows[i]);
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
	buf_chr(out, '\n');
}
