/* The system calls of counting: open and read. */
#include "perf-attr.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void perf_attr_fill(struct perf_event_attr *attr, const struct tare_encoding *e)
{
	memset(attr, 0, sizeof(*attr));
	/* Every kernel since 4.1 takes this size; nothing newer is needed, and a
	 * larger one gets E2BIG from old kernels. */
	attr->size = PERF_ATTR_SIZE_VER5;
	attr->type = e->type;
	attr->config = e->config;
	attr->config1 = e->config1;
	attr->config2 = e->config2;
	attr->exclude_user = e->exclude_user;
	attr->exclude_kernel = e->exclude_kernel;
	attr->exclude_hv = e->exclude_hv;
	attr->exclude_host = e->exclude_host;
	attr->exclude_guest = e->exclude_guest;
	attr->exclude_idle = e->exclude_idle;
	attr->pinned = e->pinned;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
	const long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd,
				PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

/* Reads `head` words and, for each of n events, one word or two (PERF_FORMAT_LOST): *each. */
static int read_words(int fd, uint64_t *words, size_t head, size_t n, size_t *each)
{
	ssize_t got;
	do
		got = read(fd, words, (head + 2 * n) * sizeof(*words));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if (got == 0)
		return 1;
	for (*each = 1; *each <= 2; ++*each)
		if ((size_t)got == (head + *each * n) * sizeof(*words))
			return 0;
	return -EIO;
}

int perf_read(int fd, struct perf_value *v)
{
	uint64_t words[4];
	size_t each;
	/* value, enabled, running[, lost] */
	const int r = read_words(fd, words, 2, 1, &each);
	if (r == 0)
		*v = (struct perf_value){ words[0], words[1], words[2], each == 2 ? words[3] : 0 };
	return r;
}

int perf_read_group(int fd, struct perf_value *v, unsigned n)
{
	uint64_t words[3 + 2 * 64];
	size_t each;
	if (n > 64)
		return -EINVAL;
	/* n, enabled, running, then value[, lost] for each */
	const int r = read_words(fd, words, 3, n, &each);
	if (r)
		return r;
	if (words[0] != n)
		return -EIO;
	for (unsigned i = 0; i < n; i++) {
		const uint64_t *const w = words + 3 + each * i;
		v[i] = (struct perf_value){ w[0], words[1], words[2], each == 2 ? w[1] : 0 };
	}
	return 0;
}
