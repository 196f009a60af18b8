/* Perf events of one thread that are on counters together and read together: one
 * for a counter, two for a corrected one, more for a group. Everything about paths,
 * owners and status lives here; counter.c and group.c only add the arithmetic.
 *
 * Part 0 leads the group and is pinned; the others follow it. Registers are read
 * from the last part to the first, so that of a pair what is subtracted comes first.
 */
#ifndef COUNTER_BUNDLE_H
#define COUNTER_BUNDLE_H

#include "part.h"
#include "perf-facts.h"

#include <sys/types.h>
#include <tare/counter.h>

#define BUNDLE_ALIVE 0x657261742d657461u
#define BUNDLE_MAX 32

struct bundle {
	const char *name;		/* for messages */
	struct part *parts;
	unsigned n_parts;		/* 0: a clock, or nothing */
	const uint64_t *alive;		/* BUNDLE_ALIVE; in memory that fork wipes */
	bool wiped_on_fork;		/* the kernel really does so */
	enum tare_path path;		/* AUTO: not open */
	enum tare_serializer serializer;
	struct tare_why reason;		/* why this path; .what is a sentence */
	bool pinned;
	bool resynced;			/* parts have changed: arm the fast read again */
	enum perf_simulated simulated[BUNDLE_MAX];	/* of each part */
	pid_t pid, tid;			/* of the owner */
	unsigned status;		/* enum tare_status */
};

/* Opens n events for the calling thread, in group, and maps their pages one after
 * the other at `pages`. On error nothing stays open. n may be 0: then `path` must
 * have been set by the caller. */
int bundle_open(struct bundle *b, const struct tare_encoding *const *events, unsigned n,
		void *pages, const struct tare_counter_options *o, struct tare_why *why);
void bundle_close(struct bundle *b);

/* 0 if the calling thread owns the bundle; otherwise NOT_OPENED, FORKED or WRONG_THREAD. */
int bundle_check_owner(struct bundle *b);
/* Events of each part since it was opened, by the bundle's path, scaled if need be.
 * The owner has been checked. */
int bundle_totals(struct bundle *b, uint64_t *totals);
/* By read(2), unscaled, with times. */
int bundle_values(struct bundle *b, struct perf_value *v);

/* Part i's register is the second of a pair to be read: see pmc_select(). */
static inline bool bundle_second(const struct bundle *b, unsigned i)
{
	return b->n_parts == 2 && i == 0;
}

/* Just opened, an unpinned bundle may have to wait for its turn on a counter: no
 * error, it has counted nothing yet. */
static inline bool bundle_may_wait(const struct bundle *b, int err)
{
	return err == TARE_E_NOT_SCHEDULED && !b->pinned;
}

/* The calling thread's id; a system call only the first time. */
pid_t bundle_self(void);
/* Memory that is wiped on fork: madvise(2). */
bool bundle_wipe_on_fork(void *page, size_t size);

#endif
