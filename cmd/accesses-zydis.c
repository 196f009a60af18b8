/* Part of the module of disassembler.h: see accesses.h. */
#include "accesses.h"

#include <string.h>

#include <Zydis/Zydis.h>

/* Prefetches and flushes use a line, but neither read nor write for the program. */
static bool only_hints(const ZydisDecodedInstruction *in)
{
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_CLDEMOTE:
	case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
		return true;
	default:
		return in->mnemonic == ZYDIS_MNEMONIC_CLFLUSH;
	}
}

static bool has_rep(const ZydisDecodedInstruction *in)
{
	return in->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static bool find(const enum tare_trace_word *words, unsigned n, enum tare_trace_word word, uint8_t *at)
{
	for (unsigned i = 0; i < n; i++)
		if (words[i] == word) {
			*at = (uint8_t)i;
			return true;
		}
	return false;
}

/* The word that an operand's address comes from. */
static enum tare_trace_word word_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o)
{
	if (in->mnemonic == ZYDIS_MNEMONIC_LEAVE)
		return TARE_TRACE_RBP;
	const bool string = in->meta.category == ZYDIS_CATEGORY_STRINGOP;
	if (o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT && !string)
		return TARE_TRACE_OPERAND;
	switch (o->mem.base) {
	case ZYDIS_REGISTER_RSI:
	case ZYDIS_REGISTER_ESI:
		return TARE_TRACE_RSI;
	case ZYDIS_REGISTER_RDI:
	case ZYDIS_REGISTER_EDI:
		return TARE_TRACE_RDI;
	case ZYDIS_REGISTER_RBX:
	case ZYDIS_REGISTER_EBX:
		return TARE_TRACE_RBX;
	case ZYDIS_REGISTER_RAX:
	case ZYDIS_REGISTER_EAX:
		return TARE_TRACE_RAX;
	default:
		return TARE_TRACE_RSP;
	}
}

/* What is pushed lies below rsp; a pop to memory addresses it after rsp has moved. EVEX multiplies an
 * 8-bit displacement, and the word of the trace does not. */
static int32_t displacement(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o,
			    enum tare_trace_word word)
{
	const bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	if (word == TARE_TRACE_RSP && writes)
		return -(int32_t)(o->size / 8);
	if (word == TARE_TRACE_OPERAND && in->mnemonic == ZYDIS_MNEMONIC_POP &&
	    o->mem.base == ZYDIS_REGISTER_RSP)
		return in->operand_width / 8;
	if (word == TARE_TRACE_OPERAND && in->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX &&
	    in->raw.disp.size == 8)
		return (int32_t)(o->mem.disp.value - in->raw.disp.value);
	return 0;
}

/* A gather or scatter. Its elements are as many as there are indexes. */
static void each_element(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o,
			 const enum tare_trace_word *words, unsigned n_words, struct access *a)
{
	unsigned n_index = 0, n_mask = 0;
	if (o->mem.type != ZYDIS_MEMOP_TYPE_VSIB || !find(words, n_words, TARE_TRACE_INDEX, &a->each.index) ||
	    !find(words, n_words, TARE_TRACE_MASK, &a->each.mask))
		return;
	for (unsigned i = 0; i < n_words; i++) {
		n_index += words[i] == TARE_TRACE_INDEX;
		n_mask += words[i] == TARE_TRACE_MASK;
	}
	a->each.index_size = in->opcode & 1 ? 8 : 4;
	a->each.n = (uint8_t)(n_index * 4 / a->each.index_size);
	a->each.mask_words = in->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ? 0 : (uint8_t)(n_mask / a->each.n);
	a->each.scale = o->mem.scale;
	a->each.cut = in->address_width == 32;
}

/* Of a gather or scatter: of one element. */
static uint16_t size_of(const ZydisDecodedOperand *o)
{
	return o->mem.type == ZYDIS_MEMOP_TYPE_VSIB ? o->element_size / 8 : o->size / 8;
}

static bool is_access(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       (o->mem.type == ZYDIS_MEMOP_TYPE_MEM || o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) &&
	       size_of(o);
}

__attribute__((visibility("default")))
unsigned tare_disassembler_accesses(const uint8_t *bytes, size_t size, const enum tare_trace_word *words,
				    unsigned n_words, struct access *out)
{
	ZydisDecoder d;
	ZydisDecodedInstruction in;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	unsigned n = 0;
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, bytes, size, &in, operands)) || only_hints(&in))
		return 0;
	for (unsigned i = 0; i < in.operand_count && n < ACCESSES_MOST; i++) {
		const ZydisDecodedOperand *const o = &operands[i];
		if (!is_access(o))
			continue;
		const enum tare_trace_word word = word_of(&in, o);
		struct access a = { .reads = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ,
				    .writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE,
				    .size = size_of(o), .plus = displacement(&in, o, word) };
		if (!find(words, n_words, word, &a.word))
			continue;
		if (has_rep(&in) && (find(words, n_words, TARE_TRACE_RSI_AFTER, &a.after) ||
				     find(words, n_words, TARE_TRACE_RDI_AFTER, &a.after))) {
			a.step = (uint8_t)a.size;
			a.before = words[a.after] == TARE_TRACE_RSI_AFTER ? 0 :
				   (uint8_t)(a.after - 1);
		}
		each_element(&in, o, words, n_words, &a);
		out[n++] = a;
	}
	/* what is read comes before what is written */
	for (unsigned i = 1; i < n; i++)
		if (out[i].reads && !out[i].writes && out[i - 1].writes && !out[i - 1].reads) {
			const struct access read = out[i];
			out[i] = out[i - 1];
			out[i - 1] = read;
		}
	return n;
}
