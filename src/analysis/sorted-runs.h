/* More keys with values than fit into memory, in order: sorted runs in an unnamed file,
 * merged at the end. Values of equal keys add up.
 *
 *	struct sorted_runs *r;
 *	if (sorted_runs_new(&r, why) < 0) …
 *	sorted_runs_add(r, &item, why);			ascending, as memcmp has it
 *	sorted_runs_end(r, why);			the next may be less again
 *	sorted_runs_merge(r, each, arg, why);
 *	sorted_runs_free(r);
 *
 * In the file a key is written as what it has in common with the one before it, and
 * the rest: paths of a tree in order cost little more than their last names.
 */
#ifndef ANALYSIS_SORTED_RUNS_H
#define ANALYSIS_SORTED_RUNS_H

#include <tare/err.h>

#include <stddef.h>
#include <stdint.h>

#define RUN_VALUES 5

struct run_item {
	const char *key;
	size_t len;
	int64_t v[RUN_VALUES];
};

struct sorted_runs;

int sorted_runs_new(struct sorted_runs **r, struct tare_why *why);
int sorted_runs_add(struct sorted_runs *r, const struct run_item *item, struct tare_why *why);
int sorted_runs_end(struct sorted_runs *r, struct tare_why *why);
/* Stops at the first negative result, and returns it. May be called again. */
int sorted_runs_merge(struct sorted_runs *r, int (*each)(void *arg, const struct run_item *item),
		      void *arg, struct tare_why *why);
void sorted_runs_free(struct sorted_runs *r);

#endif
