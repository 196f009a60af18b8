/* Names for what the CPU numbers: bits of rflags, traps, selectors. Usable from C and from
 * assembly, on every machine.
 *
 * Sources: Intel SDM volume 1, 3.4.3 (EFLAGS); volume 3, 6.15 (exceptions); the selectors are
 * those of Linux's GDT (arch/x86/include/asm/segment.h).
 */
#ifndef SOFT_X86_H
#define SOFT_X86_H

/* rflags */
#define FLAG_CF		0x1
#define FLAG_ONE	0x2		/* always set */
#define FLAG_PF		0x4
#define FLAG_AF		0x10
#define FLAG_ZF		0x40
#define FLAG_SF		0x80
#define FLAG_TF		0x100
#define FLAG_IF		0x200
#define FLAG_DF		0x400
#define FLAG_OF		0x800
#define FLAG_NT		0x4000
#define FLAG_RF		0x10000
#define FLAG_AC		0x40000
#define FLAG_ID		0x200000

#define FLAG_ARITH	(FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF)
#define FLAGS_PLAIN	(FLAG_ARITH | FLAG_TF | FLAG_DF)	/* in every mask below */
/* what popf changes in user mode */
#define FLAGS_OF_POPF	(FLAGS_PLAIN | FLAG_NT | FLAG_AC | FLAG_ID)
/* what iret does, where NT is clear (else it faults) */
#define FLAGS_OF_IRET	(FLAGS_PLAIN | FLAG_RF | FLAG_AC | FLAG_ID)
/* what Linux's rt_sigreturn takes from a frame; NT and ID stay (FIX_EFLAGS in the kernel) */
#define FLAGS_OF_SIGRETURN (FLAGS_PLAIN | FLAG_RF | FLAG_AC)
/* what is set whenever user code runs */
#define FLAGS_OF_USER	(FLAG_ONE | FLAG_IF)
/* what must not be set while C runs: the ABI wants DF clear, C makes unaligned accesses */
#define FLAGS_NOT_IN_C	(FLAG_TF | FLAG_DF | FLAG_AC)

/* exceptions, as trapno in a signal frame */
#define X86_TRAP_DB	1		/* single step */
#define X86_TRAP_NP	11		/* segment not present */
#define X86_TRAP_GP	13
#define X86_TRAP_PF	14
/* error code of a page fault */
#define X86_PF_PROT	0x1		/* the page is there, the access is not allowed */
#define X86_PF_WRITE	0x2
#define X86_PF_USER	0x4
#define X86_PF_INSTR	0x10

/* ecx of rdpmc: set for a fixed counter, the rest is its number */
#define RDPMC_FIXED	0x40000000
/* exception flags of the x87 status word */
#define X87_EXCEPTIONS	0x3f

/* selectors of user code */
#define USER_CS32	0x23
#define USER_DS		0x2b		/* and the stack's */
#define USER_CS		0x33
#define SELECTOR_RPL	0x3		/* the bits of a selector that are a privilege level */

/* segment override prefixes */
#define PREFIX_FS	0x64
#define PREFIX_GS	0x65

#endif
