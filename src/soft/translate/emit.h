/* Writing blocks: what the files share that do it.
 *
 *	emit.c		counters, exits, links
 *	emit-memory.c	operands that cannot be copied as they are
 *	emit-branch.c	branches, calls, returns
 *	emit-calls.c	the changes of context at calls and returns (calls.h)
 *	emit-block.c	a whole block
 *	translate.c	which block, where, what follows it
 *	recover.c	back from a cache address to the program's state
 *
 * A block is written once for real and, when a signal or a fault comes, once more without
 * storing it (dry). So every function must write the same bytes both times. Before each
 * instruction it says with mark() what would have to be undone there.
 */
#ifndef SOFT_EMIT_H
#define SOFT_EMIT_H

#include "decode.h"
#include "translate-room.h"

#define MAX_INSNS BUDGET_LATE
#define ROOM 8192		/* bytes that a block and its cold parts need at most */
#define BUMPED_ALL 255		/* mark.bumped: all parts of the counter are */
#define ADDED_ALL 31		/* mark.added: all events are */

/* What must be undone at an address of the cache to have the program's state. */
struct mark {
	uint64_t pc;
	/* the rest fits into one register: a mark is made for each instruction */
	uint8_t retired;	/* instructions of the block that are done */
	uint8_t bumped;		/* parts of the block's counter that are bumped, or BUMPED_ALL */
	bool taken : 1;		/* a taken branch is done; its own cell is not bumped yet … */
	bool left : 1;		/* … or is */
	bool half : 1;		/* … its accumulator is added, its cell not bumped yet */
	bool rcx_in_s0 : 1;
	bool pc_in_s1 : 1;
	bool pc_on_stack : 1;	/* right below the program's rsp */
	signed in_s2 : 5;	/* the register that is spilled there, or -1 */
	signed in_s3 : 5;
	signed biased : 5;	/* the register that the program's gs base was added to, or -1 */
	signed rsp_adjust : 18;	/* to be added to rsp */
	unsigned calls : 3;	/* enum calls_state: a change of context that is half done */
	unsigned added : 5;	/* how many events were added to the context; or ADDED_ALL */
	bool flags_gone : 1;	/* a change of context has replaced the flags, which the program does not read */
};
_Static_assert(sizeof(struct mark) == 16, "two registers");

struct emit {
	uint8_t *w;		/* where bytes go */
	uint64_t delta;		/* w + delta = the address they run at */
	struct segment *seg;
	bool dry;
	bool single;		/* one instruction: all exits lead to the dispatcher */
	bool inverted;		/* the branch at the end jumps when the program's does not */
	bool free_at_target;	/* BLOCK_FLAGS_FREE_AT_TARGET of the block */
	uint64_t pc;		/* of the block */
	uint32_t back_to;	/* a twin: jumps to its own pc go to this block */
	uint32_t bumps;		/* the next link is a side exit that bumps this block's cell; or 0 */
	uint32_t loop_edge;	/* result: the link to its own pc, not linked yet; or 0 */
	/* dry: the mark of the last instruction at or before `want` */
	uint64_t want;
	struct mark found;
	uint8_t bumped, added;
	bool flags_gone;	/* of the marks from now on */
	bool cell_only;		/* a side exit: bumps a cell and counts nothing */
};

struct plan {
	struct step step[MAX_INSNS];
	struct insn in[MAX_INSNS];	/* filled in for those that are not simple */
	uint16_t off[MAX_INSNS + 1];
	int n;
	uint64_t pc;
	const uint8_t *src;
};

/* jmp or call through memory or a register */
static inline bool branch_is_indirect(const struct insn *in)
{
	return in->flow == FLOW_JMP_IND || in->flow == FLOW_CALL_IND || in->opcode == 0xff;
}

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

/* Up to 8 bytes at once, the first one lowest. It stores 8 bytes in any case: the bytes after the
 * first n are written later. */
static inline void bn(struct emit *e, unsigned n, uint64_t v)
{
	__builtin_memcpy(e->w, &v, 8);
	e->w += n;
}

static inline void copy(struct emit *e, const uint8_t *from, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		e->w[i] = from[i];
	e->w += n;
}

/* The same for many bytes. */
static inline void copy_run(struct emit *e, const uint8_t *from, unsigned n)
{
	if (n < 8) {
		copy(e, from, n);
		return;
	}
	for (unsigned i = 0; i + 8 < n; i += 8)
		__builtin_memcpy(e->w + i, from + i, 8);
	__builtin_memcpy(e->w + n - 8, from + n - 8, 8);
	e->w += n;
}

/* 65 REX.W opcode ModRM SIB disp32: an instruction with gs:[off] and r */
static inline void gs_op(struct emit *e, unsigned opcode, int r, uint32_t off)
{
	const unsigned reg = (unsigned)r;
	bn(e, 5, 0x2504004865ull | (reg >> 3) << 10 | opcode << 16 | (reg & 7) << 27);
	b4(e, GS(off));
}

/* mov gs:[off], r  /  mov r, gs:[off] */
static inline void gs_store(struct emit *e, int r, uint32_t off)
{
	gs_op(e, 0x89, r, off);
}

static inline void gs_load(struct emit *e, int r, uint32_t off)
{
	gs_op(e, 0x8b, r, off);
}

static inline void mov_imm64(struct emit *e, int r, uint64_t v)
{
	b1(e, 0x48 | r >> 3);
	b1(e, 0xb8 | (r & 7));
	b8(e, v);
}

/* ---- marks ---- */

static inline struct mark plain(uint64_t pc, unsigned retired, const struct emit *e)
{
	return (struct mark){ .pc = pc, .retired = (uint8_t)retired, .bumped = e->bumped,
			      .added = e->added, .flags_gone = e->flags_gone, .in_s2 = -1, .in_s3 = -1, .biased = -1 };
}

static inline void mark(struct emit *e, struct mark m)
{
	if (e->dry && here(e) <= e->want)
		e->found = m;
}

/* emit.c */
void inc_plain(struct emit *e, uint32_t id, struct mark m);
void inc_through_rcx(struct emit *e, uint32_t id, struct mark m);
void inc_spilled(struct emit *e, uint32_t id, struct mark m);
/* A side exit, which does not go on with that uncounted block. */
void inc_left(struct emit *e, uint32_t id, bool flags_free, struct mark m);
/* The counted block that was written last adds so much more (adds_ahead()). */
void add_more(const uint8_t *vec);
uint64_t cold_literal(struct emit *e, uint64_t v);
void exit_here(struct emit *e, uint32_t id);
#define STUB_SIZE 17
void align_rel32(struct emit *e, unsigned opcode_len);
void link_rel32(struct emit *e, uint64_t target);
void jump_to(struct emit *e, uint64_t target);

/* emit-memory.c */
uint64_t rip_target(const struct insn *in, const uint8_t *s, uint64_t pc);
bool reaches(uint64_t from, uint64_t to);
void emit_rip_relative(struct emit *e, const struct insn *in, const uint8_t *s,
	uint64_t pc, struct mark m);
void emit_lea(struct emit *e, const struct insn *in, const uint8_t *s, int r);
void emit_gs_operand(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
	struct mark m);
bool uses_gs(const struct insn *in);

/* emit-branch.c */
void emit_ret(struct emit *e, const struct insn *in, uint32_t tail_inc, struct mark m);
struct mark push_return(struct emit *e, uint64_t ret, struct mark m);
void emit_return_lookup(struct emit *e);
void emit_indirect(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
	uint32_t tail_inc, struct mark m);
void emit_jcc(struct emit *e, const struct insn *in, uint64_t target, uint32_t taken_id,
	bool tail, struct mark m);
void emit_loop(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
	uint32_t taken_id, struct mark m);

/* emit-block.c */
bool ends_block(const struct insn *in);
/* flags_free: the block at pc writes all flags before it reads them. */
void emit_jump_entry(struct emit *e, uint64_t pc, bool start, bool flags_free);
void emit_return_entry(struct emit *e, uint64_t pc, bool flags_free);
void emit_side_exit(struct emit *e, const struct block *b);
uint64_t emit_block(struct emit *e, const struct plan *p, struct block *b, uint32_t id);

/* trace.c */
/* In front of a block, and before and after each of its instructions: writes the trace. */
void trace_block(struct emit *e, const struct plan *p, const struct block *b);
void trace_insn(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc, struct mark m,
	bool after);

/* slots.c */
/* Where the indirect branch always goes, as long as the program does not change its memory; 0: that is not
 * known. */
NEEDS_LOCK uint64_t slot_target(const struct insn *in, const uint8_t *src, uint64_t pc);
extern uint32_t slots_asked;	/* how often that had an answer */

/* emit-calls.c, where calls are followed */
struct transition {
	uint32_t slot;		/* of the site */
	bool call;
	bool flags_free;	/* the code at the target writes all flags before it reads them */
};
void emit_transition(struct emit *e, struct transition to, struct mark m, struct mark done);
void emit_from(struct emit *e, uint64_t pc, bool call);
void emit_save_context(struct emit *e, struct mark m);
void emit_arrival(struct emit *e, uint64_t pc, bool start, bool flags_free, uint64_t miss);
void emit_return_from(struct emit *e, struct mark m);
/* A return with an operand: compares the return address with that of the call in the shadow. Behind it is what is done
 * where they differ; emit_return_here() follows, changes to the context of the call, and leaves the return address
 * in rcx. */
uint8_t *emit_return_check(struct emit *e, struct mark *m);
struct mark emit_return_here(struct emit *e, uint16_t pops, uint8_t *right, struct mark m);
struct mark emit_return_context(struct emit *e, uint64_t pc, bool flags_free, struct mark m);
void emit_calls_lookup(struct emit *e);
void acc_add_plain(struct emit *e, uint32_t id, struct mark m);
void acc_add_through_rcx(struct emit *e, uint32_t id, struct mark m);
/* The counted block that was written last adds so much more; a side exit takes it back. */
void acc_add_more(const uint8_t *vec);
struct mark acc_take_back(struct emit *e, uint32_t head, const uint8_t *vec, bool flags_free, struct mark m);
struct mark acc_add_taken(struct emit *e, uint32_t id, bool flags_free, struct mark m);

/* translate.c */
/* The arithmetic flags that counting this block, or the block before it, may have replaced after
 * `done` instructions of the block. (The program writes them before it reads them.) */
unsigned flags_lost_at(const struct plan *p, const struct block *b, int done, bool bumped);
unsigned last_flow(const struct plan *p);		/* of its last instruction */
/* Its indirect branch at the end becomes a direct one. (`target` only matters for real.) */
void plan_direct(struct plan *p, uint64_t target);
void plan_vector(const struct plan *p, int n, uint8_t *vec);	/* of its first n instructions */
bool decode_block(struct plan *p, uint64_t pc, const uint8_t *src, uint64_t avail, int max,
	bool stop_after_store);

#endif
