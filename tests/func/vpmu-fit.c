/* Which counters an event fits on: as many pinned ones as there are, and no more; and events
 * that came first make room. Run by `tare run`, on several models.
 * usage: vpmu-fit RAW COUNTERS FIRST: hexadecimal codes, a mask of counters (fixed ones from
 * bit 16), an event of which two are there before */
#include "vpmu.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t bit_of(const struct perf_event_mmap_page *p)
{
	const uint32_t counter = p->index - 1;
	return counter >> 30 ? 0x10000u << (counter & 15) : 1u << counter;
}

static struct perf_event_attr pinned(uint64_t raw)
{
	struct perf_event_attr a = vpmu_attr(PERF_TYPE_RAW, raw);
	a.pinned = 1;
	return a;
}

static void all_of_them(uint64_t raw, uint32_t counters)
{
	const struct perf_event_attr a = pinned(raw);
	uint32_t seen = 0;
	uint64_t v;
	int fds[24], failed = 0;
	struct perf_event_mmap_page *pages[24];
	for (int i = 0; i < 24; i++) {
		fds[i] = vpmu_open(&a, 0, -1, -1, 0);
		CHECK(fds[i] >= 0, "open %d: %d", i, fds[i]);
		pages[i] = vpmu_map(fds[i]);
		failed += read(fds[i], &v, 8) == 0;
		if (pages[i]->index)
			seen |= bit_of(pages[i]);
	}
	CHECK(seen == counters, "on %x, want %x", seen, counters);
	CHECK(failed == 24 - __builtin_popcount(counters), "%d without one", failed);
	for (int i = 0; i < 24; i++) {
		munmap(pages[i], 4096);
		close(fds[i]);
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 4, "usage: vpmu-fit RAW COUNTERS FIRST");
	const uint64_t raw = strtoul(argv[1], NULL, 16);
	const uint32_t counters = (uint32_t)strtoul(argv[2], NULL, 16);
	all_of_them(raw, counters);
	if (strcmp(argv[3], "-") == 0)
		return 0;
	const struct perf_event_attr first = pinned(strtoul(argv[3], NULL, 16)), a = pinned(raw);
	const int fds[3] = { vpmu_open(&first, 0, -1, -1, 0), vpmu_open(&first, 0, -1, -1, 0),
			     vpmu_open(&a, 0, -1, -1, 0) };
	uint32_t seen = 0;
	for (int i = 0; i < 3; i++) {
		const struct perf_event_mmap_page *const p = vpmu_map(fds[i]);
		CHECK(p->index, "%d has no counter", i);
		CHECK(!(seen & bit_of(p)), "two on one");
		seen |= bit_of(p);
		CHECK(i < 2 || bit_of(p) & counters, "on %x", bit_of(p));
	}
	return 0;
}
