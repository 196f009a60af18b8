/* What the paper found on other architectures (section 3.2), as published facts.
 * tare does not count there.
 */
#include "cpu-rows.h"

static const struct tare_event_row cortex_a8_events[] = {
	{ .name = "INSTR_EXECUTED", .role = TARE_ROLE_INSTRUCTIONS,
	  .raw = 0x0008, .has_raw = true, .generic = "instructions", .documented = true, .trust = HP,
	  .note = "user mode cannot be counted alone: the kernel's events are always in it",
	  .source = PAPER("section 3.2") },
};

static const struct tare_uarch cortex_a8 = {
	.name = "cortex-a8",
	.title = "Arm Cortex-A8",
	.arch = TARE_ARCH_OTHER,
	.vendor = TARE_VENDOR_ARM,
	.core = TARE_CORE_UNIFORM,
	.gp_counters = 4,
	.fixed_counters = 1,
	.events = cortex_a8_events,
	.n_events = COUNT_OF(cortex_a8_events),
};

static const struct tare_event_row cortex_a9_events[] = {
	{ .name = "INST_OUT_OF_RENAME_STAGE", .role = TARE_ROLE_INSTRUCTIONS,
	  .raw = 0x0068, .has_raw = true, .generic = "instructions", .documented = true,
	  .trust = HP | EXECUTED,
	  .note = "user mode cannot be counted alone: the kernel's events are always in it; "
		  "the core has no event for retired instructions, this one counts those "
		  "that leave renaming",
	  .source = PAPER("section 3.2") "; " KERNEL("arch/arm/kernel/perf_event_v7.c") },
};

static const struct tare_uarch cortex_a9 = {
	.name = "cortex-a9",
	.title = "Arm Cortex-A9",
	.arch = TARE_ARCH_OTHER,
	.vendor = TARE_VENDOR_ARM,
	.core = TARE_CORE_UNIFORM,
	.gp_counters = 6,
	.fixed_counters = 1,
	.events = cortex_a9_events,
	.n_events = COUNT_OF(cortex_a9_events),
};

static const struct tare_event_row power6_events[] = {
	{ .name = "PM_INST_CMPL", .role = TARE_ROLE_INSTRUCTIONS,
	  .has_raw = false, .generic = "instructions", .documented = true, .trust = DETERMINISTIC,
	  .note = "instructions:u is deterministic",
	  .source = PAPER("section 3.2") },
	{ .name = "PM_BRU_FIN", .role = TARE_ROLE_BRANCHES,
	  .has_raw = false, .generic = "branches", .documented = true, .trust = OVER,
	  .note = "branches:u overcounts",
	  .source = PAPER("section 3.2") },
};

static const struct tare_uarch power6 = {
	.name = "power6",
	.title = "IBM POWER6",
	.arch = TARE_ARCH_OTHER,
	.vendor = TARE_VENDOR_OTHER,
	.core = TARE_CORE_UNIFORM,
	.gp_counters = 4,
	.fixed_counters = 2,
	.events = power6_events,
	.n_events = COUNT_OF(power6_events),
};

static const struct tare_event_row merced_events[] = {
	{ .name = "IA64_INST_RETIRED", .role = TARE_ROLE_INSTRUCTIONS,
	  .has_raw = false, .generic = "instructions", .documented = true, .trust = DETERMINISTIC,
	  .note = "appears deterministic",
	  .source = PAPER("section 3.2") },
	{ .name = "LOADS_RETIRED", .role = TARE_ROLE_LOADS,
	  .has_raw = false, .documented = true, .trust = DETERMINISTIC,
	  .note = "appears deterministic",
	  .source = PAPER("section 3.2") },
	{ .name = "STORES_RETIRED", .role = TARE_ROLE_STORES,
	  .has_raw = false, .documented = true, .trust = DETERMINISTIC,
	  .note = "appears deterministic",
	  .source = PAPER("section 3.2") },
};

static const struct tare_uarch merced = {
	.name = "merced",
	.title = "Intel Itanium (Merced)",
	.arch = TARE_ARCH_OTHER,
	.vendor = TARE_VENDOR_INTEL,
	.core = TARE_CORE_UNIFORM,
	.gp_counters = 4,
	.fixed_counters = 0,
	.events = merced_events,
	.n_events = COUNT_OF(merced_events),
};

static const struct tare_event_row niagara_events[] = {
	{ .name = "INSTR_CNT", .role = TARE_ROLE_INSTRUCTIONS,
	  .has_raw = false, .generic = "instructions", .documented = true, .trust = DETERMINISTIC,
	  .note = "deterministic",
	  .source = PAPER("section 3.2") },
};

static const struct tare_uarch niagara = {
	.name = "niagara",
	.title = "Sun SPARC T1 (Niagara)",
	.arch = TARE_ARCH_OTHER,
	.vendor = TARE_VENDOR_OTHER,
	.core = TARE_CORE_UNIFORM,
	.gp_counters = 1,
	.fixed_counters = 1,
	.events = niagara_events,
	.n_events = COUNT_OF(niagara_events),
};

static const struct tare_uarch *const uarchs[] = {
	&cortex_a8,
	&cortex_a9,
	&power6,
	&merced,
	&niagara,
};

static const struct cpu_arm_id ids[] = {
	{ .implementer = 0x41, .part = 0xc08, .uarch = &cortex_a8 },
	{ .implementer = 0x41, .part = 0xc09, .uarch = &cortex_a9 },
};

static const struct cpu_alias aliases[] = {
	{ .alias = "a8", .uarch = &cortex_a8 },
	{ .alias = "a9", .uarch = &cortex_a9 },
	{ .alias = "itanium", .uarch = &merced },
	{ .alias = "ia64", .uarch = &merced },
	{ .alias = "t1", .uarch = &niagara },
	{ .alias = "sparc-t1", .uarch = &niagara },
	{ .alias = "niagara-t1", .uarch = &niagara },
};

const struct cpu_tables cpu_tables_other = {
	.uarchs = uarchs,
	.n_uarchs = COUNT_OF(uarchs),
	.arm_ids = ids,
	.n_arm_ids = COUNT_OF(ids),
	.aliases = aliases,
	.n_aliases = COUNT_OF(aliases),
};
