/* The x86-64 decoder: bytes to struct insn, through the rows of decode-tables*.
 *
 *	prefixes -> opcode map -> row (through groups) -> ModRM, SIB, displacement,
 *	immediate -> lengths are known -> what it reads, writes and counts as
 *
 * Bytes are read without a check of each, from a window of at least WINDOW bytes. Near the end of a
 * page the caller's bytes are copied to a padded window, and a result that depends on the padding
 * is reported as "more bytes needed".
 *
 * decode-zydis and decode-cpu in tests/func compare it with Zydis and with the CPU.
 *
 * What counts as what, where there is a choice:
 *
 *	cmov, vmaskmov, gather, masked move	loads or stores whatever the condition or mask
 *	cmpxchg with memory			load and store, also when it fails
 *	cmps					one load; movs a load and a store
 *	rep string				one instruction, load, store, whatever rcx
 *	prefetch, prefetchw			load; gather and scatter prefetches as gathers, scatters
 *	lea, nop r/m, endbr, cldemote		neither load nor store
 *	clflush, clflushopt, clwb, invlpg	neither: no data moves
 *	clzero, movdir64b, enqcmd		store (the latter two load as well)
 *	monitorx, umonitor			neither
 *	push and pop of memory			load and store
 *	call, far call				store, and load if through memory
 *	ret, far ret, iret, uiret, leave, popf	load
 *	enter					store; level 2 and up load as well
 *	xlat					load
 *	fxsave, xsave, fnsave, fnstenv		store; the restoring ones load
 *	fbstp					store (that some hardware counts a load is its overcount)
 *	maskmovq, maskmovdqu			store
 *	bt and friends with memory		load; bts, btr, btc load and store
 *	loading a segment register		its operand; the descriptor is the kernel's
 *	syscall, sysenter, int 0x80		branch, far, system call
 *	int n, int3, int1			branch, far
 *	xbegin, xend, xabort			no branches
 *	loop, jrcxz				branches and conditional
 *	xchg with memory			locked, with a lock prefix or without
 *	mul, imul, mulx				multiplies; not pmul, not fmul
 *	fwait, fnop, ffree …			x87: all of D8 to DF and 9B
 *	vector logic, moves, shuffles on ps/pd	not floating point
 *	p…, vp…, aes, sha, gf2p8, (db)psadbw	integer SIMD by name, 3DNow! too; not vpmaskmov,
 *						vpgather, vpscatter, masks (k…), AMX
 *	fused multiply-add, dpps, dot products	floating point, and a multiply (CLASS_MUL_FP)
 *	sqrt					no divide
 *	MPX (bnd…)				nops, as on every CPU under a current kernel
 */
#include "decode.h"
#include "decode-tables.h"

#define WINDOW 32	/* more than any byte looked at before the length is known */
#define LONGEST 15
#define INLINE inline __attribute__((always_inline))

bool decode_amd_branches;

/* ---- prefixes ---- */

enum { P_NONE, P_REX, P_SEG, P_66, P_67, P_LOCK, P_REP, P_ESCAPE };

static const uint8_t prefix_kind[256] = {
	[0x26] = P_SEG, [0x2e] = P_SEG, [0x36] = P_SEG, [0x3e] = P_SEG,
	[0x40] = P_REX, [0x41] = P_REX, [0x42] = P_REX, [0x43] = P_REX,
	[0x44] = P_REX, [0x45] = P_REX, [0x46] = P_REX, [0x47] = P_REX,
	[0x48] = P_REX, [0x49] = P_REX, [0x4a] = P_REX, [0x4b] = P_REX,
	[0x4c] = P_REX, [0x4d] = P_REX, [0x4e] = P_REX, [0x4f] = P_REX,
	[0x64] = P_SEG, [0x65] = P_SEG, [0x66] = P_66, [0x67] = P_67,
	[0xf0] = P_LOCK, [0xf2] = P_REP, [0xf3] = P_REP,
	/* not prefixes of an opcode but the beginning of one */
	[0x62] = P_ESCAPE, [0x8f] = P_ESCAPE, [0xc4] = P_ESCAPE, [0xc5] = P_ESCAPE,
};

/* What VEX, EVEX and XOP say besides what struct insn holds; of a legacy instruction
 * only w and pp have a meaning. */
struct bits {
	uint8_t w, l, pp;
	uint8_t vvvv;			/* as a number */
	uint8_t r2, v2, z, b, aaa;	/* EVEX */
};

/* The state of a decode, besides struct insn. (It is separate, and small functions are forced
 * inline, so that it stays in registers.) */
struct walk {
	const uint8_t *p;
	unsigned pos;			/* bytes consumed */
	struct bits v;
	bool opsize;			/* a 66 prefix, whatever it will mean */
	bool plain;			/* no prefix but REX, and no VEX: a constant, see decode_plain() */
};

static void clear(struct insn *in)
{
	typedef uint64_t word __attribute__((may_alias));
	_Static_assert(sizeof(*in) % sizeof(word) == 0, "cleared by words");
	word *const words = (word *)in;
#pragma GCC unroll 16
	for (unsigned i = 0; i < sizeof(*in) / sizeof(word); i++)
		words[i] = 0;
}

static INLINE int take_prefixes(struct insn *in, struct walk *k)
{
	for (;;) {
		const uint8_t byte = k->p[k->pos];
		const unsigned kind = prefix_kind[byte];
		if (kind == P_NONE || kind == P_ESCAPE)
			return 0;
		if (++k->pos >= LONGEST)
			return -1;
		if (kind == P_REX) {
			in->rex = byte;
			continue;
		}
		in->rex = 0;	/* REX counts only right before the opcode */
		switch (kind) {
		case P_SEG:
			if (byte >= 0x64 || in->segment < 0x64)
				in->segment = byte;
			break;
		case P_66:
			k->opsize = true;
			break;
		case P_67:
			in->addr32 = 1;
			break;
		case P_LOCK:
			in->lock = 1;
			break;
		case P_REP:
			in->rep = byte;
			break;
		}
	}
}

/* ---- the opcode ---- */

static const struct op bad;

static INLINE const struct op *vector_row(const struct insn *in, const struct walk *k, unsigned map)
{
	const unsigned i = decode_vector_index[map][k->v.pp][in->opcode];
	return i ? &decode_vector_rows[i] : &bad;
}

/* Refused before VEX, EVEX and XOP: a REX, 66, F2, F3 or lock prefix. */
static INLINE bool plain_prefixes(const struct insn *in, const struct walk *k)
{
	return !in->rex && !k->opsize && !in->rep && !in->lock;
}

static INLINE void opcode_at(struct insn *in, struct walk *k, unsigned off)
{
	in->opcode_off = off;
	in->opcode = k->p[off];
	k->pos = off + 1;
}

static INLINE void take_vex(struct insn *in, struct walk *k, unsigned encoding, unsigned map, uint8_t rxb, uint8_t last)
{
	in->encoding = encoding;
	in->map = map;
	k->v.w = encoding == 1 ? 0 : last >> 7;
	in->rex = 0x40 | k->v.w << 3 | rxb;
	k->v.vvvv = ~last >> 3 & 15;
	k->v.l = last >> 2 & 1;
	k->v.pp = last & 3;
	opcode_at(in, k, k->pos + (encoding == 1 ? 2 : 3));
}

/* The r, x and b of VEX, EVEX and XOP are stored inverted. */
static uint8_t inverted_rxb(uint8_t byte)
{
	return ~byte >> 5 & 7;
}

static INLINE const struct op *take_vex2(struct insn *in, struct walk *k)
{
	const uint8_t *const p = k->p + k->pos;
	if (!plain_prefixes(in, k))
		return &bad;
	take_vex(in, k, 1, 1, inverted_rxb(p[1]) & 4, p[1]);
	return vector_row(in, k, MAP_V0F);
}

static INLINE const struct op *take_vex3(struct insn *in, struct walk *k)
{
	const uint8_t *const p = k->p + k->pos;
	const unsigned map = p[1] & 31;
	if (!plain_prefixes(in, k))
		return &bad;
	if (map < 1 || map > 3) {
		k->pos += 2;
		return &bad;
	}
	take_vex(in, k, 2, map, inverted_rxb(p[1]), p[2]);
	return vector_row(in, k, MAP_V0F + map - 1);
}

static INLINE const struct op *take_xop(struct insn *in, struct walk *k)
{
	const uint8_t *const p = k->p + k->pos;
	const unsigned map = p[1] & 31;
	if (!plain_prefixes(in, k))
		return &bad;
	if (map > 10) {
		k->pos += 2;
		return &bad;
	}
	take_vex(in, k, 4, map, inverted_rxb(p[1]), p[2]);
	return vector_row(in, k, MAP_X8 + map - 8);
}

static INLINE const struct op *take_evex(struct insn *in, struct walk *k)
{
	static const uint8_t maps[8] = { 0, MAP_E0F, MAP_E0F38, MAP_E0F3A, 0, MAP_E5, MAP_E6, 0 };
	const uint8_t *const p = k->p + k->pos;
	const unsigned map = p[1] & 7;
	if (!plain_prefixes(in, k))
		return &bad;
	if (p[1] & 8 || !maps[map]) {
		k->pos += 2;
		return &bad;
	}
	if (!(p[2] & 4)) {
		k->pos += 3;
		return &bad;
	}
	in->encoding = 3;
	in->map = map;
	k->v = (struct bits){
		.w = p[2] >> 7, .vvvv = ~p[2] >> 3 & 15, .pp = p[2] & 3, .r2 = ~p[1] >> 4 & 1,
		.z = p[3] >> 7, .l = p[3] >> 5 & 3, .b = p[3] >> 4 & 1, .v2 = ~p[3] >> 3 & 1, .aaa = p[3] & 7,
	};
	in->rex = 0x40 | k->v.w << 3 | inverted_rxb(p[1]);
	opcode_at(in, k, k->pos + 4);
	return vector_row(in, k, maps[map]);
}

static INLINE const struct op *take_0f(struct insn *in, struct walk *k)
{
	const uint8_t byte = k->p[k->pos + 1];
	/* The mandatory prefix: F2 and F3 win over 66, the later of them over the other. */
	k->v.pp = k->plain ? 0 : in->rep ? (in->rep == 0xf3 ? 2 : 3) : k->opsize;
	if (byte == 0x38 || byte == 0x3a) {
		in->map = byte == 0x38 ? 2 : 3;
		opcode_at(in, k, k->pos + 2);
		return vector_row(in, k, MAP_0F38 + in->map - 2);
	}
	opcode_at(in, k, k->pos + 1);
	in->map = 1;
	return &decode_0f[byte];
}

static INLINE const struct op *take_opcode(struct insn *in, struct walk *k)
{
	const uint8_t byte = k->p[k->pos];
	if (byte == 0x0f)
		return take_0f(in, k);
	switch (k->plain ? 0 : byte) {
	case 0xc5:
		return take_vex2(in, k);
	case 0xc4:
		return take_vex3(in, k);
	case 0x62:
		return take_evex(in, k);
	case 0x8f:
		if ((k->p[k->pos + 1] & 31) >= 8)
			return take_xop(in, k);
		break;
	}
	opcode_at(in, k, k->pos);
	return &decode_one[byte];
}

static INLINE void take_modrm(struct insn *in, struct walk *k)
{
	in->has_modrm = 1;
	in->modrm_off = k->pos;
	in->modrm = k->p[k->pos++];
}

/* From the row of the opcode to its leaf: the row says which bits choose. */
static INLINE const struct op *find_leaf(struct insn *in, struct walk *k, const struct op *op)
{
	for (;;) {
		unsigned choice;
		if (op->attr & A_MODRM && !in->has_modrm)
			take_modrm(in, k);
		if (op->kind == K_LEAF)
			return op;
		switch (op->kind) {
		case K_REG:
			choice = in->modrm >> 3 & 7;
			break;
		case K_MOD:
			choice = in->modrm >= 0xc0;
			break;
		case K_RM:
			choice = in->modrm & 7;
			break;
		case K_PP:
			choice = k->v.pp;
			break;
		case K_W:
			choice = k->v.w;
			break;
		case K_B:
			choice = in->rex & 1;
			break;
		case K_VECTOR:
			op = vector_row(in, k, MAP_0F);
			continue;
		default:
			return 0;
		}
		/* Rows of the sparse maps have theirs close by. */
		op = (op->attr & A_VEC ? op : decode_groups) + op->index + choice;
	}
}

/* ---- operands ---- */

static bool is_memory(const struct insn *in, const struct op *op)
{
	return op->attr & A_MODRM && in->modrm < 0xc0 && op->check != CHECK_CR && op->check != CHECK_DR;
}

/* Steps over SIB and displacement. Returns the registers that the address is made of. */
static INLINE unsigned take_memory(struct insn *in, struct walk *k, const struct op *op)
{
	const unsigned mod = in->modrm >> 6, rm = in->modrm & 7, rex = in->rex;
	unsigned base = rm, regs = 0;
	in->mem = 1;
	if (rm == 4) {
		in->sib = k->p[k->pos++];
		base = in->sib & 7;
		const unsigned index = (in->sib >> 3 & 7) | (rex << 2 & 8);
		const bool vsib = !k->plain && op->attr & A_VEC && op->index & C_VSIB;
		if (vsib) {
			in->vsib = (uint8_t)(1 + k->v.l);
			in->vsib_mask = (uint8_t)((in->encoding == 3 ? k->v.aaa : k->v.vvvv) | k->v.v2 << 4);
		}
		if (index != 4 && !vsib)
			regs = 1u << index;
	}
	if (mod == 0 && base == 5) {
		in->rip_relative = rm == 5;
	} else {
		regs |= 1u << (base | (rex << 3 & 8));
		if (mod == 0)
			return regs;
	}
	in->disp_off = k->pos;
	in->disp_len = mod == 1 ? 1 : 4;
	k->pos += in->disp_len;
	return regs;
}

static INLINE unsigned imm_length(const struct insn *in, const struct walk *k, uint32_t attr)
{
	static const uint8_t fixed[16] = {
		[I_8] = 1, [I_16] = 2, [I_16_8] = 3, [I_REL8] = 1, [I_8_8] = 2, [I_32] = 4, [I_IS4] = 1,
	};
	const bool opsize16 = !k->plain && in->opsize16;
	switch (A_IMM_OF(attr)) {
	case I_Z:
		return opsize16 ? 2 : 4;
	case I_V:
		return k->v.w ? 8 : opsize16 ? 2 : 4;
	case I_MOFFS:
		return !k->plain && in->addr32 ? 4 : 8;
	case I_REL32:
		return opsize16 && decode_amd_branches ? 2 : 4;
	default:
		return fixed[A_IMM_OF(attr)];
	}
}

static INLINE int64_t read_signed(const uint8_t *p, unsigned len)
{
	int64_t value;
	if (len == 4) {
		int32_t word;
		__builtin_memcpy(&word, p, 4);
		return word;
	}
	if (len == 1)
		return (int8_t)p[0];
	if (len == 8) {
		__builtin_memcpy(&value, p, 8);
		return value;
	}
	if (len == 2)
		return (int16_t)(p[0] | p[1] << 8);
	return p[0] | p[1] << 8 | p[2] << 16;	/* enter: size, level */
}

/* ---- encodings that are not valid ---- */

static INLINE bool distinct_ok(const struct insn *in, const struct walk *k, const struct op *op, bool mem)
{
	const unsigned reg = (in->modrm >> 3 & 7) | (in->rex << 1 & 8) | k->v.r2 << 4;
	const unsigned vvvv = k->v.vvvv | k->v.v2 << 4;
	if (op->index & C_VSIB) {
		const unsigned index = (in->sib >> 3 & 7) | (in->rex << 2 & 8) | k->v.v2 << 4;
		if (in->encoding == 3)
			return reg != index;
		return reg != index && reg != k->v.vvvv && index != k->v.vvvv;
	}
	const unsigned rm = (in->modrm & 7) | (in->rex << 3 & 8) | (in->encoding == 3 ? in->rex << 3 & 16 : 0);
	if (!mem && reg == rm)
		return false;
	if (op->index & C_VVK && (rm > 7 || rm == vvvv))	/* tiles */
		return false;
	return !(op->index & C_VV) || reg != vvvv;
}

static INLINE bool evex_ok(const struct bits *v, const struct op *op, bool mem)
{
	const unsigned con = op->index;
	if (v->b && !(con & (mem ? C_BCAST : C_ER)))
		return false;
	if (v->z && (!(con & C_Z) || !v->aaa || (mem && op->attr & A_RM_W)))
		return false;
	if (v->aaa ? !(con & C_K) : con & C_KREQ)
		return false;
	return !(op->attr & (A_REG_R | A_REG_W) && v->r2);
}

static INLINE bool vector_ok(const struct insn *in, const struct walk *k, const struct op *op, bool mem)
{
	const struct bits *const v = &k->v;
	const unsigned con = op->index;
	const bool rounding = v->b && !mem && con & C_ER;	/* in place of the length */
	if (!(con >> v->w & C_W0))
		return false;
	if (!rounding && !(con >> v->l & C_L0))
		return false;
	if (!(con & C_VV) && (v->vvvv || (v->v2 && !(con & C_VSIB))))
		return false;
	if (con & C_REGK && (in->rex & 4 || v->r2))
		return false;
	if (con & C_VVK && (v->vvvv > 7 || v->v2))
		return false;
	if (con & C_VSIB && (in->modrm & 7) != 4)
		return false;
	if (in->encoding == 3 && !evex_ok(v, op, mem))
		return false;
	return !(con & C_DISTINCT) || distinct_ok(in, k, op, mem);
}

static INLINE bool check_ok(const struct insn *in, const struct walk *k, unsigned check)
{
	const unsigned modrm = in->modrm;
	const unsigned reg = (modrm >> 3 & 7) | (in->rex << 1 & 8);
	switch (check) {
	case CHECK_CR:
		return reg == 0 || reg == 2 || reg == 3 || reg == 4 || reg == 8;
	case CHECK_DR:
		return reg < 8;
	case CHECK_3DNOW:	/* the opcode is where an immediate would be */
		return decode_3dnow[k->p[k->pos] >> 3] >> (k->p[k->pos] & 7) & 1;
	case CHECK_C0:
		return modrm == 0xc0;
	case CHECK_REG0:
		return (modrm >> 3 & 7) == 0;
	case CHECK_RM0:
		return (modrm & 7) == 0;
	}
	return true;
}

#define A_RESTRICTS (A_NOREG | A_NOMEM | A_NP | A_SIB | A_VEC)

static INLINE bool permitted(const struct insn *in, const struct walk *k, const struct op *op, bool mem)
{
	const uint32_t attr = op->attr;
	if (!k->plain && in->lock && !(mem && attr & A_LOCK))
		return false;
	if (!(attr & A_RESTRICTS) && !op->check)
		return true;
	if (attr & A_NOREG && !mem)
		return false;
	if (attr & A_NOMEM && mem)
		return false;
	if (!k->plain && attr & A_NP && (k->opsize || in->rep))
		return false;
	if (!k->plain && attr & A_SIB && (in->modrm & 7) != 4)
		return false;
	if (!k->plain && attr & A_VEC && !vector_ok(in, k, op, mem))
		return false;
	return check_ok(in, k, op->check);
}

/* ---- what it reads and writes ---- */

/* All ones if the attribute (one bit) is there. */
static unsigned mask(uint32_t attr, uint32_t which)
{
	return -(unsigned)!!(attr & which);
}

static INLINE void fill_regs(struct insn *in, const struct walk *k, const struct op *op, unsigned address)
{
	const uint32_t attr = op->attr;
	const struct op_regset *const set = &decode_regsets[op->regs];
	const unsigned rex = in->rex;
	unsigned reg = (in->modrm >> 3 & 7) | (rex << 1 & 8);
	unsigned rm = (in->modrm & 7) | (rex << 3 & 8);
	unsigned low = (in->opcode & 7) | (rex << 3 & 8);
	const bool opsize16 = !k->plain && in->opsize16;
	bool whole = !opsize16;		/* a result replaces the register */

	if (attr & (A_RM8 | A_REG8 | A_PARTIAL)) {
		/* Without REX the byte registers 4 … 7 are ah ch dh bh. */
		if (attr & A_REG8 && !rex)
			reg &= 3, low &= 3;
		if (attr & A_RM8 && !rex)
			rm &= 3;
		if (attr & (A_REG8 | A_PARTIAL) || (attr & (A_RM8 | A_RM_W)) == (A_RM8 | A_RM_W))
			whole = false;
	}
	unsigned read = 1u << reg & mask(attr, A_REG_R);
	unsigned written = 1u << reg & mask(attr, A_REG_W);
	if (in->mem != 1 && !(attr & A_RM_X)) {
		read |= 1u << rm & mask(attr, A_RM_R);
		written |= 1u << rm & mask(attr, A_RM_W);
		if (attr & A_ZEROES && reg == rm && !opsize16)
			read = 0;
	}
	if (attr & (A_OP_R | A_OP_W)) {
		read |= 1u << low & mask(attr, A_OP_R);
		written |= 1u << low & mask(attr, A_OP_W);
	}
	if (!k->plain) {
		read |= 1u << k->v.vvvv & mask(attr, A_VV_R);
		written |= 1u << k->v.vvvv & mask(attr, A_VV_W);
	}
	read |= address | set->read;
	in->regs_read = read;
	in->regs_written = written | set->written;
	in->regs_killed = ((whole ? written : 0) | (opsize16 ? 0 : set->killed)) & ~read;
}

/* Shifts and rotates by an immediate, as far as the manuals of both vendors define the
 * flags: OF only for a count of 1 (Intel CPUs keep it when they rotate a register by more,
 * AMD's write it), CF of a shift only below the operand's size, AF never. */
static unsigned shift_flags(unsigned flags, unsigned count, unsigned size)
{
	unsigned written = decode_flagsets[flags].written;
	if (count != 1)
		written &= ~FLAG_OF;
	switch (flags) {
	case F_RCL:	/* through CF, so modulo 9, 17, 33 or 65: nothing happens if that is 0 */
		return count % (size + 1) ? written : 0;
	case F_SHIFT:
		return count < size ? written : written & ~FLAG_CF;
	case F_SHIFT_DOUBLE:
		return count < size ? written : 0;
	default:
		return written;
	}
}

static INLINE void fill_flags(struct insn *in, const struct walk *k, const struct op *op)
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
	if (op->attr & A_CC) {
		in->flags_read = conditions[in->opcode >> 1 & 7];
	} else if (op->attr & A_SHIFT) {
		const bool byte = op->attr & A_RM8;
		const unsigned count = (unsigned)in->imm & (k->v.w ? 63 : 31);
		const unsigned size = byte ? 8 : k->v.w ? 64 : !k->plain && in->opsize16 ? 16 : 32;
		in->flags_written = shift_flags(op->flags, count, size);
		if (!count)	/* keeps all flags */
			in->flags_written = in->flags_touched = 0;
		else if (byte && !(count & 31))	/* does REX.W widen the count of a byte shift? */
			in->flags_written = 0;
	}
}

/* Nothing happens when rcx is 0. */
static void repeat(struct insn *in)
{
	in->flags_written = 0;
	in->regs_read |= 1u << 1;
	in->regs_written |= 1u << 1;
	in->classes |= CLASS_REP;
}

/* Stack and es:rdi accesses take no segment prefix. */
static bool segment_counts(const struct insn *in, const struct op *op)
{
	if (in->mem == 1)
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

static INLINE uint32_t classes_of(const struct insn *in, const struct walk *k, const struct op *op)
{
	uint32_t classes = op->classes;
	_Static_assert(CLASS_LOAD == A_RM_R << 2 && CLASS_STORE == A_RM_W << 2, "shifted into place");
	if (in->mem == 1)
		classes |= (op->attr & (A_RM_R | A_RM_W)) << 2;
	if (!k->plain && in->lock)
		classes |= CLASS_LOCKED;
	if (in->map && (k->plain || !in->encoding) && op->flow != FLOW_JCC)
		classes |= CLASS_0F_NONBRANCH;
	return classes;
}

static void become_3dnow(struct insn *in)
{
	in->map = 15;
	in->opcode = in->imm;
	in->opcode_off = in->imm_off;
	in->imm = in->imm_off = in->imm_len = 0;
}

/* The few instructions whose meaning depends on the immediate. */
static void fill_oddities(struct insn *in, const struct op *op)
{
	if (op->check == CHECK_3DNOW)
		become_3dnow(in);
	if (op->check != CHECK_ODD)
		return;
	switch (in->opcode) {
	case 0xc2:
		in->imm &= 0xffff;
		break;
	case 0xc8:		/* enter: level 2 and up copies frame pointers */
		if ((in->imm >> 16 & 31) > 1)
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

/* A 66 prefix: the operand size, unless REX.W overrides it or it chose the opcode. */
static INLINE void take_opsize(struct insn *in, struct walk *k, const struct op *op)
{
	in->opsize16 = !k->v.w && !(op->attr & A_NO66);
	in->branch16 = in->opsize16 && op->attr & A_BRANCH && decode_amd_branches;
	if (k->v.w && !(op->attr & A_NP))
		k->opsize = false;
}

static INLINE void take_imm(struct insn *in, struct walk *k, unsigned len)
{
	in->imm_off = k->pos;
	in->imm_len = len;
	in->imm = read_signed(k->p + k->pos, len);
	k->pos += len;
}

/* Decodes from a window that can be read to its end. Where the bytes are refused, in->len is how many
 * of them were looked at. */
static INLINE int decode_either(struct insn *restrict in, const uint8_t *p, bool plain)
{
	struct walk k = { .p = p, .plain = plain };
	const struct op *op = 0;
	unsigned address = 0;
	clear(in);
	if (plain) {
		k.pos = (p[0] & 0xf0) == 0x40;
		in->rex = k.pos ? p[0] : 0;
	} else if (take_prefixes(in, &k)) {
		goto refuse;
	}
	k.v.w = in->rex >> 3 & 1;
	op = find_leaf(in, &k, take_opcode(in, &k));
	if (!op)
		goto refuse;
	in->flow = op->flow;
	in->special = op->special;
	if (in->opcode == 0x87 && in->modrm == 0xdb && in->rex == 0x48 && !in->map)
		in->special = SPECIAL_REQUEST;
	if (!plain && k.opsize)
		take_opsize(in, &k, op);
	if (is_memory(in, op))
		address = take_memory(in, &k, op);
	else if (op->attr & A_IMPLICIT)
		in->mem = 2;
	if (!permitted(in, &k, op, in->mem == 1))
		goto refuse;
	if (op->attr & A_IMM(15)) {
		const unsigned len = imm_length(in, &k, op->attr);
		if (k.pos + len > LONGEST) {
			k.pos += len;
			goto refuse;
		}
		take_imm(in, &k, len);
	}
	if (k.pos > LONGEST)
		goto refuse;
	in->len = k.pos;
	if (!plain && in->segment >= 0x64 && segment_counts(in, op))
		in->seg_used = in->segment;
	fill_flags(in, &k, op);
	fill_regs(in, &k, op, address);
	in->classes = classes_of(in, &k, op);
	if (!plain && op->attr & A_STRING && in->rep)
		repeat(in);
	if (op->check)
		fill_oddities(in, op);
	return in->len;
refuse:
	if (op && op->check == CHECK_3DNOW)
		k.pos++;
	in->len = k.pos < LONGEST ? k.pos : LONGEST;
	return -1;
}

/* Most instructions have no prefix, or only REX, and are not VEX: there is a copy of the decoder for
 * these alone, without the code for the others. */
static int decode_plain(struct insn *in, const uint8_t *p)
{
	return decode_either(in, p, true);
}

static int decode_any(struct insn *in, const uint8_t *p)
{
	return decode_either(in, p, false);
}

static int decode_window(struct insn *in, const uint8_t *p)
{
	const unsigned kind = prefix_kind[p[(p[0] & 0xf0) == 0x40]];
	return kind == P_NONE ? decode_plain(in, p) : decode_any(in, p);
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

/* ---- steps ---- */

/* What an opcode means when only REX comes before it, computed on first use. Decoding spends its time
 * waiting for one byte after the other and on mispredicted branches, so this path has few of both.
 * Opcodes that need more checks than these use decode_insn(). */
struct leaf {
	uint32_t classes;	/* without its memory operand */
	uint16_t flags_read, flags_written;
	uint8_t flow;
	uint8_t imm_len[2];	/* by REX.W */
	uint8_t bits;
};
#define L_MODRM		(1u << 0)
#define L_RM_R		(1u << 1)
#define L_RM_W		(1u << 2)
#define L_NOREG		(1u << 3)
#define L_NOMEM		(1u << 4)	/* one to the left of L_NOREG */
#define L_SHIFT		(1u << 5)
#define L_KNOWN		(1u << 6)
#define L_FAST		(1u << 7)
/* NOLINTNEXTLINE(misc-redundant-expression): equal values are what is asserted */
_Static_assert(L_RM_R == A_RM_R && L_RM_W == A_RM_W && L_MODRM == A_MODRM, "taken from there");

/* opcodes that mean something else by ModRM.reg */
#define GROUPS 15
static const uint8_t grouped[512] = {
	[0x80] = 1, [0x81] = 2, [0x83] = 3, [0xc0] = 4, [0xc1] = 5, [0xc6] = 6, [0xc7] = 7, [0xd0] = 8,
	[0xd1] = 9, [0xd2] = 10, [0xd3] = 11, [0xf6] = 12, [0xf7] = 13, [0xff] = 14, [0x1ba] = 15,
};
static struct leaf leaves[512 + 8 * GROUPS];

/* ModRM: bytes of displacement, has SIB, is memory, is relative to rip */
#define M_DISP 7u
#define M_SIB 8u
#define M_MEM 16u
#define M_RIP 32u
#define M8(a, b) a, a, a, a, (a) | M_SIB, b, a, a
#define M64(a, b) M8(a, b), M8(a, b), M8(a, b), M8(a, b), M8(a, b), M8(a, b), M8(a, b), M8(a, b)
static const uint8_t modrm_shape[256] = {
	M64(M_MEM, M_MEM | M_RIP | 4), M64(M_MEM | 1, M_MEM | 1), M64(M_MEM | 4, M_MEM | 4),
};

static const struct op *plain_row(unsigned row, unsigned reg)
{
	const unsigned opcode = row & 255;
	const struct op *op = row < 256 ? &decode_one[opcode] : &decode_0f[opcode];
	if (row < 256 && (prefix_kind[opcode] != P_NONE || opcode == 0x0f))
		return 0;
	if (row == 0x138 || row == 0x13a)
		return 0;
	while (op->kind != K_LEAF) {
		unsigned choice = 0;
		if (op->kind == K_VECTOR) {
			op = &decode_vector_rows[decode_vector_index[MAP_0F][0][opcode]];
			continue;
		}
		if (op->kind == K_REG && grouped[row])
			choice = reg;
		else if (op->kind != K_PP)
			return 0;
		op = (op->attr & A_VEC ? op : decode_groups) + op->index + choice;
	}
	return op;
}

static bool is_fast(const struct op *op, unsigned row)
{
	switch (op->flow) {
	case FLOW_NEXT:
	case FLOW_JCC:
	case FLOW_JMP:
	case FLOW_CALL:
	case FLOW_RET:
		break;
	default:
		return false;
	}
	if (op->attr & A_SHIFT && op->attr & A_RM8)	/* shift_flags() depends on the count */
		return false;
	/* 8C and 0F A8 may read gs, which only their bytes tell */
	return !op->special && !op->check && !(op->attr & A_SIB) && row != 0x8c && row != 0x1a8;
}

static void learn(struct leaf *l, unsigned row, unsigned reg)
{
	const struct op *const op = plain_row(row, reg);
	l->bits = L_KNOWN;
	if (!op || !is_fast(op, row))
		return;
	/* A shift by 31: what it writes, one by any count but 0 writes too. */
	struct insn in = { .opcode = row & 255, .map = row >> 8, .imm = 31 };
	struct walk k = { .plain = true };
	fill_flags(&in, &k, op);
	l->flags_read = in.flags_read;
	l->flags_written = in.flags_written;
	l->classes = classes_of(&in, &k, op);
	l->flow = op->flow;
	l->imm_len[0] = imm_length(&in, &k, op->attr);
	k.v.w = 1;
	l->imm_len[1] = imm_length(&in, &k, op->attr);
	l->bits |= L_FAST | (op->attr & (L_MODRM | L_RM_R | L_RM_W));
	l->bits |= op->attr & A_NOREG ? L_NOREG : 0;
	l->bits |= op->attr & A_NOMEM ? L_NOMEM : 0;
	l->bits |= op->attr & A_SHIFT ? L_SHIFT : 0;
}

/* jcc, jmp, call, ret without prefixes */
static INLINE void fill_branch(struct insn *in, const struct leaf *l, const uint8_t *p, unsigned rex, unsigned two,
			       unsigned len)
{
	const unsigned imm_len = l->imm_len[0], at = rex + two;
	clear(in);
	in->len = len;
	in->flow = l->flow;
	in->rex = rex ? p[0] : 0;
	in->map = two;
	in->opcode = p[at];
	in->opcode_off = at;
	in->mem = l->classes & (CLASS_LOAD | CLASS_STORE) ? 2 : 0;
	in->flags_read = l->flags_read;
	in->classes = l->classes;
	if (imm_len) {
		in->imm_off = at + 1;
		in->imm_len = imm_len;
		in->imm = read_signed(p + at + 1, imm_len);
	}
}

static INLINE int step_fast(struct step *s, struct insn *in, const uint8_t *p)
{
	uint64_t bytes;
	__builtin_memcpy(&bytes, p, 8);
	const unsigned rex = (bytes & 0xf0) == 0x40, w = rex & (unsigned)(bytes >> 3);
	bytes >>= 8 * rex;
	const unsigned two = (uint8_t)bytes == 0x0f;
	bytes >>= 8 * two;
	const unsigned modrm = (uint8_t)(bytes >> 8), sib_byte = (uint8_t)(bytes >> 16);
	const unsigned row = two << 8 | (uint8_t)bytes, group = grouped[row];
	struct leaf *const l = &leaves[group ? 512 - 8 + 8 * group + (modrm >> 3 & 7) : row];
	if (!(l->bits & L_KNOWN))
		learn(l, row, modrm >> 3 & 7);
	const unsigned bits = l->bits;
	const unsigned has_modrm = bits & L_MODRM;
	const unsigned shape = modrm_shape[modrm] & -has_modrm;
	const unsigned mem = shape / M_MEM & 1, sib = shape / M_SIB & 1;
	if (!(bits & L_FAST) || (bits >> mem & L_NOREG) || shape & M_RIP)
		return 0;
	const unsigned no_base = sib & (modrm < 0x40) & ((sib_byte & 7) == 5);
	const unsigned imm_off = rex + two + 1 + has_modrm + sib + (shape & M_DISP) + no_base * 4;
	const unsigned len = imm_off + l->imm_len[w];
	/* a shift by 0 changes no flags */
	if (bits & L_SHIFT && !(p[imm_off] & (w ? 63 : 31)))
		return 0;
	s->len = len;
	s->simple = l->flow == FLOW_NEXT;
	s->flags_read = l->flags_read;
	s->flags_written = l->flags_written;
	s->classes = l->classes | (bits & -mem & (L_RM_R | L_RM_W)) << 2;
	if (l->flow != FLOW_NEXT)
		fill_branch(in, l, p, rex, two, len);
	return (int)len;
}

int decode_step(struct step *s, struct insn *in, const uint8_t *bytes, unsigned avail)
{
	if (avail >= WINDOW) {
		const int len = step_fast(s, in, bytes);
		if (len)
			return len;
	}
	const int len = decode_insn(in, bytes, avail);
	s->len = in->len;
	s->simple = false;
	s->flags_read = in->flags_read;
	s->flags_written = in->flags_written;
	s->classes = in->classes;
	return len;
}

bool decode_reads_gs_selector(const struct insn *in)
{
	if (in->encoding)
		return false;
	return (in->map == 0 && in->opcode == 0x8c && (in->modrm >> 3 & 7) == 5) ||
	       (in->map == 1 && in->opcode == 0xa8);
}
