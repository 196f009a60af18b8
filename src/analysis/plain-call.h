/* "label(argument, argument)" of an event id, for ids of the form that programs write: a reference
 * to the label, then arguments that are plain ASCII or references to such text.
 *
 *	struct plain_calls *c = calloc(1, sizeof(*c));
 *	if (plain_call(c, p, addr, &out)) …	the text is behind out's
 *
 * Of millions of events with arguments each has its own text, and nearly all have this form. What
 * has another one (a cut string, a control byte, UTF-8) is for strings_text() and event_name_split().
 */
#ifndef ANALYSIS_PLAIN_CALL_H
#define ANALYSIS_PLAIN_CALL_H

#include "reader.h"

#define PLAIN_LABELS 256u

struct plain_calls {
	/* The page of string data that the last text was in. */
	const uint8_t *page;
	uint64_t page_from;
	size_t page_len;
	/* Labels that were looked at before, by address; none is at 0. */
	struct plain_label {
		uint64_t addr;
		const char *text;
		size_t len;
	} label[PLAIN_LABELS];
};

/* False: `out` is as it was. */
bool plain_call(struct plain_calls *c, const struct tare_profile *p, uint64_t addr, struct buf *out);

#endif
