/* The variation over runs as measureme's `summarize aggregate` prints it, byte for byte: every
 * counter as ns. */
#include "aggregate-show.h"

#include "quantity.h"

#include <inttypes.h>

static int put_extremes(const struct tare_aggregate *a, const struct tare_extremes *e,
			const char *title, bool half, struct buf *out, struct tare_why *why)
{
	int err = 0;
	buf_printf(out, "%s %zu %s:\n", title, e->n, half ? "variances" : "durations");
	for (size_t i = 0; err == 0 && i < e->n; i++) {
		const struct tare_extreme *const x = &e->list[i];
		buf_str(out, half ? "  ±" : "  ");
		if (half)
			quantity_half(out, x->value);
		else
			buf_printf(out, "%" PRIu64, x->value);
		buf_str(out, " ns: ");
		if (x->count > 1) {
			buf_printf(out, "%" PRIu64 " occurrences, or ", x->count);
			rust_float(out, (double)x->count / (double)a->n_intervals * 100.0, 2, false);
			buf_str(out, "%");
		} else {
			err = aggregate_put_place(a, x, true, out, why);
		}
		buf_chr(out, '\n');
	}
	return err;
}

int aggregate_measureme(const struct tare_aggregate *a, const struct aggregate_show *o,
			struct buf *out, struct tare_why *why)
{
	int err = put_extremes(a, &a->smallest, "Smallest", false, out, why);
	buf_chr(out, '\n');
	if (err == 0)
		err = put_extremes(a, &a->largest, "Largest", false, out, why);
	buf_chr(out, '\n');
	if (err == 0)
		err = put_extremes(a, &a->smallest_range, "Smallest", true, out, why);
	buf_chr(out, '\n');
	if (err == 0)
		err = put_extremes(a, &a->largest_range, "Largest", true, out, why);
	return err;
}
