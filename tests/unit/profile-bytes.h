/* Puts a profile together byte by byte, so that the tests can write what no
 * writer would. */
#ifndef TESTS_PROFILE_BYTES_H
#define TESTS_PROFILE_BYTES_H

#include "buf.h"
#include "format.h"

static inline void put_page(struct buf *b, unsigned tag, const void *bytes, size_t n)
{
	uint8_t head[5] = { (uint8_t)tag };
	mm_put32(head + 1, (uint32_t)n);
	buf_add(b, head, 5);
	buf_add(b, bytes, n);
}

static inline void put_head(struct buf *b, const char *magic, uint32_t version)
{
	uint8_t v[4];
	mm_put32(v, version);
	buf_add(b, magic, 4);
	buf_add(b, v, 4);
}

static inline void put_id(struct buf *b, uint32_t version, uint64_t id)
{
	uint8_t v[8];
	mm_put64(v, id);
	buf_add(b, v, version == 9 ? 8 : 4);
}

static inline void put_record(struct buf *b, uint32_t version, struct mm_event e)
{
	uint8_t r[32];
	mm_encode(r, &e);
	if (version == 9) {
		buf_add(b, r, 32);
		return;
	}
	buf_add(b, r, 4);
	buf_add(b, r + 8, 4);
	buf_add(b, r + 16, 16);
}

/* Three streams, cut into pages of at most `page` bytes, taking turns. */
static inline struct buf put_file(uint32_t version, const struct buf streams[3], size_t page)
{
	struct buf out = { 0 };
	size_t at[3] = { 0 };
	put_head(&out, "MMPD", version);
	for (bool more = true; more; ) {
		more = false;
		for (unsigned tag = 3; tag-- > 0;) {
			size_t n = streams[tag].len - at[tag];
			if (n > page)
				n = page;
			if (!n)
				continue;
			put_page(&out, tag, streams[tag].data + at[tag], n);
			at[tag] += n;
			more = true;
		}
	}
	return out;
}

#endif
