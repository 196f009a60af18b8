/* Inside the room guest: what its files share. */
#ifndef SOFT_GUEST_ROOM_H
#define SOFT_GUEST_ROOM_H

#include "guest.h"

struct insn;

#define SYSCALL_SIZE 2	/* bytes of `syscall` and of `int $0x80` */

/* A function of the form long NAME_syscall(t, nr, args) makes a system call of the program, or
 * answers in the kernel's place. One with `done` sets it if it has; else its result means nothing
 * and the call is still to be made. */

/* thread.c */
NEEDS_LOCK struct thread *thread_new(void);		/* NULL: there is no room for another one */
void thread_free(struct thread *t);
TAKES_LOCK long thread_clone(struct thread *t, long nr, const uint64_t *a);
TAKES_LOCK void thread_exit(struct thread *t, long nr, const uint64_t *a) __attribute__((noreturn));
void thread_child(struct thread *t);			/* glue.S calls it, in a new thread */
struct soft_record *record_find(int32_t tid);		/* of a running task; NULL: none */
void set_gs(struct thread *t);				/* the CPU's gs, to the engine's */
void app_gs_set(struct thread *t, uint64_t base);	/* the gs base that the program sees */

/* exec.c */
long thread_exec(struct thread *t, long nr, const uint64_t *a);
/* Makes a request (enum soft_request), and waits for the answer; `at`: for REQ_STOP and REQ_OVER. */
uint32_t ask_launcher(struct thread *t, uint32_t what, const struct soft_stopped *at);

/* exact-stop.c, each only if E.stops */
void exact_begin(struct thread *t);	/* a new thread or process */
/* A system call of the program is about to be made. */
TAKES_LOCK void exact_call(struct thread *t, long nr);
void exact_ended(struct thread *t);	/* the task ends by a signal */

/* signal-kernel.c */
void signal_altstack(struct thread *t);			/* sets the engine's signal stack */
/* The action that the kernel gets where the program's is `act`. */
struct k_sigaction signal_kernel_action(int sig, const struct k_sigaction *act);
long signal_kernel_set(int sig, const struct k_sigaction *k, struct k_sigaction *old);
bool signal_dies_by_default(int sig);
void mask_set(struct thread *t, uint64_t app_mask);
/* The synchronous signals, which the engine holds while the program blocks them: thread.signal.held_info
 * has one place for each, in this order. */
extern const uint8_t held_signals[6];
/* Before an exec the kernel gets the program's own ignored and blocked signals, which the new
 * image inherits; if the exec fails, the engine's again. */
void signals_as_app(struct thread *t);
void signals_as_engine(struct thread *t);
/* The process leaves the engine: the kernel gets the program's actions, stack and held signals. All
 * signals are blocked until the launcher sets the program's mask. */
void signals_hand_back(struct thread *t);

/* signal-fpstate.c */
void fp_learn(void);					/* fills guest.fp in, from CPUID */
/* A frame that the kernel made shows which features the thread's FP state has. */
void fp_note(struct thread *t, uint64_t fpstate);
uint32_t fp_size(uint64_t fpstate);			/* in a frame; 0: there is none */
/* Stores the live FP state at THREAD_FP, as the kernel would in a frame for this thread. Returns
 * the flags of a ucontext with it. */
uint64_t fp_save(struct thread *t);

/* signal.c */
/* Goes on at t->pc, with the program's signal mask and that FP state (0: the initial one). */
void signal_leave(struct thread *t, uint64_t fpstate, uint64_t fp_flags)
	__attribute__((noreturn));
/* The instruction that the program or its tracer single-steps has not retired. */
void step_undone(struct thread *t);
void signal_take_regs(struct thread *t, const struct k_sigcontext *m);
bool signal_on_altstack(const struct k_stack *s, uint64_t sp);
TAKES_LOCK void signal_fatal(struct thread *t, int sig) __attribute__((noreturn));

/* special.c */
void uncount(struct thread *t, uint64_t pc);		/* the instruction there did not retire */
/* At `at` the CPU stored the address of an x87 instruction, in `size` bytes: replaces an address of
 * the cache by the program's. */
TAKES_LOCK void fp_own_address(struct thread *t, uint64_t at, unsigned size);

void memory_fault(struct thread *t, const struct insn *in, uint64_t at, bool write)
	__attribute__((noreturn));

/* machine.c, each if E.machine */
/* Runs an instruction that shows the CPU, with the machine's answer. */
TAKES_LOCK void machine_insn(struct thread *t, const struct insn *in, const uint8_t *s);
bool machine_cpuid(struct thread *t);
long machine_getcpu(const uint64_t *a);
/* machine-calls.c, likewise */
long machine_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);
long machine_rseq(struct thread *t, const uint64_t *a);

/* What /proc/PID/auxv has, of a process with a machine; 0: not known. */
uint32_t machine_auxv(uint64_t pid, char *to, uint32_t room);

/* shown-files.c, if E.shared->files.of */
TAKES_LOCK long files_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);

/* requests.c */
TAKES_LOCK void client_request(struct thread *t);	/* t->pc: an xchg rbx, rbx, which may end one */

/* outputs.c */
/* Before a system call of the program, and after it: what the kernel writes for the call is not
 * guarded meanwhile. False: nothing that matters. */
TAKES_LOCK bool outputs_begin(struct thread *t, long nr, const uint64_t *a);
TAKES_LOCK void outputs_end(struct thread *t);
/* The same of thread.written[which], as long as nothing else is said. */
TAKES_LOCK void outputs_keep(struct thread *t, unsigned which, uint64_t start, uint64_t size);

/* rseq.c */
void rseq_look_at_file(long fd);	/* the program maps code of it: refused if it uses rseq */
long rseq_syscall(struct thread *t, const uint64_t *a);
void rseq_check(struct thread *t);	/* refuses the program if it is in a critical section */

/* traced.c */
enum { TRACED_HEARD = 1, TRACED_READY };	/* soft_record.traced */
/* Codes of a SIGTRAP: */
#define TRACED_KICK (-0x7a30)	/* asks a process to call traced_asked(), or a task to leave the cache */
#define TRACED_STEPPED (-0x7a34)	/* of the task itself, for its tracer: a step is done, … */
#define TRACED_EXECED (-0x7a35)	/* … there is a new image, … */
#define TRACED_RELEASE (-0x7a36)	/* … it must be detached, so that the launcher can attach */
#define TRACED_HINT (-0x7a37)	/* of another task: see soft_record.stop_again and .code_written */
/* soft_record.step: */
#define STEP_WANTED 1
#define STEP_TELLS 2		/* the task is about to stop because the step is done, … */
#define STEP_SHOWS 4		/* … or because the signal came, whose number is << STEP_SIGNAL */
#define STEP_ENDS 16		/* the signal that ends the task, which the tracer has seen, comes once more */
#define STEP_SIGNAL 8
static inline bool traced_code_of_signal(int32_t code)
{
	return code == TRACED_KICK || (code <= TRACED_STEPPED && code >= TRACED_HINT);
}
/* A kick came, of this code: traced_resumes() as soon as possible. */
void traced_heard(struct thread *t, int32_t code);
void traced_thread(struct thread *t);	/* a new thread of a traced process */
TAKES_LOCK void traced_code(struct thread *t);	/* a traced process has mapped code */
/* A step of the tracer ends with a signal: the tracer is shown the signal first. True: the tracer has
 * suppressed it. */
TAKES_LOCK bool traced_suppresses(struct thread *t, const struct k_siginfo *info);
/* The signal has come to the engine, at this pc, and was kept from the tracer. */
bool traced_is_unseen(const struct thread *t, const struct k_siginfo *info, uint64_t pc);
void traced_ends(struct thread *t);	/* by a signal that the tracer has seen */
void traced_handler(struct thread *t);	/* a handler begins: that was the step */
void traced_undone(struct thread *t);	/* the instruction has not retired */
/* An exec: the tracer lets the launcher attach; and attaches again, if the exec has failed. */
TAKES_LOCK void traced_release(struct thread *t);
TAKES_LOCK void traced_again(struct thread *t);

/* tracer.c */
TAKES_LOCK long ptrace_syscall(struct thread *t, const uint64_t *a);
long wait_syscall(struct thread *t, long nr, const uint64_t *a);

/* others-code.c */
/* The task, or its process, may have new code: this process has written to its memory. */
void others_code_written(struct soft_record *r);
/* A call of this process that writes to another one's memory has succeeded. */
void others_memory_written(struct thread *t, long nr, const uint64_t *a);

/* ptrace.c */
/* Requests for the registers of a task: the program's, not the engine's. */
TAKES_LOCK long ptrace_registers(struct thread *t, const uint64_t *a);

/* syscall.c */
/* A call that needs nothing but writable memory. */
TAKES_LOCK long plain_syscall(struct thread *t, long nr, const uint64_t *a);

/* seccomp.c */
long seccomp_syscall(struct thread *t, long nr, const uint64_t *a);
void seccomp_strict(struct thread *t, long nr);	/* ends the task, if strict mode forbids the call */

/* procfs.c */
long proc_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);
/* procfs-read.c */
TAKES_LOCK long proc_read(struct thread *t, long nr, const uint64_t *a, bool *done);

#endif
