/* Instructions that only raise a signal in an ordinary program: far transfers to segments that
 * are not there, shadow stack and other system instructions, selectors for gs. The signal,
 * its details and the count are the CPU's.
 */
#include <asm/ldt.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

uint64_t saved_rsp, go_on, at, flags;
uint64_t result, result2;
uint8_t pointer[32] __attribute__((aligned(16)));
uint64_t nowhere = 0x10;		/* no memory there */

/* 1 is the instruction, 9 where the handler goes on. */
#define WAY(name, before, body) void name(void); __asm__(".text\n" #name ":\n push %rbx\n" \
	"push %rbp\n mov %rsp, saved_rsp(%rip)\n lea 9f(%rip), %rax\n mov %rax, go_on(%rip)\n" \
	"lea 1f(%rip), %rax\n mov %rax, at(%rip)\n mov nowhere(%rip), %rbx\n mov $3, %ecx\n" \
	"xor %eax, %eax\n lea pointer(%rip), %rdx\n " before "\n1: " body "\n9:\n" \
	"pushfq\n pop flags(%rip)\n push $2\n popfq\n mov saved_rsp(%rip), %rsp\n pop %rbp\n pop %rbx\n" \
	"ret\n")
#define FAR(cs) "push $" #cs "\n lea 9f(%rip), %rax\n push %rax\n"
#define IRET(cs, ss) "mov %rsp, %rax\n push $" #ss "\n push %rax\n push $0x202\n" FAR(cs)
WAY(lret_bad, FAR(0x1234), "lretq");
WAY(lret_null, FAR(0), "lretq");
WAY(lret_data, FAR(0x2b), "lretq");
WAY(lret_kernel, FAR(0x10), "lretq");
WAY(lret_ldt, FAR(0x3f), "lretq");
WAY(lret_stack, "mov %rbx, %rsp", "lretq");
WAY(lret_far, "push $0x33\n mov $0x800000000000, %rax\n push %rax", "lretq");
WAY(lret_good, FAR(0x33), "lretq");
WAY(iret_bad, IRET(0x1234, 0x2b), "iretq");
WAY(iret_ss, IRET(0x33, 0x1234), "iretq");
WAY(iret_ss_null, IRET(0x33, 0), "iretq");
WAY(iret_stack, "mov %rbx, %rsp", "iretq");
WAY(iret_nested, IRET(0x33, 0x2b) "pushfq\n orl $0x4000, (%rsp)\n popfq", "iretq");
WAY(iret_good, IRET(0x33, 0x2b), "iretq");
#define POINTER(cs) "lea 9f(%rip), %rax\n mov %eax, (%rdx)\n movw $" #cs ", 4(%rdx)"
WAY(ljmp_bad, POINTER(0x1234), "ljmpl *(%rdx)");
WAY(ljmp_null, POINTER(0), "ljmpl *(%rdx)");
WAY(ljmp_memory, "", "ljmpl *(%rbx)");
WAY(lcall_bad, POINTER(0x43), "lcall *(%rdx)");
WAY(lcall_memory, "", "lcall *(%rbx)");
#define BY_FS "mov %fs:0, %rdx\n neg %rdx\n add %rbx, %rdx"	/* nowhere, through fs */
WAY(ljmp_fs, BY_FS, "ljmpl *%fs:(%rdx)");
WAY(incssp, "", ".byte 0xf3, 0x48, 0x0f, 0xae, 0xe8");
WAY(incsspd, "", ".byte 0xf3, 0x0f, 0xae, 0xe9");
WAY(rdssp, "mov $7, %eax", ".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8\n mov %rax, result(%rip)");
WAY(wrss, "", ".byte 0x48, 0x0f, 0x38, 0xf6, 0x02");
WAY(wruss, "", ".byte 0x66, 0x48, 0x0f, 0x38, 0xf5, 0x02");
WAY(rstorssp, "", ".byte 0xf3, 0x0f, 0x01, 0x2a");
WAY(saveprevssp, "", ".byte 0xf3, 0x0f, 0x01, 0xea");
WAY(setssbsy, "", ".byte 0xf3, 0x0f, 0x01, 0xe8");
WAY(clrssbsy, "", ".byte 0xf3, 0x0f, 0xae, 0x32");
WAY(uiret, "", ".byte 0xf3, 0x0f, 0x01, 0xec");
WAY(enclu, "mov $0x7fff, %eax", ".byte 0x0f, 0x01, 0xd7");
WAY(gs_bad, "mov $0x1234, %eax", "mov %eax, %gs");
WAY(gs_kernel, "mov $0x10, %eax", "mov %eax, %gs");
WAY(gs_memory, "", "mov (%rbx), %gs");
WAY(gs_null, "mov $0, %eax", "mov %eax, %gs\n mov %gs, %rax\n mov %rax, result(%rip)");
WAY(gs_data, "mov $0x2b, %eax", "mov %eax, %gs\n mov %gs, %rax\n mov %rax, result(%rip)");
WAY(gs_fs, BY_FS, "mov %fs:(%rdx), %gs");
WAY(pop_gs, "push $0x4321", "pop %gs");
WAY(pop_gs_stack, "mov %rbx, %rsp", "pop %gs");
WAY(push_gs_stack, "mov %rbx, %rsp", "push %gs");
WAY(popf_stack, "mov %rbx, %rsp", "popfq");
WAY(popf_kernel, "mov $0x800000000000, %rsp", "popfq");
WAY(lgs_good, "movl $0x11223344, (%rdx)\n movw $0x2b, 4(%rdx)",
    "lgs (%rdx), %ecx\n mov %rcx, result(%rip)\n mov %gs, %rax\n mov %rax, result2(%rip)");
WAY(lgs_bad, "movw $0x1234, 4(%rdx)", "lgs (%rdx), %ecx");
WAY(lgs_memory, "", "lgs (%rbx), %ecx");
WAY(gs_ldt, "mov $0x1f, %eax", "mov %eax, %gs\n mov %gs:8, %rax\n mov %rax, result(%rip)\n"
				"mov %gs, %rax\n mov %rax, result2(%rip)");
WAY(gs_ldt_away, "mov $0x27, %eax", "mov %eax, %gs");
WAY(gs_ldt_none, "mov $0x2f, %eax", "mov %eax, %gs");

static struct { int n, sig, code; int64_t addr, rip; uint64_t trapno, err; } last;

static void on_signal(int sig, siginfo_t *si, void *arg)
{
	ucontext_t *const uc = arg;
	last.n++;
	last.sig = sig;
	last.code = si->si_code;
	last.addr = (int64_t)si->si_addr;
	if (last.addr - (int64_t)at + 64 >= 0 && last.addr - (int64_t)at < 64)
		last.addr -= (int64_t)at;
	last.rip = (int64_t)uc->uc_mcontext.gregs[REG_RIP];
	if (last.rip - (int64_t)at + 64 >= 0 && last.rip - (int64_t)at < 64)
		last.rip -= (int64_t)at;
	last.trapno = (uint64_t)uc->uc_mcontext.gregs[REG_TRAPNO];
	last.err = (uint64_t)uc->uc_mcontext.gregs[REG_ERR];
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)go_on;
	uc->uc_mcontext.gregs[REG_RSP] = (greg_t)saved_rsp;
}

#define ROW(name) { #name, name }
static const struct { const char *name; void (*way)(void); } ways[] = {
	ROW(lret_bad), ROW(lret_null), ROW(lret_data), ROW(lret_kernel), ROW(lret_ldt), ROW(lret_stack),
	ROW(lret_far), ROW(lret_good), ROW(iret_bad), ROW(iret_ss), ROW(iret_ss_null), ROW(iret_stack),
	ROW(iret_nested), ROW(iret_good), ROW(ljmp_bad), ROW(ljmp_null), ROW(ljmp_memory),
	ROW(lcall_bad), ROW(lcall_memory), ROW(ljmp_fs), ROW(incssp), ROW(incsspd), ROW(rdssp),
	ROW(wrss), ROW(wruss), ROW(rstorssp), ROW(saveprevssp), ROW(setssbsy), ROW(clrssbsy),
	ROW(uiret), ROW(enclu), ROW(gs_bad), ROW(gs_kernel), ROW(gs_memory), ROW(gs_null), ROW(gs_data),
	ROW(gs_fs), ROW(pop_gs), ROW(pop_gs_stack), ROW(push_gs_stack), ROW(popf_stack),
	ROW(popf_kernel), ROW(lgs_good), ROW(lgs_bad), ROW(lgs_memory),
};
static const struct { const char *name; void (*way)(void); } ldt_ways[] = {
	ROW(gs_ldt), ROW(gs_ldt_away), ROW(gs_ldt_none), ROW(gs_null),
};

static void run(const char *name, void (*way)(void))
{
	memset(&last, 0, sizeof(last));
	result = result2 = 0;
	way();
	printf("%-14s %d signals, %d code %d addr %lx rip %lx trap %lu err %lx; %lx %lx\n", name, last.n,
	       last.sig, last.code, (unsigned long)last.addr, (unsigned long)last.rip,
	       (unsigned long)last.trapno, (unsigned long)last.err, (unsigned long)result,
	       (unsigned long)result2);
}

static void local_descriptors(void)
{
	uint64_t *const data = mmap((void *)0x21000000, 4096, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	struct user_desc d = { .entry_number = 3, .base_addr = 0x21000000, .limit = 0xfffff,
			       .seg_32bit = 1, .limit_in_pages = 1, .useable = 1 };
	if (data == MAP_FAILED || syscall(SYS_modify_ldt, 1, &d, sizeof(d))) {
		puts("skipped: local descriptors: modify_ldt is refused");
		return;
	}
	data[1] = 0x77;
	d.entry_number = 4;
	d.seg_not_present = 1;
	syscall(SYS_modify_ldt, 1, &d, sizeof(d));
	for (unsigned i = 0; i < sizeof(ldt_ways) / sizeof(ldt_ways[0]); i++)
		run(ldt_ways[i].name, ldt_ways[i].way);
}

int main(void)
{
	static const int signals[] = { SIGSEGV, SIGTRAP, SIGILL, SIGFPE, SIGBUS };
	static uint8_t stack[65536];
	const stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	sigaltstack(&ss, NULL);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };
		sigaction(signals[i], &sa, NULL);
	}
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		run(ways[i].name, ways[i].way);
	local_descriptors();
	return 0;
}
