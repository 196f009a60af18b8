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

struct buf {
	char *data;
	size_t len;
	size_t cap;
	bool failed;
};

void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_chr(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_u64(struct buf *b, uint64_t value);
/* 1234567 as 1,234,567 */
void buf_grouped(struct buf *b, uint64_t value);
static inline bool buf_failed(const struct buf *b) { return b->failed; }
void buf_free(struct buf *b);

#endif
