/* Which CPU this is, and what the tables know about its events.
 *
 *	struct tare_cpu cpu;
 *	tare_cpu_detect(&cpu);
 *	const struct tare_event_row *irq =
 *		tare_cpu_event(cpu.uarch, TARE_ROLE_INTERRUPTS);
 *	if (irq)
 *		printf("interrupts: raw 0x%" PRIx64 "\n", irq->raw);
 *
 * One row per microarchitecture, one row per (microarchitecture, event); all of
 * it is const data that lives as long as the program.
 *
 * Threads: any thread; all functions except tare_cpu_detect() also signal handlers. No side effects:
 * tare_cpu_detect() executes cpuid or, on arm64, reads files of sysfs and closes them.
 */
#ifndef TARE_CPU_H
#define TARE_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tare_arch { TARE_ARCH_UNKNOWN, TARE_ARCH_X86_64, TARE_ARCH_ARM64, TARE_ARCH_OTHER };

enum tare_vendor {
	TARE_VENDOR_UNKNOWN,
	TARE_VENDOR_INTEL,
	TARE_VENDOR_AMD,
	TARE_VENDOR_HYGON,
	TARE_VENDOR_ARM,
	TARE_VENDOR_APPLE,
	TARE_VENDOR_OTHER,
};

enum tare_core_type { TARE_CORE_UNIFORM, TARE_CORE_PERFORMANCE, TARE_CORE_EFFICIENT };

/* What an event counts. A role names the same idea on every CPU. */
enum tare_role {
	TARE_ROLE_OTHER,
	TARE_ROLE_INSTRUCTIONS,
	TARE_ROLE_INSTRUCTIONS_FIXED,	/* on a fixed counter */
	TARE_ROLE_BRANCHES,
	TARE_ROLE_COND_BRANCHES,
	TARE_ROLE_COND_TAKEN,
	TARE_ROLE_TAKEN_BRANCHES,
	TARE_ROLE_FAR_BRANCHES,
	TARE_ROLE_LOADS,
	TARE_ROLE_STORES,
	TARE_ROLE_LOAD_UOPS,
	TARE_ROLE_STORE_UOPS,
	TARE_ROLE_MULTIPLIES,
	TARE_ROLE_DIVIDES,
	TARE_ROLE_FP,		/* SSE/AVX floating-point arithmetic */
	TARE_ROLE_FP2,		/* the paper's FP2 */
	TARE_ROLE_SSE,
	TARE_ROLE_UOPS,
	TARE_ROLE_INTERRUPTS,	/* hardware interrupts received */
	TARE_ROLE_INTERRUPTS_AND_FAULTS, /* Zen's undocumented 0x0420 */
	TARE_ROLE_SPECLOCKMAP,	/* SpecLockMap commits, 0x0825 */
	TARE_ROLE_FP1,		/* the paper's FP1: whatever that CPU's first FP event counts */
	TARE_ROLE_CALLS,	/* near calls */
	TARE_ROLE_RETURNS,	/* near returns */
	TARE_ROLE_INDIRECT_BRANCHES, /* near jumps and calls through register or memory */
	TARE_ROLE_SYSCALLS,
	TARE_ROLE_X87,
	TARE_ROLE_SIMD_INT,	/* MMX/SSE/AVX integer instructions */
	TARE_ROLE_LOCKED,	/* locked instructions */
	TARE_ROLE_CYCLES,
	TARE_ROLE_INSTRUCTIONS_PRECISE,	/* a precise-sampling variant of instructions */
	TARE_ROLE_UNCOND_BRANCHES,
	TARE_ROLE_ASSISTS,	/* microcode assists */
	TARE_ROLE_PAGE_FAULTS,	/* related to page faults: page walks that fault, aborts */
	TARE_ROLE_EXCEPTIONS,	/* exceptions taken */
	TARE_ROLE_EXCEPTION_RETURNS,
	TARE_ROLE_FAST_INTERRUPTS, /* arm64 FIQ */
	TARE_ROLE_SMIS,		/* system management interrupts */
	TARE_ROLE_REP_ITERATIONS,
	TARE_ROLE_BUS_LOCKS,
	TARE_ROLE_DISPATCHED_LOADS,
	TARE_ROLE_DISPATCHED_STORES,
	TARE_ROLE_EXCLUSIVES,	/* load/store exclusive, arm64 */
	TARE_ROLE_FP_EXCEPTIONS,
	TARE_ROLE_COUNT,	/* how many this version has; grows */
};

/* How an event's count relates to the truth. A bit set; 0 is "unknown". */
enum tare_trust {
	TARE_TRUST_DETERMINISTIC = 1 << 0,
	TARE_TRUST_NOISY_INTERRUPTS = 1 << 1,	/* h */
	TARE_TRUST_NOISY_FAULTS = 1 << 2,	/* p */
	TARE_TRUST_OVER_EXCEPTIONS = 1 << 3,	/* E: x87/SSE exceptions */
	TARE_TRUST_OVER_LAZY_FP = 1 << 4,	/* F: lazy FP handling of the OS */
	TARE_TRUST_OVER_INSNS = 1 << 5,		/* D: some instructions overcounted */
	TARE_TRUST_UNDER_INSNS = 1 << 6,	/* M: some instructions undercounted */
	TARE_TRUST_UOPS = 1 << 7,		/* U: counts micro-ops */
	TARE_TRUST_SPECULATIVE = 1 << 8,	/* counts executed, not retired */
	TARE_TRUST_UNTESTED = 1 << 9,		/* documented, nobody has published a check */
	TARE_TRUST_BROKEN = 1 << 10,		/* known not to count what it says */
};

struct tare_event_row {
	const char *name;		/* canonical, e.g. "BR_INST_RETIRED.CONDITIONAL" */
	enum tare_role role;
	uint64_t raw;			/* perf raw config (event, umask, EDGE/INV/CMASK) */
	bool has_raw;			/* false: only a fixed counter or a generic name */
	const char *generic;		/* perf's name when it is the same event, or NULL */
	const char *aliases;		/* other names of it, blanks between them, or NULL */
	bool documented;
	unsigned trust;			/* enum tare_trust bits */
	uint32_t counters;		/* programmable counters that can count the event, bit N for
					 * counter N; 0: the source names none, so every one */
	const char *note;		/* overcounts by …, errata; or "" */
	const char *source;		/* manual, file or paper */
	uint64_t reserved[2];
};

struct tare_uarch {
	const char *name;		/* canonical, lower case: "zen2", "skylake" */
	const char *title;		/* "AMD Zen 2" */
	enum tare_arch arch;
	enum tare_vendor vendor;
	enum tare_core_type core;
	unsigned gp_counters;		/* programmable counters per hardware thread; 0: unknown */
	unsigned fixed_counters;
	bool irq_event_needs_no_smt;	/* interrupt event wrong with hyperthreading */
	const struct tare_event_row *events;
	size_t n_events;
};

struct tare_cpu {
	enum tare_arch arch;
	enum tare_vendor vendor;
	unsigned family, model, stepping;	/* x86, full (extended included) */
	uint32_t midr;				/* arm64 */
	bool hybrid;				/* more than one core type in this machine */
	enum tare_core_type core;		/* of the core that answered */
	char brand[64];				/* as the CPU calls itself */
	char hypervisor[16];			/* "KVMKVMKVM", "VMwareVMware", … or "" */
	bool has_serialize;			/* the `serialize` instruction */
	bool lfence_serializes;
	const struct tare_uarch *uarch;		/* NULL: not in the tables */
	/* As this CPU says (Intel: cpuid leaf 0xA; eight general ones instead of four
	 * where hyperthreading is off), else as the tables have it; 0: unknown. */
	unsigned gp_counters, fixed_counters;
	uint64_t reserved[8];
};

/* Asks the CPU that the calling thread runs on (x86: cpuid; arm64: MIDR through sysfs or the ID
 * registers). Never fails: what is unknown stays TARE_…_UNKNOWN, 0 or NULL. NULL does nothing. */
void tare_cpu_detect(struct tare_cpu *cpu);

/* The CPU of a microarchitecture (canonical name or alias), as far as the tables tell:
 * arch, vendor, core type, model and events. 0, or TARE_E_UNTESTED_CPU when no
 * such name is known. */
int tare_cpu_from_name(const char *name, struct tare_cpu *cpu);

/* The row of a CPU by identity; NULL when not in the tables. */
const struct tare_uarch *tare_uarch_x86(enum tare_vendor vendor, unsigned family,
					unsigned model, enum tare_core_type core);
const struct tare_uarch *tare_uarch_arm(uint32_t midr);
/* By canonical name or a known alias ("Zen2", "SKL"), any case; NULL if none. */
const struct tare_uarch *tare_uarch_by_name(const char *name);
/* All rows: i from 0 until NULL. */
const struct tare_uarch *tare_uarch_at(size_t i);

/* The event of that role, or NULL; of several, the most trusted. `u` may be NULL. */
const struct tare_event_row *tare_cpu_event(const struct tare_uarch *u, enum tare_role role);
/* The event with that name or alias, in any case, or NULL. */
const struct tare_event_row *tare_cpu_event_by_name(const struct tare_uarch *u,
						    const char *name);
/* "cond-branches"; "unknown" for a number that is no role. Static. */
const char *tare_role_name(enum tare_role role);
/* "deterministic", "noisy: interrupts, page faults", …, cut to fit; returns out. */
char *tare_trust_text(unsigned trust, char *out, size_t size);
/* The letters that Weaver's paper on deterministic events uses, "hpEF"; "-" for unknown; returns
 * out. */
char *tare_trust_letters(unsigned trust, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
