#include "kernel-arch.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Operands with 32-bit addresses. */
const int kernel_arch_map_flags = MAP_32BIT;

const char kernel_arch_flags_line[] = "flags";

enum { NOP = 0x90, JMP_REL8 = 0xeb, JMP_REL32 = 0xe9 };

void kernel_arch_skip(uint8_t *code, size_t size, uint64_t *counts)
{
	counts[KERNEL_INSTRUCTIONS]++;
	if (size == 1) {
		code[0] = NOP;
		return;
	}
	counts[KERNEL_BRANCHES]++;
	counts[KERNEL_TAKEN_BRANCHES]++;
	if (size - 2 <= INT8_MAX) {
		code[0] = JMP_REL8;
		code[1] = (uint8_t)(size - 2);
		return;
	}
	const int32_t distance = (int32_t)(size - 5);
	code[0] = JMP_REL32;
	memcpy(code + 1, &distance, sizeof(distance));
}

/* asm/prctl.h and the XSAVE component of tile data; older headers lack them. */
#define REQ_XCOMP_PERM 0x1023
#define XCOMP_TILEDATA 18

const char *kernel_arch_ask(const struct kernel *k)
{
	for (const char *const *f = k->flags; *f; f++)
		if (!strcmp(*f, "amx_tile") &&
		    syscall(SYS_arch_prctl, REQ_XCOMP_PERM, XCOMP_TILEDATA) < 0)
			return *f;
	return NULL;
}
