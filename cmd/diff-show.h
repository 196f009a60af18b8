/* How `tare diff` shows the difference between two groups of runs. Each format is one file, with
 * a function that adds its text to `out` (out->failed tells that memory was short):
 *
 *	diff-text.c        a table, as text or Markdown
 *	diff-json.c        JSON, schema tare.diff/1
 *	diff-measureme.c   text and JSON byte for byte as measureme's `summarize diff`
 */
#ifndef CMD_DIFF_SHOW_H
#define CMD_DIFF_SHOW_H

#include "buf.h"

#include <tare/analysis.h>

struct diff_show {
	const char *const *exclude;	/* names with one of these in them are left out */
	size_t n_exclude;
	bool all;			/* also what did not change */
	size_t top;			/* only the first so many; 0: all */
};

void diff_text(const struct tare_diff *d, const struct diff_show *o, struct buf *out);
void diff_markdown(const struct tare_diff *d, const struct diff_show *o, struct buf *out);
void diff_json(const struct tare_diff *d, const struct diff_show *o, struct buf *out);
void diff_measureme_text(const struct tare_diff *d, const struct diff_show *o, struct buf *out);
void diff_measureme_json(const struct tare_diff *d, struct buf *out);

/* ---- for the formats ---- */

bool diff_excludes(const struct diff_show *o, const char *name);
/* The change in percent of the base; infinite where the base lacks the name. */
double diff_percent(const struct tare_diff_row *r, double base, double change);
/* The middle of the range of self values. */
double diff_middle(const struct tare_diff_side *s);

#endif
