/* Sorting by keys that are sequences of 64-bit words, such as a value and then a text.
 *
 * Only words are compared, side by side in an array, and the next word is asked for only
 * where the words before are equal: a comparison of two rows with their texts would
 * miss the cache several times.
 */
#ifndef ANALYSIS_WORD_SORT_H
#define ANALYSIS_WORD_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Word `i` of an item's key, in place of the word before it. False: the key ends before.
 * Less is first. */
typedef bool word_fn(const void *arg, uint32_t item, unsigned i, uint64_t *word);

/* Called some items before their words are asked for, to prefetch what these lie in: first
 * with stage 0, later with stage 1, for what can be found only from there. */
typedef void ahead_fn(const void *arg, uint32_t item, unsigned stage);

/* Items of equal keys keep their order. `ahead` may be NULL. False: out of memory. */
bool word_sort(uint32_t *items, size_t n, word_fn *word, ahead_fn *ahead, const void *arg);

/* The same in memory of the caller's: `room` has WORD_SORT_BYTES for each item and one more. */
#define WORD_SORT_BYTES 32u
void word_sort_in(void *room, uint32_t *items, size_t n, word_fn *word, ahead_fn *ahead,
		  const void *arg);

/* Word `i` of a text, in place of the word before it: ordered as strcmp has it. */
bool text_word(const char *text, unsigned i, uint64_t *word);
/* The same of a text whose length is known. */
bool sized_text_word(const char *text, size_t len, unsigned i, uint64_t *word);
/* Less for larger values. */
static inline uint64_t descending(int64_t v) { return ~((uint64_t)v ^ 1ull << 63); }

#endif
