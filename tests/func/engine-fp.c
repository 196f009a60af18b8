/* Floating-point and vector state is the program's own: rounding and exception
 * masks, registers across system calls, across many blocks, x87 environment,
 * exceptions that trap.
 */
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void rounding(void)
{
	static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
	for (int i = 0; i < 4; i++) {
		fesetround(modes[i]);
		volatile double x = 1.0, y = 3.0;
		volatile long double lx = 1.0L, ly = 3.0L;
		syscall(SYS_getppid);
		printf("%a %La %ld\n", x / y, lx / ly, lrint(2.5));
	}
	fesetround(FE_TONEAREST);
}

static void exceptions(void)
{
	feclearexcept(FE_ALL_EXCEPT);
	volatile double zero = 0.0, one = 1.0, big = 1e308;
	volatile double r = one / zero;
	printf("divide by zero %d", fetestexcept(FE_DIVBYZERO) != 0);
	r = big * big;
	printf(" overflow %d", fetestexcept(FE_OVERFLOW) != 0);
	r = sqrt(-one);
	printf(" invalid %d\n", fetestexcept(FE_INVALID) != 0);
	(void)r;
	feclearexcept(FE_ALL_EXCEPT);
}

static sigjmp_buf out;
static volatile int code;
static void on_fpe(int sig, siginfo_t *si, void *arg)
{
	(void)sig;
	(void)arg;
	code = si->si_code;
	siglongjmp(out, 1);
}

static void trapping(void)
{
	struct sigaction sa = { .sa_sigaction = on_fpe, .sa_flags = SA_SIGINFO };
	sigaction(SIGFPE, &sa, NULL);
	feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
	volatile double zero = 0.0, one = 1.0, big = 1e308;
	volatile long double lz = 0.0L, lo = 1.0L;
	if (!sigsetjmp(out, 1))
		one = one / zero;
	printf("SIGFPE code %d (SSE)\n", code);
	feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
	one = 1.0;
	if (!sigsetjmp(out, 1))
		one = big * big;
	printf("SIGFPE code %d (overflow)\n", code);
	feclearexcept(FE_ALL_EXCEPT);
	feenableexcept(FE_DIVBYZERO);
	if (!sigsetjmp(out, 1)) {
		lo = lo / lz;
		lo = lo + 1;
	}
	printf("SIGFPE code %d (x87)\n", code);
	feclearexcept(FE_ALL_EXCEPT);
	fedisableexcept(FE_ALL_EXCEPT);
	fesetenv(FE_DFL_ENV);
	volatile int zero_i = 0, one_i = 1;
	if (!sigsetjmp(out, 1))
		one_i = one_i / zero_i;
	printf("SIGFPE code %d (integer)\n", code);
	volatile int min = -2147483647 - 1, minus = -1;
	if (!sigsetjmp(out, 1))
		min = min / minus;
	printf("SIGFPE code %d (overflow of idiv)\n", code);
}

static void registers(void)
{
	uint64_t in[32], got[32];
	for (int i = 0; i < 32; i++)
		in[i] = 0x0123456789abcdefull * (uint64_t)(i + 1);
	memset(got, 0, sizeof(got));
	__asm__ volatile(
		"movdqu (%0), %%xmm0\n movdqu 16(%0), %%xmm1\n movdqu 32(%0), %%xmm2\n"
		"movdqu 48(%0), %%xmm5\n movdqu 64(%0), %%xmm9\n movdqu 80(%0), %%xmm15\n"
		"mov $110, %%eax\n syscall\n"
		"xor %%eax, %%eax\n xor %%ecx, %%ecx\n push %%rbx\n cpuid\n pop %%rbx\n"
		"call 1f\n jmp 2f\n 1: ret\n 2:\n"
		"movdqu %%xmm0, (%1)\n movdqu %%xmm1, 16(%1)\n movdqu %%xmm2, 32(%1)\n"
		"movdqu %%xmm5, 48(%1)\n movdqu %%xmm9, 64(%1)\n movdqu %%xmm15, 80(%1)\n"
		: : "r"(in), "r"(got)
		: "rax", "rcx", "rdx", "r11", "memory", "xmm0", "xmm1", "xmm2", "xmm5", "xmm9",
		  "xmm15");
	printf("registers %d\n", memcmp(in, got, 96));
}

static void environment(void)
{
	uint16_t env[14], cw;
	__asm__ volatile("fninit\n fld1\n fldpi\n fnstenv %0\n fldcw %0\n fninit\n fnstcw %1"
			 : "=m"(env), "=m"(cw));
	printf("x87 env: cw %x sw %x tw %x, then %x\n", env[0], env[2], env[4], cw);
}

static void series(void)
{
	double s = 0;
	long double l = 0;
	float f = 0;
	for (int i = 1; i < 20000; i++) {
		s += sin(i) / i;
		l += 1.0L / ((long double)i * i);
		f += sqrtf((float)i);
	}
	printf("%a %La %a\n", s, l, f);
}

/* Where the last x87 instruction was: all CPUs tell while its exception is pending. */
static void last_instruction(void)
{
	static const uint16_t unmasked = 0x037b;	/* division by zero */
	uint32_t env[7] = { 0 };
	static uint8_t fx[512] __attribute__((aligned(64)));
	uint64_t where, told;
	__asm__ volatile("fninit\n\t"
			 "fldcw %3\n\t"
			 "fld1\n\t"
			 "fldz\n\t"
			 "lea 1f(%%rip), %0\n\t"
			 "nop\n"
			 "1:	fdivrp\n\t"
			 "mov $7, %%ecx\n"
			 "2:	loop 2b\n\t"
			 "fxsave64 %2\n\t"
			 "fnstenv %1\n\t"
			 "fninit"
			 : "=&r"(where), "=m"(env), "=m"(fx) : "m"(unmasked) : "rcx", "memory");
	memcpy(&told, fx + 8, 8);
	printf("last instruction: fnstenv %+d, fxsave64 %+lld, both %s\n", (int)(env[3] - (uint32_t)where),
	       (long long)(told - where), told ? "told" : "not told");
}

int main(void)
{
	last_instruction();
	rounding();
	exceptions();
	trapping();
	registers();
	environment();
	series();
	return 0;
}
