/* rdpmc and the page of the virtual PMU. Run by `tare run`, on several models. */
#include "vpmu.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

static sigjmp_buf back;
static siginfo_t fault;

static void on_segv(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	fault = *info;
	siglongjmp(back, 1);
}

static int faults(uint32_t counter)
{
	if (sigsetjmp(back, 1))
		return 1;
	vpmu_rdpmc(counter);
	return 0;
}

static uint64_t count_of(const struct perf_event_mmap_page *p)
{
	const unsigned shift = 64u - p->pmc_width;
	const uint64_t raw = vpmu_rdpmc(p->index - 1);
	return (uint64_t)(p->offset + ((int64_t)(raw << shift) >> shift));
}

/* From one rdpmc to the next: the first of them, two moves, n times two. */
static uint32_t between(uint32_t counter, uint32_t n)
{
	uint32_t d;
	__asm__ volatile("rdpmc\n mov %%eax, %%esi\n mov %2, %%edi\n"
			 "1: dec %%edi\n jnz 1b\n rdpmc\n sub %%esi, %%eax"
			 : "=&a"(d) : "c"(counter), "r"(n) : "rdx", "rsi", "rdi", "cc");
	return d;
}

static void flags_and_registers(uint32_t counter)
{
	uint64_t before, after, rcx;
	__asm__ volatile("mov $0x123400005678, %%rbx\n mov %3, %%ecx\n"
			 "stc\n pushfq\n pop %0\n rdpmc\n pushfq\n pop %1\n mov %%rcx, %2"
			 : "=&r"(before), "=&r"(after), "=&r"(rcx) : "r"(counter)
			 : "rax", "rbx", "rcx", "rdx", "cc");
	CHECK(before == after && before & 1, "flags %jx %jx", (uintmax_t)before, (uintmax_t)after);
	CHECK(rcx == counter, "rcx %jx", (uintmax_t)rcx);
}

/* Times of the page, and how to bring them up to now: as perf_event_open(2) says. */
static void times(int fd, const struct perf_event_mmap_page *p)
{
	CHECK(p->time_running == p->time_enabled, "%ju of %ju", (uintmax_t)p->time_running,
	      (uintmax_t)p->time_enabled);
	const uint64_t before = p->time_enabled;
	vpmu_loop(3000000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);	/* brings it up to date */
	const uint64_t took = p->time_enabled - before;
	CHECK(took >= 2000000 && took < 2100000, "%ju ns for 6,000,000 instructions", (uintmax_t)took);
	if (!p->cap_user_time) {
		SKIPPED("times of the page", "this machine's kernel gives no cap_user_time");
		return;
	}
	CHECK(p->cap_user_time_zero && p->time_mult && p->time_zero, "time fields");
	const uint64_t cycles = __builtin_ia32_rdtsc(), low = (1ull << p->time_shift) - 1;
	const uint64_t delta = p->time_offset + (cycles >> p->time_shift) * p->time_mult +
			       ((cycles & low) * p->time_mult >> p->time_shift);
	CHECK((int64_t)delta >= 0 && delta < 60000000000ull, "%jd ns since then", (intmax_t)delta);
}

int main(void)
{
	const struct sigaction sa = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
	sigaction(SIGSEGV, &sa, NULL);
	CHECK(faults(0), "nothing is mapped");
	CHECK(fault.si_code == SI_KERNEL && !fault.si_addr, "code %d", fault.si_code);

	struct perf_event_attr a = vpmu_instructions();
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	struct perf_event_mmap_page *const p = vpmu_map(fd);
	CHECK(p->cap_user_rdpmc && p->cap_bit0_is_deprecated && p->index, "capabilities");
	CHECK(p->pmc_width == 48 || p->pmc_width == 40, "width %u", p->pmc_width);
	CHECK(!(p->lock & 1), "lock %u", p->lock);
	const uint32_t counter = p->index - 1;
	for (uint32_t n = 1; n < 100000; n = n * 3 + 1)
		CHECK(between(counter, n) == 2 * n + 3, "%u: %u", n, between(counter, n));
	flags_and_registers(counter);
	times(fd, p);
	const uint64_t first = vpmu_read(fd), second = count_of(p), third = vpmu_read(fd);
	CHECK(first < second && second < third && third - first < 1000, "%ju %ju %ju",
	      (uintmax_t)first, (uintmax_t)second, (uintmax_t)third);
	CHECK(faults(63) && faults(0x40000010) && faults(0x80000000) && faults(~0u), "no counter");
	CHECK(vpmu_rdpmc(1) == 0, "an unused counter");

	/* the page is not inherited, and neither is the right to read */
	const pid_t child = fork();
	if (child == 0)
		_exit(faults(counter) ? 0 : 1);
	int status;
	waitpid(child, &status, 0);
	CHECK(status == 0, "child: %x", status);

	/* a mapping keeps its event alive */
	struct perf_event_attr b = vpmu_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	const int other = vpmu_open(&b, 0, -1, -1, 0);
	struct perf_event_mmap_page *const q = vpmu_map(other);
	close(other);
	const uint64_t before = count_of(q);
	vpmu_loop(1000);
	CHECK(count_of(q) - before >= 1000, "closed, but mapped");
	munmap(q, 4096);

	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	CHECK(p->index == 0 && p->offset == (int64_t)vpmu_read(fd), "disabled");
	munmap(p, 4096);
	CHECK(faults(counter), "nothing is mapped any more");
	return 0;
}
