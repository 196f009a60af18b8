/* Odd surroundings: small stacks, small address space, prctl, seccomp, deep
 * recursion, a stack that grows, mappings everywhere, the vdso, /proc/self.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int in_child(int (*how)(void))
{
	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0)
		_exit(how());
	int status;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int work(void)
{
	unsigned long x = 1;
	for (int i = 0; i < 10000; i++)
		x = x * 31 + (unsigned)i;
	char text[64];
	snprintf(text, sizeof(text), "%lu", x);
	return (int)(strlen(text) + (size_t)text[0]);
}

static int address_space(void)
{
	struct rlimit r = { 1ul << 30, 1ul << 30 };
	setrlimit(RLIMIT_AS, &r);
	char *const p = malloc(4 << 20);
	memset(p, 1, 4 << 20);
	return work();
}

static int exec_small_as(void)
{
	struct rlimit r = { 1ul << 30, 1ul << 30 };
	setrlimit(RLIMIT_AS, &r);
	execl("/bin/sh", "sh", "-c", "exit 6", NULL);
	return 1;
}

static int exec_stack(rlim_t size)
{
	struct rlimit r = { size, RLIM_INFINITY };
	if (setrlimit(RLIMIT_STACK, &r))
		return 2;
	execl("/bin/sh", "sh", "-c", "exit 7", NULL);
	return 1;
}
static int unlimited_stack(void) { return exec_stack(RLIM_INFINITY); }
static int huge_stack(void) { return exec_stack(1ul << 30); }
static int small_stack(void) { return exec_stack(256 << 10); }

static int not_dumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	work();
	execl("/bin/sh", "sh", "-c", "exit 8", NULL);
	return 1;
}

static int no_new_privs(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	execl("/bin/sh", "sh", "-c", "exit 9", NULL);
	return 1;
}

/* Allows everything but getppid, which fails with ENOTTY. */
static int filter(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { 4, f };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 1;
	if (syscall(SYS_getppid) >= 0 || errno != ENOTTY)
		return 2;
	return work() ? 10 : 0;
}

static volatile int trapped;
static void on_sys(int sig, siginfo_t *si, void *arg)
{
	(void)sig;
	(void)arg;
	trapped = si->si_syscall;
}

static int filter_trap(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { 4, f };
	struct sigaction sa = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };
	sigaction(SIGSYS, &sa, NULL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 1;
	getppid();
	return trapped == SYS_getppid ? 11 : 3;
}

static int deep(int n)
{
	volatile char pad[1000];
	pad[0] = (char)n;
	return n == 0 ? pad[0] : deep(n - 1) + pad[0] * 0 + 1;
}

static int mappings(void)
{
	/* every second page of a range, so that they do not merge */
	char *const base = mmap(NULL, 4000 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 4000; i += 2)
		mprotect(base + i * 4096, 4096, PROT_READ | PROT_WRITE);
	for (int i = 0; i < 4000; i += 2)
		base[i * 4096] = (char)i;
	return 12;
}

static int growing(void)
{
	char *const p = mmap((void *)0x600000000000, 65536, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_STACK, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	p[-4096] = 1;		/* grows */
	p[0] = 1;
	return 13;
}

static int low_address(void)
{
	char *const p = mmap((void *)0x7fff8000, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	char *const q = mmap((void *)0xc000000000, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	char *const r = mmap((void *)0x10007fff8000, 1ul << 30, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	return p == (void *)0x7fff8000 && q == (void *)0xc000000000 && r != MAP_FAILED ? 14 : 1;
}

static int huge_reservation(void)
{
	void *const p = mmap(NULL, 1ul << 45, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? 1 : 15;
}

static int clocks(void)
{
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	clock_gettime(CLOCK_MONOTONIC, &b);
	struct timeval tv;
	unsigned cpu;
	/* (time() may lag behind by a tick of the kernel's, over the end of a second) */
	const int ok = (b.tv_sec > a.tv_sec || b.tv_nsec >= a.tv_nsec) &&
		       gettimeofday(&tv, NULL) == 0 && time(NULL) >= tv.tv_sec - 1 &&
		       getcpu(&cpu, NULL) == 0;
	return ok ? 16 : 1;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("work %d\n", in_child(work));
	printf("RLIMIT_AS %d\n", in_child(address_space));
	printf("exec with RLIMIT_AS %d\n", in_child(exec_small_as));
	printf("unlimited stack %d\n", in_child(unlimited_stack));
	printf("huge stack %d\n", in_child(huge_stack));
	printf("small stack %d\n", in_child(small_stack));
	printf("not dumpable %d\n", in_child(not_dumpable));
	printf("no new privileges %d\n", in_child(no_new_privs));
	printf("seccomp filter %d\n", in_child(filter));
	printf("seccomp trap %d\n", in_child(filter_trap));
	printf("deep recursion %d\n", deep(6000));
	printf("many mappings %d\n", in_child(mappings));
	printf("MAP_GROWSDOWN %d\n", in_child(growing));
	printf("fixed addresses %d\n", in_child(low_address));
	printf("32 TiB reserved %d\n", in_child(huge_reservation));
	printf("vdso %d\n", in_child(clocks));
	return 0;
}
