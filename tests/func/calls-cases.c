/* Calls whose number is known, for tests/engine/calls.py, which names the case and knows the answers.
 * Functions that count are not inlined, and each has an effect that the compiler cannot see through. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define ALONE __attribute__((noinline, optnone))
#else
#define ALONE __attribute__((noinline, noclone, noipa))
#endif
#define FUNCTION ALONE void
#define VALUE ALONE long

static volatile long sink;

FUNCTION leaf(void) { sink++; }
FUNCTION leaf2(void) { sink += 2; }

/* ---- recursion ---- */

VALUE fib(long n)
{
	if (n < 2)
		return n;
	const long a = fib(n - 1);
	sink++;
	const long b = fib(n - 2);
	sink++;
	return a + b;
}
VALUE odd(long n);
VALUE even(long n) { long r = n ? odd(n - 1) : 1; sink++; return r; }
VALUE odd(long n) { long r = n ? even(n - 1) : 0; sink++; return r; }
VALUE deep(long n) { long r = n ? deep(n - 1) + 1 : 0; sink++; return r; }

static void recursion(void)
{
	fib(10);
	even(100);
	deep(500000);
}

/* ---- tail calls ---- */

__asm__(".text\n.type tail_leaf,@function\ntail_leaf: .cfi_startproc\nincq sink(%rip)\nret\n.cfi_endproc\n.size tail_leaf,.-tail_leaf\n"
	".type tail_direct,@function\ntail_direct: .cfi_startproc\nnop\njmp tail_leaf\n.cfi_endproc\n.size tail_direct,.-tail_direct\n"
	".type tail_chain,@function\ntail_chain: .cfi_startproc\nnop\njmp tail_direct\n.cfi_endproc\n.size tail_chain,.-tail_chain\n"
	".type tail_pointer,@function\ntail_pointer: .cfi_startproc\nlea tail_leaf(%rip), %rax\njmp *%rax\n.cfi_endproc\n.size tail_pointer,.-tail_pointer\n"
	".type tail_cond,@function\ntail_cond: .cfi_startproc\ntest %edi, %edi\njz tail_leaf\nret\n.cfi_endproc\n.size tail_cond,.-tail_cond\n"
	/* a function in two parts, which jump to each other's middle */
	".type split,@function\nsplit: .cfi_startproc\nnop\njmp 2f\n1: nop\nret\n.cfi_endproc\n.size split,.-split\n"
	".type split_cold,@function\nsplit_cold: .cfi_startproc\nnop\n2: nop\njmp 1b\n.cfi_endproc\n.size split_cold,.-split_cold\n"
	/* push and ret as a jump; a retpoline */
	".type push_ret,@function\npush_ret: .cfi_startproc\nlea tail_leaf(%rip), %rax\npush %rax\nret\n.cfi_endproc\n.size push_ret,.-push_ret\n"
	".type retpoline,@function\nretpoline: .cfi_startproc\ncall 2f\n1: pause\njmp 1b\n2: mov %rax, (%rsp)\nret\n.cfi_endproc\n.size retpoline,.-retpoline\n"
	".type by_retpoline,@function\nby_retpoline: .cfi_startproc\npush %rbx\nlea leaf(%rip), %rax\ncall retpoline\npop %rbx\nret\n.cfi_endproc\n.size by_retpoline,.-by_retpoline\n");
void tail_direct(void);
void tail_chain(void);
void tail_pointer(void);
void tail_cond(int);
void split(void);
void push_ret(void);
void by_retpoline(void);

static void tails(void)
{
	for (int i = 0; i < 7; i++) {
		tail_direct();
		tail_chain();
		tail_pointer();
		tail_cond(i & 1);
		split();
		push_ret();
		by_retpoline();
	}
}

/* ---- longjmp ---- */

static jmp_buf env;
FUNCTION jumps(int depth)
{
	char room[64];
	memset(room, depth, sizeof(room));
	sink += room[3];
	if (!depth)
		longjmp(env, 1);
	if (sink >= 0)
		jumps(depth - 1);
	sink += room[4];
}
FUNCTION catches(void)
{
	if (!setjmp(env))
		jumps(5);
	leaf();
}
FUNCTION allocates(long n)
{
	char *const p = alloca((size_t)n);
	p[0] = 1;
	sink += p[0];
	leaf();
	if (n > 16)
		allocates(n / 2);
	sink++;
}

static void longjmps(void)
{
	for (int i = 0; i < 9; i++)
		catches();
	leaf2();
	allocates(1024);
}

/* ---- signals ---- */

static sigjmp_buf sig_env;
FUNCTION handler(int sig) { leaf(); if (sig == SIGUSR1) raise(SIGUSR2); }
FUNCTION nested(int sig) { (void)sig; leaf2(); }
FUNCTION jumps_out(int sig) { (void)sig; siglongjmp(sig_env, 1); }
FUNCTION faults(void) { *(volatile int *)0 = 1; }
FUNCTION interrupted(void) { raise(SIGUSR1); leaf(); }

static void signals(void)
{
	static char stack[65536];
	const stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	sigaltstack(&alt, NULL);
	sigaction(SIGUSR1, &a, NULL);
	a.sa_handler = nested;
	a.sa_flags = 0;
	sigaction(SIGUSR2, &a, NULL);
	a.sa_handler = jumps_out;
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGSEGV, &a, NULL);
	for (int i = 0; i < 4; i++)
		interrupted();
	for (volatile int i = 0; i < 3; i++) {
		if (!sigsetjmp(sig_env, 1))
			faults();
		leaf2();
	}
}

/* ---- stacks ---- */

static ucontext_t back, there;
FUNCTION coroutine(void)
{
	for (;;) {
		leaf();
		swapcontext(&there, &back);
		leaf2();
	}
}
FUNCTION resumes(void) { swapcontext(&back, &there); sink++; }

/* A switch of stacks by hand: the registers that a call keeps are pushed, and the pointers exchanged. */
__asm__(".text\n.type switch_to,@function\nswitch_to: .cfi_startproc\npush %rbp\npush %rbx\nmov %rsp, (%rdi)\nmov %rsi, %rsp\n"
	"pop %rbx\npop %rbp\npop %rax\njmp *%rax\n.cfi_endproc\n.size switch_to,.-switch_to\n");
void switch_to(uint64_t **save, uint64_t *to);
static uint64_t *own_sp, *other_sp;
FUNCTION fiber(void)
{
	for (;;) {
		leaf();
		switch_to(&other_sp, own_sp);
		leaf2();
	}
}
FUNCTION enters(void) { switch_to(&own_sp, other_sp); sink++; }

static void stacks(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	static uint64_t fiber_stack[8192] __attribute__((aligned(16)));
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = NULL;
	makecontext(&there, coroutine, 0);
	for (int i = 0; i < 6; i++)
		resumes();
	other_sp = fiber_stack + 8192 - 8;
	other_sp[0] = other_sp[1] = 0;
	other_sp[2] = (uint64_t)fiber;
	for (int i = 0; i < 5; i++)
		enters();
}

/* ---- tasks ---- */

FUNCTION worker(void) { for (int i = 0; i < 10; i++) leaf(); }
static void *thread(void *arg) { worker(); return arg; }

static void tasks(void)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	leaf2();
	const pid_t child = fork();
	if (!child) {
		leaf2();
		leaf2();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	const pid_t other = vfork();
	if (!other)
		_exit(0);
	waitpid(other, NULL, 0);
	leaf2();
}

/* ---- code that is made and changed ---- */

static void jit(void)
{
	/* mov rax, leaf; jmp rax. Then: mov rax, leaf2; call rax; ret, on a stack that is aligned */
	static const uint8_t jump[] = { 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0 };
	static const uint8_t call[] = { 0x50, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x58, 0xc3 };
	uint8_t *const code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*const to)(void) = (void (*)(void))code;
	const uint64_t first = (uint64_t)leaf, second = (uint64_t)leaf2;
	for (int i = 0; i < 3; i++) {
		memcpy(code, jump, sizeof(jump));
		memcpy(code + 2, &first, 8);
		to();
		memcpy(code, call, sizeof(call));
		memcpy(code + 3, &second, 8);
		to();
	}
}

/* ---- flags over a return ---- */

/* Where `ret` goes is read from the shadow of the stack, and the code there (2) reads no flags. The return goes
 * elsewhere, though, to code that reads the carry. The first time 2 is reached without a return. */
__asm__(".text\n.type wrong_carries,@function\nwrong_carries: .cfi_startproc\n"
	"xor %eax, %eax\nmov $100, %ecx\njmp 2f\n"
	"1: call returns\n2: add $0, %edx\nlea 3f(%rip), %rdx\n"
	"push %rdx\nclc\nret\n"
	"3: adc $0, %eax\ndec %ecx\njnz 1b\nret\n.cfi_endproc\n.size wrong_carries,.-wrong_carries\n"
	".type returns,@function\nreturns: .cfi_startproc\nnop\nret\n.cfi_endproc\n.size returns,.-returns\n");
unsigned wrong_carries(void);

static void flags(void)
{
	if (wrong_carries() == 0)
		leaf();
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "recursion", recursion }, { "tails", tails }, { "longjmps", longjmps },
		{ "signals", signals }, { "stacks", stacks }, { "tasks", tasks }, { "jit", jit },
		{ "flags", flags },
	};
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name))
			cases[i].run();
	return 0;
}
