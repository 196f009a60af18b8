/* What an int 0x80 adds, and when: a read in the kernel, between the interrupt and its iret, against
 * an rdpmc right after (the report's experiment). Arguments: a raw code, and how much the iret is to
 * add to its event. */
#include "vpmu.h"

#include <inttypes.h>
#include <stdlib.h>

#define READ_32 3		/* __NR_read of 32-bit programs */

int main(int argc, char **argv)
{
	CHECK(argc > 2, "a code, and what the iret adds");
	const struct perf_event_attr a = vpmu_attr(PERF_TYPE_RAW, strtoull(argv[1], NULL, 16));
	const bool is_insns = a.config == 0xc0;
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	CHECK(fd >= 0, "open: %s", strerror(-fd));
	const struct perf_event_mmap_page *const page = vpmu_map(fd);
	const uint32_t index = page->index - 1;
	uint64_t *const in_kernel = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	CHECK(in_kernel != MAP_FAILED, "mmap: %s", strerror(errno));
	for (int i = 0; i < 3; i++) {
		uint32_t lo, hi;
		long ret = READ_32;
		/* two instructions between the int and the rdpmc */
		__asm__ volatile("push %%rbx\n mov %4, %%ebx\n int $0x80\n mov %5, %%ecx\n"
				 "mov %%rax, %%r8\n rdpmc\n pop %%rbx"
				 : "+a"(ret), "=d"(hi) : "c"((uint32_t)(uintptr_t)in_kernel), "1"(8u),
				   "r"(fd), "r"(index) : "r8", "memory");
		lo = (uint32_t)ret;
		const unsigned shift = 64u - page->pmc_width;
		const int64_t v = (int64_t)((lo | (uint64_t)hi << 32) << shift) >> shift;
		const uint64_t after = (uint64_t)(page->offset + v);
		CHECK(after - *in_kernel == (is_insns ? 2u : 0u) + strtoull(argv[2], NULL, 10),
		      "in the kernel %" PRIu64 ", after it %" PRIu64, *in_kernel, after);
	}
	return 0;
}
