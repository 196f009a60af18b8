/* A virtual event beside one of the kernel's own: what can be done with a descriptor, and what
 * cannot, has the same result on both. Run by `tare run --cpu zen2`. */
#include "vpmu.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/uio.h>

static struct perf_event_attr clock_attr(void)
{
	return vpmu_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
}

static long outcome(long ret)
{
	return ret < 0 ? -errno : ret;
}

/* ---- perf_event_open: each changes one thing ---- */

#define CHANGES(X)                                                                                   \
	X(a.size = 8)                                                                                \
	X(a.size = 1 << 20)                                                                          \
	X(a.__reserved_2 = 1)                                                                        \
	X(a.__reserved_3 = 1)                                                                        \
	X(a.read_format = 1 << 10)                                                                   \
	X(a.sample_type = 1ull << 40)                                                                \
	X(a.inherit_thread = 1)                                                                      \
	X(a.sigtrap = 1)                                                                             \
	X(a.enable_on_exec = a.remove_on_exec = 1)                                                   \
	X(a.sample_type = PERF_SAMPLE_REGS_USER)                                                     \
	X((a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 65535))                     \
	X((a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 7))                         \
	X(a.sample_type = PERF_SAMPLE_REGS_INTR)                                                     \
	X(a.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)                            \
	X(a.sample_type = PERF_SAMPLE_BRANCH_STACK)                                                  \
	X((a.sample_type = PERF_SAMPLE_BRANCH_STACK, a.branch_sample_type = 1ull << 50))             \
	X((a.freq = 1, a.sample_freq = 1ull << 40))                                                  \
	X(a.sample_period = 1ull << 63)                                                              \
	X((a.use_clockid = 1, a.clockid = 77))                                                       \
	X((a.inherit = 1, a.read_format = PERF_FORMAT_GROUP))                                        \
	X(pid = -5)                                                                                  \
	X(pid = 0x3fffffff)                                                                          \
	X(pid = -1)                                                                                  \
	X(cpu = -2)                                                                                  \
	X(cpu = 9999)                                                                                \
	X((pid = -1, cpu = 9999))                                                                    \
	X(group = 1)                                                                                 \
	X(group = 999)                                                                               \
	X(flags = 1 << 20)                                                                           \
	X(flags = PERF_FLAG_PID_CGROUP)                                                              \
	X((flags = PERF_FLAG_PID_CGROUP, pid = 999, cpu = 0))                                        \
	X(flags = PERF_FLAG_FD_OUTPUT)                                                               \
	X(flags = PERF_FLAG_FD_NO_GROUP)                                                             \
	X((group = leader, flags = PERF_FLAG_FD_OUTPUT))                                             \
	X((group = leader, flags = PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP))                     \
	X(group = leader)                                                                            \
	X((group = leader, a.pinned = 1))                                                            \
	X((group = leader, a.exclusive = 1))                                                         \
	X((group = leader, a.inherit = 1))                                                           \
	X((group = leader, cpu = 0))                                                                 \
	X((group = leader, a.use_clockid = 1, a.clockid = 1))                                        \
	X((group = leader, pid = other))                                                             \
	X((group = leader, flags = PERF_FLAG_FD_NO_GROUP, a.pinned = 1))                             \
	X(group = member)

static long try_open(struct perf_event_attr a, int n, int leader, int member, int other)
{
	int pid = 0, cpu = -1, group = -1, at = 0;
	unsigned long flags = 0;
#define CHANGE(x)                                                                                    \
	if (at++ == n)                                                                               \
		(void)(x);
	CHANGES(CHANGE)
	const uint32_t size = a.size;
	const int fd = vpmu_open(&a, pid, cpu, group, flags);
	CHECK(size == a.size || (fd == -E2BIG && a.size >= PERF_ATTR_SIZE_VER7), "size %u", a.size);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void opens(int other)
{
#define NAME(x) #x,
	static const char *const names[] = { CHANGES(NAME) };
	const struct perf_event_attr a[2] = { clock_attr(), vpmu_instructions() };
	int leader[2], member[2];
	for (int i = 0; i < 2; i++) {
		leader[i] = vpmu_open(&a[i], 0, -1, -1, 0);
		member[i] = vpmu_open(&a[i], 0, -1, leader[i], 0);
		CHECK(leader[i] >= 0 && member[i] >= 0, "%d %d", leader[i], member[i]);
	}
	for (int n = 0; n < (int)(sizeof(names) / sizeof(names[0])); n++) {
		const long kernel = try_open(a[0], n, leader[0], member[0], other);
		const long ours = try_open(a[1], n, leader[1], member[1], other);
		CHECK(kernel == ours, "%s: %ld, the kernel says %ld", names[n], ours, kernel);
	}
	for (int i = 0; i < 2; i++) {
		close(leader[i]);
		close(member[i]);
	}
}

/* ---- what is done with a descriptor ---- */

static long poll_it(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };
	return poll(&p, 1, 0) * 1000 + p.revents;
}

static long select_it(int fd)
{
	fd_set in, out;
	struct timeval none = { 0 };
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(fd, &in);
	FD_SET(fd, &out);
	return outcome(select(fd + 1, &in, &out, NULL, &none));
}

static long epoll_it(int fd)
{
	const int e = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN };
	long ret = outcome(epoll_ctl(e, EPOLL_CTL_ADD, fd, &ev));
	if (ret == 0 && epoll_wait(e, &ev, 1, 0) == 1)
		ret = ev.events;
	close(e);
	return ret;
}

static long map_it(int fd, size_t size, int prot, int flags, off_t at)
{
	void *const p = mmap(NULL, size, prot, flags, fd, at);
	if (p == MAP_FAILED)
		return -errno;
	munmap(p, size);
	return 0;
}

static long map_twice(int fd, size_t second)
{
	void *const p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	const long ret = p == MAP_FAILED ? -errno : map_it(fd, second, PROT_READ, MAP_SHARED, 0);
	munmap(p, 4096);
	return ret;
}

static long grow_it(int fd)
{
	void *const p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	void *const q = mremap(p, 4096, 8192, MREMAP_MAYMOVE);
	const long ret = q == MAP_FAILED ? -errno : 0;
	munmap(p, 4096);
	return ret;
}

static long mode_of(int fd)
{
	struct stat st;
	return fstat(fd, &st) ? -errno : (long)st.st_mode;
}

static long name_of(int fd)
{
	char path[64], link[64] = "";
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	const ssize_t n = readlink(path, link, sizeof(link) - 1);
	long sum = 0;
	for (ssize_t i = 0; i < n; i++)
		sum = sum * 31 + link[i];
	return sum;
}

static long open_again(int fd)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return outcome(open(path, O_RDONLY));
}

static uint64_t buf[16];
static const uint64_t five = 5;
static const struct iovec parts[2] = { { buf, 8 }, { buf + 1, 8 } }, half = { buf, 4 };

#define USES(X)                                                                                      \
	X(outcome(read(fd, buf, sizeof(buf))))                                                       \
	X(outcome(read(fd, buf, 7)))                                                                 \
	X(outcome(read(fd, buf, 0)))                                                                 \
	X(outcome(syscall(SYS_read, fd, 16L, 64L)))                                                  \
	X(outcome(readv(fd, parts, 2)))                                                              \
	X(outcome(readv(fd, &half, 1)))                                                              \
	X(outcome(write(fd, buf, 8)))                                                                \
	X(outcome(lseek(fd, 0, SEEK_SET)))                                                           \
	X(outcome(ftruncate(fd, 0)))                                                                 \
	X(outcome(fsync(fd)))                                                                        \
	X(outcome(fallocate(fd, 0, 0, 1)))                                                           \
	X(outcome(flock(fd, LOCK_SH)))                                                               \
	X(outcome(fcntl(fd, F_GETFL)))                                                               \
	X(outcome(fcntl(fd, F_GETFD)))                                                               \
	X(poll_it(fd))                                                                               \
	X(select_it(fd))                                                                             \
	X(epoll_it(fd))                                                                              \
	X(mode_of(fd))                                                                               \
	X(name_of(fd))                                                                               \
	X(open_again(fd))                                                                            \
	X(outcome(ioctl(fd, FIONREAD, buf)))                                                         \
	X(outcome(ioctl(fd, 0x5401, buf)))                                                           \
	X(outcome(ioctl(fd, FIOCLEX)))                                                               \
	X(outcome(fcntl(fd, F_GETFD)))                                                               \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_ID, NULL)))                                               \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_RESET, 0)))                                               \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_ENABLE, 7)))                                              \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1)))                                             \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_PERIOD, NULL)))                                           \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_PERIOD, &five)))                                          \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd)))                                         \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 0)))                                          \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 999)))                                        \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_SET_BPF, -1)))                                            \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "x")))                                        \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)))                                        \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, buf)))                                         \
	X(outcome(ioctl(fd, 0x2463, 0)))                                                             \
	X(map_it(fd, 4096, PROT_READ, MAP_PRIVATE, 0))                                               \
	X(map_it(fd, 4096, PROT_READ, MAP_SHARED, 4096))                                             \
	X(map_it(fd, 4096, PROT_READ, MAP_SHARED, 0))                                                \
	X(map_it(fd, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0))                                   \
	X(map_it(fd, 0, PROT_READ, MAP_SHARED, 0))                                                   \
	X(map_it(fd, 1, PROT_READ, MAP_SHARED, 0))                                                   \
	X(map_it(fd, 3 * 4096, PROT_READ, MAP_SHARED, 0))                                            \
	X(map_it(fd, 4 * 4096, PROT_READ, MAP_SHARED, 0))                                            \
	X(map_it(fd, 5 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0))                               \
	X(map_twice(fd, 4096))                                                                       \
	X(map_twice(fd, 8192))                                                                       \
	X(grow_it(fd))                                                                               \
	X(outcome(close(fd)))                                                                        \
	X(outcome(read(fd, buf, 8)))                                                                 \
	X(outcome(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)))                                              \
	X(map_it(fd, 4096, PROT_READ, MAP_SHARED, 0))                                                \
	X(outcome(close(fd)))

static void uses(void)
{
	const struct perf_event_attr a[2] = { clock_attr(), vpmu_instructions() };
	const int fds[2] = { vpmu_open(&a[0], 0, -1, -1, 0), vpmu_open(&a[1], 0, -1, -1, 0) };
	long got[2];
#define USE(x)                                                                                       \
	for (int i = 0; i < 2; i++) {                                                                \
		const int fd = fds[i];                                                               \
		got[i] = (x);                                                                        \
	}                                                                                            \
	CHECK(got[0] == got[1], "%s: %ld, the kernel says %ld", #x, got[1], got[0]);
	USES(USE)
}

int main(void)
{
	const struct perf_event_attr a = clock_attr();
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	if (fd < 0) {
		printf("this kernel gives no software events: %s\n", strerror(-fd));
		return 77;
	}
	close(fd);
	const pid_t other = fork();
	if (other == 0) {
		pause();
		_exit(0);
	}
	opens(other);
	uses();
	kill(other, SIGKILL);
	return 0;
}
