/* Between measure.c, which decides, and the two ways to run: measure-hw.c (the
 * kernel's counters) and soft-run.c (the software engine). */
#ifndef LAUNCH_MEASURE_ROOM_H
#define LAUNCH_MEASURE_ROOM_H

#include "child.h"

#include <tare/measure.h>

struct counter_set;

/* Where an event can be counted. */
enum event_place {
	PLACE_KERNEL,		/* software events, tracepoints, clocks: on any backend */
	PLACE_CORE,		/* the core PMU; the engine where it knows the event */
	PLACE_ENGINE_ONLY,	/* this CPU has no such event */
};
enum event_place event_place(const struct tare_event *e);

/* One run with kernel counters only: a command, or an attached process. */
int hw_run(const struct tare_measure_opts *o, struct tare_measurement *m,
	   struct tare_why *why);

/* Every task by itself: follows the command with ptrace. */
int task_run(const struct tare_measure_opts *o, struct tare_measurement *m,
	     struct tare_why *why);

/* Fills m->lacking and the codes of the counts that lack a value. `set` is what counted, or
 * NULL where it is gone; its events are off. */
void measure_explain(const struct tare_measure_opts *o, struct tare_measurement *m,
		     struct counter_set *set);

/* The events as an array of pointers (free() it); NULL when out of memory. */
const struct tare_event **event_array(const struct tare_events *list);

/* Watching a command until it ends: timeout, stop and intervals in one place. */
struct watch {
	const struct tare_measure_opts *o;
	struct tare_measurement *m;
	uint64_t start_ns;
	uint64_t next_ns;	/* of the next interval; UINT64_MAX: none */
	uint64_t timeout_ns;	/* CLOCK_MONOTONIC; UINT64_MAX: none */
	uint64_t kill_ns;	/* when a command that was told to end is killed */
	void (*before_kill)(void *arg);	/* or NULL */
	void *arg;
};
void watch_start(struct watch *w, const struct tare_measure_opts *o,
		 struct tare_measurement *m, uint64_t start_ns);
/* How long one may sleep before the next call of watch_check(). */
uint64_t watch_until(const struct watch *w);

enum watch_verdict { WATCH_ON, WATCH_INTERVAL, WATCH_END };
/* What is due now: nothing, an interval, or the end (timed_out or stopped is set in
 * the measurement, and `victim`, unless 0, was sent SIGTERM, later SIGKILL). */
enum watch_verdict watch_check(struct watch *w, pid_t victim);

#endif
