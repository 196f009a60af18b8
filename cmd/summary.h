/* What several runs say about one event.
 *
 * Two kinds of ± are in use, and both are given: the report (rdpmc counters in a
 * compiler's self-profiler) writes the middle of the range ± half of it; the paper
 * (Weaver, Terpstra, Moore) writes the mean ± the greatest distance from it. Both
 * are 0 just when all runs agree.
 */
#ifndef CMD_SUMMARY_H
#define CMD_SUMMARY_H

#include "buf.h"

#include <stddef.h>
#include <stdint.h>

struct summary {
	size_t n;		/* values seen; 0: nothing else is valid */
	uint64_t min, max;
	unsigned __int128 sum;
	double mean;
	double distance;	/* of the value farthest from the mean */
	double stddev;		/* of the sample: n - 1; 0 for a single value */
};

void summarize_values(struct summary *s, const uint64_t *values, size_t n);

/* (min + max) / 2 and (max - min) / 2. As doubles they lose digits above 2^53; the
 * texts do not ("17,351,035,832.5"). */
double summary_midpoint(const struct summary *s);
double summary_half_range(const struct summary *s);
/* Half the range in percent of the midpoint; 0 when both are 0. */
double summary_percent(const struct summary *s);
void put_midpoint(struct buf *b, const struct summary *s, bool grouped);
void put_half_range(struct buf *b, const struct summary *s, bool grouped);
/* The mean to one decimal, which is left out when the division is exact. */
void put_mean(struct buf *b, const struct summary *s);
/* 12,345.6: a double for people; `decimals` of them. */
void put_real(struct buf *b, double value, int decimals);
/* A percentage with two digits that matter: 5.2, 0.00004, 0 */
void put_percent(struct buf *b, double percent);

#endif
