/* A restartable sequence, written by hand: the engine must refuse it, not run it as if
 * it could never be interrupted. Natively it adds up.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/rseq.h>

/* One more in *counter, as a critical section; 0 when it was aborted. */
static int add_one(volatile long *counter)
{
	struct rseq *const area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	long done = 0;
	__asm__ volatile(
		".pushsection __rseq_cs, \"aw\"\n\t.balign 32\n"
		"3:	.long 0, 0\n\t.quad 1f, 2f - 1f, 4f\n\t.popsection\n\t"
		"lea 3b(%%rip), %%rax\n\tmov %%rax, %2\n"
		"1:	mov %1, %%rcx\n\tlea 1(%%rcx), %%rcx\n\tmov %%rcx, %1\n"
		"2:	mov $1, %0\n\tjmp 5f\n\t"
		".byte 0x0f, 0xb9, 0x3d\n\t.long %c3\n"
		"4:	xor %k0, %k0\n"
		"5:\n"
		: "+r"(done), "+m"(*counter), "=m"(area->rseq_cs)
		: "i"(RSEQ_SIG) : "rax", "rcx", "memory");
	area->rseq_cs = 0;
	return (int)done;
}

int main(void)
{
	volatile long counter = 0;
	long done = 0;
	if (!__rseq_size) {
		puts("no rseq");
		return 77;
	}
	for (int i = 0; i < 100000; i++)
		done += add_one(&counter);
	printf("%s\n", counter >= done ? "adds up" : "lost some");
	return 0;
}
