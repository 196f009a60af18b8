/* Values as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "quantity.h"

/* Rust prints these so (checked with rustc). */
static void prints_durations_as_rust_does(void **state)
{
	static const struct { uint64_t ns; const char *two, *all; } cases[] = {
		{ 0, "0.00ns", "0ns" }, { 999, "999.00ns", "999ns" },
		{ 1005, "1.00µs", "1.005µs" }, { 1015, "1.02µs", "1.015µs" },
		{ 1005000, "1.00ms", "1.005ms" }, { 1015000, "1.02ms", "1.015ms" },
		{ 999995000, "1000.00ms", "999.995ms" }, { 862550386, "862.55ms", "862.550386ms" },
		{ 1000000000, "1.00s", "1s" }, { 281474976710655, "281474.98s", "281474.976710655s" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf a = { 0 }, b = { 0 };
		rust_duration2(&a, cases[i].ns);
		rust_duration(&b, cases[i].ns);
		assert_string_equal(a.data, cases[i].two);
		assert_string_equal(b.data, cases[i].all);
		buf_free(&a);
		buf_free(&b);
	}
}

/* One value of several runs is ±0. */
static void ranges_have_a_spread(void **state)
{
	const struct tare_profile_info time = { .is_time = true, .unit = "ns" }, count = { .unit = "" };
	static const struct { bool time; int64_t min, max; const char *text; } cases[] = {
		{ false, 1234567, 1234567, "1,234,567 ±0" }, { false, 10, 13, "11.5 ±1.5" },
		{ false, -4, -2, "-3 ±1" }, { true, 1500, 1500, "1.500 us ±0 ns" },
		{ true, 1000, 1003, "1.001 us ±2 ns" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf b = { 0 };
		quantity_range(&b, cases[i].time ? &time : &count, cases[i].min, cases[i].max);
		assert_string_equal(b.data, cases[i].text);
		buf_free(&b);
	}
}

/* Shares of all sizes, those just at the middle between two hundredths among them. */
static void prints_percent_as_printf_does(void **state)
{
	uint64_t seed = 1;
	for (int i = 0; i < 20000; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		const double v = i % 3 == 0 ? (double)(seed >> 40) / 800
				 : i % 3 == 1 ? (double)(seed >> 11) / (1ull << (seed & 63))
				 : -(double)(seed >> 40);
		char want[64];
		snprintf(want, sizeof(want), "%.2f%%", v);
		struct buf b = { 0 };
		percent_add(&b, v);
		assert_string_equal(b.data, want);
		buf_free(&b);
	}
}

static void prints_quantities(void **state)
{
	const struct tare_profile_info time = { .is_time = true, .unit = "ns" }, count = { .unit = "" };
	static const struct { bool time; int64_t v; const char *text; } cases[] = {
		{ false, 0, "0" }, { false, 999, "999" }, { false, -1000, "-1,000" },
		{ false, 1002003, "1,002,003" }, { false, 100020, "100,020" },
		{ false, INT64_MIN, "-9,223,372,036,854,775,808" },
		{ true, 0, "0 ns" }, { true, 999, "999 ns" }, { true, 1000, "1.000 us" },
		{ true, -1999999, "-1.999 ms" }, { true, 1020030, "1.020 ms" },
		{ true, 1002003004, "1.002 s" }, { true, INT64_MAX, "9223372036.854 s" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf b = { 0 };
		quantity_add(&b, cases[i].time ? &time : &count, cases[i].v);
		assert_string_equal(b.data, cases[i].text);
		buf_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_durations_as_rust_does),
		cmocka_unit_test(ranges_have_a_spread),
		cmocka_unit_test(prints_percent_as_printf_does),
		cmocka_unit_test(prints_quantities),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
