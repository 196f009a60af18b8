/* Results of one run: from the records of the shared memory to counts and tasks.
 *
 *	struct soft_results r = { .shared = …, .child = pid };
 *	soft_results_look(&r);		// from time to time, while the command runs
 *	soft_results_totals(&r, o, m);	// so far
 *	… the command has ended, the tracer has stopped …
 *	soft_results_settle(&r, &tracer);
 *	soft_results_totals(&r, o, m);
 *	err = soft_results_tasks(&r, o, m, why);
 *	soft_results_free(&r);
 *
 * A process reports its counts when it ends or execs. Before that they are read from its memory
 * (live.h), so that a process that is killed, or outlives the command, has counts too. One thread
 * uses a struct soft_results, but for soft_results_look(), which the tracer thread may call, too.
 */
#ifndef LAUNCH_SOFT_RESULTS_H
#define LAUNCH_SOFT_RESULTS_H

#include "abi.h"
#include "soft-tracer.h"

#include <tare/measure.h>

#include <pthread.h>

struct soft_results {
	struct soft_shared *shared;
	pthread_mutex_t looking;	/* guards `live` while it is filled */
	pid_t child;
	uint64_t (*live)[SOFT_EVENTS + 1];	/* by record: the counts seen by the last look, and how
					 * often the task had started over (soft_record.zeroed) */
	struct live_code *live_code;	/* by record: with SOFT_FLAG_CODE_LOG, what it ran by then */
	uint32_t n_live_code;
	size_t live_code_bytes;		/* of all of them */
	struct soft_record *settled;	/* copy of the records as they were when the command had
					 * ended; processes that outlive it go on changing theirs */
	uint32_t n_settled;
};

/* 1 << enum soft_event for each event that the engine counts. */
uint32_t soft_event_mask(const struct tare_events *events);

/* Reads the counts of every process that runs. Counts of a later look are never lower. False: some
 * process was just adding its counts up; the next look will have them. */
bool soft_results_look(struct soft_results *r);
/* The same, and waits for processes that are just adding up their counts. */
void soft_results_look_well(struct soft_results *r);
/* Fixes the result: what processes that outlive the command do from here on is not in it. The
 * tracer has stopped. */
void soft_results_settle(struct soft_results *r, const struct soft_tracer *t);

/* Fills m->counts of the events that the engine counts. */
void soft_results_totals(const struct soft_results *r, const struct tare_measure_options *o,
			 struct tare_measurement *m);
/* Fills m->translated. */
void soft_results_translated(const struct soft_results *r, double ns_per_tick,
			     struct tare_measurement *m);
/* Fills m->tasks: with o->per_task all tasks, else those that were not counted to their end. */
/* Fills m->parts, if only parts of the run were counted. After the totals. */
int soft_results_parts(const struct soft_results *s, const struct tare_measure_options *o,
		       struct tare_measurement *m, struct tare_why *why);
int soft_results_tasks(const struct soft_results *r, const struct tare_measure_options *o,
		       struct tare_measurement *m, struct tare_why *why);
/* The error of the first process in which the engine failed; 0: none. */
int soft_results_failure(const struct soft_results *r, struct tare_why *why);

/* Writes what processes ran that could not tell, as far as it was seen, to the code log. After settling. */
void soft_results_log_code(const struct soft_results *r, int memfd);

void soft_results_free(struct soft_results *r);

/* Why a task ran natively (enum soft_reason) and what would let it be counted; static. */
const char *soft_reason_text(uint32_t reason);
const char *soft_reason_remedy(uint32_t reason);

#endif
