/* What struct tare_aggregate keeps behind it. */
#ifndef ANALYSIS_AGGREGATE_H
#define ANALYSIS_AGGREGATE_H

#include "align.h"

#include <tare/analysis.h>

#define SMALL_RANGES 64

struct tare_aggregate_store {
	size_t limit;
	struct tare_extreme small[SMALL_RANGES];	/* by range; without their counts */
	uint64_t n_small[SMALL_RANGES];			/* these */
	struct names names;		/* labels */
	struct points_run *run;
	struct names differing;		/* events where runs differ */
	uint64_t *counts;		/* by name, then run */
	uint32_t n_differing;
	struct tare_name_variation *varied;	/* by label + 1; [0]: outside of all */
	uint32_t n_varied;
};

/* Of n values over the runs, the number (from 1) of the one without which their range would
 * be smallest; 0: there are less than three, or leaving out one does not help. */
size_t outlier_of(const int64_t *values, size_t n);

#endif
