#include "kernel-arch.h"

#include <string.h>

const int kernel_arch_map_flags = 0;

const char kernel_arch_flags_line[] = "Features";

void kernel_arch_skip(uint8_t *code, size_t size, uint64_t *counts)
{
	const uint32_t b = UINT32_C(0x14000000) | (uint32_t)(size / 4);
	memcpy(code, &b, sizeof(b));
	counts[KERNEL_INSTRUCTIONS]++;
	counts[KERNEL_BRANCHES]++;
	counts[KERNEL_TAKEN_BRANCHES]++;
}

const char *kernel_arch_ask(const struct kernel *k)
{
	(void)k;
	return NULL;
}
