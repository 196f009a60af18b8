/* Arrays that grow from malloc's memory into a mapping of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "large.h"

static void check(const uint64_t *a, size_t n_filled, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] != (i < n_filled ? i + 1 : 0))
			fail_msg("element %zu is %llu", i, (unsigned long long)a[i]);
}

static void grows_with_zeros(void **state)
{
	static const size_t lengths[] = { 1, 100, LARGE_BYTES / 8 - 1, LARGE_BYTES / 8, LARGE_BYTES / 8 + 1,
					  LARGE_BYTES / 2, LARGE_BYTES / 2 };
	uint64_t *a = NULL;
	size_t old = 0;
	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		const size_t n = lengths[k];
		a = large_grow(a, old * sizeof(*a), n * sizeof(*a));
		assert_non_null(a);
		check(a, old, n);
		for (size_t i = old; i < n; i++)
			a[i] = i + 1;
		old = n;
	}
	large_free(a, old * sizeof(*a));
}

static void refuses_too_much(void **state)
{
	uint64_t *const a = large_grow(NULL, 0, 8);
	a[0] = 7;
	assert_null(large_grow(a, 8, SIZE_MAX / 2));
	assert_int_equal(a[0], 7);
	uint64_t *const b = large_grow(a, 8, LARGE_BYTES);
	assert_null(large_grow(b, LARGE_BYTES, SIZE_MAX / 2));
	assert_int_equal(b[0], 7);
	large_free(b, LARGE_BYTES);
	large_free(NULL, LARGE_BYTES);
	large_free(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_with_zeros),
		cmocka_unit_test(refuses_too_much),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
