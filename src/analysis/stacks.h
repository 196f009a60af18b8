/* The call tree of a profile: every distinct stack once. Node 0 is the root.
 *
 * A tree with more nodes than `most` is not in `nodes`, which then has only
 * the root, but in sorted runs: keys are the numbers of the names from the root's
 * child on, STACK_NAME_BYTES each, and the values those of a node. */
#ifndef ANALYSIS_STACKS_H
#define ANALYSIS_STACKS_H

#include "names.h"
#include "sorted-runs.h"

#include <tare/analysis.h>

#define STACK_NODES_MOST ((1u << 19) - 2)	/* unless told otherwise */

struct stack_node {
	uint32_t parent, name;
	uint32_t depth;
	uint64_t total, count;
	int64_t self;
	uint64_t missed;		/* at most that much of `total` is not counted */
};

struct tare_stacks {
	const struct tare_profile_info *info;
	struct names names;
	struct stack_node *nodes;
	uint32_t n, cap;
	uint64_t *slots;		/* by (parent, name): hash << 32 | node + 1; 0: free */
	uint32_t n_slots;
	bool raw_names;			/* see struct tare_stacks_options */
	uint32_t most;			/* nodes in memory at a time */
	struct sorted_runs *runs;	/* NULL: all nodes are here */
	uint64_t left_out;		/* intervals whose stack has no node */
	uint64_t may_miss;		/* a stack without a node has at most this total */
	struct tare_stacks_info result;
	uint32_t *rank;			/* by name: its place in order, for keys by total; or NULL */
};

#define STACK_NAME_BYTES sizeof(uint32_t)

/* Calls `each` for every node of the tree in memory, root first, with its key: of
 * STACKS_BY_BYTES "root;name;name", of STACKS_BY_NAME the names' numbers, of
 * STACKS_BY_TOTAL for each name 8 bytes, so that the largest total comes first, and its
 * rank; without ranks there is no key. Numbers are big-endian: keys come ascending, as memcmp
 * has it. A negative result ends the walk. */
enum stack_sort { STACKS_BY_BYTES, STACKS_BY_NAME, STACKS_BY_TOTAL };
#define STACKS_NOT_INSIDE 1	/* result of `each`: leave out what is inside */
int stacks_walk(const struct tare_stacks *t, enum stack_sort sort,
		int (*each)(void *arg, uint32_t node, const struct buf *key), void *arg);

#endif
