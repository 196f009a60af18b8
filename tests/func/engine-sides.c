/* A conditional branch whose rarer way leads to code that goes on in two ways, and then changes. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef int function(int, int);

static function *put(uintptr_t at, int prot, const void *code, size_t n)
{
	void *const p = mmap((void *)at, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	memcpy(p, code, n);
	mprotect(p, 4096, prot);
	return (function *)p;
}

static void sides(int prot)
{
	const uintptr_t from = 0x20000000, to = 0x30000000;
	/* xor %eax, %eax; cmp %esi, %edi; je to; mov $7, %eax; ret */
	unsigned char code[] = { 0x31, 0xc0, 0x39, 0xf7, 0x0f, 0x84, 0, 0, 0, 0,
				 0xb8, 7, 0, 0, 0, 0xc3 };
	/* test %edi, %edi; jne over; mov $1, %eax; ret; over: mov $2, %eax; ret */
	unsigned char side[] = { 0x85, 0xff, 0x75, 6, 0xb8, 1, 0, 0, 0, 0xc3,
				 0xb8, 2, 0, 0, 0, 0xc3 };
	const int32_t far = (int32_t)(to - (from + 10));
	memcpy(code + 6, &far, 4);
	function *const f = put(from, PROT_READ | PROT_EXEC, code, sizeof(code));
	for (int round = 0; round < 3; round++) {
		side[5] = (unsigned char)(round * 10 + 1);
		side[11] = (unsigned char)(round * 10 + 2);
		if (round && prot & PROT_WRITE)
			memcpy((void *)to, side, sizeof(side));
		else
			put(to, prot, side, sizeof(side));
		unsigned sum = (unsigned)f(1, 2);
		for (int i = 0; i < 100; i++) {
			const int a = i % 5 == 4 ? 0 : i, b = i % 7 == 6 ? i + 1 : a;
			sum = sum * 3 + (unsigned)f(a, b);
		}
		printf("%u\n", sum);
	}
}

/* … and to where no code is, or only later. */
static sigjmp_buf back;

static void at_fault(int sig)
{
	siglongjmp(back, sig);
}

static void nowhere(void)
{
	const uintptr_t from = 0x20000000, to = 0x31000000;
	/* xor %eax, %eax; cmp %esi, %edi; je to; mov $7, %eax; ret */
	unsigned char code[] = { 0x31, 0xc0, 0x39, 0xf7, 0x0f, 0x84, 0, 0, 0, 0, 0xb8, 7, 0, 0, 0, 0xc3 };
	static const unsigned char side[] = { 0xb8, 1, 0, 0, 0, 0xc3 };		/* mov $1, %eax; ret */
	const int32_t far = (int32_t)(to - (from + 10));
	memcpy(code + 6, &far, 4);
	function *const f = put(from, PROT_READ | PROT_EXEC, code, sizeof(code));
	volatile int faults = 0, sum = 0;
	signal(SIGSEGV, at_fault);
	for (volatile int i = 0; i < 300; i++) {
		if (i == 200)
			put(to, PROT_READ | PROT_EXEC, side, sizeof(side));
		if (sigsetjmp(back, 1))
			faults++;
		else
			sum += f(i, i % 3 ? -1 : i);
	}
	printf("%d faults, %d\n", faults, sum);
}

int main(void)
{
	sides(PROT_READ | PROT_EXEC);
	sides(PROT_READ | PROT_WRITE | PROT_EXEC);
	nowhere();
	return 0;
}
