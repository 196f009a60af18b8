/* Calls whose targets write all flags at once, through the stub of a PLT, and that return with an operand, in code
 * with and without an unwind table, while a timer interrupts them. The contexts of the call graph must add up to the
 * counts of the run: tests/tool/code-calls.c.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#define TICKS 1000

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

/* outer() pushes two words and calls inner(), which adds them and takes them off the stack. */
long outer(long word);
__asm__(".text\n"
	"inner:	.cfi_startproc\n"
	"	mov 8(%rsp), %rax\n"
	"	add 16(%rsp), %rax\n"
	"	ret $16\n"
	"	.cfi_endproc\n"
	".globl outer\n"
	"outer:	.cfi_startproc\n"
	"	push $2\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call inner\n"
	"	.cfi_adjust_cfa_offset -16\n"
	"	ret\n"
	"	.cfi_endproc\n");

/* The same two, in memory without a file. */
static long (*copied(void))(long)
{
	static const unsigned char code[] = {
		0x6a, 2, 0x57, 0xe8, 1, 0, 0, 0, 0xc3,
		0x48, 0x8b, 0x44, 0x24, 8, 0x48, 3, 0x44, 0x24, 16, 0xc2, 16, 0,
	};
	void *const at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		exit(1);
	memcpy(at, code, sizeof(code));
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	return (long (*)(long))at;
}

int main(void)
{
	const struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { 0 };
	long (*const copy)(long) = copied();
	long (*volatile past_stub)(long) = labs;
	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &often, NULL);
	for (long i = 0; ticks < TICKS; i++)
		if (outer(i) != i + 2 || copy(i) != i + 2 || labs(-i) != i || past_stub(-i) != i)
			return 1;
	setitimer(ITIMER_REAL, &never, NULL);
	puts("right");
	return 0;
}
