/* tare annotate --diff, inside: two profiles, and which parts of them belong together.
 *
 *	annotate-match.c       pairs objects, functions and lines of two profiles
 *	annotate-diff.c        the differences as a table, as JSON
 *	annotate-diff-tree.c   collapsed stacks with two counts, differential flame graph
 *
 * Every function of both profiles is in exactly one pair, and every line of a function in exactly one
 * pair of lines; a part without a partner is a pair with one side. So the differences of all pairs add up
 * to the difference of the totals.
 *
 *	struct profile_diff d;
 *	if (profile_diff(&d, base, new, &opts, why) == 0)
 *		for (size_t i = 0; i < d.n_functions; i++) …
 *	profile_diff_free(&d);
 */
#ifndef CMD_ANNOTATE_DIFF_H
#define CMD_ANNOTATE_DIFF_H

#include "annotate.h"

/* Lines of one function: places in .lines of the profiles, ANNOTATE_NONE on the side that lacks it. */
struct line_pair {
	uint32_t base, new;
	const int64_t *change;		/* new - base, for each common event */
};

struct function_pair {
	uint32_t base, new;		/* places in .functions; ANNOTATE_NONE: only in the other */
	const int64_t *change;
	size_t lines, n_lines;		/* its part of profile_diff.lines; the order of the source */
	bool differs;			/* in an event, or in a line */
};

struct profile_diff {
	const struct tare_codeprofile *base, *new;
	size_t n_events;		/* that both profiles have */
	uint32_t *base_event, *new_event;	/* their places in the profiles */
	struct function_pair *functions;	/* the largest change first */
	size_t n_functions, n_differ;	/* those that differ come first */
	struct line_pair *lines;
	size_t n_lines;
	uint32_t *partner_of_base;	/* function of base -> function of new, or ANNOTATE_NONE */
	int64_t *changes;		/* private */
};

/* TARE_E_MISMATCH: the profiles have no event in common. */
int profile_diff(struct profile_diff *d, const struct tare_codeprofile *base, const struct tare_codeprofile *new,
		 const struct annotate_opts *o, struct tare_why *why);
void profile_diff_free(struct profile_diff *d);

/* Counts of a pair on one side: 0 where the side lacks it. */
int64_t pair_base(const struct profile_diff *d, const struct function_pair *f, size_t event);
int64_t pair_new(const struct profile_diff *d, const struct function_pair *f, size_t event);
int64_t line_base(const struct profile_diff *d, const struct line_pair *l, size_t event);
int64_t line_new(const struct profile_diff *d, const struct line_pair *l, size_t event);

/* `a` has the options and the place of output; its profile is not used. */
void annotate_diff_text(const struct annotate *a, const struct profile_diff *d, struct buf *out);
void annotate_diff_json(const struct profile_diff *d, const struct annotate_opts *o, struct buf *out);

/* "stack base new" lines, as difffolded.pl writes them; SVG. Of the first common event. */
int annotate_diff_collapsed(const struct profile_diff *d, const struct tare_output *out, struct tare_why *why);
int annotate_diff_flamegraph(const struct profile_diff *d, const struct tare_output *out, struct tare_why *why);

/* Whether --diff can write this --format. */
bool annotate_diff_writes(int format);
/* tare annotate --diff: reads two files, writes what the options ask for. Returns the exit status. */
int annotate_diff(const struct annotate_opts *o, const char *base, const char *new);

#endif
