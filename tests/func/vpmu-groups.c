/* Groups of software events, which the kernel counts, and virtual ones. Run by
 * `tare run --cpu zen2`. */
#include "vpmu.h"

#include <stdio.h>
#include <sys/resource.h>

#define FORMAT (PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | \
		PERF_FORMAT_TOTAL_TIME_RUNNING)

static int open_one(uint32_t type, uint64_t config, int leader, bool disabled)
{
	struct perf_event_attr a = vpmu_attr(type, config);
	a.disabled = disabled;
	a.read_format = FORMAT;
	const int fd = vpmu_open(&a, 0, -1, leader, 0);
	CHECK(fd >= 0, "%u:%ju: %d", type, (uintmax_t)config, fd);
	return fd;
}

static int software(uint64_t config, int leader, bool disabled)
{
	return open_one(PERF_TYPE_SOFTWARE, config, leader, disabled);
}

static int hardware(uint64_t config, int leader, bool disabled)
{
	return open_one(PERF_TYPE_HARDWARE, config, leader, disabled);
}

struct group {
	uint64_t n, enabled, running;
	struct { uint64_t value, id; } of[8];
};

static struct group read_group(int fd)
{
	struct group g;
	const ssize_t got = read(fd, &g, sizeof(g));
	CHECK(got > 0 && (size_t)got == 24 + 16 * g.n, "%zd bytes", got);
	return g;
}

static uint64_t id_of(int fd)
{
	uint64_t id = 0;
	CHECK(ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 && id, "id");
	return id;
}

/* Everybody reads the same group, members in the order in which they came. */
static void check_ids(const int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct group g = read_group(fds[i]);
		CHECK(g.n == n, "%ju members", (uintmax_t)g.n);
		for (unsigned k = 0; k < n; k++)
			CHECK(g.of[k].id == id_of(fds[k]), "member %u seen from %u", k, i);
	}
}

static void close_all(const int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
}

/* What is counted while it is on, of this and of nothing else. */
static void check_switches(const int *fds, unsigned n, const char *kinds)
{
	struct group g = read_group(fds[0]), h;
	uint64_t once[8];
	vpmu_loop(100000);
	h = read_group(fds[0]);
	for (unsigned k = 0; k < n; k++)
		CHECK(g.of[k].value == 0 && h.of[k].value == 0, "%u counts while off", k);
	for (int round = 0; round < 2; round++) {
		ioctl(fds[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
		ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
		vpmu_loop(round ? 200000 : 100000);
		ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
		g = read_group(fds[0]);
		h = read_group(fds[n - 1]);
		CHECK(memcmp(&g, &h, 24 + 16 * n) == 0, "it stands still");
		CHECK(g.enabled && g.running == g.enabled, "times");
		for (unsigned k = 0; k < n; k++) {
			const uint64_t v = g.of[k].value;
			if (kinds[k] == 'i')
				CHECK(round ? v - once[k] == 200000 : v > 200001, "i %ju", (uintmax_t)v);
			if (kinds[k] == 'b')
				CHECK(round ? v - once[k] == 100000 : v >= 100000, "b %ju", (uintmax_t)v);
			if (kinds[k] == 't')
				CHECK(v > 0, "no time");
			if (kinds[k] == '0')
				CHECK(v == 0, "a dummy counts %ju", (uintmax_t)v);
			once[k] = v;
		}
	}
}

static void led_by_hardware(void)
{
	const int l = hardware(PERF_COUNT_HW_INSTRUCTIONS, -1, true);
	const int fds[] = { l, software(PERF_COUNT_SW_TASK_CLOCK, l, false),
			    hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, l, false),
			    software(PERF_COUNT_SW_DUMMY, l, false) };
	check_ids(fds, 4);
	check_switches(fds, 4, "itb0");
	close_all(fds, 4);
}

static void led_by_software(void)
{
	const int l = software(PERF_COUNT_SW_TASK_CLOCK, -1, true);
	const int fds[] = { l, hardware(PERF_COUNT_HW_INSTRUCTIONS, l, false),
			    software(PERF_COUNT_SW_DUMMY, l, false),
			    hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, l, false),
			    software(PERF_COUNT_SW_TASK_CLOCK, l, false) };
	check_ids(fds, 5);
	check_switches(fds, 5, "ti0bt");
	/* without its leader each is on its own */
	close(fds[0]);
	check_ids(fds + 1, 1);
	check_ids(fds + 3, 1);
	close_all(fds + 1, 4);
}

/* A software event of its own stays the kernel's. */
static void no_group(void)
{
	const int fds[] = { software(PERF_COUNT_SW_TASK_CLOCK, -1, false) };
	check_ids(fds, 1);
	close(fds[0]);
}

/* A group grows until a read of it would exceed 16 KiB, in the format of each of its members
 * (perf_event_validate_size()). */
static void check_largest(bool virtual_first, uint64_t format, int want)
{
	struct perf_event_attr a = vpmu_instructions(), b = vpmu_attr(PERF_TYPE_SOFTWARE,
								  PERF_COUNT_SW_DUMMY);
	static int fds[2100];
	struct rlimit l;
	int n = 1;
	getrlimit(RLIMIT_NOFILE, &l);
	if (l.rlim_max < 2200) {
		SKIPPED("large groups", "ulimit -H -n is %ju, less than 2200", (uintmax_t)l.rlim_max);
		return;
	}
	l.rlim_cur = 2200;
	setrlimit(RLIMIT_NOFILE, &l);
	a.read_format = b.read_format = format;
	fds[0] = vpmu_open(virtual_first ? &a : &b, 0, -1, -1, 0);
	CHECK(fds[0] >= 0, "%d", fds[0]);
	while (n < 2100 && (fds[n] = vpmu_open(n == 1 && !virtual_first ? &a : &b, 0, -1, fds[0], 0)) >= 0)
		n++;
	CHECK(n == want && fds[n] == -E2BIG, "%d members, then %d", n, fds[n]);
	static uint64_t w[2100];
	const ssize_t got = read(fds[0], w, sizeof(w));
	CHECK(got > 16000 && w[0] == (uint64_t)n, "%zd bytes, %ju members", got, (uintmax_t)w[0]);
	close_all(fds, (unsigned)n);
}

int main(void)
{
	struct perf_event_attr a = vpmu_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	if (fd < 0) {
		printf("this kernel gives no software events: %s\n", strerror(-fd));
		return 77;
	}
	close(fd);
	no_group();
	led_by_hardware();
	led_by_software();
	check_largest(true, FORMAT, 1022);
	check_largest(false, FORMAT, 1022);
	check_largest(true, PERF_FORMAT_GROUP, 2047);
	return 0;
}
