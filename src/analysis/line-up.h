/* Lining up one thread of several runs, and what the comparison finds.
 *
 *	s.feed[r], s.prev, s.thread		the thread in each run
 *	line_up_rest(&s);			up to the end of all runs
 *
 * Every run gives its points, last first, in blocks. As long as all blocks are alike
 * they are compared side by side, which is nearly always; where they are not, a window
 * of each run is aligned with the first run's (align.c), the intervals between points
 * that all runs share are compared, and the events that they do not share are counted.
 */
#ifndef ANALYSIS_LINE_UP_H
#define ANALYSIS_LINE_UP_H

#include "aggregate.h"

struct line_up {
	struct tare_aggregate_store *st;
	struct tare_aggregate *a;
	const struct tare_aggregate_options *o;
	size_t n;
	/* The thread under way. */
	struct points *feed;		/* per run */
	struct point *prev;		/* per run: the point before the next */
	bool has_prev;
	uint32_t thread;		/* its id in the first run */
	uint64_t negative;
	uint64_t least_wanted, most_wanted;	/* shorter, longer: among the extremes */
	uint64_t done, told;
	int64_t *value;			/* per run, for outlier_of */
	uint64_t last_owner;		/* record whose row is `last_row` */
	uint32_t last_row;
	struct tare_why *why;
};

int line_up_no_memory(struct line_up *s);
/* Compares what is there in blocks of some size. At least one run then has less. */
int line_up_blocks(struct line_up *s);
/* Compares everything there is; the points of all runs end. */
int line_up_rest(struct line_up *s);
/* Small ranges are only counted, and join the others at the end. */
void line_up_end(struct line_up *s);

/* line-up-threads.c: all threads of all runs, with their partners. */
/* In one walk over each file. 1: that cannot be done with these runs, and what was found so
 * far is of no use. */
int line_up_together(struct line_up *s);
/* One thread after the other. */
int line_up_threads(struct line_up *s);

#endif
