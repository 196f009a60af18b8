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

/* Writes code through `to`, and runs it at `from`: twice, to see the change. */
static void write_and_call(const char *what, unsigned char *to, const void *from)
{
	static int value = 100;
	emit(to, ++value);
	const int first = call(from);
	emit(to, ++value);
	printf(" %s %d %d", what, first, call(from));
}

/* Shared memory that becomes executable later, and is written elsewhere: the descriptor is open, then closed. */
static void executable_later(void)
{
	for (int open_file = 0; open_file < 2; open_file++) {
		const int fd = memfd_create("later", 0);
		if (ftruncate(fd, 8192))
			perror("ftruncate");
		unsigned char *const w = mmap(NULL, 8192, RW, MAP_SHARED, fd, 0);
		unsigned char *const x = mmap(NULL, 8192, PROT_NONE, MAP_SHARED, fd, 0);
		if (!open_file)
			close(fd);
		mprotect(x, 4096, RX);
		write_and_call(open_file ? "open" : "closed", w, x);
		mprotect(x, 8192, PROT_READ);
		mprotect(x, 8192, RX);
		write_and_call("again", w, x);
		unsigned char *const moved_to = mremap(x, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, x + (1 << 20));
		mprotect(moved_to, 8192, PROT_READ);
		mprotect(moved_to, 8192, RX);
		write_and_call("moved", w, moved_to);
	}
	/* one call for private and shared memory */
	const int fd = memfd_create("beside", 0);
	if (ftruncate(fd, 4096))
		perror("ftruncate");
	unsigned char *const w = mmap(NULL, 4096, RW, MAP_SHARED, fd, 0);
	unsigned char *const both = mmap(NULL, 8192, RW, ANON, -1, 0);
	mmap(both + 4096, 4096, RW, MAP_SHARED | MAP_FIXED, fd, 0);
	mprotect(both, 8192, RX);
	write_and_call("beside", w, both + 4096);
	printf("\n");
}

/* shmat in place of code. */
static void replaced_by_segment(void)
{
	const int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0700);
	unsigned char *const p = mmap(NULL, 4096, RW, ANON, -1, 0), *const s = shmat(id, NULL, 0);
	emit(p, 1);
	mprotect(p, 4096, RX);
	printf("replaced %d", call(p));
	emit(s, 2);
	if (shmat(id, p, SHM_REMAP | SHM_EXEC | SHM_RDONLY) != p)
		perror("shmat");
	printf(" %d", call(p));
	write_and_call("segment", s, p);
	shmctl(id, IPC_RMID, NULL);
	printf("\n");
}

/* A private mapping shows what is written to its file, as long as its page is not written itself. */
static void file_written(void)
{
	unsigned char page[4096];
	const int fd = memfd_create("written", 0);
	memset(page, 0, sizeof(page));
	emit(page, 1);
	if (write(fd, page, sizeof(page)) != sizeof(page))
		perror("write");
	unsigned char *const p = mmap(NULL, 4096, RX, MAP_PRIVATE, fd, 0);
	printf("file %d", call(p));
	emit(page, 2);
	if (pwrite(fd, page, 6, 0) != 6)
		perror("pwrite");
	printf(" %d", call(p));
	write_and_call("mapped", mmap(NULL, 4096, RW, MAP_SHARED, fd, 0), p);
	printf("\n");
}

/* Pieces of code with gaps between, a mapping each. */
static void many_pieces(void)
{
	const int n = 12000;
	long sum = 0;
	unsigned char *const all = mmap(NULL, 8192ul * n, RW, ANON, -1, 0);
	for (int i = 0; i < n; i++) {
		emit(all + 8192ul * i, i);
		if (mprotect(all + 8192ul * i, 4096, RX))
			perror("mprotect");
	}
	for (int i = 0; i < n; i++)
		sum += call(all + 8192ul * i);
	munmap(all, 8192ul * n);
	printf("pieces %ld\n", sum);
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
	executable_later();
	replaced_by_segment();
	file_written();
	many_pieces();
	return 0;
}
