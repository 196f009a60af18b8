/* What the kernel knows of the program's signals: actions, mask and alternate stack.
 *
 * The kernel's actions are the engine's own: master() takes every signal that the program handles or
 * dies of. The kernel's mask is the program's without the synchronous signals, and its alternate stack
 * is the engine's. At an exec, and when the process leaves the engine, the kernel gets the program's own.
 */
#include "guest-room.h"
#include "sys.h"
#include "text.h"

bool signal_dies_by_default(int sig)
{
	switch (sig) {
	case SIGCHLD: case SIGCONT: case SIGURG: case SIGWINCH:
	case SIGSTOP: case SIGTSTP: case SIGTTIN: case SIGTTOU: case SIGKILL:
		return false;
	default:
		return true;
	}
}

struct k_sigaction signal_kernel_action(int sig, const struct k_sigaction *act)
{
	struct k_sigaction k = { .handler = (uint64_t)glue_master,
				 .restorer = (uint64_t)glue_restorer, .mask = ~SYNC_SIGNALS,
				 .flags = SA_SIGINFO | SA_RESTORER | SA_ONSTACK };
	const bool sync = SYNC_SIGNALS & SIG_BIT(sig);
	if (act->handler == SIGNAL_IGNORED && !sync)
		k.handler = SIGNAL_IGNORED;
	else if (act->handler == SIGNAL_DEFAULT && !sync && !signal_dies_by_default(sig))
		k.handler = SIGNAL_DEFAULT;
	else if (act->handler <= SIGNAL_IGNORED)
		k.flags |= SA_RESTART;
	/* SA_RESTART, SA_NOCLDSTOP and SA_NOCLDWAIT are the kernel's business */
	k.flags |= act->flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT);
	return k;
}

long signal_kernel_set(int sig, const struct k_sigaction *k, struct k_sigaction *old)
{
	return sys4(__NR_rt_sigaction, sig, k, old, SIGSET_SIZE);
}

static void kernel_mask(uint64_t mask)
{
	mask &= ~SYNC_SIGNALS;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, SIGSET_SIZE);
}

void mask_set(struct thread *t, uint64_t app_mask)
{
	t->signal.mask = app_mask;
	kernel_mask(app_mask);
}

void signal_altstack(struct thread *t)
{
	const struct k_stack alt = { .sp = (uint64_t)t + THREAD_ALT,
				     .size = THREAD_STACK - THREAD_ALT };
	sys2(__NR_sigaltstack, &alt, 0);
}

/* After an exec there is no alternate stack, but its flags stay, and only a signal frame shows
 * them: so the process traps once before it sets its own stack. */
static void learn_altstack(struct thread *t)
{
	t->signal.learning = true;
	__asm__ volatile("int3" : : : "memory");
}

void signals_init(struct thread *t)
{
	t->signal.actions = guest.actions;
	for (int sig = 1; sig <= N_SIGNALS; sig++) {
		const struct k_sigaction none = { 0 };
		struct k_sigaction k = signal_kernel_action(sig, &none), old;
		if (k.handler != (uint64_t)glue_master)
			continue;
		signal_kernel_set(sig, &k, &old);
		if (old.handler == SIGNAL_IGNORED) {
			guest.actions[sig].handler = SIGNAL_IGNORED;
			k = signal_kernel_action(sig, &guest.actions[sig]);
			signal_kernel_set(sig, &k, 0);
		}
	}
	for (int sig = SIGCHLD; sig <= SIGWINCH; sig++) {
		struct k_sigaction old = { 0 };
		if (!signal_dies_by_default(sig) && signal_kernel_set(sig, 0, &old) == 0 && old.handler == SIGNAL_IGNORED)
			guest.actions[sig].handler = SIGNAL_IGNORED;
	}
	sys4(__NR_rt_sigprocmask, SIG_BLOCK, 0, &t->signal.mask, SIGSET_SIZE);
	if (t->signal.mask & SYNC_SIGNALS)
		kernel_mask(t->signal.mask);
	learn_altstack(t);
	signal_altstack(t);
}

/* A new image inherits which signals are ignored and blocked. So before an exec the kernel must
 * have the program's own choice, also for the synchronous signals. */
static void sync_actions(const struct thread *t, bool app)
{
	const struct k_sigaction ignore = { .handler = SIGNAL_IGNORED };
	for (int sig = 1; sig <= SIGSYS; sig++) {
		if (!(SYNC_SIGNALS & SIG_BIT(sig)) || t->signal.actions[sig].handler != SIGNAL_IGNORED)
			continue;
		const struct k_sigaction k = signal_kernel_action(sig, &t->signal.actions[sig]);
		signal_kernel_set(sig, app ? &ignore : &k, 0);
	}
}

const uint8_t held_signals[6] = { SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS };

/* Held signals are pending for the program, and stay pending across an exec. */
static void give_back_held(struct thread *t)
{
	for (int i = 0; i < 6; i++)
		if (t->signal.held & t->signal.mask & SIG_BIT(held_signals[i]))
			sys4(__NR_rt_tgsigqueueinfo, sys0(__NR_getpid), sys0(__NR_gettid),
			     held_signals[i], &t->signal.held_info[i]);
	t->signal.held &= ~t->signal.mask;
}

/* Sets the flags of the alternate stack as the program did. The stack itself ends with the exec. */
static void altstack_flags_as_app(const struct thread *t)
{
	struct k_stack alt = { .flags = t->signal.altstack.flags };
	if (!(alt.flags & SS_DISABLE)) {
		alt.sp = (uint64_t)t + THREAD_ALT;
		alt.size = THREAD_STACK - THREAD_ALT;
	}
	sys2(__NR_sigaltstack, &alt, 0);
}

void signals_as_app(struct thread *t)
{
	altstack_flags_as_app(t);
	sync_actions(t, true);
	if (t->signal.mask & SYNC_SIGNALS)
		sys4(__NR_rt_sigprocmask, SIG_SETMASK, &t->signal.mask, 0, SIGSET_SIZE);
	if (t->signal.held)
		give_back_held(t);
}

void signals_as_engine(struct thread *t)
{
	signal_altstack(t);
	sync_actions(t, false);
	if (t->signal.mask & SYNC_SIGNALS && !t->pending)
		kernel_mask(t->signal.mask);
}

void signals_hand_back(struct thread *t)
{
	const uint64_t all = ~0ull;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, 0, SIGSET_SIZE);
	sys2(__NR_sigaltstack, &t->signal.altstack, 0);
	for (int sig = 1; sig <= N_SIGNALS; sig++)
		signal_kernel_set(sig, &t->signal.actions[sig], 0);
	if (t->pending)
		sys4(__NR_rt_tgsigqueueinfo, sys0(__NR_getpid), sys0(__NR_gettid),
		     t->signal.pending_info.signo, &t->signal.pending_info);
	for (int i = 0; i < 6; i++)
		if (t->signal.held & SIG_BIT(held_signals[i]))
			sys4(__NR_rt_tgsigqueueinfo, sys0(__NR_getpid), sys0(__NR_gettid),
			     held_signals[i], &t->signal.held_info[i]);
}
