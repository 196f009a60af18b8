/* Options of callers that were compiled with older and newer headers. */
#include "options-copy.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

/* Three versions of one struct; the library has the second. */
struct old { size_t size; int a, b; };
struct now { size_t size; int a, b; uint64_t c; };
struct newer { size_t size; int a, b; uint64_t c, d; };

static struct tare_why why;

static int copy(struct now *n, const void *given)
{
	memset(n, 0x55, sizeof(*n));
	memset(&why, 0, sizeof(why));
	const int err = options_copy(n, sizeof(*n), given, "tare_now_options", &why);
	assert_int_equal(options_copy(n, sizeof(*n), given, "tare_now_options", NULL), err);
	assert_int_equal(why.code, err);
	assert_int_equal(n->size, sizeof(*n));
	return err;
}

static void none_is_all_zero(void **state)
{
	struct now n;
	assert_int_equal(copy(&n, NULL), 0);
	assert_true(n.a == 0 && n.b == 0 && n.c == 0);
}

static void older_lacks_fields(void **state)
{
	struct now n;
	assert_int_equal(copy(&n, &(struct old){ sizeof(struct old), 7, 8 }), 0);
	assert_true(n.a == 7 && n.b == 8 && n.c == 0);
	/* What lies behind the caller's struct is not read. */
	const struct now longer = { offsetof(struct now, c), 7, 8, 9 };
	assert_int_equal(copy(&n, &longer), 0);
	assert_true(n.a == 7 && n.b == 8 && n.c == 0);
}

static void same_is_copied(void **state)
{
	struct now n;
	assert_int_equal(copy(&n, &(struct now){ sizeof(struct now), 7, 8, 9 }), 0);
	assert_true(n.a == 7 && n.b == 8 && n.c == 9);
}

static void newer_must_be_zero(void **state)
{
	struct now n;
	assert_int_equal(copy(&n, &(struct newer){ sizeof(struct newer), 7, 8, 9, 0 }), 0);
	assert_true(n.a == 7 && n.b == 8 && n.c == 9);
	assert_int_equal(copy(&n, &(struct newer){ sizeof(struct newer), 7, 8, 9, 1 }),
			 TARE_E_OPTION_UNKNOWN);
	assert_non_null(strstr(why.what, "tare_now_options"));
	assert_int_equal(n.a, 0);
}

static void size_must_be_set(void **state)
{
	struct now n;
	assert_int_equal(copy(&n, &(struct now){ 0, 7, 8, 9 }), TARE_E_INVALID);
	assert_non_null(strstr(why.what, "given as 0"));
	assert_non_null(strstr(tare_why_remedy(&why), "_INIT"));
	assert_int_equal(copy(&n, &(struct now){ (size_t)-1, 7, 8, 9 }), TARE_E_INVALID);
	assert_int_equal(copy(&n, &(struct now){ 4104, 7, 8, 9 }), TARE_E_INVALID);
	/* a field would be cut in two */
	assert_int_equal(copy(&n, &(struct now){ 12, 7, 8, 9 }), TARE_E_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_is_all_zero),
		cmocka_unit_test(older_lacks_fields),
		cmocka_unit_test(same_is_copied),
		cmocka_unit_test(newer_must_be_zero),
		cmocka_unit_test(size_must_be_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
