/* Which registers and addresses a trace must keep of an instruction (decode.h). */
#include "decode.h"

enum { STACK_NOT, STACK_TOP, STACK_FRAME };

/* push, pop, call, ret, pushf, popf, enter: at rsp; leave: at rbp */
static int stack_use(const struct insn *in)
{
	const unsigned reg = in->modrm >> 3 & 7;
	if (in->encoding)
		return STACK_NOT;
	if (in->map == 1)
		return in->opcode == 0xa0 || in->opcode == 0xa1 || in->opcode == 0xa8 ||
		       in->opcode == 0xa9 ? STACK_TOP : STACK_NOT;
	if (in->map)
		return STACK_NOT;
	switch (in->opcode) {
	case 0x50 ... 0x5f:
	case 0x68:
	case 0x6a:
	case 0x9c:
	case 0x9d:
	case 0xc2:
	case 0xc3:
	case 0xc8:
	case 0xe8:
		return STACK_TOP;
	case 0x8f:
		return reg == 0 ? STACK_TOP : STACK_NOT;
	case 0xc9:
		return STACK_FRAME;
	case 0xff:
		return reg == 2 || reg == 6 ? STACK_TOP : STACK_NOT;
	default:
		return STACK_NOT;
	}
}

/* movs, cmps, stos, lods, scas */
static unsigned string_words(const struct insn *in, uint8_t *words)
{
	unsigned n = 0;
	const unsigned op = in->opcode & 0xfe;
	const bool rsi = op == 0xa4 || op == 0xa6 || op == 0xac;
	const bool rdi = op == 0xa4 || op == 0xa6 || op == 0xaa || op == 0xae;
	if (in->encoding || in->map || (!rsi && !rdi))
		return 0;
	if (rsi)
		words[n++] = TRACE_RSI;
	if (rdi)
		words[n++] = TRACE_RDI;
	if (in->rep)
		words[n++] = rsi ? TRACE_RSI_AFTER : TRACE_RDI_AFTER;
	return n;
}

/* mov between rax and memory whose address is in the instruction */
bool is_moffs(const struct insn *in)
{
	return !in->encoding && in->map == 0 && (in->opcode & 0xfc) == 0xa0;
}

/* The lowest bit of the opcode says how large an index is, W how large an element. */
struct vsib_shape vsib_shape(const struct insn *in)
{
	const uint8_t index = in->opcode & 1 ? 8 : 4, element = in->rex & 8 ? 8 : 4;
	const unsigned bytes = 8u << in->vsib;
	return (struct vsib_shape){ (uint8_t)(bytes / (index > element ? index : element)), index, element };
}

static unsigned vsib_words(const struct insn *in, uint8_t *words)
{
	const struct vsib_shape v = vsib_shape(in);
	unsigned n = 0;
	for (unsigned i = 0; i < v.n * v.index / 4u; i++)
		words[n++] = TRACE_INDEX;
	for (unsigned i = 0; i < (in->encoding == 3 ? 1 : v.n * v.element / 4u); i++)
		words[n++] = TRACE_MASK;
	return n;
}

unsigned trace_words(const struct insn *in, uint8_t words[TRACE_MOST])
{
	const int stack = stack_use(in);
	unsigned n = string_words(in, words);
	if (n || !(in->classes & (CLASS_LOAD | CLASS_STORE)))
		return n;
	if ((in->mem == 1 && in->has_modrm && in->modrm < 0xc0) || is_moffs(in))
		words[n++] = TRACE_OPERAND;
	if (in->vsib)
		return n + vsib_words(in, words + n);
	if (stack)
		words[n++] = stack == STACK_TOP ? TRACE_RSP : TRACE_RBP;
	if (!in->encoding && in->map == 0 && in->opcode == 0xd7) {		/* xlat */
		words[n++] = TRACE_RBX;
		words[n++] = TRACE_RAX;
	}
	if (in->map == 1 && in->opcode == 0xf7 && in->encoding <= 2)		/* maskmovq, maskmovdqu */
		words[n++] = TRACE_RDI;
	if (!in->encoding && in->map == 1 && in->opcode == 0x01 && in->modrm == 0xfc)	/* clzero */
		words[n++] = TRACE_RAX;
	return n;
}
