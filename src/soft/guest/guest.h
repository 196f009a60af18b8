/* The room guest: what the program asks of the kernel and the kernel does to the program, as
 * if the engine were not there.
 *
 *	syscall.c	the program's system calls, handed to the files below or to the kernel
 *	memory-calls.c	mmap and the like
 *	signal.c	signals: arriving, frames, leaving
 *	signal-calls.c	the system calls about signals
 *	signal-kernel.c	what the kernel knows of the program's signals
 *	signal-fpstate.c  the FP state of a running thread; fpstate.c: which of it a frame has
 *	thread.c	clone, fork, exit; records of tasks
 *	exec.c		execve, with the launcher's help
 *	exact-stop.c	stopping a task at its N-th event
 *	special.c	instructions that C runs for the program
 *	machine*.c	the CPU that the program sees (--machine): instructions, calls
 *	procfs*.c	/proc without the engine (procfs.h)
 *	shown-files.c	files that show another CPU than the host's
 *	ptrace.c, tracer.c, traced.c  tasks that trace others, and tasks that are traced
 *	others-code.c	code of other processes that this one writes
 *	rseq.c, seccomp.c
 *
 * This header is what vpmu, still and engine.c use; what only the files of this room share is in
 * guest-room.h. The room sees translate, decode and the root.
 *
 * It asks of the still world and of the virtual PMU above it (declared at the end): their part in system calls, the
 * life of tasks, and instructions such as rdtsc, cpuid and rdpmc. It gives translate what that asks for: signal_probe() and
 * vsyscall() (translate.h).
 */
#ifndef SOFT_GUEST_H
#define SOFT_GUEST_H

#include "fpstate.h"
#include "translate.h"

/* What this room knows of the process. A flag is set once, by any thread, and stays set. */
#define MAX_TRACEES 16
struct guest_state {
	/* A lock: 1 while a thread execs, or tries to; another one that wants to waits (futex).
	 * An exec ends the other threads, and the launcher must not wait for any of them. */
	uint32_t execing;
	uint32_t mdwe;			/* bits of PR_SET_MDWE */
	bool zone_forbidden;		/* the program has mapped all of the zone with PROT_NONE */
	bool mem_open;			/* it has opened its /proc/…/mem, by which it may change code */
	bool others_mem_open;		/* … and that of another process */
	bool filtered;			/* it has installed a seccomp filter */
	bool shares_memory;		/* E.hermetic: it has mapped memory that others may write to */
	bool cpuid_forbidden;		/* a thread has forbidden cpuid (ARCH_SET_CPUID) */
	bool fp_known;			/* fp is filled in: fp_learn() */
	/* tracer.c: tasks that this process will trace as soon as they exec, and the thread that wants
	 * to; 0: a free place. Not guarded: each thread looks only at its own. */
	struct { int32_t tid, tracer; } tracees[MAX_TRACEES];
	struct fp_facts fp;		/* what is the same in all threads */
	struct k_sigaction actions[N_SIGNALS + 1];	/* the program's; threads may have their own */
};

extern struct guest_state guest;

/* syscall.c */
/* The program's syscall instruction, by its link. The address of the code to go on at. */
TAKES_LOCK uint64_t syscall_exit(struct thread *t, const struct link *l);
/* Makes a system call of the program: the kernel's result, or one of GATE_… */
long gate(struct thread *t, long nr, const uint64_t *args);
/* The same for calls about signals, and those that set a mask while they wait. */
TAKES_LOCK long signal_syscall(struct thread *t, long nr, const uint64_t *a);
/* A call as the host answers it, or what stands for it: all but the still world. */
TAKES_LOCK long syscall_usual(struct thread *t, long nr, const uint64_t *a);

/* memory-calls.c */
TAKES_LOCK long memory_syscall(struct thread *t, long nr, const uint64_t *a);

/* signal-kernel.c */
void signals_init(struct thread *t);			/* a new image */

/* signal.c */
void signal_deliver_pending(struct thread *t) __attribute__((noreturn));
void signal_deliver_held(struct thread *t);		/* returns if the program blocks them all */
/* Delivers a signal that an instruction of the program at t->pc raises. */
void signal_raise(struct thread *t, int sig, int code, uint64_t addr, int trapno, int err)
	__attribute__((noreturn));
/* Like signal_probe(), for an instruction that probably faults and was counted already. If it does
 * not fault, the program goes on after it. Not for an instruction with an operand through gs. */
void signal_try(struct thread *t) __attribute__((noreturn));

/* special.c */
/* An instruction that C runs, by its link. The address of the code to go on at. */
TAKES_LOCK uint64_t special_exit(struct thread *t, const struct link *l);
/* The instruction at pc has stored x87 state: puts the program's own address into it. */
TAKES_LOCK void fp_env_stored(struct thread *t, uint64_t pc);
/* The address of the memory operand of the instruction, whose bytes are at s; the base of a segment. */
struct insn;
uint64_t operand_address(const struct thread *t, const struct insn *in, const uint8_t *s, uint64_t pc);
uint64_t segment_base(const struct thread *t, uint8_t prefix);
int modrm_rm(const struct insn *in);		/* the register that its ModRM.rm names */

/* thread.c */
bool thread_is_last(const struct thread *self);		/* of its process */
void record_live(struct thread *t, struct soft_record *r);	/* where the launcher finds counts */
void record_names(struct soft_record *r);

/* machine.c */
/* cpuid as the machine answers, or the host where there is no machine; false: it is forbidden. */
bool machine_ask(uint32_t leaf, uint32_t sub, uint32_t answer[4]);
/* machine-calls.c */
void machine_start(struct thread *t);			/* a new image, if E.machine */

/* layout.c */
void layout_start(struct thread *t);	/* a new image, if soft_shared.layout.on */

/* rseq.c */
void rseq_init(void);					/* refuses a program that uses rseq */

/* traced.c */
/* Another task is about to trace this process: maps all that would fault otherwise. */
TAKES_LOCK void traced_asked(struct thread *t);
TAKES_LOCK void traced_resumes(struct thread *t);	/* after a kick of another task, before it goes on */
TAKES_LOCK void traced_begin(struct thread *t);	/* a new image: its tracer attaches */
TAKES_LOCK void traced_step(struct thread *t);	/* before the next instruction: does it run alone? */

/* tracer.c */
/* A task that dies of a signal has stopped for this thread, its tracer, which has seen the signal: it goes on. */
bool tracer_lets_end(int32_t tid);

/* exact-stop.c */
void exact_start(struct thread *t);	/* a new image, if soft_shared.n_stops */
/* As vpmu_tick() and vpmu_stepped(), if E.stops. */
void exact_tick(struct thread *t, const struct block_to_run *next);
TAKES_LOCK void exact_stepped(struct thread *t);
bool exact_instructions(const struct thread *t, uint64_t *n);	/* if code adds them up: how many it ran */
TAKES_LOCK bool exact_wanted(struct thread *t);	/* from now on they are, and hermetic_left() is asked; false: not now */

/* exec.c: the launcher has ended without having ended its service: it was killed. */
bool launcher_was_killed(void);

/* ---- what this room asks of still, each only if E.hermetic ---- */

TAKES_LOCK long hermetic_syscall(struct thread *t, long nr, const uint64_t *a);
void hermetic_insn(struct thread *t, const struct insn *in);	/* rdtsc, rdtscp, rdrand, rdseed, pause */
/* The task is about to make another one, with these flags of clone and addresses for ids; false: there is no
 * room for one. It has, or not: returns the result that the program sees. */
bool hermetic_making(struct thread *t, uint64_t flags, uint64_t parent_tid, uint64_t child_tid);
long hermetic_made(struct thread *t, long ret, uint64_t flags);
void hermetic_inherit(struct thread *c, const struct thread *parent);	/* a thread or vfork child */
void hermetic_begins(struct thread *t);			/* … in it: waits for its turn */
void hermetic_forked(struct thread *t);			/* the same in the child of a fork */
void hermetic_ends(struct thread *t, bool whole_process);	/* before the call that ends it */
void hermetic_native(struct thread *t, bool is);	/* execs natively; or has failed to */
void hermetic_siginfo(struct k_siginfo *info);		/* process ids as the program knows them */
/* Instructions up to the next stop of the task, which has run `now`; and it has come there. */
uint64_t hermetic_left(struct thread *t, uint64_t now);
void hermetic_reached(struct thread *t, uint64_t now);
void hermetic_settle(struct thread *t);		/* the clock knows what the thread ran, without budgets */
void hermetic_counts_from(struct thread *t, uint64_t n);	/* exact_instructions() begins with that */
void hermetic_execing(struct thread *t);

/* ---- what this room asks of vpmu, each under `tare run` only (E.vpmu) ---- */

#define VPMU_KICK (-0x7a2e)	/* code of a SIGTRAP that asks a task to call vpmu_follow() */
/* Codes of signals about events of another process, which stand for POLL_IN, POLL_HUP, SI_KERNEL. */
#define VPMU_POLL_IN (-0x7a31)
#define VPMU_POLL_HUP (-0x7a32)
#define VPMU_SIGIO (-0x7a33)
/* A call of the virtual PMU's is answered, and `done` set. Also notes what other calls change. */
TAKES_LOCK TAKES_VPMU_LOCK
long vpmu_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);
/* After a call of memory_syscall(): events may want to know of new code. */
TAKES_LOCK TAKES_VPMU_LOCK void vpmu_memory(struct thread *t, long nr, const uint64_t *a, long ret);
TAKES_VPMU_LOCK void vpmu_making(struct thread *t, bool is_thread);	/* before a clone, … */
/* … and after it, in the parent; `ret` is the result of the call. */
TAKES_VPMU_LOCK void vpmu_made(struct thread *t, long ret, bool is_thread);
TAKES_VPMU_LOCK void vpmu_thread(struct thread *t);	/* in a new thread or vfork child */
TAKES_VPMU_LOCK void vpmu_forked(struct thread *t);	/* in the child of a fork */
TAKES_VPMU_LOCK void vpmu_ended(struct thread *t);
/* native: where its path is, if the new image runs without the engine; or 0. */
TAKES_VPMU_LOCK void vpmu_before_exec(struct thread *t, uint64_t native);
TAKES_VPMU_LOCK void vpmu_exec_failed(struct thread *t);
/* Makes the code count what is wanted of this task, if another task has changed that. */
TAKES_LOCK void vpmu_follow(struct thread *t);
/* A system call is over: the process sees what other tasks have written into the rings that it has mapped. */
TAKES_VPMU_LOCK void vpmu_called(struct thread *t);
/* A copy of the file with the virtual interrupts up to now: a descriptor. */
TAKES_VPMU_LOCK long vpmu_open_interrupts(struct thread *t, const char *file, uint64_t flags);
void vpmu_note_writer(long fd);				/* a file of the model was opened for writing */
TAKES_VPMU_LOCK void vpmu_rdpmc(struct thread *t);	/* at t->pc, counted already */
/* Is there a counter that the next exec of that task enables? */
TAKES_VPMU_LOCK bool vpmu_awaits_exec(struct thread *t, int32_t tid);
/* The task's tracer may stop it from now on, and change counters: vpmu_follow() is called after it. */
void vpmu_pauses(struct thread *t);
/* The kernel tells of an event that the virtual PMU samples (vpmu-kernel.c), … */
bool vpmu_is_told(const struct k_siginfo *info);
/* … of one that concerns the program; false: nothing is to be done with the signal. */
bool vpmu_concerns(const struct k_siginfo *info);
/* … and was done by the instruction at t->pc; or by C, which is at `pc`. vpmu_catch_up() follows. */
void vpmu_told(struct thread *t, const struct k_siginfo *info, uint64_t pc);
/* That fault was of the instruction at t->pc; or of a store that the program knows nothing of. */
void vpmu_faulted(struct thread *t, uint64_t addr, bool hidden);
void vpmu_fp_replaced(struct thread *t);		/* a handler begins or returns */
void vpmu_entry(struct thread *t);			/* an int 0x80 begins */
void vpmu_iret(struct thread *t);			/* … and returns */
void vpmu_serialised(struct thread *t);			/* a serialising instruction has retired */
TAKES_LOCK bool vpmu_cpuid(struct thread *t);		/* false: cpuid is forbidden */

#endif
