/* Measuring a whole command, as `tare stat` does.
 *
 *	struct tare_measure_opts o = { .argv = argv, .events = list };
 *	struct tare_measurement *m;
 *	if (tare_measure(&o, &m, &why) < 0) …
 *	for (size_t i = 0; i < m->n_counts; i++)
 *		printf("%s %" PRIu64 "\n", m->counts[i].event, m->counts[i].value);
 *	tare_measurement_free(m);
 *
 * One call is one run. The command's output and exit status are its own.
 */
#ifndef TARE_MEASURE_H
#define TARE_MEASURE_H

#include <tare/event.h>

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tare_backend { TARE_BACKEND_AUTO, TARE_BACKEND_HW, TARE_BACKEND_SOFT };

/* How a number came about; never shown as better than it is. */
enum tare_provenance {
	TARE_PROV_NONE,
	TARE_PROV_EXACT,	/* the software engine saw every instruction retire */
	TARE_PROV_CORRECTED,	/* hardware count, known overcount subtracted */
	TARE_PROV_RAW,		/* hardware (or kernel) count as it is */
	TARE_PROV_SCALED,	/* multiplexed: an estimate */
	TARE_PROV_SIMULATED,	/* a virtual PMU that was told to misbehave */
	TARE_PROV_INCOMPLETE,	/* would be exact, but parts of the run are not in it: the
				 * true count is at least this */
};
const char *tare_provenance_name(enum tare_provenance p);

enum tare_count_state {
	TARE_COUNT_OK,
	TARE_COUNT_NOT_OPENED,		/* could not be opened: see .code */
	TARE_COUNT_NOT_SCHEDULED,	/* opened, but never got a counter */
	TARE_COUNT_STOLEN,		/* lost its counter on the way */
};

struct tare_count {
	const char *event;		/* name as asked for */
	enum tare_count_state state;
	int code;			/* enum tare_err when state is not OK */
	uint64_t value;			/* final: scaled if it had to be, corrected if asked */
	uint64_t raw;			/* as the counter stood */
	enum tare_provenance provenance;
	bool perturbed;			/* a kernel-side number (time, faults, switches) of a
					 * run that tare itself slowed down or interrupted */
	bool lower_bound;		/* some tasks could not be counted, or not to their end
					 * (see tasks): the true count is at least this. Its
					 * provenance is never EXACT, its value never 0 */
	bool user_only;			/* user mode, though the event did not ask for that */
	uint64_t vdso;			/* the engine's: of value, in the kernel's functions for
					 * reading clocks, whose path depends on the time */
	uint64_t enabled_ns, running_ns;
	const char *unit;
};

struct tare_task {			/* a process or a thread of the command */
	pid_t pid, tid;
	char comm[16];
	char exe[256];
	bool is_thread;
	const char *not_counted;	/* NULL, or why this one was not counted */
	const char *cut_off;		/* NULL, or what ended it before it could report */
	struct tare_count *counts;	/* n_counts of the measurement */
};

struct tare_measurement {
	enum tare_backend backend;	/* the one used: HW or SOFT */
	const char *backend_reason;	/* why that one */
	int exit_status;		/* as a shell gives it: 128+N for signals */
	bool timed_out;			/* ended by timeout_s: the counts are of a part */
	bool stopped;			/* ended by *stop: the counts are of a part */
	bool aslr_off;			/* of the final image, checked, not assumed */
	const char *aslr_note;		/* NULL, or why it is not as asked */
	struct tare_why lacking;	/* code 0; or an event that was asked for and got no
					 * count (the first of them): never scheduled, or its
					 * counter was lost. Others may have theirs. */
	uint64_t wall_ns, user_ns, system_ns;
	size_t n_counts;
	struct tare_count *counts;	/* one per asked event, in order */
	size_t n_tasks;
	struct tare_task *tasks;	/* where asked for (or where some were not counted) */
	struct {			/* TARE_BACKEND_SOFT: what translating took, of all processes */
		uint64_t blocks, source_bytes, code_bytes, ns;
	} translated;
};

struct tare_measure_opts {
	char *const *argv;		/* NULL: attach until the target ends or *stop */
	pid_t pid, tid;			/* count this process or thread instead; argv, if
					 * any, then only says how long */
	const struct tare_events *events;
	const struct tare_cpu *cpu;	/* NULL: detect */
	enum tare_backend backend;
	bool aslr;			/* leave ASLR on */
	bool no_inherit;
	bool per_task;			/* fill tasks */
	bool refuse_uncounted;		/* error instead of "not counted" for what the engine cannot enter */
	bool pinned;			/* --exact: never multiplex */
	double timeout_s;		/* 0: none */
	unsigned interval_ms;		/* 0: none; else on_interval is called that often, with
					 * the totals so far */
	unsigned delay_ms;		/* 0: none; else the first call of on_interval comes then
					 * (once, where interval_ms is 0): to subtract what was
					 * counted until then */
	void (*on_interval)(const struct tare_measurement *so_far, void *arg);
	void *arg;
	volatile const int *stop;	/* when *stop != 0 (SIGINT): end early */
};

/* The backend tare_measure() would use for these events: TARE_BACKEND_HW or _SOFT,
 * or a negative error that names the event that cannot be counted. `reason`
 * (may be NULL) receives why, as a clause. Events are tried, not guessed. */
int tare_backend_for(const struct tare_events *events, enum tare_backend asked,
		     char *reason, size_t reason_size, struct tare_why *why);

/* Can these be on counters all at the same time, on this machine, now? 1 yes; 0 no, and
 * `why` tells what is lacking; or a negative error when one of them cannot be opened at
 * all. */
int tare_events_fit(const struct tare_events *events, struct tare_why *why);

/* Can the software engine count this event? It knows what retires in user mode
 * and nothing of time: no cycles, no misses. */
bool tare_engine_counts(const struct tare_event *event);

int tare_measure(const struct tare_measure_opts *o, struct tare_measurement **m,
		 struct tare_why *why);
void tare_measurement_free(struct tare_measurement *m);

#ifdef __cplusplus
}
#endif
#endif
