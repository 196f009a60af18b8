/* Buffered output to a descriptor.
 *
 *	struct sink s;
 *	if (sink_open(&s, fd, why) < 0) …
 *	sink_str(&s, "…");
 *	return sink_close(&s, why);		the first error, whenever it was
 */
#ifndef ANALYSIS_SINK_H
#define ANALYSIS_SINK_H

#include "buf.h"

#include <tare/err.h>

#include <string.h>

#define SINK_BYTES (256u << 10)

struct sink {
	char *data;
	size_t len;
	int fd;
	int sys_errno;
};

int sink_open(struct sink *s, int fd, struct tare_why *why);
void sink_flush(struct sink *s);
/* Larger than what is left, or than the whole buffer. */
void sink_add_slow(struct sink *s, const void *bytes, size_t n);
int sink_close(struct sink *s, struct tare_why *why);
/* A whole text at once. */
int sink_buf(const struct buf *b, int fd, struct tare_why *why);

static inline void sink_add(struct sink *s, const void *bytes, size_t n)
{
	if (!n)			/* an empty string may have no bytes at all */
		return;
	if (__builtin_expect(n > SINK_BYTES - s->len, 0)) {
		sink_add_slow(s, bytes, n);
		return;
	}
	memcpy(s->data + s->len, bytes, n);
	s->len += n;
}

static inline void sink_str(struct sink *s, const char *text)
{
	sink_add(s, text, strlen(text));
}

void sink_u64(struct sink *s, uint64_t v);
/* The digits of v before `end` (20 at most); returns where they start. */
char *u64_digits(char *end, uint64_t v);
/* In at least `width` columns (up to 24): spaces on its left, or on its right. */
void sink_u64_right(struct sink *s, uint64_t v, unsigned width);
void sink_u64_left(struct sink *s, uint64_t v, unsigned width);
/* On one line: line breaks in it become spaces. */
void sink_line(struct sink *s, const char *text, size_t n);
/* v / 1000 with three decimals. */
void sink_milli(struct sink *s, uint64_t v);

#endif
