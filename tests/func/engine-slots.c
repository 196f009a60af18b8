/* Indirect branches through memory that was made read-only, as the dynamic linker does with its
 * tables: the memory changes later, in all ways in which it can. With the word `threads`: while another
 * thread runs through it. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int function(void);

/* A page of the program's data, away from its other data; a stub as in a PLT, a call and a jump. */
__asm__(".section .data.slots, \"aw\", @progbits\n"
	"	.balign 4096\n"
	"slots:	.zero 4096\n"
	".text\n"
	"	.balign 16\n"
	"stub:	endbr64\n"
	"	jmp *slots(%rip)\n"
	"	.balign 16\n"
	"bnd_stub: .byte 0xf2; jmp *slots+8(%rip)\n"
	"through_stub:\n"
	"	subq $8, %rsp\n"
	"	call stub\n"
	"	addl $10, %eax\n"
	"	addq $8, %rsp\n"
	"	ret\n"
	"through_bnd:\n"
	"	subq $8, %rsp\n"
	"	call bnd_stub\n"
	"	addl $20, %eax\n"
	"	addq $8, %rsp\n"
	"	ret\n"
	"through_call:\n"
	"	subq $8, %rsp\n"
	"	call *slots+16(%rip)\n"
	"	addl $30, %eax\n"
	"	addq $8, %rsp\n"
	"	ret\n"
	"one:	movl $1, %eax\n"
	"	ret\n"
	"two:	movl $2, %eax\n"
	"	ret\n"
	"flag:	setc %al\n"		/* wants a flag of its caller */
	"	movzbl %al, %eax\n"
	"	ret\n");
extern function *slots[512];
extern function one, two, flag, through_stub, through_bnd, through_call;

static void fill(function *f)
{
	for (int i = 0; i < 3; i++)
		slots[i] = f;
}

static int calls(void)
{
	int sum = 0;
	for (int i = 0; i < 20; i++)
		sum += through_stub() + through_bnd() + through_call();
	return sum;
}

static void protect(int prot)
{
	if (mprotect(slots, 4096, prot))
		perror("mprotect");
}

/* A file with the table in it. */
static int file_of(function *f)
{
	function *table[3] = { f, f, f };
	const int fd = memfd_create("slots", 0);
	if (ftruncate(fd, 4096) || pwrite(fd, table, sizeof(table), 0) != sizeof(table))
		perror("memfd");
	return fd;
}

static void map(function *f, int prot)
{
	const int fd = file_of(f);
	if (mmap(slots, 4096, prot, MAP_PRIVATE | MAP_FIXED, fd, 0) != (void *)slots)
		perror("mmap");
	close(fd);
}

static sigjmp_buf back;
static volatile uint64_t fault_at;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	fault_at = (uint64_t)info->si_addr;
	siglongjmp(back, 1);
}

static void faults(void)
{
	const struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	sigaction(SIGSEGV, &act, NULL);
	map((function *)0x1230, PROT_READ | PROT_WRITE);	/* no code there */
	protect(PROT_READ);
	for (int i = 0; i < 3; i++) {
		fault_at = 0;
		if (!sigsetjmp(back, 1))
			i == 0 ? through_stub() : i == 1 ? through_bnd() : through_call();
		printf("fault at %#lx\n", (unsigned long)fault_at);
	}
	protect(PROT_NONE);
	fault_at = 0;
	if (!sigsetjmp(back, 1))
		calls();
	printf("fault at slot %ld\n", (long)(fault_at - (uint64_t)slots));
}

static void changes(void)
{
	fill(one);
	protect(PROT_READ);
	printf("first %d\n", calls());
	protect(PROT_READ | PROT_WRITE);
	fill(two);
	printf("written %d\n", calls());
	protect(PROT_READ);
	printf("protected again %d\n", calls());
	const int fd = open("/proc/self/mem", O_RDWR);
	function *table[3] = { one, two, one };
	if (fd < 0 || pwrite(fd, table, sizeof(table), (off_t)(uintptr_t)slots) != sizeof(table))
		perror("/proc/self/mem");
	close(fd);
	printf("written by the kernel %d\n", calls());
	map(two, PROT_READ | PROT_WRITE);
	protect(PROT_READ);
	printf("mapped %d\n", calls());
	protect(PROT_READ | PROT_WRITE);
	fill(one);
	protect(PROT_READ);
	printf("and written %d\n", calls());
	madvise(slots, 4096, MADV_DONTNEED);
	printf("forgotten %d\n", calls());
	void *const away = mremap(slots, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED,
				  (void *)0x10000000);
	map(one, PROT_READ);
	printf("moved %d %d\n", away == (void *)0x10000000, calls());
	protect(PROT_READ);
	printf("still %d\n", calls());
	munmap(slots, 4096);
	map(flag, PROT_READ);
	protect(PROT_READ);
	printf("unmapped, mapped %d\n", calls());
}

static void shared(void)
{
	const int fd = file_of(one);
	mmap(slots, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
	protect(PROT_READ);
	const int before = calls();
	function *table[3] = { two, one, two };
	if (pwrite(fd, table, sizeof(table), 0) != sizeof(table))
		perror("pwrite");
	close(fd);
	printf("shared %d %d\n", before, calls());
}

static void forked(void)
{
	map(one, PROT_READ | PROT_WRITE);
	protect(PROT_READ);
	const int before = calls();
	const pid_t pid = fork();
	if (!pid) {
		protect(PROT_READ | PROT_WRITE);
		fill(two);
		_exit(calls() == before + 60 ? 0 : 1);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	printf("parent %d %d, child %d\n", before, calls(), status);
}

static volatile int ready, done;

static void *runner(void *arg)
{
	(void)arg;
	long wrong = 0;
	ready = 1;
	for (;;) {
		const int told = done;		/* by then the slots are written */
		const int sum = through_stub() + through_bnd() + through_call();
		if (sum == 66)
			break;
		wrong += told || sum < 63;
	}
	return (void *)wrong;
}

static void threads(void)
{
	long wrong = 0;
	for (int i = 0; i < 50; i++) {
		pthread_t t;
		void *w;
		ready = done = 0;
		protect(PROT_READ | PROT_WRITE);
		fill(one);
		protect(PROT_READ);
		pthread_create(&t, NULL, runner, NULL);
		while (!ready)
			sched_yield();
		for (volatile int k = 0; k < i * 1000; k++)
			;
		protect(PROT_READ | PROT_WRITE);
		fill(two);
		__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
		pthread_join(t, &w);
		wrong += (long)w;
	}
	printf("wrong %ld\n", wrong);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "threads")) {
		threads();
		return 0;
	}
	changes();
	shared();
	forked();
	faults();
	return 0;
}
