#include "large.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *or_null(void *map)
{
	return map == MAP_FAILED ? NULL : map;
}

static void *map_new(size_t n)
{
	return or_null(mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void *resize_short(void *array, size_t old, size_t n)
{
	char *const more = realloc(array, n);
	if (more && n > old)
		memset(more + old, 0, n - old);
	return more;
}

void *large_grow(void *array, size_t old, size_t n)
{
	if (n < LARGE_BYTES)
		return resize_short(array, old, n);
	if (old >= LARGE_BYTES)
		return or_null(mremap(array, old, n, MREMAP_MAYMOVE));
	void *const map = map_new(n);
	if (map && old)
		memcpy(map, array, old);
	if (map)
		free(array);
	return map;
}

void large_fill(void *array, size_t n)
{
#ifdef MADV_POPULATE_WRITE
	if (n >= LARGE_BYTES)
		madvise(array, n, MADV_POPULATE_WRITE);
#else
	(void)array, (void)n;
#endif
}

void large_fill_part(void *array, size_t size, size_t from, size_t n)
{
#ifdef MADV_POPULATE_WRITE
	static const uintptr_t page = 4096;
	const uintptr_t begin = ((uintptr_t)array + from) & ~(page - 1);
	if (size >= LARGE_BYTES)
		madvise((void *)begin, (uintptr_t)array + from + n - begin, MADV_POPULATE_WRITE);
#else
	(void)array, (void)size, (void)from, (void)n;
#endif
}

void large_free(void *array, size_t n)
{
	if (n >= LARGE_BYTES && array)
		munmap(array, n);
	else
		free(array);
}
