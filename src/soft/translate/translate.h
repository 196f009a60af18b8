/* The room translate: the program's instructions as blocks in a code cache, and what they
 * count.
 *
 *	translate.c	which block, where, what follows it
 *	emit*.c		writing blocks (emit.h)
 *	recover.c	back from a cache address to the program's state
 *	cache.c		finding, linking and dropping blocks; where their code is put
 *	pages.c		pages of code: their blocks, and whether they may be written
 *	alias.c		shared memory that is executed in one mapping and written in another
 *	regions.c	memory that the program may execute
 *	place.c		where the tables are, and giving way to the program
 *	shadow.c	the shadow of a stack, for returns
 *	slots.c		indirect branches through memory that does not change
 *	stop.c		keeping the other threads out of the cache
 *	count.c		cells to events
 *	budget.c	how many events may happen before C is asked
 *	kept.c		code for the next process of the same program
 *	code-log.c	which code ran how often, for a profile
 *	trace.c		which memory it used, for a simulation
 *	calls.c, emit-calls.c, functions.c	the call graph (calls.h)
 *	watched.c		functions that switch counting
 *
 * Each block adds 1 to its own cell of the thread's counter array; count.c turns cells into
 * events when counts are asked for.
 *
 * This header is what the rooms above (guest, vpmu) and engine.c use; what only the files of
 * this room share is in translate-room.h and emit.h. The room sees decode and the root.
 *
 * It asks the rooms above it (declared at the end) for the signal of a jump to an address without
 * code, for functions that switch counting, for the calls of the vsyscall page, and for what a flawed CPU counts for an instruction.
 */
#ifndef SOFT_TRANSLATE_H
#define SOFT_TRANSLATE_H

#include "engine.h"
#include "vpmu-abi.h"

struct insn;
struct step;

/* ---- blocks and links ---- */

#define MAX_BLOCKS	((THREAD_CALLS - THREAD_COUNTS) / 16)
#define CELL_BYTES(blocks) (((blocks) / 256 + 1ull) * PAGE)	/* of ids up to it */

enum block_flags {
	BLOCK_CHAINED = 1,	/* the block with the id before it falls into it */
	BLOCK_JUMP_ENTRY = 2,	/* its code starts with the check for indirect jumps */
	BLOCK_RETURN_ENTRY = 256,	/* … with the check for returns */
	BLOCK_ENTRY_ONLY = 4,	/* not a block: such a check alone, and a jump to the block */
	BLOCK_DEAD = 8,		/* no thread comes to it any more */
	BLOCK_CHECKED = 16,	/* compares the program's bytes with its source each time */
	BLOCK_SINGLE = 32,	/* one instruction or a few, run once; no table leads to it */
	BLOCK_FALLS = 64,	/* its end falls into the block with the next id, without a jump */
	BLOCK_TWIN = 128,	/* a further copy of a block that is a loop by itself */
	BLOCK_INVERTED = 2048,	/* its branch jumps when the program's does not */
	BLOCK_CELL_AWAY = 8192,	/* uses the second of its two cells (abi.h) */
	/* The code that its taken branch leads to writes all flags but CF before it reads them.
	 * (Of a side exit: the code that it leads to.) */
	BLOCK_FLAGS_FREE_AT_TARGET = 1024,
	/* Its increment destroys flags, because the code that it leads to writes them before it
	 * reads them. It must go when that code changes (cache_drop_relying()). */
	BLOCK_RELIES_ON_NEXT = 16384,
	BLOCK_RETURN_LOOKUP = 512,	/* not a block: a segment's return lookup */
	BLOCK_SIDE_EXIT = 4096,	/* not a block: a side exit of a chain */
	/* Its direct jump leads to another function. Of a jump entry: pc is the start of a function.
	 * With BLOCK_RETURN_LOOKUP: the common lookup of calls. */
	BLOCK_TAIL = 32768,
};

struct block {
	uint64_t pc;		/* of the program */
	uint64_t code;		/* its first byte in the cache */
	union {
		uint32_t src;	/* where a copy of its source bytes is in the heap; 0: they are at pc */
		uint32_t bumps;	/* BLOCK_SIDE_EXIT: the block whose cell it bumps */
	};
	uint32_t in_links;	/* first of the list of links that jump here */
	uint32_t returns;	/* first of the list of calls, by number, that return here */
	uint32_t page_next[2];	/* next in the lists of its first and its last page (pages.c) */
	uint16_t src_len;
	uint16_t code_len : 15;
	bool by_slot : 1;	/* it relies on a constant slot. Of kept code: … or a block of its chain does */
	uint16_t flags;
	uint8_t n_insns;
	uint8_t inc_at : 6;	/* its cell is bumped before this instruction */
	bool adds : 1;		/* … by `add`, because no flag is live there */
	bool constant : 1;	/* its indirect branch is a direct one (slots.c) */
	uint8_t inc_how : 2;	/* enum inc_how */
	uint8_t mode : 6;	/* cache.modes: what its code adds up */
	uint8_t vec[SOFT_EVENTS];	/* what one run of it is worth */
	/* 0: its cell counts its runs (or it adds them up: struct mode). Else it ran as often as the
	 * block this many ids before it, less the times in its own cell and, with 2, less the runs of the id between them (soft_runs()). An
	 * uncounted block follows that block in a chain; its cell, or the id between them, counts how
	 * often the branch left the chain. A taken branch, which has the id after its block, ran as
	 * often as the block, less the times that it was not taken. */
	uint8_t runs_from;
};
_Static_assert(sizeof(struct block) == 64,
	       "one cache line; vec has room for one more event (docs/adding-an-event.md)");
_Static_assert(offsetof(struct block, pc) == 0 && offsetof(struct block, vec) == BLOCK_VEC_AT &&
	       offsetof(struct block, src_len) == BLOCK_SRC_LEN_AT &&
	       offsetof(struct block, n_insns) == BLOCK_N_INSNS_AT, "the launcher reads blocks of live processes");

enum link_kind {
	LINK_JUMP,		/* a direct jump to target */
	LINK_SIDE_EXIT,		/* the same, out of a chain whose next block is uncounted */
	LINK_SYSCALL,		/* target: the instruction after */
	LINK_SPECIAL,		/* target: the instruction itself, run by C (special.c) */
	LINK_STOP,		/* go on at target through the dispatcher; never linked */
	LINK_TICK,		/* a budget is used up; target: the block itself, which has not run */
	LINK_TRACE,		/* the trace has no room; target: the block itself, which has not run */
	LINK_LOCKED,		/* a locked instruction was run; target: the next one */
	LINK_FP_ENV,		/* `insn` has stored x87 state; target: the next one */
	LINK_X87,		/* an instruction of vpmu_asks_x87() was run; target: the next one */
	LINK_SERIAL,		/* a serialising instruction was run; target: the next one */
	LINK_FP,		/* an instruction has changed x87 or SSE exception flags */
	LINK_STALE,		/* a checked block found other bytes; target: the block itself */
};

/* Does the link leave a block before its first instruction? */
static inline bool link_is_before(enum link_kind kind)
{
	return kind == LINK_TICK || kind == LINK_TRACE || kind == LINK_STALE;
}

struct link {
	uint64_t target;
	union {
		uint64_t site;	/* LINK_JUMP, LINK_SIDE_EXIT: address of the rel32 to patch */
		uint64_t insn;	/* LINK_FP_ENV, LINK_X87: the program's instruction; or 0.
				 * LINK_FP: does it load the flags from memory? */
	};
	uint32_t to_stub;	/* the rel32 that leads to its exit stub; 0: it has none yet */
	uint32_t next;		/* in the list in_links of its target's block. LINK_TICK: the event
				 * up to which the block's counts were added, plus 1 */
	union {
		uint32_t bumps;	/* LINK_SIDE_EXIT: the block whose cell is bumped on the way.
				 * LINK_TICK: the block itself */
		uint32_t side;	/* LINK_JUMP: the side exit (a link) whose code jumps here; or 0 */
	};
	uint8_t kind;
	bool linked;		/* it jumps to its target's block, not to its stub */
};
_Static_assert(sizeof(struct link) == 32, "half a line");

/* ---- the tables of indirect branches and returns ---- */

/* Indirect jumps look into T and P. T has four bytes for each address (by its low half): the
 * number of its entry. P has the address of each entry's code.
 *
 * Returns look into the shadow of the stack and R. Every translated call has a number. The call
 * writes its number into the shadow, at the offset that the return address has on the stack;
 * the return reads the number, and R has the address of the code for it. That code compares
 * the return address on the stack with its own, so the shadow may be wrong. A return uses only
 * 16 bits of the shadow: whatever they are, they are an index of R.
 *
 * SHADOW keeps a word of the shadow from having the same offset in its page as the word of the
 * stack that it is for: CPUs compare only this offset at first, when they look whether a load
 * reads what an earlier store writes. */
#define MAX_RETURNS	0x10000u	/* numbers from here on are used again */
#define SHADOW		0xc48u		/* gs:[esp + SHADOW] */

static inline uint64_t shadow_of(const struct thread *t, uint64_t sp)
{
	return gs_of(t) + (uint32_t)(sp + SHADOW);
}

/* Where the tables are that may have to move. */
struct places {
	uint32_t low, low_size;		/* the low place: R, then P */
	bool far;			/* T is in the zone */
	uint64_t table;			/* T */
	uint64_t entries_mapped, returns_mapped;	/* bytes of P and R */
};

#define T_CHUNK (4ull << 20)				/* bytes of T mapped at once */
#define T_COVER (T_CHUNK / 4)				/* addresses it covers */
#define T_CHUNKS ((1ull << 32) / T_COVER)
extern uint8_t t_mapped[T_CHUNKS];

/* ---- the cache ---- */

#define MAX_SEGMENTS 4096
#define MAX_REGIONS 65536	/* the kernel permits 65,530 mappings (vm.max_map_count) */
#define MAX_HOODS 8
#define MAX_MODES 64
#define TRAMPOLINES 32

/* A piece of the cache: blocks are written from its start (hot), stubs and literals from its
 * end (cold). */
struct segment {
	uint64_t base, end;
	uint64_t hot, cold;
	uint64_t tramp_exit, tramp_miss;	/* at its base: TRAMPOLINES bytes */
	uint64_t return_lookup;	/* code for returns that the shadow was wrong about */
	uint64_t calls_lookup;	/* code for calls whose context a slot does not have (calls.h) */
	uint32_t *ids;		/* its blocks, by ascending code address */
	uint32_t n_ids;
	bool empty;		/* mapped, and may be used again */
};

/* A stretch of addresses for segments, near some code of the program. */
struct hood {
	uint64_t start, end;
	uint64_t next;		/* the first address not used yet */
	struct segment *cur;	/* the segment that blocks are written to now */
};

/* Memory that the program may execute. */
struct region {
	uint64_t start, end;
	uint8_t prot;
	uint8_t shared;		/* MAP_SHARED: another process may change it */
	uint8_t anon;
	uint8_t ambiguous;	/* another region has the same low halves of addresses */
};

#define BUDGET_LATE 48			/* instructions of a block, at most: mode.late of `tare stat` */

/* What code counts, and how. Mode 0 bumps a cell per block. The other modes are for programs
 * that opened counters of the virtual PMU, or are to stop at an event: code adds to the task's
 * accumulators. */
struct mode {
	uint32_t acc;			/* events to add up: 1 << enum soft_event; 0: cells */
	bool cells;			/* with acc: cells are bumped, too, after what acc adds */
	uint32_t budgets;		/* events whose budgets code watches: 1 << enum soft_event */
	/* A block may ask where flags are free, not at its start, behind at most so many instructions: faster,
	 * but it may have made as many events by then. (Budgets of taken branches are never late.) */
	uint8_t late;
	bool taken;			/* taken branches have an id, and a cell, of their own */
	bool locked;			/* leave the cache after each locked instruction */
	bool fp;			/* … and when x87 or SSE exception flags change */
	bool serial;			/* … and after each serialising instruction */
};

/* Code of the mode adds to so many banks. A block that adds to the bank of one shortly before it waits for
 * that one's store. But a budget is shared by the banks, and a bank that is used up asks C. So where stops
 * are far apart there are many banks, and few where samples are near; rdpmc adds them up, too. */
static inline unsigned banks_of(const struct mode *m)
{
	return m->late == BUDGET_LATE ? VPMU_CODE_BANKS : VPMU_FEW_BANKS;
}

/* In such a mode the uncounted blocks of a chain add nothing: the block that the chain begins with adds
 * for them, too, before it runs, and a side exit takes back what does not run. */
static inline bool adds_ahead(const struct mode *m) { return m->budgets && !m->taken; }

/* A block that asked C, because a budget is used up, before it ran (or the rest of it: mode.late). */
struct block_to_run {
	uint32_t bank;			/* that it adds to */
	uint8_t vec[SOFT_EVENTS];	/* what it is worth, at most, with those that it adds ahead for */
};

/* What this room knows of the process. E.lock guards it, but for what says otherwise. */
struct code_cache {
	struct places where;
	uint32_t n_blocks;		/* ids 1 … n_blocks */
	uint32_t n_links;
	uint32_t n_entries, n_returns;
	uint32_t n_segments;
	uint32_t n_regions;
	uint32_t n_hoods;
	bool has_bmi2;			/* the CPU has rorx */
	bool may_guard;			/* there has been code that the program can write */
	bool counts_taken;		/* taken branches were asked for: as mode.taken, in mode 0 */
	uint32_t calls;			/* contexts count these events: 1 << enum soft_event; 0: calls
					 * are not followed */
	bool watch;			/* some functions switch counting (watched.c) */
	/* These three are set once, by any thread, without the lock: */
	bool precise;			/* a signal handler may look at the flags of a fault */
	bool no_tsc;			/* the program may have forbidden rdtsc (PR_SET_TSC) */
	bool traced;			/* another process traces this one, or is about to */
	bool window_used;		/* the program has memory in the range of T while it is near */
	bool has_vsyscall;
	uint64_t vdso, vdso_size;	/* the kernel's clock functions */
	uint64_t counts_mapped;		/* bytes of every thread's counter array */
	uint64_t code_bytes, source_bytes;
	uint64_t ticks;			/* of the TSC, spent translating */
	/* A lock of its own: while it is 1, the thread that set it keeps all others out of the
	 * cache; lookups wait (futex). Set and cleared by stop.c. */
	uint32_t stopping;
	uint32_t flushes;		/* how often the cache was emptied. Ids of blocks and links
					 * and numbers of calls from before a flush are invalid. */
	uint64_t flushed_blocks;	/* how many blocks were made before the last flush */
	uint32_t live_blocks;		/* blocks that a thread can enter … */
	uint32_t dead_blocks;		/* … and dropped ones, whose code is still there */
	uint32_t flush_at;		/* no flush before there are more dead blocks than this */
	uint8_t mode, n_modes;		/* the mode of new blocks; how many modes there are besides 0 */
	struct mode modes[MAX_MODES];
	struct hood hoods[MAX_HOODS];
	struct segment segments[MAX_SEGMENTS];
	struct region regions[MAX_REGIONS];
};

extern struct code_cache cache;

/* The same of the accumulators of the call graph, in code of mode 0. */
static inline bool calls_add_ahead(void) { return cache.calls && !cache.counts_taken; }

static inline struct block *block_at(uint32_t id) { return (struct block *)ZONE_BLOCKS + id; }
static inline struct link *link_at(uint32_t id) { return (struct link *)ZONE_LINKS + id; }
static inline uint64_t *counts_of(struct thread *t)
{
	return (uint64_t *)((uint64_t)t + THREAD_COUNTS);
}
/* The cell that the code of a block bumps. */
static inline uint64_t cell_index(uint32_t id)
{
	return soft_cell(id) + (block_at(id)->flags & BLOCK_CELL_AWAY ? SOFT_CELLS_AWAY : 0);
}
static inline uint64_t *cell_of(struct thread *t, uint32_t id)
{
	return counts_of(t) + cell_index(id);
}

/* The other cell of the block. Its code does not use it: on-off.c keeps counts there. */
static inline uint64_t *parked_cell(struct thread *t, uint32_t id)
{
	return counts_of(t) + soft_cell(id) +
	       (block_at(id)->flags & BLOCK_CELL_AWAY ? 0 : SOFT_CELLS_AWAY);
}

/* cache.c */
void cache_init(void);
/* The address of the code for t->pc, which is translated if need be. */
TAKES_LOCK uint64_t cache_lookup(struct thread *t);
/* The same after an exit by a link, which is linked if possible. `flushes`: cache.flushes when
 * the thread left the cache. */
TAKES_LOCK uint64_t cache_exit(struct thread *t, uint32_t link, uint32_t flushes);
/* The code of a block that the thread, which is inside, was about to run. 0: it was dropped. */
uint64_t cache_again(uint32_t block);
/* Forgets all blocks; their counts are folded. False: other threads did not leave the cache. */
TAKES_LOCK bool cache_flush(struct thread *t);
NEEDS_LOCK void cache_empty(void);	/* the same, after stop_others() */
/* Drops the blocks that may rely on what code of the range, which is not in their pages, does with flags. */
NEEDS_LOCK void cache_drop_relying(uint64_t start, uint64_t end);
/* These two may be called in a signal handler. */
struct segment *segment_of(uint64_t code);
bool in_cache(uint64_t pc);

/* stop.c */
#define STOP_KICK (-0x7a2f)	/* code of a SIGTRAP that asks a thread to leave the cache */
/* Makes all other threads leave the cache and keeps them out, until release_others(). The caller
 * must not be inside. True: the lock is held; release_others() drops it. False: the lock is
 * not held, because a thread did not leave the cache in time: a debugger holds it. */
TAKES_LOCK bool stop_others(struct thread *t);
NEEDS_LOCK void release_others(void);
/* The thread knows no address in the cache, and no id, any more. */
static inline void left_cache(struct thread *t)
{
	__atomic_store_n(&t->code.inside, false, __ATOMIC_RELEASE);
}

/* recover.c */
/* The program's state at an address of the cache: *pc, and `regs`, which come in as the CPU's.
 * Corrects the counts, so that they are those of the instructions before *pc. Sets t->code.has_run.
 * False: there is no code at the address. */
NEEDS_LOCK bool recover(struct thread *t, uint64_t code, uint64_t regs[16], uint64_t *pc);
/* The same, but the counts stay as they are, and `t` may be another thread, which is stopped. */
NEEDS_LOCK bool recover_view(const struct thread *t, uint64_t code, uint64_t regs[16],
			     uint64_t *pc);
/* Has counting replaced some of the program's flags at that address? See flags_lost_at(). */
NEEDS_LOCK bool flags_are_lost(uint64_t code);
/* The program's pc at an address of the cache; 0: there is no code. low_half: only the low 32 bits
 * of the address are known. */
NEEDS_LOCK uint64_t code_origin(uint64_t code, bool low_half);

/* count.c */
/* Adds everything that the thread counted to its record; the thread starts over at 0. */
NEEDS_LOCK void count_fold(struct thread *t);
/* E.hermetic: how many instructions the thread ran, in this image or since the fork. Looks at every block.
 * The thread is outside of the cache. */
uint64_t count_instructions(struct thread *t);
void count_settle(struct thread *t);	/* the cells are about to be set to 0 */
/* Folds all threads of the process and sets the state of their records: at the end of the process
 * and before an exec. Needs the lock, except in a vfork child, whose cells no other thread folds. */
void count_fold_all(uint32_t state);
static inline bool in_vdso(uint64_t pc) { return pc - cache.vdso < cache.vdso_size; }
void record_state(const struct thread *t, uint32_t state);	/* enum soft_state */
void count_vec(uint8_t *vec, const struct step *s, int n);	/* the vector of n instructions */
/* A correction, in code of the mode; count_add_acc(): of the accumulator only. */
void count_add(struct thread *t, int event, int64_t n, const struct mode *m);
void count_add_acc(struct thread *t, int event, int64_t n, const struct mode *m);
/* What the block and the uncounted ones behind it, which follow from it alone, are worth together. */
void count_ahead(uint32_t id, uint8_t vec[SOFT_EVENTS]);
/* The thread left a chain, instead of going on with that uncounted block. */
void count_left(struct thread *t, uint32_t id);
static inline bool counts_in_cells(const struct mode *m) { return !m->acc || m->cells; }
/* Code without a jump in it ran so many times more (less), as part of soft_record.way; not in the cells. */
void count_way(struct thread *t, uint64_t pc, uint16_t len, int64_t runs);
struct vpmu_task_mem;
void count_use_up(struct vpmu_task_mem *m, int event);	/* its budget: the next block asks */
/* A block did not run, but its counts were added up to the event of its LINK_TICK: takes them back,
 * but for those of the instructions that did run (mode.late). Before left_cache(). */
struct block_to_run count_tick(struct thread *t, const struct link *l);
/* Maps so many bytes of the cells of every thread. */
NEEDS_LOCK void count_map_cells(uint64_t bytes);

/* budget.c: of modes with `budgets`. Only C of the thread itself sets its budgets, out of the cache. */
#define BUDGET_NEVER (1ull << 55)	/* the top byte of a bank says whether its budget is used up */
/* So many events of the kind are missing to the next stop. If `next`, the block that the thread is
 * about to run, has as many, only the first part of it will run (thread.code.stops); so it is if only a few are
 * missing. */
void budget_set(struct thread *t, unsigned kind, uint64_t left, const struct block_to_run *next);
/* So many events may happen, less one, until the thread must ask. `next`, or NULL, need not ask if it has
 * fewer. */
void budget_share(struct thread *t, unsigned kind, uint64_t left, const struct block_to_run *next);
/* The budgets that end at vpmu_task_mem.stops_at are shared out again. False: the block that is about to
 * run has one of the stops in it; nothing is changed. */
bool budget_again(struct thread *t, const struct block_to_run *next);

/* on-off.c: counting only parts of the program. Why counting of a thread is off: */
enum part_off {
	OFF_PROCESS = 1,	/* for all threads of the process (start and stop) */
	OFF_THREAD = 2,		/* for this thread (toggle) */
};
void part_init(struct thread *t);	/* the first thread of an image */
void part_inherit(struct thread *t, const struct thread *parent);	/* a new thread, or vfork child */
void part_forked(struct thread *t, struct soft_record *r);	/* the child of a fork, with its new record */
/* Requests of the program. The thread must not be inside. */
TAKES_LOCK void part_switch(struct thread *t, bool on);	/* all threads of the process */
bool part_process_is_off(const struct thread *t);
TAKES_LOCK void part_toggle(struct thread *t);
TAKES_LOCK void part_zero(struct thread *t);		/* what the process has counted … */
TAKES_LOCK void part_zero_thread(struct thread *t);	/* … or the thread, since the last dump */
TAKES_LOCK void part_dump(struct thread *t, const char *name);	/* at most 119 characters of it */
/* Before a thread enters the cache: does what functions that it entered or left ask for (watched.c). */
TAKES_LOCK void part_follow(struct thread *t);

/* code-log.c: which code ran how often (code-abi.h). While counting of a thread is off, nothing is
 * written of what it runs. */
bool code_log_wanted(void);
/* Before the blocks of a fold, … */
NEEDS_LOCK void code_log_begin(const struct thread *t);
/* … each of which ran so often. */
NEEDS_LOCK void code_log_block(const struct thread *t, uint32_t id, uint64_t runs);
/* The branch at the end of the block was taken; times < 0: it was not, though it was counted. */
NEEDS_LOCK void code_log_taken(const struct thread *t, uint32_t id, int64_t times);
/* A range of whole instructions that is not a block ran; runs < 0: it did not, though it was
 * counted. */
void code_log_part(const struct thread *t, uint64_t pc, const uint8_t *bytes, uint16_t len,
		   uint8_t n_insns, int64_t runs);
NEEDS_LOCK void code_log_mark(const struct thread *t, uint32_t record, uint8_t kind,
			      uint32_t dump);	/* kind: CODE_ZERO or CODE_DUMP */
/* The program is about to unmap, or map over, this memory. */
TAKES_LOCK void code_log_unmaps(struct thread *t, uint64_t start, uint64_t end);
void code_log_maps_changed(void);
/* Any other record, with those bytes after it. */
void code_log_record(const struct thread *t, int kind, uint64_t pc, int64_t runs, const void *bytes,
		     uint16_t len);

/* calls.c: the call graph (cache.calls), and system calls where the code log is wanted */
void calls_init(void);
TAKES_LOCK bool calls_thread(struct thread *t, bool first);	/* false: no memory */
void calls_forked(struct thread *t);		/* in the child: all counts are 0 */
void calls_count(struct thread *t, int event, int64_t n);	/* a correction */
TAKES_LOCK uint64_t calls_exit(struct thread *t);	/* EXIT_CALLS: the pc to go on at */
TAKES_LOCK void calls_returned(struct thread *t);	/* to t->pc, popping the stack once */
TAKES_LOCK void calls_arrived(struct thread *t);	/* at t->pc, by an indirect branch */
TAKES_LOCK void calls_popped(struct thread *t);	/* C has made a return to t->pc */
/* A handler starts at t->pc, with its frame at `at`; the program has returned from such a frame. */
TAKES_LOCK void calls_signal(struct thread *t, int sig, uint64_t handler, uint64_t at);
TAKES_LOCK void calls_sigreturn(struct thread *t, uint64_t at);
TAKES_LOCK void calls_syscall(struct thread *t, uint64_t pc, long number, bool failed);
/* One that calls_syscall() has counted already failed. */
void calls_syscall_failed(struct thread *t, uint64_t pc, long number);
NEEDS_LOCK void calls_code_unmapped(void);

/* A block of the trace. Returns where its record is in the log; 0: the log is full. */
NEEDS_LOCK uint64_t code_log_define(const struct thread *t, uint64_t pc, const uint8_t *bytes,
				    uint16_t len, uint8_t n_insns);

/* trace.c: which memory the program used (trace-abi.h) */
bool trace_wanted(void);
void trace_room(struct thread *t);	/* LINK_TRACE: room for more words */
void trace_fs(struct thread *t);		/* the base of fs has changed */
/* Counting of the thread was switched; what it has run so far is part of a dump (0: is zeroed); so is the whole
 * process. Not while the thread is inside. */
void trace_switched(struct thread *t);
void trace_part_ends(struct thread *t, uint32_t dump);
void trace_thread_zeroed(struct thread *t);
NEEDS_LOCK void trace_next_part(void);
void trace_end(struct thread *t);	/* the calling thread ends, or execs */
void trace_forked(struct thread *t);	/* in the child: the words so far are the parent's */

/* regions.c */
void regions_init(void);		/* from /proc/self/maps */
/* The region that holds pc, or NULL. Valid as long as the lock is held. */
NEEDS_LOCK const struct region *region_find(uint64_t pc);
NEEDS_LOCK void region_set(uint64_t start, uint64_t end, int prot, bool shared, bool anon);
NEEDS_LOCK void region_clear(uint64_t start, uint64_t end);
/* The program has mapped something there (shared: MAP_SHARED), or nothing any more. */
NEEDS_LOCK void shared_note(uint64_t start, uint64_t end, bool shared);
NEEDS_LOCK bool shared_overlaps(uint64_t start, uint64_t end);	/* is any of it shared, as far as is known? */
/* Of the range, which has just become a region: the parts that are shared become regions of their own. */
NEEDS_LOCK void regions_share(uint64_t start, uint64_t end);

/* pages.c */
/* Drops all blocks that were made from memory in the range. */
NEEDS_LOCK void cache_invalidate(uint64_t start, uint64_t end);
/* The same, and the pages count as not guarded: the program replaces or unmaps them. */
NEEDS_LOCK void pages_forget(uint64_t start, uint64_t end);
bool pages_guarded(void);		/* is any page guarded? */
/* Drops the blocks of guarded pages in the range, and makes these writable again. False: no page
 * of the process is guarded. */
TAKES_LOCK bool pages_unguard(struct thread *t, uint64_t start, uint64_t end);
/* The kernel writes to [start, start + size) for thread.written[which] of that thread, now and until
 * it is called with another range: pages of it are not guarded. */
NEEDS_LOCK void pages_written_by_kernel(struct thread *t, unsigned which, uint64_t start, uint64_t size);
/* Writes to the program's memory as the kernel would, also where the engine has guarded a page. */
TAKES_LOCK bool put_guest(uint64_t to, const void *from, size_t n);
/* A store of the thread faulted at that address. True: it hit a guarded page, which is writable
 * now, or was made so by another thread; the store is to be tried again. */
NEEDS_LOCK bool page_written(struct thread *t, uint64_t addr);

/* alias.c */
/* A memory call of the program changes the range: aliases in it are not relied on any more. */
TAKES_LOCK void alias_touched(struct thread *t, uint64_t start, uint64_t end);
NEEDS_LOCK void aliases_before_fork(void);	/* finds those that are not known yet */
NEEDS_LOCK void aliases_in_child(void);		/* from now on it must not write them */

/* slots.c */
/* A call of the program has made that memory read-only … */
TAKES_LOCK void slots_protected(struct thread *t, uint64_t start, uint64_t end);
/* … and the next call may change that, or the memory. The thread must not be inside. */
TAKES_LOCK void slots_touched(struct thread *t, uint64_t start, uint64_t end);

/* kept.c */
/* The first thread of an image, before anything is translated: takes code over, if there is any. */
void kept_start(struct thread *t);
/* The program has mapped code of a file, privately and not for writing. */
TAKES_LOCK void kept_mapped(long fd, uint64_t start, uint64_t end);
NEEDS_LOCK void kept_save(const struct thread *t);	/* the process ends, all counts are folded */
void kept_never(void);			/* this process does not keep its code for others */

/* shadow.c */
/* A fault of the calling thread. True: it was in the shadow of its stack, which is mapped there
 * now. */
bool shadow_fault(struct thread *t, uint64_t addr);
bool shadow_is_mapped(const struct thread *t, uint64_t addr);
void shadow_drop(struct thread *t);	/* the thread ends */

/* place.c */
void places_init(void);			/* finds room for P, R and T in a new image */
/* Maps T for the addresses of that code. False: the program has memory where T would be. */
NEEDS_LOCK bool table_map(uint64_t pc, uint64_t len);
/* A lookup faulted at that address. True: T is mapped there now. */
NEEDS_LOCK bool table_fault(uint64_t addr);
/* Moves T into the zone. False: other threads did not leave the cache. */
TAKES_LOCK bool table_go_far(struct thread *t);
/* Is T in that range, or must be, because code is there? */
TAKES_LOCK bool table_in_the_way(struct thread *t, uint64_t start, uint64_t end);
/* Could the low place be elsewhere, if it is in that range? */
bool place_can_give(uint64_t start, uint64_t end);
/* Moves all that the engine has in that range, because the program wants it. False: the zone is
 * in it, or other threads did not leave the cache. */
TAKES_LOCK bool place_give(struct thread *t, uint64_t start, uint64_t end);
/* Where the engine's own mappings are, in this process or another one. */
struct engine_view {
	struct places where;
	uint32_t n_thread_addresses;
	uint32_t n_segments;
	const struct segment *segments;
	const uint8_t *t_mapped;
};
/* The first of them in [at, end). False: there is none. */
bool own_range(const struct engine_view *v, uint64_t at, uint64_t end, uint64_t *from,
	       uint64_t *to);
struct engine_view view_own(void);	/* of this process, as it was a moment ago */
bool engine_owns(uint64_t start, uint64_t end);	/* any part of that range */

/* ---- what this room asks of the rooms above ---- */

/* guest: the program jumped to an address without code, or to bytes that are no instruction. Jumps
 * there, so that the CPU raises the fault that this means, and delivers its signal. */
void signal_probe(struct thread *t) __attribute__((noreturn));
/* guest: t->pc lies in the vsyscall page. Makes the call that the address stands for. */
void vsyscall(struct thread *t);
/* guest: asks the launcher for the first watched function from w->from on. False: there is none. */
bool watch_ask(struct thread *t, struct soft_watched *w);
/* vpmu, each under `tare run` only (E.vpmu): */
/* Sets the accumulators of the flaws' sets of instructions in the vector of n instructions. */
void vpmu_count_insns(uint8_t *vec, const struct insn *in, int n);
bool vpmu_asks_x87(const struct insn *in);	/* the model may count it twice: see vpmu_x87() */
unsigned vpmu_width(void);			/* bits of a counter */

#endif
