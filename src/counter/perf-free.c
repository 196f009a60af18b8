/* How many general counters are free: found by taking them. */
#include "perf-free.h"

#include "perf-attr.h"

#include <unistd.h>

#define MOST 32

int perf_free_counters(void)
{
	/* Branches fit on every general counter and on no fixed one. */
	const struct tare_encoding branches = { .type = PERF_TYPE_HARDWARE,
						.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
						.exclude_kernel = true, .exclude_hv = true };
	int fds[MOST], n = 0, opened = 0;
	for (; opened < MOST; opened++) {
		struct perf_event_attr attr;
		struct perf_value v;
		perf_attr_fill(&attr, &branches);
		attr.pinned = 1;
		fds[opened] = perf_open(&attr, 0, -1, -1);
		if (fds[opened] < 0)
			break;
		if (perf_read(fds[opened], &v) != 0) {
			opened++;
			break;		/* pinned, and got none */
		}
		n++;
	}
	const bool tried = opened > 0;
	while (opened--)
		close(fds[opened]);
	return tried ? n : -1;
}
