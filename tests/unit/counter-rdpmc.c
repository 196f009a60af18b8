/* The instruction path, against a kernel and a PMU that the test plays: values are
 * right whatever they do, and what happened is told.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tare/counter.h>

#include "fake-perf.h"
#include "perf-facts.h"

static const struct tare_event insns = {
	.name = (char *)"instructions:u", .kind = TARE_EVENT_PERF,
	.base = { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS,
		  .exclude_kernel = true },
	.group = -1,
};

static const struct tare_event corrected = {
	.name = (char *)"instructions-minus-irqs:u", .kind = TARE_EVENT_MINUS,
	.base = { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS,
		  .exclude_kernel = true },
	.minus = { .type = PERF_TYPE_RAW, .config = 0x1cb, .exclude_kernel = true },
	.group = -1,
};

static struct tare_counter *open_with(const struct tare_event *e, struct tare_counter_options o)
{
	struct tare_counter *c;
	struct tare_why why;
	if (tare_counter_open_event(e, &o, &c, &why) < 0)
		fail_msg("%s", why.what);
	return c;
}

static struct tare_counter *open_rdpmc(const struct tare_event *e)
{
	return open_with(e, TARE_OPTIONS(counter, .path = TARE_PATH_RDPMC));
}

static uint64_t value_of(struct tare_counter *c)
{
	uint64_t v;
	const int err = tare_counter_read(c, &v);
	if (err)
		fail_msg("%s", tare_err_name(err));
	return v;
}

static uint64_t pair_of(struct tare_counter *c)
{
	uint64_t v;
	assert_int_equal(tare_counter_read_pair(c, &v), 0);
	return v;
}

#define assert_value(c, v) assert_int_equal(value_of(c), v)

/* Registers read by a call, to tell the fast path (1) from the slow one. */
static unsigned reads_of(struct tare_counter *c)
{
	const unsigned before = fake.reads;
	(void)value_of(c);
	return fake.reads - before;
}

static void counts_at_any_width(void **state)
{
	static const unsigned widths[] = { 31, 32, 40, 47, 48, 56, 63, 64 };
	for (size_t i = 0; i < 2 * sizeof(widths) / sizeof(widths[0]); i++) {
		fake_reset(widths[i / 2]);
		fake.sign_extends = i & 1;
		struct tare_counter *const c = open_rdpmc(&insns);
		const char *reason;
		assert_int_equal(tare_counter_path(c, &reason), TARE_PATH_RDPMC);
		assert_non_null(strstr(reason, "register"));
		assert_value(c, 0);
		fake_happen(fake_event(0), 1);
		assert_value(c, 1);
		fake_happen(fake_event(0), 12345678);
		assert_value(c, 12345679);
		assert_int_equal(reads_of(c), 1);
		assert_int_equal(tare_counter_status(c), 0);
		assert_true(fake_event(0)->attr.pinned);
		assert_false(fake_event(0)->attr.inherit);
		tare_counter_close(c);
		assert_false(fake_event(0)->open);
	}
}

/* Past zero, before the interrupt: still right, and not yet noticed. Then the
 * kernel restarts the register: right, and noticed. Three times over. */
static void overflows(void **state)
{
	static const unsigned widths[] = { 32, 40, 48, 64 };
	for (size_t i = 0; i < 2 * sizeof(widths) / sizeof(widths[0]); i++) {
		const unsigned width = widths[i / 2];
		const uint64_t period = (1ull << (width - 1)) - 1;
		fake_reset(width);
		fake.sign_extends = i & 1;
		struct tare_counter *const c = open_rdpmc(&insns);
		uint64_t expected = 0;
		for (int round = 0; round < 3; round++) {
			fake_happen(fake_event(0), period - 5);
			expected += period - 5;
			assert_value(c, expected);
			fake_happen(fake_event(0), 20);
			expected += 20;
			assert_value(c, expected);
			if (round == 0)
				assert_int_equal(tare_counter_status(c), 0);
			fake_overflow(fake_event(0));
			assert_value(c, expected);
			assert_int_equal(tare_counter_status(c), TARE_STATUS_WRAPPED);
			assert_int_equal(reads_of(c), 1);
		}
		tare_counter_close(c);
	}
}

/* Where the kernel can only write 32 bits the period is 2^31 - 1 at any width. */
static void short_periods(void **state)
{
	fake_reset(48);
	fake.short_period = true;
	struct tare_counter *const c = open_rdpmc(&insns);
	for (uint64_t n = 1; n < 6; n++) {
		fake_happen(fake_event(0), (1ull << 31) + 7);
		fake_overflow(fake_event(0));
		assert_value(c, n * ((1ull << 31) + 7));
	}
	assert_int_equal(tare_counter_status(c), TARE_STATUS_WRAPPED);
	tare_counter_close(c);
}

static void moves(void **state)
{
	fake_reset(48);
	struct tare_counter *const c = open_rdpmc(&insns);
	fake_happen(fake_event(0), 1000);
	assert_value(c, 1000);
	fake_move(fake_event(0), 3);
	fake_happen(fake_event(0), 24);
	assert_value(c, 1024);
	assert_int_equal(tare_counter_status(c), TARE_STATUS_MOVED);
	fake_happen(fake_event(0), 1);
	assert_int_equal(reads_of(c), 1);
	assert_value(c, 1025);
	fake_move(fake_event(0), 1);
	assert_value(c, 1025);
	assert_int_equal(tare_counter_status(c), TARE_STATUS_MOVED);
	tare_counter_close(c);
}

/* An interrupt between the register and the comparison. */
static void move_now(unsigned reg)
{
	fake.after_read = NULL;
	fake_happen(fake_event(0), 100);
	fake_move(fake_event(0), 4);
}

static void overflow_now(unsigned reg)
{
	fake.after_read = NULL;
	fake_overflow(fake_event(0));
}

static void is_disturbed_between(void **state)
{
	fake_reset(48);
	struct tare_counter *const c = open_rdpmc(&insns);
	fake_happen(fake_event(0), 7);
	fake.after_read = move_now;
	assert_value(c, 107);
	assert_int_equal(tare_counter_status(c), TARE_STATUS_MOVED);
	fake_happen(fake_event(0), (1ull << 47) + 3);
	fake.after_read = overflow_now;
	assert_value(c, 110 + (1ull << 47));
	assert_int_equal(tare_counter_status(c), TARE_STATUS_MOVED | TARE_STATUS_WRAPPED);
	tare_counter_close(c);
}

/* The kernel's offset can be 2^width off: see part.h. */
static void forgets_the_sign(void **state)
{
	static const unsigned widths[] = { 32, 48 };
	for (size_t i = 0; i < 4; i++) {
		fake_reset(widths[i / 2]);
		struct tare_counter *const c = open_rdpmc(&insns);
		fake_happen(fake_event(0), 500);
		if (i & 1)	/* seen by a resync */
			fake_move(fake_event(0), 2);
		fake_forget_sign(fake_event(0));
		assert_value(c, 500);
		fake_happen(fake_event(0), 500);
		assert_value(c, 1000);
		fake_overflow(fake_event(0));
		assert_value(c, 1000);
		fake_happen(fake_event(0), 1);
		assert_value(c, 1001);
		tare_counter_close(c);
	}
}

static void is_stolen(void **state)
{
	fake_reset(48);
	struct tare_counter *const c = open_rdpmc(&insns);
	fake_happen(fake_event(0), 4321);
	assert_value(c, 4321);
	fake_happen(fake_event(0), 10);
	fake_move(fake_event(0), 0);
	fake_event(0)->lost = true;
	uint64_t v = 1;
	assert_int_equal(tare_counter_read(c, &v), TARE_E_STOLEN);
	assert_int_equal(v, 4331);	/* all that was counted */
	assert_int_equal(tare_counter_read_pair(c, &v), TARE_E_STOLEN);
	assert_int_equal(tare_counter_status(c), TARE_STATUS_STOLEN);
	struct tare_sample s;
	assert_int_equal(tare_counter_sample(c, &s), TARE_E_STOLEN);
	char text[64];
	assert_string_equal(tare_status_text(tare_counter_status(c), text, sizeof(text)),
			    "stolen");
	/* sticky, also when it comes back */
	fake_event(0)->lost = false;
	fake_move(fake_event(0), 1);
	assert_value(c, 4331);
	assert_true(tare_counter_status(c) & TARE_STATUS_STOLEN);
	assert_int_equal(tare_counter_reopen(c, NULL), 0);
	assert_int_equal(tare_counter_status(c), 0);
	fake_happen(fake_event(0), 5);
	assert_value(c, 5);
	tare_counter_close(c);
}

/* Off its counter for a while (another core type), but not lost. */
static void falls_back(void **state)
{
	fake_reset(48);
	struct tare_counter *const c = open_rdpmc(&insns);
	fake_happen(fake_event(0), 10);
	fake_move(fake_event(0), 0);
	assert_value(c, 10);
	assert_int_equal(tare_counter_status(c), TARE_STATUS_FELL_BACK);
	fake_move(fake_event(0), 2);
	fake_happen(fake_event(0), 10);
	assert_value(c, 20);
	assert_int_equal(reads_of(c), 1);
	tare_counter_close(c);
}

static void subtracts_the_second(void **state)
{
	for (int sign = 0; sign < 2; sign++) {
		fake_reset(48);
		fake.sign_extends = sign;
		struct tare_counter *const c = open_rdpmc(&corrected);
		assert_int_equal(fake_event(1)->leader_fd, fake_event(0)->fd);
		assert_true(fake_event(0)->attr.pinned);
		assert_false(fake_event(1)->attr.pinned);
		fake_happen(fake_event(0), 1007);
		fake_happen(fake_event(1), 7);
		assert_int_equal(pair_of(c), 1000);
		assert_value(c, 1000);
		const unsigned before = fake.reads;
		assert_int_equal(pair_of(c), 1000);
		assert_int_equal(fake.reads - before, 2);
		fake_move(fake_event(1), 4);
		assert_int_equal(pair_of(c), 1000);
		assert_int_equal(tare_counter_status(c), TARE_STATUS_MOVED);
		fake_happen(fake_event(0), (1ull << 47) + 10);
		fake_overflow(fake_event(0));
		fake_happen(fake_event(1), 2);
		assert_int_equal(pair_of(c), (1ull << 47) + 1008);
		assert_int_equal(tare_counter_status(c),
				 TARE_STATUS_MOVED | TARE_STATUS_WRAPPED);
		struct tare_sample s;
		assert_int_equal(tare_counter_sample(c, &s), 0);
		assert_int_equal(s.value, (1ull << 47) + 1008);
		assert_int_equal(s.minus, 9);
		assert_int_equal(s.provenance, TARE_PROV_CORRECTED);
		tare_counter_close(c);
	}
}

static void other_serializers(void **state)
{
	static const enum tare_serializer all[] = {
		TARE_SERIALIZE_NONE, TARE_SERIALIZE_LFENCE, TARE_SERIALIZE_MFENCE,
		TARE_SERIALIZE_SERIALIZE, TARE_SERIALIZE_CPUID, TARE_SERIALIZE_ISB,
	};
	unsigned worked = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		fake_reset(48);
		const struct tare_counter_options o = TARE_OPTIONS(counter, .serializer = all[i]);
		struct tare_counter *c;
		struct tare_why why;
		const int err = tare_counter_open_event(&insns, &o, &c, &why);
		if (err) {
			assert_int_equal(err, TARE_E_INVALID);
			assert_non_null(strstr(why.what, tare_serializer_name(all[i])));
			assert_int_equal(tare_serialize_with(all[i]), TARE_E_INVALID);
			assert_false(fake_event(0)->open);
			continue;
		}
		worked++;
		assert_int_equal(tare_serialize_with(all[i]), 0);
		assert_int_equal(tare_counter_serializer(c), all[i]);
		fake_happen(fake_event(0), 99);
		assert_value(c, 99);
		assert_int_equal(reads_of(c), 1);
		fake_move(fake_event(0), 2);
		assert_value(c, 99);
		tare_counter_close(c);
	}
	assert_true(worked >= 2);
	tare_serialize();
	assert_int_equal(tare_serialize_with(TARE_SERIALIZE_AUTO), 0);
}

static void unpinned_is_scaled(void **state)
{
	fake_reset(48);
	fake.time = true;
	struct tare_counter *const c =
		open_with(&insns, TARE_OPTIONS(counter, .path = TARE_PATH_RDPMC,
							      .unpinned = true));
	struct fake_event *const e = fake_event(0);
	assert_false(e->attr.pinned);
	e->enabled = e->running = 500;
	fake_happen(e, 10000);
	assert_value(c, 10000);
	assert_int_equal(tare_counter_status(c), 0);
	e->running = 300;
	fake_move(e, 2);	/* the kernel writes the times */
	assert_value(c, 16666);
	assert_int_equal(tare_counter_status(c), TARE_STATUS_SCALED);
	fake_move(e, 0);	/* its turn is over: read(2) */
	assert_value(c, 16666);
	struct tare_sample s;
	assert_int_equal(tare_counter_sample(c, &s), 0);
	assert_true(s.scaled && s.value == 16666 && s.raw == 10000);
	assert_true(s.percent > 59.9 && s.percent < 60.1);
	assert_int_equal(s.provenance, TARE_PROV_SCALED);
	e->running = 0;
	uint64_t v;
	assert_int_equal(tare_counter_read(c, &v), TARE_E_NOT_SCHEDULED);
	tare_counter_close(c);
}

static void tells_why_not(void **state)
{
	static const struct { bool cap; unsigned width; int mmap_errno, code; } rows[] = {
		{ false, 48, 0, TARE_E_RDPMC_FORBIDDEN },
		{ true, 0, 0, TARE_E_WIDTH },
		{ true, 65, 0, TARE_E_WIDTH },
		{ true, 48, EPERM, TARE_E_PERMISSION },
		{ true, 48, ENODEV, TARE_E_IO },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fake_reset(48);
		fake.cap = rows[i].cap;
		fake.page_width = rows[i].width;
		fake.mmap_errno = rows[i].mmap_errno;
		struct tare_counter *c = open_with(&insns, TARE_OPTIONS(counter, 0));
		const char *reason;
		assert_int_equal(tare_counter_path(c, &reason), TARE_PATH_READ);
		assert_non_null(strstr(reason, "instructions:u: "));
		fake_happen(fake_event(0), 5);
		assert_value(c, 5);
		assert_int_equal(fake.reads, 0);
		tare_counter_close(c);

		const struct tare_counter_options must = TARE_OPTIONS(counter, .path = TARE_PATH_RDPMC);
		struct tare_why why;
		assert_int_equal(tare_counter_open_event(&insns, &must, &c, &why), rows[i].code);
		assert_int_equal(why.code, rows[i].code);
		assert_int_equal(why.sys_errno, rows[i].mmap_errno);
		assert_null(c);
	}
}

/* What this machine's own CPU and /proc say must not matter: one counter, which the watchdog
 * has if it is on. */
static int watchdog;

void __real_perf_facts_read(struct perf_facts *f, const char *root);
void __wrap_perf_facts_read(struct perf_facts *f, const char *root);

void __wrap_perf_facts_read(struct perf_facts *f, const char *root)
{
	__real_perf_facts_read(f, root);
	f->nmi_watchdog = watchdog;
	f->gp_counters = 1;
	f->fixed_counters = f->n_pmus = 0;
}

static void watchdog_is_blamed(void **state)
{
	struct tare_counter *c;
	struct tare_why why;
	fake_reset(48);
	fake.counters = 0;
	watchdog = 1;
	assert_int_equal(tare_counter_open_event(&insns, NULL, &c, &why), TARE_E_WATCHDOG);
	watchdog = 0;
	assert_int_equal(tare_counter_open_event(&insns, NULL, &c, &why), TARE_E_NO_COUNTERS);
}

static void is_refused(void **state)
{
	struct tare_counter *c;
	struct tare_why why;
	fake_reset(48);
	fake.counters = 0;
	assert_int_equal(tare_counter_open_event(&insns, NULL, &c, &why), TARE_E_NO_COUNTERS);
	fake_reset(48);
	fake.counters = 1;
	assert_int_equal(tare_counter_open_event(&corrected, NULL, &c, &why),
			 TARE_E_NO_COUNTERS);
	assert_false(fake_event(0)->open || fake_event(1)->open);
	fake_reset(48);
	fake.open_errno = ESRCH;
	assert_int_equal(tare_counter_open_event(&insns, NULL, &c, &why), TARE_E_NO_PROCESS);
	assert_int_equal(why.sys_errno, ESRCH);
	fake_reset(48);
	struct tare_event total = corrected;
	total.kind = TARE_EVENT_MINUS_TOTAL;
	assert_int_equal(tare_counter_open_event(&total, NULL, &c, &why), TARE_E_INVALID);
	struct tare_event precise = insns;
	precise.base.precise_asked = true;
	assert_int_equal(tare_counter_open_event(&precise, NULL, &c, &why), TARE_E_INVALID);
	const struct tare_event wall = { .name = (char *)"wall-time",
					 .kind = TARE_EVENT_WALL_TIME };
	const struct tare_counter_options rdpmc = TARE_OPTIONS(counter, .path = TARE_PATH_RDPMC);
	assert_int_equal(tare_counter_open_event(&wall, &rdpmc, &c, &why), TARE_E_INVALID);
	assert_non_null(strstr(why.what, "rdpmc"));
}

static void resets(void **state)
{
	fake_reset(48);
	struct tare_counter *const c = open_rdpmc(&insns);
	fake_happen(fake_event(0), 5000);
	assert_int_equal(tare_counter_reset(c), 0);
	assert_value(c, 0);
	fake_happen(fake_event(0), 3);
	assert_value(c, 3);
	fake_move(fake_event(0), 2);
	assert_value(c, 3);
	tare_counter_close(c);
}

/* Each read of the register sees 11 more: what an empty pair costs. Every seventh
 * time an interrupt adds one. */
static void eleven_each(unsigned reg)
{
	static unsigned n;
	fake_happen(fake_event(0), 11 + (++n % 7 == 0));
}

static void measures_its_own_cost(void **state)
{
	fake_reset(48);
	struct tare_counter *const c = open_rdpmc(&insns);
	fake.after_read = eleven_each;
	struct tare_overhead o;
	assert_int_equal(tare_counter_overhead(c, &o), 0);
	assert_int_equal(o.typical, 11);
	assert_int_equal(o.min, 11);
	assert_int_equal(o.max, 12);
	assert_int_equal(o.samples, 101);
	assert_in_range(o.agreeing, 80, 100);
	tare_counter_close(c);
}

/* A group of three events, one of them corrected, and a clock. */
static const struct tare_event branches = {
	.name = (char *)"branches:u", .kind = TARE_EVENT_PERF,
	.base = { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		  .exclude_kernel = true },
};
static const struct tare_event zero = { .name = (char *)"zero", .kind = TARE_EVENT_ZERO };
static const struct tare_event *const three[] = { &branches, &corrected, &zero };

static void groups_are_read_together(void **state)
{
	fake_reset(48);
	struct tare_group *g;
	struct tare_why why;
	uint64_t v[3];
	assert_int_equal(tare_group_open(three, 3, NULL, &g, &why), 0);
	assert_int_equal(tare_group_path(g, NULL), TARE_PATH_RDPMC);
	for (unsigned i = 1; i < 3; i++)
		assert_int_equal(fake_event(i)->leader_fd, fake_event(0)->fd);
	fake_happen(fake_event(0), 100);
	fake_happen(fake_event(1), 1005);
	fake_happen(fake_event(2), 5);
	const unsigned before = fake.reads;
	assert_int_equal(tare_group_read(g, v), 0);
	assert_int_equal(fake.reads - before, 3);
	assert_int_equal(v[0], 100);
	assert_int_equal(v[1], 1000);
	assert_int_equal(v[2], 0);
	fake_move(fake_event(1), 4);
	assert_int_equal(tare_group_read(g, v), 0);
	assert_int_equal(v[1], 1000);
	assert_int_equal(tare_group_status(g), TARE_STATUS_MOVED);
	assert_int_equal(tare_group_reset(g), 0);
	fake_happen(fake_event(0), 1);
	assert_int_equal(tare_group_read(g, v), 0);
	assert_true(v[0] == 1 && v[1] == 0);
	struct tare_sample s[3];
	assert_int_equal(tare_group_sample(g, s), 0);
	assert_true(s[0].value == 1 && s[0].raw == 101 && s[0].provenance == TARE_PROV_RAW);
	assert_true(s[1].minus == 5 && s[1].provenance == TARE_PROV_CORRECTED);
	assert_true(s[2].value == 0 && s[2].provenance == TARE_PROV_EXACT);
	for (unsigned i = 0; i < 3; i++) {
		fake_move(fake_event(i), 0);
		fake_event(i)->lost = true;
	}
	assert_int_equal(tare_group_read(g, v), TARE_E_STOLEN);
	assert_true(tare_group_status(g) & TARE_STATUS_STOLEN);
	assert_int_equal(v[0], 1);
	tare_group_close(g);
	assert_false(fake_event(0)->open || fake_event(1)->open || fake_event(2)->open);
}

static void groups_by_call(void **state)
{
	fake_reset(48);
	struct tare_group *g;
	struct tare_why why;
	uint64_t v[3];
	const struct tare_counter_options o = TARE_OPTIONS(counter, .path = TARE_PATH_READ);
	assert_int_equal(tare_group_open(three, 3, &o, &g, &why), 0);
	const char *reason;
	assert_int_equal(tare_group_path(g, &reason), TARE_PATH_READ);
	assert_non_null(strstr(reason, "asked"));
	fake_happen(fake_event(0), 100);
	fake_happen(fake_event(1), 1005);
	fake_happen(fake_event(2), 5);
	assert_int_equal(tare_group_read(g, v), 0);
	assert_true(v[0] == 100 && v[1] == 1000 && v[2] == 0);
	assert_int_equal(fake.reads, 0);
	tare_group_close(g);
	fake_reset(48);
	fake.counters = 2;
	assert_int_equal(tare_group_open(three, 3, NULL, &g, &why), TARE_E_NO_COUNTERS);
	assert_null(g);
	assert_int_equal(tare_group_open(three, 0, NULL, &g, &why), TARE_E_INVALID);
	assert_int_equal(tare_group_open(three + 2, 1, NULL, &g, &why), TARE_E_INVALID);
	tare_group_close(NULL);
}

#ifdef __x86_64__
/* The guard on top of the handler that plays the PMU is a CPU that forbids rdpmc from now
 * on: every one of our reads faults, and none is carried out. */
static unsigned reads_before;

static void forbid(void)
{
	reads_before = fake.reads;
	assert_int_equal(tare_read_guard_install(), 0);
}

static void allow(void)
{
	assert_int_equal(tare_read_guard_remove(), 0);
	assert_int_equal(fake.reads, reads_before);
}

static void assert_left_registers(enum tare_path path, const char *reason, unsigned status)
{
	assert_int_equal(path, TARE_PATH_READ);
	assert_non_null(strstr(reason, "forbidden after the counter was opened"));
	assert_true(status & TARE_STATUS_FELL_BACK);
	assert_false(status & (TARE_STATUS_STOLEN | TARE_STATUS_MOVED));
}

static void forbidden_later(void **state)
{
	static const struct tare_event *const both[] = { &insns, &corrected };
	const char *reason;
	for (int unpinned = 0; unpinned < 2; unpinned++) {
		for (unsigned i = 0; i < 2; i++) {
			fake_reset(48);
			fake.time = true;
			struct tare_counter *const c = open_with(both[i], TARE_OPTIONS(counter,
				.path = TARE_PATH_RDPMC, .unpinned = unpinned));
			for (unsigned e = 0; e <= i; e++)
				fake_event(e)->enabled = fake_event(e)->running = 1000;
			fake_happen(fake_event(0), 1000);
			assert_value(c, 1000);
			forbid();
			fake_happen(fake_event(0), 234);
			assert_int_equal(i ? pair_of(c) : value_of(c), 1234);
			const enum tare_path path = tare_counter_path(c, &reason);
			assert_left_registers(path, reason, tare_counter_status(c));
			fake_happen(fake_event(0), 1);
			assert_value(c, 1235);
			assert_int_equal(tare_counter_reset(c), 0);
			fake_happen(fake_event(0), 7);
			assert_value(c, 7);
			allow();
			assert_value(c, 7);
			assert_int_equal(reads_of(c), 0);	/* not tried again… */
			assert_int_equal(tare_counter_reopen(c, NULL), 0);
			assert_int_equal(tare_counter_path(c, NULL), TARE_PATH_RDPMC);
			tare_counter_close(c);
		}
	}
}

static void group_forbidden_later(void **state)
{
	const struct tare_event *const events[] = { &insns, &insns };
	struct tare_group *g;
	uint64_t v[2];
	const char *reason;
	fake_reset(48);
	assert_int_equal(tare_group_open(events, 2, NULL, &g, NULL), 0);
	fake_happen(fake_event(0), 5);
	forbid();
	fake_happen(fake_event(1), 6);
	assert_int_equal(tare_group_read(g, v), 0);
	assert_int_equal(v[0], 5);
	assert_int_equal(v[1], 6);
	const enum tare_path path = tare_group_path(g, &reason);
	assert_left_registers(path, reason, tare_group_status(g));
	allow();
	tare_group_close(g);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_at_any_width),
		cmocka_unit_test(overflows),
		cmocka_unit_test(short_periods),
		cmocka_unit_test(moves),
		cmocka_unit_test(is_disturbed_between),
		cmocka_unit_test(forgets_the_sign),
		cmocka_unit_test(is_stolen),
		cmocka_unit_test(falls_back),
		cmocka_unit_test(subtracts_the_second),
		cmocka_unit_test(other_serializers),
		cmocka_unit_test(unpinned_is_scaled),
		cmocka_unit_test(tells_why_not),
		cmocka_unit_test(is_refused), cmocka_unit_test(watchdog_is_blamed),
		cmocka_unit_test(resets),
		cmocka_unit_test(measures_its_own_cost),
		cmocka_unit_test(groups_are_read_together),
		cmocka_unit_test(groups_by_call),
#ifdef __x86_64__
		cmocka_unit_test(forbidden_later),
		cmocka_unit_test(group_forbidden_later),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
