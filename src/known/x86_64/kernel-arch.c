#include "kernel-arch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Operands with 32-bit addresses. */
const int kernel_arch_map_flags = MAP_32BIT;

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

/* The CPU's flags with a blank on either side of each, read once. */
static char *cpu_flags;
static pthread_once_t cpu_flags_once = PTHREAD_ONCE_INIT;

static void read_cpu_flags(void)
{
	FILE *const f = fopen("/proc/cpuinfo", "re");
	if (!f)
		return;
	char *line = NULL;
	size_t room = 0;
	while (getline(&line, &room, f) > 0) {
		char *const colon = strchr(line, ':');
		if (strncmp(line, "flags\t", 6) || !colon)
			continue;
		char *const newline = strchr(colon, '\n');
		if (newline)
			*newline = ' ';
		*colon = ' ';
		cpu_flags = strdup(colon);
		break;
	}
	free(line);
	fclose(f);
}

bool kernel_arch_has(const char *flag)
{
	pthread_once(&cpu_flags_once, read_cpu_flags);
	const size_t n = strlen(flag);
	for (const char *at = cpu_flags; at && (at = strstr(at, flag)); at += n)
		if (at > cpu_flags && at[-1] == ' ' && at[n] == ' ')
			return true;
	return false;
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
