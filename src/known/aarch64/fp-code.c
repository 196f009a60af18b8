#include "fp-code.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

static void divide(uint64_t rounds, const double *divisor)
{
	for (uint64_t i = 0; i < rounds; i++)
		__asm__ volatile("msr fpsr, xzr\n\tfmov d0, #1.0\n\tldr d1, %0\n\tfdiv d0, d0, d1"
				 :: "m"(*divisor) : "d0", "d1");
	__asm__ volatile("msr fpsr, xzr");
}

const struct fp_division fp_divisions[] = {
	{ "FP", divide },
};
const size_t n_fp_divisions = 1;

void fp_use(bool really)
{
	if (really)
		__asm__ volatile("fmov d0, #1.0" ::: "d0");
}

long fp_call(long number, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
	return x0;
}

int fp_fresh_process(void (*child)(void *arg), void *arg)
{
	const long result = fp_call(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (result)
		return (int)result;
	child(arg);
	for (;;)
		fp_call(SYS_exit_group, 0, 0, 0, 0, 0);
}
