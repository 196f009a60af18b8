/* Kernels for tests/engine/stops-skid.py: skid-kernel KIND ROUNDS
 *
 * Each does the same in each round, so stops at multiples of a period that has no factor in common with
 * the length of a round come to every place of it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int handled;

static void count(int sig)
{
	(void)sig;
	handled++;
}

/* Past the store, which is 2 bytes long. */
static void skip(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
	handled++;
}

/* Loads, stores, a loop, calls, indirect branches, a string instruction. */
static void plain(void)
{
	static char from[64], to[64];
	void *a = from, *b = to;
	uint64_t n = 9;
	__asm__ volatile("1:	test $1, %%cl\n"
			 "	jz 2f\n"
			 "	add %%rcx, (%0)\n"
			 "2:	lea 4f(%%rip), %%rax\n"
			 "	call *%%rax\n"
			 "	dec %%rcx\n"
			 "	jnz 1b\n"
			 "	mov $64, %%ecx\n"
			 "	rep movsb\n"
			 "	jmp 5f\n"
			 "4:	push %%rbx\n"
			 "	pop %%rbx\n"
			 "	ret\n"
			 "5:\n"
			 : "+S"(a), "+D"(b), "+c"(n) : : "rax", "memory", "cc");
}

static void calls(void)
{
	for (int i = 0; i < 3; i++)
		syscall(SYS_getuid);
}

/* One signal with a handler, one that is ignored. */
static void signals(void)
{
	raise(SIGUSR1);
	raise(SIGWINCH);
}

static void fault(char *page)
{
	__asm__ volatile("movb %%al, (%0)" : : "r"(page) : "memory");
}

/* mov $n, %eax; ret: n changes each time. */
static void change(unsigned char *code)
{
	code[1]++;
	((void (*)(void))(uintptr_t)code)();
}

static void child(void)
{
	const pid_t pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

/* Which runs all the time, while the first thread does not depend on it. */
static void *other(void *arg)
{
	for (;;)
		plain();
	return arg;
}

int main(int argc, char **argv)
{
	const char *const kind = argc > 1 ? argv[1] : "";
	const long rounds = argc > 2 ? atol(argv[2]) : 0;
	const struct sigaction on_fault = { .sa_sigaction = skip, .sa_flags = SA_SIGINFO };
	unsigned char *const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *const closed = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, "\xb8\0\0\0\0\xc3", 6);
	signal(SIGUSR1, count);
	if (!strcmp(kind, "timer")) {
		const struct itimerval often = { { 0, 100 }, { 0, 100 } };
		signal(SIGALRM, count);
		setitimer(ITIMER_REAL, &often, NULL);
	}
	sigaction(SIGSEGV, &on_fault, NULL);
	if (!strcmp(kind, "exec") && rounds > 0) {
		char left[24];
		snprintf(left, sizeof(left), "%ld", rounds - 1);
		for (int i = 0; i < 100; i++)
			plain();
		execl("/proc/self/exe", argv[0], kind, left, (char *)NULL);
		return 1;
	}
	pthread_t t;
	if (!strcmp(kind, "threads") && pthread_create(&t, NULL, other, NULL) != 0)
		return 1;
	for (long i = 0; i < rounds; i++) {
		plain();
		if (!strcmp(kind, "calls"))
			calls();
		else if (!strcmp(kind, "signals"))
			signals();
		else if (!strcmp(kind, "faults"))
			fault(closed);
		else if (!strcmp(kind, "changes"))
			change(page);
		else if (!strcmp(kind, "forks") && i % 100 == 0)
			child();
	}
	return 0;
}
