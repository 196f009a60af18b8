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

#define EQUAL_INT "\x0f\x94\xc0\x0f\xb6\xc0\xc3"	/* sete %al; movzbl %al, %eax; ret */

static void change(uintptr_t at, int prot, const void *code, size_t n)
{
	if (prot & PROT_WRITE) {
		memcpy((void *)at, code, n);
	} else {
		munmap((void *)at, 4096);
		put(at, prot, code, n);
	}
}

static void set_jump(unsigned char *code, uintptr_t at, uintptr_t to)
{
	const int32_t far = (int32_t)(to - (at + 4));
	memcpy(code, &far, 4);
}

/* The flags of the first block are lost or wanted two blocks later, in code that changes. */
static void two_blocks_later(int prot)
{
	const uintptr_t from = 0x21000000, middle = 0x22000000, to = 0x23000000;
	/* cmp %esi, %edi; jmp next; next: mov $7, %ecx; jmp middle */
	unsigned char code[] = { 0x39, 0xf7, 0xeb, 0, 0xb9, 7, 0, 0, 0, 0xe9, 0, 0, 0, 0 };
	unsigned char jump[] = { 0xb9, 8, 0, 0, 0, 0xe9, 0, 0, 0, 0 };	/* mov $8, %ecx; jmp to */
	set_jump(code + 10, from + 10, middle);
	set_jump(jump + 6, middle + 6, to);
	function *const f = put(from, PROT_READ | PROT_EXEC, code, sizeof(code));
	function *const m = put(middle, PROT_READ | PROT_EXEC, jump, sizeof(jump));
	put(to, prot, ZERO, 3);
	const int before = m(3, 3) + f(3, 3) + f(3, 3);
	change(to, prot, EQUAL_INT, 7);
	printf("two blocks later: %d, %d %d\n", before, f(3, 3), f(4, 3));
}

/* … in code that has never run until it changes. */
static void never_run(int prot)
{
	const uintptr_t from = 0x24000000, middle = 0x25000000, to = 0x25100000;
	/* cmp %esi, %edi; jmp next; next: mov %edx, %ecx; nop; nop; nop; jmp middle */
	unsigned char code[] = { 0x39, 0xf7, 0xeb, 0, 0x89, 0xd1, 0x90, 0x90, 0x90, 0xe9, 0, 0, 0, 0 };
	unsigned char jump[] = { 0xe3, 3, 0x31, 0xc0, 0xc3, 0xe9, 0, 0, 0, 0 };	/* jrcxz 1f; xor %eax, %eax; ret; 1: jmp to */
	set_jump(code + 10, from + 10, middle);
	set_jump(jump + 6, middle + 6, to);
	int (*const f)(int, int, int) = (int (*)(int, int, int))(void *)put(from, PROT_READ | PROT_EXEC, code, sizeof(code));
	put(middle, PROT_READ | PROT_EXEC, jump, sizeof(jump));
	put(to, prot, ZERO, 3);
	const int before = f(3, 3, 1) + f(3, 3, 1);
	change(to, prot, EQUAL_INT, 7);
	printf("never run: %d, %d %d\n", before, f(3, 3, 0), f(4, 3, 0));
}

/* … behind a jump through memory: writable, and read-only. */
__asm__(".section .data.through, \"aw\", @progbits\n"
	"	.balign 4096\n"
	"through: .zero 4096\n"
	".text\n"
	"	.balign 16\n"
	"stub:	endbr64\n"
	"	jmp *through(%rip)\n"
	"	.balign 16\n"
	"calls_stub:\n"
	"	subq $8, %rsp\n"
	"	cmpl %esi, %edi\n"
	"	jmp 1f\n"
	"1:	movl $5, %ecx\n"
	"	call stub\n"
	"	addq $8, %rsp\n"
	"	ret\n"
	"clears:	xorl %eax, %eax\n"
	"	ret\n"
	"equal:	sete %al\n"
	"	movzbl %al, %eax\n"
	"	ret\n"
	"below:	setb %al\n"
	"	movzbl %al, %eax\n"
	"	ret\n");
extern function *through[512];
extern function calls_stub, clears, equal, below;

static void through_memory(void)
{
	through[0] = clears;
	const int before = calls_stub(3, 3) + calls_stub(3, 3);
	through[0] = equal;
	printf("through memory: %d, %d %d", before, calls_stub(3, 3), calls_stub(3, 4));
	through[0] = below;
	printf(" %d %d\n", calls_stub(3, 4), calls_stub(4, 3));
}

static void through_constant(int prot)
{
	const uintptr_t to = 0x26000000;
	mprotect(through, 4096, PROT_READ | PROT_WRITE);
	through[0] = put(to, prot, ZERO, 3);
	mprotect(through, 4096, PROT_READ);
	const int before = calls_stub(3, 3) + calls_stub(3, 3);
	change(to, prot, EQUAL_INT, 7);
	printf("through read-only memory: %d, %d %d\n", before, calls_stub(3, 3), calls_stub(3, 4));
}

int main(void)
{
	static const int prots[] = { PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC };
	long_chain();
	for (int i = 0; i < 2; i++) {
		other_flags(prots[i]);
		two_blocks_later(prots[i]);
		never_run(prots[i]);
	}
	through_memory();
	for (int i = 0; i < 2; i++)
		through_constant(prots[i]);
	return 0;
}
