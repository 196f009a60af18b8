/* The root of the engine: the state and the means that all its rooms share.
 *
 * How the rooms work together. A thread of the program runs translated blocks in a code cache. The
 * room `translate` writes them, and uses `decode` to know the program's instructions. A thread
 * leaves the cache only through glue.S, which saves the program's registers in its struct thread
 * (found through gs) and calls engine_exit() (engine.c) on the engine's own stack: for a
 * block that is not there yet (translate), a system call, a signal or an instruction that C
 * must run (guest), or what the virtual PMU has asked for (vpmu).
 *
 * Here are
 *	glue.S		the ways between translated code and C
 *	engine.c	start, and the dispatcher: the one file that sees all rooms
 *	lock.c		the engine's lock
 *	fail.c		the end when something is wrong
 *	zone.c		the engine's own memory
 *	copy.c		the program's memory, read and written without a fault
 *	proc-self.c	what the kernel says of this process
 *	sys.h, text.h	raw system calls; memory and text without libc
 *
 * Nothing in the engine uses libc, SSE registers or the program's stack. A room sees the
 * rooms below it: abi, decode, this one, translate, guest, vpmu. Where a room must call one
 * above it, its own header declares the function among those it *asks* for, and says which
 * room has it.
 */
#ifndef SOFT_ENGINE_H
#define SOFT_ENGINE_H

#include "abi.h"
#include "linux-names.h"

#include <stdbool.h>
#include <stddef.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

#define PAGE 4096ull
#define PAGE_DOWN(x) ((uint64_t)(x) & ~(PAGE - 1))
#define PAGE_UP(x) PAGE_DOWN((uint64_t)(x) + PAGE - 1)

/* thread.written: two words that the kernel writes at any time, and the results of a system call. */
enum { WRITTEN_RSEQ, WRITTEN_TID, WRITTEN_CALL, WRITTEN = WRITTEN_CALL + 8 };

/* One per thread, at ZONE_THREADS + index * THREAD_STRIDE, THREAD_AREA below gs. The first
 * fields are known to glue.S and to emitted code by offset (layout.h). The others
 * belong to the room that is named. */
struct thread {
	struct thread *self;
	uint64_t regs[16];		/* the program's registers while outside the cache */
	uint64_t pc;
	uint64_t rflags;
	uint64_t return_number;		/* of a return that found nothing (exit_link) */
	uint64_t spill[3];		/* where s1, s2, s3 are */
	uint64_t engine_rsp;
	uint64_t exit_link;		/* why the cache was left */
	uint64_t target;		/* where glue jumps */
	uint64_t app_gs;		/* the program's own gs base */
	uint32_t pending;		/* a signal waits in signal.pending_… */
	uint32_t again;			/* look the code up again before entering it (stop.c) */
	uint64_t app_gs_neg;		/* minus app_gs */
	uint64_t s0;			/* the spill slot of rcx */

	/* root */
	uint32_t record;		/* in soft_shared.records */
	int32_t tid;
	bool in_use;
	bool mapped;
	bool is_vfork;			/* another process in the same memory, … */
	bool parent_waits;		/* … whose parent sleeps until it is gone (CLONE_VFORK) */
	bool calls_mapped;		/* its struct calls_thread is there */

	/* translate */
	struct {
		bool inside;		/* may be in the cache, or know addresses in it (stop.c) */
		bool kicked;		/* by stop.c, once at least */
		/* The uncounted block that it is about to enter as if it fell into it; or 0. If
		 * something comes between, the thread left the chain instead: that block's
		 * cell says so. */
		uint32_t falling_into;
		uint64_t single_pc;	/* run this instruction alone: it writes to its own page */
		/* With single_pc: run up to the instruction with which one of these events (1 <<
		 * enum soft_event) has happened so often, or to the end of the block. */
		uint32_t stops;
		uint8_t stop_after[SOFT_EVENTS];
		bool stop_before;	/* … or up to the instruction before that, if there is one */
		uint64_t last_pc;	/* of the last instruction of that run */
		bool has_run;		/* recover(): the instruction that ran alone has retired */
		int64_t corr[SOFT_EVENTS];	/* parts of blocks, and what was folded */
		int64_t vdso_corr[SOFT_EVENTS];	/* … of these, in the vDSO */
		uint64_t way_corr;	/* the same for soft_record.way (count_way) */
		uint8_t off;		/* counting is off: enum part_off; 0: on (on-off.c) */
		int64_t parked_corr[SOFT_EVENTS], parked_vdso[SOFT_EVENTS];	/* … the two from before */
		uint64_t parked_sum[SOFT_EVENTS];	/* what the parked cells are worth */
		uint64_t past;		/* E.hermetic: instructions whose cells were set to 0 since */
		int64_t past_corr;	/* … and corrections among corr that are in `past` */
	} code;
	struct {			/* trace.c */
		uint64_t at;		/* where its next word goes */
		int64_t left;		/* room, in words; < 0: ask */
		uint64_t fs;		/* the base of fs */
		uint32_t slot;		/* trace-abi.h, from 1; 0: none */
	} trace;
	struct {			/* shadow.c */
		uint64_t last;		/* the chunk mapped last; 0: none is */
		uint64_t common;	/* one of those that are the same memory; or 0 */
		uint32_t run;		/* chunks in a row, each below the one before */
		uint64_t mapped[64];	/* bits: which megabytes of it are mapped */
	} shadow;
	struct {			/* pages.c: a store to a guarded page */
		uint64_t retry_at;	/* … that another thread has unguarded meanwhile … */
		uint32_t retries;	/* … and how often in a row */
	} store;

	/* vpmu */
	struct {
		uint32_t slot;		/* of its task, in vpmu_shared.slots */
		uint32_t child_slot;	/* of the task that it is making */
		bool stepping;		/* look at the budgets when it leaves the cache next */
		/* What the instruction at `pc` loads from and stores to, before it runs
		 * (vpmu-access.c). */
		struct {
			uint64_t pc, load, store;
		} access;
		/* What the kernel has told the thread, and is not counted yet (vpmu-kernel.c): page faults in user
		 * mode. Rings have the rest. */
		struct told_fault {
			uint64_t ip, addr;	/* ip 0: of the instruction whose SIGSEGV comes next */
			uint32_t which;
		} told[32];
		uint32_t n_told;
		uint32_t tells;		/* bits of vpmu_slot.wants_told: the kernel tells them this thread */
	} vpmu;

	/* guest */
	struct {			/* exact-stop.c; by rule: */
		uint64_t at[SOFT_MAX_STOPS];	/* stop when its event has happened so often */
		uint64_t taken[SOFT_MAX_STOPS];	/* of the limit's pool, and not given back */
	} exact;
	struct {
		uint32_t child_record;	/* of the task that it is about to make */
		uint64_t cookie;	/* while the launcher is asked (soft_slot) */
		uint64_t rseq;		/* its registered area, or 0 … */
		uint32_t rseq_len, rseq_sig;	/* … and with a machine, what it was registered with */
		uint64_t affinity;	/* with a machine: the CPUs that it asked for; 0: all */
		bool strict;		/* seccomp's strict mode, which the engine enforces */
		bool trace_asked;	/* traced_resumes() is to be called */
		bool exec_counted;	/* the execve that it makes is in the log already */
		uint16_t gs_selector;	/* the program's */
	} task;
	struct {			/* hermetic*.c */
		uint32_t number;	/* of its task, in hermetic_shared.tasks */
		uint32_t child;		/* … of the one that it is about to make; 0: none */
		uint64_t last;		/* instructions when the clock was set by them last */
		uint64_t ahead;		/* ns that the clock is before that, by guesses */
		uint32_t every, skip;	/* the clock is guessed so often, and so often still … */
		uint64_t step;		/* … and each time goes on by so much */
		/* What the task that it makes is to find: words for ids, which are written by the maker, by
		 * the new task, and cleared at its end. */
		uint64_t parent_tid, child_tid, child_clear;
		uint32_t calls;		/* system calls since its turn began … */
		uint32_t most_calls;	/* … and after how many another task has its turn */
		uint64_t clear_tid;	/* the word that is cleared when the thread ends; 0: none */
		uint64_t slice_end;	/* exact stops: instructions at which its turn ends; 0: it does not */
	} hermetic;
	struct {			/* the program single-steps itself (TF) */
		bool trap;		/* trap after the instruction, … */
		bool done;		/* … which has retired */
		bool flags_loaded;	/* … which was a popf or iret, and has its own TF */
		bool pushf;		/* … which was a pushf, and shows TF */
	} step;
	struct {			/* its tracer single-steps it (traced.c) */
		uint8_t step;		/* enum traced_step */
		uint8_t showing;	/* the signal that the tracer is shown; 0: none … */
		bool let_through;	/* … and the tracer has not suppressed it */
		bool unseen;		/* thread.pending is a signal that the tracer is still to be shown */
	} traced;
	struct {			/* signal.c; what the program sees, if nothing is said */
		uint64_t mask;
		struct k_stack altstack;
		uint64_t fault_err, fault_trapno, fault_cr2;	/* of its last fault */
		struct k_sigaction *actions;	/* guest.actions, or own_actions */
		struct k_sigaction own_actions[N_SIGNALS + 1];
		/* the signal that waits, if thread.pending */
		struct k_siginfo pending_info;
		struct k_ucontext pending_uc;
		bool pending_stale;	/* its FP state is not the program's any more */
		bool pending_forced;
		/* kill() with one of SYNC_SIGNALS, while it was blocked or another waited */
		uint64_t held;		/* SIG_BIT() of each */
		struct k_siginfo held_info[6];
		uint64_t temp_mask;	/* sigsuspend and the like were interrupted under it */
		bool has_temp_mask;
		bool probing;		/* the CPU is asked what happens at pc: signal_probe() */
		bool trying;		/* … and may go on after it: signal_try() */
		bool learning;		/* the next SIGTRAP is its own: learn_altstack() */
		uint8_t flag_steps;	/* the CPU steps in the cache, so often: step_on() */
		uint64_t fp_seen;	/* fp_facts.seen, … */
		int32_t fp_seen_tid;	/* … if this is still its tid: a fork child starts over */
	} signal;
	/* What the kernel writes for the thread, and when it likes to; guarded by the lock (outputs.c). */
	struct written {
		uint64_t start, end;
	} written[WRITTEN];
};

enum traced_step {
	STEP_NONE,
	STEP_ARMED,		/* the next instruction runs alone */
	STEP_RAN,		/* it has: the tracer is to know */
};

#define GS(offset)	((uint32_t)((offset) - THREAD_AREA))	/* as an operand through gs */

#define AT_OFFSET(field, off) \
	_Static_assert(offsetof(struct thread, field) == (off), "layout.h: " #field)
AT_OFFSET(self, OFF_SELF);
AT_OFFSET(regs, OFF_REGS);
AT_OFFSET(pc, OFF_PC);
AT_OFFSET(rflags, OFF_RFLAGS);
AT_OFFSET(return_number, OFF_RETURN_NUMBER);
AT_OFFSET(spill, OFF_S1);
AT_OFFSET(engine_rsp, OFF_ENGINE_RSP);
AT_OFFSET(exit_link, OFF_EXIT);
AT_OFFSET(target, OFF_TARGET);
AT_OFFSET(app_gs, OFF_APP_GS);
AT_OFFSET(pending, OFF_PENDING);
AT_OFFSET(again, OFF_AGAIN);
AT_OFFSET(app_gs_neg, OFF_APP_GS_NEG);
AT_OFFSET(s0, OFF_S0);
#undef AT_OFFSET
_Static_assert(sizeof(struct thread) <= THREAD_FP, "thread header");

/* Locks. A declaration says what its function needs of them:
 *
 *	NEEDS_LOCK		the caller holds E.lock
 *	TAKES_LOCK		the function takes it for a while, so the caller must not hold it
 *	NEEDS_VPMU_LOCK		the same for the lock of the virtual PMU (vpmu_shared.lock)
 *	TAKES_VPMU_LOCK
 *
 * A function without a mark does neither; what it reads of guarded data may be outdated. A
 * static function needs what the functions that call it hold. Starting (engine_main()) needs
 * none, because no other thread exists. A thread that ends its process may take the virtual
 * PMU's lock while it holds E.lock; no thread takes them in the other order. */
#define NEEDS_LOCK
#define TAKES_LOCK
#define NEEDS_VPMU_LOCK
#define TAKES_VPMU_LOCK

/* What the process has one of, and belongs to no room above: theirs are `cache`
 * (translate.h), `guest` (guest.h) and the shared memory of the virtual PMU (vpmu-abi.h). */
struct engine {
	struct soft_shared *shared;
	/* Guards `cache` and everything that its addresses lead to: blocks, links, the tables T, P
	 * and R, segments, regions, pages, aliases, the heap; static buffers of translate, and
	 * those of /proc's files; which slots of `threads` are in use; and folding counts.
	 * 0 free, 1 taken, 2 taken and others wait (futex). Never held while the program's code
	 * runs or a system call of the program is made, but for a fork, whose child must find
	 * everything in order. */
	uint32_t lock;
	int32_t pid;
	uint32_t reserved_fd;		/* the descriptor of the run's memfd */
	bool has_fsgsbase;
	bool vpmu;			/* `tare run`: there is a virtual PMU */
	bool machine;			/* the program sees another CPU: soft_shared.machine */
	bool hermetic;			/* a still world: soft_shared.hermetic */
	bool stops;			/* tasks are to stop at events (exact-stop.c) */
	uint32_t n_threads;		/* slots ever used: threads[0] … */
	uint32_t n_thread_addresses;	/* addresses tried for them */
	uint32_t n_free_slots;		/* of them, whose thread has ended */
	uint32_t n_own;			/* threads of this process, without vfork children */
	uint32_t n_running;		/* threads and vfork children there are now */
	struct thread *threads[MAX_THREADS];
};

extern struct engine E;

static inline struct thread *thread_self(void)
{
	struct thread *t;
	__asm__ volatile("mov %%gs:%c1, %0" : "=r"(t) : "i"(-(int64_t)THREAD_AREA));
	return t;
}
static inline struct thread *thread_at(uint32_t i) { return E.threads[i]; }
static inline uint64_t gs_of(const struct thread *t) { return (uint64_t)t + THREAD_AREA; }

/* lock.c: E.lock */
void lock_take(void);
bool lock_try(void);		/* for a moment */
void lock_drop(void);
uint64_t now_ns(void);

/* fail.c: these end the process; the launcher says why */
void die(const char *what, uint64_t pc) __attribute__((noreturn));	/* a fault of the engine */
void no_memory(void) __attribute__((noreturn));		/* the program's address space is full */
void refuse(const char *what) __attribute__((noreturn));	/* the program cannot be counted */

/* zone.c */
void *zone_map(uint64_t addr, uint64_t size);		/* fixed, zeroed, rw; dies if impossible */
bool zone_try_map(uint64_t addr, uint64_t size);	/* … says so */
void zone_map_shared(uint64_t addr, uint64_t offset, uint64_t size);	/* of the run's memfd; dies likewise */
uint64_t zone_mapped(void);				/* bytes, by these two */
void zone_touch(uint64_t addr, uint64_t size);		/* what will be used soon */
void arena_grow_now(uint64_t base, uint64_t *mapped, uint64_t need);
static inline void arena_grow(uint64_t base, uint64_t *mapped, uint64_t need)
{
	if (*mapped < need)
		arena_grow_now(base, mapped, need);
}
void arena_empty(uint64_t base, uint64_t mapped);	/* all zero again, pages given back */
NEEDS_LOCK void *heap_alloc(size_t size);	/* under the lock */
NEEDS_LOCK void heap_empty(void);	/* under the lock */
uint64_t heap_bytes(void);			/* in use */
void heap_take(uint64_t used);			/* so many are in use, whatever is in them */
bool threads_overlap(uint64_t start, uint64_t end);	/* those outside the zone */
uint64_t thread_address(uint32_t n);			/* where the n-th may be */

/* copy.c */
bool copy_guest(void *to, const void *from, size_t n);	/* false: a fault */
bool copy_string(char *to, size_t size, uint64_t from);	/* of the program; cut off if long */
void copy_text(char *to, size_t size, const char *from, size_t len);

/* proc-self.c */
/* openat for the engine itself, also where the program has used up its (soft) limit */
long own_open(long dir, const char *path, long flags);
/* Calls `what` with each line of /proc/self/maps, which ends in \n. 0, or -errno. The text is in
 * a static buffer: one thread at a time. */
long maps_each(void (*what)(const char *line, void *arg), void *arg);
/* The mapping that holds that address: one call instead of a line of text for each mapping. False: there is none, or the
 * kernel is older than Linux 6.11. */
struct map_found {
	uint64_t start, end, flags, inode;	/* flags: PROCMAP_READABLE, … */
};
long maps_open(void);
bool maps_query(long fd, uint64_t addr, struct map_found *m);
/* The same without the lock, in memory of the caller: more than the longest line. */
long maps_each_in(char *text, size_t size, void (*what)(const char *line, void *arg), void *arg);
char task_state(int32_t tid);				/* of /proc/TID/stat; 0: cannot be read */
/* It runs, or would if it got a CPU: on a busy machine it may not get one for seconds. */
static inline bool task_wants_cpu(int32_t tid)
{
	return task_state(tid) == 'R';
}
/* The longest time to wait for a task that wants a CPU. */
#define LONGEST_WAIT_NS 60000000000ull
bool is_traced(void);					/* the calling thread, as /proc says */

/* Asked of engine.c, which sees all rooms: */
TAKES_LOCK uint64_t resume(struct thread *t);	/* code address for t->pc, signals first */

/* The engine's own code. */
extern const char __executable_start[], etext[];
static inline bool in_engine(uint64_t pc)
{
	return pc >= (uint64_t)__executable_start && pc < (uint64_t)etext;
}

/* glue.S. It calls engine_main(), engine_exit() and resume() of engine.c, and master() and
 * thread_child() of the room guest. */
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
