/* Two groups of runs, name by name. */
#include "names.h"

#include "noise.h"
#include "options-copy.h"
#include "why.h"

#include <tare/analysis.h>

#include <stdlib.h>

struct tare_diff_store {
	struct names names, artifacts;
};

struct side_sum {
	__int128 self, time, count, misses, hits, blocked, load, hashing;
	int64_t min, max;
	size_t n;
};

struct sums {
	struct side_sum base, change;
};

/* By name. */
struct gathered {
	struct sums *sums;
	uint64_t *values;	/* self values, n_runs for each name: the base's, then the change's,
				 * with their top bit inverted (noise.h) */
	size_t n_runs;
	uint32_t cap;		/* names */
};

#define SIGN (1ull << 63)

static void add(struct side_sum *s, const struct tare_summary_row *r)
{
	s->min = s->n && s->min < r->self ? s->min : r->self;
	s->max = s->n && s->max > r->self ? s->max : r->self;
	s->self += r->self;
	s->time += r->time;
	s->count += r->count;
	s->misses += r->misses;
	s->hits += r->hits;
	s->blocked += r->blocked;
	s->load += r->load;
	s->hashing += r->hashing;
	s->n++;
}

/* A run without the name had 0 of it. */
static struct tare_diff_side side(const struct side_sum *s, size_t n)
{
	struct tare_diff_side d = { .present = s->n > 0 };
	const __int128 runs = (__int128)n;
	d.self_min = s->n < n && s->min > 0 ? 0 : s->min;
	d.self_max = s->n < n && s->max < 0 ? 0 : s->max;
	d.self_mean = (int64_t)(s->self / runs);
	d.time_mean = (uint64_t)(s->time / runs);
	d.count_mean = (uint64_t)(s->count / runs);
	d.misses_mean = (uint64_t)(s->misses / runs);
	d.hits_mean = (uint64_t)(s->hits / runs);
	d.blocked_mean = (int64_t)(s->blocked / runs);
	d.load_mean = (int64_t)(s->load / runs);
	d.hashing_mean = (int64_t)(s->hashing / runs);
	return d;
}

static const enum tare_diff_verdict verdict_of[] = {
	[NOISE_SAME] = TARE_DIFF_SAME, [NOISE_WITHIN] = TARE_DIFF_WITHIN,
	[NOISE_BEYOND] = TARE_DIFF_BEYOND, [NOISE_TOO_FEW] = TARE_DIFF_TOO_FEW,
	[NOISE_ONE_EACH] = TARE_DIFF_ONE_EACH,
};

static void judge(struct tare_diff_row *r, struct noise_test *t, const uint64_t *values, bool proof)
{
	r->self = (int64_t)(((__int128)r->change.self_min + r->change.self_max -
			     r->base.self_min - r->base.self_max) / 2);
	if (r->change.self_min > r->base.self_max)
		r->gap = r->change.self_min - r->base.self_max;
	else if (r->change.self_max < r->base.self_min)
		r->gap = r->change.self_max - r->base.self_min;
	r->verdict = verdict_of[noise_judge(t, values, values + t->n, proof).verdict];
}

/* Exact and corrected counts are the same in every run of a program that does the same. */
static bool is_proof(const struct tare_summary *const *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *const p = s[i]->info->provenance;
		if (strcmp(p, "exact") != 0 && strcmp(p, "corrected") != 0)
			return false;
	}
	return true;
}

static int by_difference(const void *a, const void *b)
{
	const struct tare_diff_row *const x = a, *const y = b;
	const int64_t dx = x->self < 0 ? -x->self : x->self, dy = y->self < 0 ? -y->self : y->self;
	if (dx != dy)
		return dx > dy ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_change(const void *a, const void *b)
{
	const struct tare_diff_artifact *const x = a, *const y = b;
	if (x->change != y->change)
		return x->change > y->change ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool grow(struct gathered *g)
{
	const uint32_t cap = g->cap ? 2 * g->cap : 256;
	struct sums *const sums = realloc(g->sums, cap * sizeof(*sums));
	g->sums = sums ? sums : g->sums;
	uint64_t *const values = realloc(g->values, cap * g->n_runs * sizeof(*values));
	g->values = values ? values : g->values;
	if (!sums || !values)
		return false;
	memset(sums + g->cap, 0, (cap - g->cap) * sizeof(*sums));
	for (size_t i = g->cap * g->n_runs; i < cap * g->n_runs; i++)
		values[i] = SIGN;		/* a run without the name has 0 of it */
	g->cap = cap;
	return true;
}

/* The runs of one group; `first` is the number of its first run. */
static int gather(struct tare_diff *d, const struct tare_summary *const *s, size_t n,
		  struct gathered *g, size_t first)
{
	struct names *const names = &d->store->names;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < s[i]->n_rows; k++) {
			const struct tare_summary_row *const r = &s[i]->rows[k];
			const uint32_t name = names_add(names, r->name, strlen(r->name));
			if (name == NO_NAME || (name >= g->cap && !grow(g)))
				return TARE_E_NOMEM;
			add(first ? &g->sums[name].change : &g->sums[name].base, r);
			g->values[name * g->n_runs + first + i] = (uint64_t)r->self ^ SIGN;
		}
	}
	return 0;
}

static int make_rows(struct tare_diff *d, const struct gathered *g, struct noise_test *t, bool proof)
{
	const uint32_t n = d->store->names.n;
	d->rows = calloc(n + 1, sizeof(*d->rows));
	if (!d->rows)
		return TARE_E_NOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct tare_diff_row r = { .name = names_text(&d->store->names, i),
					   .base = side(&g->sums[i].base, d->n_base),
					   .change = side(&g->sums[i].change, d->n_change) };
		judge(&r, t, g->values + i * g->n_runs, proof);
		d->rows[d->n_rows++] = r;
	}
	qsort(d->rows, d->n_rows, sizeof(*d->rows), by_difference);
	return 0;
}

/* The events of one run, whatever their names. */
static struct tare_summary_row total_row(const struct tare_summary *s)
{
	struct tare_summary_row row = { .self = (int64_t)s->total, .time = s->total };
	for (size_t i = 0; i < s->n_rows; i++)
		row.count += s->rows[i].count;
	return row;
}

static int make_total(struct tare_diff *d, const struct tare_summary *const *base,
		      const struct tare_summary *const *change, struct noise_test *t, bool proof)
{
	struct side_sum b = { 0 }, c = { 0 };
	uint64_t *const values = calloc(d->n_base + d->n_change, sizeof(*values));
	if (!values)
		return TARE_E_NOMEM;
	for (size_t i = 0; i < d->n_base + d->n_change; i++) {
		const bool new = i >= d->n_base;
		const struct tare_summary_row row = total_row(new ? change[i - d->n_base] : base[i]);
		add(new ? &c : &b, &row);
		values[i] = row.time ^ SIGN;
	}
	d->total = (struct tare_diff_row){ .name = "total", .base = side(&b, d->n_base),
					   .change = side(&c, d->n_change) };
	judge(&d->total, t, values, proof);
	free(values);
	return 0;
}

static int add_artifacts(struct tare_diff *d, const struct tare_summary *s, bool change)
{
	struct names *const names = &d->store->artifacts;
	for (size_t i = 0; i < s->n_artifacts; i++) {
		const struct tare_artifact *const a = &s->artifacts[i];
		const uint32_t old = names->n;
		const uint32_t k = names_add(names, a->name, strlen(a->name));
		if (k == NO_NAME)
			return TARE_E_NOMEM;
		if (k == old) {
			struct tare_diff_artifact *const grown =
				realloc(d->artifacts, names->n * sizeof(*grown));
			if (!grown)
				return TARE_E_NOMEM;
			d->artifacts = grown;
			grown[k] = (struct tare_diff_artifact){ .name = a->name };
			d->n_artifacts = names->n;
		}
		if (change) {
			d->artifacts[k].in_change = true;
			d->artifacts[k].now = a->value;
		} else {
			d->artifacts[k].in_base = true;
			d->artifacts[k].base = a->value;
		}
	}
	return 0;
}

/* Sizes do not vary; the first run of each group stands for it. */
static int make_artifacts(struct tare_diff *d, const struct tare_summary *base,
			  const struct tare_summary *change)
{
	int err = add_artifacts(d, base, false);
	if (err == 0)
		err = add_artifacts(d, change, true);
	for (size_t i = 0; i < d->n_artifacts; i++)
		d->artifacts[i].change = (int64_t)d->artifacts[i].now - (int64_t)d->artifacts[i].base;
	if (d->n_artifacts)
		qsort(d->artifacts, d->n_artifacts, sizeof(*d->artifacts), by_change);
	return err;
}

static int check(const struct tare_summary *const *base, size_t n_base,
		 const struct tare_summary *const *change, size_t n_change, bool any_counter,
		 struct tare_why *why)
{
	if (!base || !n_base || !change || !n_change)
		return why_set(why, TARE_E_INVALID, "a group without a profile");
	const struct tare_profile_info *const x = base[0]->info;
	for (size_t i = 1; i < n_base + n_change; i++) {
		const struct tare_profile_info *const y =
			i < n_base ? base[i]->info : change[i - n_base]->info;
		if (!any_counter && strcmp(x->counter, y->counter) != 0)
			return why_set(why, TARE_E_MISMATCH, "%.80s counts %s, %.80s %s", x->path,
				       x->counter, y->path, y->counter);
	}
	return 0;
}

static int difference(struct tare_diff *d, const struct tare_summary *const *base,
		      const struct tare_summary *const *change, struct noise_test *t)
{
	struct gathered g = { .n_runs = d->n_base + d->n_change };
	const bool proof = is_proof(base, d->n_base) && is_proof(change, d->n_change);
	int err = gather(d, base, d->n_base, &g, 0);
	if (err == 0)
		err = gather(d, change, d->n_change, &g, d->n_base);
	if (err == 0)
		err = make_rows(d, &g, t, proof);
	if (err == 0)
		err = make_artifacts(d, base[0], change[0]);
	if (err == 0)
		err = make_total(d, base, change, t, proof);
	free(g.sums);
	free(g.values);
	return err;
}

int tare_diff(const struct tare_summary *const *base, size_t n_base,
	      const struct tare_summary *const *change, size_t n_change,
	      const struct tare_diff_options *given, struct tare_diff **out, struct tare_why *why)
{
	struct tare_diff_options o;
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the difference");
	*out = NULL;
	int err = options_copy(&o, sizeof(o), given, "tare_diff_options", why);
	if (err == 0)
		err = check(base, n_base, change, n_change, o.any_counter, why);
	if (err < 0)
		return err;
	struct noise_test t = { 0 };
	struct tare_diff *const d = calloc(1, sizeof(*d));
	if (d)
		d->store = calloc(1, sizeof(*d->store));
	if (!d || !d->store || !noise_test_init(&t, n_base, n_change)) {
		free(d ? d->store : NULL);
		free(d);
		return why_set(why, TARE_E_NOMEM, "difference");
	}
	d->info = base[0]->info;
	d->n_base = n_base;
	d->n_change = n_change;
	err = difference(d, base, change, &t);
	noise_test_free(&t);
	if (err < 0) {
		tare_diff_free(d);
		return why_set(why, err, "difference");
	}
	*out = d;
	return 0;
}

void tare_diff_free(struct tare_diff *d)
{
	if (!d)
		return;
	names_free(&d->store->names);
	names_free(&d->store->artifacts);
	free(d->store);
	free(d->rows);
	free(d->artifacts);
	free(d);
}
