/* Sorting by words gives the order that comparing values and texts gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "word-sort.h"

struct row {
	int64_t value;
	char text[40];
};

static bool row_word(const void *arg, uint32_t item, unsigned i, uint64_t *word)
{
	const struct row *const r = (const struct row *)arg + item;
	if (i)
		return text_word(r->text, i - 1, word);
	*word = descending(r->value);
	return true;
}

/* Equal rows by their number: the sort keeps their order. */
static int compare(const struct row *rows, uint32_t x, uint32_t y)
{
	if (rows[x].value != rows[y].value)
		return rows[x].value > rows[y].value ? -1 : 1;
	const int order = strcmp(rows[x].text, rows[y].text);
	return order ? order : x < y ? -1 : 1;
}

static void check(const struct row *rows, uint32_t n)
{
	uint32_t *const order = malloc((n + 1) * sizeof(*order));
	uint8_t *const seen = calloc(n + 1, 1);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	assert_true(word_sort(order, n, row_word, NULL, rows));
	for (uint32_t i = 0; i < n; i++) {
		assert_false(seen[order[i]]++);
		if (i)
			assert_true(compare(rows, order[i - 1], order[i]) < 0);
	}
	free(order);
	free(seen);
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

/* Few values and texts with long common beginnings, so that all words are needed. */
static void test_random(void **state)
{
	(void)state;
	static struct row rows[5000];
	uint64_t seed = 1;
	for (uint32_t n = 0; n < 5000; n = 2 * n + 1) {
		for (uint32_t i = 0; i < n; i++) {
			rows[i].value = (int64_t)(next_random(&seed) % 7) - 3;
			snprintf(rows[i].text, sizeof(rows[i].text), "%.*s%u",
				 (int)(next_random(&seed) % 24), "metadata_decode_entry_\xC3\xA9",
				 next_random(&seed) % 300);
		}
		check(rows, n);
	}
}

static void test_ends(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ 0, "12345678" }, { 0, "1234567" }, { 0, "" }, { 0, "123456789" }, { 0, "12345678" },
		{ INT64_MIN, "" }, { INT64_MAX, "" }, { -1, "\xFF" }, { -1, "a" }, { 1, "" }, { 0, "" },
	};
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
