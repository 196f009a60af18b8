#include "sink.h"

#include "why.h"

#include <errno.h>
#include <stdlib.h>

int sink_open(struct sink *s, int (*write)(void *, const void *, size_t), void *arg, struct tare_why *why)
{
	*s = (struct sink){ .write = write, .arg = arg, .data = malloc(SINK_BYTES) };
	return s->data ? 0 : why_set(why, TARE_E_NOMEM, "output");
}

static void write_out(struct sink *s, const void *bytes, size_t n)
{
	if (n && !s->sys_errno)
		s->sys_errno = s->write(s->arg, bytes, n);
}

void sink_flush(struct sink *s)
{
	write_out(s, s->data, s->len);
	s->len = 0;
}

void sink_add_slow(struct sink *s, const void *bytes, size_t n)
{
	sink_flush(s);
	if (n > SINK_BYTES) {
		write_out(s, bytes, n);
		return;
	}
	memcpy(s->data, bytes, n);
	s->len = n;
}

static int output_error(int sys_errno, struct tare_why *why)
{
	return why_errno(why, sys_errno == ENOSPC ? TARE_E_NOSPC : TARE_E_IO, sys_errno, "output");
}

int sink_close(struct sink *s, struct tare_why *why)
{
	if (s->data)
		sink_flush(s);
	free(s->data);
	s->data = NULL;
	return s->sys_errno ? output_error(s->sys_errno, why) : 0;
}

int sink_buf(const struct buf *b, int (*write)(void *, const void *, size_t), void *arg, struct tare_why *why)
{
	struct sink s = { .write = write, .arg = arg };
	if (buf_failed(b))
		return why_set(why, TARE_E_NOMEM, "output");
	write_out(&s, b->data, b->len);
	return s.sys_errno ? output_error(s.sys_errno, why) : 0;
}

const char digit_pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

/* Digits of v before `end`; returns where they start. */
static inline char *digits(char *end, uint64_t v)
{
	while (v >= 10000) {
		const uint32_t four = (uint32_t)(v % 10000);
		v /= 10000;
		end -= 4;
		memcpy(end, digit_pairs + 2 * (four / 100), 2);
		memcpy(end + 2, digit_pairs + 2 * (four % 100), 2);
	}
	uint32_t rest = (uint32_t)v;
	if (rest >= 100) {
		end -= 2;
		memcpy(end, digit_pairs + 2 * (rest % 100), 2);
		rest /= 100;
	}
	if (rest >= 10) {
		end -= 2;
		memcpy(end, digit_pairs + 2 * rest, 2);
	} else {
		*--end = (char)('0' + rest);
	}
	return end;
}

char *u64_digits(char *end, uint64_t v)
{
	return digits(end, v);
}

char *u64_grouped(char *end, uint64_t v)
{
	for (; v >= 1000; v /= 1000) {
		const uint32_t three = (uint32_t)(v % 1000);
		end -= 4;
		end[0] = ',';
		end[1] = (char)('0' + three / 100);
		memcpy(end + 2, digit_pairs + 2 * (three % 100), 2);
	}
	return digits(end, v);
}

char *u64_not_near(struct near_digits *d, char *at, uint64_t v)
{
	char text[24];
	char *const end = text + sizeof(text);
	const char *const start = digits(end, v);
	const size_t len = (size_t)(end - start);
	memcpy(at, start, len);
	d->high = v / 10000;
	if (d->high) {
		d->len = (uint32_t)len - 4;
		memcpy(d->text, start, d->len);
	}
	return at + len;
}

void sink_u64(struct sink *s, uint64_t v)
{
	char text[24];
	char *const end = text + sizeof(text);
	const char *const at = digits(end, v);
	sink_add(s, at, (size_t)(end - at));
}

void sink_milli(struct sink *s, uint64_t v)
{
	char text[28];
	char *const end = text + sizeof(text);
	const unsigned rest = (unsigned)(v % 1000);
	end[-1] = (char)('0' + rest % 10);
	memcpy(end - 3, digit_pairs + 2 * (rest / 10), 2);
	end[-4] = '.';
	const char *const at = digits(end - 4, v / 1000);
	sink_add(s, at, (size_t)(end - at));
}

void sink_u64_right(struct sink *s, uint64_t v, unsigned width)
{
	char text[48];
	char *const end = text + sizeof(text);
	const char *at = digits(end, v);
	if (end - at < (ptrdiff_t)width)
		at = memset(end - width, ' ', (size_t)(at - (end - width)));
	sink_add(s, at, (size_t)(end - at));
}

void sink_u64_left(struct sink *s, uint64_t v, unsigned width)
{
	char text[48];
	char *const end = text + 24;
	const char *const at = digits(end, v);
	memset(end, ' ', 24);
	const size_t n = (size_t)(end - at);
	sink_add(s, at, n > width ? n : width);
}

void sink_line(struct sink *s, const char *text, size_t n)
{
	while (n) {
		size_t plain = 0;
		while (plain < n && text[plain] != '\n' && text[plain] != '\r')
			plain++;
		sink_add(s, text, plain);
		if (plain == n)
			return;
		sink_add(s, " ", 1);
		text += plain + 1;
		n -= plain + 1;
	}
}
