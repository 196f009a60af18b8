/* Inside the doctor: what its checks share.
 *
 * A check looks at facts and probes and makes one finding or more:
 *
 *	if (d->facts.nmi_watchdog == 0)
 *		return doctor_find(d, FIND_WATCHDOG_OFF, "kernel.nmi_watchdog is 0");
 */
#ifndef DOCTOR_CHECKS_H
#define DOCTOR_CHECKS_H

#include "doctor-facts.h"
#include "doctor-findings.h"

#include <tare/doctor.h>

struct doctor {
	const struct tare_doctor_probes *probes;
	struct doctor_facts facts;
	struct tare_doctor_report *report;
	size_t cap;			/* room in report->results */

	/* Set by the first checks, used by later ones and the conclusion. */
	const char *hypervisor;		/* "KVM"; NULL: none seen */
	int perf_err;			/* a software event: 0 or -errno */
	int pmu_err;			/* instructions:u: 0 or -errno */
	bool kernel_mode;		/* kernel mode may be counted */
	bool counts_wrong;		/* the known loop says instructions cannot be used */
	bool counters_held;		/* no event got a counter: others have them all */
	const char *engine_reason;	/* why not, when it cannot start */
};

/* Adds a row. The finding text is cut to its field. */
void doctor_find(struct doctor *d, enum doctor_finding which, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with a remedy of its own (a static string). */
void doctor_set_remedy(struct doctor *d, const char *remedy);

static inline bool doctor_has_pmu(const struct doctor *d) { return d->pmu_err == 0; }

/* Encodings, user mode only. */
struct tare_encoding doctor_generic(uint64_t config);	/* PERF_TYPE_HARDWARE */
struct tare_encoding doctor_raw(uint64_t config);	/* PERF_TYPE_RAW */

/* access: may we, and with what */
void doctor_check_perf(struct doctor *d);
void doctor_check_pmu(struct doctor *d);
void doctor_check_engine(struct doctor *d);
void doctor_check_paranoid(struct doctor *d);
void doctor_check_capabilities(struct doctor *d);
void doctor_check_seccomp(struct doctor *d);
void doctor_check_rdpmc(struct doctor *d);
/* counts: do the counters tell the truth */
void doctor_check_cpu(struct doctor *d);
void doctor_check_watchdog(struct doctor *d);
void doctor_check_counters(struct doctor *d);
void doctor_check_loop(struct doctor *d);
void doctor_check_overflow(struct doctor *d);
void doctor_check_trap(struct doctor *d);
void doctor_check_txcp(struct doctor *d);
void doctor_check_speclock(struct doctor *d);
void doctor_check_exclusive(struct doctor *d);
void doctor_check_irq(struct doctor *d);
/* noise: what disturbs */
void doctor_check_smi(struct doctor *d);
void doctor_check_smt(struct doctor *d);
void doctor_check_hybrid(struct doctor *d);
void doctor_check_tick(struct doctor *d);
void doctor_check_tickless(struct doctor *d);
void doctor_check_aslr(struct doctor *d);
void doctor_check_thp(struct doctor *d);
void doctor_check_jemalloc(struct doctor *d);
void doctor_check_clock(struct doctor *d);

#endif
