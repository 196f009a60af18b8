/* Which errno means what, and when.
 *
 * Sources: kernel/events/core.c (perf_event_open, perf_init_event), the event_init
 * functions of arch/x86/events/core.c and drivers/perf/arm_pmu.c, and the patches of
 * distributions (Debian, Ubuntu, Android) that give perf_event_paranoid 3 and 4 a meaning.
 */
#include "perf-diagnose.h"

#include "why.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_core(const struct perf_event_attr *a, const struct perf_facts *f)
{
	return perf_type_is_core(f, a->type);
}

/* The errno comes in parentheses: "No such file or directory" is what the kernel calls a
 * missing PMU, and is about no file. */
static int no_pmu(int err, const struct perf_ask *ask, const struct perf_facts *f,
		  struct tare_why *why)
{
	if (!f->hypervisor)
		why_set(why, TARE_E_NO_PMU,
			"%s: the kernel has no driver for this CPU's PMU (perf_event_open: %s)",
			ask->name, strerror(err));
	else
		why_set(why, TARE_E_NO_PMU,
			"%s: the hypervisor%s%s%s hides the PMU (perf_event_open: %s)", ask->name,
			f->hypervisor_name[0] ? " (" : "", f->hypervisor_name,
			f->hypervisor_name[0] ? ")" : "", strerror(err));
	if (why)
		why->sys_errno = err;
	return TARE_E_NO_PMU;
}

static int wrong_core(int err, const struct perf_pmu *p, const struct perf_ask *ask,
		      struct tare_why *why)
{
	if (err)
		return why_errno(why, TARE_E_WRONG_CORE, err,
				 "%s: PMU %s serves CPUs %s, this is CPU %u", ask->name, p->name,
				 p->cpus, ask->on_cpu);
	return why_set(why, TARE_E_WRONG_CORE, "%s: PMU %s serves CPUs %s, this is CPU %u",
		       ask->name, p->name, p->cpus, ask->on_cpu);
}

/* The PMU the event belongs to, when it does not serve the CPU we are on. */
static const struct perf_pmu *other_core(const struct perf_event_attr *a,
					 const struct perf_ask *ask, const struct perf_facts *f)
{
	const struct perf_pmu *const p = perf_facts_pmu(f, a->type, a->config);
	const unsigned cpu = ask->cpu >= 0 ? (unsigned)ask->cpu : ask->on_cpu;
	return p && !perf_cpulist_has(p->cpus, cpu) ? p : NULL;
}

/* ENOENT: no PMU took the event. ENODEV: x86 has PMU code but no PMU. */
static int no_entry(int err, const struct perf_event_attr *a, const struct perf_ask *ask,
		    const struct perf_facts *f, struct tare_why *why)
{
	if (is_core(a, f) && f->n_pmus == 0)
		return no_pmu(err, ask, f, why);
	const struct perf_pmu *const elsewhere = other_core(a, ask, f);
	if (elsewhere)
		return wrong_core(err, elsewhere, ask, why);
	if (is_core(a, f) && f->n_pmus > 1 && a->type != PERF_TYPE_RAW && !(a->config >> 32))
		return why_errno(why, TARE_E_WRONG_CORE, err,
				 "%s: this CPU has several core types and the event names none",
				 ask->name);
	return why_errno(why, TARE_E_EVENT_UNSUPPORTED, err,
			 "%s: the kernel has no event type %" PRIu32 " config 0x%" PRIx64,
			 ask->name, (uint32_t)a->type, (uint64_t)a->config);
}

static int no_permission(int err, const struct perf_event_attr *a, const struct perf_ask *ask,
			 const struct perf_facts *f, struct tare_why *why)
{
	/* A seccomp filter answers EPERM (Docker, Podman) or ENOSYS before the
	 * kernel's own checks, which say EACCES for every perf reason. */
	if (err == EPERM && f->seccomp == 2)
		return why_errno(why, TARE_E_SECCOMP, err, "%s", ask->name);
	if (f->simulated != PERF_SIM_NO && !a->exclude_kernel)
		return why_errno(why, TARE_E_VIRTUAL_KERNEL, err, "%s", ask->name);
	if (!f->cap_perfmon) {
		/* To Linux every level from 2 on is the same. Where a distribution made
		 * more of 3, only an event of user mode can tell. */
		if (f->paranoid >= 3 && a->exclude_kernel)
			return why_errno(why, TARE_E_PARANOID, err,
					 "%s: perf_event_paranoid is %d, which on this kernel forbids "
					 "all counting without CAP_PERFMON", ask->name, f->paranoid);
		if (f->paranoid >= 2 && !a->exclude_kernel)
			return why_errno(why, TARE_E_PARANOID, err,
					 "%s: perf_event_paranoid is %d, which forbids counting the "
					 "kernel", ask->name, f->paranoid);
		if (f->paranoid >= 1 && ask->cpu >= 0 && ask->pid < 0)
			return why_errno(why, TARE_E_PARANOID, err,
					 "%s: perf_event_paranoid is %d, which forbids counting a "
					 "whole CPU", ask->name, f->paranoid);
	}
	if (ask->pid > 0)
		return why_errno(why, TARE_E_PERMISSION, err,
				 "%s: process %d is not yours to measure", ask->name,
				 (int)ask->pid);
	return why_errno(why, TARE_E_PERMISSION, err, "%s", ask->name);
}

/* EINVAL: the group does not fit the counters, or the encoding is nonsense. */
static int invalid(int err, const struct perf_event_attr *a, const struct perf_ask *ask,
		   const struct perf_facts *f, struct tare_why *why)
{
	if (!is_core(a, f) || ask->group_size < 2)
		return why_errno(why, TARE_E_EVENT_UNSUPPORTED, err,
				 "%s: the kernel refuses the encoding config=0x%" PRIx64
				 " config1=0x%" PRIx64, ask->name, (uint64_t)a->config,
				 (uint64_t)a->config1);
	/* The kernel validates a group against an empty PMU: the watchdog is not
	 * what makes a group too large here, it only leaves less than that. */
	char has[48] = "";
	if (f->gp_counters)
		snprintf(has, sizeof(has), ", and this CPU has %u", f->gp_counters);
	why_set(why, TARE_E_NO_COUNTERS,
		"%s: a group of %u hardware events needs %u general counters%s (perf_event_open: "
		"%s)", ask->name, ask->group_size, ask->needs.general, has, strerror(err));
	why_remedy(why, "put fewer events in the group, or count them ungrouped");
	if (why)
		why->sys_errno = err;
	return TARE_E_NO_COUNTERS;
}

int perf_diagnose_open(int err, const struct perf_event_attr *attr, const struct perf_ask *ask,
		       const struct perf_facts *f, struct tare_why *why)
{
	/* The kernel looks at permissions before it looks for a free descriptor. Without one
	 * the call would fail anyway, and the facts that explain a refusal are not known. */
	if (f->no_files)
		return why_errno(why, TARE_E_TOO_MANY_FILES, EMFILE, "%s", ask->name);
	switch (err) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return no_entry(err, attr, ask, f, why);
	case EOPNOTSUPP:
		if (is_core(attr, f) && f->n_pmus == 0)
			return no_pmu(err, ask, f, why);
		return why_errno(why, TARE_E_EVENT_UNSUPPORTED, err, "%s", ask->name);
	case ENOSYS:
		if (f->has_perf && f->seccomp == 2)
			return why_errno(why, TARE_E_SECCOMP, err, "%s", ask->name);
		return why_errno(why, TARE_E_NO_PERF, err, "%s", ask->name);
	case EACCES:
	case EPERM:
		return no_permission(err, attr, ask, f, why);
	case EINVAL:
		return invalid(err, attr, ask, f, why);
	case EBUSY:
		return why_errno(why, TARE_E_BUSY, err, "%s", ask->name);
	case ENOSPC:
		return why_errno(why, TARE_E_NO_COUNTERS, err, "%s", ask->name);
	case ESRCH:
		why_set(why, TARE_E_NO_PROCESS, "%s: process %d (%s)", ask->name, (int)ask->pid,
			strerror(err));
		if (why)
			why->sys_errno = err;
		return TARE_E_NO_PROCESS;
	case EMFILE:
	case ENFILE:
		return why_errno(why, TARE_E_TOO_MANY_FILES, err, "%s", ask->name);
	case ENOMEM:
		return why_errno(why, TARE_E_NOMEM, err, "%s", ask->name);
	case E2BIG:
		return why_errno(why, TARE_E_EVENT_UNSUPPORTED, err,
				 "%s: this kernel knows a shorter perf_event_attr (%" PRIu32
				 " bytes)", ask->name, (uint32_t)attr->size);
	default:
		return why_errno(why, TARE_E_IO, err, "%s: perf_event_open", ask->name);
	}
}

/* The fixed counter that an event goes to on Intel, if it is free; 0: none. The kernel
 * puts an event there that has no further bits (edge, cmask) and falls back on a general
 * counter; the reference cycles' has no such second place. */
enum fixed { FIXED_NONE, FIXED_INSTRUCTIONS, FIXED_CYCLES, FIXED_REFERENCE };

#define RAW_MODES 0x30000ull	/* usr and os */

static enum fixed fixed_of(const struct perf_event_attr *a)
{
	if (a->type == PERF_TYPE_HARDWARE) {
		switch ((uint32_t)a->config) {
		case PERF_COUNT_HW_INSTRUCTIONS:
			return FIXED_INSTRUCTIONS;
		case PERF_COUNT_HW_CPU_CYCLES:
			return FIXED_CYCLES;
		case PERF_COUNT_HW_REF_CPU_CYCLES:
			return FIXED_REFERENCE;
		default:
			return FIXED_NONE;
		}
	}
	if (a->type == PERF_TYPE_HW_CACHE)
		return FIXED_NONE;
	switch (a->config & ~RAW_MODES) {
	case 0x00c0:
		return FIXED_INSTRUCTIONS;
	case 0x003c:
		return FIXED_CYCLES;
	case 0x0300:
		return FIXED_REFERENCE;
	default:
		return FIXED_NONE;
	}
}

static bool is_arm(const struct perf_facts *f)
{
	for (unsigned i = 0; i < f->n_pmus; i++)
		if (strncmp(f->pmus[i].name, "armv", 4) == 0)
			return true;
	return false;
}

/* ARM's one counter for cycles alone. */
static enum fixed fixed_of_arm(const struct perf_event_attr *a)
{
	if (a->type == PERF_TYPE_HARDWARE)
		return fixed_of(a) == FIXED_CYCLES ? FIXED_CYCLES : FIXED_NONE;
	return a->type != PERF_TYPE_HW_CACHE && a->config == 0x11 ? FIXED_CYCLES : FIXED_NONE;
}

void perf_needs_add(struct perf_needs *n, const struct perf_event_attr *attr,
		    const struct perf_facts *f)
{
	if (!is_core(attr, f))
		return;
	enum fixed fixed = is_arm(f) ? fixed_of_arm(attr) : fixed_of(attr);
	if (!is_arm(f) && f->fixed_counters < (unsigned)fixed)
		fixed = FIXED_NONE;
	bool *const taken[] = { NULL, &n->on_instructions, &n->on_cycles, &n->on_reference };
	if (fixed && !*taken[fixed])
		*taken[fixed] = true;
	else
		n->general++;
}

/* The watchdog counts cycles: on the fixed counter where there is one, else on a general
 * one. On ARM it leaves the programmable counters as they are (a counter for cycles
 * alone; and since 6.5 it may use none at all, the sysctl being 1 all the same). */
static bool watchdog_counts(const struct perf_facts *f)
{
	return f->nmi_watchdog == 1 && !is_arm(f);
}

static bool watchdog_on_fixed(const struct perf_facts *f)
{
	return f->fixed_counters >= FIXED_CYCLES;
}

/* Whether the events have a place without the watchdog and none beside it. */
static bool may_blame_watchdog(const struct perf_ask *ask, const struct perf_facts *f)
{
	if (!watchdog_counts(f))
		return false;
	const unsigned needed = ask->needs.general;
	const bool fixed = watchdog_on_fixed(f);
	/* On the fixed counter it is only in the way of an event of cycles. */
	if (fixed && !ask->needs.on_cycles)
		return false;
	if (ask->free != PERF_FREE_UNKNOWN) {
		const unsigned here = (unsigned)ask->free;
		return fixed ? needed <= here && needed + 1 > here : needed == here + 1;
	}
	return f->gp_counters == 0 || (needed <= f->gp_counters && needed + 1 > f->gp_counters);
}

static const char *plural(unsigned n)
{
	return n == 1 ? "" : "s";
}

static int blame_watchdog(const struct perf_ask *ask, const struct perf_facts *f,
			  struct tare_why *why)
{
	const unsigned needed = ask->needs.general + watchdog_on_fixed(f);
	char has[64] = "";
	if (f->gp_counters)
		snprintf(has, sizeof(has), ", and this CPU has %u", f->gp_counters);
	if (watchdog_on_fixed(f))
		why_set(why, TARE_E_WATCHDOG,
			"%s: needs %u general counter%s%s, while kernel.nmi_watchdog is 1 and the "
			"watchdog has the fixed counter of cycles", ask->name, needed,
			plural(needed), has);
	else
		why_set(why, TARE_E_WATCHDOG,
			"%s: needs %u general counter%s%s, one of which the watchdog has "
			"(kernel.nmi_watchdog is 1)", ask->name, needed, plural(needed), has);
	why_remedy(why, "as root: sysctl kernel.nmi_watchdog=0");
	return TARE_E_WATCHDOG;
}

#define HOLDERS "(a profiler's pinned events of a whole CPU, or a hypervisor)"

/* Counters of both kinds that the events want. */
static unsigned wanted(const struct perf_needs *n)
{
	return n->general + n->on_instructions + n->on_cycles + n->on_reference;
}

/* What would go to a fixed counter can also have a general one. */
static bool fits_now(const struct perf_ask *ask)
{
	const int needed = ask->needs.general ? (int)ask->needs.general : 1;
	return ask->free != PERF_FREE_UNKNOWN && ask->free >= needed;
}

/* There are counters now: they were not when they were wanted. */
static int too_late(const struct perf_ask *ask, struct tare_why *why)
{
	if (ask->pinned)
		return why_set(why, TARE_E_STOLEN,
			       "%s: at the end it had no counter; %d general one%s free now",
			       ask->name, ask->free, ask->free == 1 ? " is" : "s are");
	if (ask->shares) {
		why_set(why, TARE_E_NOT_SCHEDULED,
			"%s: events take turns on the counters, and its turn did not come before "
			"the end", ask->name);
		why_remedy(why, "count fewer events at once");
		return TARE_E_NOT_SCHEDULED;
	}
	why_set(why, TARE_E_NOT_SCHEDULED, "%s: others held the counters " HOLDERS, ask->name);
	why_remedy(why, "stop other users of the PMU");
	return TARE_E_NOT_SCHEDULED;
}

static int too_few_counters(const struct perf_ask *ask, const struct perf_facts *f,
			    struct tare_why *why)
{
	const unsigned needed = ask->needs.general;
	char has[96] = "";
	if (f->gp_counters && ask->free != PERF_FREE_UNKNOWN)
		snprintf(has, sizeof(has), "; of the %u that this CPU has, %d %s free",
			 f->gp_counters, ask->free, ask->free == 1 ? "is" : "are");
	else if (f->gp_counters)
		snprintf(has, sizeof(has), "; this CPU has %u", f->gp_counters);
	if (f->gp_counters && needed > f->gp_counters) {
		why_set(why, TARE_E_NO_COUNTERS, "%s: needs %u general counters%s", ask->name,
			needed, has);
		why_remedy(why, "count fewer events at once");
		return TARE_E_NO_COUNTERS;
	}
	if (fits_now(ask))
		return too_late(ask, why);
	if (needed)
		why_set(why, TARE_E_NO_COUNTERS,
			"%s: needs %u general counter%s%s: others hold them " HOLDERS, ask->name,
			needed, plural(needed), has);
	else
		why_set(why, TARE_E_NO_COUNTERS,
			"%s: needs %u fixed or general counter%s%s: others hold them " HOLDERS,
			ask->name, wanted(&ask->needs), plural(wanted(&ask->needs)), has);
	why_remedy(why, "stop other users of the PMU");
	return TARE_E_NO_COUNTERS;
}

int perf_diagnose_unscheduled(const struct perf_event_attr *attr, const struct perf_ask *ask,
			      const struct perf_facts *f, struct tare_why *why)
{
	const struct perf_pmu *const elsewhere = other_core(attr, ask, f);
	if (elsewhere)
		return wrong_core(0, elsewhere, ask, why);
	if (!is_core(attr, f))
		return why_set(why, TARE_E_NOT_SCHEDULED, "%s", ask->name);
	/* We are on a core of its type, and counters are free: the task was on another. */
	const struct perf_pmu *const p = perf_facts_pmu(f, attr->type, attr->config);
	if (f->n_pmus > 1 && p && p->cpus[0] && fits_now(ask))
		return why_set(why, TARE_E_WRONG_CORE,
			       "%s: PMU %s serves CPUs %s, and the program ran on others",
			       ask->name, p->name, p->cpus);
	if (may_blame_watchdog(ask, f))
		return blame_watchdog(ask, f, why);
	return too_few_counters(ask, f, why);
}

int perf_diagnose_user_read(const struct perf_event_attr *attr, const struct perf_ask *ask,
			    const struct perf_facts *f, bool cap, unsigned width,
			    struct tare_why *why)
{
	if (!is_core(attr, f))
		return why_set(why, TARE_E_EVENT_UNSUPPORTED,
			       "%s: the kernel counts this event itself, no counter holds it",
			       ask->name);
	const struct perf_pmu *const p = perf_facts_pmu(f, attr->type, attr->config);
	if (p && p->rdpmc == 0)
		return why_set(why, TARE_E_RDPMC_FORBIDDEN,
			       "%s: /sys/bus/event_source/devices/%s/rdpmc is 0", ask->name,
			       p->name);
	/* arm64 sets cap_user_rdpmc as asked for, whatever the sysctl says. */
	if (f->user_access == 0)
		return why_set(why, TARE_E_RDPMC_FORBIDDEN, "%s: kernel.perf_user_access is 0",
			       ask->name);
	if (!cap)
		return why_set(why, TARE_E_RDPMC_FORBIDDEN,
			       "%s: the kernel does not offer user reads (cap_user_rdpmc is 0)",
			       ask->name);
	if (width < 2 || width > 64)
		return why_set(why, TARE_E_WIDTH, "%s: %u bits", ask->name, width);
	return perf_diagnose_unscheduled(attr, ask, f, why);
}
