/* Waiting for a virtual event, and its signals.
 *
 * The kernel does not know what happens in a ring, so poll() is answered here: the kernel waits for
 * the other descriptors for a short time, again and again, and between that the rings are looked
 * at. Signals are asked for with fcntl() (F_SETFL with O_ASYNC, F_SETSIG, F_SETOWN, F_SETOWN_EX)
 * and sent by the task that overflows. A process may give a signal to itself the code that the
 * kernel would give it; one for another process carries a code that its engine replaces.
 */
#include "vpmu-sampling.h"

#include "sys.h"

#include <asm/poll.h>

#define MAX_FDS 1024
#define FIRST_NS 50000
#define LAST_NS 8000000

struct k_pollfd {
	int32_t fd;
	int16_t events, revents;
};

/* ---- poll ---- */

/* Its task has ended, and no inherited event is left. */
static bool is_over(const struct vpmu_event *e)
{
	const struct vpmu_slot *const s = vpmu_slot(e->slot);
	return !e->children && (e->state == VE_EXITED || s->ended);
}

static int16_t revents(uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	const uint32_t owner = ring_of(i);
	if (is_over(e) || !owner)
		return POLLHUP;
	return __atomic_exchange_n(&vpmu_sampler(owner)->ring.ready, 0, __ATOMIC_ACQUIRE) ? POLLIN : 0;
}

static bool is_virtual(int32_t fd)
{
	const uint32_t i = fd >= 0 ? fd_event((uint64_t)fd) : 0;
	return i && !vpmu_event(i)->software;
}

/* What the virtual events among them say; the others are left to the kernel. */
static long look(struct thread *t, struct k_pollfd *fds, uint64_t n, struct k_pollfd *others)
{
	long ready = 0;
	vpmu_lock(t);
	for (uint64_t k = 0; k < n; k++) {
		others[k] = fds[k];
		others[k].revents = 0;
		if (!is_virtual(fds[k].fd))
			continue;
		others[k].fd = -1;
		others[k].revents = revents(fd_event((uint64_t)fds[k].fd)) &
				    (int16_t)(fds[k].events | POLLHUP | POLLERR);
		ready += others[k].revents != 0;
	}
	vpmu_unlock();
	return ready;
}

/* The kernel clears revents of those that it is not asked for: they are set again afterwards. `mask`:
 * the last two arguments of ppoll, or zeros. */
static long ask_kernel(struct thread *t, struct k_pollfd *fds, struct k_pollfd *others, uint64_t n,
		       int64_t ns, const uint64_t *mask)
{
	int16_t own[MAX_FDS];
	const int64_t time[2] = { 0, ns };
	for (uint64_t k = 0; k < n; k++)
		own[k] = others[k].revents;
	const uint64_t args[6] = { (uint64_t)others, n, (uint64_t)time, mask[0], mask[1] };
	const long ret = signal_syscall(t, __NR_ppoll, args);
	for (uint64_t k = 0; k < n; k++)
		fds[k].revents = others[k].fd < 0 ? own[k] : others[k].revents;
	return ret;
}

static long wait_for(struct thread *t, struct k_pollfd *fds, uint64_t n, int64_t ns, const uint64_t *mask)
{
	struct k_pollfd others[MAX_FDS];
	const uint64_t begin = now_ns();
	int64_t nap = FIRST_NS;
	for (;;) {
		const int64_t left = ns < 0 ? INT64_MAX : ns - (int64_t)(now_ns() - begin);
		const long ready = look(t, fds, n, others);
		const int64_t most = left <= 0 || ready ? 0 : left < nap ? left : nap;
		const long ret = ask_kernel(t, fds, others, n, most, mask);
		if (ret < 0)
			return ret;
		if (ret + ready || left <= 0)
			return ret + ready;
		if (nap < LAST_NS)
			nap *= 2;
	}
}

static bool timeout_of(long nr, const uint64_t *a, int64_t *ns)
{
	int64_t spec[2];
	if (nr == __NR_poll) {
		*ns = (int32_t)a[2] < 0 ? -1 : (int64_t)(int32_t)a[2] * 1000000;
		return true;
	}
	*ns = -1;
	if (!a[2])
		return true;
	if (!copy_guest(spec, (const void *)a[2], 16))
		return false;
	*ns = spec[0] > 1000000 ? -1 : spec[0] * 1000000000 + spec[1];
	return true;
}

/* A call without virtual events is the kernel's. */
long poll_call(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	struct k_pollfd fds[MAX_FDS];
	int64_t ns;
	bool any = false;
	const uint64_t mask[2] = { nr == __NR_ppoll ? a[3] : 0, nr == __NR_ppoll ? a[4] : 0 };
	if (!a[1] || a[1] > MAX_FDS ||
	    !copy_guest(fds, (const void *)a[0], a[1] * sizeof(fds[0])) || !timeout_of(nr, a, &ns))
		return 0;
	for (uint64_t k = 0; k < a[1]; k++)
		any |= is_virtual(fds[k].fd);
	if (!any)
		return 0;
	*done = true;
	const long ret = wait_for(t, fds, a[1], ns, mask);
	if (ret >= 0 && !copy_guest((void *)a[0], fds, a[1] * sizeof(fds[0])))
		return -EFAULT;
	return ret;
}

/* ---- signals ---- */

static void set_async(uint32_t i, bool on, int32_t fd)
{
	struct vpmu_sampler *const s = sampler_take(i);
	s->async = on;
	s->fd = fd;
}

static void set_owner(uint32_t i, int32_t kind, int32_t who)
{
	struct vpmu_sampler *const s = sampler_take(i);
	s->owner_kind = kind;
	s->owner = who;
}

/* The kernel's software event behind the descriptor gets it, too, so that F_GETOWN and the like
 * are right. */
long async_call(struct thread *t, uint32_t i, long nr, const uint64_t *a)
{
	int32_t pair[2] = { 0 };
	const long ret = gate(t, nr, a);
	const uint32_t what = (uint32_t)a[1];
	if (ret < 0 || ((what == F_SETOWN_EX || what == FIOASYNC) &&
			!copy_guest(pair, (const void *)a[2], what == FIOASYNC ? 4 : 8)))
		return ret;
	vpmu_lock(t);
	if (nr == __NR_ioctl)
		set_async(i, pair[0], (int32_t)a[0]);
	else if (what == F_SETFL)
		set_async(i, a[2] & FASYNC, (int32_t)a[0]);
	else if (what == F_SETSIG)
		sampler_take(i)->signal = (int32_t)a[2];
	else if (what == F_SETOWN)
		set_owner(i, (int32_t)a[2] < 0 ? F_OWNER_PGRP : F_OWNER_PID,
			  (int32_t)a[2] < 0 ? -(int32_t)a[2] : (int32_t)a[2]);
	else
		set_owner(i, pair[0], pair[1]);
	vpmu_unlock();
	return ret;
}

#define POLL_IN_	1
#define POLL_HUP_	6

static long send(const struct vpmu_sampler *s, int sig, struct k_siginfo *info)
{
	const bool own = s->owner_kind == F_OWNER_TID ?
			 sys3(__NR_tgkill, E.pid, s->owner, 0) == 0 : s->owner == E.pid;
	info->signo = sig;
	if (s->owner_kind == F_OWNER_PGRP)
		return sys2(__NR_kill, -s->owner, sig);
	if (!own && info->code == POLL_IN_)
		info->code = VPMU_POLL_IN;
	else if (!own)
		info->code = info->code == POLL_HUP_ ? VPMU_POLL_HUP : VPMU_SIGIO;
	if (s->owner_kind == F_OWNER_TID && own)
		return sys4(__NR_rt_tgsigqueueinfo, E.pid, s->owner, sig, info);
	return sys3(__NR_rt_sigqueueinfo, s->owner, sig, info);
}

/* As send_sigio_to_task(): without F_SETSIG, or when the queue is full, it is a plain SIGIO. */
void async_signal(uint32_t event, bool last)
{
	const uint32_t i = vpmu_root(event);
	const struct vpmu_sampler *const s = vpmu_sampler(i);
	struct k_siginfo info = { .code = last ? POLL_HUP_ : POLL_IN_ };
	const int64_t band = last ? POLLHUP | POLLERR : POLLIN | POLLRDNORM;
	if (!s->async || !s->owner)
		return;
	__builtin_memcpy(info.rest, &band, 8);
	__builtin_memcpy(info.rest + 8, &s->fd, 4);
	if (s->signal && send(s, s->signal, &info) != -EAGAIN)
		return;
	info = (struct k_siginfo){ .code = SI_KERNEL };
	send(s, SIGIO, &info);
}
