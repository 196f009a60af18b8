/* Signals.
 *
 * The kernel delivers every signal the program handles, and every one whose
 * default is death, to `master` on the thread's own signal stack. What the
 * program sees (its actions, mask, alternate stack, frames) is kept here.
 *
 *	in the cache	the program's state is rebuilt at exactly that instruction
 *			(translate.c, recover), so even asynchronous signals are
 *			delivered where they came, with exact counts
 *	in the gate	a system call not made yet is called off; the program stands
 *			at its syscall instruction again
 *	elsewhere	the signal is kept until C goes back to the cache
 *
 * A frame for the program's handler is written the way the kernel writes it, on
 * the program's stack. All ways back (to a handler, out of a handler) go through
 * a real rt_sigreturn with a frame of our own, which sets mask and FP state at
 * once.
 *
 * The kernel's mask is the program's mask, except that the synchronous signals
 * are never blocked: the engine needs them.
 */
#include "engine.h"
#include "sys.h"
#include "text.h"

#include <asm/unistd.h>

#define SA_SIGINFO_ 4ull
#define SA_RESTORER_ 0x04000000ull
#define SA_ONSTACK_ 0x08000000ull
#define SA_RESTART_ 0x10000000ull
#define SA_NODEFER_ 0x40000000ull
#define SA_RESETHAND_ 0x80000000ull
#define SS_ONSTACK_ 1
#define SS_DISABLE_ 2
#define SS_AUTODISARM_ (1u << 31)
#define UC_FP_XSTATE 1
#define UC_SS (2 | 4)
#define FLAG_DF 0x400u
#define FLAG_RF 0x10000u

bool copy_guest(void *to, const void *from, size_t n)
{
	return glue_copy(to, from, n) == 0;
}

/* ---- what the kernel holds ---- */

static bool dies_by_default(int sig)
{
	switch (sig) {
	case SIGCHLD_: case SIGCONT_: case SIGURG_: case SIGWINCH_:
	case SIGSTOP_: case SIGTSTP_: case SIGTTIN_: case SIGTTOU_: case SIGKILL_:
		return false;
	default:
		return true;
	}
}

/* What the kernel is told when the program's action is `act`. */
static struct k_sigaction kernel_action(int sig, const struct k_sigaction *act)
{
	struct k_sigaction k = { .handler = (uint64_t)glue_master,
				 .restorer = (uint64_t)glue_restorer, .mask = ~SYNC_SIGNALS,
				 .flags = SA_SIGINFO_ | SA_RESTORER_ | SA_ONSTACK_ };
	const bool sync = SYNC_SIGNALS & SIG_BIT(sig);
	if (act->handler == 1 && !sync)
		k.handler = 1;
	else if (act->handler == 0 && !sync && !dies_by_default(sig))
		k.handler = 0;
	else if (act->handler <= 1)
		k.flags |= SA_RESTART_;
	/* SA_RESTART, SA_NOCLDSTOP and SA_NOCLDWAIT are the kernel's business */
	k.flags |= act->flags & (SA_RESTART_ | 1 | 2);
	return k;
}

static long kernel_set(int sig, const struct k_sigaction *k, struct k_sigaction *old)
{
	return sys4(__NR_rt_sigaction, sig, k, old, 8);
}

static void kernel_mask(uint64_t mask)
{
	mask &= ~SYNC_SIGNALS;
	sys4(__NR_rt_sigprocmask, 2, &mask, 0, 8);
}

void mask_set(struct thread *t, uint64_t app_mask)
{
	t->app_mask = app_mask;
	kernel_mask(app_mask);
}

void signal_altstack(struct thread *t)
{
	const struct k_stack alt = { .sp = (uint64_t)t + THREAD_ALT,
				     .size = THREAD_STACK - THREAD_ALT };
	sys2(__NR_sigaltstack, &alt, 0);
}

void signals_init(struct thread *t)
{
	signal_altstack(t);
	t->app_altstack = (struct k_stack){ .flags = SS_DISABLE_ };
	for (int sig = 1; sig <= 64; sig++) {
		const struct k_sigaction none = { 0 };
		struct k_sigaction k = kernel_action(sig, &none), old;
		if (k.handler != (uint64_t)glue_master)
			continue;
		kernel_set(sig, &k, &old);
		if (old.handler == 1) {
			E.actions[sig].handler = 1;
			k = kernel_action(sig, &E.actions[sig]);
			kernel_set(sig, &k, 0);
		}
	}
	for (int sig = SIGCHLD_; sig <= SIGWINCH_; sig++) {
		struct k_sigaction old = { 0 };
		if (!dies_by_default(sig) && kernel_set(sig, 0, &old) == 0 && old.handler == 1)
			E.actions[sig].handler = 1;
	}
	sys4(__NR_rt_sigprocmask, 0, 0, &t->app_mask, 8);
	if (t->app_mask & SYNC_SIGNALS)
		kernel_mask(t->app_mask);
}

/* ---- leaving ---- */

/* Goes on at t->pc with the program's mask and the given FP state (0: initial). */
static void leave(struct thread *t, uint64_t fpstate, uint64_t fp_flags)
	__attribute__((noreturn));
static void leave(struct thread *t, uint64_t fpstate, uint64_t fp_flags)
{
	struct {
		uint64_t pretcode;
		struct k_ucontext uc;
		uint8_t info[128];
	} f;
	mem_zero(&f, sizeof(f));
	f.uc.flags = UC_SS | fp_flags;
	f.uc.stack = (struct k_stack){ .sp = (uint64_t)t + THREAD_ALT,
				       .size = THREAD_STACK - THREAD_ALT };
	f.uc.mc.rip = (uint64_t)glue_redispatch;
	f.uc.mc.rsp = t->engine_rsp;
	f.uc.mc.eflags = 0x202;
	f.uc.mc.cs = 0x33;
	f.uc.mc.ss = 0x2b;
	f.uc.mc.fpstate = fpstate;
	f.uc.sigmask = t->app_mask & ~SYNC_SIGNALS;
	t->pending = 0;
	glue_sigreturn(&f.uc);
}

void signal_fatal(struct thread *t, int sig)
{
	if (!t->is_vfork)
		lock_take(t);
	count_fold_all(REC_KILLED_BY_SIGNAL);
	const struct k_sigaction dfl = { 0 };
	const uint64_t bit = SIG_BIT(sig);
	kernel_set(sig, &dfl, 0);
	sys3(__NR_tgkill, sys0(__NR_getpid), sys0(__NR_gettid), sig);
	sys4(__NR_rt_sigprocmask, 1, &bit, 0, 8);
	for (;;)
		sys1(__NR_exit_group, 128 + sig);
}

/* ---- frames ---- */

static uint32_t fp_size(uint64_t fpstate)
{
	if (!fpstate)
		return 0;
	const uint32_t *const sw = (const uint32_t *)(fpstate + 464);
	return sw[0] == 0x46505853u ? sw[1] : 512;
}

static bool on_altstack(const struct k_stack *s, uint64_t sp)
{
	if (s->flags & (int32_t)SS_AUTODISARM_)
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
	f->uc.stack = t->app_altstack;
	f->uc.mc = (struct k_sigcontext){
		.r8 = t->regs[R8], .r9 = t->regs[R9], .r10 = t->regs[R10], .r11 = t->regs[R11],
		.r12 = t->regs[R12], .r13 = t->regs[R13], .r14 = t->regs[R14],
		.r15 = t->regs[R15], .rdi = t->regs[RDI], .rsi = t->regs[RSI],
		.rbp = t->regs[RBP], .rbx = t->regs[RBX], .rdx = t->regs[RDX],
		.rax = t->regs[RAX], .rcx = t->regs[RCX], .rsp = t->regs[RSP],
		.rip = t->pc, .eflags = t->rflags, .cs = 0x33, .ss = 0x2b,
		.err = k->mc.err, .trapno = k->mc.trapno, .oldmask = t->app_mask,
		.cr2 = k->mc.cr2, .fpstate = fx,
	};
	f->uc.sigmask = t->app_mask;
}

static void deliver(struct thread *t, const struct k_siginfo *info, const struct k_ucontext *k,
		    bool forced) __attribute__((noreturn));
static void deliver(struct thread *t, const struct k_siginfo *info, const struct k_ucontext *k,
		    bool forced)
{
	const int sig = info->signo;
	const struct k_sigaction act = E.actions[sig];
	if (forced && (act.handler == 1 || t->app_mask & SIG_BIT(sig)))
		signal_fatal(t, sig);
	if (act.handler == 0 && (forced || dies_by_default(sig)))
		signal_fatal(t, sig);
	if (act.handler <= 1)
		leave(t, k->mc.fpstate, k->flags & UC_FP_XSTATE);

	uint64_t sp = t->regs[RSP] - 128;
	if (act.flags & SA_ONSTACK_ && t->app_altstack.size &&
	    !on_altstack(&t->app_altstack, t->regs[RSP]))
		sp = t->app_altstack.sp + t->app_altstack.size;
	const uint32_t size = fp_size(k->mc.fpstate);
	const uint64_t fx = (sp - size) & ~63ull;
	const uint64_t at = ((fx - sizeof(struct frame)) & ~15ull) - 8;
	struct frame f;
	frame_fill(t, &f, info, k, &act, fx);
	if (!copy_guest((void *)fx, (const void *)k->mc.fpstate, size) ||
	    !copy_guest((void *)at, &f, sizeof(f)))
		signal_fatal(t, SIGSEGV_);
	t->regs[RDI] = (uint64_t)sig;
	t->regs[RSI] = at + offsetof(struct frame, info);
	t->regs[RDX] = at + offsetof(struct frame, uc);
	t->regs[RAX] = 0;
	t->regs[RSP] = at;
	t->pc = act.handler;
	t->rflags &= ~(uint64_t)(FLAG_DF | FLAG_RF | FLAG_TF);
	if (act.flags & SA_RESETHAND_)
		E.actions[sig].handler = 0;
	if (t->app_altstack.flags & (int32_t)SS_AUTODISARM_)
		t->app_altstack = (struct k_stack){ .flags = SS_DISABLE_ };
	t->app_mask |= act.mask;
	if (!(act.flags & SA_NODEFER_))
		t->app_mask |= SIG_BIT(sig);
	leave(t, 0, 0);
}

/* ---- arriving ---- */

static void take_regs(struct thread *t, const struct k_sigcontext *m)
{
	const uint64_t r[16] = { m->rax, m->rcx, m->rdx, m->rbx, m->rsp, m->rbp, m->rsi, m->rdi,
				 m->r8, m->r9, m->r10, m->r11, m->r12, m->r13, m->r14, m->r15 };
	for (int i = 0; i < 16; i++)
		t->regs[i] = r[i];
	t->rflags = m->eflags;
}

static void keep(struct thread *t, const struct k_siginfo *info, struct k_ucontext *uc)
{
	if (t->pending)
		die("two signals at once", uc->mc.rip);
	const uint32_t size = fp_size(uc->mc.fpstate);
	if (size > THREAD_ALT - THREAD_FP)
		die("the FP state is larger than expected", size);
	t->pend_info = *info;
	t->pend_uc = *uc;
	mem_copy((void *)((uint64_t)t + THREAD_FP), (const void *)uc->mc.fpstate, size);
	if (size)
		t->pend_uc.mc.fpstate = (uint64_t)t + THREAD_FP;
	t->pending = 1;
	uc->sigmask = ~SYNC_SIGNALS;	/* one at a time */
}

void signal_deliver_pending(struct thread *t)
{
	const struct k_siginfo info = t->pend_info;
	deliver(t, &info, &t->pend_uc, false);
}

static bool is_pc_signal(int sig)
{
	return sig == SIGILL_ || sig == SIGFPE_ || sig == SIGTRAP_;
}

static bool within(uint64_t pc, const char *from, const char *to)
{
	return pc >= (uint64_t)from && pc < (uint64_t)to;
}

/* The signal came while the program's own (translated) code ran. */
static void in_code(struct thread *t, struct k_siginfo *info, struct k_ucontext *uc, bool sync)
{
	const uint64_t code = uc->mc.rip;
	take_regs(t, &uc->mc);
	lock_take(t);
	const bool smc = sync && info->signo == SIGSEGV_ && uc->mc.err & 2 &&
			 page_written(info->addr);
	/* an indirect branch to the same low half elsewhere (emit_ientry) */
	const bool strayed = sync && info->signo == SIGSEGV_ &&
			     info->addr - ((uint64_t)t + THREAD_STACK_END) <
				     THREAD_COUNTS - THREAD_STACK_END;
	if (!recover(t, code, t->regs, &t->pc))
		die("a signal at an unknown place of the cache", code);
	lock_drop();
	if (t->trap) {			/* what it single-steps did not finish */
		t->rflags |= FLAG_TF;
		t->trap = false;
	}
	if (strayed) {
		t->exit_link = 1;
		leave(t, uc->mc.fpstate, uc->flags & UC_FP_XSTATE);
	}
	if (smc) {
		t->step_pc = t->pc;
		leave(t, uc->mc.fpstate, uc->flags & UC_FP_XSTATE);
	}
	if (sync && is_pc_signal(info->signo) && info->addr == code)
		info->addr = t->pc;
	deliver(t, info, uc, sync);
}

void master(int sig, struct k_siginfo *info, struct k_ucontext *uc);
void master(int sig, struct k_siginfo *info, struct k_ucontext *uc)
{
	struct thread *const t = thread_self();
	const uint64_t pc = uc->mc.rip;
	const bool sync = info->code > 0 && SYNC_SIGNALS & SIG_BIT(sig);

	if (sync && within(pc, copy_begin, copy_end)) {
		uc->mc.rip = (uint64_t)copy_fault;
		return;
	}
	const struct segment *const s = segment_of(pc);
	if (s && pc != s->tramp_exit && pc != s->tramp_miss) {
		if (sync && sig == SIGSEGV_) {
			lock_take(t);
			const bool hole = table_fault(info->addr);
			lock_drop();
			if (hole)
				return;
		}
		in_code(t, info, uc, sync);
		return;
	}
	if (sync) {
		struct line l = { 0 };
		line_str(&l, "a fault inside the engine, address ");
		line_hex(&l, info->addr);
		l.text[l.len] = '\0';
		die(l.text, pc);
	}
	if (within(pc, glue_enter_begin, glue_enter_end))
		deliver(t, info, uc, false);
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
	struct k_ucontext uc = { .flags = UC_SS };
	uc.mc.trapno = (uint64_t)trapno;
	uc.mc.err = (uint64_t)err;
	uc.mc.cr2 = trapno == 14 ? addr : 0;
	if (E.actions[sig].handler <= 1 || t->app_mask & SIG_BIT(sig))
		signal_fatal(t, sig);
	/* a real one, to get the kernel's own FP frame: it lands in keep() */
	(void)uc;
	t->pend_info = info;
	
	const uint32_t size = glue_xsave((void *)((uint64_t)t + THREAD_FP));
	t->pend_uc = uc;
	t->pend_uc.flags |= size > 512 ? UC_FP_XSTATE : 0;
	t->pend_uc.mc.fpstate = (uint64_t)t + THREAD_FP;
	deliver(t, &info, &t->pend_uc, true);
}

/* ---- the program's calls ---- */

static long do_sigaction(const uint64_t *a)
{
	const int sig = (int)a[0];
	struct k_sigaction new, old = { 0 };
	if (a[3] != 8 || sig < 1 || sig > 64)
		return -22;
	if (a[1] && (sig == SIGKILL_ || sig == SIGSTOP_))
		return -22;
	if (a[1] && !copy_guest(&new, (const void *)a[1], sizeof(new)))
		return -14;
	old = E.actions[sig];
	if (a[1]) {
		new.mask &= ~(SIG_BIT(SIGKILL_) | SIG_BIT(SIGSTOP_));
		const struct k_sigaction k = kernel_action(sig, &new);
		E.actions[sig] = new;
		kernel_set(sig, &k, 0);
	}
	if (a[2] && !copy_guest((void *)a[2], &old, sizeof(old)))
		return -14;
	return 0;
}

static long do_sigprocmask(struct thread *t, const uint64_t *a)
{
	const uint64_t old = t->app_mask;
	if (a[3] != 8)
		return -22;
	if (a[1]) {
		uint64_t set, mask = old;
		if (!copy_guest(&set, (const void *)a[1], 8))
			return -14;
		set &= ~(SIG_BIT(SIGKILL_) | SIG_BIT(SIGSTOP_));
		switch ((int)a[0]) {
		case 0: mask |= set; break;
		case 1: mask &= ~set; break;
		case 2: mask = set; break;
		default: return -22;
		}
		const uint64_t real = mask & ~SYNC_SIGNALS;
		const uint64_t args[6] = { 2, (uint64_t)&real, 0, 8 };
		/* set before the call: a signal that the call lets in sees it */
		t->app_mask = mask;
		const long ret = gate(t, __NR_rt_sigprocmask, args);
		if (ret < 0) {
			t->app_mask = old;
			return ret;
		}
	}
	if (a[2] && !copy_guest((void *)a[2], &old, 8))
		return -14;
	return 0;
}

static long do_sigaltstack(struct thread *t, const uint64_t *a)
{
	struct k_stack new, old = t->app_altstack;
	const bool on = on_altstack(&old, t->regs[RSP]);
	if (a[0] && !copy_guest(&new, (const void *)a[0], sizeof(new)))
		return -14;
	if (a[0]) {
		const uint32_t mode = (uint32_t)new.flags & ~SS_AUTODISARM_;
		if (on)
			return -1;
		if (mode != SS_DISABLE_ && mode != SS_ONSTACK_ && mode != 0)
			return -22;
		if (mode == SS_DISABLE_)
			new.sp = new.size = 0;
		else if (new.size < 2048)
			return -12;
		new.pad = 0;
		t->app_altstack = new;
	}
	old.flags = old.size ? (old.flags & (int32_t)SS_AUTODISARM_) | (on ? SS_ONSTACK_ : 0) :
		    SS_DISABLE_;
	if (a[1] && !copy_guest((void *)a[1], &old, sizeof(old)))
		return -14;
	return 0;
}

static void do_sigreturn(struct thread *t) __attribute__((noreturn));
static void do_sigreturn(struct thread *t)
{
	struct k_ucontext uc;
	if (!copy_guest(&uc, (const void *)t->regs[RSP], sizeof(uc)))
		signal_fatal(t, SIGSEGV_);
	take_regs(t, &uc.mc);
	t->rflags = (uc.mc.eflags & 0x50dd5ull) | 0x202;
	t->pc = uc.mc.rip;
	t->app_mask = uc.sigmask & ~(SIG_BIT(SIGKILL_) | SIG_BIT(SIGSTOP_));
	const uint32_t mode = (uint32_t)uc.stack.flags & ~SS_AUTODISARM_;
	if (mode == SS_DISABLE_)
		t->app_altstack = (struct k_stack){ .flags = uc.stack.flags };
	else if (mode <= 1 && uc.stack.size >= 2048)
		t->app_altstack = uc.stack;
	t->exit_link = 1;
	leave(t, uc.mc.fpstate, uc.flags & UC_FP_XSTATE);
}

/* Calls that take a mask for their duration: the same call, synchronous signals
 * let through. `at` is the index of the mask's address. */
static long with_mask(struct thread *t, long nr, const uint64_t *a, int at)
{
	uint64_t args[6] = { a[0], a[1], a[2], a[3], a[4], a[5] }, mask;
	struct { uint64_t mask, size; } pair;
	uint64_t where = a[at];
	if (nr == __NR_pselect6 || nr == __NR_io_pgetevents) {
		if (!where)
			return gate(t, nr, args);
		if (!copy_guest(&pair, (const void *)where, sizeof(pair)))
			return gate(t, nr, args);
		where = pair.mask;
	}
	if (!where || !copy_guest(&mask, (const void *)where, 8))
		return gate(t, nr, args);
	mask &= ~SYNC_SIGNALS;
	if (nr == __NR_pselect6 || nr == __NR_io_pgetevents) {
		pair.mask = (uint64_t)&mask;
		args[at] = (uint64_t)&pair;
	} else {
		args[at] = (uint64_t)&mask;
	}
	return gate(t, nr, args);
}

long signal_syscall(struct thread *t, long nr, const uint64_t *a)
{
	switch (nr) {
	case __NR_rt_sigaction:
		return do_sigaction(a);
	case __NR_rt_sigprocmask:
		return do_sigprocmask(t, a);
	case __NR_sigaltstack:
		return do_sigaltstack(t, a);
	case __NR_rt_sigreturn:
		do_sigreturn(t);
	case __NR_rt_sigsuspend:
		return with_mask(t, nr, a, 0);
	case __NR_ppoll:
		return with_mask(t, nr, a, 3);
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
		return with_mask(t, nr, a, 4);
	default:		/* pselect6, io_pgetevents */
		return with_mask(t, nr, a, 5);
	}
}
