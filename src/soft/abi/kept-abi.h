/* Files of kept code: the launcher writes them (launch/kept-store.h), the launcher and the engine read them.
 *
 *	struct kept_file_head		(abi.h)
 *	struct kept_file_run …		which parts of the code are there; the rest are holes. Padded to KEPT_STEP bytes
 *	the parts
 */
#ifndef SOFT_KEPT_ABI_H
#define SOFT_KEPT_ABI_H

#include "abi.h"

#include <stdbool.h>
#include <stddef.h>

#define KEPT_VERSION	2u
#define KEPT_STEP	64u		/* what is hashed at once */
#define KEPT_LANES	(KEPT_STEP / 8)
#define KEPT_CHUNK	65536u		/* what is read at once: the hash finds it in the CPU's cache */
#define KEPT_MAX_RUNS	65536u

struct kept_file_run {
	uint64_t offset, size;		/* multiples of pages, in ascending order */
};
_Static_assert(sizeof(struct kept_file_head) % KEPT_STEP == 0, "it is hashed");

static inline uint64_t kept_runs_bytes(uint32_t n)
{
	return (n * sizeof(struct kept_file_run) + KEPT_STEP - 1) / KEPT_STEP * KEPT_STEP;
}

/* Eight sums side by side, so that the CPU works at all of them. Each step is a bijection of the sum and of the word,
 * so a difference in one word alone always shows. It guards against damage, not against a user who wants to
 * deceive himself: nobody else can write the file. */
struct kept_sum {
	uint64_t lane[KEPT_LANES];
};

static inline uint64_t kept_mixed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static inline void kept_sum_begin(struct kept_sum *s)
{
	for (unsigned k = 0; k < KEPT_LANES; k++)
		s->lane[k] = kept_mixed(k + 1);
}

/* `size`: a multiple of KEPT_STEP. */
static inline void kept_sum_add(struct kept_sum *s, const void *data, size_t size)
{
	struct kept_sum now = *s;
	for (size_t i = 0; i + KEPT_STEP <= size; i += KEPT_STEP) {
		uint64_t word[KEPT_LANES];
		__builtin_memcpy(word, (const char *)data + i, KEPT_STEP);
		for (unsigned k = 0; k < KEPT_LANES; k++)
			now.lane[k] = (now.lane[k] ^ now.lane[k] >> 29 ^ word[k]) * 0x9e3779b97f4a7c15u;
	}
	*s = now;
}

static inline struct kept_digest kept_sum_end(const struct kept_sum *s)
{
	struct kept_digest h = { { 1, 2 } };
	for (unsigned k = 0; k < KEPT_LANES; k++) {
		h.word[0] = kept_mixed(h.word[0] ^ s->lane[k]);
		h.word[1] = kept_mixed(h.word[1] + s->lane[k] * 3);
	}
	return h;
}

static inline bool kept_same_digest(const struct kept_digest *a, const struct kept_digest *b)
{
	return a->word[0] == b->word[0] && a->word[1] == b->word[1];
}

/* Where each part of the code is in memory: they do not overlap. */
static inline bool kept_runs_fit(const struct kept_file_head *h, const struct kept_file_run *runs)
{
	uint64_t end = 0, data = 0;
	for (uint32_t i = 0; i < h->n_runs; i++) {
		const struct kept_file_run *const r = &runs[i];
		if (r->offset % 4096 || r->size % 4096 || !r->size || r->offset < end || r->offset > h->size ||
		    r->size > h->size - r->offset)
			return false;
		end = r->offset + r->size;
		data += r->size;
	}
	return data == h->data;
}

#endif
