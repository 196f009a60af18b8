/* The call tree in memory, the largest total first: in which order its nodes come.
 *
 * No walk goes down into the tree and up again, which would guess wrong at nearly every node. A
 * node has a smaller number than those inside it, so one loop from the last node on finds how
 * many nodes each one has inside, and one loop from the first on gives each node its place: right
 * behind the node around it and behind the larger siblings with all inside them. Then nodes come
 * one after the other, and what comes next is known early enough to be fetched.
 */
#include "stacks.h"

#include "large.h"

#include <stdlib.h>

#define FEW 24u			/* siblings that insertion sorts faster */
#define AHEAD 16u		/* nodes: there may be millions */

struct sibling {
	uint64_t total;
	uint32_t node;
};

/* By node; an array is used twice where what it has is not needed any more. */
struct total_order {
	const struct tare_stacks *t;
	uint32_t *first;	/* of the nodes inside; 0: none. Afterwards the nodes, by place */
	uint32_t *next;		/* sibling; 0: none. Afterwards depth */
	uint32_t *size;		/* itself and all inside. Afterwards place */
	struct sibling *many;	/* siblings of one node, where there are more than FEW */
	size_t cap_many;
};

static size_t array_bytes(const struct tare_stacks *t)
{
	return t->n * sizeof(uint32_t);
}

static uint32_t *new_array(const struct tare_stacks *t)
{
	uint32_t *const array = large_grow(NULL, 0, array_bytes(t));
	if (array)
		large_fill(array, array_bytes(t));
	return array;
}

static void link_nodes(struct total_order *o)
{
	const struct stack_node *const nodes = o->t->nodes;
	for (uint32_t i = o->t->n; i-- > 1;) {
		const uint32_t parent = nodes[i].parent;
		o->next[i] = o->first[parent];
		o->first[parent] = i;
		o->size[parent] += ++o->size[i];
	}
}

static int compare_siblings(const void *a, const void *b, void *arg)
{
	const struct tare_stacks *const t = arg;
	const struct sibling *const x = a, *const y = b;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(names_text(&t->names, t->nodes[x->node].name),
		      names_text(&t->names, t->nodes[y->node].name));
}

static void insertion(const struct tare_stacks *t, struct sibling *k, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct sibling x = k[i];
		size_t at = i;
		for (; at && k[at - 1].total <= x.total &&
		       (k[at - 1].total < x.total ||
			compare_siblings(&k[at - 1], &x, (void *)t) > 0); at--)
			k[at] = k[at - 1];
		k[at] = x;
	}
}

static bool have_many(struct total_order *o, size_t n)
{
	if (n < o->cap_many)
		return true;
	const size_t cap = 2 * n;
	struct sibling *const many = realloc(o->many, cap * sizeof(*many));
	if (!many)
		return false;
	o->many = many;
	o->cap_many = cap;
	return true;
}

/* More siblings than FEW, from `node` on, of which `n` are in `few`. NULL: out of memory. */
static struct sibling *collect_many(struct total_order *o, const struct sibling *few, size_t *n,
				    uint32_t node)
{
	if (!have_many(o, *n))
		return NULL;
	memcpy(o->many, few, *n * sizeof(*few));
	for (; node; node = o->next[node]) {
		if (!have_many(o, *n))
			return NULL;
		o->many[(*n)++] = (struct sibling){ o->t->nodes[node].total, node };
	}
	qsort_r(o->many, *n, sizeof(*o->many), compare_siblings, (void *)o->t);
	return o->many;
}

/* The places of the nodes right inside `node`, whose own place is known. */
static bool place_inside(struct total_order *o, uint32_t node, uint32_t depth)
{
	struct sibling few[FEW];
	struct sibling *k = few;
	size_t n = 0;
	uint32_t child = o->first[node];
	for (; child && n < FEW; child = o->next[child])
		few[n++] = (struct sibling){ o->t->nodes[child].total, child };
	if (child)
		k = collect_many(o, few, &n, child);
	else
		insertion(o->t, few, n);
	if (!k)
		return false;
	uint32_t place = o->size[node] + 1;
	for (size_t i = 0; i < n; i++) {
		const uint32_t size = o->size[k[i].node];
		o->size[k[i].node] = place;
		o->next[k[i].node] = depth + 1;
		place += size;
	}
	return true;
}

static bool make_order(struct total_order *o)
{
	const struct tare_stacks *const t = o->t;
	o->first = new_array(t);
	o->next = new_array(t);
	o->size = new_array(t);
	if (!o->first || !o->next || !o->size)
		return false;
	link_nodes(o);
	o->size[0] = 0;
	for (uint32_t i = 0; i < t->n; i++)
		if (o->first[i] && !place_inside(o, i, o->next[i]))
			return false;
	for (uint32_t i = 0; i < t->n; i++)
		o->first[o->size[i]] = i;
	return true;
}

static int each_node(const struct total_order *o, stack_each *each, void *arg)
{
	static const struct buf no_key;
	const struct tare_stacks *const t = o->t;
	const uint32_t *const order = o->first, *const depth = o->next;
	uint32_t hidden = UINT32_MAX;		/* nodes deeper than this are left out */
	for (uint32_t i = 0; i < t->n; i++) {
		const uint32_t node = order[i];
		if (i + AHEAD < t->n) {
			__builtin_prefetch(&t->nodes[order[i + AHEAD]]);
			__builtin_prefetch(&depth[order[i + AHEAD]]);
		}
		if (depth[node] > hidden)
			continue;
		hidden = UINT32_MAX;
		const int err = each(arg, node, depth[node], &no_key);
		if (err < 0)
			return err;
		if (err == STACKS_NOT_INSIDE)
			hidden = depth[node];
	}
	return 0;
}

int stacks_by_total(const struct tare_stacks *t, stack_each *each, void *arg)
{
	struct total_order o = { .t = t };
	const int err = make_order(&o) ? each_node(&o, each, arg) : TARE_E_NOMEM;
	large_free(o.first, array_bytes(t));
	large_free(o.next, array_bytes(t));
	large_free(o.size, array_bytes(t));
	free(o.many);
	return err;
}
