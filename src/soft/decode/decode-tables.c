/* The opcode maps that hold the general instructions: one byte, 0F, x87, and the
 * groups inside them, written from the opcode maps of the Intel SDM (volume 2,
 * appendix A) and the AMD APM (volume 3, appendix A), 64-bit mode only.
 * A row that is missing is no instruction. decode.c says how rows are walked.
 */
#include "decode-tables.h"

#define BR CLASS_BRANCH
#define LD CLASS_LOAD
#define ST CLASS_STORE
#define X87 CLASS_X87

#define LEAF(at, ...) { .kind = K_LEAF, .attr = (at), __VA_ARGS__ }
#define STEP(k, g) { .kind = (k), .attr = A_MODRM, .index = (g) }
#define STEP_PP(g) { .kind = K_PP, .index = (g) }
#define FAULT(at, ...) LEAF(at, .flow = FLOW_FAULT, __VA_ARGS__)

#define RM (A_MODRM | A_RM_R)			/* r/m read */
#define RMW (A_MODRM | A_RM_W)			/* r/m written */
#define RMRW (A_MODRM | A_RM_R | A_RM_W)
#define B8 (A_RM8 | A_REG8)
#define IB A_IMM(I_8)
#define IZ A_IMM(I_Z)

const struct op_flagset decode_flagsets[F_COUNT] = {
#define SZAP (FLAG_SF | FLAG_ZF | FLAG_AF | FLAG_PF)
	[F_ALL] = { 0, FLAG_ARITH, FLAG_ARITH },
	[F_LOGIC] = { 0, FLAG_ARITH, FLAG_ARITH },
	[F_ADC] = { FLAG_CF, FLAG_ARITH, FLAG_ARITH },
	[F_INC] = { 0, FLAG_ARITH & ~FLAG_CF, FLAG_ARITH & ~FLAG_CF },
	[F_MAYBE] = { 0, 0, FLAG_ARITH },
	[F_SHIFT] = { 0, FLAG_ARITH & ~FLAG_AF, FLAG_ARITH },
	[F_SHIFT_DOUBLE] = { 0, FLAG_ARITH & ~FLAG_AF, FLAG_ARITH },
	[F_ROT] = { 0, FLAG_CF | FLAG_OF, FLAG_CF | FLAG_OF },
	[F_ROT_MAYBE] = { 0, 0, FLAG_CF | FLAG_OF },
	[F_RCL] = { FLAG_CF, FLAG_CF | FLAG_OF, FLAG_CF | FLAG_OF },
	[F_RCL_MAYBE] = { FLAG_CF, 0, FLAG_CF | FLAG_OF },
	[F_BT] = { 0, FLAG_CF, FLAG_CF | FLAG_OF | FLAG_SF | FLAG_AF | FLAG_PF },
	[F_MUL] = { 0, FLAG_CF | FLAG_OF, FLAG_ARITH },
	[F_ZF] = { 0, FLAG_ZF, FLAG_ZF },
	[F_ZF_UNDEF] = { 0, FLAG_ZF, FLAG_ARITH },
	[F_CF] = { 0, FLAG_CF, FLAG_CF },
	[F_CMC] = { FLAG_CF, FLAG_CF, FLAG_CF },
	[F_READ_CF] = { FLAG_CF, 0, 0 },
	[F_READ_ZF] = { FLAG_ZF, 0, 0 },
	[F_READ_ALL] = { FLAG_ARITH, 0, 0 },
	[F_LAHF] = { SZAP | FLAG_CF, 0, 0 },
	[F_SAHF] = { 0, SZAP | FLAG_CF, SZAP | FLAG_CF },
	[F_OF_RW] = { FLAG_OF, FLAG_OF, FLAG_OF },
	[F_CF_RW] = { FLAG_CF, FLAG_CF, FLAG_CF },
	[F_CMPS] = { 0, FLAG_ARITH, FLAG_ARITH },
	[F_READ_CF_ZF] = { FLAG_CF | FLAG_ZF, 0, 0 },
	[F_READ_PF] = { FLAG_PF, 0, 0 },
	[F_COUNT_ZEROES] = { 0, FLAG_ZF, FLAG_ARITH },
	[F_COMPARE_X87] = { 0, FLAG_CF | FLAG_ZF | FLAG_PF, FLAG_ARITH },
	[F_BITS] = { 0, FLAG_CF | FLAG_ZF | FLAG_SF | FLAG_OF, FLAG_ARITH },
	[F_EVERYTHING] = { FLAG_ARITH, 0, FLAG_ARITH },
};

#define A 0x0001
#define C 0x0002
#define D 0x0004
#define B 0x0008
#define SP 0x0010
#define BP 0x0020
#define SI 0x0040
#define DI 0x0080
#define R11 0x0800
const struct op_regset decode_regsets[R_COUNT] = {
	[R_SP] = { SP, SP, 0 },
	[R_SPBP] = { SP | BP, SP | BP, 0 },
	[R_LEAVE] = { BP, SP | BP, 0 },
	[R_A_R] = { A, 0, 0 },
	[R_A_W] = { 0, A, 0 },
	[R_A_RW] = { A, A, 0 },
	[R_A_KILL] = { 0, A, A },
	[R_D_R_A_R] = { A | D, 0, 0 },
	[R_A_D_W] = { 0, A | D, A | D },
	[R_MUL] = { A, A | D, D },
	[R_DIV] = { A | D, A | D, 0 },
	[R_CWD] = { A, D, D },
	[R_CBW] = { A, A, 0 },
	[R_MOVS] = { SI | DI, SI | DI, 0 },
	[R_STOS] = { A | DI, DI, 0 },
	[R_LODS] = { SI, A | SI, 0 },
	[R_SCAS] = { A | DI, DI, 0 },
	[R_INS] = { D | DI, DI, 0 },
	[R_OUTS] = { D | SI, SI, 0 },
	[R_XLAT] = { A | B, A, 0 },
	[R_C_R] = { C, 0, 0 },
	[R_C_RW] = { C, C, 0 },
	[R_CMPXCHG] = { A, A, 0 },
	[R_CMPXCHG8B] = { A | B | C | D, A | D, 0 },
	[R_CPUID] = { A | C, A | B | C | D, B | D },
	[R_SYSCALL] = { 0xffff, A | C | R11, 0 },
	[R_RDPMC] = { C, A | D, A | D },
	[R_RDTSCP] = { 0, A | C | D, A | C | D },
	[R_DI_R] = { DI, 0, 0 },
	[R_D_R] = { D, 0, 0 },
	[R_A_C_D_R] = { A | C | D, 0, 0 },
	[R_A_C_R] = { A | C, 0, 0 },
	[R_PCMPESTRI] = { A | D, C, C },
	[R_PCMPISTRI] = { 0, C, C },
	[R_PCMPESTRM] = { A | D, 0, 0 },
	[R_C_W] = { 0, C, 0 },
	[R_IN] = { D, A, 0 },
	[R_EVERYTHING] = { 0xffff, 0xffff, 0 },
	[R_RDPKRU] = { C, A | D, A | D },
	[R_MWAITX] = { A | B | C, 0, 0 },
};
#undef A
#undef B
#undef C
#undef D

/* Where each group of decode_groups[] begins. */
enum {
	G_NONE,
	G_80 = 8, G_81 = G_80 + 8, G_83 = G_81 + 8,
	G_86 = G_83 + 8, G_87 = G_86 + 2, G_8C = G_87 + 2, G_8E = G_8C + 8, G_8F = G_8E + 8,
	G_90 = G_8F + 8, G_C0 = G_90 + 2, G_C1 = G_C0 + 8, G_D0 = G_C1 + 8, G_D1 = G_D0 + 8,
	G_D2 = G_D1 + 8, G_D3 = G_D2 + 8, G_C6 = G_D3 + 8, G_C7 = G_C6 + 8,
	G_C6_7 = G_C7 + 8, G_C7_7 = G_C6_7 + 2, G_C6_F8 = G_C7_7 + 2, G_C7_F8 = G_C6_F8 + 8,
	G_F6 = G_C7_F8 + 8, G_F7 = G_F6 + 8, G_FE = G_F7 + 8, G_FF = G_FE + 8,
	/* x87: memory, register */
	G_D8 = G_FF + 8, G_D9 = G_D8 + 2, G_DA = G_D9 + 2, G_DB = G_DA + 2, G_DC = G_DB + 2,
	G_DD = G_DC + 2, G_DE = G_DD + 2, G_DF = G_DE + 2,
	G_D8_MEM = G_DF + 2, G_D9_MEM = G_D8_MEM + 8, G_DA_MEM = G_D9_MEM + 8,
	G_DB_MEM = G_DA_MEM + 8, G_DD_MEM = G_DB_MEM + 8, G_DF_MEM = G_DD_MEM + 8,
	G_D8_REG = G_DF_MEM + 8, G_D9_REG = G_D8_REG + 8, G_DA_REG = G_D9_REG + 8,
	G_DB_REG = G_DA_REG + 8, G_DD_REG = G_DB_REG + 8, G_DE_REG = G_DD_REG + 8,
	G_DF_REG = G_DE_REG + 8,
	G_D9_D0 = G_DF_REG + 8, G_D9_E0 = G_D9_D0 + 8, G_D9_E8 = G_D9_E0 + 8,
	G_DA_E8 = G_D9_E8 + 8, G_DB_E0 = G_DA_E8 + 8, G_DE_D8 = G_DB_E0 + 8,
	G_DF_E0 = G_DE_D8 + 8,
	/* 0F */
	G_0F00 = G_DF_E0 + 8, G_0F01 = G_0F00 + 8, G_0F01_MEM = G_0F01 + 2,
	G_0F01_5 = G_0F01_MEM + 8, G_0F01_REG = G_0F01_5 + 4,
	G_0F01_0 = G_0F01_REG + 8, G_0F01_1 = G_0F01_0 + 8, G_0F01_2 = G_0F01_1 + 8,
	G_0F01_3 = G_0F01_2 + 8, G_0F01_R5 = G_0F01_3 + 8, G_0F01_7 = G_0F01_R5 + 8,
	G_0F01_E8 = G_0F01_7 + 8, G_0F01_E9 = G_0F01_E8 + 4, G_0F01_EA = G_0F01_E9 + 4,
	G_0F01_EC = G_0F01_EA + 4, G_0F01_ED = G_0F01_EC + 4, G_0F01_EE = G_0F01_ED + 4,
	G_0F01_EF = G_0F01_EE + 4, G_0F01_FE = G_0F01_EF + 4, G_0F01_FF = G_0F01_FE + 4,
	G_0F01_CC = G_0F01_FF + 4, G_0F01_CF = G_0F01_CC + 4,
	G_0F01_FA = G_0F01_CF + 4, G_0F09 = G_0F01_FA + 4,
	G_0F0D = G_0F09 + 4, G_0F18 = G_0F0D + 2, G_0F18_MEM = G_0F18 + 2,
	G_0F1E = G_0F18_MEM + 8, G_0F1E_F3 = G_0F1E + 4, G_0F1E_F3_REG = G_0F1E_F3 + 2,
	G_0F78 = G_0F1E_F3_REG + 8, G_0F78_66 = G_0F78 + 4, G_0F79 = G_0F78_66 + 8,
	G_0FAE = G_0F79 + 4, G_0FAE_MEM = G_0FAE + 2, G_0FAE_REG = G_0FAE_MEM + 4,
	G_0FAE_M0 = G_0FAE_REG + 4, G_0FAE_M66 = G_0FAE_M0 + 8, G_0FAE_MF3 = G_0FAE_M66 + 8,
	G_0FAE_R0 = G_0FAE_MF3 + 8, G_0FAE_R66 = G_0FAE_R0 + 8, G_0FAE_RF3 = G_0FAE_R66 + 8,
	G_0FAE_RF2 = G_0FAE_RF3 + 8, G_0FB8 = G_0FAE_RF2 + 8, G_0FBA = G_0FB8 + 4,
	G_0FBC = G_0FBA + 8, G_0FBD = G_0FBC + 4, G_0FC7 = G_0FBD + 4,
	G_0FC7_MEM = G_0FC7 + 2, G_0FC7_REG = G_0FC7_MEM + 8, G_0FC7_6 = G_0FC7_REG + 8,
	G_0FC7_R6 = G_0FC7_6 + 4, G_0FC7_R7 = G_0FC7_R6 + 4,
	G_0FA6 = G_0FC7_R7 + 4, G_0FA7 = G_0FA6 + 8, G_0FA6_RM = G_0FA7 + 8,
	G_0FA6_REP = G_0FA6_RM + 8, G_0FA7_0 = G_0FA6_REP + 4,
	G_XSTORE = G_0FA7_0 + 8, G_COUNT = G_XSTORE + 4
};

#define ARITH(n, fl, lk, zero) \
	[n] = LEAF(RMRW | A_REG_R | B8 | (lk), .flags = fl), \
	[n + 1] = LEAF(RMRW | A_REG_R | (lk) | (zero), .flags = fl), \
	[n + 2] = LEAF(RM | A_REG_R | A_REG_W | B8, .flags = fl), \
	[n + 3] = LEAF(RM | A_REG_R | A_REG_W | (zero), .flags = fl), \
	[n + 4] = LEAF(IB, .flags = fl, .regs = R_A_RW), \
	[n + 5] = LEAF(IZ, .flags = fl, .regs = R_A_RW)

#define EIGHT(n, ...) \
	[n] = __VA_ARGS__, [n + 1] = __VA_ARGS__, [n + 2] = __VA_ARGS__, \
	[n + 3] = __VA_ARGS__, [n + 4] = __VA_ARGS__, [n + 5] = __VA_ARGS__, \
	[n + 6] = __VA_ARGS__, [n + 7] = __VA_ARGS__
#define SIXTEEN(n, ...) EIGHT(n, __VA_ARGS__), EIGHT(n + 8, __VA_ARGS__)

#define JCC(imm) LEAF(A_CC | A_BRANCH | A_IMM(imm), .flow = FLOW_JCC, .classes = BR | CLASS_COND)
#define LOOP(fl, rg) LEAF(A_IMM(I_REL8) | A_BRANCH, .flow = FLOW_LOOP, .flags = fl, .regs = rg, \
			  .classes = BR | CLASS_COND)
#define FAR(...) LEAF(__VA_ARGS__, .flow = FLOW_FAR)

const struct op decode_one[256] = {
	ARITH(0x00, F_ALL, A_LOCK, 0),
	ARITH(0x08, F_LOGIC, A_LOCK, 0),
	ARITH(0x10, F_ADC, A_LOCK, 0),
	ARITH(0x18, F_ADC, A_LOCK, 0),
	ARITH(0x20, F_LOGIC, A_LOCK, 0),
	ARITH(0x28, F_ALL, A_LOCK, A_ZEROES),
	ARITH(0x30, F_LOGIC, A_LOCK, A_ZEROES),
	[0x38] = LEAF(RM | A_REG_R | B8, .flags = F_ALL),
	[0x39] = LEAF(RM | A_REG_R, .flags = F_ALL),
	[0x3a] = LEAF(RM | A_REG_R | B8, .flags = F_ALL),
	[0x3b] = LEAF(RM | A_REG_R, .flags = F_ALL),
	[0x3c] = LEAF(IB, .flags = F_ALL, .regs = R_A_R),
	[0x3d] = LEAF(IZ, .flags = F_ALL, .regs = R_A_R),
	EIGHT(0x50, LEAF(A_OP_R | A_IMPLICIT, .regs = R_SP, .classes = ST)),
	EIGHT(0x58, LEAF(A_OP_W | A_IMPLICIT, .regs = R_SP, .classes = LD)),
	[0x63] = LEAF(RM | A_REG_W),				/* movsxd */
	[0x68] = LEAF(IZ | A_IMPLICIT, .regs = R_SP, .classes = ST),
	[0x69] = LEAF(RM | A_REG_W | IZ, .flags = F_MUL, .classes = CLASS_MUL),
	[0x6a] = LEAF(IB | A_IMPLICIT, .regs = R_SP, .classes = ST),
	[0x6b] = LEAF(RM | A_REG_W | IB, .flags = F_MUL, .classes = CLASS_MUL),
	[0x6c] = FAULT(A_STRING | A_IMPLICIT, .regs = R_INS, .classes = ST),
	[0x6d] = FAULT(A_STRING | A_IMPLICIT, .regs = R_INS, .classes = ST),
	[0x6e] = FAULT(A_STRING | A_IMPLICIT, .regs = R_OUTS, .classes = LD),
	[0x6f] = FAULT(A_STRING | A_IMPLICIT, .regs = R_OUTS, .classes = LD),
	SIXTEEN(0x70, JCC(I_REL8)),
	[0x80] = STEP(K_REG, G_80), [0x81] = STEP(K_REG, G_81), [0x83] = STEP(K_REG, G_83),
	[0x84] = LEAF(RM | A_REG_R | B8, .flags = F_LOGIC),	/* test */
	[0x85] = LEAF(RM | A_REG_R, .flags = F_LOGIC),
	[0x86] = STEP(K_MOD, G_86), [0x87] = STEP(K_MOD, G_87),	/* xchg */
	[0x88] = LEAF(RMW | A_REG_R | B8),
	[0x89] = LEAF(RMW | A_REG_R),
	[0x8a] = LEAF(RM | A_REG_W | B8),
	[0x8b] = LEAF(RM | A_REG_W),
	[0x8c] = STEP(K_REG, G_8C),
	[0x8d] = LEAF(A_MODRM | A_REG_W | A_NOREG | A_ADDRESS),	/* lea */
	[0x8e] = STEP(K_REG, G_8E),
	[0x8f] = STEP(K_REG, G_8F),
	[0x90] = { .kind = K_B, .index = G_90 },
	[0x91] = LEAF(A_OP_R | A_OP_W, .regs = R_A_RW), [0x92] = LEAF(A_OP_R | A_OP_W, .regs = R_A_RW),
	[0x93] = LEAF(A_OP_R | A_OP_W, .regs = R_A_RW), [0x94] = LEAF(A_OP_R | A_OP_W, .regs = R_A_RW),
	[0x95] = LEAF(A_OP_R | A_OP_W, .regs = R_A_RW), [0x96] = LEAF(A_OP_R | A_OP_W, .regs = R_A_RW),
	[0x97] = LEAF(A_OP_R | A_OP_W, .regs = R_A_RW),
	[0x98] = LEAF(0, .regs = R_CBW),
	[0x99] = LEAF(0, .regs = R_CWD),
	[0x9b] = LEAF(0, .classes = X87),			/* fwait */
	[0x9c] = LEAF(A_IMPLICIT, .flags = F_READ_ALL, .regs = R_SP, .classes = ST),
	[0x9d] = LEAF(A_IMPLICIT, .flags = F_ALL, .regs = R_SP, .special = SPECIAL_POPF, .classes = LD),
	[0x9e] = LEAF(0, .flags = F_SAHF, .regs = R_A_R),
	[0x9f] = LEAF(0, .flags = F_LAHF, .regs = R_A_W),
	[0xa0] = LEAF(A_IMM(I_MOFFS) | A_IMPLICIT, .regs = R_A_W, .classes = LD),
	[0xa1] = LEAF(A_IMM(I_MOFFS) | A_IMPLICIT, .regs = R_A_KILL, .classes = LD),
	[0xa2] = LEAF(A_IMM(I_MOFFS) | A_IMPLICIT, .regs = R_A_R, .classes = ST),
	[0xa3] = LEAF(A_IMM(I_MOFFS) | A_IMPLICIT, .regs = R_A_R, .classes = ST),
	[0xa4] = LEAF(A_STRING | A_IMPLICIT, .regs = R_MOVS, .classes = LD | ST),
	[0xa5] = LEAF(A_STRING | A_IMPLICIT, .regs = R_MOVS, .classes = LD | ST),
	[0xa6] = LEAF(A_STRING | A_IMPLICIT, .regs = R_MOVS, .flags = F_CMPS, .classes = LD),
	[0xa7] = LEAF(A_STRING | A_IMPLICIT, .regs = R_MOVS, .flags = F_CMPS, .classes = LD),
	[0xa8] = LEAF(IB, .flags = F_LOGIC, .regs = R_A_R),
	[0xa9] = LEAF(IZ, .flags = F_LOGIC, .regs = R_A_R),
	[0xaa] = LEAF(A_STRING | A_IMPLICIT, .regs = R_STOS, .classes = ST),
	[0xab] = LEAF(A_STRING | A_IMPLICIT, .regs = R_STOS, .classes = ST),
	[0xac] = LEAF(A_STRING | A_IMPLICIT, .regs = R_LODS, .classes = LD),
	[0xad] = LEAF(A_STRING | A_IMPLICIT, .regs = R_LODS, .classes = LD),
	[0xae] = LEAF(A_STRING | A_IMPLICIT, .regs = R_SCAS, .flags = F_CMPS, .classes = LD),
	[0xaf] = LEAF(A_STRING | A_IMPLICIT, .regs = R_SCAS, .flags = F_CMPS, .classes = LD),
	EIGHT(0xb0, LEAF(A_OP_W | A_REG8 | IB)),
	EIGHT(0xb8, LEAF(A_OP_W | A_IMM(I_V))),
	[0xc0] = STEP(K_REG, G_C0), [0xc1] = STEP(K_REG, G_C1),
	[0xc2] = LEAF(A_IMM(I_16) | A_IMPLICIT | A_BRANCH, .check = CHECK_ODD, .flow = FLOW_RET, .regs = R_SP,
		      .classes = BR | CLASS_RET | LD),
	[0xc3] = LEAF(A_IMPLICIT | A_BRANCH, .flow = FLOW_RET, .regs = R_SP, .classes = BR | CLASS_RET | LD),
	[0xc6] = STEP(K_REG, G_C6), [0xc7] = STEP(K_REG, G_C7),
	[0xc8] = LEAF(A_IMM(I_16_8) | A_IMPLICIT, .check = CHECK_ODD, .regs = R_SPBP, .classes = ST),	/* enter */
	[0xc9] = LEAF(A_IMPLICIT, .regs = R_LEAVE, .classes = LD),
	[0xca] = FAR(A_IMM(I_16) | A_IMPLICIT, .regs = R_SP, .flags = F_EVERYTHING, .classes = BR | CLASS_FAR | LD),
	[0xcb] = FAR(A_IMPLICIT, .regs = R_SP, .flags = F_EVERYTHING, .classes = BR | CLASS_FAR | LD),
	[0xcc] = LEAF(0, .check = CHECK_ODD, .flow = FLOW_INT, .flags = F_EVERYTHING, .regs = R_EVERYTHING,
		      .classes = BR | CLASS_FAR),
	[0xcd] = LEAF(IB, .check = CHECK_ODD, .flow = FLOW_INT, .flags = F_EVERYTHING, .regs = R_EVERYTHING,
		      .classes = BR | CLASS_FAR),
	[0xcf] = FAR(A_IMPLICIT, .regs = R_SP, .flags = F_EVERYTHING, .classes = BR | CLASS_FAR | LD),
	[0xd0] = STEP(K_REG, G_D0), [0xd1] = STEP(K_REG, G_D1),
	[0xd2] = STEP(K_REG, G_D2), [0xd3] = STEP(K_REG, G_D3),
	[0xd7] = LEAF(A_IMPLICIT, .regs = R_XLAT, .classes = LD),
	[0xd8] = STEP(K_MOD, G_D8), [0xd9] = STEP(K_MOD, G_D9), [0xda] = STEP(K_MOD, G_DA),
	[0xdb] = STEP(K_MOD, G_DB), [0xdc] = STEP(K_MOD, G_DC), [0xdd] = STEP(K_MOD, G_DD),
	[0xde] = STEP(K_MOD, G_DE), [0xdf] = STEP(K_MOD, G_DF),
	[0xe0] = LOOP(F_READ_ZF, R_C_RW), [0xe1] = LOOP(F_READ_ZF, R_C_RW),
	[0xe2] = LOOP(F_NONE, R_C_RW), [0xe3] = LOOP(F_NONE, R_C_R),
	[0xe4] = FAULT(IB, .regs = R_A_W), [0xe5] = FAULT(IB, .regs = R_A_W),
	[0xe6] = FAULT(IB, .regs = R_A_R), [0xe7] = FAULT(IB, .regs = R_A_R),
	[0xe8] = LEAF(A_IMM(I_REL32) | A_IMPLICIT | A_BRANCH, .flow = FLOW_CALL, .regs = R_SP,
		      .classes = BR | CLASS_CALL | ST),
	[0xe9] = LEAF(A_IMM(I_REL32) | A_BRANCH, .flow = FLOW_JMP, .classes = BR),
	[0xeb] = LEAF(A_IMM(I_REL8) | A_BRANCH, .flow = FLOW_JMP, .classes = BR),
	[0xec] = FAULT(0, .regs = R_IN), [0xed] = FAULT(0, .regs = R_IN),
	[0xee] = FAULT(0, .regs = R_D_R_A_R), [0xef] = FAULT(0, .regs = R_D_R_A_R),
	[0xf1] = LEAF(0, .check = CHECK_ODD, .flow = FLOW_INT, .flags = F_EVERYTHING, .regs = R_EVERYTHING,
		      .classes = BR | CLASS_FAR),
	[0xf4] = FAULT(0),
	[0xf5] = LEAF(0, .flags = F_CMC),
	[0xf6] = STEP(K_REG, G_F6), [0xf7] = STEP(K_REG, G_F7),
	[0xf8] = LEAF(0, .flags = F_CF), [0xf9] = LEAF(0, .flags = F_CF),
	[0xfa] = FAULT(0), [0xfb] = FAULT(0),
	[0xfc] = LEAF(0), [0xfd] = LEAF(0),
	[0xfe] = STEP(K_REG, G_FE), [0xff] = STEP(K_REG, G_FF),
};

#define V { .kind = K_VECTOR }
#define NOP_RM LEAF(A_MODRM | A_RM_X | A_ADDRESS)
#define CMOV LEAF(RM | A_REG_R | A_REG_W | A_CC)
#define SETCC LEAF(RMW | A_RM8 | A_CC)
#define FARPTR(...) LEAF(RM | A_REG_W | A_NOREG, __VA_ARGS__)

const struct op decode_0f[256] = {
	[0x00] = STEP(K_REG, G_0F00), [0x01] = STEP(K_MOD, G_0F01),
	[0x02] = LEAF(RM | A_REG_R | A_REG_W, .flags = F_ZF),	/* lar: kept if it fails */
	[0x03] = LEAF(RM | A_REG_R | A_REG_W, .flags = F_ZF, .special = SPECIAL_MACHINE),	/* lsl */
	[0x05] = LEAF(0, .flow = FLOW_SYSCALL, .flags = F_EVERYTHING, .regs = R_SYSCALL,
		      .classes = BR | CLASS_FAR | CLASS_SYSCALL),
	[0x06] = FAULT(0), [0x07] = FAULT(0, .classes = BR | CLASS_FAR),
	[0x08] = FAULT(0), [0x09] = STEP_PP(G_0F09), [0x0b] = FAULT(0),
	[0x0d] = STEP(K_MOD, G_0F0D),
	[0x0e] = LEAF(0, .classes = CLASS_MMX),			/* femms */
	[0x0f] = LEAF(RM | A_RM_X | IB, .check = CHECK_3DNOW, .classes = CLASS_MMX | CLASS_SIMD_INT),
	[0x10] = V, [0x11] = V, [0x12] = V, [0x13] = V, [0x14] = V, [0x15] = V, [0x16] = V, [0x17] = V,
	[0x18] = STEP(K_MOD, G_0F18), [0x19] = NOP_RM, [0x1a] = NOP_RM, [0x1b] = NOP_RM,
	[0x1c] = NOP_RM, [0x1d] = NOP_RM, [0x1e] = STEP_PP(G_0F1E), [0x1f] = NOP_RM,
	[0x20] = FAULT(A_MODRM | A_RM_W, .check = CHECK_CR), [0x21] = FAULT(A_MODRM | A_RM_W, .check = CHECK_DR),
	[0x22] = FAULT(A_MODRM | A_RM_R, .check = CHECK_CR), [0x23] = FAULT(A_MODRM | A_RM_R, .check = CHECK_DR),
	[0x28] = V, [0x29] = V, [0x2a] = V, [0x2b] = V, [0x2c] = V, [0x2d] = V, [0x2e] = V, [0x2f] = V,
	[0x30] = FAULT(0, .regs = R_A_C_D_R),
	[0x31] = LEAF(A_NO66, .regs = R_A_D_W, .special = SPECIAL_RDTSC),
	[0x32] = FAULT(0, .regs = R_RDPMC),
	[0x33] = LEAF(A_NO66, .regs = R_RDPMC, .special = SPECIAL_RDPMC),
	[0x34] = LEAF(0, .flow = FLOW_SYSENTER, .flags = F_EVERYTHING, .regs = R_EVERYTHING,
		      .classes = BR | CLASS_FAR | CLASS_SYSCALL),
	[0x35] = FAULT(0, .classes = BR | CLASS_FAR),
	[0x37] = FAULT(A_NP, .regs = R_EVERYTHING),
	SIXTEEN(0x40, CMOV),
	[0x50] = V, [0x51] = V, [0x52] = V, [0x53] = V, [0x54] = V, [0x55] = V, [0x56] = V, [0x57] = V,
	[0x58] = V, [0x59] = V, [0x5a] = V, [0x5b] = V, [0x5c] = V, [0x5d] = V, [0x5e] = V, [0x5f] = V,
	[0x60] = V, [0x61] = V, [0x62] = V, [0x63] = V, [0x64] = V, [0x65] = V, [0x66] = V, [0x67] = V,
	[0x68] = V, [0x69] = V, [0x6a] = V, [0x6b] = V, [0x6c] = V, [0x6d] = V, [0x6e] = V, [0x6f] = V,
	[0x70] = V, [0x71] = V, [0x72] = V, [0x73] = V, [0x74] = V, [0x75] = V, [0x76] = V, [0x77] = V,
	[0x78] = STEP_PP(G_0F78), [0x79] = STEP_PP(G_0F79),
	[0x7c] = V, [0x7d] = V, [0x7e] = V, [0x7f] = V,
	SIXTEEN(0x80, JCC(I_REL32)),
	SIXTEEN(0x90, SETCC),
	[0xa0] = LEAF(A_IMPLICIT, .regs = R_SP, .classes = ST),
	[0xa1] = LEAF(A_IMPLICIT, .regs = R_SP, .classes = LD),
	[0xa2] = LEAF(A_NO66, .regs = R_CPUID, .special = SPECIAL_CPUID, .classes = CLASS_FENCE),
	[0xa3] = LEAF(RM | A_REG_R, .flags = F_BT),
	[0xa4] = LEAF(RMRW | A_REG_R | IB | A_SHIFT, .flags = F_SHIFT_DOUBLE),
	[0xa5] = LEAF(RMRW | A_REG_R, .flags = F_MAYBE, .regs = R_C_R),
	[0xa6] = STEP(K_REG, G_0FA6), [0xa7] = STEP(K_REG, G_0FA7),	/* VIA PadLock */
	[0xa8] = LEAF(A_IMPLICIT, .regs = R_SP, .classes = ST),
	[0xa9] = LEAF(A_IMPLICIT, .regs = R_SP, .special = SPECIAL_GS_LOAD, .classes = LD),
	[0xaa] = FAULT(0, .regs = R_EVERYTHING, .flags = F_EVERYTHING),		/* rsm */
	[0xab] = LEAF(RMRW | A_REG_R | A_LOCK, .flags = F_BT),
	[0xac] = LEAF(RMRW | A_REG_R | IB | A_SHIFT, .flags = F_SHIFT_DOUBLE),
	[0xad] = LEAF(RMRW | A_REG_R, .flags = F_MAYBE, .regs = R_C_R),
	[0xae] = STEP(K_MOD, G_0FAE),
	[0xaf] = LEAF(RM | A_REG_R | A_REG_W, .flags = F_MUL, .classes = CLASS_MUL),
	[0xb0] = LEAF(RMRW | A_REG_R | B8 | A_LOCK | A_PARTIAL, .flags = F_ALL, .regs = R_CMPXCHG),
	[0xb1] = LEAF(RMRW | A_REG_R | A_LOCK | A_PARTIAL, .flags = F_ALL, .regs = R_CMPXCHG),
	[0xb2] = FARPTR(), [0xb3] = LEAF(RMRW | A_REG_R | A_LOCK, .flags = F_BT),
	[0xb4] = FARPTR(), [0xb5] = FARPTR(.special = SPECIAL_GS_LOAD),
	[0xb6] = LEAF(RM | A_REG_W | A_RM8), [0xb7] = LEAF(RM | A_REG_W),
	[0xb8] = STEP_PP(G_0FB8), [0xb9] = FAULT(A_MODRM), [0xba] = STEP(K_REG, G_0FBA),
	[0xbb] = LEAF(RMRW | A_REG_R | A_LOCK, .flags = F_BT),
	[0xbc] = STEP_PP(G_0FBC), [0xbd] = STEP_PP(G_0FBD),
	[0xbe] = LEAF(RM | A_REG_W | A_RM8), [0xbf] = LEAF(RM | A_REG_W),
	[0xc0] = LEAF(RMRW | A_REG_R | A_REG_W | B8 | A_LOCK, .flags = F_ALL),
	[0xc1] = LEAF(RMRW | A_REG_R | A_REG_W | A_LOCK, .flags = F_ALL),
	[0xc2] = V, [0xc3] = V, [0xc4] = V, [0xc5] = V, [0xc6] = V, [0xc7] = STEP(K_MOD, G_0FC7),
	EIGHT(0xc8, LEAF(A_OP_R | A_OP_W)),			/* bswap */
	[0xd0] = V, [0xd1] = V, [0xd2] = V, [0xd3] = V, [0xd4] = V, [0xd5] = V, [0xd6] = V, [0xd7] = V,
	[0xd8] = V, [0xd9] = V, [0xda] = V, [0xdb] = V, [0xdc] = V, [0xdd] = V, [0xde] = V, [0xdf] = V,
	[0xe0] = V, [0xe1] = V, [0xe2] = V, [0xe3] = V, [0xe4] = V, [0xe5] = V, [0xe6] = V, [0xe7] = V,
	[0xe8] = V, [0xe9] = V, [0xea] = V, [0xeb] = V, [0xec] = V, [0xed] = V, [0xee] = V, [0xef] = V,
	[0xf0] = V, [0xf1] = V, [0xf2] = V, [0xf3] = V, [0xf4] = V, [0xf5] = V, [0xf6] = V, [0xf7] = V,
	[0xf8] = V, [0xf9] = V, [0xfa] = V, [0xfb] = V, [0xfc] = V, [0xfd] = V, [0xfe] = V,
	[0xff] = FAULT(A_MODRM),				/* ud0 */
};

#define GROUP1(g, at) \
	[g] = LEAF(RMRW | A_LOCK | (at), .flags = F_ALL), \
	[g + 1] = LEAF(RMRW | A_LOCK | (at), .flags = F_LOGIC), \
	[g + 2] = LEAF(RMRW | A_LOCK | (at), .flags = F_ADC), \
	[g + 3] = LEAF(RMRW | A_LOCK | (at), .flags = F_ADC), \
	[g + 4] = LEAF(RMRW | A_LOCK | (at), .flags = F_LOGIC), \
	[g + 5] = LEAF(RMRW | A_LOCK | (at), .flags = F_ALL), \
	[g + 6] = LEAF(RMRW | A_LOCK | (at), .flags = F_LOGIC), \
	[g + 7] = LEAF(RM | (at), .flags = F_ALL)

#define SHIFTS(g, at, rot, rcl, sh, ...) \
	[g] = LEAF(RMRW | (at), .flags = rot, __VA_ARGS__), \
	[g + 1] = LEAF(RMRW | (at), .flags = rot, __VA_ARGS__), \
	[g + 2] = LEAF(RMRW | (at), .flags = rcl, __VA_ARGS__), \
	[g + 3] = LEAF(RMRW | (at), .flags = rcl, __VA_ARGS__), \
	[g + 4] = LEAF(RMRW | (at), .flags = sh, __VA_ARGS__), \
	[g + 5] = LEAF(RMRW | (at), .flags = sh, __VA_ARGS__), \
	[g + 6] = LEAF(RMRW | (at), .flags = sh, __VA_ARGS__), \
	[g + 7] = LEAF(RMRW | (at), .flags = sh, __VA_ARGS__)

#define X_R(...) LEAF(A_MODRM | A_RM_R | A_RM_X, .classes = X87 __VA_ARGS__)
#define X_W(...) LEAF(A_MODRM | A_RM_W | A_RM_X, .classes = X87 __VA_ARGS__)
#define X_X(...) LEAF(A_MODRM | A_RM_X, .classes = X87 __VA_ARGS__)
#define X_ARITH(g) \
	[g] = X_R(), [g + 1] = X_R(| CLASS_MUL_FP), [g + 2] = X_R(), [g + 3] = X_R(), \
	[g + 4] = X_R(), [g + 5] = X_R(), [g + 6] = X_R(| CLASS_DIV_FP), [g + 7] = X_R(| CLASS_DIV_FP)
#define FCMOV(g) \
	[g] = X_X(, .flags = F_READ_CF), [g + 1] = X_X(, .flags = F_READ_ZF), \
	[g + 2] = X_X(, .flags = F_READ_CF_ZF), [g + 3] = X_X(, .flags = F_READ_PF)

#define RMX (A_MODRM | A_RM_X)
#define BIT(at) LEAF((at) | IB, .flags = F_BT)
#define SAVE(sp) LEAF(A_MODRM | A_RM_W | A_RM_X, .regs = R_D_R_A_R, .special = sp)
#define RESTORE LEAF(A_MODRM | A_RM_R | A_RM_X, .regs = R_D_R_A_R, .special = SPECIAL_MACHINE)
#define RDBASE(sp) LEAF(RMW | A_NO66, .special = sp)
#define WRBASE(sp) LEAF(RM | A_NO66, .special = sp)
#define PADLOCK(cl) LEAF(RMX | A_NOMEM | A_IMPLICIT | A_STRING, .regs = R_EVERYTHING, .flags = F_EVERYTHING, .classes = (cl))
#define RDTSCP LEAF(RMX | A_NO66, .regs = R_RDTSCP, .special = SPECIAL_RDTSC)
#define CLZERO LEAF(RMX | A_IMPLICIT, .regs = R_A_R, .classes = ST)
#define RDPRU LEAF(RMX | A_NO66, .regs = R_RDPMC, .flags = F_EVERYTHING)
#define RANDOM LEAF(RMW, .flags = F_ALL, .special = SPECIAL_RANDOM)
#define SHSTK(...) LEAF(__VA_ARGS__, .special = SPECIAL_SHSTK)

const struct op decode_groups[G_COUNT] = {
	GROUP1(G_80, A_RM8 | IB), GROUP1(G_81, IZ), GROUP1(G_83, IB),
	[G_86] = LEAF(RMRW | A_REG_R | A_REG_W | B8 | A_LOCK, .classes = CLASS_LOCKED),
	[G_86 + 1] = LEAF(RMRW | A_REG_R | A_REG_W | B8),
	[G_87] = LEAF(RMRW | A_REG_R | A_REG_W | A_LOCK, .classes = CLASS_LOCKED),
	[G_87 + 1] = LEAF(RMRW | A_REG_R | A_REG_W),
	[G_8C] = LEAF(RMW), [G_8C + 1] = LEAF(RMW), [G_8C + 2] = LEAF(RMW),
	[G_8C + 3] = LEAF(RMW), [G_8C + 4] = LEAF(RMW), [G_8C + 5] = LEAF(RMW),
	[G_8E] = LEAF(RM), [G_8E + 2] = LEAF(RM), [G_8E + 3] = LEAF(RM), [G_8E + 4] = LEAF(RM),
	[G_8E + 5] = LEAF(RM, .special = SPECIAL_GS_LOAD),
	[G_8F] = LEAF(RMW | A_IMPLICIT, .regs = R_SP, .classes = LD),
	[G_90] = LEAF(0),					/* nop, pause */
	[G_90 + 1] = LEAF(A_OP_R | A_OP_W, .regs = R_A_RW),
	SHIFTS(G_C0, A_RM8 | IB | A_SHIFT, F_ROT, F_RCL, F_SHIFT, .regs = R_NONE),
	SHIFTS(G_C1, IB | A_SHIFT, F_ROT, F_RCL, F_SHIFT, .regs = R_NONE),
	SHIFTS(G_D0, A_RM8, F_ROT, F_RCL, F_SHIFT, .regs = R_NONE),
	SHIFTS(G_D1, 0, F_ROT, F_RCL, F_SHIFT, .regs = R_NONE),
	SHIFTS(G_D2, A_RM8, F_ROT_MAYBE, F_RCL_MAYBE, F_MAYBE, .regs = R_C_R),
	SHIFTS(G_D3, 0, F_ROT_MAYBE, F_RCL_MAYBE, F_MAYBE, .regs = R_C_R),
	[G_C6] = LEAF(RMW | A_RM8 | IB), [G_C6 + 7] = STEP(K_MOD, G_C6_7),
	[G_C7] = LEAF(RMW | IZ), [G_C7 + 7] = STEP(K_MOD, G_C7_7),
	[G_C6_7 + 1] = STEP(K_RM, G_C6_F8), [G_C7_7 + 1] = STEP(K_RM, G_C7_F8),
	[G_C6_F8] = LEAF(A_MODRM | A_RM_X | IB, .special = SPECIAL_XABORT, .regs = R_A_W,
			 .flags = F_EVERYTHING),
	[G_C7_F8] = LEAF(A_MODRM | A_RM_X | IZ, .flow = FLOW_XBEGIN, .regs = R_A_W,
			 .flags = F_EVERYTHING),
	[G_F6] = LEAF(RM | A_RM8 | IB, .flags = F_LOGIC), [G_F6 + 1] = LEAF(RM | A_RM8 | IB, .flags = F_LOGIC),
	[G_F6 + 2] = LEAF(RMRW | A_RM8 | A_LOCK), [G_F6 + 3] = LEAF(RMRW | A_RM8 | A_LOCK, .flags = F_ALL),
	[G_F6 + 4] = LEAF(RM | A_RM8, .flags = F_MUL, .regs = R_A_RW, .classes = CLASS_MUL),
	[G_F6 + 5] = LEAF(RM | A_RM8, .flags = F_MUL, .regs = R_A_RW, .classes = CLASS_MUL),
	[G_F6 + 6] = LEAF(RM | A_RM8, .flags = F_MAYBE, .regs = R_A_RW, .classes = CLASS_DIV),
	[G_F6 + 7] = LEAF(RM | A_RM8, .flags = F_MAYBE, .regs = R_A_RW, .classes = CLASS_DIV),
	[G_F7] = LEAF(RM | IZ, .flags = F_LOGIC), [G_F7 + 1] = LEAF(RM | IZ, .flags = F_LOGIC),
	[G_F7 + 2] = LEAF(RMRW | A_LOCK), [G_F7 + 3] = LEAF(RMRW | A_LOCK, .flags = F_ALL),
	[G_F7 + 4] = LEAF(RM, .flags = F_MUL, .regs = R_MUL, .classes = CLASS_MUL),
	[G_F7 + 5] = LEAF(RM, .flags = F_MUL, .regs = R_MUL, .classes = CLASS_MUL),
	[G_F7 + 6] = LEAF(RM, .flags = F_MAYBE, .regs = R_DIV, .classes = CLASS_DIV),
	[G_F7 + 7] = LEAF(RM, .flags = F_MAYBE, .regs = R_DIV, .classes = CLASS_DIV),
	[G_FE] = LEAF(RMRW | A_RM8 | A_LOCK, .flags = F_INC), [G_FE + 1] = LEAF(RMRW | A_RM8 | A_LOCK, .flags = F_INC),
	[G_FF] = LEAF(RMRW | A_LOCK, .flags = F_INC), [G_FF + 1] = LEAF(RMRW | A_LOCK, .flags = F_INC),
	[G_FF + 2] = LEAF(RM | A_IMPLICIT | A_BRANCH, .flow = FLOW_CALL_IND, .regs = R_SP,
			  .classes = BR | CLASS_CALL | CLASS_INDIRECT | ST),
	[G_FF + 3] = FAR(RM | A_NOREG | A_IMPLICIT, .regs = R_SP, .flags = F_EVERYTHING, .classes = BR | CLASS_FAR | ST),
	[G_FF + 4] = LEAF(RM | A_BRANCH, .flow = FLOW_JMP_IND, .classes = BR | CLASS_INDIRECT),
	[G_FF + 5] = FAR(RM | A_NOREG, .flags = F_EVERYTHING, .classes = BR | CLASS_FAR),
	[G_FF + 6] = LEAF(RM | A_IMPLICIT, .regs = R_SP, .classes = ST),

	[G_D8] = STEP(K_REG, G_D8_MEM), [G_D8 + 1] = STEP(K_REG, G_D8_REG),
	[G_D9] = STEP(K_REG, G_D9_MEM), [G_D9 + 1] = STEP(K_REG, G_D9_REG),
	[G_DA] = STEP(K_REG, G_DA_MEM), [G_DA + 1] = STEP(K_REG, G_DA_REG),
	[G_DB] = STEP(K_REG, G_DB_MEM), [G_DB + 1] = STEP(K_REG, G_DB_REG),
	[G_DC] = STEP(K_REG, G_D8_MEM), [G_DC + 1] = STEP(K_REG, G_D8_REG),
	[G_DD] = STEP(K_REG, G_DD_MEM), [G_DD + 1] = STEP(K_REG, G_DD_REG),
	[G_DE] = STEP(K_REG, G_DA_MEM), [G_DE + 1] = STEP(K_REG, G_DE_REG),
	[G_DF] = STEP(K_REG, G_DF_MEM), [G_DF + 1] = STEP(K_REG, G_DF_REG),
	X_ARITH(G_D8_MEM), X_ARITH(G_D8_REG), X_ARITH(G_DA_MEM),
	[G_D9_MEM] = X_R(), [G_D9_MEM + 2] = X_W(), [G_D9_MEM + 3] = X_W(), [G_D9_MEM + 4] = X_R(),
	[G_D9_MEM + 5] = X_R(), [G_D9_MEM + 6] = X_W(, .special = SPECIAL_FP_ENV), [G_D9_MEM + 7] = X_W(),
	[G_DB_MEM] = X_R(), [G_DB_MEM + 1] = X_W(), [G_DB_MEM + 2] = X_W(), [G_DB_MEM + 3] = X_W(),
	[G_DB_MEM + 5] = X_R(), [G_DB_MEM + 7] = X_W(),
	[G_DD_MEM] = X_R(), [G_DD_MEM + 1] = X_W(), [G_DD_MEM + 2] = X_W(), [G_DD_MEM + 3] = X_W(),
	[G_DD_MEM + 4] = X_R(), [G_DD_MEM + 6] = X_W(, .special = SPECIAL_FP_ENV), [G_DD_MEM + 7] = X_W(),
	[G_DF_MEM] = X_R(), [G_DF_MEM + 1] = X_W(), [G_DF_MEM + 2] = X_W(), [G_DF_MEM + 3] = X_W(),
	[G_DF_MEM + 4] = X_R(), [G_DF_MEM + 5] = X_R(), [G_DF_MEM + 6] = X_W(), [G_DF_MEM + 7] = X_W(),
	[G_D9_REG] = X_X(), [G_D9_REG + 1] = X_X(), [G_D9_REG + 2] = STEP(K_RM, G_D9_D0), [G_D9_REG + 3] = X_X(),
	[G_D9_REG + 4] = STEP(K_RM, G_D9_E0), [G_D9_REG + 5] = STEP(K_RM, G_D9_E8),
	[G_D9_REG + 6] = X_X(), [G_D9_REG + 7] = X_X(),
	[G_D9_D0] = X_X(),
	[G_D9_E0] = X_X(), [G_D9_E0 + 1] = X_X(), [G_D9_E0 + 4] = X_X(), [G_D9_E0 + 5] = X_X(),
	[G_D9_E8] = X_X(), [G_D9_E8 + 1] = X_X(), [G_D9_E8 + 2] = X_X(), [G_D9_E8 + 3] = X_X(),
	[G_D9_E8 + 4] = X_X(), [G_D9_E8 + 5] = X_X(), [G_D9_E8 + 6] = X_X(),
	FCMOV(G_DA_REG), [G_DA_REG + 5] = STEP(K_RM, G_DA_E8), [G_DA_E8 + 1] = X_X(),
	FCMOV(G_DB_REG), [G_DB_REG + 4] = STEP(K_RM, G_DB_E0),
	[G_DB_REG + 5] = X_X(, .flags = F_COMPARE_X87), [G_DB_REG + 6] = X_X(, .flags = F_COMPARE_X87),
	[G_DB_E0] = X_X(), [G_DB_E0 + 1] = X_X(), [G_DB_E0 + 2] = X_X(), [G_DB_E0 + 3] = X_X(), [G_DB_E0 + 4] = X_X(),
	[G_DD_REG] = X_X(), [G_DD_REG + 1] = X_X(), [G_DD_REG + 2] = X_X(), [G_DD_REG + 3] = X_X(),
	[G_DD_REG + 4] = X_X(), [G_DD_REG + 5] = X_X(),
	[G_DE_REG] = X_X(), [G_DE_REG + 1] = X_X(| CLASS_MUL_FP), [G_DE_REG + 2] = X_X(),
	[G_DE_REG + 3] = STEP(K_RM, G_DE_D8), [G_DE_REG + 4] = X_X(), [G_DE_REG + 5] = X_X(),
	[G_DE_REG + 6] = X_X(| CLASS_DIV_FP), [G_DE_REG + 7] = X_X(| CLASS_DIV_FP),
	[G_DE_D8 + 1] = X_X(),
	[G_DF_REG] = X_X(), [G_DF_REG + 1] = X_X(), [G_DF_REG + 2] = X_X(), [G_DF_REG + 3] = X_X(),
	[G_DF_REG + 4] = STEP(K_RM, G_DF_E0), [G_DF_E0] = X_X(, .regs = R_A_W),
	[G_DF_REG + 5] = X_X(, .flags = F_COMPARE_X87), [G_DF_REG + 6] = X_X(, .flags = F_COMPARE_X87),

	[G_0F00] = LEAF(RMW), [G_0F00 + 1] = LEAF(RMW), [G_0F00 + 2] = FAULT(RM), [G_0F00 + 3] = FAULT(RM),
	[G_0F00 + 4] = LEAF(RM, .flags = F_ZF), [G_0F00 + 5] = LEAF(RM, .flags = F_ZF),
	[G_0F01] = STEP(K_REG, G_0F01_MEM), [G_0F01 + 1] = STEP(K_REG, G_0F01_REG),
	[G_0F01_MEM] = LEAF(RMW), [G_0F01_MEM + 1] = LEAF(RMW), [G_0F01_MEM + 2] = FAULT(RM),
	[G_0F01_MEM + 3] = FAULT(RM), [G_0F01_MEM + 4] = LEAF(RMW), [G_0F01_MEM + 5] = STEP_PP(G_0F01_5),
	[G_0F01_MEM + 6] = FAULT(RM), [G_0F01_MEM + 7] = FAULT(A_MODRM | A_ADDRESS),
	[G_0F01_5 + 2] = SHSTK(RMRW | A_NO66, .flags = F_EVERYTHING),		/* rstorssp */
	[G_0F01_REG] = STEP(K_RM, G_0F01_0), [G_0F01_REG + 1] = STEP(K_RM, G_0F01_1),
	[G_0F01_REG + 2] = STEP(K_RM, G_0F01_2), [G_0F01_REG + 3] = STEP(K_RM, G_0F01_3),
	[G_0F01_REG + 4] = LEAF(RMW), [G_0F01_REG + 5] = STEP(K_RM, G_0F01_R5),
	[G_0F01_REG + 6] = FAULT(RM), [G_0F01_REG + 7] = STEP(K_RM, G_0F01_7),
	/* enclv vmcall vmlaunch vmresume vmxoff pconfig */
	[G_0F01_0] = FAULT(RMX | A_NP, .regs = R_EVERYTHING), [G_0F01_0 + 1] = FAULT(RMX | A_NP, .flags = F_EVERYTHING),
	[G_0F01_0 + 2] = FAULT(RMX | A_NP, .flags = F_EVERYTHING), [G_0F01_0 + 3] = FAULT(RMX | A_NP, .flags = F_EVERYTHING),
	[G_0F01_0 + 4] = FAULT(RMX | A_NP, .flags = F_EVERYTHING),
	[G_0F01_0 + 5] = FAULT(RMX | A_NP, .flags = F_EVERYTHING, .regs = R_EVERYTHING),
	/* monitor mwait clac stac … encls */
	[G_0F01_1] = FAULT(RMX | A_NP, .regs = R_A_C_D_R), [G_0F01_1 + 1] = FAULT(RMX | A_NP, .regs = R_A_C_R),
	[G_0F01_1 + 2] = FAULT(RMX | A_NP), [G_0F01_1 + 3] = FAULT(RMX | A_NP),
	/* tdcall seamret seamops, encls or seamcall */
	[G_0F01_1 + 4] = STEP_PP(G_0F01_CC), [G_0F01_1 + 5] = STEP_PP(G_0F01_CC), [G_0F01_1 + 6] = STEP_PP(G_0F01_CC),
	[G_0F01_1 + 7] = STEP_PP(G_0F01_CF), [G_0F01_CC + 1] = FAULT(RMX),
	[G_0F01_CF] = FAULT(RMX), [G_0F01_CF + 1] = FAULT(RMX),
	/* xgetbv xsetbv … vmfunc xend xtest enclu */
	[G_0F01_2] = LEAF(RMX | A_NP, .regs = R_RDPMC, .special = SPECIAL_MACHINE), [G_0F01_2 + 1] = FAULT(RMX | A_NP, .regs = R_A_C_D_R),
	[G_0F01_2 + 4] = FAULT(RMX | A_NP, .regs = R_A_C_R),
	[G_0F01_2 + 5] = LEAF(RMX | A_NP, .special = SPECIAL_XEND),
	[G_0F01_2 + 6] = LEAF(RMX | A_NP, .special = SPECIAL_XTEST, .flags = F_ALL),
	[G_0F01_2 + 7] = FAR(RMX | A_NP, .regs = R_EVERYTHING, .flags = F_EVERYTHING, .classes = BR | CLASS_FAR),
	/* AMD SVM: vmrun vmmcall vmload vmsave stgi clgi skinit invlpga */
	EIGHT(G_0F01_3, FAULT(RMX, .regs = R_EVERYTHING, .flags = F_EVERYTHING)),
	[G_0F01_R5] = STEP_PP(G_0F01_E8), [G_0F01_R5 + 1] = STEP_PP(G_0F01_E9),
	[G_0F01_R5 + 2] = STEP_PP(G_0F01_EA), [G_0F01_R5 + 4] = STEP_PP(G_0F01_EC),
	[G_0F01_R5 + 5] = STEP_PP(G_0F01_ED), [G_0F01_R5 + 6] = STEP_PP(G_0F01_EE),
	[G_0F01_R5 + 7] = STEP_PP(G_0F01_EF),
	[G_0F01_E8] = LEAF(RMX, .classes = CLASS_FENCE), [G_0F01_E8 + 2] = FAULT(RMX, .special = SPECIAL_SHSTK),
	[G_0F01_E8 + 3] = LEAF(RMX), [G_0F01_E9 + 3] = LEAF(RMX),
	[G_0F01_EA + 2] = SHSTK(RMX, .flags = F_EVERYTHING),			/* saveprevssp */
	[G_0F01_EC + 2] = FAR(RMX | A_IMPLICIT, .regs = R_SP, .flags = F_EVERYTHING,
			      .classes = BR | CLASS_FAR | LD),			/* uiret */
	[G_0F01_ED + 2] = LEAF(RMX, .flags = F_ALL),
	[G_0F01_EE] = LEAF(RMX, .regs = R_RDPKRU), [G_0F01_EE + 2] = LEAF(RMX),
	[G_0F01_EF] = LEAF(RMX, .regs = R_A_C_D_R, .special = SPECIAL_WRPKRU), [G_0F01_EF + 2] = LEAF(RMX),
	/* swapgs rdtscp monitorx mwaitx clzero rdpru invlpgb tlbsync */
	[G_0F01_7] = FAULT(RMX),
	[G_0F01_7 + 1] = RDTSCP,
	[G_0F01_7 + 2] = STEP_PP(G_0F01_FA), [G_0F01_FA] = LEAF(RMX | A_IMPLICIT, .regs = R_A_C_D_R),
	[G_0F01_FA + 2] = LEAF(RMX, .flags = F_ALL),				/* mcommit */
	[G_0F01_7 + 3] = LEAF(RMX | A_NP, .regs = R_MWAITX),
	[G_0F01_7 + 4] = CLZERO,
	[G_0F01_7 + 5] = RDPRU,
	[G_0F01_7 + 6] = STEP_PP(G_0F01_FE), [G_0F01_7 + 7] = STEP_PP(G_0F01_FF),
	[G_0F01_FE] = FAULT(RMX), [G_0F01_FE + 2] = FAULT(RMX), [G_0F01_FE + 3] = FAULT(RMX),
	[G_0F01_FF] = FAULT(RMX), [G_0F01_FF + 2] = FAULT(RMX), [G_0F01_FF + 3] = FAULT(RMX),
	[G_0F09] = FAULT(0), [G_0F09 + 1] = FAULT(0), [G_0F09 + 2] = FAULT(0), [G_0F09 + 3] = FAULT(0),
	[G_0F0D] = LEAF(A_MODRM | A_RM_X | A_RM_R), [G_0F0D + 1] = NOP_RM,
	[G_0F18] = STEP(K_REG, G_0F18_MEM), [G_0F18 + 1] = NOP_RM,
	[G_0F18_MEM] = LEAF(RM), [G_0F18_MEM + 1] = LEAF(RM), [G_0F18_MEM + 2] = LEAF(RM), [G_0F18_MEM + 3] = LEAF(RM),
	[G_0F18_MEM + 4] = NOP_RM, [G_0F18_MEM + 5] = NOP_RM, [G_0F18_MEM + 6] = NOP_RM, [G_0F18_MEM + 7] = NOP_RM,
	[G_0F1E] = NOP_RM, [G_0F1E + 1] = NOP_RM, [G_0F1E + 2] = STEP(K_MOD, G_0F1E_F3), [G_0F1E + 3] = NOP_RM,
	[G_0F1E_F3] = NOP_RM, [G_0F1E_F3 + 1] = STEP(K_REG, G_0F1E_F3_REG),
	[G_0F1E_F3_REG] = NOP_RM, [G_0F1E_F3_REG + 1] = SHSTK(RMRW | A_PARTIAL | A_NO66),	/* rdssp */
	[G_0F1E_F3_REG + 2] = NOP_RM, [G_0F1E_F3_REG + 3] = NOP_RM, [G_0F1E_F3_REG + 4] = NOP_RM,
	[G_0F1E_F3_REG + 5] = NOP_RM, [G_0F1E_F3_REG + 6] = NOP_RM,
	[G_0F1E_F3_REG + 7] = NOP_RM,						/* endbr */
	[G_0F78] = FAULT(RMW | A_REG_R, .flags = F_EVERYTHING), [G_0F78 + 1] = STEP(K_REG, G_0F78_66),
	[G_0F78 + 3] = LEAF(RMX | A_NOMEM | A_IMM(I_8_8) | A_NO66),	/* insertq */
	[G_0F78_66] = LEAF(RMX | A_NOMEM | A_IMM(I_8_8) | A_NO66),	/* extrq */
	[G_0F79] = FAULT(RM | A_REG_R, .flags = F_EVERYTHING),
	[G_0F79 + 1] = LEAF(RMX | A_NOMEM | A_NO66),
	[G_0F79 + 3] = LEAF(RMX | A_NOMEM | A_NO66),
	[G_0FAE] = STEP_PP(G_0FAE_MEM), [G_0FAE + 1] = STEP_PP(G_0FAE_REG),
	[G_0FAE_MEM] = STEP(K_REG, G_0FAE_M0), [G_0FAE_MEM + 1] = STEP(K_REG, G_0FAE_M66),
	[G_0FAE_MEM + 2] = STEP(K_REG, G_0FAE_MF3),
	[G_0FAE_M0] = LEAF(RMW, .special = SPECIAL_FP_ENV), [G_0FAE_M0 + 1] = LEAF(RM),
	[G_0FAE_M0 + 2] = LEAF(RM), [G_0FAE_M0 + 3] = LEAF(RMW),	/* ldmxcsr stmxcsr */
	[G_0FAE_M0 + 4] = SAVE(SPECIAL_FP_ENV), [G_0FAE_M0 + 5] = RESTORE, [G_0FAE_M0 + 6] = SAVE(SPECIAL_FP_ENV),
	[G_0FAE_M0 + 7] = LEAF(A_MODRM | A_RM_X),			/* clflush */
	[G_0FAE_M66 + 6] = LEAF(A_MODRM | A_RM_X | A_NO66), [G_0FAE_M66 + 7] = LEAF(A_MODRM | A_RM_X | A_NO66),
	[G_0FAE_MF3 + 4] = LEAF(RM | A_NO66),				/* ptwrite */
	[G_0FAE_MF3 + 6] = FAULT(RMRW | A_NO66, .special = SPECIAL_SHSTK, .flags = F_EVERYTHING),
	[G_0FAE_REG] = STEP(K_REG, G_0FAE_R0), [G_0FAE_REG + 1] = STEP(K_REG, G_0FAE_R66),
	[G_0FAE_REG + 2] = STEP(K_REG, G_0FAE_RF3), [G_0FAE_REG + 3] = STEP(K_REG, G_0FAE_RF2),
	[G_0FAE_R0 + 5] = LEAF(RMX, .classes = CLASS_FENCE), [G_0FAE_R0 + 6] = LEAF(RMX, .classes = CLASS_FENCE),
	[G_0FAE_R0 + 7] = LEAF(RMX, .classes = CLASS_FENCE),
	[G_0FAE_R66 + 6] = LEAF(RM | A_NO66, .regs = R_D_R_A_R, .flags = F_ALL),	/* tpause */
	[G_0FAE_RF3] = RDBASE(SPECIAL_NONE), [G_0FAE_RF3 + 1] = RDBASE(SPECIAL_GSBASE_READ),
	[G_0FAE_RF3 + 2] = WRBASE(SPECIAL_NONE), [G_0FAE_RF3 + 3] = WRBASE(SPECIAL_GSBASE_WRITE),
	[G_0FAE_RF3 + 4] = LEAF(RM | A_NO66), [G_0FAE_RF3 + 5] = SHSTK(RM | A_NO66),
	[G_0FAE_RF3 + 6] = LEAF(RM | A_NO66 | A_IMPLICIT),				/* umonitor */
	[G_0FAE_RF2 + 6] = LEAF(RM | A_NO66, .regs = R_D_R_A_R, .flags = F_ALL),	/* umwait */
	[G_0FB8 + 2] = LEAF(RM | A_REG_W, .flags = F_ALL),				/* popcnt */
	[G_0FBA + 4] = BIT(RM), [G_0FBA + 5] = BIT(RMRW | A_LOCK),
	[G_0FBA + 6] = BIT(RMRW | A_LOCK), [G_0FBA + 7] = BIT(RMRW | A_LOCK),
	/* bsf and bsr keep the register when the source is 0; tzcnt and lzcnt are
	 * bsf and bsr on a CPU that lacks them. */
	[G_0FBC] = LEAF(RM | A_REG_R | A_REG_W, .flags = F_ZF_UNDEF), [G_0FBC + 1] = LEAF(RM | A_REG_R | A_REG_W, .flags = F_ZF_UNDEF),
	[G_0FBC + 2] = LEAF(RM | A_REG_R | A_REG_W, .flags = F_COUNT_ZEROES), [G_0FBC + 3] = LEAF(RM | A_REG_R | A_REG_W, .flags = F_ZF_UNDEF),
	[G_0FBD] = LEAF(RM | A_REG_R | A_REG_W, .flags = F_ZF_UNDEF), [G_0FBD + 1] = LEAF(RM | A_REG_R | A_REG_W, .flags = F_ZF_UNDEF),
	[G_0FBD + 2] = LEAF(RM | A_REG_R | A_REG_W, .flags = F_COUNT_ZEROES), [G_0FBD + 3] = LEAF(RM | A_REG_R | A_REG_W, .flags = F_ZF_UNDEF),
	[G_0FC7] = STEP(K_REG, G_0FC7_MEM), [G_0FC7 + 1] = STEP(K_REG, G_0FC7_REG),
	[G_0FC7_MEM + 1] = LEAF(RMRW | A_LOCK, .regs = R_CMPXCHG8B, .flags = F_ZF),
	[G_0FC7_MEM + 3] = FAULT(RM | A_NP, .regs = R_D_R_A_R),				/* xrstors */
	[G_0FC7_MEM + 4] = LEAF(RMW | A_NP, .regs = R_D_R_A_R, .special = SPECIAL_FP_ENV),				/* xsavec */
	[G_0FC7_MEM + 5] = FAULT(RMW | A_NP, .regs = R_D_R_A_R, .special = SPECIAL_FP_ENV),	/* xsaves */
	[G_0FC7_MEM + 6] = STEP_PP(G_0FC7_6), [G_0FC7_MEM + 7] = FAULT(RMW | A_NP, .flags = F_EVERYTHING),
	[G_0FC7_6] = FAULT(RM, .flags = F_EVERYTHING), [G_0FC7_6 + 1] = FAULT(RMW, .flags = F_EVERYTHING),
	[G_0FC7_6 + 2] = FAULT(RM, .flags = F_EVERYTHING),
	[G_0FC7_REG + 6] = STEP_PP(G_0FC7_R6), [G_0FC7_REG + 7] = STEP_PP(G_0FC7_R7),
	[G_0FC7_R6] = RANDOM, [G_0FC7_R6 + 1] = RANDOM,
	[G_0FC7_R6 + 2] = LEAF(RM | A_NO66),					/* senduipi */
	[G_0FC7_R7] = RANDOM, [G_0FC7_R7 + 1] = RANDOM,
	[G_0FC7_R7 + 2] = LEAF(RMW | A_NO66, .special = SPECIAL_MACHINE),						/* rdpid */
	[G_0FA6] = STEP(K_RM, G_0FA6_RM), [G_0FA6 + 1] = STEP(K_RM, G_0FA6_RM), [G_0FA6 + 2] = STEP(K_RM, G_0FA6_RM),
	[G_0FA7] = STEP(K_RM, G_0FA7_0), [G_0FA7 + 1] = STEP(K_RM, G_0FA6_RM), [G_0FA7 + 2] = STEP(K_RM, G_0FA6_RM),
	[G_0FA7 + 3] = STEP(K_RM, G_0FA6_RM), [G_0FA7 + 4] = STEP(K_RM, G_0FA6_RM), [G_0FA7 + 5] = STEP(K_RM, G_0FA6_RM),
	[G_0FA6_RM] = STEP_PP(G_0FA6_REP),
	[G_0FA6_REP + 2] = PADLOCK(LD | ST), [G_0FA7_0] = STEP_PP(G_XSTORE),
	[G_XSTORE] = PADLOCK(ST), [G_XSTORE + 1] = PADLOCK(ST), [G_XSTORE + 2] = PADLOCK(ST),
};

/* pi2fw pi2fd pf2iw pf2id pfnacc pfpnacc pfcmpge pfmin pfrcp pfrsqrt pfsub pfadd
 * pfcmpgt pfmax pfrcpit1 pfrsqit1 pfsubr pfacc pfcmpeq pfmul pfrcpit2 pmulhrw
 * pswapd pavgusb: 0c 0d 1c 1d 8a 8e 90 94 96 97 9a 9e a0 a4 a6 a7 aa ae b0 b4 b6
 * b7 bb bf */
const uint8_t decode_3dnow[32] = {
	[0x01] = 0x30, [0x03] = 0x30, [0x11] = 0x44, [0x12] = 0xd1, [0x13] = 0x44, [0x14] = 0xd1, [0x15] = 0x44, [0x16] = 0xd1, [0x17] = 0x88,
};
