/* Arrays that may grow to many megabytes, all zeros at first.
 *
 *	uint64_t *a = NULL;
 *	uint64_t *const more = large_grow(a, n * sizeof(*a), 2 * n * sizeof(*a));
 *	if (!more) …				`a` is as it was
 *	large_free(more, 2 * n * sizeof(*a));
 *
 * Short arrays come from malloc. From LARGE_BYTES on an array has its own mapping: growing moves
 * no bytes, and what is never written takes no memory. Huge pages are not asked for: where a
 * virtual machine returns free memory to its host, as many do, touching 300 MB of them takes
 * 0.8 s instead of 0.15 s (0.03 s where the memory was in use just before).
 */
#ifndef BASE_LARGE_H
#define BASE_LARGE_H

#include <stddef.h>

#define LARGE_BYTES (4u << 20)

/* From `old` bytes (NULL: 0) to no fewer than that; bytes that were not there are 0. NULL: out of
 * memory. */
void *large_grow(void *array, size_t old, size_t n);
/* All of the array will soon be written, here and there: takes its memory at once, which saves a page
 * fault or two for each page. */
void large_fill(void *array, size_t n);
/* The same of [from, from + n) of an array of `size` bytes. */
void large_fill_part(void *array, size_t size, size_t from, size_t n);
void large_free(void *array, size_t n);

#endif
