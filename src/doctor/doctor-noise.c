/* The doctor's checks of what disturbs a count: firmware, the other hardware
 * thread, core types, timer ticks, random addresses, huge pages, allocator
 * timers, clocks. */
#include "doctor-checks.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void doctor_check_smi(struct doctor *d)
{
	const int on = d->facts.freeze_on_smi;

	if (!doctor_has_pmu(d))
		return doctor_find(d, FIND_SMI_NO_PMU, "no hardware counters to freeze");
	if (on == FACT_ABSENT)
		return doctor_find(d, FIND_SMI_ABSENT, "the PMU has no freeze_on_smi");
	doctor_find(d, on ? FIND_SMI_ON : FIND_SMI_OFF, "the PMU's freeze_on_smi file is %d", on);
}

void doctor_check_smt(struct doctor *d)
{
	const struct tare_uarch *const uarch = d->report->cpu.uarch;

	if (!doctor_has_pmu(d))
		return doctor_find(d, FIND_SMT_NO_PMU, "%s; no hardware counters to disturb",
				   d->facts.smt_active == 1 ? "on" : "off");
	if (d->facts.smt_active != 1)
		return doctor_find(d, FIND_SMT_OFF, "one hardware thread per core");
	if (uarch && uarch->irq_event_needs_no_smt)
		return doctor_find(d, FIND_SMT_BREAKS_IRQ,
				   "on, and the interrupt event of %s does not bear it",
				   uarch->title);
	doctor_find(d, FIND_SMT_HARMLESS, "on; no event in the tables for this CPU miscounts with it");
}

void doctor_check_hybrid(struct doctor *d)
{
	const struct doctor_facts *const f = &d->facts;

	if (f->n_core_pmus > 1)
		return doctor_find(d, FIND_HYBRID_MIXED, "%u core types: %s", f->n_core_pmus,
				   f->core_pmus);
	if (f->n_midrs > 1)
		return doctor_find(d, FIND_HYBRID_MIXED, "%u core types by their main IDs",
				   f->n_midrs);
	if (d->report->cpu.hybrid)
		return doctor_find(d, FIND_HYBRID_MIXED, "the CPU says that it is hybrid");
	doctor_find(d, FIND_HYBRID_UNIFORM, "all cores are alike");
}

/* The coarse clocks advance once a tick, so their resolution is the tick. */
void doctor_check_tick(struct doctor *d)
{
	const uint64_t ns = d->probes->tick_ns(d->probes->arg);
	/* Below 1 ms it is not a tick (a clock emulated in user space). */
	const unsigned hz = ns >= 100000 && ns <= 100000000 ?
				    (unsigned)((1000000000 + ns / 2) / ns) :
				    d->facts.config_hz;

	if (!hz)
		return doctor_find(d, FIND_TICK_UNKNOWN, "unknown");
	doctor_find(d, FIND_TICK_RATE, "CONFIG_HZ=%u: %u timer interrupts a second on a busy CPU",
		    hz, hz);
}

void doctor_check_tickless(struct doctor *d)
{
	if (d->facts.nohz_full[0])
		return doctor_find(d, FIND_TICKLESS_SOME, "CPUs %s (nohz_full)",
				   d->facts.nohz_full);
	doctor_find(d, FIND_TICKLESS_NONE, "none (nohz_full is not set)");
}

void doctor_check_aslr(struct doctor *d)
{
	const int level = d->facts.aslr;

	if (level == 0)
		return doctor_find(d, FIND_ASLR_OFF, "kernel.randomize_va_space is 0");
	const int err = d->probes->no_aslr(d->probes->arg);
	if (err)
		return doctor_find(d, FIND_ASLR_REFUSED, "personality(ADDR_NO_RANDOMIZE): %s",
				   strerror(-err));
	if (level == FACT_ABSENT)
		return doctor_find(d, FIND_ASLR_UNKNOWN,
				   "kernel.randomize_va_space cannot be read");
	doctor_find(d, FIND_ASLR_PER_COMMAND,
		    "kernel.randomize_va_space is %d; it can be turned off for a command", level);
}

void doctor_check_thp(struct doctor *d)
{
	const char *const thp = d->facts.thp;

	if (!thp[0])
		return doctor_find(d, FIND_THP_ABSENT, "no transparent huge pages");
	doctor_find(d, strcmp(thp, "always") ? FIND_THP_SOME : FIND_THP_ALWAYS, "%s", thp);
}

/* "dirty_decay_ms:0" → 0; the last one wins, as in jemalloc. */
static bool option_value(const char *conf, const char *name, long *value)
{
	const size_t n = strlen(name);
	bool found = false;

	for (const char *p = conf; p && *p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, name, n) && p[n] == ':') {
			*value = strtol(p + n + 1, NULL, 10);
			found = true;
		}
		if (!*p)
			break;
	}
	return found;
}

/* 0 gives memory back at once, -1 never: neither looks at the clock. */
static bool decay_is_still(const struct doctor *d, const char *name)
{
	const char *const conf = d->probes->environment(d->probes->arg, "MALLOC_CONF");
	long ms = 10000;

	option_value(d->facts.malloc_conf, name, &ms);
	if (conf)	/* read after /etc/malloc.conf, so it wins */
		option_value(conf, name, &ms);
	return ms == 0 || ms == -1;
}

void doctor_check_jemalloc(struct doctor *d)
{
	const char *const preload = d->probes->environment(d->probes->arg, "LD_PRELOAD");
	const bool preloaded = preload && strstr(preload, "jemalloc");
	const bool still = decay_is_still(d, "dirty_decay_ms") && decay_is_still(d, "muzzy_decay_ms");

	if (still)
		return doctor_find(d, FIND_JEMALLOC_STILL, "both decay times are turned off (%s)",
				   preloaded ? "jemalloc is in LD_PRELOAD" : "MALLOC_CONF");
	if (preloaded)
		return doctor_find(d, FIND_JEMALLOC_TIMED, "LD_PRELOAD has jemalloc: %s", preload);
	doctor_find(d, FIND_JEMALLOC_NOT_SEEN, "jemalloc is not in LD_PRELOAD");
}

/* Clock sources that user space reads by itself (vDSO). */
static bool is_fast_clock(const char *name)
{
	static const char *const fast[] = { "tsc", "tsc-early", "kvm-clock",
					    "hyperv_clocksource_tsc_page", "arch_sys_counter" };
	for (size_t i = 0; i < sizeof(fast) / sizeof(fast[0]); i++)
		if (!strcmp(name, fast[i]))
			return true;
	return false;
}

void doctor_check_clock(struct doctor *d)
{
	const struct doctor_facts *const f = &d->facts;
	const bool x86 = d->report->cpu.arch == TARE_ARCH_X86_64;

	if (!f->clocksource[0])
		return doctor_find(d, FIND_CLOCK_UNKNOWN, "the clock source cannot be read");
	if (!is_fast_clock(f->clocksource))
		return doctor_find(d, FIND_CLOCK_SLOW, "%s", f->clocksource);
	if (x86 && f->have_flags && !(f->flag_constant_tsc && f->flag_nonstop_tsc))
		return doctor_find(d, FIND_CLOCK_VARIES, "%s; the CPU lacks %s", f->clocksource,
				   f->flag_constant_tsc ? "nonstop_tsc" : "constant_tsc");
	doctor_find(d, FIND_CLOCK_FAST, "%s%s", f->clocksource,
		    x86 && f->have_flags ? " (the TSC is constant and does not stop)" : "");
}
