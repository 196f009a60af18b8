#include "flow.h"

#include "decode.h"

#define CLASS_VECTOR (CLASS_FP | CLASS_SIMD_INT | CLASS_MMX)

static unsigned width_bits(const struct insn *in, bool byte)
{
	if (byte)
		return 1;
	return in->rex & 8 ? 8 : in->opsize16 ? 2 : 4;
}

#define EVEX 3
/* The bytes of an EVEX prefix behind 62, before the opcode. */
#define EVEX_1(in, bytes) (bytes)[(in)->opcode_off - 3]	/* R X B R' 0 mmm */
#define EVEX_2(in, bytes) (bytes)[(in)->opcode_off - 2]	/* W vvvv 1 pp */
#define EVEX_3(in, bytes) (bytes)[(in)->opcode_off - 1]	/* z L'L b V' aaa */

/* VEX.L, EVEX.LL: 16, 32 or 64 bytes. */
static unsigned vector_bytes(const struct insn *in, const uint8_t *bytes)
{
	if (in->encoding == 1 || in->encoding == 2)
		return bytes[in->opcode_off - 1] & 4 ? 32 : 16;
	if (in->encoding == EVEX)
		return 16u << (EVEX_3(in, bytes) >> 5 & 3);
	return 16;
}

/* As VEX and EVEX have it: 1 for 66, 2 for F3, 3 for F2. */
static unsigned vector_prefix(const struct insn *in, const uint8_t *bytes)
{
	if (in->encoding)
		return (in->encoding == EVEX ? EVEX_2(in, bytes) : bytes[in->opcode_off - 1]) & 3;
	return in->rep == 0xf3 ? 2 : in->rep == 0xf2 ? 3 : in->opsize16;
}

/* Opcodes of 0F38 and 0F3A whose operand in memory is not a whole vector, and how large it is. */
static const struct {
	uint8_t map, first, last;
	enum { ELEMENT, BYTES, PART } how;
	uint8_t n;			/* BYTES: so many; PART: the n-th part of the vector */
} narrow[] = {
	{ 2, 0x13, 0x13, PART, 2 },			/* vcvtph2ps, vpmovusdw */
	{ 2, 0x10, 0x10, PART, 2 }, { 2, 0x11, 0x11, PART, 4 }, { 2, 0x12, 0x12, PART, 8 },	/* vpmovus… */
	{ 2, 0x14, 0x14, PART, 4 }, { 2, 0x15, 0x15, PART, 2 },
	{ 2, 0x20, 0x20, PART, 2 }, { 2, 0x21, 0x21, PART, 4 }, { 2, 0x22, 0x22, PART, 8 },	/* vpmovsx, vpmovs… */
	{ 2, 0x23, 0x23, PART, 2 }, { 2, 0x24, 0x24, PART, 4 }, { 2, 0x25, 0x25, PART, 2 },
	{ 2, 0x30, 0x30, PART, 2 }, { 2, 0x31, 0x31, PART, 4 }, { 2, 0x32, 0x32, PART, 8 },	/* vpmovzx, vpmov… */
	{ 2, 0x33, 0x33, PART, 2 }, { 2, 0x34, 0x34, PART, 4 }, { 2, 0x35, 0x35, PART, 2 },
	{ 2, 0x18, 0x18, BYTES, 4 }, { 2, 0x19, 0x19, BYTES, 8 }, { 2, 0x1a, 0x1a, BYTES, 16 }, { 2, 0x1b, 0x1b, BYTES, 32 },
	{ 2, 0x58, 0x58, BYTES, 4 }, { 2, 0x59, 0x59, BYTES, 8 }, { 2, 0x5a, 0x5a, BYTES, 16 }, { 2, 0x5b, 0x5b, BYTES, 32 },
	{ 2, 0x78, 0x78, BYTES, 1 }, { 2, 0x79, 0x79, BYTES, 2 },				/* broadcasts */
	{ 2, 0x43, 0x43, ELEMENT, 0 }, { 2, 0x4d, 0x4d, ELEMENT, 0 }, { 2, 0x4f, 0x4f, ELEMENT, 0 },
	{ 2, 0x88, 0x8b, ELEMENT, 0 }, { 2, 0x90, 0x93, ELEMENT, 0 }, { 2, 0xa0, 0xa3, ELEMENT, 0 },	/* expand, gather … */
	{ 2, 0x99, 0x99, ELEMENT, 0 }, { 2, 0x9b, 0x9b, ELEMENT, 0 }, { 2, 0x9d, 0x9d, ELEMENT, 0 }, { 2, 0x9f, 0x9f, ELEMENT, 0 },
	{ 2, 0xa9, 0xa9, ELEMENT, 0 }, { 2, 0xab, 0xab, ELEMENT, 0 }, { 2, 0xad, 0xad, ELEMENT, 0 }, { 2, 0xaf, 0xaf, ELEMENT, 0 },
	{ 2, 0xb9, 0xb9, ELEMENT, 0 }, { 2, 0xbb, 0xbb, ELEMENT, 0 }, { 2, 0xbd, 0xbd, ELEMENT, 0 }, { 2, 0xbf, 0xbf, ELEMENT, 0 },
	{ 3, 0x0a, 0x0a, BYTES, 4 }, { 3, 0x0b, 0x0b, BYTES, 8 }, { 3, 0x1d, 0x1d, PART, 2 },
	{ 3, 0x14, 0x14, BYTES, 1 }, { 3, 0x15, 0x15, BYTES, 2 }, { 3, 0x16, 0x16, ELEMENT, 0 }, { 3, 0x17, 0x17, BYTES, 4 },
	{ 3, 0x20, 0x20, BYTES, 1 }, { 3, 0x21, 0x21, BYTES, 4 }, { 3, 0x22, 0x22, ELEMENT, 0 },	/* pextr…, pinsr… */
	{ 3, 0x18, 0x19, BYTES, 16 }, { 3, 0x38, 0x39, BYTES, 16 }, { 3, 0x1a, 0x1b, BYTES, 32 }, { 3, 0x3a, 0x3b, BYTES, 32 },
	{ 3, 0x27, 0x27, ELEMENT, 0 }, { 3, 0x51, 0x51, ELEMENT, 0 }, { 3, 0x55, 0x55, ELEMENT, 0 }, { 3, 0x57, 0x57, ELEMENT, 0 },
};

static unsigned element_bytes(const struct insn *in)
{
	return in->map >= 5 ? 2 : in->rex & 8 ? 8 : 4;
}

static unsigned vector_bytes_of_map(const struct insn *in, const uint8_t *bytes)
{
	const unsigned whole = vector_bytes(in, bytes), prefix = vector_prefix(in, bytes);
	if (in->map >= 5)
		return prefix >= 2 ? 2 : whole;
	if (in->map == 2 && (in->opcode == 0x2c || in->opcode == 0x2d) && in->encoding == EVEX)
		return in->opcode == 0x2d ? element_bytes(in) : whole;		/* vscalef */
	for (unsigned i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) {
		if (narrow[i].map != in->map || in->opcode < narrow[i].first || in->opcode > narrow[i].last)
			continue;
		/* (0F38 10 to 15 with 66 alone are shifts and permutations, but for vcvtph2ps.) */
		if (in->map == 2 && in->opcode < 0x16 && in->opcode != 0x13 && prefix != 2)
			return whole;
		return narrow[i].how == BYTES ? narrow[i].n : narrow[i].how == PART ? whole / narrow[i].n : element_bytes(in);
	}
	return whole;
}

/* Of 0F xx with a prefix that makes it scalar, and of those that take half a vector. */
static unsigned vector_bytes_0f(const struct insn *in, const uint8_t *bytes)
{
	const uint8_t op = in->opcode;
	const unsigned whole = vector_bytes(in, bytes), prefix = vector_prefix(in, bytes);
	if (op == 0x5b || op == 0x6f || op == 0x70 || op == 0x7f)
		return whole;
	if (op == 0xe6 || (op == 0x7a && prefix == 2))
		return prefix == 2 ? whole / 2 : whole;		/* vcvtdq2pd, vcvtudq2pd */
	if (op == 0x5a && prefix == 0)
		return whole / 2;				/* vcvtps2pd */
	if (op == 0x12 && prefix >= 2)
		return prefix == 3 && whole == 16 ? 8 : whole;	/* vmovddup, vmovsldup */
	if (op == 0x16 && prefix == 2)
		return whole;
	if (op == 0x2e || op == 0x2f)
		return prefix == 1 ? 8 : 4;
	if (op == 0x2a || op == 0x7b)
		return prefix >= 2 ? element_bytes(in) : whole;
	if (op == 0xc4)
		return 2;
	if (op == 0xe1 || op == 0xe2 || ((op & 0xdf) >= 0xd1 && (op & 0xdf) <= 0xd3))
		return 16;					/* shifts by a number in a vector */
	return prefix >= 2 ? (prefix == 2 ? 4 : 8) : whole;
}

/* Of 0F xx: cmov, setcc, bit tests, shifts, imul, cmpxchg, movzx, xadd, movnti. */
static bool is_general_0f(uint8_t op)
{
	return (op >= 0x40 && op < 0x50) || (op >= 0x90 && op <= 0xc1) || op == 0xc3 || op == 0xc7;
}

static unsigned general_0f_bytes(const struct insn *in)
{
	const uint8_t op = in->opcode;
	if ((op & 0xf0) == 0x90 || op == 0xb6 || op == 0xbe)	/* setcc; movzx and movsx of a byte */
		return 1;
	if (op == 0xb7 || op == 0xbf)
		return 2;
	if (op == 0xc7)
		return 16;
	return width_bits(in, op == 0xb0 || op == 0xc0);	/* cmpxchg and xadd of a byte */
}

static unsigned vector_operand_bytes(const struct insn *in, const uint8_t *bytes)
{
	const uint8_t op = in->opcode;
	if (in->encoding == EVEX && EVEX_3(in, bytes) & 0x10)
		return element_bytes(in);			/* given to all */
	if (in->map != 1)
		return vector_bytes_of_map(in, bytes);
	if (op == 0x6e || op == 0x7e)
		return in->rex & 8 || vector_prefix(in, bytes) == 2 ? 8 : 4;
	if (op == 0x13 || op == 0x17 || op == 0xd6 || ((op == 0x12 || op == 0x16) && vector_prefix(in, bytes) < 2))
		return 8;
	return vector_bytes_0f(in, bytes);
}

/* Bytes of an operand in memory. */
static unsigned operand_bytes(const struct insn *in, const uint8_t *bytes)
{
	const uint8_t op = in->opcode;
	if (in->encoding || in->map > 1)
		return vector_operand_bytes(in, bytes);
	if (in->map == 1)
		return is_general_0f(op) ? general_0f_bytes(in) : vector_operand_bytes(in, bytes);
	if (in->classes & CLASS_X87)
		return 10;
	if (op == 0x63)					/* movsxd */
		return 4;
	if (op == 0x8f || (op == 0xff && (in->modrm >> 3 & 7) >= 2))
		return 8;
	return width_bits(in, !(op & 1));
}

static uint64_t operand_address(const struct insn *in, const uint8_t *bytes, const uint64_t *r)
{
	if (is_moffs(in)) {
		uint64_t at = 0;
		for (unsigned i = 0; i < 8u && in->imm_off + i < in->len; i++)
			at |= (uint64_t)bytes[in->imm_off + i] << 8 * i;
		return at;
	}
	int64_t disp = 0;
	if (in->disp_len == 1)		/* EVEX: in units of the operand */
		disp = (int8_t)bytes[in->disp_off] * (in->encoding == EVEX ? (int)vector_operand_bytes(in, bytes) : 1);
	else if (in->disp_len == 4)
		disp = (int32_t)((uint32_t)bytes[in->disp_off] | (uint32_t)bytes[in->disp_off + 1] << 8 |
				 (uint32_t)bytes[in->disp_off + 2] << 16 |
				 (uint32_t)bytes[in->disp_off + 3] << 24);
	uint64_t at = (uint64_t)disp;
	const unsigned rm = in->modrm & 7, mod = in->modrm >> 6;
	if (in->rip_relative) {
		at += r[STATE_PC] + in->len;
	} else if (rm == 4) {
		const unsigned base = (in->sib & 7) | (in->rex & 1) << 3;
		const unsigned index = (in->sib >> 3 & 7) | (in->rex & 2) << 2;
		if ((in->sib & 7) != 5 || mod)
			at += r[base];
		if (index != 4 && !in->vsib)
			at += r[index] << (in->sib >> 6);
	} else {
		at += r[rm | (in->rex & 1) << 3];
	}
	if (in->addr32)
		at = (uint32_t)at;
	if (in->seg_used == 0x64)
		at += r[STATE_FS_BASE];
	else if (in->seg_used == 0x65)
		at += r[STATE_GS_BASE];
	return at;
}

static void add(struct flow_memory *list, unsigned *n, uint64_t address, uint64_t size)
{
	if (*n < 2 && size)
		list[(*n)++] = (struct flow_memory){ address, size > FLOW_LARGEST ? FLOW_LARGEST : (uint8_t)size };
}

/* movs, cmps, stos, lods, scas. With rep, what is left of it. */
static void look_string(struct flow *f, const struct insn *in, const uint64_t *r)
{
	const unsigned each = width_bits(in, !(in->opcode & 1));
	const uint64_t size = in->classes & CLASS_REP ? (r[STATE_RCX] > FLOW_LARGEST ? FLOW_LARGEST : r[STATE_RCX] * each) : each;
	switch (in->opcode & 0xfe) {
	case 0xa4:
		add(f->reads, &f->n_reads, r[STATE_RSI], size);
		add(f->writes, &f->n_writes, r[STATE_RDI], size);
		break;
	case 0xa6:
		add(f->reads, &f->n_reads, r[STATE_RSI], size);
		add(f->reads, &f->n_reads, r[STATE_RDI], size);
		break;
	case 0xaa:
		add(f->writes, &f->n_writes, r[STATE_RDI], size);
		break;
	case 0xac:
		add(f->reads, &f->n_reads, r[STATE_RSI], size);
		break;
	case 0xae:
		add(f->reads, &f->n_reads, r[STATE_RDI], size);
		break;
	default:
		break;
	}
}

static bool is_string(const struct insn *in)
{
	const uint8_t op = in->opcode & 0xfe;
	return in->map == 0 && !in->encoding && (op == 0xa4 || op == 0xa6 || op == 0xaa || op == 0xac || op == 0xae);
}

/* What goes through the stack, besides an operand: push, call; pop, ret, leave. */
static void look_stack(struct flow *f, const struct insn *in, const uint64_t *r)
{
	const uint8_t op = in->opcode;
	const bool leave = in->map == 0 && op == 0xc9;
	const bool moves = in->regs_written >> STATE_RSP & 1 && !in->encoding &&
			   (in->map == 0 ? op < 0x80 || op >= 0x8f : op == 0xa0 || op == 0xa1 || op == 0xa8 || op == 0xa9);
	if (!moves)
		return;
	const bool operand_stores = in->mem == 1 && op == 0x8f;
	if (in->classes & CLASS_STORE && !operand_stores)
		add(f->writes, &f->n_writes, r[STATE_RSP] - 8, 8);
	if (in->classes & CLASS_RET || leave || op == 0x8f || (in->map == 0 && (op & 0xf8) == 0x58) || op == 0x9d)
		add(f->reads, &f->n_reads, leave ? r[STATE_RBP] : r[STATE_RSP], 8);
}

static void look_memory(struct flow *f, const struct insn *in, const uint8_t *bytes, const uint64_t *r)
{
	if (is_string(in)) {
		look_string(f, in, r);
		return;
	}
	const bool operand = in->mem == 1 || is_moffs(in);
	const bool pushes = operand && in->map == 0 && in->opcode == 0xff && (in->modrm >> 3 & 7) >= 2;
	if (operand && !(in->map == 0 && in->opcode == 0x8d)) {
		const uint64_t at = operand_address(in, bytes, r);
		const unsigned size = operand_bytes(in, bytes);
		if (in->classes & CLASS_LOAD && !(in->map == 0 && in->opcode == 0x8f))
			add(f->reads, &f->n_reads, at, size);
		if (in->classes & CLASS_STORE && !pushes)
			add(f->writes, &f->n_writes, at, size);
	}
	look_stack(f, in, r);
}

/* Vector instructions write the register in the middle of ModRM, except those that move from it. */
static void look_vectors(struct flow *f, const struct insn *in, const uint8_t *bytes)
{
	const bool vector = in->encoding || in->classes & CLASS_VECTOR || (in->map == 1 &&
			    ((in->opcode & 0xf0) == 0x10 || in->opcode == 0x28 || in->opcode == 0x29 || in->opcode == 0x6e ||
			     in->opcode == 0x6f || in->opcode == 0x7e || in->opcode == 0x7f || in->opcode == 0xd6 || in->opcode == 0xd7 ||
			     in->opcode == 0x50));
	f->vector_written = -1;
	if (!vector || !in->has_modrm)
		return;
	unsigned reg = (in->modrm >> 3 & 7) | (in->rex & 4) << 1;
	unsigned rm = (in->modrm & 7) | (in->rex & 1) << 3;
	const uint8_t op = in->opcode;
	if (in->encoding == EVEX) {
		const unsigned first = EVEX_1(in, bytes);
		reg |= (~first & 0x10);				/* R' */
		rm |= (~first & 0x40) >> 2;			/* X */
		f->vectors_read |= 1u << ((~EVEX_2(in, bytes) >> 3 & 15) | (~EVEX_3(in, bytes) & 8) << 1);
	}
	const bool from = in->map == 1 && (op == 0x11 || op == 0x13 || op == 0x17 || op == 0x29 || op == 0x2b ||
					   (op == 0x7e && in->rep != 0xf3) || op == 0x7f || op == 0xd6 || op == 0xe7);
	const bool to_general = in->regs_written != 0;
	f->vectors_read |= 1u << reg;
	if (in->modrm >> 6 == 3)
		f->vectors_read |= 1u << rm;
	if (in->encoding == 1 || in->encoding == 2)
		f->vectors_read |= 1u << (~bytes[in->opcode_off - 1] >> 3 & 15);
	if (from && in->modrm >> 6 == 3)
		f->vector_written = (int)rm;
	else if (!from && !to_general)
		f->vector_written = (int)reg;
}

static enum flow_source source_of(const struct insn *in)
{
	if (in->special == SPECIAL_CPUID)
		return SOURCE_CPU;
	if (in->special == SPECIAL_RDTSC)
		return SOURCE_CLOCK;
	if (in->special == SPECIAL_RDPMC)
		return SOURCE_COUNTER;
	if (in->map == 1 && in->opcode == 0xc7 && in->modrm >> 6 == 3)
		return in->rep == 0xf3 ? SOURCE_CPU_NUMBER : (in->modrm >> 3 & 7) >= 6 ? SOURCE_RANDOM : SOURCE_NONE;
	if (in->map == 1 && in->opcode == 0x01 && in->modrm == 0xd0)
		return SOURCE_CPU;
	return SOURCE_NONE;
}

void diverge_flow(struct flow *f, const uint8_t *bytes, size_t size, const uint64_t registers[STATE_REGISTERS])
{
	struct insn in;
	*f = (struct flow){ .vector_written = -1 };
	const int len = decode_insn(&in, bytes, size > 15 ? 15 : (unsigned)size);
	if (len <= 0)
		return;
	f->size = (unsigned)len;
	f->branch = in.flow != FLOW_NEXT && in.flow != FLOW_SYSCALL;
	f->system_call = in.classes & CLASS_SYSCALL;
	f->source = source_of(&in);
	f->regs_read = in.regs_read;
	f->regs_written = in.regs_written;
	f->flags_read = in.flags_read;
	f->flags_touched = in.flags_touched;
	look_memory(f, &in, bytes, registers);
	look_vectors(f, &in, bytes);
}

bool diverge_flow_writes(const struct flow *w, uint64_t address)
{
	for (unsigned i = 0; i < w->n_writes; i++)
		if (address - w->writes[i].address < w->writes[i].size)
			return true;
	return false;
}
