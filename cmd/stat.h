/* tare stat, inside: what was asked, what was measured, and the ways to show it.
 *
 *	cmd-stat.c       options, and what is said at the end
 *	stat-defaults.c  the events without -e
 *	stat-runs.c      the runs
 *	stat-exact.c     --exact: batches that fit the counters, and their witness
 *	stat-blind.c     multiplexed counts that may be wrong
 *	stat-events.c    -d, -M, --all-user: what they make of the list of events
 *	stat-derived.c   GHz, insn per cycle, % of branches missed
 *	stat-metrics.c   the metrics of -M
 *	stat-in.c        --in: only while a function is on the stack
 *	stat-mix.c       --mix: how often each opcode ran
 *	stat-functions.c --functions: the counts of each function
 *	stat-stops.c     --stop-at, --limit
 *	stat-parts.c     what the program left out itself, and its dumps
 *	stat-text.c      for people
 *	stat-json.c      tare.stat/1, see docs/stat-json.md
 *	stat-csv.c       -x SEP
 */
#ifndef CMD_STAT_H
#define CMD_STAT_H

#include "buf.h"
#include "options.h"
#include "summary.h"

#include <tare/tare.h>

struct stat_opts {
	const char *events;
	unsigned repeat;		/* 0: until interrupted */
	unsigned layouts;		/* --layouts: run i has layout i + 1; 0: all have the kernel's */
	bool json;
	const char *separator;		/* -x; NULL: text */
	const char *output;
	bool table;
	unsigned interval_ms;
	unsigned pid, tid;		/* 0: none */
	bool per_thread, no_inherit, exact, aslr, refuse;
	int backend;			/* enum tare_backend */
	bool clean_env;
	const char *machine, *hermetic, *schedule;
	struct opt_list keep;		/* variables that --clean-env leaves in */
	const char *keep_code;		/* NULL: not given; "": without a folder */
	unsigned timeout_ms;
	int delay_ms;			/* -1: counting starts off */
	const char *control;		/* NULL: none */
	unsigned interval_count;
	unsigned detailed;		/* how often -d was given */
	bool null, all_user, all_kernel, append, verbose, sync, big_num;
	const char *pre, *post;		/* shell commands, or NULL */
	const char *metrics;
	bool mix, functions;
	const char *mix_from;
	struct opt_list in;		/* --in: functions */
	struct opt_list stop_at, limit;	/* EVENT=N */
	const char *then;
	bool every;
};

/* --stop-at and --limit. */
struct stat_stops {
	size_t n;
	struct tare_stop_rule rules[TARE_STOP_MAX_RULES];
	struct tare_events *events[TARE_STOP_MAX_RULES];	/* that of each rule */
	const char *texts[TARE_STOP_MAX_RULES];			/* as given */
	bool gdb;
	struct tare_stop_names *names;	/* NULL: nothing is dumped */
};

/* One interval of -I: what was counted since the one before. */
struct stat_interval {
	uint64_t at_ns;			/* since the start */
	struct tare_count *counts;
};

/* What the readings during a run show of an event that takes turns: see stat-blind.c. */
struct stat_turns {
	uint64_t raw, running_ns;	/* at the last reading */
	double rate;			/* until then, since the one before */
	double squares;			/* of the differences of neighbouring rates, summed */
	size_t n;			/* readings */
};

/* A scaled count, judged. */
struct stat_blind {
	bool warned;			/* one of the next three */
	bool few_turns, small_share, uneven;
	uint64_t turns;			/* on a counter */
	unsigned turn_ms;
	double share;			/* of the time */
	double error;			/* likely, two standard errors, relative; 0: not seen */
};

/* One run: a single execution, or with --exact one per batch. */
struct stat_run {
	struct tare_measurement **parts;
	size_t n_parts;
	struct tare_count *counts;	/* one per event, gathered from the parts */
	struct stat_interval *intervals;
	size_t n_intervals;
	struct stat_turns *turns;	/* one per event; NULL: no event takes turns */
	bool complete;			/* neither interrupted nor timed out */
	uint64_t control_on, control_off; /* how often --delay and --control switched counting */
};

/* A batch of --exact: events that fit the counters together with the witness. */
struct stat_batch {
	struct tare_events *events;	/* the witness is the last one */
	size_t *index;			/* of each event but the witness, among those asked for */
	size_t n;
};

/* A metric: factor * top / bottom. */
struct stat_metric {
	const char *name, *top, *bottom;
	double factor;
	const char *unit;		/* "%" or "" */
	const char *help;
};

struct stat_asked_metric {
	const struct stat_metric *metric;
	size_t top, bottom;		/* places among the events */
};

struct stat_session {
	const struct stat_opts *o;
	struct keep_code *keep_code;
	const struct stat_stops *stops;
	char *const *argv;		/* the command; may be empty when attached */
	char **envp;			/* its environment */
	struct tare_cpu cpu;
	struct tare_events *events;
	size_t n_events;
	struct stat_batch *batches;	/* --exact on hardware; else none */
	size_t n_batches;
	struct stat_run *runs;
	size_t n_runs;
	struct stat_asked_metric *metrics;
	size_t n_metrics;
	bool takes_turns;		/* more events than counters, and no --exact */
	unsigned turn_ms;		/* the kernel's period of multiplexing */
	char skipped[512];		/* default events this machine lacks, or "" */
};

/* The event text of the witness of --exact. */
#define STAT_WITNESS "instructions:u"

const struct tare_event *stat_event(const struct stat_session *s, size_t i);
const struct tare_measurement *stat_part(const struct stat_run *r);	/* the first */

/* Values of one event over the runs that count (complete ones; where there is
 * none, what there is), their summary and the worst provenance among them. */
struct stat_series {
	struct summary sum;
	uint64_t *values;		/* sum.n of them */
	enum tare_provenance provenance;
	bool perturbed, user_only, lower_bound;
	uint64_t enabled_ns, running_ns; /* summed */
	bool clocks_only;		/* the values differ, but not outside the vDSO */
	const struct tare_count *missing; /* a run that has no value, or NULL */
};
void stat_series(const struct stat_session *s, size_t event, struct stat_series *out);
void stat_series_free(struct stat_series *series);
/* The same of the wall time. */
void stat_wall_series(const struct stat_session *s, struct summary *out);
/* Twice the midpoint of every event, as counts (free() them), and of the wall time:
 * whole numbers, of which derived figures, being ratios, are made. */
struct tare_count *stat_middle(const struct stat_session *s, uint64_t *wall_ns);
/* Runs that count, for headings. */
size_t stat_counted_runs(const struct stat_session *s);

/* A derived figure beside an event: "1.23" "insn per cycle". */
struct stat_derived {
	double value;
	const char *unit;
};
/* `counts` has one entry per event that was asked for. False: none. */
bool stat_derive(const struct stat_session *s, const struct tare_count *counts,
		 size_t event, uint64_t wall_ns, struct stat_derived *out);

/* The metrics there are; NULL behind the last. */
const struct stat_metric *stat_metric_at(size_t i);
const char *stat_metric_word(size_t i, const char **about);	/* its name, for completion */
const struct stat_metric *stat_metric_find(const char *name);	/* or NULL */
/* Metric i of -M from these counts. False: one of them was not counted, or is 0. */
bool stat_metric_of(const struct stat_session *s, size_t i, const struct tare_count *counts,
		    double *out);
struct stat_ratio {
	size_t n;			/* runs that have a value */
	double min, max;
	enum tare_provenance provenance; /* the worse of the two events' */
	bool perturbed, user_only, lower_bound;
};
void stat_metric_series(const struct stat_session *s, size_t i, struct stat_ratio *out);
/* Whether the run is one of those that count. */
bool stat_run_counts(const struct stat_session *s, const struct stat_run *r);

/* What options make of the list of events, as text. False: complained already. */
char stat_mode(const struct stat_opts *o);		/* 'u', 'k' or 0 */
bool stat_set_mode(struct stat_session *s, struct buf *text);
void stat_add_details(struct stat_session *s, struct buf *text);
bool stat_add_metrics(struct stat_session *s, struct buf *text);
void stat_place_metrics(struct stat_session *s);	/* once the list is parsed */
void stat_skip_event(struct stat_session *s, const char *name);
void stat_explain(const struct stat_session *s);	/* -v, on stderr */

/* Without -e. */
void stat_default_events(struct stat_session *s, struct buf *text);

/* All runs; intervals are written to `out` as they end. 0, or the exit status: the error is out. */
struct output;
int stat_all_runs(struct stat_session *s, struct output *out);

/* --exact. 0 or a negative error. */
int stat_plan_batches(struct stat_session *s, struct tare_why *why);
/* Fills *agree; the witness of part p of a run is the last count of its part. */
bool stat_witnesses_agree(const struct stat_run *r, uint64_t *least, uint64_t *most);

/* Blind spots of multiplexing. */
unsigned stat_turn_ms(void);
void stat_blind_sample(struct stat_turns *t, const struct tare_count *c, unsigned turn_ms);
/* `t` may be NULL: no readings. */
void stat_blind_judge(const struct stat_turns *t, const struct tare_count *c, unsigned turn_ms,
		      struct stat_blind *out);
void stat_blind_of(const struct stat_session *s, const struct stat_run *r, size_t event,
		   struct stat_blind *out);
/* Adds "EVENT: why its count may be wrong", of the worst run; false: nothing to add. */
bool stat_blind_line(const struct stat_session *s, size_t event, struct buf *out);
#define STAT_BLIND_REMEDY "--exact counts without multiplexing, in several runs"

/* Was only a part of the run counted? */
bool stat_is_part(const struct stat_session *s, const struct stat_run *r);
void stat_parts_text(const struct stat_session *s, struct buf *out);

struct json;
/* False: complained. */
bool stat_stops_load(struct stat_stops *s, const struct stat_opts *o, const struct tare_cpu *cpu);
void stat_stops_free(struct stat_stops *s);
int stat_at_stop(const struct stat_stops *s, const struct tare_stop *stop);	/* enum tare_stop_go */
void stat_stops_text(const struct stat_session *s, struct buf *out);
void stat_stops_json(struct json *j, const struct stat_session *s, const struct tare_measurement *m);
void stat_stops_warn(const struct stat_session *s);	/* where these two are not shown */
void stat_parts_json(struct json *j, const struct stat_session *s, const struct stat_run *r);
/* Every count, as the array "counts". */
void stat_counts_json(struct json *j, const struct stat_session *s, const struct tare_count *counts);
/* --mix-from: reads the file. False: complained. */
bool stat_mix_load(const struct stat_opts *o);
void stat_mix_from_text(const struct stat_session *s, struct buf *out);
void stat_mix_from_json(struct json *j, const struct stat_session *s);
/* --functions. False: complained. */
bool stat_functions_check(const struct stat_session *s);
void stat_functions_text(const struct stat_session *s, struct buf *out);
void stat_functions_json(struct json *j, const struct stat_session *s);
/* --in. False: complained. */
bool stat_in_check(const struct stat_session *s);
/* Leaves in the counts what ran in the functions. 0 or a negative error. */
enum { STAT_COMPLAINED = 1 };	/* where errors of the library are negative: the message is out already */
int stat_in_apply(const struct stat_session *s, const struct tare_events *events, struct tare_measurement *m,
		  struct tare_why *why);
void stat_in_text(const struct stat_opts *o, struct buf *out);
void stat_in_json(const struct stat_opts *o, struct json *j);
void stat_mix_text(const struct stat_session *s, struct buf *out);
void stat_mix_json(struct json *j, const struct stat_session *s);
void stat_text(const struct stat_session *s, int fd, struct buf *out);
void stat_json(const struct stat_session *s, struct buf *out);
void stat_csv(const struct stat_session *s, struct buf *out);
/* One interval, as lines. */
void stat_text_interval(const struct stat_session *s, const struct stat_interval *i,
			struct buf *out);
void stat_csv_interval(const struct stat_session *s, const struct stat_interval *i,
		       struct buf *out);
/* Delta of two totals, scaled over its own times. */
struct tare_count stat_delta(const struct tare_count *now, const struct tare_count *before);

#endif
