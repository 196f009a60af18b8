/* A hash table from keys to places of an array, and arrays that grow. */
#include "codeprofile-room.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool add_sizes(uint64_t *sum, const int64_t *counts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t size = counts[i] < 0 ? 0 - (uint64_t)counts[i] : (uint64_t)counts[i];
		if (size > INT64_MAX / 2 - *sum)
			return false;
		*sum += size;
	}
	return true;
}

#define LARGE_PAGE (2ul << 20)

/* Room for n entries, in large pages where the kernel has them. */
static void *new_room(size_t n, size_t size)
{
	const size_t bytes = (n * size + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
	const bool large = n * size >= LARGE_PAGE;
	void *const room = large ? aligned_alloc(LARGE_PAGE, bytes) : malloc(n * size + 1);
	if (room && large)
		madvise(room, bytes, MADV_HUGEPAGE);
	return room;
}

/* A large array grows by four: what is not used is not there. */
static bool grow_large(void **a, size_t *cap, size_t n, size_t size)
{
	void *const grown = 4 * *cap >= TARE_CODEPROFILE_NONE ? NULL : new_room(4 * *cap, size);
	if (!grown)
		return false;
	memcpy(grown, *a, n * size);
	free(*a);
	*a = grown;
	*cap *= 4;
	return true;
}

bool more_room(void *array, size_t *cap, size_t n, size_t size)
{
	void **const a = array;
	if (n < *cap)
		return true;
	if (4 * *cap * size >= LARGE_PAGE)
		return grow_large(a, cap, n, size);
	const size_t larger = *cap ? 2 * *cap : 64;
	void *const grown = realloc(*a, larger * size);
	if (!grown)
		return false;
	*a = grown;
	*cap = larger;
	return true;
}

bool first_room(void *array, size_t *cap, size_t n, size_t size)
{
	void **const a = array;
	*a = new_room(n, size);
	*cap = *a ? n : 0;
	return *a;
}

uint64_t hash_u64(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
	const uint8_t *const b = bytes;
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		uint64_t eight;
		memcpy(&eight, b + i, 8);
		h = hash_u64(h, eight);
	}
	for (; i < n; i++)
		h = (h ^ b[i]) * 1099511628211ull;
	return h ^ h >> 29;
}

static bool grow(struct places *t)
{
	const size_t cap = t->cap ? 4 * t->cap : 256;
	struct places_slot *const slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < t->cap; i++) {
		if (!t->slots[i].place)
			continue;
		size_t at = t->slots[i].hash & (cap - 1);
		while (slots[at].place)
			at = (at + 1) & (cap - 1);
		slots[at] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->cap = cap;
	return true;
}

uint32_t *places_find(struct places *t, uint64_t hash, bool (*same)(const void *arg, uint32_t place),
		      const void *arg)
{
	if (2 * (t->n + 1) > t->cap && !grow(t))
		return NULL;
	size_t at = (uint32_t)hash & (t->cap - 1);
	while (t->slots[at].place && (t->slots[at].hash != (uint32_t)hash || !same(arg, t->slots[at].place - 1)))
		at = (at + 1) & (t->cap - 1);
	t->slots[at].hash = (uint32_t)hash;
	return &t->slots[at].place;
}

void places_free(struct places *t)
{
	free(t->slots);
	*t = (struct places){ 0 };
}
