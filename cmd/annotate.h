/* tare annotate, inside: what was asked, the rows of a table, and the ways to show them.
 *
 *	cmd-annotate.c       options; the run, or the files that are read
 *	annotate-rows.c      rows by function, line, instruction, object, file
 *	annotate-text.c      tables for people
 *	annotate-source.c    --function: source and disassembly beside counts
 *	annotate-tree.c      the call tree: lines, flame graph
 *	annotate-calls.c     --calls --function: callers and callees
 *	annotate-others.c    --syscalls, --allocations
 *	annotate-json.c      -j: tare.annotate/1
 *	annotate-html.c      --html
 *	annotate-formats.c   --format: what -o writes
 *	annotate-pprof.c     --format pprof
 *	annotate-bbv.c       --format bbv: basic-block vectors
 *	annotate-diff.h      --diff: two profiles
 */
#ifndef CMD_ANNOTATE_H
#define CMD_ANNOTATE_H

#include "buf.h"
#include "options.h"

#include <tare/codeprofile.h>

#define ANNOTATE_NONE TARE_CODEPROFILE_NONE

enum annotate_by { BY_FUNCTION, BY_LINE, BY_INSN, BY_OBJECT, BY_FILE };
extern const char *const annotate_by_words[];	/* for OPT_CHOICE */

struct annotate_opts {
	const char *events;
	int by;				/* enum annotate_by */
	unsigned top;			/* 0: not given */
	struct opt_list functions;	/* names and wildcards */
	struct opt_list in;		/* --in: functions that must be on the stack */
	bool calls, tree, syscalls, allocations, per_process, per_thread, no_names;
	bool json, diff;
	const char *output, *report, *html, *source;
	int format;
	bool aslr, clean_env, refuse, no_inherit;
	const char *machine, *hermetic, *schedule;
	struct opt_list keep;
	unsigned timeout_ms;
	int delay_ms;			/* -1: counting starts off */
	const char *control;		/* NULL: none */
};

/* A profile and where it is shown. */
struct annotate {
	const struct annotate_opts *o;
	const struct tare_codeprofile *p;
	int fd;
	bool is_terminal;
	size_t width;			/* of the terminal; SIZE_MAX: names are not cut */
	const struct annotate_part *part;	/* NULL: of the whole run, or of a file */
};

/* With --delay and --control. */
struct annotate_part {
	bool any;			/* counting was on at some time */
	uint64_t on, off;		/* how often it was switched */
};

/* One row of a table. Places are of the profile, ANNOTATE_NONE where the row is not of one. */
struct annotate_row {
	uint32_t function, object, file, line, insn;
	const int64_t *counts;		/* n_events */
	const int64_t *inclusive;	/* or NULL */
	uint64_t calls;			/* of functions, with inclusive */
};

struct annotate_rows {
	struct annotate_row *rows;	/* the largest first */
	size_t n;
	int64_t *sums;			/* counts that the profile does not have by itself */
};

#define ALL_TASKS TARE_CODEPROFILE_NONE
/* All rows of a table; of one task with `task` (by function and by object only). */
void annotate_rows(const struct tare_codeprofile *p, enum annotate_by by, uint32_t task,
		   struct annotate_rows *out);
void annotate_rows_free(struct annotate_rows *r);
/* How a row is called, and what stands beside its name ("" or the object, the function). */
void annotate_row_name(const struct tare_codeprofile *p, enum annotate_by by, const struct annotate_row *row,
		       struct buf *name, struct buf *beside);
/* The last part of a path. */
const char *annotate_base(const char *path);
/* Whether the function is one of --function: its name, its name without arguments or template, or its
 * linkage name matches one of the patterns. */
bool annotate_wants(const struct annotate_opts *o, const struct tare_codeprofile_function *f);
bool annotate_matches(const struct opt_list *patterns, const struct tare_codeprofile_function *f);
/* The same for one pattern and a name. */
bool annotate_name_matches(const char *pattern, const char *name);
/* --in: complains of each pattern that matches no function that ran; true: each matches one. */
bool annotate_in_found(const struct opt_list *in, const struct tare_codeprofile *p);
/* The functions of --function, the largest first; *n of them. free() the list. */
uint32_t *annotate_wanted(const struct annotate *a, size_t *n);

double annotate_share(int64_t part, int64_t whole);	/* in percent */

/* The lines of a source file, read when it is shown. */
struct source_text {
	char *text;
	char **lines;			/* lines[0] is line 1 */
	size_t n;
	bool newer;			/* than it was when the profile was made */
	char path[4096];		/* where it was found */
};
/* False: it cannot be read. */
bool source_text_read(struct source_text *t, const struct annotate_opts *o,
		      const struct tare_codeprofile_file *f);
void source_text_free(struct source_text *t);

void annotate_text(const struct annotate *a, struct buf *out);
void annotate_syscalls(const struct annotate *a, struct buf *out);
void annotate_allocations(const struct annotate *a, struct buf *out);
/* With -j: the members syscalls and allocations, where they are asked for. */
struct json;
void annotate_others_json(const struct annotate *a, struct json *j);
void annotate_source(const struct annotate *a, uint32_t function, struct buf *out);
void annotate_json(const struct annotate *a, struct buf *out);
void annotate_html(const struct annotate *a, struct buf *out);

/* Callers and callees of a function, where calls were followed. */
void annotate_calls(const struct annotate *a, uint32_t function, struct buf *out);

/* The call tree. Node 0 is the root; parents have smaller places. */
struct annotate_node {
	uint32_t parent, child, next;	/* child and next: 0 for none; the largest child first */
	uint32_t function;		/* ANNOTATE_NONE: none */
	const char *name;
	int64_t total, self;
	uint64_t calls;
};
struct annotate_tree {
	struct annotate_node *nodes;
	uint32_t n;
	size_t event;
};
void annotate_tree(const struct tare_codeprofile *p, size_t event, struct annotate_tree *t);
void annotate_tree_free(struct annotate_tree *t);
/* For nodes made elsewhere, with parent, name and self: sums up totals and links children. */
void annotate_tree_finish(struct annotate_tree *t);
/* Calls `each` for the nodes with at least `least`, each before those inside it. */
int annotate_tree_walk(const struct annotate_tree *t, int64_t least,
		       int (*each)(void *arg, const struct annotate_node *n, uint32_t depth), void *arg);
void annotate_tree_text(const struct annotate *a, struct buf *out);
int annotate_flamegraph(const struct tare_codeprofile *p, bool in_page, const struct tare_output *out,
			struct tare_why *why);

/* Adds as much of a text as fits into so many columns, and a mark where it was cut. SIZE_MAX: all. */
void annotate_cut(struct buf *out, const char *text, size_t columns);
/* On a terminal: cuts the lines from `start` on at its edge, */
void annotate_cut_lines(const struct annotate *a, struct buf *out, size_t start);
/* and breaks the line from `start` on, whose further parts begin with `indent` spaces. */
void annotate_break_line(const struct annotate *a, struct buf *out, size_t start, size_t indent);

/* --format: the function that writes the format, or NULL: not known. */
typedef int annotate_writer(const struct tare_codeprofile *p, const struct tare_output *out,
			    struct tare_why *why);
extern const char *const annotate_format_words[];	/* for OPT_CHOICE */
annotate_writer *annotate_format(int format);
bool annotate_format_has_lines(int format);	/* does it write source lines? */
annotate_writer annotate_pprof, annotate_bbv;

#endif
