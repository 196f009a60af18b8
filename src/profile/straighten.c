#include "straighten.h"

static void push(struct straightener *s, uint64_t start, uint64_t end)
{
	if (s->n == STRAIGHTEN_DEPTH) {
		s->n /= 2;
		memmove(s->shut, s->shut + s->n, s->n * sizeof(s->shut[0]));
	}
	s->shut[s->n].start = start;
	s->shut[s->n++].end = end;
}

/* The start of an interval, moved as little as makes those before it lie inside or
 * beside it. */
static uint64_t straight_start(struct straightener *s, uint64_t start)
{
	while (s->n) {
		const uint64_t from = s->shut[s->n - 1].start, to = s->shut[s->n - 1].end;
		if (to <= start && from < start)
			break;
		if (from < start && to - start <= start - from)
			return to;
		start = from < start ? from : start;
		s->n--;			/* inside this one */
	}
	return start;
}

/* More than interrupts between the two reads of a corrected counter can make it run back. */
#define RUN_BACK_MOST 4

/* The record ends before the latest one does because a signal handler recorded that one between
 * the read of the end and the taking of the record's place: the latest one began after the end,
 * and its end is farther away than a counter runs back.
 *
 * Or the latest one is such a record, which now ends with the handler. If the handler came while
 * the record had no place in the page, the handler's values have instructions of the recorder
 * in them, which are taken off all later values. */
static bool is_interrupted(const struct straightener *s, uint64_t end)
{
	return s->moved || (s->last_start >= end && s->last - end > RUN_BACK_MOST);
}

uint64_t straighten(struct straightener *s, uint8_t *records, size_t n)
{
	uint64_t ran_back = 0;
	for (size_t i = 0; i < n; i++, records += 32) {
		struct mm_event e;
		mm_decode(records, 1, &e);
		if (e.p2 == MM_INTEGER)
			continue;
		struct mm_event now = e;
		const uint64_t end = e.p2 == MM_INSTANT ? e.p1 : e.p2;
		const bool interrupted = end < s->last && is_interrupted(s, end);
		s->moved = interrupted;
		if (e.p2 == MM_INSTANT) {
			now.p1 = e.p1 < s->last ? s->last : e.p1;
			s->last = now.p1;
			s->last_start = now.p1;
		} else {
			now.p2 = e.p2 < s->last ? s->last : e.p2;
			now.p1 = straight_start(s, e.p1);
			s->last = now.p2;
			s->last_start = now.p1;
			push(s, now.p1, now.p2);
		}
		if (now.p1 == e.p1 && now.p2 == e.p2)
			continue;
		ran_back += !interrupted || (e.p2 != MM_INSTANT && now.p1 != e.p1);
		mm_encode(records, &now);
	}
	return ran_back;
}

static bool in_order(struct straightener *s, const uint8_t *records, size_t n)
{
	uint64_t last = s->last, last_start = s->last_start;
	for (size_t i = 0; i < n; i++, records += 32) {
		struct mm_event e;
		mm_decode(records, 1, &e);
		if (e.p2 == MM_INTEGER)
			continue;
		const uint64_t end = e.p2 == MM_INSTANT ? e.p1 : e.p2;
		if (end < last || (e.p1 < last && e.p1 > last_start))
			return false;
		last = end;
		last_start = e.p1;
	}
	s->last = last;
	s->last_start = last_start;
	return true;
}

void straighten_handlers(struct straightener *s, uint8_t *records, size_t n)
{
	if (in_order(s, records, n))
		return;
	s->n = 0;
	if (s->last)
		push(s, s->last_start, s->last);
	straighten(s, records, n);
	if (s->n) {
		s->last_start = s->shut[s->n - 1].start;
		s->n = 0;
	}
}
