/* A growing byte buffer; the target of all text and JSON output.
 *
 *	struct buf b = { 0 };
 *	buf_printf(&b, "%d\n", 1);
 *	if (buf_failed(&b)) ...            out of memory is remembered, not lost
 *	buf_free(&b);
 *
 * `data` is always NUL-terminated once something was added (`len` excludes it).
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
	char *data;
	size_t len;
	size_t cap;
	bool failed;
};

/* Where there is no room yet. */
void buf_add_slow(struct buf *b, const void *bytes, size_t n);
static inline void buf_add(struct buf *b, const void *bytes, size_t n)
{
	if (__builtin_expect(n == 0 || n >= b->cap - b->len || b->failed, 0)) {
		buf_add_slow(b, bytes, n);
		return;
	}
	memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = '\0';
}
static inline void buf_str(struct buf *b, const char *s) { buf_add(b, s, strlen(s)); }
static inline void buf_chr(struct buf *b, char c) { buf_add(b, &c, 1); }
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_u64(struct buf *b, uint64_t value);
/* 1234567 as 1,234,567 */
void buf_grouped(struct buf *b, uint64_t value);
void buf_grouped_i64(struct buf *b, int64_t value);	/* -1,234 */
/* Replaces control characters, of one byte or of UTF-8's C1 range, by ?: text from a file that
 * anybody may have written must not steer the terminal. */
void text_printable(char *text, size_t len);
static inline bool buf_failed(const struct buf *b) { return b->failed; }
void buf_free(struct buf *b);
/* The bytes, to be freed by the caller; the buffer is empty again. */
static inline char *buf_take(struct buf *b)
{
	char *const data = b->data;
	*b = (struct buf){ 0 };
	return data;
}

#endif
