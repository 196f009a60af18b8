/* What kernels need of the architecture (ARCH/kernel-arch.c). */
#ifndef KNOWN_KERNEL_ARCH_H
#define KNOWN_KERNEL_ARCH_H

#include "kernel.h"

/* Makes `size` bytes of code lead to what follows them, and adds to counts[] what that counts. */
void kernel_arch_skip(uint8_t *code, size_t size, uint64_t *counts);

/* mmap: more flags for the kernels' memory. */
extern const int kernel_arch_map_flags;

/* Has this CPU the flag, by its name in /proc/cpuinfo, and does the kernel let programs use it? */
bool kernel_arch_has(const char *flag);

/* Asks the kernel for what it gives on request only. NULL, or the flag that it refuses. */
const char *kernel_arch_ask(const struct kernel *k);

#endif
