/* Buffered output: collects bytes and hands them to a function of the caller in large pieces.
 * Neither the library nor this file knows where the bytes go; a command passes a function that
 * writes to a descriptor.
 *
 *	struct sink s;
 *	if (sink_open(&s, write, arg, why) < 0) …
 *	sink_str(&s, "…");
 *	return sink_close(&s, why);		the first error of all calls
 *
 * `write` returns 0 or the errno value of its error. After an error nothing more is written.
 */
#ifndef BASE_SINK_H
#define BASE_SINK_H

#include "buf.h"

#include <tare/err.h>

#include <string.h>

#define SINK_BYTES (256u << 10)

struct sink {
	char *data;
	size_t len;
	int (*write)(void *, const void *, size_t);
	void *arg;
	int sys_errno;
};

int sink_open(struct sink *s, int (*write)(void *, const void *, size_t), void *arg, struct tare_why *why);
void sink_flush(struct sink *s);
/* For bytes that do not fit into the rest of the buffer, or into the whole buffer. */
void sink_add_slow(struct sink *s, const void *bytes, size_t n);
int sink_close(struct sink *s, struct tare_why *why);
/* Writes a whole text at once; a text that failed for lack of memory is TARE_E_NOMEM. */
int sink_buf(const struct buf *b, int (*write)(void *, const void *, size_t), void *arg, struct tare_why *why);

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

/* Room for n bytes (SINK_BYTES at most), to be filled from its start; then sink_filled(). */
static inline char *sink_room(struct sink *s, size_t n)
{
	if (__builtin_expect(n > SINK_BYTES - s->len, 0))
		sink_flush(s);
	return s->data + s->len;
}

static inline void sink_filled(struct sink *s, const char *end)
{
	s->len = (size_t)(end - s->data);
}

void sink_u64(struct sink *s, uint64_t v);
/* The digits of v before `end` (20 at most); returns where they start. */
char *u64_digits(char *end, uint64_t v);
/* The same in groups of three, 1,234,567 (26 at most). */
char *u64_grouped(char *end, uint64_t v);
/* The digits of numbers of which each is near the one before: all but the last four are kept. All
 * zero at first. */
struct near_digits {
	uint64_t high;			/* the number without its last four digits; 0: none yet */
	uint32_t len;			/* of `text` */
	char text[16];
};
extern const char digit_pairs[201];	/* 00 to 99 */
char *u64_not_near(struct near_digits *d, char *at, uint64_t v);
/* The digits of v from `at` on, where there is room for 24 bytes; returns where they end. */
static inline char *u64_near(struct near_digits *d, char *at, uint64_t v)
{
	const uint64_t high = v / 10000;
	const uint32_t four = (uint32_t)(v - high * 10000);
	if (__builtin_expect(!high || high != d->high, 0))
		return u64_not_near(d, at, v);
	memcpy(at, d->text, sizeof(d->text));
	at += d->len;
	memcpy(at, digit_pairs + 2 * (four / 100), 2);
	memcpy(at + 2, digit_pairs + 2 * (four % 100), 2);
	return at + 4;
}
/* In at least `width` columns (up to 24): spaces on its left, or on its right. */
void sink_u64_right(struct sink *s, uint64_t v, unsigned width);
void sink_u64_left(struct sink *s, uint64_t v, unsigned width);
/* Writes a text on one line: its line breaks become spaces. */
void sink_line(struct sink *s, const char *text, size_t n);
/* v / 1000 with three decimals. */
void sink_milli(struct sink *s, uint64_t v);

#endif
