/* A pair of counters read by two rdpmc, one right after the other, as -minus-irqs reads it, inside
 * `tare run --flaws interrupt-at=…`. Argument: the code of the interrupt event. Prints the count of
 * instructions before the first rdpmc and before the second, as far as no interrupt adds to it, and
 * both values. */
#include "vpmu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct counter {
	const struct perf_event_mmap_page *page;
	uint32_t index;
};

static struct counter open_counter(uint32_t type, uint64_t config)
{
	const struct perf_event_attr a = vpmu_attr(type, config);
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	CHECK(fd >= 0, "open: %s", strerror(-fd));
	const struct perf_event_mmap_page *const page = vpmu_map(fd);
	return (struct counter){ page, page->index - 1 };
}

static uint64_t value(const struct counter *c, uint32_t lo, uint32_t hi)
{
	const unsigned shift = 64u - c->page->pmc_width;
	const int64_t v = (int64_t)((lo | (uint64_t)hi << 32) << shift) >> shift;
	return (uint64_t)(c->page->offset + v);
}

int main(int argc, char **argv)
{
	CHECK(argc > 1, "the code of the interrupt event");
	const struct counter base = open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	const struct counter irqs = open_counter(PERF_TYPE_RAW, strtoull(argv[1], NULL, 16));
	uint32_t lo[2], hi[2], ecx = base.index;
	/* 4 instructions from one rdpmc to the other, the first one included */
	__asm__ volatile("rdpmc\n mov %%eax, %0\n mov %%edx, %1\n mov %5, %%ecx\n rdpmc"
			 : "=&r"(lo[0]), "=&r"(hi[0]), "=&a"(lo[1]), "=&d"(hi[1]), "+&c"(ecx)
			 : "r"(irqs.index) : "memory");
	printf("%" PRIu64 " %" PRIu64 "\n", value(&base, lo[0], hi[0]), value(&irqs, lo[1], hi[1]));
	return 0;
}
