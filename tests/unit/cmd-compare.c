/* Verdicts: what is proof, what is noise, what is refused. */
#include <math.h>
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
#include "sha256.h"

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
	assert_int_equal(judge(exact(2, 100, 100), exact(1, 101, 0), &r), COMPARE_REGRESSION);
	assert_int_equal(judge(exact(1, 100, 0), exact(2, 101, 101), &r), COMPARE_REGRESSION);
	assert_int_equal(judge(exact(2, 100, 100), exact(1, 99, 0), &r), COMPARE_IMPROVED);
	assert_int_equal(judge(exact(2, big, big), exact(2, big + 1, big + 1), &r),
			 COMPARE_REGRESSION);
	assert_int_equal(judge(exact(1, big, 0), exact(1, big, 0), &r), COMPARE_SAME);
}

static void one_run_on_either_side_tells_no_spread(void **state)
{
	const struct compare_rules none = { 0 };
	struct compare_threshold one = { .percent = -1, .absolute = 1 };
	const struct compare_rules allow = { .thresholds = &one, .n_thresholds = 1 };
	assert_int_equal(judge(exact(1, 100, 0), exact(1, 101, 0), &none), COMPARE_CANNOT);
	assert_int_equal(judge(exact(1, 100, 0), exact(1, 99, 0), &none), COMPARE_SAME);
	assert_int_equal(judge(exact(1, 100, 0), exact(1, 101, 0), &allow), COMPARE_SAME);
	assert_int_equal(judge(exact(1, 100, 0), exact(1, 102, 0), &allow), COMPARE_REGRESSION);
}

static void their_own_spread_is_respected(void **state)
{
	const struct compare_rules r = { 0 };
	assert_int_equal(judge(exact(2, 100, 104), exact(2, 103, 109), &r), COMPARE_SAME);
	assert_int_equal(judge(exact(2, 100, 104), exact(1, 104, 0), &r), COMPARE_SAME);
	/* The ranges do not overlap, which of so few runs is no proof. */
	assert_int_equal(judge(exact(2, 100, 104), exact(2, 105, 109), &r), COMPARE_SAME);
	assert_int_equal(judge(exact(3, 100, 104), exact(3, 130, 134), &r), COMPARE_CANNOT);
	assert_int_equal(judge(exact(3, 130, 134), exact(3, 100, 104), &r), COMPARE_SAME);
	assert_int_equal(judge(exact(5, 100, 104), exact(5, 130, 134), &r), COMPARE_REGRESSION);
	assert_int_equal(judge(exact(5, 130, 134), exact(5, 100, 104), &r), COMPARE_IMPROVED);
	/* Steady before, not any more. */
	assert_int_equal(judge(exact(5, 100, 100), exact(5, 130, 134), &r), COMPARE_REGRESSION);
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
	assert_int_equal(judge(exact(2, 100, 100), exact(1, 99, 0), &change), COMPARE_REGRESSION);
}

/* ---- programs that vary by themselves, simulated ---- */

static uint64_t seed;

/* [0, 1); xorshift64*, so that every machine sees the same. */
static double chance(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (double)(seed * UINT64_C(2685821657736338717) >> 11) / 0x1p53;
}

static double bell(void)
{
	double sum = -6;
	for (int i = 0; i < 12; i++)
		sum += chance();
	return sum;			/* standard deviation 1 */
}

static double discrete(void) { return 50 * floor(5 * chance()); }
static double normal(void) { return 100 * bell(); }
static double two_humps(void) { return (chance() < 0.5 ? 0 : 1000) + 10 * bell(); }
static double skewed(void) { return -100 * log(1 - chance()); }
static double outliers(void) { return chance() < 0.05 ? 2000 : 20 * bell(); }
static double two_values(void) { return chance() < 0.5 ? 0 : 100; }

enum { MOST_RUNS = 70 };

struct group {
	uint64_t values[MOST_RUNS];
	struct compare_series series;
	struct compare_file file;
};

static void draw(struct group *g, size_t n, double (*noise)(void), double shift)
{
	*g = (struct group){ .series = { .event = "i", .unit = "", .values = g->values,
					 .provenance = TARE_PROV_EXACT },
			     .file = { .path = "x", .command = { .data = (char *)"x" },
				       .backend = "soft", .cpu = "c", .aslr_off = true,
				       .same_status = true, .n_series = 1 } };
	g->file.series = &g->series;
	g->file.n_runs = g->file.n_complete = n;
	for (size_t i = 0; i < n; i++)
		g->values[i] = (uint64_t)llround(1e9 + shift + noise());
	summarize_values(&g->series.sum, g->values, n);
}

/* The range that n runs have on average. */
static double usual_range(double (*noise)(void), size_t n)
{
	double sum = 0;
	for (int i = 0; i < 1000; i++) {
		struct group g;
		draw(&g, n, noise, 0);
		sum += (double)(g.series.sum.max - g.series.sum.min);
	}
	return sum / 1000;
}

/* Percent of `pairs` that are a regression; the second group is moved by `shift`. */
static double percent(double (*noise)(void), size_t n, size_t m, double shift, int pairs)
{
	const struct compare_rules r = { 0 };
	int hit = 0;
	for (int i = 0; i < pairs; i++) {
		struct group a, b;
		struct comparison c;
		draw(&a, n, noise, 0);
		draw(&b, m, noise, shift);
		compare_judge(&c, &a.file, &b.file, &r);
		hit += c.verdict == COMPARE_REGRESSION;
		compare_free(&c);
	}
	return 100.0 * hit / pairs;
}

static const struct { const char *name; double (*noise)(void); } kinds[] = {
	{ "discrete", discrete }, { "normal", normal }, { "two humps", two_humps },
	{ "skewed", skewed }, { "outliers", outliers }, { "two values", two_values },
};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]), PAIRS = 2000 };

/* Two values, three runs each: all agree on either side, at different values, once in 64
 * pairs, and then look like a steady program that changed. Five runs: once in 1,024. */
static void unchanged_programs_are_no_regressions(void **state)
{
	static const size_t runs[][2] = { { 3, 3 }, { 4, 5 }, { 5, 5 }, { 3, 10 }, { 10, 10 },
					  { 35, 35 } };
	for (size_t k = 0; k < N_KINDS; k++) {
		for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
			const size_t n = runs[i][0], m = runs[i][1];
			seed = 1 + k;
			const int pairs = n > 10 ? PAIRS / 10 : PAIRS;
			const double got = percent(kinds[k].noise, n, m, 0, pairs);
			printf("unchanged, %s, %zu and %zu runs: %.2f %% regressions\n", kinds[k].name,
			       n, m, got);
			if (got > (kinds[k].noise == two_values && n + m == 6 ? 2 : 1))
				fail_msg("too many");
		}
	}
}

/* Values far above the others widen the spread of the one group in which they are, so that
 * fewer changes are found. */
static void changes_of_twice_the_range_are_found(void **state)
{
	static const size_t runs[] = { 5, 10 };
	for (size_t k = 0; k < N_KINDS; k++) {
		for (size_t i = 0; i < 2; i++) {
			seed = 1 + k;
			const double shift = 2 * usual_range(kinds[k].noise, runs[i]);
			const double got = percent(kinds[k].noise, runs[i], runs[i], shift, PAIRS);
			const double half = percent(kinds[k].noise, runs[i], runs[i], shift / 2, PAIRS);
			printf("changed, %s, %zu runs each: by twice the range %.2f %%, by the range "
			       "%.2f %% regressions\n", kinds[k].name, runs[i], got, half);
			if (got < (kinds[k].noise == outliers ? 50 : kinds[k].noise == skewed ? 85 : 97))
				fail_msg("too few");
		}
	}
}

static void sha256_is_that_of_the_standard(void **state)
{
	/* FIPS 180-2, appendix B, and lengths around the padding */
	static const struct { size_t n; const char *text, *hex; } known[] = {
		{ 0, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ 3, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ 56, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	char hex[65], thousand[1000];
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		sha256_hex(known[i].text, known[i].n, hex);
		assert_string_equal(hex, known[i].hex);
	}
	memset(thousand, 'a', sizeof(thousand));
	sha256_hex(thousand, sizeof(thousand), hex);
	assert_string_equal(hex, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
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
		cmocka_unit_test(one_run_on_either_side_tells_no_spread),
		cmocka_unit_test(their_own_spread_is_respected),
		cmocka_unit_test(unchanged_programs_are_no_regressions),
		cmocka_unit_test(changes_of_twice_the_range_are_found),
		cmocka_unit_test(raw_counts_need_runs_or_a_threshold),
		cmocka_unit_test(thresholds_by_event_and_kind),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(incomplete_counts_are_refused),
		cmocka_unit_test(sha256_is_that_of_the_standard),
		cmocka_unit_test(bad_files_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
