/* tare compare, inside: two results of tare stat, and whether the second is worse.
 *
 *	compare-load.c    a file (tare.stat/1) to series of values per event
 *	compare-judge.c   two series to a verdict
 *	compare-environment.c   what differs around the program
 *	compare-functions.c   which functions explain a change
 *	compare-show.c    text, Markdown, JSON
 */
#ifndef CMD_COMPARE_H
#define CMD_COMPARE_H

#include "buf.h"
#include "json.h"
#include "summary.h"
#include "threshold.h"

#include <tare/measure.h>

/* One event of a file, over its complete runs. */
struct compare_series {
	const char *event;		/* in the file's JSON tree */
	const char *unit;
	enum tare_provenance provenance; /* the worst */
	bool perturbed, user_only;
	bool incomplete;		/* lacks what tasks did that were not counted … */
	bool cut_off;			/* … in a part that differs from run to run */
	size_t n_missing;		/* runs without a value */
	uint64_t *values;
	struct summary sum;
};

struct compare_file {
	const char *path;
	struct json_node *root;
	struct buf command;
	size_t n_words;			/* of the command */
	const char *backend;
	const char *cpu;		/* its brand */
	const struct json_node *cpu_facts;	/* family, model and so on; NULL: unknown */
	const struct json_node *environment, *program;	/* NULL: the file does not say */
	bool aslr_off;
	uint64_t layouts;		/* of stat --layouts; 0: all runs had the same layout */
	size_t n_runs, n_complete;
	size_t n_parts;			/* complete runs of which only parts were counted */
	bool same_status;		/* of all complete runs */
	uint64_t status;
	size_t n_uncounted;		/* tasks that were not counted or were cut off */
	size_t n_cut_off;		/* the latter */
	struct compare_series *series;	/* the last one is "elapsed" */
	size_t n_series;
};

/* 0, or a negative error; `why` names the file. */
int compare_load(struct compare_file *f, const char *path, struct tare_why *why);
void compare_unload(struct compare_file *f);
const struct compare_series *compare_find(const struct compare_file *f, const char *event);

struct compare_rules {
	struct compare_threshold *thresholds;
	size_t n_thresholds;
	bool allow_scaled;
	bool any_change;		/* fewer is as bad as more */
	bool ignore_environment;	/* judge in spite of what differs around the program */
	const char *const *only;	/* event names, NULL at the end; NULL: all */
};

enum compare_verdict {
	COMPARE_SAME,
	COMPARE_IMPROVED,
	COMPARE_NOT_JUDGED,		/* shown, proves nothing, spoils nothing */
	COMPARE_CANNOT,
	COMPARE_REGRESSION,
};
const char *compare_verdict_name(enum compare_verdict v);

struct compare_line {
	const char *event;
	const struct compare_series *base, *new;	/* either may be NULL */
	double delta, percent;		/* of the midpoints */
	double allowed;			/* what a threshold lets pass; 0: none given */
	enum compare_verdict verdict;
	bool varies;			/* an exact count that is not the same in all runs */
	bool layouts;			/* the runs of one of the files had different layouts */
	char reason[192];		/* or "" */
};

/* A function that changed; one of the three that changed most for its event. Texts are in the files' trees. */
struct compare_function {
	const char *event, *function, *object;
	int64_t base, new;		/* of the last run of each file */
};

/* One NEW against the base. */
struct comparison {
	const struct compare_file *base, *new;
	struct compare_line *lines;
	size_t n_lines;
	struct compare_function *functions;	/* by event, the largest change first */
	size_t n_functions;
	struct buf notes;		/* one per line, each ends with \n */
	struct buf differences;		/* the same: what forbids to compare */
	enum compare_verdict verdict;
	char reason[256];		/* of COMPARE_CANNOT as a whole, or "" */
};
void compare_judge(struct comparison *c, const struct compare_file *base,
		   const struct compare_file *new, const struct compare_rules *rules);
void compare_free(struct comparison *c);

/* Fills c->functions, where both files have counts by function. */
void compare_functions(struct comparison *c);
/* Fills c->differences, and c->notes with what may matter or is not known. */
void compare_environment(struct comparison *c);
/* Adds a note about the usual causes of a count that varies by itself. */
void compare_note_causes(struct comparison *c);
/* A member of an object that is a text, or NULL. */
const char *json_text(const struct json_node *object, const char *key);

void compare_text(const struct comparison *c, size_t n, int fd, struct buf *out);
void compare_markdown(const struct comparison *c, size_t n, struct buf *out);
void compare_json(const struct comparison *c, size_t n, struct buf *out);
/* The worst of all. */
enum compare_verdict compare_overall(const struct comparison *c, size_t n);

#endif
