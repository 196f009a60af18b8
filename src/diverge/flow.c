#include "flow.h"

#include "decode.h"

#define CLASS_VECTOR (CLASS_FP | CLASS_SIMD_INT | CLASS_MMX)

static unsigned width_bits(const struct insn *in, bool byte)
{
	if (byte)
		return 1;
	return in->rex & 8 ? 8 : in->opsize16 ? 2 : 4;
}

/* VEX.L, EVEX.LL: 16, 32 or 64 bytes. */
static unsigned vector_bytes(const struct insn *in, const uint8_t *bytes)
{
	if (in->encoding == 1 || in->encoding == 2)
		return bytes[in->opcode_off - 1] & 4 ? 32 : 16;
	if (in->encoding == 3)
		return 16u << (bytes[in->opcode_off - 1] >> 5 & 3);
	return 16;
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
	if (in->map != 1)
		return vector_bytes(in, bytes);
	if (op == 0x6e || op == 0x7e)
		return in->rex & 8 || in->rep == 0xf3 ? 8 : 4;
	if (op == 0x12 || op == 0x13 || op == 0x16 || op == 0x17 || op == 0xd6)
		return 8;
	if ((op == 0x10 || op == 0x11) && in->rep)
		return in->rep == 0xf3 ? 4 : 8;
	return vector_bytes(in, bytes);
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
	if (in->disp_len == 1)
		disp = (int8_t)bytes[in->disp_off];
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
	const unsigned reg = (in->modrm >> 3 & 7) | (in->rex & 4) << 1;
	const unsigned rm = (in->modrm & 7) | (in->rex & 1) << 3;
	const uint8_t op = in->opcode;
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
