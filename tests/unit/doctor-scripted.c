/* The doctor's findings: every one of them is produced here.
 *
 * A case is a machine: a tree of tests/fixtures/doctor for what is read, and a
 * script for what is tried. It names the findings it is about; the last test
 * fails if the doctor can say something that no case expects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tare/doctor.h>

#define RAW_COND 0x01c4
#define RAW_LOADS 0x81d0
#define RAW_STORES 0x82d0
#define RAW_UOPS 0x01c2
#define RAW_IRQ 0x01cb
#define RAW_SPECLOCK 0x0825
#define RAW_BR_RETIRED 0x21
#define RAW_STREX 0x6f
#define TXCP (1ULL << 33)

/* A little table of our own, so that these tests do not change with the real one. */
static const struct tare_event_row intel_events[] = {
	{ .name = "BR_INST_RETIRED.CONDITIONAL", .role = TARE_ROLE_COND_BRANCHES, .raw = RAW_COND,
	  .has_raw = true, .trust = TARE_TRUST_DETERMINISTIC },
	{ .name = "MEM_INST_RETIRED.ALL_LOADS", .role = TARE_ROLE_LOADS, .raw = RAW_LOADS,
	  .has_raw = true, .trust = TARE_TRUST_NOISY_INTERRUPTS },
	{ .name = "MEM_INST_RETIRED.ALL_STORES", .role = TARE_ROLE_STORES, .raw = RAW_STORES,
	  .has_raw = true, .trust = TARE_TRUST_NOISY_INTERRUPTS },
	{ .name = "HW_INTERRUPTS.RECEIVED", .role = TARE_ROLE_INTERRUPTS, .raw = RAW_IRQ,
	  .has_raw = true, .documented = true },
};
static const struct tare_event_row ivy_events[] = {
	{ .name = "UOPS_RETIRED.LOADS", .role = TARE_ROLE_LOADS, .raw = RAW_UOPS,
	  .has_raw = true, .trust = TARE_TRUST_UOPS },
	{ .name = "HW_INTERRUPTS.RECEIVED", .role = TARE_ROLE_INTERRUPTS, .raw = RAW_IRQ,
	  .has_raw = true },
};
static const struct tare_event_row zen_events[] = {
	{ .name = "LsIntTaken", .role = TARE_ROLE_INTERRUPTS, .raw = 0x2c, .has_raw = true,
	  .documented = true },
	{ .name = "SpecLockMapCommit", .role = TARE_ROLE_SPECLOCKMAP, .raw = RAW_SPECLOCK,
	  .has_raw = true, .documented = true },
};

#define UARCH(array) .events = array, .n_events = sizeof(array) / sizeof(array[0])
static const struct tare_uarch skylake = { .name = "skylake", .title = "Intel Skylake",
					   .gp_counters = 4, UARCH(intel_events) };
static const struct tare_uarch ivybridge = { .name = "ivybridge", .title = "Intel Ivy Bridge",
					     .gp_counters = 4, .irq_event_needs_no_smt = true,
					     UARCH(ivy_events) };
static const struct tare_uarch zen1 = { .name = "zen1", .title = "AMD Zen", .gp_counters = 6,
					UARCH(zen_events) };
static const struct tare_uarch neoverse = { .name = "neoverse-n1", .title = "Arm Neoverse N1",
					    .gp_counters = 6 };

#define INTEL .arch = TARE_ARCH_X86_64, .vendor = TARE_VENDOR_INTEL, .family = 6
#define AMD .arch = TARE_ARCH_X86_64, .vendor = TARE_VENDOR_AMD
#define ARM .arch = TARE_ARCH_ARM64, .vendor = TARE_VENDOR_ARM
#define SKYLAKE { INTEL, .model = 0x5e, .stepping = 3, .brand = "Core i7-6700", .uarch = &skylake }
/* Without hyperthreading: cpuid says eight, the tables four. */
#define SKYLAKE_ALONE { INTEL, .model = 0x5e, .uarch = &skylake, .gp_counters = 8 }
#define IVYBRIDGE_FIXED { INTEL, .model = 0x3a, .uarch = &ivybridge, .gp_counters = 4, \
			  .fixed_counters = 3 }
#define IVYBRIDGE { INTEL, .model = 0x3a, .uarch = &ivybridge }
#define ZEN1 { AMD, .family = 0x17, .model = 0x01, .uarch = &zen1 }
#define ZEN2 { AMD, .family = 0x17, .model = 0x71, .uarch = &zen1 }
#define IN_VM(signature) { AMD, .family = 0x19, .model = 1, .hypervisor = signature, .uarch = &zen1 }
#define NEOVERSE { ARM, .midr = 0x413fd0c1, .uarch = &neoverse }

/* How an event behaves, where it is not exact. */
struct behaviour {
	uint32_t type;
	uint64_t config;
	enum tare_region region;
	int err;
	uint64_t value;
};

#define HW(c) .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_##c
#define RAW(c) .type = PERF_TYPE_RAW, .config = c

struct machine {
	struct tare_cpu cpu;
	int software_err, kernel_err, pmu_err, raw_err;
	unsigned fits;			/* 0: as many as the table says */
	int fits_end;			/* what one more gives */
	bool none_fits;
	struct behaviour is[3];
	bool irq_zero;
	bool no_branches;
	int overflow_err;
	unsigned no_overflow;
	uint64_t overflow_extra;
	int rdpmc_err;
	bool rdpmc_withheld;		/* capable, but index 0 */
	uint64_t rdpmc_off_by;
	int engine_err, trace_err, aslr_err;
	uint64_t tick_ns;
	const char *preload, *malloc_conf;
	char stayed[64];		/* every place it was told to stay on */
};

static void m_cpu(void *arg, struct tare_cpu *cpu)
{
	const struct machine *const m = arg;
	*cpu = m->cpu;
}

static void m_stay_on(void *arg, const char *cpus)
{
	struct machine *const m = arg;
	const size_t used = strlen(m->stayed);
	snprintf(m->stayed + used, sizeof(m->stayed) - used, "%s;", cpus ? cpus : "back");
}

static int m_open(void *arg, const struct tare_encoding *e)
{
	const struct machine *const m = arg;
	if (e->type == PERF_TYPE_SOFTWARE) {
		assert_int_equal(e->config, PERF_COUNT_SW_DUMMY);
		return e->exclude_kernel ? m->software_err :
		       m->software_err ? m->software_err : m->kernel_err;
	}
	assert_true(e->exclude_kernel);
	if (e->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS && m->no_branches)
		return -ENOENT;
	return e->type == PERF_TYPE_HARDWARE ? m->pmu_err : m->raw_err;
}

static int m_fits(void *arg, const struct tare_encoding *e, unsigned n)
{
	const struct machine *const m = arg;
	const unsigned all = m->fits ? m->fits : m->cpu.uarch ? m->cpu.uarch->gp_counters : 4;
	assert_int_equal(m->pmu_err, 0);
	if (e->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS && m->no_branches)
		return -ENOENT;
	return n <= all && !m->none_fits ? 1 : m->fits_end;
}

static uint64_t truth(const struct tare_encoding *e, enum tare_region region, uint64_t n)
{
	if (region == TARE_REGION_LOCKED)
		return e->config == RAW_STREX ? n : 0;
	if (e->type == PERF_TYPE_HARDWARE && e->config == PERF_COUNT_HW_INSTRUCTIONS)
		return 4 * n;
	return n;
}

static int m_count(void *arg, const struct tare_encoding *e, enum tare_region region, uint64_t n,
		   uint64_t *value)
{
	const struct machine *const m = arg;
	assert_int_equal(m->pmu_err, 0);
	for (size_t i = 0; i < sizeof(m->is) / sizeof(m->is[0]); i++) {
		const struct behaviour *const b = &m->is[i];
		if (b->type == e->type && b->config == e->config && b->region == region &&
		    (b->err || b->value != UINT64_MAX)) {
			*value = b->value;
			return b->err;
		}
	}
	*value = truth(e, region, n);
	return 0;
}

static int m_spin(void *arg, const struct tare_encoding *e, unsigned ms, uint64_t *value)
{
	const struct machine *const m = arg;
	assert_int_equal(e->type, PERF_TYPE_RAW);
	*value = m->irq_zero ? 0 : 10;
	return m->raw_err;
}

static int m_overflow(void *arg, const struct tare_encoding *e, uint64_t n, uint64_t *value,
		      unsigned *fired)
{
	const struct machine *const m = arg;
	*value = 4 * n + m->overflow_extra;
	*fired = !m->no_overflow;
	return m->overflow_err;
}

static int m_rdpmc(void *arg, const struct tare_encoding *e, struct tare_rdpmc_answer *a)
{
	const struct machine *const m = arg;
	a->capable = true;
	a->index = m->rdpmc_withheld ? 0 : 1;
	a->before = 1000 + m->rdpmc_off_by;
	a->kernel = 1010;
	a->after = 1020 + m->rdpmc_off_by;
	return m->rdpmc_err;
}

static int m_engine(void *arg, struct tare_why *why)
{
	const struct machine *const m = arg;
	if (m->engine_err == TARE_E_ENGINE)
		snprintf(why->what, sizeof(why->what), "the software engine is not built in");
	return m->engine_err;
}

static int m_trace(void *arg) { return ((const struct machine *)arg)->trace_err; }
static int m_no_aslr(void *arg) { return ((const struct machine *)arg)->aslr_err; }
static uint64_t m_tick_ns(void *arg) { return ((const struct machine *)arg)->tick_ns; }

static const char *m_environment(void *arg, const char *name)
{
	const struct machine *const m = arg;
	return !strcmp(name, "LD_PRELOAD")  ? m->preload :
	       !strcmp(name, "MALLOC_CONF") ? m->malloc_conf :
					      NULL;
}

static struct tare_doctor_report *examine(const char *root, struct machine *m)
{
	const struct tare_doctor_probes probes = {
		.size = sizeof(probes), .arg = m, .cpu = m_cpu, .stay_on = m_stay_on, .open = m_open, .fits = m_fits, .count = m_count,
		.spin = m_spin, .overflow = m_overflow, .rdpmc = m_rdpmc, .engine = m_engine,
		.trace = m_trace,
		.no_aslr = m_no_aslr, .tick_ns = m_tick_ns, .environment = m_environment,
	};
	struct tare_doctor_report *r;
	struct tare_why why;
	assert_int_equal(tare_doctor(root, &probes, &r, &why), 0);
	return r;
}

static void tree_path(char *out, size_t size, const char *tree)
{
	const char *const base = getenv("TARE_FIXTURES");
	assert_non_null(base);
	snprintf(out, size, "%s/doctor/%s", base, tree);
	assert_int_equal(access(out, F_OK), 0);
}

struct finding_case {
	const char *what;
	const char *tree;
	struct machine m;
	enum tare_doctor_status status;
	const char *conclusion;		/* the start of it */
	const char *expect[20];		/* "check:code" */
	const char *says;		/* somewhere in the findings or remedies */
};

static const struct finding_case cases[] = {
	{ "bare metal as it should be", "skylake-quiet", { SKYLAKE, .tick_ns = 1000000 },
	  TARE_DOCTOR_GOOD, "hardware counters work",
	  { "cpu:known", "perf:works", "pmu:present", "engine:works", "paranoid:kernel",
	    "capabilities:none", "seccomp:none", "rdpmc:works", "nmi-watchdog:off", "counters:all",
	    "counting:exact", "overflow:works", "vm-exits:no-vm", "in-txcp:works",
	    "speclockmap:other-cpu", "exclusives:other-architecture",
	    "interrupt-event:documented", "freeze-on-smi:on", "smt:off", "hybrid:uniform" },
	  "CONFIG_HZ=1000: 1000 timer" },
	{ "the rest of that machine", "skylake-quiet", { SKYLAKE, .malloc_conf = "dirty_decay_ms:0,muzzy_decay_ms:-1" },
	  TARE_DOCTOR_GOOD, "hardware counters work",
	  { "tick:rate", "tickless:some", "aslr:off", "huge-pages:some", "jemalloc:still",
	    "clock:fast" },
	  "CONFIG_HZ=300: 300 timer" },
	{ "a noisy old machine", "ivybridge-noisy",
	  { IVYBRIDGE, .tick_ns = 4000000, .fits = 3, .fits_end = -EBUSY,
	    .preload = "/usr/lib/libjemalloc.so.2", .malloc_conf = "narenas:1,dirty_decay_ms:0" },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 7 caveats",
	  { "paranoid:per-cpu", "capabilities:sys-admin", "rdpmc:always", "nmi-watchdog:on",
	    "counters:fewer", "interrupt-event:undocumented", "freeze-on-smi:off",
	    "smt:breaks-interrupts", "tickless:none", "aslr:per-command", "huge-pages:always",
	    "jemalloc:timed", "clock:slow", "in-txcp:no-tsx" },
	  "3 general counters of 4 that this CPU has, others are held" },
	{ "a watchdog on the fixed counter of cycles", "ivybridge-noisy", { IVYBRIDGE_FIXED },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with",
	  { "nmi-watchdog:fixed", "counters:all" }, "4 general counters at once of 4" },
	{ "a CPU with more counters than its kind has", "skylake-quiet", { SKYLAKE_ALONE, .fits = 8 },
	  TARE_DOCTOR_GOOD, "hardware counters work", { "counters:all" },
	  "8 general counters at once of 8 that this CPU has" },
	{ "a CPU that hides half of its counters", "skylake-quiet", { SKYLAKE_ALONE, .fits = 4 },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 1 caveat", { "counters:fewer" },
	  "4 general counters of 8 that this CPU has" },
	{ "all counters held by others", "zen",
	  { ZEN2, .none_fits = true, .fits_end = -EBUSY,
	    .is = { { HW(INSTRUCTIONS), .err = -EBUSY } } },
	  TARE_DOCTOR_CAVEATS, "others hold all hardware counters; counting in software",
	  { "counters:held" }, "no event could be counted" },
	{ "a guest without a PMU", "kvm-guest", { IN_VM("KVMKVMKVM"), .pmu_err = -ENOENT, .tick_ns = 3333333 },
	  TARE_DOCTOR_CAVEATS, "PMU hidden by KVM; counting in software",
	  { "pmu:hidden", "paranoid:user", "capabilities:perfmon", "rdpmc:no-pmu",
	    "nmi-watchdog:no-pmu", "counters:no-pmu", "counting:no-pmu", "overflow:no-pmu",
	    "vm-exits:no-pmu", "in-txcp:no-pmu", "speclockmap:no-pmu", "interrupt-event:no-pmu",
	    "freeze-on-smi:no-pmu", "smt:no-pmu", "jemalloc:not-seen" },
	  "CONFIG_HZ=300" },
	{ "a guest that also may not trace", "kvm-guest",
	  { IN_VM("VMwareVMware"), .pmu_err = -ENOENT, .trace_err = -EPERM },
	  TARE_DOCTOR_CANNOT_COUNT, "cannot count: PMU hidden by VMware, and ptrace is refused",
	  { "pmu:hidden", "engine:refused", "tick:unknown" }, "vpmc.enable" },
	{ "a guest whose engine finds ptrace refused", "kvm-guest",
	  { IN_VM("KVMKVMKVM"), .pmu_err = -ENOENT, .engine_err = TARE_E_NO_PTRACE },
	  TARE_DOCTOR_CANNOT_COUNT, "cannot count: PMU hidden by KVM, and ptrace is refused",
	  { "engine:refused" } },
	{ "a guest whose /proc is hidden", "kvm-guest",
	  { IN_VM("KVMKVMKVM"), .pmu_err = -ENOENT, .engine_err = TARE_E_NO_PROC },
	  TARE_DOCTOR_CANNOT_COUNT,
	  "cannot count: PMU hidden by KVM, and the software engine needs /proc (only the kernel's "
	  "software events work)",
	  { "engine:no-proc" }, "mount -t proc" },
	{ "a guest and a build without the engine", "kvm-guest",
	  { IN_VM("KVMKVMKVM"), .pmu_err = -ENOENT, .engine_err = TARE_E_ENGINE },
	  TARE_DOCTOR_CANNOT_COUNT,
	  "cannot count: PMU hidden by KVM, and the software engine cannot start (only the kernel's "
	  "software events work)",
	  { "engine:absent" }, "not built in" },
	{ "a hypervisor nobody knows", "kvm-guest", { IN_VM("TinyTinyTiny"), .pmu_err = -EOPNOTSUPP },
	  TARE_DOCTOR_CAVEATS, "PMU hidden by TinyTinyTiny; counting in software",
	  { "pmu:hidden" } },
	{ "a hypervisor that only shows a flag", "kvm-guest", { IN_VM(""), .pmu_err = -ENOENT },
	  TARE_DOCTOR_CAVEATS, "PMU hidden by a hypervisor without a name; counting",
	  { "pmu:hidden" } },
	{ "a guest whose counters lie", "kvm-guest",
	  { IN_VM("XenVMMXenVMM"), .overflow_extra = 5000,
	    .is = { { HW(INSTRUCTIONS), .value = 0 },
		    { HW(BRANCH_INSTRUCTIONS), .region = TARE_REGION_CPUID, .value = 499 } } },
	  TARE_DOCTOR_CAVEATS, "hardware counters open but do not count; counting in software",
	  { "pmu:present-vm", "counting:zero", "overflow:wrong", "vm-exits:lost",
	    "nmi-watchdog:off", "speclockmap:off" },
	  "open but stay 0: instructions:u" },
	{ "a guest that loses events", "kvm-guest",
	  { IN_VM("KVMKVMKVM"), .no_overflow = 1, .raw_err = -ENOENT,
	    .is = { { HW(INSTRUCTIONS), .value = 399999 },
		    { HW(BRANCH_INSTRUCTIONS), .value = 100001 },
		    { RAW(RAW_SPECLOCK), .region = TARE_REGION_LOCKED, .err = -ENOENT } } },
	  TARE_DOCTOR_CAVEATS, "hardware counters open but do not count; counting in software",
	  { "counting:under", "counting:over", "overflow:silent", "vm-exits:works",
	    "speclockmap:untested", "interrupt-event:refused" },
	  "too few: instructions:u 399999 instead of 400000" },
	{ "a guest where little can be tried", "kvm-guest",
	  { IN_VM("KVMKVMKVM"), .overflow_err = -EOPNOTSUPP, .rdpmc_err = -EINVAL,
	    .is = { { HW(BRANCH_INSTRUCTIONS), .region = TARE_REGION_CPUID, .err = -ENOENT } } },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with",
	  { "overflow:error", "vm-exits:error", "rdpmc:error" } },
	{ "a container", "docker", { SKYLAKE, .software_err = -EPERM, .pmu_err = -EPERM, .aslr_err = -EPERM },
	  TARE_DOCTOR_CAVEATS, "the kernel refuses to count (Operation not permitted); counting",
	  { "perf:seccomp", "pmu:refused", "capabilities:inactive", "seccomp:refuses",
	    "aslr:refused" } },
	{ "a container that refuses ptrace too", "docker",
	  { SKYLAKE, .software_err = -EPERM, .pmu_err = -EPERM, .trace_err = -EPERM },
	  TARE_DOCTOR_CANNOT_COUNT, "cannot count: the kernel refuses to count",
	  { "engine:seccomp" }, "SYS_PTRACE" },
	{ "a user namespace", "userns", { SKYLAKE, .kernel_err = -EACCES, .trace_err = -EPERM },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with",
	  { "capabilities:namespace", "seccomp:passes", "engine:yama-admin", "smt:harmless",
	    "freeze-on-smi:absent" } },
	{ "Debian's default", "debian-desktop",
	  { SKYLAKE, .software_err = -EACCES, .pmu_err = -EACCES, .trace_err = -EPERM },
	  TARE_DOCTOR_CANNOT_COUNT, "cannot count: the kernel refuses to count (Permission denied)",
	  { "perf:paranoid", "paranoid:forbidden", "engine:yama-none", "seccomp:passes" } },
	{ "Debian's default, as root", "debian-desktop", { SKYLAKE },
	  TARE_DOCTOR_CAVEATS, "hardware counters work", { "paranoid:overridden", "perf:works" } },
	{ "a hybrid machine", "alderlake",
	  { { INTEL, .model = 0x97, .hybrid = true, .uarch = &skylake }, .rdpmc_withheld = true },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 2 caveats",
	  { "paranoid:everything", "rdpmc:off", "hybrid:mixed" }, "2 core types: cpu_atom, cpu_core" },
	{ "a hybrid machine known by cpuid alone", "zen", { { INTEL, .hybrid = true, .uarch = &skylake } },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 1 caveat", { "hybrid:mixed" } },
	{ "Zen with SpecLockMap", "zen",
	  { ZEN1, .is = { { RAW(RAW_SPECLOCK), .region = TARE_REGION_LOCKED, .value = 1 } } },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 1 caveat", { "speclockmap:on-zen1" },
	  "spec_store_bypass_disable" },
	{ "Zen 2 with SpecLockMap", "zen",
	  { ZEN2, .is = { { RAW(RAW_SPECLOCK), .region = TARE_REGION_LOCKED, .value = 1 } } },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 1 caveat", { "speclockmap:on" },
	  "wrmsr -p $n 0xC0011020" },
	{ "Zen without SpecLockMap", "zen", { ZEN2 },
	  TARE_DOCTOR_GOOD, "hardware counters work", { "speclockmap:off" },
	  "stays 0 over 1000 locked" },
	{ "a Zen the tables do not know", "zen",
	  { { AMD, .family = 0x1f, .model = 3 },
	    .is = { { RAW(RAW_SPECLOCK), .region = TARE_REGION_LOCKED, .value = 1 } } },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 3 caveats",
	  { "cpu:unknown", "interrupt-event:unknown", "speclockmap:on", "counters:all" },
	  "family 0x1f model 0x3" },
	{ "a virtual PMU", "simulated",
	  { ZEN1, .is = { { RAW(RAW_SPECLOCK), .region = TARE_REGION_LOCKED, .value = 1 } } },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 2 caveats",
	  { "pmu:simulated", "speclockmap:on-zen1" }, "simulated by tare run: flaws" },
	{ "a CPU whose TSC stops", "old-tsc", { IVYBRIDGE, .rdpmc_err = -EFAULT, .fits = 1 },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 3 caveats",
	  { "clock:varies", "rdpmc:traps", "counters:one", "huge-pages:absent" }, "nonstop_tsc" },
	{ "counters held by others", "zen", { ZEN2, .none_fits = true, .fits_end = -EBUSY, .rdpmc_off_by = 100 },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with", { "counters:held", "rdpmc:wrong" } },
	{ "an event that vanishes", "skylake-quiet",
	  { SKYLAKE, .rdpmc_withheld = true,
	    .is = { { RAW(RAW_LOADS), .err = -ENOENT }, { RAW(RAW_COND | TXCP), .err = -EINVAL } } },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with",
	  { "counting:unopened", "in-txcp:missing", "rdpmc:not-given" },
	  "cannot be opened: loads (No such file or directory)" },
	{ "transactions lose counts", "skylake-quiet",
	  { SKYLAKE, .is = { { RAW(RAW_COND | TXCP), .value = 99000 } } },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 1 caveat", { "in-txcp:broken" } },
	{ "transactions count too much", "skylake-quiet",
	  { SKYLAKE, .is = { { RAW(RAW_COND | TXCP), .value = 200000 } } },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 1 caveat", { "in-txcp:over" } },
	{ "an interrupt event that opens and does not count", "skylake-quiet",
	  { SKYLAKE, .irq_zero = true },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 1 caveat", { "interrupt-event:zero" } },
	{ "a kernel without generic branches", "arm64-server", { NEOVERSE, .no_branches = true },
	  TARE_DOCTOR_CAVEATS, "hardware counters work", { "counters:all" }, "6 general counters" },
	{ "no PMU and no hypervisor", "zen", { ZEN2, .pmu_err = -ENOENT },
	  TARE_DOCTOR_CAVEATS, "no hardware counters; counting in software", { "pmu:missing" } },
	{ "a PMU in use", "zen", { ZEN2, .pmu_err = -EBUSY },
	  TARE_DOCTOR_CAVEATS, "no hardware counters; counting in software", { "pmu:busy" } },
	{ "a strange refusal", "zen", { ZEN2, .pmu_err = -E2BIG },
	  TARE_DOCTOR_CAVEATS, "no hardware counters; counting in software", { "pmu:error" } },
	{ "a security module", "zen", { ZEN2, .software_err = -EACCES, .pmu_err = -EACCES },
	  TARE_DOCTOR_CAVEATS, "the kernel refuses to count", { "perf:refused" } },
	{ "an arm64 server", "arm64-server", { NEOVERSE },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 1 caveat",
	  { "engine:architecture", "rdpmc:works", "exclusives:lse", "nmi-watchdog:absent",
	    "interrupt-event:unknown", "hybrid:uniform", "clock:fast" } },
	{ "an arm64 PMU without branches and exceptions", "arm64-server",
	  { NEOVERSE, .irq_zero = true, .is = { { RAW(RAW_BR_RETIRED), .value = 0 } } },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with 2 caveats", { "counting:silent" },
	  "open but stay 0: BR_RETIRED (raw 0x0021), EXC_TAKEN (raw 0x0009)" },
	{ "an arm64 board", "arm64-board", { NEOVERSE, .rdpmc_withheld = true },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with",
	  { "rdpmc:arm64-off", "exclusives:counted", "hybrid:mixed", "nmi-watchdog:cycles" },
	  "2 core types by their main" },
	{ "an arm64 board that does not count exclusives", "arm64-board",
	  { NEOVERSE, .is = { { RAW(RAW_STREX), .region = TARE_REGION_LOCKED, .value = 0 } } },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with", { "exclusives:not-counted" } },
	{ "an arm64 guest", "arm64-vm", { NEOVERSE, .pmu_err = -ENOENT },
	  TARE_DOCTOR_CANNOT_COUNT,
	  "cannot count: PMU hidden by Apple's Virtualization framework, and the software engine is",
	  { "pmu:hidden", "exclusives:no-pmu" } },
	{ "an arm64 guest of an old kernel", "arm64-vm", { NEOVERSE, .rdpmc_withheld = true },
	  TARE_DOCTOR_CAVEATS, "hardware counters work, with", { "rdpmc:arm64-old", "pmu:present-vm" } },
	{ "nothing can be read", "no-such-machine", { ZEN2, .software_err = -ENOSYS, .pmu_err = -ENOSYS },
	  TARE_DOCTOR_CAVEATS, "the kernel refuses to count (Function not implemented); counting",
	  { "perf:absent", "paranoid:unreadable", "capabilities:unreadable", "seccomp:unreadable",
	    "aslr:unknown", "huge-pages:absent", "clock:unknown", "tickless:none" } },
	{ "files that make no sense", "malformed", { SKYLAKE },
	  TARE_DOCTOR_GOOD, "hardware counters work",
	  { "paranoid:unreadable", "capabilities:unreadable", "seccomp:unreadable", "aslr:unknown",
	    "huge-pages:absent", "clock:unknown", "tickless:none", "nmi-watchdog:absent" } },
};

#define N_CASES (sizeof(cases) / sizeof(cases[0]))

static bool is_named(const struct tare_doctor_finding *f, const char *name)
{
	char full[64];
	snprintf(full, sizeof(full), "%s:%s", f->check, f->code);
	return !strcmp(full, name);
}

static const struct tare_doctor_result *result_named(const struct tare_doctor_report *r,
						     const char *name)
{
	for (size_t i = 0; i < r->n_results; i++)
		if (is_named(r->results[i].is, name))
			return &r->results[i];
	return NULL;
}

static bool says(const struct tare_doctor_report *r, const char *text)
{
	for (size_t i = 0; i < r->n_results; i++)
		if (strstr(r->results[i].finding, text) || strstr(r->results[i].remedy, text))
			return true;
	return false;
}

/* The behaviours a case does not use must not match any event. */
static void fill_unused(struct machine *m)
{
	for (size_t i = 0; i < sizeof(m->is) / sizeof(m->is[0]); i++)
		if (!m->is[i].type && !m->is[i].config)
			m->is[i].value = UINT64_MAX;
}

static void check_case(const struct finding_case *c)
{
	struct machine m = c->m;
	char root[4096];
	tree_path(root, sizeof(root), c->tree);
	fill_unused(&m);
	struct tare_doctor_report *const r = examine(root, &m);

	for (size_t i = 0; i < sizeof(c->expect) / sizeof(c->expect[0]) && c->expect[i]; i++)
		if (!result_named(r, c->expect[i]))
			fail_msg("%s: does not find %s", c->what, c->expect[i]);
	if (strncmp(r->conclusion, c->conclusion, strlen(c->conclusion)))
		fail_msg("%s: concludes \"%s\"", c->what, r->conclusion);
	if (r->status != c->status)
		fail_msg("%s: status %d", c->what, r->status);
	if (c->says && !says(r, c->says))
		fail_msg("%s: does not say \"%s\"", c->what, c->says);
	for (size_t i = 0; i < r->n_results; i++)
		if (!r->results[i].finding[0])
			fail_msg("%s: %s has no text", c->what, r->results[i].is->check);
	tare_doctor_free(r);
}

static void test_cases(void **state)
{
	for (size_t i = 0; i < N_CASES; i++)
		check_case(&cases[i]);
}

static bool is_expected(const struct tare_doctor_finding *f)
{
	for (size_t i = 0; i < N_CASES; i++)
		for (size_t j = 0; j < sizeof(cases[i].expect) / sizeof(char *); j++)
			if (cases[i].expect[j] && is_named(f, cases[i].expect[j]))
				return true;
	return false;
}

static void test_every_finding_has_a_case(void **state)
{
	size_t n = 0;
	for (const struct tare_doctor_finding *f; (f = tare_doctor_finding_at(n)); n++)
		if (!is_expected(f))
			fail_msg("no case produces %s:%s", f->check, f->code);
	assert_true(n > 50);
}

/* Who is told that something is wrong is told what it does and what to do. */
static void test_texts(void **state)
{
	const struct tare_doctor_finding *f;
	for (size_t i = 0; (f = tare_doctor_finding_at(i)); i++) {
		const bool wrong = f->verdict >= TARE_VERDICT_CAVEAT;
		if (wrong && (!f->meaning[0] || !f->remedy[0]))
			fail_msg("%s:%s lacks a meaning or a remedy", f->check, f->code);
		assert_true(f->title[0] && f->code[0]);
		for (size_t j = 0; j < i; j++) {
			const struct tare_doctor_finding *const g = tare_doctor_finding_at(j);
			if (!strcmp(f->check, g->check) && !strcmp(f->code, g->code))
				fail_msg("%s:%s is there twice", f->check, f->code);
		}
	}
}

/* Each check speaks in every report, so that nobody has to guess what was left out. */
static void test_every_check_speaks(void **state)
{
	char root[4096];
	for (size_t c = 0; c < N_CASES; c++) {
		struct machine m = cases[c].m;
		tree_path(root, sizeof(root), cases[c].tree);
		fill_unused(&m);
		struct tare_doctor_report *const r = examine(root, &m);
		const struct tare_doctor_finding *f;
		for (size_t i = 0; (f = tare_doctor_finding_at(i)); i++) {
			bool spoke = false;
			for (size_t j = 0; j < r->n_results; j++)
				spoke |= !strcmp(r->results[j].is->check, f->check);
			if (!spoke)
				fail_msg("%s: %s is silent", cases[c].what, f->check);
		}
		tare_doctor_free(r);
	}
}

/* jemalloc reads /etc/malloc.conf (a link whose target is the text), then the
 * environment, which wins. */
static void test_malloc_conf_link(void **state)
{
	char root[] = "/tmp/tare-doctor-XXXXXX", dir[64], link[80];
	struct machine m = { .cpu = SKYLAKE };
	fill_unused(&m);
	assert_non_null(mkdtemp(root));
	snprintf(dir, sizeof(dir), "%s/etc", root);
	snprintf(link, sizeof(link), "%s/malloc.conf", dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(symlink("dirty_decay_ms:0,muzzy_decay_ms:0", link), 0);

	struct tare_doctor_report *r = examine(root, &m);
	assert_non_null(result_named(r, "jemalloc:still"));
	tare_doctor_free(r);
	m.malloc_conf = "muzzy_decay_ms:5000";
	m.preload = "libjemalloc.so";
	r = examine(root, &m);
	assert_non_null(result_named(r, "jemalloc:timed"));
	tare_doctor_free(r);

	assert_int_equal(unlink(link), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(rmdir(root), 0);
}

/* The generic events of a hybrid machine count on one core type only. */
static void test_stays_on_one_core_type(void **state)
{
	char root[4096];
	struct machine m = { .cpu = SKYLAKE };
	fill_unused(&m);
	tree_path(root, sizeof(root), "alderlake");
	tare_doctor_free(examine(root, &m));
	assert_string_equal(m.stayed, "0-15;back;");

	m.stayed[0] = '\0';
	tree_path(root, sizeof(root), "arm64-server");
	tare_doctor_free(examine(root, &m));
	assert_string_equal(m.stayed, "");
}

static void test_verdict_names(void **state)
{
	assert_string_equal(tare_verdict_name(TARE_VERDICT_GOOD), "good");
	assert_string_equal(tare_verdict_name(TARE_VERDICT_INFO), "info");
	assert_string_equal(tare_verdict_name(TARE_VERDICT_CAVEAT), "caveat");
	assert_string_equal(tare_verdict_name(TARE_VERDICT_BAD), "bad");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_every_finding_has_a_case),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_every_check_speaks),
		cmocka_unit_test(test_malloc_conf_link),
		cmocka_unit_test(test_stays_on_one_core_type),
		cmocka_unit_test(test_verdict_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
