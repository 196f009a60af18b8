/* For programs that run inside `tare run`: the kernel's counter interface, bare. */
#ifndef TESTS_VPMU_H
#define TESTS_VPMU_H

#include "func.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline struct perf_event_attr vpmu_attr(uint32_t type, uint64_t config)
{
	return (struct perf_event_attr){ .type = type, .size = sizeof(struct perf_event_attr),
					 .config = config, .exclude_kernel = 1, .exclude_hv = 1 };
}

static inline struct perf_event_attr vpmu_instructions(void)
{
	return vpmu_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

static inline int vpmu_open(const struct perf_event_attr *a, int pid, int cpu, int group,
			    unsigned long flags)
{
	const long fd = syscall(SYS_perf_event_open, a, pid, cpu, group, flags);
	return fd < 0 ? -errno : (int)fd;
}

static inline uint64_t vpmu_read(int fd)
{
	uint64_t v[64];
	CHECK(read(fd, v, sizeof(v)) >= 8, "read of %d: %s", fd, strerror(errno));
	return v[0];
}

static inline struct perf_event_mmap_page *vpmu_map(int fd)
{
	void *const p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return p;
}

static inline uint64_t vpmu_rdpmc(uint32_t counter)
{
	uint32_t lo, hi;
	__asm__ volatile("rdpmc" : "=a"(lo), "=d"(hi) : "c"(counter) : "memory");
	return lo | (uint64_t)hi << 32;
}

/* 2 n + 1 instructions, n branches, all of them conditional. */
__attribute__((noinline, unused))
static void vpmu_loop(uint64_t n)
{
	__asm__ volatile("mov %0, %%rax\n1: dec %%rax\n jnz 1b" : : "r"(n) : "rax", "cc");
}

#endif
