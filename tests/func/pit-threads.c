/* Starts N tasks in its own memory, one after the other, each the same number of
 * instructions. They are processes, so that waiting for one is a single call; threads
 * would be waited for in a loop that depends on time. usage: pit-threads N
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* clone(flags, stack); the child exits at once. */
static void one(char *top)
{
	long pid;
	__asm__ volatile("syscall\n\ttest %%eax, %%eax\n\tjnz 1f\n\t"
			 "mov %1, %%eax\n\txor %%edi, %%edi\n\tsyscall\n"
			 "1:"
			 : "=a"(pid)
			 : "i"(SYS_exit), "a"(SYS_clone), "D"(CLONE_VM | CLONE_FS | CLONE_FILES),
			   "S"(top), "d"(0)
			 : "rcx", "r11", "memory");
	syscall(SYS_wait4, pid, 0, (int)0x80000000, 0);
}

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 1;
	char *const stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
	for (long i = 0; i < n; i++)
		one(stack + 65536);
	return 0;
}
