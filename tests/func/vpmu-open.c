/* perf_event_open of the virtual PMU: what it refuses, and how; read formats, ioctls,
 * groups, the life of a descriptor. Run by `tare run --cpu zen2`. */
#include "vpmu.h"

#include <fcntl.h>
#include <sys/prctl.h>

#define OPEN_FAILS(want, ...)                                                  \
	do {                                                                   \
		const int got_ = vpmu_open(__VA_ARGS__);                       \
		CHECK(got_ == -(want), "got %d, want %d", got_, -(want));      \
	} while (0)

static void refusals(void)
{
	struct perf_event_attr a = vpmu_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	OPEN_FAILS(ENOENT, &a, 0, -1, -1, 0);
	a = vpmu_attr(PERF_TYPE_RAW, 0x0076);	/* zen2's cycles */
	OPEN_FAILS(ENOENT, &a, 0, -1, -1, 0);
	a = vpmu_attr(PERF_TYPE_HW_CACHE, 0);
	OPEN_FAILS(ENOENT, &a, 0, -1, -1, 0);
	a = vpmu_instructions();
	a.exclude_kernel = 0;
	OPEN_FAILS(EACCES, &a, 0, -1, -1, 0);
	a = vpmu_instructions();
	OPEN_FAILS(EINVAL, &a, 0, -1, -1, 1ul << 20);
	OPEN_FAILS(EINVAL, &a, -1, -1, -1, 0);
	OPEN_FAILS(EACCES, &a, -1, 0, -1, 0);
	OPEN_FAILS(EBADF, &a, 0, -1, 999, 0);
	OPEN_FAILS(ESRCH, &a, 0x3fffffff, -1, -1, 0);
	OPEN_FAILS(EFAULT, (struct perf_event_attr *)16, 0, -1, -1, 0);
	a.__reserved_2 = 1;
	OPEN_FAILS(EINVAL, &a, 0, -1, -1, 0);
	a = vpmu_instructions();
	a.read_format = 1 << 10;
	OPEN_FAILS(EINVAL, &a, 0, -1, -1, 0);
	a = vpmu_instructions();
	a.sample_period = 1ull << 63;
	OPEN_FAILS(EINVAL, &a, 0, -1, -1, 0);
}

static void sizes(void)
{
	union {
		struct perf_event_attr a;
		unsigned char bytes[512];
	} big;
	memset(&big, 0, sizeof(big));
	big.a = vpmu_instructions();
	big.a.size = 8;
	OPEN_FAILS(E2BIG, &big.a, 0, -1, -1, 0);
	CHECK(big.a.size == sizeof(struct perf_event_attr), "size %u", big.a.size);
	big.a.size = sizeof(big);
	const int fd = vpmu_open(&big.a, 0, -1, -1, 0);
	CHECK(fd >= 0, "zeros beyond the end: %d", fd);
	close(fd);
	big.bytes[500] = 1;
	OPEN_FAILS(E2BIG, &big.a, 0, -1, -1, 0);
	CHECK(big.a.size == sizeof(struct perf_event_attr), "size %u", big.a.size);
	big.a.size = 0;
	const int old = vpmu_open(&big.a, 0, -1, -1, 0);
	CHECK(old >= 0, "size 0: %d", old);
	close(old);
}

static void formats(void)
{
	for (uint64_t format = 0; format < 16; format++) {
		struct perf_event_attr a = vpmu_instructions();
		uint64_t v[8];
		a.read_format = format;
		const int fd = vpmu_open(&a, 0, -1, -1, 0);
		CHECK(fd >= 0, "format %ju: %d", (uintmax_t)format, fd);
		const ssize_t want = 8 * (1 + !!(format & 1) + !!(format & 2) + !!(format & 4) +
					  !!(format & 8));
		CHECK(read(fd, v, (size_t)want - 1) == -1 && errno == ENOSPC, "short read");
		CHECK(read(fd, v, sizeof(v)) == want, "format %ju", (uintmax_t)format);
		if (format & PERF_FORMAT_GROUP)
			CHECK(v[0] == 1, "%ju members", (uintmax_t)v[0]);
		if (format & PERF_FORMAT_ID) {
			uint64_t id = 0;
			CHECK(ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0, "ioctl ID");
			CHECK(id && id == v[want / 8 - 1], "id %ju", (uintmax_t)id);
		}
		close(fd);
	}
}

static void switches(void)
{
	struct perf_event_attr a = vpmu_instructions();
	a.disabled = 1;
	const int fd = vpmu_open(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC, "cloexec");
	vpmu_loop(1000);
	CHECK(vpmu_read(fd) == 0, "disabled");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	vpmu_loop(1000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	const uint64_t once = vpmu_read(fd);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	vpmu_loop(1000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	const uint64_t twice = vpmu_read(fd);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	vpmu_loop(1500);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	CHECK(twice == 2 * once && once > 2001, "%ju and %ju", (uintmax_t)once, (uintmax_t)twice);
	CHECK(vpmu_read(fd) - twice == once + 1000, "a longer loop");
	CHECK(vpmu_read(fd) == vpmu_read(fd), "stands still");
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	CHECK(vpmu_read(fd) == 0, "reset");
	CHECK(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) == -1 && errno == EINVAL, "refresh");
	CHECK(write(fd, "x", 1) == -1 && errno == EINVAL, "write");
	prctl(PR_TASK_PERF_EVENTS_ENABLE);
	CHECK(vpmu_read(fd) > 0, "prctl enables");
	prctl(PR_TASK_PERF_EVENTS_DISABLE);
	CHECK(vpmu_read(fd) == vpmu_read(fd), "prctl disables");
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	const int copy = dup(fd);
	close(fd);
	CHECK(vpmu_read(copy) == 0, "a copy outlives the first");
	ioctl(copy, PERF_EVENT_IOC_ENABLE, 0);
	CHECK(vpmu_read(copy) > 0, "and works");
	close(copy);
}

/* Six counters, so a group of seven never fits. */
static void groups(void)
{
	struct perf_event_attr a = vpmu_instructions();
	int fds[7];
	uint64_t v[16];
	a.disabled = 1;
	a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			PERF_FORMAT_TOTAL_TIME_RUNNING;
	fds[0] = vpmu_open(&a, 0, -1, -1, 0);
	a.disabled = 0;
	for (int i = 1; i < 6; i++) {
		a.config = i & 1 ? PERF_COUNT_HW_BRANCH_INSTRUCTIONS : PERF_COUNT_HW_INSTRUCTIONS;
		fds[i] = vpmu_open(&a, 0, -1, fds[0], 0);
		CHECK(fds[i] >= 0, "member %d: %d", i, fds[i]);
	}
	OPEN_FAILS(EINVAL, &a, 0, -1, fds[0], 0);
	OPEN_FAILS(EINVAL, &a, 0, -1, fds[1], 0);
	a.pinned = 1;
	OPEN_FAILS(EINVAL, &a, 0, -1, fds[0], 0);
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	vpmu_loop(5000);
	ioctl(fds[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	CHECK(read(fds[0], v, sizeof(v)) == 9 * 8, "size");
	CHECK(v[0] == 6 && v[1] == v[2] && v[1] > 0, "%ju members", (uintmax_t)v[0]);
	for (int i = 0; i < 6; i++)
		CHECK(v[3 + i] == v[3 + (i & 1)], "member %d: %ju", i, (uintmax_t)v[3 + i]);
	CHECK(v[3] > 10001 && v[4] >= 5000 && v[4] < 5100, "%ju %ju", (uintmax_t)v[3],
	      (uintmax_t)v[4]);
	for (int i = 0; i < 6; i++)
		close(fds[i]);
}

int main(void)
{
	refusals();
	sizes();
	formats();
	switches();
	groups();
	return 0;
}
