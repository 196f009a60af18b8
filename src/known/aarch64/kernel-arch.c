#include "kernel-arch.h"

#include <asm/hwcap.h>
#include <string.h>
#include <sys/auxv.h>

const int kernel_arch_map_flags = 0;

void kernel_arch_skip(uint8_t *code, size_t size, uint64_t *counts)
{
	const uint32_t b = UINT32_C(0x14000000) | (uint32_t)(size / 4);
	memcpy(code, &b, sizeof(b));
	counts[KERNEL_INSTRUCTIONS]++;
	counts[KERNEL_BRANCHES]++;
	counts[KERNEL_TAKEN_BRANCHES]++;
}

/* What the kernel tells each program; under an emulator /proc/cpuinfo is the host's. */
bool kernel_arch_has(const char *flag)
{
	static const struct {
		const char *flag;
		unsigned long bit;
	} known[] = {
		{ "aes", HWCAP_AES }, { "pmull", HWCAP_PMULL }, { "sha1", HWCAP_SHA1 },
		{ "sha2", HWCAP_SHA2 }, { "crc32", HWCAP_CRC32 }, { "atomics", HWCAP_ATOMICS },
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].flag, flag))
			return getauxval(AT_HWCAP) & known[i].bit;
	return false;
}

const char *kernel_arch_ask(const struct kernel *k)
{
	(void)k;
	return NULL;
}
