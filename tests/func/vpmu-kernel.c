/* Page faults at known addresses of known instructions, for vpmu-kernel.py: 60 in user mode, one of which ends in a
 * SIGSEGV, 20 in the kernel; stores into the page of code that runs; four sleeps. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define AREA ((char *)0x7000000000)
#define PAGE 4096
#define PAGES 60

static sigjmp_buf back;

/* One instruction touches all pages: compilers unroll a loop of stores. */
__attribute__((noinline)) static void touch_one(volatile char *p)
{
	*p = 1;
}

static void touch(char *p, int n)
{
	for (int i = 0; i < n; i++)
		touch_one(p + i * PAGE);
}

__attribute__((noinline)) static int spin(int n)
{
	volatile int sum = 0;
	for (int i = 0; i < n; i++)
		sum += i;
	return sum;
}

static void on_segv(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

/* mov eax, imm; ret: changed while it runs, so its page is guarded and written to in turns. */
static void change_code(void)
{
	unsigned char code[] = { 0xb8, 0, 0, 0, 0, 0xc3 };
	unsigned char *const at = mmap(0, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 5; i++) {
		code[1] = (unsigned char)i;
		memcpy(at, code, sizeof(code));
		if (((int (*)(void))at)() != i)
			exit(2);
	}
}

int main(void)
{
	static const struct timespec nap = { 0, 2000000 };
	if (mmap(AREA, 2 * PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != AREA)
		return 1;
	madvise(AREA, 2 * PAGES * PAGE, MADV_NOHUGEPAGE);
	mprotect(AREA + (PAGES - 1) * PAGE, PAGE, PROT_NONE);
	signal(SIGSEGV, on_segv);
	if (!sigsetjmp(back, 1))
		touch(AREA, PAGES);
	change_code();
	int ends[2];
	if (pipe(ends) || write(ends[1], AREA, 10 * PAGE) < 0)
		return 1;
	for (int i = 0; i < 20; i++)
		if (read(ends[0], AREA + (PAGES + i) * PAGE, PAGE / 2) != PAGE / 2)
			return 1;
	for (int i = 0; i < 4; i++)
		nanosleep(&nap, 0);
	return spin(100000) == 1;
}
