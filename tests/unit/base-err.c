/* The numbers of the errors are part of the ABI: they never change. */
#include <tare/err.h>
#include <tare/version.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

/* The errors of all versions, by number. A new error is added at the end; no line changes. */
static const char *const numbers[] = {
	[1] = "NOMEM",
	[2] = "INVALID",
	[3] = "IO",
	[4] = "NO_FILE",
	[5] = "FORMAT",
	[6] = "SYNTAX",
	[7] = "EVENT_UNKNOWN",
	[8] = "EVENT_NOT_ON_CPU",
	[9] = "EVENT_UNCOUNTABLE",
	[10] = "EVENT_UNSUPPORTED",
	[11] = "NO_PMU",
	[12] = "PARANOID",
	[13] = "PERMISSION",
	[14] = "SECCOMP",
	[15] = "NO_PERF",
	[16] = "BUSY",
	[17] = "TOO_MANY_FILES",
	[18] = "NO_COUNTERS",
	[19] = "WATCHDOG",
	[20] = "RDPMC_FORBIDDEN",
	[21] = "WRONG_CORE",
	[22] = "WIDTH",
	[23] = "STOLEN",
	[24] = "NOT_SCHEDULED",
	[25] = "NOT_OPENED",
	[26] = "FORKED",
	[27] = "WRONG_THREAD",
	[28] = "NO_COMMAND",
	[29] = "NOT_EXECUTABLE",
	[30] = "NO_PROCESS",
	[31] = "TIMEOUT",
	[32] = "NO_ATTACH",
	[33] = "NO_PTRACE",
	[34] = "NO_PROC",
	[35] = "TRACED",
	[36] = "NO_ENGINE",
	[37] = "ENGINE",
	[38] = "NOT_COUNTED",
	[39] = "MISMATCH",
	[40] = "RANGE",
	[41] = "NOSPC",
	[42] = "UNTESTED_CPU",
	[43] = "VIRTUAL_KERNEL",
	[44] = "TRACEPOINT",
	[45] = "DELAY",
	[46] = "OPTION_UNKNOWN",
	[47] = "NEVER_ON",
	[48] = "WHOLE_ONLY",
	[49] = "MACHINE",
	[50] = "INTERRUPTED",
};
#define N_NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static void numbers_are_kept(void **state)
{
	for (size_t i = 1; i < N_NUMBERS; i++)
		assert_string_equal(tare_err_name(-(int)i), numbers[i]);
	assert_string_equal(tare_err_name(-(int)N_NUMBERS), "UNKNOWN");
	assert_int_equal(TARE_OK, 0);
	assert_int_equal(TARE_E_NOMEM, -1);
}

static void every_error_is_in_the_list(void **state)
{
#define IN_LIST(name, number, sentence, remedy)                                                    \
	assert_in_range(number, 1, N_NUMBERS - 1);                                                 \
	assert_string_equal(numbers[number], #name);                                               \
	assert_int_equal(TARE_E_##name, -(number));
	TARE_ERR_LIST(IN_LIST)
#undef IN_LIST
}

static void every_error_has_a_text(void **state)
{
	assert_string_equal(tare_err_name(TARE_OK), "OK");
	assert_string_equal(tare_err_name(TARE_E_NO_PMU), "NO_PMU");
	assert_string_equal(tare_err_name(-TARE_E_NO_PMU), "NO_PMU");
	assert_string_equal(tare_err_name(-9999), "UNKNOWN");
	assert_string_equal(tare_err_name(INT32_MIN), "UNKNOWN");
#define HAS_TEXT(name, number, sentence, remedy)                                                   \
	assert_true(strlen(tare_err_sentence(TARE_E_##name)) > 5);                                 \
	assert_string_equal(tare_err_remedy(TARE_E_##name), remedy);
	TARE_ERR_LIST(HAS_TEXT)
#undef HAS_TEXT
	assert_string_equal(tare_why_remedy(NULL), "");
}

/* Header, library and build agree; PROJECT_VERSION comes from meson.build. */
static void versions_agree(void **state)
{
	char text[32];
	snprintf(text, sizeof(text), "%d.%d.%d", TARE_VERSION_MAJOR, TARE_VERSION_MINOR,
		 TARE_VERSION_PATCH);
	assert_string_equal(text, PROJECT_VERSION);
	assert_string_equal(TARE_VERSION, PROJECT_VERSION);
	assert_string_equal(tare_version(), PROJECT_VERSION);
	assert_int_equal(tare_version_number(), TARE_VERSION_NUMBER);
	assert_int_equal(TARE_VERSION_NUMBER, TARE_VERSION_MAJOR * 10000 +
			 TARE_VERSION_MINOR * 100 + TARE_VERSION_PATCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_kept),
		cmocka_unit_test(every_error_is_in_the_list),
		cmocka_unit_test(every_error_has_a_text),
		cmocka_unit_test(versions_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
