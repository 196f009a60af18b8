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
