/* Flaws drawn from a seed: of every kind and size that the virtual PMU can have, each for some of the
 * events. The same seed gives the same flaws on the same model. One seed in seven draws none.
 *
 * Instructions are drawn from the names of model-insns.c. Flaws of different kinds may come
 * together, but an event that never counts has no other flaw, and of one that counts micro-ops no
 * single instruction is drawn.
 */
#include "model.h"

#include "decode.h"

#include <tare/code.h>

#include <stdio.h>
#include <string.h>

struct draw {
	struct planting *p;
	uint64_t state;
	uint64_t groups[VPMU_MAX_ROWS];	/* events: rows with the same name, see find_groups() */
	unsigned n_groups;
};

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next(struct draw *d)
{
	uint64_t x = d->state += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t from_to(struct draw *d, uint64_t first, uint64_t last)
{
	return first + next(d) % (last - first + 1);
}

static bool one_in(struct draw *d, unsigned n)
{
	return next(d) % n == 0;
}

/* A number between both, the small ones as likely as the large ones. */
static uint64_t magnitude(struct draw *d, uint64_t first, uint64_t last)
{
	uint64_t top = first;
	while (top * 2 <= last && !one_in(d, 4))
		top *= 2;
	return from_to(d, top, top * 2 < last ? top * 2 : last);
}

static const struct vpmu_row *row_of(const struct draw *d, uint64_t group)
{
	return &d->p->rows->rows[__builtin_ctzll(group)];
}

/* Rows that open by the same generic name are one event: Intel's INST_RETIRED.ANY has no code, and what
 * opens is INST_RETIRED.ANY_P. */
static uint64_t rows_of_event(const struct vpmu_model *m, uint32_t row)
{
	uint64_t rows = rows_like(m, row);
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (m->rows[row].generic && m->rows[i].generic == m->rows[row].generic)
			rows |= rows_like(m, i);
	return rows;
}

static void find_groups(struct draw *d)
{
	const struct vpmu_model *const m = d->p->rows;
	uint64_t seen = 0;
	for (uint32_t i = 0; i < m->n_rows; i++) {
		if (seen >> i & 1 || !row_counts(&m->rows[i]))
			continue;
		d->groups[d->n_groups] = rows_of_event(m, i);
		seen |= d->groups[d->n_groups++];
	}
}

/* Some of the events, one in n of them; instructions are twice as likely. */
static uint64_t some(struct draw *d, unsigned n)
{
	uint64_t rows = 0;
	for (unsigned i = 0; i < d->n_groups; i++) {
		const bool is_insns = row_of(d, d->groups[i])->kind == SOFT_INSTRUCTIONS;
		const bool first = one_in(d, n), second = one_in(d, n);
		if (first || (is_insns && second))
			rows |= d->groups[i];
	}
	return rows;
}

static void draw_interrupts(struct draw *d)
{
	struct planting *const p = d->p;
	const uint64_t rows = some(d, 2);
	if (one_in(d, 5))
		return;
	p->out->irq_period = PER_SECOND / magnitude(d, 300, 30000);
	if (one_in(d, 8))
		p->except = (uint32_t)from_to(d, 2, 32);
	p->iret = one_in(d, 2);
	p->entry = !p->iret && one_in(d, 2);
	flaw_add_interrupts(p, rows);
	/* a code that the tables do not name: the mask has one bit */
	const uint64_t code = from_to(d, 1, 0xfe) | 0x100ull << from_to(d, 0, 7);
	bool is_free = one_in(d, 8);
	for (uint32_t i = 0; i < p->rows->n_rows; i++)
		is_free &= !p->rows->rows[i].has_raw || p->rows->rows[i].raw != code;
	if (is_free)
		flaw_hide_interrupts(p, code);
}

static void draw_cause(struct draw *d, enum vpmu_cause cause, unsigned likely, unsigned share)
{
	const uint64_t rows = some(d, share);
	const int16_t amount = (int16_t)(one_in(d, 3) ? from_to(d, 2, 5) : 1);
	if (one_in(d, likely))
		flaw_add(d->p, (struct vpmu_flaw){ .rows = rows, .cause = (uint8_t)cause,
						   .amount = amount });
}

static bool may_miss(const struct vpmu_row *r, const struct model_insn *in)
{
	return r->kind == SOFT_INSTRUCTIONS || (r->kind == SOFT_LOADS && in->loads) ||
	       (r->kind == SOFT_STORES && in->stores);
}

static void draw_insns(struct draw *d)
{
	size_t n = 0;
	while (model_insn_at(n))
		n++;
	for (uint64_t left = one_in(d, 2) ? from_to(d, 1, 3) : 0; left; left--) {
		const uint64_t group = d->groups[next(d) % d->n_groups];
		const struct model_insn *const in = model_insn_at(next(d) % n);
		const bool missed = one_in(d, 3) && may_miss(row_of(d, group), in);
		flaw_add_insns(d->p, &in->set, group, missed ? -1 : (int)from_to(d, 1, 3));
	}
}

static void draw_uops(struct draw *d)
{
	uint64_t rows = 0;
	for (unsigned i = 0; i < d->n_groups; i++) {
		const unsigned kind = row_of(d, d->groups[i])->kind;
		if (kind == SOFT_LOADS || kind == SOFT_STORES || kind == SOFT_BRANCHES)
			rows |= one_in(d, 2) ? d->groups[i] : 0;
	}
	const unsigned x87 = (unsigned)from_to(d, 1, 4), calls = (unsigned)from_to(d, 1, 4);
	const uint64_t period = from_to(d, 2000, 50000);
	if (!one_in(d, 4) || !rows)
		return;
	flaw_add_uops(d->p, rows, x87, calls, period);
	for (uint32_t i = 0; i < d->p->out->n_rows; i++)
		if (d->p->out->rows[i].cause == CAUSE_INSN)
			d->p->out->rows[i].rows &= ~rows;
}

/* Flaws of the whole PMU. */
static void draw_counters(struct draw *d)
{
	struct vpmu_flaws *const f = d->p->out;
	const unsigned gp = d->p->rows->gp;
	if (one_in(d, 6)) {
		f->bad_counter = (uint32_t)from_to(d, 1, gp);
		f->bad_one_of = (uint32_t)from_to(d, 2, 100);
		f->bad_amount = one_in(d, 2) ? 1 : -1;
	}
	f->wrap = one_in(d, 4);
	f->narrow = one_in(d, 16) ? (uint32_t)from_to(d, 18, 24) : 0;
	f->move_at = one_in(d, 8) ? from_to(d, 1, 10) * PER_MS : 0;
	f->steal_at = one_in(d, 40) ? from_to(d, 5, 50) * PER_MS : 0;
	f->watchdog = one_in(d, 6);
	f->speclock = one_in(d, 12) ? (uint32_t)from_to(d, 8, 200) : 0;
}

/* What goes wrong around the code that is counted, and not in it. */
static void draw_surroundings(struct draw *d)
{
	struct planting *const p = d->p;
	const uint64_t moved = some(d, 3), switched = some(d, 3), early = some(d, 3);
	const int16_t per_move = (int16_t)magnitude(d, 2, 200), per_switch = (int16_t)magnitude(d, 5, 200);
	const uint32_t missed = (uint32_t)magnitude(d, 1, 60);
	if (one_in(d, 6))
		flaw_add(p, (struct vpmu_flaw){ .rows = moved, .cause = CAUSE_MIGRATION,
						.amount = per_move });
	if (one_in(d, 6))
		flaw_add(p, (struct vpmu_flaw){ .rows = switched, .cause = CAUSE_SWITCH,
						.amount = per_switch });
	if (one_in(d, 6) && early) {
		p->out->early = missed;
		p->out->early_rows = early;
	}
}

static void draw_dead(struct draw *d)
{
	struct vpmu_flaws *const f = d->p->out;
	const uint64_t group = d->groups[next(d) % d->n_groups];
	if (!one_in(d, 6) || row_of(d, group)->kind == SOFT_INSTRUCTIONS)
		return;
	f->dead = group;
	for (uint32_t i = 0; i < f->n_rows; i++)
		f->rows[i].rows &= ~group;
	f->early_rows &= ~group;
}

/* Last of all: what the seeds draw besides stays what it was without it. */
static void draw_contended(struct draw *d)
{
	struct vpmu_flaws *const f = d->p->out;
	if (f->speclock || !one_in(d, 8))
		return;
	f->speclock = (uint32_t)from_to(d, 8, 200);
	f->contended = true;
}

static struct draw start_draw(struct planting *p, uint64_t seed)
{
	struct draw d = { .p = p, .state = seed };
	for (const char *c = p->model->name; *c; c++)
		d.state = (d.state ^ (uint8_t)*c) * 0x100000001b3ull;
	find_groups(&d);
	return d;
}

void flaws_draw(struct planting *p, uint64_t seed)
{
	struct draw d = start_draw(p, seed);
	if (one_in(&d, 7) || !d.n_groups)
		return;
	draw_interrupts(&d);
	draw_cause(&d, CAUSE_FAULT, 2, 2);
	draw_cause(&d, CAUSE_EXCEPTION, 4, 4);
	draw_cause(&d, CAUSE_FIRST_FP, 5, 4);
	draw_insns(&d);
	draw_uops(&d);
	draw_counters(&d);
	draw_surroundings(&d);
	draw_dead(&d);
	draw_contended(&d);
}

/* ---- one opcode of all ---- */

enum { LEGACY = 0, VEX = 1, EVEX = 3 };

/* Prefixes, opcode and ModRM byte of an instruction with that opcode; zeros follow. `variant` chooses the mandatory
 * prefix, the width, and whether VEX and EVEX have a third register. Returns where the ModRM byte would be. */
static size_t write_opcode(uint8_t *b, unsigned encoding, unsigned map, uint8_t opcode, unsigned variant)
{
	static const uint8_t prefixes[] = { 0, 0x66, 0xf3, 0xf2 };
	const uint8_t prefix = (uint8_t)(variant & 3), wide = variant >> 2 & 1, third = variant & 8 ? 15 : 12;
	size_t n = 0;
	memset(b, 0, 15);
	if (encoding == VEX) {
		b[n++] = 0xc4;
		b[n++] = (uint8_t)(0xe0 | map);
		b[n++] = (uint8_t)(wide << 7 | third << 3 | prefix);
	} else if (encoding == EVEX) {
		b[n++] = 0x62;
		b[n++] = (uint8_t)(0xf0 | map);
		b[n++] = (uint8_t)(wide << 7 | third << 3 | 4 | prefix);
		b[n++] = 0x08;
	} else {
		if (prefix)
			b[n++] = prefixes[prefix];
		if (map)
			b[n++] = 0x0f;
		if (map > 1)
			b[n++] = map == 2 ? 0x38 : 0x3a;
	}
	b[n++] = opcode;
	return n;
}

/* Is there such an instruction, in any variant, that is no branch and repeats nothing? *reg is ANY_REG where
 * the ModRM byte makes no other instruction of it. */
static bool is_opcode(unsigned encoding, unsigned map, uint8_t opcode, unsigned field, uint8_t *reg)
{
	for (unsigned variant = 0; variant < 32; variant++) {
		uint8_t b[15];
		struct insn in;
		char name[32];
		const size_t at = write_opcode(b, encoding, map, opcode, variant & 15);
		b[at] = (uint8_t)((variant & 16 ? 0xc1 : 0x07) | field << 3);
		if (decode_insn(&in, b, sizeof(b)) <= 0 || in.opcode_off + 1u != at || in.flow != FLOW_NEXT ||
		    in.special != SPECIAL_NONE || in.classes & (CLASS_BRANCH | CLASS_REP | CLASS_DIV))
			continue;
		tare_code_opcode_name(b, sizeof(b), name, sizeof(name));
		*reg = strchr(name, '/') ? (uint8_t)field : ANY_REG;
		return true;
	}
	return false;
}

static void draw_opcode(struct draw *d)
{
	static const uint8_t encodings[] = { LEGACY, LEGACY, VEX, EVEX };
	static const char *const starts[] = { "", "0f", "0f38", "0f3a" };
	const uint64_t group = d->groups[next(d) % d->n_groups];
	struct vpmu_insns set = { .set = INSNS_OPCODE, .mask = 0xff, .prefix = ANY_PREFIX };
	unsigned field;
	do {
		set.encoding = encodings[next(d) % 4];
		set.map = (uint8_t)from_to(d, set.encoding ? 1 : 0, 3);
		set.opcode = (uint8_t)next(d);
		field = (unsigned)from_to(d, 0, 7);
	} while (!is_opcode(set.encoding, set.map, set.opcode, field, &set.reg));
	const int n = snprintf(set.name, sizeof(set.name), "%s%s%02x", set.encoding == VEX ? "vex" :
			       set.encoding == EVEX ? "evex" : "", starts[set.map], set.opcode);
	if (set.reg != ANY_REG)
		snprintf(set.name + n, sizeof(set.name) - (size_t)n, "/%u", set.reg);
	const bool missed = one_in(d, 3) && row_of(d, group)->kind == SOFT_INSTRUCTIONS;
	flaw_add_insns(d->p, &set, group, missed ? -1 : (int)from_to(d, 1, 3));
}

void flaws_draw_opcode(struct planting *p, uint64_t seed)
{
	struct draw d = start_draw(p, seed);
	if (one_in(&d, 7) || !d.n_groups)
		return;
	draw_opcode(&d);
	if (one_in(&d, 2))
		draw_interrupts(&d);
	draw_cause(&d, CAUSE_FAULT, 2, 2);
}
