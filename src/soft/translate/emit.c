/* What all of the writing uses: bumping counters, exits, links. See emit.h. */
#include "emit.h"
#include "sys.h"
#include "text.h"
#include "vpmu-abi.h"

/* ---- counters ---- */

static uint32_t cell_off(uint32_t id)
{
	return (uint32_t)(THREAD_COUNTS + 8 * cell_index(id));
}

/* The accumulator of the virtual PMU for an event. Each has a few banks, which neighbouring blocks
 * take in turn, so that they do not wait for each other's stores. */
static uint32_t acc_off(unsigned k, uint32_t id)
{
	return (uint32_t)(THREAD_ACC + offsetof(struct vpmu_task_mem, acc[k]) +
			  8 * (id % banks_of(&cache.modes[block_at(id)->mode])));
}

/* Must the block ask C before it runs, if the event's budget is used up? place_counter() says
 * where. */
static bool asks(const struct block *b, unsigned k)
{
	return !(b->flags & BLOCK_SINGLE) && k != SOFT_TAKEN && cache.modes[b->mode].budgets >> k & 1;
}

static uint32_t new_tick(uint32_t id, uint64_t pc, unsigned k)
{
	const uint32_t link = new_link(pc, LINK_TICK);
	link_at(link)->bumps = id;
	link_at(link)->next = k + 1;
	return link;
}

/* jc to a stub: the bank has become 0 or more. */
static void ask_plain(struct emit *e, uint32_t id, unsigned k, struct mark m)
{
	mark(e, m);
	bn(e, 2, 0x820f);
	uint8_t *const rel = e->w;
	b4(e, 0);
	if (e->dry)
		return;
	const uint32_t link = new_tick(id, m.pc, k);
	link_at(link)->site = here(e) - 4;
	put_stub(e->seg, link);
	__builtin_memcpy(rel, &link_at(link)->to_stub, 4);
}

/* The same without flags; rcx is in s3. The top byte of the bank is 0xff, or 0. */
static void ask_spilled(struct emit *e, uint32_t id, unsigned k, struct mark m)
{
	mark(e, m);
	b1(e, 0x65), b1(e, 0x0f), b1(e, 0xbe), b1(e, 0x0c), b1(e, 0x25);	/* movsx ecx, … */
	b4(e, GS(acc_off(k, id) + 7));
	bn(e, 3, 0x01498d);					/* lea ecx, [rcx + 1] */
	b1(e, 0xe3);						/* jrcxz over the exit */
	uint8_t *const over = e->w;
	b1(e, 0);
	gs_load(e, RCX, OFF_S3);
	m.in_s3 = -1;
	mark(e, m);
	exit_here(e, e->dry ? 0 : new_tick(id, m.pc, k));
	*over = (uint8_t)(e->w - over - 1);
}

/* A part of the counter is added. (The accumulator of a taken branch is one part; its block, with
 * all of its parts, is counted already.) */
static void part_added(struct mark *m)
{
	if (m->bumped == BUMPED_ALL)
		m->half = true;
	else
		m->bumped++;
}

/* Where the counted block that was written last has what it adds. Guarded by the lock. */
static uint8_t *amounts[SOFT_EVENTS];

static void note_amount(const struct emit *e, unsigned k)
{
	if (!e->dry && !e->cell_only)
		amounts[k] = e->w - 1;
}

void add_more(const uint8_t *vec)
{
	if (calls_add_ahead() && !cache.mode)
		acc_add_more(vec);
	for (unsigned k = 0; k < SOFT_EVENTS; k++)
		if (cache.modes[cache.mode].acc >> k & 1 && vec[k])
			*amounts[k] = (uint8_t)(*amounts[k] + vec[k]);
}

/* add gs:[acc], n for each event; all flags are free. */
static struct mark acc_plain(struct emit *e, uint32_t id, struct mark m)
{
	const struct block *const b = block_at(id);
	const uint32_t want = cache.modes[b->mode].acc;
	for (unsigned k = 0; k < SOFT_EVENTS; k++) {
		if (!(want >> k & 1) || !b->vec[k])
			continue;
		mark(e, m);
		b1(e, 0x65), b1(e, 0x48), b1(e, 0x83), b1(e, 0x04), b1(e, 0x25);
		b4(e, GS(acc_off(k, id)));
		b1(e, b->vec[k]);
		note_amount(e, k);
		part_added(&m);
		if (asks(b, k))
			ask_plain(e, id, k, m);
	}
	return m;
}

/* The same through rcx, which is free, without flags. */
static struct mark acc_through_rcx(struct emit *e, uint32_t id, struct mark m)
{
	const struct block *const b = block_at(id);
	const uint32_t want = cache.modes[b->mode].acc;
	for (unsigned k = 0; k < SOFT_EVENTS; k++) {
		if (!(want >> k & 1) || !b->vec[k])
			continue;
		mark(e, m);
		gs_load(e, RCX, acc_off(k, id));
		mark(e, m);
		b1(e, 0x48), b1(e, 0x8d), b1(e, 0x49), b1(e, b->vec[k]);
		note_amount(e, k);
		mark(e, m);
		gs_store(e, RCX, acc_off(k, id));
		part_added(&m);
		if (asks(b, k))
			ask_spilled(e, id, k, m);
	}
	return m;
}

/* Where calls are followed, uncounted blocks come here, too. */
static bool bumps_cell(const struct mode *mode, uint32_t id)
{
	return counts_in_cells(mode) && !block_at(id)->runs_from;
}

static void cell_through_rcx(struct emit *e, uint32_t id, struct mark m)
{
	mark(e, m);
	gs_load(e, RCX, cell_off(id));
	mark(e, m);
	bn(e, 4, 0x01498d48);					/* lea rcx, [rcx + 1] */
	gs_store(e, RCX, cell_off(id));
}

/* On Intel's CPUs `inc` of memory takes a micro-op more than `add`; but `add` changes CF. */
void inc_plain(struct emit *e, uint32_t id, struct mark m)
{
	const bool adds = block_at(id)->adds && !e->cell_only;
	const struct mode *const mode = &cache.modes[block_at(id)->mode];
	if (mode->acc)
		m = acc_plain(e, id, m);
	if (bumps_cell(mode, id)) {
		mark(e, m);
		gs_op(e, adds ? 0x83 : 0xff, 0, cell_off(id));	/* add, or inc */
		if (adds)
			b1(e, 1);
	}
	e->bumped = m.bumped = BUMPED_ALL;
	if (cache.calls && !e->cell_only)
		acc_add_plain(e, id, m);
}

/* rcx is free: rcx = gs:[cell]; rcx + 1; back. No flags. */
void inc_through_rcx(struct emit *e, uint32_t id, struct mark m)
{
	const struct mode *const mode = &cache.modes[block_at(id)->mode];
	if (mode->acc)
		m = acc_through_rcx(e, id, m);
	if (bumps_cell(mode, id))
		cell_through_rcx(e, id, m);
	e->bumped = m.bumped = BUMPED_ALL;
	if (cache.calls && !e->cell_only)
		acc_add_through_rcx(e, id, m);
}

void inc_spilled(struct emit *e, uint32_t id, struct mark m)
{
	mark(e, m);
	gs_store(e, RCX, OFF_S3);
	m.in_s3 = RCX;
	inc_through_rcx(e, id, m);
	m.bumped = e->bumped;
	m.added = e->added;
	m.left = m.taken;
	m.taken = m.half = false;
	mark(e, m);
	gs_load(e, RCX, OFF_S3);
}

static uint32_t chain_head(uint32_t id)
{
	while (block_at(id)->runs_from)
		id--;
	return id;
}

/* Takes back what the head of the chain has added for the block, and those behind it. */
static struct mark take_back(struct emit *e, uint32_t id, bool flags_free, struct mark m)
{
	const uint32_t want = cache.modes[block_at(id)->mode].acc, head = chain_head(id);
	uint8_t vec[SOFT_EVENTS];
	count_ahead(id, vec);
	if (calls_add_ahead() && !block_at(id)->mode)
		return acc_take_back(e, head, vec, flags_free, m);
	for (unsigned k = 0; k < SOFT_EVENTS; k++) {
		if (!(want >> k & 1) || !vec[k])
			continue;
		mark(e, m);
		if (flags_free) {
			gs_op(e, 0x83, 5, acc_off(k, head));	/* sub */
			b1(e, vec[k]);
		} else {
			gs_load(e, RCX, acc_off(k, head));
			bn(e, 4, 0x498d48 | (uint64_t)(uint8_t)-vec[k] << 24);	/* lea rcx, [rcx - n] */
			gs_store(e, RCX, acc_off(k, head));
		}
		m.bumped++;
	}
	return m;
}

void inc_left(struct emit *e, uint32_t id, bool flags_free, struct mark m)
{
	const struct mode *const mode = &cache.modes[block_at(id)->mode];
	mark(e, m);
	if (!flags_free) {
		gs_store(e, RCX, OFF_S3);
		m.in_s3 = RCX;
	}
	m = take_back(e, id, flags_free, m);
	mark(e, m);
	if (counts_in_cells(mode) && flags_free)
		gs_op(e, 0xff, 0, cell_off(id));		/* inc */
	else if (counts_in_cells(mode))
		cell_through_rcx(e, id, m);
	e->bumped = m.bumped = BUMPED_ALL;
	mark(e, m);
	if (!flags_free)
		gs_load(e, RCX, OFF_S3);
}

/* ---- cold parts ---- */

uint64_t cold_literal(struct emit *e, uint64_t v)
{
	if (e->dry)
		return here(e);
	e->seg->cold = (e->seg->cold - 8) & ~7ull;
	*(uint64_t *)e->seg->cold = v;
	return e->seg->cold;
}

/* The exit by link `id`: stores the id, and leaves the cache. */
void exit_here(struct emit *e, uint32_t id)
{
	b1(e, 0x65), b1(e, 0xc7), b1(e, 0x04), b1(e, 0x25);
	b4(e, GS(OFF_EXIT));
	b4(e, id);
	b1(e, 0xe9);
	b4(e, (uint32_t)(e->seg->tramp_exit - (here(e) + 4)));
}

void put_stub(struct segment *s, uint32_t id)
{
	s->cold -= STUB_SIZE;
	struct emit e = { .w = (uint8_t *)s->cold, .seg = s };
	exit_here(&e, id);
	link_at(id)->to_stub = (uint32_t)(s->cold - (link_at(id)->site + 4));
}

/* A rel32 may be patched while other threads run it: it must not cross a cache line. The branch gets
 * prefixes without a meaning (cs), which take no time of their own, as a `nop` would. */
void align_rel32(struct emit *e, unsigned opcode_len)
{
	while (((here(e) + opcode_len) & 63) > 60)
		b1(e, 0x2e);
}

void link_rel32(struct emit *e, uint64_t target)
{
	if (e->dry) {
		b4(e, 0);
		return;
	}
	const uint32_t id = new_link(target, e->single ? LINK_STOP : e->bumps ? LINK_SIDE_EXIT : LINK_JUMP);
	struct link *const l = link_at(id);
	l->site = here(e);
	l->bumps = e->bumps;
	b4(e, 0);
	uint32_t to = e->single || e->bumps ? 0 : block_find(target);
	if (e->bumps) {
		e->bumps = 0;
	} else if (target == e->pc && e->back_to) {
		to = e->back_to;
	} else if (target == e->pc && to && !e->loop_edge) {
		e->loop_edge = id;		/* when the block is written: close_loop() */
		to = 0;
	}
	if (to)
		link_to(id, to);
	if (!l->linked) {
		/* Nothing has read it so far, and it is decoded when the program goes there for the first time. */
		__builtin_prefetch((const void *)target);
		put_stub(e->seg, id);
		*(uint32_t *)(e->w - 4) = l->to_stub;
	}
}

void jump_to(struct emit *e, uint64_t target)
{
	align_rel32(e, 1);
	b1(e, 0xe9);
	link_rel32(e, target);
}
