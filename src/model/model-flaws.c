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
#define INTERRUPTS 1000		/* a virtual second, by default */
#define RANDOM "random:"
#define OPCODE "opcode:"	/* behind RANDOM */

/* ---- rows ---- */

bool row_counts(const struct vpmu_row *r)
{
	return r->kind < SOFT_EVENTS && !r->is_cycles;
}

uint64_t rows_like(const struct vpmu_model *m, uint32_t row)
{
	uint64_t rows = 0;
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (m->rows[i].kind == m->rows[row].kind && strcmp(m->rows[i].name, m->rows[row].name) == 0)
			rows |= 1ull << i;
	return rows;
}

uint64_t rows_with_trust(const struct vpmu_model *m, unsigned trust)
{
	uint64_t rows = 0;
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (row_counts(&m->rows[i]) && m->rows[i].trust & trust)
			rows |= 1ull << i;
	return rows;
}

uint64_t rows_of_role(const struct vpmu_model *m, enum tare_role role)
{
	uint64_t rows = 0;
	unsigned kind = VPMU_NOTHING;
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (row_counts(&m->rows[i]) && m->rows[i].role == role)
			kind = m->rows[i].kind;
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (row_counts(&m->rows[i]) && m->rows[i].kind == kind)
			rows |= 1ull << i;
	return rows;
}

void flaw_add(struct planting *p, struct vpmu_flaw flaw)
{
	struct vpmu_flaws *const f = p->out;
	if (!flaw.rows || !flaw.amount || f->n_rows == VPMU_MAX_FLAWS)
		return;
	f->rows[f->n_rows++] = flaw;
	f->faults |= flaw.cause == CAUSE_FAULT;
	f->switches |= flaw.cause == CAUSE_SWITCH;
	f->fp |= flaw.cause == CAUSE_EXCEPTION || flaw.cause == CAUSE_FIRST_FP;
}

void flaw_add_insns(struct planting *p, const struct vpmu_insns *insns, uint64_t rows, int amount)
{
	struct vpmu_flaws *const f = p->out;
	if (f->n_insns == VPMU_MAX_INSNS)
		return;
	flaw_add(p, (struct vpmu_flaw){ .rows = rows, .cause = CAUSE_INSN,
					.which = (uint8_t)f->n_insns, .amount = (int16_t)amount });
	f->insns[f->n_insns++] = *insns;
}

/* Two micro-ops for each instruction that the event is to count, and more for some. */
void flaw_add_uops(struct planting *p, uint64_t rows, unsigned x87, unsigned calls, uint64_t period)
{
	for (unsigned kind = 0; kind < SOFT_EVENTS; kind++) {
		uint64_t own = 0;
		for (uint32_t i = 0; i < p->rows->n_rows; i++)
			if (rows >> i & 1 && p->rows->rows[i].kind == kind)
				own |= 1ull << i;
		flaw_add(p, (struct vpmu_flaw){ .rows = own, .cause = CAUSE_EVENT,
						.which = (uint8_t)kind, .amount = 1 });
	}
	flaw_add(p, (struct vpmu_flaw){ .rows = rows, .cause = CAUSE_EVENT, .which = SOFT_X87,
					.amount = (int16_t)x87 });
	flaw_add(p, (struct vpmu_flaw){ .rows = rows, .cause = CAUSE_EVENT, .which = SOFT_CALLS,
					.amount = (int16_t)calls });
	flaw_add(p, (struct vpmu_flaw){ .rows = rows, .cause = CAUSE_REPLAY, .amount = 1 });
	p->out->replay_period = period;
}

/* With p->iret or p->entry an int 0x80 counts too, when the kernel returns from it or before; and so it
 * does in Zen's 0x0420. */
void flaw_add_interrupts(struct planting *p, uint64_t rows)
{
	if (p->out->irq_period || p->out->n_at)
		flaw_add(p, (struct vpmu_flaw){ .rows = rows, .cause = CAUSE_INTERRUPT, .amount = 1,
						.except = p->except });
	if (!p->iret && !p->entry)
		return;
	for (uint32_t i = 0; i < p->rows->n_rows; i++)
		if (p->rows->rows[i].kind == VPMU_INTERRUPTS_AND_FAULTS)
			rows |= 1ull << i;
	flaw_add(p, (struct vpmu_flaw){ .rows = rows, .cause = p->iret ? CAUSE_IRET : CAUSE_ENTRY,
					.amount = 1 });
}

void flaw_hide_interrupts(struct planting *p, uint64_t code)
{
	for (uint32_t i = 0; i < p->rows->n_rows; i++)
		if (p->rows->rows[i].kind == VPMU_INTERRUPTS)
			p->rows->rows[i].raw = code;
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
static void set_iret(struct planting *p, uint64_t n)
{
	(void)n;
	p->iret = true;
}
static void set_entry(struct planting *p, uint64_t n)
{
	(void)n;
	p->entry = true;
}
/* Any code without a name will do; the default has a selector of its own and one bit of the mask, so
 * that the code with all bits counts it too. */
static void set_undocumented(struct planting *p, uint64_t n)
{
	flaw_hide_interrupts(p, n);
}
static void set_faults(struct planting *p, uint64_t n)
{
	flaw_add(p, (struct vpmu_flaw){ .rows = rows_with_trust(p->rows, TARE_TRUST_NOISY_FAULTS),
					.cause = CAUSE_FAULT, .amount = (int16_t)n });
}
static void set_exceptions(struct planting *p, uint64_t n)
{
	flaw_add(p, (struct vpmu_flaw){ .rows = rows_of_role(p->rows, TARE_ROLE_INSTRUCTIONS),
					.cause = CAUSE_EXCEPTION, .amount = (int16_t)n });
}
static void set_first_fp(struct planting *p, uint64_t n)
{
	flaw_add(p, (struct vpmu_flaw){ .rows = rows_of_role(p->rows, TARE_ROLE_INSTRUCTIONS),
					.cause = CAUSE_FIRST_FP, .amount = (int16_t)n });
}
static void set_migration(struct planting *p, uint64_t n)
{
	flaw_add(p, (struct vpmu_flaw){ .rows = rows_of_role(p->rows, TARE_ROLE_INSTRUCTIONS),
					.cause = CAUSE_MIGRATION, .amount = (int16_t)n });
}
static void set_crowded(struct planting *p, uint64_t n)
{
	flaw_add(p, (struct vpmu_flaw){ .rows = rows_of_role(p->rows, TARE_ROLE_INSTRUCTIONS),
					.cause = CAUSE_SWITCH, .amount = (int16_t)n });
}
static void set_early(struct planting *p, uint64_t n)
{
	p->out->early = (uint32_t)n;
	p->out->early_rows = rows_of_role(p->rows, TARE_ROLE_INSTRUCTIONS);
}
static void set_speclock(struct planting *p, uint64_t n)
{
	p->out->speclock = (uint32_t)n;
}
static void set_contended(struct planting *p, uint64_t n)
{
	p->out->speclock = (uint32_t)n;
	p->out->contended = true;
}
static void plant_overcounts(struct planting *p, bool assumed)
{
	for (int i = 0; i < MODEL_OVERCOUNTS && p->model->overcount[i].amount; i++) {
		const struct model_overcount *const o = &p->model->overcount[i];
		if (o->assumed && !assumed)
			continue;
		flaw_add_insns(p, &(struct vpmu_insns){ .set = (uint8_t)o->insns },
			       rows_of_role(p->rows, o->role), o->amount);
	}
}
static void set_overcount(struct planting *p, uint64_t n)
{
	(void)n;
	plant_overcounts(p, false);
}
/* As on the paper's Pentium D, which is no model here. */
static void set_fldcw(struct planting *p, uint64_t n)
{
	(void)n;
	flaw_add_insns(p, &(struct vpmu_insns){ .set = INSNS_FLDCW },
		       rows_of_role(p->rows, TARE_ROLE_INSTRUCTIONS), 1);
}
static void set_micro_ops(struct planting *p, uint64_t n)
{
	flaw_add_uops(p, rows_of_role(p->rows, TARE_ROLE_LOADS) |
			 rows_of_role(p->rows, TARE_ROLE_STORES), (unsigned)n, (unsigned)n, 50000);
}
static uint64_t tested(const struct vpmu_model *m, uint64_t rows)
{
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (m->rows[i].trust & TARE_TRUST_UNTESTED)
			rows &= ~(1ull << i);
	return rows;
}

/* Events that are refused otherwise, because they count micro-ops or what was executed: with this
 * flaw they count what the engine has of them. */
static uint64_t rows_of_uops(struct vpmu_model *m)
{
	static const struct { enum tare_role role; uint8_t kind; } as[] = {
		{ TARE_ROLE_LOAD_UOPS, SOFT_LOADS }, { TARE_ROLE_STORE_UOPS, SOFT_STORES },
		{ TARE_ROLE_LOADS, SOFT_LOADS }, { TARE_ROLE_STORES, SOFT_STORES },
		{ TARE_ROLE_COND_BRANCHES, SOFT_COND }, { TARE_ROLE_UOPS, SOFT_INSTRUCTIONS },
	};
	uint64_t rows = 0;
	for (uint32_t i = 0; i < m->n_rows; i++)
		for (size_t k = 0; k < COUNT_OF(as); k++) {
			struct vpmu_row *const r = &m->rows[i];
			if (r->role != as[k].role || r->kind != VPMU_NOTHING || r->is_cycles ||
			    r->trust & TARE_TRUST_UNTESTED)
				continue;
			r->kind = as[k].kind;
			if (r->trust & TARE_TRUST_UOPS)
				rows |= 1ull << i;
		}
	return rows;
}

/* The letters of Table 6, and what was published for later CPUs, as the trust of the tables has it.
 * Interrupts are added at the end of the list (model_flaws()). */
static void set_paper(struct planting *p, uint64_t n)
{
	static const struct { unsigned trust; enum vpmu_cause cause; } causes[] = {
		{ TARE_TRUST_NOISY_FAULTS, CAUSE_FAULT }, { TARE_TRUST_OVER_EXCEPTIONS, CAUSE_EXCEPTION },
		{ TARE_TRUST_OVER_LAZY_FP, CAUSE_FIRST_FP },
	};
	p->paper = true;
	(void)n;
	plant_overcounts(p, true);	/* before other events get the same kind */
	const uint64_t uops = rows_of_uops(p->rows);
	for (size_t i = 0; i < COUNT_OF(causes); i++)
		flaw_add(p, (struct vpmu_flaw){
			.rows = tested(p->rows, rows_with_trust(p->rows, causes[i].trust)),
			.cause = (uint8_t)causes[i].cause, .amount = 1 });
	if (uops)
		flaw_add_uops(p, uops, 1, 1, 50000);
	for (uint32_t i = 0; i < p->rows->n_rows; i++)
		if (p->rows->rows[i].kind == VPMU_INTERRUPTS && p->rows->rows[i].trust & TARE_TRUST_BROKEN)
			p->out->dead |= 1ull << i;
}
static void set_narrow(struct planting *p, uint64_t n)
{
	p->out->narrow = (uint32_t)n;
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

/* ---- flaws that take a text ---- */

/* "100:250": times of the clock. */
static int set_interrupt_at(struct planting *p, const char *text, size_t len, struct tare_why *why)
{
	struct vpmu_flaws *const f = p->out;
	for (const char *at = text; at < text + len;) {
		char *end;
		const uint64_t n = strtoull(at, &end, 10);
		if (*at < '0' || *at > '9' || (end < text + len && *end != ':') || end == text + len - 1 ||
		    f->n_at == VPMU_MAX_AT)
			return why_set(why, TARE_E_INVALID, "flaw interrupt-at=%.*s: wants up to %d numbers of "
				       "instructions with ':' between them", (int)len, text, VPMU_MAX_AT);
		f->irq_at[f->n_at++] = n;
		at = end + 1;
	}
	return 0;
}

/* "NAME[:AMOUNT]": instructions that count more, or less, in the event instructions. */
static int set_insn(struct planting *p, const char *text, size_t len, struct tare_why *why)
{
	const char *const colon = memchr(text, ':', len);
	struct vpmu_insns set;
	char *end = NULL;
	const long amount = colon ? strtol(colon + 1, &end, 10) : 1;
	const int err = model_insns_parse(text, colon ? (size_t)(colon - text) : len, &set, why);
	if (err)
		return err;
	if (colon && (end != text + len || !amount || amount < -1 || amount > 100))
		return why_set(why, TARE_E_RANGE, "flaw insn=%.*s: wants -1, or a number from 1 to 100, after "
			       "the ':'", (int)len, text);
	flaw_add_insns(p, &set, rows_of_role(p->rows, TARE_ROLE_INSTRUCTIONS), (int)amount);
	return 0;
}

/* A role ("branches") or a raw code ("r00c4"). */
static int set_dead(struct planting *p, const char *text, size_t len, struct tare_why *why)
{
	char *end;
	const uint64_t code = *text == 'r' ? strtoull(text + 1, &end, 16) : 0;
	const bool is_code = *text == 'r' && len > 1 && end == text + len;
	for (uint32_t i = 0; i < p->rows->n_rows; i++) {
		const struct vpmu_row *const r = &p->rows->rows[i];
		const char *const role = tare_role_name((enum tare_role)r->role);
		if (r->kind == VPMU_NOTHING)
			continue;
		if (is_code ? r->has_raw && r->raw == code :
			      strlen(role) == len && strncmp(role, text, len) == 0)
			p->out->dead |= rows_like(p->rows, i);
	}
	if (p->out->dead)
		return 0;
	return why_set(why, TARE_E_INVALID, "flaw dead=%.*s: the model counts no such event; wants a role "
		       "like branches, or a code like r00c4", len > 100 ? 100 : (int)len, text);
}

/* "N[:M]": counter N counts one of M twice. */
static int set_register(struct planting *p, const char *text, size_t len, struct tare_why *why)
{
	char *end;
	const uint64_t n = strtoull(text, &end, 10);
	uint64_t one_of = 16;
	const bool has_number = *text >= '0' && *text <= '9';
	if (has_number && *end == ':' && end < text + len)
		one_of = strtoull(end + 1, &end, 10);
	if (!has_number || end != text + len || n >= p->rows->gp || !one_of || one_of > 1000000)
		return why_set(why, TARE_E_RANGE, "flaw register=%.*s: wants a counter from 0 to %u, and after "
			       "a ':' a number from 1 to 1000000", (int)len, text, p->rows->gp - 1);
	p->out->bad_counter = (uint32_t)n + 1;
	p->out->bad_one_of = (uint32_t)one_of;
	p->out->bad_amount = 1;
	return 0;
}

#define MAX_SKID 1000000

/* "[MIN:]MAX": instructions. The default is an assumption: rr reckons with 100 on Intel's CPUs
 * (SKID_SIZE in its PerfCounters.cc). */
static int set_skid(struct planting *p, const char *text, size_t len, struct tare_why *why)
{
	char *end = NULL;
	const bool has_number = len && *text >= '0' && *text <= '9';
	uint64_t first = has_number ? strtoull(text, &end, 10) : 0, last = has_number ? first : 100;
	const bool has_range = has_number && *end == ':' && end + 1 < text + len && end[1] >= '0' && end[1] <= '9';
	if (has_range)
		last = strtoull(end + 1, &end, 10);
	else
		first = 0;
	if (len && (!has_number || end != text + len || last > MAX_SKID || first > last))
		return why_set(why, TARE_E_RANGE, "flaw skid=%.*s: wants MAX or MIN:MAX, numbers of "
			       "instructions from 0 to %d", len > 100 ? 100 : (int)len, text, MAX_SKID);
	p->out->skid = 1;
	p->out->skid_min = (uint32_t)first;
	p->out->skid_max = (uint32_t)last;
	p->rows->max_precise = p->model->max_precise;
	return 0;
}
static void set_throttle(struct planting *p, uint64_t n)
{
	p->out->throttle = (uint32_t)n;
}

#define NUMBER(n, v, m, f) .name = n, .value = v, .max = m, .set = f
#define TEXT(n, f) .name = n, .set_text = f

static const struct {
	const char *name, *about;
	uint64_t value, max;	/* without =N; 0 max: takes no number */
	bool optional;		/* the text may be missing, and is empty then */
	void (*set)(struct planting *p, uint64_t n);
	int (*set_text)(struct planting *p, const char *text, size_t len, struct tare_why *why);
} flaws[] = {
	{ NUMBER("interrupts", INTERRUPTS, 1000000, set_interrupts),
	  .about = "N interrupts in each virtual second, counted by the events that count them (1000)" },
	{ TEXT("interrupt-at", set_interrupt_at),
	  .about = "N[:N...]: an interrupt after N instructions of each task" },
	{ NUMBER("undercount", 16, 1000000, set_undercount),
	  .about = "one of N interrupts is counted by the interrupt event only (16)" },
	{ NUMBER("iret", 0, 0, set_iret),
	  .about = "what is counted of an interrupt is the kernel's iret: int 0x80 adds 1 too" },
	{ NUMBER("entry", 0, 0, set_entry),
	  .about = "what is counted of an interrupt is the interrupt: int 0x80 adds 1 too, at once" },
	{ NUMBER("undocumented", 0x10e3, 0xffff, set_undocumented),
	  .about = "the interrupt event has the code N, not that of the tables (0x10e3)" },
	{ NUMBER("faults", 1, 1000, set_faults),
	  .about = "each page fault adds N to the events that count them (1)" },
	{ NUMBER("exceptions", 1, 100, set_exceptions),
	  .about = "each x87 or SSE exception adds N instructions (1)" },
	{ NUMBER("first-fp", 1, 100, set_first_fp),
	  .about = "the first floating-point instruction of a task adds N instructions (1)" },
	{ NUMBER("early-reads", 8, 100, set_early),
	  .about = "an rdpmc without a serialising instruction misses up to N instructions (8)" },
	{ NUMBER("migration", 10, 1000, set_migration),
	  .about = "each move of a task to another CPU adds N instructions (10)" },
	{ NUMBER("crowded", 10, 1000, set_crowded),
	  .about = "with more tasks than CPUs, each context switch adds N instructions (10)" },
	{ NUMBER("speclockmap", 64, 1000000, set_speclock),
	  .about = "after one of N locked instructions, what came before it is counted again (64)" },
	{ NUMBER("contended", 64, 1000000, set_contended),
	  .about = "the same, only while the process has several threads (64)" },
	{ NUMBER("overcount", 0, 0, set_overcount),
	  .about = "instructions that this CPU counts more than once (core2 to westmere, k10, bobcat, jaguar)" },
	{ NUMBER("paper", 0, 0, set_paper),
	  .about = "what was published of this CPU: Table 6 of the paper, and the results beside it" },
	{ NUMBER("fldcw", 0, 0, set_fldcw), .about = "fldcw and others count twice, as on a Pentium D" },
	{ TEXT("insn", set_insn),
	  .about = "NAME[:N]: each instruction NAME adds N instructions (1); -1: it is not counted" },
	{ NUMBER("micro-ops", 1, 100, set_micro_ops),
	  .about = "loads and stores count N micro-ops more for x87 and calls, and replays (1)" },
	{ TEXT("dead", set_dead), .about = "EVENT: this event opens and never counts" },
	{ TEXT("register", set_register), .about = "N[:M]: counter N counts one of M twice (16)" },
	{ NUMBER("narrow", 24, 40, set_narrow),
	  .about = "counters have N bits, whatever the PMU says (24)" },
	{ NUMBER("moved", 5, 100000, set_moved),
	  .about = "an event moves to another counter every N virtual ms (5)" },
	{ NUMBER("stolen", 5, 100000, set_stolen),
	  .about = "the counters are taken away after N virtual ms (5)" },
	{ NUMBER("watchdog", 0, 0, set_watchdog), .about = "the NMI watchdog holds a counter" },
	{ NUMBER("held", VPMU_MAX_COUNTERS, VPMU_MAX_COUNTERS, set_held),
	  .about = "pinned events of another process hold N counters (all)" },
	{ NUMBER("wrap", 0, 0, set_wrap), .about = "counters start 1000 below their maximum" },
	{ TEXT("skid", set_skid), .optional = true,
	  .about = "[MIN:]MAX: an overflow is noticed so many instructions late (0:100)" },
	{ NUMBER("throttle", 400, 1000000, set_throttle),
	  .about = "an event with N samples in 4 virtual ms stops until these are over (400)" },
	{ .name = "random:SEED", .about = "flaws drawn from the seed; alone in the list" },
	{ .name = "random:opcode:SEED", .about = "an opcode, of all, that an event counts wrongly, drawn from the seed" },
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

static bool is_named(size_t i, const char *item, size_t len)
{
	return (flaws[i].set || flaws[i].set_text) && strlen(flaws[i].name) == len &&
	       strncmp(flaws[i].name, item, len) == 0;
}

static int parse_number(size_t i, const char *item, size_t len, const char *text, uint64_t *n,
			struct tare_why *why)
{
	char *end;
	const bool hex = text[0] == '0' && text[1] == 'x';
	*n = strtoull(text, &end, hex ? 16 : 10);
	if (!flaws[i].max)
		return why_set(why, TARE_E_RANGE, "flaw %.*s: this flaw takes no number", (int)len, item);
	if (end != item + len || *text < '0' || *text > '9' || !*n || *n > flaws[i].max)
		return why_set(why, TARE_E_RANGE, "flaw %.*s: wants a number from 1 to %ju", (int)len, item,
			       (uintmax_t)flaws[i].max);
	return 0;
}

static int one_flaw(struct planting *p, const char *item, size_t len, uint64_t *seen,
		    struct tare_why *why)
{
	const char *const equals = memchr(item, '=', len);
	const size_t name = equals ? (size_t)(equals - item) : len;
	const char *const text = equals ? equals + 1 : item + len;
	for (size_t i = 0; i < COUNT_OF(flaws); i++) {
		if (!is_named(i, item, name))
			continue;
		if (*seen >> i & 1)
			return why_set(why, TARE_E_INVALID, "flaw %s is in the list twice",
				       flaws[i].name);
		*seen |= 1ull << i;
		if (flaws[i].set_text && text == item + len && !(flaws[i].optional && !equals))
			return why_set(why, TARE_E_INVALID, "flaw %s: wants a value: %s", flaws[i].name,
				       flaws[i].about);
		if (flaws[i].set_text)
			return flaws[i].set_text(p, text, (size_t)(item + len - text), why);
		uint64_t n = flaws[i].value;
		const int err = equals ? parse_number(i, item, len, equals + 1, &n, why) : 0;
		if (!err)
			flaws[i].set(p, n);
		return err;
	}
	if (len == 6 && strncmp(item, "cycles", 6) == 0)
		return why_set(why, TARE_E_INVALID,
			       "\"cycles\" is no flaw, but an option: `tare run --cycles`");
	return why_set(why, TARE_E_INVALID, "no flaw \"%.*s\"; `tare run --list` shows them",
		       len > 100 ? 100 : (int)len, item);
}

bool model_flaws_are_random(const char *list)
{
	return list && strncmp(list, RANDOM, strlen(RANDOM)) == 0;
}

static int random_flaws(struct planting *p, const char *list, struct tare_why *why)
{
	const char *text = list + strlen(RANDOM);
	const bool opcode = strncmp(text, OPCODE, strlen(OPCODE)) == 0;
	text += opcode ? strlen(OPCODE) : 0;
	char *end;
	const uint64_t seed = strtoull(text, &end, 10);
	if (*end || *text < '0' || *text > '9')
		return why_set(why, TARE_E_INVALID, "flaws %.100s: wants random:SEED or random:opcode:SEED with a "
			       "number, and no other flaw", list);
	if (opcode)
		flaws_draw_opcode(p, seed);
	else
		flaws_draw(p, seed);
	return 0;
}

int model_flaws(const struct model *m, struct vpmu_model *filled, const char *list,
		struct vpmu_flaws *out, struct tare_why *why)
{
	struct planting p = { .model = m, .rows = filled, .out = out };
	uint64_t seen = 0;
	if (model_flaws_are_random(list))
		return random_flaws(&p, list, why);
	for (const char *at = list; at && *list; at = *at ? at + 1 : NULL) {
		const size_t len = strcspn(at, ",");
		const int err = one_flaw(&p, at, len, &seen, why);
		if (err)
			return err;
		at += len;
	}
	if ((p.except || p.paper) && !out->irq_period)
		out->irq_period = PER_SECOND / INTERRUPTS;
	const uint64_t noisy = rows_with_trust(filled, TARE_TRUST_NOISY_INTERRUPTS);
	flaw_add_interrupts(&p, p.paper ? tested(filled, noisy) : noisy);
	return 0;
}
