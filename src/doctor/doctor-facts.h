/* What files say about this machine: read once, from below a root directory.
 *
 * A number that could not be read is FACT_ABSENT; a text is "". */
#ifndef DOCTOR_FACTS_H
#define DOCTOR_FACTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define FACT_ABSENT INT_MIN

struct doctor_facts {
	/* permissions */
	int paranoid;			/* kernel.perf_event_paranoid */
	int seccomp;			/* /proc/self/status: 0 none, 1 strict, 2 filter */
	int yama;			/* kernel.yama.ptrace_scope */
	bool have_caps;
	uint64_t cap_permitted, cap_effective;

	/* the PMU */
	int rdpmc;			/* sysfs, x86 */
	int user_access;		/* kernel.perf_user_access, arm64 */
	int nmi_watchdog;
	int freeze_on_smi;
	char core_pmus[128];		/* names of the CPU PMUs, ", " between */
	unsigned n_core_pmus;
	char main_cpus[128];		/* CPU list of the PMU that generic names go to */
	char simulated[64];		/* the virtual PMU's own file: "exact" or its flaws */
	unsigned n_midrs;		/* different arm64 core types; 0: none readable */

	/* what disturbs */
	int smt_active;
	int aslr;			/* kernel.randomize_va_space */
	unsigned config_hz;		/* 0: no kernel configuration readable */
	char thp[16];			/* the chosen word of transparent_hugepage/enabled */
	char nohz_full[128];		/* CPU list */
	char malloc_conf[256];		/* what /etc/malloc.conf links to */

	/* the machine */
	char clocksource[32];
	char dmi_vendor[64], dmi_product[64];
	char hypervisor_type[16];	/* /sys/hypervisor/type */
	bool flag_hypervisor, flag_constant_tsc, flag_nonstop_tsc, flag_rtm, flag_atomics;
	bool have_flags;
};

/* `root` is "" for the real machine. */
void doctor_facts_read(struct doctor_facts *f, const char *root);

#endif
