/* Goes over the call tree in order, a key for every node beside it.
 *
 * There can be millions of stacks, each with a long path, so paths are not put together
 * and sorted: the children of each node are, and a walk over the tree comes by the
 * paths in order.
 *
 * As bytes of "a;b;c", a node is in the order twice, as its own line, which ends with
 * the name, and as what is inside it, which goes on with a semicolon: between the
 * two belong siblings like "name (2)". Otherwise what is inside follows the node.
 */
#include "stacks.h"

#include "large.h"

#include <stdlib.h>

#define FIRST_BYTES(t) (((size_t)(t)->n + 1) * sizeof(uint32_t))
#define AHEAD 16u		/* entries: there may be millions */
#define INSIDE 1u		/* what is inside, too; the bits above are the node */

/* A node around the current one: its entries that are still to come. */
struct level {
	uint32_t node;
	uint32_t next, end;
};

struct order {
	const struct tare_stacks *t;
	enum stack_sort sort;
	uint32_t *entry;		/* node << 1 | INSIDE, by parent, then in order */
	size_t entry_bytes;
	uint32_t n;
	uint32_t *first;		/* n nodes + 1: where the entries of each one's children start */
	struct level *level;
	uint32_t depth, cap;
	struct buf key;
};

/* A name may not hold what separates names. */
static char folded(const struct tare_stacks *t, char c)
{
	return t->raw_names ? c : c == ';' ? ':' : c == '\n' || c == '\r' ? ' ' : c;
}

/* The byte at `i` of an entry; -1: behind its end. */
static int byte_of(const struct tare_stacks *t, uint32_t entry, size_t i)
{
	const uint32_t name = t->nodes[entry >> 1].name;
	const size_t len = names_len(&t->names, name);
	if (i < len)
		return (unsigned char)folded(t, names_text(&t->names, name)[i]);
	return i == len && entry & INSIDE ? ';' : -1;
}

static int compare_bytes(const struct tare_stacks *t, uint32_t x, uint32_t y)
{
	for (size_t i = 0;; i++) {
		const int c = byte_of(t, x, i), d = byte_of(t, y, i);
		if (c != d)
			return c < d ? -1 : 1;
		if (c < 0)
			return x < y ? -1 : x > y;
	}
}

static int compare_texts(const struct tare_stacks *t, uint32_t x, uint32_t y)
{
	return strcmp(names_text(&t->names, t->nodes[x >> 1].name),
		      names_text(&t->names, t->nodes[y >> 1].name));
}

/* A child of some node with the number by which it is compared first. */
struct sibling {
	uint64_t number;
	uint32_t entry;
};

static uint64_t number_of(const struct order *o, uint32_t entry)
{
	const struct stack_node *const n = &o->t->nodes[entry >> 1];
	return o->sort == STACKS_BY_TOTAL ? ~n->total : o->sort == STACKS_BY_NAME ? n->name : 0;
}

static int compare_siblings(const void *a, const void *b, void *arg)
{
	const struct order *const o = arg;
	const struct sibling *const x = a, *const y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (o->sort == STACKS_BY_BYTES)
		return compare_bytes(o->t, x->entry, y->entry);
	return o->sort == STACKS_BY_TOTAL ? compare_texts(o->t, x->entry, y->entry) : 0;
}

#define FEW 24u			/* entries that insertion sorts faster */

static void insertion(struct order *o, struct sibling *k, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		const struct sibling x = k[i];
		uint32_t at = i;
		for (; at && k[at - 1].number >= x.number &&
		       (k[at - 1].number > x.number || compare_siblings(&k[at - 1], &x, o) > 0); at--)
			k[at] = k[at - 1];
		k[at] = x;
	}
}

/* False: out of memory. */
static bool sort_siblings(struct order *o, uint32_t *e, uint32_t n)
{
	struct sibling few[FEW];
	struct sibling *const k = n > FEW ? malloc(n * sizeof(*k)) : few;
	if (!k)
		return false;
	for (uint32_t i = 0; i < n; i++)
		k[i] = (struct sibling){ number_of(o, e[i]), e[i] };
	if (n > FEW)
		qsort_r(k, n, sizeof(*k), compare_siblings, o);
	else
		insertion(o, k, n);
	for (uint32_t i = 0; i < n; i++)
		e[i] = k[i].entry;
	if (k != few)
		free(k);
	return true;
}

/* Where the entries of each node's children start. Parents have smaller numbers, so from the
 * last node on the children are counted before their parent. */
static void count_entries(struct order *o)
{
	const struct tare_stacks *const t = o->t;
	const bool twice = o->sort == STACKS_BY_BYTES;
	for (uint32_t i = t->n; i-- > 1;)
		o->first[t->nodes[i].parent] += twice && o->first[i] ? 2 : 1;
	for (uint32_t i = 0; i < t->n; i++) {
		const uint32_t here = o->first[i];
		o->first[i] = o->n;
		o->n += here;
	}
	o->first[t->n] = o->n;
}

/* Each entry behind those of its parent's that are there: first[] moves on with them, and
 * then back. */
static void place_entries(struct order *o)
{
	const struct tare_stacks *const t = o->t;
	const bool twice = o->sort == STACKS_BY_BYTES;
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t *const at = &o->first[t->nodes[i].parent];
		const bool has_children = o->first[i + 1] != o->first[i];	/* none is placed yet */
		if (twice)
			o->entry[(*at)++] = i << 1;
		if (!twice || has_children)
			o->entry[(*at)++] = i << 1 | INSIDE;
	}
	memmove(o->first + 1, o->first, t->n * sizeof(*o->first));
	o->first[0] = 0;
}

static bool sort_entries(struct order *o)
{
	const struct tare_stacks *const t = o->t;
	const size_t each = o->sort == STACKS_BY_BYTES ? 2 : 1;
	o->entry_bytes = each * t->n * sizeof(*o->entry);
	o->entry = large_grow(NULL, 0, o->entry_bytes);
	o->first = large_grow(NULL, 0, FIRST_BYTES(t));
	if (!o->entry || !o->first)
		return false;
	large_fill(o->entry, o->entry_bytes);
	large_fill(o->first, FIRST_BYTES(t));
	count_entries(o);
	place_entries(o);
	for (uint32_t i = 0; i < t->n; i++) {
		const uint32_t n = o->first[i + 1] - o->first[i];
		if (o->first[i] + AHEAD < o->n)
			__builtin_prefetch(&t->nodes[o->entry[o->first[i] + AHEAD] >> 1]);
		if (n > 1 && !sort_siblings(o, o->entry + o->first[i], n))
			return false;
	}
	return true;
}

static void add_level(struct order *o, uint32_t node)
{
	const struct tare_stacks *const t = o->t;
	const uint32_t name = t->nodes[node].name;
	if (o->sort == STACKS_BY_BYTES) {
		const char *const text = names_text(&t->names, name);
		const size_t len = names_len(&t->names, name);
		if (node)
			buf_chr(&o->key, ';');
		for (size_t i = 0; i < len; i++)
			buf_chr(&o->key, folded(t, text[i]));
		return;
	}
	if (!node)
		return;
	if (o->sort == STACKS_BY_TOTAL) {
		const uint64_t largest_first = htobe64(~t->nodes[node].total);
		buf_add(&o->key, &largest_first, sizeof(largest_first));
	}
	const uint32_t number = htobe32(o->sort == STACKS_BY_TOTAL ? t->rank[name] : name);
	buf_add(&o->key, &number, STACK_NAME_BYTES);
}

static void drop_level(struct order *o, uint32_t node)
{
	const struct tare_stacks *const t = o->t;
	switch (o->sort) {
	case STACKS_BY_BYTES:
		o->key.len -= names_len(&t->names, t->nodes[node].name) + 1;
		break;
	case STACKS_BY_NAME:
		o->key.len -= STACK_NAME_BYTES;
		break;
	case STACKS_BY_TOTAL:
		o->key.len -= sizeof(uint64_t) + STACK_NAME_BYTES;
		break;
	}
}

/* What is inside `node` comes next. */
static bool go_inside(struct order *o, uint32_t node)
{
	if (o->depth == o->cap) {
		const uint32_t cap = o->cap ? 2 * o->cap : 64;
		struct level *const level = realloc(o->level, cap * sizeof(*level));
		if (!level)
			return false;
		o->level = level;
		o->cap = cap;
	}
	o->level[o->depth++] = (struct level){ node, o->first[node], o->first[node + 1] };
	return true;
}

/* The next entry of the innermost level. */
static int next_entry(struct order *o, stack_each *each, void *arg)
{
	struct level *const l = &o->level[o->depth - 1];
	const uint32_t entry = o->entry[l->next++];
	if (l->next < l->end)
		__builtin_prefetch(&o->t->nodes[o->entry[l->next] >> 1]);
	const uint32_t node = entry >> 1;
	const bool inside = entry & INSIDE;
	add_level(o, node);
	const int err = inside && o->sort == STACKS_BY_BYTES ? 0 : each(arg, node, o->depth, &o->key);
	if (inside && err != STACKS_NOT_INSIDE)
		return err < 0 || go_inside(o, node) ? err : TARE_E_NOMEM;
	drop_level(o, node);
	return err;
}

/* Depth first without recursion: the tree may be deep. */
static int walk(struct order *o, stack_each *each, void *arg)
{
	add_level(o, 0);
	int err = each(arg, 0, 0, &o->key);
	if (err >= 0 && !go_inside(o, 0))
		return TARE_E_NOMEM;
	while (err >= 0 && o->depth && !buf_failed(&o->key)) {
		const struct level *const l = &o->level[o->depth - 1];
		if (l->next < l->end)
			err = next_entry(o, each, arg);
		else if (--o->depth)
			drop_level(o, l->node);
	}
	return err < 0 ? err : buf_failed(&o->key) ? TARE_E_NOMEM : 0;
}

int stacks_walk(const struct tare_stacks *t, enum stack_sort sort, stack_each *each, void *arg)
{
	struct order o = { .t = t, .sort = sort };
	const int err = sort_entries(&o) ? walk(&o, each, arg) : TARE_E_NOMEM;
	large_free(o.entry, o.entry_bytes);
	large_free(o.first, FIRST_BYTES(t));
	free(o.level);
	buf_free(&o.key);
	return err;
}
