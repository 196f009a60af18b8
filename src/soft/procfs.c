/* What /proc says of the process, without the engine: its mappings are taken out
 * of maps, its descriptor out of fd. */
#include "engine.h"
#include "sys.h"
#include "text.h"

#include <asm/unistd.h>

static bool own_pid(const char *p, const char **rest)
{
	if (text_starts(p, "self/")) {
		*rest = p + 5;
		return true;
	}
	if (text_starts(p, "thread-self/")) {
		*rest = p + 12;
		return true;
	}
	uint64_t n = 0;
	const char *q = p;
	while (*q >= '0' && *q <= '9')
		n = n * 10 + (uint64_t)(*q++ - '0');
	if (q == p || *q != '/' || n != (uint64_t)E.pid)
		return false;
	*rest = q + 1;
	return true;
}

/* "maps" or "smaps" of this process, or of one of its threads. */
static bool is_maps(const char *path)
{
	const char *p;
	if (!text_starts(path, "/proc/") || !own_pid(path + 6, &p))
		return false;
	if (text_starts(p, "task/")) {
		p += 5;
		while (*p && *p != '/')
			p++;
		if (*p)
			p++;
	}
	return text_equal(p, "maps") || text_equal(p, "smaps") || text_equal(p, "numa_maps");
}

static bool is_ours(uint64_t start)
{
	if (start >= ZONE_BASE && start < ZONE_END)
		return true;
	if (start >= E.table && start < E.table + (4ull << 32) && table_is_mapped((start - E.table) / 4))
		return true;
	if (start >= E.entries && start < E.entries + (256u << 20))
		return true;
	return segment_of(start) != NULL;
}

static bool header_line(const char *p, uint64_t *start)
{
	uint64_t v = 0;
	const char *q = p;
	for (;; q++) {
		if (*q >= '0' && *q <= '9')
			v = v << 4 | (uint64_t)(*q - '0');
		else if (*q >= 'a' && *q <= 'f')
			v = v << 4 | (uint64_t)(*q - 'a' + 10);
		else
			break;
	}
	*start = v;
	return q > p && *q == '-';
}

/* A private copy of the file, without our lines. */
static long filtered(struct thread *t, long fd)
{
	const long out = sys2(__NR_memfd_create, "maps", 1);
	if (out < 0)
		return fd;
	static char text[32768];
	size_t have = 0;
	bool skip = false;
	lock_take(t);
	for (;;) {
		const long n = sys3(__NR_read, fd, text + have, sizeof(text) - have);
		if (n <= 0)
			break;
		have += (size_t)n;
		size_t line = 0;
		for (size_t i = 0; i < have; i++) {
			if (text[i] != '\n')
				continue;
			uint64_t start;
			if (header_line(text + line, &start))
				skip = is_ours(start);
			if (!skip)
				sys3(__NR_write, out, text + line, i + 1 - line);
			line = i + 1;
		}
		have -= line;
		for (size_t i = 0; i < have; i++)
			text[i] = text[line + i];
	}
	lock_drop();
	sys3(__NR_lseek, out, 0, 0);
	/* the program gets the number it would have got */
	sys3(__NR_dup3, out, fd, 02000000);
	sys1(__NR_close, out);
	return fd;
}

static long open_maps(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	char path[64];
	const uint64_t at = a[nr == __NR_openat ? 1 : 0];
	size_t n = 0;
	while (n < sizeof(path) - 1) {
		if (!copy_guest(path + n, (const char *)at + n, 1))
			return 0;
		if (!path[n])
			break;
		if (++n == 6 && !mem_equal(path, "/proc/", 6))
			return 0;
	}
	path[n] = '\0';
	if (!is_maps(path))
		return 0;
	*done = true;
	const long fd = gate(t, nr, a);
	return fd < 0 ? fd : filtered(t, fd);
}

struct dirent64 {
	uint64_t ino, off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

/* Takes our descriptor out of a listing of /proc/self/fd. */
static long hide_fd(const uint64_t *a, long got)
{
	char number[24], link[64], path[64];
	struct line l = { 0 };
	line_num(&l, E.reserved_fd, 10);
	mem_copy(number, l.text, l.len);
	number[l.len] = '\0';
	uint8_t *const buf = (uint8_t *)a[1];
	for (long at = 0; at < got;) {
		struct dirent64 *const d = (struct dirent64 *)(buf + at);
		if (!text_equal(d->name, number)) {
			at += d->reclen;
			continue;
		}
		l.len = 0;
		line_str(&l, "/proc/self/fd/");
		line_num(&l, a[0], 10);
		mem_copy(path, l.text, l.len);
		path[l.len] = '\0';
		const long n = sys4(__NR_readlinkat, -100, path, link, sizeof(link) - 1);
		if (n < 6)
			return got;
		link[n] = '\0';
		const char *rest;
		if (!text_starts(link, "/proc/") || !own_pid(link + 6, &rest))
			return got;
		const uint16_t len = d->reclen;
		for (long i = at + len; i < got; i++)
			buf[i - len] = buf[i];
		return got - len;
	}
	return got;
}

long proc_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	if (nr != __NR_getdents64)
		return open_maps(t, nr, a, done);
	*done = true;
	const long got = gate(t, nr, a);
	return got > 0 ? hide_fd(a, got) : got;
}
