/* What a program forbids itself: seccomp filters and strict mode, PR_SET_MDWE,
 * PR_SET_TSC, PR_SET_DUMPABLE, a lower descriptor limit. It must hold for the program
 * as it does natively, and not stop the engine.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), \
		  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Only what is named, besides what this test itself needs. */
static long filter(uint32_t otherwise)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, otherwise),
	};
	const struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

static void show(const char *what, long value)
{
	char line[80];
	const int n = snprintf(line, sizeof(line), "%s %ld\n", what, value);
	if (write(1, line, (size_t)n) != n)
		_exit(9);
}

/* Needs new code translated, hence the engine's own calls. */
static long work(void)
{
	char text[64];
	long sum = 0;
	for (int i = 0; i < 50; i++) {
		snprintf(text, sizeof(text), "%d %g %s", i, i * 0.25, "text");
		sum += (long)strlen(text) + strtol(text, NULL, 10);
	}
	return sum;
}

static void errno_filter(void)
{
	show("installed", filter(SECCOMP_RET_ERRNO | 77));
	show("work", work());
	show("getppid", syscall(SYS_getppid));
	show("errno", errno);
	show("fork", syscall(SYS_fork));
	show("clone", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	show("mmap", syscall(SYS_mmap, 0, 4096, 3, 0x22, -1, 0));
	show("open", syscall(SYS_openat, -100, "/dev/null", 0));
	struct sigaction sa = { .sa_handler = SIG_IGN };
	show("sigaction", sigaction(SIGUSR1, &sa, NULL));
	show("last", errno);
	_exit(0);
}

static volatile int trapped, trapped_nr;
static void on_sys(int sig, siginfo_t *si, void *context)
{
	ucontext_t *const uc = context;
	trapped++;
	trapped_nr = si->si_syscall;
	show("trapped", si->si_syscall);
	show("code", si->si_code);
	show("call is where rip is", si->si_call_addr == (void *)uc->uc_mcontext.gregs[REG_RIP]);
	show("rcx too", uc->uc_mcontext.gregs[REG_RCX] == uc->uc_mcontext.gregs[REG_RIP]);
	show("rax", uc->uc_mcontext.gregs[REG_RAX]);
	show("signal", sig);
	uc->uc_mcontext.gregs[REG_RAX] = 1234;
}

static void trap_filter(void)
{
	struct sigaction sa = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };
	sigaction(SIGSYS, &sa, NULL);
	filter(SECCOMP_RET_TRAP);
	show("answer", syscall(SYS_getppid));
	show("clone", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	show("work", work());
	_exit(0);
}

static void kill_filter(void)
{
	filter(SECCOMP_RET_KILL_PROCESS);
	show("work", work());
	syscall(SYS_getppid);
	show("not reached", 0);
}

static void strict(void)
{
	show("strict", prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
	show("work", work());
	syscall(SYS_exit, 6);
}

static void strict_kills(void)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	show("work", work());
	syscall(SYS_getpid);
	show("not reached", 0);
}

static void mdwe(void)
{
	show("mdwe", prctl(65, 1, 0, 0, 0));
	show("get", prctl(66, 0, 0, 0, 0));
	show("unset", prctl(65, 0, 0, 0, 0));
	void *const p = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	show("w+x", p == MAP_FAILED ? errno : 0);
	void *const q = mmap(NULL, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	show("then x", mprotect(q, 4096, 5) ? errno : 0);
	show("x from the start", mmap(NULL, 4096, 5, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	show("work", work());
	_exit(0);
}

static volatile int faults;
static void on_segv(int sig, siginfo_t *si, void *context)
{
	ucontext_t *const uc = context;
	show("fault code", si->si_code);
	faults += sig == SIGSEGV;
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void tsc(void)
{
	struct sigaction sa = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
	sigaction(SIGSEGV, &sa, NULL);
	show("tsc", prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
	__rdtsc();
	show("faults", faults);
	_exit(0);
}

static void not_dumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	show("dumpable", prctl(PR_GET_DUMPABLE));
	execl("/bin/sh", "sh", "-c", "exit 5", NULL);
}

static void nested(void)
{
	/* a filter inherited by an exec */
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 33),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog p = { 4, f };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	show("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p));
	execl("/bin/sh", "sh", "-c", "ls -d /; exit 7", NULL);
}

static void *thread_main(void *arg)
{
	syscall(SYS_getppid);
	return arg;
}

static void all_threads(void)
{
	struct sock_filter f[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_fprog p = { 1, f };
	pthread_t t;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	show("tsync", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &p));
	show("thread", pthread_create(&t, NULL, thread_main, NULL));
	show("join", pthread_join(t, NULL));
	show("mode", prctl(PR_GET_SECCOMP));
	_exit(0);
}

static void try(const char *what, void (*how)(void))
{
	printf("== %s\n", what);
	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0) {
		how();
		_exit(99);
	}
	int status;
	waitpid(pid, &status, 0);
	printf("%s %d\n", WIFSIGNALED(status) ? "signal" : "exit",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

int main(void)
{
	try("errno", errno_filter);
	try("trap", trap_filter);
	try("kill", kill_filter);
	/* With a filter, as in a container, the kernel refuses strict mode. */
	if (prctl(PR_GET_SECCOMP) == 0) {
		try("strict", strict);
		try("strict kills", strict_kills);
	} else {
		puts("skipped: strict mode: a seccomp filter is there already");
	}
	try("mdwe", mdwe);
	try("tsc", tsc);
	try("not dumpable", not_dumpable);
	try("nested", nested);
	try("all threads", all_threads);
	return 0;
}
