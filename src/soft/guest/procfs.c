/* /proc without the engine: the engine's mappings are left out of maps and similar files (also of
 * those of other counted processes), and its descriptor out of fd.
 */
#include "guest-room.h"
#include "procfs.h"
#include "sys.h"
#include "text.h"

static void number_text(char *to, size_t size, uint64_t v)
{
	struct line l = { 0 };
	line_num(&l, v, 10);
	copy_text(to, size, l.text, l.len);
}

static void fd_link(char *path, size_t size, uint64_t fd)
{
	struct line l = { 0 };
	line_str(&l, "/proc/self/fd/");
	line_num(&l, fd, 10);
	copy_text(path, size, l.text, l.len);
}

const char *proc_last_part(const char *path)
{
	const char *last = path;
	for (const char *p = path; *p; p++)
		if (*p == '/')
			last = p + 1;
	return last;
}

/* ---- files about a process ---- */

enum proc_kind proc_kind_of(const char *last)
{
	static const struct { const char *name; enum proc_kind kind; } names[] = {
		{ "maps", PROC_MAPS }, { "smaps", PROC_SMAPS }, { "numa_maps", PROC_NUMA },
		{ "smaps_rollup", PROC_ROLLUP }, { "status", PROC_STATUS },
		{ "pagemap", PROC_PAGEMAP }, { "mem", PROC_MEM },
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (text_equal(last, names[i].name))
			return names[i].kind;
	if (E.machine && text_equal(last, "auxv"))
		return PROC_AUXV;
	if (E.machine && text_equal(last, "stat"))
		return PROC_STAT;
	return PROC_OTHER;
}

bool proc_read_memory(uint64_t pid, void *to, const void *from, uint64_t len)
{
	const struct iovec here = { to, len }, there = { (void *)from, len };
	return sys6(__NR_process_vm_readv, (long)pid, (long)&here, 1, (long)&there, 1, 0) ==
	       (long)len;
}

/* The engine is at the same addresses in every process. */
static bool view_of(uint64_t pid, struct engine_view *v)
{
	static struct segment segments[MAX_SEGMENTS];
	static uint8_t table[T_CHUNKS];
	struct soft_shared *shared;
	*v = (struct engine_view){ .segments = segments, .t_mapped = table };
	if (!proc_read_memory(pid, &shared, &E.shared, sizeof(shared)) || shared != E.shared)
		return false;
	return proc_read_memory(pid, &v->where, &cache.where, sizeof(cache.where)) &&
	       proc_read_memory(pid, &v->n_thread_addresses, &E.n_thread_addresses,
			  sizeof(E.n_thread_addresses)) &&
	       proc_read_memory(pid, &v->n_segments, &cache.n_segments, sizeof(cache.n_segments)) &&
	       v->n_segments <= MAX_SEGMENTS &&
	       proc_read_memory(pid, segments, cache.segments, v->n_segments * sizeof(segments[0])) &&
	       proc_read_memory(pid, table, t_mapped, sizeof(table));
}

bool proc_is_own(const struct thread *t, uint64_t pid)
{
	return pid == (uint64_t)E.pid || pid == (uint64_t)t->tid;
}

bool proc_view(const struct thread *t, uint64_t pid, struct engine_view *v)
{
	*v = view_own();
	return proc_is_own(t, pid) || view_of(pid, v);
}

/* Of the thread f->tid; of the first thread if there is none of that tid, which then is of another
 * pid namespace. */
bool proc_signals(const struct proc_file *f, struct proc_signals *of)
{
	static struct k_sigaction actions[N_SIGNALS + 1];	/* guarded by the lock */
	static struct thread it;
	uint32_t n = 0, found = 0;
	if (!proc_read_memory(f->pid, &n, &E.n_threads, sizeof(n)) || n > MAX_THREADS)
		return false;
	/* the part of a struct thread that is needed here */
	const uint64_t part = offsetof(struct thread, signal.own_actions);
	for (uint32_t i = 0; i < n && !found; i++)
		if (proc_read_memory(f->pid, &it, thread_at(i), part) && it.in_use && (uint64_t)it.tid == f->tid)
			found = i + 1;
	if ((!found && !proc_read_memory(f->pid, &it, thread_at(0), part)) ||
	    !proc_read_memory(f->pid, actions, it.signal.actions, sizeof(actions)))
		return false;
	*of = (struct proc_signals){ .blocked = it.signal.mask };
	for (int sig = 1; sig <= N_SIGNALS; sig++) {
		of->caught |= actions[sig].handler > SIGNAL_IGNORED ? SIG_BIT(sig) : 0;
		of->ignored |= actions[sig].handler == SIGNAL_IGNORED ? SIG_BIT(sig) : 0;
	}
	return true;
}

long proc_fd_target(uint64_t fd, char *link, size_t size)
{
	char path[40];
	fd_link(path, sizeof(path), fd);
	const long n = sys4(__NR_readlinkat, AT_FDCWD, path, link, size - 1);
	link[n > 0 ? n : 0] = '\0';
	return n;
}


static bool is_proc(long fd)
{
	uint64_t st[15];			/* struct statfs: 120 bytes, its type first */
	return sys2(__NR_fstatfs, fd, st) == 0 && st[0] == PROC_SUPER_MAGIC;
}

/* Files of /proc are regular files of size 0. */
bool proc_identify(long fd, struct proc_file *f)
{
	struct k_stat st;
	char link[128];
	if (sys2(__NR_fstat, fd, &st) < 0 || (st.mode & S_IFMT) != S_IFREG || st.size ||
	    !is_proc(fd) || proc_fd_target((uint64_t)fd, link, sizeof(link)) < 8)
		return false;
	const char *const last = proc_last_part(link);
	*f = (struct proc_file){ .fd = fd, .kind = proc_kind_of(last), .ino = st.ino };
	if (f->kind == PROC_OTHER)
		return false;
	/* "…/PID/NAME" or "…/PID/task/TID/NAME", wherever /proc is mounted */
	const char *p = last;
	int slashes = 0;
	while (p > link && (p[-1] != '/' || ++slashes < 2))
		p--;
	if (text_decimal(p, &f->tid) != last - 1)
		return false;
	f->pid = f->tid;
	if (p - link > 6 && text_starts(p - 6, "/task/")) {
		for (p -= 6; p > link && p[-1] != '/'; p--)
			;
		text_decimal(p, &f->pid);
	}
	return f->pid != 0;
}

/* ---- opening ---- */

/* …/fd/N of the engine's descriptor: natively there is no such file. */
static bool is_our_link(const char *path, const char *last)
{
	char number[24];
	number_text(number, sizeof(number), E.reserved_fd);
	return text_equal(last, number) && last >= path + 4 && text_starts(last - 4, "/fd/") &&
	       text_starts(path, "/proc/");
}

static long by_path(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	char path[256];
	if (!copy_string(path, sizeof(path), a[nr == __NR_open || nr == __NR_readlink ? 0 : 1]))
		return 0;
	const char *const last = proc_last_part(path);
	const bool open = nr != __NR_readlink && nr != __NR_readlinkat;
	if (is_our_link(path, last)) {
		*done = true;
		return -ENOENT;
	}
	/* a number may be a link to an open file (/proc/self/fd/N) */
	if (!open || (proc_kind_of(last) == PROC_OTHER && !(*last >= '0' && *last <= '9')))
		return 0;
	*done = true;
	struct proc_file f;
	const long fd = gate(t, nr, a);
	if (fd < 0 || !proc_identify(fd, &f))
		return fd;
	if (f.kind == PROC_MEM && proc_is_own(t, f.pid))
		guest.mem_open = true;
	else if (f.kind == PROC_MEM)
		guest.others_mem_open = true;
	else
		__atomic_fetch_or(&E.shared->flags, SOFT_FLAG_PROC, __ATOMIC_RELAXED);
	return fd;
}

/* ---- listing ---- */

struct dirent64 {
	uint64_t ino, off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

enum listing { LISTS_OTHER, LISTS_FDS, LISTS_MAPS };

static enum listing what_lists(uint64_t fd)
{
	char link[80];
	if (proc_fd_target(fd, link, sizeof(link)) < 8 || !text_starts(link, "/proc/"))
		return LISTS_OTHER;
	const char *const last = proc_last_part(link);
	return text_equal(last, "fd") || text_equal(last, "fdinfo") ? LISTS_FDS :
	       text_equal(last, "map_files") ? LISTS_MAPS : LISTS_OTHER;
}

/* "START-END" of map_files */
static bool names_own_memory(const char *name)
{
	uint64_t start, end;
	const char *p = text_hex(name, &start);
	if (p == name || *p != '-')
		return false;
	const char *const q = text_hex(p + 1, &end);
	return !*q && q > p + 1 && engine_owns(start, end);
}

/* Removes the engine's descriptor from a listing of /proc/self/fd, and its mappings from one of
 * map_files. */
static long hide_entries(const uint64_t *a, long got)
{
	char number[24];
	number_text(number, sizeof(number), E.reserved_fd);
	uint8_t *const buf = (uint8_t *)a[1];
	for (long at = 0; at < got;) {
		struct dirent64 *const d = (struct dirent64 *)(buf + at);
		const uint16_t len = d->reclen;
		const enum listing of = text_equal(d->name, number) ? LISTS_FDS :
					names_own_memory(d->name) ? LISTS_MAPS : LISTS_OTHER;
		if (of == LISTS_OTHER) {
			at += len;
			continue;
		}
		if (what_lists(a[0]) != of)
			return got;
		for (long i = at + len; i < got; i++)
			buf[i - len] = buf[i];
		got -= len;
	}
	return got;
}

long proc_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	if (nr != __NR_getdents64)
		return by_path(t, nr, a, done);
	*done = true;
	long got = gate(t, nr, a);
	while (got > 0) {
		const long left = hide_entries(a, got);
		if (left)
			return left;
		got = gate(t, nr, a);		/* none is left: read the next ones */
	}
	return got;
}
