/* What the engine reads out of the decoder, instruction by instruction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "decode.h"
#include "machine-abi.h"

static struct insn in;

#define DECODE(...) decode((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* Decodes bytes that are just there: nothing behind them may be looked at. */
static int decode(const uint8_t *bytes, unsigned n)
{
	memset(&in, 0xaa, sizeof(in));
	return decode_insn(&in, bytes, n);
}

static void lengths(void **state)
{
	assert_int_equal(DECODE(0x90), 1);
	assert_int_equal(DECODE(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8), 10);		/* mov rax, imm64 */
	assert_int_equal(in.imm, 0x0807060504030201);
	assert_int_equal(DECODE(0x66, 0xb8, 1, 2), 4);
	assert_int_equal(DECODE(0x67, 0xa0, 1, 2, 3, 4), 6);				/* mov al, [moffs32] */
	assert_int_equal(DECODE(0xc8, 0x10, 0, 1), 4);					/* enter 16, 1 */
	assert_int_equal(in.classes, CLASS_STORE);
	assert_int_equal(in.imm, 0x10010);
	assert_int_equal(DECODE(0xc8, 0x10, 0, 2), 4);					/* enter 16, 2 */
	assert_int_equal(in.classes, CLASS_LOAD | CLASS_STORE);
	assert_int_equal(DECODE(0xc8, 0x10, 0, 33), 4);					/* the level is modulo 32 */
	assert_int_equal(in.classes, CLASS_STORE);
	assert_int_equal(DECODE(0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0), 11);
	assert_int_equal(in.classes & (CLASS_LOAD | CLASS_STORE), 0);
	assert_int_equal(DECODE(0x62, 0xf1, 0x7c, 0x48, 0x58, 0x48, 0x01), 7);		/* vaddps zmm1, zmm0, [rax+64] */
	assert_int_equal(in.encoding, 3);
	assert_int_equal(in.classes, CLASS_FP | CLASS_LOAD);
}

static void needs_more(void **state)
{
	const uint8_t call[] = { 0xe8, 1, 2, 3, 4 };
	for (unsigned n = 0; n < sizeof(call); n++)
		assert_int_equal(decode(call, n), 0);
	assert_int_equal(decode(call, sizeof(call)), 5);
	/* what is no instruction needs no more bytes to be none */
	assert_true(DECODE(0x06) < 0);
	assert_true(DECODE(0x0f, 0x04) < 0);
	/* whether this is one, only the suffix tells */
	assert_int_equal(DECODE(0x0f, 0x0f, 0xc1), 0);
	assert_true(DECODE(0x0f, 0x0f, 0xc1, 0x00) < 0);
	assert_int_equal(DECODE(0x0f, 0x0f, 0xc1, 0x9e), 4);
	assert_int_equal(in.map, 15);
	assert_int_equal(in.opcode, 0x9e);
}

static void fifteen_bytes(void **state)
{
	uint8_t nops[16];
	memset(nops, 0x66, sizeof(nops));
	nops[14] = 0x90;
	assert_int_equal(decode(nops, 16), 15);
	memset(nops, 0x66, sizeof(nops));
	nops[15] = 0x90;
	assert_true(decode(nops, 16) < 0);
	memset(nops, 0x2e, sizeof(nops));
	nops[10] = 0xb8;	/* mov eax, imm32 */
	assert_int_equal(decode(nops, 16), 15);
	nops[10] = 0x2e, nops[11] = 0xb8;
	assert_true(decode(nops, 16) < 0);
}

static void control_flow(void **state)
{
	assert_int_equal(DECODE(0xe8, 0xfb, 0xff, 0xff, 0xff), 5);
	assert_int_equal(in.flow, FLOW_CALL);
	assert_int_equal(in.imm, -5);
	assert_int_equal(DECODE(0x75, 0x80), 2);
	assert_int_equal(in.flow, FLOW_JCC);
	assert_int_equal(in.imm, -128);
	assert_int_equal(in.flags_read, FLAG_ZF);
	assert_int_equal(DECODE(0xe3, 0x05), 2);
	assert_int_equal(in.flow, FLOW_LOOP);
	assert_int_equal(DECODE(0xff, 0x25, 1, 0, 0, 0), 6);
	assert_int_equal(in.flow, FLOW_JMP_IND);
	assert_true(in.rip_relative && in.disp_off == 2 && in.disp_len == 4);
	assert_int_equal(in.classes, CLASS_BRANCH | CLASS_INDIRECT | CLASS_LOAD);
	assert_int_equal(DECODE(0xc2, 0xf8, 0xff), 3);
	assert_int_equal(in.flow, FLOW_RET);
	assert_int_equal(in.imm, 0xfff8);
	assert_int_equal(DECODE(0x0f, 0x05), 2);
	assert_int_equal(in.flow, FLOW_SYSCALL);
	assert_int_equal(DECODE(0xcd, 0x80), 2);
	assert_int_equal(in.flow, FLOW_INT);
	assert_int_equal(in.imm, 0x80);
	assert_true(in.classes & CLASS_SYSCALL);
	assert_int_equal(DECODE(0xcc), 1);
	assert_int_equal(in.imm, 3);
	assert_int_equal(DECODE(0xf4), 1);
	assert_int_equal(in.flow, FLOW_FAULT);
}

static void sixteen_bit_branches(void **state)
{
	assert_int_equal(DECODE(0x66, 0xe9, 1, 0, 0, 0), 6);
	assert_int_equal(in.branch16, 0);
	decode_amd_branches = true;
	const int len = DECODE(0x66, 0xe9, 1, 0, 0, 0);
	const int branch16 = in.branch16;
	const int wide = DECODE(0x66, 0x48, 0xe8, 1, 0, 0, 0);	/* what the TLS sequence has */
	decode_amd_branches = false;
	assert_int_equal(len, 4);
	assert_int_equal(branch16, 1);
	assert_int_equal(wide, 7);
}

static void registers(void **state)
{
	assert_int_equal(DECODE(0x48, 0x8b, 0x44, 0x8b, 0x08), 5);	/* mov rax, [rbx+rcx*4+8] */
	assert_int_equal(in.regs_read, 1 << 3 | 1 << 1);
	assert_int_equal(in.regs_written, 1);
	assert_int_equal(in.regs_killed, 1);
	assert_int_equal(DECODE(0x31, 0xc0), 2);			/* xor eax, eax */
	assert_int_equal(in.regs_read, 0);
	assert_int_equal(in.regs_killed, 1);
	assert_int_equal(DECODE(0x66, 0x31, 0xc0), 3);			/* xor ax, ax keeps the rest */
	assert_int_equal(in.regs_killed, 0);
	assert_int_equal(DECODE(0x45, 0x31, 0xc1), 3);			/* xor r9d, r8d */
	assert_int_equal(in.regs_read, 1 << 8 | 1 << 9);
	assert_int_equal(DECODE(0x88, 0xe0), 2);			/* mov al, ah */
	assert_int_equal(in.regs_read, 1);
	assert_int_equal(in.regs_killed, 0);
	assert_int_equal(DECODE(0x40, 0x88, 0xe0), 3);			/* mov al, spl */
	assert_int_equal(in.regs_read, 1 << 4);
	assert_int_equal(DECODE(0x0f, 0x44, 0xc1), 3);			/* cmove eax, ecx */
	assert_int_equal(in.regs_read, 1 | 1 << 1);
	assert_int_equal(in.regs_killed, 0);
	assert_int_equal(DECODE(0xf3, 0x48, 0xa5), 3);			/* rep movsq */
	assert_int_equal(in.regs_written, 1 << 1 | 1 << 6 | 1 << 7);
	assert_int_equal(in.classes, CLASS_LOAD | CLASS_STORE | CLASS_REP);
	assert_int_equal(DECODE(0xc4, 0xe2, 0xf3, 0xf6, 0xc3), 5);	/* mulx rax, rcx, rbx */
	assert_int_equal(in.regs_read, 1 << 2 | 1 << 3);
	assert_int_equal(in.regs_killed, 1 | 1 << 1);
}

static void flags(void **state)
{
	assert_int_equal(DECODE(0x48, 0xff, 0xc0), 3);			/* inc rax */
	assert_int_equal(in.flags_written, FLAG_ARITH & ~FLAG_CF);
	assert_int_equal(DECODE(0xd3, 0xe0), 2);			/* shl eax, cl */
	assert_int_equal(in.flags_written, 0);
	assert_int_equal(in.flags_touched, FLAG_ARITH);
	assert_int_equal(DECODE(0xc1, 0xe0, 0x20), 3);			/* shl eax, 32: nothing */
	assert_int_equal(in.flags_touched, 0);
	assert_int_equal(DECODE(0x48, 0xc1, 0xe0, 0x20), 4);		/* shl rax, 32: OF AF undefined */
	assert_int_equal(in.flags_written, FLAG_CF | FLAG_ZF | FLAG_SF | FLAG_PF);
	assert_int_equal(in.flags_touched, FLAG_ARITH);
	assert_int_equal(DECODE(0xd1, 0xe0), 2);			/* shl eax, 1: AF undefined */
	assert_int_equal(in.flags_written, FLAG_ARITH & ~FLAG_AF);
	assert_int_equal(DECODE(0xc1, 0xe0, 0x01), 3);			/* the same with an immediate */
	assert_int_equal(in.flags_written, FLAG_ARITH & ~FLAG_AF);
	assert_int_equal(DECODE(0xc0, 0xe0, 0x08), 3);			/* shl al, 8: CF undefined too */
	assert_int_equal(in.flags_written, FLAG_ZF | FLAG_SF | FLAG_PF);
	assert_int_equal(DECODE(0x48, 0xc0, 0xe0, 0x20), 4);		/* with REX.W by 32: perhaps by 0 */
	assert_int_equal(in.flags_written, 0);
	assert_int_equal(DECODE(0xc0, 0xc1, 0x11), 3);			/* rol cl, 17: Intel keeps OF */
	assert_int_equal(in.flags_written, FLAG_CF);
	assert_int_equal(in.flags_touched, FLAG_CF | FLAG_OF);
	assert_int_equal(DECODE(0x48, 0xc1, 0xc8, 0x3f), 4);		/* ror rax, 63 */
	assert_int_equal(in.flags_written, FLAG_CF);
	assert_int_equal(DECODE(0xc1, 0xc0, 0x21), 3);			/* rol eax, 33: by one */
	assert_int_equal(in.flags_written, FLAG_CF | FLAG_OF);
	assert_int_equal(DECODE(0xd1, 0xc0), 2);			/* rol eax, 1 */
	assert_int_equal(in.flags_written, FLAG_CF | FLAG_OF);
	assert_int_equal(DECODE(0xc0, 0xd0, 0x09), 3);			/* rcl al, 9: nothing happens */
	assert_int_equal(in.flags_written, 0);
	assert_int_equal(DECODE(0x66, 0xc1, 0xd8, 0x11), 4);		/* rcr ax, 17: likewise */
	assert_int_equal(in.flags_written, 0);
	assert_int_equal(DECODE(0xc1, 0xd0, 0x11), 3);			/* rcl eax, 17 */
	assert_int_equal(in.flags_written, FLAG_CF);
	assert_int_equal(DECODE(0x66, 0x0f, 0xa4, 0xc8, 0x11), 5);	/* shld ax, cx, 17: all undefined */
	assert_int_equal(in.flags_written, 0);
	assert_int_equal(DECODE(0x0f, 0xac, 0xc8, 0x11), 4);		/* shrd eax, ecx, 17 */
	assert_int_equal(in.flags_written, FLAG_CF | FLAG_ZF | FLAG_SF | FLAG_PF);
	assert_int_equal(DECODE(0x85, 0xc0), 2);			/* test: AF is cleared everywhere */
	assert_int_equal(in.flags_written, FLAG_ARITH);
	assert_int_equal(DECODE(0xc4, 0xe2, 0x70, 0xf2, 0xc3), 5);	/* andn: AF PF undefined */
	assert_int_equal(in.flags_written, FLAG_CF | FLAG_ZF | FLAG_SF | FLAG_OF);
	assert_int_equal(DECODE(0xf3, 0x0f, 0xbc, 0xc1), 4);		/* tzcnt, or bsf */
	assert_int_equal(in.flags_written, FLAG_ZF);
	assert_int_equal(DECODE(0xdb, 0xf1), 2);			/* fcomi */
	assert_int_equal(in.flags_written, FLAG_CF | FLAG_ZF | FLAG_PF);
	assert_int_equal(DECODE(0x48, 0x0f, 0xaf, 0xc1), 4);		/* imul: AMD keeps the undefined */
	assert_int_equal(in.flags_written, FLAG_CF | FLAG_OF);
	assert_int_equal(DECODE(0xf3, 0xa6), 2);			/* repe cmpsb, rcx may be 0 */
	assert_int_equal(in.flags_written, 0);
	assert_int_equal(DECODE(0x48, 0x8d, 0x04, 0x08), 4);		/* lea */
	assert_int_equal(in.flags_touched | in.flags_read, 0);
}

static void segments(void **state)
{
	assert_int_equal(DECODE(0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0), 9);
	assert_int_equal(in.seg_used, 0x64);
	assert_int_equal(in.disp_len, 4);
	assert_false(in.rip_relative);
	assert_int_equal(DECODE(0x65, 0x2e, 0x8b, 0x00), 4);		/* cs does not cancel gs */
	assert_int_equal(in.seg_used, 0x65);
	assert_int_equal(DECODE(0x65, 0x48, 0x8d, 0x00), 4);		/* lea */
	assert_int_equal(in.seg_used, 0);
	assert_int_equal(DECODE(0x65, 0xaa), 2);			/* stosb writes es:rdi */
	assert_int_equal(in.seg_used, 0);
	assert_int_equal(DECODE(0x65, 0xa4), 2);			/* movsb reads gs:rsi */
	assert_int_equal(in.seg_used, 0x65);
}

static void locks(void **state)
{
	assert_int_equal(DECODE(0xf0, 0x48, 0x0f, 0xb1, 0x0a), 5);	/* lock cmpxchg [rdx], rcx */
	assert_true(in.classes & CLASS_LOCKED);
	assert_int_equal(DECODE(0x87, 0x03), 2);			/* xchg [rbx], eax */
	assert_true(in.classes & CLASS_LOCKED);
	assert_int_equal(DECODE(0x87, 0xc3), 2);
	assert_false(in.classes & CLASS_LOCKED);
	assert_true(DECODE(0xf0, 0x01, 0xc0) < 0);			/* lock add eax, eax */
	assert_true(DECODE(0xf0, 0x8b, 0x00) < 0);			/* lock mov */
}

static void refusals(void **state)
{
	assert_true(DECODE(0x8d, 0xc0) < 0);				/* lea of a register */
	assert_true(DECODE(0x8e, 0xc8) < 0);				/* mov cs, ax */
	assert_true(DECODE(0x66, 0xc5, 0xf8, 0x58, 0xc0) < 0);		/* 66 before VEX */
	assert_true(DECODE(0x48, 0xc5, 0xf8, 0x58, 0xc0) < 0);		/* REX before VEX */
	assert_true(DECODE(0x62, 0xf1, 0x78, 0x48, 0x58, 0xc0) < 0);	/* EVEX with its fixed bit clear */
	assert_true(DECODE(0xc4, 0xe2, 0x7d, 0x92, 0x04, 0x08) < 0);	/* gather into its own index */
}

/* As GNU as 2.40 assembles them: the Zydis of the other test does not know these. */
static void newest(void **state)
{
	assert_int_equal(DECODE(0xc4, 0xe2, 0xf5, 0xb4, 0x13), 5);	/* {vex} vpmadd52luq (%rbx),%ymm1,%ymm2 */
	assert_int_equal(in.classes, CLASS_SIMD_INT | CLASS_LOAD);
	assert_int_equal(DECODE(0xc4, 0xe2, 0x73, 0x50, 0xd3), 5);	/* vpdpbssd */
	assert_int_equal(DECODE(0xc4, 0xe2, 0x70, 0x51, 0xd3), 5);	/* vpdpbuuds */
	assert_int_equal(DECODE(0xc4, 0xe2, 0x7e, 0xb0, 0x18), 5);	/* vcvtneebf162ps (%rax),%ymm3 */
	assert_int_equal(in.classes, CLASS_FP | CLASS_LOAD);
	assert_int_equal(DECODE(0xc4, 0xe2, 0x79, 0xb1, 0x18), 5);	/* vbcstnesh2ps (%rax),%xmm3 */
	assert_int_equal(DECODE(0xc4, 0xe2, 0x7a, 0x72, 0xd1), 5);	/* {vex} vcvtneps2bf16 */
	assert_int_equal(DECODE(0xc4, 0xe2, 0xf1, 0xe6, 0x13), 5);	/* cmpbexadd %rcx,%rdx,(%rbx) */
	assert_int_equal(in.classes, CLASS_LOAD | CLASS_STORE);
	assert_int_equal(in.regs_read, 1 << 1 | 1 << 2 | 1 << 3);
	assert_int_equal(in.regs_written, 1 << 2);
	assert_int_equal(in.flags_written, FLAG_ARITH);
	assert_int_equal(DECODE(0x48, 0x0f, 0x38, 0xfc, 0x0b), 5);	/* aadd %rcx,(%rbx) */
	assert_int_equal(in.classes, CLASS_LOAD | CLASS_STORE | CLASS_0F_NONBRANCH);
	assert_int_equal(DECODE(0xf3, 0x0f, 0x38, 0xfc, 0x0b), 5);	/* axor %ecx,(%rbx) */
	assert_int_equal(DECODE(0xc4, 0xe2, 0x73, 0x5c, 0xda), 5);	/* tdpfp16ps %tmm1,%tmm2,%tmm3 */
}

/* One instruction both ways: a step says the same, and is simple only where it may be. */
static void same_step(const uint8_t *bytes)
{
	struct insn whole, branch;
	struct step s;
	const int len = decode_insn(&whole, bytes, 32);
	assert_int_equal(decode_step(&s, &branch, bytes, 32) > 0, len > 0);
	if (len <= 0)
		return;
	assert_int_equal(s.len, whole.len);
	assert_int_equal(s.classes, whole.classes);
	assert_int_equal(s.flags_read, whole.flags_read);
	assert_int_equal(s.flags_written & ~whole.flags_written, 0);
	/* OF of a shift or rotate by 1, written with an immediate, is all it may leave out */
	assert_int_equal(whole.flags_written & ~s.flags_written & ~FLAG_OF, 0);
	if (s.simple) {
		assert_int_equal(whole.flow, FLOW_NEXT);
		assert_int_equal(whole.special, SPECIAL_NONE);
		assert_false(whole.rip_relative || whole.segment || whole.addr32 || whole.lock);
		assert_false(whole.map == 0 && whole.opcode == 0x8c);
		assert_false(whole.map == 1 && whole.opcode == 0xa8);
		return;
	}
	branch.regs_read = whole.regs_read;
	branch.regs_written = whole.regs_written;
	branch.regs_killed = whole.regs_killed;
	assert_memory_equal(&branch, &whole, sizeof(whole));
}

static void steps(void **state)
{
	static const uint8_t rexes[] = { 0, 0x40, 0x41, 0x48, 0x4f };
	static const uint8_t tails[][4] = { { 0, 0, 0, 0 }, { 0x25, 1, 2, 3 }, { 0xe4, 0x81, 0x40, 0xff } };
	for (unsigned i = 0; i < sizeof(rexes) * sizeof(tails) / 4 * 2; i++)
		for (unsigned j = 0; j < 0x10000; j++) {
			uint8_t bytes[32] = { 0 };
			unsigned n = 0;
			if (rexes[i / 6])
				bytes[n++] = rexes[i / 6];
			if (i & 1)
				bytes[n++] = 0x0f;
			bytes[n++] = (uint8_t)(j >> 8);
			bytes[n++] = (uint8_t)j;
			for (unsigned k = n; k < sizeof(bytes); k++)
				bytes[k] = tails[i / 2 % 3][k & 3];
			same_step(bytes);
		}
}

/* Assembled with GNU as. */
static void extensions(void **state)
{
	static const struct { unsigned ext, len; uint8_t bytes[12]; } rows[] = {
		{ EXT_NONE, 3, { 0x48, 0x89, 0xc3 } },				/* mov rbx, rax */
		{ EXT_NONE, 4, { 0x66, 0x0f, 0xef, 0xc0 } },			/* pxor */
		{ EXT_NONE, 5, { 0xf3, 0x48, 0x0f, 0xbc, 0xc0 } },		/* tzcnt, or bsf */
		{ EXT_NONE, 5, { 0xf3, 0x48, 0x0f, 0xb8, 0xc0 } },		/* popcnt */
		{ EXT_NONE, 4, { 0xf3, 0x0f, 0x1e, 0xfa } },			/* endbr64 */
		{ EXT_NONE, 3, { 0x0f, 0xae, 0xe8 } },				/* lfence */
		{ EXT_NONE, 4, { 0x48, 0x0f, 0xc7, 0x0f } },			/* cmpxchg16b */
		{ EXT_LZCNT, 5, { 0xf3, 0x48, 0x0f, 0xbd, 0xc0 } },
		{ EXT_SSE3, 4, { 0xf2, 0x0f, 0xf0, 0x07 } },			/* lddqu */
		{ EXT_SSSE3, 5, { 0x66, 0x0f, 0x38, 0x00, 0xc1 } },		/* pshufb */
		{ EXT_SSSE3, 6, { 0x66, 0x0f, 0x3a, 0x0f, 0xc1, 4 } },		/* palignr */
		{ EXT_SSE41, 5, { 0x66, 0x0f, 0x38, 0x17, 0xc1 } },		/* ptest */
		{ EXT_SSE42, 6, { 0x66, 0x0f, 0x3a, 0x63, 0xc1, 0 } },		/* pcmpistri */
		{ EXT_SSE42, 6, { 0xf2, 0x48, 0x0f, 0x38, 0xf1, 0xc1 } },	/* crc32 */
		{ EXT_MOVBE, 5, { 0x48, 0x0f, 0x38, 0xf0, 0x07 } },
		{ EXT_ADX, 6, { 0x66, 0x48, 0x0f, 0x38, 0xf6, 0xc1 } },		/* adcx */
		{ EXT_AES, 5, { 0x66, 0x0f, 0x38, 0xdc, 0xc1 } },
		{ EXT_PCLMUL, 6, { 0x66, 0x0f, 0x3a, 0x44, 0xc1, 0 } },
		{ EXT_SHA, 4, { 0x0f, 0x38, 0xcb, 0xc1 } },
		{ EXT_RDRAND, 3, { 0x0f, 0xc7, 0xf0 } },
		{ EXT_RDSEED, 3, { 0x0f, 0xc7, 0xf8 } },
		{ EXT_RDPID, 4, { 0xf3, 0x0f, 0xc7, 0xf8 } },
		{ EXT_RDTSCP, 3, { 0x0f, 0x01, 0xf9 } },
		{ EXT_FSGSBASE, 5, { 0xf3, 0x48, 0x0f, 0xae, 0xc0 } },
		{ EXT_XSAVE, 3, { 0x0f, 0xae, 0x27 } },
		{ EXT_XSAVEC, 3, { 0x0f, 0xc7, 0x27 } },
		{ EXT_CLFLUSHOPT, 4, { 0x66, 0x0f, 0xae, 0x3f } },
		{ EXT_AVX, 4, { 0xc5, 0xf8, 0x28, 0xc1 } },			/* vmovaps xmm */
		{ EXT_AVX, 4, { 0xc5, 0xf1, 0xfe, 0xd1 } },			/* vpaddd xmm */
		{ EXT_AVX2, 4, { 0xc5, 0xf5, 0xfe, 0xd1 } },			/* vpaddd ymm */
		{ EXT_AVX2, 5, { 0xc4, 0xe2, 0x79, 0x78, 0xc1 } },		/* vpbroadcastb */
		{ EXT_FMA, 5, { 0xc4, 0xe2, 0xf1, 0xb9, 0xd1 } },
		{ EXT_F16C, 5, { 0xc4, 0xe2, 0x79, 0x13, 0xc1 } },
		{ EXT_BMI1, 5, { 0xc4, 0xe2, 0xf0, 0xf2, 0xc2 } },		/* andn */
		{ EXT_BMI2, 6, { 0xc4, 0xe3, 0xfb, 0xf0, 0xc1, 3 } },		/* rorx */
		{ EXT_BMI2, 5, { 0xc4, 0xe2, 0xf1, 0xf7, 0xc2 } },		/* shlx */
		{ EXT_VAES, 5, { 0xc4, 0xe2, 0x75, 0xdc, 0xd1 } },		/* vaesenc ymm */
		{ EXT_AVX512, 6, { 0x62, 0xf1, 0x7d, 0x48, 0xef, 0xc0 } },	/* vpxord zmm */
		{ EXT_AVX512, 4, { 0xc5, 0xf8, 0x92, 0xc0 } },			/* kmovw k0, eax */
		{ EXT_AVX512_VNNI, 6, { 0x62, 0xf2, 0x7d, 0x48, 0x50, 0xc0 } },	/* vpdpbusd zmm */
		{ EXT_AVX512_VBMI, 6, { 0x62, 0xf2, 0x7d, 0x48, 0x8d, 0xc0 } },	/* vpermb zmm */
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (decode_extension(rows[i].bytes, rows[i].len) != rows[i].ext)
			print_error("row %zu\n", i);
		assert_int_equal(decode_extension(rows[i].bytes, rows[i].len), rows[i].ext);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps),
		cmocka_unit_test(lengths), cmocka_unit_test(needs_more), cmocka_unit_test(fifteen_bytes),
		cmocka_unit_test(control_flow), cmocka_unit_test(sixteen_bit_branches), cmocka_unit_test(registers),
		cmocka_unit_test(flags), cmocka_unit_test(segments), cmocka_unit_test(locks), cmocka_unit_test(refusals),
		cmocka_unit_test(newest), cmocka_unit_test(extensions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
