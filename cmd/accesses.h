/* Which memory an instruction reads and writes, from the words that a trace has of it (tare/trace.h).
 *
 * The sizes of operands come from Zydis, in the module of disassembler.h. Without it there is nothing
 * (accesses_available()).
 */
#ifndef CMD_ACCESSES_H
#define CMD_ACCESSES_H

#include <tare/trace.h>

#define ACCESSES_MOST 4		/* operands of an instruction */

/* One operand. Its address is that of the word, plus `plus`. */
struct access {
	uint8_t word;		/* the number of the word, among those of the instruction */
	uint8_t step;		/* rep: the bytes of one step; the operand is used for each step. 0: once */
	uint8_t after;		/* rep: the number of the word that says how far it came */
	uint8_t before;		/* rep: … from the word with this number */
	bool reads, writes;
	uint16_t size;		/* bytes */
	int32_t plus;
};

/* Of the instruction at `bytes`, whose words tare_trace_words() says; returns how many there are. */
unsigned accesses_of(const uint8_t *bytes, size_t size, struct access out[ACCESSES_MOST]);
bool accesses_available(void);

/* What the module has. */
typedef unsigned accesses_fn(const uint8_t *bytes, size_t size, const enum tare_trace_word *words,
			     unsigned n_words, struct access *out);
accesses_fn tare_disassembler_accesses;

#endif
