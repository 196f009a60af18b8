/* Opens raw codes on a virtual PMU, and prints what each counts of a known loop: the code and the
 * count, one line for each code that is not 0. Arguments: the first and the last selector. Checks
 * that the codes that have no row of the model's table open too. */
#include "vpmu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 20000

static int opened, refused, zero;

static void try(uint64_t code)
{
	const struct perf_event_attr a = vpmu_attr(PERF_TYPE_RAW, code);
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	CHECK(fd >= 0 || fd == -ENOENT, "r%04" PRIx64 ": %s", code, strerror(-fd));
	if (fd < 0) {
		refused++;
		printf("%04" PRIx64 " refused\n", code);
		return;
	}
	opened++;
	const uint64_t before = vpmu_read(fd);
	vpmu_loop(ROUNDS);
	const uint64_t n = vpmu_read(fd) - before;
	close(fd);
	zero += n == 0;
	if (n)
		printf("%04" PRIx64 " %" PRIu64 "\n", code, n);
}

int main(int argc, char **argv)
{
	CHECK(argc > 2, "the first and the last selector");
	const unsigned long first = strtoul(argv[1], NULL, 16), last = strtoul(argv[2], NULL, 16);
	for (unsigned long s = first; s <= last; s++) {
		try(s);
		for (unsigned bit = 0; bit < 8; bit++)
			try(s | 1ul << (8 + bit));
		try(s | 0xff00);
	}
	try(0x10000c0 | 0x800000);		/* CMASK and INV */
	printf("opened %d refused %d zero %d\n", opened, refused, zero);
	return 0;
}
