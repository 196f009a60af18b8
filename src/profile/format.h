/* The bytes of a .mm_profdata file (measureme's format), little-endian throughout.
 *
 *	file   := "MMPD" u32 version, page*
 *	page   := u8 tag, u32 size (> 0), size bytes
 *
 * The payloads of all pages of one tag, joined in file order, are a stream; page
 * boundaries carry no meaning, a record may be cut by one. Every stream starts
 * with 8 bytes of its own, magic and version again:
 *
 *	tag 0  "MMES"  events: records of 32 bytes (version 8: 24)
 *	tag 1  "MMSD"  string data: entries of literal bytes and references, ended by 0xFF
 *	tag 2  "MMSI"  string index: (id, address) pairs, u64 each (version 8: u32)
 *
 * Record, version 9 (version 8 has u32 kind and id, so everything else moves up by 8):
 *
 *	 0 u64 kind, a string id      16 u32 thread
 *	 8 u64 event id, a string id  20 u32 P1 low, 24 u32 P2 low
 *	                              28 u32: bits 31..16 P1's bits 47..32, 15..0 P2's
 *
 * P2 = 2^48-1: an instant at P1; P2 = 2^48-2: the integer P1; else an interval
 * from P1 to P2. Intervals are written when they end, so per thread the parent
 * follows its children.
 *
 * String ids: up to MM_VIRTUAL_MAX looked up in the index; MM_METADATA_ID too;
 * MM_INVALID_ID is no string; from MM_FIRST_REGULAR on the rest is the address in
 * the string data stream (its 8-byte header included). A reference inside string
 * data is 0xFE and an id (u64; version 8: u32).
 */
#ifndef PROFILE_FORMAT_H
#define PROFILE_FORMAT_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MM_HEADER_SIZE 8u
#define MM_PAGE_HEADER_SIZE 5u
#define MM_PAGE_MAX 262144u		/* measureme's writer; a reader has no limit */

#define MM_VIRTUAL_MAX 100000000ull
#define MM_METADATA_ID 100000001ull
#define MM_INVALID_ID 100000002ull
#define MM_FIRST_REGULAR 100000003ull

#define MM_TERMINATOR 0xFFu
#define MM_REFERENCE 0xFEu
#define MM_SEPARATOR 0x1Eu		/* between label and arguments of an event id */

#define MM_TEXT_MAX (1u << 20)		/* of one text: ours; the format has no limit */

#define MM_VALUE_BITS 48
#define MM_INSTANT 0xFFFFFFFFFFFFull
#define MM_INTEGER 0xFFFFFFFFFFFEull
#define MM_VALUE_MAX 0xFFFFFFFFFFFDull	/* the largest end of an interval */

enum mm_tag { MM_EVENTS, MM_STRINGS, MM_INDEX, MM_TAGS };

struct mm_event {
	uint64_t kind, id;
	uint64_t p1, p2;
	uint32_t thread;
};

static inline uint32_t mm_u32(const uint8_t *b)
{
	uint32_t v;
	memcpy(&v, b, sizeof(v));
	return le32toh(v);
}

static inline uint64_t mm_u64(const uint8_t *b)
{
	uint64_t v;
	memcpy(&v, b, sizeof(v));
	return le64toh(v);
}

static inline void mm_put32(uint8_t *b, uint32_t v)
{
	v = htole32(v);
	memcpy(b, &v, sizeof(v));
}

static inline void mm_put64(uint8_t *b, uint64_t v)
{
	v = htole64(v);
	memcpy(b, &v, sizeof(v));
}

/* `wide`: version 9. A constant at every call in a hot loop. */
static inline void mm_decode(const uint8_t *r, const int wide, struct mm_event *e)
{
	if (wide) {
		e->kind = mm_u64(r);
		e->id = mm_u64(r + 8);
		r += 16;
	} else {
		e->kind = mm_u32(r);
		e->id = mm_u32(r + 4);
		r += 8;
	}
	e->thread = mm_u32(r);
	const uint64_t last = mm_u64(r + 8);	/* P2 and above it the high bits of P1 */
	e->p1 = mm_u32(r + 4) | last >> 48 << 32;
	e->p2 = last & ((1ull << MM_VALUE_BITS) - 1);
}

/* P1 and P2 alone, from the record's thread on. */
static inline uint64_t mm_tail_start(const uint8_t *tail)
{
	return mm_u32(tail + 4) | mm_u64(tail + 8) >> 48 << 32;
}

static inline uint64_t mm_tail_end(const uint8_t *tail)
{
	return mm_u64(tail + 8) & ((1ull << MM_VALUE_BITS) - 1);
}

/* Without the rest: does the record at `r` hold an interval? */
static inline bool mm_is_interval(const uint8_t *r, const int wide)
{
	return mm_u64(r + (wide ? 24 : 16)) << (64 - MM_VALUE_BITS) <
	       MM_INTEGER << (64 - MM_VALUE_BITS);
}

static inline void mm_encode(uint8_t r[static 32], const struct mm_event *e)
{
	mm_put64(r, e->kind);
	mm_put64(r + 8, e->id);
	mm_put32(r + 16, e->thread);
	mm_put32(r + 20, (uint32_t)e->p1);
	mm_put32(r + 24, (uint32_t)e->p2);
	mm_put32(r + 28, (uint32_t)(e->p1 >> 32 << 16 | (e->p2 >> 32 & 0xFFFF)));
}

#endif
