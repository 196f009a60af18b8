/* Prints what a program can ask about its CPU, as NAME=VALUE lines, and checks that XSAVE keeps to the size
 * that cpuid tells. */
#include <cpuid.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_GET_AUXV
#define PR_GET_AUXV 0x41555856
#endif

static void leaf(uint32_t n, uint32_t sub)
{
	uint32_t a, b, c, d;
	__cpuid_count(n, sub, a, b, c, d);
	printf("cpuid.%x.%x=%08x %08x %08x %08x\n", n, sub, a, b, c, d);
}

static uint64_t xgetbv(uint32_t which)
{
	uint32_t a, d;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(which));
	return a | (uint64_t)d << 32;
}

/* An area of just the size that cpuid tells, in front of bytes that must stay. */
static void show_xsave(void)
{
	static char area[8192] __attribute__((aligned(64)));
	uint32_t a, size, c, d;
	__cpuid_count(0xd, 0, a, size, c, d);
	double in[4] = { 1.5, 2.5, 3.5, 4.5 }, out[4] = { 0 };
	memset(area, 0, sizeof(area));
	memset(area + size, 0x5a, sizeof(area) - size);
	__asm__ volatile("vmovupd %1, %%ymm3\n\t"
			 "mov $-1, %%eax\n\tmov $-1, %%edx\n\t"
			 "xsave64 %0\n\t"
			 "vxorpd %%ymm3, %%ymm3, %%ymm3\n\t"
			 "mov $-1, %%eax\n\tmov $-1, %%edx\n\t"
			 "xrstor64 %0\n\t"
			 "vmovupd %%ymm3, %2\n\tvzeroupper"
			 : "+m"(area), "+m"(in), "=m"(out) : : "eax", "edx", "xmm3", "memory");
	uint64_t saved;
	memcpy(&saved, area + 512, 8);
	for (size_t i = size; i < sizeof(area); i++)
		if (area[i] != 0x5a) {
			printf("xsave=wrote byte %zu of %u\n", i, size);
			return;
		}
	printf("xsave=%s, beyond xcr0: %llx\n", memcmp(in, out, sizeof(in)) ? "lost" : "kept",
	       (unsigned long long)(saved & ~xgetbv(0)));
}

static void show_cpu_number(void)
{
	unsigned cpu = 99, node = 99, aux = 99, limit = 99;
	syscall(SYS_getcpu, &cpu, &node, NULL);
	__builtin_ia32_rdtscp(&aux);
	__asm__ volatile("lsl %1, %0" : "+r"(limit) : "r"(0x7b) : "cc");
	printf("getcpu=%u %u\nsched_getcpu=%d\nrdtscp=%u\nlsl=%u\n", cpu, node, sched_getcpu(), aux, limit);
}

static void show_affinity(void)
{
	uint64_t mask[16] = { 0 };
	const long n = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	printf("affinity=%ld %llx\n", n, (unsigned long long)mask[0]);
	mask[0] = 1ull << 63;
	const int ret = (int)syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask);
	printf("set 63=%d %d\n", ret, ret ? errno : 0);
	mask[0] = 1;
	printf("set 0=%d\n", (int)syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask));
	printf("short=%ld\n", syscall(SYS_sched_getaffinity, 0, 4, mask));
}

static volatile sig_atomic_t handled;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	handled = 1;
}

/* A signal stack of the size that the vector tells, and 1024 bytes for the handler, is enough: what is below it
 * stays. */
static void show_signal(void)
{
	static char memory[32768];
	const size_t need = getauxval(51), size = need + 1024;
	const struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	memset(memory, 0x5a, sizeof(memory));
	const stack_t stack = { .ss_sp = memory + 16384, .ss_size = size };
	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &act, NULL) || raise(SIGUSR1))
		return;
	for (int i = 0; i < 16384; i++)
		if (memory[i] != 0x5a)
			handled = 0;
	printf("signal=%s\n", handled ? "fits" : "overruns");
}

static void show_auxv(void)
{
	uint64_t v[64] = { 0 };
	const int n = prctl(PR_GET_AUXV, v, sizeof(v), 0, 0);
	for (int i = 0; i < n / 16 && i < 32; i++)		/* glibc replaces what getauxval(AT_HWCAP) gives */
		if (v[2 * i] == AT_HWCAP)
			printf("hwcap=%llx %lx\n", (unsigned long long)v[2 * i + 1], getauxval(AT_HWCAP2));
	printf("minsigstksz=%lu\nvdso=%lx\nplatform=%s\n", getauxval(51), getauxval(AT_SYSINFO_EHDR),
	       (const char *)getauxval(AT_PLATFORM));
	printf("get_auxv=");
	for (int i = 0; i < n / 16 && i < 32; i++)
		printf("%s%llu", i ? " " : "", (unsigned long long)v[2 * i]);
	printf("\n");
}

/* Executes an instruction of a set, which the caller knows the host to have. */
static void execute(const char *set)
{
	uint64_t v = 3, w = 0;
	if (strcmp(set, "avx2") == 0)
		__asm__ volatile("vpaddd %%ymm1, %%ymm1, %%ymm2\n\tvzeroupper" : : : "xmm2");
	else if (strcmp(set, "bmi2") == 0)
		__asm__ volatile("rorx $3, %1, %0" : "=r"(w) : "r"(v));
	else if (strcmp(set, "movbe") == 0)
		__asm__ volatile("movbe %1, %0" : "=r"(w) : "m"(v));
	else if (strcmp(set, "fma") == 0)
		__asm__ volatile("vfmadd231sd %%xmm1, %%xmm1, %%xmm2" : : : "xmm2");
	else if (strcmp(set, "aes") == 0)
		__asm__ volatile("aesenc %%xmm1, %%xmm2" : : : "xmm2");
	else if (strcmp(set, "avx512f") == 0)
		__asm__ volatile("vpxord %%zmm17, %%zmm17, %%zmm17" : : : "memory");
	else if (strcmp(set, "sse4_2") == 0)
		__asm__ volatile("crc32q %1, %0" : "+r"(w) : "r"(v));
}

int main(int argc, char **argv)
{
	uint32_t a, b, c, d;
	for (int i = 1; i < argc; i++)
		execute(argv[i]);
	if (argc > 1)
		return 0;
	for (uint32_t i = 0; i <= 0x1f; i++)
		for (uint32_t sub = 0; sub < 9; sub++)
			leaf(i, sub);
	for (uint32_t i = 0; i <= 0x22; i++)
		leaf(0x80000000u + i, i == 0x1d ? 3 : 0);
	show_cpu_number();
	show_affinity();
	show_auxv();
	show_signal();
	__cpuid(1, a, b, c, d);
	if (c & bit_OSXSAVE) {
		printf("xgetbv=%llx\n", (unsigned long long)xgetbv(0));
		if (c & bit_AVX)
			show_xsave();
	}
	uint64_t supported = 0;
	if (syscall(SYS_arch_prctl, 0x1021, &supported) == 0)
		printf("xcomp=%llx\n", (unsigned long long)supported);
	printf("amx=%ld\n", syscall(SYS_arch_prctl, 0x1023, 18L) ? (long)errno : 0);
	return 0;
}
