/* The virtual PMU as the launcher and all processes of one `tare run` share it.
 *
 * It is in the run's memfd, after the engine's image:
 *
 *	VPMU_FILE_OFFSET	struct vpmu_shared	model, flaws, events, tasks
 *	VPMU_PAGES_OFFSET	one page per event	what mmap of its descriptor shows
 *	VPMU_TASKS_OFFSET	struct vpmu_task_mem per task slot
 *	VPMU_HOLDS_OFFSET	a bit for each event, per process (vpmu-holds.c)
 *	VPMU_SAMPLERS_OFFSET	struct vpmu_sampler per event (vpmu-sampling.h)
 *	VPMU_RINGS_OFFSET	the events' ring buffers (vpmu-ring.c)
 *
 * Every process maps all of it, so a process reads the counters of another one, alive or dead,
 * by itself. The translated code of a task adds to the accumulators `acc` of its own slot, which
 * are also mapped at THREAD_ACC of the thread.
 */
#ifndef SOFT_VPMU_ABI_H
#define SOFT_VPMU_ABI_H

#include "abi.h"

#define VPMU_MAX_ROWS	64
/* Rows of no model: */
#define VPMU_DECOY_ROW	VPMU_MAX_ROWS	/* of all codes that no other row has */
#define VPMU_CLOCK_ROW	(VPMU_MAX_ROWS + 1)	/* of the kernel's clocks (vpmu-kernel.c), … */
#define VPMU_KERNEL_ROW	(VPMU_MAX_ROWS + 2)	/* … and of its other events */
#define VPMU_ALL_ROWS	(VPMU_MAX_ROWS + 3)
#define VPMU_KERNEL_EVENTS 6u	/* events that the kernel tells tasks of */
#define VPMU_MAX_EVENTS	131072u
#define VPMU_MAX_TASKS	16384u
#define VPMU_MAX_HOLDERS 16384u	/* processes with descriptors of events */
#define VPMU_MAX_COUNTERS 24	/* general-purpose ones, then the fixed ones from FIXED_AT */
#define VPMU_FIXED_AT	16
#define VPMU_LOC_COLUMNS 1024
#define VPMU_LOC_WIDTH	10	/* characters of a number there, and a blank before it */

#define VPMU_FILE_OFFSET	(128ull << 20)
#define VPMU_PAGES_OFFSET	(192ull << 20)
#define VPMU_TASKS_OFFSET	(704ull << 20)
#define VPMU_TASK_SIZE		0x8000ull
#define VPMU_HOLDS_OFFSET	(VPMU_TASKS_OFFSET + VPMU_MAX_TASKS * VPMU_TASK_SIZE)
#define VPMU_HOLD_SIZE		(VPMU_MAX_EVENTS / 8ull)
#define VPMU_SAMPLERS_OFFSET	(VPMU_HOLDS_OFFSET + VPMU_MAX_HOLDERS * VPMU_HOLD_SIZE)
#define VPMU_SAMPLER_SIZE	512ull
#define VPMU_RINGS_OFFSET	(VPMU_SAMPLERS_OFFSET + VPMU_MAX_EVENTS * VPMU_SAMPLER_SIZE)
#define VPMU_RING_UNIT		0x10000ull	/* rings begin at multiples of it */
#define VPMU_RING_UNITS		16384u
#define VPMU_FILE_END		(VPMU_RINGS_OFFSET + VPMU_RING_UNITS * VPMU_RING_UNIT)

#define ZONE_VPMU	(ZONE_BASE + 0x20000000ull)
#define ZONE_VPMU_PAGES	(ZONE_BASE + 0x40000000ull)
#define ZONE_VPMU_TASKS	(ZONE_BASE + 0x60000000ull)
#define ZONE_VPMU_HOLDS	(ZONE_BASE + 0x80000000ull)
#define ZONE_VPMU_SAMPLERS (ZONE_BASE + 0x90000000ull)
#define ZONE_VPMU_RINGS	(ZONE_BASE + 0xa0000000ull)

/* Each accumulator is a sum of banks. Blocks add to the first ones in turn; only C changes the last
 * one. While an event has a budget, the banks that code adds to are negative and leave 0 when the
 * budget is used up (vpmu-sampling.h). */
#define VPMU_CODE_BANKS 16
#define VPMU_FEW_BANKS	4		/* … of them, for code of the virtual PMU: banks_of() */
#define VPMU_BANKS	17

/* What a row counts: an enum soft_event, or one of these. */
enum vpmu_kind {
	VPMU_NOTHING = SOFT_EVENTS,	/* the event is known, but not counted */
	VPMU_INTERRUPTS,
	VPMU_INTERRUPTS_AND_FAULTS,
	VPMU_SPECLOCKMAP,
	VPMU_DECOY,			/* a code without a row (vpmu-decoys.c) */
	VPMU_KERNEL,			/* an event of the kernel's (vpmu-kernel.c) */
};

struct vpmu_row {
	uint64_t raw;
	uint8_t has_raw;
	uint8_t generic;	/* 1 + PERF_COUNT_HW_…, 0 for none */
	uint8_t kind;		/* enum soft_event or enum vpmu_kind */
	uint8_t role;		/* enum tare_role and … */
	uint16_t trust;		/* … enum tare_trust, as the tables have it: for the launcher */
	uint8_t fixed;		/* 1 + the fixed counter it goes to, 0 for none */
	uint8_t only_fixed;
	uint8_t is_cycles;	/* VPMU_NOTHING unless asked for */
	uint32_t counters;	/* general-purpose counters it fits on */
	char name[64];
};

/* ---- flaws ---- */

/* What makes an event count more, or less, than it should. */
enum vpmu_cause {
	CAUSE_INTERRUPT,	/* a hardware interrupt, by the task's clock */
	CAUSE_FAULT,		/* a page fault of the task, as the kernel counts them */
	CAUSE_INSN,		/* an instruction of the set insns[which] */
	CAUSE_EXCEPTION,	/* an x87 or SSE instruction that sets an exception flag */
	CAUSE_FIRST_FP,		/* the first x87 or floating-point instruction of a task or image */
	CAUSE_EVENT,		/* a count of the engine's event `which`: micro-ops of its kind */
	CAUSE_REPLAY,		/* a micro-op run again: at random times of the task's clock */
	CAUSE_IRET,		/* the kernel's return from int 0x80 */
	CAUSE_ENTRY,		/* an int 0x80, before the kernel reads anything */
	CAUSE_MIGRATION,	/* the task has moved itself to another CPU */
	CAUSE_SWITCH,		/* a context switch of the task, as the kernel counts them, while more
				 * tasks have events than CPUs */
	VPMU_CAUSES
};

/* An occurrence of the cause adds `amount` to each of these events. */
struct vpmu_flaw {
	uint64_t rows;		/* of the model: 1 << index */
	uint8_t cause;		/* enum vpmu_cause */
	uint8_t which;
	int16_t amount;
	uint32_t except;	/* one of so many occurrences adds nothing; 0: each one adds */
};

/* A set of instructions. */
enum vpmu_insn_set {
	INSNS_FLDCW,		/* fldcw and others: vpmu-insns.c */
	INSNS_X87_STATE,	/* fninit, fnsave, fnclex, if an exception flag is set */
	INSNS_0F,		/* opcodes that begin with 0F and are no branches */
	INSNS_CPUID,
	INSNS_FENCE,		/* cpuid, sfence, mfence, clflush */
	INSNS_CLFLUSH,
	INSNS_LOAD_TOO,		/* leave, and stores that Core 2 counts as loads */
	INSNS_PADD_MEMORY,	/* paddb, paddw, paddq from memory */
	INSNS_OPCODE,		/* those with the opcode in struct vpmu_insns */
};

enum vpmu_insn_form { FORM_ANY, FORM_REGISTER, FORM_MEMORY };
#define ANY_REG 8		/* as vpmu_insns.reg */
#define ANY_PREFIX 1		/* as vpmu_insns.prefix */

struct vpmu_insns {
	uint8_t set;		/* enum vpmu_insn_set; the rest is for INSNS_OPCODE */
	uint8_t encoding;	/* 0 legacy, 1 VEX, 3 EVEX */
	uint8_t map;		/* as in decode.h: 0: one byte, 1: 0F, 2: 0F38, 3: 0F3A */
	uint8_t opcode, mask;	/* opcode is that of the instruction & mask */
	uint8_t reg;		/* the middle field of ModRM, or ANY_REG */
	uint8_t form;		/* enum vpmu_insn_form: whether ModRM is a register or memory */
	uint8_t prefix;		/* 0, 0x66, 0xf2, 0xf3, or ANY_PREFIX */
	char name[24];		/* for people */
};

#define VPMU_MAX_INSNS	4	/* sets of instructions */
#define VPMU_MAX_FLAWS	64
#define VPMU_MAX_AT	16

/* The code counts the instructions of a set with the accumulator of an event of the engine that no
 * model has (role-events.c). */
static const uint8_t vpmu_insns_acc[VPMU_MAX_INSNS] = {
	SOFT_MULTIPLIES, SOFT_DIVIDES, SOFT_FP, SOFT_SIMD_INT
};

/* The model's flaws; 0 is off. */
struct vpmu_flaws {
	uint64_t seed;
	uint64_t irq_period;	/* instructions between two interrupts, on average */
	uint32_t speclock;	/* one of so many locked instructions replays */
	uint32_t contended;	/* … only while another thread of the process lives */
	uint32_t watchdog;	/* the NMI watchdog holds a counter */
	uint32_t held;		/* mask of counters that pinned events of another program hold */
	uint64_t move_at;	/* every so many instructions an event moves to another counter */
	uint64_t steal_at;	/* … after which a counter is taken away */
	uint32_t wrap;		/* counters start just below their end */
	uint32_t narrow;	/* bits that a counter has, less than it says; 0: all of them */
	uint32_t faults;	/* page faults of the tasks are counted: some row has CAUSE_FAULT */
	uint32_t fp;		/* some row has CAUSE_EXCEPTION or CAUSE_FIRST_FP */
	uint64_t replay_period;	/* instructions between two replays (CAUSE_REPLAY), on average */
	uint64_t dead;		/* rows whose events open and never count: 1 << index */
	uint32_t switches;	/* some row has CAUSE_SWITCH */
	/* An rdpmc that follows no serialising instruction misses from 1 to `early` of the last events
	 * of these rows: 1 << index. */
	uint32_t early;
	uint64_t early_rows;
	/* A counter, 1 + its index, that counts one of `bad_one_of` twice (bad_amount 1) or not at
	 * all (-1). */
	uint32_t bad_counter, bad_one_of;
	int32_t bad_amount;
	/* The interrupt of an overflow comes from skid_min to skid_max instructions late, if `skid`. */
	uint32_t skid, skid_min, skid_max;
	uint32_t throttle;	/* an event with so many samples in a tick is stopped until the next */
	uint32_t n_at;		/* interrupts besides those of irq_period, … */
	uint64_t irq_at[VPMU_MAX_AT];	/* … after so many instructions of a task's clock */
	uint32_t n_insns, n_rows;
	struct vpmu_insns insns[VPMU_MAX_INSNS];
	struct vpmu_flaw rows[VPMU_MAX_FLAWS];
};

/* Names of programs, each once. */
struct vpmu_names {
	uint32_t n;
	char name[16][16];
};

struct vpmu_model {
	char name[32];
	char vendor[16];	/* "AuthenticAMD" */
	char brand[48];
	uint32_t family, model, stepping;
	uint32_t gp, fixed, width;
	uint32_t arch_version;	/* Intel's architectural PMU, cpuid 0xA; 0 on AMD */
	uint32_t max_precise;	/* the highest attr.precise_ip that opens */
	uint32_t n_rows;
	struct vpmu_row rows[VPMU_ALL_ROWS];
};

enum vpmu_state { VE_EXITED = -3, VE_ERROR = -2, VE_OFF = -1, VE_INACTIVE = 0, VE_ACTIVE = 1 };

/* One event of one task. Index 0 means "none". */
struct vpmu_event {
	uint32_t used;
	uint32_t refs;		/* processes that hold it, and in_flight; 0 if inherited */
	uint32_t in_flight;	/* descriptors in messages that no process has received yet */
	uint32_t slot;		/* of its task */
	uint32_t owner;		/* slot of the task that opened it (PR_TASK_PERF_EVENTS_ENABLE) */
	uint32_t row;
	uint64_t code;		/* VPMU_DECOY_ROW: its raw code; VPMU_KERNEL_ROW: the kernel's number */
	uint32_t leader;
	uint32_t parent;	/* the event that it was inherited from; or 0 */
	uint32_t next;		/* event of the same task */
	uint32_t next_child;	/* of the same parent */
	uint32_t children;
	int32_t state;		/* enum vpmu_state */
	int32_t counter;	/* while active; -1: none */
	int32_t last_counter;
	uint32_t needs_turn;	/* it leads a group that needs counters */
	uint64_t order;		/* position among the task's groups */
	uint64_t read_format;
	uint64_t id;
	uint32_t pinned, exclusive, inherit, inherit_thread, inherit_stat, enable_on_exec;
	uint32_t remove_on_exec;
	uint32_t clock;		/* 1 + attr.clockid, 0 for the usual one */
	uint32_t sampler;	/* its struct vpmu_sampler is filled in (vpmu-sampling.h) … */
	uint32_t had_sampler;	/* … or was, by an earlier event of this index */
	int32_t cpu;		/* bound to it; -1: not */
	uint32_t unbound;	/* … but its task is not: vpmu_slot.home decides … */
	uint32_t elsewhere;	/* … and is another CPU, so that it never counts */
	uint32_t software;	/* the kernel counts it; here it has a state and a group */
	uint32_t is_faults;	/* … but its value is the task's page faults (flaws.faults) */
	uint32_t kernel_on;	/* … and is enabled in the kernel */
	uint32_t had_page;	/* its page in the file is not empty */
	uint32_t maps, map_pages; /* how often its page is mapped, and with how many pages in all */
	uint64_t kernel_id, ino; /* by these its descriptors are recognised */
	uint32_t user_read;	/* rdpmc was allowed when it was opened */
	uint32_t no_user;	/* exclude_user: counts nothing, … */
	uint32_t with_kernel;	/* … but what happens in the kernel, if not exclude_kernel (VPMU_KERNEL_ROW) */
	uint32_t throttled;	/* too many samples (flaws.throttle): counts nothing until the next tick */
	uint32_t unnoticed;	/* enabled while its task's code runs: counts nothing until that stops for overflows */
	uint32_t copy_of;	/* the event of the parent task it was copied from */
	uint64_t value;
	uint64_t total;		/* like value, but never reset: what the counter register holds */
	uint64_t base;		/* the gross count that value and total are up to date with */
	uint64_t on_bad;	/* counts that it made on the counter flaws.bad_counter */
	uint64_t enabled, running; /* instructions of its task */
	uint64_t stamp;		/* the time of the task's clock that both are up to date with */
	uint64_t child_value, child_enabled, child_running; /* of children that ended */
	uint32_t lost;		/* its task ran natively while the event was enabled … */
	uint64_t child_lost;	/* … and so did so many children that ended */
};

/* A task that the virtual PMU knows. */
struct vpmu_slot {
	int32_t pid, tid;	/* 0: free */
	uint32_t ended;
	uint32_t begun;		/* 0: it has just started, and its creator waits (vpmu-order.c) */
	uint32_t in_call;	/* in a system call, or not started: reads `want` afterwards */
	uint32_t follows;	/* what its code adds up … */
	uint32_t follows_budgets;	/* … and of which events it watches the budget */
	uint32_t deaf;		/* does not react to signals: it is stopped */
	uint32_t execing;	/* 1: about to exec, 2: a vfork child about to */
	uint32_t native;	/* its new image runs, or is about to run, without the engine: set by
				 * the task before its exec, or by the launcher at the exec stop */
	uint32_t filtered;	/* the image before the exec installed a seccomp filter */
	uint32_t holder;	/* of its process, from fork or exec until it has begun */
	uint32_t events;	/* the first of its list of events */
	uint32_t want;		/* 1 << enum soft_event: what its code must add up */
	uint32_t ticks;		/* … and whether it must watch the clock … */
	uint32_t budgets;	/* … or other events, by their budgets (1 << enum soft_event) */
	uint32_t stale;		/* its budgets must be computed again: vpmu_follow() */
	uint32_t unnoticed;	/* some of its events are */
	/* Events of the kernel's (vpmu-kernel.c): which the task is to be told of, a bit for each, from bit
	 * VPMU_KERNEL_EVENTS on of what happens in the kernel; which it is told of; how many there were. */
	uint32_t wants_told, is_told;
	uint64_t told[2][VPMU_KERNEL_EVENTS];
	uint32_t ordinal;	/* a number that is the same in every run, for seeds */
	uint32_t made;		/* how many tasks it has made */
	uint32_t has_clock;
	uint32_t may_rdpmc;	/* its process has mapped an event that may be read */
	uint32_t waits;		/* a group of its events waits for its turn */
	uint64_t zero;		/* where its clock starts, in instructions that its code added up */
	uint64_t next_tick;	/* times of its clock: the next turn, move, theft of a counter */
	uint64_t next_move, next_steal;
	struct vpmu_course {	/* how many interrupts so far (vpmu-flaws.c) */
		uint64_t steps, count;
	} irqs, replays;
	uint64_t exceptions, first_fps, irets, entries, migrations;	/* how often: CAUSE_EXCEPTION, … */
	uint64_t switches;	/* … and CAUSE_SWITCH, up to … */
	uint64_t switches_seen;	/* … so many context switches in all */
	uint64_t serial_at;	/* instructions that its code had added up after the last serialising one */
	uint64_t faults;	/* page faults, when the task last entered the kernel or read a counter */
	uint64_t locks;		/* locked instructions seen (SpecLockMap) … */
	uint64_t locks_before;	/* … and how many of them before the last exec */
	uint64_t stolen;	/* mask of counters that were taken away */
	/* 1 + the CPU that all its code counts for, where its events are of CPUs and it is not
	 * bound to one of them: the first that it may run on. 0: not known yet. */
	uint32_t home;
	int32_t creator;	/* the tid of the task that made it */
	uint32_t tracks;	/* what its events want to know besides samples: enum vpmu_tracks */
};

enum vpmu_holder_state {
	HOLDER_FREE,
	HOLDER_MAKING,		/* of a process that has not started yet */
	HOLDER_LIVE,		/* the process has its record lock as long as it lives */
	HOLDER_KEPT,		/* the process got no record lock: its events are never freed */
};

struct vpmu_holder {
	uint32_t state;
	int32_t pid;		/* while it is being made; 0: not known yet */
};

#define FP_NONE 1ull		/* as fp_minus: differs from minus any flags */
#define FP_UNKNOWN 2ull		/* … and so does this: a signal frame has replaced the flags */
/* Exception flags among the bits of fp_now, without that of inexact results: ordinary arithmetic sets
 * it, and no CPU does more than that. */
#define FP_FLAGS 0x1f1f

struct vpmu_pmc {		/* 32 bytes: what rdpmc reads (emit-block.c) */
	uint32_t minus_ecx;	/* -ecx of the counter; matches no ecx if unused */
	uint32_t pad;
	uint64_t addend;
	uint64_t bank;		/* offset from gs of the first bank */
	uint64_t pad2;
};

struct vpmu_task_mem {
	uint64_t acc[32][VPMU_BANKS];
	uint64_t stops_at[32];		/* acc at which the task looks at its events, at the latest */
	uint64_t given[32][VPMU_CODE_BANKS];	/* what each bank got of the budget last: budget.c … */
	uint32_t used[32][VPMU_CODE_BANKS];	/* … and how much it uses, beside the others */
	int64_t taken_budget;		/* taken branches before C must look: emit_taken_budget() */
	uint64_t at_lock[32];		/* acc at the last locked instruction */
	uint64_t replayed[32];
	uint64_t x87_status;		/* the x87 status word before fninit, fnsave or fnclex */
	/* Exception flags: the low byte of the x87 status word, then the low byte of MXCSR. */
	uint64_t fp_now;		/* after the last instruction that may change them */
	uint64_t fp_minus;		/* minus those that C saw last; FP_NONE: none yet; FP_UNKNOWN */
	uint64_t fp_start;		/* when the task or image began */
	uint8_t pad[12288 - 40 - 3 * 256 - 256 * VPMU_BANKS - 384 * VPMU_CODE_BANKS];
	struct vpmu_pmc pmcs[512];
};

enum vpmu_tracks { TRACKS_MMAP = 1, TRACKS_DATA = 2, TRACKS_COMM = 4, TRACKS_TASK = 8 };

struct vpmu_shared {
	/* Guards everything that follows and the events' pages, in all processes of the run. Not
	 * guarded are fields that tasks write themselves with atomic stores (in_call, follows,
	 * begun), and what the launcher writes before the run. The value is the tid of the owner,
	 * 0: free. Another task takes it if the owner was killed. */
	uint32_t lock;
	uint32_t n_slots;		/* ever used */
	uint32_t n_events;		/* highest index ever used */
	uint32_t n_open;		/* events in use */
	uint32_t maybe_free;		/* all events before it are in use */
	uint32_t collect_at;		/* with so many in use, look for those to free */
	uint32_t n_holders;		/* ever used */
	uint64_t next_id;
	uint64_t next_order;
	uint32_t next_ordinal;
	uint16_t time_shift;
	uint16_t has_time;
	uint32_t n_cpus;		/* that there can be */
	uint32_t inherits_groups;	/* this kernel allows both inherit and FORMAT_GROUP */
	uint32_t time_mult;
	uint64_t time_zero;
	uint32_t kernel_as_user;	/* events that include the kernel count user mode */
	struct vpmu_names asked_cycles;	/* programs that asked for cycles and got none */
	struct vpmu_names used_as_user;	/* programs that opened events that include the kernel */
	uint32_t rdpmc;			/* what the file of that name says: 0, 1, 2 */
	uint32_t rdpmc_writers;		/* a program has opened that file for writing */
	uint64_t rdpmc_dev, rdpmc_ino;	/* that file */
	uint8_t ring_units[VPMU_RING_UNITS];	/* 1: part of a ring */
	uint32_t rings_hidden;		/* rings with records that their readers do not see yet */
	uint64_t past_irqs;		/* interrupts of tasks whose slots are used again */
	/* /proc/interrupts: where the numbers of the line LOC are in the launcher's file, and which
	 * CPU's column is which. */
	uint32_t loc_at, loc_columns;
	uint16_t loc_cpu[VPMU_LOC_COLUMNS];
	struct vpmu_model model;
	struct vpmu_flaws flaws;
	struct vpmu_slot slots[VPMU_MAX_TASKS];
	struct vpmu_holder holders[VPMU_MAX_HOLDERS];
	struct vpmu_event events[VPMU_MAX_EVENTS];
};

_Static_assert(sizeof(struct vpmu_pmc) == 32, "emit-block.c scales by 32");
_Static_assert(__builtin_offsetof(struct vpmu_task_mem, pmcs) == 12288, "layout");
_Static_assert(sizeof(struct vpmu_task_mem) <= VPMU_TASK_SIZE, "layout");
_Static_assert(sizeof(struct vpmu_shared) <= VPMU_PAGES_OFFSET - VPMU_FILE_OFFSET, "layout");
_Static_assert(VPMU_MAX_EVENTS * 4096ull <= VPMU_TASKS_OFFSET - VPMU_PAGES_OFFSET, "layout");
_Static_assert(sizeof(struct vpmu_shared) <= ZONE_VPMU_PAGES - ZONE_VPMU, "layout");
_Static_assert(VPMU_MAX_EVENTS * 4096ull <= ZONE_VPMU_TASKS - ZONE_VPMU_PAGES, "layout");
_Static_assert(VPMU_MAX_TASKS * VPMU_TASK_SIZE <= ZONE_VPMU_HOLDS - ZONE_VPMU_TASKS, "layout");
_Static_assert(ZONE_VPMU_HOLDS + VPMU_MAX_HOLDERS * VPMU_HOLD_SIZE <= ZONE_VPMU_SAMPLERS, "layout");
_Static_assert(ZONE_VPMU_SAMPLERS + VPMU_MAX_EVENTS * VPMU_SAMPLER_SIZE <= ZONE_VPMU_RINGS, "layout");
_Static_assert(ZONE_VPMU_RINGS + VPMU_RING_UNITS * VPMU_RING_UNIT <= ZONE_BLOCKS, "layout");

#endif
