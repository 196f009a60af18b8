/* Waiting for a virtual event, and its signals. (vpmu-epoll.c has epoll.)
 *
 * The kernel does not know what happens in a ring, so poll() and select() are answered here: the kernel waits for
 * the other descriptors for a short time, again and again, and between that the rings are looked
 * at. Signals are asked for with fcntl() (F_SETFL with O_ASYNC, F_SETSIG, F_SETOWN, F_SETOWN_EX)
 * and sent by the task that overflows. A process may give a signal to itself the code that the
 * kernel would give it; one for another process carries a code that its engine replaces.
 */
#include "vpmu-sampling.h"

#include "sys.h"

#include <asm/poll.h>

#define MAX_FDS 1024

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

int16_t poll_revents(uint32_t i)
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
		others[k].revents = poll_revents(fd_event((uint64_t)fds[k].fd)) &
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
	int64_t nap = POLL_FIRST_NS;
	for (;;) {
		const int64_t left = ns < 0 ? INT64_MAX : ns - (int64_t)(now_ns() - begin);
		const long ready = look(t, fds, n, others);
		const int64_t most = left <= 0 || ready ? 0 : left < nap ? left : nap;
		const long ret = ask_kernel(t, fds, others, n, most, mask);
		if (ret < 0)
			return ret;
		if (ret + ready || left <= 0)
			return ret + ready;
		if (nap < POLL_LAST_NS)
			nap *= 2;
	}
}

/* A time of the program; *ns -1: none, or a very long one. False: it is not a time. */
static bool read_time(uint64_t at, int64_t unit, int64_t *ns)
{
	int64_t spec[2];
	*ns = -1;
	if (!at)
		return true;
	if (!copy_guest(spec, (const void *)at, 16) || spec[0] < 0 || spec[1] < 0 ||
	    spec[1] >= 1000000000 / unit)
		return false;
	*ns = spec[0] > 1000000 ? -1 : spec[0] * 1000000000 + spec[1] * unit;
	return true;
}

bool poll_timespec(uint64_t at, int64_t *ns)
{
	return read_time(at, 1, ns);
}

static bool timeout_of(long nr, const uint64_t *a, int64_t *ns)
{
	if (nr == __NR_ppoll)
		return poll_timespec(a[2], ns);
	*ns = (int32_t)a[2] < 0 ? -1 : (int64_t)(int32_t)a[2] * 1000000;
	return true;
}

long poll_nap(struct thread *t, int32_t fd, int64_t ns, const uint64_t *mask)
{
	struct k_pollfd one = { .fd = fd, .events = POLLIN };
	const int64_t time[2] = { 0, ns };
	const uint64_t args[6] = { (uint64_t)&one, 1, (uint64_t)time, mask[0], mask[1] };
	return signal_syscall(t, __NR_ppoll, args);
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
	if (ret >= 0 && !put_guest(a[0], fds, a[1] * sizeof(fds[0])))
		return -EFAULT;
	return ret;
}

/* ---- select ---- */

#define WORDS (MAX_FDS / 64)

/* The three sets of a call; what each asks for, and what makes a descriptor a member of the result. */
struct sets {
	uint64_t bits[3][WORDS];
};
static const int16_t asks_for[3] = { POLLIN | POLLRDNORM | POLLRDBAND, POLLOUT | POLLWRNORM | POLLWRBAND,
				     POLLPRI };
static const int16_t found_by[3] = { POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR,
				     POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR, POLLPRI };

static uint64_t bytes_of(uint64_t n) { return (n + 63) / 64 * 8; }

static bool read_sets(struct sets *s, const uint64_t *a)
{
	*s = (struct sets){ 0 };
	for (int k = 0; k < 3; k++)
		if (a[1 + k] && !copy_guest(s->bits[k], (const void *)a[1 + k], bytes_of(a[0])))
			return false;
	return true;
}

static bool write_sets(const struct sets *s, const uint64_t *a)
{
	for (int k = 0; k < 3; k++)
		if (a[1 + k] && !put_guest(a[1 + k], s->bits[k], bytes_of(a[0])))
			return false;
	return true;
}

static bool is_in(const struct sets *s, int k, uint64_t fd) { return s->bits[k][fd / 64] >> fd % 64 & 1; }

static uint64_t list_of(const struct sets *s, uint64_t n, struct k_pollfd *fds, bool *any)
{
	uint64_t len = 0;
	for (uint64_t fd = 0; fd < n; fd++) {
		struct k_pollfd p = { .fd = (int32_t)fd };
		for (int k = 0; k < 3; k++)
			p.events |= is_in(s, k, fd) ? asks_for[k] : 0;
		if (!p.events)
			continue;
		fds[len++] = p;
		*any |= is_virtual((int32_t)fd);
	}
	return len;
}

/* How many bits the result has, or an error. */
static long result_of(const struct k_pollfd *fds, uint64_t n, const struct sets *in, struct sets *out)
{
	long found = 0;
	*out = (struct sets){ 0 };
	for (uint64_t i = 0; i < n; i++)
		for (int k = 0; k < 3; k++) {
			const uint64_t fd = (uint64_t)fds[i].fd;
			if (fds[i].revents & POLLNVAL)
				return -EBADF;
			if (!is_in(in, k, fd) || !(fds[i].revents & found_by[k]))
				continue;
			out->bits[k][fd / 64] |= 1ull << fd % 64;
			found++;
		}
	return found;
}

/* The kernel writes the time that is left. */
static void write_time(uint64_t at, int64_t unit, int64_t left)
{
	if (left < 0)
		left = 0;
	const int64_t spec[2] = { left / 1000000000, left % 1000000000 / unit };
	put_guest(at, spec, sizeof(spec));
}

static long select_wait(struct thread *t, struct k_pollfd *fds, uint64_t n, int64_t ns, const uint64_t *mask,
			const struct sets *in, struct sets *out)
{
	const uint64_t begin = now_ns();
	for (;;) {
		const int64_t left = ns < 0 ? -1 : ns - (int64_t)(now_ns() - begin);
		long ret = wait_for(t, fds, n, ns >= 0 && left < 0 ? 0 : left, mask);
		if (ret >= 0)
			ret = result_of(fds, n, in, out);
		if (ret || (ns >= 0 && left <= 0))
			return ret;
		/* poll() has returned for a hang-up that select() does not look for */
		ret = poll_nap(t, -1, POLL_LAST_NS, mask);
		if (ret < 0)
			return ret;
	}
}

long select_call(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	struct k_pollfd fds[MAX_FDS];
	struct sets in, out;
	const int64_t unit = nr == __NR_select ? 1000 : 1;
	uint64_t mask[2] = { 0 };
	int64_t ns;
	bool any = false;
	if (!a[0] || a[0] > MAX_FDS || !read_sets(&in, a) || !read_time(a[4], unit, &ns) ||
	    (nr == __NR_pselect6 && a[5] && !copy_guest(mask, (const void *)a[5], 16)))
		return 0;
	const uint64_t n = list_of(&in, a[0], fds, &any);
	if (!any)
		return 0;
	*done = true;
	const uint64_t begin = now_ns();
	const long ret = select_wait(t, fds, n, ns, mask, &in, &out);
	if (a[4] && ns >= 0)
		write_time(a[4], unit, ns - (int64_t)(now_ns() - begin));
	return ret >= 0 && !write_sets(&out, a) ? -EFAULT : ret;
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
