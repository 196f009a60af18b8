/* A whole block: its entries and checks, its instructions one by one. See emit.h. */
#include "calls.h"
#include "emit.h"
#include "sys.h"
#include "text.h"
#include "vpmu-abi.h"

static void emit_exit(struct emit *e, uint64_t target, uint8_t kind)
{
	exit_here(e, e->dry ? 0 : new_link(target, kind));
}

/* The exit after x87 state was stored, with the address of an instruction of the cache in it. */
static void emit_fp_env(struct emit *e, uint8_t kind, uint64_t pc, uint64_t next)
{
	const uint32_t id = e->dry ? 0 : new_link(next, kind);
	if (id)
		link_at(id)->insn = pc;
	exit_here(e, id);
}

/* Does the instruction show the CPU, or store state of which the machine has less? C runs these. */
static bool asks_machine(const struct insn *in)
{
	const unsigned reg = in->modrm >> 3 & 7;
	if (in->special == SPECIAL_CPUID || in->special == SPECIAL_MACHINE)
		return true;
	if (in->special == SPECIAL_RDTSC)
		return in->opcode == 0x01;				/* rdtscp */
	return in->special == SPECIAL_FP_ENV && in->flow == FLOW_NEXT && in->map == 1 &&
	       reg && reg != 7;						/* xsave, xsaveopt, xsavec */
}

/* In a still world C answers what shows time or is random: rdtsc, rdrand, rdseed. With pause a task lets others run. */
static bool asks_world(const struct insn *in)
{
	return in->special == SPECIAL_RDTSC || in->special == SPECIAL_RANDOM || decode_is_pause(in);
}

static bool needs_c(const struct insn *in)
{
	if (E.hermetic && asks_world(in))
		return true;
	switch (in->special) {
	case SPECIAL_GSBASE_READ:
	case SPECIAL_GSBASE_WRITE:
	case SPECIAL_GS_LOAD:
	case SPECIAL_SHSTK:
	case SPECIAL_POPF:
	case SPECIAL_REQUEST:
		return true;
	case SPECIAL_CPUID:
		if (E.vpmu)
			return true;
		/* fall through */
	default:
		return decode_reads_gs_selector(in) || (E.machine && asks_machine(in));
	}
}

static bool is_vpmu_rdpmc(const struct insn *in)
{
	return E.vpmu && in->special == SPECIAL_RDPMC;
}

static bool is_told_locked(const struct insn *in)
{
	return cache.modes[cache.mode].locked && in->classes & CLASS_LOCKED;
}

/* lfence, mfence, serialize. (C runs cpuid.) */
static bool is_told_serial(const struct insn *in)
{
	if (!cache.modes[cache.mode].serial || in->encoding || in->map != 1 || in->modrm < 0xc0)
		return false;
	return (in->opcode == 0xae && !in->rep && (in->modrm >> 3 == 035 || in->modrm >> 3 == 036)) ||
	       (in->opcode == 0x01 && in->modrm == 0xe8 && !in->rep);
}

/* ldmxcsr, fxrstor, xrstor, fldenv, frstor */
static bool loads_fp_flags(const struct insn *in)
{
	const unsigned reg = in->modrm >> 3 & 7;
	if (!in->has_modrm || in->modrm >= 0xc0)
		return false;
	return (in->map == 1 && in->opcode == 0xae && (reg == 1 || reg == 2 || reg == 5)) ||
	       (in->map == 0 && ((in->opcode == 0xd9 || in->opcode == 0xdd) && reg == 4));
}

/* May it change an exception flag of x87 or SSE, and is that of interest? */
static bool is_told_fp(const struct insn *in)
{
	return cache.modes[cache.mode].fp && in->flow == FLOW_NEXT && in->special != SPECIAL_FP_ENV && !needs_c(in) &&
	       !vpmu_asks_x87(in) && (in->classes & (CLASS_X87 | CLASS_FP) || loads_fp_flags(in));
}

bool ends_block(const struct insn *in)
{
	return is_told_fp(in) || in->flow != FLOW_NEXT || in->special == SPECIAL_FP_ENV || needs_c(in) ||
	       is_vpmu_rdpmc(in) || is_told_locked(in) || is_told_serial(in) || vpmu_asks_x87(in);
}

static bool copies_as_is(const struct insn *in)
{
	return in->flow == FLOW_NEXT || in->flow == FLOW_FAULT || in->flow == FLOW_INT;
}

/* Both checks compare without touching flags: rcx becomes the difference, and `jrcxz` goes on
 * if that is 0. (`loop` would need no jump here, but is slow on Intel's CPUs.) The code before
 * ENTRY_AT is where a check that fails goes. */
static void emit_jump_back(struct emit *e, uint64_t top)
{
	bn(e, 3, 0xeb02e3);					/* jrcxz over the jump; jmp … */
	b1(e, (uint8_t)(top - (here(e) + 1)));			/* … top */
}

/* The check at the top of blocks that indirect branches reach: the tables know only the
 * low half of an address. */
void emit_jump_entry(struct emit *e, uint64_t pc, bool start, bool flags_free)
{
	struct mark m = plain(pc, 0, e);
	m.rcx_in_s0 = true;
	m.pc_in_s1 = true;
	if (cache.calls)
		m.calls = CALLS_ARRIVING;
	mark(e, m);
	const uint64_t miss = here(e);
	b1(e, 0xe9);						/* miss: jmp glue_miss */
	b4(e, (uint32_t)(e->seg->tramp_miss - (here(e) + 4)));
	bn(e, 4, 0x250c8b65), b4(e, GS(OFF_S1 + 4));		/* mov ecx, gs:[s1 + 4] */
	bn(e, 2, 0x898d), b4(e, 0 - (uint32_t)(pc >> 32));	/* lea ecx, [rcx - high] */
	emit_jump_back(e, miss);
	if (cache.calls)
		emit_arrival(e, pc, start, flags_free, miss);
	else
		gs_load(e, RCX, OFF_S0);
}

/* Loads the return address. Without the call graph it is popped: code behind it finds the context beside the stack's
 * words as they were. */
static void load_return(struct emit *e)
{
	if (cache.calls)
		bn(e, 4, 0x240c8b48);				/* mov rcx, [rsp] */
	else
		b1(e, 0x59);					/* pop rcx */
}

/* rcx becomes 0 if it is pc. What the first lea subtracts is signed, so `high` is of the rest. */
static void emit_compare_at_once(struct emit *e, uint64_t pc, uint64_t wrong)
{
	const uint32_t minus_low = 0 - (uint32_t)pc;
	const uint64_t high = (pc + (uint64_t)(int64_t)(int32_t)minus_low) >> 32;
	bn(e, 3, 0x898d48), b4(e, minus_low);			/* lea rcx, [rcx - low] */
	bn(e, 6, 0x20c9f0fbe3c4);				/* rorx rcx, rcx, 32 */
	bn(e, 3, 0x898d48), b4(e, 0 - (uint32_t)high);		/* lea rcx, [rcx - high] */
	emit_jump_back(e, wrong);
}

/* … without BMI2. (Eight bytes were read for the sake of four: reading the first half of what
 * was just pushed is slow.) */
static void emit_compare_halves(struct emit *e, uint64_t pc, uint64_t wrong)
{
	bn(e, 2, 0x898d), b4(e, 0 - (uint32_t)pc);		/* lea ecx, [rcx - low] */
	emit_jump_back(e, wrong);
	bn(e, 4, cache.calls ? 0x04244c8b : 0xfc244c8b);	/* mov ecx, [rsp + 4], or - 4 */
	bn(e, 2, 0x898d), b4(e, 0 - (uint32_t)(pc >> 32));	/* lea ecx, [rcx - high] */
	emit_jump_back(e, wrong);
}

/* The check of returns, which have left the program's return address on the stack. It may be
 * any other, because the shadow is only what the last call there wrote. */
void emit_return_entry(struct emit *e, uint64_t pc, bool flags_free)
{
	struct mark m = plain(pc, 0, e);
	m.rcx_in_s0 = true;
	m.pc_on_stack = true;
	m.rsp_adjust = cache.calls ? 8 : 0;
	mark(e, m);
	const uint64_t wrong = here(e);
	b1(e, 0xe9);						/* wrong: jmp return_lookup or return_wrong */
	b4(e, (uint32_t)(e->seg->return_lookup - (cache.calls ? 0 : UNPOP_SIZE) - (here(e) + 4)));
	m.rsp_adjust = 8;
	mark(e, m);
	load_return(e);
	m.rsp_adjust = cache.calls ? 8 : 0;
	mark(e, m);
	/* (Also where the code here reads no flags: the code at another address may.) */
	if (cache.has_bmi2)
		emit_compare_at_once(e, pc, wrong);
	else
		emit_compare_halves(e, pc, wrong);
	if (cache.calls)
		m = emit_return_context(e, pc, flags_free, m);
	gs_load(e, RCX, OFF_S0);
	m = plain(pc, 0, e);
	m.rsp_adjust = cache.calls ? 8 : 0;
	mark(e, m);
	if (cache.calls)
		bn(e, 5, 0x0824648d48);				/* lea rsp, [rsp + 8] */
}

/* The size of the next piece of the source to compare: aligned, because the program may have set
 * AC. */
static unsigned piece(uint64_t at, unsigned left)
{
	unsigned size = 8;
	while (size > left || at % size)
		size /= 2;
	return size;
}

/* Compares the source with what was translated, up to 8 bytes at a time, without flags. */
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
		const unsigned size = piece(b->pc + at, b->src_len - at);
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

/* rdpmc of the virtual PMU, without changing flags. ecx selects an entry of the task's table
 * (vpmu.c), which says what to add to which accumulator. If the entry is not for this counter, C
 * answers. rdpmc ends its block, so the accumulators hold everything up to and including it; the
 * addend of the entry subtracts rdpmc itself. */
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
	b4(e, GS(table + (uint32_t)offsetof(struct vpmu_pmc, minus_ecx)));
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
	b4(e, GS(table + (uint32_t)offsetof(struct vpmu_pmc, addend)));
	b1(e, 0x65), b1(e, 0x48), b1(e, 0x8b), b1(e, 0x14), b1(e, 0xd5);	/* mov rdx, bank */
	b4(e, GS(table + (uint32_t)offsetof(struct vpmu_pmc, bank)));
	for (unsigned i = 0; i <= VPMU_FEW_BANKS; i++) {
		b1(e, 0x65), b1(e, 0x48), b1(e, 0x8b), b1(e, 0x82);	/* mov rax, gs:[rdx + …] */
		b4(e, 8 * (i < VPMU_FEW_BANKS ? i : VPMU_BANKS - 1));
		b1(e, 0x48), b1(e, 0x8d), b1(e, 0x0c), b1(e, 0x01);	/* lea rcx, [rcx + rax] */
	}
	gs_store(e, RCX, OFF_S1);
	b1(e, 0x65), b1(e, 0x8b), b1(e, 0x04), b1(e, 0x25);	/* mov eax, gs:[s1] */
	b4(e, GS(OFF_S1));
	b1(e, 0x65), b1(e, 0x0f), b1(e, vpmu_width() > 40 ? 0xb7 : 0xb6), b1(e, 0x14), b1(e, 0x25);
	b4(e, GS(OFF_S1 + 4));					/* movzx edx, gs:[s1 + 4] */
	gs_load(e, RCX, OFF_S0);
}

/* fnstsw gs:[…]: the exception flags before the instruction clears them. */
static void emit_x87_status(struct emit *e)
{
	b1(e, 0x65), b1(e, 0xdd), b1(e, 0x3c), b1(e, 0x25);
	b4(e, GS(THREAD_ACC + offsetof(struct vpmu_task_mem, x87_status)));
}

/* Leaves the cache if the exception flags of x87 and SSE are not those that C saw last. Changes no
 * flags: both low bytes are stored side by side, and rcx becomes their difference from the last. */
static void emit_fp_check(struct emit *e, uint64_t next, bool loads, struct mark m)
{
	const uint32_t now = (uint32_t)(THREAD_ACC + offsetof(struct vpmu_task_mem, fp_now));
	const uint32_t minus = (uint32_t)(THREAD_ACC + offsetof(struct vpmu_task_mem, fp_minus));
	const struct mark whole = m;
	mark(e, m);
	gs_store(e, RCX, OFF_S2);
	m.in_s2 = RCX;
	mark(e, m);
	gs_store(e, RDX, OFF_S3);
	m.in_s3 = RDX;
	mark(e, m);
	b1(e, 0x65), b1(e, 0xdd), b1(e, 0x3c), b1(e, 0x25);	/* fnstsw gs:[now] */
	b4(e, GS(now));
	b1(e, 0x65), b1(e, 0x0f), b1(e, 0xae), b1(e, 0x1c), b1(e, 0x25);	/* stmxcsr gs:[now + 1] */
	b4(e, GS(now + 1));
	b1(e, 0x65), b1(e, 0x0f), b1(e, 0xb7), b1(e, 0x0c), b1(e, 0x25);	/* movzx ecx, gs:[now] */
	b4(e, GS(now));
	gs_load(e, RDX, minus);
	b1(e, 0x8d), b1(e, 0x0c), b1(e, 0x11);			/* lea ecx, [rcx + rdx] */
	b1(e, 0xe3);						/* jrcxz same */
	uint8_t *const same = e->w;
	b1(e, 0);
	gs_load(e, RDX, OFF_S3);
	m.in_s3 = -1;
	mark(e, m);
	gs_load(e, RCX, OFF_S2);
	mark(e, whole);
	emit_fp_env(e, LINK_FP, loads, next);
	*same = (uint8_t)(e->w - same - 1);
	m.in_s3 = RDX;
	mark(e, m);
	gs_load(e, RDX, OFF_S3);
	m.in_s3 = -1;
	mark(e, m);
	gs_load(e, RCX, OFF_S2);
}

/* Whether a branch is taken is not known before, so taken branches have a budget of their own: each
 * block that may have one takes it from the budget, and leaves the cache before it runs if the
 * budget is used up. Changes no flags: the top byte holds the sign. */
static void emit_taken_budget(struct emit *e, const struct plan *p, const struct block *b, uint32_t id)
{
	const uint32_t budget = (uint32_t)(THREAD_ACC + offsetof(struct vpmu_task_mem, taken_budget));
	const unsigned flow = last_flow(p);
	struct mark m = plain(b->pc, 0, e);
	const struct mark whole = m;
	if (b->flags & BLOCK_SINGLE || !(cache.modes[b->mode].budgets >> SOFT_TAKEN & 1) ||
	    (!b->vec[SOFT_TAKEN] && flow != FLOW_JCC && flow != FLOW_LOOP))
		return;
	mark(e, m);
	gs_store(e, RCX, OFF_S3);
	m.in_s3 = RCX;
	mark(e, m);
	gs_load(e, RCX, budget);
	b1(e, 0x48), b1(e, 0x8d), b1(e, 0x49), b1(e, -1);
	gs_store(e, RCX, budget);
	b1(e, 0x65), b1(e, 0x0f), b1(e, 0xbe), b1(e, 0x0c), b1(e, 0x25);	/* movsx ecx, … */
	b4(e, GS(budget + 7));
	b1(e, 0xe3);
	uint8_t *const over = e->w;
	b1(e, 0);
	gs_load(e, RCX, OFF_S3);
	mark(e, whole);
	const uint32_t link = e->dry ? 0 : new_link(b->pc, LINK_TICK);
	if (link)
		link_at(link)->bumps = id;
	exit_here(e, link);
	*over = (uint8_t)(e->w - over - 1);
	mark(e, m);
	gs_load(e, RCX, OFF_S3);
}

/* Does the direct call or jump at the end of the block change the context? */
static bool changes_context(const struct block *b, unsigned flow, uint64_t target, uint64_t next)
{
	return (flow == FLOW_JMP && b->flags & BLOCK_TAIL) || (flow == FLOW_CALL && cache.calls && target != next);
}

/* Writes the block. Returns the pc that it goes on at without a branch; 0: it does not. */
uint64_t emit_block(struct emit *e, const struct plan *p, struct block *b, uint32_t id)
{
	uint64_t next = 0;
	if (b->flags & BLOCK_JUMP_ENTRY)
		emit_jump_entry(e, b->pc, false, false);
	else if (b->flags & BLOCK_RETURN_ENTRY)
		emit_return_entry(e, b->pc, false);
	if (b->flags & BLOCK_CHECKED)
		emit_check(e, b);
	emit_taken_budget(e, p, b, id);
	if (trace_wanted())
		trace_block(e, p, b);
	const struct mode *const mode = &cache.modes[b->mode];
	const uint32_t taken_id = cache.counts_taken || mode->taken ? id + 1 : 0;
	e->inverted = b->flags & BLOCK_INVERTED;
	e->free_at_target = b->flags & BLOCK_FLAGS_FREE_AT_TARGET;
	if (b->runs_from)
		e->bumped = BUMPED_ALL;
	if (b->runs_from && calls_add_ahead())
		e->added = ADDED_ALL;
	for (int i = 0; i < p->n; i++) {
		const struct insn *const in = &p->in[i];
		const uint8_t *const s = p->src + p->off[i];
		const uint64_t pc = p->pc + p->off[i];
		uint32_t tail = 0;
		if (i == b->inc_at) {
			if (b->inc_how == INC_PLAIN)
				inc_plain(e, id, plain(pc, (unsigned)i, e));
			else if (b->inc_how == INC_SPILL)
				inc_spilled(e, id, plain(pc, (unsigned)i, e));
			else
				tail = id;
		}
		if (p->step[i].simple) {
			/* for real, all simple instructions in a row at once, and without a mark */
			int to = i + 1;
			while (!e->dry && to < p->n && p->step[to].simple && to != b->inc_at)
				to++;
			if (e->dry)
				mark(e, plain(pc, (unsigned)i, e));
			copy_run(e, s, p->off[to] - p->off[i]);
			next = p->pc + p->off[to];
			i = to - 1;
			continue;
		}
		struct mark m = plain(pc, (unsigned)i, e);
		next = pc + in->len;
		if (trace_wanted())
			trace_insn(e, in, s, pc, m, false);
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
			if (trace_wanted())
				trace_insn(e, in, s, pc, plain(next, (unsigned)i + 1, e), true);
			if (is_told_fp(in)) {
				emit_fp_check(e, next, loads_fp_flags(in), plain(next, (unsigned)i + 1, e));
				mark(e, plain(next, (unsigned)i + 1, e));
				return next;
			}
			if (in->special == SPECIAL_FP_ENV && in->flow == FLOW_NEXT) {
				mark(e, plain(next, (unsigned)i + 1, e));
				emit_fp_env(e, vpmu_asks_x87(in) ? LINK_X87 : LINK_FP_ENV, pc, next);
				return 0;
			}
			if (mode->locked && in->classes & CLASS_LOCKED) {
				mark(e, plain(next, (unsigned)i + 1, e));
				emit_exit(e, next, LINK_LOCKED);
				return 0;
			}
			if (is_told_serial(in)) {
				mark(e, plain(next, (unsigned)i + 1, e));
				emit_exit(e, next, LINK_SERIAL);
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
		uint64_t target = next + (uint64_t)in->imm;
		struct transition to = { .call = in->flow == FLOW_CALL, .flags_free = e->free_at_target };
		if (changes_context(b, in->flow, target, next)) {
			const uint8_t kind = to.call ? CALLS_CALL : CALLS_TAIL;
			to.slot = b->constant ? calls_site_constant(pc, target, kind, !e->dry && branch_is_indirect(in)) :
				  calls_site(pc, target, kind, !e->dry);
			target = slot_info_at(to.slot)->target;
		}
		switch (in->flow) {
		case FLOW_JCC:
			if (counts_rarer_way(b)) {
				e->bumps = block_at(id + 1)->runs_from ? 0 : id + 1;
				emit_jcc(e, in, target, 0, false, m);
			} else {
				emit_jcc(e, in, target, taken_id, b->flags & BLOCK_TAIL, m);
			}
			break;
		case FLOW_LOOP:
			emit_loop(e, in, s, pc, taken_id, m);
			break;
		case FLOW_JMP:
			next = target;
			if (to.slot)
				emit_transition(e, to, m, plain(target, (unsigned)i + 1, e));
			break;
		case FLOW_CALL:
			m = push_return(e, next, m);
			if (to.slot)
				emit_transition(e, to, m, plain(target, (unsigned)i + 1, e));
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
		/* (what comes next is the branch itself, where that is an indirect one of the program) */
		mark(e, b->constant && !to.slot ? m : plain(next, (unsigned)i + 1, e));
		return next;
	}
	if (e->dry)
		mark(e, plain(next, (unsigned)p->n, e));
	return next;
}
