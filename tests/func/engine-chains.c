/* Chains of blocks that were a trouble: long ones, and branches out of them to code that
 * changes. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* More blocks than bytes would let one expect, in one chain. */
__asm__(".text\n"
	"chain:	xorl %eax, %eax\n"
	".rept 14000\n"
	"	jmp 1f\n1:	jmp 1f\n1:	jmp 1f\n1:	jmp 1f\n1:	jmp 1f\n1:\n"
	"	testl %eax, %eax\n"
	"	jne out\n"
	".endr\n"
	"out:	ret\n");
extern void chain(void);

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

#define ONE "\xb8\1\0\0\0\xc3"			/* mov $1, %eax; ret */
#define TWO "\xb8\2\0\0\0\xc3"
#define ZERO "\x31\xc0\xc3"			/* xor %eax, %eax; ret */
#define EQUAL "\x0f\x94\xc0\xc3"		/* sete %al; ret: wants the flags */

static void long_chain(void)
{
	function *const f = put(0x10000000, PROT_READ | PROT_WRITE | PROT_EXEC, ONE, 6);
	const int before = f(0, 0);
	chain();
	memcpy((void *)f, TWO, 6);		/* still known to be code */
	printf("%d %d\n", before, f(0, 0));
}

/* Leaves by the side to code that did not want the flags, and then does. */
static void other_flags(int prot)
{
	const uintptr_t from = 0x20000000, to = 0x30000000;
	/* xor %eax, %eax; cmp %esi, %edi; je to; mov $7, %eax; ret */
	unsigned char code[] = { 0x31, 0xc0, 0x39, 0xf7, 0x0f, 0x84, 0, 0, 0, 0,
				 0xb8, 7, 0, 0, 0, 0xc3 };
	const int32_t far = (int32_t)(to - (from + 10));
	memcpy(code + 6, &far, 4);
	function *const f = put(from, PROT_READ | PROT_EXEC, code, sizeof(code));
	put(to, prot, ZERO, 3);
	const int a = f(1, 2), b = f(3, 3), c = f(3, 3);
	if (prot & PROT_WRITE) {
		memcpy((void *)to, EQUAL, 4);
	} else {
		munmap((void *)to, 4096);
		put(to, prot, EQUAL, 4);
	}
	printf("%d %d %d, %d %d\n", a, b, c, f(3, 3), f(4, 5));
}

int main(void)
{
	long_chain();
	other_flags(PROT_READ | PROT_EXEC);
	other_flags(PROT_READ | PROT_WRITE | PROT_EXEC);
	return 0;
}
