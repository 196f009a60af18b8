/* What decode.c knows of an opcode: one row, or a step towards it.
 *
 * A row is a leaf or says by which field of the instruction to choose among the
 * rows of decode_groups[] that begin at .index. The opcode maps made of vector
 * instructions (and what grew between them) are sparse: decode_vector_index
 * [map][mandatory prefix][opcode] gives the place of a row in decode_vector_rows,
 * 0 where there is none. No pointers: the tables need no relocation.
 */
#ifndef SOFT_DECODE_TABLES_H
#define SOFT_DECODE_TABLES_H

#include <stdint.h>

#include "decode.h"

#pragma GCC visibility push(hidden)

enum op_kind {
	K_BAD,
	K_LEAF,
	K_REG,		/* by ModRM.reg: 8 rows */
	K_MOD,		/* memory, register: 2 rows */
	K_RM,		/* by ModRM.rm: 8 rows */
	K_PP,		/* by mandatory prefix: none, 66, F3, F2: 4 rows; after 0F only */
	K_W,		/* by REX/VEX/EVEX.W: 2 rows */
	K_B,		/* by REX.B: 2 rows */
	K_VECTOR,	/* legacy 0F: go to decode_vector_index */
};

/* Fields of a leaf: which operand is a general register, which is memory. */
#define A_MODRM		(1u << 0)
#define A_RM_R		(1u << 1)	/* r/m is read: a load when it is memory */
#define A_RM_W		(1u << 2)	/* r/m is written: a store when it is memory */
#define A_RM_X		(1u << 3)	/* r/m as a register is not a general one */
#define A_REG_R		(1u << 4)	/* ModRM.reg is a general register that is read … */
#define A_REG_W		(1u << 5)
#define A_OP_R		(1u << 6)	/* likewise the low bits of the opcode */
#define A_OP_W		(1u << 7)
#define A_VV_R		(1u << 8)	/* likewise VEX.vvvv */
#define A_VV_W		(1u << 9)
#define A_RM8		(1u << 10)	/* r/m is a byte */
#define A_REG8		(1u << 11)	/* reg (or opcode register) is a byte */
#define A_LOCK		(1u << 12)	/* lock is permitted with a memory operand */
#define A_STRING	(1u << 13)	/* rep has its old meaning */
#define A_CC		(1u << 14)	/* reads the flags of the condition in the opcode */
#define A_NOREG		(1u << 15)	/* r/m must be memory */
#define A_NOMEM		(1u << 16)	/* r/m must be a register */
#define A_IMM(n)	((uint32_t)(n) << 17)	/* 4 bits: enum op_imm */
#define A_IMM_OF(a)	((a) >> 17 & 15)
#define A_IMPLICIT	(1u << 21)	/* touches memory no operand names */
#define A_PARTIAL	(1u << 22)	/* register results may keep old bits */
#define A_NO66		(1u << 23)	/* 66 is a mandatory prefix or has no meaning */
#define A_ZEROES	(1u << 24)	/* of a register with itself: the old value is moot */
#define A_SHIFT		(1u << 25)	/* flags as told only if the count is not 0 */
#define A_BRANCH	(1u << 26)	/* near branch: on AMD 66 makes it 16 bits wide */
#define A_NP		(1u << 27)	/* 66, F2 and F3 are all refused */
#define A_SIB		(1u << 29)	/* memory operand must have a SIB byte */
#define A_VEC		(1u << 30)	/* .index holds C_… (VEX, EVEX, XOP) */
#define A_ADDRESS	(1u << 31)	/* a memory operand is only an address: segment has no effect */

enum op_imm {
	I_NONE, I_8, I_16, I_Z, I_V, I_16_8, I_MOFFS, I_REL8, I_REL32, I_8_8, I_32, I_IS4,
};

/* What VEX, EVEX and XOP forms permit. */
#define C_W0		(1u << 0)	/* W = 0 is an instruction */
#define C_W1		(1u << 1)
#define C_L0		(1u << 2)	/* 128 bits is one */
#define C_L1		(1u << 3)
#define C_L2		(1u << 4)
#define C_L3		(1u << 5)
#define C_VV		(1u << 6)	/* vvvv is an operand; else it must be 1111 */
#define C_BCAST		(1u << 7)	/* EVEX.b with memory: broadcast */
#define C_ER		(1u << 8)	/* EVEX.b with registers: rounding or sae */
#define C_Z		(1u << 9)	/* zeroing */
#define C_K		(1u << 10)	/* a mask */
#define C_KREQ		(1u << 11)	/* … and not k0 */
#define C_REGK		(1u << 12)	/* ModRM.reg is a mask (or tile, bound) register: 0 … 7 */
#define C_VVK		(1u << 13)	/* vvvv likewise */
#define C_VSIB		(1u << 14)
#define C_DISTINCT	(1u << 15)	/* registers must differ (gather, AMX) */

struct op {
	uint8_t kind;		/* enum op_kind */
	uint8_t flow;		/* enum insn_flow */
	uint8_t special;	/* enum insn_special */
	uint8_t flags;		/* enum op_flags */
	uint8_t regs;		/* enum op_regs: what no operand names */
	uint8_t check;		/* enum op_check */
	uint16_t index;
	uint32_t attr;
	uint32_t classes;
};

/* Named sets of flags: read, certainly written, perhaps written. */
struct op_flagset {
	uint16_t read, written, touched;
};
enum op_flags {
	F_NONE,
	F_ALL,		/* add, sub, cmp, neg … : all six written */
	F_LOGIC,	/* and, or, xor, test: AF is undefined, and cleared by every CPU */
	F_ADC,		/* reads CF, writes all */
	F_INC,		/* all but CF */
	F_MAYBE,	/* shift by cl, div: perhaps all */
	F_SHIFT,	/* shl by one: AF undefined. Another count: see shift_flags() in decode.c */
	F_SHIFT_DOUBLE,	/* shld by one: likewise, and nothing is certain beyond the operand's size */
	F_ROT,		/* rol by one: CF OF; another count: CF */
	F_ROT_MAYBE,
	F_RCL,		/* reads CF too */
	F_RCL_MAYBE,
	F_BT,		/* CF; OF SF AF PF undefined, ZF kept */
	F_MUL,		/* CF OF; the others undefined, and kept by AMD */
	F_ZF,		/* only ZF */
	F_ZF_UNDEF,	/* bsf, bextr: ZF; the others undefined or not relied on */
	F_CF,		/* only CF */
	F_CMC,		/* reads and writes CF */
	F_READ_CF,
	F_READ_ZF,
	F_READ_ALL,
	F_LAHF,		/* reads SF ZF AF PF CF */
	F_SAHF,		/* writes them */
	F_OF_RW,	/* adox */
	F_CF_RW,	/* adcx */
	F_CMPS,		/* rep makes it conditional */
	F_READ_CF_ZF,
	F_READ_PF,
	F_COUNT_ZEROES,	/* lzcnt, tzcnt: as bsr, bsf, which CPUs without them execute */
	F_COMPARE_X87,	/* fcomi: CF ZF PF; the others cleared or kept */
	F_BITS,		/* andn, blsr, bzhi …: ZF SF CF OF; AF PF undefined */
	F_EVERYTHING,	/* unknown: read all, perhaps written */
	F_COUNT
};

struct op_regset {
	uint16_t read, written, killed;
};
enum op_regs {
	R_NONE,
	R_SP,		/* push, pop, call, ret */
	R_SPBP,		/* enter: also rbp */
	R_LEAVE,
	R_A_R,		/* reads rax */
	R_A_W,		/* al or ax: partial */
	R_A_RW,
	R_A_KILL,
	R_D_R_A_R,	/* out, xsave: reads rax, rdx */
	R_A_D_W,	/* rdtsc: rax, rdx in full */
	R_MUL,		/* rax read; rax rdx written */
	R_DIV,		/* rax rdx read and written */
	R_CWD,		/* rax read, rdx written */
	R_CBW,		/* rax read and written */
	R_MOVS,		/* rsi rdi */
	R_STOS,		/* rax read, rdi */
	R_LODS,		/* rax, rsi */
	R_SCAS,
	R_INS,		/* rdx read, rdi */
	R_OUTS,
	R_XLAT,		/* rbx, rax read; al written */
	R_C_R,		/* shift by cl; jrcxz */
	R_C_RW,		/* loop */
	R_CMPXCHG,
	R_CMPXCHG8B,	/* rax rbx rcx rdx */
	R_CPUID,	/* rax rcx read; four written */
	R_SYSCALL,	/* everything may be read; rax rcx r11 written */
	R_RDPMC,	/* rcx read, rax rdx written */
	R_RDTSCP,	/* rax rcx rdx written */
	R_DI_R,		/* maskmov */
	R_D_R,		/* mulx: rdx read */
	R_A_C_D_R,	/* monitor, mwait, wrpkru */
	R_A_C_R,
	R_PCMPESTRI,	/* rax rdx read, rcx written */
	R_PCMPISTRI,	/* rcx written */
	R_PCMPESTRM,
	R_C_W,
	R_IN,		/* rdx read, rax written */
	R_EVERYTHING,	/* unknown */
	R_RDPKRU,
	R_MWAITX,	/* rax rcx rbx read */
	R_COUNT
};

/* Register numbers that no row can express. */
enum op_check {
	CHECK_NONE, CHECK_CR, CHECK_DR, CHECK_3DNOW, CHECK_C0, CHECK_REG0, CHECK_RM0,
	CHECK_ODD,	/* not a check: decode.c looks at it once more */
};

enum vector_map {
	MAP_0F, MAP_0F38, MAP_0F3A, MAP_V0F, MAP_V0F38, MAP_V0F3A,
	MAP_E0F, MAP_E0F38, MAP_E0F3A, MAP_E5, MAP_E6, MAP_X8, MAP_X9, MAP_XA,
	MAP_COUNT
};

extern const struct op_flagset decode_flagsets[F_COUNT];
extern const struct op_regset decode_regsets[R_COUNT];
extern const struct op decode_one[256];		/* one-byte opcodes */
extern const struct op decode_0f[256];		/* 0F */
extern const struct op decode_groups[];
extern const struct op decode_vector_rows[];
extern const uint16_t decode_vector_index[MAP_COUNT][4][256];
extern const uint8_t decode_3dnow[32];		/* bit per suffix that is an instruction */

#pragma GCC visibility pop

#endif
