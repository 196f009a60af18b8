/* What a count means that a scan has seen: functions of numbers alone. */
#ifndef VERIFY_SCAN_JUDGE_H
#define VERIFY_SCAN_JUDGE_H

#include <tare/scan.h>

/* What a code counts that counts what is looked for, with what may be missing or come on top. */
struct scan_bounds {
	uint64_t low, high;
};

/* Of one trial: rounds, pages, interrupts and wanted (of TARE_SCAN_EVENT and TARE_SCAN_COUNT) are set. */
struct scan_bounds scan_bounds(enum tare_scan_like like, const struct tare_scan_trial *t);

/* After some of the trials: can the code still be what is looked for? */
bool scan_is_possible(enum tare_scan_like like, const struct tare_scan_found *found);
/* Where one event that counts interrupts is searched for, and not all that are like it: does the last
 * trial agree with /proc/interrupts or with the excess of instructions:u, but for a few? */
bool scan_may_be_best(const struct tare_scan_found *found);
/* How far a trial with interrupts is from a proof: the excess of instructions:u from a multiple of the count, or,
 * behind all of these, the count from /proc/interrupts where instructions:u has no excess. */
uint64_t scan_off_excess(const struct tare_scan_trial *t);
/* The counts agree with /proc/interrupts, but for one in each trial. */
bool scan_is_near(const struct tare_scan_found *found);
/* No other code can be better: proved by the excess of instructions:u, or, where that does not count interrupts, or
 * not all of them, near to so many that one missing of 32 would show. */
bool scan_is_settled(const struct tare_scan_found *found);
/* May the same trials, counted again, prove more? So it is where the counts differ by so little that
 * interrupts between two reads may be the reason. `apart`: one may have come between the reads of the
 * candidate and of instructions:u. */
bool scan_may_improve(const struct tare_scan_found *found, bool apart);

/* From the trials: fills counts, exact, is_excess and the trials' `wanted`. False: the code does not
 * count what is looked for. */
bool scan_judge(enum tare_scan_like like, struct tare_scan_found *f);

/* For qsort: the best first. */
int scan_compare(const void *a, const void *b);

#endif
