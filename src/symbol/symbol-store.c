#include "symbol-room.h"
#include "buf.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK (1u << 16)

struct store_block {
	struct store_block *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

void *store_alloc(struct store *s, size_t n)
{
	n = (n + 15) & ~(size_t)15;
	if (!s->blocks || s->blocks->size - s->blocks->used < n) {
		const size_t size = n > BLOCK ? n : BLOCK;
		struct store_block *const b = calloc(1, sizeof(*b) + size);
		if (!b)
			return NULL;
		b->size = size;
		b->next = s->blocks;
		s->blocks = b;
	}
	void *const p = s->blocks->bytes + s->blocks->used;
	s->blocks->used += n;
	return p;
}

static size_t hash_of(const char *text, size_t n)
{
	uint64_t h = 14695981039346656037ull;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)text[i]) * 1099511628211ull;
	return (size_t)(h ^ h >> 32);
}

static size_t slot_of(const struct store *s, const char *text, size_t n)
{
	size_t at = hash_of(text, n) & (s->n_slots - 1);
	while (s->slots[at] && (strncmp(s->slots[at], text, n) || s->slots[at][n]))
		at = (at + 1) & (s->n_slots - 1);
	return at;
}

static bool more_slots(struct store *s)
{
	struct store larger = { .n_slots = s->n_slots ? 2 * s->n_slots : 1024 };
	larger.slots = calloc(larger.n_slots, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < s->n_slots; i++)
		if (s->slots[i])
			larger.slots[slot_of(&larger, s->slots[i], strlen(s->slots[i]))] = s->slots[i];
	free(s->slots);
	s->slots = larger.slots;
	s->n_slots = larger.n_slots;
	return true;
}

const char *store_text(struct store *s, const char *text, size_t n)
{
	n = strnlen(text, n);
	char *const copy = malloc(n + 1);
	if (!copy || (2 * s->n_texts >= s->n_slots && !more_slots(s))) {
		free(copy);
		return NULL;
	}
	memcpy(copy, text, n);
	copy[n] = '\0';
	text_printable(copy, n);
	const size_t at = slot_of(s, copy, n);
	if (!s->slots[at]) {
		char *const kept = store_alloc(s, n + 1);
		if (kept) {
			s->slots[at] = memcpy(kept, copy, n + 1);
			s->n_texts++;
		}
	}
	free(copy);
	return s->slots[at];
}

void store_free(struct store *s)
{
	while (s->blocks) {
		struct store_block *const next = s->blocks->next;
		free(s->blocks);
		s->blocks = next;
	}
	free(s->slots);
}
