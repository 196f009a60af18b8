/* -T [NAME=]N[%] of `compare` and `diff`: what a change may be. */
#ifndef CMD_THRESHOLD_H
#define CMD_THRESHOLD_H

#include "options.h"

struct compare_threshold {
	const char *event;		/* or label; NULL: all without one of their own */
	size_t event_len;
	double percent, absolute;	/* the one that is not given is -1 */
};

/* Complains and gives false; the caller frees *out. */
bool thresholds_parse(const char *command, const struct opt_list *l, struct compare_threshold **out,
		      size_t *n);
/* What `name` may grow by from `base`: the most generous of those that name it; where none
 * does, of those that name none. False: no threshold is for it. `only_named`: those that
 * name none are not. */
bool thresholds_allow(const struct compare_threshold *t, size_t n, const char *name, double base,
		      bool only_named, double *allowed);

#endif
