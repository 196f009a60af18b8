/* From a refusal to its cause: pure functions of (errno, what was asked, facts).
 *
 * The kernel has one errno for many causes and some causes have several errnos;
 * peers report the errno's text and let the user guess (measureme even reports
 * EPERM for everything). Here the errno, the attr and the state of the machine
 * together select one enum tare_err with its sentence and remedy; why->sys_errno
 * keeps the errno as it was.
 */
#ifndef COUNTER_PERF_DIAGNOSE_H
#define COUNTER_PERF_DIAGNOSE_H

#include "perf-facts.h"

#include <linux/perf_event.h>
#include <sys/types.h>
#include <tare/err.h>

/* The counters that events need which are to be counted at the same time. */
struct perf_needs {
	unsigned general;	/* general ones, when the PMU is theirs alone */
	bool on_instructions, on_cycles, on_reference;	/* and these fixed ones of Intel's */
};
/* Adds one more event; events of other PMUs need nothing here. */
void perf_needs_add(struct perf_needs *n, const struct perf_event_attr *attr,
		    const struct perf_facts *f);

#define PERF_FREE_UNKNOWN (-1)

/* What was asked for, besides the attr. */
struct perf_ask {
	const char *name;	/* the event, as the user wrote it */
	pid_t pid;		/* 0: this thread */
	int cpu;		/* -1: any */
	unsigned group_size;	/* hardware events in the group, this one included; 1: alone */
	struct perf_needs needs; /* of the group, or of all events that must count at once */
	int free;		/* general counters that are free now, or PERF_FREE_UNKNOWN */
	bool pinned;		/* must be on a counter all the time */
	bool shares;		/* takes turns with other events of the same user */
	unsigned on_cpu;	/* the CPU we were running on */
};

/* perf_event_open failed with `err`. Returns the code, which is never 0. */
int perf_diagnose_open(int err, const struct perf_event_attr *attr, const struct perf_ask *ask,
		       const struct perf_facts *f, struct tare_why *why);

/* The event is open and enabled but has no counter (a pinned one reads as end of
 * file, any one shows running time 0): WRONG_CORE, WATCHDOG or NO_COUNTERS. WATCHDOG
 * only where the events would have counters without it. Where enough are free now, it
 * is STOLEN (a pinned one) or NOT_SCHEDULED. */
int perf_diagnose_unscheduled(const struct perf_event_attr *attr, const struct perf_ask *ask,
			      const struct perf_facts *f, struct tare_why *why);

/* The event counts, but its page gives no usable index: why user space cannot
 * read it, RDPMC_FORBIDDEN, WIDTH or EVENT_UNSUPPORTED. `cap` is cap_user_rdpmc,
 * `width` pmc_width. */
int perf_diagnose_user_read(const struct perf_event_attr *attr, const struct perf_ask *ask,
			    const struct perf_facts *f, bool cap, unsigned width,
			    struct tare_why *why);

#endif
