/* What /proc says of the process, without the engine: its mappings are taken out
 * of maps (also of the maps of other counted processes), its descriptor out of fd.
 */
#include "engine.h"
#include "sys.h"
#include "text.h"

#include <asm/unistd.h>

#ifndef __NR_openat2
#define __NR_openat2 437
#endif

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

static const char *last_part(const char *path)
{
	const char *last = path;
	for (const char *p = path; *p; p++)
		if (*p == '/')
			last = p + 1;
	return last;
}

/* ---- maps ---- */

static bool is_maps(const char *name)
{
	return text_equal(name, "maps") || text_equal(name, "smaps") ||
	       text_equal(name, "numa_maps");
}

static const char *parse_hex(const char *p, uint64_t *v)
{
	for (*v = 0;; p++) {
		if (*p >= '0' && *p <= '9')
			*v = *v << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*v = *v << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return p;
	}
}

static void put_hex8(struct line *l, uint64_t v)
{
	for (uint64_t limit = 0x10000000; v < limit && limit > 1; limit >>= 4)
		line_str(l, "0");
	line_num(l, v, 16);
}

/* One line; what follows it in smaps goes with it. False: it is all ours. */
static bool put_line(long out, const struct engine_view *v, const char *text, size_t len)
{
	uint64_t start, end, from, to;
	const char *p = parse_hex(text, &start);
	if (*p != '-') {
		/* numa_maps has only starts */
		if (own_range(v, start, start + 1, &from, &to))
			return false;
		sys3(__NR_write, out, text, len);
		return true;
	}
	p = parse_hex(p + 1, &end);
	if (!own_range(v, start, end, &from, &to)) {
		sys3(__NR_write, out, text, len);
		return true;
	}
	/* the kernel joins neighbours: the program's part stays */
	bool any = false;
	while (start < end) {
		const bool own = own_range(v, start, end, &from, &to);
		const uint64_t stop = own ? from : end;
		if (stop > start) {
			struct line l = { 0 };
			put_hex8(&l, start);
			line_str(&l, "-");
			put_hex8(&l, stop);
			sys3(__NR_write, out, l.text, l.len);
			sys3(__NR_write, out, p, len - (size_t)(p - text));
			any = true;
		}
		start = own ? to : end;
	}
	return any;
}

/* Lines of maps, and the first of each group of smaps, begin with an address. */
static bool header_line(const char *p)
{
	uint64_t start;
	const char *const q = parse_hex(p, &start);
	return q - p >= 8 && (*q == '-' || *q == ' ');
}

static void copy_lines(long in, long out, const struct engine_view *v)
{
	static char text[32768];
	size_t have = 0;
	bool shown = true;
	for (;;) {
		const long n = sys3(__NR_read, in, text + have, sizeof(text) - have);
		if (n <= 0)
			return;
		have += (size_t)n;
		size_t line = 0;
		for (size_t i = 0; i < have; i++) {
			if (text[i] != '\n')
				continue;
			if (header_line(text + line))
				shown = put_line(out, v, text + line, i + 1 - line);
			else if (shown)
				sys3(__NR_write, out, text + line, i + 1 - line);
			line = i + 1;
		}
		have -= line;
		for (size_t i = 0; i < have; i++)
			text[i] = text[line + i];
	}
}

struct io { const void *base; uint64_t len; };

static bool read_other(uint64_t pid, void *to, const void *from, uint64_t len)
{
	const struct io here = { to, len }, there = { from, len };
	return sys6(__NR_process_vm_readv, (long)pid, (long)&here, 1, (long)&there, 1, 0) ==
	       (long)len;
}

/* The engine lies at the same addresses in every process. */
static bool view_of(uint64_t pid, struct engine_view *v)
{
	static struct segment segments[MAX_SEGMENTS];
	static uint8_t table[T_CHUNKS];
	struct soft_shared *shared;
	*v = (struct engine_view){ .segments = segments, .t_mapped = table };
	if (!read_other(pid, &shared, &E.shared, sizeof(shared)) || shared != E.shared)
		return false;
	return read_other(pid, &v->where, &E.where, sizeof(E.where)) &&
	       read_other(pid, &v->n_thread_places, &E.n_thread_places,
			  sizeof(E.n_thread_places)) &&
	       read_other(pid, &v->n_segments, &E.n_segments, sizeof(E.n_segments)) &&
	       v->n_segments <= MAX_SEGMENTS &&
	       read_other(pid, segments, E.segments, v->n_segments * sizeof(segments[0])) &&
	       read_other(pid, table, t_mapped, sizeof(table));
}

static bool is_own(const struct thread *t, uint64_t pid)
{
	return pid == (uint64_t)E.pid || pid == (uint64_t)t->tid;
}

/* A private copy of the file, without our lines, under the same number. */
static void filter(struct thread *t, long fd, uint64_t pid)
{
	const bool own = is_own(t, pid);
	const long out = sys2(__NR_memfd_create, "maps", 1);
	if (out < 0)
		return;
	if (own)
		pages_open(t, 0, 1ull << 47);	/* shown with the program's own protection */
	lock_take(t);
	struct engine_view v = view_own();
	const bool known = own || view_of(pid, &v);
	if (known)
		copy_lines(fd, out, &v);
	lock_drop();
	if (known) {
		sys3(__NR_lseek, out, 0, 0);
		const long flags = sys3(__NR_fcntl, fd, 1, 0);
		sys3(__NR_dup3, out, fd, flags & 1 ? 02000000 : 0);
	}
	sys1(__NR_close, out);
}

/* ---- status ---- */

static void put_mask(char *at, uint64_t mask)
{
	for (int i = 15; i >= 0; i--, mask >>= 4)
		at[i] = "0123456789abcdef"[mask & 15];
}

static uint64_t actions_mask(const struct thread *t, bool caught)
{
	uint64_t mask = 0;
	for (int sig = 1; sig <= 64; sig++)
		if (caught ? t->actions[sig].handler > 1 : t->actions[sig].handler == 1)
			mask |= SIG_BIT(sig);
	return mask;
}

/* The program's own signals; and the descriptor table as large as the command would
 * have got it, unless it has grown beyond ours since. */
static void own_status(struct thread *t, long fd)
{
	static const char with[] = "FDSize:\t2048\n";
	char text[4096];
	const long n = sys4(__NR_pread64, fd, text, sizeof(text) - 1, 0);
	const long out = n > 0 ? sys2(__NR_memfd_create, "status", 1) : -1;
	if (out < 0)
		return;
	text[n] = '\0';
	const char *done = text;
	for (char *p = text; *p; p++) {
		if (text_starts(p, "SigCgt:\t")) {
			put_mask(p + 8, actions_mask(t, true));
		} else if (text_starts(p, "SigIgn:\t")) {
			put_mask(p + 8, actions_mask(t, false));
		} else if (text_starts(p, "SigBlk:\t")) {
			put_mask(p + 8, t->app_mask);
		} else if (text_starts(p, with) && E.reserved_fd < 2048 &&
			   E.shared->fd_size) {
			sys3(__NR_write, out, text, p - text);
			struct line l = { 0 };
			line_str(&l, "FDSize:\t");
			line_num(&l, E.shared->fd_size, 10);
			line_str(&l, "\n");
			sys3(__NR_write, out, l.text, l.len);
			done = p + sizeof(with) - 1;
		}
	}
	sys3(__NR_write, out, done, text + n - done);
	sys3(__NR_lseek, out, 0, 0);
	sys3(__NR_dup3, out, fd, sys3(__NR_fcntl, fd, 1, 0) & 1 ? 02000000 : 0);
	sys1(__NR_close, out);
}

/* ---- opening ---- */

/* "/proc/NUMBER/…" of the file behind a descriptor. */
static bool proc_pid(long fd, uint64_t *pid)
{
	char path[40], link[80];
	fd_link(path, sizeof(path), (uint64_t)fd);
	const long n = sys4(__NR_readlinkat, -100, path, link, sizeof(link) - 1);
	if (n < 8)
		return false;
	link[n] = '\0';
	if (!text_starts(link, "/proc/"))
		return false;
	*pid = 0;
	const char *p = link + 6;
	while (*p >= '0' && *p <= '9')
		*pid = *pid * 10 + (uint64_t)(*p++ - '0');
	return p > link + 6 && *p == '/';
}

/* …/fd/N with our N: natively there is no such descriptor. */
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
	const char *const last = last_part(path);
	const bool open = nr != __NR_readlink && nr != __NR_readlinkat;
	const bool mem = text_equal(last, "mem"), status = text_equal(last, "status");
	if (is_our_link(path, last)) {
		*done = true;
		return -2;
	}
	if (!open || (!mem && !status && !is_maps(last)))
		return 0;
	*done = true;
	uint64_t pid;
	const long fd = gate(t, nr, a);
	if (fd < 0 || !proc_pid(fd, &pid))
		return fd;
	if (mem)
		E.mem_open |= is_own(t, pid);
	else if (status && is_own(t, pid))
		own_status(t, fd);
	else if (!status)
		filter(t, fd, pid);
	return fd;
}

/* ---- listing ---- */

struct dirent64 {
	uint64_t ino, off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static bool lists_fds(uint64_t fd)
{
	char path[40], link[80];
	fd_link(path, sizeof(path), fd);
	const long n = sys4(__NR_readlinkat, -100, path, link, sizeof(link) - 1);
	if (n < 8)
		return false;
	link[n] = '\0';
	const char *const last = last_part(link);
	return text_starts(link, "/proc/") &&
	       (text_equal(last, "fd") || text_equal(last, "fdinfo"));
}

/* Takes our descriptor out of a listing of /proc/self/fd. */
static long hide_fd(const uint64_t *a, long got)
{
	char number[24];
	number_text(number, sizeof(number), E.reserved_fd);
	uint8_t *const buf = (uint8_t *)a[1];
	for (long at = 0; at < got;) {
		struct dirent64 *const d = (struct dirent64 *)(buf + at);
		const uint16_t len = d->reclen;
		if (!text_equal(d->name, number)) {
			at += len;
			continue;
		}
		if (!lists_fds(a[0]))
			return got;
		for (long i = at + len; i < got; i++)
			buf[i - len] = buf[i];
		return got - len;
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
		const long left = hide_fd(a, got);
		if (left)
			return left;
		got = gate(t, nr, a);		/* only ours was in it: that is not the end */
	}
	return got;
}
