/* Stops and limits of a run under the engine, seen from the launcher.
 *
 *	soft_stop_setup(shared, o);		// the rules, for the engine
 *	… a task asks (REQ_STOP, REQ_OVER) …
 *	soft_stop_serve(&s, slot);		// the tracer thread: on_stop, the answer
 *	soft_stop_results(&s, m);		// when the command has ended
 */
#ifndef LAUNCH_SOFT_STOP_H
#define LAUNCH_SOFT_STOP_H

#include "soft-results.h"

struct soft_stops {
	const struct tare_measure_options *o;
	struct soft_results *results;
	struct soft_stopped over;	/* where the run was ended, … */
	pid_t pid, tid;			/* … and by which task */
};

/* The events of the rules: 1 << enum soft_event. */
uint32_t soft_stop_setup(struct soft_shared *shared, const struct tare_measure_options *o);
/* Answers the request, which is REQ_STOP, REQ_OVER or REQ_HANDED. */
void soft_stop_serve(struct soft_stops *s, struct soft_slot *slot);
/* Fills m->stops and m->limited. 0 or TARE_E_NOMEM. */
int soft_stop_results(const struct soft_stops *s, struct tare_measurement *m);

/* Kills what is left of the run. */
void soft_stop_rest(struct soft_shared *shared);

#endif
