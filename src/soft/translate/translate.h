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
 *	stop.c		keeping the other threads out of the cache
 *	count.c		cells to events
 *
 * Each block adds 1 to its own cell of the thread's counter array; count.c turns cells into
 * events when somebody looks.
 *
 * This header is what the rooms above (guest, vpmu) and engine.c use; what only the files of
 * this room share is in translate-room.h and emit.h. The room sees decode and the root.
 *
 * It asks of the rooms above it (declared at the end): the meaning of a jump to where no code
 * is, the calls of the vsyscall page, and what a flawed CPU counts for an instruction.
 */
#ifndef SOFT_TRANSLATE_H
#define SOFT_TRANSLATE_H

#include "engine.h"

struct insn;
struct step;

/* ---- blocks and links ---- */

#define MAX_BLOCKS	((THREAD_AREA - THREAD_COUNTS) / 16)
#define CELL_BYTES(blocks) (((blocks) / 256 + 1ull) * PAGE)	/* of ids up to it */

enum block_flags {
	BLOCK_CHAINED = 1,	/* falls in from the block with the id before it */
	BLOCK_JUMP_ENTRY = 2,	/* code starts with the check for indirect branches */
	BLOCK_ENTRY_ONLY = 4,	/* nothing but that check; `id_of` is the real block */
	BLOCK_DEAD = 8,
	BLOCK_CHECKED = 16,	/* compares its source bytes each time */
	BLOCK_SINGLE = 32,	/* one instruction, not entered in any table */
	BLOCK_FALLS = 64,	/* its end falls into the next id (no final jump) */
	BLOCK_TWIN = 128,	/* a further copy of a one-block loop (translate.c) */
	BLOCK_RETURN_ENTRY = 256,	/* code starts with the check for returns */
	BLOCK_FLAGS_FREE_AT_TARGET = 1024,	/* no flag but CF is live where its branch goes when taken */
	BLOCK_RETURN_LOOKUP = 512,	/* not a block: a segment's way on for returns (emit_return_lookup) */
	BLOCK_INVERTED = 2048,	/* its branch jumps when the program's does not */
	BLOCK_CELL_AWAY = 8192,	/* uses the second of its cells (abi.h) */
	BLOCK_RELIES_ON_NEXT = 16384,	/* destroys flags that blocks it goes on to do not want */
	BLOCK_SIDE_EXIT = 4096,	/* not a block: a side exit of a chain */
};

struct block {
	uint64_t pc;
	uint64_t code;		/* first byte in the cache */
	union {
		uint32_t src;	/* where its source bytes are kept in the heap; 0: at pc */
		uint32_t bumps;	/* BLOCK_SIDE_EXIT: the block whose cell it bumps */
	};
	uint32_t in_links;	/* links that jump here */
	uint32_t returns;	/* numbers of calls that return here */
	uint32_t page_next[2];	/* lists of blocks per source page (pages.c) */
	uint16_t src_len;
	uint16_t code_len;
	uint8_t n_insns;
	uint8_t inc_at;		/* the counter is bumped before this instruction */
	uint8_t inc_how;	/* enum inc_how */
	uint8_t mode;		/* cache.modes: what its code adds up */
	uint16_t flags;
	uint8_t vec[SOFT_EVENTS];
	/* 0: its cell says how often it ran. Else only the block so many ids before it leads
	 * here, by falling through: it ran as often as that one, less what the cell after
	 * that one's says (with 1 that is its own cell). See count.c. */
	uint8_t runs_from;
};
_Static_assert(sizeof(struct block) == 64, "one line");

enum link_kind {
	LINK_JUMP,		/* to target, directly */
	LINK_SIDE_EXIT,		/* the same, out of a chain whose next block is not counted itself */
	LINK_SYSCALL,		/* target: the instruction after */
	LINK_SPECIAL,		/* target: the instruction itself, run by C (special.c) */
	LINK_STOP,		/* target: continue there through the dispatcher, never linked */
	LINK_TICK,		/* the virtual clock reached its mark; target: the block itself */
	LINK_LOCKED,		/* a locked instruction was run; target: the next one */
	LINK_FP_ENV,		/* `insn` has stored x87 state; target: the next one */
	LINK_X87,		/* one of vpmu_asks_x87() was, likewise */
	LINK_STALE,		/* checked block found other bytes: target retranslated */
};

struct link {
	uint64_t target;
	union {
		uint64_t site;	/* LINK_JUMP, LINK_SIDE_EXIT: address of the rel32 to patch */
		uint64_t insn;	/* LINK_FP_ENV, LINK_X87: the program's instruction; or 0 */
	};
	uint32_t to_stub;	/* the rel32 that leads to its exit stub; 0: it has none yet */
	uint32_t next;		/* in its target's in_links */
	union {
		uint32_t bumps;	/* LINK_SIDE_EXIT: the block whose cell is bumped on the way */
		uint32_t side;	/* LINK_JUMP: the side exit (a link) whose code jumps here; or 0 */
	};
	uint8_t kind;
	bool linked;		/* it goes on without us */
};
_Static_assert(sizeof(struct link) == 32, "half a line");

/* ---- the tables of indirect branches and returns ---- */

/* Where indirect branches arrive: P has the address of each entry's code. */

/* Where returns arrive. Every call that was written has a number; it puts it into the
 * shadow of the stack, at the place of the return address, and the return takes it from
 * there: R has the address of the code for each number. The code looks whether the address
 * on the stack is the one it stands for, so that the shadow may be wrong; only 16 bits of it
 * are looked at, so that whatever it holds stays within R. The shadow of a
 * place must not stand at the same place of a page as what the program uses at the time:
 * CPUs take such stores and loads for the same at first. */
#define MAX_RETURNS	0x10000u	/* numbers from here on are used twice */
#define SHADOW		0xc48u		/* gs:[esp + SHADOW] */

static inline uint64_t shadow_of(const struct thread *t, uint64_t sp)
{
	return gs_of(t) + (uint32_t)(sp + SHADOW);
}

/* Where tables are that do not stay at one place. */
struct places {
	uint32_t low, low_size;		/* R and P */
	bool far;			/* T is in the zone */
	uint64_t table;			/* T: 4 bytes for each address (low 32 bits) */
	uint64_t entries_mapped, returns_mapped;	/* bytes of P and R */
};

#define T_CHUNK (1ull << 20)				/* bytes of T mapped at once */
#define T_COVER (T_CHUNK / 4)				/* addresses it covers */
#define T_CHUNKS ((1ull << 32) / T_COVER)
extern uint8_t t_mapped[T_CHUNKS];

/* ---- the cache ---- */

#define MAX_SEGMENTS 4096
#define MAX_REGIONS 8192
#define MAX_HOODS 8
#define MAX_MODES 64
#define TRAMPOLINES 32

/* A piece of code cache: hot code grows up, stubs and literals grow down. */
struct segment {
	uint64_t base, end;
	uint64_t hot, cold;
	uint64_t tramp_exit, tramp_miss;	/* at its base: TRAMPOLINES bytes */
	uint64_t return_lookup;	/* code for returns that the shadow was wrong about */
	uint32_t *ids;		/* blocks of this segment by ascending code address */
	uint32_t n_ids;
	bool empty;		/* mapped, and free to be used again */
};

/* A stretch of address space for segments, near some code. */
struct hood {
	uint64_t start, end;	/* what it may use */
	uint64_t next;		/* next free address */
	struct segment *cur;
};

/* Memory that the program may execute. */
struct region {
	uint64_t start, end;
	uint8_t prot;
	uint8_t shared;		/* MAP_SHARED: may change behind our back */
	uint8_t anon;
	uint8_t ambiguous;	/* shares low address halves with another one */
};

/* How code is written. Mode 0 counts in a cell per block; the others, once the
 * program opened counters of the virtual PMU, add to the task's accumulators. */
struct mode {
	uint32_t acc;			/* 1 << enum soft_event; 0: cells */
	bool ticks;			/* watch the virtual clock */
	bool taken;			/* taken branches have an id of their own */
	bool locked;			/* tell C of locked instructions */
};

/* What this room knows of the process. Written under the lock, but for what says otherwise. */
struct code_cache {
	struct places where;
	uint32_t n_blocks;		/* ids 1 … n_blocks */
	uint32_t n_links;
	uint32_t n_entries, n_returns;
	uint32_t n_segments;
	uint32_t n_regions;
	uint32_t n_hoods;
	bool has_bmi2;			/* the CPU has rorx */
	bool counts_taken;
	bool precise;			/* handlers may look at the flags of faults */
	bool no_tsc;			/* the program forbade reading it */
	bool traced;			/* or about to be: see traced.c */
	bool window_used;		/* the program maps memory where T may grow */
	bool has_vsyscall;
	uint64_t vdso, vdso_size;	/* the kernel's page of clock functions */
	uint64_t counts_mapped;		/* bytes of every thread's counter array */
	uint64_t code_bytes, source_bytes;
	uint64_t ticks;			/* spent translating */
	uint32_t stopping;		/* futex: a thread keeps the others out of the cache (stop.c) */
	uint32_t flushes;		/* how often the cache was emptied: numbers of blocks, links
					 * and calls of before mean nothing any more */
	uint64_t flushed_blocks;	/* blocks there were before the last time */
	uint32_t live_blocks;		/* those that can be entered … */
	uint32_t dead_blocks;		/* … and those that cannot, whose code is still there */
	uint32_t flush_at;		/* no flush before there are more dead ones than this */
	uint8_t mode, n_modes;		/* what new blocks use; modes besides 0 */
	struct mode modes[MAX_MODES];
	struct hood hoods[MAX_HOODS];
	struct segment segments[MAX_SEGMENTS];
	struct region regions[MAX_REGIONS];
};

extern struct code_cache cache;

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

/* cache.c */
void cache_init(void);
/* These three take the lock: */
uint64_t cache_lookup(struct thread *t);		/* code for t->pc, translating if needed */
/* A direct exit: link it, or go on. `flushes`: cache.flushes when the thread left the cache. */
uint64_t cache_exit(struct thread *t, uint32_t link, uint32_t flushes);
bool cache_flush(struct thread *t);	/* forgets all blocks, keeps their counts */
void cache_empty(void);			/* the same, by who has stopped the others */
/* These may be asked in a signal handler, without the lock: */
struct segment *segment_of(uint64_t code);
bool in_cache(uint64_t pc);

/* stop.c */
#define STOP_KICK (-0x7a2f)	/* code of a SIGTRAP that asks a thread to leave the cache */
/* Keeps all other threads out of the cache; returns with the lock held, to be followed by
 * release_others(), which drops it. The caller must not hold the lock or be inside. False
 * (lock not held): one of them did not come out in time, because a debugger holds it. */
bool stop_others(struct thread *t);
void release_others(void);
static inline void left_cache(struct thread *t)
{
	__atomic_store_n(&t->code.inside, false, __ATOMIC_RELEASE);
}

/* recover.c: under the lock */
/* Reconstructs the program's state at a cache address: fixes regs, gives the
 * original pc and how many instructions of the block were retired (count.c). */
bool recover(struct thread *t, uint64_t code, uint64_t regs[16], uint64_t *pc);
/* The same, for who only looks: nothing is counted, `t` may be stopped. */
bool recover_view(const struct thread *t, uint64_t code, uint64_t regs[16], uint64_t *pc);
bool flags_are_lost(uint64_t code);			/* some, there: see flags_lost_at() */
uint64_t code_origin(uint64_t code, bool low_half);	/* the program's pc, or 0 */

/* count.c */
void count_fold(struct thread *t);			/* adds to its record, zeroes */
void count_fold_all(uint32_t state);
static inline bool in_vdso(uint64_t pc) { return pc - cache.vdso < cache.vdso_size; }
void record_state(const struct thread *t, uint32_t state);
void count_vec(uint8_t *vec, const struct step *s, int n);	/* of n instructions */
void count_add(struct thread *t, int event, int64_t n, const struct mode *m);
void count_map_cells(uint64_t bytes);			/* of every thread */

/* regions.c */
void regions_init(void);
/* These three need the lock; what is found is valid as long as it is held. */
const struct region *region_find(uint64_t pc);
void region_set(uint64_t start, uint64_t end, int prot, bool shared, bool anon);
void region_clear(uint64_t start, uint64_t end);

/* pages.c: under the lock, but for pages_guarded(), and pages_unguard(), which takes it */
void cache_invalidate(uint64_t start, uint64_t end);	/* drops all blocks with source there */
void pages_forget(uint64_t start, uint64_t end);	/* nothing there is ours any more */
bool pages_guarded(void);					/* has any page lost its W? */
bool pages_unguard(struct thread *t, uint64_t start, uint64_t end);	/* false: none was shut */
/* a store hit a page we protect: opened */
bool page_written(struct thread *t, uint64_t addr);

/* alias.c */
void alias_touched(struct thread *t, uint64_t start, uint64_t end);	/* by a memory call */
void aliases_before_fork(void);
void aliases_in_child(void);

/* shadow.c */
bool shadow_fault(struct thread *t, uint64_t addr);	/* … in the shadow of its stack */
void shadow_drop(struct thread *t);

/* place.c */
void places_init(void);					/* P, R and T of a new image */
/* Of T; under the lock: */
bool table_map(uint64_t pc, uint64_t len);		/* false: memory of the program is there */
bool table_fault(uint64_t addr);			/* a lookup hit a hole in T: filled */
/* These stop the other threads (stop.c), so not under the lock. False: they cannot. */
bool table_go_far(struct thread *t);
bool table_in_the_way(struct thread *t, uint64_t start, uint64_t end);
bool place_can_give(uint64_t start, uint64_t end);	/* is there another low place? */
bool place_give(struct thread *t, uint64_t start, uint64_t end);	/* to the program */
/* Where an engine's own mappings are: this one's, or another process's. */
struct engine_view {
	struct places where;
	uint32_t n_thread_addresses;
	uint32_t n_segments;
	const struct segment *segments;
	const uint8_t *t_mapped;
};
/* the first of them in [at, end); false if there is none */
bool own_range(const struct engine_view *v, uint64_t at, uint64_t end, uint64_t *from,
	       uint64_t *to);
struct engine_view view_own(void);
bool engine_owns(uint64_t start, uint64_t end);

/* ---- what this room asks of the rooms above ---- */

/* guest: the program jumped to where no code is: lets the CPU and the kernel say what
 * that means, and delivers it. */
void signal_probe(struct thread *t) __attribute__((noreturn));
/* guest: t->pc lies in the vsyscall page; runs the call that is meant. */
void vsyscall(struct thread *t);
/* vpmu, each under `tare run` only (E.vpmu): */
void vpmu_overcount(uint8_t *vec, const struct insn *in);	/* what the model's flaws add */
bool vpmu_asks_x87(const struct insn *in);		/* it may count twice: see vpmu_x87 */
unsigned vpmu_width(void);				/* bits of a counter */

#endif
