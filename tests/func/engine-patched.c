/* Code that is changed while another thread is in the middle of the same block, and then has a signal there. The
 * code goes over the border of two pages of a file, which are made writable one by one, both, or late. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096ul
#define SIZE (1ul << 36)		/* more than is read before the signal */
#define AT_LODS 8

static unsigned char *code;
static volatile unsigned char begun;
static volatile long at;
static void *mem;

/* Ends the `rep`. */
static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *const r = ((ucontext_t *)context)->uc_mcontext.gregs;
	(void)sig, (void)info;
	at = (long)r[REG_RIP] - (long)(code + PAGE);
	if (at == AT_LODS)
		r[REG_RCX] = 1;
}

static void *work(void *arg)
{
	long result;
	const void *from = mem;
	unsigned long n = SIZE;
	__asm__ volatile("call *%3" : "=a"(result), "+S"(from), "+c"(n) : "r"(code + PAGE - 4), "D"(&begun)
			 : "rdx", "memory", "cc");
	(void)arg;
	return (void *)result;
}

static void patch(const char *name, int first, int second, int late)
{
	/* mov $5, %edx; movb $1, (%rdi); rep lodsb; mov %edx, %eax; ret */
	static const unsigned char function[] = { 0xba, 5, 0, 0, 0, 0xc6, 0x07, 1, 0xf3, 0xac, 0x89, 0xd0, 0xc3 };
	static const unsigned char jump[] = { 0xe9, 32, 0, 0, 0 };	/* instead of the first instruction */
	unsigned char bytes[2 * PAGE];
	char path[] = "/tmp/engine-patched-XXXXXX";
	const int fd = mkstemp(path);
	unlink(path);
	memset(bytes, 0x90, sizeof(bytes));
	memcpy(bytes + PAGE, function, sizeof(function));
	if (write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
		exit(1);
	code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	if (first)
		mprotect(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	if (second)
		mprotect(code + PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	pthread_t thread;
	begun = 0;
	at = -1;
	pthread_create(&thread, NULL, work, NULL);
	while (!begun)
		sched_yield();
	if (late)
		mprotect(code, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(code + PAGE, jump, sizeof(jump));
	pthread_kill(thread, SIGUSR1);
	void *result;
	pthread_join(thread, &result);
	printf("%s: signal at %ld, result %ld\n", name, at, (long)result);
	munmap(code, 2 * PAGE);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	sigaction(SIGUSR1, &action, NULL);
	mem = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED) {
		printf("skipped: no address space\n");
		return 0;
	}
	patch("second page writable", 0, 1, 0);
	patch("both pages writable", 1, 1, 0);
	patch("made writable later", 0, 0, 1);
	return 0;
}
