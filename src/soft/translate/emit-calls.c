/* Code that follows calls (calls.h). Nothing here changes flags. See emit.h. */
#include "calls.h"
#include "emit.h"

#define FIELD(name) ((uint32_t)(THREAD_CALLS + offsetof(struct calls_thread, name)))

#define HOT(name) (THREAD_NODES + offsetof(struct calls_hot, name))

static uint32_t slot_off(uint32_t slot)
{
	return (uint32_t)CALLS_SLOTS + slot * SLOT_BYTES;
}

/* Blocks that follow each other use the banks in turn. */
static uint32_t acc_at(unsigned i, uint32_t id)
{
	return FIELD(acc) + 8 * (i * CALLS_BANKS + (id >> cache.counts_taken) % CALLS_BANKS);
}

/* mov reg, gs:[base + off]  /  mov gs:[base + off], reg */
static void based_op(struct emit *e, unsigned opcode, unsigned reg, unsigned base, uint64_t off)
{
	bn(e, 4, 0x80004865u | opcode << 16 | (reg << 3 | base) << 24);
	b4(e, GS(off));
}

static void based_load(struct emit *e, unsigned reg, unsigned base, uint64_t off)
{
	based_op(e, 0x8b, reg, base, off);
}

/* mov r32, gs:[base + off] */
static void based_load32(struct emit *e, unsigned reg, unsigned base, uint64_t off)
{
	bn(e, 3, 0x808b65 | (reg << 3 | base) << 16);
	b4(e, GS(off));
}

static void based_store(struct emit *e, unsigned reg, unsigned base, uint64_t off)
{
	based_op(e, 0x89, reg, base, off);
}

/* mov r32, gs:[off] */
static void load32(struct emit *e, unsigned reg, uint32_t off)
{
	bn(e, 4, 0x25048b65 | reg << 19), b4(e, GS(off));
}

static void load_ecx(struct emit *e, uint32_t off)
{
	load32(e, RCX, off);
}

/* mov dword gs:[off], v  /  mov qword gs:[off], v */
static void store_imm(struct emit *e, uint32_t off, uint32_t v)
{
	bn(e, 4, 0x2504c765), b4(e, GS(off)), b4(e, v);
}

static void store_imm64(struct emit *e, uint32_t off, uint32_t v)
{
	bn(e, 5, 0x2504c74865), b4(e, GS(off)), b4(e, v);
}

/* jrcxz over a jump. Returns where the jump's rel32 is. */
static uint8_t *jump_unless_zero(struct emit *e)
{
	bn(e, 3, 0xe905e3);
	b4(e, 0);
	return e->w - 4;
}

static void land(struct emit *e, uint8_t *rel32)
{
	const uint32_t d = (uint32_t)(e->w - rel32 - 4);
	__builtin_memcpy(rel32, &d, 4);
}

/* lea rcx, [rcx + rdx] */
static void add_rdx(struct emit *e)
{
	bn(e, 4, 0x110c8d48);
}

/* ---- leaving and entering a context ---- */

/* rdx = what is accumulated of an event. Without flags `scratch` helps. */
static void load_accumulated(struct emit *e, unsigned k, bool flags_free, unsigned scratch)
{
	const uint32_t at = FIELD(acc) + 8 * k * CALLS_BANKS;
	gs_load(e, RDX, at);
	for (unsigned i = 1; i < CALLS_BANKS; i++) {
		if (flags_free) {
			gs_op(e, 0x03, RDX, at + 8 * i);		/* add rdx, gs:[…] */
		} else {
			gs_load(e, (int)scratch, at + 8 * i);
			bn(e, 4, 0x02148d48 | scratch << 27);		/* lea rdx, [rdx + scratch] */
		}
	}
}

/* Adds what is accumulated to the sums of the context in `base`, and `m` says so. */
static void leave_context(struct emit *e, unsigned base, bool flags_free, struct mark *m)
{
	const unsigned n = calls_bits(cache.calls);
	const unsigned state = m->calls == CALLS_ARRIVING ? CALLS_ARRIVING_LEFT : CALLS_LEFT;
	for (unsigned k = 0; k < n; k++) {
		const uint64_t sum = HOT(sums) + 8 * k;
		load_accumulated(e, k, flags_free, RCX);
		if (flags_free) {
			mark(e, *m);
			based_op(e, 0x01, RDX, base, sum);		/* add gs:[sum], rdx */
		} else {
			based_load(e, RCX, base, sum);
			bn(e, 4, 0x110c8d48);				/* lea rcx, [rcx + rdx] */
			mark(e, *m);
			based_store(e, RCX, base, sum);
		}
		m->calls = state & 7;
		m->added = (k + 1) & 31;
		mark(e, *m);
	}
}

/* Subtracts it from those of the context in rcx, which is cur now; rdx is what is accumulated of the last
 * event. Without flags rax helps. */
static void enter_context(struct emit *e, bool flags_free, struct mark *m)
{
	const unsigned n = calls_bits(cache.calls);
	for (unsigned k = 0; k < n; k++) {
		const uint64_t sum = HOT(sums) + 8 * k;
		m->added = k & 31;
		mark(e, *m);
		if (n > 1)
			load_accumulated(e, k, flags_free, RAX);
		if (flags_free) {
			based_op(e, 0x29, RDX, RCX, sum);		/* sub gs:[sum], rdx */
			continue;
		}
		bn(e, 3, 0xd2f748);					/* not rdx */
		based_load(e, RAX, RCX, sum);
		bn(e, 5, 0x0110448d48);					/* lea rax, [rax + rdx + 1] */
		mark(e, *m);
		based_store(e, RAX, RCX, sum);
	}
	m->added = n & 31;
	mark(e, *m);
}

/* jrcxz to a place within a few bytes. Returns where its rel8 is. */
static uint8_t *jump_if_zero(struct emit *e)
{
	bn(e, 2, 0xe3);
	return e->w - 1;
}

static void land_short(struct emit *e, uint8_t *rel8)
{
	*rel8 = (uint8_t)(e->w - rel8 - 1);
}

/* Asks the common lookup. rax is the key. Returns where the rel32 is that leads to where the code goes
 * on, with the answer in rcx. */
static uint8_t *ask_lookup(struct emit *e, uint32_t slot)
{
	bn(e, 3, 0x0d8d48);					/* lea rcx, [rip + …] */
	b4(e, 0);
	uint8_t *const back = e->w - 4;
	gs_store(e, RCX, FIELD(back));
	store_imm64(e, FIELD(slot), slot * SLOT_BYTES);
	store_imm64(e, FIELD(hash), calls_hash_of(slot));
	b1(e, 0xe9);
	b4(e, (uint32_t)(e->seg->calls_lookup - (here(e) + 4)));
	return back;
}

/* rax is the context. rcx becomes the next one for a site. */
static void find_for_site(struct emit *e, uint32_t slot)
{
	const uint8_t place = slot_info_at(slot)->place;
	const uint64_t child = HOT(child) + 8ull * place;
	if (place < CALLS_CHILDREN) {
		based_load32(e, RCX, RAX, child);
		bn(e, 2, 0x898d), b4(e, 0 - slot);		/* lea ecx, [rcx - slot] */
	} else {
		bn(e, 4, 0x90b60f65), b4(e, GS(HOT(mix)));	/* movzx edx, byte gs:[rax + mix] */
		based_load(e, RCX, RDX, slot_off(slot));
		bn(e, 4, 0x010c8d48);				/* lea rcx, [rcx + rax] */
	}
	uint8_t *const found = jump_if_zero(e);
	store_imm64(e, FIELD(from), 0);
	uint8_t *const back = ask_lookup(e, slot);
	land_short(e, found);
	if (place < CALLS_CHILDREN)
		based_load32(e, RCX, RAX, child + 4);
	else
		based_load(e, RCX, RDX, slot_off(slot) + offsetof(struct calls_slot, to));
	land(e, back);
}

/* The same at the target of an indirect branch. */
static void find_for_target(struct emit *e, uint32_t slot)
{
	gs_load(e, RDX, FIELD(from));
	based_load(e, RCX, RAX, HOT(branch_key));
	bn(e, 3, 0xca0f48);					/* bswap rdx */
	bn(e, 4, 0x118c8d48), b4(e, slot);			/* lea rcx, [rcx + rdx + slot] */
	uint8_t *const in_context = jump_if_zero(e);
	gs_load(e, RCX, FIELD(from));
	bn(e, 4, 0x0a148d48);					/* lea rdx, [rdx + rcx] */
	bn(e, 4, 0x88b60f65), b4(e, GS(HOT(mix)));		/* movzx ecx, byte gs:[rax + mix] */
	bn(e, 4, 0x10048d48);					/* lea rax, [rax + rdx]: the key */
	bn(e, 6, 0xd2b60f0a148d);				/* lea edx, [rdx + rcx]; movzx edx, dl */
	based_load(e, RCX, RDX, slot_off(slot));
	bn(e, 4, 0x010c8d48);					/* lea rcx, [rcx + rax] */
	uint8_t *const in_slot = jump_if_zero(e);
	uint8_t *const back = ask_lookup(e, slot);
	land_short(e, in_slot);
	based_load(e, RCX, RDX, slot_off(slot) + offsetof(struct calls_slot, to));
	bn(e, 2, 0xeb);						/* jmp over … */
	uint8_t *const over = e->w - 1;
	land_short(e, in_context);
	based_load32(e, RCX, RAX, HOT(branch_to));
	land_short(e, over);
	land(e, back);
}

/* Changes from cur to the context in rcx. rcx, rdx and rax are spilled; m is the mark before. */
static void change(struct emit *e, bool flags_free, struct mark m, struct mark done)
{
	load32(e, RAX, FIELD(cur));
	if (!flags_free)
		gs_store(e, RCX, FIELD(to));
	leave_context(e, RAX, flags_free, &m);
	if (!flags_free)
		gs_load(e, RCX, FIELD(to));
	mark(e, m);
	gs_store(e, RCX, FIELD(cur));
	struct mark in = done;
	in.rcx_in_s0 = true;
	in.in_s2 = RDX;
	in.in_s3 = RAX;
	in.calls = CALLS_ENTERING;
	enter_context(e, flags_free, &in);
	if (flags_free) {
		based_op(e, 0xff, 0, RCX, HOT(calls));			/* inc gs:[calls] */
	} else {
		based_load(e, RAX, RCX, HOT(calls));
		bn(e, 4, 0x01408d48);					/* lea rax, [rax + 1] */
		mark(e, in);
		based_store(e, RAX, RCX, HOT(calls));
	}
	in.calls = CALLS_NOTHING;
	in.added = done.added;
	mark(e, in);
	gs_load(e, RAX, OFF_S3);
	gs_load(e, RDX, OFF_S2);
	gs_load(e, RCX, OFF_S0);
	mark(e, done);
}

/* The same for a site whose answer the context has, where flags are free: rax is only spilled where the common
 * lookup is asked. rcx is the context; rcx and rdx are spilled. */
static void change_at_once(struct emit *e, uint32_t slot, struct mark m, struct mark done)
{
	const uint64_t child = HOT(child) + 8ull * slot_info_at(slot)->place;
	const bool one = calls_bits(cache.calls) == 1;
	const struct mark before = m;
	mark(e, m);
	bn(e, 3, 0xb98165), b4(e, GS(child)), b4(e, slot);		/* cmp dword gs:[rcx + child], slot */
	m.flags_gone = true;
	mark(e, m);
	bn(e, 6, 0x840f);						/* je */
	uint8_t *const found = e->w - 4;
	gs_store(e, RAX, OFF_S3);
	m.in_s3 = RAX;
	mark(e, m);
	bn(e, 3, 0xc88948);						/* mov rax, rcx */
	store_imm64(e, FIELD(from), 0);
	land(e, ask_lookup(e, slot));
	load32(e, RAX, FIELD(cur));
	leave_context(e, RAX, true, &m);
	gs_load(e, RAX, OFF_S3);
	m.in_s3 = -1;
	mark(e, m);
	bn(e, 2, 0xeb);							/* jmp */
	uint8_t *const over = e->w - 1;
	land(e, found);
	m = before;
	m.flags_gone = true;
	mark(e, m);
	leave_context(e, RCX, true, &m);
	based_load32(e, RCX, RCX, child + 4);
	land_short(e, over);
	mark(e, m);
	gs_store(e, RCX, FIELD(cur));
	struct mark in = done;
	in.rcx_in_s0 = true;
	in.in_s2 = RDX;
	in.calls = CALLS_ENTERING;
	if (!one)
		mark(e, in);
	enter_context(e, true, &in);
	based_op(e, 0xff, 0, RCX, HOT(calls));				/* inc gs:[calls] */
	in.calls = CALLS_NOTHING;
	in.added = done.added;
	mark(e, in);
	gs_load(e, RDX, OFF_S2);
	gs_load(e, RCX, OFF_S0);
	mark(e, done);
}

/* A direct call or a jump to another function: m is the mark before the instruction, done the one
 * after it. */
void emit_transition(struct emit *e, struct transition to, struct mark m, struct mark done)
{
	const bool at_once = to.flags_free && slot_info_at(to.slot)->place < CALLS_CHILDREN;
	e->flags_gone = done.flags_gone = to.flags_free;
	mark(e, m);
	gs_store(e, RCX, OFF_S0);
	m.rcx_in_s0 = true;
	gs_store(e, RDX, OFF_S2);
	m.in_s2 = RDX;
	mark(e, m);
	if (!at_once) {
		gs_store(e, RAX, OFF_S3);
		m.in_s3 = RAX;
	}
	mark(e, m);
	load32(e, at_once ? RCX : RAX, FIELD(cur));
	mark(e, m);
	if (to.call) {
		/* mov gs:[esp + SHADOW + 4], ecx or eax */
		bn(e, 5, at_once ? 0x248c896765 : 0x2484896765);
		b4(e, SHADOW + 4);
	}
	mark(e, m);
	if (at_once) {
		change_at_once(e, to.slot, m, done);
		return;
	}
	find_for_site(e, to.slot);
	m.flags_gone = to.flags_free;
	change(e, to.flags_free, m, done);
}

/* An indirect branch says where it comes from. */
void emit_from(struct emit *e, uint64_t pc, bool call)
{
	const uint32_t site = calls_site(pc, 0, call ? CALLS_CALL : CALLS_TAIL, !e->dry);
	store_imm64(e, FIELD(from), calls_from_word(site));
	store_imm(e, FIELD(from_fid), call ? FID_CALL : e->dry ? 0 : function_at(pc).fid);
}

/* An indirect call leaves the context in the shadow. */
void emit_save_context(struct emit *e, struct mark m)
{
	mark(e, m);
	gs_store(e, RDX, OFF_S2);
	m.in_s2 = RDX;
	mark(e, m);
	gs_load(e, RDX, FIELD(cur));
	mark(e, m);
	bn(e, 5, 0x2494896765);					/* mov gs:[esp + SHADOW + 4], edx */
	b4(e, SHADOW + 4);
	mark(e, m);
	gs_load(e, RDX, OFF_S2);
}

/* At an entry, where an indirect branch arrives at pc; the program's rcx is in s0. `start`: pc is the
 * first instruction of its function. Elsewhere, what comes from another function is C's. */
void emit_arrival(struct emit *e, uint64_t pc, bool start, bool flags_free, uint64_t miss)
{
	struct mark m = plain(pc, 0, e);
	const uint32_t slot = calls_target(pc, !e->dry);
	m.rcx_in_s0 = true;
	m.calls = CALLS_ARRIVING;
	mark(e, m);
	const uint32_t fid = slot_info_at(slot)->fid;
	load_ecx(e, FIELD(from_fid));
	bn(e, 2, 0x898d), b4(e, 0 - fid);			/* lea ecx, [rcx - fid] */
	if (!start) {
		bn(e, 3, 0xe905e3);				/* jrcxz over jmp miss */
		b4(e, (uint32_t)(miss - (here(e) + 4)));
		m.calls = CALLS_NOTHING;
		mark(e, m);
		gs_load(e, RCX, OFF_S0);
		return;
	}
	uint8_t *const other = jump_unless_zero(e);
	gs_load(e, RCX, OFF_S0);
	mark(e, plain(pc, 0, e));
	b1(e, 0xe9);						/* the same function: nothing changes */
	uint8_t *const same = e->w;
	b4(e, 0);
	land(e, other);
	mark(e, m);
	gs_store(e, RDX, OFF_S2);
	gs_store(e, RAX, OFF_S3);
	m.in_s2 = RDX;
	m.in_s3 = RAX;
	mark(e, m);
	load32(e, RAX, FIELD(cur));
	find_for_target(e, slot);
	e->flags_gone = m.flags_gone = flags_free;
	change(e, flags_free, m, plain(pc, 0, e));
	land(e, same);
}

/* A return has come back to pc, with the program's rcx in s0: back to the context in the shadow. m is the mark
 * before; returns the one after, with rcx still in s0. */
struct mark emit_return_context(struct emit *e, uint64_t pc, bool flags_free, struct mark m)
{
	gs_store(e, RDX, OFF_S2);
	m.in_s2 = RDX;
	mark(e, m);
	if (!flags_free) {
		gs_store(e, RAX, OFF_S3);
		m.in_s3 = RAX;
	}
	mark(e, m);
	const unsigned from = flags_free ? RCX : RAX;
	load32(e, from, FIELD(cur));
	m.flags_gone = flags_free;
	leave_context(e, from, flags_free, &m);
	bn(e, 5, 0x248c8b6765);					/* mov ecx, gs:[esp + SHADOW + 4] */
	b4(e, SHADOW + 4);
	mark(e, m);
	gs_store(e, RCX, FIELD(cur));
	e->flags_gone = flags_free;
	struct mark in = plain(pc, 0, e);
	in.rsp_adjust = m.rsp_adjust;
	in.rcx_in_s0 = true;
	in.in_s2 = RDX;
	in.in_s3 = flags_free ? -1 : RAX;
	in.calls = CALLS_RETURNING;
	enter_context(e, flags_free, &in);
	in.calls = CALLS_NOTHING;
	in.added = 0;
	mark(e, in);
	if (!flags_free)
		gs_load(e, RAX, OFF_S3);
	gs_load(e, RDX, OFF_S2);
	in.in_s2 = in.in_s3 = -1;
	mark(e, in);
	return in;
}

/* A return with an operand, or one that is run alone, is looked up as a jump is: C finds its context. The
 * program's rcx is in s0. */
void emit_return_from(struct emit *e, struct mark m)
{
	bn(e, 4, 0x240c8b48);					/* mov rcx, [rsp], which may fault */
	mark(e, m);
	bn(e, 5, 0x2524894865), b4(e, GS(FIELD(return_sp)));	/* mov gs:[return_sp], rsp */
	store_imm(e, FIELD(from_fid), FID_RETURN);
}

uint8_t *emit_return_check(struct emit *e, struct mark *m)
{
	bn(e, 4, 0x240c8b48);					/* mov rcx, [rsp], which may fault */
	mark(e, *m);
	gs_store(e, RDX, OFF_S2);
	m->in_s2 = RDX;
	mark(e, *m);
	gs_store(e, RAX, OFF_S3);
	m->in_s3 = RAX;
	mark(e, *m);
	gs_store(e, RCX, OFF_S1);
	bn(e, 6, 0x2494b70f6765), b4(e, SHADOW);		/* movzx edx, word gs:[esp + SHADOW] */
	mov_imm64(e, RAX, (uint64_t)return_pc(0));
	bn(e, 4, 0xd0048b48);					/* mov rax, [rax + rdx * 8] */
	bn(e, 3, 0xd0f748);					/* not rax */
	bn(e, 5, 0x01014c8d48);					/* lea rcx, [rcx + rax + 1] */
	uint8_t *const right = jump_if_zero(e);
	gs_load(e, RAX, OFF_S3);
	struct mark restored = *m;
	restored.in_s3 = -1;
	mark(e, restored);
	gs_load(e, RDX, OFF_S2);
	restored.in_s2 = -1;
	mark(e, restored);
	return right;
}

struct mark emit_return_here(struct emit *e, uint16_t pops, uint8_t *right, struct mark m)
{
	land_short(e, right);
	mark(e, m);
	load32(e, RAX, FIELD(cur));
	leave_context(e, RAX, false, &m);
	bn(e, 5, 0x248c8b6765), b4(e, SHADOW + 4);		/* mov ecx, gs:[esp + SHADOW + 4] */
	mark(e, m);
	gs_store(e, RCX, FIELD(cur));
	struct mark done = plain(0, m.retired + 1u, e);
	done.pc_in_s1 = true;
	done.rcx_in_s0 = true;
	done.rsp_adjust = 8 + pops;
	struct mark in = done;
	in.in_s2 = RDX;
	in.in_s3 = RAX;
	in.calls = CALLS_RETURNING;
	enter_context(e, false, &in);
	in.calls = CALLS_NOTHING;
	in.added = done.added;
	mark(e, in);
	store_imm64(e, FIELD(from), FROM_RETURNED);
	store_imm(e, FIELD(from_fid), FID_UNKNOWN);
	gs_load(e, RAX, OFF_S3);
	gs_load(e, RDX, OFF_S2);
	mark(e, done);
	gs_load(e, RCX, OFF_S1);
	bn(e, 4, 0x24a48d48), b4(e, 8u + pops);			/* lea rsp, [rsp + 8 + pops] */
	done.rsp_adjust = 0;
	mark(e, done);
	return done;
}

/* edx = the mix of the context and the word of an indirect branch */
static void load_mixed(struct emit *e)
{
	gs_load(e, RCX, FIELD(cur));
	bn(e, 3, 0x918b65), b4(e, GS(HOT(mix)));		/* mov edx, gs:[rcx + mix] */
	gs_load(e, RCX, FIELD(from));
	bn(e, 3, 0x0a148d);					/* lea edx, [rdx + rcx] */
}

/* The common lookup of a segment. The call has been made: the program is at the target of calls.slot,
 * and its rcx, rdx and rax are in s0, s2 and s3. rax is the key. Goes back with the answer in rcx. */
void emit_calls_lookup(struct emit *e)
{
	const uint32_t found = (uint32_t)CALLS_FOUND;
	struct mark m = plain(0, 0, e);
	m.rcx_in_s0 = true;
	m.in_s2 = RDX;
	m.in_s3 = RAX;
	mark(e, m);
	load_mixed(e);
	gs_load(e, RCX, FIELD(hash));
	bn(e, 3, 0x0a148d);					/* lea edx, [rdx + rcx] */
	bn(e, 5, 0xca89d18966);					/* mov cx, dx; mov edx, ecx */
	bn(e, 5, 0xd50c8b4865), b4(e, GS(found));		/* mov rcx, gs:[rdx * 8 + found] */
	bn(e, 4, 0x010c8d48);					/* lea rcx, [rcx + rax] */
	uint8_t *const miss1 = jump_unless_zero(e);
	gs_load(e, RCX, FIELD(slot));
	bn(e, 5, 0xd5048b4865), b4(e, GS(found + 8));		/* mov rax, gs:[rdx * 8 + found + 8] */
	bn(e, 4, 0x010c8d48);					/* lea rcx, [rcx + rax] */
	uint8_t *const miss2 = jump_unless_zero(e);
	bn(e, 5, 0xd50c8b4865), b4(e, GS(found + 16));		/* mov rcx, gs:[rdx * 8 + found + 16] */
	gs_store(e, RCX, FIELD(to));
	bn(e, 5, 0xd5048b4865), b4(e, GS(found));		/* mov rax, gs:[rdx * 8 + found] */
	load_mixed(e);
	bn(e, 3, 0xd2b60f);					/* movzx edx, dl */
	gs_load(e, RCX, FIELD(slot));
	add_rdx(e);
	based_store(e, RAX, RCX, CALLS_SLOTS);
	gs_load(e, RAX, FIELD(to));
	based_store(e, RAX, RCX, CALLS_SLOTS + 8);
	bn(e, 3, 0xc18948);					/* mov rcx, rax */
	bn(e, 4, 0x2524ff65), b4(e, GS(FIELD(back)));		/* jmp gs:[back] */
	land(e, miss1);
	land(e, miss2);
	mark(e, m);
	gs_load(e, RAX, OFF_S3);
	gs_load(e, RDX, OFF_S2);
	gs_load(e, RCX, OFF_S0);
	m = plain(0, 0, e);
	mark(e, m);
	exit_here(e, EXIT_CALLS);
}

/* Where the counted block that was written last has what it adds. Guarded by the lock. */
static uint8_t *amounts[SOFT_EVENTS];

void acc_add_more(const uint8_t *vec)
{
	for (unsigned k = 0; k < SOFT_EVENTS; k++)
		if (cache.calls >> k & 1 && vec[k])
			*amounts[k] = (uint8_t)(*amounts[k] + vec[k]);
}

struct mark acc_take_back(struct emit *e, uint32_t head, const uint8_t *vec, bool flags_free, struct mark m)
{
	unsigned i = 0;
	for (unsigned k = 0; k < SOFT_EVENTS; k++) {
		if (!(cache.calls >> k & 1))
			continue;
		const uint32_t at = acc_at(i++, head);
		if (!vec[k])
			continue;
		mark(e, m);
		if (flags_free) {
			gs_op(e, 0x83, 5, at);				/* sub */
			b1(e, vec[k]);
		} else {
			gs_load(e, RCX, at);
			bn(e, 4, 0x498d48 | (uint64_t)(uint8_t)-vec[k] << 24);	/* lea rcx, [rcx - n] */
			mark(e, m);
			gs_store(e, RCX, at);
		}
		m.bumped++;
	}
	return m;
}

/* add gs:[acc], n for each event; all flags are free. */
void acc_add_plain(struct emit *e, uint32_t id, struct mark m)
{
	const struct block *const b = block_at(id);
	unsigned i = 0;
	for (unsigned k = 0; k < SOFT_EVENTS; k++) {
		if (!(cache.calls >> k & 1))
			continue;
		if (b->vec[k]) {
			mark(e, m);
			bn(e, 5, 0x2504834865);
			b4(e, GS(acc_at(i, id)));
			b1(e, b->vec[k]);
			if (!e->dry)
				amounts[k] = e->w - 1;
		}
		m.added = (uint8_t)++i & 31;
	}
	e->added = ADDED_ALL;
}

/* The same through rcx, which is free. */
void acc_add_through_rcx(struct emit *e, uint32_t id, struct mark m)
{
	const struct block *const b = block_at(id);
	unsigned i = 0;
	for (unsigned k = 0; k < SOFT_EVENTS; k++) {
		if (!(cache.calls >> k & 1))
			continue;
		if (b->vec[k]) {
			const uint32_t at = acc_at(i, id);
			mark(e, m);
			gs_load(e, RCX, at);
			mark(e, m);
			b1(e, 0x48), b1(e, 0x8d), b1(e, 0x49), b1(e, b->vec[k]);
			if (!e->dry)
				amounts[k] = e->w - 1;
			mark(e, m);
			gs_store(e, RCX, at);
		}
		m.added = (uint8_t)++i & 31;
	}
	e->added = ADDED_ALL;
}

/* A taken branch, before its cell is bumped. */
struct mark acc_add_taken(struct emit *e, uint32_t id, bool flags_free, struct mark m)
{
	const unsigned i = calls_bits(cache.calls & ((1u << SOFT_TAKEN) - 1));
	const uint32_t at = acc_at(i, id);
	mark(e, m);
	if (flags_free) {
		bn(e, 5, 0x2504834865), b4(e, GS(at)), b1(e, 1);
		m.calls = CALLS_TAKEN_ADDED;
		return m;
	}
	gs_store(e, RCX, OFF_S3);
	m.in_s3 = RCX;
	mark(e, m);
	gs_load(e, RCX, at);
	bn(e, 4, 0x01498d48);					/* lea rcx, [rcx + 1] */
	gs_store(e, RCX, at);
	m.calls = CALLS_TAKEN_ADDED;
	mark(e, m);
	gs_load(e, RCX, OFF_S3);
	m.in_s3 = -1;
	return m;
}
