/* Corners of memory: code that the kernel writes, moves or brings in unseen, and
 * mappings where the engine has its own. The output natively and under the engine
 * must be the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RW = PROT_READ | PROT_WRITE, RX = PROT_READ | PROT_EXEC, RWX = RW | PROT_EXEC };
enum { ANON = MAP_PRIVATE | MAP_ANONYMOUS };

/* mov eax, value; ret */
static void emit(unsigned char *p, int value)
{
	p[0] = 0xb8;
	memcpy(p + 1, &value, 4);
	p[5] = 0xc3;
}

static int call(const void *p)
{
	return ((int (*)(void))(uintptr_t)p)();
}

/* The kernel writes into code that has run, all kinds of calls. */
static void written_by_kernel(void)
{
	unsigned char *const p = mmap(NULL, 16384, RWX, ANON, -1, 0);
	unsigned char code[6];
	int pair[2], pipes[2];
	emit(p, 1);
	printf("written %d", call(p));
	if (pipe(pipes) || socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		perror("pipe");
	emit(code, 2);
	ssize_t n = write(pipes[1], code, 6);
	n += read(pipes[0], p, 4096);
	printf(" %d (%zd)", call(p), n);
	emit(code, 3);
	n = send(pair[0], code, 6, 0);
	n += recv(pair[1], p, 4096, 0);
	printf(" %d (%zd)", call(p), n);
	/* a read that begins before the page and ends behind it is not cut short */
	const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	emit(p + 4096, 4);
	printf(" %d", call(p + 4096));
	n = read(zero, p, 16384);
	printf(" (%zd) first byte %d\n", n, p[4096]);
	close(zero);
	munmap(p, 16384);
}

/* brk and shmat give executable memory without a call that says so. */
static void unseen(void)
{
	const int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0700);
	unsigned char *const s = shmat(id, NULL, SHM_EXEC);
	shmctl(id, IPC_RMID, NULL);
	emit(s, 5);
	printf("shmat %d", call(s));
	emit(s, 6);
	printf(" %d", call(s));
	shmdt(s);
	const int old = personality(0xffffffff);
	personality((unsigned long)old | READ_IMPLIES_EXEC);
	unsigned char *const m = mmap(NULL, 4096, RW, ANON, -1, 0);
	personality((unsigned long)old);
	emit(m, 7);
	printf(" implied %d", call(m));
	emit(m, 8);
	printf(" %d\n", call(m));
}

/* Code 4 GiB apart has the same low halves. */
static void same_low_half(void)
{
	unsigned char *at[3];
	int sum = 0;
	for (int i = 0; i < 3; i++) {
		at[i] = mmap((void *)(0x200000000000ull + ((uint64_t)i << 32)), 8192, RW,
			     ANON | MAP_FIXED_NOREPLACE, -1, 0);
		for (int k = 0; k < 300; k++)
			emit(at[i] + 16 * k, 1000 * i + k);
		mprotect(at[i], 8192, RX);
	}
	for (int round = 0; round < 3; round++)
		for (int k = 0; k < 300; k++)
			for (int i = 0; i < 3; i++)
				sum += (k % 7 + 1) * call(at[i] + 16 * k);
	printf("same low half %d", sum);
	mprotect(at[1], 8192, RW);
	emit(at[1], 77);
	mprotect(at[1], 8192, RX);
	printf(" %d %d\n", call(at[1]), call(at[0]));
}

/* Holes natively: what is there of the engine must not answer. */
static void holes(void)
{
	/* unmapping everything that is not there is fine */
	printf("munmap %d", munmap((void *)0x440000000000ull, 1ull << 30));
	printf(" %d", munmap((void *)0x50000000ull, 0x8000000));
	errno = 0;
	printf(" madvise %d", madvise((void *)0x440000000000ull, 4096, MADV_DONTNEED));
	printf(" %d", errno);
	printf(" mprotect %d %d\n", mprotect((void *)0x440000000000ull, 4096, RWX), errno);
}

static void execute_only(void)
{
	unsigned char *const p = mmap(NULL, 4096, RW, ANON, -1, 0);
	emit(p, 9);
	mprotect(p, 4096, PROT_EXEC);
	printf("execute only %d\n", call(p));
}

static void moved(void)
{
	unsigned char *p = mmap(NULL, 12288, RWX, ANON, -1, 0);
	for (int i = 0; i < 3; i++)
		emit(p + 4096 * i, 10 + i);
	printf("moved %d", call(p) + call(p + 4096) + call(p + 8192));
	unsigned char *const q = mmap(NULL, 1 << 20, PROT_NONE, ANON, -1, 0);
	p = mremap(p, 12288, 12288, MREMAP_MAYMOVE | MREMAP_FIXED, q);
	printf(" %d %d", p == q, call(p) + call(p + 4096) + call(p + 8192));
	emit(p + 4096, 50);
	printf(" %d\n", call(p + 4096));
}

/* Many short-lived pieces of code at the same place. */
static void again_and_again(void)
{
	long sum = 0;
	void *at = NULL;
	for (int i = 0; i < 2000; i++) {
		unsigned char *const p = mmap(at, 4096, RW, ANON | (at ? MAP_FIXED : 0), -1, 0);
		emit(p, i);
		mprotect(p, 4096, RX);
		sum += call(p);
		munmap(p, 4096);
		at = p;
	}
	printf("again %ld\n", sum);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	written_by_kernel();
	unseen();
	same_low_half();
	holes();
	execute_only();
	moved();
	again_and_again();
	return 0;
}
