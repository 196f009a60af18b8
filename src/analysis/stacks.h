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

/* Nodes in memory, unless told otherwise: where every stack is wanted, and where those with a
 * small share may be left out. A node takes 48 to 70 bytes of memory, and 8 to 12 more when the
 * tree is put in order. With half a million nodes, 5.1 million stacks take twice the time. */
#define STACK_NODES_MOST ((1u << 23) - 2)
#define STACK_NODES_LOSSY_MOST ((1u << 19) - 2)

struct stack_node {
	uint64_t total, count;
	int64_t self;
	uint32_t parent, name;
	/* While stacks are collected, the first few nodes inside, as a list; 0: none. Others are found by
	 * their hash. Most nodes have few, and those were made just before, and are in the cache. */
	uint32_t inside, next;
};

#define STACK_LIST_MOST 8u

struct tare_stacks {
	const struct tare_profile_info *info;
	struct names names;
	struct stack_node *nodes;
	uint32_t n, cap;
	uint32_t filled;		/* nodes before this one have their memory */
	/* By node, where some stacks may be left out, else NULL: at most that much of its total
	 * is not counted. */
	uint64_t *missed;
	/* Nodes that are in no list: by hash of the path, hash << 32 | node + 1; 0: free. */
	uint64_t *slots;
	uint32_t n_slots, n_hashed;
	unsigned shift;			/* a hash shifted by it is a slot */
	bool raw_names;			/* see struct tare_stacks_options */
	uint32_t most;			/* nodes in memory at a time */
	struct sorted_runs *runs;	/* NULL: all nodes are here */
	uint64_t left_out;		/* intervals whose stack has no node */
	uint64_t may_miss;		/* a stack without a node has at most this total */
	struct tare_stacks_info result;
	uint32_t *rank;			/* by name: its place in order, for keys by total; or NULL */
};

#define STACK_NAME_BYTES sizeof(uint32_t)

/* Calls `each` for every node of the tree in memory, root first, with its depth and its key: of
 * STACKS_BY_BYTES "root;name;name", of STACKS_BY_NAME the names' numbers, of
 * STACKS_BY_TOTAL for each name 8 bytes, so that the largest total comes first, and its
 * rank. Numbers are big-endian: keys come ascending, as memcmp has it. A negative result ends the
 * walk. */
enum stack_sort { STACKS_BY_BYTES, STACKS_BY_NAME, STACKS_BY_TOTAL };
#define STACKS_NOT_INSIDE 1	/* result of `each`: leave out what is inside */
typedef int stack_each(void *arg, uint32_t node, uint32_t depth, const struct buf *key);
int stacks_walk(const struct tare_stacks *t, enum stack_sort sort, stack_each *each, void *arg);
/* The same in the order of STACKS_BY_TOTAL, without ranks and keys (stack-totals.c). */
int stacks_by_total(const struct tare_stacks *t, stack_each *each, void *arg);

#endif
