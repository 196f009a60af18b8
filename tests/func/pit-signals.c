/* Corners of signals whose answer is the kernel's; the output natively and under the
 * engine must be the same: whole frames, faults at jumps, code behind the end of a
 * file, signals of the synchronous kind sent by kill(), sigsuspend's mask.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf out;

/* Registers that differ from run to run for reasons of the test are none here: the
 * handler prints everything below and above the frame's own bytes. */
static void show(const char *what, siginfo_t *si, ucontext_t *uc)
{
	const greg_t *const g = uc->uc_mcontext.gregs;
	const uint32_t *const sw = (uint32_t *)((char *)uc->uc_mcontext.fpregs + 464);
	printf("%s: signal %d code %d errno %d addr %p\n", what, si->si_signo, si->si_code,
	       si->si_errno, si->si_addr);
	printf(" flags %#lx link %p stack %p %#x %zu\n", uc->uc_flags, (void *)uc->uc_link,
	       uc->uc_stack.ss_sp, (unsigned)uc->uc_stack.ss_flags, uc->uc_stack.ss_size);
	for (int i = 0; i < 23; i++)
		printf(" %llx", (unsigned long long)g[i]);
	printf("\n fp %p xstate %x %u %x %x %u", (void *)uc->uc_mcontext.fpregs, sw[0], sw[1], sw[2],
	       sw[3], sw[4]);
	uint32_t magic2 = 0;
	if (sw[0] == 0x46505853)
		memcpy(&magic2, (char *)uc->uc_mcontext.fpregs + sw[4], 4);
	printf(" %x cw %x mxcsr %x\n", magic2, uc->uc_mcontext.fpregs->cwd,
	       uc->uc_mcontext.fpregs->mxcsr);
	printf(" info at %+ld, context at %+ld of the frame\n",
	       (long)((char *)si - (char *)uc), (long)((char *)uc->uc_mcontext.fpregs - (char *)uc));
}

static const char *name;
static void on_fault(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	show(name, si, context);
	siglongjmp(out, 1);
}

static void jumps(void)
{
	char *const page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
#define TRY(what, where)                                                            \
	do {                                                                        \
		name = what;                                                        \
		if (sigsetjmp(out, 1) == 0)                                         \
			__asm__ volatile("mov %0, %%r11\n\tjmp *%%r11" : : "r"(where) : "r11"); \
	} while (0)
	TRY("null", (void *)0);
	TRY("unmapped", (void *)0x700000);
	TRY("not touched", page + 4096);
	page[0] = 1;
	TRY("data", page);
	mprotect(page, 4096, PROT_NONE);
	TRY("no access", page);
	TRY("kernel", (void *)0xffffffff81000000ull);
	TRY("vsyscall page", (void *)0xffffffffff600001ull);
	/* an instruction that runs into a page without code */
	char *const edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
	memcpy(edge + 4093, "\xb8\x01\x02", 3);
	mprotect(edge, 4096, PROT_READ | PROT_EXEC);
	mprotect(edge + 4096, 4096, PROT_NONE);
	TRY("over the edge", edge + 4093);
	/* behind the end of a file */
	char file[] = "/tmp/pit-XXXXXX";
	const int fd = mkstemp(file);
	unlink(file);
	if (ftruncate(fd, 8192))
		perror("ftruncate");
	char *const code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (ftruncate(fd, 4096))
		perror("ftruncate");
	TRY("cut off", code + 4096);
	/* not an instruction */
	static const unsigned char ud2[] = { 0x0f, 0x0b }, old[] = { 0x06 };
	char *const bad = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
	memcpy(bad, ud2, 2);
	memcpy(bad + 64, old, 1);
	mprotect(bad, 4096, PROT_READ | PROT_EXEC);
	TRY("ud2", bad);
	TRY("push es", bad + 64);
}
#undef TRY

static volatile int order[8], n_order;
static void note(int sig)
{
	order[n_order++] = sig;
}

static void print_order(const char *what)
{
	printf("%s:", what);
	for (int i = 0; i < n_order; i++)
		printf(" %d", order[i]);
	printf("\n");
	n_order = 0;
}

static sigset_t set_of(int a, int b)
{
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, a);
	if (b)
		sigaddset(&s, b);
	return s;
}

/* Both wait; sigsuspend lets both in before it returns, one inside the other. */
static void suspended(void)
{
	sigset_t both = set_of(SIGUSR1, SIGUSR2), none, old;
	sigemptyset(&none);
	signal(SIGUSR1, note);
	signal(SIGUSR2, note);
	sigprocmask(SIG_BLOCK, &both, &old);
	raise(SIGUSR1);
	raise(SIGUSR2);
	sigsuspend(&none);
	print_order("sigsuspend");
	sigset_t now;
	sigprocmask(SIG_SETMASK, NULL, &now);
	printf("blocked again: %d %d\n", sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2));
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* kill() of what else comes from faults, while it is blocked. */
static void sent(void)
{
	sigset_t s = set_of(SIGSEGV, SIGTRAP), old, pending;
	signal(SIGSEGV, note);
	signal(SIGTRAP, note);
	sigprocmask(SIG_BLOCK, &s, &old);
	kill(getpid(), SIGSEGV);
	kill(getpid(), SIGTRAP);
	sigpending(&pending);
	printf("held: %d, pending %d %d\n", n_order, sigismember(&pending, SIGSEGV),
	       sigismember(&pending, SIGTRAP));
	siginfo_t si;
	const struct timespec soon = { 0, 0 };
	sigset_t one = set_of(SIGTRAP, 0);
	const int got = sigtimedwait(&one, &si, &soon);
	printf("taken %d code %d from me %d\n", got, si.si_code, si.si_pid == getpid());
	sigprocmask(SIG_SETMASK, &old, NULL);
	print_order("then");
	/* several at once, from another process */
	sigset_t all = set_of(SIGSEGV, SIGUSR1);
	sigprocmask(SIG_BLOCK, &all, NULL);
	const pid_t child = fork();
	if (child == 0) {
		kill(getppid(), SIGUSR1);
		kill(getppid(), SIGSEGV);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	sigprocmask(SIG_SETMASK, &old, NULL);
	printf("both: %d\n", n_order);
	n_order = 0;
}

/* Handlers of the parent survive what posix_spawn does to its child. */
static void spawned(void)
{
	pid_t pid;
	char *const argv[] = { "true", NULL };
	char *const env[] = { NULL };
	signal(SIGUSR1, note);
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, env))
		perror("posix_spawn");
	waitpid(pid, NULL, 0);
	raise(SIGUSR1);
	print_order("after posix_spawn");
}

static void once(void)
{
	struct sigaction sa = { .sa_handler = note, .sa_flags = SA_RESETHAND }, now;
	sigaction(SIGTSTP, &sa, NULL);
	raise(SIGTSTP);
	print_order("once");
	sigaction(SIGTSTP, NULL, &now);
	printf("default again: %d\n", now.sa_handler == SIG_DFL);
	const pid_t child = fork();
	if (child == 0) {
		raise(SIGTSTP);
		_exit(0);
	}
	int status;
	waitpid(child, &status, WUNTRACED);
	printf("stops: %d\n", WIFSTOPPED(status));
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

/* A frame that does not fit becomes a SIGSEGV, and that one a death. */
static void too_small(void)
{
	fflush(stdout);
	const pid_t child = fork();
	if (child == 0) {
		const stack_t st = { .ss_sp = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
				     .ss_size = 2048 };
		struct sigaction sa = { .sa_handler = note, .sa_flags = SA_ONSTACK };
		sigaltstack(&st, NULL);
		sigaction(SIGUSR1, &sa, NULL);
		signal(SIGSEGV, SIG_DFL);
		/* a frame with AVX state is larger than 2048 − what a frame leaves */
		char *const low = (char *)st.ss_sp + 1000;
		const stack_t tiny = { .ss_sp = low, .ss_size = 2048 };
		sigaltstack(&tiny, NULL);
		raise(SIGUSR1);
		_exit(3);
	}
	int status;
	waitpid(child, &status, 0);
	printf("small stack: %s %d\n", WIFSIGNALED(status) ? "signal" : "exit",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	const stack_t st = { .ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), .ss_size = 65536 };
	sigaltstack(&st, NULL);
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGILL, &sa, NULL);
	jumps();
	suspended();
	sent();
	spawned();
	once();
	too_small();
	return 0;
}
