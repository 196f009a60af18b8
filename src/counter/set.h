/* A set of events counted for another process: what launch/ and stat need.
 *
 *	pid_t child = …;			stopped before its exec
 *	struct counter_set_opts o = { .pid = child, .inherit = true,
 *				      .enable_on_exec = true };
 *	struct counter_set *set;
 *	if (counter_set_open(events, n, &o, &set, &why) < 0) …
 *	let the child exec; wait for it
 *	struct tare_count counts[n];
 *	counter_set_read(set, counts);		also at any time before
 *	counter_set_close(set);
 *
 * An event that cannot be opened does not spoil the set: its count has state
 * TARE_COUNT_NOT_OPENED and counter_set_why() tells the cause. The descriptors are
 * close-on-exec, so the command does not see them.
 *
 * Times, not moods: enabled and running are nanoseconds of the measured tasks,
 * summed over those that inherited the event.
 */
#ifndef COUNTER_SET_H
#define COUNTER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <tare/event.h>
#include <tare/measure.h>

struct counter_set;

struct counter_set_opts {
	pid_t pid;		/* process or thread to count; 0: the calling thread */
	bool all_threads;	/* pid is a running process: each of its threads, as they
				 * are listed now; later ones come through inherit */
	bool inherit;		/* also children and threads created from now on */
	bool enable_on_exec;	/* start at the exec, not now */
	bool disabled;		/* start at counter_set_enable(), not now (or at an exec of
				 * the target, should one come before) */
	bool off;		/* start when a process that has the descriptors enables them
				 * (counter_set_leaders()): not now, and at no exec */
	bool pinned;		/* all the time on a counter or an error: never multiplexed */
	bool user_fallback;	/* where the kernel may not be counted and the event's
				 * modifiers were not chosen by hand: count user mode only
				 * (counter_set_user_only() tells) */
	const char *root;	/* NULL: "/"; tests: a tree with proc/ and sys/ */
};

/* Opens for each of the n events. The events must outlive the set. Fails as a
 * whole only when there is nothing to count: out of memory, no such process
 * (TARE_E_NO_PROCESS). When every single event failed the set is still
 * returned, with counter_set_opened() == 0. */
int counter_set_open(const struct tare_event *const *events, size_t n,
		     const struct counter_set_opts *o, struct counter_set **set,
		     struct tare_why *why);
void counter_set_close(struct counter_set *set);	/* NULL is allowed */

size_t counter_set_opened(const struct counter_set *set);	/* how many of the n */
/* The cause why event i was not opened; code 0 when it was. */
const struct tare_why *counter_set_why(const struct counter_set *set, size_t i);
/* Why event i, which was never scheduled, got no counter: names it (and its group), the
 * counters it needs and those that are free, which is tried now, on the calling thread.
 * The set's own events should be off. Returns why->code. */
int counter_set_explain(struct counter_set *set, size_t i, struct tare_why *why);
/* Events that must be on counters together with event i, itself included: its group, or
 * all events of a pinned set. */
size_t counter_set_together(const struct counter_set *set, size_t i);
/* Event i counts user mode only, because of user_fallback. */
bool counter_set_user_only(const struct counter_set *set, size_t i);

/* Starts, stops; wall-time runs along. With enable_on_exec the kernel starts the
 * events, and counter_set_started() tells the set that it has happened. */
int counter_set_enable(struct counter_set *set, struct tare_why *why);
int counter_set_disable(struct counter_set *set, struct tare_why *why);
void counter_set_started(struct counter_set *set);

/* The descriptors that enable or disable all events of the first target; at most `max`. Returns how
 * many there are. They stay the set's. */
size_t counter_set_leaders(const struct counter_set *set, int *fds, size_t max);

/* Fills one count per event, summed over all targets. `state` keeps four results
 * apart: counted (also a true 0), not opened, never scheduled, stolen. Value is
 * scaled if it had to be and corrected if asked; enabled and running times tell.
 * sysfs .scale factors are not applied. Returns 0 or a negative error when a
 * descriptor could not be read at all. */
int counter_set_read(struct counter_set *set, struct tare_count *counts);

/* Parts of what a count is of are not in it: then it is a lower bound and not exact, and if
 * nothing at all is in it, there is no count. Others stay as they are. */
void counter_set_mark_incomplete(struct tare_count *c);

/* One target at a time: per-thread results of all_threads. */
size_t counter_set_targets(const struct counter_set *set);
pid_t counter_set_tid(const struct counter_set *set, size_t target);
int counter_set_read_target(struct counter_set *set, size_t target, struct tare_count *counts);

#endif
