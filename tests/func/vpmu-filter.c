/* Inside `tare run`: a seccomp filter that the program installs itself refuses
 * perf_event_open as natively, also what it execs; one that lets it pass does not. */
#include "vpmu.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void filter(uint32_t answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0, "seccomp");
}

/* Refuses it for the calling process (pid 0) alone: filters may look at the numbers. */
static void filter_pid_0(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0, "seccomp");
}

static int try(int pid)
{
	const struct perf_event_attr a = vpmu_instructions();
	const int fd = vpmu_open(&a, pid, -1, -1, 0);
	return fd < 0 ? -fd : 0;
}

static volatile int trapped;

static void on_sigsys(int number)
{
	trapped = number;
}

static int run(void (*what)(const char *), const char *self)
{
	int status;
	const pid_t pid = fork();
	if (pid == 0) {
		what(self);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
	return status;
}

static void by_errno(const char *self)
{
	(void)self;
	filter(SECCOMP_RET_ERRNO | EXDEV);
	CHECK(try(0) == EXDEV, "%d", try(0));
}

static void by_number(const char *self)
{
	(void)self;
	filter_pid_0();
	CHECK(try(0) == EXDEV, "%d", try(0));
	CHECK(try(getpid()) == 0, "%d", try(getpid()));
}

static void by_exec(const char *self)
{
	filter(SECCOMP_RET_ERRNO | EXDEV);
	execl(self, self, "refused", NULL);
	_exit(127);
}

static void by_trap(const char *self)
{
	(void)self;
	signal(SIGSYS, on_sigsys);
	filter(SECCOMP_RET_TRAP);
	try(0);
	CHECK(trapped == SIGSYS, "no SIGSYS");
}

static void by_kill(const char *self)
{
	(void)self;
	filter(SECCOMP_RET_KILL_PROCESS);
	try(0);
}

static void allowed(const char *self)
{
	(void)self;
	filter(SECCOMP_RET_ALLOW);
	CHECK(try(0) == 0, "%d", try(0));
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return try(0) == EXDEV ? 0 : 1;
	CHECK(run(by_errno, argv[0]) == 0, "errno");
	CHECK(run(by_number, argv[0]) == 0, "pid 0 only");
	CHECK(run(by_exec, argv[0]) == 0, "after exec");
	CHECK(run(by_trap, argv[0]) == 0, "SIGSYS");
	CHECK(WTERMSIG(run(by_kill, argv[0])) == SIGSYS, "not killed");
	CHECK(run(allowed, argv[0]) == 0, "refused what the filter allows");
	return 0;
}
