/* The decoder: what the engine must know of one x86-64 instruction, and no more.
 *
 * Table driven, no allocation, no libc, general registers only; it runs inside
 * the measured process. It must be fast (well under 40 ns an instruction) and
 * must never guess: bytes it does not know are INSN_BAD, and the engine raises
 * what the CPU would when they are executed.
 *
 *	struct insn in;
 *	int len = decode_insn(&in, bytes, avail);
 *	len > 0   decoded; in is valid
 *	len == 0  more bytes are needed than `avail` (end of the readable page)
 *	len < 0   not an instruction known here (raises #UD, or is unknown);
 *		  also when longer than 15 bytes
 */
#ifndef SOFT_DECODE_H
#define SOFT_DECODE_H

#include "x86.h"

#include <stdbool.h>
#include <stdint.h>

/* Where control goes. */
enum insn_flow {
	FLOW_NEXT,	/* the next instruction */
	FLOW_JCC,	/* conditional, rel8/rel32: target = pc + len + rel */
	FLOW_LOOP,	/* loop, loope, loopne, jrcxz, jecxz: rel8, no flags written */
	FLOW_JMP,	/* direct */
	FLOW_CALL,	/* direct */
	FLOW_JMP_IND,	/* register or memory operand */
	FLOW_CALL_IND,
	FLOW_RET,	/* near; imm = bytes popped besides the address (0 if none) */
	FLOW_SYSCALL,	/* syscall */
	FLOW_INT,	/* int n, int3, int1/icebp; imm = vector */
	FLOW_SYSENTER,
	FLOW_FAR,	/* far jmp/call/ret, iret */
	FLOW_XBEGIN,	/* rel: where an abort continues */
	FLOW_FAULT,	/* always faults in user mode: hlt, in, out, cli, sti, ud0/1/2,
			 * privileged moves … the engine runs it natively for its signal */
};

/* Instructions the engine must handle one by one. */
enum insn_special {
	SPECIAL_NONE,
	SPECIAL_CPUID,
	SPECIAL_RDPMC,
	SPECIAL_RDTSC,		/* rdtsc, rdtscp */
	SPECIAL_GSBASE_READ,	/* rdgsbase */
	SPECIAL_GSBASE_WRITE,	/* wrgsbase */
	SPECIAL_GS_LOAD,	/* mov gs,r/m; pop gs; lgs */
	SPECIAL_POPF,		/* may set TF */
	SPECIAL_XTEST,
	SPECIAL_XEND,
	SPECIAL_XABORT,
	SPECIAL_FP_ENV,		/* stores the address of the last x87 instruction:
				 * fnstenv fnsave fxsave xsave xsavec xsaveopt xsaves */
	SPECIAL_SHSTK,		/* rdssp incssp setssbsy wrss … */
	SPECIAL_WRPKRU,
	SPECIAL_MACHINE,	/* shows the CPU, or its state: xgetbv, rdpid, lsl, xrstor */
	SPECIAL_RANDOM,		/* rdrand, rdseed */
	SPECIAL_REQUEST,	/* xchg rbx, rbx: does nothing, and ends valgrind's client requests */
};

/* Flags are bits of rflags (x86.h), the arithmetic ones. flags_written holds what every CPU replaces: what
 * the manuals of Intel and AMD both define. A flag that one of them calls undefined may keep
 * its old value on some CPU, and a program could see it (mul, div, bt, bsf on AMD; OF after
 * a rotate by an immediate on Intel); it is only in flags_touched. So is a flag that is
 * written only sometimes (shift by cl, rep string with rcx = 0). The exception is AF after
 * and, or, xor and test: undefined, but cleared on every CPU known. */

/* What an instruction is, for the events; the man page tare-engine(7) defines each. The
 * first ones are numbered like enum soft_event (abi.h). */
#define CLASS_BRANCH	(1u << 1)	/* every change of control flow, far and syscall included */
#define CLASS_COND	(1u << 2)	/* jcc, loop*, j?cxz */
#define CLASS_LOAD	(1u << 3)	/* reads memory (once per instruction): also pop, ret, leave,
					 * prefetch, cmov from memory whatever the condition, gather,
					 * string loads; cmps once; not lea, nop r/m, endbr */
#define CLASS_STORE	(1u << 4)	/* writes memory: also push, call, read-modify-write … */
#define CLASS_CALL	(1u << 5)	/* near call */
#define CLASS_RET	(1u << 6)	/* near return */
#define CLASS_INDIRECT	(1u << 7)	/* near jmp/call through register or memory; not ret */
#define CLASS_SYSCALL	(1u << 8)	/* syscall, sysenter, int 0x80 */
#define CLASS_MUL	(1u << 9)	/* integer multiply: mul imul mulx */
#define CLASS_DIV	(1u << 10)	/* integer divide: div idiv */
#define CLASS_X87	(1u << 11)	/* D8-DF and fwait */
#define CLASS_FP	(1u << 12)	/* SSE/AVX/AVX-512 floating-point arithmetic, compare, convert */
#define CLASS_SIMD_INT	(1u << 13)	/* MMX/SSE/AVX integer arithmetic, logic, shuffle, compare */
#define CLASS_LOCKED	(1u << 14)	/* lock prefix that takes effect, and xchg with memory */
#define CLASS_FAR	(1u << 15)	/* far transfers: syscall, sysenter, int n, iret, far jmp/call/ret */
#define CLASS_REP	(1u << 16)	/* rep-prefixed string instruction */
#define CLASS_FENCE	(1u << 17)	/* lfence mfence sfence serialize cpuid */
#define CLASS_MUL_FP	(1u << 18)	/* SSE/AVX/x87 multiply (for models that count them) */
#define CLASS_DIV_FP	(1u << 19)
#define CLASS_MMX	(1u << 20)
#define CLASS_0F_NONBRANCH (1u << 21)	/* legacy 0F map, not jcc, MMX/SSE (Nehalem's overcount) */

struct insn {
	uint8_t len;
	uint8_t flow;		/* enum insn_flow */
	uint8_t special;	/* enum insn_special */
	uint8_t map;		/* 0: one byte, 1: 0F, 2: 0F38, 3: 0F3A, 5/6: EVEX maps, 8-10: XOP, 15: 3DNow! */
	uint8_t opcode;
	uint8_t opcode_off;	/* offset of the opcode byte (after prefixes and VEX/EVEX) */
	uint8_t rex;		/* REX byte, or the equivalent of VEX/EVEX (0x40 | WRXB); 0 if none */
	uint8_t encoding;	/* 0 legacy, 1 VEX2, 2 VEX3, 3 EVEX, 4 XOP */
	uint8_t has_modrm;
	uint8_t modrm;
	uint8_t modrm_off;
	uint8_t sib;		/* valid if modrm has one */
	uint8_t disp_off;	/* 0: no displacement */
	uint8_t disp_len;
	uint8_t imm_off;	/* first immediate (or rel) byte; 0: none */
	uint8_t imm_len;
	uint8_t rip_relative;	/* memory operand is [rip + disp32] (disp_off tells where) */
	uint8_t opsize16;	/* 66 prefix as operand size */
	uint8_t addr32;		/* 67 prefix */
	uint8_t rep;		/* 0, 0xf2, 0xf3 as written (also mandatory prefixes) */
	uint8_t lock;
	uint8_t segment;	/* 0, or the segment prefix: the last fs (0x64) or gs (0x65) if
				 * there is one (the others do not cancel it), else the last */
	uint8_t seg_used;	/* 0x64 or 0x65 if memory is really addressed through it; 0 for
				 * lea, nop r/m, push, stos and the like */
	uint8_t branch16;	/* near branch with a 66 prefix that AMD obeys: the target is cut
				 * to 16 bits, the stack moves by 2 (see decode_amd_branches) */
	uint8_t mem;		/* has an explicit or implicit memory access or address operand:
				 * 1 explicit modrm memory operand; 2 implicit only (push, movs …) */
	uint8_t vsib;		/* a gather or scatter: 1, 2, 3: its vectors have 128, 256, 512 bits */
	uint8_t vsib_mask;	/* … its mask: the number of the vector register, with EVEX of the mask register;
				 * plus 16: the index is one of the registers from 16 on */
	uint16_t flags_read;	/* FLAG_… */
	uint16_t flags_written;	/* certainly written, on every CPU */
	uint16_t flags_touched;	/* possibly written; superset of flags_written */
	uint16_t regs_read;	/* bit n = GPR n (rax=0 … r15=15), any width; implicit too */
	uint16_t regs_written;	/* any width, partial and conditional writes too */
	uint16_t regs_killed;	/* written in full 64 bits (32-bit writes count) unconditionally,
				 * without the old value mattering: subset of regs_written, never in
				 * regs_read. xor r,r and sub r,r do not read r. */
	uint32_t classes;	/* CLASS_… */
	int64_t imm;		/* sign-extended immediate, or rel for direct branches */
};

/* A 66 prefix on a near branch (without REX.W) is ignored by Intel; AMD takes a
 * rel16 and cuts the target to 16 bits, so even the length differs. The engine sets
 * this once, before the first decode, from cpuid; all else is the same everywhere. */
extern bool decode_amd_branches __attribute__((visibility("hidden")));

int decode_insn(struct insn *in, const uint8_t *bytes, unsigned avail);

bool decode_reads_gs_selector(const struct insn *in);	/* mov r/m, gs; push gs */

static inline bool decode_is_pause(const struct insn *in)
{
	return in->opcode == 0x90 && in->rep == 0xf3 && !in->map && !in->encoding && !(in->rex & 1);
}

/* What a translator asks of every instruction. */
struct step {
	uint8_t len;
	bool simple;		/* can be copied to anywhere as it is: control goes on, nothing is
				 * special, relative to rip or through gs */
	uint16_t flags_read, flags_written;
	uint32_t classes;
};

/* Decodes to a step; `in` is filled only where it is not simple. A simple instruction may
 * be reported as not simple, and flags_written may lack flags that decode_insn() has (of
 * shifts). Remembers what it learns of an opcode: one thread at a time. */
int decode_step(struct step *s, struct insn *in, const uint8_t *bytes, unsigned avail);

/* Which instruction set beyond x86-64's first level an instruction belongs to: enum machine_extension, as
 * far as it matters for machines; EXT_NONE also for popcnt, which all machines have, and tzcnt, which
 * compilers write for bsf. */
unsigned decode_extension(const uint8_t *bytes, unsigned len);

/* What a trace keeps for each run of an instruction, to know its addresses: values of these before
 * the instruction, or after it. */
enum trace_word {
	TRACE_OPERAND,		/* the address of the memory operand. Of a gather or scatter: base +
				 * displacement. With EVEX an 8-bit displacement is not multiplied */
	TRACE_RSP, TRACE_RBP, TRACE_RSI, TRACE_RDI, TRACE_RAX, TRACE_RBX,
	TRACE_RSI_AFTER, TRACE_RDI_AFTER,	/* rep: how far it came */
	/* Gather or scatter, TRACE_VECTOR in the high half: 32 bits of the index register, from the lowest; … */
	TRACE_INDEX,
	TRACE_MASK,		/* … and of the mask; with EVEX one word has the mask register's 16 bits */
};
#define TRACE_MOST 18		/* words of an instruction */
#define TRACE_VECTOR 0x7a5eu	/* so that no vector looks like another word of the trace */
/* Those of an instruction, in order; returns how many. */
unsigned trace_words(const struct insn *in, uint8_t words[TRACE_MOST]);
/* A gather or scatter: elements, bytes of one's index and of one itself. */
struct vsib_shape {
	uint8_t n, index, element;
};
struct vsib_shape vsib_shape(const struct insn *in);
bool is_moffs(const struct insn *in);		/* mov al … rax, [address], and back */

#endif
