/* Two tests have to agree that two groups of runs differ, each in the direction that is seen:
 *
 *	rank-sum (Wilcoxon, Mann and Whitney; exact, ties by midranks): if the groups were
 *	alike, the runs of one group would rank as high among all runs as they do in at most
 *	1 % of all ways to divide the runs. This bound holds for every distribution, also
 *	for discrete, skewed and bimodal ones. With 3 and 3 runs the rarest division has a
 *	chance of 1 in 20, which proves nothing: 4 and 5, or 5 and 5 runs are the fewest.
 *
 *	t (pooled standard deviation, n + m - 2 degrees of freedom): the difference of the
 *	means exceeds what normal noise of that spread gives once in 500 times. This keeps
 *	the rank test from reporting a difference that is small compared with the spread, and
 *	gives a margin in counts that can be shown.
 *
 * Where there are too few runs for the rank test, the t test at 1 % tells whether more runs
 * are worth while. The error rates in tare-compare(1) were found with tests/campaign/noise.py
 * and are tested in tests/unit/cmd-compare.c. */
#include "noise.h"

#include <math.h>
#include <stdlib.h>

static const double RANK_LEVEL = 0.01, T_LEVEL = 0.002, T_LEVEL_FEW = 0.01;
/* Above this many runs the normal approximation of the rank sum is good enough. */
enum { EXACT_RUNS = 64 };

/* ---- the t distribution ---- */

/* P(T > t) for t >= 0; Abramowitz and Stegun 26.7.3 and 26.7.4. */
static double t_tail(double t, size_t df)
{
	const double angle = atan(t / sqrt((double)df));
	const double s = sin(angle), c = cos(angle);
	double sum = 0, term = df % 2 ? c : 1;
	for (size_t k = df % 2 ? 1 : 0; k + 2 <= df; k += 2) {
		sum += term;
		term *= c * c * (double)(k + 1) / (double)(k + 2);
	}
	const double two_sided = df % 2 ? 2 / M_PI * (angle + s * sum) : s * sum;
	return (1 - two_sided) / 2;
}

static double t_quantile(double tail, size_t df)
{
	double low = 0, high = 1;
	while (t_tail(high, df) > tail && high < 1e9)
		high *= 2;
	for (int i = 0; i < 100; i++) {
		const double middle = (low + high) / 2;
		*(t_tail(middle, df) > tail ? &low : &high) = middle;
	}
	return high;
}

/* ---- ranks ---- */

struct noise_run {
	uint64_t value;
	bool second;			/* of the second group */
	size_t rank2;			/* twice the rank: midranks are halves */
};

static int by_value(const void *a, const void *b)
{
	const uint64_t x = ((const struct noise_run *)a)->value;
	const uint64_t y = ((const struct noise_run *)b)->value;
	return x < y ? -1 : x > y;
}

static void rank(struct noise_test *t, const uint64_t *a, const uint64_t *b)
{
	const size_t n = t->n + t->m;
	struct noise_run *const runs = t->runs;
	for (size_t i = 0; i < t->n; i++)
		runs[i] = (struct noise_run){ .value = a[i] };
	for (size_t i = 0; i < t->m; i++)
		runs[t->n + i] = (struct noise_run){ .value = b[i], .second = true };
	qsort(runs, n, sizeof(*runs), by_value);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && runs[end].value == runs[i].value; end++)
			;
		for (size_t k = i; k < end; k++)
			runs[k].rank2 = i + 1 + end;
	}
}

/* Share of all ways to choose m of the runs whose ranks sum up to at least `seen` (more)
 * or at most (fewer). ways[k][s]: ways to choose k of the runs so far with sum s. */
static double exact_share(struct noise_test *t, size_t seen, bool more)
{
	const size_t n = t->n + t->m, m = t->m, width = n * (n + 1) + 1;
	double *const ways = t->ways;
	double hit = 0, all = 0;
	for (size_t i = 0; i < (m + 1) * width; i++)
		ways[i] = 0;
	ways[0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t k = m; k >= 1; k--)
			for (size_t s = t->runs[i].rank2; s < width; s++)
				ways[k * width + s] += ways[(k - 1) * width + s - t->runs[i].rank2];
	for (size_t s = 0; s < width; s++) {
		all += ways[m * width + s];
		if (more ? s >= seen : s <= seen)
			hit += ways[m * width + s];
	}
	return hit / all;
}

/* The same by the normal approximation, with ties and continuity taken into account. */
static double normal_share(const struct noise_test *t, size_t seen, bool more)
{
	const struct noise_run *const runs = t->runs;
	const size_t n = t->n + t->m, m = t->m;
	double mean = 0, square = 0;
	for (size_t i = 0; i < n; i++)
		mean += (double)runs[i].rank2 / (double)n;
	for (size_t i = 0; i < n; i++)
		square += ((double)runs[i].rank2 - mean) * ((double)runs[i].rank2 - mean);
	const double sd = sqrt((double)m * (double)(n - m) / ((double)n * (double)(n - 1)) * square);
	const double above = (double)seen - (double)m * mean;
	const double far = (more ? above : -above) - 1;
	return sd > 0 ? erfc(far / sd / M_SQRT2) / 2 : 1;
}

static double rank_share(struct noise_test *t, const uint64_t *a, const uint64_t *b, bool more)
{
	const size_t n = t->n + t->m;
	size_t seen = 0;
	rank(t, a, b);
	for (size_t i = 0; i < n; i++)
		seen += t->runs[i].second ? t->runs[i].rank2 : 0;
	return n <= EXACT_RUNS ? exact_share(t, seen, more) : normal_share(t, seen, more);
}

/* ---- both ---- */

static double log_factorial(size_t n)
{
	int sign;
	return lgamma_r((double)n + 1, &sign);
}

/* 1 in (n + m over n): all new runs above all old ones, by chance. */
static double rarest(size_t n, size_t m)
{
	return exp(log_factorial(n) + log_factorial(m) - log_factorial(n + m));
}

bool noise_test_init(struct noise_test *t, size_t n, size_t m)
{
	const size_t all = n + m;
	*t = (struct noise_test){ .n = n, .m = m, .enough = rarest(n, m) <= RANK_LEVEL,
				  .factor = INFINITY };
	if (all > 2)
		t->factor = t_quantile(t->enough ? T_LEVEL : T_LEVEL_FEW, all - 2) *
			    sqrt(1 / (double)n + 1 / (double)m);
	t->runs = calloc(all, sizeof(*t->runs));
	t->ways = calloc(all <= EXACT_RUNS ? (m + 1) * (all * (all + 1) + 1) : 1, sizeof(*t->ways));
	if (t->runs && t->ways)
		return true;
	noise_test_free(t);
	return false;
}

void noise_test_free(struct noise_test *t)
{
	free(t->runs);
	free(t->ways);
}

struct group {
	uint64_t min, max;
	double mean;			/* above `low`, to keep the digits */
	double squares;			/* of the distances from the mean */
};

static struct group group_of(const uint64_t *values, size_t n)
{
	struct group g = { .min = values[0], .max = values[0] };
	for (size_t i = 1; i < n; i++) {
		g.min = values[i] < g.min ? values[i] : g.min;
		g.max = values[i] > g.max ? values[i] : g.max;
	}
	return g;
}

static void add_up(struct group *g, const uint64_t *values, size_t n, uint64_t low)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)(values[i] - low);
	g->mean = sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		const double d = (double)(values[i] - low) - g->mean;
		g->squares += d * d;
	}
}

struct noise noise_judge(struct noise_test *t, const uint64_t *a, const uint64_t *b, bool proof)
{
	const size_t n = t->n, m = t->m;
	struct group x = group_of(a, n), y = group_of(b, m);
	const uint64_t low = x.min < y.min ? x.min : y.min;
	add_up(&x, a, n, low);
	add_up(&y, b, m, low);
	struct noise o = { .difference = y.mean - x.mean, .margin = INFINITY };
	const bool steady = x.min == x.max && y.min == y.max;
	if (n + m > 2)
		o.margin = t->factor * sqrt((x.squares + y.squares) / (double)(n + m - 2));
	if (steady && x.min == y.min)
		o.verdict = NOISE_SAME;
	else if (n + m == 2)
		o.verdict = NOISE_ONE_EACH;
	else if (steady && proof)
		o.verdict = NOISE_BEYOND;
	else if (!(fabs(o.difference) > o.margin))
		o.verdict = NOISE_WITHIN;
	else if (!t->enough)
		o.verdict = NOISE_TOO_FEW;
	else
		o.verdict = rank_share(t, a, b, o.difference > 0) <= RANK_LEVEL ? NOISE_BEYOND
										 : NOISE_WITHIN;
	return o;
}
