/* Code that follows calls (calls.h). Nothing here changes flags. See emit.h. */
#include "calls.h"
#include "emit.h"

#define FIELD(name) ((uint32_t)(THREAD_CALLS + offsetof(struct calls_thread, name)))

#define KIND_CALL 3
#define KIND_TAIL 4
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

/* mov ecx, gs:[rax + off] */
static void load_ecx_of_rax(struct emit *e, uint64_t off)
{
	bn(e, 3, 0x888b65), b4(e, GS(off));
}

static void based_store(struct emit *e, unsigned reg, unsigned base, uint64_t off)
{
	based_op(e, 0x89, reg, base, off);
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

/* rax is the context: adds the accumulators to its sums, and sets them to 0. (To load the sums of the
 * next context into the accumulators instead would take no additions, but then each call waits for the
 * stores of the same function's last call.) `flushed`: the state of a signal in between. */
static void flush(struct emit *e, struct mark m, enum calls_state flushed)
{
	const unsigned n = calls_bits(cache.calls), state = m.calls;
	for (unsigned k = 0; k < n; k++) {
		based_load(e, RDX, RAX, HOT(sums) + 8 * k);
		for (unsigned i = 0; i < CALLS_BANKS; i++) {
			gs_load(e, RCX, FIELD(acc) + 8 * (k * CALLS_BANKS + i));
			bn(e, 4, 0x0a148d48);			/* lea rdx, [rdx + rcx] */
		}
		if (n > 1)
			store_imm(e, FIELD(flushing), k);
		based_store(e, RDX, RAX, HOT(sums) + 8 * k);
		m.calls = flushed & 7;
		mark(e, m);
		b1(e, 0xb9), b4(e, 0);				/* mov ecx, 0 */
		for (unsigned i = 0; i < CALLS_BANKS; i++)
			gs_store(e, RCX, FIELD(acc) + 8 * (k * CALLS_BANKS + i));
		m.calls = state & 7;
		mark(e, m);
	}
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
		load_ecx_of_rax(e, child);
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
		load_ecx_of_rax(e, child + 4);
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
	load_ecx_of_rax(e, HOT(branch_to));
	land_short(e, over);
	land(e, back);
}

/* rcx is the next context: changes to it. `done` is the mark after that; rcx, rdx and rax are spilled. */
static void change(struct emit *e, struct mark done)
{
	based_load(e, RAX, RCX, HOT(calls));
	bn(e, 4, 0x01408d48);					/* lea rax, [rax + 1] */
	gs_store(e, RCX, FIELD(cur));
	done.rcx_in_s0 = true;
	done.in_s2 = RDX;
	done.in_s3 = RAX;
	done.calls = CALLS_UNCOUNTED;
	mark(e, done);
	based_store(e, RAX, RCX, HOT(calls));
	done.calls = CALLS_NOTHING;
	mark(e, done);
	gs_load(e, RAX, OFF_S3);
	gs_load(e, RDX, OFF_S2);
	gs_load(e, RCX, OFF_S0);
	done.rcx_in_s0 = false;
	done.in_s2 = done.in_s3 = -1;
	mark(e, done);
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
	gs_store(e, RAX, OFF_S3);
	m.rcx_in_s0 = true;
	m.in_s2 = RDX;
	m.in_s3 = RAX;
	mark(e, m);
	gs_load(e, RAX, FIELD(cur));
	mark(e, m);
	if (call) {
		bn(e, 5, 0x2484896765);				/* mov gs:[esp + SHADOW + 4], eax */
		b4(e, SHADOW + 4);
	}
	mark(e, m);
	flush(e, m, CALLS_FLUSHED);
	find_for_site(e, slot);
	change(e, done);
}

/* An indirect branch says where it comes from. */
void emit_from(struct emit *e, uint64_t pc, bool call)
{
	const uint32_t site = calls_site(pc, 0, call ? KIND_CALL : KIND_TAIL, !e->dry);
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

#define FROM_IS (8 + 6 + 2)		/* bytes of from_is() */
#define RETURNED_OVER (8 + 6 + 7)	/* of a load, a lea, and jrcxz with its jump */

/* If what an indirect branch has said it comes from is `fid`, jumps over so many bytes. */
static void from_is(struct emit *e, uint32_t fid, unsigned over)
{
	load_ecx(e, FIELD(from_fid));
	bn(e, 2, 0x898d), b4(e, 0 - fid);			/* lea ecx, [rcx - fid] */
	bn(e, 2, 0xe3 | over << 8);				/* jrcxz */
}

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
	if (start && fid == FID_UNKNOWN)
		from_is(e, FID_RETURNED, RETURNED_OVER);	/* the context has changed already */
	if (!start) {
		from_is(e, fid, FROM_IS + 5);
		from_is(e, FID_RETURNED, 5);
		b1(e, 0xe9);
		b4(e, (uint32_t)(miss - (here(e) + 4)));
		m.calls = CALLS_NOTHING;
		mark(e, m);
		gs_load(e, RCX, OFF_S0);
		return;
	}
	load_ecx(e, FIELD(from_fid));
	bn(e, 2, 0x898d), b4(e, 0 - fid);			/* lea ecx, [rcx - fid] */
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
	gs_load(e, RAX, FIELD(cur));
	flush(e, m, CALLS_ARRIVING_FLUSHED);
	find_for_target(e, slot);
	change(e, plain(pc, 0, e));
	land(e, same);
}

/* A return, with the program's rcx in s0: back to the context in the shadow. */
struct mark emit_return_context(struct emit *e, struct mark m)
{
	mark(e, m);
	gs_store(e, RDX, OFF_S2);
	gs_store(e, RAX, OFF_S3);
	m.in_s2 = RDX;
	m.in_s3 = RAX;
	mark(e, m);
	gs_load(e, RAX, FIELD(cur));
	flush(e, m, CALLS_FLUSHED);
	gs_store(e, RAX, FIELD(prev));
	m.calls = CALLS_RETURNING;
	mark(e, m);
	bn(e, 5, 0x248c8b6765);					/* mov ecx, gs:[esp + SHADOW + 4] */
	b4(e, SHADOW + 4);
	mark(e, m);
	gs_store(e, RCX, FIELD(cur));
	gs_load(e, RAX, OFF_S3);
	gs_load(e, RDX, OFF_S2);
	m.in_s2 = m.in_s3 = -1;
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
