/* A process that is traced by its parent shows it the signals that it shows natively, and no
 * others: traced by its own wish, attached to while it waits or while it runs, seized.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int *go;

static int __attribute__((noinline)) deep(int n)
{
	volatile char room[1000];
	room[n % 1000] = (char)n;
	return n ? deep(n - 1) + room[n % 1000] : 0;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void *in_thread(void *arg)
{
	deep(50);
	return arg;
}

static ucontext_t back, other;

static void on_stack(void)
{
	deep(20);
}

/* Code, stacks and libraries that were not used before. */
static void work(void)
{
	int numbers[500];
	pthread_t thread;
	for (int i = 0; i < 500; i++)
		numbers[i] = i * 7919 % 500;
	qsort(numbers, 500, sizeof(int), compare);
	deep(3000);
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	void *const lib = dlopen("libm.so.6", RTLD_NOW);
	double (*const cosine)(double) = lib ? (double (*)(double))dlsym(lib, "cos") : NULL;
	if (cosine)
		numbers[0] = (int)cosine(0);
	getcontext(&other);
	other.uc_stack.ss_sp = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	other.uc_stack.ss_size = 1 << 18;
	other.uc_link = &back;
	makecontext(&other, on_stack, 0);
	swapcontext(&back, &other);
	raise(SIGUSR1);
	_exit(7);
}

static void show(pid_t pid)
{
	int status, calls = 0;
	while (waitpid(pid, &status, __WALL) == pid && ++calls < 50) {
		if (WIFEXITED(status)) {
			printf(" exit %d\n", WEXITSTATUS(status));
			return;
		}
		if (WIFSIGNALED(status)) {
			printf(" killed by %d\n", WTERMSIG(status));
			return;
		}
		const int event = status >> 16, sig = event ? 0 : WSTOPSIG(status);
		printf(" %d", event ? event : WSTOPSIG(status));
		*go = 1;
		ptrace(PTRACE_CONT, pid, NULL, sig == SIGSTOP ? 0 : sig);
	}
	printf(" …\n");
	kill(pid, SIGKILL);
}

static void child(int how)
{
	signal(SIGUSR1, SIG_IGN);
	if (how == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
	}
	while (!*go)
		if (how == 1)
			usleep(20000);
	work();
}

int main(void)
{
	static const char *const names[] = { "by its own wish:", "attached in a call:",
					     "attached running:", "seized:" };
	go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int how = 0; how < 4; how++) {
		*go = 0;
		const pid_t pid = fork();
		if (pid == 0)
			child(how);
		printf("%s", names[how]);
		if (how)
			usleep(50000);
		if (how == 3) {
			printf(" %ld", ptrace(PTRACE_SEIZE, pid, NULL, NULL));
			*go = 1;
		} else if (how) {
			printf(" %ld", ptrace(PTRACE_ATTACH, pid, NULL, NULL));
		}
		show(pid);
	}
	return 0;
}
