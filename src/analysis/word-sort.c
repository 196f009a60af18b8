#include "word-sort.h"

#include "large.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define FEW 48u			/* items that insertion sorts faster */
#define SOME 1500u		/* that merging sorts faster */
#define DIGITS 256u
#define NEAR 8u			/* items ahead */
#define FAR 16u
#define MANY 4096u

struct keyed {
	uint64_t word;
	uint32_t item;
};

struct sorter {
	word_fn *word;
	ahead_fn *ahead;
	const void *arg;
	struct keyed *spare;	/* as many as there are items */
};

static void insertion(struct keyed *k, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct keyed x = k[i];
		size_t at = i;
		for (; at && k[at - 1].word > x.word; at--)
			k[at] = k[at - 1];
		k[at] = x;
	}
}

/* The first `n` of two sorted rows side by side, the left one of `n_left`, into `to`; of equal ones
 * the left is first. Without a branch that depends on the words. */
static void merge(const struct keyed *k, size_t n_left, size_t n, struct keyed *to)
{
	const struct keyed *a = k, *b = k + n_left;
	const struct keyed *const end_a = b, *const end_b = k + n;
	while (a < end_a && b < end_b) {
		const bool right = b->word < a->word;
		*to++ = right ? *b : *a;
		b += right;
		a += !right;
	}
	memcpy(to, a, (size_t)(end_a - a) * sizeof(*a));
	memcpy(to + (end_a - a), b, (size_t)(end_b - b) * sizeof(*b));
}

/* Of a few hundred items, faster than counting the values of each byte. */
static void merge_sort(struct keyed *k, struct keyed *spare, size_t n)
{
	enum { RUN = 12 };
	struct keyed *from = k, *to = spare;
	for (size_t i = 0; i < n; i += RUN)
		insertion(k + i, n - i < RUN ? n - i : RUN);
	for (size_t width = RUN; width < n; width *= 2) {
		for (size_t i = 0; i < n; i += 2 * width) {
			const size_t here = n - i < 2 * width ? n - i : 2 * width;
			merge(from + i, here < width ? here : width, here, to + i);
		}
		struct keyed *const swap = from;
		from = to;
		to = swap;
	}
	if (from != k)
		memcpy(k, from, n * sizeof(*k));
}

/* By one byte of the word, `shift` bits up; counts: of that byte's values. */
static void scatter(const struct keyed *from, struct keyed *to, size_t n, unsigned shift,
		    uint32_t *counts)
{
	uint32_t at = 0;
	for (unsigned d = 0; d < DIGITS; d++) {
		const uint32_t here = counts[d];
		counts[d] = at;
		at += here;
	}
	for (size_t i = 0; i < n; i++)
		to[counts[from[i].word >> shift & (DIGITS - 1)]++] = from[i];
}

/* Least significant byte first; bytes that all words share are passed over. */
static void radix(struct keyed *k, struct keyed *spare, size_t n)
{
	uint64_t differ = 0;
	for (size_t i = 1; i < n; i++)
		differ |= k[i].word ^ k[0].word;
	struct keyed *from = k, *to = spare;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		uint32_t counts[DIGITS] = { 0 };
		for (size_t i = 0; i < n; i++)
			counts[from[i].word >> shift & (DIGITS - 1)]++;
		scatter(from, to, n, shift, counts);
		struct keyed *const swap = from;
		from = to;
		to = swap;
	}
	if (from != k)
		memcpy(k, from, n * sizeof(*k));
}

/* What is asked for soon: the first items, and then some with each item. */
static void look_ahead(const struct sorter *s, const struct keyed *k, size_t n)
{
	for (size_t j = 0; j < FAR && j < n; j++)
		s->ahead(s->arg, k[j].item, 0);
	for (size_t j = 0; j < NEAR && j < n; j++)
		s->ahead(s->arg, k[j].item, 1);
}

static inline void look_at(const struct sorter *s, const struct keyed *k, size_t n, size_t j)
{
	s->ahead(s->arg, k[j + NEAR].item, 1);
	if (j + FAR < n)
		s->ahead(s->arg, k[j + FAR].item, 0);
}

/* Sorts by word `i` and those behind it. Each level of the recursion is a word of a key
 * that several items share: texts are not longer than some 100,000 words, and each level
 * takes few bytes of stack; groups that share a word are gone through in a loop. */
static void sort_from(const struct sorter *s, struct keyed *k, size_t n, unsigned i)
{
	for (;; i++) {
		bool any = false;
		/* Words behind the second lie where that was, if that is still in the cache. */
		const bool ahead = s->ahead && (i < 2 || n > MANY);
		if (ahead)
			look_ahead(s, k, n);
		for (size_t j = 0; j < n; j++) {
			if (ahead && j + NEAR < n)
				look_at(s, k, n, j);
			any |= s->word(s->arg, k[j].item, i, &k[j].word);
		}
		if (!any)
			return;
		uint64_t differ = 0;
		for (size_t j = 1; j < n; j++)
			differ |= k[j].word ^ k[0].word;
		if (differ)
			break;
	}
	if (n <= FEW)
		insertion(k, n);
	else if (n <= SOME)
		merge_sort(k, s->spare, n);
	else
		radix(k, s->spare, n);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && k[to].word == k[from].word; )
			to++;
		if (to - from > 1)
			sort_from(s, k + from, to - from, i + 1);
	}
}

_Static_assert(2 * sizeof(struct keyed) == WORD_SORT_BYTES, "an item, and its place in `spare`");

void word_sort_in(void *room, uint32_t *items, size_t n, word_fn *word, ahead_fn *ahead,
		  const void *arg)
{
	struct keyed *const k = room;
	for (size_t i = 0; i < n; i++)
		k[i] = (struct keyed){ .item = items[i] };
	if (n > 1)
		sort_from(&(struct sorter){ word, ahead, arg, k + n }, k, n, 0);
	for (size_t i = 0; i < n; i++)
		items[i] = k[i].item;
}

bool word_sort(uint32_t *items, size_t n, word_fn *word, ahead_fn *ahead, const void *arg)
{
	const size_t bytes = (n + 1) * WORD_SORT_BYTES;
	void *const room = large_grow(NULL, 0, bytes);
	if (room)
		word_sort_in(room, items, n, word, ahead, arg);
	large_free(room, bytes);
	return room;
}

bool text_word(const char *text, unsigned i, uint64_t *word)
{
	const bool ended = i && !(*word & 0xFF);
	const unsigned char *const at = (const unsigned char *)text + 8 * (size_t)i;
	uint64_t w = 0;
	for (unsigned b = 0; !ended && b < 8 && at[b]; b++)
		w |= (uint64_t)at[b] << (56 - 8 * b);
	*word = w;
	return !ended;
}

bool sized_text_word(const char *text, size_t len, unsigned i, uint64_t *word)
{
	const size_t at = 8 * (size_t)i;
	uint64_t w = 0;
	if (at + 8 <= len) {
		memcpy(&w, text + at, 8);
		w = be64toh(w);
	} else {
		for (size_t b = at; b < len; b++)
			w |= (uint64_t)(unsigned char)text[b] << (56 - 8 * (b - at));
	}
	*word = w;
	return at <= len;
}
