/* Which backend counts a list of events: the kernel's counters or the software engine.
 *
 * Both are tried, not guessed: every event is opened once on the calling thread. Hardware is
 * chosen where all events open and get counters, else the engine where it knows them all, else
 * the error names the event that neither can count. tare_backend_for() and tare_events_fit() of
 * tare/measure.h are here too. No function here keeps state.
 */
#ifndef LAUNCH_MEASURE_BACKEND_H
#define LAUNCH_MEASURE_BACKEND_H

#include <tare/measure.h>

/* Where an event can be counted. */
enum event_place {
	PLACE_KERNEL,		/* software events, tracepoints, clocks: with any backend */
	PLACE_CORE,		/* the core PMU; the engine where it knows the event */
	PLACE_ENGINE_ONLY,	/* this CPU has no such event */
};
enum event_place event_place(const struct tare_event *e);

/* The events as an array of pointers (free() it); NULL when out of memory. */
const struct tare_event **event_array(const struct tare_events *list);

/* TARE_E_INVALID if an event has the modifier p: precision is a property of samples. */
int backend_refuse_precise(const struct tare_events *list, struct tare_why *why);

/* The first event that neither the engine nor the kernel beside it can count; or NULL. */
const struct tare_event *backend_engine_lacks(const struct tare_events *list);

/* Can the engine run here and count them all? 0, or why not. */
int backend_try_engine(const struct tare_events *list, struct tare_why *why);

/* Does the error mean that too few hardware counters are free? */
bool backend_lacks_counters(int code);

#endif
