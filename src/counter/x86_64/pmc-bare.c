/* Reading a counter in user space: rdpmc. */
#include "pmc-bare.h"

void pmc_bare_ask(struct perf_event_attr *attr)
{
	/* Every event of the cpu PMU may be read, as far as sysfs allows. */
}

uint64_t pmc_bare_read(unsigned index)
{
	uint32_t low, high;
	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index - 1));
	return (uint64_t)high << 32 | low;
}
