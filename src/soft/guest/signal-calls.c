/* The program's calls about signals. What the program sets is kept in struct thread; the kernel
 * gets what signal.c needs.
 */
#include "guest-room.h"
#include "sys.h"
#include "text.h"

#define NEVER_BLOCKED (SIG_BIT(SIGKILL) | SIG_BIT(SIGSTOP))

/* A handler that gets a ucontext can see the flags of a fault. After such a handler is installed,
 * counting keeps the flags where an instruction may fault, at some cost: all blocks are translated
 * again. */
#define FAULT_SIGNALS (SIG_BIT(SIGSEGV) | SIG_BIT(SIGBUS) | SIG_BIT(SIGFPE) | SIG_BIT(SIGILL))

static void look_for_precise(struct thread *t, int sig, const struct k_sigaction *act)
{
	if (cache.precise || !(FAULT_SIGNALS & SIG_BIT(sig)) || act->handler <= SIGNAL_IGNORED ||
	    !(act->flags & SA_SIGINFO))
		return;
	cache.precise = true;
	cache_flush(t);
}

static long do_sigaction(struct thread *t, const uint64_t *a)
{
	const int sig = (int)a[0];
	struct k_sigaction new, old = { 0 };
	if (a[3] != SIGSET_SIZE || sig < 1 || sig > N_SIGNALS)
		return -EINVAL;
	if (a[1] && (sig == SIGKILL || sig == SIGSTOP))
		return -EINVAL;
	if (a[1] && !copy_guest(&new, (const void *)a[1], sizeof(new)))
		return -EFAULT;
	old = t->signal.actions[sig];
	if (a[1]) {
		new.mask &= ~NEVER_BLOCKED;
		look_for_precise(t, sig, &new);
		const struct k_sigaction k = signal_kernel_action(sig, &new);
		const uint64_t args[6] = { (uint64_t)sig, (uint64_t)&k, 0, SIGSET_SIZE };
		/* set before the call: a signal may come as soon as it is made */
		t->signal.actions[sig] = new;
		const long ret = gate(t, __NR_rt_sigaction, args);
		if (ret < 0) {
			t->signal.actions[sig] = old;
			return ret;
		}
	}
	if (a[2] && !put_guest(a[2], &old, sizeof(old)))
		return -EFAULT;
	return 0;
}

static long do_sigprocmask(struct thread *t, const uint64_t *a)
{
	const uint64_t old = t->signal.mask;
	if (a[3] != SIGSET_SIZE)
		return -EINVAL;
	if (a[1]) {
		uint64_t set, mask = old;
		if (!copy_guest(&set, (const void *)a[1], 8))
			return -EFAULT;
		set &= ~NEVER_BLOCKED;
		switch ((int)a[0]) {
		case SIG_BLOCK: mask |= set; break;
		case SIG_UNBLOCK: mask &= ~set; break;
		case SIG_SETMASK: mask = set; break;
		default: return -EINVAL;
		}
		const uint64_t real = mask & ~SYNC_SIGNALS;
		const uint64_t args[6] = { SIG_SETMASK, (uint64_t)&real, 0, SIGSET_SIZE };
		/* set before the call: it may let a signal in */
		t->signal.mask = mask;
		const long ret = gate(t, __NR_rt_sigprocmask, args);
		if (ret < 0) {
			t->signal.mask = old;
			return ret;
		}
	}
	if (a[2] && !put_guest(a[2], &old, 8))
		return -EFAULT;
	return 0;
}

/* As the kernel: EPERM while the thread is on the stack. */
static long altstack_set(struct thread *t, struct k_stack new)
{
	const uint32_t mode = (uint32_t)new.flags & ~SS_AUTODISARM;
	if (signal_on_altstack(&t->signal.altstack, t->regs[RSP]))
		return -EPERM;
	if (mode != SS_DISABLE && mode != SS_ONSTACK && mode != 0)
		return -EINVAL;
	if (mode == SS_DISABLE)
		new.sp = new.size = 0;
	else if (new.size < MINSIGSTKSZ)
		return -ENOMEM;
	new.pad = 0;
	t->signal.altstack = new;
	return 0;
}

static long do_sigaltstack(struct thread *t, const uint64_t *a)
{
	struct k_stack new, old = t->signal.altstack;
	const bool on = signal_on_altstack(&old, t->regs[RSP]);
	if (a[0] && !copy_guest(&new, (const void *)a[0], sizeof(new)))
		return -EFAULT;
	const long err = a[0] ? altstack_set(t, new) : 0;
	if (err)
		return err;
	old.flags = (old.flags & (int32_t)SS_AUTODISARM) |
		    (old.size ? (on ? SS_ONSTACK : 0) : SS_DISABLE);
	if (a[1] && !put_guest(a[1], &old, sizeof(old)))
		return -EFAULT;
	return 0;
}

static void do_sigreturn(struct thread *t) __attribute__((noreturn));
static void do_sigreturn(struct thread *t)
{
	struct k_ucontext uc;
	/* a signal that comes meanwhile is delivered where the handler returns to */
	const uint64_t all = ~SYNC_SIGNALS;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, 0, SIGSET_SIZE);
	t->signal.pending_stale = t->pending;
	if (!copy_guest(&uc, (const void *)t->regs[RSP], sizeof(uc)))
		signal_raise(t, SIGSEGV, SI_KERNEL, 0, 0, 0);
	if ((uc.mc.cs | SELECTOR_RPL) != USER_CS)
		die("a signal handler returned to another code segment", uc.mc.rip);
	const uint64_t kept = t->rflags & ~FLAGS_OF_SIGRETURN;
	const uint64_t frame = t->regs[RSP] - 8;
	signal_take_regs(t, &uc.mc);
	t->rflags = (uc.mc.eflags & FLAGS_OF_SIGRETURN) | kept;
	t->pc = uc.mc.rip;
	t->signal.mask = uc.sigmask & ~NEVER_BLOCKED;
	altstack_set(t, uc.stack);	/* the kernel ignores errors here, too */
	if (E.vpmu)
		vpmu_fp_replaced(t);
	if (cache.calls)
		calls_sigreturn(t, frame);
	t->exit_link = 1;
	signal_leave(t, uc.mc.fpstate, uc.flags & UC_FP_XSTATE);
}

/* ---- waiting ---- */

/* If the call was interrupted, the handler runs under the mask of the call. */
static long interrupted(struct thread *t, uint64_t mask, long ret)
{
	if (ret == -EINTR && t->pending) {
		t->signal.has_temp_mask = true;
		t->signal.temp_mask = mask;
	}
	return ret;
}

/* Calls that set a mask for their duration: made with the synchronous signals not blocked. `at` is
 * the index of the argument that has the mask's address. */
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
	const uint64_t asked = mask & ~NEVER_BLOCKED;
	mask &= ~SYNC_SIGNALS;
	if (nr == __NR_pselect6 || nr == __NR_io_pgetevents) {
		pair.mask = (uint64_t)&mask;
		args[at] = (uint64_t)&pair;
	} else {
		args[at] = (uint64_t)&mask;
	}
	return interrupted(t, asked, gate(t, nr, args));
}

/* A held signal is not pending in the kernel. */
static long do_sigtimedwait(struct thread *t, const uint64_t *a)
{
	uint64_t set;
	if (!t->signal.held || a[3] != SIGSET_SIZE || !copy_guest(&set, (const void *)a[0], 8) ||
	    !(set & t->signal.held))
		return gate(t, __NR_rt_sigtimedwait, a);
	const int sig = __builtin_ctzll(set & t->signal.held) + 1;
	t->signal.held &= ~SIG_BIT(sig);
	for (int i = 0; i < 6; i++)
		if (t->signal.held_info[i].signo == sig && a[1] &&
		    !put_guest(a[1], &t->signal.held_info[i], sizeof(struct k_siginfo)))
			return -EFAULT;
	return sig;
}

static long do_sigpending(struct thread *t, const uint64_t *a)
{
	uint64_t set;
	const long ret = gate(t, __NR_rt_sigpending, a);
	if (ret < 0 || !t->signal.held || a[1] != SIGSET_SIZE || !copy_guest(&set, (const void *)a[0], 8))
		return ret;
	set |= t->signal.held & t->signal.mask;
	return put_guest(a[0], &set, 8) ? 0 : -EFAULT;
}

long signal_syscall(struct thread *t, long nr, const uint64_t *a)
{
	switch (nr) {
	case __NR_rt_sigaction:
		return do_sigaction(t, a);
	case __NR_rt_sigprocmask:
		return do_sigprocmask(t, a);
	case __NR_sigaltstack:
		return do_sigaltstack(t, a);
	case __NR_rt_sigreturn:
		do_sigreturn(t);
	case __NR_rt_sigtimedwait:
		return do_sigtimedwait(t, a);
	case __NR_rt_sigpending:
		return do_sigpending(t, a);
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
