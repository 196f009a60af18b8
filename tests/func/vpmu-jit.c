/* A program without libc, for single-stepping: it handles SIGSEGV with SA_SIGINFO, so the flags that its loads and
 * stores may show are kept, and it runs functions where they are, and copied to memory that it can write.
 */
#include <linux/mman.h>
#include <stdint.h>

#define CODE __attribute__((noinline, section("jit")))
typedef uint64_t word;

enum { READ_WRITE_EXEC = 7, SIGSEGV_NUMBER = 11, SIGINFO_RESTORER = 0x04000004, UC_RIP = 40 + 16 * 8 };

static long call(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = -1, r9 __asm__("r9") = 0;
	long ret;
	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) :
			 "rcx", "r11", "memory");
	return ret;
}

__asm__(".text; restorer: mov $15, %eax; syscall");
extern void restorer(void);

static void handler(int sig, void *info, char *uc)
{
	(void)sig, (void)info;
	*(word *)(uc + UC_RIP) += 3;		/* over the load */
}

CODE static word mix(word *a, word n)
{
	word s = 0;
	for (word i = 0; i < n; i++) {
		const word x = a[i & 63];
		if (x & 1)
			s += a[x >> 3 & 63];
		else if (x > s)
			s ^= x;
		else
			a[i & 63] = s + i;
		s = s * 3 + (x > s ? a[5] : x);
	}
	return s;
}

CODE static word list(word *a, word n)
{
	word p = 0, s = 0;
	while (n--) {
		p = a[p & 63];
		s += p;
		if (!(p & 7))
			a[s & 63]++;
	}
	return s;
}

extern char __start_jit[], __stop_jit[];
static word words[64];

/* where its copy at `to` is */
static void *copied(const volatile char *to, word (*f)(word *, word))
{
	return (char *)(uintptr_t)to + ((char *)(uintptr_t)f - __start_jit);
}

__attribute__((used)) static void run(void)
{
	const struct { void *handler; word flags; void *restorer; word mask; } act =
		{ (void *)handler, SIGINFO_RESTORER, (void *)restorer, 0 };
	call(13, SIGSEGV_NUMBER, (long)&act, 0, 8);
	char *const m = (char *)call(9, 0, 16384, READ_WRITE_EXEC, MAP_PRIVATE | MAP_ANONYMOUS);
	volatile char *const to = m + 4096 - 40;	/* from one page to the next; no memcpy() to copy it */
	for (word i = 0; i < 64; i++)
		words[i] = (i * 2654435761u) ^ i << 7;
	for (long i = 0; i < __stop_jit - __start_jit; i++)
		to[i] = __start_jit[i];
	word (*const f)(word *, word) = copied(to, mix), (*const g)(word *, word) = copied(to, list);
	word s = 0;
	for (int r = 0; r < 4; r++) {
		s += mix(words, 60) + f(words, 60) + g(words, 60) + list(words, 60);
		/* a load that faults while the flags are set */
		__asm__ volatile("xor %%eax, %%eax; cmp $1, %%eax; .byte 0x48, 0x8b, 0x00; adc $0, %0" : "+r"(s) : :
				 "rax", "cc");
		to[-1] = (char)r;		/* the pages of the copies change */
		m[4096 + 4000] = (char)r;
	}
	words[0] = s;
	call(60, 0, 0, 0, 0);
}

__asm__(".text; .globl _start; _start: and $-16, %rsp; call run");
