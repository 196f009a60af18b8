/* Memory operands that cannot be copied as they are: RIP-relative ones out of reach,
 * and the program's own gs. See emit.h. */
#include "emit.h"
#include "sys.h"
#include "text.h"
#include "vpmu-abi.h"

/* A register that the instruction does not use, and that [r] can be written with without a SIB. */
static int free_reg(const struct insn *in, int but)
{
	static const int8_t choice[] = { RCX, RDX, RAX, RBX, RSI, RDI };
	const unsigned used = in->regs_read | in->regs_written;
	for (unsigned i = 0; i < sizeof(choice); i++)
		if (!(used >> choice[i] & 1) && choice[i] != but)
			return choice[i];
	return -1;
}

/* The instruction with its memory operand replaced by [r], r below 8 and not rsp
 * or rbp, and without a gs prefix. */
static void emit_with_base(struct emit *e, const struct insn *in, const uint8_t *s, int r)
{
	uint8_t *const start = e->w;
	for (unsigned i = 0; i < in->modrm_off; i++) {
		if (i < in->opcode_off && s[i] == 0x65 && in->segment == 0x65 &&
		    in->encoding == 0) {
			continue;
		}
		b1(e, s[i]);
	}
	const unsigned dropped = (unsigned)(in->modrm_off - (e->w - start));
	/* clear the bits that would extend base and index */
	const unsigned op = in->opcode_off - dropped;
	switch (in->encoding) {
	case 0:
		if (in->rex) {
			/* the REX byte stands right before the opcode (or its 0F maps) */
			unsigned at = op - 1;
			if (in->map == 1)
				at = op - 2;
			else if (in->map == 2 || in->map == 3)
				at = op - 3;
			start[at] &= (uint8_t)~3u;
		}
		break;
	case 2:
	case 4:
		start[op - 2] |= 0x60;
		break;
	case 3:
		start[op - 3] |= 0x60;
		break;
	default:
		break;
	}
	b1(e, (in->modrm & 0x38) | r);
	if (in->imm_len)
		copy(e, s + in->imm_off, in->len - in->imm_off);
	else if (in->map == 15)
		b1(e, s[in->len - 1]);	/* 3DNow! opcode byte comes last */
}

uint64_t rip_target(const struct insn *in, const uint8_t *s, uint64_t pc)
{
	int32_t disp;
	__builtin_memcpy(&disp, s + in->disp_off, 4);
	const uint64_t at = pc + in->len + (int64_t)disp;
	return in->addr32 ? (uint32_t)at : at;
}

bool reaches(uint64_t from, uint64_t to)
{
	const int64_t d = (int64_t)(to - from);
	return d == (int32_t)d;
}

static bool is_lea(const struct insn *in)
{
	return in->encoding == 0 && in->map == 0 && in->opcode == 0x8d;
}

/* The low 2 GiB can be reached from anywhere as [disp32], one byte longer. */
static void emit_absolute(struct emit *e, const struct insn *in, const uint8_t *s,
			  uint32_t target)
{
	copy(e, s, in->modrm_off);
	b1(e, (in->modrm & 0x38) | 4);
	b1(e, 0x25);
	b4(e, target);
	copy(e, s + in->disp_off + 4, in->len - in->disp_off - 4u);
}

void emit_rip_relative(struct emit *e, const struct insn *in, const uint8_t *s,
			      uint64_t pc, struct mark m)
{
	const uint64_t target = rip_target(in, s, pc);
	mark(e, m);
	/* decided on the block's segment, not on the exact place, so that the length
	 * does not depend on where in the segment it lands */
	if (!in->addr32 && reaches(e->seg->base, target) && reaches(e->seg->end, target)) {
		copy(e, s, in->len);
		const uint32_t disp = (uint32_t)(target - here(e));
		__builtin_memcpy(e->w - in->len + in->disp_off, &disp, 4);
		return;
	}
	if (is_lea(in)) {
		const int r = (in->modrm >> 3 & 7) | (in->rex & 4 ? 8 : 0);
		if (in->opsize16 && !(in->rex & 8)) {
			if (r >= 8)
				b1(e, 0x66), b1(e, 0x41);
			else
				b1(e, 0x66);
			b1(e, 0xb8 | (r & 7));
			b1(e, target & 0xff), b1(e, target >> 8 & 0xff);
		} else {
			mov_imm64(e, r, in->rex & 8 ? target : (uint32_t)target);
		}
		return;
	}
	if (target < 0x80000000u && !(in->rex & 2)) {
		emit_absolute(e, in, s, (uint32_t)target);
		return;
	}
	const int r = free_reg(in, -1);
	if (r < 0)
		die("an instruction leaves no register for its address", pc);
	gs_store(e, r, OFF_S2);
	m.in_s2 = (int8_t)r;
	mark(e, m);
	mov_imm64(e, r, target);
	mark(e, m);
	emit_with_base(e, in, s, r);
	m.pc = pc + in->len;
	m.retired++;
	mark(e, m);
	gs_load(e, r, OFF_S2);
}

/* lea r, [the instruction's memory operand], segment ignored */
void emit_lea(struct emit *e, const struct insn *in, const uint8_t *s, int r)
{
	if (in->addr32)
		b1(e, 0x67);
	b1(e, 0x48 | (in->rex & 3));
	b1(e, 0x8d);
	b1(e, (in->modrm & 0xc7) | r << 3);
	const unsigned end = in->disp_off ? in->disp_off + in->disp_len :
			     (in->modrm & 7) == 4 ? in->modrm_off + 2u : in->modrm_off + 1u;
	copy(e, s + in->modrm_off + 1, end - in->modrm_off - 1);
}

/* lea r, [r + q] */
static void add_reg(struct emit *e, int r, int q)
{
	b1(e, 0x48), b1(e, 0x8d), b1(e, 0x04 | r << 3), b1(e, q << 3 | r);
}

static void copy_without_gs(struct emit *e, const struct insn *in, const uint8_t *s)
{
	for (unsigned i = 0; i < in->len; i++)
		if (i >= in->opcode_off || s[i] != 0x65)
			b1(e, s[i]);
}

/* lods, movs, cmps, outs and xlat address gs:[rsi] or gs:[rbx + al]: the base is added to the
 * register for the time of the instruction, also if it faults. */
static void emit_gs_implicit(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
			     struct mark m)
{
	const int r = in->opcode == 0xd7 ? RBX : RSI;
	const int q = free_reg(in, r);
	if (in->map || in->addr32 || q < 0)
		die("a gs-relative instruction of a kind the engine cannot rewrite", pc);
	mark(e, m);
	gs_store(e, q, OFF_S2);
	m.in_s2 = (int8_t)q;
	mark(e, m);
	gs_load(e, q, OFF_APP_GS);
	mark(e, m);
	add_reg(e, r, q);
	m.biased = (int8_t)r;
	mark(e, m);
	copy_without_gs(e, in, s);
	m.pc = pc + in->len;
	m.retired++;
	mark(e, m);
	gs_load(e, q, OFF_APP_GS_NEG);
	mark(e, m);
	add_reg(e, r, q);
	m.biased = -1;
	mark(e, m);
	gs_load(e, q, OFF_S2);
}

/* mov al/ax/eax/rax, gs:[moffs64] and back, through [rcx]. */
static void emit_gs_moffs(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
			  struct mark m)
{
	uint64_t at = 0;
	__builtin_memcpy(&at, s + in->len - (in->addr32 ? 4 : 8), in->addr32 ? 4 : 8);
	mark(e, m);
	gs_store(e, RCX, OFF_S2);
	m.in_s2 = RCX;
	mark(e, m);
	gs_store(e, RDX, OFF_S3);
	m.in_s3 = RDX;
	mark(e, m);
	mov_imm64(e, RCX, at);
	mark(e, m);
	gs_load(e, RDX, OFF_APP_GS);
	mark(e, m);
	add_reg(e, RCX, RDX);
	mark(e, m);
	if (in->opsize16)
		b1(e, 0x66);
	if (in->rex & 8)
		b1(e, 0x48);
	b1(e, in->opcode & 2 ? 0x88 | (in->opcode & 1) : 0x8a | (in->opcode & 1));
	b1(e, 0x01);			/* [rcx], al … */
	m.pc = pc + in->len;
	m.retired++;
	mark(e, m);
	gs_load(e, RDX, OFF_S3);
	m.in_s3 = -1;
	mark(e, m);
	gs_load(e, RCX, OFF_S2);
}

/* An operand through the program's gs, whose base is in struct thread: the CPU's gs is the
 * engine's. */
void emit_gs_operand(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc,
			    struct mark m)
{
	if (in->map == 0 && (in->opcode & 0xfc) == 0xa0 && in->encoding == 0) {
		emit_gs_moffs(e, in, s, pc, m);
		return;
	}
	if (in->mem != 1) {
		emit_gs_implicit(e, in, s, pc, m);
		return;
	}
	const int r = free_reg(in, -1);
	const int q = r < 0 ? -1 : free_reg(in, r);
	if (r < 0 || q < 0 || in->vsib || in->encoding == 3)
		die("a gs-relative instruction of a kind the engine cannot rewrite", pc);
	mark(e, m);
	gs_store(e, r, OFF_S2);
	m.in_s2 = (int8_t)r;
	mark(e, m);
	gs_store(e, q, OFF_S3);
	m.in_s3 = (int8_t)q;
	mark(e, m);
	if (in->rip_relative)
		mov_imm64(e, r, rip_target(in, s, pc));
	else
		emit_lea(e, in, s, r);
	mark(e, m);
	gs_load(e, q, OFF_APP_GS);
	mark(e, m);
	add_reg(e, r, q);
	mark(e, m);
	emit_with_base(e, in, s, r);
	m.pc = pc + in->len;
	m.retired++;
	mark(e, m);
	gs_load(e, q, OFF_S3);
	mark(e, m);
	gs_load(e, r, OFF_S2);
}

bool uses_gs(const struct insn *in)
{
	return in->segment == 0x65 && in->mem && !is_lea(in) &&
	       (in->classes & (CLASS_LOAD | CLASS_STORE));
}
