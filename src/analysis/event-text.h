/* The texts of an event, for streams and exports: label and kind, escaped once per distinct
 * name for the format; arguments, decoded for the events that have them.
 *
 *	struct event_texts texts;
 *	event_texts_open(&texts, p, RESOLVE_LABEL, escape_json, why);
 *	struct event_text t;
 *	if (event_text(&texts, &e, &t) < 0) …
 *	sink_add(&out, t.label, t.label_len);
 *	event_texts_close(&texts);
 */
#ifndef ANALYSIS_EVENT_TEXT_H
#define ANALYSIS_EVENT_TEXT_H

#include "names.h"
#include "sink.h"

struct escaped {
	size_t off, len;
	bool done;
};

struct event_texts {
	struct tare_profile *p;
	struct names names;
	struct resolver *labels;
	struct kinds kinds;
	void (*escape)(struct buf *out, const char *text, size_t len);
	struct buf arena;		/* escaped texts */
	struct escaped *list;		/* by name */
	uint32_t n_list;
	struct buf text;		/* of the event id, when it has arguments */
	struct tare_why *why;
};

struct event_text {
	uint32_t label_number, kind_number;	/* in the names of event_texts */
	const char *label, *kind;	/* escaped; valid until the next call */
	size_t label_len, kind_len;
	struct event_name args;		/* raw; n_args 0: none */
};

int event_texts_open(struct event_texts *n, struct tare_profile *p, enum resolve_mode mode,
		     void (*escape)(struct buf *, const char *, size_t), struct tare_why *why);
void event_texts_close(struct event_texts *n);
int event_text(struct event_texts *n, const struct mm_event *e, struct event_text *out);
/* The i-th argument (from 0) of a name. */
const char *event_text_arg(const struct event_text *n, unsigned i, size_t *len);

/* Without the quotes around. */
void escape_json(struct buf *out, const char *text, size_t len);
void escape_none(struct buf *out, const char *text, size_t len);

#endif
