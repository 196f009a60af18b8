/* -T [NAME=]N[%] of `compare` and `diff`: the largest change that is accepted. */
#ifndef CMD_THRESHOLD_H
#define CMD_THRESHOLD_H

#include "options.h"

struct compare_threshold {
	const char *event;		/* or label; NULL: for all that have no threshold of their own */
	size_t event_len;
	double percent, absolute;	/* the one that is not given is -1 */
};

/* False: the error is printed. The caller frees *out. */
bool thresholds_parse(const char *command, const struct opt_list *l, struct compare_threshold **out,
		      size_t *n);
/* How much `name` may grow from `base`: the largest of the thresholds for that name or, if there
 * is none, of the thresholds for all names. `only_named`: thresholds for all names do not apply.
 * False: no threshold applies. */
bool thresholds_allow(const struct compare_threshold *t, size_t n, const char *name, double base,
		      bool only_named, double *allowed);

#endif
