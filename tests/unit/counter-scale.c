/* Multiplex scaling: exact in 128 bits, and honest about what it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scale.h"

/* The chapter's worked example: 10,000 counted, enabled 500, running 300. */
static void the_chapters_example(void **state)
{
	const struct scaled s = scale_count(10000, 500, 300);
	assert_true(s.scaled);
	assert_false(s.never_ran);
	assert_true(s.value == 16666);
	assert_true(s.percent > 59.999 && s.percent < 60.001);
}

static void whole_time_is_not_scaled(void **state)
{
	const struct scaled s = scale_count(10000, 500, 500);
	assert_false(s.scaled);
	assert_true(s.value == 10000);
	assert_true(s.percent == 100.0);
	assert_false(scale_count(10000, 499, 500).scaled);
	assert_true(scale_count(10000, 499, 500).value == 10000);
}

static void zero_is_not_never(void **state)
{
	assert_true(scale_count(0, 500, 0).never_ran);
	assert_true(scale_count(0, 0, 0).never_ran);
	const struct scaled zero = scale_count(0, 500, 500);
	assert_false(zero.never_ran);
	assert_true(zero.value == 0);
	const struct scaled scaled_zero = scale_count(0, 500, 300);
	assert_true(scaled_zero.scaled && !scaled_zero.never_ran && scaled_zero.value == 0);
}

/* raw × enabled is beyond 64 bits after half an hour at 3 GHz. */
static void does_not_overflow(void **state)
{
	const uint64_t raw = 5400000000000, enabled = 1800000000000, running = 600000000000;
	assert_true(scale_count(raw, enabled, running).value == 16200000000000);
	assert_true(scale_count(UINT64_MAX / 2, 4, 3).value == (UINT64_MAX / 2) / 3 * 4 + 1);
	const struct scaled s = scale_count(UINT64_MAX, 4, 3);
	assert_true(s.overflowed);
	assert_true(s.value == UINT64_MAX);
	assert_false(scale_count(UINT64_MAX, 3, 3).overflowed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_chapters_example),
		cmocka_unit_test(whole_time_is_not_scaled),
		cmocka_unit_test(zero_is_not_never),
		cmocka_unit_test(does_not_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
