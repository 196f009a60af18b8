/* Two threads that trace a process each read the registers of their own one, and never those of
 * the other, however many of their calls run at the same time.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define READS 30000

/* Stops itself in a system call, with a known value in rbx. */
static void child(uint64_t known)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	long ret;
	__asm__ volatile("mov %[known], %%rbx\n\tsyscall"
			 : "=a"(ret)
			 : "a"((long)SYS_kill), "D"((long)getpid()), "S"((long)SIGSTOP),
			   [known] "r"(known)
			 : "rbx", "rcx", "r11", "memory");
	_exit(0);
}

static void *tracer(void *arg)
{
	const uint64_t known = (uint64_t)arg;
	const pid_t pid = fork();
	if (pid == 0)
		child(known);
	int status;
	long wrong = waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status);
	for (int i = 0; i < READS; i++) {
		struct user_regs_struct regs;
		wrong += ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0 || regs.rbx != known;
	}
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	waitpid(pid, &status, __WALL);
	return (void *)wrong;
}

int main(void)
{
	pthread_t threads[2];
	for (uint64_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, tracer, (void *)(0x1111111111111111u * (i + 1)));
	for (int i = 0; i < 2; i++) {
		void *wrong;
		pthread_join(threads[i], &wrong);
		printf("%s\n", wrong ? "registers of another process" : "its own registers");
	}
	return 0;
}
