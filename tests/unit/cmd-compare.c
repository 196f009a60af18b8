/* Verdicts: what is proof, what is noise, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compare.h"

/* A file of runs with one event. */
struct sample {
	const char *event, *provenance, *more;	/* more: members of every count */
	const char *backend;
	int status;
	size_t n;
	uint64_t values[8];
};

static void write_sample(const struct sample *s, const char *path)
{
	FILE *const f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "{\"schema\":\"tare.stat/1\",\"command\":[\"x\"],\"backend\":\"%s\",\"runs\":[",
		s->backend ? s->backend : "soft");
	for (size_t i = 0; i < s->n; i++)
		fprintf(f, "%s{\"exit_status\":%d,\"wall_ns\":1000,\"counts\":[{\"event\":\"%s\","
			   "\"value\":%llu,\"unit\":\"\",\"provenance\":\"%s\"%s}]}",
			i ? "," : "", s->status, s->event, (unsigned long long)s->values[i],
			s->provenance, s->more ? s->more : "");
	fputs("]}", f);
	assert_int_equal(fclose(f), 0);
}

static struct sample exact(size_t n, uint64_t a, uint64_t b)
{
	struct sample s = { .event = "i", .provenance = "exact", .n = n };
	for (size_t i = 0; i < n; i++)
		s.values[i] = i % 2 ? b : a;
	return s;
}

static struct sample raw(size_t n, uint64_t a, uint64_t b)
{
	struct sample s = exact(n, a, b);
	s.provenance = "raw";
	s.backend = "hw";
	return s;
}

static enum compare_verdict judge(struct sample a, struct sample b,
				  const struct compare_rules *r)
{
	char dir[] = "/tmp/tare-compare-XXXXXX", pa[64], pb[64];
	struct compare_file fa, fb;
	struct comparison c;
	struct tare_why why;
	assert_non_null(mkdtemp(dir));
	snprintf(pa, sizeof(pa), "%s/a", dir);
	snprintf(pb, sizeof(pb), "%s/b", dir);
	write_sample(&a, pa);
	write_sample(&b, pb);
	assert_int_equal(compare_load(&fa, pa, &why), 0);
	assert_int_equal(compare_load(&fb, pb, &why), 0);
	compare_judge(&c, &fa, &fb, r);
	const enum compare_verdict v = c.verdict;
	compare_free(&c);
	compare_unload(&fa);
	compare_unload(&fb);
	unlink(pa);
	unlink(pb);
	rmdir(dir);
	return v;
}

static void exact_counts_are_proof_to_the_last_one(void **state)
{
	const struct compare_rules r = { 0 };
	const uint64_t big = UINT64_MAX - 10;	/* where doubles are 2048 apart */
	assert_int_equal(judge(exact(1, 100, 0), exact(1, 100, 0), &r), COMPARE_SAME);
	assert_int_equal(judge(exact(1, 100, 0), exact(1, 101, 0), &r), COMPARE_REGRESSION);
	assert_int_equal(judge(exact(1, 100, 0), exact(1, 99, 0), &r), COMPARE_IMPROVED);
	assert_int_equal(judge(exact(1, big, 0), exact(1, big + 1, 0), &r), COMPARE_REGRESSION);
	assert_int_equal(judge(exact(1, big, 0), exact(1, big, 0), &r), COMPARE_SAME);
}

static void their_own_spread_is_respected(void **state)
{
	const struct compare_rules r = { 0 };
	assert_int_equal(judge(exact(2, 100, 104), exact(2, 103, 109), &r), COMPARE_SAME);
	assert_int_equal(judge(exact(2, 100, 104), exact(2, 105, 109), &r), COMPARE_REGRESSION);
	assert_int_equal(judge(exact(2, 100, 104), exact(1, 104, 0), &r), COMPARE_SAME);
}

static void raw_counts_need_runs_or_a_threshold(void **state)
{
	const struct compare_rules none = { 0 };
	struct compare_threshold one = { .percent = 1, .absolute = -1 };
	const struct compare_rules percent = { .thresholds = &one, .n_thresholds = 1 };
	assert_int_equal(judge(raw(1, 100, 0), raw(1, 150, 0), &none), COMPARE_CANNOT);
	assert_int_equal(judge(raw(4, 100, 101), raw(4, 150, 151), &none), COMPARE_CANNOT);
	assert_int_equal(judge(raw(5, 100, 101), raw(5, 150, 151), &none), COMPARE_REGRESSION);
	assert_int_equal(judge(raw(5, 100, 101), raw(5, 101, 102), &none), COMPARE_SAME);
	assert_int_equal(judge(raw(1, 1000, 0), raw(1, 1010, 0), &percent), COMPARE_SAME);
	assert_int_equal(judge(raw(1, 1000, 0), raw(1, 1011, 0), &percent), COMPARE_REGRESSION);
}

static void thresholds_by_event_and_kind(void **state)
{
	struct compare_threshold t[] = {
		{ .percent = -1, .absolute = 5 },
		{ .event = "i=…", .event_len = 1, .percent = -1, .absolute = 20 },
	};
	const struct compare_rules both = { .thresholds = t, .n_thresholds = 2 };
	const struct compare_rules all = { .thresholds = t, .n_thresholds = 1 };
	assert_int_equal(judge(exact(1, 100, 0), exact(1, 105, 0), &all), COMPARE_SAME);
	assert_int_equal(judge(exact(1, 100, 0), exact(1, 106, 0), &all), COMPARE_REGRESSION);
	assert_int_equal(judge(exact(1, 100, 0), exact(1, 120, 0), &both), COMPARE_SAME);
	assert_int_equal(judge(exact(1, 100, 0), exact(1, 121, 0), &both), COMPARE_REGRESSION);
}

static void what_is_refused(void **state)
{
	const struct compare_rules none = { 0 };
	const struct compare_rules allow = { .allow_scaled = true };
	const struct compare_rules change = { .any_change = true };
	struct sample scaled = raw(5, 100, 101), failed = exact(1, 100, 0);
	struct sample user = exact(1, 100, 0), other = exact(1, 100, 0);
	scaled.provenance = "scaled";
	failed.status = 1;
	user.more = ",\"user_only\":true";
	other.event = "j";
	assert_int_equal(judge(scaled, scaled, &none), COMPARE_CANNOT);
	assert_int_equal(judge(scaled, scaled, &allow), COMPARE_SAME);
	assert_int_equal(judge(exact(1, 100, 0), failed, &none), COMPARE_CANNOT);
	assert_int_equal(judge(exact(1, 100, 0), user, &none), COMPARE_CANNOT);
	assert_int_equal(judge(exact(1, 100, 0), other, &none), COMPARE_CANNOT);
	assert_int_equal(judge(exact(5, 100, 100), raw(5, 100, 100), &none), COMPARE_CANNOT);
	assert_int_equal(judge(exact(0, 0, 0), exact(1, 100, 0), &none), COMPARE_CANNOT);
	assert_int_equal(judge(exact(1, 100, 0), exact(1, 99, 0), &change), COMPARE_REGRESSION);
}

/* A lower bound is no proof, not even of itself, whatever an older file calls it. */
static void incomplete_counts_are_refused(void **state)
{
	static const char *const names[] = { "incomplete", "exact", "raw" };
	const struct compare_rules none = { 0 };
	for (size_t i = 0; i < 3; i++) {
		struct sample lacks = exact(5, 100, 100);
		lacks.provenance = names[i];
		lacks.more = ",\"lower_bound\":true";
		assert_int_equal(judge(lacks, lacks, &none), COMPARE_CANNOT);
		assert_int_equal(judge(exact(5, 100, 100), lacks, &none), COMPARE_CANNOT);
		assert_int_equal(judge(lacks, exact(5, 100, 100), &none), COMPARE_CANNOT);
	}
}

static void bad_files_are_named(void **state)
{
	static const struct { const char *text, *says; } bad[] = {
		{ "", "the file is empty" },
		{ "{", "JSON, byte 1" },
		{ "[]", "not a result of `tare stat -j`" },
		{ "{\"schema\":\"tare.stat/2\"}", "its schema is \"tare.stat/2\"" },
		{ "{\"schema\":\"tare.stat/1\"}", "no \"runs\"" },
		{ "{\"schema\":\"tare.stat/1\",\"runs\":[1]}", "no \"counts\"" },
		{ "{\"schema\":\"tare.stat/1\",\"runs\":[{\"counts\":[]}]}", "no \"exit_status\"" },
		{ "{\"schema\":\"tare.stat/1\",\"runs\":[{\"exit_status\":0,\"wall_ns\":1,"
		  "\"counts\":[{\"event\":\"i\",\"value\":1.5,\"provenance\":\"raw\"}]}]}",
		  "not a whole number" },
		{ "{\"schema\":\"tare.stat/1\",\"runs\":[{\"exit_status\":0,\"wall_ns\":1,"
		  "\"counts\":[{\"event\":\"i\",\"value\":1,\"provenance\":\"good\"}]}]}",
		  "no known \"provenance\"" },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char path[] = "/tmp/tare-compare-XXXXXX";
		const int fd = mkstemp(path);
		struct compare_file f;
		struct tare_why why = { 0 };
		assert_true(fd >= 0);
		assert_int_equal(write(fd, bad[i].text, strlen(bad[i].text)),
				 strlen(bad[i].text));
		close(fd);
		assert_true(compare_load(&f, path, &why) < 0);
		unlink(path);
		if (!strstr(why.what, path) || !strstr(why.what, bad[i].says))
			fail_msg("%s: said \"%s\"", bad[i].text, why.what);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_counts_are_proof_to_the_last_one),
		cmocka_unit_test(their_own_spread_is_respected),
		cmocka_unit_test(raw_counts_need_runs_or_a_threshold),
		cmocka_unit_test(thresholds_by_event_and_kind),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(incomplete_counts_are_refused),
		cmocka_unit_test(bad_files_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
