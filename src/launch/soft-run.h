/* One run of a command under the software engine, for measure-soft.c (with events) and run.c (with
 * a virtual PMU and no events: o->events NULL, m->n_counts 0).
 *
 * The options are checked, and *m is made: counts[i] for every event of o->events, named, with
 * state TARE_COUNT_NOT_OPENED and value 0. `why` is never NULL. The run
 *
 *  1. makes the shared memory, calls hooks->setup, and makes the child (child.h), which waits
 *     before its exec,
 *  2. calls hooks->before_exec with its pid, so that kernel counters (page faults, context
 *     switches, task-clock) are attached with enable_on_exec to the same child; a negative result
 *     ends the child and is returned as it is,
 *  3. runs the command to its end (or until o->timeout_s, or *o->stop), calling
 *     hooks->on_interval every o->interval_ms with the totals so far filled in,
 *  4. calls hooks->before_reap when the command has ended and is a zombie,
 *  5. fills exit_status, timed_out, stopped, aslr_off and aslr_note (child_reap()
 *     does these), wall_ns, user_ns, system_ns, and counts[i] for every event for
 *     which tare_engine_counts() is true: value, raw, state OK, provenance EXACT. The
 *     others belong to the caller.
 *  6. fills tasks where o->per_task, or where some task was not counted or was cut off; the
 *     caller frees them, also after an error.
 *
 * Returns 0 or a negative enum tare_err with *why, and leaves no child, thread, mapping or
 * descriptor behind. Several threads may each make a run at the same time.
 */
#ifndef LAUNCH_SOFT_RUN_H
#define LAUNCH_SOFT_RUN_H

#include <tare/measure.h>

struct soft_shared;
struct watch;

struct soft_hooks {
	int (*before_exec)(pid_t child, void *arg, struct tare_why *why);
	void (*on_interval)(struct tare_measurement *so_far, void *arg);
	void (*before_reap)(pid_t child, void *arg);
	void *arg;
	/* the run's shared memory is mapped, nothing runs yet (may be NULL) */
	int (*setup)(int memfd, struct soft_shared *shared, void *arg, struct tare_why *why);
	/* a process of the tree is about to run natively; `vslot` is its task of the virtual PMU.
	 * Called by the tracer thread (may be NULL). */
	void (*went_native)(uint32_t vslot, void *arg);
	/* o->control is ready; the totals so far are filled in (NULL: there is none) */
	void (*on_control)(struct watch *w, void *arg);
};

int soft_run(const struct tare_measure_options *o, const struct soft_hooks *hooks,
	     struct tare_measurement *m, struct tare_why *why);

/* Can the engine run here? 0, or why not (not built in, ptrace refused). */
int soft_available(struct tare_why *why);
/* The same, and whether /proc, which the launcher reads, is mounted. */
int engine_available(struct tare_why *why);

#endif
