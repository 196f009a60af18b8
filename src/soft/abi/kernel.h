/* What the kernel lays out and numbers, without libc's headers. */
#ifndef SOFT_KERNEL_H
#define SOFT_KERNEL_H

#include <stdint.h>

struct k_sigaction {
	uint64_t handler, flags, restorer, mask;
};
struct k_stack {
	uint64_t sp;
	int32_t flags;
	uint32_t pad;
	uint64_t size;
};
struct k_sigcontext {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp,
		rip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
};
struct k_ucontext {
	uint64_t flags, link;
	struct k_stack stack;
	struct k_sigcontext mc;
	uint64_t sigmask;
};
struct k_siginfo {
	int32_t signo, err, code, pad;
	union {
		uint64_t addr;
		uint8_t rest[112];
	};
};

#define SIG_BIT(n) (1ull << ((n) - 1))
enum { SIGILL_ = 4, SIGTRAP_ = 5, SIGABRT_ = 6, SIGBUS_ = 7, SIGFPE_ = 8, SIGKILL_ = 9,
       SIGSEGV_ = 11, SIGCHLD_ = 17, SIGCONT_ = 18, SIGSTOP_ = 19, SIGTSTP_ = 20,
       SIGTTIN_ = 21, SIGTTOU_ = 22, SIGURG_ = 23, SIGWINCH_ = 28, SIGSYS_ = 31 };
#define SA_SIGINFO_ 4ull
#define ARCH_GET_CPUID_ 0x1011
#define ARCH_SET_CPUID_ 0x1012
#define SYNC_SIGNALS (SIG_BIT(SIGILL_) | SIG_BIT(SIGTRAP_) | SIG_BIT(SIGBUS_) | \
		      SIG_BIT(SIGFPE_) | SIG_BIT(SIGSEGV_) | SIG_BIT(SIGSYS_))
#define FLAG_TF		0x100u
/* what rt_sigreturn takes from a frame: CF PF AF ZF SF TF DF OF RF AC; NT and ID stay */
#define SIGRETURN_FLAGS	0x50dd5ull

#endif
