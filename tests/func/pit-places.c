/* The program takes memory where the engine's tables are: it gets what it gets natively,
 * while another thread goes on calling through pointers. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB 1024ul
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static int add_one(int n) { return n + 1; }
static int add_two(int n) { return n + 2; }
static int (*const volatile adders[2])(int) = { add_one, add_two };
static volatile int done;

static void *caller(void *arg)
{
	long sum = 0, calls = 0;
	(void)arg;
	for (; !done; calls++)
		sum += adders[calls & 1](0);
	return (void *)(uintptr_t)(sum == calls / 2 * 3 + calls % 2);
}

static int still_works(void)
{
	int n = 0;
	for (int i = 0; i < 100; i++)
		n = adders[i & 1](n);
	return n == 150;
}

/* Maps, writes, runs a function there if there is room, calls, unmaps. */
static void take(const char *what, uint64_t at, uint64_t size, int flags)
{
	const int prot = size <= 64 * MIB ? PROT_READ | PROT_WRITE | PROT_EXEC : PROT_READ | PROT_WRITE;
	unsigned char *const p = mmap((void *)at, size, prot,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
	if (p == MAP_FAILED) {
		printf("%s: refused\n", what);
		return;
	}
	int got = -1;
	memset(p, 0x5a, 4096);
	p[size - 1] = 0x5a;
	if (prot & PROT_EXEC) {
		memcpy(p + 64, "\x8d\x47\x03\xc3", 4);		/* lea 3(%rdi), %eax; ret */
		for (int i = 0; i < 10; i++)
			got = ((int (*)(int))(p + 64))(i);
	}
	const int works = still_works();
	printf("%s: %s, %d, %s", what, (uint64_t)p == at ? "there" : "elsewhere", got,
	       works ? "works" : "BROKEN");
	printf(", %s\n", p[0] == 0x5a && p[size - 1] == 0x5a ? "kept" : "LOST");
	munmap(p, size);
}

/* Where a table of four bytes for each address might have the cell of this function. */
static void take_tables(uint64_t base)
{
	char what[64];
	const uint64_t of[] = { (uint32_t)(uintptr_t)add_one, (uint32_t)(uintptr_t)printf };
	for (int i = 0; i < 2; i++) {
		snprintf(what, sizeof(what), "table at %#lx, %d", (unsigned long)base, i);
		take(what, (base + 4 * of[i]) & ~4095ul, 64 * KIB, MAP_FIXED);
	}
}

/* All of the lowest 4 GiB that nobody may use, by a hint: Chromium does so. */
static void keep_low(void)
{
	void *const p = mmap((void *)0x10000, 4 * GIB, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	printf("the lowest 4 GiB: %s, %s\n", p == (void *)0x10000 ? "there" : "elsewhere",
	       still_works() ? "works" : "BROKEN");
	munmap(p, 4 * GIB);
}

static void low_addresses(void)
{
	for (uint64_t at = 0x50000000; at < 0x80000000; at += 0x1000000) {
		char what[64];
		snprintf(what, sizeof(what), "%#lx", (unsigned long)at);
		take(what, at, 4 * MIB, at & 0x1000000 ? MAP_FIXED : 0);
	}
	take_tables(0x60000000);
	take_tables(0x7ff00000);
	take("2 GiB at 0x80000000", 0x80000000, 2 * GIB, 0);
	keep_low();
	take("14 GiB at 0x100000000", 0x100000000, 14 * GIB, MAP_FIXED);
}

/* All that there is below 2 GiB. */
static void fill_32bit(void)
{
	static void *all[1024];
	int n = 0;
	while (n < 1024 && (all[n] = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_32BIT |
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) != MAP_FAILED)
		memset(all[n++], 1, 4096);
	printf("MAP_32BIT: %d MiB, %s\n", n, still_works() ? "works" : "BROKEN");
	while (n--)
		munmap(all[n], MIB);
}

/* What sanitizers do with the address space, their shadow and what they forbid. */
static void forbid(const char *what, uint64_t from, uint64_t to)
{
	void *const p = mmap((void *)from, to - from, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	printf("%s: %s, %s\n", what, (uint64_t)p == from ? "forbidden" : "refused",
	       still_works() ? "works" : "BROKEN");
}

static void shadow(const char *what, uint64_t from, uint64_t to)
{
	volatile char *const p = mmap((void *)from, to - from, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if ((uint64_t)p != from) {
		printf("%s: refused\n", what);
		return;
	}
	p[0] = p[to - from - 1] = 1;
	printf("%s: mapped, %s, madvise %d\n", what, still_works() ? "works" : "BROKEN",
	       madvise((void *)from, to - from, MADV_DONTDUMP));
}

static void in_child(void (*what)(void))
{
	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0) {
		what();
		fflush(stdout);
		_exit(0);
	}
	int status = 0;
	waitpid(pid, &status, 0);
	printf("ended: %#x\n", (unsigned)status);
}

static void as_asan(void)
{
	shadow("asan low shadow", 0x7fff8000, 0x8fff7000);
	forbid("asan gap", 0x8fff7000, 0x02008fff7000);
	shadow("asan high shadow", 0x02008fff7000, 0x10007fff8000);
}

static void as_tsan(void)
{
	forbid("tsan gap 1", 0x020000000000, 0x100000000000);
	shadow("tsan shadow", 0x100000000000, 0x300000000000);
	shadow("tsan meta", 0x300000000000, 0x340000000000);
	forbid("tsan gap 2", 0x340000000000, 0x550000000000);
}

static void as_msan(void)
{
	shadow("msan shadow 2", 0x010000000000, 0x100000000000);
	forbid("msan invalid 1", 0x100000000000, 0x110000000000);
	shadow("msan origin 2", 0x110000000000, 0x200000000000);
	shadow("msan shadow 3", 0x200000000000, 0x300000000000);
	shadow("msan origin 3", 0x300000000000, 0x400000000000);
	forbid("msan invalid 2", 0x400000000000, 0x500000000000);
	shadow("msan shadow 1", 0x500000000000, 0x510000000000);
	shadow("msan origin 1", 0x600000000000, 0x610000000000);
}

/* A heap that grows past 2 GiB, as that of a program linked at 4 MiB does. */
static void grow_heap(void)
{
	char *const start = sbrk(0);
	uint64_t got = 0;
	while (got < 3 * GIB && sbrk(64 * MIB) != (void *)-1) {
		start[got] = 1;
		got += 64 * MIB;
	}
	printf("heap: %lu MiB, %s\n", (unsigned long)(got / MIB), still_works() ? "works" : "BROKEN");
	sbrk(-(intptr_t)got);
}

int main(void)
{
	pthread_t t;
	void *ok;
	pthread_create(&t, NULL, caller, NULL);
	low_addresses();
	fill_32bit();
	grow_heap();
	low_addresses();
	done = 1;
	pthread_join(t, &ok);
	printf("the other thread: %s\n", ok ? "right" : "WRONG");
	in_child(as_asan);
	in_child(as_tsan);
	in_child(as_msan);
	return 0;
}
