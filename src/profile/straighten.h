/* Puts the records of one thread in order: afterwards intervals lie inside or beside each other,
 * and their ends never decrease. A corrected counter runs back by one or two at times.
 *
 * A counter with its interrupts subtracted is two reads: an interrupt between them is in
 * one and not yet in the other. An interval may then begin before the one that ended
 * last, or a little before the one around it. The format does not allow it (measureme's
 * tools stop there), and self values would be wrong.
 */
#ifndef PROFILE_STRAIGHTEN_H
#define PROFILE_STRAIGHTEN_H

#include "format.h"

/* How many intervals are remembered that a later one may still lie around. */
#define STRAIGHTEN_DEPTH 16384

/* All zero at first; one for each thread. */
struct straightener {
	uint64_t last;			/* the latest end */
	uint64_t last_start;		/* of that one */
	bool moved;			/* a signal handler made that one end later */
	/* Intervals with none around them yet, the latest last; of very many the first
	 * are forgotten. */
	struct { uint64_t start, end; } shut[STRAIGHTEN_DEPTH];
	unsigned n;
};

/* The next n records (version 9) of the thread, in the order they were written. Returns
 * how many were changed because the counter ran back; those that a signal handler made end
 * later (see straighten_handlers) are not among them. */
uint64_t straighten(struct straightener *s, uint8_t *records, size_t n);
/* The same for a counter that never runs back, at a fraction of the cost: only a signal
 * handler that recorded between the read of an end and the taking of its record's place,
 * or while a page was written, can be out of order. The interval that it interrupted then
 * ends with the handler's. */
void straighten_handlers(struct straightener *s, uint8_t *records, size_t n);

#endif
