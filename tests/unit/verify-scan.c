/* The event space from format files, and what a scan concludes from counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/perf_event.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event-space.h"
#include "scan-judge.h"

static void test_bits(void **state)
{
	struct config_bits b;

	assert_true(config_bits_parse("config:0-7,32-35", &b));
	assert_int_equal(b.width, 12);
	assert_int_equal(config_bits_max(&b), 0xfff);
	assert_int_equal(config_bits_put(&b, 0x120), 0x100000020);
	assert_int_equal(config_bits_put(&b, 0xfff), 0xf000000ff);
	assert_true(config_bits_parse("config:8-15,40-47", &b));
	assert_int_equal(config_bits_put(&b, 0x8104), 0x810000000400);
	assert_true(config_bits_parse("config:18", &b));
	assert_int_equal(b.width, 1);
	assert_true(config_bits_parse("config:0-63", &b));
	assert_int_equal(config_bits_max(&b), UINT64_MAX);
	assert_int_equal(config_bits_put(&b, 0x123456789), 0x123456789);
	static const char *const wrong[] = { "", "config", "config:", "config1:0-7", "config:7-0",
					     "config:0-64", "config:0-7,", "config:0-7 8",
					     "config:a", "config:0-", "config:0-63,0-7" };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(config_bits_parse(wrong[i], &b));
}

static void put(const char *root, const char *path, const char *text)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/sys/bus/event_source/devices/%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	FILE *const f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void drop(const char *root)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

static void test_space(void **state)
{
	char root[] = "/tmp/tare-space-XXXXXX", name[32];
	const struct tare_cpu amd = { .arch = TARE_ARCH_X86_64, .vendor = TARE_VENDOR_AMD };
	const struct tare_cpu intel = { .arch = TARE_ARCH_X86_64, .vendor = TARE_VENDOR_INTEL };
	const struct tare_cpu arm = { .arch = TARE_ARCH_ARM64 };
	struct event_space s;
	struct tare_why why;

	assert_non_null(mkdtemp(root));
	assert_int_equal(event_space_find(&s, root, &amd, 0, &why), TARE_E_NO_PMU);
	/* no format files: as the vendor has it */
	put(root, "cpu/type", "4\n");
	assert_int_equal(event_space_find(&s, root, &amd, 0, &why), 0);
	assert_int_equal(s.code.width, 12);
	assert_int_equal(s.mask.width, 8);
	assert_int_equal(s.type, PERF_TYPE_RAW);
	assert_int_equal(event_space_raw(&s, 0x20, 0x04), 0x0420);
	assert_string_equal(event_space_name(&s, 0x0420, name, sizeof(name)), "r0420:u");
	assert_int_equal(event_space_find(&s, root, &intel, 0, &why), 0);
	assert_int_equal(s.code.width, 8);
	assert_int_equal(event_space_find(&s, root, &arm, 0, &why), 0);
	assert_int_equal(s.code.width, 16);
	assert_int_equal(s.mask.width, 0);
	/* what the files say comes first */
	put(root, "cpu/format/event", "config:0-9\n");
	put(root, "cpu/format/umask", "config:16-19\n");
	assert_int_equal(event_space_find(&s, root, &intel, 0, &why), 0);
	assert_int_equal(event_space_raw(&s, 0x3ff, 0xf), 0xf03ff);
	put(root, "cpu/format/umask", "config:what\n");
	assert_int_equal(event_space_find(&s, root, &intel, 0, &why), TARE_E_FORMAT);
	assert_non_null(strstr(why.what, "config:what"));
	drop(root);
	/* two kinds of core: the PMU of the CPU, by its own type */
	assert_non_null(mkdtemp(strcpy(root, "/tmp/tare-space-XXXXXX")));
	put(root, "cpu_core/type", "4\n");
	put(root, "cpu_core/cpus", "0-3\n");
	put(root, "cpu_atom/type", "10\n");
	put(root, "cpu_atom/cpus", "4-7\n");
	assert_int_equal(event_space_find(&s, root, &intel, 5, &why), 0);
	assert_int_equal(s.type, 10);
	assert_string_equal(event_space_name(&s, 0x1cb, name, sizeof(name)), "cpu_atom/config=0x1cb/u");
	assert_int_equal(event_space_find(&s, root, &intel, 9, &why), TARE_E_NO_PMU);
	drop(root);
}

/* Trials of a confirmation: { rounds, pages, interrupts, excess, _, count }. */
static struct tare_scan_found found(const struct tare_scan_trial *t, size_t n)
{
	struct tare_scan_found f = { .n_trials = n };

	memcpy(f.trials, t, n * sizeof(*t));
	return f;
}
#define FOUND(...)                                                                                 \
	found((const struct tare_scan_trial[]){ __VA_ARGS__ },                                      \
	      sizeof((const struct tare_scan_trial[]){ __VA_ARGS__ }) / sizeof(struct tare_scan_trial))

static void test_judge(void **state)
{
	/* interrupts and page faults, and the instructions' excess says so */
	struct tare_scan_found f = FOUND({ 100, 0, 9, 8, .count = 8 }, { 10, 300, 1, 300, .count = 300 },
					 { 200, 0, 20, 18, .count = 18 });
	assert_true(scan_judge(TARE_SCAN_PAGE_FAULTS, &f));
	assert_int_equal(f.counts, TARE_SCAN_COUNTS_FAULTS | TARE_SCAN_COUNTS_INTERRUPTS);
	assert_true(f.exact && f.is_excess);
	assert_true(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	/* interrupts alone: the faults are in the excess, and not in the count */
	f = FOUND({ 100, 0, 9, 8, .count = 8 }, { 10, 300, 1, 300, .count = 0 },
		  { 200, 0, 20, 18, .count = 18 });
	assert_true(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	assert_int_equal(f.counts, TARE_SCAN_COUNTS_INTERRUPTS);
	assert_true(f.is_excess);
	assert_false(scan_judge(TARE_SCAN_PAGE_FAULTS, &f));
	/* page faults alone */
	f = FOUND({ 100, 0, 9, 8, .count = 0 }, { 10, 300, 1, 300, .count = 300 },
		  { 10, 1000, 1, 1000, .count = 1000 });
	assert_true(scan_judge(TARE_SCAN_PAGE_FAULTS, &f));
	assert_int_equal(f.counts, TARE_SCAN_COUNTS_FAULTS);
	assert_true(f.exact && !f.is_excess);
	assert_false(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	/* near by chance: it follows neither */
	f = FOUND({ 100, 0, 9, 8, .count = 300 }, { 10, 300, 1, 300, .count = 300 });
	assert_false(scan_judge(TARE_SCAN_PAGE_FAULTS, &f));
	f = FOUND({ 100, 0, 9, 8, .count = 8 }, { 10, 300, 1, 300, .count = 150 });
	assert_false(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	/* it follows no interrupts: those that the kernel's list has are no proof */
	f = FOUND({ 100, 0, 20, 18, .count = 2 }, { 200, 0, 40, 36, .count = 4 });
	assert_false(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	/* two instructions too much for each interrupt */
	f = FOUND({ 100, 0, 9, 16, .count = 8 }, { 10, 300, 1, 302, .count = 1 },
		  { 200, 0, 20, 36, .count = 18 });
	assert_true(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	assert_true(f.is_excess);
	assert_int_equal(f.each, 2);
	/* an event that counts each interrupt twice is another one */
	f = FOUND({ 100, 0, 9, 16, .count = 16 }, { 200, 0, 20, 36, .count = 36 });
	assert_false(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	/* one interrupt that the instructions do not have */
	f = FOUND({ 100, 0, 9, 8, .count = 8 }, { 200, 0, 20, 18, .count = 19 });
	assert_true(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	assert_false(f.is_excess);
	/* neither /proc/interrupts nor instructions: only faults can be found */
	f = FOUND({ 100, 0, UINT64_MAX, INT64_MIN, .count = 0 },
		  { 10, 300, UINT64_MAX, INT64_MIN, .count = 300 });
	assert_true(scan_judge(TARE_SCAN_PAGE_FAULTS, &f));
	assert_false(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	/* without /proc/interrupts: no fewer than half of the ticks, no more than ten times as many */
	f = FOUND({ 100, 0, UINT64_MAX, 11, .count = 11, .ticks = 9 },
		  { 10, 300, UINT64_MAX, 300, .count = 0, .ticks = 0 },
		  { 200, 0, UINT64_MAX, 21, .count = 21, .ticks = 20 });
	assert_true(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	assert_true(f.is_excess);
	f.trials[0].count = 3;
	f.trials[2].count = 2;
	assert_false(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	f.trials[0].count = 300;
	f.trials[2].count = 300;
	assert_false(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	/* an event, or a number */
	f = FOUND({ 100, 0, 0, 0, 5000, 5000 }, { 200, 0, 0, 0, 10000, 10001 });
	assert_true(scan_judge(TARE_SCAN_EVENT, &f));
	assert_int_equal(f.counts, TARE_SCAN_COUNTS_LIKE);
	assert_false(f.exact);
	f = FOUND({ 100, 0, 0, 0, 5000, 5000 }, { 200, 0, 0, 0, 10000, 5000 });
	assert_false(scan_judge(TARE_SCAN_COUNT, &f));
}

/* When trials are made again. */
static void test_again(void **state)
{
	/* An interrupt between the reads of the two counters, and /proc/interrupts has what was counted. */
	struct tare_scan_found f = FOUND({ 100, 0, 24, 23, .count = 24 }, { 10, 300, 1, 301, .count = 1 },
					 { 200, 0, 46, 46, .count = 46 });
	assert_true(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	assert_true(f.exact && !f.is_excess);
	assert_true(scan_may_improve(&f, true));
	/* no interrupt came between the reads: the event and the instructions differ */
	assert_false(scan_may_improve(&f, false));
	/* in the long trial; /proc/interrupts is far off */
	f = FOUND({ 100, 0, 24, 48, .count = 24 }, { 200, 0, 46, 92, .count = 46 },
		  { 999, 0, 310, 602, .count = 300 });
	assert_true(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	assert_true(!f.exact && !f.is_excess);
	assert_true(scan_may_improve(&f, true));
	/* more than one interrupt is missing from the instructions */
	f = FOUND({ 100, 0, 24, 22, .count = 24 }, { 200, 0, 46, 44, .count = 46 });
	assert_true(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	assert_false(scan_may_improve(&f, true));
	/* proved */
	f = FOUND({ 100, 0, 25, 24, .count = 24 }, { 200, 0, 47, 46, .count = 46 });
	assert_true(scan_judge(TARE_SCAN_INTERRUPTS, &f));
	assert_true(f.is_excess);
	assert_false(scan_may_improve(&f, true));
	/* page faults, in one trial one more than there were */
	f = FOUND({ 100, 0, 9, 8, .count = 0 }, { 10, 300, 1, 300, .count = 301 });
	assert_true(scan_judge(TARE_SCAN_PAGE_FAULTS, &f));
	assert_false(f.exact);
	assert_true(scan_may_improve(&f, false));
}

/* Which candidate a search for one event tries first. */
static void test_nearest(void **state)
{
	struct tare_scan_trial t = { .interrupts = 26, .excess = 24, .count = 24 };

	assert_int_equal(scan_off_excess(&t), 0);
	t.excess = 72;				/* each interrupt adds 3 instructions */
	assert_int_equal(scan_off_excess(&t), 0);
	t.excess = 71;
	assert_int_equal(scan_off_excess(&t), 1);
	t.excess = 10;				/* a code that counts more than interrupts */
	assert_int_equal(scan_off_excess(&t), 10);
	/* without an excess the next ones to /proc/interrupts, behind all others */
	t.excess = 0;
	assert_int_equal(scan_off_excess(&t), UINT64_MAX / 2 + 2);
	t.excess = INT64_MIN;			/* no counter for the instructions */
	t.count = 26;
	assert_int_equal(scan_off_excess(&t), UINT64_MAX / 2);
}

/* When it ends with a code that the instructions do not prove. */
static void test_settled(void **state)
{
	struct tare_scan_found f = FOUND({ 100, 0, 24, 0, .count = 24 }, { 10, 300, 1, 0, .count = 5 },
					 { 200, 0, 48, 0, .count = 47 }, { 999, 0, 288, 0, .count = 286 });
	assert_true(scan_is_near(&f) && scan_is_settled(&f));
	f.counts = TARE_SCAN_COUNTS_FAULTS | TARE_SCAN_COUNTS_INTERRUPTS;
	assert_false(scan_is_settled(&f));
	/* one of 32 is missing, in many interrupts and in few */
	f = FOUND({ 100, 0, 24, 0, .count = 24 }, { 200, 0, 48, 0, .count = 46 }, { 999, 0, 288, 0, .count = 279 });
	assert_false(scan_is_near(&f) || scan_is_settled(&f));
	f = FOUND({ 100, 0, 24, 0, .count = 24 }, { 200, 0, 48, 0, .count = 47 });
	assert_true(scan_is_near(&f));
	assert_false(scan_is_settled(&f));
	f.is_excess = true;
	assert_true(scan_is_settled(&f));
	f = FOUND({ 100, 0, UINT64_MAX, 0, .count = 24 }, { 200, 0, UINT64_MAX, 0, .count = 47 });
	assert_false(scan_is_near(&f));		/* /proc/interrupts cannot be read */
}

static void test_order(void **state)
{
	struct tare_scan_found f[3] = {
		FOUND({ 100, 0, 9, 8, 9, 8 }), FOUND({ 100, 0, 9, 8, 9, 9 }), FOUND({ 100, 0, 9, 8, 8, 8 }),
	};

	f[0].code = 1;
	f[1].code = 2;
	f[2].code = 3;
	f[2].is_excess = true;
	qsort(f, 3, sizeof(f[0]), scan_compare);
	assert_int_equal(f[0].code, 3);
	assert_int_equal(f[1].code, 2);
	assert_int_equal(f[2].code, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits), cmocka_unit_test(test_space),
		cmocka_unit_test(test_judge), cmocka_unit_test(test_again),
		cmocka_unit_test(test_nearest), cmocka_unit_test(test_settled),
		 cmocka_unit_test(test_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
