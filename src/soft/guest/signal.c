/* Signals.
 *
 * The kernel delivers every signal that the program handles, and every signal that kills by
 * default, to master() on the thread's own signal stack. The program's view (its actions, mask,
 * alternate stack, frames) is kept here. Where the signal comes
 *
 *	in the cache	the program's state is found for exactly that instruction (recover.c), so
 *			even asynchronous signals are delivered there, with exact counts
 *	in the gate	a system call that is not made yet is cancelled; the program is at its
 *			syscall instruction again
 *	elsewhere	the signal is kept until C goes back to the cache
 *
 * A frame for the program's handler is written on the program's stack, as the kernel writes it. To
 * enter a handler and to leave one, the engine makes a real rt_sigreturn with a frame of its own,
 * which sets mask and FP state at once.
 *
 * The kernel's mask is the program's mask, but without the synchronous signals, which the engine
 * needs.
 */
#include "guest-room.h"
#include "sys.h"
#include "text.h"

/* ---- leaving ---- */

/* What rt_sigreturn takes. */
struct leaving {
	uint64_t pretcode;
	struct k_ucontext uc;
	uint8_t info[128];
};

void signal_leave(struct thread *t, uint64_t fpstate, uint64_t fp_flags)
{
	struct leaving f;
	mem_zero(&f, sizeof(f));
	f.uc.flags = UC_SS | fp_flags;
	f.uc.stack = (struct k_stack){ .sp = (uint64_t)t + THREAD_ALT,
				       .size = THREAD_STACK - THREAD_ALT };
	f.uc.mc.rip = (uint64_t)glue_redispatch;
	f.uc.mc.rsp = t->engine_rsp;
	f.uc.mc.eflags = FLAGS_OF_USER;
	f.uc.mc.cs = USER_CS;
	f.uc.mc.ss = USER_DS;
	f.uc.mc.fpstate = fpstate;
	/* a signal that waits is delivered first: block the others until then */
	f.uc.sigmask = (t->pending ? ~0ull : t->signal.mask) & ~SYNC_SIGNALS;
	glue_sigreturn(&f.uc, FLAG_ONE);
}

/* Jumps to t->pc with the program's registers and TF. No code of the program runs there: memory
 * that is not executable faults, and bytes that are no instruction raise SIGILL, before the
 * trap. */
void signal_probe(struct thread *t)
{
	struct leaving f;
	mem_zero(&f, sizeof(f));
	f.uc.stack = (struct k_stack){ .sp = (uint64_t)t + THREAD_ALT,
				       .size = THREAD_STACK - THREAD_ALT };
	f.uc.mc = (struct k_sigcontext){
		.r8 = t->regs[R8], .r9 = t->regs[R9], .r10 = t->regs[R10], .r11 = t->regs[R11],
		.r12 = t->regs[R12], .r13 = t->regs[R13], .r14 = t->regs[R14],
		.r15 = t->regs[R15], .rdi = t->regs[RDI], .rsi = t->regs[RSI],
		.rbp = t->regs[RBP], .rbx = t->regs[RBX], .rdx = t->regs[RDX],
		.rax = t->regs[RAX], .rcx = t->regs[RCX], .rsp = t->regs[RSP],
		.rip = t->pc, .eflags = (t->rflags & FLAGS_OF_SIGRETURN) | FLAG_TF | FLAGS_OF_USER,
		.cs = USER_CS, .ss = USER_DS,
	};
	/* the live FP state is the program's: rt_sigreturn restores it from here */
	f.uc.flags = UC_SS | fp_save(t);
	f.uc.mc.fpstate = (uint64_t)t + THREAD_FP;
	f.uc.sigmask = ~SYNC_SIGNALS;
	t->signal.probing = true;
	glue_sigreturn(&f.uc, (t->rflags & ~FLAGS_OF_SIGRETURN) | FLAG_ONE);
}

void signal_try(struct thread *t)
{
	t->signal.trying = true;
	signal_probe(t);
}

void signal_fatal(struct thread *t, int sig)
{
	trace_end(t);
	if (E.stops)
		exact_ended(t);
	if (!t->is_vfork)
		lock_take();
	count_fold_all(REC_KILLED_BY_SIGNAL);
	if (E.hermetic)
		hermetic_ends(t, true);
	const struct k_sigaction dfl = { 0 };
	const uint64_t bit = SIG_BIT(sig);
	traced_ends(t);
	signal_kernel_set(sig, &dfl, 0);
	sys3(__NR_tgkill, sys0(__NR_getpid), sys0(__NR_gettid), sig);
	sys4(__NR_rt_sigprocmask, SIG_UNBLOCK, &bit, 0, SIGSET_SIZE);
	for (;;)
		sys1(__NR_exit_group, 128 + sig);
}

/* ---- frames ---- */

bool signal_on_altstack(const struct k_stack *s, uint64_t sp)
{
	if (s->flags & (int32_t)SS_AUTODISARM)
		return false;
	return s->size && sp > s->sp && sp - s->sp <= s->size;
}

struct frame {
	uint64_t pretcode;
	struct k_ucontext uc;
	struct k_siginfo info;
};

static void frame_fill(const struct thread *t, struct frame *f, const struct k_siginfo *info,
		       const struct k_ucontext *k, const struct k_sigaction *act, uint64_t fx)
{
	*f = (struct frame){ .pretcode = act->restorer, .info = *info };
	f->uc.flags = fx ? k->flags : k->flags & ~(uint64_t)UC_FP_XSTATE;
	f->uc.stack = t->signal.altstack;
	f->uc.mc = (struct k_sigcontext){
		.r8 = t->regs[R8], .r9 = t->regs[R9], .r10 = t->regs[R10], .r11 = t->regs[R11],
		.r12 = t->regs[R12], .r13 = t->regs[R13], .r14 = t->regs[R14],
		.r15 = t->regs[R15], .rdi = t->regs[RDI], .rsi = t->regs[RSI],
		.rbp = t->regs[RBP], .rbx = t->regs[RBX], .rdx = t->regs[RDX],
		.rax = t->regs[RAX], .rcx = t->regs[RCX], .rsp = t->regs[RSP],
		.rip = t->pc, .eflags = t->rflags, .cs = USER_CS, .ss = USER_DS,
		.err = t->signal.fault_err, .trapno = t->signal.fault_trapno, .oldmask = t->signal.mask,
		.cr2 = t->signal.fault_cr2, .fpstate = fx,
	};
	f->uc.sigmask = t->signal.mask;
}

static int held_index(int sig)
{
	for (int i = 0; i < 6; i++)
		if (held_signals[i] == sig)
			return i;
	return -1;
}

/* Keeps a signal until the program unblocks it. A second one of the same number is dropped, as the
 * kernel does. */
static void hold(struct thread *t, const struct k_siginfo *info)
{
	const int i = held_index(info->signo);
	if (i < 0)
		die("two signals at once", t->pc);
	if (!(t->signal.held & SIG_BIT(info->signo)))
		t->signal.held_info[i] = *info;
	t->signal.held |= SIG_BIT(info->signo);
}

static void deliver(struct thread *t, const struct k_siginfo *info, const struct k_ucontext *k,
		    bool forced) __attribute__((noreturn));

/* No frame could be written: the program gets SIGSEGV for that. */
static void frame_failed(struct thread *t, int sig, const struct k_ucontext *k)
	__attribute__((noreturn));
static void frame_failed(struct thread *t, int sig, const struct k_ucontext *k)
{
	const struct k_siginfo info = { .signo = SIGSEGV, .code = SI_KERNEL };
	if (sig == SIGSEGV)
		signal_fatal(t, SIGSEGV);
	deliver(t, &info, k, true);
}

/* The address of the frame, and *fx, that of the FP state above it. 0: it does not fit on the
 * alternate stack. */
static uint64_t frame_place(const struct thread *t, const struct k_sigaction *act, uint32_t size,
			    uint64_t *fx)
{
	const struct k_stack *const alt = &t->signal.altstack;
	const bool nested = signal_on_altstack(alt, t->regs[RSP]);
	uint64_t sp = t->regs[RSP] - RED_ZONE;
	bool entering = false;
	if (act->flags & SA_ONSTACK && alt->size && !signal_on_altstack(alt, sp)) {
		sp = alt->sp + alt->size;
		entering = true;
	}
	*fx = (sp - size) & ~63ull;
	const uint64_t at = ((*fx - sizeof(struct frame)) & ~15ull) - 8;
	if ((nested || entering) && (at <= alt->sp || at - alt->sp > alt->size))
		return 0;
	return at;
}

static void after_frame(struct thread *t, int sig, const struct k_sigaction *act)
{
	if (act->flags & SA_RESETHAND) {
		const struct k_sigaction none = { 0 };
		const struct k_sigaction k = signal_kernel_action(sig, &none);
		t->signal.actions[sig].handler = SIGNAL_DEFAULT;
		signal_kernel_set(sig, &k, 0);
	}
	if (t->signal.altstack.flags & (int32_t)SS_AUTODISARM)
		t->signal.altstack = (struct k_stack){ .flags = SS_DISABLE };
	if (t->signal.has_temp_mask)
		t->signal.mask = t->signal.temp_mask;
	t->signal.has_temp_mask = false;
	t->signal.mask |= act->mask;
	if (!(act->flags & SA_NODEFER))
		t->signal.mask |= SIG_BIT(sig);
}

static void deliver(struct thread *t, const struct k_siginfo *info, const struct k_ucontext *k,
		    bool forced)
{
	const int sig = info->signo;
	const struct k_sigaction act = t->signal.actions[sig];
	const uint64_t blocked = t->signal.has_temp_mask ? t->signal.temp_mask : t->signal.mask;
	if (traced_suppresses(t, info))
		signal_leave(t, k->mc.fpstate, k->flags & UC_FP_XSTATE);
	if (forced && (act.handler == SIGNAL_IGNORED || t->signal.mask & SIG_BIT(sig)))
		signal_fatal(t, sig);
	if (!forced && blocked & SIG_BIT(sig) & SYNC_SIGNALS) {
		hold(t, info);
		signal_leave(t, k->mc.fpstate, k->flags & UC_FP_XSTATE);
	}
	if (act.handler == SIGNAL_DEFAULT && (forced || signal_dies_by_default(sig)))
		signal_fatal(t, sig);
	if (act.handler <= SIGNAL_IGNORED) {
		t->signal.has_temp_mask = false;
		signal_leave(t, k->mc.fpstate, k->flags & UC_FP_XSTATE);
	}

	if (E.vpmu)
		vpmu_fp_replaced(t);
	const uint32_t size = fp_size(k->mc.fpstate);
	uint64_t fx;
	const uint64_t at = frame_place(t, &act, size, &fx);
	struct frame f;
	frame_fill(t, &f, info, k, &act, fx);
	const size_t len = act.flags & SA_SIGINFO ? sizeof(f) : offsetof(struct frame, info);
	if (!at || !(act.flags & SA_RESTORER) ||
	    !put_guest(fx, (const void *)k->mc.fpstate, size) ||
	    !put_guest(at, &f, len))
		frame_failed(t, sig, k);
	if (size)
		fp_own_address(t, fx + 8, 8);
	t->regs[RDI] = (uint64_t)sig;
	t->regs[RSI] = at + offsetof(struct frame, info);
	t->regs[RDX] = at + offsetof(struct frame, uc);
	t->regs[RAX] = 0;
	t->regs[RSP] = at;
	t->pc = act.handler;
	t->rflags &= ~(uint64_t)(FLAG_DF | FLAG_RF | FLAG_TF);
	after_frame(t, sig, &act);
	traced_handler(t);
	if (cache.calls)
		calls_signal(t, sig, act.handler, at);
	signal_leave(t, 0, 0);
}

/* ---- arriving ---- */

void signal_take_regs(struct thread *t, const struct k_sigcontext *m)
{
	const uint64_t r[16] = { m->rax, m->rcx, m->rdx, m->rbx, m->rsp, m->rbp, m->rsi, m->rdi,
				 m->r8, m->r9, m->r10, m->r11, m->r12, m->r13, m->r14, m->r15 };
	for (int i = 0; i < 16; i++)
		t->regs[i] = r[i];
	t->rflags = m->eflags;
}

static void keep(struct thread *t, const struct k_siginfo *info, struct k_ucontext *uc)
{
	if (t->pending && held_index(info->signo) < 0) {
		/* it came just before the kernel's mask was set for the one that waits: it is pending again */
		sys4(__NR_rt_tgsigqueueinfo, sys0(__NR_getpid), sys0(__NR_gettid), info->signo, info);
		uc->sigmask = ~SYNC_SIGNALS;
		return;
	}
	if (t->pending) {
		hold(t, info);
		return;
	}
	const uint32_t size = fp_size(uc->mc.fpstate);
	if (size > THREAD_ALT - THREAD_FP)
		die("the FP state is larger than expected", size);
	t->signal.pending_info = *info;
	t->signal.pending_uc = *uc;
	mem_copy((void *)((uint64_t)t + THREAD_FP), (const void *)uc->mc.fpstate, size);
	if (size)
		t->signal.pending_uc.mc.fpstate = (uint64_t)t + THREAD_FP;
	t->signal.pending_forced = false;
	t->traced.unseen = traced_is_unseen(t, info, uc->mc.rip);
	t->pending = 1;
	uc->sigmask = ~SYNC_SIGNALS;	/* one at a time */
}

void step_undone(struct thread *t)
{
	traced_undone(t);
	if (!t->step.trap)
		return;
	t->rflags |= FLAG_TF;
	t->step.trap = false;
}

void signal_deliver_pending(struct thread *t)
{
	struct k_siginfo info = t->signal.pending_info;
	step_undone(t);			/* it may have come after single_step() */
	if (t->signal.pending_forced)
		info.addr = t->pc;		/* a seccomp filter: after its system call */
	if (t->signal.pending_stale) {			/* a handler has returned since */
		t->signal.pending_stale = false;
		t->signal.pending_uc.flags &= ~(uint64_t)UC_FP_XSTATE;
		t->signal.pending_uc.flags |= fp_save(t);
	}
	t->pending = 0;
	const uint64_t blocked = t->signal.has_temp_mask ? t->signal.temp_mask : t->signal.mask;
	if (!t->signal.pending_forced && blocked & ~SYNC_SIGNALS & SIG_BIT(info.signo)) {
		/* by the handler of a trap that came first: it is pending again */
		const struct k_ucontext *const uc = &t->signal.pending_uc;
		sys4(__NR_rt_tgsigqueueinfo, sys0(__NR_getpid), sys0(__NR_gettid), info.signo, &info);
		signal_leave(t, uc->mc.fpstate, uc->flags & UC_FP_XSTATE);
	}
	deliver(t, &info, &t->signal.pending_uc, t->signal.pending_forced);
}

/* A context with the live FP state, as if a signal had come here. */
static struct k_ucontext *live_context(struct thread *t)
{
	struct k_ucontext *const uc = &t->signal.pending_uc;
	t->signal.pending_stale = t->pending;
	*uc = (struct k_ucontext){ .flags = UC_SS | fp_save(t) };
	uc->mc.fpstate = (uint64_t)t + THREAD_FP;
	return uc;
}

void signal_deliver_held(struct thread *t)
{
	const uint64_t due = t->signal.held & ~t->signal.mask;
	if (!due)
		return;
	step_undone(t);
	const int sig = __builtin_ctzll(due) + 1;
	t->signal.held &= ~SIG_BIT(sig);
	const struct k_siginfo info = t->signal.held_info[held_index(sig)];
	deliver(t, &info, live_context(t), false);
}

/* Remembers what the program's next frames say about its last fault. */
static void note_fault(struct thread *t, const struct k_siginfo *info, const struct k_sigcontext *m)
{
	if (info->signo == SIGSYS)
		return;
	t->signal.fault_trapno = m->trapno;
	t->signal.fault_err = m->err;
	if (m->trapno == X86_TRAP_PF)
		t->signal.fault_cr2 = m->cr2;
}

static bool is_pc_signal(int sig)
{
	return sig == SIGILL || sig == SIGFPE || sig == SIGTRAP;
}

static bool within(uint64_t pc, const char *from, const char *to)
{
	return pc >= (uint64_t)from && pc < (uint64_t)to;
}

/* The program or its tracer single-steps, and the instruction is done: the trap comes before a signal that
 * is not of the instruction. */
static bool step_comes_first(struct thread *t)
{
	if (!t->code.has_run || (!t->step.trap && !t->traced.step))
		return false;
	t->step.done = true;
	if (t->traced.step)
		t->traced.step = STEP_RAN;
	return true;
}

/* The signal came in the cache. */
static void in_code(struct thread *t, struct k_siginfo *info, struct k_ucontext *uc, bool sync)
{
	const uint64_t code = uc->mc.rip;
	signal_take_regs(t, &uc->mc);
	lock_take();
	const bool smc = sync && info->signo == SIGSEGV && uc->mc.err & X86_PF_WRITE &&
			 page_written(t, info->addr);
	if (!recover(t, code, t->regs, &t->pc))
		die("a signal at an unknown place of the cache", code);
	left_cache(t);
	lock_drop();
	if (!sync && step_comes_first(t)) {
		keep(t, info, uc);
		signal_leave(t, uc->mc.fpstate, uc->flags & UC_FP_XSTATE);
	}
	step_undone(t);
	if (E.vpmu && info->signo == SIGSEGV)
		vpmu_faulted(t, info->addr, smc);
	if (smc) {
		t->code.single_pc = t->pc;
		signal_leave(t, uc->mc.fpstate, uc->flags & UC_FP_XSTATE);
	}
	if (sync && is_pc_signal(info->signo) && info->addr == code)
		info->addr = t->pc;
	if (sync)
		note_fault(t, info, &uc->mc);
	t->traced.unseen = traced_is_unseen(t, info, code);
	deliver(t, info, uc, sync);
}

/* An asynchronous signal came between the increment of a block and the instruction that writes the
 * flags which the increment replaced. It waits until the CPU has run that instruction: the thread
 * single-steps through the cache. (Not if a tracer would see the traps and might suppress them.)
 * True: the signal waits. */
#define MAX_FLAG_STEPS 240	/* a change of context (calls.h) has 30 instructions and six for each event; rep
				 * instructions step once for each round */

static bool step_on(struct thread *t, struct k_ucontext *uc)
{
	lock_take();
	const bool lost = t->signal.flag_steps < MAX_FLAG_STEPS && flags_are_lost(uc->mc.rip);
	lock_drop();
	if (!lost || (!t->signal.flag_steps && (guest.filtered || is_traced())))
		return false;
	t->signal.flag_steps++;
	uc->mc.eflags |= FLAG_TF;
	return true;
}

/* A step is done, or another signal came before. True: nothing else is to be done with this one. */
static bool stepped(struct thread *t, const struct k_siginfo *info, struct k_ucontext *uc,
		    bool in_cache)
{
	const bool trap = info->signo == SIGTRAP && info->code == TRAP_TRACE;
	uc->mc.eflags &= ~(uint64_t)FLAG_TF;
	if (trap && in_cache && step_on(t, uc))
		return true;
	t->signal.flag_steps = 0;
	t->signal.pending_stale = !trap || !in_cache;
	if (!trap)
		return false;
	if (!in_cache)
		return true;		/* C is about to look for what waits */
	struct k_siginfo waited = t->signal.pending_info;
	t->pending = 0;
	in_code(t, &waited, uc, false);
	return true;
}

/* The program's state where the signal interrupted its code. */
static void leave_code(struct thread *t, const struct k_ucontext *uc)
{
	signal_take_regs(t, &uc->mc);
	lock_take();
	if (!recover(t, uc->mc.rip, t->regs, &t->pc))
		die("a signal at an unknown place of the cache", uc->mc.rip);
	left_cache(t);
	lock_drop();
}

/* Another thread wants this one to leave the cache (stop.c), or another task has opened a counter
 * on it (vpmu.c) or is about to trace it (traced.c). Outside the cache nothing is to be done: the
 * sender repeats the signal, or a system call is in progress, after which the thread looks by
 * itself. A system call that the kernel interrupted for the signal is made again. */
static void kicked(struct thread *t, const struct k_siginfo *info, struct k_ucontext *uc)
{
	const uint64_t pc = uc->mc.rip;
	const struct segment *const s = segment_of(pc);
	if (pc == (uint64_t)gate_after && uc->mc.rax == (uint64_t)-EINTR)
		uc->mc.rax = (uint64_t)GATE_RESTART;
	if (info->code == TRACED_KICK || info->code == TRACED_HINT)
		traced_heard(t, info->code);
	if (!s || pc < s->base + TRAMPOLINES || t->signal.probing) {
		t->again = 1;
		return;
	}
	leave_code(t, uc);
	if (!step_comes_first(t))
		step_undone(t);
	if (info->code == VPMU_KICK)
		vpmu_follow(t);
	t->exit_link = 1;
	signal_leave(t, uc->mc.fpstate, uc->flags & UC_FP_XSTATE);
}

/* The kernel tells of an event that is sampled: what has made it is at hand if it was the program's code. */
static void told(struct thread *t, const struct k_siginfo *info, const struct k_ucontext *uc, bool in_cache)
{
	if (!vpmu_concerns(info))
		return;
	if (!in_cache || t->signal.probing) {
		vpmu_told(t, info, uc->mc.rip);
		return;
	}
	leave_code(t, uc);
	step_undone(t);
	vpmu_told(t, info, 0);
	t->exit_link = 1;
	signal_leave(t, uc->mc.fpstate, uc->flags & UC_FP_XSTATE);
}

/* A kick. When the user has as many signals queued as RLIMIT_SIGPENDING allows, the kernel delivers
 * it without its code. */
static bool is_kick(const struct thread *t, struct k_siginfo *info)
{
	if (info->signo != SIGTRAP)
		return false;
	if (!info->code && !info->addr && (t->code.kicked || E.vpmu))
		info->code = E.vpmu ? VPMU_KICK : STOP_KICK;
	return info->code == STOP_KICK || traced_code_of_signal(info->code) ||
	       (E.vpmu && info->code == VPMU_KICK);
}

/* The CPU ran the instruction of signal_try() without a fault. */
static void tried(struct thread *t, const struct k_ucontext *uc) __attribute__((noreturn));
static void tried(struct thread *t, const struct k_ucontext *uc)
{
	if (uc->mc.cs != USER_CS)
		die("a far transfer to code that is not 64-bit", t->pc);
	const uint64_t kept = t->rflags & ~FLAGS_OF_SIGRETURN;
	signal_take_regs(t, &uc->mc);
	t->rflags = (t->rflags & FLAGS_OF_SIGRETURN & ~(uint64_t)FLAG_TF) | kept;
	t->pc = uc->mc.rip;
	t->exit_link = 1;
	signal_leave(t, uc->mc.fpstate, uc->flags & UC_FP_XSTATE);
}

/* The signal that signal_probe() or signal_try() waited for. */
static void probed(struct thread *t, const struct k_siginfo *info, const struct k_ucontext *uc)
{
	const bool counted = t->signal.trying;
	t->signal.probing = t->signal.trying = false;
	if (info->signo == SIGTRAP && info->code == TRAP_TRACE && counted)
		tried(t, uc);
	if (info->signo == SIGTRAP && info->code == TRAP_TRACE)
		die("an instruction the engine does not know, or code it did not see", t->pc);
	if (counted)
		uncount(t, t->pc);
	step_undone(t);
	const uint64_t live = FLAGS_OF_SIGRETURN & ~(uint64_t)FLAG_TF;
	t->rflags = (uc->mc.eflags & live) | (t->rflags & ~live);
	note_fault(t, info, &uc->mc);
	t->traced.unseen = traced_is_unseen(t, info, uc->mc.rip);
	deliver(t, info, uc, true);
}

/* Synchronous signals outside the cache. True: nothing else is to be done. */
static bool sync_elsewhere(struct thread *t, struct k_siginfo *info, struct k_ucontext *uc)
{
	const uint64_t pc = uc->mc.rip;
	if (within(pc, copy_begin, copy_end)) {
		uc->mc.rip = (uint64_t)copy_fault;
		return true;
	}
	if (pc == (uint64_t)cpuid_insn) {
		uc->mc.rip = (uint64_t)cpuid_fault;
		return true;
	}
	if (t->signal.probing)
		probed(t, info, uc);
	if (info->signo == SIGSYS && (pc == (uint64_t)gate_after || pc == (uint64_t)clone_after)) {
		keep(t, info, uc);
		t->signal.pending_forced = true;
		uc->mc.rax = (uint64_t)GATE_TRAPPED;
		return true;
	}
	/* the FP state of a frame that the program returned from cannot be read */
	if (pc == (uint64_t)glue_redispatch && info->code == SI_KERNEL)
		deliver(t, info, uc, true);
	return false;
}

/* Is this mov ecx, [T + rcx * 4]? Then its length. (When T is far: mov ecx, [rdx + rcx * 4],
 * after mov rdx, T.) */
static unsigned table_load_length(uint64_t pc)
{
	uint64_t bytes, table;
	__builtin_memcpy(&bytes, (const void *)pc, 8);
	if (!cache.where.far)
		return (bytes & 0xffffff) == 0x8d0c8b &&
		       (uint32_t)(bytes >> 24) == (uint32_t)cache.where.table ? 7 : 0;
	__builtin_memcpy(&table, (const void *)(pc - 8), 8);
	return (bytes & 0xffffff) == 0x8a0c8b && table == cache.where.table ? 3 : 0;
}

/* An instruction with gs:[rax + disp32] or gs:[rcx + disp32]. On a stack that is not aligned, what the shadow
 * has for a context may be any number: it leads to the contexts or to the shadow. */
static bool is_context_access(uint64_t pc)
{
	const uint8_t *p = (const uint8_t *)pc;
	if (*p++ != 0x65)
		return false;
	p += *p == 0x48;
	p += *p == 0x0f;
	return (p[1] & 0xc6) == 0x80;
}

/* A fault of an instruction that the engine has added, because a table is not mapped there: maps
 * it, and the instruction is tried again. (The program's own wild pointers may point into the
 * tables, too: so the instruction is looked at.) */
static bool own_fault(struct thread *t, const struct k_siginfo *info, struct k_sigcontext *m)
{
	const uint64_t pc = m->rip;
	bool hole = false;
	lock_take();
	const unsigned load = table_load_length(pc);
	if (load && !table_fault(info->addr)) {
		m->rcx = 0;		/* the program has memory there: no entry */
		m->rip += load;
	}
	if (load)
		hole = true;
	else if ((((const uint8_t *)pc)[0] == 0x65 && ((const uint8_t *)pc)[1] == 0x67) ||
		 (cache.calls && is_context_access(pc)))
		hole = shadow_fault(t, info->addr);		/* gs:[esp + SHADOW] */
	lock_drop();
	return hole;
}

/* On a stack that is not aligned, numbers in the shadow may overlap. A return with a number that no
 * call wrote jumps to an address without code. The return is done here instead. */
static void return_again(struct thread *t, const struct k_ucontext *uc)
{
	signal_take_regs(t, &uc->mc);
	t->regs[RCX] = t->s0;
	if (!copy_guest(&t->pc, (const void *)t->regs[RSP], 8))
		die("a return address went away", uc->mc.rip);
	t->regs[RSP] += 8;
	if (cache.calls)
		calls_returned(t);
	t->exit_link = 1;
	signal_leave(t, uc->mc.fpstate, uc->flags & UC_FP_XSTATE);
}

void master(int sig, struct k_siginfo *info, struct k_ucontext *uc);
void master(int sig, struct k_siginfo *info, struct k_ucontext *uc)
{
	struct thread *const t = thread_self();
	const uint64_t pc = uc->mc.rip;
	const bool sync = info->code > 0 && SYNC_SIGNALS & SIG_BIT(sig);
	const struct segment *const s = segment_of(pc);
	const bool in_cache = s && pc >= s->base + TRAMPOLINES;
	fp_note(t, uc->mc.fpstate);
	if (info->code <= VPMU_POLL_IN && info->code >= VPMU_SIGIO && E.vpmu)
		info->code = info->code == VPMU_POLL_IN ? POLL_IN :
			     info->code == VPMU_POLL_HUP ? POLL_HUP : SI_KERNEL;

	if (E.vpmu && vpmu_is_told(info)) {
		told(t, info, uc, in_cache);
		return;
	}
	if (E.hermetic && info->signo == sig)
		hermetic_siginfo(info);
	if (t->traced.showing == sig && in_engine(pc) && !is_kick(t, info)) {
		t->traced.let_through = true;
		return;
	}
	if (t->signal.learning && sig == SIGTRAP && sync) {
		t->signal.altstack.flags = uc->stack.flags;
		t->signal.learning = false;
		return;
	}
	if (sync && in_cache && sig == SIGSEGV && own_fault(t, info, &uc->mc)) {
		if (E.vpmu)
			vpmu_faulted(t, info->addr, true);
		return;
	}
	/* (Without TF this signal came into the handler that has just asked for the step.) */
	if (t->signal.flag_steps && uc->mc.eflags & FLAG_TF && stepped(t, info, uc, in_cache))
		return;
	if (is_kick(t, info)) {
		kicked(t, info, uc);
		return;
	}
	if (sync && sync_elsewhere(t, info, uc))
		return;
	if (t->signal.probing) {		/* by kill(), before the CPU got there */
		hold(t, info);
		return;
	}
	if (in_cache && !sync && !t->step.trap && step_on(t, uc)) {
		keep(t, info, uc);
		return;
	}
	if (in_cache) {
		in_code(t, info, uc, sync);
		return;
	}
	if (sync && !in_engine(pc))
		return_again(t, uc);
	if (sync) {
		struct line l = { 0 };
		line_str(&l, "a fault inside the engine, address ");
		line_hex(&l, info->addr);
		l.text[l.len] = '\0';
		die(l.text, pc);
	}
	if (within(pc, glue_enter_begin, glue_enter_end)) {
		step_undone(t);
		deliver(t, info, uc, false);
	}
	if (pc == (uint64_t)gate_insn && uc->mc.rcx == (uint64_t)gate_after) {
		keep(t, info, uc);
		uc->mc.rip = (uint64_t)gate_after;
		uc->mc.rax = (uint64_t)GATE_RESTART;
		return;
	}
	keep(t, info, uc);
	if (within(pc, gate_begin, gate_after))
		uc->mc.rip = (uint64_t)gate_abort;
}

/* A signal the CPU would have raised at t->pc; the FP state is the live one. */
void signal_raise(struct thread *t, int sig, int code, uint64_t addr, int trapno, int err)
{
	struct k_siginfo info = { .signo = sig, .code = code };
	info.addr = addr;
	const struct k_sigcontext m = { .trapno = (uint64_t)trapno, .err = (uint64_t)err,
					.cr2 = addr };
	if (trapno)			/* 0: the kernel's own, not a fault */
		note_fault(t, &info, &m);
	if (trapno != X86_TRAP_DB)
		t->rflags |= FLAG_RF;	/* as the CPU does at a fault */
	t->traced.unseen = traced_is_unseen(t, &info, t->pc);
	deliver(t, &info, live_context(t), true);
}
