/* The two ± of several runs, with figures that can be checked by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "summary.h"

static void check(void (*put)(struct buf *, const struct summary *, bool),
		  const struct summary *s, const char *want)
{
	struct buf b = { 0 };
	put(&b, s, true);
	assert_string_equal(b.data, want);
	buf_free(&b);
}

static void check_mean(const struct summary *s, const char *want)
{
	struct buf b = { 0 };
	put_mean(&b, s);
	assert_string_equal(b.data, want);
	buf_free(&b);
}

static void check_percent(double percent, const char *want)
{
	struct buf b = { 0 };
	put_percent(&b, percent);
	assert_string_equal(b.data, want);
	buf_free(&b);
}

/* The report's "17351035832.5 ±4.5 (±~0.00000003%)". */
static void half_counts_are_kept(void **state)
{
	static const uint64_t v[] = { 17351035828, 17351035837, 17351035830 };
	struct summary s;
	summarize_values(&s, v, 3);
	check(put_midpoint, &s, "17,351,035,832.5");
	check(put_half_range, &s, "4.5");
	assert_true(summary_percent(&s) > 2.5e-8 && summary_percent(&s) < 2.7e-8);
	check_percent(summary_percent(&s), "0.000000026");
}

/* 1, 2, 6: mean 3, farthest value 3 away; variance (4 + 1 + 9) / 2 = 7. */
static void mean_and_distance(void **state)
{
	static const uint64_t v[] = { 1, 2, 6 };
	struct summary s;
	summarize_values(&s, v, 3);
	assert_true(s.mean == 3 && s.distance == 3);
	assert_true(s.stddev * s.stddev > 6.999999 && s.stddev * s.stddev < 7.000001);
	check(put_midpoint, &s, "3.5");
	check(put_half_range, &s, "2.5");
	check_mean(&s, "3");
}

static void means_are_rounded_to_tenths(void **state)
{
	static const uint64_t v[] = { 1, 1, 2 };
	struct summary s;
	summarize_values(&s, v, 3);
	check_mean(&s, "1.3");
}

static void the_largest_counts_do_not_overflow(void **state)
{
	static const uint64_t v[] = { UINT64_MAX, UINT64_MAX - 1, UINT64_MAX };
	struct summary s;
	summarize_values(&s, v, 3);
	check(put_midpoint, &s, "18,446,744,073,709,551,614.5");
	check(put_half_range, &s, "0.5");
	check_mean(&s, "18,446,744,073,709,551,614.7");
	assert_true(s.distance > 0.66 && s.distance < 0.67);
}

static void one_value_and_none(void **state)
{
	static const uint64_t v[] = { 7 };
	struct summary s;
	summarize_values(&s, v, 1);
	assert_true(s.stddev == 0 && s.distance == 0 && s.mean == 7);
	assert_true(summary_percent(&s) == 0);
	summarize_values(&s, v, 0);
	assert_int_equal(s.n, 0);
	static const uint64_t zeros[] = { 0, 0 };
	summarize_values(&s, zeros, 2);
	assert_true(summary_percent(&s) == 0);
}

static void reals_and_percents(void **state)
{
	struct buf b = { 0 };
	put_real(&b, 1234567.891, 2);
	buf_chr(&b, ' ');
	put_real(&b, 0.5, 1);
	buf_chr(&b, ' ');
	put_real(&b, -1000, 0);
	assert_string_equal(b.data, "1,234,567.89 0.5 -1,000");
	buf_free(&b);
	check_percent(0, "0");
	check_percent(5.23, "5.2");
	check_percent(0.00004, "0.00004");
	check_percent(0.000042, "0.000042");
	check_percent(123.4, "123");
	check_percent(5, "5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_counts_are_kept),
		cmocka_unit_test(mean_and_distance),
		cmocka_unit_test(means_are_rounded_to_tenths),
		cmocka_unit_test(the_largest_counts_do_not_overflow),
		cmocka_unit_test(one_value_and_none),
		cmocka_unit_test(reals_and_percents),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
