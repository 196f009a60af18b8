/* How `tare aggregate` shows the variation over runs. Each format is one file, with one function
 * that adds its text to `out` (out->failed tells that memory was short) and returns 0 or a
 * negative error:
 *
 *	aggregate-text.c        tables and lists, in the counter's unit
 *	aggregate-json.c        JSON, schema tare.aggregate/1
 *	aggregate-measureme.c   byte for byte as measureme's `summarize aggregate`
 *
 * A new format is a new file, its function here, a row of the table `formats` in
 * cmd-aggregate.c, and its name in meson.build (CONTRIBUTING.md has the whole list). */
#ifndef CMD_AGGREGATE_SHOW_H
#define CMD_AGGREGATE_SHOW_H

#include "buf.h"

#include <tare/analysis.h>

struct aggregate_show {
	bool no_macro, no_micro;
	bool by_name;		/* the table by name, too; of a result with .by_name */
	size_t top;		/* rows of the macro table */
};

int aggregate_text(const struct tare_aggregate *a, const struct aggregate_show *o, struct buf *out,
		   struct tare_why *why);
int aggregate_json(const struct tare_aggregate *a, const struct aggregate_show *o, struct buf *out,
		   struct tare_why *why);
int aggregate_measureme(const struct tare_aggregate *a, const struct aggregate_show *o,
			struct buf *out, struct tare_why *why);

/* ---- for the formats ---- */

/* Where an extreme whose count is 1 lies, on one line or, as measureme writes it, on several. */
int aggregate_put_place(const struct tare_aggregate *a, const struct tare_extreme *x, bool lines,
			struct buf *out, struct tare_why *why);

#endif
