/* PERF_SAMPLE_ADDR: the samples of loads and stores have the address that the instruction used, also where the
 * instruction changes the registers that tell it. Run by `tare run --cpu skylake`. */
#include "sampling.h"

#define LOADS 0x81d0
#define STORES 0x82d0

static uint64_t area[64], stack[64];

/* Every instruction between `begin` and `end` that uses memory has a label. */
extern const char begin[], i_mov[], i_store[], i_add[], i_push[], i_push_mem[], i_pop[], i_pop_mem[], i_movs[],
	i_lods[], i_stos[], i_sib[], i_xlat[], i_call[], i_ret[], i_fs[], i_leave[], i_enter[], i_rip[], i_rep[], end[];

__attribute__((noinline)) static void code(void)
{
	uint64_t rdi = (uint64_t)&area[0], rsi = (uint64_t)&area[32];
	__asm__ volatile(
		".globl begin, i_mov, i_store, i_add, i_push, i_push_mem, i_pop, i_pop_mem, i_movs, i_lods, i_stos\n"
		".globl i_sib, i_xlat, i_call, i_ret, i_fs, i_leave, i_enter, i_rip, i_rep, end\n"
		"begin:		mov %%rsp, %%r12\n"
		"		mov %%rbp, %%r13\n"
		"		mov %2, %%rsp\n"
		"i_mov:		mov (%%rdi), %%rdi\n"
		"i_store:	mov %%rax, 8(%%rdi)\n"
		"i_add:		addq $1, 16(%%rdi)\n"
		"i_push:	push %%rax\n"
		"i_push_mem:	push 24(%%rdi)\n"
		"i_pop:		pop %%rbx\n"
		"i_pop_mem:	pop 8(%%rsp)\n"
		"i_movs:	movsq\n"
		"i_lods:	lodsb\n"
		"i_stos:	stosb\n"
		"		mov $2, %%ecx\n"
		"i_sib:		mov 8(%%rdi,%%rcx,4), %%ecx\n"
		"		mov %%rdi, %%rbx\n"
		"		mov $3, %%eax\n"
		"i_xlat:	xlat\n"
		"i_call:	call 1f\n"
		"		jmp 2f\n"
		"1:\n"
		"i_ret:		ret\n"
		"2:\n"
		"i_fs:		mov %%fs:0, %%rax\n"
		"		lea -16(%%rsp), %%rbp\n"
		"i_leave:	leave\n"
		"		lea -64(%%rsp), %%rbp\n"
		"i_enter:	enter $8, $2\n"
		"		mov %%r13, %%rbp\n"
		"		mov %%r12, %%rsp\n"
		"		lea 40(%%rsi), %%rsi\n"
		"i_rip:		mov area(%%rip), %%rdi\n"
		"		mov $4, %%ecx\n"
		"i_rep:		rep movsb\n"
		"end:"
		: "+D"(rdi), "+S"(rsi)
		: "r"(&stack[32])
		: "rax", "rbx", "rcx", "r12", "r13", "memory", "cc");
}

static struct { const char *at; uint64_t addr; } loads[32], stores[32];
static unsigned n_loads, n_stores;

static void expect(const char *at, const void *load, const void *store)
{
	if (load)
		loads[n_loads].at = at, loads[n_loads++].addr = (uint64_t)load;
	if (store)
		stores[n_stores].at = at, stores[n_stores++].addr = (uint64_t)store;
}

/* As the code does it, by hand. */
static void expect_all(void)
{
	char *const to = (char *)&area[8], *const from = (char *)&area[32], *const sp = (char *)&stack[32];
	void *fs;
	__asm__("mov %%fs:0, %0" : "=r"(fs));
	expect(i_mov, area, NULL);
	expect(i_store, NULL, to + 8);
	expect(i_add, to + 16, to + 16);
	expect(i_push, NULL, sp - 8);
	expect(i_push_mem, to + 24, sp - 16);
	expect(i_pop, sp - 16, NULL);
	expect(i_pop_mem, sp - 8, sp + 8);
	expect(i_movs, from, to);
	expect(i_lods, from + 8, NULL);
	expect(i_stos, NULL, to + 8);
	expect(i_sib, to + 9 + 8 + 8, NULL);
	expect(i_xlat, to + 9 + 3, NULL);
	expect(i_call, NULL, sp - 8);
	expect(i_ret, sp - 8, NULL);
	expect(i_fs, fs, NULL);
	expect(i_leave, sp - 16, NULL);
	expect(i_enter, sp - 80, sp - 16);
	expect(i_rip, area, NULL);
	expect(i_rep, from + 9 + 40, to);
}

static void sample(bool store, uint64_t period, uint64_t precise)
{
	struct perf_event_attr a = vpmu_attr(PERF_TYPE_RAW, store ? STORES : LOADS);
	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ;
	a.precise_ip = precise;
	a.disabled = 1;
	const int fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 4, PROT_READ | PROT_WRITE);
	area[0] = (uint64_t)&area[8];
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	code();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	unsigned i = 0, seen = 0;
	const unsigned n = store ? n_stores : n_loads;
	for (struct perf_event_header *h; (h = ring_next(&r));) {
		const uint64_t *const w = (const uint64_t *)(h + 1);
		if (w[0] < (uint64_t)begin || w[0] >= (uint64_t)end)
			continue;
		while (i < n && (uint64_t)(store ? stores : loads)[i].at != w[0])
			i++;
		CHECK(i < n, "period %ju: a sample at begin + %ju, out of order", (uintmax_t)period,
		      (uintmax_t)(w[0] - (uint64_t)begin));
		CHECK(w[1] == (store ? stores : loads)[i].addr, "period %ju, %s %u: %jx instead of %jx",
		      (uintmax_t)period, store ? "store" : "load", i, (uintmax_t)w[1],
		      (uintmax_t)(store ? stores : loads)[i].addr);
		CHECK(w[2] % period == 0, "the counter says %ju", (uintmax_t)w[2]);
		seen++;
	}
	CHECK(seen >= n / period && seen <= n / period + 1, "period %ju: %u samples", (uintmax_t)period, seen);
	munmap(r.page, r.size + PAGE);
	close(fd);
}

/* An event that is neither has no address, as with the kernel. */
static void no_address(void)
{
	const struct perf_event_attr a = sampling(1, PERF_SAMPLE_IP | PERF_SAMPLE_ADDR);
	const int fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 4, PROT_READ | PROT_WRITE);
	area[0] = (uint64_t)&area[8];
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	code();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	unsigned n = 0;
	for (struct perf_event_header *h; (h = ring_next(&r)); n++)
		CHECK(((const uint64_t *)(h + 1))[1] == 0, "an address");
	CHECK(n > 20, "%u samples", n);
	munmap(r.page, r.size + PAGE);
	close(fd);
}

int main(void)
{
	expect_all();
	for (uint64_t period = 1; period < 8; period++)
		for (int precise = 0; precise < 3; precise++) {
			sample(false, period, (uint64_t)precise);
			sample(true, period, (uint64_t)precise);
		}
	no_address();
	return 0;
}
