/* Analyses of profiles: summaries, call trees, the variation over runs, differences; the events
 * one by one with their names; exports to the file formats of other programs.
 *
 *	struct tare_summary *s;
 *	if (tare_summarize(p, &TARE_OPTIONS(summarize, .by = TARE_BY_KIND), &s, &why) < 0) …
 *	for (size_t i = 0; i < s->n_rows; i++)
 *		printf("%s %" PRId64 "\n", s->rows[i].name, s->rows[i].self);
 *	tare_summary_free(s);
 *
 * The functions return data and print nothing: tables, pictures and tare's own JSON are made by
 * the commands from these structs. Two formats that other programs define are written here,
 * trace events (chrome) and speedscope, through a function of the caller.
 *
 * These statements hold for every function below unless its comment says otherwise:
 *  - Result: 0, or a negative enum tare_err. `why` may be NULL. On an error *result is NULL.
 *  - Options (tare/growth.h): NULL means that every option has its default.
 *  - Threads: different threads may call any functions at the same time, also with the same
 *    profile. One result (summary, tree, aggregate, difference, stream) belongs to one thread
 *    at a time; several threads may read it.
 *  - Ownership: a result belongs to the caller, who frees it with the matching function (NULL
 *    is allowed). It refers to its profiles: these must stay open until the result is freed.
 *    Texts in a result live as long as the result.
 *  - Side effects: the count of a profile's warnings grows (tare_profile_warnings). An unnamed
 *    temporary file in $TMPDIR is used where a comment says so. Nothing else outside of the
 *    result changes; signals, locale, descriptors and the file of the profile are left alone.
 *
 * Every function walks its profiles in one pass (aggregate: one per thread where the runs have
 * different threads, or their threads run at very different times). Memory grows with
 * the number of distinct names and of threads and with the depth of the stacks, not with the
 * number of events, except for two small parts: an open profile has 4 bytes for each virtual
 * string id (rustc gives one to every invocation; 400 MB at most), and aggregate has 8 bytes
 * for each 256 events and at most 64 MiB a run for points that wait for another run. More than 4 Mi intervals inside each other (65,536 in a call tree) are
 * TARE_E_FORMAT. The file is mapped, and its pages are released during the walk. Results are
 * in a fixed order: equal input gives equal output.
 */
#ifndef TARE_ANALYSIS_H
#define TARE_ANALYSIS_H

#include <tare/growth.h>
#include <tare/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called from time to time, in the calling thread, with the number of records done and the
 * number of all records. `tell` may be NULL. */
struct tare_progress {
	void (*tell)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

/* ---- one profile, per name ---- */

enum tare_group_by { TARE_BY_LABEL, TARE_BY_KIND, TARE_BY_ARGS, TARE_BY_THREAD };

struct tare_summary_row {
	const char *name;	/* label; with TARE_BY_ARGS "label(arg, arg)" */
	int64_t self;		/* without the intervals inside; < 0 only where intervals overlap */
	/* With the intervals inside. A name inside itself counts at each level, as in measureme;
	 * with TARE_BY_KIND and TARE_BY_THREAD, where nearly all are, only once. */
	uint64_t time;
	uint64_t count;
	uint64_t misses, hits;	/* of rustc's queries */
	uint64_t blocked;
	int64_t load, hashing;
	uint64_t name_len;	/* bytes of `name` */
	uint64_t reserved[3];
};

struct tare_artifact {
	const char *name;
	uint64_t value;
	uint64_t reserved[2];
};

struct tare_summary {
	const struct tare_profile_info *info;	/* of the profile */
	struct tare_summary_row *rows;		/* by self, largest first; then by name */
	size_t n_rows;
	struct tare_artifact *artifacts;	/* by name */
	size_t n_artifacts;
	uint64_t total;		/* sum over the threads, each from its first start to its last end */
	size_t n_threads;
	uint64_t n_intervals, n_instants, n_integers;
	struct tare_summary_store *store;		/* private */
};

struct tare_summarize_options {
	size_t size;
	enum tare_group_by by;
	struct tare_progress progress;
};
#define TARE_SUMMARIZE_OPTIONS_INIT TARE_OPTIONS_INIT(summarize)

int tare_summarize(struct tare_profile *p, const struct tare_summarize_options *o,
		   struct tare_summary **s, struct tare_why *why);
void tare_summary_free(struct tare_summary *s);

/* ---- one profile, per stack ---- */

/* The call tree: every distinct stack with its own value and its value with the stacks inside
 * it. A tree too large for memory is in a temporary file. */
struct tare_stacks;

struct tare_stacks_options {
	size_t size;
	bool by_thread;			/* one root per thread; else the threads are merged */
	bool args;			/* arguments are part of the name */
	bool raw_names;			/* in paths, names keep their semicolons and line breaks;
					 * else these become colons and spaces */
	const char *root;		/* name of the root; NULL: the program's name */
	double least;			/* where there are very many stacks, those with less than this
					 * share of the total may be left out to save memory; those
					 * that stay are counted exactly. 0: all stay */
	uint32_t most;			/* stacks in memory at a time; 0: eight million, about
					 * 500 MB; with `least`: half a million */
	struct tare_progress progress;
	bool nest_empty;		/* of intervals at one value, in which the counter stood still,
					 * the later recorded is around the earlier, as in measureme;
					 * else none is around another */
};
#define TARE_STACKS_OPTIONS_INIT TARE_OPTIONS_INIT(stacks)

int tare_stacks_collect(struct tare_profile *p, const struct tare_stacks_options *o,
			struct tare_stacks **t, struct tare_why *why);
void tare_stacks_free(struct tare_stacks *t);

struct tare_stacks_info {
	const struct tare_profile_info *profile;
	uint64_t total;			/* of the root */
	uint64_t left_out;		/* .least: intervals whose stack was left out */
	uint64_t may_miss;		/* .least: no stack left out has more than this */
	bool in_memory;			/* false: the tree is in a temporary file */
};
/* Valid until tare_stacks_free(). */
const struct tare_stacks_info *tare_stacks_info(const struct tare_stacks *t);

struct tare_stack {
	const char *name;		/* of its innermost interval */
	size_t name_len;
	uint32_t depth;			/* 0: the root */
	uint64_t total;			/* with the stacks inside */
	int64_t self;			/* without */
	uint64_t count;
	const char *path;		/* TARE_STACKS_BY_PATH: "root;name;name"; else NULL */
	size_t path_len;
};

enum tare_stacks_order {
	TARE_STACKS_BY_TOTAL,	/* a stack, then those inside it; siblings by total, largest first */
	TARE_STACKS_BY_PATH,	/* by the bytes of the path */
};

struct tare_stacks_visit_options {
	size_t size;
	enum tare_stacks_order order;
	double least;		/* BY_TOTAL: leaves out stacks with a smaller total, and those inside */
	bool also_empty;	/* BY_PATH: stacks without a value of their own, too */
};
#define TARE_STACKS_VISIT_OPTIONS_INIT TARE_OPTIONS_INIT(stacks_visit)

/* Calls `each` for the stacks in order. The struct and `path` are valid during the call, `name`
 * until tare_stacks_free(). A negative result of `each` ends the visit and is returned. The tree does not change. A
 * temporary file is used where the tree is in one. */
int tare_stacks_visit(const struct tare_stacks *t, const struct tare_stacks_visit_options *o,
		      int (*each)(void *arg, const struct tare_stack *s), void *arg,
		      struct tare_why *why);

/* ---- the events of one profile, with their names ---- */

struct tare_stream;

struct tare_stream_event {
	uint64_t number;		/* in the file, from 0 */
	enum tare_profile_type type;
	uint32_t thread;
	uint64_t start;			/* instant: its value; integer: the integer */
	uint64_t end;			/* interval only; less than start where the counter ran back */
	const char *kind, *label;	/* without control characters except line breaks */
	size_t kind_len, label_len;
	/* Numbers of these texts, from 0 and without large gaps: equal texts have equal numbers, so
	 * that a program can keep what it finds out about a text. */
	uint32_t kind_number, label_number;
	const char *args;		/* n_args texts with TARE_STREAM_SEPARATOR between them */
	size_t args_len;
	unsigned n_args;
	uint64_t reserved[4];
};
#define TARE_STREAM_SEPARATOR '\x1e'

struct tare_stream_options {
	size_t size;
	bool one_thread;		/* only events of `thread` */
	uint32_t thread;
	uint64_t from, to;		/* only events that touch [from, to]; both 0: all */
	const char *kind, *label;	/* only events with this text in it; NULL: all */
	struct tare_progress progress;
};
#define TARE_STREAM_OPTIONS_INIT TARE_OPTIONS_INIT(stream)

/* The events in file order. The texts of `o` must stay until the stream is closed. */
int tare_stream_open(struct tare_profile *p, const struct tare_stream_options *o,
		     struct tare_stream **s, struct tare_why *why);
/* 1: *e is the next event, valid until the next call; 0: there is none; < 0: an error. */
int tare_stream_next(struct tare_stream *s, struct tare_stream_event *e, struct tare_why *why);
void tare_stream_close(struct tare_stream *s);

/* ---- N runs of one program, aligned point by point ----
 *
 * A sample interval lies between two counter reads that follow each other in a thread: the
 * start, end or instant of events. For each sample interval the smallest and the largest value
 * over the runs are kept; half of their difference is its variation. */
struct tare_extreme {
	uint64_t value;		/* of a variation: twice the half range, max - min */
	uint64_t count;		/* sample intervals with this value */
	uint32_t thread;	/* where it is, when count is 1 */
	uint64_t from, to;	/* points of the first run, see tare_aggregate_place() */
	uint64_t parent;
	size_t outlier;		/* of a variation: as in struct tare_macro_row */
	uint64_t reserved[2];
};

struct tare_extremes {
	struct tare_extreme *list;	/* ascending */
	size_t n;
};

struct tare_macro_row {
	const char *name;
	int64_t min, max;	/* of the self value over the runs */
	uint64_t min_count, max_count;
	size_t outlier;		/* number, from 1, of the run without which the range would be
				 * smallest; 0: no single run makes the range */
	uint64_t reserved[4];
};

/* The sample intervals that vary and lie directly inside events of one name. */
struct tare_name_variation {
	const char *name;	/* "" outside of all events */
	uint64_t n;
	uint64_t largest, sum;	/* of max - min */
	uint64_t reserved[2];
};

struct tare_difference {	/* an event that not all runs have in the same places */
	const char *name;
	uint64_t *counts;	/* per run: occurrences where the runs differ */
	uint64_t reserved[2];
};

#define TARE_AGGREGATE_BUCKETS 64

struct tare_aggregate {
	size_t n_runs;
	struct tare_profile **runs;	/* the caller's array */
	size_t n_threads;
	uint64_t n_events;		/* of all runs */
	uint64_t n_intervals;		/* compared */
	uint64_t n_skipped;		/* not compared: a run has events between the points */
	uint64_t n_regions;		/* places where the runs have different events */
	struct tare_extremes smallest, largest;			/* values */
	struct tare_extremes smallest_range, largest_range;	/* variations */
	/* [0]: no variation; [i]: max - min in (2^(i-2), 2^(i-1)] */
	uint64_t histogram[TARE_AGGREGATE_BUCKETS];
	struct tare_macro_row *macro;	/* sorted by options.sort */
	size_t n_macro;
	uint64_t total_min, total_max;
	size_t total_outlier;
	struct tare_name_variation *by_name;	/* by sum; with options.by_name */
	size_t n_by_name;
	struct tare_difference *differences;	/* by total count */
	size_t n_differences;
	uint64_t n_more_differences;	/* not in the list */
	struct tare_aggregate_store *store;	/* private */
};

enum tare_macro_sort { TARE_MACRO_SELF, TARE_MACRO_VARIATION, TARE_MACRO_PERCENT, TARE_MACRO_NAME };

struct tare_aggregate_options {
	size_t size;
	unsigned limit;			/* values of each list of extremes; 0: 10 */
	bool by_name;			/* also by name; a little slower */
	enum tare_macro_sort sort;
	bool identical;			/* refuse runs whose events differ, or that have more than one
					 * thread, with TARE_E_MISMATCH */
	bool any_counter;		/* accept runs of different counters */
	struct tare_progress progress;
	bool nest_empty;		/* as in struct tare_stacks_options */
};
#define TARE_AGGREGATE_OPTIONS_INIT TARE_OPTIONS_INIT(aggregate)

/* `runs` and the profiles in it must stay until the result is freed. */
int tare_aggregate(struct tare_profile **runs, size_t n, const struct tare_aggregate_options *o,
		   struct tare_aggregate **a, struct tare_why *why);
void tare_aggregate_free(struct tare_aggregate *a);

/* Where a sample interval lies. A text is "`label(arg, arg)`", after its kind and a space unless
 * the kind is Query or GenericActivity. */
enum tare_place_kind {
	TARE_PLACE_EVENT,	/* it is the whole event `from` */
	TARE_PLACE_BEFORE,	/* in the event `from`, before `to` */
	TARE_PLACE_AFTER,	/* in the event `to`, after `from` */
	TARE_PLACE_BETWEEN,	/* between `from` and `to`, in the event `inside` or in none */
};
struct tare_place {
	enum tare_place_kind kind;
	const char *from, *to;
	const char *inside;	/* NULL: in no event */
};
/* Describes an extreme whose count is 1. The caller frees *place with tare_place_free(). */
int tare_aggregate_place(const struct tare_aggregate *a, const struct tare_extreme *x,
			 struct tare_place **place, struct tare_why *why);
void tare_place_free(struct tare_place *place);

/* ---- the difference between two groups of runs (a group may be one run) ----
 *
 * Whether a difference is real is judged as by `tare compare`:
 *  - Exact and corrected values that are the same in all runs of a group, with two runs in one
 *    of the groups at least: every difference is real.
 *  - Otherwise the groups are compared with a rank test and a t test (tare-compare(1)). These
 *    need 4 and 5 runs at least to prove a difference. */
enum tare_diff_verdict {
	TARE_DIFF_SAME,		/* all values are equal */
	TARE_DIFF_WITHIN,	/* the runs' own variation explains the difference */
	TARE_DIFF_BEYOND,	/* it does not: a real difference */
	TARE_DIFF_TOO_FEW,	/* a difference that looks real, but there are too few runs */
	TARE_DIFF_ONE_EACH,	/* a difference, and one run on either side: nothing is known of
				 * the runs' own variation */
};

struct tare_diff_side {
	bool present;
	int64_t self_min, self_max, self_mean;
	uint64_t time_mean, count_mean, misses_mean, hits_mean;
	int64_t blocked_mean, load_mean, hashing_mean;
	uint64_t reserved[4];
};

struct tare_diff_row {
	const char *name;
	struct tare_diff_side base, change;
	int64_t self;		/* middle of change's range - middle of base's, towards 0 */
	int64_t gap;		/* between the ranges, with the sign of self; 0: they overlap */
	enum tare_diff_verdict verdict;
	uint64_t reserved[4];
};

struct tare_diff_artifact {
	const char *name;
	int64_t change;
	bool in_base, in_change;
	uint64_t base, now;
	uint64_t reserved[2];
};

struct tare_diff {
	const struct tare_profile_info *info;	/* of the first base run */
	size_t n_base, n_change;
	struct tare_diff_row *rows;		/* largest difference first */
	size_t n_rows;
	struct tare_diff_artifact *artifacts;	/* by change, largest first */
	size_t n_artifacts;
	struct tare_diff_row total;
	struct tare_diff_store *store;		/* private */
};

struct tare_diff_options {
	size_t size;
	bool any_counter;		/* accept runs of different counters */
};
#define TARE_DIFF_OPTIONS_INIT TARE_OPTIONS_INIT(diff)

/* Summaries of both groups, all by the same names; they must stay until the result is freed.
 * Runs of different counters are TARE_E_MISMATCH. `o` may be NULL. */
int tare_diff(const struct tare_summary *const *base, size_t n_base,
	      const struct tare_summary *const *change, size_t n_change,
	      const struct tare_diff_options *o, struct tare_diff **d, struct tare_why *why);
void tare_diff_free(struct tare_diff *d);

/* ---- exports ---- */

/* Takes the bytes of an export in order. `write` returns 0 or an errno value, which ends the
 * export with TARE_E_IO or TARE_E_NOSPC and is in why->sys_errno. */
struct tare_output {
	int (*write)(void *arg, const void *bytes, size_t n);
	void *arg;
};

enum tare_export_dialect {
	TARE_EXPORT_PLAIN,
	TARE_EXPORT_CROX,		/* chrome: byte for byte as measureme's crox */
};

struct tare_export_options {
	size_t size;
	uint64_t least;			/* leave out shorter intervals */
	bool instants;			/* chrome: instants too (there may be very many) */
	bool args;			/* speedscope: arguments are part of the frame's name */
	bool collapse_threads;		/* chrome: threads that do not overlap share a line */
	enum tare_export_dialect dialect;
	struct tare_progress progress;
};
#define TARE_EXPORT_OPTIONS_INIT TARE_OPTIONS_INIT(export)
/* Trace event JSON, for Perfetto and chrome://tracing; several profiles in one. */
int tare_export_chrome(struct tare_profile **p, size_t n, const struct tare_export_options *o,
		       const struct tare_output *out, struct tare_why *why);
/* https://www.speedscope.app file format: one evented profile per thread. Uses a temporary
 * file. */
int tare_export_speedscope(struct tare_profile *p, const struct tare_export_options *o,
			   const struct tare_output *out, struct tare_why *why);

#ifdef __cplusplus
}
#endif
#endif
