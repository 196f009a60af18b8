/* The room guest: what the program asks of the kernel and the kernel does to the program, as
 * if the engine were not there.
 *
 *	syscall.c	the program's system calls, handed to the files below or to the kernel
 *	memory-calls.c	mmap and the like
 *	signal.c	signals: arriving, frames, leaving; signal-calls.c: the calls about them
 *	thread.c	clone, fork, exit; records of tasks
 *	exec.c		execve, with the launcher's help
 *	special.c	instructions that C runs for the program
 *	fpstate.c	the FP state in a signal frame
 *	procfs*.c	/proc without the engine (procfs.h)
 *	rseq.c, seccomp.c, ptrace.c, traced.c
 *
 * This header is what vpmu and engine.c use; what only the files of this room share is in
 * guest-room.h. The room sees translate, decode and the root.
 *
 * It asks of the virtual PMU above it (declared at the end): its part in system calls, the
 * life of tasks, cpuid and rdpmc. It gives translate what that asks for: signal_probe() and
 * vsyscall() (translate.h).
 */
#ifndef SOFT_GUEST_H
#define SOFT_GUEST_H

#include "fpstate.h"
#include "translate.h"

/* What this room knows of the process. */
struct guest_state {
	uint32_t execing;		/* futex: a thread is about to exec */
	uint32_t mdwe;			/* PR_SET_MDWE's bits */
	bool zone_forbidden;		/* the program mapped it so that nobody can use it */
	bool mem_open;			/* it opened /proc/…/mem: writes may change code */
	bool filtered;			/* it installed a seccomp filter */
	bool cpuid_forbidden;		/* a thread forbade it once (ARCH_SET_CPUID) */
	bool fp_known;			/* fp is filled in: see fp_learn() */
	struct fp_facts fp;		/* … what does not differ between threads */
	struct k_sigaction actions[N_SIGNALS + 1];	/* the program's view */
};

extern struct guest_state guest;

/* syscall.c */
uint64_t syscall_exit(struct thread *t, const struct link *l);
/* Makes a system call of the program's: the kernel's result, or one of GATE_… */
long gate(struct thread *t, long nr, const uint64_t *args);

/* memory-calls.c */
long memory_syscall(struct thread *t, long nr, const uint64_t *a);

/* signal.c */
void signals_init(struct thread *t);
void signal_deliver_pending(struct thread *t) __attribute__((noreturn));
void signal_deliver_held(struct thread *t);		/* returns if none is due */
/* raises a synchronous signal for the program at t->pc */
void signal_raise(struct thread *t, int sig, int code, uint64_t addr, int trapno, int err)
	__attribute__((noreturn));

/* special.c */
uint64_t special_exit(struct thread *t, const struct link *l);
void fp_env_stored(struct thread *t, uint64_t pc);	/* by the instruction there */

/* thread.c */
bool thread_is_last(const struct thread *self);
void record_live(struct thread *t, struct soft_record *r);
void record_names(struct soft_record *r);

/* rseq.c */
void rseq_init(void);

/* traced.c */
void traced_asked(struct thread *t);

/* ---- what this room asks of vpmu, each under `tare run` only (E.vpmu) ---- */

#define VPMU_KICK (-0x7a2e)	/* code of a SIGTRAP that asks a task to vpmu_follow() */
long vpmu_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);
void vpmu_making(struct thread *t, bool is_thread);	/* before a clone */
void vpmu_made(struct thread *t, long ret, bool is_thread);	/* … after it, in the parent */
void vpmu_thread(struct thread *t);			/* a new thread, or a vfork child */
void vpmu_forked(struct thread *t);			/* in the child of a fork */
void vpmu_ended(struct thread *t);
void vpmu_before_exec(struct thread *t, bool native);	/* native: without the engine */
void vpmu_exec_failed(struct thread *t);
void vpmu_follow(struct thread *t);			/* somebody wants other events of it */
void vpmu_rdpmc(struct thread *t);			/* at t->pc, counted already */
bool vpmu_cpuid(struct thread *t);			/* false: it is forbidden */

#endif
