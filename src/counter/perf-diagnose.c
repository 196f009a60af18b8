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
		return why_errno(why, TARE_E_PARANOID, err,
				 "%s: a virtual PMU (tare run) has no kernel to count", ask->name);
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
	return why_errno(why, TARE_E_NO_COUNTERS, err, "%s: a group of %u hardware events",
			 ask->name, ask->group_size);
}

int perf_diagnose_open(int err, const struct perf_event_attr *attr, const struct perf_ask *ask,
		       const struct perf_facts *f, struct tare_why *why)
{
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
		return why_errno(why, TARE_E_NO_PROCESS, err, "%s: process %d", ask->name,
				 (int)ask->pid);
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

/* Whether the NMI watchdog can be what left this event without a counter. It
 * counts cycles. ARM's PMUs have a counter for cycles alone, so there it leaves the
 * programmable ones as they are (and since 6.5 it may use no counter at all, the
 * sysctl being 1 all the same). */
static bool may_blame_watchdog(const struct perf_ask *ask, const struct perf_facts *f)
{
	if (f->nmi_watchdog != 1)
		return false;
	for (unsigned i = 0; i < f->n_pmus; i++)
		if (strncmp(f->pmus[i].name, "armv", 4) == 0)
			return false;
	/* With the tables' number of counters known, blame it only if the one
	 * counter it takes is the one that was missing. */
	return f->gp_counters == 0 || ask->group_size <= f->gp_counters;
}

int perf_diagnose_unscheduled(const struct perf_event_attr *attr, const struct perf_ask *ask,
			      const struct perf_facts *f, struct tare_why *why)
{
	const struct perf_pmu *const elsewhere = other_core(attr, ask, f);
	if (elsewhere)
		return wrong_core(0, elsewhere, ask, why);
	if (!is_core(attr, f))
		return why_set(why, TARE_E_NOT_SCHEDULED, "%s", ask->name);
	if (may_blame_watchdog(ask, f))
		return why_set(why, TARE_E_WATCHDOG,
			       "%s: no counter is free, and kernel.nmi_watchdog is 1", ask->name);
	return why_set(why, TARE_E_NO_COUNTERS, "%s: no counter is free", ask->name);
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
