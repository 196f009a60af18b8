#include "plain-call.h"

#include <endian.h>

#define PLAIN_MOST 4096u		/* bytes of an entry, and of a text */

/* How many bytes from the start are ASCII characters that are no control characters. */
static size_t plain_bytes(const uint8_t *bytes, size_t len)
{
	static const uint64_t ones = 0x0101010101010101ull;
	size_t n = 0;
	for (; n + 8 <= len; n += 8) {
		uint64_t v;
		memcpy(&v, bytes + n, 8);
		v = le64toh(v);
		/* The lowest top bit is that of the first byte below 0x20 or above 0x7e. */
		const uint64_t others = (v | (v - 0x20 * ones) | (v + ones)) & 0x80 * ones;
		if (others)
			return n + (unsigned)__builtin_ctzll(others) / 8;
	}
	while (n < len && bytes[n] >= 0x20 && bytes[n] < 0x7f)
		n++;
	return n;
}

/* The bytes at `addr`, and how many of them are in one page; NULL: none. */
static const uint8_t *bytes_at(struct plain_calls *c, const struct tare_profile *p, uint64_t addr,
			       size_t *len)
{
	if (addr < MM_HEADER_SIZE)
		return NULL;
	if (addr - c->page_from >= c->page_len) {
		const uint8_t *const page = stream_page(p, &p->streams[MM_STRINGS], addr, &c->page_from,
							&c->page_len);
		if (!page)
			return NULL;
		c->page = page;
	}
	const uint64_t skip = addr - c->page_from;
	const size_t left = c->page_len - skip;
	*len = left < PLAIN_MOST ? left : PLAIN_MOST;
	return c->page + skip;
}

/* The entry's text, which is one literal. */
static bool literal(struct plain_calls *c, const struct tare_profile *p, uint64_t addr,
		    const char **text, size_t *len)
{
	size_t most = 0;
	const uint8_t *const bytes = bytes_at(c, p, addr, &most);
	*len = bytes ? plain_bytes(bytes, most) : 0;
	*text = (const char *)bytes;
	return *len < most && bytes[*len] == MM_TERMINATOR;
}

static const struct plain_label *label_at(struct plain_calls *c, const struct tare_profile *p,
					  uint64_t addr)
{
	struct plain_label *const l = &c->label[(addr * 0x9E3779B97F4A7C15ull) >> 56];
	const struct plain_calls before = { .page = c->page, .page_from = c->page_from,
					    .page_len = c->page_len };
	if (__builtin_expect(l->addr == addr && addr, 1))
		return l;
	*l = (struct plain_label){ 0 };
	if (!literal(c, p, addr, &l->text, &l->len) || !l->len)
		return NULL;
	l->addr = addr;
	c->page = before.page;		/* the next text is there, too */
	c->page_from = before.page_from;
	c->page_len = before.page_len;
	return l;
}

static uint64_t reference(const struct tare_profile *p, const uint8_t *bytes)
{
	return strings_addr(p, p->wide ? mm_u64(bytes + 1) : mm_u32(bytes + 1));
}

/* The entry from its first argument on. */
static bool arguments(struct plain_calls *c, const struct tare_profile *p, const uint8_t *bytes,
		      size_t len, struct buf *out)
{
	const size_t first = out->len;
	size_t from = first;			/* of the argument */
	for (size_t at = 0; ; ) {
		const size_t n = plain_bytes(bytes + at, len - at);
		buf_add(out, bytes + at, n);
		at += n;
		if (at == len)
			return false;
		const uint8_t end = bytes[at];
		if (end == MM_REFERENCE && len - at > p->id_size) {
			const char *text;
			size_t text_len;
			if (!literal(c, p, reference(p, bytes + at), &text, &text_len))
				return false;
			buf_add(out, text, text_len);
			at += 1 + p->id_size;
			continue;
		}
		if (out->len == from || out->len - first > PLAIN_MOST)
			return false;
		if (end == MM_TERMINATOR)
			return true;
		if (end != MM_SEPARATOR)
			return false;
		buf_add(out, ", ", 2);
		from = out->len;
		at++;
	}
}

static bool label_and_arguments(struct plain_calls *c, const struct tare_profile *p, uint64_t addr,
				struct buf *out)
{
	const size_t head = 1 + p->id_size;
	size_t len = 0;
	const uint8_t *const bytes = bytes_at(c, p, addr, &len);
	if (len <= head || bytes[0] != MM_REFERENCE || bytes[head] != MM_SEPARATOR)
		return false;
	const struct plain_label *const l = label_at(c, p, reference(p, bytes));
	if (!l)
		return false;
	buf_add(out, l->text, l->len);
	buf_chr(out, '(');
	if (!arguments(c, p, bytes + head + 1, len - head - 1, out))
		return false;
	buf_chr(out, ')');
	return true;
}

bool plain_call(struct plain_calls *c, const struct tare_profile *p, uint64_t addr, struct buf *out)
{
	const size_t before = out->len;
	const bool done = label_and_arguments(c, p, addr, out);
	if (!done)
		out->len = before;
	return done;
}
