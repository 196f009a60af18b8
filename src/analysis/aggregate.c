/* What the runs of one program have in common, and where they vary: the results of lining
 * them up (line-up.c), as tables. */
#include "line-up.h"

#include "options-copy.h"
#include "why.h"

#include <math.h>
#include <stdlib.h>

static int by_number(double x, double y)
{
	return x > y ? -1 : x < y;
}

static double relative(const struct tare_macro_row *r)
{
	const double middle = fabs((double)r->min + (double)r->max) / 2;
	const double half = ((double)r->max - (double)r->min) / 2;
	return half == 0 ? 0 : middle > 0 ? half / middle : INFINITY;
}

static int compare_macro(const void *a, const void *b, void *arg)
{
	const struct tare_macro_row *const x = a, *const y = b;
	int order = 0;
	switch (*(const enum tare_macro_sort *)arg) {
	case TARE_MACRO_VARIATION: {
		const uint64_t dx = (uint64_t)x->max - (uint64_t)x->min;
		const uint64_t dy = (uint64_t)y->max - (uint64_t)y->min;
		order = dx > dy ? -1 : dx < dy;
		break;
	}
	case TARE_MACRO_PERCENT:
		order = by_number(relative(x), relative(y));
		break;
	case TARE_MACRO_NAME:
		return strcmp(x->name, y->name);
	default:
		break;
	}
	if (order)
		return order;
	if (x->max != y->max)
		return x->max > y->max ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int make_macro(struct line_up *s)
{
	struct tare_aggregate *const a = s->a;
	const struct tare_aggregate_store *const st = s->st;
	a->macro = calloc(st->names.n + 1, sizeof(*a->macro));
	if (!a->macro)
		return line_up_no_memory(s);
	for (uint32_t i = 0; i < st->names.n; i++) {
		struct tare_macro_row row = { .name = names_text(&st->names, i), .min = INT64_MAX,
					      .max = INT64_MIN, .min_count = UINT64_MAX };
		for (size_t r = 0; r < s->n; r++) {
			const struct points_run *const run = &st->run[r];
			const bool has = i + 1 < run->n_sum;
			const int64_t v = has ? run->sum[i + 1].self : 0;
			const uint64_t c = has ? run->sum[i + 1].count : 0;
			s->value[r] = v;
			row.min = v < row.min ? v : row.min;
			row.max = v > row.max ? v : row.max;
			row.min_count = c < row.min_count ? c : row.min_count;
			row.max_count = c > row.max_count ? c : row.max_count;
		}
		row.outlier = outlier_of(s->value, s->n);
		if (row.max_count)
			a->macro[a->n_macro++] = row;
	}
	enum tare_macro_sort sort = s->o->sort;
	qsort_r(a->macro, a->n_macro, sizeof(*a->macro), compare_macro, &sort);
	a->total_min = UINT64_MAX;
	for (size_t r = 0; r < s->n; r++) {
		const uint64_t total = st->run[r].total;
		s->value[r] = (int64_t)total;
		a->total_min = total < a->total_min ? total : a->total_min;
		a->total_max = total > a->total_max ? total : a->total_max;
	}
	a->total_outlier = outlier_of(s->value, s->n);
	return 0;
}

static int by_variation(const void *a, const void *b)
{
	const struct tare_name_variation *const x = a, *const y = b;
	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int make_by_name(struct line_up *s)
{
	struct tare_aggregate *const a = s->a;
	const struct tare_aggregate_store *const st = s->st;
	a->by_name = calloc(st->n_varied + 1, sizeof(*a->by_name));
	if (!a->by_name)
		return line_up_no_memory(s);
	for (uint32_t i = 0; i < st->n_varied; i++) {
		if (!st->varied[i].n)
			continue;
		a->by_name[a->n_by_name] = st->varied[i];
		a->by_name[a->n_by_name++].name = i ? names_text(&st->names, i - 1) : "";
	}
	qsort(a->by_name, a->n_by_name, sizeof(*a->by_name), by_variation);
	return st->run[0].err;
}

static uint64_t difference_sum(const struct tare_difference *d, size_t n)
{
	uint64_t sum = 0;
	for (size_t r = 0; r < n; r++)
		sum += d->counts[r];
	return sum;
}

static int by_sum(const void *a, const void *b, void *arg)
{
	const struct tare_difference *const x = a, *const y = b;
	const size_t n = *(const size_t *)arg;
	const uint64_t sx = difference_sum(x, n), sy = difference_sum(y, n);
	if (sx != sy)
		return sx > sy ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int make_differences(struct line_up *s)
{
	struct tare_aggregate *const a = s->a;
	struct tare_aggregate_store *const st = s->st;
	a->differences = calloc(st->differing.n + 1, sizeof(*a->differences));
	if (!a->differences)
		return line_up_no_memory(s);
	for (uint32_t i = 0; i < st->differing.n; i++)
		a->differences[a->n_differences++] = (struct tare_difference){
			names_text(&st->differing, i), st->counts + i * s->n };
	qsort_r(a->differences, a->n_differences, sizeof(*a->differences), by_sum, &s->n);
	return 0;
}

static bool alloc_extremes(struct tare_extremes *e, size_t limit)
{
	e->list = calloc(limit + 1, sizeof(*e->list));
	return e->list != NULL;
}

static int make_results(struct line_up *s)
{
	struct tare_aggregate *const a = s->a;
	line_up_end(s);
	for (size_t r = 0; r < s->n; r++) {
		profile_warn(a->runs[r], TARE_PROFILE_OVERLAP, s->st->run[r].overlaps);
		profile_warn(a->runs[r], TARE_PROFILE_BACKWARDS, s->st->run[r].backwards);
	}
	int err = make_macro(s);
	if (err == 0)
		err = make_by_name(s);
	if (err == 0)
		err = make_differences(s);
	return err;
}

/* 1: not together. */
static int aggregate(struct line_up *s, bool together)
{
	struct tare_aggregate *const a = s->a;
	struct tare_aggregate_store *const st = s->st;
	st->run = calloc(s->n, sizeof(*st->run));
	s->value = calloc(s->n, sizeof(*s->value));
	s->last_owner = NO_RECORD;
	if (!st->run || !s->value || !alloc_extremes(&a->smallest, st->limit) ||
	    !alloc_extremes(&a->largest, st->limit) ||
	    !alloc_extremes(&a->smallest_range, st->limit) ||
	    !alloc_extremes(&a->largest_range, st->limit))
		return line_up_no_memory(s);
	int err = 0;
	for (size_t r = 0; err == 0 && r < s->n; r++) {
		err = points_run_init(&st->run[r], a->runs[r], &st->names, s->why);
		st->run[r].nest_empty = s->o->nest_empty;
		a->n_events += a->runs[r]->info.n_events;
	}
	if (err == 0)
		err = together ? line_up_together(s) : line_up_threads(s);
	return err ? err : make_results(s);
}

static int one_try(struct tare_profile **runs, size_t n, const struct tare_aggregate_options *o,
		   bool together, struct tare_aggregate **out, struct tare_why *why)
{
	struct tare_aggregate *const a = calloc(1, sizeof(*a));
	struct tare_aggregate_store *const st = calloc(1, sizeof(*st));
	if (!a || !st) {
		free(a);
		free(st);
		return why_set(why, TARE_E_NOMEM, "aggregating");
	}
	a->store = st;
	a->runs = runs;
	a->n_runs = n;
	st->limit = o->limit ? o->limit : 10;
	struct line_up s = { .st = st, .a = a, .o = o, .n = n, .least_wanted = UINT64_MAX,
			     .why = why };
	const int err = aggregate(&s, together);
	free(s.value);
	if (err)
		tare_aggregate_free(a);
	else
		*out = a;
	return err;
}

/* What a try that failed found to warn of is found again. */
static void copy_warnings(struct tare_profile *p, uint64_t *copy, bool back)
{
	for (unsigned k = 0; k < TARE_PROFILE_WARNINGS; k++) {
		if (back)
			p->warned[k] = copy[k];
		else
			copy[k] = p->warned[k];
	}
}

/* What cannot be compared: another counter. */
static int check_runs(struct tare_profile **runs, size_t n, bool any_counter, struct tare_why *why)
{
	if (!runs || n == 0)
		return why_set(why, TARE_E_INVALID, "no profile");
	for (size_t r = 1; r < n && !any_counter; r++) {
		const struct tare_profile_info *const x = &runs[0]->info, *const y = &runs[r]->info;
		if (strcmp(x->counter, y->counter) != 0)
			return why_set(why, TARE_E_MISMATCH, "%.80s counts %s, %.80s %s", x->path,
				       x->counter, y->path, y->counter);
	}
	return 0;
}

int tare_aggregate(struct tare_profile **runs, size_t n, const struct tare_aggregate_options *given,
		   struct tare_aggregate **out, struct tare_why *why)
{
	struct tare_aggregate_options o;
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the aggregate");
	*out = NULL;
	int err = options_copy(&o, sizeof(o), given, "tare_aggregate_options", why);
	if (err == 0)
		err = check_runs(runs, n, o.any_counter, why);
	if (err < 0)
		return err;
	uint64_t (*const warned)[TARE_PROFILE_WARNINGS] = calloc(n, sizeof(*warned));
	if (!warned)
		return why_set(why, TARE_E_NOMEM, "aggregating");
	for (size_t r = 0; r < n; r++)
		copy_warnings(runs[r], warned[r], false);
	err = o.identical ? 1 : one_try(runs, n, &o, true, out, why);
	if (err == 1) {
		for (size_t r = 0; r < n; r++)
			copy_warnings(runs[r], warned[r], true);
		err = one_try(runs, n, &o, false, out, why);
	}
	free(warned);
	return err;
}

void tare_aggregate_free(struct tare_aggregate *a)
{
	if (!a)
		return;
	struct tare_aggregate_store *const st = a->store;
	for (size_t r = 0; st->run && r < a->n_runs; r++)
		points_run_free(&st->run[r]);
	free(st->run);
	names_free(&st->names);
	names_free(&st->differing);
	free(st->counts);
	free(st->varied);
	free(a->by_name);
	free(st);
	free(a->smallest.list);
	free(a->largest.list);
	free(a->smallest_range.list);
	free(a->largest_range.list);
	free(a->macro);
	free(a->differences);
	free(a);
}
