/* What the system says about who may count what: read once from /proc and /sys,
 * then handed to the pure functions that turn a failure into its cause.
 *
 *	struct perf_facts f;
 *	perf_facts_read(&f, "");		this machine
 *	perf_facts_read(&f, "tests/fixture");	a tree with proc/ and sys/ in it
 *
 * Nothing here fails: what cannot be read is "unknown" (-1, 0 or "").
 */
#ifndef COUNTER_PERF_FACTS_H
#define COUNTER_PERF_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#define PERF_FACTS_PMUS 8

/* Whether the counters behind the `cpu` PMU are a virtual PMU's. The virtual
 * PMU (tare-run(1)) shows more files in the directory it simulates,
 * /sys/bus/event_source/devices/cpu. tare_simulated: it is a virtual one. tare_exact:
 * it counts what was retired and nothing else, so its counts are the engine's own and
 * exact. Without that file it reproduces the counting errors of some CPU, and its counts must
 * never be taken for a measurement of this machine. Which errors these are is in tare_simulated,
 * for people: nothing here opens that file, so that tare verify cannot know them.
 *
 * A virtual PMU also knows which processes it could not count: PERF_FORMAT_LOST of an event is the
 * number of tasks, its own or those that inherited it, that ran natively. A real kernel gives 0
 * for an event that takes no samples.
 *
 * Further files say what is not exact in an exact one: tare_cycles, with the codes of events that
 * count them, and tare_kernel_as_user. */
enum perf_simulated { PERF_SIM_NO, PERF_SIM_EXACT, PERF_SIM_FLAWS };

struct perf_pmu {
	char name[32];		/* "cpu", "cpu_core", "armv8_cortex_a72" … */
	uint32_t type;
	int rdpmc;		/* x86: the rdpmc file: 0, 1, 2; -1 none */
	bool user_access;	/* arm64: format/rdpmc exists */
	char cpus[64];		/* "0-15"; "" where it serves all CPUs */
};

struct perf_facts {
	int paranoid;		/* perf_event_paranoid; -1: no such file, so no perf */
	bool has_perf;		/* the paranoid file exists */
	bool no_files;		/* no descriptor was free to read any of this */
	bool cap_perfmon;	/* CAP_PERFMON or CAP_SYS_ADMIN is effective */
	int seccomp;		/* Seccomp: of /proc/self/status; -1 unknown */
	int nmi_watchdog;	/* 0, 1; -1 unknown */
	int user_access;	/* arm64 kernel.perf_user_access; -1 none */
	bool hypervisor;	/* the CPU flag, or a hypervisor named by sysfs */
	char hypervisor_name[32]; /* where known: "kvm", "xen", DMI product … or "" */
	unsigned n_pmus;	/* core PMUs: the ones that count instructions */
	struct perf_pmu pmus[PERF_FACTS_PMUS];
	enum perf_simulated simulated;
	bool kernel_as_user;	/* it counts user mode for events that include the kernel */
	unsigned n_cycles;	/* codes of events that count no real cycles; with them the */
	uint64_t cycles[8];	/* generic events cycles and ref-cycles */
	unsigned gp_counters;	/* programmable counters of this CPU; 0 unknown */
	unsigned fixed_counters; /* Intel's: instructions, cycles, reference cycles, … */
};

void perf_facts_read(struct perf_facts *f, const char *root);

/* Is the `cpu` PMU a virtual one? Looks at its marker file only. */
bool perf_is_virtual(const char *root);

/* Whether an event with that type, config and exclude_kernel is a virtual PMU's, and exact. */
struct perf_event_attr;
enum perf_simulated perf_facts_simulated(const struct perf_facts *f,
					 const struct perf_event_attr *a);

/* The core PMU an event of that type and config goes to: by type, or the upper
 * half of config (the extended type of hybrid CPUs) for the generic types. With
 * several PMUs and nothing said, NULL; also NULL for everything not a core PMU. */
const struct perf_pmu *perf_facts_pmu(const struct perf_facts *f, uint32_t type,
				      uint64_t config);
/* Whether "0-3,8" names cpu. The empty list names every CPU. */
bool perf_cpulist_has(const char *list, unsigned cpu);
/* HARDWARE, HW_CACHE, RAW, or the type of a core PMU. */
bool perf_type_is_core(const struct perf_facts *f, uint32_t type);

#endif
