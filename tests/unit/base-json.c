/* JSON written is JSON read; bad JSON names the byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "json.h"

static void writes_what_it_reads(void **state)
{
	struct buf b = { 0 };
	struct json j = { .out = &b };
	json_object(&j, NULL);
	json_str(&j, "s", "a\"\\\n\xff\xc3\xa9");
	json_u64(&j, "n", UINT64_MAX);
	json_array(&j, "a");
	json_bool(&j, NULL, true);
	json_null(&j, NULL);
	json_i64(&j, NULL, -5);
	json_end(&j);
	json_end(&j);
	assert_string_equal(b.data, "{\"s\":\"a\\\"\\\\\\u000a\xef\xbf\xbd\xc3\xa9\","
				    "\"n\":18446744073709551615,\"a\":[true,null,-5]}");

	struct json_node *root;
	assert_int_equal(json_parse(b.data, b.len, &root, NULL), 0);
	uint64_t n;
	assert_true(json_to_u64(json_get(root, "n"), &n));
	assert_true(n == UINT64_MAX);
	assert_string_equal(json_get(root, "s")->text, "a\"\\\n\xef\xbf\xbd\xc3\xa9");
	json_free(root);
	buf_free(&b);
}

static void names_the_byte(void **state)
{
	static const struct { const char *text, *what; } bad[] = {
		{ "", "byte 0: expected a value" },
		{ "[1,", "byte 3: expected a value" },
		{ "{\"a\" 1}", "byte 5: expected ':'" },
		{ "[1] x", "byte 4: expected end of text" },
		{ "\"abc", "byte 1: expected closing quote" },
		{ "[\"\\q\"]", "expected a valid escape" },
		{ "nul", "byte 0: expected a value" },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct json_node *root;
		struct tare_why why;
		assert_int_equal(json_parse(bad[i].text, strlen(bad[i].text), &root, &why),
				 TARE_E_FORMAT);
		assert_null(root);
		if (!strstr(why.what, bad[i].what))
			fail_msg("%s: got \"%s\"", bad[i].text, why.what);
	}
	char deep[201];
	memset(deep, '[', 200);
	struct json_node *root;
	assert_int_equal(json_parse(deep, 200, &root, NULL), TARE_E_FORMAT);
}

static void groups_digits(void **state)
{
	struct buf b = { 0 };
	buf_grouped(&b, 1234567);
	buf_chr(&b, ' ');
	buf_grouped(&b, 999);
	buf_chr(&b, ' ');
	buf_grouped(&b, UINT64_MAX);
	assert_string_equal(b.data, "1,234,567 999 18,446,744,073,709,551,615");
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_what_it_reads),
		cmocka_unit_test(names_the_byte),
		cmocka_unit_test(groups_digits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
