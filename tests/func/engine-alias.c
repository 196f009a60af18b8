/* Code in shared memory that is written through a second mapping: however it is changed, the
 * next call runs what is there. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIZE (16 * 4096)

struct twice {
	uint8_t *run, *write;
	int fd;
};

static struct twice map_twice(bool keep_fd)
{
	struct twice m = { .fd = memfd_create("code", MFD_CLOEXEC) };
	if (m.fd < 0 || ftruncate(m.fd, SIZE))
		exit(1);
	m.run = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_SHARED, m.fd, 0);
	m.write = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
	if (!keep_fd)
		close(m.fd);
	return m;
}

/* mov eax, n; ret */
static void put(uint8_t *at, int n)
{
	uint8_t code[6] = { 0xb8 };
	memcpy(code + 1, &n, 4);
	code[5] = 0xc3;
	memcpy(at, code, 6);
}

static int call(const uint8_t *at)
{
	return ((int (*)(void))(uintptr_t)at)();
}

static void rewritten(struct twice m, const char *name)
{
	int wrong = 0;
	for (int i = 0; i < 200; i++) {
		put(m.write + 100 * (i % 5), i);
		for (int k = 0; k < 3; k++)
			wrong += call(m.run + 100 * (i % 5)) != i;
	}
	/* a block that reaches over the end of a page, changed on either side of it */
	for (int i = 0; i < 20; i++) {
		put(m.write + 4096 - 3, i);
		wrong += call(m.run + 4096 - 3) != i;
		m.write[4096] = (uint8_t)(i % 2);
		wrong += (call(m.run + 4096 - 3) >> 16 & 255) != i % 2;
	}
	printf("%s: %d wrong\n", name, wrong);
}

/* The kernel writes it. */
static void by_call(struct twice m)
{
	int ends[2], wrong = 0;
	uint8_t code[8192];
	if (pipe(ends))
		exit(1);
	for (int i = 0; i < 20; i++) {
		memset(code, 0x90, sizeof(code));
		put(code + 5000, i);
		if (i)
			call(m.run + 5000);
		if (write(ends[1], code, 6000) != 6000)
			exit(1);
		const ssize_t n = read(ends[0], m.write, 6000);
		wrong += n != 6000 || call(m.run + 5000) != i || call(m.run) != i;
	}
	printf("read: %d wrong\n", wrong);
	close(ends[0]);
	close(ends[1]);
}

/* The mappings change. */
static void remapped(struct twice m)
{
	put(m.write, 1);
	printf("at first %d", call(m.run));
	mprotect(m.write, SIZE, PROT_READ);
	printf(" read-only %d", call(m.run));
	mprotect(m.write, SIZE, PROT_READ | PROT_WRITE);
	put(m.write, 2);
	printf(" written %d", call(m.run));
	uint8_t *const third = mremap(m.write, 0, SIZE, MREMAP_MAYMOVE);
	if (third != MAP_FAILED) {
		put(third, 3);
		printf(" through a third %d", call(m.run));
		munmap(m.write, SIZE);
		put(third, 4);
		printf(" without the second %d", call(m.run));
		m.write = third;
	}
	uint8_t *const moved = mremap(m.run, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, m.run + (1 << 24));
	put(m.write, 5);
	printf(" moved %d\n", moved == MAP_FAILED ? -1 : call(moved));
}

static volatile int stage;
static struct twice of_thread;

static void *writer(void *unused)
{
	(void)unused;
	for (int i = 1; i <= 100; i++) {
		while (stage != 2 * i - 1)
			sched_yield();
		put(of_thread.write, i);
		__sync_synchronize();
		stage = 2 * i;
	}
	return NULL;
}

static void by_thread(struct twice m)
{
	pthread_t t;
	int wrong = 0;
	of_thread = m;
	stage = 0;
	pthread_create(&t, NULL, writer, NULL);
	for (int i = 1; i <= 100; i++) {
		stage = 2 * i - 1;
		while (stage != 2 * i)
			sched_yield();
		wrong += call(m.run) != i;
	}
	pthread_join(t, NULL);
	printf("another thread: %d wrong\n", wrong);
}

/* A child runs what its parent writes. */
static void by_parent(struct twice m)
{
	int to[2], back[2], wrong = 0;
	char c = 0;
	if (pipe(to) || pipe(back))
		exit(1);
	put(m.write, 7);
	call(m.run);
	fflush(stdout);
	const pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 10; i++) {
			if (read(to[0], &c, 1) != 1)
				_exit(100);
			wrong += call(m.run) != i;
			if (write(back[1], &c, 1) != 1)
				_exit(100);
		}
		_exit(wrong);
	}
	for (int i = 0; i < 10; i++) {
		put(m.write, i);
		wrong += call(m.run) != i;
		if (write(to[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			wrong += 100;
	}
	int status = 0;
	waitpid(child, &status, 0);
	printf("parent writes: %d wrong, child %d\n", wrong, status);
}

static double seconds_of(const uint8_t *at)
{
	double best = 1e9;
	for (int k = 0; k < 5; k++) {
		struct timespec a, b;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		for (int i = 0; i < 3000; i++)
			call(at);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		const double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
		best = s < best ? s : best;
	}
	return best;
}

/* Such code is about as fast as other code: a loop of long blocks that depend on each other. */
static void speed(struct twice m)
{
	uint8_t code[512], *p = code;
	memcpy(p, "\xb9\x20\x00\x00\x00", 5), p += 5;		/* mov ecx, 32 */
	uint8_t *const loop = p;
	for (int i = 0; i < 8; i++) {
		memcpy(p, "\x48\x8d\x44\x08\x01\x48\x8d\x44\x08\x01", 10), p += 10;
		memcpy(p, "\xe9\x00\x00\x00\x00", 5), p += 5;	/* jmp to the next block */
	}
	memcpy(p, "\x83\xe9\x01\x0f\x85", 5), p += 5;		/* sub ecx, 1; jnz loop */
	const int32_t back = (int32_t)(loop - (p + 4));
	memcpy(p, &back, 4), p += 4;
	*p++ = 0xc3;
	uint8_t *const own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(own, code, sizeof(code));
	mprotect(own, 4096, PROT_READ | PROT_EXEC);
	memcpy(m.write, code, sizeof(code));
	bool fast = false;
	for (int i = 0; i < 20 && !fast; i++)	/* until a moment without neighbours */
		fast = seconds_of(m.run) < 3 * seconds_of(own);
	printf("not slow: %s\n", fast ? "yes" : "no");
}

int main(void)
{
	rewritten(map_twice(false), "descriptor closed");
	rewritten(map_twice(true), "descriptor open");
	by_call(map_twice(false));
	remapped(map_twice(false));
	by_thread(map_twice(false));
	by_parent(map_twice(false));
	speed(map_twice(false));
	/* the file is written */
	const struct twice m = map_twice(true);
	put(m.write, 1);
	printf("%d", call(m.run));
	uint8_t code[6];
	put(code, 2);
	if (pwrite(m.fd, code, 6, 0) != 6)
		return 1;
	printf(" then %d\n", call(m.run));
	return 0;
}
