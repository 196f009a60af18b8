/* One cause per failure: errno, attr and facts in; code, errno and text out. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "perf-diagnose.h"

static const struct perf_facts plain = {
	.has_perf = true, .paranoid = 2, .seccomp = 0, .nmi_watchdog = 0, .user_access = -1,
	.n_pmus = 1, .pmus = { { .name = "cpu", .type = 4, .rdpmc = 1 } },
};

static const struct perf_facts simulated = {
	.has_perf = true, .paranoid = 2, .user_access = -1, .simulated = PERF_SIM_EXACT,
	.n_pmus = 1, .pmus = { { .name = "cpu", .type = 4, .rdpmc = 1 } },
};

static const struct perf_facts no_pmu = {
	.has_perf = true, .paranoid = 2, .hypervisor = true, .hypervisor_name = "QEMU",
	.user_access = -1,
};

static const struct perf_facts bare_metal_no_pmu = {
	.has_perf = true, .paranoid = 2, .user_access = -1,
};

static const struct perf_facts root_user = {
	.has_perf = true, .paranoid = 2, .cap_perfmon = true, .user_access = -1,
	.n_pmus = 1, .pmus = { { .name = "cpu", .type = 4, .rdpmc = 1 } },
};

static const struct perf_facts debian = {
	.has_perf = true, .paranoid = 3, .user_access = -1,
	.n_pmus = 1, .pmus = { { .name = "cpu", .type = 4, .rdpmc = 1 } },
};

static const struct perf_facts docker = {
	.has_perf = true, .paranoid = 2, .seccomp = 2, .user_access = -1,
	.n_pmus = 1, .pmus = { { .name = "cpu", .type = 4, .rdpmc = 1 } },
};

static const struct perf_facts no_perf = { .paranoid = -1, .user_access = -1 };

static const struct perf_facts hybrid = {
	.has_perf = true, .paranoid = 1, .user_access = -1, .n_pmus = 2,
	.pmus = { { .name = "cpu_core", .type = 4, .rdpmc = 1, .cpus = "0-11" },
		  { .name = "cpu_atom", .type = 10, .rdpmc = 1, .cpus = "12-19" } },
};

static const struct perf_facts watchdog = {
	.has_perf = true, .paranoid = 1, .nmi_watchdog = 1, .gp_counters = 4, .user_access = -1,
	.n_pmus = 1, .pmus = { { .name = "cpu", .type = 4, .rdpmc = 1 } },
};

static const struct perf_facts intel_watchdog = {
	.has_perf = true, .paranoid = 1, .nmi_watchdog = 1, .gp_counters = 4, .fixed_counters = 3,
	.user_access = -1, .n_pmus = 1, .pmus = { { .name = "cpu", .type = 4, .rdpmc = 1 } },
};

static const struct perf_facts rdpmc_off = {
	.has_perf = true, .paranoid = 1, .user_access = -1,
	.n_pmus = 1, .pmus = { { .name = "cpu", .type = 4, .rdpmc = 0 } },
};

static const struct perf_facts arm = {
	.has_perf = true, .paranoid = 1, .user_access = 0,
	.n_pmus = 1, .pmus = { { .name = "armv8_cortex_a72", .type = 8, .rdpmc = -1 } },
};

/* As a 6.12 kernel on arm64 has it: the sysctl is 1 and no counter is taken. */
static const struct perf_facts arm_watchdog = {
	.has_perf = true, .paranoid = 1, .nmi_watchdog = 1, .user_access = 0,
	.n_pmus = 1, .pmus = { { .name = "armv8_pmuv3_0", .type = 8, .rdpmc = -1 } },
};

#define HW(c) { .type = PERF_TYPE_HARDWARE, .config = (c), .exclude_kernel = 1 }
#define HWK(c) { .type = PERF_TYPE_HARDWARE, .config = (c) }
#define SW(c) { .type = PERF_TYPE_SOFTWARE, .config = (c), .exclude_kernel = 1 }
#define TYPE(t, c) { .type = (t), .config = (c), .exclude_kernel = 1 }

static void opening(void **state)
{
	static const struct {
		int err;
		struct perf_event_attr attr;
		struct perf_ask ask;
		const struct perf_facts *f;
		int code;
		const char *says;
	} rows[] = {
		/* no PMU, and who hides it */
		{ ENOENT, HW(1), { .cpu = -1 }, &no_pmu, TARE_E_NO_PMU, "the hypervisor (QEMU) hides the PMU (perf_event_open: No such file" },
		{ ENOENT, TYPE(4, 0xc0), { .cpu = -1 }, &no_pmu, TARE_E_NO_PMU, "QEMU" },
		{ ENODEV, HW(1), { .cpu = -1 }, &bare_metal_no_pmu, TARE_E_NO_PMU, "no driver" },
		{ EOPNOTSUPP, HW(1), { .cpu = -1 }, &no_pmu, TARE_E_NO_PMU, "QEMU" },
		/* a PMU, but not this event */
		{ ENOENT, HW(9), { .cpu = -1 }, &plain, TARE_E_EVENT_UNSUPPORTED, "config 0x9" },
		{ ENOENT, SW(99), { .cpu = -1 }, &plain, TARE_E_EVENT_UNSUPPORTED, "type 1" },
		{ ENOENT, SW(99), { .cpu = -1 }, &no_pmu, TARE_E_EVENT_UNSUPPORTED, "type 1" },
		{ EOPNOTSUPP, HW(1), { .cpu = -1 }, &plain, TARE_E_EVENT_UNSUPPORTED, "" },
		{ EINVAL, TYPE(4, ~0ull), { .cpu = -1, .group_size = 1 }, &plain,
		  TARE_E_EVENT_UNSUPPORTED, "config=0xffffffffffffffff" },
		{ E2BIG, HW(1), { .cpu = -1 }, &plain, TARE_E_EVENT_UNSUPPORTED, "attr" },
		/* permissions */
		{ EACCES, HWK(1), { .cpu = -1 }, &plain, TARE_E_PARANOID,
		  "perf_event_paranoid is 2, which forbids counting the kernel" },
		{ EACCES, HW(1), { .cpu = -1 }, &debian, TARE_E_PARANOID,
		  "perf_event_paranoid is 3, which on this kernel forbids all counting" },
		{ EACCES, HWK(1), { .cpu = -1 }, &debian, TARE_E_PARANOID,
		  "perf_event_paranoid is 3, which forbids counting the kernel" },
		{ EPERM, HW(1), { .cpu = -1 }, &debian, TARE_E_PARANOID, "is 3" },
		{ EACCES, HW(1), { .cpu = 0, .pid = -1 }, &plain, TARE_E_PARANOID, "whole CPU" },
		{ EACCES, HW(1), { .cpu = -1, .pid = 1 }, &plain, TARE_E_PERMISSION,
		  "process 1 is not yours" },
		{ EACCES, HWK(1), { .cpu = -1, .pid = 1 }, &root_user, TARE_E_PERMISSION,
		  "process 1" },
		{ EACCES, HW(1), { .cpu = -1 }, &plain, TARE_E_PERMISSION, "" },
		{ EPERM, HW(1), { .cpu = -1 }, &docker, TARE_E_SECCOMP, "" },
		{ ENOSYS, HW(1), { .cpu = -1 }, &docker, TARE_E_SECCOMP, "" },
		{ EACCES, HWK(1), { .cpu = -1 }, &docker, TARE_E_PARANOID, "the kernel" },
		{ ENOSYS, HW(1), { .cpu = -1 }, &no_perf, TARE_E_NO_PERF, "" },
		/* counters */
		{ EINVAL, HW(1), { .cpu = -1, .group_size = 7 }, &plain, TARE_E_NO_COUNTERS,
		  "a group of 7" },
		{ EINVAL, SW(1), { .cpu = -1, .group_size = 7 }, &plain,
		  TARE_E_EVENT_UNSUPPORTED, "" },
		{ ENOSPC, TYPE(PERF_TYPE_BREAKPOINT, 0), { .cpu = -1 }, &plain,
		  TARE_E_NO_COUNTERS, "" },
		{ EBUSY, HW(1), { .cpu = -1 }, &plain, TARE_E_BUSY, "" },
		/* the virtual PMU has options of its own */
		{ EACCES, HWK(1), { .cpu = -1 }, &simulated, TARE_E_VIRTUAL_KERNEL, "" },
		/* core types */
		{ ENOENT, TYPE(10, 0xc0), { .cpu = 3, .pid = -1 }, &hybrid, TARE_E_WRONG_CORE,
		  "cpu_atom serves CPUs 12-19" },
		{ ENOENT, HW(1), { .cpu = -1, .on_cpu = 3 }, &hybrid, TARE_E_WRONG_CORE,
		  "several core types" },
		/* the rest */
		{ ESRCH, HW(1), { .cpu = -1, .pid = 77 }, &plain, TARE_E_NO_PROCESS, "77" },
		{ EMFILE, HW(1), { .cpu = -1 }, &plain, TARE_E_TOO_MANY_FILES, "" },
		{ ENFILE, HW(1), { .cpu = -1 }, &plain, TARE_E_TOO_MANY_FILES, "" },
		{ ENOMEM, HW(1), { .cpu = -1 }, &plain, TARE_E_NOMEM, "" },
		{ EFAULT, HW(1), { .cpu = -1 }, &plain, TARE_E_IO, "perf_event_open" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perf_ask ask = rows[i].ask;
		struct tare_why why;
		ask.name = "the-event";
		const int code =
			perf_diagnose_open(rows[i].err, &rows[i].attr, &ask, rows[i].f, &why);
		if (code != rows[i].code || why.code != code)
			fail_msg("row %zu: %s, expected %s (%s)", i, tare_err_name(code),
				 tare_err_name(rows[i].code), why.what);
		assert_int_equal(why.sys_errno, rows[i].err);
		if (!strstr(why.what, rows[i].says) || !strstr(why.what, "the-event") ||
		    !strstr(why.what, strerror(rows[i].err)))
			fail_msg("row %zu says \"%s\"", i, why.what);
		assert_true(perf_diagnose_open(rows[i].err, &rows[i].attr, &ask, rows[i].f,
					       NULL) == code);
	}
}

#define UNKNOWN .free = PERF_FREE_UNKNOWN
#define NEEDS(n) .cpu = -1, .needs = { .general = (n) }
#define NEEDS_CYCLES(n) .cpu = -1, .needs = { .general = (n), .on_cycles = true }

/* Intel's fixed counters take one event each; what is left over wants a general one. */
static void needs(void **state)
{
	static const struct perf_event_attr attrs[] = {
		HW(PERF_COUNT_HW_INSTRUCTIONS), HW(PERF_COUNT_HW_CPU_CYCLES),
		TYPE(PERF_TYPE_RAW, 0xc4), TYPE(4, 0x3003c), TYPE(4, 0x010000c0), SW(2),
		HW(PERF_COUNT_HW_REF_CPU_CYCLES), TYPE(PERF_TYPE_HW_CACHE, 0xc0),
	};
	struct perf_needs intel = { 0 }, amd = { 0 }, on_arm = { 0 };
	for (size_t i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++) {
		perf_needs_add(&intel, &attrs[i], &intel_watchdog);
		perf_needs_add(&amd, &attrs[i], &watchdog);
		perf_needs_add(&on_arm, &attrs[i], &arm_watchdog);
	}
	assert_true(intel.on_instructions && intel.on_cycles && intel.on_reference);
	assert_int_equal(intel.general, 4);	/* 0xc4, the second cycles, cmask, the cache */
	assert_false(amd.on_instructions || amd.on_cycles || amd.on_reference);
	assert_int_equal(amd.general, 7);
	/* Only cycles have a counter of their own; types 4 are RAW there too. */
	assert_true(on_arm.on_cycles && !on_arm.on_instructions && !on_arm.on_reference);
	assert_int_equal(on_arm.general, 6);
}

static void without_a_counter(void **state)
{
	static const struct {
		struct perf_event_attr attr;
		struct perf_ask ask;
		const struct perf_facts *f;
		int code;
		const char *says;
	} rows[] = {
		{ HW(1), { NEEDS(1), UNKNOWN }, &plain, TARE_E_NO_COUNTERS,
		  "needs 1 general counter: others hold them" },
		/* A watchdog on a general counter is to blame where it makes the difference. */
		{ HW(1), { NEEDS(4), UNKNOWN }, &watchdog, TARE_E_WATCHDOG,
		  "needs 4 general counters, and this CPU has 4, one of which the watchdog has" },
		{ HW(1), { NEEDS(4), .free = 3 }, &watchdog, TARE_E_WATCHDOG, "" },
		{ HW(1), { NEEDS(4), .free = 1 }, &watchdog, TARE_E_NO_COUNTERS,
		  "of the 4 that this CPU has, 1 is free" },
		{ HW(1), { NEEDS(3), UNKNOWN }, &watchdog, TARE_E_NO_COUNTERS, "others hold" },
		{ HW(1), { NEEDS(5), UNKNOWN }, &watchdog, TARE_E_NO_COUNTERS,
		  "needs 5 general counters; this CPU has 4" },
		{ HW(1), { NEEDS(4), UNKNOWN }, &arm_watchdog, TARE_E_NO_COUNTERS, "" },
		/* Intel's sits on the fixed counter of cycles: in the way of cycles alone. */
		{ HW(0), { NEEDS_CYCLES(4), UNKNOWN }, &intel_watchdog, TARE_E_WATCHDOG,
		  "needs 5 general counters, and this CPU has 4" },
		{ HW(0), { NEEDS_CYCLES(4), .free = 4 }, &intel_watchdog, TARE_E_WATCHDOG,
		  "the watchdog has the fixed counter of cycles" },
		{ HW(0), { NEEDS_CYCLES(4), .free = 2 }, &intel_watchdog, TARE_E_NO_COUNTERS,
		  "2 are free" },
		{ HW(0), { NEEDS_CYCLES(2), UNKNOWN }, &intel_watchdog, TARE_E_NO_COUNTERS, "" },
		{ HW(4), { NEEDS(4), UNKNOWN }, &intel_watchdog, TARE_E_NO_COUNTERS,
		  "needs 4 general counters; this CPU has 4: others hold them" },
		{ HW(1), { .cpu = -1, .needs = { .on_instructions = true }, .free = 0 },
		  &intel_watchdog, TARE_E_NO_COUNTERS, "needs 1 fixed or general counter" },
		/* Counters are free now. */
		{ HW(4), { NEEDS(2), .free = 4, .shares = true }, &intel_watchdog,
		  TARE_E_NOT_SCHEDULED, "its turn did not come" },
		{ HW(4), { NEEDS(2), .free = 4 }, &intel_watchdog, TARE_E_NOT_SCHEDULED,
		  "others held the counters" },
		{ HW(4), { NEEDS(2), .free = 4, .pinned = true }, &intel_watchdog, TARE_E_STOLEN,
		  "at the end it had no counter; 4 general ones are free now" },
		{ TYPE(10, 0xc0), { .cpu = -1, .on_cpu = 2 }, &hybrid, TARE_E_WRONG_CORE,
		  "cpu_atom serves CPUs 12-19, this is CPU 2" },
		{ HW(10ull << 32 | 1), { .cpu = -1, .on_cpu = 2 }, &hybrid, TARE_E_WRONG_CORE,
		  "cpu_atom" },
		{ TYPE(10, 0xc0), { .cpu = -1, .on_cpu = 12 }, &hybrid, TARE_E_NO_COUNTERS, "" },
		{ TYPE(10, 0xc0), { NEEDS(1), .on_cpu = 12, .free = 4 }, &hybrid, TARE_E_WRONG_CORE,
		  "cpu_atom serves CPUs 12-19, and the program ran on others" },
		{ SW(1), { .cpu = -1 }, &plain, TARE_E_NOT_SCHEDULED, "" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perf_ask ask = rows[i].ask;
		struct tare_why why;
		ask.name = "the-event";
		const int code = perf_diagnose_unscheduled(&rows[i].attr, &ask, rows[i].f, &why);
		if (code != rows[i].code || !strstr(why.what, rows[i].says))
			fail_msg("row %zu: %s: %s", i, tare_err_name(code), why.what);
		assert_int_equal(why.sys_errno, 0);
		/* Whether it was asked for is not known here. */
		assert_null(strstr(tare_why_remedy(&why), "--exact"));
		assert_true(*tare_why_remedy(&why));
	}
}

static void without_user_reads(void **state)
{
	static const struct {
		struct perf_event_attr attr;
		const struct perf_facts *f;
		bool cap;
		unsigned width;
		int code;
		const char *says;
	} rows[] = {
		{ HW(1), &rdpmc_off, false, 0, TARE_E_RDPMC_FORBIDDEN, "cpu/rdpmc is 0" },
		{ HW(1), &plain, false, 48, TARE_E_RDPMC_FORBIDDEN, "cap_user_rdpmc is 0" },
		{ HW(1), &arm, true, 32, TARE_E_RDPMC_FORBIDDEN, "perf_user_access is 0" },
		{ SW(1), &plain, false, 0, TARE_E_EVENT_UNSUPPORTED, "counts this event itself" },
		{ HW(1), &plain, true, 0, TARE_E_WIDTH, "0 bits" },
		{ HW(1), &plain, true, 65, TARE_E_WIDTH, "65 bits" },
		{ HW(1), &plain, true, 48, TARE_E_NO_COUNTERS, "" },
		{ HW(1), &watchdog, true, 48, TARE_E_WATCHDOG, "" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct perf_ask ask = { .name = "the-event", NEEDS(4), UNKNOWN };
		struct tare_why why;
		const int code = perf_diagnose_user_read(&rows[i].attr, &ask, rows[i].f,
							 rows[i].cap, rows[i].width, &why);
		if (code != rows[i].code || !strstr(why.what, rows[i].says))
			fail_msg("row %zu: %s: %s", i, tare_err_name(code), why.what);
	}
}

/* Whatever a failure is called, a person gets a sentence and something to do. */
static void every_cause_has_a_remedy(void **state)
{
	static const int causes[] = {
		TARE_E_NO_PMU, TARE_E_PARANOID, TARE_E_PERMISSION, TARE_E_SECCOMP,
		TARE_E_NO_PERF, TARE_E_BUSY, TARE_E_TOO_MANY_FILES, TARE_E_NO_COUNTERS,
		TARE_E_WATCHDOG, TARE_E_RDPMC_FORBIDDEN, TARE_E_WRONG_CORE, TARE_E_STOLEN,
		TARE_E_WIDTH, TARE_E_EVENT_UNSUPPORTED, TARE_E_NOT_SCHEDULED, TARE_E_FORKED,
		TARE_E_WRONG_THREAD,
	};
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		assert_true(strlen(tare_err_sentence(causes[i])) > 10);
		if (!*tare_err_remedy(causes[i]))
			fail_msg("%s has no remedy", tare_err_name(causes[i]));
		/* An option of tare stat is no way out for a program that links the library. */
		assert_null(strstr(tare_err_remedy(causes[i]), "--exact"));
	}
	assert_non_null(strstr(tare_err_remedy(TARE_E_NO_PMU), "tare run -- ./program"));
	struct tare_why why = { .code = TARE_E_NO_PMU };
	assert_string_equal(tare_why_remedy(&why), tare_err_remedy(TARE_E_NO_PMU));
	strcpy(why.remedy, "another");
	assert_string_equal(tare_why_remedy(&why), "another");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opening),
		cmocka_unit_test(needs),
		cmocka_unit_test(without_a_counter),
		cmocka_unit_test(without_user_reads),
		cmocka_unit_test(every_cause_has_a_remedy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
