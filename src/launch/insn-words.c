/* The words of a trace (tare/trace.h), as the engine writes them. */
#include <tare/trace.h>

#include "decode.h"

_Static_assert((int)TARE_TRACE_OPERAND == (int)TRACE_OPERAND &&
	       (int)TARE_TRACE_MASK == (int)TRACE_MASK && TARE_TRACE_WORDS == TRACE_MOST,
	       "the engine's numbers");

unsigned tare_trace_words(const uint8_t *bytes, size_t size, unsigned *insn_size,
			  enum tare_trace_word words[TARE_TRACE_WORDS])
{
	struct insn in;
	uint8_t found[TRACE_MOST];
	*insn_size = 0;
	if (decode_insn(&in, bytes, (unsigned)(size < 15 ? size : 15)) <= 0)
		return 0;
	*insn_size = in.len;
	const unsigned n = trace_words(&in, found);
	for (unsigned i = 0; i < n; i++)
		words[i] = found[i];
	return n;
}
