/* Do two groups of runs differ by more than the program varies by itself?
 *
 * Two tests have to say so, each of the direction that is seen:
 *
 *	rank-sum (Wilcoxon, Mann and Whitney; exact, ties by midranks): were the groups
 *	alike, the runs of the one would rank as high among all runs as they do in at most
 *	1 % of all ways to divide the runs. This bound holds for every distribution, also
 *	for discrete, skewed and two-humped ones. With 3 and 3 runs the rarest division
 *	is 1 of 20, so that many runs prove nothing: 4 and 5, or 5 and 5, are the fewest.
 *
 *	t (pooled standard deviation, n + m - 2 degrees of freedom): the difference of the
 *	means is beyond what normal noise of that spread gives once in 500 times. It keeps
 *	the rank test from calling a difference that is small beside the spread, and gives
 *	a margin in counts that can be shown.
 *
 * Where there are too few runs for the first, the second at 1 % says whether more runs
 * are wanted. The error rates in tare-compare(1) were found with tests/campaign/noise.py
 * and are tested in tests/unit/cmd-compare.c. */
#include "compare.h"

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

struct run {
	uint64_t value;
	bool new;
	size_t rank2;			/* twice the rank: midranks are halves */
};

static int by_value(const void *a, const void *b)
{
	const uint64_t x = ((const struct run *)a)->value, y = ((const struct run *)b)->value;
	return x < y ? -1 : x > y;
}

static struct run *ranked(const struct compare_series *a, const struct compare_series *b)
{
	const size_t n = a->sum.n + b->sum.n;
	struct run *const runs = calloc(n, sizeof(*runs));
	if (!runs)
		abort();
	for (size_t i = 0; i < a->sum.n; i++)
		runs[i].value = a->values[i];
	for (size_t i = 0; i < b->sum.n; i++)
		runs[a->sum.n + i] = (struct run){ .value = b->values[i], .new = true };
	qsort(runs, n, sizeof(*runs), by_value);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && runs[end].value == runs[i].value; end++)
			;
		for (size_t k = i; k < end; k++)
			runs[k].rank2 = i + 1 + end;
	}
	return runs;
}

/* Share of all ways to choose m of the runs whose ranks sum up to at least `seen` (more)
 * or at most (fewer). ways[k][s]: ways to choose k of the runs so far with sum s. */
static double exact_share(const struct run *runs, size_t n, size_t m, size_t seen, bool more)
{
	const size_t width = n * (n + 1) + 1;
	double *const ways = calloc((m + 1) * width, sizeof(*ways));
	double hit = 0, all = 0;
	if (!ways)
		abort();
	ways[0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t k = m; k >= 1; k--)
			for (size_t s = runs[i].rank2; s < width; s++)
				ways[k * width + s] += ways[(k - 1) * width + s - runs[i].rank2];
	for (size_t s = 0; s < width; s++) {
		all += ways[m * width + s];
		if (more ? s >= seen : s <= seen)
			hit += ways[m * width + s];
	}
	free(ways);
	return hit / all;
}

/* The same by the normal approximation, with ties and continuity taken into account. */
static double normal_share(const struct run *runs, size_t n, size_t m, size_t seen, bool more)
{
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

static double rank_share(const struct compare_series *a, const struct compare_series *b, bool more)
{
	struct run *const runs = ranked(a, b);
	const size_t m = b->sum.n, n = a->sum.n + m;
	size_t seen = 0;
	for (size_t i = 0; i < n; i++)
		seen += runs[i].new ? runs[i].rank2 : 0;
	const double share = n <= EXACT_RUNS ? exact_share(runs, n, m, seen, more)
					     : normal_share(runs, n, m, seen, more);
	free(runs);
	return share;
}

/* ---- both ---- */

/* 1 in (n + m over n): all new runs above all old ones, by chance. */
static double rarest(size_t n, size_t m)
{
	return exp(-(lgamma((double)(n + m) + 1) - lgamma((double)n + 1) - lgamma((double)m + 1)));
}

bool compare_enough_runs(size_t n, size_t m)
{
	return rarest(n, m) <= RANK_LEVEL;
}

static double squares(const struct compare_series *s)
{
	return s->sum.n > 1 ? s->sum.stddev * s->sum.stddev * (double)(s->sum.n - 1) : 0;
}

static double mean_difference(const struct compare_series *a, const struct compare_series *b)
{
	const uint64_t low = a->sum.min < b->sum.min ? a->sum.min : b->sum.min;
	double x = 0, y = 0;		/* from the least value on, to keep the digits */
	for (size_t i = 0; i < a->sum.n; i++)
		x += (double)(a->values[i] - low) / (double)a->sum.n;
	for (size_t i = 0; i < b->sum.n; i++)
		y += (double)(b->values[i] - low) / (double)b->sum.n;
	return y - x;
}

struct compare_noise compare_noise(const struct compare_series *a, const struct compare_series *b)
{
	const size_t n = a->sum.n, m = b->sum.n, df = n + m - 2;
	struct compare_noise o = { .difference = mean_difference(a, b), .margin = INFINITY,
				   .enough = compare_enough_runs(n, m) };
	if (df == 0)
		return o;
	const double sd = sqrt((squares(a) + squares(b)) / (double)df);
	o.margin = t_quantile(o.enough ? T_LEVEL : T_LEVEL_FEW, df) * sd *
		   sqrt(1 / (double)n + 1 / (double)m);
	o.beyond = fabs(o.difference) > o.margin;
	if (o.beyond && o.enough)
		o.beyond = rank_share(a, b, o.difference > 0) <= RANK_LEVEL;
	return o;
}
