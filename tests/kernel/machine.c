/* The emulated PMU itself, with nothing of tare between: if these fail, the
 * emulator or the kernel changed, and no other number here means anything. */
#include "guest.h"
#include "tap.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_raw(uint32_t type, uint64_t config)
{
	struct perf_event_attr a = {
		.type = type,
		.size = sizeof(a),
		.config = config,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}

void hog_counters(struct hog *hog, unsigned n)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(a),
		.config = 0x08,		/* instructions retired */
		.pinned = 1,
	};
	hog->n = 0;
	while (hog->n < n) {
		const int fd = (int)syscall(SYS_perf_event_open, &a, -1, 0, -1, 0);
		if (!tap_ok(fd >= 0, "hog counter %u of CPU 0", hog->n))
			return;
		hog->fd[hog->n++] = fd;
	}
}

void release_counters(struct hog *hog)
{
	while (hog->n)
		close(hog->fd[--hog->n]);
}

static uint64_t read_one(int fd)
{
	uint64_t v = 0;
	return read(fd, &v, sizeof(v)) == sizeof(v) ? v : UINT64_MAX;
}

NOT_SPECIALISED static uint64_t over_loop(int fd, uint64_t n)
{
	const uint64_t before = read_one(fd);
	known_loop(n);
	return read_one(fd) - before;
}

void suite_machine(void)
{
	const int fd = open_raw(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	if (!tap_ok(fd >= 0, "the kernel opens instructions (%s)", fd < 0 ? strerror(errno) : "ok"))
		return;
	over_loop(fd, 1);
	for (int i = 0; i < 10; i++) {
		const uint64_t one = over_loop(fd, 1);
		tap_is(over_loop(fd, 1000000) - one, 8 * 999999, "instructions of the known loop, run %d", i);
	}
	close(fd);
}
