/* Translating blocks of the program.
 *
 * One pass decodes a block (decode_block), a second one writes it (emit_block).
 * Instructions are copied as they are; only control flow, RIP-relative operands
 * out of reach and a few special instructions are rewritten:
 *
 *	[check]				only where indirect jumps or returns arrive
 *	copied instructions …
 *	inc gs:[cell]			before the first instruction where no flag
 *					but CF is live
 *	copied instructions …
 *	branch				direct: jcc/jmp rel32, patched when its target
 *					exists; indirect: through the tables T and P
 *
 * Blocks that follow each other (fall-through, jmp, call) are written one after the other,
 * without a jump. The block that runs first after a conditional branch is written behind the
 * branch, without an increment: the times that the branch leaves the chain are counted instead
 * (docs/engine.md).
 *
 * The bytes of a block depend only on its source bytes, its addresses and the choices kept in
 * struct block. So no table is needed to find the program's state at an address of the cache:
 * recover() writes the block once more without storing it and stops at the address, having noted
 * for each instruction what would have to be undone there (struct mark).
 */
#include "calls.h"
#include "emit.h"
#include "sys.h"
#include "text.h"
#include "vpmu-abi.h"

#define STACK_BELOW 512	/* bytes below rsp that the stack is expected to use */
#define CHAIN 6			/* blocks of a chain that are written at once */
#define DEPTH 16		/* uncounted blocks in a row, at most */
#define MAX_CHECKED 16		/* instructions of a checked block */
#define MAX_TRACED 24		/* … of one that writes a trace: its code is long */
/* translate_block() takes these besides enum block_flags: */
#define UNCOUNTED (1u << 16)	/* its runs follow from the block before it (runs_from) */
#define EXTENDS (1u << 17)	/* it goes right behind the unfinished chain */
#define WAITS (1u << 18)	/* if it ends in a conditional branch, the chain waits there */
#define KEPT (1u << 19)		/* BLOCK_SINGLE: it may be run again (run_kept()) */

/* The chain that was written last, while it waits at a conditional branch. The way that the
 * program takes first is written right behind it (chain_extend()). */
static struct {
	uint32_t last;		/* its last block; 0: no chain waits */
	uint32_t taken, fall;	/* the links of the branch */
	struct segment *seg;
	bool invert;		/* make the branch jump when the program's does not */
	int depth;		/* uncounted blocks at its end */
} unfinished;

static struct plan the_plan;	/* guarded by the lock */
static struct plan stub_plan;

/* May chains of the present mode have uncounted blocks? */
static bool may_uncount(void)
{
	return (!cache.mode || (adds_ahead(&cache.modes[cache.mode]) && !cache.calls && !cache.counts_taken)) &&
	       !trace_wanted();
}

/* Runs that end at an event (thread.code.stops) are kept, because samples often come at the same
 * instruction again. */
#define KEPT_RUNS 16384u

static struct kept {
	uint64_t pc;
	uint32_t until;		/* run_until() */
	uint32_t id;		/* its block; 0: none */
	uint64_t last_pc;	/* of its last instruction */
} kept_runs[KEPT_RUNS];		/* by run_kept() */
static bool any_kept;

void translate_reset(void)
{
	unfinished.last = 0;
	if (any_kept)
		mem_zero(kept_runs, sizeof(kept_runs));
	any_kept = false;
}

/* Where a run of the thread is to end. 0: at one of several events; such runs are not kept. */
static uint32_t run_until(const struct thread *t)
{
	const uint32_t stops = t->code.stops;
	if (!stops || stops & (stops - 1))
		return 0;
	const unsigned kind = (unsigned)__builtin_ctz(stops);
	return 1u << 31 | (unsigned)t->code.stop_before << 16 | kind << 8 | t->code.stop_after[kind];
}

static struct kept *run_kept(uint64_t pc, uint32_t until)
{
	const uint64_t hash = (pc ^ (uint64_t)until << 40) * 0x9e3779b97f4a7c15ull;
	return &kept_runs[hash >> 32 & (KEPT_RUNS - 1)];
}

/* The virtual PMU and the trace need more about an instruction than struct step has. */
static int decode_whole(struct step *s, struct insn *in, const uint8_t *bytes, unsigned avail)
{
	const int len = decode_insn(in, bytes, avail);
	*s = (struct step){ in->len, false, in->flags_read, in->flags_written, in->classes };
	return len;
}

/* Notes the first instruction of each set that the machine lacks. */
static void look_beyond(const uint8_t *bytes, unsigned len, uint64_t pc)
{
	struct soft_machine *const m = &E.shared->machine;
	const unsigned ext = decode_extension(bytes, len);
	uint64_t none = 0;
	if (ext && !(m->has >> ext & 1) && !m->beyond[ext])
		__atomic_compare_exchange_n(&m->beyond[ext], &none, pc, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool decode_block(struct plan *p, uint64_t pc, const uint8_t *src, uint64_t avail, int max,
			 bool stop_after_store)
{
	uint64_t off = 0;
	p->pc = pc;
	p->src = src;
	p->n = 0;
	while (p->n < max) {
		struct step *const s = &p->step[p->n];
		struct insn *const in = &p->in[p->n];
		const uint64_t left = avail - off;
		const int len = E.vpmu || trace_wanted() ? decode_whole(s, in, src + off, (unsigned)left) :
					 decode_step(s, in, src + off, (unsigned)left);
		if (len <= 0)
			break;
		if (E.machine)
			look_beyond(src + off, (unsigned)len, pc + off);
		p->off[p->n++] = (uint16_t)off;
		off += (unsigned)len;
		if ((!s->simple && ends_block(in)) || (stop_after_store && s->classes & CLASS_STORE))
			break;
	}
	p->off[p->n] = (uint16_t)off;
	return p->n > 0;
}

unsigned last_flow(const struct plan *p)
{
	return p->step[p->n - 1].simple ? FLOW_NEXT : p->in[p->n - 1].flow;
}

void plan_direct(struct plan *p, uint64_t target)
{
	struct insn *const in = &p->in[p->n - 1];
	if (!branch_is_indirect(in))		/* to a stub (merge_stub()) */
		return;
	in->flow = in->flow == FLOW_JMP_IND ? FLOW_JMP : FLOW_CALL;
	in->imm = (int64_t)(target - (p->pc + p->off[p->n]));
}

/* The flags that counting a block changes: `inc` keeps CF, `add` does not. */
static unsigned counting_flags(void)
{
	return cache.modes[cache.mode].acc || cache.calls ? FLAG_ARITH : FLAG_ARITH & ~FLAG_CF;
}

/* Can the program see all flags at this instruction, because it raises a signal? Always at one
 * that is made to raise one. At a load and other instructions that may fault only if the program
 * has a handler that gets the flags (cache.precise), because it costs time. (`in` is filled in
 * only for instructions that are not simple.) */
#define CLASS_MAY_FAULT (CLASS_LOAD | CLASS_STORE | CLASS_DIV | CLASS_X87 | CLASS_FP | \
			 CLASS_SIMD_INT | CLASS_MMX)

static bool shows_flags(const struct step *s, const struct insn *in)
{
	if (s->classes & CLASS_FAR || (cache.precise && s->classes & CLASS_MAY_FAULT))
		return true;
	return !s->simple && (in->flow == FLOW_FAULT || (cache.precise && in->special));
}

/* The pages of the code that relies on flags. They are dropped together, so that it may rely on all that is
 * there, also where the program may change its code. */
struct home {
	uint64_t start, end;
};

static struct home home_of(uint64_t pc, uint64_t len)
{
	return (struct home){ PAGE_DOWN(pc), PAGE_UP(pc + len) };
}

/* May code of these pages rely on what code at pc does with flags? Code of a private mapping of a file that is not
 * writable changes only by calls at which the code of the mapping that relies on it is dropped, and all code of
 * memory without a file (cache_drop_relying()). */
static bool may_rely_on(const struct region *r, uint64_t pc, uint64_t len, struct home home)
{
	if (region_is_fixed(r))
		return (home.start >= r->start && home.start < r->end) || !region_find(home.start) ||
		       !region_is_fixed(region_find(home.start));
	return pc >= home.start && pc + len <= home.end && (!r->shared || alias_known(pc)) &&
	       !page_is_checked(PAGE_DOWN(pc)) && !page_is_checked(PAGE_DOWN(pc + len - 1));
}

/* Is the indirect jump at pc a stub of a PLT that the dynamic linker binds when it is used first? That loses the flags
 * in any case. Such a stub is followed by a push and a jump to the linker. */
static bool binds_lazily(const struct insn *in, const struct step *s, uint64_t pc)
{
	const uint64_t next = pc + s->len;
	const uint8_t *const after = (const uint8_t *)next;
	return in->rip_relative && !uses_gs(in) && readable_end(next, next + 10) == next + 10 && after[0] == 0x68 &&
	       after[5] == 0xe9;
}

static bool any_live_at(uint64_t pc, unsigned need, int depth, struct home home);

/* The same as any_live_at(), of the indirect jump at pc: through a constant slot, to code that is fixed. */
static bool any_live_through(const struct insn *in, const struct step *s, uint64_t pc, unsigned need)
{
	if (binds_lazily(in, s, pc))
		return false;
	const uint64_t target = slot_target(in, (const uint8_t *)pc, pc);
	const struct region *const to = target ? region_find(target) : NULL;
	return !to || !region_is_fixed(to) || any_live_at(target, need, 0, home_of(target, 1));
}

/* Does the code from pc on read a flag of `need`, before it writes the flag? True also if that cannot be
 * seen. */
static bool any_live_at(uint64_t pc, unsigned need, int depth, struct home home)
{
	const struct region *r = region_find(pc);
	for (int i = 0; r && i < 24; i++) {
		struct step s;
		struct insn in;
		if (pc < r->start || pc >= r->end)
			r = region_find(pc);
		if (!r)
			return true;
		const uint64_t left = readable_end(pc, r->end - pc > 32 ? pc + 32 : r->end) - pc;
		if (decode_step(&s, &in, (const uint8_t *)pc, (unsigned)left) <= 0 ||
		    !may_rely_on(r, pc, s.len, home))
			return true;
		if (s.flags_read & need || shows_flags(&s, &in))
			return true;
		need &= ~(unsigned)s.flags_written;
		if (!need)
			return false;
		const uint64_t next = pc + s.len;
		switch (s.simple ? FLOW_NEXT : in.flow) {
		case FLOW_NEXT:
			pc = next;
			break;
		case FLOW_JMP:
		case FLOW_CALL:
			pc = next + (uint64_t)in.imm;
			break;
		case FLOW_LOOP:
		case FLOW_JCC:
			if (depth <= 0 || any_live_at(next + (uint64_t)in.imm, need, depth - 1, home))
				return true;
			pc = next;
			break;
		case FLOW_JMP_IND:
			return depth <= 0 || any_live_through(&in, &s, pc, need);
		default:
			return true;
		}
	}
	return true;
}

static bool flags_live_at(uint64_t pc, struct home home)
{
	return any_live_at(pc, counting_flags(), 2, home);
}

unsigned flags_lost_at(const struct plan *p, const struct block *b, int done, bool bumped)
{
	unsigned lost = b->adds || cache.modes[b->mode].acc || cache.calls ? FLAG_ARITH : FLAG_ARITH & ~FLAG_CF;
	int from = 0;
	if (b->inc_how == INC_PLAIN && bumped) {
		from = b->inc_at;
	} else {
		readable_reset();
		const struct home home = home_of(b->pc, b->src_len);
		if (!any_live_at(b->pc, FLAG_ARITH, 2, home))
			lost = FLAG_ARITH;
		else if (flags_live_at(b->pc, home))
			return 0;
	}
	for (int i = from; i < done; i++)
		lost &= ~(unsigned)p->step[i].flags_written;
	return lost;
}

static bool any_live_after(const struct plan *p, unsigned need)
{
	const struct insn *const last = &p->in[p->n - 1];
	const uint64_t next = p->pc + p->off[p->n];
	const struct home home = home_of(p->pc, p->off[p->n]);
	switch (last_flow(p)) {
	case FLOW_NEXT:
		return any_live_at(next, need, 2, home);
	case FLOW_JMP:
	case FLOW_CALL:
		return any_live_at(next + (uint64_t)last->imm, need, 2, home);
	case FLOW_JCC:
	case FLOW_LOOP:
		return any_live_at(next, need, 2, home) ||
		       any_live_at(next + (uint64_t)last->imm, need, 2, home);
	default:
		return true;
	}
}

/* The first instruction before which no flag of `counted` is live; -1: there is none. `live`: after the
 * block. */
static int dead_flags_at(const struct plan *p, unsigned live, unsigned counted)
{
	int best = -1;
	for (int i = p->n - 1; i >= 0; i--) {
		live = (live & ~(unsigned)p->step[i].flags_written) | p->step[i].flags_read;
		if (shows_flags(&p->step[i], &p->in[i]))
			live = FLAG_ARITH;
		if (!(live & counted))
			best = i;
	}
	return best;
}

/* Chooses the cell of the block that is away from the part of the stack in use, by its offset in
 * a page. */
static void place_cell(uint32_t id)
{
	const uint64_t place = THREAD_COUNTS + 8 * soft_cell(id) - thread_self()->regs[RSP];
	if ((place + STACK_BELOW) % PAGE < PAGE / 2)
		block_at(id)->flags |= BLOCK_CELL_AWAY;
}

static void place_counter(const struct plan *p, struct block *b)
{
	const unsigned flow = last_flow(p);
	const bool tail = flow == FLOW_RET || flow == FLOW_JMP_IND || flow == FLOW_CALL_IND;
	const unsigned sets[2] = { FLAG_ARITH, counting_flags() };
	int at = -1;
	b->inc_how = INC_PLAIN;
	for (int i = 0; i < 2 && at < 0 && !(b->flags & BLOCK_SINGLE); i++)
		at = dead_flags_at(p, FLAG_ARITH, sets[i]), b->adds = !i;
	for (int i = 0; i < 2 && at < 0 && !(b->flags & BLOCK_SINGLE) && !tail; i++) {
		if (any_live_after(p, sets[i]))
			continue;
		at = dead_flags_at(p, 0, sets[i]);
		b->adds = !i;
		b->flags |= BLOCK_RELIES_ON_NEXT;
	}
	if (at < 0) {
		b->inc_how = tail ? INC_IN_TAIL : INC_SPILL;
		at = tail ? p->n - 1 : 0;
	}
	/* a block with budgets asks before it runs, or soon, where flags are free */
	const struct mode *const mode = &cache.modes[cache.mode];
	if (mode->budgets && (at > mode->late || b->inc_how == INC_IN_TAIL)) {
		b->flags &= (uint16_t)~BLOCK_RELIES_ON_NEXT;
		b->inc_how = INC_SPILL;
		at = 0;
	}
	b->inc_at = (uint8_t)at;
}

void plan_vector(const struct plan *p, int n, uint8_t *vec)
{
	count_vec(vec, p->step, n);
	if (E.vpmu)
		vpmu_count_insns(vec, p->in, n);
}

uint16_t plan_first(const uint8_t *src, unsigned len, int n, uint8_t *vec)
{
	struct step step[BUDGET_LATE];
	struct insn in[BUDGET_LATE];
	uint16_t off = 0;
	for (int i = 0; i < n; i++)
		off += (uint16_t)(E.vpmu ? decode_whole(&step[i], &in[i], src + off, len - off) :
				  decode_step(&step[i], &in[i], src + off, len - off));
	count_vec(vec, step, n);
	if (E.vpmu)
		vpmu_count_insns(vec, in, n);
	return off;
}

static uint32_t nowhere;

/* The link is not used any more. Its target's block may still have it in its list and patch it:
 * that goes to `nowhere`. */
static void link_discard(struct link *l)
{
	l->site = (uint64_t)&nowhere;
	l->to_stub = 1;
}

bool counts_rarer_way(const struct block *b)
{
	return cache.counts_taken && !b->mode && !(b->flags & BLOCK_SINGLE) && !cache.calls && !trace_wanted();
}

/* The id of the taken branch at the end of the block, if it ran as often as the block less the times
 * that it was not taken; else 0. */
static uint32_t not_taken_counted(uint32_t id)
{
	return counts_rarer_way(block_at(id)) && block_at(id + 1)->runs_from ? id + 1 : 0;
}

/* Makes the branch at `site` a side exit, which bumps the cell of the block `bumps`. The link of the
 * branch is *link; where it is linked already, a new link takes its place. */
static void make_side_exit(struct segment *s, uint32_t *link, uint64_t site, uint32_t bumps)
{
	struct link *const l = link_at(*link), *side = l;
	if (l->linked) {
		*link = new_link(l->target, LINK_SIDE_EXIT);
		side = link_at(*link);
		side->site = site;
		put_stub(s, *link);
		link_discard(l);
	}
	side->kind = LINK_SIDE_EXIT;
	side->bumps = bumps;
	side->to_stub += (uint32_t)(side->site - site);
	side->site = site;
	link_to_stub(side);
}

/* Takes the last jump of the unfinished chain away, so that the block `id` can follow. */
static void cut_last_jump(uint32_t id, bool counted)
{
	struct segment *const s = unfinished.seg;
	struct block *const b = block_at(unfinished.last);
	struct link *const taken = link_at(unfinished.taken);
	struct link *const fall = link_at(unfinished.fall);
	const bool by_way = counts_rarer_way(b);
	const uint64_t site = taken->site;
	if (unfinished.invert) {
		link_discard(taken);
		make_side_exit(s, &unfinished.fall, site, by_way ? unfinished.last + 1 : id);
		*(uint8_t *)(site - 1) ^= 1;
		b->flags |= BLOCK_INVERTED;
	} else {
		/* if it is the last link that was made, take it back with its stub */
		const uint64_t stub = fall->site + 4 + (uint64_t)(int32_t)fall->to_stub;
		if (unfinished.fall == cache.n_links && stub == s->cold) {
			cache.n_links--;
			s->cold += STUB_SIZE;
		} else {
			link_discard(fall);
		}
		if (!counted && !by_way)
			make_side_exit(s, &unfinished.taken, site, id);
	}
	s->hot = site + 4;
	b->code_len = (uint16_t)(s->hot - b->code);
	b->flags |= BLOCK_FALLS;
}

/* A block that was written. */
struct made {
	uint32_t id;		/* 0: there can be none … */
	enum problem why;	/* … for this reason */
	bool kept;		/* KEPT */
	bool merged;		/* the id after it is of a stub (BLOCK_AT_STUB) */
	uint32_t loop_edge;	/* its link to itself, not linked yet; or 0 */
	uint64_t next;		/* where it goes on by itself; 0: nowhere */
};

/* Cuts the block after the instruction with which one of the events has happened so often. Whether
 * a conditional branch is taken is not known, but it ends the block in any case. */
static void cut_at_stop(struct plan *p, uint32_t stops, const uint8_t *after, bool before)
{
	if (stops & 1 && after[SOFT_INSTRUCTIONS] < p->n)
		p->n = after[SOFT_INSTRUCTIONS];
	for (int n = 1; stops & ~1u && n < p->n + before; n++) {
		uint8_t vec[SOFT_EVENTS];
		plan_vector(p, n, vec);
		for (int k = 0; k < SOFT_EVENTS; k++)
			if (stops >> k & 1 && vec[k] >= after[k]) {
				p->n = before && n > 1 ? n - 1 : n;
				return;
			}
	}
}

static bool may_follow(uint64_t next)
{
	const struct region *const r = region_find(next);
	return r && !(r->prot & PROT_WRITE) && (!r->shared || alias_known(next));
}

static bool worth_following(uint64_t next)
{
	return !block_find(next) && may_follow(next);
}

/* Where its last instruction always goes, if that is an indirect branch; else 0. */
static uint64_t constant_target(const struct plan *p)
{
	const int last = p->n - 1;
	if (E.vpmu || trace_wanted() || p->step[last].simple)
		return 0;
	return slot_target(&p->in[last], p->src + p->off[last], p->pc + p->off[last]);
}

/* Is there a stub of a PLT, which jumps through a constant slot? */
static bool is_constant_stub(uint64_t pc)
{
	static const uint8_t endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct insn in;
	if (E.vpmu || cache.calls || trace_wanted() || !may_follow(pc) || readable_end(pc, pc + 16) < pc + 16)
		return false;
	if (mem_equal((const void *)pc, endbr64, 4))
		pc += 4;
	const uint8_t *const jump = (const uint8_t *)pc + (*(const uint8_t *)pc == 0xf2);	/* bnd */
	return jump[0] == 0xff && jump[1] == 0x25 && decode_insn(&in, (const uint8_t *)pc, 12) > 0 &&
	       slot_target(&in, (const uint8_t *)pc, pc);
}

/* The stub of a PLT that the block's direct call or jump leads to, and where it always jumps to; 0: there is none. The
 * change of context at the end of the block is then at once that of the stub (calls.h). */
static uint64_t find_stub(const struct plan *p, bool tail, struct plan *stub)
{
	static const uint8_t endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const unsigned flow = last_flow(p);
	if (!calls_add_ahead() || cache.mode || cache.watch || trace_wanted() ||
	    (flow != FLOW_CALL && !(flow == FLOW_JMP && tail)))
		return 0;
	const uint64_t next = p->pc + p->off[p->n], pc = next + (uint64_t)p->in[p->n - 1].imm;
	if (pc == next || !may_follow(pc) || readable_end(pc, pc + 16) < pc + 16 ||
	    !decode_block(stub, pc, (const uint8_t *)pc, 16, 2, false) || last_flow(stub) != FLOW_JMP_IND ||
	    (stub->n == 2 && !mem_equal(stub->src, endbr64, 4)))
		return 0;
	const struct function from = function_at(pc);
	const uint64_t target = from.start == pc ? constant_target(stub) : 0;
	const struct function to = target ? function_at(target) : from;
	return to.fid != from.fid && (to.start == target || to.fid == FID_UNKNOWN) ? target : 0;
}

static uint64_t worth_of(const struct plan *p)
{
	uint8_t vec[SOFT_EVENTS];
	uint64_t worth = 0;
	plan_vector(p, p->n, vec);
	for (unsigned k = 0, at = 0; k < SOFT_EVENTS; k++)
		if (cache.calls >> k & 1)
			worth |= (uint64_t)vec[k] << WORTH_BITS * at++;
	return worth;
}

/* The block behind it, of the stub: without code, and uncounted. */
static void merge_stub(struct block *before, const struct plan *stub)
{
	const uint32_t id = new_block();
	struct block *const b = block_at(id);
	const uint16_t len = stub->off[stub->n];
	uint8_t *const kept = heap_alloc(len);
	mem_copy(kept, stub->src, len);
	*b = (struct block){ .pc = stub->pc, .src = (uint32_t)((uint64_t)kept - ZONE_HEAP), .src_len = len,
			     .n_insns = (uint8_t)stub->n, .flags = BLOCK_CHAINED, .constant = true,
			     .inc_how = INC_NONE, .inc_at = BLOCK_AT_STUB, .runs_from = 1 };
	plan_vector(stub, stub->n, b->vec);
	place_cell(id);
	before->flags |= BLOCK_FALLS;
	block_note(id);
	cache.live_blocks++;
}

#define MOST_AHEAD 127	/* what one `add` with a byte can add */

/* Can the chain that ends with block `last` add for the next block, too? */
static bool can_add_ahead(uint32_t last, const uint8_t *vec)
{
	const struct mode *const m = &cache.modes[cache.mode];
	const uint32_t events = m->acc | (calls_add_ahead() && !cache.mode ? cache.calls : 0);
	uint8_t sum[SOFT_EVENTS];
	if (!events)
		return true;
	while (block_at(last)->runs_from)
		last--;
	count_ahead(last, sum);
	for (int k = 0; k < SOFT_EVENTS; k++)
		if (events >> k & 1 && vec[k] && (!block_at(last)->vec[k] || sum[k] + vec[k] > MOST_AHEAD))
			return false;
	return true;
}

/* Is its last instruction a direct jump to another function? */
static bool leads_elsewhere(const struct plan *p)
{
	const unsigned flow = last_flow(p);
	const uint64_t pc = p->pc + p->off[p->n - 1];
	if (flow != FLOW_JMP && flow != FLOW_JCC)
		return false;
	const uint64_t to = p->pc + p->off[p->n] + (uint64_t)p->in[p->n - 1].imm;
	const struct function from = function_at(pc);
	return (to < from.start || to >= from.end) && function_at(to).fid != from.fid;
}

/* Code of a read-only mapping that can be written through another one, which the engine knows. */
static bool is_aliased(const struct region *r, uint64_t pc)
{
	return r->shared && !(r->prot & PROT_WRITE) && alias_known(pc);
}

/* Can the engine hear of stores to it? */
static bool guardable(const struct region *r, uint64_t pc)
{
	return !r->shared || is_aliased(r, pc);
}

bool code_may_change(uint64_t pc, uint64_t len)
{
	for (uint64_t at = pc; at < pc + len; at = PAGE_DOWN(at) + PAGE) {
		const struct region *const r = region_find(at);
		if (!r || r->anon || r->shared || r->prot & PROT_WRITE)
			return true;
	}
	return false;
}

/* Must a block with code of this page look for changes by itself? If not, the page is guarded now, where it
 * can be written at all. */
static bool must_check(uint64_t pc)
{
	const struct region *const r = region_find(pc);
	if (!r || !guardable(r, pc))
		return r;
	if (!(r->prot & PROT_WRITE || is_aliased(r, pc)))
		return false;
	page_guard(PAGE_DOWN(pc));
	return page_is_checked(PAGE_DOWN(pc));
}

/* The same of the pages behind the first one of a block. */
static bool more_pages_must_check(uint64_t pc, uint64_t len)
{
	for (uint64_t page = PAGE_DOWN(pc) + PAGE; page < pc + len; page += PAGE)
		if (must_check(page))
			return true;
	return false;
}

/* Decodes the block in `r`, which may go on to `end`. A run that ends at an event is of one instruction (*stops
 * is 0) where it cannot be guarded; that needs no guard, because it runs once, now. */
static bool plan_block(struct plan *p, const struct region *r, uint64_t pc, uint64_t end, unsigned flags,
		       uint32_t *stops, bool *checked)
{
	if (*stops && must_check(pc))
		*stops = 0;
	bool one = flags & BLOCK_SINGLE && !*stops;
	*checked = one ? !guardable(r, pc) : must_check(pc);
	for (;;) {
		const int max = one ? 1 : *checked ? MAX_CHECKED : trace_wanted() ? MAX_TRACED : MAX_INSNS;
		if (!decode_block(p, pc, (const uint8_t *)pc, end - pc, max, *checked))
			return false;
		if (one || *checked || !more_pages_must_check(pc, p->off[p->n]))
			return true;
		if (flags & BLOCK_SINGLE)
			one = true, *stops = 0;
		else
			*checked = true;
	}
}

/* Translates the block at pc into the segment. */
static struct made translate_block(struct segment *s, uint64_t pc, unsigned flags, uint32_t back_to)
{
	const struct region *const r = region_find(pc);
	if (!r)
		return (struct made){ .why = PROBLEM_NOT_EXECUTABLE };
	uint64_t end = r->end;
	while (end - pc < 15 * MAX_INSNS) {
		const struct region *const more = region_find(end);
		if (!more)
			break;
		end = more->end;
	}
	end = readable_end(pc, end - pc > 15 * MAX_INSNS ? pc + 15 * MAX_INSNS : end);
	if (end == pc)
		return (struct made){ .why = PROBLEM_BAD_INSN };
	const bool writable = r->prot & PROT_WRITE || is_aliased(r, pc);
	struct plan *const p = &the_plan;
	uint32_t stops = flags & BLOCK_SINGLE ? thread_self()->code.stops : 0;
	bool checked;
	if (!plan_block(p, r, pc, end, flags, &stops, &checked))
		return (struct made){ .why = PROBLEM_BAD_INSN };
	if (stops)
		cut_at_stop(p, stops, thread_self()->code.stop_after, thread_self()->code.stop_before);
	const uint32_t asked = slots_asked;
	const uint64_t constant = flags & BLOCK_SINGLE || writable ? 0 : constant_target(p);
	if (constant)
		plan_direct(p, constant);
	if (flags & BLOCK_SINGLE)
		thread_self()->code.last_pc = pc + p->off[p->n - 1];
	uint8_t vec[SOFT_EVENTS];
	plan_vector(p, p->n, vec);
	if (flags & UNCOUNTED && !can_add_ahead(cache.n_blocks - cache.counts_taken, vec)) {
		if (flags & EXTENDS)
			return (struct made){ 0 };
		flags &= ~UNCOUNTED;
	}
	const uint32_t id = new_block();
	struct block *const b = block_at(id);
	__builtin_memcpy(b->vec, vec, sizeof(vec));
	if (flags & EXTENDS)
		cut_last_jump(id, !(flags & UNCOUNTED));
	const uint32_t taken_id = cache.counts_taken || cache.modes[cache.mode].taken ? new_block() : 0;
	b->pc = pc;
	b->src_len = p->off[p->n];
	b->n_insns = (uint8_t)p->n;
	b->mode = cache.mode;
	const bool tail = cache.calls && leads_elsewhere(p);
	const uint64_t through = flags & BLOCK_SINGLE || writable || checked || constant ? 0 : find_stub(p, tail, &stub_plan);
	b->constant = constant || through;
	if (!stops)
		flags &= ~KEPT;
	b->flags = (uint16_t)(flags | (checked ? BLOCK_CHECKED : 0));
	if (checked || code_log_wanted() || code_may_change(pc, b->src_len)) {
		/* (before it, for a trace: where the block is defined) */
		uint64_t *const defined = heap_alloc(trace_wanted() ? 8 + b->src_len : b->src_len);
		uint8_t *const kept = trace_wanted() ? (uint8_t *)(defined + 1) : (uint8_t *)defined;
		mem_copy(kept, (const void *)pc, b->src_len);
		if (trace_wanted())
			*defined = code_log_define(thread_self(), pc, kept, b->src_len, b->n_insns);
		b->src = (uint32_t)((uint64_t)kept - ZONE_HEAP);
	}
	place_cell(id);
	if (flags & UNCOUNTED) {
		b->runs_from = taken_id && !(flags & EXTENDS && unfinished.invert) ? 2 : 1;
		b->inc_how = INC_NONE;
		b->inc_at = MAX_INSNS;
	}
	if (!(flags & UNCOUNTED) || (cache.calls && !calls_add_ahead()))
		place_counter(p, b);
	if (tail)
		b->flags |= BLOCK_TAIL;
	if (through)
		calls_site_through(pc + p->off[p->n - 1], through, tail ? CALLS_TAIL : CALLS_CALL,
				   &(struct calls_stub){ stub_plan.pc, stub_plan.pc + stub_plan.off[stub_plan.n - 1],
							 function_at(stub_plan.pc).fid,
							 worth_of(&stub_plan) });
	if (cache.calls && !(flags & BLOCK_SINGLE) && (b->flags & BLOCK_TAIL || last_flow(p) == FLOW_CALL) &&
	    !flags_live_at(pc + p->off[p->n] + (uint64_t)p->in[p->n - 1].imm, home_of(pc, b->src_len)))
		b->flags |= BLOCK_FLAGS_FREE_AT_TARGET | BLOCK_RELIES_ON_NEXT;
	if (taken_id) {
		const uint32_t last = p->step[p->n - 1].classes;
		block_at(taken_id)->pc = pc;
		block_at(taken_id)->flags = BLOCK_DEAD;
		block_at(taken_id)->mode = cache.mode;
		block_at(taken_id)->vec[SOFT_TAKEN] = 1;
		place_cell(taken_id);
		b->vec[SOFT_TAKEN] = (last & CLASS_BRANCH) && !(last & CLASS_COND);
		const unsigned flow = last_flow(p);
		const uint64_t to = pc + p->off[p->n] + (uint64_t)p->in[p->n - 1].imm;
		if (flow == FLOW_JCC && counts_rarer_way(b))
			/* a guess, if the chain does not wait to see it */
			block_at(taken_id)->runs_from = to == pc || (to < pc && !(flags & WAITS));
		else if ((flow == FLOW_JCC || flow == FLOW_LOOP) && !(flags & BLOCK_SINGLE) &&
			 !flags_live_at(to, home_of(pc, b->src_len)))
			b->flags |= BLOCK_FLAGS_FREE_AT_TARGET | BLOCK_RELIES_ON_NEXT;
	}
	b->by_slot = slots_asked != asked;
	struct emit e = { .w = (uint8_t *)s->hot, .seg = s, .single = flags & BLOCK_SINGLE, .pc = pc,
			  .back_to = back_to };
	b->code = s->hot;
	s->ids[s->n_ids++] = id;
	if (!e.single || flags & KEPT)
		block_note(id);
	const uint64_t next = emit_block(&e, p, b, id);
	s->hot = (uint64_t)e.w;
	b->code_len = (uint16_t)(s->hot - b->code);
	if (b->runs_from)
		add_more(b->vec);
	++*(e.single && !(flags & KEPT) ? &cache.dead_blocks : &cache.live_blocks);
	cache.code_bytes += b->code_len;
	cache.source_bytes += b->src_len;
	if (through)
		merge_stub(b, &stub_plan);
	return (struct made){ .id = id, .kept = flags & KEPT, .merged = through, .loop_edge = e.loop_edge, .next = next };
}

/* Ends a chain: its last block jumps to `next`. */
static void close_block(struct segment *s, uint32_t id, uint64_t next)
{
	if (is_merged_stub(block_at(id)))	/* which has no code */
		id--;
	struct emit e = { .w = (uint8_t *)s->hot, .seg = s, .bumps = not_taken_counted(id) };
	jump_to(&e, next);
	s->hot = (uint64_t)e.w;
	block_at(id)->code_len = (uint16_t)(s->hot - block_at(id)->code);
}

/* A cell that is bumped again within a few cycles makes each increment wait for the store of the
 * one before. So a loop of one block gets three further copies, each of which jumps to the next.
 * (Copies of longer loops were slower: the CPU has more branches to predict.) */
#define LOOP_COPIES 3

/* The block `id` jumps to itself by the link `edge`: writes twins that form a ring with it. */
static void close_loop(struct segment *s, uint32_t id, uint32_t edge)
{
	const uint64_t pc = block_at(id)->pc;
	uint32_t to = id;
	for (int i = 0; i < LOOP_COPIES && s->cold - s->hot >= ROOM; i++) {
		const struct made copy = translate_block(s, pc, BLOCK_TWIN, to);
		if (!copy.id)
			break;
		close_block(s, copy.id, copy.next);
		to = copy.id;
	}
	link_to(edge, to);
}

/* Does the block itself write all flags before it reads them? (The code behind it may change while the
 * block's entries stay.) */

static bool writes_all_flags(const struct block *b)
{
	const uint8_t *const src = block_src(b);
	unsigned need = FLAG_ARITH;
	for (unsigned off = 0; off < b->src_len && need;) {
		struct step s;
		struct insn in;
		if (decode_step(&s, &in, src + off, b->src_len - off) <= 0 || s.flags_read & need ||
		    shows_flags(&s, &in))
			return false;
		need &= ~(unsigned)s.flags_written;
		off += s.len;
	}
	return !need;
}

/* Writes an entry alone, with a jump to the block `to`. Returns its address. */
static uint64_t put_entry(struct segment *s, uint32_t to, enum arrival how)
{
	const uint64_t pc = block_at(to)->pc;
	const bool free = cache.calls && writes_all_flags(block_at(to));
	const uint32_t id = new_block();
	struct block *const n = block_at(id);
	*n = (struct block){ .pc = pc, .code = s->hot, .src = block_at(to)->src,
			     .flags = BLOCK_ENTRY_ONLY | BLOCK_DEAD | (free ? BLOCK_FLAGS_FREE_AT_TARGET : 0) };
	struct emit e = { .w = (uint8_t *)s->hot, .seg = s };
	s->ids[s->n_ids++] = id;
	if (how == ARRIVE_BY_RETURN) {
		n->flags |= BLOCK_RETURN_ENTRY;
		emit_return_entry(&e, pc, free);
	} else {
		if (cache.calls && slot_info_at(calls_target(pc, true))->is_start)
			n->flags |= BLOCK_TAIL;
		emit_jump_entry(&e, pc, n->flags & BLOCK_TAIL, free);
	}
	jump_to(&e, pc);
	s->hot = (uint64_t)e.w;
	n->code_len = (uint16_t)(s->hot - n->code);
	return n->code;
}

void put_return_lookup(struct segment *s)
{
	const uint32_t id = new_block();
	struct block *const b = block_at(id);
	struct emit e = { .w = (uint8_t *)s->hot, .seg = s };
	*b = (struct block){ .code = s->hot, .flags = BLOCK_RETURN_LOOKUP | BLOCK_DEAD };
	s->ids[s->n_ids++] = id;
	s->return_lookup = s->hot + UNPOP_SIZE;
	emit_return_lookup(&e);
	s->hot = (uint64_t)e.w;
	b->code_len = (uint16_t)(s->hot - b->code);
}

void put_calls_lookup(struct segment *s)
{
	const uint32_t id = new_block();
	struct block *const b = block_at(id);
	struct emit e = { .w = (uint8_t *)s->hot, .seg = s };
	*b = (struct block){ .code = s->hot, .flags = BLOCK_RETURN_LOOKUP | BLOCK_TAIL | BLOCK_DEAD };
	s->ids[s->n_ids++] = id;
	s->calls_lookup = s->hot;
	emit_calls_lookup(&e);
	s->hot = (uint64_t)e.w;
	b->code_len = (uint16_t)(s->hot - b->code);
}

static uint64_t ticks(void)
{
	return cache.no_tsc ? 0 : __builtin_ia32_rdtsc();
}

/* The time of translating starts after the program's page was read in: a native run reads it in as
 * well. */
static uint64_t begin_at(uint64_t pc)
{
	readable_reset();
	readable_end(pc, pc + 1);
	return ticks();
}

/* Writes a chain, or continues one (EXTENDS). With `alone` (no other thread runs) the chain stops
 * at a conditional branch, to see which way the program takes. Else other threads may run the
 * branch soon and it must not be rewritten: the chain goes on with the way without a jump. */
static uint32_t translate_chain(struct segment *s, uint64_t pc, unsigned flags, bool alone,
				enum problem *why)
{
	uint32_t first = 0, id = 0, branch = 0, loop_edge = 0;
	uint64_t next = pc;
	bool waits = false, stub = false;
	*why = PROBLEM_NONE;
	for (int i = 0; i < CHAIN && s->cold - s->hot >= ROOM; i++) {
		const struct made made = translate_block(s, next, flags | (alone ? WAITS : 0), 0);
		*why = made.why;
		if (!made.id)
			break;
		next = made.next;
		loop_edge = made.loop_edge;
		if (id)
			block_at(id)->flags |= BLOCK_FALLS;
		const uint32_t last = cache.n_links;
		if (branch && !stub && block_at(made.id)->runs_from == 1 && !cache.counts_taken)
			make_side_exit(s, &branch, link_at(branch)->site, made.id);
		branch = last;
		id = made.id;
		if (!first)
			first = id;
		id += made.merged;
		if (!next)
			return first;
		if (block_at(id)->constant && kept_writes())
			break;		/* what follows may be of another unit */
		const bool jcc = last_flow(&the_plan) == FLOW_JCC && !(block_at(id)->flags & BLOCK_TAIL);
		waits = alone && !loop_edge && jcc && !not_taken_counted(id);
		if (waits || loop_edge || not_taken_counted(id))
			break;
		stub = last_flow(&the_plan) == FLOW_CALL && !cache.mode && is_constant_stub(next);
		if (!stub && !worth_following(next))
			break;
		flags = BLOCK_CHAINED;
		if (stub)
			flags |= UNCOUNTED;
		else if (may_uncount() && jcc && !block_exists(next) &&
		    (cache.counts_taken || link_at(branch)->target > next))
			flags |= UNCOUNTED;	/* a forward branch: we guess that few leave here */
	}
	if (id)
		close_block(s, id, next);
	if (loop_edge)
		close_loop(s, id, loop_edge);
	unfinished.depth = block_at(id)->runs_from ? unfinished.depth + 1 : 0;
	if (waits) {
		unfinished.last = id;
		unfinished.taken = branch;
		unfinished.fall = cache.n_links;
		unfinished.seg = s;
	}
	return first;
}

static uint64_t both_cells(struct thread *t, uint32_t id)
{
	return *cell_of(t, id) + *parked_cell(t, id);
}

/* How often the last block of a chain ran in that thread. */
static uint64_t runs_of(struct thread *t, uint32_t id)
{
	uint64_t left = 0;
	for (unsigned from; (from = block_at(id)->runs_from); id -= from)
		left += both_cells(t, id) + (from == 2 ? both_cells(t, id - 1) : 0);
	return both_cells(t, id) - left;
}

/* May the end of the unfinished chain be written again, because a thread leaves by that link? */
static bool may_rewrite(uint32_t link)
{
	const struct segment *const s = unfinished.seg;
	const struct block *const b = block_at(unfinished.last);
	return unfinished.last && unfinished.last + cache.counts_taken == cache.n_blocks &&
	       (link == unfinished.taken || link == unfinished.fall) && may_uncount() && E.n_running == 1 &&
	       !(b->flags & BLOCK_DEAD) && s->cold - s->hot >= ROOM && segment_has_ids(s) &&
	       s->hot == b->code + b->code_len;
}

/* Until now the chain counts how often the branch is taken. If that comes first, it will count how often it
 * is not. */
void chain_choose(struct thread *t, uint32_t link)
{
	const uint32_t taken_id = unfinished.last + 1;
	if (!may_rewrite(link) || link != unfinished.taken || !counts_rarer_way(block_at(unfinished.last)) ||
	    block_at(taken_id)->runs_from || runs_of(t, unfinished.last) != 1 || *cell_of(t, taken_id) != 1 ||
	    *parked_cell(t, taken_id))
		return;
	*cell_of(t, taken_id) = 0;
	block_at(taken_id)->runs_from = 1;
	link_at(link)->kind = LINK_JUMP;
	link_at(link)->side = 0;
	make_side_exit(unfinished.seg, &unfinished.fall, link_at(unfinished.fall)->site, taken_id);
}

/* Does the thread leave the unfinished chain for the first time? */
static bool left_once(struct thread *t)
{
	if (counts_in_cells(&cache.modes[cache.mode]))
		return runs_of(t, unfinished.last) == 1;
	return !link_at(unfinished.taken)->linked && !link_at(unfinished.fall)->linked;
}

/* A thread leaves the unfinished chain for the first time, by that link: writes the block that it
 * goes to behind the chain. If the branch jumps there, it is inverted. */
uint32_t chain_extend(struct thread *t, uint32_t link)
{
	if (!may_rewrite(link) || !may_follow(link_at(link)->target))
		return 0;
	const uint64_t pc = link_at(link)->target;
	struct segment *const s = unfinished.seg;
	const bool once = unfinished.depth < DEPTH && !block_exists(pc) && left_once(t) &&
			  budget_allows(t, unfinished.last, MOST_AHEAD);
	const bool inverts = !counts_rarer_way(block_at(unfinished.last)) || not_taken_counted(unfinished.last);
	if (link == unfinished.taken ? !once || !inverts : not_taken_counted(unfinished.last) != 0)
		return 0;
	const uint64_t begin = begin_at(pc);
	unfinished.invert = link == unfinished.taken;
	enum problem ignored;		/* cache_lookup() finds it again */
	const uint32_t id = translate_chain(s, pc, EXTENDS | BLOCK_CHAINED | (once ? UNCOUNTED : 0),
					    true, &ignored);
	if (id && block_at(id)->runs_from)
		budget_use(t, id);
	cache.ticks += ticks() - begin;
	return id;
}

/* Writes a chain for pc, which the thread arrives at in that way. */
static uint32_t translate_into(struct segment *s, uint64_t pc, enum arrival how, enum problem *why)
{
	const bool alone = !(cache.counts_taken && cache.calls) && may_uncount() && E.n_running == 1;
	return translate_chain(s, pc,
			       cache.calls ? 0 :
			       how == ARRIVE_BY_JUMP ? BLOCK_JUMP_ENTRY :
			       how == ARRIVE_BY_RETURN ? BLOCK_RETURN_ENTRY : 0, alone, why);
}

uint32_t translate(uint64_t pc, enum arrival how, enum problem *why)
{
	const uint64_t begin = begin_at(pc);
	const uint32_t id = translate_into(segment_for(pc), pc, how, why);
	cache.ticks += ticks() - begin;
	return id;
}

/* Writes the code of a side exit, and returns its id. It ends in a jump, unless it is to fall into
 * the code that is written next. */
static uint32_t write_side_exit(struct segment *s, const struct link *l, bool falls)
{
	const uint32_t id = new_block();
	struct block *const b = block_at(id);
	struct emit e = { .w = (uint8_t *)s->hot, .seg = s };
	*b = (struct block){ .pc = l->target, .code = s->hot, .bumps = l->bumps,
			     .flags = BLOCK_SIDE_EXIT | BLOCK_DEAD | (falls ? BLOCK_FALLS : 0) };
	const uint32_t asked = slots_asked;
	/* (it is forgotten together with that block; code that is kept relies on no slot there) */
	if (!flags_live_at(l->target, home_of(l->target, 1)) && (slots_asked == asked || !kept_writes()))
		b->flags |= BLOCK_FLAGS_FREE_AT_TARGET;
	s->ids[s->n_ids++] = id;
	emit_side_exit(&e, b);
	s->hot = (uint64_t)e.w;
	b->code_len = (uint16_t)(s->hot - b->code);
	return id;
}

/* A side exit was used: writes its code, so that it does not leave the cache next time. */
void put_side_exit(uint32_t link)
{
	struct link *const l = link_at(link);
	struct segment *const s = segment_for(l->target);
	if (!in_reach(l->site, s->hot))
		return;
	readable_reset();
	const uint32_t id = write_side_exit(s, l, false);
	link_at(cache.n_links)->side = link;	/* the link of the jump at its end */
	l->linked = true;
	link_patch(l->site, block_at(id)->code);
}

/* The same, and writes the chain that it leads to right behind it. 0: *why tells why there is none. */
uint32_t translate_side_exit(uint32_t link, enum problem *why)
{
	struct link *const l = link_at(link);
	struct segment *const s = segment_for(l->target);
	if (!in_reach(l->site, s->hot))
		return translate(l->target, ARRIVE_DIRECTLY, why);
	const uint64_t begin = begin_at(l->target);
	const uint32_t id = write_side_exit(s, l, true);
	/* A link without a jump, so that the side exit is forgotten when the block is dropped. */
	const uint32_t fall = new_link(l->target, LINK_JUMP);
	link_discard(link_at(fall));
	link_at(fall)->side = link;
	const uint32_t to = translate_into(s, l->target, ARRIVE_DIRECTLY, why);
	cache.ticks += ticks() - begin;
	if (!to) {
		s->hot = block_at(id)->code;
		s->n_ids--;
		if (cache.n_blocks == id && cache.n_links == fall) {	/* a program may try it again and again */
			*block_at(id) = (struct block){ 0 };
			cache.n_blocks--;
			cache.n_links--;
		}
		return 0;
	}
	link_at(fall)->linked = true;
	link_at(fall)->next = block_at(to)->in_links;
	block_at(to)->in_links = fall;
	l->linked = true;
	link_patch(l->site, block_at(id)->code);
	return to;
}

/* For a store that changes its own page, for single-stepping, and for a run that ends at an event
 * (thread.code.stops). */
uint32_t translate_single(uint64_t pc, enum problem *why)
{
	struct thread *const t = thread_self();
	const uint32_t until = run_until(t);
	struct kept *const k = run_kept(pc, until);
	if (until && k->id && k->pc == pc && k->until == until && !(block_at(k->id)->flags & BLOCK_DEAD)) {
		t->code.last_pc = k->last_pc;
		return k->id;
	}
	struct segment *const s = segment_for(pc);
	readable_reset();
	const struct made made = translate_block(s, pc, BLOCK_SINGLE | (until ? KEPT : 0), 0);
	*why = made.why;
	if (made.kept) {
		if (k->id)
			cache_drop(k->id);
		*k = (struct kept){ .pc = pc, .until = until, .id = made.id, .last_pc = t->code.last_pc };
		any_kept = true;
	}
	if (made.id && made.next) {
		struct emit e = { .w = (uint8_t *)s->hot, .seg = s };
		exit_here(&e, new_link(made.next, LINK_STOP));
		s->hot = (uint64_t)e.w;
		block_at(made.id)->code_len = (uint16_t)(s->hot - block_at(made.id)->code);
	}
	return made.id;
}

uint64_t entry_code(uint32_t id, enum arrival how)
{
	const struct block *const b = block_at(id);
	if (how == ARRIVE_BY_JUMP)
		return ENTRY_AT + (b->flags & BLOCK_JUMP_ENTRY ? b->code :
				   put_entry(segment_for(b->pc), id, how));
	if (b->flags & BLOCK_RETURN_ENTRY)
		return b->code + ENTRY_AT;
	if (b->returns)
		return *return_at(b->returns);
	return put_entry(segment_for(b->pc), id, how) + ENTRY_AT;
}
