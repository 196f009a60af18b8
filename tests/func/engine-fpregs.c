/* Every FP and vector register that the CPU has keeps its value across every kind of signal,
 * and is found in the handler's frame, which has the kernel's layout.
 *
 * All of them are set with one xrstor and read with one xsave, so that the program needs to
 * know no CPU: x87, MMX, SSE, AVX, AVX-512, PKRU and, once the kernel has granted them, AMX
 * tiles. What it prints is compared with a native run.
 */
#include <cpuid.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define AREA 16384
#define XTILE (3ull << 17)

static uint8_t in[AREA] __attribute__((aligned(64))), out[AREA] __attribute__((aligned(64))),
	frame[AREA] __attribute__((aligned(64))), initial[AREA] __attribute__((aligned(64)));
static uint64_t mask;		/* of features: 0 means fxsave only */
static unsigned from[64], size[64];
static volatile int seen, edit, nest;
static uint32_t frame_size;
volatile int arrived, awaited;
uint64_t go_on;			/* where a handler of a fault goes on */
uint64_t nowhere;		/* memory that is not executable */

/* The ways a signal comes; each uses general registers only. */
#define WAY(name, body) void name(void); __asm__(".text\n" #name ":\n" body "\n ret\n")
#define RESUME "lea 1f(%rip), %rax\n mov %rax, go_on(%rip)\n"
#define TGKILL(sig) "mov $39, %eax\n syscall\n mov %eax, %edi\n mov $186, %eax\n syscall\n" \
	"mov %eax, %esi\n mov $" #sig ", %edx\n mov $234, %eax\n syscall\n"
#define MASK(how, bits) "push $" #bits "\n mov $" #how ", %edi\n mov %rsp, %rsi\n" \
	"xor %edx, %edx\n mov $8, %r10d\n mov $14, %eax\n syscall\n pop %rax\n"
WAY(way_none, "nop");
WAY(way_kill, TGKILL(10));
WAY(way_kill_sync, TGKILL(11));
WAY(way_held, MASK(0, 0x400) TGKILL(11) MASK(1, 0x400));
WAY(way_held_two, MASK(0, 0x600) TGKILL(11) TGKILL(10) MASK(1, 0x600));
WAY(way_int3, "int3");
WAY(way_ud2, RESUME "ud2\n 1:");
WAY(way_load, RESUME "mov 0, %eax\n 1:");
WAY(way_store, RESUME "mov %eax, 0\n 1:");
WAY(way_divide, RESUME "xor %edx, %edx\n xor %ecx, %ecx\n mov $1, %eax\n div %ecx\n 1:");
WAY(way_jump, RESUME "jmp *nowhere(%rip)\n 1:");
WAY(way_privileged, RESUME "hlt\n 1:");
WAY(way_sigsys, "mov $110, %eax\n syscall");
WAY(way_timer, "mov $40000000, %ecx\n 1: mov arrived(%rip), %eax\n dec %ecx\n jz 2f\n"
	       "cmp awaited(%rip), %eax\n jl 1b\n 2:");
/* a handler that needs no stack besides the frame */
void tiny(int sig);
__asm__(".text\ntiny: incl arrived(%rip)\n ret\n");

static void around(void (*way)(void))
{
	static uint32_t mask_low, mask_high;	/* no place that is relative to rsp */
	mask_low = (uint32_t)mask;
	mask_high = (uint32_t)(mask >> 32);
	register void (*w)(void) __asm__("r12") = way;
	if (!mask) {
		__asm__ volatile("fxrstor64 %1\n lea -128(%%rsp), %%rsp\n call *%2\n lea 128(%%rsp), %%rsp\n"
				 "fxsave64 %0"
				 : "=m"(out) : "m"(in), "r"(w)
				 : "rax", "rcx", "rdx", "rdi", "rsi", "r8", "r9", "r10", "r11", "memory");
		return;
	}
	__asm__ volatile("xrstor64 %1\n lea -128(%%rsp), %%rsp\n call *%2\n lea 128(%%rsp), %%rsp\n"
			 "mov %3, %%eax\n mov %4, %%edx\n xsave64 %0"
			 : "=m"(out)
			 : "m"(in), "r"(w), "m"(mask_low), "m"(mask_high),
			   "a"(mask_low), "d"(mask_high)
			 : "rcx", "rdi", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
}

static void forget(void)
{
	if (mask)
		__asm__ volatile("xrstor64 %0" : : "m"(initial), "a"((uint32_t)mask),
				 "d"((uint32_t)(mask >> 32)));
	else
		__asm__ volatile("fninit\n pxor %%xmm0, %%xmm0\n pxor %%xmm15, %%xmm15" : : : "xmm0");
}

static void on_signal(int sig, siginfo_t *si, void *arg)
{
	ucontext_t *const uc = arg;
	uint8_t *const fp = (uint8_t *)uc->uc_mcontext.fpregs;
	const uint32_t *const sw = (const uint32_t *)(fp + 464);
	frame_size = sw[0] == 0x46505853 ? sw[1] : 512;
	memcpy(frame, fp, frame_size < AREA ? frame_size : AREA);
	if (edit)
		fp[160] ^= 0xff, fp[mask & 4 ? from[2] : 161] ^= 0xff;
	seen++;
	arrived++;
	if (go_on && si->si_code > 0)
		uc->uc_mcontext.gregs[REG_RIP] = (greg_t)go_on;
	go_on = 0;
	if (nest-- > 0)
		raise(sig == SIGUSR1 ? SIGUSR2 : SIGUSR1);
	forget();
}

/* The last x87 instruction and its operand are the CPU's to tell or not (bytes 6 to 23). */
static int same(const uint8_t *a, const uint8_t *b, int feature)
{
	if (feature == 0)
		return !memcmp(a, b, 5) && !memcmp(a + 32, b + 32, 128);
	if (feature == 1)
		return !memcmp(a + 24, b + 24, 4) && !memcmp(a + 160, b + 160, 256);
	return !memcmp(a + from[feature], b + from[feature], size[feature]);
}

static void show(const char *way, int in_frame)
{
	printf("%-28s %d signals;", way, seen);
	for (int i = 0; i < 63; i++)
		if ((mask | 3) >> i & 1 && !same(in, out, i))
			printf(" %d is lost", i);
	const uint32_t *const sw = (const uint32_t *)(frame + 464);
	if (in_frame && seen) {
		for (int i = 0; i < 63; i++)
			if ((mask | 3) >> i & 1 && !same(in, frame, i))
				printf(" %d is not in the frame", i);
		printf(" frame %u, features %x %x, size %u,", sw[1], sw[2], sw[3], sw[4]);
		if (mask)
			printf(" in use %llx, end %x", *(unsigned long long *)(frame + 512),
			       *(uint32_t *)(frame + frame_size - 4));
	}
	printf("\n");
	seen = 0;
	memset(frame, 0, sizeof(frame));
	memset(out, 0, sizeof(out));
}

static void handle(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };
	sigaction(sig, &sa, NULL);
}

static const struct { const char *name; void (*way)(void); } ways[] = {
	{ "nothing", way_none }, { "SIGUSR1 to itself", way_kill },
	{ "SIGSEGV to itself", way_kill_sync }, { "SIGSEGV held and let in", way_held },
	{ "two held and let in", way_held_two }, { "int3", way_int3 }, { "ud2", way_ud2 },
	{ "load", way_load }, { "store", way_store }, { "division", way_divide },
	{ "jump to data", way_jump }, { "hlt", way_privileged }, { "a filter's SIGSYS", way_sigsys },
};

static const int signals[] = { SIGUSR1, SIGUSR2, SIGSEGV, SIGTRAP, SIGILL, SIGFPE, SIGSYS, SIGBUS };

static void every_way(const char *title, int flags)
{
	printf("%s:\n", title);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		handle(signals[i], on_signal, flags);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		around(ways[i].way);
		show(ways[i].name, ways[i].way != way_held_two);
	}
	nest = 2;
	around(way_kill);
	nest = 0;
	show("nested", 0);
}

static void edited(void)
{
	edit = 1;
	for (unsigned i = 1; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (ways[i].way == way_held_two)
			continue;
		around(ways[i].way);
		out[160] ^= 0xff, out[mask & 4 ? from[2] : 161] ^= 0xff;
		show(ways[i].name, 1);
	}
	edit = 0;
}

static void storm(void)
{
	const struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };
	int lost = 0;
	handle(SIGALRM, on_signal, 0);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 30; i++) {
		awaited = arrived + 3;
		around(way_timer);
		for (int k = 0; k < 63; k++)
			lost += (mask | 3) >> k & 1 && !same(in, out, k);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	seen = 0;
	printf("timers: lost %d times\n", lost);
}

static void alternate(size_t bytes)
{
	uint8_t *const stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t ss = { .ss_sp = stack + 65536 - bytes, .ss_size = bytes };
	const stack_t none = { .ss_flags = SS_DISABLE };
	sigaltstack(&ss, NULL);
	every_way("alternate stack", SA_ONSTACK);
	sigaltstack(&none, NULL);
}

static void smallest(void)
{
	const size_t bytes = getauxval(AT_MINSIGSTKSZ) ? getauxval(AT_MINSIGSTKSZ) : 2048;
	uint8_t *const stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t ss = { .ss_sp = stack + 65536 - bytes, .ss_size = bytes };
	const stack_t none = { .ss_flags = SS_DISABLE };
	struct sigaction sa = { .sa_handler = tiny, .sa_flags = SA_ONSTACK };
	printf("AT_MINSIGSTKSZ %zu, sigaltstack %d\n", bytes, sigaltstack(&ss, NULL));
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGTRAP, &sa, NULL);
	arrived = 0;
	around(way_kill);
	around(way_kill_sync);
	around(way_held);
	around(way_int3);
	sigaltstack(&none, NULL);
	printf("%d signals on it;", arrived);
	show("", 0);
}

static void filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = code };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		printf("no filter: %s\n", strerror(errno));
}

/* Values that xrstor accepts, and that are nowhere the initial ones. */
static void choose(uint64_t features)
{
	mask = features;
	memset(in, 0, sizeof(in));
	for (unsigned i = 0; i < 8; i++) {
		for (unsigned k = 0; k < 10; k++)
			in[32 + 16 * i + k] = (uint8_t)(17 * i + k + 1);
		in[4] = 0xff;			/* every x87 register is in use */
	}
	*(uint16_t *)in = 0x0f7f;		/* rounds to zero */
	*(uint32_t *)(in + 24) = 0x7f80;	/* likewise */
	*(uint32_t *)(in + 28) = 0xffff;
	for (unsigned i = 160; i < 416; i++)
		in[i] = (uint8_t)(i * 7 + 3);
	*(uint64_t *)(in + 512) = features;
	for (int i = 2; i < 63; i++) {
		unsigned a, b, c, d;
		if (!(features >> i & 1))
			continue;
		__cpuid_count(0xd, i, a, b, c, d);
		size[i] = a, from[i] = b;
		for (unsigned k = 0; k < a; k++)
			in[b + k] = (uint8_t)(k * 11 + (unsigned)i);
		if (i == 9)
			memset(in + b, 0, a), *(uint32_t *)(in + b) = 0x55555550;
		if (i == 17) {			/* one palette of 8 tiles, 16 rows of 64 bytes */
			memset(in + b, 0, a);
			in[b] = 1;
			for (int t = 0; t < 8; t++)
				in[b + 16 + 2 * t] = 64, in[b + 48 + t] = 16;
		}
	}
}

static uint64_t enabled(void)
{
	unsigned a, b, c, d, lo, hi;
	__cpuid(1, a, b, c, d);
	if (!(c >> 27 & 1))
		return 0;
	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	/* the bounds of MPX, and APX, whose registers the compiler may use */
	return ((uint64_t)hi << 32 | lo) & ~(1ull << 3 | 1ull << 4 | 1ull << 19);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	nowhere = (uint64_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	filter();
	*(uint16_t *)initial = 0x37f;
	*(uint32_t *)(initial + 24) = 0x1f80;
	const uint64_t all = enabled();
	choose(all & ~XTILE);
	every_way("ordinary stack", 0);
	alternate(8192);
	edited();
	storm();
	smallest();
	if (all & XTILE && syscall(SYS_arch_prctl, 0x1023, 18) == 0) {
		choose(all);
		every_way("with tiles", 0);
		edited();
		storm();
		alternate(32768);
	} else {
		puts("skipped: AMX tiles: this CPU or kernel has none");
	}
	return 0;
}
