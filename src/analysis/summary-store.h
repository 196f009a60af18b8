/* What a summary is added up in: a cell per name and class, a stack per thread.
 *
 *	summary_thread(st, id)			its stack; made where the thread is new
 *	summary_reserve_stack(t, n)		before n intervals are put on it
 *	summary_have_rows(st)			a cell for every name there is
 *	summary_make_rows(summary)		afterwards: the sorted rows of the result
 *	summary_free_sums(st)			what only the above need
 */
#ifndef ANALYSIS_SUMMARY_STORE_H
#define ANALYSIS_SUMMARY_STORE_H

#include "names.h"

#include <tare/analysis.h>

/* What the intervals of one name took. Those of the classes that a summary tells apart
 * have a cell each, so that adding an interval is the same for all: a plane of cells
 * per class that the profile has, in each a cell per name. Cell 0 takes what has no parent;
 * the cell of a name in the first plane is name + 1. */
struct cell {
	uint64_t sum, n;
	uint64_t inner;		/* of the intervals right inside */
	uint64_t hits;		/* first plane only */
};

enum plane { PLANE_PLAIN, PLANE_OTHER, PLANE_BLOCKED, PLANE_LOAD, PLANE_HASHING, PLANES };

/* What few rows have. */
struct other {
	uint64_t again;		/* of what is inside an interval of the same row */
	uint64_t artifact;
	uint8_t flags;
};

enum { ROW_USED = 1, ROW_COUNTED_HITS = 2, ROW_ARTIFACT = 4 };

/* An interval around the current point. */
struct open_frame {
	uint64_t start, end;
	uint32_t cell;
};

/* The outermost interval is first. */
struct thread {
	struct open_frame *open;
	uint32_t depth, cap;
	uint64_t start, end;
	uint32_t row;		/* NO_NAME, or its name with TARE_BY_THREAD */
	bool too_deep;
};

struct tare_summary_store {
	struct names names;
	struct cell *cells;	/* made_planes times n_rows */
	struct other *other;	/* by row */
	uint32_t n_rows;
	uint64_t n_rows_at_once;	/* a guess of how many there will be; 0: a few */
	uint8_t number[PLANES];	/* of a class's plane among them, + 1; 0: no such kind yet */
	uint32_t n_planes;
	uint32_t made_planes;	/* `cells` has them */
	uint32_t used_planes;	/* intervals are in no plane behind these */
	uint32_t other_end;	/* rows from here on have nothing in `other` */
	size_t rows_bytes;	/* of the summary's rows */
	char *texts;		/* that rows and artifacts point to: those of `names` before */
	struct threads threads;
	struct thread *thread;
	uint32_t n_thread, cap_thread;
};

/* Five intervals around every event lie at the bottom of every stack, so that code can read
 * the top one and the four below without checking the depth. */
#define BOTTOM 5
/* There are rows for so many names more than there are when rows have grown. */
#define ROWS_SPARE 1024u

/* For every name there is, at least; the cells move. False: out of memory, as of all below. */
bool summary_grow_rows(struct tare_summary_store *st);
/* Cells for the planes that new kinds have. */
bool summary_grow_planes(struct tare_summary_store *st);
struct thread *summary_new_threads(struct tare_summary_store *st);
/* Room for `more` intervals and one above them; or the thread is too deep. */
bool summary_reserve_stack(struct thread *t, size_t more);
/* summary-rows.c */
bool summary_make_rows(struct tare_summary *s);
void summary_free_sums(struct tare_summary_store *st);

static inline bool summary_have_rows(struct tare_summary_store *st)
{
	return __builtin_expect(st->names.n < st->n_rows, 1) || summary_grow_rows(st);
}

static inline struct thread *summary_thread(struct tare_summary_store *st, uint32_t id)
{
	const uint32_t i = threads_index(&st->threads, id);
	if (st->n_thread != st->threads.n && !summary_new_threads(st))
		return NULL;
	return i == UINT32_MAX ? NULL : st->thread + i;
}

#endif
