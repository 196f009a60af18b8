/* The call tree of a profile: every distinct stack once. Node 0 is the root. */
#ifndef ANALYSIS_STACKS_H
#define ANALYSIS_STACKS_H

#include "names.h"

#include <tare/analysis.h>

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
	uint32_t *slots;		/* node + 1 by (parent, name) */
	uint32_t n_slots;
	bool measureme;
	uint64_t left_out;		/* intervals whose stack has no node */
	uint64_t may_miss;		/* a stack without a node has at most this total */
};

/* Children lists, largest total first (then by name): order[first[n]] … is sorted by
 * parent; the caller frees. NULL: out of memory. */
struct stack_order {
	uint32_t *order;		/* all nodes but the root */
	uint32_t *first;		/* n + 1: where each node's children start */
};
bool stack_order(const struct tare_stacks *t, struct stack_order *o);
void stack_order_free(struct stack_order *o);

#endif
