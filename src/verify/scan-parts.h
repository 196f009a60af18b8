/* Inside verify: the state of a scan, and what its files share. tare/scan.h says what a scan is for.
 *
 *	scan.c		opening (the plan), the order of the stages
 *	scan-walk.c	the stages that walk the event space: sweep and narrow
 *	scan-confirm.c	from the hits of these to candidates, and the confirmation of each
 *	scan-count.c	one code and its counts: what both do with the counters
 *	scan-judge.c	what a count means
 */
#ifndef VERIFY_SCAN_PARTS_H
#define VERIFY_SCAN_PARTS_H

#include <tare/scan.h>

#include "event-space.h"
#include "known-work.h"
#include "scan-judge.h"
#include "trial.h"
#include "why.h"

#define SCAN_PAGES 503		/* not a number that something else has by chance */
#define SCAN_ROUNDS 20000
#define SCAN_PROBE_BITS 8	/* of the mask that the sweep sets */

struct scan_candidate {
	uint64_t code, mask;
	bool reduce;			/* no bit of the mask alone counts as much */
	uint64_t off;			/* from what is proved best (scan-confirm.c) */
};

struct tare_scan {
	struct tare_scan_options o;
	struct tare_scan_plan plan;
	struct tare_scan_state state;
	struct tare_scan_result result;
	struct tare_cpu cpu;
	struct event_space space;
	struct kept *kept;
	struct tare_events *like;	/* TARE_SCAN_EVENT */
	struct tare_events *instructions;
	uint64_t count;			/* TARE_SCAN_COUNT */
	uint64_t irq_rounds;		/* so many that interrupts come; 0: none come */
	uint64_t most_rounds;		/* none in so many: none come */
	bool for_one;			/* one event is searched for, not all that are like it */
	unsigned bits;			/* of a counter; 0: as many as the kernel says */
	struct scan_candidate *candidates;
	size_t n_candidates;
	size_t hits_room;
};

/* ---- scan-count.c ---- */

/* A code as an event; `event.name` points to `name`, so the struct must not move. */
struct scan_code {
	struct tare_event event;
	char name[sizeof(((struct tare_scan_found *)0)->event)];
};

void scan_code_of_raw(const struct tare_scan *s, uint64_t raw, struct scan_code *c);
void scan_code_make(const struct tare_scan *s, uint64_t code, uint64_t mask, struct scan_code *c);
/* The event that the codes are compared with, which is counted beside them, or NULL. */
const struct tare_event *scan_beside(const struct tare_scan *s);
/* Does the error say something of a code, not of the machine? */
bool scan_is_refusal(int err);
/* A code that cannot be counted is refused; where no event can be counted any more, it says nothing of
 * codes. Then the result is an error, TARE_E_STOLEN in `why`. */
bool scan_counters_are_gone(const struct tare_scan *s, struct tare_why *why);
/* A difference that is small but for wraps of the counter. */
int64_t scan_unwrapped(const struct tare_scan *s, int64_t difference);
/* Runs the work of n trials with the open trial; counts[k][i] is what event i counted of trial k. Fills
 * interrupts and, where the first event is the one to compare with, wanted. Event `instructions` is
 * instructions:u, for the excess; it is not looked at in a trial whose excess is INT64_MIN. */
int scan_run_trials(const struct tare_scan *s, struct trial *t, struct tare_scan_trial *trials,
		    size_t n, size_t instructions, int64_t (*counts)[TRIAL_EVENTS],
		    struct tare_why *why);

/* ---- scan-walk.c ---- */

struct scan_place {
	uint64_t code, mask;
};

/* What is known of a code after some trials: `matches`, and whether it counts at least as much. */
struct scan_verdict {
	bool refused, silent, enough, matches;
};

/* The codes together in one group. A group that the kernel refuses, or that does not fit, is tried
 * in halves. */
int scan_try_batch(const struct tare_scan *s, const struct scan_place *places, size_t n,
		   struct scan_verdict *verdicts, struct tare_why *why);
/* Masks of each selector in the sweep: all of the range, or its two ends. */
uint64_t scan_masks(const struct tare_scan *s);
/* How many places a stage has, … */
uint64_t scan_total(const struct tare_scan *s, enum tare_scan_stage stage);
/* … and the k-th of the sweep or of the narrowing. */
struct scan_place scan_place_of(const struct tare_scan *s, enum tare_scan_stage stage, uint64_t k);
bool scan_several_bits(uint64_t mask);
/* Calls the caller's function of progress; an error if that ends the scan. */
int scan_report(struct tare_scan *s, struct tare_why *why);
/* The sweep, or the narrowing, from where the state is. */
int scan_walk(struct tare_scan *s, struct tare_why *why);

/* ---- scan-confirm.c ---- */

/* The last stage: fills the result. It is short, so a scan that goes on does it from the beginning. */
int scan_confirm(struct tare_scan *s, struct tare_why *why);

#endif
