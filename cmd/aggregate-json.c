/* The variation over runs as JSON, schema tare.aggregate/1. */
#include "aggregate-show.h"

#include "json.h"
#include "profiles.h"

static void put_outlier(struct json *j, size_t outlier)
{
	if (outlier)
		json_u64(j, "outlier_run", outlier);
	else
		json_null(j, "outlier_run");
}

static int put_extremes(struct json *j, const struct tare_aggregate *a, const char *key,
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
			err = aggregate_put_place(a, &e->list[i], false, &text, why);
			json_strn(j, "where", text.data ? text.data : "", text.len);
			json_u64(j, "thread", e->list[i].thread);
			if (ranges)
				put_outlier(j, e->list[i].outlier);
			buf_free(&text);
		}
		json_end(j);
	}
	json_end(j);
	return err;
}

static void put_macro(struct json *j, const struct tare_aggregate *a)
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
		put_outlier(j, r->outlier);
		json_end(j);
	}
	json_end(j);
}

static void put_by_name(struct json *j, const struct tare_aggregate *a)
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

static void put_differences(struct json *j, const struct tare_aggregate *a)
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

int aggregate_json(const struct tare_aggregate *a, const struct aggregate_show *o, struct buf *out,
		   struct tare_why *why)
{
	struct json j = { .out = out, .indent = true };
	json_object(&j, NULL);
	json_str(&j, "schema", "tare.aggregate/1");
	json_array(&j, "profiles");
	for (size_t r = 0; r < a->n_runs; r++) {
		json_object(&j, NULL);
		json_profile_info(&j, tare_profile_info(a->runs[r]));
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
	put_macro(&j, a);
	put_by_name(&j, a);
	int err = put_extremes(&j, a, "smallest_durations", &a->smallest, false, why);
	if (err == 0)
		err = put_extremes(&j, a, "largest_durations", &a->largest, false, why);
	if (err == 0)
		err = put_extremes(&j, a, "smallest_ranges", &a->smallest_range, true, why);
	if (err == 0)
		err = put_extremes(&j, a, "largest_ranges", &a->largest_range, true, why);
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
	put_differences(&j, a);
	json_end(&j);
	buf_chr(out, '\n');
	return err;
}
