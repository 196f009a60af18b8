/* How often blocks ran, from their cells (abi.h). */
#include "abi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void cells(void **state)
{
	(void)state;
	/* no two blocks share one, and the two of a block are half a page apart */
	static uint8_t taken[4 * 1024];
	for (uint32_t id = 0; id < 1024; id++) {
		const uint64_t first = soft_cell(id), other = first + SOFT_CELLS_AWAY;
		assert_true(first / 512 == other / 512 && (other - first) * 8 == 2048);
		assert_false(taken[first]++ || taken[other]++);
	}
}

static void runs(void **state)
{
	(void)state;
	assert_true(soft_runs(0, 7, 100, 200) == 7);
	/* the block before it ran 100 times, 7 of them left */
	assert_true(soft_runs(1, 7, 100, 200) == 93);
	/* two before it 200 times, 100 took its branch, 7 left before it */
	assert_true(soft_runs(2, 7, 100, 200) == 93);
}

/* Read while they change: more have left than came. */
static void runs_of_a_running_thread(void **state)
{
	(void)state;
	assert_true(soft_runs(1, 101, 100, 200) == 0);
	assert_true(soft_runs(2, 7, 201, 200) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells),
		cmocka_unit_test(runs),
		cmocka_unit_test(runs_of_a_running_thread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
