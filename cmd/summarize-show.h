/* How `tare summarize` shows a summary. Each format is one file:
 *
 *	summarize-text.c        a table, in the counter's unit
 *	summarize-json.c        JSON, schema tare.summary/1
 *	summarize-measureme.c   text and JSON byte for byte as measureme's `summarize`
 *
 * A function adds its text to `out`; out->failed tells that memory was short. A table has as
 * many rows as the profile has names, so summarize_text() writes it in pieces. */
#ifndef CMD_SUMMARIZE_SHOW_H
#define CMD_SUMMARIZE_SHOW_H

#include "buf.h"

#include <tare/analysis.h>

enum summarize_sort {
	SUMMARIZE_BY_SELF, SUMMARIZE_BY_TIME, SUMMARIZE_BY_COUNT, SUMMARIZE_BY_NAME, SUMMARIZE_BY_HITS,
};

struct summarize_show {
	double percent_above;		/* only rows with at least that share; 0: all */
	enum summarize_sort sort;
	size_t top;			/* only the first so many; 0: all */
};

/* Writes what is in `out`, and the table. */
int summarize_text(const struct tare_summary *s, const struct summarize_show *o, struct buf *out,
		   int fd, struct tare_why *why);
void summarize_json(const struct tare_summary *const *s, size_t n, const struct summarize_show *o,
		    struct buf *out);
void summarize_measureme_text(const struct tare_summary *s, const struct summarize_show *o,
			      struct buf *out);
void summarize_measureme_json(const struct tare_summary *const *s, size_t n, struct buf *out);

/* ---- for the formats ---- */

/* A self value's share of the total. */
double self_percent(int64_t self, uint64_t total);
/* The rows in order; the caller frees the array. NULL: out of memory. */
const struct tare_summary_row **summarize_sorted(const struct tare_summary *s,
						 enum summarize_sort key);
/* Whether the row has its share. */
bool summarize_shows(const struct tare_summary *s, const struct tare_summary_row *r,
		     const struct summarize_show *o);

#endif
