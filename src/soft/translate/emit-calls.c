/* Code that follows calls (calls.h). Nothing here changes flags. See emit.h. */
#include "calls.h"
#include "emit.h"

#define FIELD(name) ((uint32_t)(THREAD_CALLS + offsetof(struct calls_thread, name)))
#define KIND_CALL 3
#define KIND_TAIL 4

static uint32_t slot_off(uint32_t slot)
{
	return (uint32_t)CALLS_SLOTS + slot * SLOT_BYTES;
}

/* Blocks that follow each other use the banks in turn. */
static uint32_t acc_at(unsigned i, uint32_t id)
{
	return FIELD(acc) + 8 * (i * CALLS_BANKS + (id >> cache.counts_taken) % CALLS_BANKS);
}

static unsigned banks(void)
{
	return CALLS_BANKS * calls_bits(cache.calls);
}

/* mov rdx, gs:[rcx + hot part + at]  /  mov gs:[…], rdx */
static void hot_op(struct emit *e, unsigned opcode, uint32_t at)
{
	bn(e, 4, 0x91004865u | opcode << 16);
	b4(e, GS(THREAD_NODES + at));
}

/* mov ecx, gs:[off] */
static void load_ecx(struct emit *e, uint32_t off)
{
	bn(e, 4, 0x250c8b65), b4(e, GS(off));
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

void land(struct emit *e, uint8_t *rel32)
{
	const uint32_t d = (uint32_t)(e->w - rel32 - 4);
	__builtin_memcpy(rel32, &d, 4);
}

/* lea rcx, [rcx + rdx] */
static void add_rdx(struct emit *e)
{
	bn(e, 4, 0x110c8d48);
}

/* rcx is the context: stores the accumulators there. */
static void store_acc(struct emit *e)
{
	for (unsigned i = 0; i < banks(); i++) {
		gs_load(e, RDX, FIELD(acc) + 8 * i);
		hot_op(e, 0x89, 8 + 8 * i);
	}
}

static void load_acc(struct emit *e)
{
	for (unsigned i = 0; i < banks(); i++) {
		hot_op(e, 0x8b, 8 + 8 * i);
		gs_store(e, RDX, FIELD(acc) + 8 * i);
	}
}

/* movzx edx, cl: where in a slot the answer for the context rcx is, halved. */
static void way(struct emit *e)
{
	bn(e, 3, 0xd1b60f);
}

/* rcx = the context, and where an indirect branch comes from */
static void load_context(struct emit *e, bool is_site)
{
	gs_load(e, RCX, FIELD(cur));
	if (is_site)
		return;
	gs_load(e, RDX, FIELD(from));
	add_rdx(e);
}

/* rdx = the key in the slot for the context rcx */
static void load_key(struct emit *e, uint32_t slot)
{
	way(e);
	bn(e, 5, 0x55148b4865), b4(e, GS(slot_off(slot)));	/* mov rdx, gs:[rdx * 2 + …] */
}

/* The answer is in the slot: changes to it. `m` says what is undone until then, `done` what is after. */
static void change(struct emit *e, uint32_t slot, bool is_site, struct mark m, struct mark done)
{
	load_context(e, is_site);
	way(e);
	bn(e, 5, 0x550c8b4865);					/* mov rcx, gs:[rdx * 2 + …] */
	b4(e, GS(slot_off(slot) + (uint32_t)offsetof(struct calls_slot, to)));
	load_acc(e);
	mark(e, m);
	gs_store(e, RCX, FIELD(cur));
	done.rcx_in_s0 = true;
	done.in_s2 = RDX;
	done.calls = CALLS_UNCOUNTED;
	mark(e, done);
	hot_op(e, 0x8b, 0);
	bn(e, 4, 0x01528d48);					/* lea rdx, [rdx + 1] */
	hot_op(e, 0x89, 0);
	done.calls = CALLS_NOTHING;
	mark(e, done);
	gs_load(e, RDX, OFF_S2);
	gs_load(e, RCX, OFF_S0);
	done.rcx_in_s0 = false;
	done.in_s2 = -1;
	mark(e, done);
}

/* The slot did not have the answer: asks the common lookup, which fills it in. rcx is free. */
static void ask_lookup(struct emit *e, uint32_t slot)
{
	bn(e, 3, 0x0d8d48);					/* lea rcx, [rip + …] */
	uint8_t *const back = e->w;
	b4(e, 0);
	gs_store(e, RCX, FIELD(back));
	store_imm64(e, FIELD(slot), slot * (SLOT_BYTES / 2));
	store_imm64(e, FIELD(hash), calls_hash_of(slot));
	store_imm64(e, FIELD(part), calls_part_of(slot));
	gs_load(e, RCX, FIELD(cur));
	b1(e, 0xe9);
	b4(e, (uint32_t)(e->seg->calls_lookup - (here(e) + 4)));
	land(e, back);
}

/* Goes on with the answer: from the slot if rcx is 0, else the common lookup is asked. */
static void find(struct emit *e, uint32_t slot, bool is_site)
{
	b1(e, 0xe3);						/* jrcxz found */
	uint8_t *const found = e->w;
	b1(e, 0);
	if (is_site)
		store_imm64(e, FIELD(from), 0);
	ask_lookup(e, slot);
	*found = (uint8_t)(e->w - found - 1);
}

/* A direct call or a jump to another function: m is the mark before the instruction, done the one
 * after it. */
void emit_transition(struct emit *e, uint64_t pc, uint64_t target, bool call, struct mark m,
		     struct mark done)
{
	const uint32_t slot = calls_site(pc, target, call ? KIND_CALL : KIND_TAIL, !e->dry);
	mark(e, m);
	gs_store(e, RCX, OFF_S0);
	gs_store(e, RDX, OFF_S2);
	m.rcx_in_s0 = true;
	m.in_s2 = RDX;
	mark(e, m);
	gs_load(e, RCX, FIELD(cur));
	mark(e, m);
	if (call) {
		bn(e, 5, 0x248c896765);				/* mov gs:[esp + SHADOW + 4], ecx */
		b4(e, SHADOW + 4);
	}
	mark(e, m);
	store_acc(e);
	m.calls = CALLS_STORED;
	mark(e, m);
	load_key(e, slot);
	add_rdx(e);
	find(e, slot, true);
	change(e, slot, true, m, done);
}

/* An indirect branch says where it comes from. */
void emit_from(struct emit *e, uint64_t pc, bool call)
{
	const uint32_t site = calls_site(pc, 0, call ? KIND_CALL : KIND_TAIL, !e->dry);
	store_imm(e, FIELD(from), calls_from_low(site));
	store_imm(e, FIELD(from) + 4, site);
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

#define RETURNED_OVER (8 + 6 + 7)	/* bytes of the load, the lea, and jrcxz with its jump */

/* At an entry, where an indirect branch arrives at pc; the program's rcx is in s0. `start`: pc is the
 * first instruction of its function. Elsewhere, what comes from another function is C's. */
void emit_arrival(struct emit *e, uint64_t pc, bool start, uint64_t miss)
{
	struct mark m = plain(pc, 0, e);
	const uint32_t slot = calls_target(pc, !e->dry);
	m.rcx_in_s0 = true;
	m.calls = CALLS_ARRIVING;
	mark(e, m);
	const uint32_t fid = slot_info_at(slot)->fid;
	if (!start || fid == FID_UNKNOWN) {
		load_ecx(e, FIELD(from_fid));
		bn(e, 2, 0x898d), b4(e, 0 - FID_RETURNED);
		b1(e, 0xe3), b1(e, RETURNED_OVER);	/* jrcxz: the context has changed already */
	}
	load_ecx(e, FIELD(from_fid));
	bn(e, 2, 0x898d), b4(e, 0 - fid);			/* lea ecx, [rcx - fid] */
	if (!start) {
		bn(e, 3, 0xe905e3);				/* jrcxz over the jump to `miss` */
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
	m.in_s2 = RDX;
	mark(e, m);
	gs_load(e, RCX, FIELD(cur));
	store_acc(e);
	m.calls = CALLS_ARRIVING_STORED;
	mark(e, m);
	load_context(e, false);
	load_key(e, slot);
	add_rdx(e);
	find(e, slot, false);
	change(e, slot, false, m, plain(pc, 0, e));
	land(e, same);
}

/* A return, with the program's rcx in s0: back to the context in the shadow. */
struct mark emit_return_context(struct emit *e, struct mark m)
{
	mark(e, m);
	gs_store(e, RDX, OFF_S2);
	m.in_s2 = RDX;
	mark(e, m);
	gs_load(e, RCX, FIELD(cur));
	gs_store(e, RCX, FIELD(prev));
	store_acc(e);
	m.calls = CALLS_RETURNING;
	mark(e, m);
	bn(e, 5, 0x248c8b6765);					/* mov ecx, gs:[esp + SHADOW + 4] */
	b4(e, SHADOW + 4);
	mark(e, m);
	load_acc(e);
	gs_store(e, RCX, FIELD(cur));
	mark(e, m);
	gs_load(e, RDX, OFF_S2);
	m.in_s2 = -1;
	mark(e, m);
	return m;
}

/* A return with an operand, or one that is run alone: it is looked up as a jump is. If a call has left
 * this return address, the context in the shadow is right; else C finds it. The program's rcx is in
 * s0. Returns where the rel32 of the jump to the code for C is, or NULL; *m is the mark after it. */
uint8_t *emit_return_from(struct emit *e, struct mark *m)
{
	const struct mark before = *m;
	bn(e, 4, 0x240c8b48);					/* mov rcx, [rsp], which may fault */
	mark(e, before);
	bn(e, 5, 0x2524894865), b4(e, GS(FIELD(return_sp)));	/* mov gs:[return_sp], rsp */
	store_imm(e, FIELD(from_fid), FID_RETURN);
	if (e->single)
		return NULL;
	gs_store(e, RDX, OFF_S2);
	struct mark in = before;
	in.in_s2 = RDX;
	mark(e, in);
	bn(e, 6, 0x248cb70f6765), b4(e, SHADOW);		/* movzx ecx, word gs:[esp + SHADOW] */
	mov_imm64(e, RDX, (uint64_t)return_minus(0));
	bn(e, 4, 0xca0c8b48);					/* mov rcx, [rdx + rcx * 8] */
	bn(e, 4, 0x24148b48);					/* mov rdx, [rsp] */
	add_rdx(e);
	mark(e, in);
	gs_load(e, RDX, OFF_S2);
	mark(e, before);
	uint8_t *const wrong = jump_unless_zero(e);
	*m = emit_return_context(e, before);
	store_imm(e, FIELD(from_fid), FID_RETURNED);
	return wrong;
}

/* The common lookup of a segment. The call has been made: the program is at the target of calls.slot,
 * and its rcx and rdx are in s0 and s2. rcx is the context. */
void emit_calls_lookup(struct emit *e)
{
	const uint32_t found = (uint32_t)CALLS_FOUND;
	struct mark m = plain(0, 0, e);
	m.rcx_in_s0 = true;
	m.in_s2 = RDX;
	mark(e, m);
	gs_store(e, RAX, OFF_S3);
	m.in_s3 = RAX;
	mark(e, m);
	gs_load(e, RDX, FIELD(from));
	add_rdx(e);
	gs_load(e, RAX, FIELD(hash));
	bn(e, 3, 0x08048d);					/* lea eax, [rax + rcx] */
	bn(e, 3, 0xc0b70f);					/* movzx eax, ax */
	gs_load(e, RDX, FIELD(part));
	bn(e, 3, 0x10048d);					/* lea eax, [rax + rdx] */
	bn(e, 5, 0xc5148b4865), b4(e, GS(found));		/* mov rdx, gs:[rax * 8 + found] */
	add_rdx(e);
	uint8_t *const miss1 = jump_unless_zero(e);
	gs_load(e, RCX, FIELD(slot));
	bn(e, 5, 0xc5148b4865), b4(e, GS(found + 8));
	add_rdx(e);
	uint8_t *const miss2 = jump_unless_zero(e);
	load_context(e, false);
	way(e);
	gs_load(e, RCX, FIELD(slot));
	bn(e, 4, 0x0a148d48);					/* lea rdx, [rdx + rcx] */
	bn(e, 5, 0xc50c8b4865), b4(e, GS(found + 16));		/* mov rcx, gs:[rax * 8 + found + 16] */
	bn(e, 5, 0x550c894865), b4(e, GS(CALLS_SLOTS + 8));	/* mov gs:[rdx * 2 + slots + 8], rcx */
	bn(e, 5, 0xc5048b4865), b4(e, GS(found));		/* mov rax, gs:[rax * 8 + found] */
	bn(e, 5, 0x5504894865), b4(e, GS(CALLS_SLOTS));		/* mov gs:[rdx * 2 + slots], rax */
	mark(e, m);
	gs_load(e, RAX, OFF_S3);
	m.in_s3 = -1;
	mark(e, m);
	bn(e, 4, 0x2524ff65), b4(e, GS(FIELD(back)));		/* jmp gs:[back] */
	land(e, miss1);
	land(e, miss2);
	m.in_s3 = RAX;
	mark(e, m);
	gs_load(e, RAX, OFF_S3);
	gs_load(e, RDX, OFF_S2);
	gs_load(e, RCX, OFF_S0);
	m = plain(0, 0, e);
	mark(e, m);
	exit_here(e, EXIT_CALLS);
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
