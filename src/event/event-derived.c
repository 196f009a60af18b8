/* Counters that no PMU has: a clock, nothing at all, and an event minus what the
 * machine leaked into it.
 *
 * Most x86 events count one more for every interrupt and page fault, because the
 * kernel's iret retires in user mode (the paper, section 3.1.1; the report). So
 * user-mode counts can be corrected:
 *
 *	EVENT-minus-irqs		minus the CPU's interrupt event, as a pair
 *	EVENT-minus-r0420		minus Zen's undocumented 0x0420, interrupts and
 *					faults, as a pair
 *	EVENT-minus-proc-interrupts	minus /proc/interrupts: whole runs only
 *	EVENT-minus-page-faults		minus the kernel's page faults: whole runs only
 *
 * Whether an event is disturbed at all is in its table row; an event that is not
 * must not be "corrected", so that is an error, not a no-op.
 */
#include "event-room.h"

#include "buf.h"
#include "why.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MINUS "-minus-"

static const char pair_error[] =
	"page faults stay in the count; an interrupt between the two reads makes it off by 1 or 2";
static const char pair_untested[] =
	"nobody has published a check of this CPU's interrupt event; page faults stay in the count";
static const char pair_smt[] =
	"the interrupt event undercounts with hyperthreading; page faults stay in the count";
static const char r0420_error[] =
	"0x0420 is undocumented and counts slightly more than interrupts plus page faults";
static const char proc_error[] =
	"/proc/interrupts counts every interrupt of the CPUs that the run used, also those outside "
	"the process: too much is subtracted; page faults stay in the count";
static const char fault_error[] =
	"hardware interrupts stay in the count: about one per timer tick of run time, and more";

int event_clock_find(const char *name, struct tare_event *ev)
{
	if (!strcasecmp(name, "wall-time") || !strcasecmp(name, "duration_time")) {
		ev->kind = TARE_EVENT_WALL_TIME;
		ev->unit = "ns";
		return EVENT_FOUND;
	}
	if (!strcasecmp(name, "zero")) {
		ev->kind = TARE_EVENT_ZERO;
		return EVENT_FOUND;
	}
	return EVENT_NOT_MINE;
}

/* What is known of how an event is disturbed. */
enum disturbed { NOT_DISTURBED, DISTURBED, NOBODY_KNOWS };

static enum disturbed disturbed(const struct tare_event *ev, const struct tare_cpu *cpu,
				unsigned by)
{
	if (ev->row)
		return ev->row->trust & by ? DISTURBED : NOT_DISTURBED;
	/* Every x86 CPU that was ever examined counts these once more per
	 * interrupt and fault. */
	if (!cpu->uarch && cpu->arch == TARE_ARCH_X86_64 &&
	    (ev->role == TARE_ROLE_INSTRUCTIONS || ev->role == TARE_ROLE_BRANCHES))
		return DISTURBED;
	return NOBODY_KNOWS;
}

/* 0 when subtracting makes sense; `what` is "interrupts" or "page faults". */
static int check_disturbed(const char *base, const struct tare_event *ev,
			   const struct tare_cpu *cpu, unsigned by, const char *what,
			   struct tare_why *why)
{
	if (ev->kind != TARE_EVENT_PERF ||
	    (ev->base.type == PERF_TYPE_SOFTWARE && !ev->needs_engine))
		return why_set(why, TARE_E_INVALID,
			       "%s is not a hardware counter: there are no %s to subtract", base,
			       what);
	if (ev->role == TARE_ROLE_INTERRUPTS || ev->role == TARE_ROLE_INTERRUPTS_AND_FAULTS)
		return why_set(why, TARE_E_INVALID, "%s counts %s: nothing would be left", base, what);
	if (ev->needs_engine)
		return why_set(why, TARE_E_EVENT_NOT_ON_CPU, "%s", ev->why_engine);
	char trust[160];
	switch (disturbed(ev, cpu, by)) {
	case DISTURBED:
		return 0;
	case NOT_DISTURBED:
		return why_set(why, TARE_E_INVALID,
			       "%s is not known to count %s on %s (%s): nothing to subtract, use %s:u",
			       base, what, event_cpu_name(cpu),
			       tare_trust_text(ev->row->trust, trust, sizeof(trust)), base);
	default:
		return why_set(why, TARE_E_INVALID,
			       "the tables do not say whether %s counts %s on %s", base, what,
			       event_cpu_name(cpu));
	}
}

static int minus_row(const char *base, const struct tare_event_row *row,
		     const struct tare_cpu *cpu, struct tare_event *ev, struct tare_why *why)
{
	struct tare_event other = { 0 };

	if (!event_from_row(row, cpu, &other))
		return why_set(why, TARE_E_EVENT_NOT_ON_CPU, "%s: perf has no code for %s", base,
			       row->name);
	ev->kind = TARE_EVENT_MINUS;
	ev->minus = other.base;
	return EVENT_FOUND;
}

static int unknown_cpu(const char *base, const char *event, struct tare_event *ev,
		       const struct tare_cpu *cpu, struct tare_why *why)
{
	struct buf text = { 0 };

	buf_printf(&text, "%s: %s is not in the tables, so its %s is not known; for whole runs "
		   "there is %s-minus-proc-interrupts:u", base, event_cpu_name(cpu), event, base);
	ev->kind = TARE_EVENT_MINUS;
	return event_needs_engine(ev, ev->role, &text, why);
}

static int minus_irqs(const char *base, const struct tare_cpu *cpu, struct tare_event *ev,
		      struct tare_why *why)
{
	const int err = check_disturbed(base, ev, cpu, TARE_TRUST_NOISY_INTERRUPTS, "interrupts",
					why);
	if (err < 0)
		return err;
	if (!cpu->uarch)
		return unknown_cpu(base, "interrupt event", ev, cpu, why);
	const struct tare_event_row *const irq = tare_cpu_event(cpu->uarch, TARE_ROLE_INTERRUPTS);
	if (!irq)
		return why_set(why, TARE_E_EVENT_NOT_ON_CPU,
			       "%s has no interrupt event; for whole runs there is "
			       "%s-minus-proc-interrupts:u", event_cpu_name(cpu), base);
	if (irq->trust & TARE_TRUST_BROKEN)
		return why_set(why, TARE_E_EVENT_NOT_ON_CPU,
			       "the interrupt event of %s (%s) does not work; for whole runs there is "
			       "%s-minus-proc-interrupts:u", event_cpu_name(cpu), irq->name, base);
	ev->error_bound = irq->trust & TARE_TRUST_UNTESTED ? pair_untested :
			  cpu->uarch->irq_event_needs_no_smt ? pair_smt : pair_error;
	return minus_row(base, irq, cpu, ev, why);
}

static int minus_r0420(const char *base, const struct tare_cpu *cpu, struct tare_event *ev,
		       struct tare_why *why)
{
	const int err = check_disturbed(base, ev, cpu,
					TARE_TRUST_NOISY_INTERRUPTS | TARE_TRUST_NOISY_FAULTS,
					"interrupts or page faults", why);
	if (err < 0)
		return err;
	if (!cpu->uarch)
		return unknown_cpu(base, "event 0x0420", ev, cpu, why);
	const struct tare_event_row *const row =
		tare_cpu_event(cpu->uarch, TARE_ROLE_INTERRUPTS_AND_FAULTS);
	if (!row)
		return why_set(why, TARE_E_EVENT_NOT_ON_CPU,
			       "event 0x0420 is AMD Zen's, not of %s; there is %s-minus-irqs:u",
			       event_cpu_name(cpu), base);
	ev->error_bound = r0420_error;
	return minus_row(base, row, cpu, ev, why);
}

static int minus_proc_interrupts(const char *base, const struct tare_cpu *cpu,
				 struct tare_event *ev, struct tare_why *why)
{
	const int err = check_disturbed(base, ev, cpu, TARE_TRUST_NOISY_INTERRUPTS, "interrupts",
					why);
	if (err < 0)
		return err;
	ev->kind = TARE_EVENT_MINUS_TOTAL;
	ev->minus_total = TARE_MINUS_PROC_INTERRUPTS;
	ev->error_bound = proc_error;
	return EVENT_FOUND;
}

static int minus_page_faults(const char *base, const struct tare_cpu *cpu, struct tare_event *ev,
			     struct tare_why *why)
{
	const int err = check_disturbed(base, ev, cpu, TARE_TRUST_NOISY_FAULTS, "page faults", why);
	if (err < 0)
		return err;
	ev->kind = TARE_EVENT_MINUS_TOTAL;
	ev->minus_total = TARE_MINUS_PAGE_FAULTS;
	ev->minus = (struct tare_encoding){ .type = PERF_TYPE_SOFTWARE,
					    .config = PERF_COUNT_SW_PAGE_FAULTS };
	ev->error_bound = fault_error;
	return EVENT_FOUND;
}

static const struct {
	const char *suffix;
	int (*apply)(const char *, const struct tare_cpu *, struct tare_event *,
		     struct tare_why *);
} corrections[] = {
	{ "irqs", minus_irqs },
	{ "r0420", minus_r0420 },
	{ "proc-interrupts", minus_proc_interrupts },
	{ "page-faults", minus_page_faults },
};

const char *event_correction_at(size_t i)
{
	return i < sizeof(corrections) / sizeof(corrections[0]) ? corrections[i].suffix : NULL;
}

/* The "-minus-" behind any /terms/. */
static const char *find_minus(const char *name)
{
	const char *const slash = strrchr(name, '/');
	return strcasestr(slash ? slash : name, MINUS);
}

int event_derived_find(const char *name, const struct tare_cpu *cpu, size_t position,
		       struct tare_event *ev, struct tare_why *why)
{
	const char *const minus = find_minus(name);

	if (!minus || minus == name)
		return EVENT_NOT_MINE;
	const char *const suffix = minus + strlen(MINUS);
	for (size_t i = 0; i < sizeof(corrections) / sizeof(corrections[0]); i++) {
		if (strcasecmp(suffix, corrections[i].suffix))
			continue;
		char *const base = strndup(name, (size_t)(minus - name));
		if (!base)
			return why_set(why, TARE_E_NOMEM, "while reading an event list");
		int err = event_resolve(base, cpu, position, ev, why);
		if (err == 0)
			err = corrections[i].apply(base, cpu, ev, why);
		free(base);
		return err;
	}
	if (strcasestr(suffix, MINUS))
		return why_set(why, TARE_E_SYNTAX,
			       "position %zu: %s: one correction at a time", position, name);
	return why_set(why, TARE_E_SYNTAX,
		       "position %zu: unknown correction %s%s; known are %sirqs, %sr0420, "
		       "%sproc-interrupts, %spage-faults", position, MINUS, suffix, MINUS, MINUS,
		       MINUS, MINUS);
}

/* A correction holds for user mode, so that is what it counts unless told
 * otherwise, and nothing else can be told. */
int event_check_mods(const struct tare_event *ev, const char *name, struct event_mods *mods,
		     struct tare_why *why)
{
	if (ev->kind != TARE_EVENT_MINUS && ev->kind != TARE_EVENT_MINUS_TOTAL)
		return 0;
	if (mods->kernel || mods->hv)
		return why_set(why, TARE_E_INVALID,
			       "%s: the correction holds for user mode only; write %s:u", name, name);
	mods->user = true;
	return 0;
}
