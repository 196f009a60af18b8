/* Synchronous and asynchronous signals: what handlers see, what they may change,
 * how they may leave. Output must be the same natively and under the engine.
 */
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int handled;
static sigjmp_buf out;

static void install(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags };
	sigemptyset(&sa.sa_mask);
	if (sigaction(sig, &sa, NULL))
		perror("sigaction");
}

/* The handler goes on at the address that the faulting code keeps in r12. */
static void go_to_r12(int sig, siginfo_t *si, void *arg)
{
	ucontext_t *const uc = arg;
	handled = sig;
	const long past = uc->uc_mcontext.gregs[REG_RIP] - uc->uc_mcontext.gregs[REG_R13];
	printf("  signal %d code %d addr-or-offset %#lx rip +%ld trapno %lld err %#llx\n", sig,
	       si->si_code,
	       sig == SIGSEGV || sig == SIGBUS ? (unsigned long)si->si_addr :
	       (unsigned long)si->si_addr - (unsigned long)uc->uc_mcontext.gregs[REG_R13],
	       past, uc->uc_mcontext.gregs[REG_TRAPNO], uc->uc_mcontext.gregs[REG_ERR]);
	uc->uc_mcontext.gregs[REG_RIP] = uc->uc_mcontext.gregs[REG_R12];
	uc->uc_mcontext.gregs[REG_RAX] = 4242;
}

/* insn runs with rsi = arg; r13 = its address, r12 = the address after it. */
#define FAULT(insn, arg) ({ \
	uint64_t rax_; \
	__asm__ volatile( \
		"lea 1f(%%rip), %%r12\n lea 2f(%%rip), %%r13\n mov %%rsp, %%r15\n" \
		"xor %%eax, %%eax\n add $7, %%eax\n" \
		"2: " insn "\n add $1000, %%eax\n 1: mov %%r15, %%rsp\n" \
		: "=a"(rax_) : "S"(arg) : "rbx", "r12", "r13", "r15", "rcx", "rdx", "r11", "memory"); \
	rax_; })

static void sync_faults(void)
{
	for (unsigned i = 0; i < 5; i++)
		install((int[]){ SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP }[i], go_to_r12, 0);
	printf("null load %lu\n", FAULT("mov (%%rsi), %%rbx", 0));
	printf("null store %lu\n", FAULT("mov %%rbx, 16(%%rsi)", 0));
	printf("non-canonical %lu\n", FAULT("mov (%%rsi), %%rbx", 0x8000000000000000ull));
	printf("kernel address %lu\n", FAULT("mov (%%rsi), %%rbx", 0xffffffff80000000ull));
	printf("write to text %lu\n", FAULT("movb $0, (%%rsi)", (uintptr_t)go_to_r12));
	printf("ud2 %lu\n", FAULT("ud2", 0));
	printf("divide %lu\n", FAULT("xor %%ecx, %%ecx\n div %%ecx", 0));
	printf("int3 %lu\n", FAULT("int3", 0));
	printf("hlt %lu\n", FAULT("hlt", 0));
	printf("cli %lu\n", FAULT("cli", 0));
	printf("in %lu\n", FAULT("in $0x60, %%al", 0));
	printf("int 5 %lu\n", FAULT("int $5", 0));
	printf("bad lock %lu\n", FAULT(".byte 0xf0, 0x01, 0xc0", 0));
	printf("misaligned sse %lu\n", FAULT("movaps 1(%%rsi), %%xmm0", (uintptr_t)&out));
	printf("jump to nothing %lu\n", FAULT("jmp *%%rsi", 0x700000));
	printf("jump to data %lu\n", FAULT("jmp *%%rsi", (uintptr_t)&out));
	printf("call to nothing %lu\n", FAULT("lea -128(%%rsp), %%rsp\n call *%%rsi", 0x700000));
}

static void bus_error(void)
{
	FILE *const f = tmpfile();
	char *const p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	printf("beyond the file %lu\n", FAULT("mov (%%rsi), %%bl", p));
	munmap(p, 8192);
	fclose(f);
}

static void jump_out(int sig, siginfo_t *si, void *arg)
{
	(void)si;
	(void)arg;
	siglongjmp(out, sig);
}

static void leave_by_longjmp(void)
{
	install(SIGSEGV, jump_out, 0);
	volatile int n = 0;
	for (int i = 0; i < 1000; i++)
		if (sigsetjmp(out, 1) == 0)
			*(volatile int *)(uintptr_t)(i * 8) = 1;
		else
			n++;
	sigset_t set;
	sigprocmask(SIG_BLOCK, NULL, &set);
	printf("longjmp out of %d faults, SIGSEGV blocked: %d\n", n, sigismember(&set, SIGSEGV));
}

static volatile int depth, deepest;
static void nest(int sig, siginfo_t *si, void *arg)
{
	(void)si;
	(void)arg;
	depth++;
	if (depth > deepest)
		deepest = depth;
	if (depth < 20)
		raise(sig);
	depth--;
}

static void nested(void)
{
	install(SIGUSR1, nest, SA_NODEFER);
	raise(SIGUSR1);
	printf("nested %d deep, now %d\n", deepest, depth);
}

static volatile int order[64], n_order;
static void note(int sig, siginfo_t *si, void *arg)
{
	(void)arg;
	order[n_order++] = sig * 1000 + (si->si_code == SI_QUEUE ? si->si_value.sival_int : 999);
}

/* Real-time signals: lowest number first, in order of sending within one. */
static void queue_order(void)
{
	sigset_t all, old;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	for (int i = 0; i < 4; i++)
		install(SIGRTMIN + i, note, 0);
	install(SIGUSR2, note, 0);
	for (int k = 0; k < 3; k++)
		for (int i = 3; i >= 0; i--)
			sigqueue(getpid(), SIGRTMIN + i, (union sigval){ .sival_int = k });
	kill(getpid(), SIGUSR2);
	kill(getpid(), SIGUSR2);		/* merges with the first */
	sigset_t pending;
	sigpending(&pending);
	printf("pending %d %d\n", sigismember(&pending, SIGUSR2), sigismember(&pending, SIGRTMIN + 2));
	sigprocmask(SIG_SETMASK, &old, NULL);
	for (int i = 0; i < n_order; i++)
		printf("%d ", order[i]);
	printf("\n");
}

static void on_alt(int sig, siginfo_t *si, void *arg)
{
	(void)si;
	stack_t now;
	sigaltstack(NULL, &now);
	const ucontext_t *const uc = arg;
	char here;
	printf("on altstack: %d, flags %d, recorded %d\n",
	       &here >= (char *)now.ss_sp && &here < (char *)now.ss_sp + now.ss_size,
	       now.ss_flags, uc->uc_stack.ss_flags);
	const stack_t other = { .ss_sp = now.ss_sp, .ss_size = now.ss_size };
	printf("changing it while on it: %d\n", sigaltstack(&other, NULL) ? errno : 0);
	if (sig == SIGSEGV)
		siglongjmp(out, 1);
}

static int eat_stack(int n)
{
	volatile char big[4096];
	big[0] = (char)n;
	return n < 0 ? 0 : eat_stack(n + 1) + big[0];
}

/* `ulimit -s` may be unlimited, and memory is not. */
static void limit_stack(void)
{
	struct rlimit r;
	getrlimit(RLIMIT_STACK, &r);
	if (r.rlim_cur > 8 << 20)
		r.rlim_cur = 8 << 20;
	setrlimit(RLIMIT_STACK, &r);
}

static void altstack(void)
{
	const size_t size = 65536;
	limit_stack();
	char *const mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t ss = { .ss_sp = mem, .ss_size = size };
	sigaltstack(&ss, NULL);
	install(SIGUSR1, on_alt, SA_ONSTACK);
	raise(SIGUSR1);
	install(SIGSEGV, on_alt, SA_ONSTACK);
	if (sigsetjmp(out, 1) == 0)
		printf("%d\n", eat_stack(0));
	printf("stack overflow survived\n");
	const stack_t autodisarm = { .ss_sp = mem, .ss_size = size,
				     .ss_flags = (int)(1u << 31) };
	printf("SS_AUTODISARM %d\n", sigaltstack(&autodisarm, NULL));
	raise(SIGUSR1);
	const stack_t off = { .ss_flags = SS_DISABLE };
	sigaltstack(&off, NULL);
	const stack_t tiny = { .ss_sp = mem, .ss_size = 100 };
	printf("too small %d\n", sigaltstack(&tiny, NULL) ? errno : 0);
}

/* A handler changes registers, flags, the mask and the FP state it returns to. */
static void edit(int sig, siginfo_t *si, void *arg)
{
	(void)sig;
	(void)si;
	ucontext_t *const uc = arg;
	greg_t *const g = uc->uc_mcontext.gregs;
	g[REG_RBX] += 5;
	g[REG_R14] = 77;
	g[REG_EFL] ^= 1;
	sigaddset(&uc->uc_sigmask, SIGUSR2);
	uc->uc_mcontext.fpregs->_xmm[3].element[0] = 0x12345678;
	uc->uc_mcontext.fpregs->mxcsr |= 0x6000;
	g[REG_RIP] += 2;
}

static void edited_context(void)
{
	install(SIGILL, edit, 0);
	uint64_t rbx = 1, r14 = 2;
	uint32_t xmm;
	uint8_t carry;
	__asm__ volatile("clc\n ud2\n setc %2\n movd %%xmm3, %3\n"
			 : "+b"(rbx), "=r"(r14), "=q"(carry), "=r"(xmm) : : "xmm3", "r14");
	__asm__ volatile("" ::: "memory");
	uint64_t again;
	__asm__ volatile("clc\n ud2\n mov %%r14, %0" : "=r"(again) : : "r14", "rbx", "xmm3");
	sigset_t set;
	sigprocmask(SIG_BLOCK, NULL, &set);
	printf("edited: rbx %lu r14 %lu carry %d xmm3 %x rounding %d blocked %d\n", rbx, again,
	       carry, xmm, fegetround() == FE_TOWARDZERO || __builtin_ia32_stmxcsr() >> 13 == 3,
	       sigismember(&set, SIGUSR2));
	fesetround(FE_TONEAREST);
	sigdelset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

static void plain(int sig)
{
	handled = sig;
}

/* Vector registers and the x87 stack survive a handler that uses them. */
static void clobber(int sig)
{
	handled = sig;
	__asm__ volatile("pxor %%xmm0, %%xmm0\n pxor %%xmm7, %%xmm7\n fninit\n fldpi" :::
			 "xmm0", "xmm7", "st");
}

static void fp_state(void)
{
	signal(SIGUSR1, clobber);
	double a;
	uint64_t x = 0, want = 0x1122334455667788;
	const int pid = getpid();
	__asm__ volatile("fninit\n fldl2e\n movq %3, %%xmm7\n mov $62, %%eax\n mov %4, %%edi\n"
			 "mov $10, %%esi\n syscall\n fstpl %0\n movq %%xmm7, %1\n fninit"
			 : "=m"(a), "=r"(x), "+m"(want) : "r"(want), "r"(pid)
			 : "rax", "rdi", "rsi", "rcx", "r11", "xmm7", "memory");
	printf("x87 %.6f xmm7 %d\n", a, x == want);
}

static void dispositions(void)
{
	signal(SIGUSR1, SIG_IGN);
	raise(SIGUSR1);
	struct sigaction sa = { .sa_handler = plain, .sa_flags = (int)SA_RESETHAND };
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	sigaction(SIGUSR1, NULL, &sa);
	printf("reset: %d\n", sa.sa_handler == SIG_DFL);
	printf("SIGKILL handler: %d\n", signal(SIGKILL, plain) == SIG_ERR ? errno : 0);
	printf("signal 65: %d\n", signal(65, plain) == SIG_ERR ? errno : 0);
	sigset_t set;
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigprocmask(SIG_BLOCK, NULL, &set);
	printf("SIGKILL blocked %d SIGSTOP blocked %d SIGSEGV blocked %d\n",
	       sigismember(&set, SIGKILL), sigismember(&set, SIGSTOP), sigismember(&set, SIGSEGV));
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

/* A synchronous fault while its signal is blocked or ignored kills. */
static void deaths(void)
{
	for (int how = 0; how < 6; how++) {
		fflush(stdout);
		const pid_t pid = fork();
		if (pid == 0) {
			sigset_t set;
			sigemptyset(&set);
			sigaddset(&set, SIGSEGV);
			signal(SIGSEGV, how == 1 ? SIG_IGN : how == 2 ? plain : SIG_DFL);
			if (how == 2)
				sigprocmask(SIG_BLOCK, &set, NULL);
			if (how == 3)
				abort();
			if (how == 4)
				__asm__ volatile("ud2");
			if (how == 5)
				kill(getpid(), SIGTERM);
			volatile uintptr_t nowhere = 8;
			*(volatile int *)nowhere = 1;
			_exit(0);
		}
		int status;
		waitpid(pid, &status, 0);
		printf("death %d: signal %d\n", how, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	}
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	sync_faults();
	bus_error();
	leave_by_longjmp();
	nested();
	queue_order();
	altstack();
	edited_context();
	fp_state();
	dispositions();
	deaths();
	return 0;
}
