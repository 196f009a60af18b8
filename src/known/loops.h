/* The report's loops: plain, and a bump allocator's addition, alone or with a second thread that
 * fights for the cache line.
 *
 *	struct trial_code code = { .kernel = loops_atomic(), .loops = 1000 };
 *	struct loops_rival *rival;
 *	loops_rival_start(memory, &rival, &why);
 *	trial_run(…);				as without a rival
 *	loops_rival_stop(rival);
 *
 * Both loops are kernels of 5 instructions a pass: on the report's Zen the second one counted 5, 10,
 * … too many, as if it had run more often, and always so with a rival. A kernel takes the place that
 * it adds to from the start of its memory.
 */
#ifndef KNOWN_LOOPS_H
#define KNOWN_LOOPS_H

#include "kernel.h"

#define LOOPS_PER_PASS 5	/* instructions */

const struct kernel *loops_plain(void);
const struct kernel *loops_atomic(void);	/* x86: lock xadd; arm64: ldadd */

/* Starts a thread that adds to the same cache line all the time, on any CPU that it may use, with all
 * signals blocked. Returns when the thread has begun. Counters that the calling thread opened with
 * `inherit` count this thread too. */
struct loops_rival;
int loops_rival_start(void *memory, struct loops_rival **rival, struct tare_why *why);
/* Ends it, and returns how often it has added; 0 for NULL. */
uint64_t loops_rival_stop(struct loops_rival *rival);

#endif
