/* Flaws of a model by name.
 *
 * Most flaws are rows of a table: a cause, the events that count it, how much (vpmu-abi.h). Which
 * events these are comes from the trust of the model's events in the tables.
 */
#include "model.h"

#include "why.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define PER_SECOND 3000000000ull	/* instructions in a virtual second */
#define PER_MS (PER_SECOND / 1000)
#define INTERRUPTS 1000		/* a virtual second, by default */

/* A model that gets flaws. */
struct planting {
	const struct model *model;
	const struct vpmu_model *rows;
	struct vpmu_flaws *out;
	uint32_t except;	/* of interrupts: undercount */
};

/* ---- rows ---- */

static bool counts(const struct vpmu_row *r)
{
	return r->kind < SOFT_EVENTS && !r->is_cycles;
}

static uint64_t rows_with_trust(const struct vpmu_model *m, unsigned trust)
{
	uint64_t rows = 0;
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (counts(&m->rows[i]) && m->rows[i].trust & trust)
			rows |= 1ull << i;
	return rows;
}

/* The events of the role, with the other names and codes of the same events. */
static uint64_t rows_of_role(const struct vpmu_model *m, enum tare_role role)
{
	uint64_t rows = 0;
	unsigned kind = VPMU_NOTHING;
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (counts(&m->rows[i]) && m->rows[i].role == role)
			kind = m->rows[i].kind;
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (counts(&m->rows[i]) && m->rows[i].kind == kind)
			rows |= 1ull << i;
	return rows;
}

static void add(struct planting *p, struct vpmu_flaw flaw)
{
	struct vpmu_flaws *const f = p->out;
	if (!flaw.rows || f->n_rows == VPMU_MAX_FLAWS)
		return;
	f->rows[f->n_rows++] = flaw;
	f->faults |= flaw.cause == CAUSE_FAULT;
}

static void add_insns(struct planting *p, enum vpmu_insn_set set, enum tare_role role, int amount)
{
	struct vpmu_flaws *const f = p->out;
	if (f->n_insns == VPMU_MAX_INSNS)
		return;
	add(p, (struct vpmu_flaw){ .rows = rows_of_role(p->rows, role), .cause = CAUSE_INSN,
				   .which = (uint8_t)f->n_insns, .amount = (int16_t)amount });
	f->insns[f->n_insns++] = (uint8_t)set;
}

/* ---- the flaws ---- */

static void set_interrupts(struct planting *p, uint64_t n)
{
	p->out->irq_period = PER_SECOND / n;
}
/* The report saw counts below the true one after interrupts were subtracted, on most machines and
 * most of all on Ivy Bridge and Haswell. It gives no rate: the default is an assumption. */
static void set_undercount(struct planting *p, uint64_t n)
{
	p->except = (uint32_t)n;
}
static void set_faults(struct planting *p, uint64_t n)
{
	add(p, (struct vpmu_flaw){ .rows = rows_with_trust(p->rows, TARE_TRUST_NOISY_FAULTS),
				   .cause = CAUSE_FAULT, .amount = (int16_t)n });
}
static void set_speclock(struct planting *p, uint64_t n)
{
	p->out->speclock = (uint32_t)n;
}
static void set_overcount(struct planting *p, uint64_t n)
{
	(void)n;
	for (int i = 0; i < MODEL_OVERCOUNTS && p->model->overcount[i].amount; i++)
		add_insns(p, p->model->overcount[i].insns, p->model->overcount[i].role,
			  p->model->overcount[i].amount);
}
/* As on the paper's Pentium D, which is no model here. */
static void set_fldcw(struct planting *p, uint64_t n)
{
	(void)n;
	add_insns(p, INSNS_FLDCW, TARE_ROLE_INSTRUCTIONS, 1);
}
static void set_moved(struct planting *p, uint64_t n)
{
	p->out->move_at = n * PER_MS;
}
static void set_stolen(struct planting *p, uint64_t n)
{
	p->out->steal_at = n * PER_MS;
}
static void set_watchdog(struct planting *p, uint64_t n)
{
	(void)n;
	p->out->watchdog = 1;
}
/* The last general counters, then the fixed ones. */
static void set_held(struct planting *p, uint64_t n)
{
	const unsigned gp = p->rows->gp;
	p->out->held = 0;
	for (unsigned i = 0; i < n && i < gp; i++)
		p->out->held |= 1u << (gp - 1 - i);
	for (unsigned i = gp; i < n && i < gp + p->rows->fixed; i++)
		p->out->held |= 1u << (VPMU_FIXED_AT + i - gp);
}
static void set_wrap(struct planting *p, uint64_t n)
{
	(void)n;
	p->out->wrap = 1;
}

static const struct {
	const char *name, *about;
	uint64_t value, max;	/* without =N; 0 max: takes no number */
	void (*set)(struct planting *p, uint64_t n);
} flaws[] = {
	{ "interrupts",
	  "N interrupts in each virtual second, counted by the events that count them (1000)",
	  INTERRUPTS, 1000000, set_interrupts },
	{ "undercount", "one of N interrupts is counted by the interrupt event only (16)", 16, 1000000,
	  set_undercount },
	{ "faults", "each page fault adds N to the events that count them (1)", 1, 1000, set_faults },
	{ "speclockmap",
	  "after one of N locked instructions, what came before it is counted again (64)", 64,
	  1000000, set_speclock },
	{ "overcount",
	  "instructions that this CPU counts more than once (core2 to westmere, k10, bobcat)", 0, 0,
	  set_overcount },
	{ "fldcw", "fldcw and others count twice, as on a Pentium D", 0, 0, set_fldcw },
	{ "moved", "an event moves to another counter every N virtual ms (5)", 5, 100000,
	  set_moved },
	{ "stolen", "the counters are taken away after N virtual ms (5)", 5, 100000, set_stolen },
	{ "watchdog", "the NMI watchdog holds a counter", 0, 0, set_watchdog },
	{ "held", "pinned events of another process hold N counters (all)", VPMU_MAX_COUNTERS,
	  VPMU_MAX_COUNTERS, set_held },
	{ "wrap", "counters start 1000 below their maximum", 0, 0, set_wrap },
};

const char *tare_run_flaw(size_t i, const char **about)
{
	if (i >= COUNT_OF(flaws))
		return NULL;
	if (about)
		*about = flaws[i].about;
	return flaws[i].name;
}

/* ---- the list ---- */

static int one_flaw(struct planting *p, const char *item, size_t len, unsigned *seen,
		    struct tare_why *why)
{
	const char *const equals = memchr(item, '=', len);
	const size_t name = equals ? (size_t)(equals - item) : len;
	for (size_t i = 0; i < COUNT_OF(flaws); i++) {
		if (strlen(flaws[i].name) != name || strncmp(flaws[i].name, item, name))
			continue;
		uint64_t n = flaws[i].value;
		if (equals) {
			char *end;
			n = strtoull(equals + 1, &end, 10);
			const bool digit = equals[1] >= '0' && equals[1] <= '9';
			if (!flaws[i].max)
				return why_set(why, TARE_E_RANGE, "flaw %.*s: this flaw takes no number",
					       (int)len, item);
			if (end != item + len || !digit || !n || n > flaws[i].max)
				return why_set(why, TARE_E_RANGE,
					       "flaw %.*s: wants a number from 1 to %ju", (int)len,
					       item, (uintmax_t)flaws[i].max);
		}
		if (*seen >> i & 1)
			return why_set(why, TARE_E_INVALID, "flaw %s is in the list twice",
				       flaws[i].name);
		*seen |= 1u << i;
		flaws[i].set(p, n);
		return 0;
	}
	if (len == 6 && strncmp(item, "cycles", 6) == 0)
		return why_set(why, TARE_E_INVALID,
			       "\"cycles\" is no flaw, but an option: `tare run --cycles`");
	return why_set(why, TARE_E_INVALID, "no flaw \"%.*s\"; `tare run --list` shows them",
		       len > 100 ? 100 : (int)len, item);
}

int model_flaws(const struct model *m, const struct vpmu_model *filled, const char *list,
		struct vpmu_flaws *out, struct tare_why *why)
{
	struct planting p = { .model = m, .rows = filled, .out = out };
	unsigned seen = 0;
	for (const char *at = list; at && *list; at = *at ? at + 1 : NULL) {
		const size_t len = strcspn(at, ",");
		const int err = one_flaw(&p, at, len, &seen, why);
		if (err)
			return err;
		at += len;
	}
	if (p.except && !out->irq_period)
		out->irq_period = PER_SECOND / INTERRUPTS;
	if (out->irq_period)
		add(&p, (struct vpmu_flaw){
			.rows = rows_with_trust(filled, TARE_TRUST_NOISY_INTERRUPTS),
			.cause = CAUSE_INTERRUPT, .amount = 1, .except = p.except });
	return 0;
}
