/* Flags and control registers that only the program sets: AC, DF, NT, ID, the rounding modes,
 * selectors. Each is what it is natively before, in and after every kind of signal, and the
 * engine's own code does not run with it.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define AC 0x40000u
#define DF 0x400u
#define NT 0x4000u
#define ID 0x200000u
#define ARITH 0x8d5u

uint64_t set, got, rsp;			/* the flags of the way, and those it ended with */
uint64_t entry_flags, go_on, nowhere, shared_code;
uint32_t entry_mxcsr;
uint16_t entry_cw;
uint8_t data[64] __attribute__((aligned(64))), stack[32768] __attribute__((aligned(64)));
volatile int arrived, awaited;
long result;

/* Each way gets its flags, does something, and tells its flags; it ends without any. */
#define WAY(name, body) void name(void); __asm__(".text\n" #name ":\n" \
	"push %rbx\n push %rbp\n push %r12\n push %r13\n mov %rsp, rsp(%rip)\n" \
	"fldcw round_x87(%rip)\n ldmxcsr round_sse(%rip)\n" \
	"push set(%rip)\n popfq\n" body "\n2: mov rsp(%rip), %rsp\n pushfq\n" \
	"pop got(%rip)\n push $2\n popfq\n" \
	"fninit\n ldmxcsr plain_sse(%rip)\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n")
#define RESUME "lea 2f(%rip), %rax\n mov %rax, go_on(%rip)\n"
#define TGKILL(sig) "mov $39, %eax\n syscall\n mov %eax, %edi\n mov $186, %eax\n syscall\n" \
	"mov %eax, %esi\n mov $" #sig ", %edx\n mov $234, %eax\n syscall\n"
#define MASK(how, bits) "push $" #bits "\n mov $" #how ", %edi\n mov %rsp, %rsi\n" \
	"mov $0, %edx\n mov $8, %r10d\n mov $14, %eax\n syscall\n pop %rax\n"
__asm__(".data\nround_x87: .short 0x0f7f\n.balign 4\nround_sse: .long 0x7f80\n"
	"plain_sse: .long 0x1f80\n.text\n");
WAY(way_none, "nop");
WAY(way_kill, TGKILL(10));
WAY(way_held, MASK(0, 0x400) TGKILL(11) MASK(1, 0x400));
WAY(way_int3, "int3");
WAY(way_ud2, RESUME "ud2");
WAY(way_load, RESUME "mov 0, %eax");
WAY(way_store, RESUME "mov %eax, 0");
WAY(way_unaligned, RESUME "mov data+1(%rip), %eax");
WAY(way_unaligned_stack, RESUME "lea -3(%rsp), %rsp\n push %rax");
WAY(way_unaligned_call, RESUME "lea -4(%rsp), %rsp\n call 1f\n jmp 2f\n 1: ret");
WAY(way_unaligned_return, RESUME "lea 2f(%rip), %rcx\n mov %rcx, stack+32016(%rip)\n"
			  "mov %ecx, stack+32004(%rip)\n mov stack+32020(%rip), %edx\n"
			  "mov %edx, stack+32008(%rip)\n lea stack+32004(%rip), %rsp\n ret");
WAY(way_divide, RESUME "mov $0, %edx\n mov $0, %ecx\n mov $1, %eax\n div %ecx");
WAY(way_jump, RESUME "jmp *nowhere(%rip)");
WAY(way_hlt, RESUME "hlt");
WAY(way_calls, "lea 1f(%rip), %rax\n mov $5, %ecx\n 3: call *%rax\n loop 3b\n jmp 2f\n 1: ret");
WAY(way_shared, "call *shared_code(%rip)\n mov %rax, result(%rip)");
WAY(way_cpuid, "mov $0, %eax\n mov $0, %ecx\n cpuid");
/* the kernel, or who stands for it, reads and writes where nothing is aligned */
WAY(way_syscall, "mov $63, %eax\n lea names+1(%rip), %rdi\n syscall\n mov %rax, result(%rip)");
WAY(way_writev, "mov $20, %eax\n mov $1, %edi\n lea odd+1(%rip), %rsi\n mov $2, %edx\n syscall\n"
		"mov %rax, result(%rip)");
WAY(way_sigaction, "mov $13, %eax\n mov $12, %edi\n lea odd+1(%rip), %rsi\n mov $0, %edx\n"
		   "mov $8, %r10d\n syscall\n mov %rax, result(%rip)");
WAY(way_timer, "mov $100000000, %ecx\n 1: mov arrived(%rip), %eax\n lea -1(%rcx), %ecx\n"
	       "jrcxz 2f\n cmp awaited(%rip), %eax\n jl 1b\n");
uint8_t names[512], odd[256];

/* What a handler starts with; it keeps NT and ID, which rt_sigreturn does not set. */
void handler(int sig, siginfo_t *si, void *arg);
__asm__(".text\nhandler: pushfq\n pop entry_flags(%rip)\n stmxcsr entry_mxcsr(%rip)\n"
	"fnstcw entry_cw(%rip)\n pushfq\n andl $~0x40000, (%rsp)\n popfq\n jmp on_signal\n");

static struct {
	int sig, code;
	uint64_t flags, trapno, err, selectors, entry;
	uint32_t mxcsr;
	uint16_t cw;
} last;

__attribute__((used)) void on_signal(int sig, siginfo_t *si, void *arg);
void on_signal(int sig, siginfo_t *si, void *arg)
{
	ucontext_t *const uc = arg;
	/* The timer may fire once more after the way has ended, when its flags are gone. */
	if (sig == SIGALRM && arrived >= awaited)
		return;
	last.sig = sig;
	last.code = si->si_code;
	last.flags = (uint64_t)uc->uc_mcontext.gregs[REG_EFL];
	last.trapno = (uint64_t)uc->uc_mcontext.gregs[REG_TRAPNO];
	last.err = (uint64_t)uc->uc_mcontext.gregs[REG_ERR];
	last.selectors = (uint64_t)uc->uc_mcontext.gregs[REG_CSGSFS];
	last.entry = entry_flags;
	last.mxcsr = entry_mxcsr;
	last.cw = entry_cw;
	arrived++;
	if (si->si_code > 0 && go_on)
		uc->uc_mcontext.gregs[REG_RIP] = (greg_t)go_on;
	go_on = 0;
}

static const struct { const char *name; void (*way)(void); } ways[] = {
	{ "nothing", way_none }, { "kill", way_kill }, { "held", way_held }, { "int3", way_int3 },
	{ "ud2", way_ud2 }, { "load", way_load }, { "store", way_store },
	{ "unaligned load", way_unaligned }, { "unaligned push", way_unaligned_stack },
	{ "unaligned call", way_unaligned_call }, { "unaligned return", way_unaligned_return },
	{ "division", way_divide }, { "jump to data", way_jump }, { "hlt", way_hlt },
	{ "calls", way_calls }, { "shared code", way_shared }, { "cpuid", way_cpuid }, { "system call", way_syscall },
	{ "writev", way_writev }, { "sigaction", way_sigaction },
};

static void run(uint64_t flags)
{
	printf("flags %lx\n", (unsigned long)flags);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		memset(&last, 0, sizeof(last));
		arrived = 0;
		result = 0;
		set = flags | 0x202;
		ways[i].way();
		printf("%-18s ends with %lx; %ld;", ways[i].name, (unsigned long)got, result);
		if (arrived)
			printf(" %d signals, last %d code %d trap %ld err %lx flags %lx selectors %lx, "
			       "handler %lx %x %x", arrived, last.sig, last.code, (long)last.trapno,
			       (unsigned long)last.err, (unsigned long)last.flags,
			       (unsigned long)last.selectors, (unsigned long)last.entry,
			       last.mxcsr, last.cw);
		puts("");
	}
}

static void timers(uint64_t flags)
{
	const struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	arrived = 0;
	awaited = 40;
	set = flags | 0x202;
	setitimer(ITIMER_REAL, &often, NULL);
	way_timer();
	setitimer(ITIMER_REAL, &never, NULL);
	const uint64_t sticky = AC | DF | NT | ID;
	printf("timers: %d, %lx, in the frame %lx, in the handler %lx\n", arrived >= 40,
	       (unsigned long)(got & sticky), (unsigned long)(last.flags & sticky),
	       (unsigned long)(last.entry & sticky));
}

/* Code in memory that others may change is compared before it runs, where it is not aligned. */
static void make_shared_code(void)
{
	static const uint8_t code[] = { 0xb8, 0x2a, 0, 0, 0, 0x90, 0x48, 0x8d, 0x40, 1, 0x90, 0xc3 };
	const int fd = memfd_create("code", 0);
	if (fd < 0 || ftruncate(fd, 4096) || pwrite(fd, code, sizeof(code), 3) != sizeof(code))
		perror("shared code");
	shared_code = 3 + (uint64_t)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);
}

int main(void)
{
	make_shared_code();
	static const int signals[] = { SIGUSR1, SIGSEGV, SIGTRAP, SIGILL, SIGFPE, SIGBUS, SIGALRM };
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
	setvbuf(stdout, NULL, _IONBF, 0);
	nowhere = (uint64_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const uint64_t flags[] = { 0, AC, NT, ID, AC | NT | ID, ARITH, AC | ARITH, 0x41, 0x894 };
	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		run(flags[i]);
	run(DF);
	run(DF | AC);
	for (unsigned i = 0; i < 5; i++)
		timers(flags[i]);
	timers(AC | DF | NT | ID);
	return 0;
}
