#include "fp-code.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

/* fldenv clears the flags: not one of the instructions that some CPUs count twice when a flag is
 * set (fninit, fnclex, fnsave). */
static void divide_x87(uint64_t rounds, const double *divisor)
{
	uint32_t clean[7];
	__asm__ volatile("fnstenv %0\n\tfldenv %0" : "=m"(clean));
	clean[1] &= ~0xffu;		/* no flag */
	clean[0] |= 0x3f;		/* all masked */
	for (uint64_t i = 0; i < rounds; i++)
		__asm__ volatile("fldenv %0\n\tfld1\n\tfdivl %1\n\tfstp %%st(0)"
				 :: "m"(clean), "m"(*divisor) : "st");
	__asm__ volatile("fldenv %0" :: "m"(clean));
}

static void divide_sse(uint64_t rounds, const double *divisor)
{
	static const double one = 1;
	uint32_t before;
	__asm__ volatile("stmxcsr %0" : "=m"(before));
	const uint32_t clean = (before & ~0x3fu) | 0x1f80;
	for (uint64_t i = 0; i < rounds; i++)
		__asm__ volatile("ldmxcsr %0\n\tmovsd %1, %%xmm0\n\tdivsd %2, %%xmm0"
				 :: "m"(clean), "m"(one), "m"(*divisor) : "xmm0");
	__asm__ volatile("ldmxcsr %0" :: "m"(before));
}

const struct fp_division fp_divisions[] = {
	{ "x87", divide_x87 },
	{ "SSE", divide_sse },
};
const size_t n_fp_divisions = 2;

void fp_use(bool really)
{
	if (really)
		__asm__ volatile("fld1\n\tfstp %%st(0)" ::: "st");
}

long fp_call(long number, long a, long b, long c, long d, long e)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	__asm__ volatile("syscall" : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

/* clone without libc: fork() of libc runs handlers, which may use SSE. */
int fp_fresh_process(void (*child)(void *arg), void *arg)
{
	const long result = fp_call(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (result)
		return (int)result;
	child(arg);
	for (;;)
		fp_call(SYS_exit_group, 0, 0, 0, 0, 0);
}
