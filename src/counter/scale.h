/* Multiplex scaling, as the kernel defines it.
 *
 * When there are more events than counters the kernel takes turns: an event was
 * enabled for `enabled` ns but had a counter only for `running` ns of them. The
 * estimate for the whole time is raw × enabled / running.
 *
 * (The chapter's formula calls the longer time "running"; its worked example,
 * a raw count of 10,000 with 500 and 300 giving 16,666, is the same arithmetic
 * and is a test here. perf_event.h's names are used throughout.)
 */
#ifndef COUNTER_SCALE_H
#define COUNTER_SCALE_H

#include <stdbool.h>
#include <stdint.h>

struct scaled {
	uint64_t value;
	bool scaled;		/* running was less than enabled: an estimate */
	bool never_ran;		/* running was 0: there is no value at all */
	bool overflowed;	/* the estimate does not fit 64 bits; value is UINT64_MAX */
	double percent;		/* running / enabled × 100 */
};

/* 128-bit arithmetic, rounded down: exact where the kernel's own 64-bit
 * helpers would overflow. */
struct scaled scale_count(uint64_t raw, uint64_t enabled, uint64_t running);

#endif
