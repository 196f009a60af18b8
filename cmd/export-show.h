/* The formats of `tare export` and `summarize --tree` that are made here, from the data
 * of the library. Each is one file. They may be long, so they are written to `fd` piece by
 * piece. All return 0 or a negative error.
 *
 *	stacks-text.c   a call tree as indented lines; one line per stack ("collapsed")
 *	flamegraph.c    a call tree as SVG
 *	export-csv.c    one line per event
 *
 * The formats chrome and speedscope are functions of the library (tare/analysis.h). */
#ifndef CMD_EXPORT_SHOW_H
#define CMD_EXPORT_SHOW_H

#include <tare/analysis.h>

/* Indented, siblings by total; without what has less than `percent_above` of the total. */
int stacks_text(const struct tare_stacks *t, double percent_above, int fd, struct tare_why *why);
/* "a;b;c value" lines, sorted. `also_empty`: also stacks without a value of their own. */
int stacks_collapsed(const struct tare_stacks *t, bool also_empty, int fd, struct tare_why *why);

/* The share of the narrowest frame that is drawn: .least of struct tare_stacks_options. */
#define FLAMEGRAPH_LEAST (0.3 / 1180)
/* A frame of two trees: its counts in both, with what is inside it and without. */
struct flame_change {
	int64_t base, new, base_self, new_self;
};
/* A tree of stacks from anywhere: a stack comes before those inside it, siblings by total. */
struct flame_source {
	const struct tare_stacks_info *info;
	int (*visit)(const void *tree, int (*each)(void *arg, const struct tare_stack *s), void *arg,
		     struct tare_why *why);
	const void *arg;		/* the tree */
	/* NULL; or a differential graph: for each stack in the order of visit(), which may fill it. Frames that
	 * have more by themselves than in the base are red, those that have less blue. */
	const struct flame_change *changes;
};
/* `in_page`: a part of an HTML page; else a file of its own. */
int flamegraph_draw(const struct flame_source *s, const char *title, bool in_page, const struct tare_output *out,
		    struct tare_why *why);
/* Of a tree in memory. A tree without a value gives a picture that says so. */
int flamegraph(const struct tare_stacks *t, const char *title, int fd, struct tare_why *why);

struct export_csv {
	uint64_t least;			/* leave out shorter intervals */
	struct tare_progress progress;
};
int export_csv(struct tare_profile *p, const struct export_csv *o, int fd, struct tare_why *why);

#endif
