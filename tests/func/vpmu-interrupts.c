/* /proc/interrupts inside `tare run --flaws interrupts=…`: its line LOC has the interrupts that the
 * event of the model counts. The event's code is the argument. */
#include "vpmu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The sum of the line, and the event's value if no interrupt came while the file was read. */
static bool both(int fd, uint64_t *loc, uint64_t *event)
{
	char line[65536], *at;
	const uint64_t before = vpmu_read(fd);
	FILE *const f = fopen("/proc/interrupts", "re");
	CHECK(f, "/proc/interrupts: %s", strerror(errno));
	*loc = 0;
	while (fgets(line, sizeof(line), f))
		if ((at = strstr(line, "LOC:")))
			for (char *p = at + 4, *end; ; p = end) {
				const uint64_t n = strtoull(p, &end, 10);
				if (end == p)
					break;
				*loc += n;
			}
	fclose(f);
	*event = vpmu_read(fd);
	return *event == before;
}

int main(int argc, char **argv)
{
	CHECK(argc > 1, "the code of the interrupt event");
	const struct perf_event_attr a = vpmu_attr(PERF_TYPE_RAW, strtoull(argv[1], NULL, 16));
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	CHECK(fd >= 0, "open: %s", strerror(-fd));
	uint64_t loc[2], event[2];
	while (!both(fd, &loc[0], &event[0]))
		;
	vpmu_loop(3000000);
	while (!both(fd, &loc[1], &event[1]))
		;
	CHECK(event[1] - event[0] > 50, "%" PRIu64 " interrupts", event[1] - event[0]);
	CHECK(loc[1] - loc[0] == event[1] - event[0], "LOC: %" PRIu64 ", the event: %" PRIu64,
	      loc[1] - loc[0], event[1] - event[0]);
	return 0;
}
