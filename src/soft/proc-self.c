/* What the kernel says of this process, read without the program noticing. */
#include "engine.h"
#include "sys.h"
#include "text.h"


long own_open(long dir, const char *path, long flags)
{
	uint64_t now[2], all[2];
	long fd = sys4(__NR_openat, dir, path, flags, 0);
	if (fd != -EMFILE || sys4(__NR_prlimit64, 0, RLIMIT_NOFILE, 0, now) < 0 || now[0] >= now[1])
		return fd;
	all[0] = all[1] = now[1];
	if (sys4(__NR_prlimit64, 0, RLIMIT_NOFILE, all, 0) == 0) {
		fd = sys4(__NR_openat, dir, path, flags, 0);
		sys4(__NR_prlimit64, 0, RLIMIT_NOFILE, now, 0);
	}
	return fd;
}

bool is_traced(void)
{
	char text[2048];
	const long fd = own_open(AT_FDCWD, "/proc/thread-self/status", O_CLOEXEC);
	const long n = fd < 0 ? 0 : sys3(__NR_read, fd, text, sizeof(text) - 1);
	if (fd >= 0)
		sys1(__NR_close, fd);
	text[n > 0 ? n : 0] = '\0';
	for (const char *p = text; *p; p++)
		if (text_starts(p, "TracerPid:\t"))
			return p[11] != '0';
	return false;
}

long maps_open(void)
{
	return own_open(AT_FDCWD, "/proc/self/maps", O_CLOEXEC);
}

long maps_each(void (*what)(const char *line, void *arg), void *arg)
{
	static char text[65536];
	return maps_each_in(text, sizeof(text), what, arg);
}

long maps_each_in(char *text, size_t size, void (*what)(const char *line, void *arg), void *arg)
{
	const long fd = maps_open();
	if (fd < 0)
		return fd;
	size_t have = 0;
	long n;
	while ((n = sys3(__NR_read, fd, text + have, size - 1 - have)) > 0) {
		have += (size_t)n;
		text[have] = '\0';
		size_t line = 0;
		for (size_t i = 0; i < have; i++) {
			if (text[i] != '\n')
				continue;
			what(text + line, arg);
			line = i + 1;
		}
		have -= line;
		for (size_t i = 0; i < have; i++)
			text[i] = text[line + i];
	}
	sys1(__NR_close, fd);
	return n < 0 ? n : have ? -EIO : 0;
}

/* struct procmap_query of linux/fs.h */
bool maps_query(long fd, uint64_t addr, struct map_found *m)
{
	struct {
		uint64_t size, query_flags, query_addr, start, end, flags, page_size, offset, inode;
		uint32_t major, minor, name_size, build_id_size;
		uint64_t name_addr, build_id_addr;
	} q = { .size = sizeof(q), .query_addr = addr };
	if (sys3(__NR_ioctl, fd, PROCMAP_QUERY, &q) < 0)
		return false;
	*m = (struct map_found){ .start = q.start, .end = q.end, .flags = q.flags, .inode = q.inode };
	return true;
}

/* "TID (name) S …", and a name may have parentheses in it. */
char task_state(int32_t tid)
{
	struct line path = { 0 };
	char text[256];
	line_str(&path, "/proc/");
	line_num(&path, (uint64_t)tid, 10);
	line_str(&path, "/stat");
	path.text[path.len] = '\0';
	const long fd = own_open(AT_FDCWD, path.text, O_CLOEXEC);
	const long n = fd < 0 ? 0 : sys3(__NR_read, fd, text, sizeof(text));
	if (fd >= 0)
		sys1(__NR_close, fd);
	for (long i = n - 3; i >= 0; i--)
		if (text[i] == ')')
			return text[i + 2];
	return '\0';
}
