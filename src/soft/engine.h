/* The engine's own state: threads, blocks, links, the code cache.
 *
 * How the pieces meet. A thread of the program runs translated blocks in a code
 * cache (translate.c and emit-*.c write them, cache.c finds and links them). It leaves the
 * cache only through glue.S, which saves the program's registers in its struct
 * thread (found through gs) and calls C on the engine's own stack: a block that
 * is not there yet (cache.c), a system call (syscall.c, thread.c, memory.c), a
 * signal (signal.c). Each block adds 1 to its own cell of the thread's counter
 * array; count.c turns cells into events when somebody looks.
 *
 * Nothing here uses libc, SSE registers or the program's stack.
 */
#ifndef SOFT_ENGINE_H
#define SOFT_ENGINE_H

#include "abi.h"
#include "fpstate.h"

#include <stdbool.h>
#include <stddef.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

#define PAGE 4096ull
#define PAGE_DOWN(x) ((uint64_t)(x) & ~(PAGE - 1))
#define PAGE_UP(x) PAGE_DOWN((uint64_t)(x) + PAGE - 1)

/* Kernel layouts, without libc's headers. */
struct k_sigaction {
	uint64_t handler, flags, restorer, mask;
};
struct k_stack {
	uint64_t sp;
	int32_t flags;
	uint32_t pad;
	uint64_t size;
};
struct k_sigcontext {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp,
		rip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
};
struct k_ucontext {
	uint64_t flags, link;
	struct k_stack stack;
	struct k_sigcontext mc;
	uint64_t sigmask;
};
struct k_siginfo {
	int32_t signo, err, code, pad;
	union {
		uint64_t addr;
		uint8_t rest[112];
	};
};

#define SIG_BIT(n) (1ull << ((n) - 1))
enum { SIGILL_ = 4, SIGTRAP_ = 5, SIGABRT_ = 6, SIGBUS_ = 7, SIGFPE_ = 8, SIGKILL_ = 9,
       SIGSEGV_ = 11, SIGCHLD_ = 17, SIGCONT_ = 18, SIGSTOP_ = 19, SIGTSTP_ = 20,
       SIGTTIN_ = 21, SIGTTOU_ = 22, SIGURG_ = 23, SIGWINCH_ = 28, SIGSYS_ = 31 };
#define SA_SIGINFO_ 4ull
#define ARCH_GET_CPUID_ 0x1011
#define ARCH_SET_CPUID_ 0x1012
#define SYNC_SIGNALS (SIG_BIT(SIGILL_) | SIG_BIT(SIGTRAP_) | SIG_BIT(SIGBUS_) | \
		      SIG_BIT(SIGFPE_) | SIG_BIT(SIGSEGV_) | SIG_BIT(SIGSYS_))

/* One per thread, at ZONE_THREADS + index * THREAD_STRIDE, THREAD_AREA below gs. The first
 * fields are known to glue.S and to emitted code by offset (see OFF_ below). */
struct thread {
	struct thread *self;		/* 0x00 */
	uint64_t regs[16];		/* 0x08 the program's registers while outside the cache */
	uint64_t pc;			/* 0x88 */
	uint64_t rflags;		/* 0x90 */
	uint64_t entry;			/* 0x98 the number of a return that found nothing */
	uint64_t spill[3];		/* 0xa0 where s1, s2, s3 are */
	uint64_t engine_rsp;		/* 0xb8 */
	uint64_t exit_link;		/* 0xc0 why the cache was left */
	uint64_t target;		/* 0xc8 where glue jumps */
	uint64_t app_gs;		/* 0xd0 the program's own gs base */
	uint32_t pending;		/* 0xd8 a signal waits in pend_* */
	uint32_t again;			/* 0xdc look the code up again before entering it (stop.c) */
	uint64_t app_gs_neg;		/* 0xe0 minus app_gs */
	uint64_t s0;			/* 0xe8 the spill slot of rcx */

	uint32_t record;		/* in soft_shared.records */
	uint32_t child_record;		/* … of the task it is about to make */
	uint32_t behind;		/* the block it is about to enter from the one above */
	int32_t tid;
	bool in_use;
	bool mapped;
	bool inside;			/* may be in the cache, or know addresses in it: see stop.c */
	bool kicked;			/* by stop.c, once at least */
	bool is_vfork;			/* another process in the same memory, … */
	bool parent_waits;		/* … whose parent sleeps until it is gone (CLONE_VFORK) */
	uint64_t app_mask;
	struct k_stack app_altstack;
	int64_t corr[SOFT_EVENTS];	/* parts of blocks, and what was folded */
	int64_t vdso_corr[SOFT_EVENTS];	/* … of these, in the vDSO */
	uint64_t app_err, app_trapno, app_cr2;	/* of the program's own last fault */
	struct k_sigaction *actions;	/* the program's view: E.actions, or own_actions */
	struct k_sigaction own_actions[65];
	/* the signal that waits */
	struct k_siginfo pend_info;
	struct k_ucontext pend_uc;
	bool pend_stale;		/* its FP state is not the program's any more */
	bool pend_forced;
	/* kill() with one of SYNC_SIGNALS, while it was blocked or another waited */
	uint64_t held;
	struct k_siginfo held_info[6];
	uint64_t temp_mask;		/* sigsuspend and the like were interrupted under it */
	bool has_temp_mask;
	bool probing;			/* the CPU is asked what happens at pc: see signal_probe */
	bool trying;			/* … and may go on behind it: see signal_try */
	bool trace_asked;		/* traced_asked() is to be called */
	bool learning;			/* the next SIGTRAP is its own: see learn_altstack */
	uint8_t flag_steps;		/* the CPU steps in the cache, so often: see step_on() */
	uint64_t shadow_last;		/* the chunk of its shadow mapped last; 0: none is */
	uint64_t shadow_common;		/* one of those that are the same memory; or 0 */
	uint32_t shadow_run;		/* chunks in a row, each below the one before */
	uint64_t cookie;		/* while the launcher is asked (soft_slot) */
	uint64_t rseq;			/* its registered area, or 0 */
	bool strict;			/* seccomp's strict mode, which is ours to keep */
	uint64_t retry_at;		/* a store to a page that others have opened, … */
	uint32_t retries;		/* … and how often in a row */
	uint64_t step_pc;		/* run this instruction alone: it writes to its own page */
	bool trap;			/* the program single-steps itself (TF): trap after it */
	bool flags_loaded;		/* … and it was a popf or iret, which has its own TF */
	bool stepped_pushf;		/* … and it was a pushf, which shows TF */
	uint16_t app_gs_sel;
	uint64_t fp_seen;		/* fp_facts.seen, … */
	int32_t fp_seen_tid;		/* … if this is still its tid: a fork child starts over */
	uint32_t vslot, child_vslot;	/* in the virtual PMU; of the task it is making */
};

/* Offsets inside a thread's stride. */
#define THREAD_FP	0x4000ull		/* pending fpstate, 16 KiB */
#define THREAD_ALT	0x10000ull		/* signal stack, 64 KiB */
#define THREAD_STACK	0x20000ull		/* engine stack, 128 KiB up to … */
#define THREAD_STACK_END 0x40000ull
#define THREAD_ACC	0xd0000ull		/* struct vpmu_task_mem, under `tare run` */
#define THREAD_COUNTS	0x100000ull		/* counter array */
#define MAX_BLOCKS	((THREAD_AREA - THREAD_COUNTS) / 16)
#define CELL_BYTES(blocks) (((blocks) / 256 + 1ull) * PAGE)	/* of ids up to it */
#define GS(offset)	((uint32_t)((offset) - THREAD_AREA))	/* as an operand through gs */

#define OFF_REGS	0x08
#define OFF_PC		0x88
#define OFF_RFLAGS	0x90
#define OFF_S0		0xe8
#define OFF_S1		0xa0
#define OFF_S2		0xa8
#define OFF_S3		0xb0
#define OFF_EXIT	0xc0
#define OFF_APP_GS	0xd0
#define OFF_APP_GS_NEG	0xe0
#define FLAG_TF		0x100u
/* what rt_sigreturn takes from a frame: CF PF AF ZF SF TF DF OF RF AC; NT and ID stay */
#define SIGRETURN_FLAGS	0x50dd5ull
_Static_assert(offsetof(struct thread, regs) == OFF_REGS, "glue.S");
_Static_assert(offsetof(struct thread, pc) == OFF_PC, "glue.S");
_Static_assert(offsetof(struct thread, rflags) == OFF_RFLAGS, "glue.S");
_Static_assert(offsetof(struct thread, entry) == 0x98 && THREAD_AREA == 0x20000000, "glue.S");
_Static_assert(offsetof(struct thread, spill) == OFF_S1, "glue.S");
_Static_assert(offsetof(struct thread, engine_rsp) == 0xb8, "glue.S");
_Static_assert(offsetof(struct thread, exit_link) == OFF_EXIT, "glue.S");
_Static_assert(offsetof(struct thread, target) == 0xc8, "glue.S");
_Static_assert(offsetof(struct thread, app_gs) == OFF_APP_GS, "emit");
_Static_assert(offsetof(struct thread, pending) == 0xd8 && offsetof(struct thread, again) == 0xdc,
	       "glue.S compares both at once");
_Static_assert(offsetof(struct thread, app_gs_neg) == OFF_APP_GS_NEG, "emit");
_Static_assert(offsetof(struct thread, s0) == OFF_S0, "emit, glue.S");
_Static_assert(sizeof(struct thread) <= THREAD_FP, "thread header");
_Static_assert(THREAD_STACK_END == 0x40000, "glue.S, inject.c");

/* How a block's counter is bumped. */
enum inc_how {
	INC_PLAIN,		/* inc gs:[cell], where no flag but CF is live */
	INC_SPILL,		/* through rcx, spilled: flags live everywhere */
	INC_IN_TAIL,		/* inside the indirect branch's sequence, where rcx is free */
	INC_ABOVE,		/* not at all: see block.above */
};

enum block_flags {
	BLOCK_CHAINED = 1,	/* falls in from the block with the id before it */
	BLOCK_IENTRY = 2,	/* code starts with the check for indirect branches */
	BLOCK_IENTRY_ONLY = 4,	/* nothing but that check; `id_of` is the real block */
	BLOCK_DEAD = 8,
	BLOCK_CHECKED = 16,	/* compares its source bytes each time */
	BLOCK_SINGLE = 32,	/* one instruction, not entered in any table */
	BLOCK_FALLS = 64,	/* its end falls into the next id (no final jump) */
	BLOCK_TWIN = 128,	/* a further copy of a one-block loop (translate.c) */
	BLOCK_RENTRY = 256,	/* code starts with the check for returns */
	BLOCK_TAKEN_PLAIN = 1024,	/* no flag but CF is live where its branch goes when taken */
	BLOCK_OTHER = 512,	/* not a block: a segment's way on for returns (emit_other) */
	BLOCK_TURNED = 2048,	/* its branch jumps when the program's does not */
	BLOCK_CELL_AWAY = 8192,	/* uses the second of its cells (abi.h) */
	BLOCK_LOOKED_ON = 16384,	/* destroys flags that blocks it goes on to do not want */
	BLOCK_SIDE = 4096,	/* not a block: a side exit of a chain; bumps the cell `src` */
};

struct block {
	uint64_t pc;
	uint64_t code;		/* first byte in the cache */
	uint32_t src;		/* where its source bytes are kept in the heap; 0: at pc */
	uint32_t in_links;	/* links that jump here */
	uint32_t returns;	/* numbers of calls that return here */
	uint32_t page_next[2];	/* lists of blocks per source page (pages.c) */
	uint16_t src_len;
	uint16_t code_len;
	uint8_t n_insns;
	uint8_t inc_at;		/* the counter is bumped before this instruction */
	uint8_t inc_how;
	uint8_t mode;		/* E.modes: what its code adds up */
	uint16_t flags;
	uint8_t vec[SOFT_EVENTS];
	/* 0: its cell says how often it ran. Else only the block so many ids before it leads
	 * here, by falling through: it ran as often as that one, less what the cell after
	 * that one's says (with 1 that is its own cell). See count.c. */
	uint8_t above;
};
_Static_assert(sizeof(struct block) == 64, "one line");

#define IENTRY_SIZE 30		/* bytes of the check for indirect branches */
#define RENTRY_SIZE 43		/* … and for returns, */
#define ENTRY_AT 5		/* … who both come in here */

/* The low place (place.c) has R at its start, then P. */
#define LOW_ENTRIES	(MAX_RETURNS * 8ull)

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

/* How the dispatcher's caller arrives at a block. */
enum arrival { ARRIVE_DIRECTLY, ARRIVE_BY_JUMP, ARRIVE_BY_RETURN };

/* thread.exit_link, where it is not a link's number */
#define EXIT_INDIRECT	0u
#define EXIT_RETURN	0x7fffffffu

enum link_kind {
	LINK_JUMP,		/* to target, directly */
	LINK_SIDE,		/* the same, out of a chain whose next block is not counted itself */
	LINK_SYSCALL,		/* target: the instruction after */
	LINK_SPECIAL,		/* target: the instruction itself, run by C (special.c) */
	LINK_STOP,		/* target: continue there through the dispatcher, never linked */
	LINK_TICK,		/* the virtual clock reached its mark; target: the block itself */
	LINK_LOCKED,		/* a locked instruction was run; target: the next one */
	LINK_FP_ENV,		/* the instruction at `site` has stored x87 state; target: the next one */
	LINK_X87,		/* one of vpmu_asks_x87() was, likewise */
	LINK_STALE,		/* checked block found other bytes: target retranslated */
};

struct link {
	uint64_t target;
	uint64_t site;		/* address of the rel32 to patch */
	uint32_t leave;		/* … which leads to its exit stub with this, 0 if not made yet */
	uint32_t next;		/* in its target's in_links */
	uint32_t cell;		/* LINK_SIDE: to bump on the way; LINK_JUMP: 0, or whose way on it is */
	uint8_t kind;
	bool linked;		/* it goes on without us */
};
_Static_assert(sizeof(struct link) == 32, "half a line");

#define TRAMPOLINES 32

/* A piece of code cache: hot code grows up, stubs and literals grow down. */
struct segment {
	uint64_t base, end;
	uint64_t hot, cold;
	uint64_t tramp_exit, tramp_miss;	/* at its base: TRAMPOLINES bytes */
	uint64_t other;		/* where returns go that the shadow was wrong about */
	uint32_t *ids;		/* blocks of this segment by ascending code address */
	uint32_t n_ids;
	bool empty;		/* mapped, and free to be used again */
};

/* Memory that the program may execute. */
struct region {
	uint64_t start, end;
	uint8_t prot;
	uint8_t shared;		/* MAP_SHARED: may change behind our back */
	uint8_t anon;
	uint8_t ambiguous;	/* shares low address halves with another one */
};

#define MAX_SEGMENTS 4096
#define MAX_REGIONS 8192
#define MAX_HOODS 8

/* A stretch of address space for segments, near some code. */
struct hood {
	uint64_t start, end;	/* what it may use */
	uint64_t next;		/* next free address */
	struct segment *cur;
};

/* Calls below gate() answer these besides the kernel's results. */
#define GATE_ABORTED (-600)		/* a signal came first; the call was not made */
#define GATE_RESTART (-601)		/* the kernel wants it made again after the handler */
#define GATE_TRAPPED (-602)		/* a seccomp filter wants SIGSYS instead */

/* How code is written. Mode 0 counts in a cell per block; the others, once the
 * program opened counters of the virtual PMU, add to the task's accumulators. */
struct mode {
	uint32_t acc;			/* 1 << enum soft_event; 0: cells */
	bool ticks;			/* watch the virtual clock */
	bool taken;			/* taken branches have an id of their own */
	bool locked;			/* tell C of locked instructions */
};

#define MAX_MODES 64

/* Where tables are that do not stay at one place. */
struct places {
	uint32_t low, low_size;		/* R and P */
	bool far;			/* T is in the zone */
	uint64_t table;			/* T: 4 bytes for each address (low 32 bits) */
	uint64_t entries_mapped, returns_mapped;	/* bytes of P and R */
};

struct engine {
	struct soft_shared *shared;
	uint32_t lock;			/* translator, tables, regions */
	uint32_t execing;		/* futex: a thread is about to exec */
	int32_t pid;
	bool has_fsgsbase;
	bool counts_taken;
	struct places where;
	uint32_t n_blocks;		/* ids 1 … n_blocks */
	uint32_t n_links;
	uint32_t n_entries, n_returns;
	uint32_t n_threads;		/* slots ever used: threads[0] … */
	uint32_t n_thread_places;	/* addresses tried for them */
	uint32_t n_free_slots;		/* of them, whose thread has ended */
	uint32_t n_own;			/* threads of this process, without vfork children */
	uint32_t n_running;		/* threads and vfork children there are now */
	uint32_t n_segments;
	uint32_t n_regions;
	uint32_t n_hoods;
	uint64_t vdso, vdso_size;	/* the kernel's page of clock functions */
	uint64_t code_bytes, source_bytes;
	uint64_t ticks;			/* spent translating */
	uint32_t stopping;		/* futex: a thread keeps the others out of the cache (stop.c) */
	uint32_t flushes;		/* how often the cache was emptied: numbers of blocks, links
					 * and calls of before mean nothing any more */
	uint64_t flushed_blocks;	/* blocks there were before the last time */
	uint32_t live_blocks;		/* those that can be entered … */
	uint32_t dead_blocks;		/* … and those that cannot, whose code is still there */
	uint32_t flush_at;		/* no flush before there are more dead ones than this */
	bool no_tsc;			/* the program forbade reading it */
	struct thread *threads[MAX_THREADS];
	struct segment segments[MAX_SEGMENTS];
	struct region regions[MAX_REGIONS];
	struct hood hoods[MAX_HOODS];
	struct k_sigaction actions[65];	/* the program's view */
	uint32_t reserved_fd;
	bool has_vsyscall;
	bool zone_forbidden;		/* the program mapped it so that nobody can use it */
	bool window_used;		/* the program maps memory where T may grow */
	bool mem_open;			/* it opened /proc/…/mem: writes may change code */
	bool filtered;			/* it installed a seccomp filter */
	uint32_t mdwe;			/* PR_SET_MDWE's bits */
	bool cpuid_forbidden;		/* a thread forbade it once (ARCH_SET_CPUID) */
	bool traced;			/* or about to be: see traced.c */
	bool precise;			/* handlers may look at the flags of faults */
	bool fp_known;			/* fp is filled in: see fp_learn() */
	struct fp_facts fp;		/* … what does not differ between threads */
	bool vpmu;			/* `tare run`: there is a virtual PMU */
	uint8_t mode, n_modes;		/* what new blocks use; modes besides 0 */
	struct mode modes[MAX_MODES];
};

extern struct engine E;

static inline struct block *block_at(uint32_t id) { return (struct block *)ZONE_BLOCKS + id; }
static inline const uint8_t *block_src(const struct block *b)
{
	return (const uint8_t *)(b->src ? ZONE_HEAP + b->src : b->pc);
}
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
static inline struct thread *thread_self(void)
{
	struct thread *t;
	__asm__ volatile("mov %%gs:%c1, %0" : "=r"(t) : "i"(-(int64_t)THREAD_AREA));
	return t;
}
static inline struct thread *thread_at(uint32_t i) { return E.threads[i]; }
static inline uint64_t entries_base(void) { return E.where.low + LOW_ENTRIES; }
static inline uint64_t returns_base(void) { return E.where.low; }
static inline uint64_t *entry_at(uint32_t n) { return (uint64_t *)entries_base() + n; }
static inline uint64_t *return_at(uint32_t n) { return (uint64_t *)returns_base() + n; }
/* … and the next number of those that arrive at the same block */
static inline uint32_t *return_next(uint32_t n) { return (uint32_t *)ZONE_RETURNS + n; }
static inline uint64_t gs_of(const struct thread *t) { return (uint64_t)t + THREAD_AREA; }
static inline uint64_t shadow_of(const struct thread *t, uint64_t sp)
{
	return gs_of(t) + (uint32_t)(sp + SHADOW);
}
/* T's cell of an address: its entry's number. */
static inline uint32_t *table_cell(uint64_t pc)
{
	return (uint32_t *)(E.where.table + (pc & 0xffffffffu) * 4);
}

struct insn;
struct step;

/* memory.c: the engine's own memory, and the program's executable regions */
void *zone_map(uint64_t addr, uint64_t size);		/* fixed, zeroed, rw; dies if impossible */
bool zone_try_map(uint64_t addr, uint64_t size);	/* … says so */
void zone_touch(uint64_t addr, uint64_t size);		/* what will be used soon */
void arena_grow_now(uint64_t base, uint64_t *mapped, uint64_t need);
static inline void arena_grow(uint64_t base, uint64_t *mapped, uint64_t need)
{
	if (*mapped < need)
		arena_grow_now(base, mapped, need);
}
void *heap_alloc(size_t size);
void heap_empty(void);
void arena_empty(uint64_t base, uint64_t mapped);	/* all zero again, pages given back */
bool shadow_fault(struct thread *t, uint64_t addr);	/* … in the shadow of its stack */
void shadow_drop(struct thread *t);
void regions_init(void);
bool regions_learn(struct thread *t, uint64_t pc);	/* new executable memory found in maps */
void readable_reset(void);
uint64_t readable_end(uint64_t pc, uint64_t end);	/* of code, by page */
/* Where an engine's own mappings are: this one's, or another process's. */
struct engine_view {
	struct places where;
	uint32_t n_thread_places;
	uint32_t n_segments;
	const struct segment *segments;
	const uint8_t *t_mapped;
};
#define T_CHUNK (1ull << 20)				/* bytes of T mapped at once */
#define T_COVER (T_CHUNK / 4)				/* addresses it covers */
#define T_CHUNKS ((1ull << 32) / T_COVER)
extern uint8_t t_mapped[T_CHUNKS];
/* the first of them in [at, end); false if there is none */
bool own_range(const struct engine_view *v, uint64_t at, uint64_t end, uint64_t *from,
	       uint64_t *to);
struct engine_view view_own(void);
bool engine_owns(uint64_t start, uint64_t end);
/* These three need the lock; what is found is valid as long as it is held. */
const struct region *region_find(uint64_t pc);
void region_set(uint64_t start, uint64_t end, int prot, bool shared, bool anon);
void region_clear(uint64_t start, uint64_t end);
long memory_syscall(struct thread *t, long nr, const uint64_t *a);

/* place.c */
void places_init(void);					/* P, R and T of a new image */
void places_window(uint64_t start, uint64_t end);	/* memory the program has already … */
void places_check(void);				/* … and T moves if it is in its way */
uint32_t entries_max(void);				/* that P has room for */
/* Of T; under the lock: */
bool table_map(uint64_t pc, uint64_t len);		/* false: memory of the program is there */
bool table_is_mapped(uint64_t pc);
bool table_fault(uint64_t addr);			/* a lookup hit a hole in T: filled */
void table_empty(void);
/* These stop the other threads (stop.c), so not under the lock. False: they cannot. */
bool table_go_far(struct thread *t);
bool table_in_the_way(struct thread *t, uint64_t start, uint64_t end);
bool place_can_give(uint64_t start, uint64_t end);	/* is there another low place? */
bool place_give(struct thread *t, uint64_t start, uint64_t end);	/* to the program */

/* alias.c: shared memory that is executed in one mapping and written in another */
bool alias_known(uint64_t pc);		/* all who can write the shared code there are known */
uint64_t alias_of_code(uint64_t addr);	/* where known code is written; 0: nowhere */
uint64_t alias_code_of(uint64_t addr);	/* where what is written there is executed; or 0 */
void alias_touched(struct thread *t, uint64_t start, uint64_t end);	/* by a memory call */
void aliases_before_fork(void);
void aliases_in_child(void);

/* pages.c: all but pages_shut() and pages_open(), which takes it, need the lock */
uint32_t block_find(uint64_t pc);			/* 0: none */
bool block_exists(uint64_t pc);				/* … even one that only its chain leads to */
void block_note(uint32_t id);				/* a new block: found from now on … */
void block_forget(uint32_t id);				/* … until now */
void cache_invalidate(uint64_t start, uint64_t end);	/* drops all blocks with source there */
void pages_forget(uint64_t start, uint64_t end);	/* nothing there is ours any more */
bool pages_shut(void);					/* has any page lost its W? */
bool pages_open(struct thread *t, uint64_t start, uint64_t end);	/* false: none was shut */
/* a store hit a page we protect: opened */
bool page_written(struct thread *t, uint64_t addr);
void pages_release(uint64_t start, uint64_t end);	/* opened, and without blocks */
void page_protect(uint64_t page);			/* before translating writable code */
/* Around heap_empty(): forgets the blocks of all pages, not what is known of the pages. */
void pages_save(void);
void pages_restore(void);
bool page_is_checked(uint64_t page);

/* stop.c */
#define STOP_KICK (-0x7a2f)	/* code of a SIGTRAP that asks a thread to leave the cache */
/* Keeps all other threads out of the cache; returns with the lock held, to be followed by
 * others_go_on(), which drops it. The caller must not hold the lock or be inside. False
 * (lock not held): one of them did not come out in time, because a debugger holds it. */
bool others_stop(struct thread *t);
void others_go_on(void);
void lock_take_to_enter(struct thread *t);		/* waits until nobody keeps us out */
static inline void left_cache(struct thread *t)
{
	__atomic_store_n(&t->inside, false, __ATOMIC_RELEASE);
}

/* cache.c: all but cache_lookup(), cache_exit() and cache_flush(), which take it, and segment_of() and
 * in_cache(), which may be asked in a signal handler, need the lock */
void entry_set(uint64_t pc, uint64_t code);		/* indirect branches to pc find it */
uint32_t new_return(void);				/* the number of a call */
uint64_t cache_lookup(struct thread *t);		/* code for t->pc, translating if needed */
/* A direct exit: link it, or go on. `flushes`: E.flushes when the thread left the cache. */
uint64_t cache_exit(struct thread *t, uint32_t link, uint32_t flushes);
bool cache_flush(struct thread *t);	/* forgets all blocks, keeps their counts; not under the lock */
void cache_empty(void);			/* the same, by who has stopped the others */
void cache_drop(uint32_t id);				/* the block and the chain it stands in */
void cache_init(void);
void link_to(uint32_t link, uint32_t block);
void link_patch(uint64_t site, uint64_t to);
void link_leave(const struct link *l);			/* to its stub */
bool in_reach(uint64_t site, uint64_t to);		/* of a rel32 */
struct segment *segment_of(uint64_t code);
uint32_t block_of_code(struct segment *s, uint64_t code);
struct segment *segment_for(uint64_t pc);
bool segment_has_ids(const struct segment *s);		/* room for a few more */
uint32_t new_block(void);
uint32_t new_link(uint64_t target, uint8_t kind);
bool in_cache(uint64_t pc);

/* translate.c: under the lock */
uint32_t translate(uint64_t pc, enum arrival how);	/* 0: cannot; see translate_problem */
uint32_t translate_single(uint64_t pc);			/* one instruction, run once */
uint32_t translate_behind(struct thread *t, uint32_t link);	/* … the block it leaves; 0: cannot */
void put_side(uint32_t link);				/* LINK_SIDE: the code that bumps, and goes on */
void put_other(struct segment *s);			/* into a new one */
/* The code for those who arrive at the block in that way, written if it has none. */
uint64_t entry_code(uint32_t id, enum arrival how);
void translate_reset(void);				/* all blocks are gone */
enum { PROBLEM_NONE, PROBLEM_NOT_EXECUTABLE, PROBLEM_BAD_INSN };
extern int translate_problem;

/* emit.c */
void put_stub(struct segment *s, uint32_t link);	/* the exit of a link that has a site */

/* recover.c: under the lock */
/* Reconstructs the program's state at a cache address: fixes regs, gives the
 * original pc and how many instructions of the block were retired (count.c). */
bool recover(struct thread *t, uint64_t code, uint64_t regs[16], uint64_t *pc);

/* The same, for who only looks: nothing is counted, `t` may be stopped. Under the lock. */
bool look_back(const struct thread *t, uint64_t code, uint64_t regs[16], uint64_t *pc);

bool flags_are_lost(uint64_t code);			/* some, there; under the lock: see flags_lost_at() */
uint64_t code_origin(uint64_t code, bool low_half);	/* the program's pc, or 0; under the lock */

/* count.c */
void count_fold(struct thread *t);			/* adds to its record, zeroes */
void count_fold_all(uint32_t state);
static inline bool in_vdso(uint64_t pc) { return pc - E.vdso < E.vdso_size; }
void record_state(const struct thread *t, uint32_t state);
void count_vec(uint8_t *vec, const struct step *s, int n);	/* of n instructions */
void count_add(struct thread *t, int event, int64_t n, const struct mode *m);

/* syscall.c */
uint64_t syscall_exit(struct thread *t, const struct link *l);
long gate(struct thread *t, long nr, const uint64_t *args);
/* openat for the engine itself, also where the program has used up its (soft) limit */
long own_open(long dir, const char *path, long flags);

/* thread.c */
struct thread *thread_new(void);
void threads_map_counts(uint64_t bytes);
bool threads_overlap(uint64_t start, uint64_t end);	/* those outside the zone */
void thread_free(struct thread *t);
bool thread_is_last(const struct thread *self);
long thread_clone(struct thread *t, long nr, const uint64_t *a);
void thread_exit(struct thread *t, long nr, const uint64_t *a) __attribute__((noreturn));
void record_start(struct thread *t, uint32_t i, bool is_thread, int parent);
void record_live(struct thread *t, struct soft_record *r);
void set_gs(struct thread *t);
void record_names(struct soft_record *r);
void copy_text(char *to, size_t size, const char *from, size_t len);
bool copy_string(char *to, size_t size, uint64_t from);	/* of the program; cut off if long */
void app_gs_set(struct thread *t, uint64_t base);

/* exec.c */
bool is_traced(void);					/* the calling thread, as /proc tells */
long thread_exec(struct thread *t, long nr, const uint64_t *a);

/* signal.c */
void signals_init(struct thread *t);
void signal_altstack(struct thread *t);
void signal_deliver_pending(struct thread *t) __attribute__((noreturn));
void signal_deliver_held(struct thread *t);		/* returns if none is due */
void signal_leave(struct thread *t, uint64_t fpstate, uint64_t fp_flags)
	__attribute__((noreturn));
void signal_take_regs(struct thread *t, const struct k_sigcontext *m);
struct k_sigaction signal_kernel_action(int sig, const struct k_sigaction *act);
bool signal_on_altstack(const struct k_stack *s, uint64_t sp);
/* before an exec: ignored and blocked signals as the program has them; and back */
void signals_as_app(struct thread *t);
void signals_as_engine(struct thread *t);
/* The program jumped to where no code is: lets the CPU and the kernel say what
 * that means, and delivers it. */
void signal_probe(struct thread *t) __attribute__((noreturn));
/* Likewise an instruction at t->pc that probably faults, and was counted; if it does not,
 * the program goes on behind it. Not for one with an operand through gs. */
void signal_try(struct thread *t) __attribute__((noreturn));
void signal_fatal(struct thread *t, int sig) __attribute__((noreturn));
/* raises a synchronous signal for the program at t->pc */
void signal_raise(struct thread *t, int sig, int code, uint64_t addr, int trapno, int err)
	__attribute__((noreturn));
void mask_set(struct thread *t, uint64_t app_mask);
void fp_learn(void);					/* E.fp, from CPUID */
bool copy_guest(void *to, const void *from, size_t n);	/* false: a fault */

/* signal-calls.c */
long signal_syscall(struct thread *t, long nr, const uint64_t *a);

/* special.c */
bool reads_gs_selector(const struct insn *in);		/* mov r/m, gs; push gs */
void uncount(struct thread *t, uint64_t pc);		/* the instruction there has not retired */
void vsyscall(struct thread *t);			/* t->pc lies in the vsyscall page */
uint64_t special_exit(struct thread *t, const struct link *l);
void fp_env_stored(struct thread *t, uint64_t pc);	/* by the instruction there */
void fp_own_address(struct thread *t, uint64_t at, unsigned size);	/* of an x87 instruction */

/* rseq.c */
void rseq_look_at_file(long fd);			/* code of it is being mapped */
void rseq_init(void);
long rseq_syscall(struct thread *t, const uint64_t *a);
void rseq_check(struct thread *t);			/* is a critical section in use? */

/* traced.c */
#define TRACED_KICK (-0x7a30)	/* code of a SIGTRAP that asks a process to traced_asked() */
long ptrace_syscall(struct thread *t, const uint64_t *a);
void traced_asked(struct thread *t);
void traced_heard(struct thread *t);
void traced_thread(struct thread *t);			/* a new one of a traced process */
void traced_code(struct thread *t);			/* likewise after code was mapped */

/* ptrace.c */
long ptrace_registers(struct thread *t, const uint64_t *a);	/* the program's, of a tracee */

/* seccomp.c */
long seccomp_syscall(struct thread *t, long nr, const uint64_t *a);
void seccomp_strict(struct thread *t, long nr);		/* ends what strict mode ends */

/* procfs.c */
long proc_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);
long proc_read(struct thread *t, long nr, const uint64_t *a, bool *done);	/* procfs-read.c */

/* vpmu.c, vpmu-calls.c, vpmu-files.c, vpmu-flaws.c: the virtual PMU. All but
 * vpmu_start are called under `tare run` only (E.vpmu). */
#define VPMU_KICK (-0x7a2e)	/* code of a SIGTRAP that asks a task to vpmu_follow() */
void vpmu_start(struct thread *t);			/* a new image */
void vpmu_making(struct thread *t, bool is_thread);	/* before a clone */
void vpmu_made(struct thread *t, long ret, bool is_thread);	/* … after it, in the parent */
void vpmu_thread(struct thread *t);			/* a new thread, or a vfork child */
void vpmu_forked(struct thread *t);			/* in the child of a fork */
void vpmu_ended(struct thread *t);
void vpmu_before_exec(struct thread *t);
void vpmu_exec_failed(struct thread *t);
void vpmu_follow(struct thread *t);			/* somebody wants other events of it */
void vpmu_tick(struct thread *t);
void vpmu_locked(struct thread *t);
void vpmu_x87(struct thread *t);
bool vpmu_asks_x87(const struct insn *in);		/* it may count twice: see vpmu_x87 */
void vpmu_rdpmc(struct thread *t);			/* at t->pc, counted already */
bool vpmu_cpuid(struct thread *t);			/* false: it is forbidden */
void vpmu_overcount(uint8_t *vec, const struct insn *in);
long vpmu_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);
long vpmu_path(struct thread *t, long nr, const uint64_t *a, bool *done);
unsigned vpmu_width(void);

/* engine.c */
void die(const char *what, uint64_t pc) __attribute__((noreturn));
void no_memory(void) __attribute__((noreturn));		/* the program's address space is full */
void refuse(const char *what) __attribute__((noreturn));	/* the program, not a fault of ours */
void lock_take(struct thread *t);
bool lock_try(struct thread *t);		/* for a moment */
void lock_drop(void);
uint64_t resume(struct thread *t);		/* code address for t->pc, signals first */
uint64_t now_ns(void);

/* The engine's own code. */
extern const char __executable_start[], etext[];
static inline bool in_engine(uint64_t pc)
{
	return pc >= (uint64_t)__executable_start && pc < (uint64_t)etext;
}

/* glue.S */
extern const char glue_start[], glue_end[], glue_exit[], glue_miss[], glue_return_miss[],
	glue_enter_begin[],
	glue_enter_end[], glue_redispatch[], glue_restorer[], glue_master[];
extern const char gate_begin[], gate_insn[], gate_after[], gate_abort[], clone_after[];
extern const char copy_begin[], copy_end[], copy_fault[];
long gate_call(struct thread *t, const uint64_t *nr_and_args);
long glue_copy(void *to, const void *from, size_t n);
long glue_peek(const void *at);
long glue_clone(long nr, const uint64_t *args, struct thread *child);
void glue_xsave(void *to, uint64_t features);
void glue_fxsave(void *to);
extern const char cpuid_insn[], cpuid_fault[];
bool glue_cpuid(uint32_t leaf, uint32_t sub, uint32_t answer[4]);
void glue_sigreturn(void *uc, uint64_t flags) __attribute__((noreturn));
void glue_go(struct thread *t) __attribute__((noreturn));	/* redispatch on the engine stack */

#endif
