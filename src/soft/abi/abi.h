/* What the launcher and the engine inside the measured process share.
 *
 * One memfd per `tare` run, inherited by every process of the tree on one
 * reserved descriptor:
 *
 *	offset 0		struct soft_shared	mapped MAP_SHARED by everybody
 *	ENGINE_FILE_OFFSET	the engine's image	mapped MAP_PRIVATE (by what the
 *						command execs, see launch/soft-setup.c)
 *	HERMETIC_FILE_OFFSET	struct hermetic_shared	by --hermetic only
 *
 * The parent of a task, or the launcher at an exec, takes a record for the task before the task
 * exists, so that none is overlooked. The task adds its counts to the record when a thread ends,
 * when it execs and when it exits; until then the launcher can read the cells of the task. At
 * execve the task asks the launcher for help: the launcher attaches with ptrace, stops the new
 * image at its first instruction, maps the engine there and detaches (launch/inject.c).
 *
 * Everything is at fixed addresses that the kernel and programs do not use, so that the program's
 * own memory is laid out as natively.
 */
#ifndef SOFT_ABI_H
#define SOFT_ABI_H

#include "hermetic-abi.h"
#include "layout.h"
#include "machine-abi.h"

#include <stdint.h>

/* The zone: addresses that the kernel does not choose for a mapping, and that Go, V8 and the JVM do
 * not use. For ASan they are ordinary memory; TSan and MSan only map them without access
 * (forbids_zone() in memory-calls.c). */
#define ZONE_BASE	0x440000000000ull
#define ZONE_SHARED	(ZONE_BASE + 0x10000000ull)	/* struct soft_shared */
/* Arenas begin ARENA_SMALL before a large page. */
#define ARENA_SMALL	(1ull << 19)
#define ARENA_LARGE	(1ull << 21)
#define ZONE_BLOCKS	(ZONE_BASE + 0x100000000ull - ARENA_SMALL)
#define ZONE_LINKS	(ZONE_BASE + 0x300000000ull - ARENA_SMALL)
#define ZONE_HEAP	(ZONE_BASE + 0x500000000ull - ARENA_SMALL)
#define ZONE_RETURNS	(ZONE_BASE + 0x700000000ull - ARENA_SMALL)
#define ZONE_SCRATCH	(ZONE_BASE + 0x780000000ull)	/* while the cache is emptied */
#define ZONE_KEPT	(ZONE_BASE + 0x7c0000000ull)	/* struct kept_head */
#define ZONE_CACHE	(ZONE_BASE + 0x800000000ull)	/* caches that need no near code */
#define ZONE_TABLE	(ZONE_BASE + 0x900000000ull)	/* T, when it is far (place.c): 16 GiB */
#define ZONE_THREADS	(ZONE_BASE + 0x1000000000ull)
#define ZONE_END	0x500000000000ull
/* For threads that the zone has no room for. Sanitizers use some of these addresses. */
#define MORE_THREADS	0x100000000000ull
/* A thread has THREAD_AREA bytes for itself (layout.h), then the shadow of its stack, from the
 * address in gs on: the 4 GiB that the low half of rsp can have, and a bit for SHADOW. */
#define THREAD_SHADOW	((1ull << 32) + (1ull << 20))
#define THREAD_STRIDE	(THREAD_AREA + THREAD_SHADOW)
#define MAX_ZONE_THREADS ((ZONE_END - ZONE_THREADS) / THREAD_STRIDE)
#define MAX_THREADS	(MAX_ZONE_THREADS + (ZONE_BASE - MORE_THREADS) / THREAD_STRIDE)

/* Events of the engine, in the order of the count vectors. */
enum soft_event {
	SOFT_INSTRUCTIONS,
	SOFT_BRANCHES,
	SOFT_COND,
	SOFT_LOADS,
	SOFT_STORES,
	SOFT_CALLS,
	SOFT_RETURNS,
	SOFT_INDIRECT,
	SOFT_SYSCALLS,
	SOFT_MULTIPLIES,
	SOFT_DIVIDES,
	SOFT_X87,
	SOFT_FP,
	SOFT_SIMD_INT,
	SOFT_LOCKED,
	SOFT_FAR,
	SOFT_TAKEN,		/* the only one that is not static per block */
	SOFT_EVENTS,
};

enum soft_state {
	REC_FREE,
	REC_STARTING,		/* taken for a task that has not run yet */
	REC_RUNNING,
	REC_DONE,		/* ended and reported everything */
	REC_EXECED,		/* became another image, reported everything */
	REC_NATIVE,		/* runs natively, not counted: see reason */
	REC_KILLED_BY_SIGNAL,	/* fatal signal; reported everything */
	REC_FAILED,		/* the engine gave up; message holds why */
	REC_HANDED,		/* runs natively since a stop; reported everything up to there */
};

enum soft_reason {
	WHY_COUNTED,
	WHY_32BIT,
	WHY_SETUID,
	WHY_NO_PTRACE,
	WHY_NO_INHERIT,
	WHY_PTRACED,
	WHY_UNREADABLE,
	WHY_ENDED,
	WHY_NO_MEMORY,
	WHY_NO_PLACE,
	WHY_BEYOND,		/* some of the tasks beyond SOFT_MAX_RECORDS (made by the launcher) */
	/* with REC_FAILED: */
	WHY_FAILED,
	WHY_REFUSED,
};

enum soft_request {
	REQ_NONE,
	REQ_EXEC,
	REQ_EXEC_FAILED,
	REQ_STOP,		/* the task has stopped at an event: soft_slot.stopped */
	REQ_OVER,		/* a limit is exceeded: the launcher ends all processes */
	REQ_WATCH,		/* which function of a mapping is watched: soft_slot.watch */
	REQ_FILES,		/* a file of the machine is wanted: the launcher writes them all */
	REQ_HANDED,		/* ready to become native: the launcher sets the registers of
				 * soft_slot.stopped, and the task never sees an answer */
};
/* soft_slot.reply; 0: none yet */
enum soft_reply {
	REPLY_GO_ON = 1,
	REPLY_REFUSED,
	REPLY_END,		/* REQ_STOP: end the whole tree, as at a limit */
	REPLY_HAND_OVER,	/* REQ_STOP: become native, for a debugger */
};

/* ---- exact stops (soft/guest/exact-stop.c) ---- */

#define SOFT_MAX_STOPS	16

enum soft_then {
	THEN_CONTINUE,		/* the stop is counted */
	THEN_SIGNAL,		/* the task gets a signal */
	THEN_ASK,		/* the launcher is asked: REQ_STOP */
	THEN_OVER,		/* a limit: n events may happen in all tasks together */
};

/* A limit's events, which tasks take in portions. Both numbers change at once. */
struct soft_pool {
	int64_t left;		/* not taken */
	uint64_t taken;		/* by tasks that have not given the rest back yet */
} __attribute__((aligned(16)));

/* Each task stops after its first event of that number, and after each further n if `every`. */
struct soft_stop {
	uint64_t n, first;
	uint8_t event;		/* enum soft_event */
	uint8_t then;		/* enum soft_then */
	uint8_t every;
	uint8_t signal;
	uint32_t branch;	/* only of the task with this soft_record.branch; 0: of all */
	uint64_t hits;		/* how often a task stopped (atomic) */
	struct soft_pool pool;	/* THEN_OVER */
};

/* The program's state at a stop. */
struct soft_stopped {
	uint32_t rule;		/* index of soft_shared.stops */
	uint32_t several;	/* the process has more than one thread */
	uint64_t count;		/* of the rule's event, in this task */
	uint64_t last_pc;	/* the instruction that made the event */
	uint64_t regs[16];	/* rax rcx rdx rbx rsp rbp rsi rdi r8 … r15 */
	uint64_t pc;		/* the next instruction */
	uint64_t rflags, fs_base, gs_base;
	uint64_t mask;		/* the program's signal mask */
	int64_t call;		/* the number of the system call that is about to be made; -1: none */
	uint64_t way;		/* soft_record.way */
};

/* A function that switches counting where it is entered and left (translate/watched.c). */
enum soft_watch {
	WATCH_IN = 1,		/* counting is on while it is on the stack of the thread */
	WATCH_TOGGLE = 2,	/* counting changes at its start and at its end */
	WATCH_DUMP_BEFORE = 4,
	WATCH_DUMP_AFTER = 8,
	WATCH_ZERO_BEFORE = 16,
};

/* REQ_WATCH: the first such function from an address on. */
struct soft_watched {
	uint64_t start, end;	/* of the mapping */
	uint64_t from;
	uint64_t entry;		/* the answer: its first instruction; 0: there is none */
	uint32_t what;		/* enum soft_watch */
	uint32_t number;	/* of its name; the launcher's */
};

/* The name of a dump for such a function starts with it; then 'b' (before) or 'a', and the number of its name in
 * hexadecimal digits. */
#define SOFT_DUMP_WATCHED 1

/* A process that asks the launcher for something. */
struct soft_slot {
	uint32_t taken;		/* by compare-and-swap: the asker's tid, or SLOT_OF_STRANGER */
	uint32_t request;	/* enum soft_request, written last */
	uint32_t reply;		/* futex: enum soft_reply */
	uint32_t record;
	int32_t pid, tid;	/* as it knows them: perhaps of another pid namespace */
	uint32_t reserved_fd;	/* its number there */
	uint32_t trap_ignored;	/* SIGTRAP is */
	uint32_t vslot;		/* its task of the virtual PMU; 0: none */
	uint32_t pad;
	uint64_t cookie_at;	/* this word of its memory … */
	uint64_t cookie;	/* … has this value: so the launcher recognises the task */
	union {
		struct soft_stopped stopped;	/* REQ_STOP, REQ_OVER */
		struct soft_watched watch;	/* REQ_WATCH */
	};
};
#define SOFT_SLOTS 128
#define SLOT_OF_STRANGER 0xffffffffu	/* of another pid namespace, where numbers differ */

/* soft_record.trace_state, if there is a tracer */
enum soft_tracing {
	TRACE_LATER,		/* attaches when the task waits for it */
	TRACE_AWAITED,		/* the task waits for that */
	TRACE_ATTACHED,
};

#define SOFT_BRANCH_FIRST 1		/* the command */
#define SOFT_BRANCH_EXEC 0xffffffffu	/* instead of the number of a child: the task execs */

/* The n-th child of a task, from 1, or its next image. */
static inline uint32_t soft_branch(uint32_t of, uint32_t n)
{
	uint64_t h = ((uint64_t)of << 32 | n) * 0x9e3779b97f4a7c15ull;
	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
	const uint32_t branch = (uint32_t)(h >> 32);
	return branch > SOFT_BRANCH_FIRST ? branch : branch + 2;
}

struct soft_record {
	uint32_t state;		/* enum soft_state; written last */
	uint32_t reason;	/* enum soft_reason */
	int32_t pid, tid;
	int32_t parent;		/* pid that forked or execed it */
	uint32_t is_thread;	/* not the first thread of its process */
	uint32_t branch;	/* where it is in the tree of tasks: of the same tasks of two runs, the same number
				 * (soft_branch()); 0: unknown */
	uint32_t n_children;	/* that it has made */
	char comm[16];
	char exe[128];
	char message[192];	/* REC_FAILED: what and where */
	uint64_t counts[SOFT_EVENTS];
	uint64_t vdso[SOFT_EVENTS];	/* … of these, in the vDSO */
	uint64_t blocks;	/* translated, for the curious and the bench */
	uint64_t code_bytes;	/* … how long they came out, … */
	uint64_t source_bytes;	/* … and were */
	uint64_t translate_ticks;	/* of the TSC. The first thread's record has these. */
	uint64_t had_blocks, had_code, had_source, had_ticks;	/* … what a fork gave it */
	/* For reading a live process from outside (launch/live.c): addresses in the process,
	 * valid while the state is REC_RUNNING. The counter array has the cells of each block
	 * (soft_cell(), soft_runs()). A vector is SOFT_EVENTS bytes; the byte after it is the
	 * block's `runs_from`. live_corr has the corrections, SOFT_EVENTS signed numbers. */
	uint32_t folding;	/* odd while cells are added to counts; another value afterwards */
	uint32_t live_stride;	/* from one block's vector to the next one's */
	uint64_t live_counts;	/* the thread's counter array; 0: cannot be read */
	uint64_t live_corr;
	uint64_t live_vectors;	/* the vector of block 0 (there is no such block) */
	uint64_t live_n_blocks;	/* address of the number of blocks, a uint32_t */
	uint32_t traced;	/* is it ready to be traced by another task? See traced.c */
	/* A task of the run traces this one, and has counters on it (tracer.c): */
	int32_t tracer;		/* the task that does, or waits for the next image; 0: none */
	uint32_t trace_options;	/* of its PTRACE_SEIZE */
	uint32_t trace_state;	/* futex: enum soft_tracing */
	uint32_t step;		/* the tracer single-steps it, until the step is done: STEP_WANTED, with the
				 * signal that is delivered first << STEP_SIGNAL */
	uint32_t watched;	/* a task of the run traces it, and is shown its signals while it is in C */
	uint32_t stop_again;	/* the signal with which it stops once more, in C; 0: none */
	uint32_t code_written;	/* another task of the run has written to its memory */
	uint32_t resumed_by;	/* the tracer's last request to let it go on: PTRACE_CONT, … */
	uint64_t before[SOFT_EVENTS];	/* of the same task, in the images before its last exec */
	uint64_t way;		/* with stops: a hash of the code that ran, for struct tare_stop */
	/* Counting parts of the program (translate/on-off.c): */
	uint32_t image;		/* the record of the first thread of its image: one for all threads of
				 * a process between two execs */
	uint32_t off;		/* counting is switched off: the cells are not counts */
	uint32_t zeroed;	/* how often `counts` went back */
	uint64_t parked[SOFT_EVENTS];	/* while it is off: counts from before, not in `counts` yet */
	uint64_t dumped[SOFT_EVENTS], dumped_vdso[SOFT_EVENTS];	/* what dumps took, of counts and vdso */
};

/* What an image counted between two dumps (requests of the program). */
struct soft_dump {
	uint32_t ready;		/* 1: complete; written last */
	int32_t pid;
	char name[120];
	uint64_t counts[SOFT_EVENTS];
	uint64_t vdso[SOFT_EVENTS];
};
#define SOFT_MAX_DUMPS 16384

/* Code that one process of a run has translated and another one of the same program may use
 * (translate/kept.c): in the run's memfd from KEPT_FILE_OFFSET on. */
struct soft_file {
	uint64_t dev, ino, size;
	uint64_t mtime_s, mtime_ns, ctime_s, ctime_ns;
};
enum soft_kept_state {
	KEPT_FREE,
	KEPT_TAKEN,		/* being filled in */
	KEPT_SEEN,		/* a process of the program has started */
	KEPT_WRITING,
	KEPT_READY,
	KEPT_STORED,		/* in a file, which the first process reads by itself */
	KEPT_NOT,		/* cannot be kept */
};
struct kept_digest {
	uint64_t word[2];
};
/* What a file of kept code begins with (kept-abi.h). */
struct kept_file_head {
	char magic[8];
	uint32_t version, n_runs;
	struct kept_digest hash;	/* of the whole file, with 0 here */
	struct kept_digest context;
	struct soft_file program;
	uint64_t size, head_size;	/* struct soft_kept */
	uint64_t data;			/* bytes of all parts */
};
#define KEPT_NAME_SIZE 40
#define KEPT_FOLDER_SIZE 1024
struct soft_kept {
	uint32_t state;		/* enum soft_kept_state; atomic */
	uint32_t outdated;	/* a process has another file where it has the code of one (atomic) */
	struct soft_file program;
	uint64_t offset;	/* in the memfd: struct kept_head */
	uint64_t head_size;
	uint64_t size;		/* with everything behind it, and holes */
	uint32_t stored;	/* it is from a file (launch/kept-store.h) */
	uint32_t again;		/* a process writes it once more, to another place (atomic) */
	uint32_t read;		/* that file was read, and is whole (atomic) */
	uint32_t damaged;	/* … or is not (atomic) */
	struct kept_file_head file;	/* … as the launcher saw it */
	char name[KEPT_NAME_SIZE];
};
#define SOFT_MAX_KEPT 128
#define KEPT_FILE_OFFSET (192ull << 20)
#define KEPT_MAX	(1ull << 30)	/* room for all of them: most is for parts of T, which have holes */
#define KEPT_MAX_BYTES	(64ull << 20)	/* … of this memory at most */

/* Where a block of the engine (struct block) has its vector, the length of its source and the number of its
 * instructions; its address is at 0. live-code.c reads them. */
#define BLOCK_VEC_AT 45u
#define BLOCK_SRC_LEN_AT 36u
#define BLOCK_N_INSNS_AT 42u

#define SOFT_MAX_RECORDS 65000

struct soft_shared {
	uint32_t magic;
	uint32_t reserved_fd;
	uint32_t event_mask;	/* 1 << enum soft_event: what was asked for */
	uint32_t flags;		/* SOFT_FLAG_… */
	int32_t launcher_pid;
	uint32_t fd_size;	/* FDSize of /proc/self/status without the engine's descriptor */
	char pid_ns[40];	/* its pid namespace: what /proc/self/ns/pid links to */
	uint32_t requests;	/* futex: bumped with each request */
	uint32_t closed;	/* the launcher has ended its service: new images run natively */
	uint32_t n_records;	/* taken so far (atomic) */
	uint32_t overflowed;	/* tasks beyond SOFT_MAX_RECORDS, summed in records[0] */
	uint32_t native_beyond;	/* … of these, images that run natively (atomic) */
	uint32_t code_chunks;	/* taken so far (atomic), of the code log (code-abi.h) */
	uint32_t trace_slots;	/* taken so far (atomic), of the trace (trace-abi.h) */
	uint32_t trace_posts;	/* futex: bumped with each slot that is full */
	uint32_t trace_lost;	/* slots that could not be had: the trace is not all */
	uint32_t n_stops;
	uint32_t over;		/* 1 + the limit that was exceeded first (atomic); 0: none */
	struct soft_stop stops[SOFT_MAX_STOPS];
	struct soft_machine machine;
	struct soft_files files;
	struct soft_hermetic hermetic;
	struct soft_layout {		/* where a program is put (guest/layout.c) */
		uint32_t on;
		uint32_t stack;		/* bytes further down, a multiple of 16 */
		uint64_t program;	/* … and its own code and data, if they can be moved; a multiple of pages */
		uint64_t libraries;	/* … and what is mapped later; a multiple of pages */
		uint64_t heap;		/* bytes further up: its break; a multiple of pages */
	} layout;
	struct {		/* what programs asked for (atomic) */
		uint32_t on, off;	/* times that counting of a process or thread went on or off */
		uint32_t zeroed;
		uint32_t dumps;		/* number N is dumps[N - 1], if it is one of SOFT_MAX_DUMPS */
		uint32_t missed;	/* requests not obeyed: a debugger held a thread */
	} parts;
	uint64_t kept_used;	/* bytes from KEPT_FILE_OFFSET on that are given out (atomic) … */
	uint64_t kept_bytes;	/* … and how much memory they take (atomic) */
	char kept_folder[KEPT_FOLDER_SIZE];	/* of the files; "": processes cannot read them */
	struct soft_kept kept[SOFT_MAX_KEPT];
	struct soft_slot slots[SOFT_SLOTS];
	struct soft_record records[SOFT_MAX_RECORDS];
	struct soft_dump dumps[SOFT_MAX_DUMPS];
};

#define SOFT_MAGIC 0x74617265u
#define SOFT_FLAG_NO_INHERIT	(1u << 0)
#define SOFT_FLAG_REFUSE	(1u << 1)	/* refuse what cannot be counted */
#define SOFT_FLAG_VPMU		(1u << 3)	/* there is a virtual PMU (vpmu-abi.h) */
#define SOFT_FLAG_PROC		(1u << 4)	/* a process has opened maps or the like */
#define SOFT_FLAG_CODE_LOG	(1u << 5)	/* write the code log (code-abi.h) */
#define SOFT_FLAG_CALLS		(1u << 6)	/* … with the call graph */
#define SOFT_FLAG_TRACE		(1u << 7)	/* write the trace (trace-abi.h) */

/* How counting starts (on-off.c): */
#define SOFT_FLAG_OFF_PROCESS	(1u << 8)	/* off, until the process switches it on */
#define SOFT_FLAG_OFF_THREADS	(1u << 9)	/* off, until each thread switches it on */
#define SOFT_FLAG_OFF_UNTIL_ASKED (1u << 10)	/* off, until the first request of either kind */
#define SOFT_FLAG_VALGRIND	(1u << 11)	/* RUNNING_ON_VALGRIND is 1 */
#define SOFT_FLAG_WATCH		(1u << 12)	/* functions switch counting; with SOFT_FLAG_CALLS */

#define SOFT_FLAG_KEEP		(1u << 13)	/* the launcher stores kept code in files */
#define SOFT_FLAG_ZERO_PROCESS	(1u << 14)	/* tare_measure_options.zero */
#define SOFT_FLAG_ZERO_THREAD	(1u << 15)

#define ENGINE_FILE_OFFSET	(112ull << 20)
_Static_assert(sizeof(struct soft_shared) <= ENGINE_FILE_OFFSET, "layout");
_Static_assert(sizeof(struct hermetic_shared) <= ZONE_LISTINGS - ZONE_HERMETIC, "layout");
_Static_assert(ZONE_LISTINGS + LISTING_SLOTS * LISTING_SLOT <= ZONE_CACHE, "layout");
_Static_assert(HERMETIC_FILE_END <= (4ull << 30), "the code log begins there");

/* A page has the cells of 256 blocks. Each block has two cells, half a page apart, and uses the one
 * whose offset in the page is away from that of the stack: when a CPU looks whether a load reads
 * what an earlier store writes, it compares only this offset at first. The other cell stays 0. */
#define SOFT_CELLS_AWAY 256
static inline uint64_t soft_cell(uint32_t block)
{
	return block / 256 * 512ull + block % 256;
}

/* How often a block ran: from its `runs_from` (struct block), which is stored after its vector, its
 * cell, and how often the two blocks before it ran. The launcher reads the cells of a running
 * thread one after the other, so more side exits than entries may be seen: then the result is 0. */
static inline uint64_t soft_runs(uint8_t runs_from, uint64_t cell, uint64_t last,
				 uint64_t last_but_one)
{
	const uint64_t came = runs_from == 1 ? last : last_but_one;
	const uint64_t left = runs_from == 1 ? cell : last + cell;
	return runs_from == 0 ? cell : came > left ? came - left : 0;
}

/* The launcher writes this to the signal stack (THREAD_ALT) of the first thread of an image. */
struct soft_start {
	uint64_t regs[16];	/* rax rcx rdx rbx rsp rbp rsi rdi r8 … r15 */
	uint64_t rip, rflags;
	uint32_t record;	/* index */
	uint32_t has_fsgsbase, has_bmi2;	/* what of the CPU the engine may use */
	uint32_t reserved_fd;
	uint32_t trap_ignored;	/* the program ignored SIGTRAP before the launcher's single steps */
	uint64_t cache_near[2];	/* free address ranges near code: start of up to two */
	uint64_t cache_near_size[2];
};

#endif
