/* Names for what the kernel numbers and lays out: the one header for them, in C and in
 * assembly. Files of the engine include this (most by engine.h) and no header of the kernel's
 * directly, but for those of one subject (perf_event, seccomp, ELF).
 *
 * Most names are the kernel's own, from its headers. Below is what those lack, or lacked in
 * Debian 12 (Linux 6.1), and layouts that libc calls by the same names.
 */
#ifndef SOFT_LINUX_NAMES_H
#define SOFT_LINUX_NAMES_H

#include "x86.h"

#ifdef __ASSEMBLER__
#define __ASSEMBLY__			/* what the kernel's headers ask for */
#endif

#include <asm/errno.h>
#include <asm/prctl.h>			/* ARCH_… */
#include <asm/unistd.h>
#ifdef __ASSEMBLER__
#include <asm/mman.h>			/* linux/mman.h declares structures, since Linux 6.5 */
#define MAP_SHARED		0x01	/* these are in linux/mman.h */
#define MAP_PRIVATE		0x02
#else
#include <linux/mman.h>			/* PROT_…, MAP_…, MADV_…, MREMAP_… */
#endif

/* ---- arch_prctl, prctl ---- */

#ifndef ARCH_GET_CPUID
#define ARCH_GET_CPUID		0x1011
#define ARCH_SET_CPUID		0x1012
#endif
#ifndef ARCH_REQ_XCOMP_PERM
#define ARCH_REQ_XCOMP_PERM	0x1023	/* since Linux 5.16 */
#endif
#ifndef ARCH_SHSTK_ENABLE
#define ARCH_SHSTK_ENABLE	0x5001	/* since Linux 6.6 */
#endif

#define PROT_ALL		(PROT_READ | PROT_WRITE | PROT_EXEC)

#ifndef __ASSEMBLER__

#include <asm/ioctls.h>			/* FIOCLEX … */
#include <asm/ptrace-abi.h>
#include <asm/socket.h>
#include <linux/close_range.h>
#include <linux/fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/resource.h>
#include <linux/sched.h>		/* CLONE_… */
#include <linux/signal.h>		/* SIG…, SA_…, SS_…, siginfo codes */
#include <linux/stat.h>
#include <linux/time.h>
#include <linux/uio.h>
#include <asm/sigcontext.h>
#include <asm/ucontext.h>		/* needs the two before it */
#include <stdint.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE		65	/* since Linux 6.3 */
#define PR_GET_MDWE		66
#define PR_MDWE_REFUSE_EXEC_GAIN 1u
#endif
#ifndef PR_MDWE_NO_INHERIT
#define PR_MDWE_NO_INHERIT	2u	/* since Linux 6.6 */
#endif

/* clock_gettime: the CPU time of a thread (CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED in the kernel) */
#define CLOCK_OF_THREAD(tid)	((~(long)(tid) << 3) | 4 | 2)

/* ---- files ---- */

/* ioctl of /proc/PID/maps (linux/fs.h) */
#define PROCMAP_QUERY		0xc0686611u	/* since Linux 6.11 */
#define PROCMAP_READABLE	1u		/* alone: neither writable nor executable nor shared */

#ifndef __NR_openat2
#define __NR_openat2		437
#endif
#ifndef __NR_faccessat2
#define __NR_faccessat2		439
#endif
#ifndef SEEK_SET
#define SEEK_SET		0
#define SEEK_CUR		1
#endif
#define F_OK_			0	/* access: is it there? */
#define X_OK_			1	/* … may it be executed? */
#define STDERR_FD		2
#define SCM_RIGHTS_		1	/* libc's only */
#define MSG_PEEK_		2

/* what fstat fills in */
struct k_stat {
	uint64_t dev, ino, nlink;
	uint32_t mode, uid, gid, pad;
	uint64_t rdev, size, blksize, blocks, times[6], unused[3];
};

/* ---- memory ---- */

#define USER_END		(1ull << 47)	/* with four levels of page tables; programs get no
						 * higher addresses unless they ask for them */
#define VSYSCALL_PAGE		0xffffffffff600000ull
#define MAX_ERRNO		4095		/* results from -MAX_ERRNO to -1 are errors */
/* linux/shm.h defines these, and much that is in the way. */
#ifndef SHM_EXEC
#define SHM_RDONLY		010000
#define SHM_REMAP		040000
#define SHM_EXEC		0100000
#endif
#ifndef IPC_STAT
#define IPC_STAT		2
#endif
#define MAP_KIND		0x3		/* MAP_SHARED, MAP_PRIVATE, …_VALIDATE */

/* ---- signals ---- */

#define N_SIGNALS		64
#define SIGSET_SIZE		8		/* bytes */
#define SIG_BIT(n)		(1ull << ((n) - 1))
#define SIGNAL_DEFAULT		0ull		/* k_sigaction.handler: SIG_DFL, SIG_IGN */
#define SIGNAL_IGNORED		1ull
#define RED_ZONE		128		/* below rsp, not to be touched: the psABI */
/* What the CPU raises, and a seccomp filter. */
#define SYNC_SIGNALS (SIG_BIT(SIGILL) | SIG_BIT(SIGTRAP) | SIG_BIT(SIGBUS) | \
		      SIG_BIT(SIGFPE) | SIG_BIT(SIGSEGV) | SIG_BIT(SIGSYS))
#define UC_SS			(UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS)

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

#endif
#endif
