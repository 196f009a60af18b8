/* Lining up two sequences of points that went different ways.
 *
 * From where they part, the nearest place is sought where both go on alike for
 * ANCHOR points; between the two, what is common is found by the longest common
 * subsequence, as long as that is affordable. Then on from the anchor.
 */
#ifndef ANALYSIS_ALIGN_H
#define ANALYSIS_ALIGN_H

#include "points.h"

#define ANCHOR 16
#define NO_MATCH UINT32_MAX

struct alignment {
	uint32_t *match;	/* per point of a: its partner in b, or NO_MATCH */
	size_t used_a, used_b;	/* up to where it was decided; the rest needs more points */
	bool lost;		/* no anchor was found: more points may help */
};

/* `ended`: both sequences end where these arrays do. `match` has room for n. False:
 * out of memory. */
bool align_points(const struct point *a, size_t n, const struct point *b, size_t m, bool ended,
		  struct alignment *out);

#endif
