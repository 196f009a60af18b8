/* A profile's thread as a sequence of sample points: every start, end and instant,
 * last first.
 *
 * The file is walked backwards. An event first closes (yields the Start of) every
 * interval on the stack that is not around it, then yields its own End (and goes
 * on the stack) or Instant. Two runs of a deterministic program have equal
 * sequences of keys.
 */
#ifndef ANALYSIS_POINTS_H
#define ANALYSIS_POINTS_H

#include "names.h"

#define NO_RECORD UINT64_MAX

enum point_type { POINT_START, POINT_END, POINT_INSTANT };

struct point {
	uint64_t key;		/* of kind, label, arguments and type */
	uint64_t time;
	uint64_t record;	/* << 2 | enum point_type */
	uint64_t parent;	/* << 2: the record of the interval around it; or NO_RECORD */
};

static inline enum point_type point_type(const struct point *p)
{
	return (enum point_type)(p->record & 3);
}

static inline uint64_t point_record(const struct point *p)
{
	return p->record >> 2;
}

static inline uint64_t point_parent(const struct point *p)
{
	return p->parent == NO_RECORD ? NO_RECORD : p->parent >> 2;
}

/* Where a thread's records lie, found by the first walk over the file. */
struct thread_range {
	uint64_t first, end;	/* record numbers */
	uint64_t n_timed;	/* intervals and instants */
};

struct point_frame {
	struct point start;	/* the point to come when the interval is left */
	uint64_t end;
	uint32_t row;		/* label + 1 */
};

/* An event of the thread with its names looked up. */
struct point_item {
	uint64_t start, end;
	uint64_t key;		/* of kind, label and arguments, + 1 of an instant */
	uint32_t row;
	uint32_t number;	/* << 2 | enum point_type; from the first record of the batch */
};

#define ID_SETS 2048u
#define ID_DIRECT_BYTES (1u << 20)	/* of string data that the array covers */

struct id_info {
	uint64_t hash;
	uint32_t row;		/* label + 1; 0: no id */
};

struct id_slot {
	uint64_t addr;
	struct id_info info;
};

/* The points of a run's threads that may wait for those of other runs, and what points_fill
 * says where there are more: the runs have their threads at different times. */
#define POINTS_WAITING_MOST (2u << 20)
#define POINTS_TOO_MANY (-1000)

/* What a label has by itself, and how many intervals. */
struct point_sum {
	int64_t self;
	uint64_t count;
};

struct points;

/* One run: what its threads share. */
struct points_run {
	struct tare_profile *p;
	struct names *names;		/* labels, of all runs */
	struct tare_why *why;
	int err;
	struct buf scratch;
	/* What is known of an id, by the address of its string: as in names.h, an
	 * array for the first strings, else a cache of two ways. */
	struct id_slot *ids;
	uint32_t *direct;		/* number in `known`; 0: not there */
	uint64_t n_direct;		/* 1 at least */
	struct id_info *known;		/* [0] is no id */
	uint32_t n_known, cap_known;
	uint64_t kind_id[64], kind_hash[64];
	struct threads threads;
	struct thread_range *range;	/* by thread index */
	uint32_t n_range, cap_range;
	/* Which threads a block of records may hold, a bit of 64 for each: what holds
	 * nothing of a thread is not touched when that thread is walked over. */
	uint64_t *block;
	bool scanned;			/* the ranges are complete */
	/* One walk for all threads: each has its points, made by `new_thread` where the
	 * walk meets its first record. */
	struct walk walk;
	struct run records;
	size_t left;			/* of records, to be taken from the end */
	bool ended;
	struct points **lane;		/* by thread index */
	uint32_t n_lane;
	bool (*new_thread)(void *arg, uint32_t thread);
	void *new_thread_arg;
	struct point_sum *sum;		/* by label + 1; [0] takes what has no parent */
	uint32_t n_sum;
	uint64_t total;			/* of all threads done so far */
	bool nest_empty;		/* see struct tare_aggregate_options */
	uint64_t overlaps, backwards;
};

int points_run_init(struct points_run *r, struct tare_profile *p, struct names *names,
		    struct tare_why *why);
void points_run_free(struct points_run *r);
/* The thread of the last timed record: the one to begin with. False: no such record. */
bool points_last_thread(struct points_run *r, uint32_t *thread);

/* Finds the ranges of all threads, unless a walk has already. */
bool points_scan(struct points_run *r);

#define POINTS_BLOCK 256u

/* One thread of one run. */
struct points {
	struct points_run *run;
	struct walk walk;
	struct run records;
	size_t left;			/* of records, to be taken from the end */
	uint32_t thread;
	bool note;			/* notes the ranges of all threads on its way */
	bool done;			/* no records left */
	bool shared;			/* the run's walk brings its records */
	bool any;			/* there was a record */
	struct point_frame *stack;
	uint32_t depth, cap;
	uint64_t start, end;		/* of its intervals; start > end: none yet */
	/* points made and not yet taken: [head, tail) */
	struct point *buf;
	size_t head, tail, buf_cap;
};

/* points_close even when this fails. */
int points_open(struct points *s, struct points_run *run, uint32_t thread);

/* All threads in one walk: points_share, then points_feed until run->ended. The points of
 * every thread that points_join gave to the run grow on the way; points_fill feeds too. */
void points_share(struct points_run *r, bool (*new_thread)(void *arg, uint32_t thread), void *arg);
int points_join(struct points *s, struct points_run *run, uint32_t thread);
bool points_feed(struct points_run *r);
/* Made and not yet taken, of all threads. */
uint64_t points_waiting(const struct points_run *r);
/* At least `want` points in the buffer, unless the thread has no more. False:
 * run->err says why. */
bool points_fill(struct points *s, size_t want);
void points_close(struct points *s);

/* The label of a record's event, + 1; 0: run->err says why. */
uint32_t points_row(struct points_run *r, uint64_t record);

/* "Query `typeck(arg)`" without the kind where it is Query or GenericActivity. */
int points_describe(struct tare_profile *p, uint64_t record, struct buf *out,
		    struct tare_why *why);

#endif
