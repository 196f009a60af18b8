/* Option tables: every way to write an option, and every way to get it wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "command.h"

struct sample {
	bool flag, other;
	unsigned number, twice;
	double real;
	uint64_t big;
	const char *text, *events, *sep;
	struct opt_list list;
	int choice;
};

static const char *const words[] = { "auto", "hw", "soft", NULL };

static const struct opt opts[] = {
	{ OPT_GROUP, .help = "Things" },
	{ OPT_FLAG, 'f', "flag", NULL, "a flag", TO(sample, flag) },
	{ OPT_FLAG, 'g', "other-flag", NULL, "a flag", TO(sample, other) },
	{ OPT_UINT, 'n', "number", "N", "a number", TO(sample, number), .min = 1, .max = 1000 },
	{ OPT_REAL, 0, "real", "X", "a real", TO(sample, real), .min = 0, .max = 10 },
	{ OPT_U64, 0, "big", "N", "a big one", TO(sample, big) },
	{ OPT_STRING, 't', "text", "TEXT", "a text", TO(sample, text) },
	{ OPT_EVENTS, 'e', "event", "LIST", "events", TO(sample, events) },
	{ OPT_STRING, 'x', "separate", "SEP", "separator", TO(sample, sep), .optional = true },
	{ OPT_LIST, 'l', "list", "ITEM", "items", TO(sample, list) },
	{ OPT_CHOICE, 0, "choice", "WORD", "a word", TO(sample, choice), .choices = words },
	{ OPT_COUNT, 'd', "twice", NULL, "more of it", TO(sample, twice) },
	{ OPT_REFUSED, 'G', "gone", .help = "there is no such thing" },
	{ OPT_END },
};

static const struct command command = {
	.name = "sample", .usage = "", .summary = "", .opts = opts,
};
static const struct command runner = {
	.name = "sample", .usage = "", .summary = "", .opts = opts, .runs_command = true,
};

const struct command *const commands[] = { &command, NULL };

/* Parses the words of `line`; the arguments stay in `argv`. */
static bool parse(const struct command *c, const char *line, struct sample *s, int *argc,
		  char **argv, int *first)
{
	static char copy[512];
	snprintf(copy, sizeof(copy), "sample %s", line);
	*argc = 0;
	for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
		argv[(*argc)++] = w;
	argv[*argc] = NULL;
	*s = (struct sample){ 0 };
	return opts_parse(c, argc, argv, s, first);
}

static void every_way_to_write_it(void **state)
{
	struct sample s;
	char *argv[64];
	int argc, first;
	assert_true(parse(&command,
			  "-fg -n5 --real 2.5 --big=0x10 -t hello -e a -e b,c --choice=soft "
			  "-l one --list two -dd --twi x y",
			  &s, &argc, argv, &first));
	assert_true(s.flag && s.other);
	assert_int_equal(s.number, 5);
	assert_int_equal(s.twice, 3);
	assert_true(s.real == 2.5);
	assert_int_equal(s.big, 16);
	assert_string_equal(s.text, "hello");
	assert_string_equal(s.events, "a,b,c");
	assert_int_equal(s.choice, 2);
	assert_int_equal(s.list.n, 2);
	assert_string_equal(s.list.items[1], "two");
	assert_int_equal(argc - first, 2);
	assert_string_equal(argv[first], "x");
	assert_null(s.sep);
	free(s.list.items);
	free((char *)s.events);
}

static void operands_and_options_mix(void **state)
{
	struct sample s;
	char *argv[64];
	int argc, first;
	assert_true(parse(&command, "a -f b - -- -g", &s, &argc, argv, &first));
	assert_true(s.flag);
	assert_false(s.other);
	assert_int_equal(argc - first, 4);
	assert_string_equal(argv[first + 2], "-");
	assert_string_equal(argv[first + 3], "-g");
	assert_null(argv[first + 4]);
}

static void a_command_keeps_its_options(void **state)
{
	struct sample s;
	char *argv[64];
	int argc, first;
	assert_true(parse(&runner, "-f ls -g -- x", &s, &argc, argv, &first));
	assert_true(s.flag);
	assert_false(s.other);
	assert_int_equal(argc - first, 4);
	assert_string_equal(argv[first], "ls");
	assert_string_equal(argv[first + 2], "--");
	assert_true(parse(&runner, "-f -- -g", &s, &argc, argv, &first));
	assert_int_equal(argc - first, 1);
	assert_string_equal(argv[first], "-g");
}

static void an_optional_value_is_joined(void **state)
{
	struct sample s;
	char *argv[64];
	int argc, first;
	assert_true(parse(&command, "-x; a", &s, &argc, argv, &first));
	assert_string_equal(s.sep, ";");
	assert_true(parse(&command, "-x a", &s, &argc, argv, &first));
	assert_string_equal(s.sep, "");
	assert_int_equal(argc - first, 1);
}

/* stderr of one parse, as text. */
static char *complaint(const char *line, int *status)
{
	static char text[4096];
	char *argv[64];
	struct sample s;
	int argc;
	int pipes[2];
	assert_int_equal(pipe(pipes), 0);
	const int saved = dup(2);
	dup2(pipes[1], 2);
	const bool went = parse(&command, line, &s, &argc, argv, status);
	fflush(stderr);
	dup2(saved, 2);
	close(saved);
	close(pipes[1]);
	assert_false(went);
	const ssize_t n = read(pipes[0], text, sizeof(text) - 1);
	close(pipes[0]);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void every_way_to_get_it_wrong(void **state)
{
	static const struct { const char *line, *says; } bad[] = {
		{ "--flga", "tare: sample: unknown option --flga; did you mean --flag?" },
		{ "--nummber 3", "did you mean --number?" },
		{ "--t", "--t can be --text or --twice" },
		{ "--gone", "tare: sample: --gone: there is no such thing" },
		{ "-G3", "--gone: there is no such thing" },
		{ "--gon", "unknown option --gon" },
		{ "--zzzzzzzz", "unknown option --zzzzzzzz; `tare sample --help` lists them" },
		{ "-Q", "unknown option -Q" },
		{ "-fQ", "unknown option -Q" },
		{ "-n", "--number wants a value: --number N" },
		{ "--number", "--number wants a value" },
		{ "-n 0", "--number wants a whole number from 1 to 1000, not \"0\"" },
		{ "-n 1001", "not \"1001\"" },
		{ "-n -5", "not \"-5\"" },
		{ "-n 5x", "not \"5x\"" },
		{ "-n 99999999999999999999", "not \"99999999999999999999\"" },
		{ "--real nan", "not \"nan\"" },
		{ "--real 1e999", "not \"1e999\"" },
		{ "--real 11", "a number from 0 to 10" },
		{ "--big 0x", "not \"0x\"" },
		{ "--choice hard", "--choice wants one of auto, hw, soft, not \"hard\"" },
		{ "--flag=yes", "--flag takes no value, but got \"yes\"" },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int status = 0;
		const char *const text = complaint(bad[i].line, &status);
		assert_int_equal(status, EXIT_USAGE);
		if (strncmp(text, "tare: ", 6) != 0 || !strstr(text, bad[i].says))
			fail_msg("%s: said \"%s\"", bad[i].line, text);
	}
}

static void nearest_is_near(void **state)
{
	static const char *const names[] = { "stat", "compare", "doctor", NULL };
	assert_string_equal(nearest_word("sta", names), "stat");
	assert_string_equal(nearest_word("tsat", names), "stat");
	assert_string_equal(nearest_word("comp", names), "compare");
	assert_null(nearest_word("xyzzy", names));
	assert_null(nearest_word("", names));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_to_write_it),
		cmocka_unit_test(operands_and_options_mix),
		cmocka_unit_test(a_command_keeps_its_options),
		cmocka_unit_test(an_optional_value_is_joined),
		cmocka_unit_test(every_way_to_get_it_wrong),
		cmocka_unit_test(nearest_is_near),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
