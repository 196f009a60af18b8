/* tare/region.h with hardware counters: the launcher's side.
 *
 * The command inherits one end of a socket pair. A process that wants to switch counting sends the end
 * of a connection of its own through it, and gets the descriptors of the counters (their group
 * leaders) over that connection. It enables and disables the counters by itself, so that a switch is
 * exact for the thread that makes it: no other process has to run meanwhile. It tells the launcher
 * that it did ("+", "-"), and asks it for what only the launcher can do ("0", "dNAME"), which the
 * launcher answers with a byte.
 */
#ifndef LAUNCH_REGION_CHANNEL_H
#define LAUNCH_REGION_CHANNEL_H

#include "child.h"

#include <tare/measure.h>

struct region;
struct counter_set;

/* Makes the channel, if counting starts off; else *r is NULL, which all functions allow: a command has
 * no descriptor of ours unless somebody asked for parts of it. An error where the caller has the
 * number of the descriptor in use. */
int region_open(struct region **r, const struct tare_measure_options *o, struct tare_measurement *m,
		struct tare_why *why);
void region_plan(const struct region *r, struct child_plan *plan);	/* the command inherits it */
/* The counters exist. `read` fills the counts of the measurement. */
void region_begin(struct region *r, struct counter_set *set, void (*read)(void *arg), void *arg);
int region_wake(const struct region *r);	/* readable when region_serve() has work; -1: never */
void region_serve(struct region *r);		/* does what was asked for; does not wait */
/* The final counts are read: takes out what the program has dropped, and fills m->parts. */
int region_end(struct region *r, struct tare_why *why);
void region_close(struct region *r);

#endif
