/* Copying: of the program's memory, where each byte may be missing, and of the engine's own. */
#include "engine.h"
#include "text.h"

bool copy_guest(void *to, const void *from, size_t n)
{
	return glue_copy(to, from, n) == 0;
}

void copy_text(char *to, size_t size, const char *from, size_t len)
{
	if (len >= size)
		len = size - 1;
	for (size_t i = 0; i < len; i++)
		to[i] = from[i];
	to[len] = '\0';
}

bool copy_string(char *to, size_t size, uint64_t from)
{
	size_t n = 0;
	while (n < size - 1) {
		/* up to the end of the page in one go */
		size_t part = PAGE - (from + n) % PAGE;
		if (part > 64)
			part = 64;
		if (part > size - 1 - n)
			part = size - 1 - n;
		if (!copy_guest(to + n, (const void *)(from + n), part))
			return false;
		for (size_t i = n; i < n + part; i++)
			if (!to[i])
				return true;
		n += part;
	}
	to[n] = '\0';
	return true;
}

/* The compiler generates calls of these. */
void *memcpy(void *to, const void *from, size_t n);
void *memcpy(void *to, const void *from, size_t n)
{
	mem_copy(to, from, n);
	return to;
}

void *memset(void *to, int c, size_t n);
void *memset(void *to, int c, size_t n)
{
	void *p = to;
	__asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(c) : "memory");
	return to;
}
