/* Instruction sets of instructions, for what ran beyond a machine. Most instructions are told by their first
 * bytes to be of none; the others are decoded once more. Intel SDM volume 2; AMD64 APM volumes 3 and 4. */
#include "decode.h"
#include "machine-abi.h"

static bool in(unsigned v, unsigned low, unsigned high)
{
	return v >= low && v <= high;
}

static bool is_prefix(uint8_t b)
{
	return b == 0x66 || b == 0x67 || b == 0xf2 || b == 0xf3 || b == 0xf0 || b == 0x2e || b == 0x36 || b == 0x3e ||
	       b == 0x26 || b == 0x64 || b == 0x65 || (b & 0xf0) == 0x40;
}

/* May the instruction be of a set at all? */
static bool may_be(const uint8_t *b, unsigned len)
{
	unsigned i = 0;
	while (i + 1 < len && is_prefix(b[i]))
		i++;
	if (b[i] == 0xc4 || b[i] == 0xc5 || b[i] == 0x62 || b[i] == 0x8f)
		return true;
	if (b[i] != 0x0f || i + 1 >= len)
		return false;
	switch (b[i + 1]) {
	case 0x01: case 0x12: case 0x16: case 0x38: case 0x3a: case 0x7c: case 0x7d: case 0xae: case 0xbd: case 0xc7:
	case 0xd0: case 0xf0:
		return true;
	default:
		return false;
	}
}

/* A 66 before the opcode, which insn.opsize16 does not tell where it is no operand size. */
static bool has_66(const struct insn *n, const uint8_t *bytes)
{
	for (unsigned i = 0; i < n->opcode_off; i++)
		if (bytes[i] == 0x66)
			return true;
	return false;
}

static unsigned of_0f(const struct insn *n, const uint8_t *bytes)
{
	const unsigned reg = n->modrm >> 3 & 7;
	const bool memory = n->modrm < 0xc0;
	switch (n->opcode) {
	case 0x01:
		return n->modrm == 0xf9 ? EXT_RDTSCP : n->modrm == 0xd0 ? EXT_XSAVE : EXT_NONE;
	case 0x12: case 0x16:		/* movddup movsldup movshdup */
		return n->rep == 0xf3 || (n->opcode == 0x12 && n->rep == 0xf2) ? EXT_SSE3 : EXT_NONE;
	case 0x7c: case 0x7d: case 0xd0: case 0xf0:
		return n->opcode != 0xf0 || n->rep == 0xf2 ? EXT_SSE3 : EXT_NONE;
	case 0xbd:
		return n->rep == 0xf3 ? EXT_LZCNT : EXT_NONE;
	case 0xae:
		if (!memory)
			return n->rep == 0xf3 && reg < 4 ? EXT_FSGSBASE : EXT_NONE;
		if (has_66(n, bytes))
			return reg == 7 ? EXT_CLFLUSHOPT : reg == 6 ? EXT_CLWB : EXT_NONE;
		return n->rep ? EXT_NONE : reg == 4 || reg == 5 ? EXT_XSAVE : reg == 6 ? EXT_XSAVEOPT : EXT_NONE;
	case 0xc7:
		if (memory)
			return reg == 4 ? EXT_XSAVEC : EXT_NONE;
		return reg == 6 ? EXT_RDRAND : reg == 7 ? (n->rep == 0xf3 ? EXT_RDPID : EXT_RDSEED) : EXT_NONE;
	default:
		return EXT_NONE;
	}
}

static unsigned of_0f38(const struct insn *n)
{
	const unsigned op = n->opcode;
	if (op == 0xf0 || op == 0xf1)
		return n->rep == 0xf2 ? EXT_SSE42 : EXT_MOVBE;
	return op == 0xf6 ? EXT_ADX : in(op, 0xdb, 0xdf) ? EXT_AES : op == 0xcf ? EXT_GFNI :
	       in(op, 0xc8, 0xcd) ? EXT_SHA : op == 0x37 ? EXT_SSE42 : op <= 0x0b || in(op, 0x1c, 0x1e) ? EXT_SSSE3 :
	       op <= 0x41 ? EXT_SSE41 : EXT_NONE;
}

static unsigned of_0f3a(const struct insn *n)
{
	const unsigned op = n->opcode;
	return op == 0x0f ? EXT_SSSE3 : op == 0x44 ? EXT_PCLMUL : op == 0xdf ? EXT_AES : op == 0xcc ? EXT_SHA :
	       op == 0xce || op == 0xcf ? EXT_GFNI : in(op, 0x60, 0x63) ? EXT_SSE42 : in(op, 0x08, 0x42) ? EXT_SSE41 :
	       EXT_NONE;
}

/* `last`: the last byte of the VEX prefix, with L and pp. */
static unsigned of_vex(const struct insn *n, uint8_t last)
{
	const unsigned op = n->opcode, pp = last & 3;
	const bool wide = last & 4;
	if (n->map == 1 && (in(op, 0x41, 0x4b) || in(op, 0x90, 0x93) || op == 0x98 || op == 0x99))
		return EXT_AVX512;		/* masks */
	if (n->map == 2) {
		if (in(op, 0x96, 0x9f) || in(op, 0xa6, 0xaf) || in(op, 0xb6, 0xbf))
			return EXT_FMA;
		if (op == 0xf2 || op == 0xf3 || (op == 0xf7 && pp == 0))
			return EXT_BMI1;
		if (in(op, 0xf5, 0xf7))
			return EXT_BMI2;
		if (in(op, 0xdb, 0xdf))
			return wide ? EXT_VAES : EXT_AES;
		if (op == 0x49 || op == 0x4b || op == 0x5c || op == 0x5e)
			return EXT_AMX;
		if (in(op, 0x50, 0x53))
			return EXT_AVX_VNNI;
		if (op == 0x13 || op == 0xcf)
			return op == 0x13 ? EXT_F16C : EXT_GFNI;
		if (op == 0x16 || op == 0x36 || in(op, 0x45, 0x47) || in(op, 0x58, 0x5a) || op == 0x78 || op == 0x79 ||
		    op == 0x8c || op == 0x8e || in(op, 0x90, 0x93))
			return EXT_AVX2;
	}
	if (n->map == 3) {
		if (in(op, 0x30, 0x33))
			return EXT_AVX512;
		if (op == 0xf0)
			return EXT_BMI2;
		if (op == 0x1d)
			return EXT_F16C;
		if (op == 0x44)
			return wide ? EXT_VPCLMUL : EXT_PCLMUL;
		if (op == 0xdf || op == 0xce || op == 0xcf)
			return op == 0xdf ? EXT_AES : EXT_GFNI;
		if (op <= 0x02 || op == 0x38 || op == 0x39 || op == 0x46)
			return EXT_AVX2;
	}
	return wide && n->classes & CLASS_SIMD_INT ? EXT_AVX2 : EXT_AVX;
}

static unsigned of_evex(const struct insn *n, uint8_t pp)
{
	const unsigned op = n->opcode;
	if (n->map == 5 || n->map == 6)
		return EXT_AVX512_FP16;
	if (n->map == 2) {
		if (op == 0xb4 || op == 0xb5)
			return EXT_AVX512_IFMA;
		if (op == 0x75 || op == 0x7d || op == 0x8d || op == 0x83)
			return EXT_AVX512_VBMI;
		if ((op == 0x52 && pp == 2) || (op == 0x72 && pp >= 2))
			return EXT_AVX512_BF16;
		if (in(op, 0x50, 0x53))
			return EXT_AVX512_VNNI;
		if (op == 0x54 || op == 0x8f)
			return EXT_AVX512_BITALG;
		if (in(op, 0x70, 0x73) || op == 0x62 || op == 0x63)
			return EXT_AVX512_VBMI2;
		if (in(op, 0xdc, 0xdf))
			return EXT_VAES;
	}
	if (n->map == 3 && in(op, 0x70, 0x73))
		return EXT_AVX512_VBMI2;
	if (n->map == 3 && op == 0x44)
		return EXT_VPCLMUL;
	return EXT_AVX512;
}

unsigned decode_extension(const uint8_t *bytes, unsigned len)
{
	struct insn n;
	if (!may_be(bytes, len) || decode_insn(&n, bytes, len) <= 0)
		return EXT_NONE;
	switch (n.encoding) {
	case 1:
	case 2:
		return of_vex(&n, bytes[n.opcode_off - 1]);
	case 3:
		return of_evex(&n, bytes[n.opcode_off - 2] & 3);
	case 4:
		return EXT_XOP;
	default:
		return n.map == 1 ? of_0f(&n, bytes) : n.map == 2 ? of_0f38(&n) : n.map == 3 ? of_0f3a(&n) : EXT_NONE;
	}
}
