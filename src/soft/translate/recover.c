/* From an address of the cache to the program's state: the block is written once more, up to that
 * address, without storing it (dry). See emit.h. */
#include "calls.h"
#include "emit.h"
#include "sys.h"
#include "text.h"
#include "vpmu-abi.h"

static struct plan dry_plan;	/* these two are guarded by the lock */
static struct emit dry_emit;

static void apply_mark(const struct thread *t, const struct mark *m, uint64_t regs[16], uint64_t *pc)
{
	if (m->rcx_in_s0)
		regs[RCX] = t->s0;
	if (m->in_s2 >= 0)
		regs[m->in_s2] = t->spill[1];
	if (m->in_s3 >= 0)
		regs[m->in_s3] = t->spill[2];
	if (m->biased >= 0)
		regs[m->biased] -= t->app_gs;
	*pc = m->pc_in_s1 ? t->spill[0] : m->pc;
	regs[RSP] += (uint64_t)(int64_t)m->rsp_adjust;
	if (m->pc_on_stack && !copy_guest(pc, (const void *)(regs[RSP] - 8), 8))
		die("a return address went away", m->pc);
}

static bool is_stub(uint64_t at, uint32_t *link)
{
	const uint8_t *const c = (const uint8_t *)at;
	static const uint8_t head[4] = { 0x65, 0xc7, 0x04, 0x25 };
	uint32_t operand;
	/* The first stub ends with the segment: read no byte more than needed. */
	if (!mem_equal(c, head, 4))
		return false;
	__builtin_memcpy(&operand, c + 4, 4);
	if (operand != GS(OFF_EXIT))
		return false;
	__builtin_memcpy(link, c + 8, 4);
	return true;
}

/* In the stub of a jump the program is at the link's target. (Exits of system calls and special
 * instructions are not stubs but part of their blocks.) */
static bool recover_stub(struct thread *t, const struct segment *s, uint64_t code, uint64_t *pc)
{
	uint32_t id;
	if (!is_stub(code, &id) && !(code >= s->base + 12 && is_stub(code - 12, &id)))
		return false;
	*pc = link_at(id)->target;
	t->code.has_run = !link_is_before(link_at(id)->kind);
	if (link_at(id)->kind == LINK_SIDE_EXIT)
		count_left(t, link_at(id)->bumps);
	if (link_at(id)->kind == LINK_TICK)
		count_tick(t, link_at(id));
	return true;
}

/* Writes the block once more, up to `code`; dry_emit.found is the mark there. */
static void write_dry(struct segment *s, uint32_t id, uint64_t code)
{
	struct block *const b = block_at(id);
	struct emit *const e = &dry_emit;
	static uint8_t sink[ROOM + 4096];
	*e = (struct emit){ .w = sink, .delta = b->code - (uint64_t)sink, .seg = s, .dry = true,
			    .single = b->flags & BLOCK_SINGLE, .want = code };
	if (b->flags & BLOCK_RETURN_LOOKUP) {
		if (b->flags & BLOCK_TAIL)
			emit_calls_lookup(e);
		else
			emit_return_lookup(e);
		return;
	}
	if (b->flags & BLOCK_SIDE_EXIT) {
		emit_side_exit(e, b);
		return;
	}
	if (b->flags & BLOCK_ENTRY_ONLY) {
		if (b->flags & BLOCK_RETURN_ENTRY)
			emit_return_entry(e, b->pc, b->flags & BLOCK_FLAGS_FREE_AT_TARGET);
		else
			emit_jump_entry(e, b->pc, b->flags & BLOCK_TAIL, b->flags & BLOCK_FLAGS_FREE_AT_TARGET);
		mark(e, plain(b->pc, 0, e));
		return;
	}
	struct plan *const p = &dry_plan;
	decode_block(p, b->pc, block_src(b), b->src_len, b->n_insns, false);
	p->n = b->n_insns;
	if (b->constant)
		plan_direct(p, b->pc);
	emit_block(e, p, b, id);
	if (here(e) > b->code + b->code_len)
		die("a block cannot be read back", b->pc);
}

uint64_t code_origin(uint64_t code, bool low_half)
{
	struct segment *s = low_half ? NULL : segment_of(code);
	for (uint32_t i = 0; low_half && i < cache.n_segments && !s; i++) {
		struct segment *const of = &cache.segments[i];
		if ((uint32_t)(code - of->base) < of->end - of->base)
			s = of;
	}
	if (!s)
		return 0;
	if (low_half)
		code = s->base + (uint32_t)(code - s->base);
	const uint32_t id = block_of_code(s, code);
	if (!id)
		return 0;
	write_dry(s, id, code);
	return dry_emit.found.pc;
}

/* The block was counted and is left in the middle: the uncounted blocks that follow it in its chain
 * do not run. */
static void leave_chain(struct thread *t, uint32_t id)
{
	const struct block *const b = block_at(id);
	const uint32_t next = id + (cache.counts_taken ? 2 : 1);
	if (counts_rarer_way(b) && block_at(id + 1)->runs_from)	/* else it would count as taken */
		++*cell_of(t, id + 1);
	else if (b->flags & BLOCK_FALLS && block_at(next)->runs_from)
		++*cell_of(t, next);
}

bool flags_are_lost(uint64_t code)
{
	struct segment *const s = segment_of(code);
	const uint32_t id = s ? block_of_code(s, code) : 0;
	if (!id)
		return false;
	const struct block *const b = block_at(id);
	if (b->flags & BLOCK_RETURN_LOOKUP)
		return false;
	write_dry(s, id, code);
	if (dry_emit.found.flags_gone || b->flags & BLOCK_ENTRY_ONLY)
		return dry_emit.found.flags_gone;
	if (b->flags & BLOCK_SIDE_EXIT)
		return b->flags & BLOCK_FLAGS_FREE_AT_TARGET && dry_emit.found.bumped;
	if (dry_emit.found.left && b->flags & BLOCK_FLAGS_FREE_AT_TARGET)
		return true;
	return flags_lost_at(&dry_plan, b, dry_emit.found.retired,
			     cache.calls ? dry_emit.found.added || calls_is_changing(dry_emit.found.calls) :
			     dry_emit.found.bumped);
}

/* The same for the call graph. `sp` is the stack pointer as the CPU had it. */
static void recover_context(struct thread *t, const struct block *b, uint64_t sp, uint64_t *pc)
{
	const struct mark *const m = &dry_emit.found;
	if (b->flags & BLOCK_RETURN_LOOKUP && b->flags & BLOCK_TAIL)
		*pc = calls_recover_lookup(t);
	else
		calls_recover(t, m->calls, m->added, *pc);
	if (m->pc_on_stack)
		calls_recover_return(t, sp, *pc);
}

/* What the instructions of the block that are done are worth, less what was added. */
static void recover_sums(struct thread *t, const uint8_t *ahead, const uint8_t *done)
{
	const struct mark *const m = &dry_emit.found;
	unsigned i = 0;
	for (int k = 0; k < SOFT_EVENTS; k++) {
		if (!(cache.calls >> k & 1))
			continue;
		const bool added = i++ < m->added || m->added == ADDED_ALL || calls_is_changing(m->calls);
		const bool taken = k == SOFT_TAKEN && m->taken && m->calls == CALLS_TAKEN_ADDED;
		calls_count(t, k, (int64_t)done[k] - (added ? ahead[k] : 0) - taken);
	}
}

/* What a side exit has not counted yet. */
static void recover_side_exit(struct thread *t, const struct block *b)
{
	const struct mode *const m = &cache.modes[block_at(b->bumps)->mode];
	unsigned done = dry_emit.found.bumped;
	uint8_t vec[SOFT_EVENTS];
	if (counts_in_cells(m))
		*cell_of(t, b->bumps) += done != BUMPED_ALL;
	const uint32_t calls = calls_add_ahead() && !block_at(b->bumps)->mode ? cache.calls : 0;
	if (!m->acc && !calls)
		return;
	count_ahead(b->bumps, vec);
	for (int k = 0; k < SOFT_EVENTS; k++) {
		if (!((m->acc | calls) >> k & 1) || !vec[k])
			continue;
		if (done) {
			done -= done != BUMPED_ALL;
			continue;
		}
		count_add_acc(t, k, -(int64_t)vec[k], m);
		if (calls)
			calls_count(t, k, -(int64_t)vec[k]);
	}
}

bool recover(struct thread *t, uint64_t code, uint64_t regs[16], uint64_t *pc)
{
	struct segment *const s = segment_of(code);
	if (!s)
		return false;
	t->code.falling_into = 0;			/* it has entered that block */
	t->code.has_run = false;
	const uint32_t id = block_of_code(s, code);
	if (!id)
		return recover_stub(t, s, code, pc);
	const struct block *const b = block_at(id);
	const struct emit *const e = &dry_emit;
	const struct plan *const p = &dry_plan;
	write_dry(s, id, code);
	const uint64_t sp = regs[RSP];
	apply_mark(t, &e->found, regs, pc);
	if (cache.calls)
		recover_context(t, b, sp, pc);
	if (b->flags & (BLOCK_ENTRY_ONLY | BLOCK_RETURN_LOOKUP))
		return true;
	if (b->flags & BLOCK_SIDE_EXIT) {
		recover_side_exit(t, b);
		return true;
	}
	uint8_t done[SOFT_EVENTS];
	t->code.has_run = e->found.retired;
	const struct mode *const mode = &cache.modes[b->mode];
	plan_vector(p, e->found.retired, done);
	if ((cache.counts_taken || mode->taken) && e->found.retired == p->n)
		done[SOFT_TAKEN] = (uint8_t)(b->vec[SOFT_TAKEN] + e->found.taken);
	unsigned bumped = e->found.bumped;
	uint8_t ahead[SOFT_EVENTS];
	count_ahead(id, ahead);
	if (cache.calls)
		recover_sums(t, ahead, done);
	for (int k = 0; k < SOFT_EVENTS; k++) {
		const bool was = bumped > 0;
		if (mode->acc >> k & 1 && b->vec[k] && bumped && bumped != BUMPED_ALL)
			bumped--;
		count_add_acc(t, k, (int64_t)done[k] - (was ? ahead[k] : 0) -
			      (k == SOFT_TAKEN && e->found.half), mode);
		if (!counts_in_cells(mode))
			continue;
		const int64_t more = (int64_t)done[k] -
				     (e->found.bumped == BUMPED_ALL ? b->vec[k] : 0);
		__atomic_fetch_add(&t->code.corr[k], more, __ATOMIC_RELAXED);
		if (in_vdso(b->pc))
			t->code.vdso_corr[k] += more;
	}
	count_way(t, b->pc, p->off[e->found.retired], 1);
	if (e->found.bumped == BUMPED_ALL)
		count_way(t, b->pc, b->src_len, -1);
	if (code_log_wanted()) {
		const uint8_t *const src = block_src(b);
		code_log_part(t, b->pc, src, p->off[e->found.retired], (uint8_t)e->found.retired, 1);
		if (cache.counts_taken && e->found.retired == p->n && e->found.taken)
			code_log_taken(t, id, 1);
		if (e->found.bumped == BUMPED_ALL)
			code_log_part(t, b->pc, src, b->src_len, b->n_insns, -1);
	}
	const bool in_stub = b->flags & BLOCK_FALLS && is_merged_stub(block_at(id + 1)) && e->found.retired == p->n;
	if (e->found.bumped == BUMPED_ALL && !e->found.left && counts_in_cells(mode) && !in_stub)
		leave_chain(t, id);
	return true;
}

bool recover_view(const struct thread *t, uint64_t code, uint64_t regs[16], uint64_t *pc)
{
	struct segment *const s = segment_of(code);
	const uint32_t id = s ? block_of_code(s, code) : 0;
	if (!id)
		return false;
	write_dry(s, id, code);
	apply_mark(t, &dry_emit.found, regs, pc);
	return true;
}
