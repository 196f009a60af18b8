/* Stacks that are switched: makecontext, swapcontext, setjmp, longjmp, nested
 * functions on an executable stack, the unwinder's view of return addresses. */
#include <execinfo.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

static ucontext_t main_uc, co[4];
static long trail;

static void body(int me, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		trail = trail * 7 + me;
		swapcontext(&co[me], &co[(me + 1) % 4]);
	}
	trail += 1000;
}

static void coroutines(void)
{
	for (int i = 0; i < 4; i++) {
		getcontext(&co[i]);
		co[i].uc_stack.ss_sp = malloc(65536);
		co[i].uc_stack.ss_size = 65536;
		co[i].uc_link = &main_uc;
		makecontext(&co[i], (void (*)(void))body, 2, i, 1000);
	}
	swapcontext(&main_uc, &co[0]);
	printf("coroutines %lx\n", (unsigned long)trail);
}

static jmp_buf deep;
static int down(int n)
{
	if (n == 0)
		longjmp(deep, 17);
	return n < 0 ? 0 : down(n - 1) + 1;
}

static void jumps(void)
{
	volatile int sum = 0;
	for (volatile int i = 1; i < 200; i++) {
		const int r = setjmp(deep);
		if (r == 0)
			down(i);
		sum += r;
	}
	printf("longjmp %d\n", sum);
}

static int apply(int (*fn)(int), int n)
{
	return n == 0 ? 0 : fn(n) + apply(fn, n - 1);
}

/* gcc puts a trampoline on the stack for `add`; clang has no nested functions. */
static void trampolines(int base)
{
#ifdef __clang__
	printf("skipped: nested functions: clang has none, %d\n", apply(abs, base));
#else
	int calls = 0;
	int add(int x)
	{
		calls++;
		return x + base;
	}
	const int sum = apply(add, 100);
	printf("nested function %d, %d calls\n", sum, calls);
#endif
}

static _Unwind_Reason_Code frame(struct _Unwind_Context *c, void *arg)
{
	int *const n = arg;
	++*n;
	(void)c;
	return _URC_NO_REASON;
}

static __attribute__((noinline)) int unwind(int n)
{
	if (n > 0)
		return unwind(n - 1) * 1 + 0 * n;
	int frames = 0;
	_Unwind_Backtrace(frame, &frames);
	return frames;
}

static void backtraces(void)
{
	printf("frames %d %d\n", unwind(0), unwind(10));
	void *bt[64];
	const int n = backtrace(bt, 64);
	printf("backtrace %d, first is mine: %d\n", n,
	       (char *)bt[0] >= (char *)backtraces && (char *)bt[0] < (char *)backtraces + 400);
}

int main(void)
{
	coroutines();
	jumps();
	trampolines(5);
	backtraces();
	return 0;
}
