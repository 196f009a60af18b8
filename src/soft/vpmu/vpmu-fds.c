/* Descriptors of the virtual PMU's events.
 *
 * A descriptor is a real one, so that close, dup, poll, fork and exec work as the kernel does them.
 * It is of a software event that counts nothing, so that it looks and behaves like that of any
 * event. Where the kernel refuses such an event, it is the end of a pipe that no process writes to,
 * which polls the same. Which event a descriptor stands for is remembered by its number. Where the
 * number is not known, after an exec or when it comes out of a socket, the event is found by the id
 * of the software event or the inode of the pipe.
 */
#include "vpmu-room.h"

#include "sys.h"
#include "text.h"

#include <linux/perf_event.h>

#define MAX_FD 65536u

uint32_t vpmu_fds;
static uint32_t fds[MAX_FD];		/* the event of each descriptor; 0: none */
static uint32_t end_fd;			/* the highest descriptor ever used, plus 1 */

uint32_t fd_event(uint64_t fd)
{
	return vpmu_fds && (uint32_t)fd < end_fd ? fds[(uint32_t)fd] : 0;
}

/* Atomic, because threads open and close descriptors at the same time. */
static void note(uint32_t fd, uint32_t event)
{
	uint32_t end = __atomic_load_n(&end_fd, __ATOMIC_RELAXED);
	while (event && fd >= end &&
	       !__atomic_compare_exchange_n(&end_fd, &end, fd + 1, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
	const uint32_t was = __atomic_exchange_n(&fds[fd], event, __ATOMIC_RELAXED);
	if (!!event != !!was)
		__atomic_fetch_add(&vpmu_fds, event ? 1 : -1u, __ATOMIC_RELAXED);
}

long fd_of_event(uint32_t event)
{
	for (uint32_t fd = 0; vpmu_fds && fd < end_fd; fd++)
		if (fds[fd] == event)
			return fd;
	return -EBADF;
}

void fds_count(uint32_t *by_event)
{
	for (uint32_t fd = 0; vpmu_fds && fd < end_fd; fd++)
		if (fds[fd])
			by_event[fds[fd]]++;
}

void fd_forget(struct thread *t, uint32_t fd)
{
	const uint32_t i = fds[fd];
	if (t->is_vfork || !i)
		return;			/* a vfork child has a copy of the descriptors */
	vpmu_lock(t);
	note(fd, 0);
	hold_drop(i);
	vpmu_unlock();
}

/* Notes a descriptor that was just opened. A vfork child's descriptors are not noted: they are for
 * the image that it is going to exec. */
bool fd_note(const struct thread *t, uint32_t fd, uint32_t event)
{
	if (fd >= MAX_FD)
		return false;
	if (t->is_vfork) {
		vpmu_event(event)->refs++;
		vpmu_event(event)->in_flight++;
		return true;
	}
	note(fd, event);
	hold_take(event);
	return true;
}

static void add(struct thread *t, uint32_t fd, uint32_t event)
{
	if (t->is_vfork || fd >= MAX_FD)
		return;
	vpmu_lock(t);
	note(fd, event);
	hold_take(event);
	vpmu_unlock();
}

/* ---- what a descriptor is ---- */

uint64_t fd_kernel_id(uint64_t fd)
{
	uint64_t id = 0;
	return sys3(__NR_ioctl, fd, PERF_EVENT_IOC_ID, &id) < 0 ? 0 : id;
}

static uint64_t inode(uint32_t fd)
{
	struct k_stat st;
	if (sys2(__NR_fstat, fd, &st) < 0 || (st.mode & S_IFMT) != S_IFIFO)
		return 0;
	return st.ino;
}

/* The event that a descriptor of this process stands for; 0: none. Descriptors mostly have the same
 * order as their events, so the search starts at the last one found. */
static uint32_t identify(uint32_t fd)
{
	static uint32_t last;
	const uint64_t id = fd_kernel_id(fd), ino = id ? 0 : inode(fd);
	const uint32_t n = vpmu()->n_events;
	for (uint32_t k = 1; (id || ino) && k <= n; k++) {
		const uint32_t i = (last + k - 1) % n + 1;
		const struct vpmu_event *const e = vpmu_event(i);
		if (e->used && !e->parent && (id ? e->kernel_id == id : e->ino == ino))
			return last = i;
	}
	return 0;
}

static long pipe_end(uint32_t event, bool cloexec)
{
	int32_t ends[2];
	const long err = sys2(__NR_pipe2, ends, cloexec ? O_CLOEXEC : 0);
	if (err < 0)
		return err;
	sys1(__NR_close, ends[1]);
	vpmu_event(event)->ino = inode((uint32_t)ends[0]);
	return ends[0];
}

/* What io_uring reads is the kernel's event, which counts nothing: it has no room for so much, and gets ENOSPC. */
#define LONG_FORMAT (PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | \
		     PERF_FORMAT_TOTAL_TIME_RUNNING)

long fd_new(uint32_t event, bool cloexec)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER0,
				     .config = PERF_COUNT_SW_DUMMY, .disabled = 1,
				     .read_format = LONG_FORMAT,
				     .exclude_kernel = 1, .exclude_hv = 1 };
	struct vpmu_event *const e = vpmu_event(event);
	long fd = sys6(__NR_perf_event_open, (long)&a, 0, -1, -1, cloexec ? PERF_FLAG_FD_CLOEXEC : 0, 0);
	if (fd >= 0)
		e->id = e->kernel_id = fd_kernel_id((uint64_t)fd);
	else if (fd != -EMFILE)
		fd = pipe_end(event, cloexec);
	if (fd >= (long)MAX_FD) {
		sys1(__NR_close, fd);
		return -EMFILE;
	}
	return fd;
}

/* ---- exec ---- */

static void scan_entry(const char *name)
{
	uint32_t fd = 0;
	for (const char *p = name; *p; p++) {
		if (*p < '0' || *p > '9')
			return;
		fd = fd * 10 + (uint32_t)(*p - '0');
	}
	const uint32_t i = fd < MAX_FD ? identify(fd) : 0;
	if (i)
		note(fd, i);
}

/* A new image has the descriptors that were not closed on exec. */
void vpmu_fds_after_exec(void)
{
	static char buf[4096];
	if (!vpmu()->n_open)
		return;
	const long dir = sys4(__NR_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_CLOEXEC, 0);
	long n;
	while (dir >= 0 && (n = sys3(__NR_getdents64, dir, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n; at += *(uint16_t *)(buf + at + 16))
			scan_entry(buf + at + 19);
	sys1(__NR_close, dir);
}

/* ---- copies ---- */

long fd_dup(struct thread *t, long nr, const uint64_t *a)
{
	const uint32_t from = fd_event(a[0]);
	const bool over = nr == __NR_dup2 || nr == __NR_dup3;
	if (from && (over || nr == __NR_fcntl) && (uint32_t)a[over ? 1 : 2] >= MAX_FD)
		return over ? -EBADF : -EINVAL;		/* as beyond RLIMIT_NOFILE */
	const long fd = gate(t, nr, a);
	if (fd < 0 || (over && (uint32_t)a[0] == (uint32_t)a[1]))
		return fd;
	if (over && fd_event((uint64_t)fd))
		fd_forget(t, (uint32_t)fd);
	if (from)
		add(t, (uint32_t)fd, from);
	return fd;
}

void fd_close_range(struct thread *t, const uint64_t *a)
{
	if (a[2] & 4)		/* CLOSE_RANGE_CLOEXEC */
		return;
	for (uint32_t fd = (uint32_t)a[0]; vpmu_fds && fd < end_fd && fd <= (uint32_t)a[1]; fd++)
		if (fds[fd])
			fd_forget(t, fd);
}

/* ---- out of other processes ---- */

struct k_msghdr {
	uint64_t name, name_len, iov, iov_len, control, control_len;
	uint32_t flags, pad;
};

struct k_cmsghdr {
	uint64_t len;
	int32_t level, type;
};

/* Calls a function for each descriptor in a message's control data. */
static void each_right(struct thread *t, uint64_t msg, void (*what)(struct thread *, int32_t, int),
		       int arg)
{
	struct k_msghdr m;
	struct k_cmsghdr c;
	if (!copy_guest(&m, (const void *)msg, sizeof(m)) || m.control_len > 1 << 16)
		return;
	for (uint64_t at = 0; at + sizeof(c) <= m.control_len;) {
		if (!copy_guest(&c, (const void *)(m.control + at), sizeof(c)) ||
		    c.len < sizeof(c) || at + c.len > m.control_len)
			return;
		for (uint64_t k = sizeof(c); c.level == SOL_SOCKET && c.type == SCM_RIGHTS_ &&
					     k + 4 <= c.len; k += 4) {
			int32_t fd;
			if (copy_guest(&fd, (const void *)(m.control + at + k), 4))
				what(t, fd, arg);
		}
		at += (c.len + 7) & ~7ull;
	}
}

/* A message that is not received yet holds a reference, which the receiver takes over. */
static void sent(struct thread *t, int32_t fd, int step)
{
	const uint32_t i = fd_event((uint32_t)fd);
	if (!i)
		return;
	vpmu_lock(t);
	vpmu_event(i)->refs += (uint32_t)step;
	vpmu_event(i)->in_flight += (uint32_t)step;
	vpmu_unlock();
}

static void received(struct thread *t, int32_t fd, int peeked)
{
	const uint32_t i = (uint32_t)fd < MAX_FD ? identify((uint32_t)fd) : 0;
	if (!i)
		return;
	add(t, (uint32_t)fd, i);
	vpmu_lock(t);
	if (!peeked && vpmu_event(i)->in_flight) {
		vpmu_event(i)->in_flight--;
		vpmu_event(i)->refs--;
	}
	vpmu_unlock();
}

long fd_message(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	*done = vpmu()->n_open;
	if (!*done)
		return 0;
	if (nr == __NR_sendmsg) {
		each_right(t, a[1], sent, 1);
		const long ret = gate(t, nr, a);
		if (ret < 0)
			each_right(t, a[1], sent, -1);
		return ret;
	}
	const long ret = gate(t, nr, a);
	if (nr == __NR_pidfd_getfd) {
		if (ret >= 0)
			received(t, (int32_t)ret, 1);
	} else if (ret >= 0) {
		each_right(t, a[1], received, (int)(a[2] & MSG_PEEK_));
	}
	return ret;
}
