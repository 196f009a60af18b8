/* Which codes of a CPU's event space count something that is looked for: `tare scan`.
 *
 *	struct tare_scan_options o = TARE_SCAN_OPTIONS_INIT;
 *	struct tare_scan *s;
 *	o.like = "page-faults";
 *	if (tare_scan_open(&o, &s, &why) < 0) …
 *	printf("%u batches\n", (unsigned)tare_scan_plan(s)->batches);
 *	if (tare_scan_run(s, &why) < 0) …
 *	for (size_t i = 0; i < tare_scan_result(s)->n_found; i++)
 *		puts(tare_scan_result(s)->found[i].event);
 *	tare_scan_close(s);
 *
 * The report found Zen's undocumented 0x0420 in this way. An event code of a PMU is a selector, and a
 * mask that chooses among the events of the selector. Hardware accepts every code, so all can be
 * tried, as many at a time as there are free counters, while code runs of which the count is known:
 *
 *  - sweep: every selector, with no bit of the mask and with all of them. Bits of a mask add to
 *    each other, so a selector that counts less than what is looked for is done with.
 *  - narrow: of the others each bit of the mask alone. Where no bit alone counts what the whole mask
 *    does, bits are left out one by one as long as the count stays.
 *  - confirm: what is left is counted again beside `instructions:u`, over other numbers of page
 *    faults and interrupts. So a code that came near by chance is not listed. The code is counted twice,
 *    and read before and after `instructions:u`: where the two counts differ, an interrupt came
 *    between the reads, and the work is done again.
 *
 * The work is a loop (4 instructions a round, of them 1 load, 1 store and 1 conditional branch) and
 * pages of memory that are touched for the first time: `rounds` and `pages`, and twice as many. The
 * confirmation has system calls as well: the CPU goes to the kernel and back, without an interrupt.
 *
 * Threads: a scan is used by the thread that opened it.
 *
 * Side effects: between tare_scan_open() and tare_scan_close() the calling thread is kept on one CPU.
 * tare_scan_run() takes seconds to hours (the plan says how long), and all counters that are
 * free on that CPU. Some codes may be refused by the kernel.
 */
#ifndef TARE_SCAN_H
#define TARE_SCAN_H

#include <tare/cpu.h>
#include <tare/err.h>
#include <tare/growth.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is looked for. */
enum tare_scan_like {
	TARE_SCAN_PAGE_FAULTS,
	TARE_SCAN_INTERRUPTS,
	TARE_SCAN_EVENT,	/* what another event counts at the same time */
	TARE_SCAN_COUNT,	/* a number, of `rounds` rounds and `pages` pages */
};
const char *tare_scan_like_name(enum tare_scan_like like); /* "page-faults"; "unknown". Static */

enum tare_scan_stage { TARE_SCAN_SWEEP, TARE_SCAN_NARROW, TARE_SCAN_CONFIRM, TARE_SCAN_DONE };
const char *tare_scan_stage_name(enum tare_scan_stage stage);	/* "sweep"; "unknown". Static */

/* What a code that was found counts, bits. Of TARE_SCAN_EVENT and TARE_SCAN_COUNT only the last. */
enum tare_scan_counts {
	TARE_SCAN_COUNTS_FAULTS = 1 << 0,
	TARE_SCAN_COUNTS_INTERRUPTS = 1 << 1,
	TARE_SCAN_COUNTS_LIKE = 1 << 2,
};

/* What is going to be done. */
struct tare_scan_plan {
	enum tare_scan_like like;
	unsigned code_bits, mask_bits;	/* of a selector and a mask on this PMU; mask_bits 0: none */
	uint64_t first_code, last_code;	/* selectors */
	uint64_t first_mask, last_mask;
	bool ends_only;			/* only these two masks, not those between them */
	uint64_t codes;			/* to be tried by the sweep: selectors × masks */
	unsigned counters;		/* codes at a time: the counters that are free */
	uint64_t batches;		/* of the sweep */
	uint64_t batch_ns;		/* what one took */
	uint64_t rounds, pages;		/* of the work */
	uint64_t interrupts;		/* that came meanwhile; 0 where they are not looked for */
	unsigned cpu;			/* the thread stays on it */
	uint64_t reserved[4];
};

/* One count of the confirmation. */
struct tare_scan_trial {
	uint64_t rounds, pages;		/* of the work */
	uint64_t interrupts;		/* of /proc/interrupts, on this CPU; UINT64_MAX: unknown */
	int64_t excess;			/* instructions:u less the instructions of the loop;
					 * INT64_MIN: unknown */
	uint64_t wanted;		/* what the code should count */
	uint64_t count;			/* what it counted */
	uint64_t calls;			/* system calls of the work */
	uint64_t ticks;			/* of the kernel's timer, in the thread's CPU time */
};
#define TARE_SCAN_TRIALS 8

/* A code that counts what is looked for. */
struct tare_scan_found {
	uint64_t code, mask;		/* the smallest mask that will do */
	uint64_t raw;			/* config of perf_event_open */
	char event[24];			/* "r0420:u", as tare_events_parse() takes it */
	const char *name;		/* of the tables' row for this CPU, or NULL: undocumented */
	unsigned counts;		/* enum tare_scan_counts */
	bool exact;			/* every trial as wanted, ±0 */
	bool is_excess;			/* in every trial of the loop the excess of instructions:u is
					 * `each` times the count, and not always 0 */
	unsigned each;			/* 1, on CPUs that were examined; 0 where !is_excess */
	size_t n_trials;
	struct tare_scan_trial trials[TARE_SCAN_TRIALS];
	uint64_t reserved[4];
};

/* A selector or code that the stages before the confirmation kept. */
struct tare_scan_hit {
	enum tare_scan_stage stage;	/* that saw it */
	bool matches;			/* it counts what is looked for; else more than that */
	uint64_t code, mask;
};

/* How far a scan is, and what it knows. With this a later one goes on. Read-only. */
struct tare_scan_state {
	enum tare_scan_stage stage;
	uint64_t next;			/* the first that was not tried yet, within the stage */
	uint64_t total;			/* of the stage */
	uint64_t tried, refused, silent; /* codes so far; by the kernel; that stayed 0 */
	size_t n_hits;
	struct tare_scan_hit *hits;
};

struct tare_scan_result {
	size_t n_found;
	struct tare_scan_found *found;	/* the best first */
	uint64_t tried, refused, silent;
};

struct tare_scan_options {
	size_t size;			/* set by TARE_SCAN_OPTIONS_INIT (tare/growth.h) */
	const char *like;		/* "page-faults", "interrupts", an event, or a number */
	/* Selectors and masks, both ends included. Without has_…: all selectors (Arm: up to
	 * 0x3ff), with the mask 0 and with all bits of the mask. */
	bool has_codes, has_masks;
	uint64_t first_code, last_code, first_mask, last_mask;
	uint64_t rounds, pages;		/* 0: as many as are useful */
	const struct tare_scan_state *resume;	/* of an earlier scan with the same options, on this
						 * CPU: go on from there; or NULL */
	/* After each batch: how far it is. Non-0 ends the scan with TARE_E_TIMEOUT. NULL: not called. */
	int (*progress)(const struct tare_scan_state *state, void *arg);
	void *arg;
};
#define TARE_SCAN_OPTIONS_INIT TARE_OPTIONS_INIT(scan)

struct tare_scan;

/* Finds out what there is to do, and tries the first batch of it. TARE_E_NO_PMU where there is no
 * event space; TARE_E_RANGE for selectors and masks that this PMU does not have; the errors of
 * tare_events_parse() and tare_group_open(). */
int tare_scan_open(const struct tare_scan_options *o, struct tare_scan **scan,
		   struct tare_why *why);
/* Valid until tare_scan_close(). */
const struct tare_scan_plan *tare_scan_plan(const struct tare_scan *scan);
/* 0, TARE_E_TIMEOUT where the progress function wanted an end, TARE_E_STOLEN where the counters were
 * taken away. */
int tare_scan_run(struct tare_scan *scan, struct tare_why *why);
/* What tare_scan_run() found; empty before. Valid until tare_scan_close(). */
const struct tare_scan_result *tare_scan_result(const struct tare_scan *scan);
void tare_scan_close(struct tare_scan *scan);	/* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
