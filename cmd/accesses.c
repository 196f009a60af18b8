#include "accesses.h"

#include "disassembler.h"

static accesses_fn *from_module(void)
{
	static accesses_fn *found;
	if (!found)
		*(void **)&found = disassembler_symbol("tare_disassembler_accesses");
	return found;
}

bool accesses_available(void)
{
	return from_module();
}

unsigned accesses_of(const uint8_t *bytes, size_t size, struct access out[ACCESSES_MOST])
{
	enum tare_trace_word words[TARE_TRACE_WORDS];
	unsigned insn_size;
	accesses_fn *const of = from_module();
	const unsigned n = tare_trace_words(bytes, size, &insn_size, words);
	return of && n ? of(bytes, insn_size, words, n, out) : 0;
}
