/* perf_event_open of the virtual PMU, and what a program does with the descriptor.
 *
 * A descriptor is a memfd whose name tells the event, so that it survives exec and
 * can be recognised there; close, dup, poll and fork are the kernel's. Errors are
 * those of the kernel, in its order (kernel/events/core.c).
 */
#include "vpmu.h"

#include "sys.h"
#include "text.h"

#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/perf_event.h>

enum { EPERM_ = -1, ENOENT_ = -2, ESRCH_ = -3, E2BIG_ = -7, EBADF_ = -9, ENOMEM_ = -12, EACCES_ = -13,
       EFAULT_ = -14, EINVAL_ = -22, EMFILE_ = -24, ENOTTY_ = -25, ENOSPC_ = -28,
       ESPIPE_ = -29, EOPNOTSUPP_ = -95 };

#define MAX_FD 4096
#define MAX_MAPS 256
#define NAME "perf_event:"

uint32_t vpmu_fds, vpmu_maps;
static uint16_t fds[MAX_FD];		/* event by descriptor; 0: not ours */
static struct { uint64_t at, size; uint32_t event; } maps[MAX_MAPS];

/* ---- descriptors ---- */

static uint32_t event_of(uint64_t fd)
{
	return vpmu_fds && (uint32_t)fd < MAX_FD ? fds[(uint32_t)fd] : 0;
}

static void note_fd(uint32_t fd, uint32_t event)
{
	if (fds[fd])
		vpmu_fds--;
	fds[fd] = (uint16_t)event;
	if (event)
		vpmu_fds++;
}

static void drop_ref(uint32_t i)
{
	struct vpmu_event *const e = vpmu_event(i);
	if (--e->refs)
		return;
	const uint32_t slot = e->slot;
	vpmu_free_event(i);
	vpmu_schedule(slot);
}

static void forget_fd(struct thread *t, uint32_t fd)
{
	const uint32_t i = fds[fd];
	if (t->is_vfork)
		return;			/* its table is a copy that we do not keep */
	note_fd(fd, 0);
	vpmu_lock(t);
	drop_ref(i);
	vpmu_unlock();
}

static void add_fd(struct thread *t, uint32_t fd, uint32_t event)
{
	if (t->is_vfork || fd >= MAX_FD)
		return;
	note_fd(fd, event);
	vpmu_lock(t);
	vpmu_event(event)->refs++;
	vpmu_unlock();
}

void vpmu_fds_after_fork(void)
{
	vpmu_maps = 0;			/* MADV_DONTFORK */
	for (unsigned k = 0; k < MAX_MAPS; k++)
		maps[k].size = 0;
	struct thread *const t = thread_self();
	vpmu_lock(t);
	for (uint32_t fd = 0; vpmu_fds && fd < MAX_FD; fd++)
		if (fds[fd])
			vpmu_event(fds[fd])->refs++;
	vpmu_unlock();
}

/* What exec closes and unmaps. */
void vpmu_fds_before_exec(int step)
{
	for (unsigned k = 0; vpmu_maps && k < MAX_MAPS; k++)
		if (maps[k].size)
			vpmu_event(maps[k].event)->refs += (uint32_t)step;
	for (uint32_t fd = 0; vpmu_fds && fd < MAX_FD; fd++)
		if (fds[fd] && sys3(__NR_fcntl, fd, F_GETFD, 0) & 1)
			vpmu_event(fds[fd])->refs += (uint32_t)step;
}

/* The event that a descriptor's name tells, 0 if it is something else. */
static uint32_t event_by_name(const char *fd)
{
	char path[64], link[96];
	struct line l = { 0 };
	line_str(&l, "/proc/self/fd/");
	line_str(&l, fd);
	mem_copy(path, l.text, l.len);
	path[l.len] = '\0';
	const long n = sys4(__NR_readlinkat, AT_FDCWD, path, link, sizeof(link) - 1);
	if (n < 0)
		return 0;
	link[n] = '\0';
	if (!text_starts(link, "/memfd:" NAME))
		return 0;
	uint32_t i = 0;
	for (const char *p = link + 7 + sizeof(NAME) - 1; *p >= '0' && *p <= '9'; p++)
		i = i * 10 + (uint32_t)(*p - '0');
	return i < VPMU_MAX_EVENTS && vpmu_event(i)->used ? i : 0;
}

static void scan_entry(const char *name, bool vforked)
{
	uint32_t fd = 0;
	for (const char *p = name; *p; p++) {
		if (*p < '0' || *p > '9')
			return;
		fd = fd * 10 + (uint32_t)(*p - '0');
	}
	const uint32_t i = fd < MAX_FD ? event_by_name(name) : 0;
	if (!i)
		return;
	note_fd(fd, i);
	if (vforked)
		vpmu_event(i)->refs++;
}

/* A new image has the descriptors that were not closed on exec; those that were
 * have given up their references, and events without any go now. */
void vpmu_fds_after_exec(bool vforked)
{
	static char buf[4096];
	if (!vpmu()->n_open)
		return;
	const long dir = sys4(__NR_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_CLOEXEC, 0);
	long n;
	while (dir >= 0 && (n = sys3(__NR_getdents64, dir, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n; at += *(uint16_t *)(buf + at + 16))
			scan_entry(buf + at + 19, vforked);
	sys1(__NR_close, dir);
	for (uint32_t i = 1; i <= vpmu()->n_events; i++) {
		struct vpmu_event *const e = vpmu_event(i);
		if (e->used && !e->refs && !e->parent) {
			const uint32_t slot = e->slot;
			vpmu_free_event(i);
			vpmu_schedule(slot);
		}
	}
}

static long new_fd(uint32_t event, bool cloexec)
{
	struct line l = { 0 };
	line_str(&l, NAME);
	line_num(&l, event, 10);
	line_str(&l, ":");
	line_num(&l, vpmu_event(event)->id, 10);
	l.text[l.len] = '\0';
	const long fd = sys2(__NR_memfd_create, l.text, cloexec);
	if (fd >= MAX_FD) {
		sys1(__NR_close, fd);
		return EMFILE_;
	}
	return fd;
}

/* ---- perf_event_open ---- */

static long too_big(uint64_t at)
{
	const uint32_t size = sizeof(struct perf_event_attr);
	copy_guest((void *)(at + offsetof(struct perf_event_attr, size)), &size, 4);
	return E2BIG_;
}

static long copy_attr(struct perf_event_attr *attr, uint64_t at)
{
	uint32_t size;
	if (!copy_guest(&size, (void *)(at + offsetof(struct perf_event_attr, size)), 4))
		return EFAULT_;
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	if (size < PERF_ATTR_SIZE_VER0 || size > PAGE)
		return too_big(at);
	mem_zero(attr, sizeof(*attr));
	if (!copy_guest(attr, (void *)at, size < sizeof(*attr) ? size : sizeof(*attr)))
		return EFAULT_;
	for (uint64_t i = sizeof(*attr); i < size; i++) {
		uint8_t more;
		if (!copy_guest(&more, (void *)(at + i), 1))
			return EFAULT_;
		if (more)
			return too_big(at);
	}
	attr->size = size;
	if (attr->__reserved_1 || attr->__reserved_2 || attr->__reserved_3 ||
	    attr->sample_type & ~(uint64_t)(PERF_SAMPLE_MAX - 1) ||
	    attr->read_format & ~(uint64_t)(PERF_FORMAT_MAX - 1))
		return EINVAL_;
	return 0;
}

/* The row of the model that counts this; -1: ENOENT. */
static int find_row(const struct perf_event_attr *attr)
{
	const struct vpmu_model *const m = &vpmu()->model;
	for (uint32_t i = 0; i < m->n_rows; i++) {
		const struct vpmu_row *const r = &m->rows[i];
		if (r->kind == VPMU_NOTHING)
			continue;
		if (attr->type == PERF_TYPE_HARDWARE && r->generic &&
		    r->generic - 1u == attr->config)
			return (int)i;
		if (attr->type == PERF_TYPE_RAW && r->has_raw && r->raw == attr->config)
			return (int)i;
	}
	return -1;
}

static bool is_hardware(uint32_t type)
{
	return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
}

/* The task's slot; 0 with *err set. A child that was just forked may not have come
 * to announce itself: the lock is given up for a moment, up to a tenth of a second. */
static uint32_t find_task(struct thread *t, int pid, long *err)
{
	static const int64_t nap[2] = { 0, 200000 };
	if (pid == 0)
		return t->vslot;
	for (int tries = 0; tries < 500; tries++) {
		for (uint32_t i = 1; i <= vpmu()->n_slots; i++)
			if (vpmu_slot(i)->tid == pid && !vpmu_slot(i)->ended)
				return i;
		*err = EACCES_;
		if (sys2(__NR_tkill, pid, 0) == ESRCH_) {
			*err = ESRCH_;
			break;
		}
		vpmu_unlock();
		sys2(__NR_nanosleep, nap, 0);
		vpmu_lock(t);
	}
	return 0;
}

static long check(const struct perf_event_attr *attr, int pid, int cpu, uint64_t flags)
{
	if (!attr->exclude_kernel)
		return EACCES_;			/* paranoid 2 */
	if (attr->freq ? attr->sample_freq > 100000 : attr->sample_period >> 63)
		return EINVAL_;
	if (flags & PERF_FLAG_PID_CGROUP)
		return pid == -1 || cpu == -1 ? EINVAL_ : EACCES_;
	if (pid == -1)
		return cpu == -1 ? EINVAL_ : EACCES_;
	if (cpu < -1)
		return EINVAL_;
	return 0;
}

static long check_leader(uint32_t leader, uint32_t slot, const struct perf_event_attr *attr)
{
	const struct vpmu_event *const e = vpmu_event(leader);
	if (!!e->inherit != attr->inherit || e->slot != slot || e->leader != leader ||
	    attr->exclusive || attr->pinned)
		return EINVAL_;
	return 0;
}

static long open_event(struct thread *t, const struct perf_event_attr *attr, uint32_t slot,
		       uint32_t leader, uint64_t flags, int cpu)
{
	const int row = find_row(attr);
	if (attr->inherit && attr->read_format & PERF_FORMAT_GROUP)
		return EINVAL_;
	if (row < 0)
		return ENOENT_;
	if (attr->sample_period || attr->sample_type & PERF_SAMPLE_BRANCH_STACK || cpu >= 0)
		return EOPNOTSUPP_;
	if (leader && check_leader(leader, slot, attr))
		return EINVAL_;
	if (!vpmu_fits(leader, (uint32_t)row))
		return EINVAL_;
	const uint32_t i = vpmu_new_event(slot);
	if (!i)
		return ENOMEM_;
	struct vpmu_event *const e = vpmu_event(i);
	e->row = (uint32_t)row;
	e->refs = 1;
	e->leader = leader ? leader : i;
	e->read_format = attr->read_format;
	e->pinned = attr->pinned;
	e->exclusive = attr->exclusive;
	e->inherit = attr->inherit;
	e->inherit_thread = attr->inherit_thread;
	e->inherit_stat = attr->inherit_stat;
	e->enable_on_exec = attr->enable_on_exec;
	e->no_user = attr->exclude_user;
	e->state = attr->disabled ? VE_OFF : VE_INACTIVE;
	const long fd = new_fd(i, flags & PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		vpmu_free_event(i);
		return fd;
	}
	if (!t->is_vfork)
		note_fd((uint32_t)fd, i);
	vpmu_schedule(slot);
	return fd;
}

static long do_open(struct thread *t, const uint64_t *a, bool *done)
{
	struct perf_event_attr attr;
	const int pid = (int)a[1], cpu = (int)a[2], group = (int)a[3];
	*done = true;
	if (a[4] & ~15ull)
		return EINVAL_;
	long err = copy_attr(&attr, a[0]);
	if (err)
		return err;
	const uint32_t leader = group == -1 ? 0 : event_of((uint64_t)group);
	if (!is_hardware(attr.type)) {
		*done = !!leader;	/* software events go to the kernel, alone */
		return EINVAL_;
	}
	err = check(&attr, pid, cpu, a[4]);
	if (err)
		return err;
	if (group != -1 && !leader)
		return sys3(__NR_fcntl, group, F_GETFD, 0) < 0 ? EBADF_ : EINVAL_;
	vpmu_lock(t);
	const uint32_t slot = find_task(t, pid, &err);
	if (slot)
		err = open_event(t, &attr, slot, a[4] & PERF_FLAG_FD_NO_GROUP ? 0 : leader, a[4],
				 cpu);
	vpmu_tell(t);
	vpmu_unlock();
	return err;
}

/* ---- read ---- */

struct reading {
	uint64_t value, enabled, running;
};

/* With everything inherited from it. */
static struct reading total(uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	struct reading r = { .value = vpmu_value(e) + e->child_value };
	vpmu_times(e, &r.enabled, &r.running);
	r.enabled += e->child_enabled;
	r.running += e->child_running;
	for (uint32_t c = e->children; c; c = vpmu_event(c)->next_child) {
		const struct reading k = total(c);
		r.value += k.value;
		r.enabled += k.enabled;
		r.running += k.running;
	}
	return r;
}

static uint64_t ns(uint64_t instructions)
{
	return (instructions + VPMU_PER_NS - 1) / VPMU_PER_NS;
}

static bool in_group(uint32_t i, uint32_t leader)
{
	return vpmu_event(i)->leader == leader;
}

static unsigned one_entry(uint64_t *w, uint64_t format, uint32_t i, uint64_t value)
{
	unsigned n = 0;
	w[n++] = value;
	if (format & PERF_FORMAT_ID)
		w[n++] = vpmu_event(i)->id;
	if (format & PERF_FORMAT_LOST)
		w[n++] = 0;
	return n;
}

#define MAX_WORDS 256

static unsigned fill(uint64_t *w, uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	const uint64_t format = e->read_format;
	const bool group = format & PERF_FORMAT_GROUP;
	const struct reading first = total(group ? e->leader : i);
	unsigned n = 0;
	if (group)
		w[n++] = 0;
	else
		w[n++] = first.value;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		w[n++] = ns(first.enabled);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		w[n++] = ns(first.running);
	if (!group) {
		if (format & PERF_FORMAT_ID)
			w[n++] = e->id;
		if (format & PERF_FORMAT_LOST)
			w[n++] = 0;
		return n;
	}
	n += one_entry(w + n, format, e->leader, first.value);
	w[0] = 1;
	for (uint32_t k = vpmu_slot(e->slot)->events; k && n < MAX_WORDS - 4;
	     k = vpmu_event(k)->next) {
		if (k == e->leader || !in_group(k, e->leader) || vpmu_event(k)->parent)
			continue;
		n += one_entry(w + n, format, k, total(k).value);
		w[0]++;
	}
	return n;
}

static long do_read(struct thread *t, uint32_t i, uint64_t to, uint64_t size)
{
	uint64_t words[MAX_WORDS];
	vpmu_lock(t);
	const bool failed = vpmu_event(i)->state == VE_ERROR;
	const unsigned n = failed ? 0 : fill(words, i);
	vpmu_unlock();
	if (failed)
		return 0;
	if (size < n * 8)
		return ENOSPC_;
	return copy_guest((void *)to, words, n * 8) ? (long)n * 8 : EFAULT_;
}

/* ---- ioctl ---- */

static void apply(uint32_t i, uint32_t what)
{
	struct vpmu_event *const e = vpmu_event(i);
	if (what == PERF_EVENT_IOC_RESET) {
		e->value = 0;
		return;
	}
	vpmu_set_state(i, what == PERF_EVENT_IOC_ENABLE);
}

/* The event and, for enable and disable, everything inherited from it; brought
 * up to date first. */
static void apply_to_family(uint32_t i, uint32_t what)
{
	vpmu_schedule(vpmu_event(i)->slot);
	apply(i, what);
	if (what != PERF_EVENT_IOC_RESET)
		for (uint32_t c = vpmu_event(i)->children; c; c = vpmu_event(c)->next_child)
			apply_to_family(c, what);
	vpmu_schedule(vpmu_event(i)->slot);
}

static void apply_to_group(uint32_t leader, uint32_t what)
{
	apply_to_family(leader, what);
	for (uint32_t k = vpmu_slot(vpmu_event(leader)->slot)->events; k; k = vpmu_event(k)->next)
		if (k != leader && in_group(k, leader))
			apply_to_family(k, what);
}

static long do_ioctl(struct thread *t, uint32_t i, uint64_t what, uint64_t arg)
{
	switch ((uint32_t)what) {
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
	case PERF_EVENT_IOC_RESET:
		vpmu_lock(t);
		if (arg & PERF_IOC_FLAG_GROUP)
			apply_to_group(vpmu_event(i)->leader, (uint32_t)what);
		else
			apply_to_family(i, (uint32_t)what);
		vpmu_tell(t);
		vpmu_unlock();
		return 0;
	case PERF_EVENT_IOC_ID:
		return copy_guest((void *)arg, &vpmu_event(i)->id, 8) ? 0 : EFAULT_;
	case PERF_EVENT_IOC_REFRESH:	/* these are for events that sample */
	case PERF_EVENT_IOC_PERIOD:
	case PERF_EVENT_IOC_SET_FILTER:
	case PERF_EVENT_IOC_SET_BPF:
	case PERF_EVENT_IOC_PAUSE_OUTPUT:
	case PERF_EVENT_IOC_SET_OUTPUT:
		return EINVAL_;
	default:
		return ENOTTY_;
	}
}

/* ---- mmap ---- */

static long do_mmap(struct thread *t, uint32_t i, const uint64_t *a)
{
	const uint64_t size = PAGE_UP(a[1]), data = size / PAGE - 1;
	if (vpmu_event(i)->inherit || (a[3] & 3) != 1 || a[5] || !size)
		return EINVAL_;
	if (data & (data - 1))
		return EINVAL_;
	unsigned k = 0;
	while (k < MAX_MAPS && maps[k].size)
		k++;
	if (k == MAX_MAPS)
		return ENOMEM_;
	long at;
	const uint64_t page[6] = { a[0], PAGE, a[2], a[3], E.reserved_fd,
				   VPMU_PAGES_OFFSET + i * PAGE };
	if (!data) {
		at = gate(t, __NR_mmap, page);
	} else {
		/* no samples ever come: the buffer stays empty */
		const uint64_t all[6] = { a[0], size, a[2], (a[3] & ~3ull) | 0x21, -1ull, 0 };
		at = gate(t, __NR_mmap, all);
		if (at > 0)
			at = sys6(__NR_mmap, at, PAGE, (long)a[2], (long)(a[3] | 0x10),
				  E.reserved_fd, (long)page[5]);
	}
	if (at < 0)
		return at;
	sys3(__NR_madvise, at, size, 10);	/* DONTFORK */
	maps[k].at = (uint64_t)at;
	maps[k].size = size;
	maps[k].event = i;
	vpmu_maps++;
	vpmu_lock(t);
	vpmu_event(i)->refs++;		/* the descriptor may be closed now */
	vpmu_schedule(vpmu_event(i)->slot);
	vpmu_unlock();
	return at;
}

static void note_unmap(struct thread *t, uint64_t at, uint64_t size)
{
	for (unsigned k = 0; vpmu_maps && k < MAX_MAPS; k++) {
		if (!maps[k].size || at > maps[k].at || at + size <= maps[k].at)
			continue;
		maps[k].size = 0;
		vpmu_maps--;
		vpmu_lock(t);
		drop_ref(maps[k].event);
		vpmu_unlock();
	}
}

/* ---- all of it ---- */

static long do_dup(struct thread *t, long nr, const uint64_t *a)
{
	const uint32_t from = event_of(a[0]);
	const bool over = nr == __NR_dup2 || nr == __NR_dup3;
	const long fd = gate(t, nr, a);
	if (fd < 0 || (over && (uint32_t)a[0] == (uint32_t)a[1]))
		return fd;
	if (over && event_of((uint64_t)fd))
		forget_fd(t, (uint32_t)fd);
	if (from)
		add_fd(t, (uint32_t)fd, from);
	return fd;
}

static void note_close_range(struct thread *t, const uint64_t *a)
{
	if (a[2] & 4)		/* CLOSE_RANGE_CLOEXEC */
		return;
	for (uint32_t fd = (uint32_t)a[0]; vpmu_fds && fd < MAX_FD && fd <= (uint32_t)a[1]; fd++)
		if (fds[fd])
			forget_fd(t, fd);
}

static long fd_call(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	const uint32_t i = event_of(a[0]);
	*done = i != 0;
	switch (nr) {
	case __NR_read:
		return i ? do_read(t, i, a[1], a[2]) : 0;
	case __NR_ioctl:
		if (!i || (a[1] & 0xff00) != 0x2400) {
			*done = false;
			return 0;
		}
		return do_ioctl(t, i, a[1], a[2]);
	case __NR_write:
	case __NR_pwrite64:
	case __NR_writev:
		return EINVAL_;
	case __NR_lseek:
	case __NR_pread64:
		return ESPIPE_;
	case __NR_close:
		*done = false;
		if (i)
			forget_fd(t, (uint32_t)a[0]);
		return 0;
	case __NR_dup:
		return i ? do_dup(t, nr, a) : 0;
	case __NR_dup2:
	case __NR_dup3:
		*done = i || event_of(a[1]);
		if ((uint32_t)a[1] == E.reserved_fd)
			*done = false;
		return *done ? do_dup(t, nr, a) : 0;
	case __NR_fcntl:
		*done = i && ((uint32_t)a[1] == F_DUPFD || (uint32_t)a[1] == F_DUPFD_CLOEXEC);
		return *done ? do_dup(t, nr, a) : 0;
	default:
		*done = false;
		return 0;
	}
}

long vpmu_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	__atomic_store_n(&vpmu_slot(t->vslot)->in_call, nr != __NR_rt_sigreturn, __ATOMIC_RELAXED);
	order_syscall(t, nr, a);
	switch (nr) {
	case __NR_perf_event_open:
		return do_open(t, a, done);
	case __NR_mmap:
		if (!(a[3] & 0x20) && event_of(a[4])) {
			*done = true;
			return do_mmap(t, event_of(a[4]), a);
		}
		return 0;
	case __NR_munmap:
		note_unmap(t, a[0], PAGE_UP(a[1]));
		return 0;
	case __NR_close_range:
		note_close_range(t, a);
		return 0;
	default:
		break;
	}
	if (vpmu_fds) {
		const long ret = fd_call(t, nr, a, done);
		if (*done)
			return ret;
	}
	return vpmu_path(t, nr, a, done);
}
