/* A process that debugs another one sees and does what it does natively: breakpoints in code that has run, by
 * PTRACE_POKETEXT and by /proc/PID/mem; registers read and set at a breakpoint, at a signal, at a system call, and of a
 * process that was attached to while it ran; signals of every kind shown once, with what sent them; and code that a
 * process changes in another one that it does not trace.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int hits, handled;
static volatile uint64_t *shared;

__attribute__((noinline)) int triple(int x);
int triple(int x)
{
	hits = hits + 1;
	return x * 3;
}
static int (*volatile call)(int) = triple;

static void on_signal(int sig) { handled = handled * 100 + sig; }

static int stop_of(pid_t pid)
{
	int status = 0;
	if (waitpid(pid, &status, __WALL) != pid)
		return -1;
	return status;
}

static pid_t start(void (*child)(void))
{
	const pid_t pid = fork();
	if (pid == 0) {
		child();
		_exit(99);
	}
	return pid;
}

/* ---- breakpoints ---- */

static void five_calls(void)
{
	int sum = call(1) + call(2);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	for (int i = 0; i < 5; i++)
		sum += call(i);
	printf("  sum %d after %d\n", sum, hits);
	fflush(stdout);
	_exit(7);
}

static void put_code(pid_t pid, int mem, long word)
{
	if (mem < 0)
		ptrace(PTRACE_POKETEXT, pid, (void *)triple, word);
	else if (pwrite(mem, &word, sizeof(word), (off_t)(uintptr_t)triple) != sizeof(word))
		printf("  not written\n");
}

/* Steps over the instruction of a breakpoint, with another argument. */
static void step_over(pid_t pid, int mem, long was, long trap)
{
	struct user_regs_struct r;
	ptrace(PTRACE_GETREGS, pid, NULL, &r);
	printf("  at +%d with %d\n", (int)(r.rip - (uintptr_t)triple), (int)r.rdi);
	r.rip--;
	r.rdi += 100;
	ptrace(PTRACE_SETREGS, pid, NULL, &r);
	put_code(pid, mem, was);
	ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
	const int status = stop_of(pid);
	ptrace(PTRACE_GETREGS, pid, NULL, &r);
	printf("  step %x, %s, argument %d\n", status, r.rip == (uintptr_t)triple ? "nowhere" : "on", (int)r.rdi);
	put_code(pid, mem, trap);
}

static void breakpoints(const char *by)
{
	char path[40];
	printf("breakpoints by %s\n", by);
	fflush(stdout);
	const pid_t pid = start(five_calls);
	printf("  %x\n", stop_of(pid));
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	const int mem = strcmp(by, "mem") == 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
	const long was = ptrace(PTRACE_PEEKTEXT, pid, (void *)triple, NULL), trap = (was & ~0xffl) | 0xcc;
	put_code(pid, mem, trap);
	for (int i = 0; i < 3; i++) {
		ptrace(PTRACE_CONT, pid, NULL, NULL);
		printf("  %x\n", stop_of(pid));
		step_over(pid, mem, was, trap);
	}
	put_code(pid, mem, was);
	fflush(stdout);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	printf("  %x\n", stop_of(pid));
	if (mem >= 0)
		close(mem);
}

/* ---- signals ---- */

static void signals_of_all_kinds(void)
{
	static volatile int zero;
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, SIG_IGN);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGUSR1);
	raise(SIGUSR2);
	raise(SIGCHLD);
	__asm__ volatile("int3");
	raise(SIGSTOP);
	signal(SIGFPE, on_signal);
	raise(SIGFPE);
	if (handled != SIGUSR1 * 100 + SIGFPE)
		_exit(1);
	signal(SIGSEGV, SIG_DFL);
	*(volatile char *)(uintptr_t)(8 + zero) = 1;
}

static void signals(void)
{
	printf("signals\n");
	fflush(stdout);
	const pid_t pid = start(signals_of_all_kinds);
	for (int i = 0; i < 20; i++) {
		const int status = stop_of(pid);
		if (!WIFSTOPPED(status)) {
			printf("  end %x\n", status & 0x7f);
			return;
		}
		siginfo_t info;
		struct user_regs_struct r;
		const int sig = WSTOPSIG(status);
		ptrace(PTRACE_GETSIGINFO, pid, NULL, &info);
		ptrace(PTRACE_GETREGS, pid, NULL, &r);
		printf("  %d, code %d, address %lx, in the program: %d\n", sig, info.si_code,
		       sig == SIGSEGV ? (unsigned long)(uintptr_t)info.si_addr : 0,
		       r.rsp >> 40 == (uintptr_t)&info >> 40);
		ptrace(PTRACE_CONT, pid, NULL, sig == SIGSTOP || sig == SIGTRAP ? 0 : sig);
	}
}

/* At a fault the debugger gives the pointer a value. */
static void fault(void)
{
	uint64_t found;
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	__asm__ volatile("mov (%%rbx), %0" : "=r"(found) : "b"(16ul));
	_exit(found == 4711 ? 0 : 1);
}

static void repair(void)
{
	printf("a fault that is repaired\n");
	fflush(stdout);
	static uint64_t good = 4711;
	const pid_t pid = start(fault);
	const int status = stop_of(pid);
	const long was = ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rbx), NULL);
	printf("  %x, rbx %ld\n", status, was);
	ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rbx), &good);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	printf("  %x\n", stop_of(pid));
}

/* ---- system calls ---- */

static void two_calls(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	const long a = syscall(SYS_lseek, 1000, 5, 0), b = syscall(SYS_lseek, 1001, 5, 0);
	printf("  %ld %ld\n", a, b);
	fflush(stdout);
	_exit(0);
}

/* The first one gets another argument, the second one another result. */
static void change_calls(void)
{
	printf("system calls\n");
	fflush(stdout);
	const pid_t pid = start(two_calls);
	stop_of(pid);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD);
	int entered = 0, status;
	for (;;) {
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		status = stop_of(pid);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80))
			break;
		struct user_regs_struct r;
		struct iovec io = { &r, sizeof(r) };
		ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &io);
		if (r.orig_rax != SYS_lseek)
			continue;
		entered = !entered;
		if (entered && r.rdi == 1000)
			r.rdi = 1002;
		else if (!entered && r.rdi == 1001)
			r.rax = 42;
		else
			continue;
		ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &io);
		ptrace(PTRACE_POKEDATA, pid, (void *)&handled, 0);	/* the next stop is still a system call's */
	}
	printf("  %x\n", status);
}

/* ---- attaching ---- */

static void counts(void)
{
	uint64_t rounds = 0;
	shared[1] = 1;
	/* until rbx is another one */
	__asm__ volatile("1: inc %0\n\tcmp $77, %%rbx\n\tjne 1b" : "+r"(rounds) : "b"(5ul) : "cc");
	shared[2] = rounds > 0;
	_exit(3);
}

static void attach(void)
{
	printf("attached\n");
	fflush(stdout);
	shared[1] = shared[2] = 0;
	const pid_t pid = start(counts);
	while (!shared[1])
		usleep(1000);
	usleep(20000);
	ptrace(PTRACE_ATTACH, pid, NULL, NULL);
	const int status = stop_of(pid);
	struct user_regs_struct r;
	ptrace(PTRACE_GETREGS, pid, NULL, &r);
	const uint64_t at = r.rip - (uintptr_t)counts;
	printf("  %x, rbx %d, in counts(): %d\n", status, (int)r.rbx, at < 4096);
	r.rbx = 77;
	ptrace(PTRACE_SETREGS, pid, NULL, &r);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	printf("  %x\n", stop_of(pid));
	printf("  counted: %d\n", (int)shared[2]);
}

/* ---- code of a process that is not traced ---- */

static uint8_t *code;			/* mov $1, %eax; ret */

static void until_two(void)
{
	int (*const one)(void) = (int (*)(void))(uintptr_t)code;
	shared[1] = (uint64_t)one();
	while (one() == 1)
		shared[2]++;
	_exit(one());
}

static void write_code(void)
{
	printf("code of another process\n");
	fflush(stdout);
	static const uint8_t returns_one[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, returns_one, sizeof(returns_one));
	shared[1] = shared[2] = 0;
	const pid_t pid = start(until_two);
	while (!shared[1] || shared[2] < 1000)
		usleep(1000);
	char path[40], two = 2;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	const int mem = open(path, O_RDWR | O_CLOEXEC);
	printf("  %zd\n", pwrite(mem, &two, 1, (off_t)(uintptr_t)(code + 1)));
	close(mem);
	printf("  %x\n", stop_of(pid));
}

int main(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	breakpoints("ptrace");
	breakpoints("mem");
	signals();
	repair();
	change_calls();
	attach();
	write_code();
	return 0;
}
