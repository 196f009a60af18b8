/* What ran while counting was switched off from outside (tare_measure_options.leave_out) is taken out of the code
 * log: the same records once more, with runs < 0.
 *
 *	struct left_out l = { .off = … };		// at the start
 *	left_out_look(&l, &results, memfd);		// after soft_results_look_well(): this is the moment …
 *	if (…)
 *		left_out_switch(&l, off);		// … at which it is switched
 *	left_out_end(&l, &results, memfd);		// after soft_results_log_code()
 *	left_out_free(&l);
 *
 * What a process had run at some moment is what it had written to the log, and what was read from it then. The
 * records are written at the end, so that no process writes behind them.
 */
#ifndef LAUNCH_LEFT_OUT_H
#define LAUNCH_LEFT_OUT_H

#include "buf.h"

#include <stdbool.h>
#include <stdint.h>

struct soft_results;

struct code_moment {
	uint64_t *used;			/* bytes of each chunk of the log */
	uint32_t n_chunks;
	struct buf live;		/* what processes had run and not written */
};

struct left_out {
	bool off;
	struct code_moment since;	/* off: the moment when it was switched */
	struct code_moment now;
	struct buf log;			/* records to be written */
	bool failed;			/* out of memory */
};

void left_out_look(struct left_out *l, const struct soft_results *r, int memfd);
void left_out_switch(struct left_out *l, bool off, int memfd);
/* False: out of memory. */
bool left_out_end(struct left_out *l, const struct soft_results *r, int memfd);
void left_out_free(struct left_out *l);

#endif
