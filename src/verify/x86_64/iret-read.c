/* A read(2) of a counter by int 0x80 or by syscall, between two rdpmc. */
#include "iret.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define READ_32 3		/* read in the table of 32-bit system calls */
#define BYTES 24		/* value and two times, as perf-attr.c asks for */

const char *iret_lacks(void)
{
	return NULL;
}

void *iret_memory(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
}

/* Both ways have the same number of instructions before and after the call. A 32-bit call zeroes r8 to
 * r11 on some kernels, and syscall changes rcx and r11: the results stay in r12 and r13. */
#define PROBE(arg0, arg1, arg2, number, instruction)                                               \
	__asm__ volatile("movl %[ecx], %%ecx\n\t"                                                  \
			 "lfence\n\t"                                                              \
			 "rdpmc\n\t"                                                               \
			 "shlq $32, %%rdx\n\t"                                                     \
			 "leaq (%%rax,%%rdx), %%r12\n\t"                                           \
			 "movl %[fd], %%" arg0 "\n\t"                                              \
			 "movl %[low], %%" arg1 "\n\t"                                             \
			 "movl %[bytes], %%" arg2 "\n\t"                                           \
			 "movl %[nr], %%eax\n\t" instruction "\n\t"                                \
			 "movl %%eax, %%r13d\n\t"                                                  \
			 "movl %[ecx], %%ecx\n\t"                                                  \
			 "lfence\n\t"                                                              \
			 "rdpmc\n\t"                                                               \
			 "shlq $32, %%rdx\n\t"                                                     \
			 "orq %%rdx, %%rax\n\t"                                                    \
			 "movq %%r12, %[before]\n\t"                                               \
			 "movl %%r13d, %[got]"                                                     \
			 : "=&a"(r->after), [before] "=m"(r->before), [got] "=m"(got)              \
			 : [ecx] "m"(ecx), [fd] "m"(fd), [low] "m"(address), [bytes] "i"(BYTES),    \
			   [nr] "i"(number)                                                        \
			 : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",     \
			   "r13", "cc", "memory")

bool iret_read(enum iret_call call, int fd, uint32_t index, void *low, struct iret_reading *r)
{
	const uint32_t ecx = index - 1, address = (uint32_t)(uintptr_t)low;
	int32_t got;

	if (call == IRET_INT80)
		PROBE("ebx", "ecx", "edx", READ_32, "int $0x80");
	else
		PROBE("edi", "esi", "edx", SYS_read, "syscall");
	r->kernel = *(const uint64_t *)low;
	return got == BYTES;
}
