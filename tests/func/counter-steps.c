/* The budget of an undisturbed read, counted: a child is stepped over the inline
 * reads one instruction at a time. The report's figures are 11 instructions for one
 * counter and 22 for a corrected one; ours must not be more.
 *
 * There may be no PMU here: rdpmc then faults, and the tracer carries it out (it
 * counts as the one instruction it is). The pages are made up in memory. Where
 * there is a PMU rdpmc is stepped over as well, but its result is replaced.
 */
#include "func.h"

#include <stdint.h>

#ifndef __x86_64__

int main(void)
{
	SKIP("the stepper knows x86-64 only");
}

#else

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

/* Where the stepped code begins and ends. */
extern const char single_begin[], single_end[], pair_begin[], pair_end[];
extern const char other_begin[], other_end[];

static __attribute__((noinline, noclone)) uint64_t read_single(struct tare_counter *c)
{
	uint64_t v;
	__asm__ volatile("single_begin:" : "+r"(c)::"memory");
	if (tare_counter_read(c, &v) != 0)
		_exit(3);
	__asm__ volatile("single_end:" : "+r"(v)::"memory");
	return v;
}

static __attribute__((noinline, noclone)) uint64_t read_pair(struct tare_counter *c)
{
	uint64_t v;
	__asm__ volatile("pair_begin:" : "+r"(c)::"memory");
	if (tare_counter_read_pair(c, &v) != 0)
		_exit(3);
	__asm__ volatile("pair_end:" : "+r"(v)::"memory");
	return v;
}

/* With a serialising instruction that is not the inline one. */
static __attribute__((noinline, noclone)) uint64_t read_other(struct tare_counter *c)
{
	uint64_t v;
	__asm__ volatile("other_begin:" : "+r"(c)::"memory");
	if (tare_counter_read(c, &v) != 0)
		_exit(3);
	__asm__ volatile("other_end:" : "+r"(v)::"memory");
	return v;
}

/* A part that is on register `index`, as part_sync() leaves it. */
static void make_part(struct part *p, void *page, uint32_t index)
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

static struct tare_counter *make_counter(unsigned parts, enum tare_serializer serializer)
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

static int child(void)
{
	struct tare_counter *const one = make_counter(1, TARE_SERIALIZE_LFENCE);
	struct tare_counter *const two = make_counter(2, TARE_SERIALIZE_LFENCE);
	struct tare_counter *const other = make_counter(1, TARE_SERIALIZE_MFENCE);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	if (read_single(one) != COUNT_A)
		return 4;
	if (read_pair(two) != COUNT_A - COUNT_B)
		return 5;
	if (read_other(other) != COUNT_A)
		return 6;
	if (read_other(other) != COUNT_A)
		return 6;
	return 0;
}

/* One instruction of the child. False: it has ended, with *status. */
static bool step(pid_t pid, int *status)
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

static uintptr_t pc_of(pid_t pid)
{
	struct user_regs_struct r;
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	return r.rip;
}

/* Instructions from `begin` to `end`, neither stepped before nor after. */
static unsigned count(pid_t pid, const char *begin, const char *end)
{
	int status;
	while (pc_of(pid) != (uintptr_t)begin)
		CHECK(step(pid, &status), "ended with status %#x", status);
	unsigned n = 0;
	for (; pc_of(pid) != (uintptr_t)end; n++)
		CHECK(step(pid, &status), "ended with status %#x", status);
	return n;
}

int main(void)
{
	const pid_t pid = fork();
	if (pid == 0)
		_exit(child());
	int status;
	waitpid(pid, &status, 0);
	if (!WIFSTOPPED(status))
		SKIP("ptrace is refused here");
	const unsigned single = count(pid, single_begin, single_end);
	const unsigned pair = count(pid, pair_begin, pair_end);
	count(pid, other_begin, other_end);	/* the first binds symbols */
	const unsigned other = count(pid, other_begin, other_end);
	while (step(pid, &status))
		;
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wrong value: status %#x", status);
	printf("%u instructions for a counter (budget 11), %u for a pair (budget 22), "
	       "%u by the slow path\n", single, pair, other);
	CHECK(single == 11, "%u", single);
	CHECK(pair == 20, "%u", pair);
	CHECK(other > single && other < 250, "%u", other);	/* libtare(3): some 200 */
	return 0;
}

#endif
