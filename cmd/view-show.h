/* How `tare view` shows events: view-text.c for people, view-measureme.c byte for byte as
 * measureme's mmview. */
#ifndef CMD_VIEW_SHOW_H
#define CMD_VIEW_SHOW_H

#include "sink.h"
#include "text-marks.h"

#include <tare/analysis.h>

struct view_show {
	struct tare_stream_options events;
	uint64_t skip, count;		/* of the matching events; count 0: all */
};

int view_text(struct tare_profile *p, const struct view_show *o, int fd, struct tare_why *why);
#define VIEW_EMPTY 1			/* no event has a time, and nothing is written */
int view_measureme(struct tare_profile *p, const struct view_show *o, int fd,
		   struct tare_why *why);

/* ---- for the formats ---- */

struct viewer {
	void (*put)(struct viewer *v, const struct tare_stream_event *e);
	struct sink out;
	struct text_marks marks;
	uint64_t since;
};

/* Writes every event with v->put(). */
int view_with(struct viewer *v, struct tare_profile *p, const struct view_show *o, int fd,
	      struct tare_why *why);

#endif
