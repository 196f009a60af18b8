/* Visits the stacks of a call tree in order: the largest total first, or by the bytes of their
 * paths "a;b;c".
 *
 * A tree that fits into memory is walked in that order. A larger tree is in sorted runs, by
 * name (stacks.c). Merging these gives its nodes with parents before their children, so that
 * partial trees, each of as many nodes as fit into memory, can be built again. Walking each
 * partial tree in the order asked for gives other sorted runs, and merging those gives the
 * stacks in that order.
 */
#include "stacks.h"

#include "options-copy.h"
#include "why.h"
#include "word-sort.h"

#include <inttypes.h>
#include <stdlib.h>

/* What a run keeps of a node. */
enum { V_TOTAL, V_SELF, V_COUNT, V_NAME, V_DEPTH };

struct visitor {
	const struct tare_stacks *t;
	enum stack_sort sort;		/* STACKS_BY_BYTES or STACKS_BY_TOTAL */
	const struct tare_stacks_visit_options *o;
	double least;			/* smallest total of what is shown, with everything inside */
	int (*each)(void *arg, const struct tare_stack *s);
	void *arg;
	struct tare_stack shown;	/* the one under way: what is reserved stays 0 */
	struct tare_why *why;
};

/* `path`: its key, when that is its path. */
static int visit(struct visitor *v, const struct stack_node *n, uint32_t depth, const char *path,
		 size_t path_len)
{
	const struct names *const names = &v->t->names;
	const bool by_path = v->sort == STACKS_BY_BYTES;
	v->shown.name = names->arena.data + names->list[n->name].off;
	v->shown.name_len = names_len(names, n->name);
	v->shown.depth = depth;
	v->shown.total = n->total;
	v->shown.self = n->self;
	v->shown.count = n->count;
	v->shown.path = by_path ? path : NULL;
	v->shown.path_len = by_path ? path_len : 0;
	const int err = v->each(v->arg, &v->shown);
	return err < 0 ? err : 0;
}

static bool is_shown(const struct visitor *v, int64_t self)
{
	return v->sort != STACKS_BY_BYTES || self > 0 || v->o->also_empty;
}

static int visit_node(void *arg, uint32_t node, uint32_t depth, const struct buf *key)
{
	struct visitor *const v = arg;
	const struct stack_node *const n = &v->t->nodes[node];
	if (!is_shown(v, n->self))
		return 0;
	if (node && v->sort == STACKS_BY_TOTAL && (double)n->total < v->least)
		return STACKS_NOT_INSIDE;
	return visit(v, n, depth, key->data, key->len);
}

static int visit_item(void *arg, const struct run_item *item)
{
	return visit(arg, &(struct stack_node){
			.name = (uint32_t)item->v[V_NAME],
			.total = (uint64_t)item->v[V_TOTAL], .self = item->v[V_SELF],
			.count = (uint64_t)item->v[V_COUNT] },
		     (uint32_t)item->v[V_DEPTH], item->key, item->len);
}

/* Nodes from the runs by name, as trees of a part of them. */
struct resort {
	struct visitor *v;
	struct tare_stacks part;	/* the names are those of the whole */
	uint8_t *fresh;			/* by node: to be written */
	uint32_t most;
	struct sorted_runs *into;
	struct buf last;		/* the key before */
	uint32_t *path;			/* its nodes, from the root on */
	uint32_t depth, cap;
	uint32_t hidden;		/* depth of `last`, where that is too little; or 0 */
};

static int write_node(void *arg, uint32_t node, uint32_t depth, const struct buf *key)
{
	struct resort *const r = arg;
	const struct stack_node *const n = &r->part.nodes[node];
	if (!r->fresh[node] || !is_shown(r->v, n->self))
		return 0;
	const struct run_item item = {
		.key = key->data ? key->data : "", .len = key->len,
		.v = { [V_TOTAL] = (int64_t)n->total, [V_SELF] = n->self,
		       [V_COUNT] = (int64_t)n->count, [V_NAME] = n->name, [V_DEPTH] = depth },
	};
	return sorted_runs_add(r->into, &item, r->v->why);
}

/* Only the nodes around the last one stay, as the next may be inside them. */
static int write_part(struct resort *r)
{
	int err = stacks_walk(&r->part, r->v->sort, write_node, r);
	if (err == 0)
		err = sorted_runs_end(r->into, r->v->why);
	for (uint32_t d = 0; d <= r->depth; d++) {	/* parents have smaller numbers */
		r->part.nodes[d] = r->part.nodes[r->path[d]];
		r->part.nodes[d].parent = d ? d - 1 : 0;
		r->path[d] = d;
	}
	r->part.n = r->depth + 1;
	memset(r->fresh, 0, r->part.n);
	return err;
}

static bool grow_part(struct resort *r)
{
	if (r->part.n > r->most / 4 * 3)	/* one deep stack */
		r->most *= 2;
	struct stack_node *const nodes = realloc(r->part.nodes, r->most * sizeof(*nodes));
	r->part.nodes = nodes ? nodes : r->part.nodes;
	uint8_t *const fresh = realloc(r->fresh, r->most);
	r->fresh = fresh ? fresh : r->fresh;
	return nodes && fresh;
}

/* Where two texts differ first, or n. */
static size_t first_difference(const char *a, const char *b, size_t n)
{
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		uint64_t x, y;
		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y)
			break;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* How many levels the key shares with the one before. */
static uint32_t shared_levels(const struct resort *r, const struct run_item *item)
{
	const size_t least = item->len < r->last.len ? item->len : r->last.len;
	const size_t same = least ? first_difference(item->key, r->last.data, least) : 0;
	return (uint32_t)(same / STACK_NAME_BYTES);
}

/* The key becomes the last one, with which it has `n_shared` levels in common. */
static bool note_key(struct resort *r, const struct run_item *item, uint32_t n_shared)
{
	r->last.len = n_shared * STACK_NAME_BYTES;
	buf_add(&r->last, item->key + r->last.len, item->len - r->last.len);
	return !buf_failed(&r->last);
}

/* The last name of a key, or the root's. */
static uint32_t name_of(const struct resort *r, const struct run_item *item)
{
	uint32_t number;
	if (!item->len)
		return r->v->t->nodes[0].name;
	memcpy(&number, item->key + item->len - STACK_NAME_BYTES, STACK_NAME_BYTES);
	return be32toh(number);
}

static bool push_node(struct resort *r, uint32_t depth)
{
	if (depth >= r->cap) {
		const uint32_t cap = r->cap ? 2 * r->cap : 256;
		uint32_t *const path = realloc(r->path, cap * sizeof(*path));
		if (!path)
			return false;
		r->path = path;
		r->cap = cap;
	}
	r->path[depth] = r->part.n;
	r->depth = depth;
	return true;
}

static int take_item(void *arg, const struct run_item *item)
{
	struct resort *const r = arg;
	const uint32_t n_shared = shared_levels(r, item);
	if (r->hidden && n_shared >= r->hidden)
		return 0;
	const uint32_t depth = item->len ? n_shared + 1 : 0;
	r->hidden = depth && (double)(uint64_t)item->v[V_TOTAL] < r->v->least ? depth : 0;
	const bool noted = note_key(r, item, n_shared);
	int err = 0;
	if (r->part.n == r->most)
		err = write_part(r);
	if (err < 0)
		return err;
	if ((r->part.n == r->most && !grow_part(r)) || !noted)
		return why_set(r->v->why, TARE_E_NOMEM, "stacks");
	if (r->hidden) {
		r->depth = n_shared;
		return 0;
	}
	if (!push_node(r, depth))
		return why_set(r->v->why, TARE_E_NOMEM, "stacks");
	r->fresh[r->part.n] = 1;
	r->part.nodes[r->part.n++] = (struct stack_node){
		.parent = depth ? r->path[n_shared] : 0, .name = name_of(r, item),
		.total = (uint64_t)item->v[V_TOTAL], .self = item->v[V_SELF],
		.count = (uint64_t)item->v[V_COUNT] };
	return 0;
}

static bool name_word(const void *arg, uint32_t name, unsigned i, uint64_t *word)
{
	return text_word(names_text(arg, name), i, word);
}

static bool rank_names(struct tare_stacks *t)
{
	uint32_t *const order = malloc((t->names.n + 1) * sizeof(*order));
	t->rank = malloc((t->names.n + 1) * sizeof(*t->rank));
	for (uint32_t i = 0; order && i < t->names.n; i++)
		order[i] = i;
	const bool ok = order && t->rank && word_sort(order, t->names.n, name_word, NULL, &t->names);
	for (uint32_t i = 0; ok && i < t->names.n; i++)
		t->rank[order[i]] = i;
	free(order);
	return ok;
}

static int visit_sorted_runs(struct visitor *v)
{
	struct resort r = { .v = v, .part = *v->t, .most = v->t->most };
	r.part.n = 0;
	r.part.nodes = malloc(r.most * sizeof(*r.part.nodes));
	r.fresh = malloc(r.most);
	const bool ranked = v->sort != STACKS_BY_TOTAL || rank_names(&r.part);
	int err = r.part.nodes && r.fresh && ranked ? sorted_runs_new(&r.into, v->why)
						    : why_set(v->why, TARE_E_NOMEM, "stacks");
	if (err == 0)
		err = sorted_runs_merge(v->t->runs, take_item, &r, v->why);
	if (err == 0 && r.part.n)
		err = write_part(&r);
	free(r.part.nodes);
	free(r.fresh);
	free(r.path);
	free(r.part.rank);
	buf_free(&r.last);
	if (err == 0)
		err = sorted_runs_merge(r.into, visit_item, v, v->why);
	sorted_runs_free(r.into);
	return err;
}

int tare_stacks_visit(const struct tare_stacks *t, const struct tare_stacks_visit_options *given,
		      int (*each)(void *arg, const struct tare_stack *s), void *arg,
		      struct tare_why *why)
{
	struct tare_stacks_visit_options o;
	int err = options_copy(&o, sizeof(o), given, "tare_stacks_visit_options", why);
	if (err < 0)
		return err;
	if (!t || !each)
		return why_set(why, TARE_E_INVALID, "no call tree, or no function given");
	const bool by_path = o.order == TARE_STACKS_BY_PATH;
	struct visitor v = { .t = t, .sort = by_path ? STACKS_BY_BYTES : STACKS_BY_TOTAL, .o = &o,
			     .least = by_path ? 0 : o.least, .each = each, .arg = arg, .why = why };
	if (t->runs)
		return visit_sorted_runs(&v);
	err = by_path ? stacks_walk(t, v.sort, visit_node, &v) : stacks_by_total(t, visit_node, &v);
	return err == TARE_E_NOMEM ? why_set(why, err, "stacks") : err;
}
