/* Memory and numbers to text without libc: for code inside a measured process. */
#ifndef SOFT_TEXT_H
#define SOFT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t text_len(const char *s)
{
	size_t n = 0;
	while (s[n])
		n++;
	return n;
}

static inline bool text_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static inline bool text_starts(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return false;
	return true;
}

static inline void mem_copy(void *to, const void *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static inline void mem_zero(void *to, size_t n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}

static inline bool mem_equal(const void *a, const void *b, size_t n)
{
	const uint8_t *p = a, *q = b;
	for (size_t i = 0; i < n; i++)
		if (p[i] != q[i])
			return false;
	return true;
}

/* A number in hexadecimal (small letters) or decimal; returns what follows it. */
static inline const char *text_hex(const char *p, uint64_t *v)
{
	for (*v = 0;; p++) {
		if (*p >= '0' && *p <= '9')
			*v = *v << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*v = *v << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return p;
	}
}

static inline const char *text_decimal(const char *p, uint64_t *v)
{
	for (*v = 0; *p >= '0' && *p <= '9'; p++)
		*v = *v * 10 + (uint64_t)(*p - '0');
	return p;
}

/* A line being put together; what does not fit is dropped. */
struct line {
	size_t len;
	char text[512];
};

static inline void line_str(struct line *l, const char *s)
{
	while (*s && l->len < sizeof(l->text))
		l->text[l->len++] = *s++;
}

static inline void line_num(struct line *l, uint64_t v, unsigned base)
{
	char digits[24];
	int n = 0;
	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (n && l->len < sizeof(l->text))
		l->text[l->len++] = digits[--n];
}

static inline void line_hex(struct line *l, uint64_t v)
{
	line_str(l, "0x");
	line_num(l, v, 16);
}

#endif
