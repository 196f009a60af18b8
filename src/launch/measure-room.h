/* Between measure.c, which decides, and the three ways to run a measurement.
 *
 * measure.c has checked the options and made *m: counts[i] for every event of o->events, named,
 * with state TARE_COUNT_NOT_OPENED and value 0. Each way fills the rest of *m and returns 0, or a
 * negative enum tare_err with *why; arrays that it has put into *m are freed by the caller with
 * tare_measurement_free() in both cases. o->size is right and `why` is never NULL.
 */
#ifndef LAUNCH_MEASURE_ROOM_H
#define LAUNCH_MEASURE_ROOM_H

#include "child.h"

#include <tare/measure.h>

struct counter_set;

/* measure-hw.c: one run with kernel counters only, of a command or an attached process. */
int measure_hw(const struct tare_measure_options *o, struct tare_measurement *m,
	       struct tare_why *why);

/* measure-tasks.c: kernel counters for each task separately; follows the command with ptrace. */
int measure_tasks(const struct tare_measure_options *o, struct tare_measurement *m,
		  struct tare_why *why);

/* measure-stop.c: one run of a command with kernel counters, and with one rule of o->stops. */
int measure_stop(const struct tare_measure_options *o, struct tare_measurement *m,
		 struct tare_why *why);

/* measure-soft.c: one run under the software engine, with the kernel's own events beside it. */
int measure_soft(const struct tare_measure_options *o, struct tare_measurement *m,
		 struct tare_why *why);

/* Fills m->lacking and the codes of the counts that have no value. `set` is the set that counted,
 * or NULL where it is closed; its events are off. */
void measure_explain(const struct tare_measure_options *o, struct tare_measurement *m,
		     struct counter_set *set);

/* stop-rules.c: are the rules of o->stops possible? */
int stop_check_rules(const struct tare_measure_options *o, struct tare_why *why);

/* watch.c: timeout, stop and intervals while a command runs. One thread uses a watch. */
struct watch {
	const struct tare_measure_options *o;
	struct tare_measurement *m;
	uint64_t start_ns;
	uint64_t next_ns;	/* of the next interval; UINT64_MAX: none */
	uint64_t timeout_ns;	/* CLOCK_MONOTONIC; UINT64_MAX: none */
	uint64_t kill_ns;	/* when a command that got SIGTERM is killed */
	int wake[2];		/* descriptors to wait for, or -1: the first is o->control's */
	void (*before_kill)(void *arg);	/* or NULL */
	void *arg;
};
void watch_start(struct watch *w, const struct tare_measure_options *o,
		 struct tare_measurement *m, uint64_t start_ns);
/* When watch_check() must be called next (CLOCK_MONOTONIC). */
uint64_t watch_until(const struct watch *w);

enum watch_verdict { WATCH_ON, WATCH_INTERVAL, WATCH_CONTROL, WATCH_END };
/* What is due now: nothing, an interval, watch_control(), or the end (timed_out or stopped is set in
 * the measurement, and `victim`, unless 0, was sent SIGTERM, later SIGKILL). */
enum watch_verdict watch_check(struct watch *w, pid_t victim);
/* Calls o->control->on_ready; the measurement has the totals so far. */
void watch_control(struct watch *w);

#endif
