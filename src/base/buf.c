#include "buf.h"

#include "clocale.h"
#include "sink.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct buf *b, size_t n)
{
	if (b->failed)
		return false;
	if (b->len + n + 1 <= b->cap)
		return true;
	size_t cap = b->cap ? b->cap : 256;
	while (cap < b->len + n + 1)
		cap *= 2;
	char *const data = realloc(b->data, cap);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void buf_add_slow(struct buf *b, const void *bytes, size_t n)
{
	if (!reserve(b, n))
		return;
	if (n)
		memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	const int n = clocale_vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n >= 0 && reserve(b, (size_t)n)) {
		clocale_vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void buf_u64(struct buf *b, uint64_t value)
{
	char text[24];
	char *const end = text + sizeof(text);
	const char *const at = u64_digits(end, value);
	buf_add(b, at, (size_t)(end - at));
}

void buf_grouped(struct buf *b, uint64_t value)
{
	char text[32];
	char *const end = text + sizeof(text);
	const char *const at = u64_grouped(end, value);
	buf_add(b, at, (size_t)(end - at));
}

void buf_grouped_i64(struct buf *b, int64_t value)
{
	if (value < 0)
		buf_chr(b, '-');
	buf_grouped(b, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

void text_printable(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)text[i];
		const bool c1 = c == 0xc2 && i + 1 < len && ((unsigned char)text[i + 1] & 0xe0) == 0x80;
		if (c < 0x20 || c == 0x7f || c1)
			text[i] = '?';
		if (c1)
			text[++i] = '?';
	}
}
