/* The x86-64 decoder: bytes to struct insn, through the rows of decode-tables*.
 *
 *	prefixes -> opcode map -> row (through groups) -> ModRM, SIB, displacement,
 *	immediate -> lengths are known -> what it reads, writes and counts as
 *
 * Bytes are read without asking whether they are there, from a window of at least
 * WINDOW; near the end of a page the caller's bytes are copied to a padded one, and
 * what depended on padding is reported as "more bytes needed".
 */
#include "decode.h"
#include "decode-tables.h"

#define WINDOW 32	/* more than any byte looked at before the length is known */
#define LONGEST 15

bool decode_amd_branches;

/* ---- prefixes ---- */

enum { P_NONE, P_REX, P_SEG, P_66, P_67, P_LOCK, P_REP };

static const uint8_t prefix_kind[256] = {
	[0x26] = P_SEG, [0x2e] = P_SEG, [0x36] = P_SEG, [0x3e] = P_SEG,
	[0x40] = P_REX, [0x41] = P_REX, [0x42] = P_REX, [0x43] = P_REX,
	[0x44] = P_REX, [0x45] = P_REX, [0x46] = P_REX, [0x47] = P_REX,
	[0x48] = P_REX, [0x49] = P_REX, [0x4a] = P_REX, [0x4b] = P_REX,
	[0x4c] = P_REX, [0x4d] = P_REX, [0x4e] = P_REX, [0x4f] = P_REX,
	[0x64] = P_SEG, [0x65] = P_SEG, [0x66] = P_66, [0x67] = P_67,
	[0xf0] = P_LOCK, [0xf2] = P_REP, [0xf3] = P_REP,
};

/* Everything found so far; struct insn is filled from it at the end. */
struct state {
	const uint8_t *p;
	unsigned pos;		/* bytes consumed */
	uint8_t rex, rep, opsize, addr32, lock, segment;
	uint8_t encoding, map, opcode, opcode_off;
	uint8_t modrm, modrm_off;
	uint8_t sib, disp_off, disp_len;
	uint8_t w, l, pp;
	uint8_t vvvv;		/* 0 … 15, as a number */
	uint8_t v2, r2, z, b, aaa;	/* EVEX */
};

static int take_prefixes(struct state *s)
{
	for (;;) {
		const uint8_t byte = s->p[s->pos];
		const unsigned kind = prefix_kind[byte];
		if (kind == P_NONE)
			return 0;
		if (++s->pos >= LONGEST)
			return -1;
		if (kind == P_REX) {
			s->rex = byte;
			continue;
		}
		s->rex = 0;	/* REX counts only right before the opcode */
		switch (kind) {
		case P_SEG:
			if (byte >= 0x64 || s->segment < 0x64)
				s->segment = byte;
			break;
		case P_66:
			s->opsize = 1;
			break;
		case P_67:
			s->addr32 = 1;
			break;
		case P_LOCK:
			s->lock = 1;
			break;
		case P_REP:
			s->rep = byte;
			break;
		}
	}
}

/* ---- the opcode ---- */

static const struct op bad;

static const struct op *vector_row(const struct state *s, unsigned map)
{
	const unsigned i = decode_vector_index[map][s->pp][s->opcode];
	return i ? &decode_vector_rows[i] : &bad;
}

/* Refused before VEX, EVEX and XOP: a REX, 66, F2, F3 or lock prefix. */
static bool plain_prefixes(const struct state *s)
{
	return !s->rex && !s->opsize && !s->rep && !s->lock;
}

static void vex_common(struct state *s, uint8_t byte)
{
	s->vvvv = ~byte >> 3 & 15;
	s->l = byte >> 2 & 1;
	s->pp = byte & 3;
}

/* The r, x and b of the second byte of VEX3, EVEX and XOP are stored inverted. */
static uint8_t inverted_rxb(uint8_t byte)
{
	return ~byte >> 5 & 7;
}

static void opcode_at(struct state *s, unsigned off)
{
	s->opcode_off = off;
	s->opcode = s->p[off];
	s->pos = off + 1;
}

static const struct op *take_vex2(struct state *s)
{
	const uint8_t *p = s->p + s->pos;
	if (!plain_prefixes(s))
		return &bad;
	s->encoding = 1;
	s->map = 1;
	s->rex = 0x40 | (~p[1] >> 5 & 4);
	vex_common(s, p[1]);
	opcode_at(s, s->pos + 2);
	return vector_row(s, MAP_V0F);
}

static const struct op *take_vex3(struct state *s)
{
	const uint8_t *p = s->p + s->pos;
	if (!plain_prefixes(s))
		return &bad;
	s->map = p[1] & 31;
	s->pos += 2;
	if (s->map < 1 || s->map > 3)
		return &bad;
	s->pos -= 2;
	s->encoding = 2;
	s->w = p[2] >> 7;
	s->rex = 0x40 | s->w << 3 | inverted_rxb(p[1]);
	vex_common(s, p[2]);
	opcode_at(s, s->pos + 3);
	return vector_row(s, MAP_V0F + s->map - 1);
}

static const struct op *take_xop(struct state *s)
{
	const uint8_t *p = s->p + s->pos;
	if (!plain_prefixes(s))
		return &bad;
	s->map = p[1] & 31;
	s->pos += 2;
	if (s->map > 10)
		return &bad;
	s->pos -= 2;
	s->encoding = 4;
	s->w = p[2] >> 7;
	s->rex = 0x40 | s->w << 3 | inverted_rxb(p[1]);
	vex_common(s, p[2]);
	opcode_at(s, s->pos + 3);
	return vector_row(s, MAP_X8 + s->map - 8);
}

static const struct op *take_evex(struct state *s)
{
	static const uint8_t maps[8] = { 0, MAP_E0F, MAP_E0F38, MAP_E0F3A, 0, MAP_E5, MAP_E6, 0 };
	const uint8_t *p = s->p + s->pos;
	if (!plain_prefixes(s))
		return &bad;
	s->map = p[1] & 7;
	s->pos += 2;
	if (p[1] & 8 || !maps[s->map])
		return &bad;
	s->pos++;
	if (!(p[2] & 4))
		return &bad;
	s->pos -= 3;
	s->encoding = 3;
	s->w = p[2] >> 7;
	s->rex = 0x40 | s->w << 3 | inverted_rxb(p[1]);
	s->r2 = ~p[1] >> 4 & 1;
	s->vvvv = ~p[2] >> 3 & 15;
	s->pp = p[2] & 3;
	s->z = p[3] >> 7;
	s->l = p[3] >> 5 & 3;
	s->b = p[3] >> 4 & 1;
	s->v2 = ~p[3] >> 3 & 1;
	s->aaa = p[3] & 7;
	opcode_at(s, s->pos + 4);
	return vector_row(s, maps[s->map]);
}

static const struct op *take_0f(struct state *s)
{
	const uint8_t byte = s->p[s->pos + 1];
	if (byte == 0x38 || byte == 0x3a) {
		s->map = byte == 0x38 ? 2 : 3;
		opcode_at(s, s->pos + 2);
		return vector_row(s, MAP_0F38 + s->map - 2);
	}
	opcode_at(s, s->pos + 1);
	s->map = 1;
	return &decode_0f[byte];
}

/* The mandatory prefix: F2 and F3 win over 66, the later of them over the other. */
static uint8_t mandatory_prefix(const struct state *s)
{
	return s->rep ? (s->rep == 0xf3 ? 2 : 3) : s->opsize;
}

static const struct op *take_opcode(struct state *s)
{
	const uint8_t byte = s->p[s->pos];
	s->w = s->rex >> 3 & 1;
	switch (byte) {
	case 0x0f:
		s->pp = mandatory_prefix(s);
		return take_0f(s);
	case 0xc5:
		return take_vex2(s);
	case 0xc4:
		return take_vex3(s);
	case 0x62:
		return take_evex(s);
	case 0x8f:
		if ((s->p[s->pos + 1] & 31) >= 8)
			return take_xop(s);
		break;
	}
	opcode_at(s, s->pos);
	return &decode_one[byte];
}

static const struct op *find_leaf(struct state *s, const struct op *op)
{
	if (op->attr & A_MODRM) {
		s->modrm_off = s->pos;
		s->modrm = s->p[s->pos++];
	}
	for (;;) {
		unsigned choice;
		switch (op->kind) {
		case K_LEAF:
			return op;
		case K_REG:
			choice = s->modrm >> 3 & 7;
			break;
		case K_MOD:
			choice = s->modrm >= 0xc0;
			break;
		case K_RM:
			choice = s->modrm & 7;
			break;
		case K_PP:
			choice = s->pp;
			break;
		case K_W:
			choice = s->w;
			break;
		case K_L:
			choice = s->l;
			break;
		case K_B:
			choice = s->rex & 1;
			break;
		case K_VECTOR:
			op = vector_row(s, MAP_0F);
			goto modrm;
		default:
			return 0;
		}
		/* Rows of the sparse maps have theirs close by. */
		op = (op->attr & A_VEC ? op : decode_groups) + op->index + choice;
modrm:
		if (op->attr & A_MODRM && !s->modrm_off) {
			s->modrm_off = s->pos;
			s->modrm = s->p[s->pos++];
		}
	}
}

/* ---- operands ---- */

static void take_memory(struct state *s)
{
	const unsigned mod = s->modrm >> 6, rm = s->modrm & 7;
	unsigned base = rm;
	if (rm == 4) {
		s->sib = s->p[s->pos++];
		base = s->sib & 7;
	}
	s->disp_len = mod == 1 ? 1 : mod == 2 || base == 5 ? 4 : 0;
	if (s->disp_len) {
		s->disp_off = s->pos;
		s->pos += s->disp_len;
	}
}

static unsigned imm_length(const struct state *s, uint32_t attr)
{
	static const uint8_t fixed[16] = {
		[I_8] = 1, [I_16] = 2, [I_16_8] = 3, [I_REL8] = 1, [I_8_8] = 2, [I_32] = 4, [I_IS4] = 1,
	};
	switch (A_IMM_OF(attr)) {
	case I_Z:
		return s->opsize ? 2 : 4;
	case I_V:
		return s->w ? 8 : s->opsize ? 2 : 4;
	case I_MOFFS:
		return s->addr32 ? 4 : 8;
	case I_REL32:
		return s->opsize && decode_amd_branches ? 2 : 4;
	default:
		return fixed[A_IMM_OF(attr)];
	}
}

static int64_t read_signed(const uint8_t *p, unsigned len)
{
	switch (len) {
	case 0:
		return 0;
	case 1:
		return (int8_t)p[0];
	case 2:
		return (int16_t)(p[0] | p[1] << 8);
	case 3:		/* enter: size, level */
		return p[0] | p[1] << 8 | p[2] << 16;
	case 4:
		return (int32_t)(p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24);
	default:
		return (int64_t)((uint64_t)(uint32_t)read_signed(p, 4) | (uint64_t)read_signed(p + 4, 4) << 32);
	}
}

static bool is_memory(const struct state *s, const struct op *op)
{
	return op->attr & A_MODRM && s->modrm < 0xc0 && op->check != CHECK_CR && op->check != CHECK_DR;
}

/* ---- what must not be ---- */

static bool distinct_ok(const struct state *s, const struct op *op, bool mem)
{
	const unsigned reg = (s->modrm >> 3 & 7) | (s->rex << 1 & 8) | s->r2 << 4;
	const unsigned vvvv = s->vvvv | s->v2 << 4;
	if (op->index & C_VSIB) {
		const unsigned index = (s->sib >> 3 & 7) | (s->rex << 2 & 8) | s->v2 << 4;
		if (s->encoding == 3)
			return reg != index;
		return reg != index && reg != s->vvvv && index != s->vvvv;
	}
	const unsigned rm = (s->modrm & 7) | (s->rex << 3 & 8) | (s->encoding == 3 ? s->rex << 3 & 16 : 0);
	if (!mem && reg == rm)
		return false;
	if (op->index & C_VVK && (rm > 7 || rm == vvvv))	/* tiles */
		return false;
	return !(op->index & C_VV) || reg != vvvv;
}

static bool evex_ok(const struct state *s, const struct op *op, bool mem)
{
	const unsigned con = op->index;
	if (s->b && !(con & (mem ? C_BCAST : C_ER)))
		return false;
	if (s->z && (!(con & C_Z) || !s->aaa || (mem && op->attr & A_RM_W)))
		return false;
	if (s->aaa ? !(con & C_K) : con & C_KREQ)
		return false;
	if (op->attr & (A_REG_R | A_REG_W) && s->r2)
		return false;
	return true;
}

static bool vector_ok(const struct state *s, const struct op *op, bool mem)
{
	const unsigned con = op->index;
	/* Rounding with registers takes the place of the length. */
	const unsigned l = s->b && !mem && con & C_ER ? 0 : s->l;
	if (!(con >> s->w & C_W0))
		return false;
	if (!(s->b && !mem && con & C_ER) && !(con >> l & C_L0))
		return false;
	if (!(con & C_VV) && (s->vvvv || (s->v2 && !(con & C_VSIB))))
		return false;
	if (con & C_REGK && (s->rex & 4 || s->r2))
		return false;
	if (con & C_VVK && (s->vvvv > 7 || s->v2))
		return false;
	if (con & C_VSIB && (s->modrm & 7) != 4)
		return false;
	if (s->encoding == 3 && !evex_ok(s, op, mem))
		return false;
	return !(con & C_DISTINCT) || distinct_ok(s, op, mem);
}

static bool check_ok(const struct state *s, unsigned check)
{
	const unsigned reg = (s->modrm >> 3 & 7) | (s->rex << 1 & 8);
	switch (check) {
	case CHECK_CR:
		return reg == 0 || reg == 2 || reg == 3 || reg == 4 || reg == 8;
	case CHECK_DR:
		return reg < 8;
	case CHECK_3DNOW:	/* the opcode is where an immediate would be */
		return decode_3dnow[s->p[s->pos] >> 3] >> (s->p[s->pos] & 7) & 1;
	case CHECK_C0:
		return s->modrm == 0xc0;
	case CHECK_REG0:
		return (s->modrm >> 3 & 7) == 0;
	case CHECK_RM0:
		return (s->modrm & 7) == 0;
	}
	return false;
}

static bool permitted(const struct state *s, const struct op *op, bool mem)
{
	const uint32_t attr = op->attr;
	if (s->lock && !(mem && attr & A_LOCK))
		return false;
	if (attr & (A_NOREG | A_NOMEM | A_NP | A_SIB | A_VEC | A_DISP_ONLY)) {
		if (attr & A_NOREG && !mem)
			return false;
		if (attr & A_NOMEM && mem)
			return false;
		if (attr & A_NP && (s->opsize || s->rep))
			return false;
		if (attr & A_SIB && (s->modrm & 7) != 4)
			return false;
		if (attr & A_DISP_ONLY && (s->modrm & 0xc7) == 5)
			return false;
		if (attr & A_VEC && !vector_ok(s, op, mem))
			return false;
	}
	return !op->check || check_ok(s, op->check);
}

/* ---- what it reads and writes ---- */

static unsigned bit(unsigned reg)
{
	return 1u << reg;
}

/* Without REX the byte registers 4 … 7 are ah ch dh bh. */
static unsigned byte_reg(const struct state *s, unsigned reg, uint32_t byte)
{
	return byte && !s->rex ? reg & 3 : reg;
}

static unsigned address_regs(const struct state *s, const struct op *op)
{
	const unsigned mod = s->modrm >> 6, rm = s->modrm & 7;
	if (rm != 4)
		return mod == 0 && rm == 5 ? 0 : bit(rm | (s->rex << 3 & 8));
	const unsigned index = (s->sib >> 3 & 7) | (s->rex << 2 & 8);
	unsigned regs = index == 4 || (op->attr & A_VEC && op->index & C_VSIB) ? 0 : bit(index);
	if ((s->sib & 7) != 5 || mod != 0)
		regs |= bit((s->sib & 7) | (s->rex << 3 & 8));
	return regs;
}

static void fill_regs(struct insn *in, const struct state *s, const struct op *op, bool mem)
{
	const uint32_t attr = op->attr;
	const struct op_regset *const set = &decode_regsets[op->regs];
	unsigned read = set->read, written = set->written, killed = set->killed;
	const unsigned whole = attr & A_PARTIAL ? 0 : ~0u;	/* results replace the register */
	const unsigned rex = s->rex;

	if (attr & (A_REG_R | A_REG_W)) {
		const unsigned reg = bit(byte_reg(s, (s->modrm >> 3 & 7) | (rex << 1 & 8), attr & A_REG8));
		if (attr & A_REG_R)
			read |= reg;
		if (attr & A_REG_W) {
			written |= reg;
			killed |= attr & A_REG8 ? 0 : reg & whole;
		}
	}
	if (mem) {
		read |= address_regs(s, op);
	} else if (attr & A_MODRM && !(attr & A_RM_X)) {
		const unsigned rm = bit(byte_reg(s, (s->modrm & 7) | (rex << 3 & 8), attr & A_RM8));
		if (attr & A_RM_R)
			read |= rm;
		if (attr & A_RM_W) {
			written |= rm;
			killed |= attr & A_RM8 ? 0 : rm & whole;
		}
		if (attr & A_ZEROES && ((s->modrm >> 3 ^ s->modrm) & 7) == 0 && !(rex << 1 & 8) == !(rex << 3 & 8) &&
		    !in->opsize16)
			read &= ~rm;
	}
	if (attr & (A_OP_R | A_OP_W)) {
		const unsigned reg = bit(byte_reg(s, (s->opcode & 7) | (rex << 3 & 8), attr & A_REG8));
		if (attr & A_OP_R)
			read |= reg;
		if (attr & A_OP_W) {
			written |= reg;
			killed |= attr & A_REG8 ? 0 : reg;
		}
	}
	if (attr & (A_VV_R | A_VV_W)) {
		if (attr & A_VV_R)
			read |= bit(s->vvvv);
		if (attr & A_VV_W) {
			written |= bit(s->vvvv);
			killed |= bit(s->vvvv) & whole;
		}
	}
	if (attr & A_STRING && s->rep) {
		read |= bit(1);
		written |= bit(1);
	}
	in->regs_read = read;
	in->regs_written = written;
	in->regs_killed = in->opsize16 ? 0 : killed & ~read;
}

static void fill_flags(struct insn *in, const struct state *s, const struct op *op)
{
	/* jcc, setcc, cmovcc, by the condition without its lowest bit */
	static const uint16_t conditions[8] = {
		FLAG_OF, FLAG_CF, FLAG_ZF, FLAG_CF | FLAG_ZF, FLAG_SF, FLAG_PF,
		FLAG_SF | FLAG_OF, FLAG_ZF | FLAG_SF | FLAG_OF,
	};
	const struct op_flagset *const set = &decode_flagsets[op->flags];
	in->flags_read = set->read;
	in->flags_written = set->written;
	in->flags_touched = set->touched;
	if (op->attr & A_CC)
		in->flags_read = conditions[s->opcode >> 1 & 7];
	if (op->attr & A_SHIFT) {
		/* A count of 0 keeps all flags; so does rcl of 16 bits by 17. */
		if (!(in->imm & (s->w ? 63 : 31)))
			in->flags_written = in->flags_touched = 0;
		else if (op->flags == F_RCL && in->opsize16)
			in->flags_written = 0;
	}
	if (op->attr & A_STRING && s->rep)
		in->flags_written = 0;
}

/* Stack and es:rdi accesses take no segment prefix. */
static bool segment_counts(const struct op *op, bool mem)
{
	if (mem)
		return !(op->attr & A_ADDRESS);
	switch (op->regs) {
	case R_SP:
	case R_SPBP:
	case R_LEAVE:
	case R_STOS:
	case R_SCAS:
	case R_INS:
		return false;
	}
	return op->attr & A_IMPLICIT;
}

static uint32_t classes_of(const struct insn *in, const struct op *op, bool mem)
{
	uint32_t classes = op->classes;
	if (mem) {
		if (op->attr & A_RM_R)
			classes |= CLASS_LOAD;
		if (op->attr & A_RM_W)
			classes |= CLASS_STORE;
	}
	if (in->lock)
		classes |= CLASS_LOCKED;
	if (op->attr & A_STRING && in->rep)
		classes |= CLASS_REP;
	if (in->map && !in->encoding && in->flow != FLOW_JCC)
		classes |= CLASS_0F_NONBRANCH;
	return classes;
}

/* The few whose operands live in the immediate. */
static void fill_oddities(struct insn *in)
{
	if (in->map)
		return;
	switch (in->opcode) {
	case 0xc2:
		in->imm &= 0xffff;
		break;
	case 0xc8:		/* enter: level 1 and up copies frame pointers */
		if (in->imm >> 16 & 31)
			in->classes |= CLASS_LOAD;
		break;
	case 0xcc:
		in->imm = 3;
		break;
	case 0xf1:
		in->imm = 1;
		break;
	case 0xcd:
		in->imm &= 0xff;
		if (in->imm == 0x80)
			in->classes |= CLASS_SYSCALL;
		break;
	}
}

static void become_3dnow(struct insn *in)
{
	in->map = 15;
	in->opcode = in->imm;
	in->opcode_off = in->imm_off;
	in->imm = in->imm_off = in->imm_len = 0;
}

static void fill(struct insn *in, const struct state *s, const struct op *op, bool mem, unsigned imm_len)
{
	const unsigned imm_off = s->pos - imm_len;
	in->len = s->pos;
	in->flow = op->flow;
	in->special = op->special;
	in->map = s->map;
	in->opcode = s->opcode;
	in->opcode_off = s->opcode_off;
	in->rex = s->rex;
	in->encoding = s->encoding;
	in->has_modrm = s->modrm_off != 0;
	in->modrm = s->modrm;
	in->modrm_off = s->modrm_off;
	in->sib = s->sib;
	in->disp_off = s->disp_off;
	in->disp_len = s->disp_len;
	in->imm_off = imm_len ? imm_off : 0;
	in->imm_len = imm_len;
	in->rip_relative = mem && (s->modrm & 0xc7) == 5;
	in->opsize16 = s->opsize && !s->w && !(op->attr & A_NO66);
	in->addr32 = s->addr32;
	in->rep = s->rep;
	in->lock = s->lock;
	in->segment = s->segment;
	in->seg_used = s->segment >= 0x64 && segment_counts(op, mem) ? s->segment : 0;
	in->branch16 = op->attr & A_BRANCH && s->opsize && decode_amd_branches;
	in->mem = mem ? 1 : op->attr & A_IMPLICIT ? 2 : 0;
	in->vsib = op->attr & A_VEC && op->index & C_VSIB;
	in->imm = read_signed(s->p + imm_off, imm_len);
	fill_flags(in, s, op);
	fill_regs(in, s, op, mem);
	in->classes = classes_of(in, op, mem);
	if (op->attr & A_IMM(15) || op->flow)
		fill_oddities(in);
	if (op->check == CHECK_3DNOW)
		become_3dnow(in);
}

/* Decodes from a window that can be read to its end; in->len tells how many
 * bytes a refusal has looked at. */
static int decode_window(struct insn *in, const uint8_t *p)
{
	struct state s = { .p = p };
	const struct op *op;
	if (take_prefixes(&s)) {
		in->len = s.pos;
		return -1;
	}
	op = find_leaf(&s, take_opcode(&s));
	if (!op)
		goto refuse;
	if (s.w)
		s.opsize = s.opsize && op->attr & A_NP;	/* REX.W wins over 66 */
	const bool mem = is_memory(&s, op);
	if (mem)
		take_memory(&s);
	if (!permitted(&s, op, mem))
		goto refuse;
	const unsigned imm_len = imm_length(&s, op->attr);
	s.pos += imm_len;
	if (s.pos > LONGEST)
		goto refuse;
	fill(in, &s, op, mem, imm_len);
	return in->len;
refuse:
	if (op && op->check == CHECK_3DNOW)
		s.pos++;
	in->len = s.pos < LONGEST ? s.pos : LONGEST;
	return -1;
}

static int decode_short(struct insn *in, const uint8_t *bytes, unsigned avail)
{
	uint8_t window[WINDOW];
	for (unsigned i = 0; i < WINDOW; i++)
		window[i] = i < avail ? bytes[i] : 0;
	const int len = decode_window(in, window);
	return in->len > avail ? 0 : len;
}

int decode_insn(struct insn *in, const uint8_t *bytes, unsigned avail)
{
	return avail < WINDOW ? decode_short(in, bytes, avail) : decode_window(in, bytes);
}
