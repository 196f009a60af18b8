/* Source blocks to cache blocks, and back.
 *
 * One pass decodes a block (translate_plan), a second one writes it (emit_block).
 * Instructions are copied as they are; only control flow, RIP-relative operands
 * out of reach and a few special instructions are rewritten:
 *
 *	[check for indirect branches]	only where one arrives (cold code has none)
 *	copied instructions …
 *	inc gs:[cell]			before the first instruction where no flag
 *					but CF is live
 *	copied instructions …
 *	branch				direct: jcc/jmp rel32, patched when its target
 *					exists; indirect: through the tables T and P
 *
 * Blocks that follow each other (fall-through, jmp, call) are laid out one after
 * the other without a jump, up to CHAIN blocks.
 *
 * Writing a block is a function of its source bytes, its addresses and the few
 * choices kept in struct block. So the way back from a cache address to the
 * program's state needs no tables: recover() writes the block once more into
 * nowhere and stops at the address, having noted at each emitted instruction
 * what would have to be undone (struct mark).
 */
#include "decode.h"
#include "engine.h"
#include "sys.h"
#include "text.h"
#include "vpmu-abi.h"

#define CHAIN 6			/* blocks laid out in one go */
#define MAX_INSNS 48
#define MAX_CHECKED 16		/* of a block that compares its source first */
#define ROOM 6144		/* a block and its cold parts fit into this */

#define BUMPED_ALL 255

/* What must be undone at a cache address. */
struct mark {
	uint64_t pc;
	uint8_t retired;	/* instructions of the block that are done */
	uint8_t bumped;		/* the counter was: how many of its parts, or BUMPED_ALL */
	bool taken;		/* a taken branch is done, its own counter not bumped yet */
	bool rcx_in_s0;
	bool pc_in_s1;
	bool pc_on_stack;	/* at rsp */
	int8_t in_s2, in_s3;	/* register kept there, or -1 */
	int8_t biased;		/* register that has the program's gs base added, or -1 */
	int32_t rsp_adjust;	/* add to rsp */
};

struct emit {
	uint8_t *w;		/* where bytes go */
	uint64_t delta;		/* w + delta = the address they run at */
	struct segment *seg;
	bool dry;
	bool single;		/* one instruction: everything leads back to the dispatcher */
	uint64_t pc;		/* of the block */
	uint32_t back_to;	/* a twin: jumps to its own pc go to this block */
	/* dry: the mark of the last instruction at or before `want` */
	uint64_t want;
	struct mark found;
	uint8_t bumped;
};

struct plan {
	struct insn in[MAX_INSNS];
	uint16_t off[MAX_INSNS + 1];
	int n;
	uint64_t pc;
	const uint8_t *src;
};

static struct plan the_plan, dry_plan;	/* under the lock */
static struct emit dry_emit;
int translate_problem;

/* ---- bytes ---- */

static inline uint64_t here(const struct emit *e)
{
	return (uint64_t)e->w + e->delta;
}

static inline void b1(struct emit *e, unsigned b)
{
	*e->w++ = (uint8_t)b;
}

static inline void b4(struct emit *e, uint32_t v)
{
	__builtin_memcpy(e->w, &v, 4);
	e->w += 4;
}

static inline void b8(struct emit *e, uint64_t v)
{
	__builtin_memcpy(e->w, &v, 8);
	e->w += 8;
}

static inline void copy(struct emit *e, const uint8_t *from, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		e->w[i] = from[i];
	e->w += n;
}

/* mov gs:[off], r  /  mov r, gs:[off] */
static void gs_store(struct emit *e, int r, uint32_t off)
{
	b1(e, 0x65);
	b1(e, 0x48 | (r >> 3) << 2);
	b1(e, 0x89);
	b1(e, 0x04 | (r & 7) << 3);
	b1(e, 0x25);
	b4(e, off);
}

static void gs_load(struct emit *e, int r, uint32_t off)
{
	b1(e, 0x65);
	b1(e, 0x48 | (r >> 3) << 2);
	b1(e, 0x8b);
	b1(e, 0x04 | (r & 7) << 3);
	b1(e, 0x25);
	b4(e, off);
}

static void mov_imm64(struct emit *e, int r, uint64_t v)
{
	b1(e, 0x48 | r >> 3);
	b1(e, 0xb8 | (r & 7));
	b8(e, v);
}

/* ---- marks ---- */

static struct mark plain(uint64_t pc, unsigned retired, const struct emit *e)
{
	return (struct mark){ .pc = pc, .retired = (uint8_t)retired, .bumped = e->bumped,
			      .in_s2 = -1, .in_s3 = -1, .biased = -1 };
}

static inline void mark(struct emit *e, struct mark m)
{
	if (e->dry && here(e) <= e->want)
		e->found = m;
}

/* ---- counters ---- */

static uint32_t cell_off(uint32_t id)
{
	return (uint32_t)(THREAD_COUNTS + 8ull * id);
}

/* Accumulators of the virtual PMU: the block's value of each wanted event is added
 * to the task's, to one of a few cells so that blocks do not wait for each other. */
static uint32_t acc_off(unsigned k, uint32_t id)
{
	return (uint32_t)(THREAD_ACC + offsetof(struct vpmu_task_mem, acc[k]) +
			  8 * (id % VPMU_BANKS));
}

/* add gs:[acc], n for each event; all flags are free. */
static void acc_plain(struct emit *e, uint32_t id, struct mark m)
{
	const struct block *const b = block_at(id);
	const uint32_t want = E.modes[b->mode].acc;
	for (unsigned k = 0; k < SOFT_EVENTS; k++) {
		if (!(want >> k & 1) || !b->vec[k])
			continue;
		mark(e, m);
		b1(e, 0x65), b1(e, 0x48), b1(e, 0x83), b1(e, 0x04), b1(e, 0x25);
		b4(e, acc_off(k, id));
		b1(e, b->vec[k]);
		m.bumped++;
	}
	e->bumped = BUMPED_ALL;
}

/* The same through rcx, which is free, without flags. */
static void acc_through_rcx(struct emit *e, uint32_t id, struct mark m)
{
	const struct block *const b = block_at(id);
	const uint32_t want = E.modes[b->mode].acc;
	for (unsigned k = 0; k < SOFT_EVENTS; k++) {
		if (!(want >> k & 1) || !b->vec[k])
			continue;
		mark(e, m);
		gs_load(e, RCX, acc_off(k, id));
		mark(e, m);
		b1(e, 0x48), b1(e, 0x8d), b1(e, 0x49), b1(e, b->vec[k]);
		mark(e, m);
		gs_store(e, RCX, acc_off(k, id));
		m.bumped++;
	}
	e->bumped = BUMPED_ALL;
}

static void inc_plain(struct emit *e, uint32_t id, struct mark m)
{
	if (E.modes[block_at(id)->mode].acc) {
		acc_plain(e, id, m);
		return;
	}
	mark(e, m);
	b1(e, 0x65);
	b1(e, 0x48);
	b1(e, 0xff);
	b1(e, 0x04);
	b1(e, 0x25);
	b4(e, cell_off(id));
	e->bumped = BUMPED_ALL;
}

/* rcx is free: rcx = gs:[cell]; rcx + 1; back. No flags. */
static void inc_through_rcx(struct emit *e, uint32_t id, struct mark m)
{
	if (E.modes[block_at(id)->mode].acc) {
		acc_through_rcx(e, id, m);
		return;
	}
	gs_load(e, RCX, cell_off(id));
	mark(e, m);
	b1(e, 0x48), b1(e, 0x8d), b1(e, 0x49), b1(e, 1);
	gs_store(e, RCX, cell_off(id));
	e->bumped = BUMPED_ALL;
}

static void inc_spilled(struct emit *e, uint32_t id, struct mark m)
{
	mark(e, m);
	gs_store(e, RCX, OFF_S3);
	m.in_s3 = RCX;
	inc_through_rcx(e, id, m);
	m.bumped = e->bumped;
	m.taken = false;
	mark(e, m);
	gs_load(e, RCX, OFF_S3);
}

/* ---- cold parts ---- */

static uint64_t cold_literal(struct emit *e, uint64_t v)
{
	if (e->dry)
		return here(e);
	e->seg->cold = (e->seg->cold - 8) & ~7ull;
	*(uint64_t *)e->seg->cold = v;
	return e->seg->cold;
}

/* The exit of link `id`: note why, and leave. */
static void exit_here(struct emit *e, uint32_t id)
{
	b1(e, 0x65), b1(e, 0xc7), b1(e, 0x04), b1(e, 0x25);
	b4(e, OFF_EXIT);
	b4(e, id);
	b1(e, 0xe9);
	b4(e, (uint32_t)(e->seg->tramp_exit - (here(e) + 4)));
}

#define STUB_SIZE 17

uint64_t translate_stub(struct segment *s, uint32_t id)
{
	s->cold -= STUB_SIZE;
	struct emit e = { .w = (uint8_t *)s->cold, .seg = s };
	exit_here(&e, id);
	return s->cold;
}

/* rel32 operands may be patched while others run them: never across a line. */
static void align_rel32(struct emit *e, unsigned opcode_len)
{
	while (((here(e) + opcode_len) & 63) > 60)
		b1(e, 0x90);
}

/* A counter cell bumped again within a few cycles is a chain of stores and loads.
 * So a loop of one block gets three further copies, each jumping to the next.
 * (Copies of longer loops were tried and lost: more branches to predict.) */
#define LOOP_COPIES 3
static uint32_t loop_edge;	/* the link that closed a one-block loop, not linked yet */

static void link_rel32(struct emit *e, uint64_t target)
{
	if (e->dry) {
		b4(e, 0);
		return;
	}
	const uint32_t id = new_link(target, e->single ? LINK_STOP : LINK_JUMP);
	struct link *const l = link_at(id);
	l->site = here(e);
	b4(e, 0);
	uint32_t to = e->single ? 0 : block_find(target);
	if (target == e->pc && e->back_to) {
		to = e->back_to;
	} else if (target == e->pc && to && !loop_edge) {
		loop_edge = id;		/* when the block is written: close_loop() */
		to = 0;
	}
	if (to)
		link_to(id, to);
	if (!l->to) {
		l->stub = translate_stub(e->seg, id);
		*(uint32_t *)(e->w - 4) = (uint32_t)(l->stub - here(e));
	}
}

static void jump_to(struct emit *e, uint64_t target)
{
	align_rel32(e, 1);
	b1(e, 0xe9);
	link_rel32(e, target);
}

/* ---- memory operands ---- */

/* A register the instruction does not know, able to be a plain [r] base. */
static int free_reg(const struct insn *in, int but)
{
	static const int8_t choice[] = { RCX, RDX, RAX, RBX, RSI, RDI };
	const unsigned used = in->regs_read | in->regs_written;
	for (unsigned i = 0; i < sizeof(choice); i++)
		if (!(used >> choice[i] & 1) && choice[i] != but)
			return choice[i];
	return -1;
}

/* The instruction with its memory operand replaced by [r], r below 8 and not rsp
 * or rbp, and without a gs prefix. */
static void emit_with_base(struct emit *e, const struct insn *in, const uint8_t *s, int r)
{
	uint8_t *const start = e->w;
	for (unsigned i = 0; i < in->modrm_off; i++) {
		if (i < in->opcode_off && s[i] == 0x65 && in->segment == 0x65 &&
		    in->encoding == 0) {
			continue;
		}
		b1(e, s[i]);
	}
	const unsigned dropped = (unsigned)(in->modrm_off - (e->w - start));
	/* clear the bits that would extend base and index */
	const unsigned op = in->opcode_off - dropped;
	switch (in->encoding) {
	case 0:
		if (in->rex) {
			/* the REX byte stands right before the opcode (or its 0F maps) */
			unsigned at = op - 1;
			if (in->map == 1)
				at = op - 2;
			else if (in->map == 2 || in->map == 3)
				at = op - 3;
			start[at] &= (uint8_t)~3u;
		}
		break;
	case 2:
	case 4:
		start[op - 2] |= 0x60;
		break;
	case 3:
		start[op - 3] |= 0x60;
		break;
	default:
		break;
	}
	b1(e, (in->modrm & 0x38) | r);
	if (in->imm_len)
		copy(e, s + in->imm_off, in->len - in->imm_off);
	else if (in->map == 15)
		b1(e, s[in->len - 1]);	/* 3DNow! opcode byte comes last */
}

static uint64_t rip_target(const struct insn *in, const uint8_t *s, uint64_t pc)
{
	int32_t disp;
	__builtin_memcpy(&disp, s + in->disp_off, 4);
	const uint64_t at = pc + in->len + (int64_t)disp;
	return in->addr32 ? (uint32_t)at : at;
}

static bool reaches(uint64_t from, uint64_t to)
{
	const int64_t d = (int64_t)(to - from);
	return d == (int32_t)d;
}

static bool is_lea(const struct insn *in)
{
	return in->encoding == 0 && in->map == 0 && in->opcode == 0x8d;
}

/* The low 2 GiB can be reached from anywhere as [disp32], one byte longer. */
static void emit_absolute(struct emit *e, const struct insn *in, const uint8_t *s,
			  uint32_t target)
{
	copy(e, s, in->modrm_off);
	b1(e, (in->modrm & 0x38) | 4);
	b1(e, 0x25);
	b4(e, target);
	copy(e, s + in->disp_off + 4, in->len - in->disp_off - 4u);
}

static void emit_rip_relative(struct emit *e, const struct insn *in, const uint8_t *s,
			      uint64_t pc, struct mark m)
{
	const uint64_t target = rip_target(in, s, pc);
	mark(e, m);
	/* decided on the block's segment, not on the exact place, so that the length
	 * does not depend on where in the segment it lands */
	if (!in->addr32 && reaches(e->seg->base, target) && reaches(e->seg->end, target)) {
		copy(e, s, in->len);
		const uint32_t disp = (uint32_t)(target - here(e));
		__builtin_memcpy(e->w - in->len + in->disp_off, &disp, 4);
		return;
	}
	if (is_lea(in)) {
		const int r = (in->modrm >> 3 & 7) | (in->rex & 4 ? 8 : 0);
		if (in->opsize16 && !(in->rex & 8)) {
			if (r >= 8)
				b1(e, 0x66), b1(e, 0x41);
			else
				b1(e, 0x66);
			b1(e, 0xb8 | (r & 7));
			b1(e, target & 0xff), b1(e, target >> 8 & 0xff);
		} else {
			mov_imm64(e, r, in->rex & 8 ? target : (uint32_t)target);
		}
		return;
	}
	if (target < 0x80000000u && !(in->rex & 2)) {
		emit_absolute(e, in, s, (uint32_t)target);
		return;
	}
	const int r = free_reg(in, -1);
	if (r < 0)
		die("an instruction leaves no register for its address", pc);
	gs_store(e, r, OFF_S2);
	m.in_s2 = (int8_t)r;
	mark(e, m);
	mov_imm64(e, r, target);
	mark(e, m);
	emit_with_base(e, in, s, r);
	m.pc = pc + in->len;
	m.retired++;
	mark(e, m);
	gs_load(e, r, OFF_S2);
}

/* lea r, [the instruction's memory operand], segment ignored */
static void emit_lea(struct emit *e, const struct insn *in, const uint8_t *s, int r)
{
	if (in->addr32)
		b1(e, 0x67);
	b1(e, 0x48 | (in->rex & 3));
	b1(e, 0x8d);
	b1(e, (in->modrm & 0xc7) | r << 3);
	const unsigned end = in->disp_off ? in->disp_off + in->disp_len :
			     (in->modrm & 7) == 4 ? in->modrm_off + 2u : in->modrm_off + 1u;
	copy(e, s + in->modrm_off + 1, end - in->modrm_off - 1);
}

/* lea r, [r + q] */
static void add_reg(struct emit *e, int r, int q)
{
	b1(e, 0x48), b1(e, 0x8d), b1(e, 0x04 | r << 3), b1(e, q << 3 | r);
}

static void copy_without_gs(struct emit *e, const struct insn *in, const uint8_t *s)
{
	for (unsigned i = 0; i < in->len; i++)
		if (i >= in->opcode_off || s[i] != 0x65)
			b1(e, s[i]);
}

/* lods, movs, cmps, outs and xlat address gs:[rsi] or gs:[rbx + al]: the base is
 * added to the register for the time of the instruction, also while it faults. */
static void emit_gs_implicit(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
			     struct mark m)
{
	const int r = in->opcode == 0xd7 ? RBX : RSI;
	const int q = free_reg(in, r);
	if (in->map || in->addr32 || q < 0)
		die("a gs-relative instruction of a kind the engine cannot rewrite", pc);
	mark(e, m);
	gs_store(e, q, OFF_S2);
	m.in_s2 = (int8_t)q;
	mark(e, m);
	gs_load(e, q, OFF_APP_GS);
	mark(e, m);
	add_reg(e, r, q);
	m.biased = (int8_t)r;
	mark(e, m);
	copy_without_gs(e, in, s);
	m.pc = pc + in->len;
	m.retired++;
	mark(e, m);
	gs_load(e, q, OFF_APP_GS_NEG);
	mark(e, m);
	add_reg(e, r, q);
	m.biased = -1;
	mark(e, m);
	gs_load(e, q, OFF_S2);
}

/* mov al/ax/eax/rax, gs:[moffs64] and back, through [rcx]. */
static void emit_gs_moffs(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
			  struct mark m)
{
	uint64_t at = 0;
	__builtin_memcpy(&at, s + in->len - (in->addr32 ? 4 : 8), in->addr32 ? 4 : 8);
	mark(e, m);
	gs_store(e, RCX, OFF_S2);
	m.in_s2 = RCX;
	mark(e, m);
	gs_store(e, RDX, OFF_S3);
	m.in_s3 = RDX;
	mark(e, m);
	mov_imm64(e, RCX, at);
	mark(e, m);
	gs_load(e, RDX, OFF_APP_GS);
	mark(e, m);
	add_reg(e, RCX, RDX);
	mark(e, m);
	if (in->opsize16)
		b1(e, 0x66);
	if (in->rex & 8)
		b1(e, 0x48);
	b1(e, in->opcode & 2 ? 0x88 | (in->opcode & 1) : 0x8a | (in->opcode & 1));
	b1(e, 0x01);			/* [rcx], al … */
	m.pc = pc + in->len;
	m.retired++;
	mark(e, m);
	gs_load(e, RDX, OFF_S3);
	m.in_s3 = -1;
	mark(e, m);
	gs_load(e, RCX, OFF_S2);
}

/* The program's own gs: its base is kept in the thread, gs itself is ours. */
static void emit_gs_operand(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
			    struct mark m)
{
	if (in->map == 0 && (in->opcode & 0xfc) == 0xa0 && in->encoding == 0) {
		emit_gs_moffs(e, in, s, pc, m);
		return;
	}
	if (in->mem != 1) {
		emit_gs_implicit(e, in, s, pc, m);
		return;
	}
	const int r = free_reg(in, -1);
	const int q = r < 0 ? -1 : free_reg(in, r);
	if (r < 0 || q < 0 || in->vsib || in->encoding == 3)
		die("a gs-relative instruction of a kind the engine cannot rewrite", pc);
	mark(e, m);
	gs_store(e, r, OFF_S2);
	m.in_s2 = (int8_t)r;
	mark(e, m);
	gs_store(e, q, OFF_S3);
	m.in_s3 = (int8_t)q;
	mark(e, m);
	if (in->rip_relative)
		mov_imm64(e, r, rip_target(in, s, pc));
	else
		emit_lea(e, in, s, r);
	mark(e, m);
	gs_load(e, q, OFF_APP_GS);
	mark(e, m);
	add_reg(e, r, q);
	mark(e, m);
	emit_with_base(e, in, s, r);
	m.pc = pc + in->len;
	m.retired++;
	mark(e, m);
	gs_load(e, q, OFF_S3);
	mark(e, m);
	gs_load(e, r, OFF_S2);
}

static bool uses_gs(const struct insn *in)
{
	return in->segment == 0x65 && in->mem && !is_lea(in) &&
	       (in->classes & (CLASS_LOAD | CLASS_STORE));
}

/* ---- branches ---- */

/* jmp [P + rcx * 8] and the like */
static void entry_operand(struct emit *e, unsigned reg, size_t field)
{
	b1(e, 0xff), b1(e, 0x04 | reg << 3), b1(e, 0xcd);
	b4(e, (uint32_t)(E.entries + field));
}

/* mov ecx, [T + rcx * 4] */
static void table_load(struct emit *e)
{
	b1(e, 0x8b), b1(e, 0x0c), b1(e, 0x8d);
	b4(e, (uint32_t)E.table);
}

/* r holds the target, rcx's own value is in s0: look it up. */
static void emit_find(struct emit *e, int r, struct mark m)
{
	mark(e, m);
	gs_store(e, r, OFF_S1);
	mark(e, m);
	if (r >= 8)
		b1(e, 0x44);
	b1(e, 0x89), b1(e, 0xc1 | (r & 7) << 3);		/* mov ecx, r32 */
	mark(e, m);
	table_load(e);
}

/* … and go. */
static void emit_lookup(struct emit *e, int r, struct mark m)
{
	if (!e->single) {
		emit_find(e, r, m);
		mark(e, m);
		entry_operand(e, 4, offsetof(struct entry, jump));	/* jmp */
		return;
	}
	mark(e, m);
	gs_store(e, r, OFF_S1);
	mark(e, m);
	b1(e, 0xe9);
	b4(e, (uint32_t)(e->seg->tramp_miss - (here(e) + 4)));
}

/* The program's return address stays on the stack until the entry has checked it. */
static void emit_plain_ret(struct emit *e, struct mark m)
{
	b1(e, 0x8b), b1(e, 0x0c), b1(e, 0x24);			/* mov ecx, [rsp] */
	mark(e, m);
	table_load(e);
	mark(e, m);
	entry_operand(e, 4, offsetof(struct entry, ret));	/* jmp */
}

static void emit_ret(struct emit *e, const struct insn *in, uint32_t tail_inc, struct mark m)
{
	mark(e, m);
	gs_store(e, RCX, OFF_S0);
	m.rcx_in_s0 = true;
	mark(e, m);
	if (tail_inc) {
		inc_through_rcx(e, tail_inc, m);
		m.bumped = BUMPED_ALL;
		mark(e, m);
	}
	if (!in->imm && !e->single) {
		emit_plain_ret(e, m);
		return;
	}
	b1(e, 0x59);						/* pop rcx */
	m.rsp_adjust = -8;
	if (in->imm) {
		mark(e, m);
		b1(e, 0x48), b1(e, 0x8d), b1(e, 0xa4), b1(e, 0x24);	/* lea rsp,[rsp+imm] */
		b4(e, (uint32_t)(uint16_t)in->imm);
		m.rsp_adjust -= (int)(uint16_t)in->imm;
	}
	emit_lookup(e, RCX, m);
}

static void push_return(struct emit *e, uint64_t ret)
{
	if ((int64_t)ret == (int32_t)ret) {
		b1(e, 0x68);
		b4(e, (uint32_t)ret);
		return;
	}
	const uint64_t lit = cold_literal(e, ret);
	b1(e, 0xff), b1(e, 0x35);
	b4(e, (uint32_t)(lit - (here(e) + 4)));
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

static void emit_indirect(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
			  uint32_t tail_inc, struct mark m)
{
	mark(e, m);
	gs_store(e, RCX, OFF_S0);
	if (tail_inc) {
		/* rcx may be part of the operand: bump first, then give it back */
		m.rcx_in_s0 = true;
		mark(e, m);
		inc_through_rcx(e, tail_inc, m);
		m.bumped = BUMPED_ALL;
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
		mark(e, m);
		push_return(e, pc + in->len);
		m.rsp_adjust = 8;
	}
	emit_lookup(e, r, m);
}

static void emit_jcc(struct emit *e, const struct insn *in, uint64_t target, uint32_t taken_id,
		     struct mark m)
{
	mark(e, m);
	if (!taken_id) {
		align_rel32(e, 2);
		mark(e, m);
		b1(e, 0x0f);
		b1(e, 0x80 | (in->opcode & 15));
		link_rel32(e, target);
		return;
	}
	/* taken branches are asked for: not taken jumps over a bump of their cell */
	b1(e, 0x70 | ((in->opcode & 15) ^ 1));
	uint8_t *const rel = e->w;
	b1(e, 0);
	const uint8_t bumped = e->bumped;
	struct mark at = plain(target, m.retired + 1u, e);
	at.taken = true;
	inc_spilled(e, taken_id, at);
	e->bumped = bumped;
	at = plain(target, m.retired + 1u, e);
	mark(e, at);
	jump_to(e, target);
	*rel = (uint8_t)(e->w - rel - 1);
}

static void emit_loop(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
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
	const uint8_t bumped = e->bumped;
	struct mark at = plain(target, m.retired + 1u, e);
	at.taken = taken_id != 0;
	mark(e, at);
	if (taken_id) {
		inc_spilled(e, taken_id, at);
		e->bumped = bumped;
		mark(e, plain(target, m.retired + 1u, e));
	}
	jump_to(e, target);
	*rel = (uint8_t)(e->w - rel - 1);
	mark(e, plain(next, m.retired + 1u, e));
}

/* ---- blocks ---- */

static void emit_exit(struct emit *e, uint64_t target, uint8_t kind)
{
	exit_here(e, e->dry ? 0 : new_link(target, kind));
}

static bool needs_c(const struct insn *in)
{
	switch (in->special) {
	case SPECIAL_GSBASE_READ:
	case SPECIAL_GSBASE_WRITE:
	case SPECIAL_GS_LOAD:
	case SPECIAL_SHSTK:
	case SPECIAL_POPF:
		return true;
	case SPECIAL_CPUID:
		return E.vpmu;
	default:
		return reads_gs_selector(in);
	}
}

static bool is_vpmu_rdpmc(const struct insn *in)
{
	return E.vpmu && in->special == SPECIAL_RDPMC;
}

static bool is_told_locked(const struct insn *in)
{
	return E.modes[E.mode].locked && in->classes & CLASS_LOCKED;
}

static bool ends_block(const struct insn *in)
{
	return in->flow != FLOW_NEXT || needs_c(in) || is_vpmu_rdpmc(in) || is_told_locked(in) ||
	       vpmu_asks_x87(in);
}

static bool copies_as_is(const struct insn *in)
{
	return in->flow == FLOW_NEXT || in->flow == FLOW_FAULT || in->flow == FLOW_INT;
}

/* The check at the top of blocks that indirect branches reach: the tables know
 * only the low half of an address. rcx is taken back from its slot through an
 * address that is right only if the high half is the expected one: the slot's
 * page stands alone, 8 times another high half away nothing is mapped, and the
 * fault sends the branch through the dispatcher (signal.c). High halves that
 * close to each other never share low halves in the tables (memory.c). */
static void emit_ientry(struct emit *e, uint64_t pc)
{
	struct mark m = plain(pc, 0, e);
	m.rcx_in_s0 = true;
	m.pc_in_s1 = true;
	mark(e, m);
	b1(e, 0x65), b1(e, 0x8b), b1(e, 0x0c), b1(e, 0x25);	/* mov ecx, gs:[s1 + 4] */
	b4(e, OFF_S1 + 4);
	b1(e, 0x65), b1(e, 0x48), b1(e, 0x8b), b1(e, 0x0c), b1(e, 0xcd);
	b4(e, OFF_S0 - 8 * (uint32_t)(pc >> 32));		/* mov rcx, gs:[s0 + (rcx - high)*8] */
}

/* The same for returns, which have left the program's return address on the stack. */
static void emit_rentry(struct emit *e, uint64_t pc)
{
	struct mark m = plain(pc, 0, e);
	m.rcx_in_s0 = true;
	m.pc_on_stack = true;
	m.rsp_adjust = 8;
	mark(e, m);
	b1(e, 0x8b), b1(e, 0x4c), b1(e, 0x24), b1(e, 4);	/* mov ecx, [rsp + 4] */
	b1(e, 0x65), b1(e, 0x48), b1(e, 0x8b), b1(e, 0x0c), b1(e, 0xcd);
	b4(e, OFF_S0 - 8 * (uint32_t)(pc >> 32));		/* mov rcx, gs:[s0 + (rcx - high)*8] */
	m = plain(pc, 0, e);
	m.rsp_adjust = 8;
	mark(e, m);
	b1(e, 0x48), b1(e, 0x8d), b1(e, 0x64), b1(e, 0x24), b1(e, 8);	/* lea rsp, [rsp + 8] */
}

/* Compares the source with what was translated, 8 bytes at a time, without flags. */
static void emit_check(struct emit *e, const struct block *b)
{
	struct mark m = plain(b->pc, 0, e);
	mark(e, m);
	gs_store(e, RCX, OFF_S2);
	m.in_s2 = RCX;
	mark(e, m);
	gs_store(e, RDX, OFF_S3);
	m.in_s3 = RDX;
	const uint8_t *const src = block_src(b);
	uint8_t *fix[64];
	unsigned n_fix = 0;
	unsigned at = 0;
	while (at < b->src_len) {
		/* the last piece overlaps the one before, or is done bytewise */
		unsigned size = b->src_len - at >= 8 ? 8 : b->src_len - at >= 4 ? 4 :
				b->src_len - at >= 2 ? 2 : 1;
		uint64_t want = 0;
		for (unsigned i = 0; i < size; i++)
			want |= (uint64_t)src[at + i] << (8 * i);
		mark(e, m);
		mov_imm64(e, RCX, b->pc + at);
		mark(e, m);
		switch (size) {
		case 8: b1(e, 0x48), b1(e, 0x8b), b1(e, 0x09); break;
		case 4: b1(e, 0x8b), b1(e, 0x09); break;
		case 2: b1(e, 0x0f), b1(e, 0xb7), b1(e, 0x09); break;
		default: b1(e, 0x0f), b1(e, 0xb6), b1(e, 0x09); break;
		}
		mark(e, m);
		mov_imm64(e, RDX, -want);
		mark(e, m);
		b1(e, 0x48), b1(e, 0x8d), b1(e, 0x0c), b1(e, 0x11);	/* lea rcx,[rcx+rdx] */
		mark(e, m);
		b1(e, 0xe3), b1(e, 5);
		mark(e, m);
		b1(e, 0xe9);
		fix[n_fix++] = e->w;
		b4(e, 0);
		at += size;
	}
	mark(e, m);
	gs_load(e, RDX, OFF_S3);
	m.in_s3 = -1;
	mark(e, m);
	gs_load(e, RCX, OFF_S2);
	mark(e, plain(b->pc, 0, e));
	b1(e, 0xeb);
	uint8_t *const over = e->w;
	b1(e, 0);
	/* stale: */
	for (unsigned i = 0; i < n_fix; i++) {
		const uint32_t rel = (uint32_t)(e->w - fix[i] - 4);
		__builtin_memcpy(fix[i], &rel, 4);
	}
	m.in_s3 = RDX;
	mark(e, m);
	gs_load(e, RDX, OFF_S3);
	m.in_s3 = -1;
	mark(e, m);
	gs_load(e, RCX, OFF_S2);
	mark(e, plain(b->pc, 0, e));
	exit_here(e, e->dry ? 0 : new_link(b->pc, LINK_STALE));
	*over = (uint8_t)(e->w - over - 1);
}

/* rdpmc of the virtual PMU, without flags: ecx picks an entry of the thread's
 * table (vpmu.c), which says what to add to which accumulator; if it does not name
 * this counter, C looks. It ends its block, so all before it and itself are added
 * up already; the entry takes itself out again. */
static void emit_rdpmc(struct emit *e, uint64_t pc, struct mark m)
{
	const uint32_t table = (uint32_t)(THREAD_ACC + offsetof(struct vpmu_task_mem, pmcs));
	mark(e, m);
	gs_store(e, RCX, OFF_S0);
	mark(e, m);
	gs_store(e, RAX, OFF_S2);
	mark(e, m);
	gs_store(e, RDX, OFF_S3);
	struct mark in = m;
	in.rcx_in_s0 = true;
	in.in_s2 = RAX;
	in.in_s3 = RDX;
	mark(e, in);
	b1(e, 0x89), b1(e, 0xca);				/* mov edx, ecx */
	b1(e, 0x0f), b1(e, 0xca);				/* bswap edx */
	b1(e, 0x0f), b1(e, 0xb6), b1(e, 0xd2);			/* movzx edx, dl */
	b1(e, 0x0f), b1(e, 0xb6), b1(e, 0xc1);			/* movzx eax, cl */
	b1(e, 0x8d), b1(e, 0x14), b1(e, 0x10);			/* lea edx, [rax + rdx] */
	b1(e, 0x8d), b1(e, 0x14), b1(e, 0x95), b4(e, 0);	/* lea edx, [rdx * 4] */
	b1(e, 0x65), b1(e, 0x8b), b1(e, 0x04), b1(e, 0xd5);	/* mov eax, gs:[rdx * 8 + …] */
	b4(e, table + (uint32_t)offsetof(struct vpmu_pmc, minus_ecx));
	b1(e, 0x8d), b1(e, 0x0c), b1(e, 0x01);			/* lea ecx, [rcx + rax] */
	b1(e, 0xe3);						/* jrcxz found */
	uint8_t *const found = e->w;
	b1(e, 0);
	gs_load(e, RDX, OFF_S3);
	gs_load(e, RAX, OFF_S2);
	gs_load(e, RCX, OFF_S0);
	mark(e, m);
	emit_exit(e, pc, LINK_SPECIAL);
	*found = (uint8_t)(e->w - found - 1);
	mark(e, in);
	b1(e, 0x65), b1(e, 0x48), b1(e, 0x8b), b1(e, 0x0c), b1(e, 0xd5);	/* mov rcx, addend */
	b4(e, table + (uint32_t)offsetof(struct vpmu_pmc, addend));
	b1(e, 0x65), b1(e, 0x48), b1(e, 0x8b), b1(e, 0x14), b1(e, 0xd5);	/* mov rdx, bank */
	b4(e, table + (uint32_t)offsetof(struct vpmu_pmc, bank));
	for (unsigned i = 0; i < VPMU_BANKS; i++) {
		b1(e, 0x65), b1(e, 0x48), b1(e, 0x8b), b1(e, 0x42), b1(e, 8 * i);
		b1(e, 0x48), b1(e, 0x8d), b1(e, 0x0c), b1(e, 0x01);	/* lea rcx, [rcx + rax] */
	}
	gs_store(e, RCX, OFF_S1);
	b1(e, 0x65), b1(e, 0x8b), b1(e, 0x04), b1(e, 0x25);	/* mov eax, gs:[s1] */
	b4(e, OFF_S1);
	b1(e, 0x65), b1(e, 0x0f), b1(e, vpmu_width() > 40 ? 0xb7 : 0xb6), b1(e, 0x14), b1(e, 0x25);
	b4(e, OFF_S1 + 4);					/* movzx edx, gs:[s1 + 4] */
	gs_load(e, RCX, OFF_S0);
}

/* fnstsw gs:[…]: the flags as they are before the instruction clears them. */
static void emit_x87_status(struct emit *e)
{
	b1(e, 0x65), b1(e, 0xdd), b1(e, 0x3c), b1(e, 0x25);
	b4(e, (uint32_t)(THREAD_ACC + offsetof(struct vpmu_task_mem, x87_status)));
}

/* The virtual clock: takes the block's instructions off the budget, and leaves for
 * C before the block when it is used up. No flags: the sign is the top byte. */
static void emit_tick(struct emit *e, const struct block *b)
{
	const uint32_t budget = (uint32_t)(THREAD_ACC + offsetof(struct vpmu_task_mem, budget));
	struct mark m = plain(b->pc, 0, e);
	const struct mark whole = m;
	mark(e, m);
	gs_store(e, RCX, OFF_S3);
	m.in_s3 = RCX;
	mark(e, m);
	gs_load(e, RCX, budget);
	b1(e, 0x48), b1(e, 0x8d), b1(e, 0x49), b1(e, -b->n_insns);
	gs_store(e, RCX, budget);
	b1(e, 0x65), b1(e, 0x0f), b1(e, 0xbe), b1(e, 0x0c), b1(e, 0x25);	/* movsx ecx, … */
	b4(e, budget + 7);
	b1(e, 0xe3);
	uint8_t *const over = e->w;
	b1(e, 0);
	gs_load(e, RCX, OFF_S3);
	mark(e, whole);
	emit_exit(e, b->pc, LINK_TICK);
	*over = (uint8_t)(e->w - over - 1);
	mark(e, m);
	gs_load(e, RCX, OFF_S3);
}

/* Writes the block; gives the pc it continues at by itself, 0 if nowhere. */
static uint64_t emit_block(struct emit *e, const struct plan *p, struct block *b, uint32_t id)
{
	uint64_t next = 0;
	if (b->flags & BLOCK_IENTRY)
		emit_ientry(e, b->pc);
	else if (b->flags & BLOCK_RENTRY)
		emit_rentry(e, b->pc);
	if (b->flags & BLOCK_CHECKED)
		emit_check(e, b);
	if (E.modes[b->mode].ticks)
		emit_tick(e, b);
	const struct mode *const mode = &E.modes[b->mode];
	const uint32_t taken_id = E.counts_taken || mode->taken ? id + 1 : 0;
	for (int i = 0; i < p->n; i++) {
		const struct insn *const in = &p->in[i];
		const uint8_t *const s = p->src + p->off[i];
		const uint64_t pc = p->pc + p->off[i];
		struct mark m = plain(pc, (unsigned)i, e);
		uint32_t tail = 0;
		if (i == b->inc_at) {
			if (b->inc_how == INC_PLAIN) {
				inc_plain(e, id, m);
			} else if (b->inc_how == INC_SPILL) {
				inc_spilled(e, id, m);
			} else {
				tail = id;
			}
			m = plain(pc, (unsigned)i, e);
		}
		next = pc + in->len;
		if (is_vpmu_rdpmc(in)) {
			emit_rdpmc(e, pc, m);
			mark(e, plain(next, (unsigned)i + 1, e));
			return next;
		}
		if (needs_c(in)) {
			mark(e, m);
			emit_exit(e, pc, LINK_SPECIAL);
			return 0;
		}
		if (copies_as_is(in)) {
			if (in->flow == FLOW_INT && (uint8_t)in->imm == 0x80) {
				mark(e, m);
				emit_exit(e, pc, LINK_SPECIAL);
				return 0;
			}
			if (vpmu_asks_x87(in)) {
				mark(e, m);
				emit_x87_status(e);
			}
			if (uses_gs(in)) {
				emit_gs_operand(e, in, s, pc, m);
			} else if (in->rip_relative) {
				emit_rip_relative(e, in, s, pc, m);
			} else {
				mark(e, m);
				copy(e, s, in->len);
			}
			if (mode->locked && in->classes & CLASS_LOCKED) {
				mark(e, plain(next, (unsigned)i + 1, e));
				emit_exit(e, next, LINK_LOCKED);
				return 0;
			}
			if (vpmu_asks_x87(in)) {
				mark(e, plain(next, (unsigned)i + 1, e));
				emit_exit(e, next, LINK_X87);
				return 0;
			}
			if (in->flow != FLOW_NEXT) {
				mark(e, plain(next, (unsigned)i + 1, e));
				emit_exit(e, next, LINK_STOP);
				return 0;
			}
			continue;
		}
		const uint64_t target = next + (uint64_t)in->imm;
		switch (in->flow) {
		case FLOW_JCC:
			emit_jcc(e, in, target, taken_id, m);
			break;
		case FLOW_LOOP:
			emit_loop(e, in, s, pc, taken_id, m);
			break;
		case FLOW_JMP:
			next = target;
			break;
		case FLOW_CALL:
			mark(e, m);
			push_return(e, next);
			next = target;
			break;
		case FLOW_JMP_IND:
		case FLOW_CALL_IND:
			emit_indirect(e, in, s, pc, tail, m);
			return 0;
		case FLOW_RET:
			emit_ret(e, in, tail, m);
			return 0;
		case FLOW_SYSCALL:
			mark(e, m);
			emit_exit(e, next, LINK_SYSCALL);
			return 0;
		default:
			mark(e, m);
			emit_exit(e, pc, LINK_SPECIAL);
			return 0;
		}
		mark(e, plain(next, (unsigned)i + 1, e));
		return next;
	}
	mark(e, plain(next, (unsigned)p->n, e));
	return next;
}

/* ---- planning ---- */

static bool decode_block(struct plan *p, uint64_t pc, const uint8_t *src, uint64_t avail, int max,
			 bool stop_after_store)
{
	uint64_t off = 0;
	p->pc = pc;
	p->src = src;
	p->n = 0;
	while (p->n < max) {
		struct insn *const in = &p->in[p->n];
		const uint64_t left = avail - off;
		const int len = decode_insn(in, src + off, (unsigned)left);
		if (len <= 0)
			break;
		p->off[p->n++] = (uint16_t)off;
		off += (unsigned)len;
		if (ends_block(in) || (stop_after_store && in->classes & CLASS_STORE))
			break;
	}
	p->off[p->n] = (uint16_t)off;
	return p->n > 0;
}

/* The flags that counting a block changes: inc keeps CF, add does not. */
static unsigned counting_flags(void)
{
	return E.modes[E.mode].acc ? FLAG_ARITH : FLAG_ARITH & ~FLAG_CF;
}

/* Are flags that counting changes read before written from pc on? */
static bool flags_live_at(uint64_t pc, int depth)
{
	unsigned need = counting_flags();
	const struct region *r = region_find(pc);
	for (int i = 0; r && i < 24; i++) {
		struct insn in;
		if (pc < r->start || pc >= r->end)
			r = region_find(pc);
		if (!r)
			return true;
		const uint64_t left = readable_end(pc, r->end - pc > 32 ? pc + 32 : r->end) - pc;
		if (decode_insn(&in, (const uint8_t *)pc, (unsigned)left) <= 0)
			return true;
		if (in.flags_read & need)
			return true;
		need &= ~(unsigned)in.flags_written;
		if (!need)
			return false;
		const uint64_t next = pc + in.len;
		switch (in.flow) {
		case FLOW_NEXT:
			pc = next;
			break;
		case FLOW_JMP:
		case FLOW_CALL:
			pc = next + (uint64_t)in.imm;
			break;
		case FLOW_LOOP:
		case FLOW_JCC:
			if (depth <= 0 || flags_live_at(next + (uint64_t)in.imm, depth - 1))
				return true;
			pc = next;
			break;
		case FLOW_JMP_IND: {
			/* a PLT stub: look where its slot points now */
			uint64_t slot;
			if (!in.rip_relative || depth <= 0 || uses_gs(&in))
				return true;
			if (!copy_guest(&slot, (void *)rip_target(&in, (const uint8_t *)pc, pc), 8))
				return true;
			return flags_live_at(slot, depth - 1);
		}
		default:
			return true;
		}
	}
	return true;
}

static bool flags_live_after(const struct plan *p)
{
	const struct insn *const last = &p->in[p->n - 1];
	const uint64_t next = p->pc + p->off[p->n];
	switch (last->flow) {
	case FLOW_NEXT:
		return flags_live_at(next, 2);
	case FLOW_JMP:
	case FLOW_CALL:
		return flags_live_at(next + (uint64_t)last->imm, 2);
	case FLOW_JCC:
	case FLOW_LOOP:
		return flags_live_at(next, 2) ||
		       flags_live_at(next + (uint64_t)last->imm, 2);
	default:
		return true;
	}
}

/* Finds the first place where no flag but CF is live; -1 if there is none. */
static int dead_flags_at(const struct plan *p, unsigned live)
{
	int best = -1;
	for (int i = p->n - 1; i >= 0; i--) {
		const struct insn *const in = &p->in[i];
		live = (live & ~(unsigned)in->flags_written) | in->flags_read;
		if (!(live & counting_flags()))
			best = i;
	}
	return best;
}

static void place_counter(const struct plan *p, struct block *b)
{
	const struct insn *const last = &p->in[p->n - 1];
	int at = dead_flags_at(p, FLAG_ARITH);
	b->inc_how = INC_PLAIN;
	if (at < 0 && last->flow != FLOW_RET && last->flow != FLOW_JMP_IND &&
	    last->flow != FLOW_CALL_IND && !flags_live_after(p))
		at = dead_flags_at(p, 0);
	if (at < 0) {
		const bool tail = last->flow == FLOW_RET || last->flow == FLOW_JMP_IND ||
				  last->flow == FLOW_CALL_IND;
		b->inc_how = tail ? INC_IN_TAIL : INC_SPILL;
		at = tail ? p->n - 1 : 0;
	}
	b->inc_at = (uint8_t)at;
}

static void fill_vector(const struct plan *p, struct block *b)
{
	mem_zero(b->vec, sizeof(b->vec));
	for (int i = 0; i < p->n; i++)
		count_vec_add(b->vec, &p->in[i]);
}

/* Translates the block at pc into the segment. Returns its id, 0 if the bytes
 * there are not an instruction. `next` is where it goes on by itself, 0 if nowhere. */
static uint32_t translate_one(struct segment *s, uint64_t pc, unsigned flags, uint64_t *next,
			      uint32_t back_to)
{
	const struct region *const r = region_find(pc);
	if (!r) {
		translate_problem = PROBLEM_NOT_EXECUTABLE;
		return 0;
	}
	uint64_t end = r->end;
	while (end - pc < 15 * MAX_INSNS) {
		const struct region *const more = region_find(end);
		if (!more)
			break;
		end = more->end;
	}
	end = readable_end(pc, end - pc > 15 * MAX_INSNS ? pc + 15 * MAX_INSNS : end);
	if (end == pc) {
		translate_problem = PROBLEM_BAD_INSN;
		return 0;
	}
	bool checked = r->shared;
	const bool writable = r->prot & 2;
	if (writable && !(flags & BLOCK_SINGLE)) {
		checked |= page_is_checked(PAGE_DOWN(pc));
		if (!checked)
			page_protect(PAGE_DOWN(pc));
	}
	struct plan *const p = &the_plan;
	const int max = flags & BLOCK_SINGLE ? 1 : checked ? MAX_CHECKED : MAX_INSNS;
	if (!decode_block(p, pc, (const uint8_t *)pc, end - pc, max, checked)) {
		translate_problem = PROBLEM_BAD_INSN;
		return 0;
	}
	if (writable && !(flags & BLOCK_SINGLE) && !checked)
		for (uint64_t page = PAGE_DOWN(pc) + PAGE; page < pc + p->off[p->n]; page += PAGE)
			page_protect(page);
	const uint32_t id = new_block();
	const uint32_t taken_id = E.counts_taken || E.modes[E.mode].taken ? new_block() : 0;
	struct block *const b = block_at(id);
	b->pc = pc;
	b->src_len = p->off[p->n];
	b->n_insns = (uint8_t)p->n;
	b->mode = E.mode;
	b->flags = (uint16_t)(flags | (checked ? BLOCK_CHECKED : 0));
	if (writable || checked || r->anon) {
		uint8_t *const kept = heap_alloc(b->src_len);
		mem_copy(kept, (const void *)pc, b->src_len);
		b->src = (uint32_t)((uint64_t)kept - ZONE_HEAP);
	}
	fill_vector(p, b);
	place_counter(p, b);
	if (taken_id) {
		const struct insn *const last = &p->in[p->n - 1];
		mem_zero(block_at(taken_id), sizeof(struct block));
		block_at(taken_id)->pc = pc;
		block_at(taken_id)->flags = BLOCK_DEAD;
		block_at(taken_id)->mode = E.mode;
		block_at(taken_id)->vec[SOFT_TAKEN] = 1;
		b->vec[SOFT_TAKEN] = (last->classes & CLASS_BRANCH) && !(last->classes & CLASS_COND);
	}
	struct emit e = { .w = (uint8_t *)s->hot, .seg = s, .single = flags & BLOCK_SINGLE, .pc = pc,
			  .back_to = back_to };
	b->code = s->hot;
	s->ids[s->n_ids++] = id;
	block_enter_tables(id);
	*next = emit_block(&e, p, b, id);
	s->hot = (uint64_t)e.w;
	b->code_len = (uint16_t)(s->hot - b->code);
	E.code_bytes += b->code_len;
	E.source_bytes += b->src_len;
	return id;
}

/* Ends a chain: the last block goes on at `next` by a jump. */
static void close_block(struct segment *s, uint32_t id, uint64_t next)
{
	struct emit e = { .w = (uint8_t *)s->hot, .seg = s };
	jump_to(&e, next);
	s->hot = (uint64_t)e.w;
	block_at(id)->code_len = (uint16_t)(s->hot - block_at(id)->code);
}

static bool worth_following(uint64_t next)
{
	if (block_find(next))
		return false;
	const struct region *const r = region_find(next);
	return r && !(r->prot & 2) && !r->shared;
}

/* The block `id` is a loop by itself: copies of it, in a ring. */
static void close_loop(struct segment *s, uint32_t id)
{
	const uint32_t edge = loop_edge;
	const uint64_t pc = block_at(id)->pc;
	uint32_t to = id;
	loop_edge = 0;
	for (int i = 0; i < LOOP_COPIES && s->cold - s->hot >= ROOM; i++) {
		uint64_t next;
		const uint32_t copy = translate_one(s, pc, BLOCK_TWIN, &next, to);
		if (!copy)
			break;
		close_block(s, copy, next);
		to = copy;
	}
	link_to(edge, to);
}

/* Only an entry, and a jump to the block. */
static void put_entry(struct segment *s, uint64_t pc, uint32_t src, enum arrival how)
{
	const uint32_t id = new_block();
	struct block *const n = block_at(id);
	*n = (struct block){ .pc = pc, .code = s->hot, .src = src,
			     .flags = BLOCK_IENTRY_ONLY | BLOCK_DEAD };
	struct emit e = { .w = (uint8_t *)s->hot, .seg = s };
	s->ids[s->n_ids++] = id;
	if (how == ARRIVE_BY_RETURN) {
		n->flags |= BLOCK_RENTRY;
		emit_rentry(&e, pc);
	} else {
		emit_ientry(&e, pc);
	}
	jump_to(&e, pc);
	s->hot = (uint64_t)e.w;
	n->code_len = (uint16_t)(s->hot - n->code);
	entry_set(id, n->code, how);
}

static uint32_t translate_chain(uint64_t pc, unsigned flags)
{
	struct segment *const s = segment_for(pc);
	readable_reset();
	uint32_t first = 0, id = 0;
	uint64_t next = pc;
	translate_problem = PROBLEM_NONE;
	loop_edge = 0;
	for (int i = 0; i < CHAIN && s->cold - s->hot >= ROOM; i++) {
		const uint32_t made = translate_one(s, next, flags, &next, 0);
		if (!made)
			break;
		if (id)
			block_at(id)->flags |= BLOCK_FALLS;
		id = made;
		if (!first)
			first = id;
		if (!next)
			return first;
		if (loop_edge || !worth_following(next))
			break;
		flags = BLOCK_CHAINED;
	}
	if (id)
		close_block(s, id, next);
	if (loop_edge)
		close_loop(s, id);
	return first;
}

/* Indirect branches of other threads take no lock: they may find the block only when
 * all of its code is there. */
static uint64_t ticks(void)
{
	return E.no_tsc ? 0 : __builtin_ia32_rdtsc();
}

uint32_t translate(uint64_t pc, enum arrival how)
{
	const uint64_t begin = ticks();
	const uint32_t id = translate_chain(pc, how == ARRIVE_BY_JUMP ? BLOCK_IENTRY :
						how == ARRIVE_BY_RETURN ? BLOCK_RENTRY : 0);
	if (id && how)
		entry_set(id, block_at(id)->code, how);
	E.ticks += ticks() - begin;
	return id;
}

/* One instruction, run once: a store that changes its own page. */
uint32_t translate_single(uint64_t pc)
{
	struct segment *const s = segment_for(pc);
	readable_reset();
	uint64_t next;
	const uint32_t id = translate_one(s, pc, BLOCK_SINGLE, &next, 0);
	if (id && next) {
		struct emit e = { .w = (uint8_t *)s->hot, .seg = s };
		exit_here(&e, new_link(next, LINK_STOP));
		s->hot = (uint64_t)e.w;
		block_at(id)->code_len = (uint16_t)(s->hot - block_at(id)->code);
	}
	return id;
}

void entry_add(uint32_t id, enum arrival how)
{
	const struct block *const b = block_at(id);
	if (b->flags & (how == ARRIVE_BY_RETURN ? BLOCK_RENTRY : BLOCK_IENTRY))
		entry_set(id, b->code, how);	/* the first of them arrives */
	else
		put_entry(segment_for(b->pc), b->pc, b->src, how);
}

/* ---- the way back ---- */

static void apply_mark(struct thread *t, const struct mark *m, uint64_t regs[16], uint64_t *pc)
{
	if (m->rcx_in_s0)
		regs[RCX] = *spill0(t);
	if (m->in_s2 >= 0)
		regs[m->in_s2] = t->spill[1];
	if (m->in_s3 >= 0)
		regs[m->in_s3] = t->spill[2];
	if (m->biased >= 0)
		regs[m->biased] -= t->app_gs;
	*pc = m->pc_in_s1 ? t->spill[0] : m->pc;
	if (m->pc_on_stack && !copy_guest(pc, (const void *)regs[RSP], 8))
		die("a return address went away", m->pc);
	regs[RSP] += (uint64_t)(int64_t)m->rsp_adjust;
}

static bool is_stub(uint64_t at, uint32_t *link)
{
	const uint8_t *const c = (const uint8_t *)at;
	static const uint8_t head[8] = { 0x65, 0xc7, 0x04, 0x25, OFF_EXIT, 0, 0, 0 };
	if (!mem_equal(c, head, 8))
		return false;
	__builtin_memcpy(link, c + 8, 4);
	return true;
}

/* At an exit stub of a jump: the program stands at the link's target. (Exits of
 * system calls and special instructions are part of their blocks.) */
static bool recover_stub(const struct segment *s, uint64_t code, uint64_t *pc)
{
	uint32_t id;
	if (!is_stub(code, &id) && !(code >= s->base + 12 && is_stub(code - 12, &id)))
		return false;
	*pc = link_at(id)->target;
	return true;
}

bool recover(struct thread *t, uint64_t code, uint64_t regs[16], uint64_t *pc)
{
	struct segment *const s = segment_of(code);
	if (!s)
		return false;
	const uint32_t id = block_of_code(s, code);
	if (!id)
		return recover_stub(s, code, pc);
	struct block *const b = block_at(id);
	struct emit *const e = &dry_emit;
	static uint8_t sink[ROOM + 4096];
	*e = (struct emit){ .w = sink, .delta = b->code - (uint64_t)sink, .seg = s, .dry = true,
			    .single = b->flags & BLOCK_SINGLE, .want = code };
	if (b->flags & BLOCK_IENTRY_ONLY) {
		if (b->flags & BLOCK_RENTRY)
			emit_rentry(e, b->pc);
		else
			emit_ientry(e, b->pc);
		mark(e, plain(b->pc, 0, e));
		apply_mark(t, &e->found, regs, pc);
		return true;
	}
	struct plan *const p = &dry_plan;
	decode_block(p, b->pc, block_src(b), b->src_len, b->n_insns, false);
	p->n = b->n_insns;
	emit_block(e, p, b, id);
	if (here(e) > b->code + b->code_len)
		die("a block cannot be read back", b->pc);
	apply_mark(t, &e->found, regs, pc);
	uint8_t done[SOFT_EVENTS] = { 0 };
	const struct mode *const mode = &E.modes[b->mode];
	for (int i = 0; i < e->found.retired; i++)
		count_vec_add(done, &p->in[i]);
	if ((E.counts_taken || mode->taken) && e->found.retired == p->n)
		done[SOFT_TAKEN] = (uint8_t)(b->vec[SOFT_TAKEN] + e->found.taken);
	unsigned bumped = e->found.bumped;
	for (int k = 0; k < SOFT_EVENTS; k++) {
		const bool was = bumped > 0;
		if (mode->acc >> k & 1 && b->vec[k] && bumped && bumped != BUMPED_ALL)
			bumped--;
		const int64_t more = (int64_t)done[k] - (was ? b->vec[k] : 0);
		count_add(t, k, more, mode);
		if (!mode->acc && in_vdso(b->pc))
			t->vdso_corr[k] += more;
	}
	return true;
}
