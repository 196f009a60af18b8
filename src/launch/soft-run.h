/* One run of a command under the software engine: what measure.c asks for.
 *
 * measure.c has checked the options and made *m: counts[i] for every event of
 * o->events, named, with state TARE_COUNT_NOT_OPENED and value 0. The run
 *
 *  1. makes the child (child.h can be used: stopped before exec, ASLR settled),
 *  2. calls hooks->before_exec with its pid, so that kernel counters (page faults,
 *     context switches, task-clock) are attached with enable_on_exec to the same
 *     child; a negative answer ends the child and is returned as it is,
 *  3. runs the command to its end (or until o->timeout_s, or *o->stop), calling
 *     hooks->on_interval every o->interval_ms with the totals so far filled in,
 *  4. calls hooks->before_reap when the command has ended and is a zombie,
 *  5. fills exit_status, timed_out, stopped, aslr_off and aslr_note (child_reap()
 *     does these), wall_ns, user_ns, system_ns, and counts[i] for every event for
 *     which tare_engine_counts() is true: value, raw, state OK, provenance EXACT. The
 *     others belong to measure.c.
 *  6. fills tasks where o->per_task, or where some task was not counted or was
 *     cut off; arrays are malloc'ed and freed by tare_measurement_free().
 *
 * Returns 0 or a negative enum tare_err with *why.
 */
#ifndef LAUNCH_SOFT_RUN_H
#define LAUNCH_SOFT_RUN_H

#include <tare/measure.h>

struct soft_shared;

struct soft_hooks {
	int (*before_exec)(pid_t child, void *arg, struct tare_why *why);
	void (*on_interval)(struct tare_measurement *so_far, void *arg);
	void (*before_reap)(pid_t child, void *arg);
	void *arg;
	/* the run's shared memory is there, nothing runs yet (may be NULL) */
	int (*setup)(int memfd, struct soft_shared *shared, void *arg, struct tare_why *why);
};

int soft_run(const struct tare_measure_opts *o, const struct soft_hooks *hooks,
	     struct tare_measurement *m, struct tare_why *why);

/* Can the engine run here at all? 0, or why not (not built in, ptrace refused). */
int soft_available(struct tare_why *why);
/* The same, and whether what it reads of the program it enters is there. */
int engine_available(struct tare_why *why);

#endif
