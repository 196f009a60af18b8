/* Which FP state a signal frame has. See fpstate.h. */
#include "fpstate.h"

struct fp_layout fp_layout(const struct fp_facts *f)
{
	if (!f->xcr0)
		return (struct fp_layout){ .size = FP_LEGACY_SIZE };
	const uint64_t grown = FP_DYNAMIC & f->permitted & (f->in_use | f->seen);
	struct fp_layout l = { .features = (f->xcr0 & ~FP_DYNAMIC) | (f->xcr0 & grown),
			       .size = FP_HEADER_END };
	/* not the highest feature: the place of APX (19) lies below that of others */
	for (unsigned i = 2; i < FP_FEATURES; i++)
		if (l.features >> i & 1 && f->end[i] > l.size)
			l.size = f->end[i];
	return l;
}
