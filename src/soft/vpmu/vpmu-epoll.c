/* epoll on virtual events.
 *
 * The kernel would poll the software event behind the descriptor, so the interest in a virtual event is kept
 * here: one item for each epoll descriptor and descriptor of an event. A wait looks at its items, asks the
 * kernel for the other descriptors of the set, and naps on the epoll descriptor itself, again and again.
 *
 * As in the kernel, one wake-up of a ring is reported once, whether level-triggered or not: to poll an
 * event takes its readiness away. EPOLL_CTL_ADD and EPOLL_CTL_MOD poll it, too. A hang-up stays; an
 * edge-triggered item reports it once.
 *
 * Items belong to the process: a child has a copy, as if it had made the calls itself, and an exec forgets
 * them. A duplicate of an epoll descriptor has no items.
 */
#include "vpmu-sampling.h"

#include "sys.h"

#include <asm/poll.h>
#include <linux/eventpoll.h>

#define MAX_ITEMS 1024

static struct item {		/* guarded by the lock of the virtual PMU */
	uint64_t id;		/* of the event; 0: unused */
	uint32_t event;
	int32_t epfd, fd;
	uint32_t events;
	uint64_t data;
	bool hung_up;		/* reported, and still so */
	bool disabled;		/* EPOLLONESHOT, and reported */
} items[MAX_ITEMS];
static uint32_t n_items;	/* ever used */

struct k_epoll_event {
	uint32_t events;
	uint64_t data;
} __attribute__((packed));

/* All its descriptors in this process are closed. */
static bool is_stale(const struct item *m)
{
	return vpmu_event(m->event)->id != m->id || fd_of_event(m->event) < 0;
}

static struct item *find(int32_t epfd, int32_t fd, uint32_t event)
{
	for (struct item *m = items; m < items + n_items; m++) {
		if (m->id && is_stale(m))
			m->id = 0;
		if (m->id && m->epfd == epfd && m->fd == fd && m->event == event)
			return m;
	}
	return NULL;
}

static struct item *unused(void)
{
	for (struct item *m = items; m < items + n_items; m++)
		if (!m->id)
			return m;
	return n_items < MAX_ITEMS ? &items[n_items++] : NULL;
}

void epoll_forget(struct thread *t, uint32_t first, uint32_t last)
{
	if (!__atomic_load_n(&n_items, __ATOMIC_RELAXED))
		return;
	vpmu_lock(t);
	for (struct item *m = items; m < items + n_items; m++)
		if ((uint32_t)m->epfd >= first && (uint32_t)m->epfd <= last)
			m->id = 0;
	vpmu_unlock();
}

static long change(uint32_t i, const uint64_t *a, const struct k_epoll_event *want)
{
	struct item *m = find((int32_t)a[0], (int32_t)a[2], i);
	if (m && a[1] == EPOLL_CTL_ADD)
		return -EEXIST;
	if (!m && a[1] != EPOLL_CTL_ADD)
		return -ENOENT;
	if (a[1] == EPOLL_CTL_DEL) {
		m->id = 0;
		return 0;
	}
	if (!m && !(m = unused()))
		return -ENOSPC;
	*m = (struct item){ .id = vpmu_event(i)->id, .event = i, .epfd = (int32_t)a[0], .fd = (int32_t)a[2],
			    .events = want->events | POLLHUP | POLLERR, .data = want->data };
	poll_revents(i);
	return 0;
}

/* The kernel adds the descriptor and removes it again, so that its errors are the kernel's. */
static long try_in_kernel(struct thread *t, const uint64_t *a)
{
	struct k_epoll_event none = { 0 };
	const uint64_t add[6] = { a[0], EPOLL_CTL_ADD, a[2], (uint64_t)&none };
	const uint64_t del[6] = { a[0], EPOLL_CTL_DEL, a[2] };
	const long ret = gate(t, __NR_epoll_ctl, add);
	if (!ret)
		gate(t, __NR_epoll_ctl, del);
	return ret;
}

long epoll_change(struct thread *t, const uint64_t *a, bool *done)
{
	const uint32_t i = fd_event(a[2]);
	struct k_epoll_event want = { 0 };
	if (!i || vpmu_event(i)->software || a[1] - EPOLL_CTL_ADD > EPOLL_CTL_MOD - EPOLL_CTL_ADD)
		return 0;
	*done = true;
	if (a[1] != EPOLL_CTL_DEL && !copy_guest(&want, (const void *)a[3], sizeof(want)))
		return -EFAULT;
	const long ret = try_in_kernel(t, a);
	if (ret < 0)
		return ret;
	vpmu_lock(t);
	const long changed = change(i, a, &want);
	vpmu_unlock();
	return changed;
}

/* What the item reports now; 0: nothing. */
static uint32_t report(struct item *m)
{
	const uint32_t now = m->disabled ? 0 : (uint32_t)poll_revents(m->event) & m->events;
	const bool again = m->hung_up && now & POLLHUP && m->events & EPOLLET;
	m->hung_up = now & POLLHUP;
	if (again || !now)
		return 0;
	m->disabled = m->events & EPOLLONESHOT;
	return now;
}

/* Writes what the items of the set report, at most `max`. */
static long look(struct thread *t, int32_t epfd, uint64_t to, long max)
{
	long n = 0;
	vpmu_lock(t);
	for (struct item *m = items; m < items + n_items && n < max; m++) {
		if (!m->id || m->epfd != epfd || is_stale(m))
			continue;
		const struct k_epoll_event e = { report(m), m->data };
		if (!e.events)
			continue;
		if (!put_guest(to + (uint64_t)n * sizeof(e), &e, sizeof(e))) {
			n = n ? n : -EFAULT;
			break;
		}
		n++;
	}
	vpmu_unlock();
	return n;
}

static bool has_items(int32_t epfd)
{
	for (uint32_t k = 0; k < n_items; k++)
		if (items[k].id && items[k].epfd == epfd && !is_stale(&items[k]))
			return true;
	return false;
}

/* Both kinds of events that are ready. */
static long take(struct thread *t, const uint64_t *a)
{
	const long max = (int32_t)a[2];
	const long own = look(t, (int32_t)a[0], a[1], max);
	if (own < 0 || own == max)
		return own;
	const uint64_t rest[6] = { a[0], a[1] + (uint64_t)own * sizeof(struct k_epoll_event),
				   (uint64_t)(max - own) };
	const long others = gate(t, __NR_epoll_wait, rest);
	return others < 0 ? own ? own : others : own + others;
}

static bool timeout_of(long nr, const uint64_t *a, int64_t *ns)
{
	if (nr == __NR_epoll_pwait2)
		return poll_timespec(a[3], ns);
	*ns = (int32_t)a[3] < 0 ? -1 : (int64_t)(int32_t)a[3] * 1000000;
	return true;
}

long epoll_wait_call(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	int64_t ns;
	if ((int32_t)a[2] <= 0 || !has_items((int32_t)a[0]) || !timeout_of(nr, a, &ns))
		return 0;
	*done = true;
	const bool masks = nr != __NR_epoll_wait;
	const uint64_t mask[2] = { masks ? a[4] : 0, masks ? a[5] : 0 };
	const uint64_t begin = now_ns();
	for (int64_t nap = POLL_FIRST_NS;; nap = nap < POLL_LAST_NS ? nap * 2 : nap) {
		const long n = take(t, a);
		const int64_t left = ns < 0 ? INT64_MAX : ns - (int64_t)(now_ns() - begin);
		if (n || left <= 0)
			return n;
		const long ret = poll_nap(t, (int32_t)a[0], left < nap ? left : nap, mask);
		if (ret < 0)
			return ret;
	}
}
