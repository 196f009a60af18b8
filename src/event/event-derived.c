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
 *	EVENT-minus-irqs-minus-page-faults, EVENT-minus-proc-interrupts-minus-page-faults
 *					both disturbances: whole runs only
 *
 * Whether an event is disturbed at all is in its table row; an event that is not
 * must not be "corrected", so that is an error, not a no-op.
 */
#include "event-room.h"

#include "buf.h"
#include "clocale.h"
#include "why.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MINUS "-minus-"

#define FAULTS_STAY "; page faults stay in the count"

/* What is left in a count: while page faults are, and after they were subtracted too. */
struct bound {
	const char *with_faults, *without;
};

static const struct bound pair_bound = {
	"page faults stay in the count; an interrupt between the two reads makes it off by 1 or 2",
	"an interrupt between the two reads makes it off by 1 or 2",
};
static const struct bound untested_bound = {
	"nobody has published a check of this CPU's interrupt event" FAULTS_STAY,
	"nobody has published a check of this CPU's interrupt event",
};
static const struct bound smt_bound = {
	"the interrupt event undercounts with hyperthreading" FAULTS_STAY,
	"the interrupt event undercounts with hyperthreading",
};
static const struct bound r0420_bound = {
	"0x0420 is undocumented and counts slightly more than interrupts plus page faults", NULL,
};
#define PROC_ERROR "/proc/interrupts counts every interrupt of the CPUs that the run used, also " \
	"those outside the process: too much is subtracted"
static const struct bound proc_bound = { PROC_ERROR FAULTS_STAY, PROC_ERROR };
static const char fault_error[] =
	"hardware interrupts stay in the count: about one per timer tick of run time, and more";

int event_clock_find(const char *name, struct tare_event *ev)
{
	if (!clocale_casecmp(name, "wall-time") || !clocale_casecmp(name, "duration_time")) {
		ev->kind = TARE_EVENT_WALL_TIME;
		ev->unit = "ns";
		return EVENT_FOUND;
	}
	if (!clocale_casecmp(name, "zero")) {
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

/* An event on its way to be corrected; the event itself stays as it is until all its
 * corrections are known to make sense. */
struct correcting {
	const char *base;		/* its name */
	const struct tare_cpu *cpu;
	struct tare_event *ev;
	unsigned total;			/* of enum tare_minus_total */
	struct tare_encoding pair;
	const struct bound *bound;	/* of the interrupt correction */
};

static int minus_row(struct correcting *c, const struct tare_event_row *row,
		     const struct bound *bound, struct tare_why *why)
{
	struct tare_event other = { 0 };

	if (!event_from_row(row, c->cpu, &other))
		return why_set(why, TARE_E_EVENT_NOT_ON_CPU, "%s: perf has no code for %s", c->base,
			       row->name);
	c->total |= TARE_MINUS_PAIR;
	c->pair = other.base;
	c->bound = bound;
	return 0;
}

static int unknown_cpu(const struct correcting *c, const char *event, struct tare_why *why)
{
	struct buf text = { 0 };

	buf_printf(&text, "%s: %s is not in the tables, so its %s is not known; for whole runs "
		   "there is %s-minus-proc-interrupts:u", c->base, event_cpu_name(c->cpu), event,
		   c->base);
	const int found = event_needs_engine(c->ev, c->ev->role, &text, why);
	return found < 0 ? found : 0;
}

static int minus_irqs(struct correcting *c, struct tare_why *why)
{
	const struct tare_uarch *const u = c->cpu->uarch;

	if (!u)
		return unknown_cpu(c, "interrupt event", why);
	const struct tare_event_row *const irq = tare_cpu_event(u, TARE_ROLE_INTERRUPTS);
	if (!irq)
		return why_set(why, TARE_E_EVENT_NOT_ON_CPU,
			       "%s has no interrupt event; for whole runs there is "
			       "%s-minus-proc-interrupts:u", event_cpu_name(c->cpu), c->base);
	if (irq->trust & TARE_TRUST_BROKEN)
		return why_set(why, TARE_E_EVENT_NOT_ON_CPU,
			       "the interrupt event of %s (%s) does not work; for whole runs there is "
			       "%s-minus-proc-interrupts:u", event_cpu_name(c->cpu), irq->name,
			       c->base);
	return minus_row(c, irq, irq->trust & TARE_TRUST_UNTESTED ? &untested_bound :
				 u->irq_event_needs_no_smt ? &smt_bound : &pair_bound, why);
}

static int minus_r0420(struct correcting *c, struct tare_why *why)
{
	if (!c->cpu->uarch)
		return unknown_cpu(c, "event 0x0420", why);
	const struct tare_event_row *const row =
		tare_cpu_event(c->cpu->uarch, TARE_ROLE_INTERRUPTS_AND_FAULTS);
	if (!row)
		return why_set(why, TARE_E_EVENT_NOT_ON_CPU,
			       "event 0x0420 is AMD Zen's, not of %s; there is %s-minus-irqs:u",
			       event_cpu_name(c->cpu), c->base);
	return minus_row(c, row, &r0420_bound, why);
}

static int minus_proc_interrupts(struct correcting *c, struct tare_why *why)
{
	c->total |= TARE_MINUS_PROC_INTERRUPTS;
	c->bound = &proc_bound;
	return 0;
}

static int minus_page_faults(struct correcting *c, struct tare_why *why)
{
	c->total |= TARE_MINUS_PAGE_FAULTS;
	return 0;
}

static const struct correction {
	const char *suffix;
	unsigned removes;		/* what of the disturbances */
	const char *what;		/* the same, for messages */
	int (*apply)(struct correcting *, struct tare_why *);
} corrections[] = {
	{ "irqs", TARE_TRUST_NOISY_INTERRUPTS, "interrupts", minus_irqs },
	{ "r0420", TARE_TRUST_NOISY_INTERRUPTS | TARE_TRUST_NOISY_FAULTS,
	  "interrupts or page faults", minus_r0420 },
	{ "proc-interrupts", TARE_TRUST_NOISY_INTERRUPTS, "interrupts", minus_proc_interrupts },
	{ "page-faults", TARE_TRUST_NOISY_FAULTS, "page faults", minus_page_faults },
};

#define N_CORRECTIONS (sizeof(corrections) / sizeof(corrections[0]))

const char *event_correction_at(size_t i)
{
	static const char *const both[] = {
		"irqs" MINUS "page-faults", "proc-interrupts" MINUS "page-faults",
	};
	if (i < N_CORRECTIONS)
		return corrections[i].suffix;
	i -= N_CORRECTIONS;
	return i < sizeof(both) / sizeof(both[0]) ? both[i] : NULL;
}

/* The "-minus-" behind any /terms/. */
static const char *find_minus(const char *name)
{
	const char *const slash = strrchr(name, '/');
	return strcasestr(slash ? slash : name, MINUS);
}

static const struct correction *find_correction(const char *suffix, size_t len)
{
	for (size_t i = 0; i < N_CORRECTIONS; i++)
		if (strlen(corrections[i].suffix) == len &&
		    !clocale_ncasecmp(suffix, corrections[i].suffix, len))
			return &corrections[i];
	return NULL;
}

/* The corrections of "-minus-A-minus-B", at most one of interrupts and one of faults.
 * Returns how many. */
static int list_corrections(const char *minus, size_t position, const struct correction *list[2],
			    struct tare_why *why)
{
	int n = 0;

	while (minus) {
		const char *const suffix = minus + strlen(MINUS);
		minus = strcasestr(suffix, MINUS);
		const size_t len = minus ? (size_t)(minus - suffix) : strlen(suffix);
		const struct correction *const c = find_correction(suffix, len);
		if (!c)
			return why_set(why, TARE_E_SYNTAX,
				       "position %zu: unknown correction %s%.*s; known are %sirqs, "
				       "%sr0420, %sproc-interrupts, %spage-faults", position, MINUS,
				       (int)len, suffix, MINUS, MINUS, MINUS, MINUS);
		for (int i = 0; i < n; i++)
			if (list[i]->removes & c->removes)
				return why_set(why, TARE_E_SYNTAX,
					       "position %zu: %s%s and %s%s subtract the same twice; "
					       "only %spage-faults goes with another", position, MINUS,
					       list[i]->suffix, MINUS, c->suffix, MINUS);
		list[n++] = c;		/* there are two things to remove, so two at most */
	}
	return n;
}

static int correct(struct correcting *c, const struct correction *const list[2], int n,
		   struct tare_why *why)
{
	struct tare_event *const ev = c->ev;

	for (int i = 0; i < n; i++) {
		const int err = check_disturbed(c->base, ev, c->cpu, list[i]->removes,
						list[i]->what, why);
		if (err < 0)
			return err;
	}
	for (int i = 0; i < n; i++) {
		const int err = list[i]->apply(c, why);
		if (err < 0)
			return err;
	}
	const bool faults = c->total & TARE_MINUS_PAGE_FAULTS;
	const bool pair_only = !(c->total & ~(unsigned)TARE_MINUS_PAIR);
	ev->kind = pair_only ? TARE_EVENT_MINUS : TARE_EVENT_MINUS_TOTAL;
	ev->minus = c->pair;
	ev->minus_total = pair_only ? 0 : c->total;
	if (c->bound)
		ev->error_bound = faults ? c->bound->without : c->bound->with_faults;
	else if (faults && !ev->needs_engine)
		ev->error_bound = fault_error;
	return EVENT_FOUND;
}

int event_derived_find(const char *name, const struct tare_cpu *cpu, size_t position,
		       struct tare_event *ev, struct tare_why *why)
{
	const char *const minus = find_minus(name);
	const struct correction *list[2];

	if (!minus || minus == name)
		return EVENT_NOT_MINE;
	const int n = list_corrections(minus, position, list, why);
	if (n < 0)
		return n;
	char *const base = strndup(name, (size_t)(minus - name));
	if (!base)
		return why_set(why, TARE_E_NOMEM, "while reading an event list");
	struct correcting c = { .base = base, .cpu = cpu, .ev = ev };
	int err = event_resolve(base, cpu, position, ev, why);
	if (err == 0)
		err = correct(&c, list, n, why);
	free(base);
	return err;
}

/* Corrections are valid in user mode only: an event without a modifier gets :u, and other
 * modifiers are an error. */
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
