/* The arithmetic flags in the frame of a signal are the program's, even where the code that
 * follows overwrites them without a look. The handler goes on elsewhere, where they are read;
 * or, where the signal comes by a timer, knows what they must be at each address.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#define ARITH 0x8d5u

uint64_t value_a, value_b;	/* compared to make the flags */
uint64_t got, saved_rsp, go_on;
uint64_t zero;
uint8_t room[65536] __attribute__((aligned(64)));

/* The flags are made by a comparison, in a block of its own; then comes what faults, and
 * what would overwrite them. 9 is where the handler goes on. */
#define WAY(name, body) void name(void); __asm__(".text\n" #name ":\n push %rbx\n push %rbp\n" \
	"mov %rsp, saved_rsp(%rip)\n lea 9f(%rip), %rax\n mov %rax, go_on(%rip)\n" \
	"xor %ebx, %ebx\n mov $3, %edx\n mov value_a(%rip), %rax\n mov value_b(%rip), %rcx\n" \
	"cmp %rcx, %rax\n jmp 1f\n 1: " body "\n9: mov saved_rsp(%rip), %rsp\n" \
	"pushfq\n pop got(%rip)\n pop %rbp\n pop %rbx\n ret\n")
WAY(way_load, "mov (%rbx), %ecx\n add $1, %ecx\n jmp 9f");
WAY(way_load_later, "mov %rbx, %rsi\n lea 1(%rsi), %rdi\n mov (%rbx), %ecx\n add $1, %ecx\n jmp 9f");
WAY(way_store, "mov %ecx, (%rbx)\n sub %eax, %eax\n jmp 9f");
WAY(way_add_load, "add (%rbx), %ecx\n jmp 9f");
WAY(way_cmp_load, "cmp (%rbx), %rcx\n jne 9f");
WAY(way_rmw, "addl $1, (%rbx)\n jmp 9f");
WAY(way_push, "lea (%rbx), %rsp\n push %rcx\n add $8, %rsp\n jmp 9f");
WAY(way_pop, "lea (%rbx), %rsp\n pop %rcx\n add $8, %rsp\n jmp 9f");
WAY(way_call, "lea (%rbx), %rsp\n call 2f\n 2: add $8, %rsp\n jmp 9f");
WAY(way_ret, "lea (%rbx), %rsp\n ret\n 2: add $8, %rsp\n jmp 9f");
WAY(way_next_block, "jrcxz 2f\n 2: lea 1(%rbx), %rsi\n jrcxz 3f\n 3: mov (%rbx), %esi\n add $1, %esi");
WAY(way_jumps, "jmp 2f\n 2: jmp 3f\n 3: jmp 4f\n 4: mov (%rbx), %esi\n xor %esi, %esi\n jmp 9f");
WAY(way_divide, "div %rbx\n add $1, %eax\n jmp 9f");
WAY(way_divide_memory, "divq zero(%rip)\n add $1, %eax\n jmp 9f");
WAY(way_int3, "int3\n add $1, %eax\n jmp 9f");
WAY(way_ud2, "ud2\n add $1, %eax\n jmp 9f");
WAY(way_hlt, "nop\n hlt\n add $1, %eax\n jmp 9f");
WAY(way_sse, "movaps room+1(%rip), %xmm0\n add $1, %eax\n jmp 9f");
WAY(way_gs, "mov %gs:0, %eax\n add $1, %eax\n jmp 9f");
WAY(way_string, "mov %rbx, %rdi\n stosb\n add $1, %eax\n jmp 9f");
WAY(way_jump, "lea room(%rip), %rsi\n jmp *%rsi\n 2: add $1, %eax");
WAY(way_jump_load, "jmp *(%rbx)\n 2: add $1, %eax");
WAY(way_syscall, "mov $39, %eax\n syscall\n mov %r11, got(%rip)\n push %r11\n popfq");

static struct { int n, sig; uint64_t flags; } last;

static void on_signal(int sig, siginfo_t *si, void *arg)
{
	ucontext_t *const uc = arg;
	last.n++;
	last.sig = sig;
	last.flags = (uint64_t)uc->uc_mcontext.gregs[REG_EFL] & ARITH;
	if (si->si_code > 0)
		uc->uc_mcontext.gregs[REG_RIP] = (greg_t)go_on;
}

static const struct { const char *name; void (*way)(void); } ways[] = {
	{ "load", way_load }, { "load later", way_load_later }, { "store", way_store },
	{ "add", way_add_load }, { "cmp", way_cmp_load }, { "rmw", way_rmw }, { "push", way_push },
	{ "pop", way_pop }, { "call", way_call }, { "ret", way_ret },
	{ "next block", way_next_block }, { "jumps", way_jumps }, { "div", way_divide },
	{ "div of memory", way_divide_memory }, { "int3", way_int3 }, { "ud2", way_ud2 },
	{ "hlt", way_hlt }, { "sse", way_sse }, { "gs", way_gs }, { "string", way_string },
	{ "jump to data", way_jump }, { "jump through nothing", way_jump_load },
	{ "system call", way_syscall },
};

static void every_way(void)
{
	static const uint64_t pairs[][2] = { { 5, 5 }, { 5, 6 }, { 1ull << 63, 1 }, { 16, 1 }, { 9, 2 },
					     { (1ull << 63) - 1, -1ull } };
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		for (unsigned k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
			value_a = pairs[k][0], value_b = pairs[k][1];
			for (int again = 0; again < 2; again++) {
				memset(&last, 0, sizeof(last));
				ways[i].way();
				printf("%-20s %d signals, %d, flags %lx, then %lx\n", ways[i].name, last.n,
				       last.sig, (unsigned long)last.flags, (unsigned long)(got & ARITH));
			}
		}
}

/* From equal_begin to equal_end ZF and PF are set and nothing else, block after block. */
extern char equal_begin[], equal_end[];
volatile uint64_t stop;
void equal_loop(void);
__asm__(".text\nequal_loop: mov stop(%rip), %rax\n test %rax, %rax\n jnz 9f\n cmp %eax, %eax\n"
	"equal_begin: nop\n mov $3, %ecx\n jmp 1f\n 1: lea 5(%rcx), %edx\n mov %edx, room(%rip)\n"
	"jrcxz 2f\n 2: call 8f\n mov room(%rip), %edx\n lea 5(%rcx), %edx\n push %rdx\n pop %rdx\n"
	"mov $2, %ecx\n 3: mov %edx, room+64(%rip)\n loop 3b\n nop\n nop\n equal_end: add $1, %edx\n"
	"jmp equal_loop\n 8: mov %edx, room+128(%rip)\n mov $7, %edx\n ret\n 9: ret\n");

static volatile unsigned long wrong, within, all;
static unsigned long wrong_at;

static void on_timer(int sig, siginfo_t *si, void *arg)
{
	(void)sig, (void)si;
	const ucontext_t *const uc = arg;
	const uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	all++;
	if (pc >= (uint64_t)equal_begin && pc <= (uint64_t)equal_end) {
		within++;
		if (((uint64_t)uc->uc_mcontext.gregs[REG_EFL] & ARITH) != 0x44) {
			wrong++;
			wrong_at = pc - (uint64_t)equal_begin;
		}
	}
	if (within >= 300 || all > 20000)
		stop = 1;
}

static void timers(void)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_sigaction = on_timer, .sa_flags = SA_SIGINFO };
	sigaction(SIGALRM, &sa, NULL);
	stop = within = all = 0;
	setitimer(ITIMER_REAL, &often, NULL);
	equal_loop();
	setitimer(ITIMER_REAL, &never, NULL);
	printf("timers: %d there, %lu with wrong flags, last at %lx\n", within >= 300, wrong, wrong_at);
}

int main(void)
{
	static const int signals[] = { SIGSEGV, SIGTRAP, SIGILL, SIGFPE, SIGBUS };
	static uint8_t stack[65536];
	const stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	sigaltstack(&ss, NULL);
	timers();			/* before there is a handler of faults, and after it */
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };
		sigaction(signals[i], &sa, NULL);
	}
	every_way();
	timers();
	return 0;
}
