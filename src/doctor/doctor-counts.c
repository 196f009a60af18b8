/* The doctor's checks of the counters themselves: how many there are, and
 * whether they tell the truth about code whose counts are known. */
#include "doctor-checks.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#define LOOP_ROUNDS 100000	/* about 0.1 ms: most tries meet no interrupt */
#define TRAP_ROUNDS 500
#define SPIN_MS 40		/* some ticks, at any CONFIG_HZ */
#define MAX_COUNTERS 64
#define RAW_SPECLOCKMAP 0x0825	/* SpecLockMapCommit, Zen; SpecLockHiSpec since Zen 2 */
#define RAW_STREX_SPEC 0x6f	/* Armv8: store exclusive, speculatively executed */
#define RAW_BR_RETIRED 0x21	/* Armv8: branches retired */
#define RAW_EXC_TAKEN 0x09	/* Armv8: exceptions taken */
#define RAW_IN_TXCP (1ULL << 33) /* Intel: leave out aborted transactions */

void doctor_check_cpu(struct doctor *d)
{
	const struct tare_cpu *const cpu = &d->report->cpu;
	char id[64];

	if (cpu->arch == TARE_ARCH_ARM64)
		snprintf(id, sizeof(id), "MIDR 0x%08" PRIx32, cpu->midr);
	else
		snprintf(id, sizeof(id), "family 0x%x model 0x%x stepping %u", cpu->family,
			 cpu->model, cpu->stepping);
	if (cpu->uarch)
		return doctor_find(d, FIND_CPU_KNOWN, "%s (%s): %s", cpu->uarch->title, id,
				   cpu->brand[0] ? cpu->brand : "no brand name");
	doctor_find(d, FIND_CPU_UNKNOWN, "%s is not in the tables: %s", id,
		    cpu->brand[0] ? cpu->brand : "no brand name");
}

/* Intel's fixed counters are instructions and cycles, in this order. The watchdog counts
 * cycles, and the kernel prefers the fixed counter. */
static bool fixed_cycles(const struct tare_cpu *cpu)
{
	return cpu->vendor == TARE_VENDOR_INTEL && cpu->fixed_counters >= 2;
}

void doctor_check_watchdog(struct doctor *d)
{
	const int on = d->facts.nmi_watchdog;

	if (on == FACT_ABSENT)
		return doctor_find(d, FIND_WATCHDOG_ABSENT, "there is no kernel.nmi_watchdog");
	if (!doctor_has_pmu(d))
		return doctor_find(d, FIND_WATCHDOG_NO_PMU,
				   "kernel.nmi_watchdog is %d; there is no counter to take", on);
	enum doctor_finding which = FIND_WATCHDOG_OFF;
	if (on && d->report->cpu.arch == TARE_ARCH_ARM64)
		which = FIND_WATCHDOG_CYCLES;
	else if (on)
		which = fixed_cycles(&d->report->cpu) ? FIND_WATCHDOG_FIXED : FIND_WATCHDOG_ON;
	doctor_find(d, which, "kernel.nmi_watchdog is %d", on);
}

/* Branches fit on every general counter and on no fixed one. Where the kernel
 * has no such event (some arm64 cores), instructions have no fixed counter. */
static struct tare_encoding general_event(const struct doctor *d)
{
	const struct tare_encoding branches = doctor_generic(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	if (d->probes->open(d->probes->arg, &branches) != -ENOENT)
		return branches;
	return doctor_generic(PERF_COUNT_HW_INSTRUCTIONS);
}

/* What the CPU says it has comes before what the tables say of its kind. */
static unsigned expected_counters(const struct tare_cpu *cpu)
{
	if (cpu->gp_counters)
		return cpu->gp_counters;
	return cpu->uarch ? cpu->uarch->gp_counters : 0;
}

void doctor_check_counters(struct doctor *d)
{
	const unsigned expected = expected_counters(&d->report->cpu);
	unsigned n = 0;
	int r = 0;
	char of[48] = "";

	if (!doctor_has_pmu(d))
		return doctor_find(d, FIND_COUNTERS_NO_PMU, "not tried: no hardware counters");
	const struct tare_encoding e = general_event(d);
	while (n < MAX_COUNTERS && (r = d->probes->fits(d->probes->arg, &e, n + 1)) == 1)
		n++;
	/* More than expected: then the number expected is wrong, and is not shown. */
	if (expected >= n && expected)
		snprintf(of, sizeof(of), " of %u that this CPU has", expected);
	d->counters_held = n == 0;
	if (n == 0)
		return doctor_find(d, FIND_COUNTERS_HELD, "no event could be counted%s%s",
				   r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
	if (n == 1)
		return doctor_find(d, FIND_COUNTERS_ONE, "one general counter%s", of);
	/* -EBUSY: the kernel believed that one more would fit. */
	if (n < expected || r == -EBUSY)
		return doctor_find(d, FIND_COUNTERS_FEWER, "%u general counters%s%s", n, of,
				   r == -EBUSY ? ", others are held by somebody else" : "");
	doctor_find(d, FIND_COUNTERS_ALL, "%u general counters at once%s", n, of);
}

/* The events tried on the known loop: what a round adds to each. */
struct loop_event {
	const char *name;
	enum tare_role role;
	bool generic;			/* use the kernel's own encoding */
	uint64_t config;		/* of a generic one */
	unsigned per_round;
};

static const struct loop_event loop_events[] = {
	{ "instructions:u", TARE_ROLE_INSTRUCTIONS, true, PERF_COUNT_HW_INSTRUCTIONS, 4 },
	{ "branches:u", TARE_ROLE_BRANCHES, true, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 1 },
	{ "conditional branches", TARE_ROLE_COND_BRANCHES, false, 0, 1 },
	{ "loads", TARE_ROLE_LOADS, false, 0, 1 },
	{ "stores", TARE_ROLE_STORES, false, 0, 1 },
};

#define N_LOOP_EVENTS (sizeof(loop_events) / sizeof(loop_events[0]))

/* False: this CPU has no such event, or one known not to count the program's own. */
static bool loop_encoding(const struct doctor *d, const struct loop_event *l,
			  struct tare_encoding *e)
{
	const unsigned other_meaning = TARE_TRUST_UOPS | TARE_TRUST_SPECULATIVE | TARE_TRUST_BROKEN;

	if (l->generic) {
		*e = doctor_generic(l->config);
		return true;
	}
	const struct tare_event_row *const row = tare_cpu_event(d->report->cpu.uarch, l->role);
	if (!row || !row->has_raw || row->trust & other_meaning)
		return false;
	*e = doctor_raw(row->raw);
	return true;
}

enum loop_result { LOOP_EXACT, LOOP_ZERO, LOOP_UNDER, LOOP_OVER, LOOP_UNOPENED, N_LOOP_RESULTS };

static const enum doctor_finding loop_findings[N_LOOP_RESULTS] = {
	[LOOP_EXACT] = FIND_LOOP_EXACT,	      [LOOP_ZERO] = FIND_LOOP_ZERO,
	[LOOP_UNDER] = FIND_LOOP_UNDER,	      [LOOP_OVER] = FIND_LOOP_OVER,
	[LOOP_UNOPENED] = FIND_LOOP_UNOPENED,
};

static enum loop_result judge(int err, uint64_t value, uint64_t expected)
{
	if (err)
		return LOOP_UNOPENED;
	if (value == 0)
		return LOOP_ZERO;
	if (value < expected)
		return LOOP_UNDER;
	return value > expected ? LOOP_OVER : LOOP_EXACT;
}

/* Appends "instructions:u 399,000 of 400,000" to a list. */
static void add_to_list(char *list, size_t size, const char *name, enum loop_result r, int err,
			uint64_t value, uint64_t expected)
{
	const size_t used = strlen(list);
	const char *const sep = used ? ", " : "";

	if (r == LOOP_EXACT || r == LOOP_ZERO)
		snprintf(list + used, size - used, "%s%s", sep, name);
	else if (r == LOOP_UNOPENED)
		snprintf(list + used, size - used, "%s%s (%s)", sep, name, strerror(-err));
	else
		snprintf(list + used, size - used, "%s%s %" PRIu64 " instead of %" PRIu64, sep,
			 name, value, expected);
}

/* The kernel opens any raw code on arm64. These two belong to the architecture; a
 * PMU that does not have them reads 0 for ever, whatever is executed. (Not judged
 * further: some cores count taken branches only, and exceptions come by chance.) */
static void check_silent(struct doctor *d)
{
	const struct tare_encoding branches = doctor_raw(RAW_BR_RETIRED);
	struct tare_encoding exceptions = doctor_raw(RAW_EXC_TAKEN);
	char list[128] = "";
	uint64_t value = 0;

	if (d->report->cpu.arch != TARE_ARCH_ARM64)
		return;
	if (d->probes->count(d->probes->arg, &branches, TARE_REGION_LOOP, LOOP_ROUNDS, &value) == 0 &&
	    value == 0)
		add_to_list(list, sizeof(list), "BR_RETIRED (raw 0x0021)", LOOP_ZERO, 0, 0, 0);
	/* In all modes: which one an exception belongs to is the PMU's choice. */
	exceptions.exclude_kernel = false;
	if (d->probes->spin(d->probes->arg, &exceptions, SPIN_MS, &value) == 0 && value == 0)
		add_to_list(list, sizeof(list), "EXC_TAKEN (raw 0x0009)", LOOP_ZERO, 0, 0, 0);
	if (list[0])
		doctor_find(d, FIND_LOOP_SILENT, "open but stay 0: %s", list);
}

void doctor_check_loop(struct doctor *d)
{
	static const char *const intro[N_LOOP_RESULTS] = {
		[LOOP_EXACT] = "exact", [LOOP_ZERO] = "open but stay 0",
		[LOOP_UNDER] = "too few", [LOOP_OVER] = "too many",
		[LOOP_UNOPENED] = "cannot be opened",
	};
	char lists[N_LOOP_RESULTS][256] = { 0 };

	if (!doctor_has_pmu(d))
		return doctor_find(d, FIND_LOOP_NO_PMU, "not tried: no hardware counters");
	for (size_t i = 0; i < N_LOOP_EVENTS; i++) {
		const struct loop_event *const l = &loop_events[i];
		const uint64_t expected = (uint64_t)l->per_round * LOOP_ROUNDS;
		struct tare_encoding e;
		uint64_t value = 0;

		if (!loop_encoding(d, l, &e))
			continue;
		const int err = d->probes->count(d->probes->arg, &e, TARE_REGION_LOOP,
						 LOOP_ROUNDS, &value);
		const enum loop_result r = judge(err, value, expected);
		add_to_list(lists[r], sizeof(lists[r]), l->name, r, err, value, expected);
		if (l->role == TARE_ROLE_INSTRUCTIONS)
			d->counts_wrong = r == LOOP_ZERO || r == LOOP_UNDER || r == LOOP_UNOPENED;
	}
	for (unsigned r = 0; r < N_LOOP_RESULTS; r++)
		if (lists[r][0])
			doctor_find(d, loop_findings[r], "%s: %s", intro[r], lists[r]);
	check_silent(d);
}

void doctor_check_overflow(struct doctor *d)
{
	const struct tare_encoding e = doctor_generic(PERF_COUNT_HW_INSTRUCTIONS);
	const uint64_t expected = 4ULL * LOOP_ROUNDS;
	uint64_t value = 0;
	unsigned fired = 0;

	if (!doctor_has_pmu(d))
		return doctor_find(d, FIND_OVERFLOW_NO_PMU, "not tried: no hardware counters");
	const int err = d->probes->overflow(d->probes->arg, &e, LOOP_ROUNDS, &value, &fired);
	if (err)
		return doctor_find(d, FIND_OVERFLOW_ERROR, "not tried: %s", strerror(-err));
	if (!fired)
		return doctor_find(d, FIND_OVERFLOW_SILENT, "no interrupt came");
	/* Each overflow is an interrupt, which may count as one; so may the few
	 * others that come during the loop. */
	const uint64_t slack = fired + 8;
	if (value < expected || value > expected + slack)
		return doctor_find(d, FIND_OVERFLOW_WRONG,
				   "%" PRIu64 " instead of %" PRIu64 " after %u overflow%s", value,
				   expected, fired, fired == 1 ? "" : "s");
	doctor_find(d, FIND_OVERFLOW_WORKS, "the count survives an overflow");
}

/* Conditional branches where the CPU has them, all branches otherwise. */
static struct tare_encoding branch_encoding(const struct doctor *d)
{
	const struct tare_event_row *const row =
		tare_cpu_event(d->report->cpu.uarch, TARE_ROLE_COND_BRANCHES);
	if (row && row->has_raw)
		return doctor_raw(row->raw);
	return doctor_generic(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
}

void doctor_check_trap(struct doctor *d)
{
	const struct tare_encoding e = branch_encoding(d);
	uint64_t value = 0;

	if (!doctor_has_pmu(d))
		return doctor_find(d, FIND_TRAP_NO_PMU, "not tried: no hardware counters");
	if (!d->hypervisor || d->report->cpu.arch != TARE_ARCH_X86_64)
		return doctor_find(d, FIND_TRAP_NO_VM, "not an x86 virtual machine");
	const int err = d->probes->count(d->probes->arg, &e, TARE_REGION_CPUID, TRAP_ROUNDS, &value);
	if (err)
		return doctor_find(d, FIND_TRAP_ERROR, "not tried: %s", strerror(-err));
	doctor_find(d, value < TRAP_ROUNDS ? FIND_TRAP_LOST : FIND_TRAP_WORKS,
		    "%" PRIu64 " of %d branches between CPUIDs were counted", value, TRAP_ROUNDS);
}

void doctor_check_txcp(struct doctor *d)
{
	const struct tare_event_row *const row =
		tare_cpu_event(d->report->cpu.uarch, TARE_ROLE_COND_BRANCHES);
	uint64_t plain = 0, value = 0;

	if (!doctor_has_pmu(d))
		return doctor_find(d, FIND_TXCP_NO_PMU, "not tried: no hardware counters");
	if (d->report->cpu.vendor != TARE_VENDOR_INTEL || !d->facts.flag_rtm || !row ||
	    !row->has_raw)
		return doctor_find(d, FIND_TXCP_NO_TSX, "this CPU has no transactions (TSX)");
	struct tare_encoding e = doctor_raw(row->raw);
	if (d->probes->count(d->probes->arg, &e, TARE_REGION_LOOP, LOOP_ROUNDS, &plain))
		plain = LOOP_ROUNDS;
	e.config |= RAW_IN_TXCP;
	const int err = d->probes->count(d->probes->arg, &e, TARE_REGION_LOOP, LOOP_ROUNDS, &value);
	if (err || value == 0)
		return doctor_find(d, FIND_TXCP_MISSING, "an event with in_tx_cp %s%s",
				   err ? "cannot be opened: " : "stays 0",
				   err ? strerror(-err) : "");
	if (value < plain)
		return doctor_find(d, FIND_TXCP_BROKEN, "%" PRIu64 " instead of %" PRIu64, value,
				   plain);
	/* An interrupt that falls into one of the two may add a branch or two. */
	if (value > plain + 8)
		return doctor_find(d, FIND_TXCP_OVER,
				   "%" PRIu64 ", while the plain event counts %" PRIu64, value, plain);
	doctor_find(d, FIND_TXCP_WORKS, "in_tx_cp counts like the plain event");
}

static bool is_zen(const struct tare_cpu *cpu)
{
	return tare_cpu_event(cpu->uarch, TARE_ROLE_SPECLOCKMAP) ||
	       (cpu->vendor == TARE_VENDOR_AMD && cpu->family >= 0x17) ||
	       cpu->vendor == TARE_VENDOR_HYGON;
}

/* Zen, Zen+ and Hygon Dhyana switch store bypass by MSR 0xC0011020 itself. */
static bool ssbd_in_ls_cfg(const struct tare_cpu *cpu)
{
	return cpu->vendor == TARE_VENDOR_HYGON || (cpu->family == 0x17 && cpu->model < 0x30);
}

void doctor_check_speclock(struct doctor *d)
{
	const struct tare_cpu *const cpu = &d->report->cpu;
	const struct tare_event_row *const row = tare_cpu_event(cpu->uarch, TARE_ROLE_SPECLOCKMAP);
	const struct tare_encoding e = doctor_raw(row && row->has_raw ? row->raw : RAW_SPECLOCKMAP);
	unsigned n = 1;
	uint64_t moved = 0;

	if (!is_zen(cpu))
		return doctor_find(d, FIND_SPECLOCK_OTHER_CPU, "not an AMD Zen CPU");
	if (!doctor_has_pmu(d))
		return doctor_find(d, FIND_SPECLOCK_NO_PMU,
				   "not tried: no hardware counters for it to spoil");
	int err = d->probes->count(d->probes->arg, &e, TARE_REGION_LOCKED, n, &moved);
	if (!err && !moved)	/* one may by chance not have run ahead: ask again */
		err = d->probes->count(d->probes->arg, &e, TARE_REGION_LOCKED, n = 1000, &moved);
	if (err)
		return doctor_find(d, FIND_SPECLOCK_UNTESTED,
				   "raw 0x%04" PRIx64 " cannot be counted: %s", e.config,
				   strerror(-err));
	if (!moved)
		return doctor_find(d, FIND_SPECLOCK_OFF,
				   "raw 0x%04" PRIx64 " stays 0 over %u locked instructions",
				   e.config, n);
	doctor_find(d, ssbd_in_ls_cfg(cpu) ? FIND_SPECLOCK_ON_ZEN1 : FIND_SPECLOCK_ON,
		    "active: raw 0x%04" PRIx64 " moved by %" PRIu64 " over %u locked instruction%s",
		    e.config, moved, n, n == 1 ? "" : "s");
}

void doctor_check_exclusive(struct doctor *d)
{
	const struct tare_encoding e = doctor_raw(RAW_STREX_SPEC);
	const unsigned n = 100;
	uint64_t value = 0;

	if (d->report->cpu.arch != TARE_ARCH_ARM64)
		return doctor_find(d, FIND_EXCLUSIVE_OTHER_ARCH, "arm64 only");
	if (d->facts.flag_atomics)
		return doctor_find(d, FIND_EXCLUSIVE_LSE, "this CPU has LSE atomics");
	if (!doctor_has_pmu(d))
		return doctor_find(d, FIND_EXCLUSIVE_NO_PMU, "not tried: no hardware counters");
	const int err = d->probes->count(d->probes->arg, &e, TARE_REGION_LOCKED, n, &value);
	if (err)
		return doctor_find(d, FIND_EXCLUSIVE_NOT_COUNTED,
				   "no LSE atomics; raw 0x006f cannot be counted: %s", strerror(-err));
	doctor_find(d, value >= n ? FIND_EXCLUSIVE_COUNTED : FIND_EXCLUSIVE_NOT_COUNTED,
		    "no LSE atomics; raw 0x006f counted %" PRIu64 " of %u exclusive stores", value, n);
}

void doctor_check_irq(struct doctor *d)
{
	const struct tare_uarch *const uarch = d->report->cpu.uarch;
	const struct tare_event_row *const row = tare_cpu_event(uarch, TARE_ROLE_INTERRUPTS);
	const char *const cpu = uarch ? uarch->title : "this CPU";
	char what[128] = "";
	uint64_t seen = 0;

	if (row && row->has_raw)
		snprintf(what, sizeof(what), "%s (raw 0x%04" PRIx64 ")", row->name, row->raw);
	if (!doctor_has_pmu(d))
		return doctor_find(d, FIND_IRQ_NO_PMU, "%s for %s; no hardware counters to use it",
				   what[0] ? what : "none known", cpu);
	if (!what[0])
		return doctor_find(d, FIND_IRQ_UNKNOWN, "none known for %s", cpu);
	const struct tare_encoding e = doctor_raw(row->raw);
	const int err = d->probes->spin(d->probes->arg, &e, SPIN_MS, &seen);
	if (err)
		return doctor_find(d, FIND_IRQ_REFUSED, "%s cannot be counted: %s", what,
				   strerror(-err));
	if (!seen)
		return doctor_find(d, FIND_IRQ_ZERO, "%s stays 0 over %d busy milliseconds", what,
				   SPIN_MS);
	doctor_find(d, row->documented ? FIND_IRQ_DOCUMENTED : FIND_IRQ_UNDOCUMENTED,
		    "%s counted %" PRIu64 " in %d busy milliseconds", what, seen, SPIN_MS);
}
