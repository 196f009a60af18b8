/* Branches, calls, returns. See emit.h, and docs/engine.md for the reasons. */
#include "calls.h"
#include "emit.h"
#include "sys.h"
#include "text.h"
#include "vpmu-abi.h"

/* jmp [table + rcx * 8] */
static void jump_through(struct emit *e, uint32_t table)
{
	bn(e, 7, 0xcd24ff | (uint64_t)table << 24);
}

/* mov ecx, [T + rcx * 4]; with the help of rdx when T is far. */
static void table_load(struct emit *e, struct mark m)
{
	mark(e, m);
	if (!cache.where.far) {
		bn(e, 7, 0x8d0c8b | (uint64_t)(uint32_t)cache.where.table << 24);
		return;
	}
	gs_store(e, RDX, OFF_S2);
	m.in_s2 = RDX;
	mark(e, m);
	mov_imm64(e, RDX, cache.where.table);
	mark(e, m);
	bn(e, 3, 0x8a0c8b);					/* mov ecx, [rdx + rcx * 4] */
	mark(e, m);
	gs_load(e, RDX, OFF_S2);
}

/* r holds the target, and the program's rcx is in s0: looks the target up in T. */
static void emit_find(struct emit *e, int r, struct mark m)
{
	mark(e, m);
	gs_store(e, r, OFF_S1);
	mark(e, m);
	if (r >= 8)
		b1(e, 0x44);
	b1(e, 0x89), b1(e, 0xc1 | (r & 7) << 3);		/* mov ecx, r32 */
	table_load(e, m);
}

/* r holds the target: the dispatcher looks it up. */
static void leave_for(struct emit *e, int r, struct mark m)
{
	mark(e, m);
	gs_store(e, r, OFF_S1);
	mark(e, m);
	b1(e, 0xe9);
	b4(e, (uint32_t)(e->seg->tramp_miss - (here(e) + 4)));
}

/* The same as emit_find(), and jumps there. */
static void emit_lookup(struct emit *e, int r, struct mark m)
{
	if (e->single) {
		leave_for(e, r, m);
		return;
	}
	emit_find(e, r, m);
	mark(e, m);
	jump_through(e, (uint32_t)entries_base());
}

/* The program's return address stays on the stack until the entry has compared it. It is read here,
 * too, so that a fault comes at the program's return. */
static void emit_plain_ret(struct emit *e, struct mark m)
{
	bn(e, 4, 0x240c8b48);					/* mov rcx, [rsp] */
	mark(e, m);
	bn(e, 6, 0x248cb70f6765);				/* movzx ecx, word gs:[esp + SHADOW] */
	b4(e, SHADOW);
	mark(e, m);
	jump_through(e, (uint32_t)returns_base());
}

/* Pops the return address into rcx. */
static struct mark pop_return(struct emit *e, const struct insn *in, struct mark m)
{
	mark(e, m);
	b1(e, 0x59);						/* pop rcx */
	m.rsp_adjust = -8;
	if (in->imm) {
		mark(e, m);
		b1(e, 0x48), b1(e, 0x8d), b1(e, 0xa4), b1(e, 0x24);	/* lea rsp,[rsp+imm] */
		b4(e, (uint32_t)(uint16_t)in->imm);
		m.rsp_adjust -= (int)(uint16_t)in->imm;
	}
	return m;
}

void emit_ret(struct emit *e, const struct insn *in, uint32_t tail_inc, struct mark m)
{
	mark(e, m);
	gs_store(e, RCX, OFF_S0);
	m.rcx_in_s0 = true;
	mark(e, m);
	if (tail_inc) {
		inc_through_rcx(e, tail_inc, m);
		m.bumped = BUMPED_ALL;
		m.added = e->added;
		mark(e, m);
	}
	if (!in->imm && !e->single) {
		emit_plain_ret(e, m);
		return;
	}
	if (!cache.calls) {
		emit_lookup(e, RCX, pop_return(e, in, m));
		return;
	}
	uint8_t *const right = e->single ? NULL : emit_return_check(e, &m);
	struct mark wrong = m;
	wrong.in_s2 = wrong.in_s3 = -1;
	emit_return_from(e, wrong);
	leave_for(e, RCX, pop_return(e, in, wrong));
	if (right)
		emit_lookup(e, RCX, emit_return_here(e, (uint16_t)in->imm, right, m));
}

/* A return that the shadow was wrong about is looked up in T, as an indirect jump is. Entries, which have popped its
 * address, come to the instruction before. */
void emit_return_lookup(struct emit *e)
{
	struct mark m = plain(0, 0, e);
	m.rcx_in_s0 = true;
	m.pc_on_stack = true;
	mark(e, m);
	bn(e, UNPOP_SIZE, 0xf824648d48);			/* lea rsp, [rsp - 8] */
	m.rsp_adjust = 8;
	mark(e, m);
	if (cache.calls) {			/* C finds the context, too */
		b1(e, 0xb9), b4(e, 0);		/* mov ecx, 0 */
		jump_through(e, (uint32_t)returns_base());
		return;
	}
	b1(e, 0x48), b1(e, 0x8b), b1(e, 0x0c), b1(e, 0x24);		/* mov rcx, [rsp] */
	gs_store(e, RCX, OFF_S1);
	m.pc_on_stack = false;
	m.pc_in_s1 = true;
	mark(e, m);
	b1(e, 0x48), b1(e, 0x8d), b1(e, 0x64), b1(e, 0x24), b1(e, 8);	/* lea rsp, [rsp + 8] */
	m.rsp_adjust = 0;
	mark(e, m);
	b1(e, 0x89), b1(e, 0xc9);					/* mov ecx, ecx */
	table_load(e, m);
	mark(e, m);
	jump_through(e, (uint32_t)entries_base());
}

/* A call's push, and its number into the shadow. */
struct mark push_return(struct emit *e, uint64_t ret, struct mark m)
{
	mark(e, m);
	if ((int64_t)ret == (int32_t)ret) {
		b1(e, 0x68);
		b4(e, (uint32_t)ret);
	} else {
		const uint64_t lit = cold_literal(e, ret);
		bn(e, 2, 0x35ff);
		b4(e, (uint32_t)(lit - (here(e) + 4)));
	}
	m.rsp_adjust += 8;
	mark(e, m);
	bn(e, 5, 0x2484c76765);					/* mov dword gs:[esp + SHADOW], n */
	b4(e, SHADOW);
	b4(e, e->dry ? 0 : new_return(ret));
	return m;
}

/* The memory operand of an indirect jmp or call into rcx. */
static void emit_load_target(struct emit *e, const struct insn *in, const uint8_t *s,
			     uint64_t pc, struct mark m)
{
	if (uses_gs(in)) {
		/* address into rcx, then through the program's gs base; rdx helps */
		gs_store(e, RDX, OFF_S2);
		m.in_s2 = RDX;
		mark(e, m);
		if (in->rip_relative)
			mov_imm64(e, RCX, rip_target(in, s, pc));
		else
			emit_lea(e, in, s, RCX);
		mark(e, m);
		gs_load(e, RDX, OFF_APP_GS);
		mark(e, m);
		b1(e, 0x48), b1(e, 0x8b), b1(e, 0x0c), b1(e, 0x11);	/* mov rcx,[rcx+rdx] */
		mark(e, m);
		gs_load(e, RDX, OFF_S2);
		return;
	}
	const uint64_t target = in->rip_relative ? rip_target(in, s, pc) : 0;
	if (in->rip_relative && target < 0x80000000u) {
		b1(e, 0x48), b1(e, 0x8b), b1(e, 0x0c), b1(e, 0x25);
		b4(e, (uint32_t)target);
		return;
	}
	if (in->rip_relative &&
	    (in->addr32 || !reaches(e->seg->base, target) || !reaches(e->seg->end, target))) {
		mov_imm64(e, RCX, target);
		mark(e, m);
		b1(e, 0x48), b1(e, 0x8b), b1(e, 0x09);
		return;
	}
	if (in->segment == 0x64)
		b1(e, 0x64);
	if (in->addr32)
		b1(e, 0x67);
	b1(e, 0x48 | (in->rex & 3));
	b1(e, 0x8b);
	b1(e, (in->modrm & 0xc7) | RCX << 3);
	copy(e, s + in->modrm_off + 1, in->len - in->modrm_off - 1u);
	if (in->rip_relative) {
		const uint32_t disp = (uint32_t)(target - here(e));
		__builtin_memcpy(e->w - 4, &disp, 4);
	}
}

void emit_indirect(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
			  uint32_t tail_inc, struct mark m)
{
	mark(e, m);
	gs_store(e, RCX, OFF_S0);
	if (tail_inc) {
		/* rcx may be part of the operand: bump first, then restore rcx */
		m.rcx_in_s0 = true;
		mark(e, m);
		inc_through_rcx(e, tail_inc, m);
		m.bumped = BUMPED_ALL;
		m.added = e->added;
		mark(e, m);
		gs_load(e, RCX, OFF_S0);
	}
	m.rcx_in_s0 = true;
	mark(e, m);
	int r = RCX;
	if ((in->modrm & 0xc0) != 0xc0)
		emit_load_target(e, in, s, pc, m);
	else
		r = (in->modrm & 7) | (in->rex & 1 ? 8 : 0);
	if (r == RSP) {			/* a push would change it */
		b1(e, 0x48), b1(e, 0x89), b1(e, 0xe1);
		r = RCX;
	}
	if (in->flow == FLOW_CALL_IND) {
		m = push_return(e, pc + in->len, m);
		if (cache.calls)
			emit_save_context(e, m);
	}
	if (cache.calls) {
		mark(e, m);
		emit_from(e, pc, in->flow == FLOW_CALL_IND);
	}
	emit_lookup(e, r, m);
}

/* Bumps the cell of a taken branch, whose id is that of its block plus 1. */
static void inc_taken(struct emit *e, uint32_t taken_id, struct mark m)
{
	const bool free = block_at(taken_id - 1)->flags & BLOCK_FLAGS_FREE_AT_TARGET;
	if (cache.calls)
		m = acc_add_taken(e, taken_id, free, m);
	e->cell_only = true;
	if (free)
		inc_plain(e, taken_id, m);
	else
		inc_spilled(e, taken_id, m);
	e->cell_only = false;
}

void emit_jcc(struct emit *e, const struct insn *in, uint64_t target, uint32_t taken_id,
		     bool tail, struct mark m)
{
	mark(e, m);
	if (!taken_id && !tail) {
		align_rel32(e, 2);
		mark(e, m);
		bn(e, 2, 0x800f | ((in->opcode & 15u) ^ e->inverted) << 8);
		link_rel32(e, target);
		return;
	}
	/* taken branches are asked for, or the target is another function: not taken jumps over a
	 * bump of their cell, and the change of context */
	if (tail)
		bn(e, 2, 0x800f | ((in->opcode & 15u) ^ 1) << 8);
	else
		b1(e, 0x70 | ((in->opcode & 15) ^ 1));
	uint8_t *const rel = e->w;
	bn(e, tail ? 4 : 1, 0);
	const uint8_t bumped = e->bumped, added = e->added;
	struct mark at = plain(target, m.retired + 1u, e);
	if (tail)
		emit_transition(e, (struct transition){
				.slot = calls_site(m.pc, target, CALLS_TAIL, !e->dry),
				.flags_free = e->free_at_target }, m, at);
	if (taken_id) {
		at.taken = true;
		inc_taken(e, taken_id, at);
		e->bumped = bumped;
		e->added = added;
		at = plain(target, m.retired + 1u, e);
		at.left = true;
	}
	mark(e, at);
	jump_to(e, target);
	e->flags_gone = false;
	const uint32_t over = (uint32_t)(e->w - rel) - (tail ? 4 : 1);
	__builtin_memcpy(rel, &over, tail ? 4 : 1);
}

/* The code of a side exit: counts that the next block of the chain was not reached. */
void emit_side_exit(struct emit *e, const struct block *b)
{
	struct mark m = plain(b->pc, 0, e);
	inc_left(e, b->bumps, b->flags & BLOCK_FLAGS_FREE_AT_TARGET, m);
	mark(e, plain(b->pc, 0, e));
	if (!(b->flags & BLOCK_FALLS))
		jump_to(e, b->pc);
}

void emit_loop(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
		      uint32_t taken_id, struct mark m)
{
	const uint64_t next = pc + in->len, target = next + (uint64_t)in->imm;
	mark(e, m);
	copy(e, s, in->len - 1u);
	b1(e, 2);
	mark(e, plain(next, m.retired + 1u, e));
	b1(e, 0xeb);
	uint8_t *const rel = e->w;
	b1(e, 0);
	const uint8_t bumped = e->bumped, added = e->added;
	struct mark at = plain(target, m.retired + 1u, e);
	at.taken = taken_id != 0;
	mark(e, at);
	if (taken_id) {
		inc_taken(e, taken_id, at);
		e->bumped = bumped;
		e->added = added;
		mark(e, plain(target, m.retired + 1u, e));
	}
	jump_to(e, target);
	*rel = (uint8_t)(e->w - rel - 1);
	mark(e, plain(next, m.retired + 1u, e));
}
