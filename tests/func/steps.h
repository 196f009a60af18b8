/* Stepping a child over inline reads, one instruction at a time (x86-64).
 *
 * There may be no PMU here: rdpmc then faults, and the tracer carries it out (it
 * counts as the one instruction it is). The pages are made up in memory. Where
 * there is a PMU rdpmc is stepped over as well, but its result is replaced.
 */
#ifndef TESTS_STEPS_H
#define TESTS_STEPS_H

#include "func.h"

#include "counter-room.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define WIDTH 48
#define PERIOD ((1ull << (WIDTH - 1)) - 1)
#define COUNT_A 123456789012ull
#define COUNT_B 345ull

/* A part that is on register `index`, as part_sync() leaves it. */
static inline void make_part(struct part *p, void *page, uint32_t index)
{
	struct perf_event_mmap_page *const pg = page;
	pg->index = index;
	pg->offset = (int64_t)PERIOD;
	pg->pmc_width = WIDTH;
	pg->cap_user_rdpmc = 1;
	p->page = pg;
	p->index = index;
	p->select = pmc_select(index, false);
	p->sign = 1ull << (WIDTH - 1);
	p->bias = PERIOD - p->sign;
	p->key = part_key(pg);
}

static inline struct tare_counter *make_counter(unsigned parts, enum tare_serializer serializer)
{
	struct tare_counter *const c = counter_alloc();
	CHECK(c, "memory");
	struct counter_cold *const k = counter_cold(c);
	k->b.path = TARE_PATH_RDPMC;
	k->b.pinned = true;
	k->b.serializer = serializer;
	k->b.n_parts = parts;
	k->b.pid = getpid();
	k->b.tid = bundle_self();
	c->alive = BUNDLE_ALIVE;
	make_part(&k->parts[0], c + 1, 1);
	make_part(&k->parts[1], (char *)(c + 1) + 4096, 2);
	counter_arm(c);
	return c;
}

/* One instruction of the child. False: it has ended, with *status. */
static inline bool step(pid_t pid, int *status)
{
	struct user_regs_struct r;
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	const long word = ptrace(PTRACE_PEEKTEXT, pid, r.rip, 0);
	const bool rdpmc = (word & 0xffff) == 0x330f;
	if (rdpmc) {
		const uint64_t count = (uint32_t)r.rcx == 0 ? COUNT_A : COUNT_B;
		const uint64_t reg = (count - PERIOD) & ((1ull << WIDTH) - 1);
		CHECK((uint32_t)r.rcx < 2, "rdpmc of register %u", (unsigned)r.rcx);
		r.rax = (uint32_t)reg;
		r.rdx = reg >> 32;
		r.rip += 2;
		ptrace(PTRACE_SETREGS, pid, 0, &r);
		return true;
	}
	ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	waitpid(pid, status, 0);
	if (!WIFSTOPPED(*status))
		return false;
	CHECK(WSTOPSIG(*status) == SIGTRAP, "signal %d at %#llx", WSTOPSIG(*status), r.rip);
	return true;
}

static inline uintptr_t pc_of(pid_t pid)
{
	struct user_regs_struct r;
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	return r.rip;
}

/* Instructions from `begin` to `end`, neither stepped before nor after. */
static inline unsigned count(pid_t pid, const char *begin, const char *end)
{
	int status;
	while (pc_of(pid) != (uintptr_t)begin)
		CHECK(step(pid, &status), "ended with status %#x", status);
	unsigned n = 0;
	for (; pc_of(pid) != (uintptr_t)end; n++)
		CHECK(step(pid, &status), "ended with status %#x", status);
	return n;
}

#endif
