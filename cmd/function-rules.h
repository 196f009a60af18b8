/* Names of functions that the user gives, for functions that switch counting (tare_measure_options.watch): which
 * functions of the run have such a name, and which nearly do. */
#ifndef CMD_FUNCTION_RULES_H
#define CMD_FUNCTION_RULES_H

#include <tare/tare.h>

#include <stdbool.h>
#include <stddef.h>

struct buf;

#define RULE_NEAREST 3
#define RULE_NAME 200

struct function_rule {
	const char *option, *pattern;	/* as given: "--in", "f" */
	unsigned what;			/* enum tare_watch_what */
	size_t found;			/* functions of files whose code ran */
	struct {
		size_t distance;
		char name[RULE_NAME];
	} nearest[RULE_NEAREST];	/* the best first; "": none */
};

struct function_rules {
	struct function_rule *list;
	size_t n;
	bool (*matches)(const char *pattern, const char *name);
	struct tare_watch_names *names;
};

/* Does not return where there is no memory. */
void function_rules_add(struct function_rules *r, const char *option, const char *pattern, unsigned what);
/* What to give tare_measure(); NULL: there are no rules, or it was complained (*ok). */
const struct tare_watch *function_rules_watch(struct function_rules *r, bool *ok);
/* After the run: complains of each rule that no function matches; true: each has one. */
bool function_rules_found(const struct function_rules *r);
void function_rules_free(struct function_rules *r);

/* Keeps the name if it is among the nearest to the pattern. */
void function_rule_consider(struct function_rule *r, const char *name);
/* "; nearest names: f, g, h", or "" where none is near. */
void function_rule_nearest(const struct function_rule *r, struct buf *out);

/* callgrind's patterns: the whole name; * and ? stand for any text and any character. No stub of a PLT has a name. */
bool callgrind_matches(const char *pattern, const char *name);

#endif
