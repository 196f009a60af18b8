/* PERF_SAMPLE_ADDR: the address that an instruction loads from or stores to.
 *
 * A sample is taken after its instruction, which may have changed the registers that tell the address. So if
 * an event of loads or stores wants addresses, its last run but one ends before the instruction
 * (thread.code.stop_before), and the address is computed there.
 */
#include "vpmu-sampling.h"

#include "decode.h"
#include "text.h"

#define INSN_MAX 15
#define EVEX 3

static unsigned stack_width(const struct insn *in)
{
	return in->opsize16 && !(in->rex & 8) ? 2 : 8;
}

/* push, call, pushf, enter */
static uint64_t pushed_at(const struct thread *t, const struct insn *in)
{
	return t->regs[RSP] - stack_width(in);
}

static bool is_enter(const struct insn *in)
{
	return !in->encoding && in->map == 0 && in->opcode == 0xc8;
}

/* The first frame pointer that enter copies. */
static uint64_t copied_at(const struct thread *t, const struct insn *in)
{
	return t->regs[RBP] - stack_width(in);
}

/* pop [rsp + …] computes the address of its operand when rsp is that after it. */
static uint64_t operand_at(const struct thread *t, const struct insn *in, const uint8_t *s, bool pops)
{
	uint64_t at;
	if (is_moffs(in)) {
		__builtin_memcpy(&at, s + in->imm_off, 8);
		return at;
	}
	if (in->vsib || (in->encoding == EVEX && in->disp_len == 1 && s[in->disp_off]))
		return 0;		/* several addresses; a displacement that is to be multiplied */
	at = operand_address(t, in, s, t->pc);
	const bool by_rsp = (in->modrm & 7) == 4 && (in->sib & 7) == 4 && !(in->rex & 1);
	return pops && by_rsp ? at + (in->opsize16 ? 2 : 8) : at;
}

static void string_at(struct thread *t, const struct insn *in, const uint8_t *words, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		const bool rsi = words[k] == TRACE_RSI;
		if (!rsi && words[k] != TRACE_RDI)
			continue;
		uint64_t at = t->regs[rsi ? RSI : RDI];
		if (in->addr32)
			at = (uint32_t)at;
		if (rsi)
			at += segment_base(t, in->segment);
		if (rsi || !t->vpmu.access.load)
			t->vpmu.access.load = at;
		if (!rsi)
			t->vpmu.access.store = at;
	}
}

static bool is_string(const uint8_t *words, unsigned n)
{
	return n && (words[0] == TRACE_RSI || (words[0] == TRACE_RDI && n == 1));
}

static void compute(struct thread *t, const struct insn *in, const uint8_t *s)
{
	uint8_t words[TRACE_MOST];
	const unsigned n = trace_words(in, words);
	uint64_t operand = 0, stack = 0;
	bool has_operand = false, has_stack = false;
	if (is_string(words, n) && !in->has_modrm) {
		string_at(t, in, words, n);
		return;
	}
	const bool stores = in->classes & CLASS_STORE, loads = in->classes & CLASS_LOAD;
	for (unsigned k = 0; k < n; k++) {
		const uint8_t w = words[k];
		if (w == TRACE_RSP || w == TRACE_RBP) {
			has_stack = true;
			stack = w == TRACE_RBP ? t->regs[RBP] : t->regs[RSP];
		} else if (w == TRACE_OPERAND) {
			has_operand = true;
			operand = operand_at(t, in, s, n > 1 && in->opcode == 0x8f);
		} else if (w == TRACE_RBX) {	/* xlat */
			has_operand = true;
			operand = t->regs[RBX] + (uint8_t)t->regs[RAX] + segment_base(t, in->segment);
		} else if (w == TRACE_RDI || (w == TRACE_RAX && !has_operand)) {
			has_operand = true;	/* maskmovdqu, clzero */
			operand = w == TRACE_RDI ? t->regs[RDI] : t->regs[RAX] & ~63ull;
		}
	}
	/* of push [m] and call [m] the operand is loaded, of pop [m] it is stored */
	const bool pops = has_stack && has_operand && in->opcode == 0x8f;
	t->vpmu.access.load = !loads ? 0 : has_operand && !pops ? operand : is_enter(in) ? copied_at(t, in) : stack;
	t->vpmu.access.store = !stores ? 0 : has_operand && (pops || !has_stack) ? operand : pushed_at(t, in);
}

/* As much of the instruction at t->pc as can be read. */
static unsigned read_code(const struct thread *t, uint8_t *s)
{
	const uint64_t to_end = PAGE - t->pc % PAGE;
	if (copy_guest(s, (const void *)t->pc, INSN_MAX))
		return INSN_MAX;
	return to_end < INSN_MAX && copy_guest(s, (const void *)t->pc, to_end) ? (unsigned)to_end : 0;
}

void access_note(struct thread *t, uint32_t kinds)
{
	uint8_t s[INSN_MAX] = { 0 };
	struct insn in;
	t->code.stop_before = kinds & t->code.stops;
	t->vpmu.access.pc = t->vpmu.access.load = t->vpmu.access.store = 0;
	if (!t->code.stop_before)
		return;
	const unsigned n = read_code(t, s);
	if (!n || decode_insn(&in, s, n) <= 0)
		return;
	compute(t, &in, s);
	t->vpmu.access.pc = t->pc;
}

uint64_t access_address(const struct thread *t, unsigned kind, bool precise)
{
	if (t->vpmu.access.pc != t->code.last_pc || !precise)
		return 0;
	return kind == SOFT_LOADS ? t->vpmu.access.load : kind == SOFT_STORES ? t->vpmu.access.store : 0;
}
