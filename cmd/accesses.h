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
	struct {		/* a gather or scatter; n 0: one address */
		uint8_t n, index_size, scale;
		uint8_t index, mask;		/* the numbers of their first words */
		uint8_t mask_words;		/* of an element; 0: a bit */
		bool cut;			/* to addresses of 32 bits */
	} each;
};

/* The address of element i of a gather or scatter. False: its mask leaves it out. */
static inline bool access_element(const struct access *a, const uint64_t *words, unsigned i, uint64_t *address)
{
	const uint64_t *const index = words + a->each.index + i * a->each.index_size / 4u;
	const uint64_t low = (uint32_t)index[0];
	const unsigned n = a->each.mask_words;
	if (!(n ? words[a->each.mask + (i + 1) * n - 1] >> 31 & 1 : words[a->each.mask] >> i & 1))
		return false;
	const uint64_t value = a->each.index_size == 8 ? low | index[1] << 32 : (uint64_t)(int64_t)(int32_t)low;
	*address = words[a->word] + (uint64_t)(int64_t)a->plus + value * a->each.scale;
	if (a->each.cut)
		*address = (uint32_t)*address;
	return true;
}

/* Of the instruction at `bytes`, whose words tare_trace_words() says; returns how many there are. */
unsigned accesses_of(const uint8_t *bytes, size_t size, struct access out[ACCESSES_MOST]);
bool accesses_available(void);

/* What the module has. */
typedef unsigned accesses_fn(const uint8_t *bytes, size_t size, const enum tare_trace_word *words,
			     unsigned n_words, struct access *out);
accesses_fn tare_disassembler_accesses;

#endif
