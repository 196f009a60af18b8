/* Names of events for exports: label and kind as numbers with their text escaped
 * once for the format, arguments decoded when an event has them.
 *
 *	struct namer n;
 *	namer_open(&n, p, RESOLVE_LABEL, json_quoted, why);
 *	if (!namer_event(&n, &e, &name, why)) …
 *	sink_add(&out, name.label, name.label_len);
 *	namer_close(&n);
 */
#ifndef ANALYSIS_NAMER_H
#define ANALYSIS_NAMER_H

#include "names.h"
#include "sink.h"

struct escaped {
	size_t off, len;
	bool done;
};

struct namer {
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

struct named {
	uint32_t label_number;
	const char *label, *kind;	/* escaped; valid until the next call */
	size_t label_len, kind_len;
	struct event_name args;		/* raw; n_args 0: none */
};

int namer_open(struct namer *n, struct tare_profile *p, enum resolve_mode mode,
	       void (*escape)(struct buf *, const char *, size_t), struct tare_why *why);
void namer_close(struct namer *n);
int namer_event(struct namer *n, const struct mm_event *e, struct named *out);
/* The i-th argument (from 0) of a name. */
const char *named_arg(const struct named *n, unsigned i, size_t *len);

/* Without the quotes around. */
void escape_json(struct buf *out, const char *text, size_t len);
void escape_none(struct buf *out, const char *text, size_t len);
/* Line breaks become spaces. */
void escape_line(struct buf *out, const char *text, size_t len);
/* RFC 4180: quoted where it must be. */
void escape_csv(struct buf *out, const char *text, size_t len);

#endif
