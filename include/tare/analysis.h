/* What profiles say: summaries, the variation over runs, differences, exports.
 *
 *	struct tare_summary *s;
 *	if (tare_summarize(p, &(struct tare_summarize_opts){ 0 }, &s, &why) < 0) …
 *	for (size_t i = 0; i < s->n_rows; i++)
 *		printf("%s %" PRId64 "\n", s->rows[i].name, s->rows[i].self);
 *	tare_summary_free(s);
 *
 * Every function walks its profiles in one pass (aggregate: one per thread). Memory
 * grows with the number of distinct names and of threads, and with the depth of the
 * stacks (more than 4 Mi intervals inside each other, of a tree more than 65,536, are
 * TARE_E_FORMAT), not with the
 * events themselves, but for two things that are small beside the file: an open profile
 * has 4 bytes for each virtual string id, of which rustc gives one to every invocation
 * (400 MB at most); aggregate has 8 bytes for each 256 events. The file itself is
 * mapped, and given back on the way. Results are in a fixed order: equal input, equal
 * output.
 */
#ifndef TARE_ANALYSIS_H
#define TARE_ANALYSIS_H

#include <tare/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called now and then with records done and records in all. */
struct tare_progress {
	void (*tell)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

enum tare_group_by { TARE_BY_LABEL, TARE_BY_KIND, TARE_BY_ARGS, TARE_BY_THREAD };

struct tare_summary_row {
	const char *name;	/* label; with TARE_BY_ARGS "label(arg, arg)" */
	int64_t self;		/* without what ran inside; < 0 only where intervals overlap */
	/* With it. A name inside itself counts at each level, as measureme has it; with
	 * TARE_BY_KIND and TARE_BY_THREAD, where that would be nearly all, once. */
	uint64_t time;
	uint64_t count;
	uint64_t misses, hits;	/* of rustc's queries */
	uint64_t blocked;
	int64_t load, hashing;
};

struct tare_artifact {
	const char *name;
	uint64_t value;
};

struct tare_summary {
	const struct tare_profile_info *info;	/* of the profile, which must stay open */
	struct tare_summary_row *rows;		/* by self, largest first; then by name */
	size_t n_rows;
	struct tare_artifact *artifacts;	/* by name */
	size_t n_artifacts;
	uint64_t total;		/* over threads, first start to last end */
	size_t n_threads;
	uint64_t n_intervals, n_instants, n_integers;
	struct summary_store *store;
};

struct tare_summarize_opts {
	enum tare_group_by by;
	struct tare_progress progress;
};

int tare_summarize(struct tare_profile *p, const struct tare_summarize_opts *o,
		   struct tare_summary **s, struct tare_why *why);
void tare_summary_free(struct tare_summary *s);

enum tare_sort {
	TARE_SORT_SELF, TARE_SORT_TIME, TARE_SORT_COUNT, TARE_SORT_NAME, TARE_SORT_HITS,
};

struct tare_summary_print {
	double percent_above;		/* only rows with at least that share; 0: all */
	enum tare_sort sort;
	size_t top;			/* only the first so many; 0: all */
	bool measureme;			/* byte for byte as measureme's `summarize` */
};

/* Table, or JSON (schema tare.summary/1; measureme's own with .measureme), to fd. */
int tare_summary_text(const struct tare_summary *s, const struct tare_summary_print *o, int fd,
		      struct tare_why *why);
int tare_summary_json(const struct tare_summary *const *s, size_t n,
		      const struct tare_summary_print *o, int fd, struct tare_why *why);

/* The call tree: every distinct stack with its own and its whole value. */
struct tare_stacks;
struct tare_stacks_opts {
	bool by_thread;			/* one root per thread; else threads are merged */
	bool args;			/* arguments are part of the name */
	bool measureme;			/* root "rustc" with the gaps as its own value */
	double least;			/* stacks with less than this share of the whole may be
					 * left out where there are very many, to save memory;
					 * those that stay are counted exactly. 0: all stay,
					 * in a temporary file where they are too many */
	uint32_t most;			/* stacks in memory at a time; 0: half a million */
	struct tare_progress progress;
};
/* The share of the narrowest frame that tare_stacks_flamegraph() draws. */
#define TARE_FLAMEGRAPH_LEAST (0.3 / 1180)
int tare_stacks_collect(struct tare_profile *p, const struct tare_stacks_opts *o,
			struct tare_stacks **t, struct tare_why *why);
void tare_stacks_free(struct tare_stacks *t);
/* Indented, children by value; cut below percent of the total. */
int tare_stacks_text(const struct tare_stacks *t, double percent_above, int fd,
		     struct tare_why *why);
/* "a;b;c value" lines, sorted. */
int tare_stacks_collapsed(const struct tare_stacks *t, int fd, struct tare_why *why);
/* Of stacks collected with .least = TARE_FLAMEGRAPH_LEAST; without, TARE_E_INVALID where
 * they are too many. */
int tare_stacks_flamegraph(const struct tare_stacks *t, const char *title, int fd,
			   struct tare_why *why);

/* N runs of one program, lined up point by point.
 *
 * A sample interval lies between two counter reads that follow each other in a
 * thread: the start, end or instant of events. For each, the smallest and the
 * largest value over the runs; half of their difference is its variation. */
struct tare_extreme {
	uint64_t value;		/* of a variation: twice the half range, max - min */
	uint64_t count;		/* sample intervals with this value */
	uint32_t thread;	/* where it is, when count is 1 */
	uint64_t from, to;	/* points of the first run, see tare_aggregate_describe */
	uint64_t parent;
	size_t outlier;		/* of a variation: as in struct tare_macro_row */
};

struct tare_extremes {
	struct tare_extreme *list;	/* ascending */
	size_t n;
};

struct tare_macro_row {
	const char *name;
	int64_t min, max;	/* of the self value over the runs */
	uint64_t min_count, max_count;
	size_t outlier;		/* number of the run, from 1, without which the range would be
				 * smallest; 0: no single run makes it */
};

/* The sample intervals that lie right inside events of one name and vary. */
struct tare_name_variation {
	const char *name;	/* "" outside of all events */
	uint64_t n;
	uint64_t largest, sum;	/* of max - min */
};

struct tare_difference {	/* an event that is not in all runs alike */
	const char *name;
	uint64_t *counts;	/* per run: occurrences where the runs differ */
};

#define TARE_AGGREGATE_BUCKETS 64

struct tare_aggregate {
	size_t n_runs;
	struct tare_profile **runs;	/* as given; must stay open */
	size_t n_threads;
	uint64_t n_events;		/* of all runs */
	uint64_t n_intervals;		/* compared */
	uint64_t n_skipped;		/* not: something was between the points in one run */
	uint64_t n_regions;		/* places where the runs went different ways */
	struct tare_extremes smallest, largest;			/* values */
	struct tare_extremes smallest_range, largest_range;	/* variations */
	/* [0]: no variation; [i]: max - min in (2^(i-2), 2^(i-1)] */
	uint64_t histogram[TARE_AGGREGATE_BUCKETS];
	struct tare_macro_row *macro;	/* by largest self value, or as asked */
	size_t n_macro;
	uint64_t total_min, total_max;
	size_t total_outlier;
	struct tare_name_variation *by_name;	/* by sum; with .by_name */
	size_t n_by_name;
	struct tare_difference *differences;	/* by total count */
	size_t n_differences;
	uint64_t n_more_differences;	/* not in the list */
	struct aggregate_store *store;
};

enum tare_macro_sort { TARE_MACRO_SELF, TARE_MACRO_VARIATION, TARE_MACRO_PERCENT, TARE_MACRO_NAME };

struct tare_aggregate_opts {
	unsigned limit;			/* values of each extreme; 0: 10 */
	bool by_name;			/* also by the name they lie in; some slower */
	enum tare_macro_sort sort;
	bool measureme;			/* refuse what measureme's `aggregate` refuses */
	struct tare_progress progress;
};

int tare_aggregate(struct tare_profile **runs, size_t n, const struct tare_aggregate_opts *o,
		   struct tare_aggregate **a, struct tare_why *why);
void tare_aggregate_free(struct tare_aggregate *a);

struct tare_aggregate_print {
	bool measureme;		/* byte for byte as measureme's `summarize aggregate` */
	bool no_macro, no_micro;
	bool by_name;		/* the table by name, too; of a result with .by_name */
	size_t top;		/* rows of the macro table; 0: 10 */
};
int tare_aggregate_text(const struct tare_aggregate *a, const struct tare_aggregate_print *o,
			int fd, struct tare_why *why);
int tare_aggregate_json(const struct tare_aggregate *a, int fd, struct tare_why *why);

/* What changed between two groups of runs (a group may be one run).
 *
 * Each name has the range of its self value in both groups. A difference counts as
 * real when the ranges do not overlap; with one run each nothing is known of the
 * runs' own variation, and every difference counts. */
struct tare_diff_side {
	bool present;
	int64_t self_min, self_max, self_mean;
	uint64_t time_mean, count_mean, misses_mean, hits_mean;
	int64_t blocked_mean, load_mean, hashing_mean;
};

struct tare_diff_row {
	const char *name;
	struct tare_diff_side base, change;
	int64_t self;		/* middle of change's range - middle of base's, towards 0 */
	int64_t gap;		/* between the ranges; 0: they overlap. Same sign as self */
	bool beyond;		/* exceeds the runs' own variation */
};

struct tare_diff_artifact {
	const char *name;
	int64_t change;
	bool in_base, in_change;
	uint64_t base, now;
};

struct tare_diff {
	const struct tare_profile_info *info;	/* of the first base run */
	size_t n_base, n_change;
	struct tare_diff_row *rows;		/* largest difference first */
	size_t n_rows;
	struct tare_diff_artifact *artifacts;	/* by change, largest first */
	size_t n_artifacts;
	struct tare_diff_row total;
	struct diff_store *store;
};

/* Summaries of both groups, all by the same names; they must outlive the result. */
int tare_diff(const struct tare_summary *const *base, size_t n_base,
	      const struct tare_summary *const *change, size_t n_change, struct tare_diff **d,
	      struct tare_why *why);
void tare_diff_free(struct tare_diff *d);

struct tare_diff_print {
	const char *const *exclude;	/* names with one of these in them are left out */
	size_t n_exclude;
	bool all;			/* also what did not change */
	size_t top;
	bool measureme;			/* byte for byte as measureme's `summarize diff` */
	bool markdown;			/* tables for a pull request */
};
int tare_diff_text(const struct tare_diff *d, const struct tare_diff_print *o, int fd,
		   struct tare_why *why);
int tare_diff_json(const struct tare_diff *d, const struct tare_diff_print *o, int fd,
		   struct tare_why *why);
/* The largest growth beyond variation, in percent of the base: of the total, and of
 * single names that are at least `share` percent of it. */
double tare_diff_growth(const struct tare_diff *d, double share, const char **name);

/* Exports: one record after the other, in file order. */
struct tare_export_opts {
	uint64_t least;			/* leave out shorter intervals */
	bool instants;			/* chrome: instants too (there may be very many) */
	bool args;			/* speedscope: arguments are part of the frame's name */
	bool collapse_threads;		/* threads that do not overlap share a line */
	bool measureme;			/* chrome: byte for byte as measureme's `crox` */
	struct tare_progress progress;
};
/* Trace event JSON, for Perfetto and chrome://tracing; several profiles in one. */
int tare_export_chrome(struct tare_profile **p, size_t n, const struct tare_export_opts *o,
		       int fd, struct tare_why *why);
/* https://www.speedscope.app file format: one evented profile per thread. */
int tare_export_speedscope(struct tare_profile *p, const struct tare_export_opts *o, int fd,
			   struct tare_why *why);
int tare_export_csv(struct tare_profile *p, const struct tare_export_opts *o, int fd,
		    struct tare_why *why);

struct tare_view_opts {
	bool one_thread;
	uint32_t thread;
	uint64_t from, to;		/* only events that touch [from, to]; both 0: all */
	const char *kind, *label;	/* only events with this in it; NULL: all */
	uint64_t skip, count;		/* of the matching ones; count 0: all */
	bool measureme;			/* byte for byte as measureme's `mmview` */
};
#define TARE_VIEW_EMPTY 1	/* .measureme: no event has a time, and nothing is written */
int tare_view(struct tare_profile *p, const struct tare_view_opts *o, int fd,
	      struct tare_why *why);

#ifdef __cplusplus
}
#endif
#endif
