/* The read guard: a signal handler that lets a read by instruction go on by read(2) where
 * the instruction was forbidden. What is such a fault is the architecture's affair (pmc.h). */
#include "pmc.h"

#include <tare/err.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Protects `users` and the installed handler. `before` is written before the handler is in
 * place and stays: a late signal of another thread may still look at it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;
static bool stays;		/* removed while another handler was on top of it */
static struct sigaction before;

/* As if the guard were not there. For a fault it is enough to return: the instruction
 * faults again. A signal that was sent must be sent again. */
static void default_action(int sig, const siginfo_t *info)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	sigaction(sig, &plain, NULL);
	if (info->si_code <= 0)
		syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), sig);
}

static void hand_on(int sig, siginfo_t *info, void *context)
{
	const struct sigaction to = before;
	sigset_t mask = to.sa_mask, old;
	if (!(to.sa_flags & SA_SIGINFO) && to.sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (!(to.sa_flags & SA_SIGINFO) && (to.sa_handler == SIG_DFL || to.sa_handler == SIG_IGN)) {
		default_action(sig, info);
		return;
	}
	if (to.sa_flags & (int)SA_RESETHAND)
		before = (struct sigaction){ .sa_handler = SIG_DFL };
	pthread_sigmask(SIG_BLOCK, &mask, &old);
	if (to.sa_flags & SA_NODEFER) {
		sigemptyset(&mask);
		sigaddset(&mask, sig);
		pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
	}
	if (to.sa_flags & SA_SIGINFO)
		to.sa_sigaction(sig, info, context);
	else
		to.sa_handler(sig);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	const int saved = errno;
	if (!pmc_guard_recover(info, context))
		hand_on(sig, info, context);
	errno = saved;
}

static int install(int sig)
{
	/* On the alternative stack, if the program has one: its own handlers may need it. */
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct sigaction now;
	if (sigaction(sig, NULL, &now) < 0)
		return TARE_E_IO;
	if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)
		return 0;		/* left there by a remove that found another on top */
	if (stays)			/* that one may hand on to us: no circles */
		return TARE_E_BUSY;
	before = now;
	return sigaction(sig, &act, NULL) < 0 ? TARE_E_IO : 0;
}

static int uninstall(int sig)
{
	struct sigaction now;
	if (sigaction(sig, NULL, &now) < 0)
		return TARE_E_IO;
	stays = !(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_fault;
	if (stays)
		return TARE_E_BUSY;
	return sigaction(sig, &before, NULL) < 0 ? TARE_E_IO : 0;
}

int tare_read_guard_install(void)
{
	const int sig = pmc_guard_signal();
	int err = 0;
	if (!sig)
		return 0;
	pthread_mutex_lock(&lock);
	if (!users)
		err = install(sig);
	users += !err;
	pthread_mutex_unlock(&lock);
	return err;
}

int tare_read_guard_remove(void)
{
	const int sig = pmc_guard_signal();
	int err = 0;
	if (!sig)
		return 0;
	pthread_mutex_lock(&lock);
	if (!users)
		err = TARE_E_INVALID;
	else if (--users == 0)
		err = uninstall(sig);
	pthread_mutex_unlock(&lock);
	return err;
}
