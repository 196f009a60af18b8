/* Page faults on a CPU that counts each one as an instruction: run by `tare run --flaws faults`.
 * The faults are real: what the kernel says of this thread is what the counter has too many. */
#include "vpmu.h"

#include <inttypes.h>
#include <sys/resource.h>

#define MOST 10000u

static uint64_t faults(void)
{
	struct rusage r;
	CHECK(getrusage(RUSAGE_THREAD, &r) == 0, "getrusage: %s", strerror(errno));
	return (uint64_t)(r.ru_minflt + r.ru_majflt);
}

/* 4 n + 1 instructions; n page faults if no page was used before. */
__attribute__((noinline)) static void touch(char *page, uint64_t n)
{
	__asm__ volatile("1: movb $1, (%0)\n add $4096, %0\n dec %1\n jnz 1b\n nop"
			 : "+r"(page), "+r"(n) : : "memory", "cc");
}

struct seen {
	uint64_t count, faults;
};

static struct seen touched(int fd, uint64_t n)
{
	char *const p = mmap(NULL, MOST * 4096ul, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	madvise(p, MOST * 4096ul, MADV_NOHUGEPAGE);
	const uint64_t f = faults(), before = vpmu_read(fd);
	touch(p, n);
	const struct seen s = { .count = vpmu_read(fd) - before, .faults = faults() - f };
	munmap(p, MOST * 4096ul);
	return s;
}

int main(void)
{
	const struct perf_event_attr a = vpmu_instructions();
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	CHECK(fd >= 0, "open: %s", strerror(-fd));
	touched(fd, 1);			/* the engine's own first faults */
	static const uint64_t sizes[] = { 2, 100, MOST };
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const uint64_t n = sizes[i];
		struct seen one = { 0 }, s = { 0 };
		/* (a fault between the two readings of one moment is in one of them only) */
		CHECK(WHEN_STILL((one = touched(fd, 1), s = touched(fd, n),
				  s.count - one.count == 4 * (n - 1) + s.faults - one.faults)),
		      "%" PRIu64 " pages: %" PRIu64 " instructions more, %" PRIu64 " faults more", n,
		      s.count - one.count, s.faults - one.faults);
		CHECK(s.faults >= n, "%" PRIu64 " pages: %" PRIu64 " faults", n, s.faults);
	}
	return 0;
}
