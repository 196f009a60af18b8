/* Code that comes, changes and goes: JITs on W^X pages, on RWX pages and through
 * two mappings, mprotect, munmap, mremap, MAP_FIXED, madvise, code written by
 * the kernel (read, process_vm_writev), by another thread.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/membarrier.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

typedef int fn(void);
enum { RW = PROT_READ | PROT_WRITE, RX = PROT_READ | PROT_EXEC, RWX = RW | PROT_EXEC };

/* mov eax, value; ret */
static void emit(uint8_t *p, int value)
{
	p[0] = 0xb8;
	memcpy(p + 1, &value, 4);
	p[5] = 0xc3;
}

static uint8_t *map(size_t size, int prot)
{
	return mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int call(const uint8_t *p)
{
	return ((fn *)(uintptr_t)p)();
}

static void wx(void)
{
	uint8_t *const p = map(4096, RW);
	long sum = 0;
	for (int i = 0; i < 200; i++) {
		mprotect(p, 4096, RW);
		emit(p + i % 7 * 16, i);
		mprotect(p, 4096, RX);
		sum += call(p + i % 7 * 16);
	}
	printf("w^x %ld\n", sum);
	munmap(p, 4096);
}

static void rwx(void)
{
	uint8_t *const p = map(8192, RWX);
	long sum = 0;
	for (int i = 0; i < 20000; i++) {
		emit(p + 64 * (i % 16), i);
		p[4000] = (uint8_t)i;		/* data in the same page */
		sum += call(p + 64 * (i % 16));
	}
	printf("rwx %ld\n", sum);
	/* one byte of an existing function, through a byte store */
	for (int i = 0; i < 100; i++) {
		p[1] = (uint8_t)i;
		sum += call(p);
	}
	printf("rwx patched %ld\n", sum);
	munmap(p, 8192);
}

/* A function that begins in one page and ends in the next, where the second page changes so often that the
 * engine stops guarding it; and one that begins in a page that cannot be written. */
static void across_pages(void)
{
	uint8_t *const p = map(2 * 4096, RWX), *const f = p + 4096 - 1;
	int wrong = 0;
	emit(f, 0);
	for (int i = 0; i < 100; i++) {
		if (i == 50)
			mprotect(p, 4096, RX);
		memcpy(f + 1, &i, 4);
		wrong += call(f) != i;
	}
	uint8_t *const q = map(2 * 4096, RWX), *const g = q + 4096 - 1;
	emit(g, 0);
	mprotect(q, 4096, RX);
	for (int i = 0; i < 100; i++) {
		memcpy(g + 1, &i, 4);
		wrong += call(g) != i;
	}
	printf("across pages: %d wrong\n", wrong);
	munmap(p, 2 * 4096);
	munmap(q, 2 * 4096);
}

static void dual(void)
{
	const int fd = memfd_create("code", MFD_CLOEXEC);
	if (ftruncate(fd, 8192))
		perror("ftruncate");
	uint8_t *const w = mmap(NULL, 8192, RW, MAP_SHARED, fd, 0);
	uint8_t *const x = mmap(NULL, 8192, RX, MAP_SHARED, fd, 0);
	long sum = 0;
	for (int i = 0; i < 2000; i++) {
		emit(w + 64 * (i % 8), i);
		sum += call(x + 64 * (i % 8));
	}
	printf("dual %ld\n", sum);
	/* written through the descriptor */
	for (int i = 0; i < 100; i++) {
		uint8_t code[6];
		emit(code, i);
		if (pwrite(fd, code, 6, 4096) != 6)
			perror("pwrite");
		sum += call(x + 4096);
	}
	printf("dual by pwrite %ld\n", sum);
	close(fd);
	munmap(w, 8192);
	munmap(x, 8192);
}

static void remapped(void)
{
	long sum = 0;
	void *at = NULL;
	for (int i = 0; i < 50; i++) {
		uint8_t *const p = mmap(at, 4096, RWX, MAP_PRIVATE | MAP_ANONYMOUS |
					(at ? MAP_FIXED : 0), -1, 0);
		emit(p, i);
		sum += call(p);
		at = p;
		if (i % 2)
			munmap(p, 4096);
	}
	printf("mapped anew %ld\n", sum);
	uint8_t *const a = map(4096, RWX);
	emit(a, 1);
	sum += call(a);
	uint8_t *const b = mremap(a, 4096, 8192, MREMAP_MAYMOVE);
	emit(b, 2);
	sum += call(b);
	uint8_t *const c = map(8192, RW);
	uint8_t *const d = mremap(b, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, c);
	sum += call(d);
	emit(d, 40);
	sum += call(d);
	printf("moved %ld\n", sum);
	madvise(d, 4096, MADV_DONTNEED);
	printf("dropped: first byte %d\n", d[0]);
	emit(d, 50);
	printf("then %d\n", call(d));
}

static void by_kernel(void)
{
	uint8_t *const p = map(4096, RWX);
	long sum = 0;
	int pipefd[2];
	if (pipe(pipefd))
		perror("pipe");
	for (int i = 0; i < 50; i++) {
		uint8_t code[6];
		emit(code, i);
		if (write(pipefd[1], code, 6) != 6 || read(pipefd[0], p, 6) != 6)
			perror("read into code");
		sum += call(p);
	}
	printf("by read %ld\n", sum);
	for (int i = 0; i < 50; i++) {
		uint8_t code[6];
		emit(code, i);
		struct iovec from = { code, 6 }, to = { p, 6 };
		if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) != 6)
			perror("process_vm_writev");
		sum += call(p);
	}
	printf("by process_vm_writev %ld\n", sum);
	const int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 50; i++) {
		uint8_t code[6];
		emit(code, i);
		if (pwrite(mem, code, 6, (off_t)(uintptr_t)p) != 6)
			perror("/proc/self/mem");
		sum += call(p);
	}
	close(mem);
	printf("by /proc/self/mem %ld\n", sum);
}

static sigjmp_buf out;
static void on_segv(int sig)
{
	siglongjmp(out, sig);
}

static void gone(void)
{
	signal(SIGSEGV, on_segv);
	uint8_t *const p = map(4096, RWX);
	emit(p, 5);
	printf("there %d\n", call(p));
	mprotect(p, 4096, RW);
	printf("%s\n", sigsetjmp(out, 1) ? "not executable: SIGSEGV" : (call(p), "ran"));
	mprotect(p, 4096, RX);
	printf("there again %d\n", call(p));
	munmap(p, 4096);
	printf("%s\n", sigsetjmp(out, 1) ? "unmapped: SIGSEGV" : (call(p), "ran"));
	signal(SIGSEGV, SIG_DFL);
}

/* A file's text, changed by write() under its mapping. */
static void file_text(void)
{
	FILE *const f = tmpfile();
	uint8_t code[4096] = { 0 };
	emit(code, 11);
	fwrite(code, sizeof(code), 1, f);
	fflush(f);
	uint8_t *const x = mmap(NULL, 4096, RX, MAP_PRIVATE, fileno(f), 0);
	printf("file %d\n", call(x));
	emit(code, 12);
	if (pwrite(fileno(f), code, 6, 0) != 6)
		perror("pwrite");
	printf("file changed %d\n", call(x));
	munmap(x, 4096);
	fclose(f);
}

static uint8_t *shared_code;
static atomic_int stage;

static void *patcher(void *arg)
{
	(void)arg;
	for (int i = 1; i <= 100; i++) {
		while (atomic_load(&stage) != 2 * i - 1)
			usleep(10);
		int value = i;
		memcpy(shared_code + 1, &value, 4);
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
		atomic_store(&stage, 2 * i);
	}
	return NULL;
}

static void cross_modified(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	shared_code = map(4096, RWX);
	emit(shared_code, 0);
	pthread_t t;
	pthread_create(&t, NULL, patcher, NULL);
	long sum = 0;
	for (int i = 1; i <= 100; i++) {
		sum += call(shared_code);
		atomic_store(&stage, 2 * i - 1);
		while (atomic_load(&stage) != 2 * i)
			usleep(10);
		sum += call(shared_code);
	}
	pthread_join(t, NULL);
	printf("patched by a thread %ld\n", sum);
}

/* Many functions, then all of them other ones: what a translator keeps of dead
 * code must not grow without end. */
static void churn(void)
{
	const size_t size = 1 << 20;
	uint8_t *const p = map(size, RWX);
	long sum = 0;
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < size; i += 256)
			emit(p + i, (int)i + round);
		for (size_t i = 0; i < size; i += 256)
			sum += call(p + i) & 0xffff;
	}
	printf("churn %ld\n", sum);
	munmap(p, size);
}

int main(void)
{
	wx();
	rwx();
	across_pages();
	dual();
	remapped();
	by_kernel();
	gone();
	file_text();
	cross_modified();
	churn();
	return 0;
}
