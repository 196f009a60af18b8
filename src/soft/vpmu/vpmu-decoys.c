/* Codes that the model's table does not name.
 *
 * On hardware every code can be programmed, and counts something: mostly nothing, sometimes what
 * no manual says. Here the model's name decides, with the code, what that is, so that two runs agree
 * and no other model is alike. As on real PMUs, a code is a selector and a mask: each bit of the mask
 * selects a sub-event, and the count is the sum of theirs. Most selectors have none; most bits of the
 * others have none either. A sub-event that the table names counts what its row does, so a code with
 * all bits of the mask finds it (the report: rff20 led to r0420). With EDGE, INV or CMASK a code is
 * a sub-event of its own.
 *
 * What a sub-event counts is never just one event of the engine: it is a multiple, a sum or a part of
 * such events, something that counts half of the time, or a number close to that of interrupts or
 * page faults.
 */
#include "vpmu-room.h"

#define MASK_BITS 8
#define NO_MASK 8		/* as number of a bit: the code without any */
#define MODIFIERS 0xff840000ull	/* EDGE, INV, CMASK */

enum sub_kind { SUB_NOTHING, SUB_MULTIPLE, SUB_SUM, SUB_PART, SUB_HALF_TIME, SUB_IRQS, SUB_FAULTS };

struct sub {
	enum sub_kind kind;
	uint8_t a, b;		/* enum soft_event */
	uint8_t n;
};

static uint64_t hash_of(uint64_t code)
{
	uint64_t h = 0xcbf29ce484222325ull;
	for (const char *p = vpmu()->model.name; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3ull;
	return vpmu_mix(h ^ vpmu_mix(code + 0x9e3779b97f4a7c15ull));
}

/* What a hash means. `h` decides with different bits about different things. */
static struct sub sub_of_hash(uint64_t h)
{
	static const uint8_t events[] = { SOFT_INSTRUCTIONS, SOFT_BRANCHES, SOFT_COND, SOFT_LOADS,
					  SOFT_STORES, SOFT_CALLS, SOFT_RETURNS, SOFT_LOCKED };
	static const uint8_t kinds[] = { SUB_MULTIPLE, SUB_SUM, SUB_PART, SUB_HALF_TIME, SUB_IRQS,
					 SUB_IRQS, SUB_FAULTS, SUB_FAULTS };
	const unsigned a = h >> 8 & 7, b = (a + 1 + (h >> 11 & 3)) % 8;
	return (struct sub){ .kind = kinds[h & 7], .a = events[a], .b = events[b],
			     .n = (uint8_t)(2 + (h >> 16 & 7)) };
}

static struct sub sub_of(uint64_t selector, unsigned bit)
{
	const uint64_t of_selector = hash_of(selector << 32 | 0xffff);
	const uint64_t h = hash_of(selector << 32 | bit);
	if (of_selector % 8 > 2 || h >> 32 & 3)
		return (struct sub){ .kind = SUB_NOTHING };
	return sub_of_hash(h);
}

/* Counts in every second stretch of so many instructions. */
static uint64_t half_time(uint64_t clock, uint64_t stretch)
{
	const uint64_t rest = clock % (2 * stretch);
	return clock / (2 * stretch) * stretch + (rest < stretch ? rest : stretch);
}

static uint64_t near(uint64_t x, unsigned n)
{
	return n % 2 ? x * (n / 2 + 1) : x - x / (4 * n);
}

static uint64_t count_sub(struct sub s, uint32_t slot, uint64_t clock, bool before)
{
	const uint64_t a = vpmu_engine_count(slot, s.a, before), b = vpmu_engine_count(slot, s.b, before);
	switch (s.kind) {
	case SUB_MULTIPLE:
		return a * s.n;
	case SUB_SUM:
		return a + b;
	case SUB_PART:
		return a / s.n;
	case SUB_HALF_TIME:
		return half_time(clock, 1024ull << s.n);
	case SUB_IRQS:
		return near(vpmu_interrupts(slot, clock), s.n);
	case SUB_FAULTS:
		return near(vpmu_slot(slot)->faults, s.n) + vpmu_interrupts(slot, clock) / 3;
	default:
		return 0;
	}
}

static uint32_t wanted_of_sub(struct sub s)
{
	switch (s.kind) {
	case SUB_MULTIPLE:
	case SUB_PART:
		return 1u << s.a;
	case SUB_SUM:
		return 1u << s.a | 1u << s.b;
	default:
		return 0;
	}
}

static uint64_t selector_of(uint64_t code)
{
	return (code & 0xff) | (code >> 24 & 0xf00);
}

/* The sub-events of a code: rows that the table names, and others. */
struct subs {
	unsigned n_rows, n;
	uint32_t rows[MASK_BITS];
	struct sub sub[MASK_BITS];
};

static void add_bit(struct subs *all, uint64_t code, unsigned bit)
{
	const uint64_t mask = bit == NO_MASK ? 0 : 1ull << (8 + bit);
	const int row = vpmu_named_row((code & ~0xff00ull) | mask);
	if (row < 0)
		all->sub[all->n++] = sub_of(selector_of(code), bit);
	else if (vpmu()->model.rows[row].kind != VPMU_NOTHING)
		all->rows[all->n_rows++] = (uint32_t)row;
}

static struct subs subs_of(uint64_t code)
{
	struct subs all = { 0 };
	if (code & MODIFIERS) {
		const uint64_t h = hash_of(code);
		all.sub[all.n++] = h >> 32 & 15 ? (struct sub){ .kind = SUB_NOTHING } : sub_of_hash(h);
		return all;
	}
	for (unsigned bit = 0; bit < MASK_BITS; bit++)
		if (code >> (8 + bit) & 1)
			add_bit(&all, code, bit);
	if (!(code & 0xff00))
		add_bit(&all, code, NO_MASK);
	return all;
}

uint64_t vpmu_decoy(uint32_t slot, uint64_t code, uint64_t clock, bool before)
{
	const struct subs all = subs_of(code);
	uint64_t sum = 0;
	for (unsigned i = 0; i < all.n_rows; i++)
		sum += vpmu_row_count(slot, all.rows[i], clock, before);
	for (unsigned i = 0; i < all.n; i++)
		sum += count_sub(all.sub[i], slot, clock, before);
	return sum;
}

uint32_t vpmu_decoy_wanted(uint64_t code)
{
	const struct subs all = subs_of(code);
	uint32_t want = 0;
	for (unsigned i = 0; i < all.n_rows; i++)
		want |= vpmu_wanted(all.rows[i]);
	for (unsigned i = 0; i < all.n; i++)
		want |= wanted_of_sub(all.sub[i]);
	return want;
}
