/* Inside the room guest: what its files share. */
#ifndef SOFT_GUEST_ROOM_H
#define SOFT_GUEST_ROOM_H

#include "guest.h"

/* thread.c */
struct thread *thread_new(void);
void thread_free(struct thread *t);
long thread_clone(struct thread *t, long nr, const uint64_t *a);
void thread_exit(struct thread *t, long nr, const uint64_t *a) __attribute__((noreturn));
void thread_child(struct thread *t);			/* called by glue.S */
struct soft_record *record_find(int32_t tid);		/* of a running task; NULL: none */
void set_gs(struct thread *t);
void app_gs_set(struct thread *t, uint64_t base);

/* exec.c */
long thread_exec(struct thread *t, long nr, const uint64_t *a);

/* signal.c */
void signal_altstack(struct thread *t);
void signal_leave(struct thread *t, uint64_t fpstate, uint64_t fp_flags)
	__attribute__((noreturn));
void signal_take_regs(struct thread *t, const struct k_sigcontext *m);
struct k_sigaction signal_kernel_action(int sig, const struct k_sigaction *act);
bool signal_on_altstack(const struct k_stack *s, uint64_t sp);
/* before an exec: ignored and blocked signals as the program has them; and back */
void signals_as_app(struct thread *t);
void signals_as_engine(struct thread *t);
/* Like signal_probe() an instruction at t->pc that probably faults, and was counted; if it
 * does not, the program goes on behind it. Not for one with an operand through gs. */
void signal_try(struct thread *t) __attribute__((noreturn));
void signal_fatal(struct thread *t, int sig) __attribute__((noreturn));
void mask_set(struct thread *t, uint64_t app_mask);
void fp_learn(void);					/* guest.fp, from CPUID */

/* signal-calls.c */
long signal_syscall(struct thread *t, long nr, const uint64_t *a);

/* special.c */
void uncount(struct thread *t, uint64_t pc);		/* the instruction there has not retired */
void fp_own_address(struct thread *t, uint64_t at, unsigned size);	/* of an x87 instruction */

/* rseq.c */
void rseq_look_at_file(long fd);			/* code of it is being mapped */
long rseq_syscall(struct thread *t, const uint64_t *a);
void rseq_check(struct thread *t);			/* is a critical section in use? */

/* traced.c */
#define TRACED_KICK (-0x7a30)	/* code of a SIGTRAP that asks a process to traced_asked() */
long ptrace_syscall(struct thread *t, const uint64_t *a);
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

#endif
