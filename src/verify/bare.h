/* A bare counter: one perf_event_open and its page, without the care that tare/counter.h takes.
 *
 * The experiments on registers, reading patterns and turns examine what that care hides: on which
 * register an event is, what starting and stopping costs, how an estimate is made. They use these
 * functions; everything else counts with trial.h.
 *
 *	struct bare b;
 *	if (bare_open(&b, &event->base, BARE_PINNED) == 0 && bare_on(&b)) …
 *	bare_close(&b);
 */
#ifndef VERIFY_BARE_H
#define VERIFY_BARE_H

#include "perf-attr.h"

#include <tare/event.h>

#include <stdbool.h>
#include <stdint.h>

enum {
	BARE_PINNED = 1,	/* on a counter all the time, or never */
	BARE_SILENT = 2,	/* counts nothing, and takes a counter */
	BARE_STOPPED = 4,	/* until bare_start() */
};

struct bare {
	int fd;			/* -1: not open */
	volatile struct perf_event_mmap_page *page;	/* NULL: not mapped */
};

/* 0, or a negative errno: then it is not open, and bare_close() is allowed. */
int bare_open(struct bare *b, const struct tare_encoding *e, unsigned how);
/* With an interrupt after so many events, and again; 0: none. */
int bare_open_period(struct bare *b, const struct tare_encoding *e, unsigned how, uint64_t period);
void bare_close(struct bare *b);

/* It has a counter now. */
bool bare_on(const struct bare *b);
/* The register, from 0 as rdpmc numbers them; -1: user space is not told. */
int bare_register(const struct bare *b);
/* "3", "fixed 0" or, for -1, "?"; returns out. */
char *bare_register_name(int reg, char *out, size_t size);

/* By read(2). 0; 1: it has no counter; or a negative errno. */
int bare_read(const struct bare *b, uint64_t *value);
int bare_times(const struct bare *b, struct perf_value *v);
/* By the instruction, as the kernel's header describes. False: that is not possible now. */
bool bare_pmc(const struct bare *b, uint64_t *value);
void bare_start(const struct bare *b);
void bare_stop(const struct bare *b);

#endif
