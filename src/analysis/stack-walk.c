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

#include <stdlib.h>

#define INSIDE 1u		/* what is inside, too; the bits above are the node */

struct order {
	const struct tare_stacks *t;
	enum stack_sort sort;
	uint32_t *entry;		/* node << 1 | INSIDE, by parent, then in order */
	uint32_t n;
	uint32_t *first;		/* n nodes + 1: where the entries of each one's children start */
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

/* Children of one node. */
static int compare_entries(const void *a, const void *b, void *arg)
{
	const struct order *const o = arg;
	const struct tare_stacks *const t = o->t;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct stack_node *const p = &t->nodes[x >> 1], *const q = &t->nodes[y >> 1];
	if (o->sort == STACKS_BY_BYTES)
		return compare_bytes(t, x, y);
	if (o->sort == STACKS_BY_NAME)
		return p->name < q->name ? -1 : p->name > q->name;
	if (p->total != q->total)
		return p->total > q->total ? -1 : 1;
	return strcmp(names_text(&t->names, p->name), names_text(&t->names, q->name));
}

#define FEW 24u			/* entries that insertion sorts faster */

static void sort_siblings(struct order *o, uint32_t *e, uint32_t n)
{
	if (n > FEW) {
		qsort_r(e, n, sizeof(*e), compare_entries, o);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		const uint32_t x = e[i];
		uint32_t at = i;
		for (; at && compare_entries(&e[at - 1], &x, o) > 0; at--)
			e[at] = e[at - 1];
		e[at] = x;
	}
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
	o->entry = malloc(each * t->n * sizeof(*o->entry));
	o->first = calloc((size_t)t->n + 1, sizeof(*o->first));
	if (!o->entry || !o->first)
		return false;
	count_entries(o);
	place_entries(o);
	for (uint32_t i = 0; i < t->n; i++)
		sort_siblings(o, o->entry + o->first[i], o->first[i + 1] - o->first[i]);
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
	if (!node || (o->sort == STACKS_BY_TOTAL && !t->rank))
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
		o->key.len -= t->rank ? sizeof(uint64_t) + STACK_NAME_BYTES : 0;
		break;
	}
}

/* Depth first without recursion: the tree may be deep. first[n] moves on with the
 * children of n; the end is where those of another node begin. */
static int walk(struct order *o, int (*each)(void *, uint32_t, const struct buf *), void *arg)
{
	const struct tare_stacks *const t = o->t;
	uint32_t at = 0;
	add_level(o, 0);
	int err = each(arg, 0, &o->key);
	while (err >= 0 && !buf_failed(&o->key)) {
		const uint32_t i = o->first[at];
		if (i < o->n && t->nodes[o->entry[i] >> 1].parent == at) {
			const uint32_t node = o->entry[i] >> 1;
			const bool inside = o->entry[i] & INSIDE;
			o->first[at]++;
			add_level(o, node);
			err = inside && o->sort == STACKS_BY_BYTES ? 0 : each(arg, node, &o->key);
			if (inside && err != STACKS_NOT_INSIDE)
				at = node;
			else
				drop_level(o, node);
		} else if (at) {
			drop_level(o, at);
			at = t->nodes[at].parent;
		} else {
			break;
		}
	}
	return err < 0 ? err : buf_failed(&o->key) ? TARE_E_NOMEM : 0;
}

int stacks_walk(const struct tare_stacks *t, enum stack_sort sort,
		int (*each)(void *, uint32_t, const struct buf *), void *arg)
{
	struct order o = { .t = t, .sort = sort };
	const int err = sort_entries(&o) ? walk(&o, each, arg) : TARE_E_NOMEM;
	free(o.entry);
	free(o.first);
	buf_free(&o.key);
	return err;
}
