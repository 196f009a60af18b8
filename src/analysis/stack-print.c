/* The call tree as text: indented lines, the largest first, or "a;b;c value" lines, in
 * the order of their bytes.
 *
 * A tree that fits into memory is walked over in that order. One that did not is in
 * sorted runs, by name (stacks.c); merged, its nodes come by with their parents
 * before them, so that trees of as many nodes as fit can be made of them again. Those,
 * walked over in the order wanted, give other runs, and these merged are the text.
 */
#include "stacks.h"

#include "quantity.h"
#include "sink.h"
#include "why.h"
#include "word-sort.h"

#include <inttypes.h>
#include <stdlib.h>

/* What a run keeps of a node. */
enum { V_TOTAL, V_SELF, V_COUNT, V_NAME, V_DEPTH };

struct printer {
	const struct tare_stacks *t;
	enum stack_sort sort;		/* STACKS_BY_BYTES or STACKS_BY_TOTAL */
	double least;			/* total of what is shown, with what is inside */
	struct sink out;
	struct buf line;
	struct tare_why *why;
};

/* The text from `from` on, moved to the right of `width` columns. */
static void align_right(struct buf *line, size_t from, size_t width)
{
	static const char spaces[] = "                    ";
	const size_t len = line->len - from;
	if (len >= width)
		return;
	buf_add(line, spaces, width - len);
	memmove(line->data + from + width - len, line->data + from, len);
	memset(line->data + from, ' ', width - len);
}

static void quantity_column(struct buf *line, const struct tare_profile_info *info, int64_t v,
			    size_t width)
{
	const size_t from = line->len;
	quantity_add(line, info, v);
	align_right(line, from, width);
	buf_chr(line, ' ');
}

static void tree_line(struct printer *p, const struct stack_node *n)
{
	const struct tare_stacks *const t = p->t;
	const uint64_t all = t->nodes[0].total;
	struct buf *const line = &p->line;
	line->len = 0;
	percent_add(line, all ? 100.0 * (double)n->total / (double)all : 0.0);
	align_right(line, 0, 7);
	buf_chr(line, ' ');
	quantity_column(line, t->info, (int64_t)n->total, 14);
	quantity_column(line, t->info, n->self, 14);
	const size_t from = line->len;
	buf_u64(line, n->count);
	align_right(line, from, 9);
	buf_str(line, "  ");
	for (uint32_t d = n->depth < 100 ? n->depth : 100; d; d--)
		buf_str(line, "  ");
	buf_add(line, names_text(&t->names, n->name), names_len(&t->names, n->name));
	buf_chr(line, '\n');
	if (!buf_failed(line))
		sink_add(&p->out, line->data, line->len);
}

static void collapsed_line(struct printer *p, const char *path, size_t len, int64_t self)
{
	sink_add(&p->out, path, len);
	sink_add(&p->out, " ", 1);
	sink_u64(&p->out, self > 0 ? (uint64_t)self : 0);
	sink_add(&p->out, "\n", 1);
}

static bool has_line(const struct printer *p, int64_t self)
{
	return self > 0 || p->t->measureme;
}

static int print_node(void *arg, uint32_t node, const struct buf *key)
{
	struct printer *const p = arg;
	const struct stack_node *const n = &p->t->nodes[node];
	if (p->sort == STACKS_BY_BYTES) {
		if (has_line(p, n->self))
			collapsed_line(p, key->data, key->len, n->self);
		return 0;
	}
	if (node && (double)n->total < p->least)
		return STACKS_NOT_INSIDE;
	tree_line(p, n);
	return buf_failed(&p->line) ? TARE_E_NOMEM : 0;
}

static int print_item(void *arg, const struct run_item *item)
{
	struct printer *const p = arg;
	if (p->sort == STACKS_BY_BYTES) {
		collapsed_line(p, item->key, item->len, item->v[V_SELF]);
		return 0;
	}
	tree_line(p, &(struct stack_node){
			.name = (uint32_t)item->v[V_NAME], .depth = (uint32_t)item->v[V_DEPTH],
			.total = (uint64_t)item->v[V_TOTAL], .self = item->v[V_SELF],
			.count = (uint64_t)item->v[V_COUNT] });
	return buf_failed(&p->line) ? why_set(p->why, TARE_E_NOMEM, "stacks") : 0;
}

/* Nodes from the runs by name, as trees of a part of them. */
struct resort {
	struct printer *p;
	struct tare_stacks part;	/* the names are those of the whole */
	uint8_t *fresh;			/* by node: to be written */
	uint32_t most;
	struct sorted_runs *into;
	struct buf last;		/* the key before */
	uint32_t *path;			/* its nodes, from the root on */
	uint32_t depth, cap;
	uint32_t hidden;		/* depth of `last`, where that is too little; or 0 */
};

static int write_node(void *arg, uint32_t node, const struct buf *key)
{
	struct resort *const r = arg;
	const struct stack_node *const n = &r->part.nodes[node];
	if (!r->fresh[node] || (r->p->sort == STACKS_BY_BYTES && !has_line(r->p, n->self)))
		return 0;
	const struct run_item item = {
		.key = key->data ? key->data : "", .len = key->len,
		.v = { [V_TOTAL] = (int64_t)n->total, [V_SELF] = n->self,
		       [V_COUNT] = (int64_t)n->count, [V_NAME] = n->name, [V_DEPTH] = n->depth },
	};
	return sorted_runs_add(r->into, &item, r->p->why);
}

/* Only the nodes around the last one stay, as the next may be inside them. */
static int write_part(struct resort *r)
{
	int err = stacks_walk(&r->part, r->p->sort, write_node, r);
	if (err == 0)
		err = sorted_runs_end(r->into, r->p->why);
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

/* The key becomes the last one: `above` levels are already there. */
static bool note_key(struct resort *r, const struct run_item *item, uint32_t above)
{
	r->last.len = above * STACK_NAME_BYTES;
	buf_add(&r->last, item->key + r->last.len, item->len - r->last.len);
	return !buf_failed(&r->last);
}

/* The last name of a key, or the root's. */
static uint32_t name_of(const struct resort *r, const struct run_item *item)
{
	uint32_t number;
	if (!item->len)
		return r->p->t->nodes[0].name;
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
	const uint32_t above = shared_levels(r, item);
	if (r->hidden && above >= r->hidden)
		return 0;
	const uint32_t depth = item->len ? above + 1 : 0;
	r->hidden = depth && (double)(uint64_t)item->v[V_TOTAL] < r->p->least ? depth : 0;
	const bool noted = note_key(r, item, above);
	int err = 0;
	if (r->part.n == r->most)
		err = write_part(r);
	if (err < 0)
		return err;
	if ((r->part.n == r->most && !grow_part(r)) || !noted)
		return why_set(r->p->why, TARE_E_NOMEM, "stacks");
	if (r->hidden) {
		r->depth = above;
		return 0;
	}
	if (!push_node(r, depth))
		return why_set(r->p->why, TARE_E_NOMEM, "stacks");
	r->fresh[r->part.n] = 1;
	r->part.nodes[r->part.n++] = (struct stack_node){
		.parent = depth ? r->path[above] : 0, .name = name_of(r, item), .depth = depth,
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
	const bool ok = order && t->rank && word_sort(order, t->names.n, name_word, &t->names);
	for (uint32_t i = 0; ok && i < t->names.n; i++)
		t->rank[order[i]] = i;
	free(order);
	return ok;
}

static int print_sorted_runs(struct printer *p)
{
	struct resort r = { .p = p, .part = *p->t, .most = p->t->most };
	r.part.n = 0;
	r.part.nodes = malloc(r.most * sizeof(*r.part.nodes));
	r.fresh = malloc(r.most);
	const bool ranked = p->sort != STACKS_BY_TOTAL || rank_names(&r.part);
	int err = r.part.nodes && r.fresh && ranked ? sorted_runs_new(&r.into, p->why)
						    : why_set(p->why, TARE_E_NOMEM, "stacks");
	if (err == 0)
		err = sorted_runs_merge(p->t->runs, take_item, &r, p->why);
	if (err == 0 && r.part.n)
		err = write_part(&r);
	free(r.part.nodes);
	free(r.fresh);
	free(r.path);
	free(r.part.rank);
	buf_free(&r.last);
	if (err == 0)
		err = sorted_runs_merge(r.into, print_item, p, p->why);
	sorted_runs_free(r.into);
	return err;
}

static int print_stacks(struct printer *p, int fd)
{
	int err = sink_open(&p->out, fd, p->why);
	if (err < 0)
		return err;
	if (p->sort == STACKS_BY_TOTAL) {
		buf_printf(&p->line, "%7s %14s %14s %9s  %s\n", "share", "total", "self", "count",
			   "stack");
		sink_add(&p->out, p->line.data, p->line.len);
	}
	if (p->t->runs)
		err = print_sorted_runs(p);
	else
		err = stacks_walk(p->t, p->sort, print_node, p);
	const int out = sink_close(&p->out, p->why);
	if (err == TARE_E_NOMEM)
		why_set(p->why, TARE_E_NOMEM, "stacks");
	buf_free(&p->line);
	return err < 0 ? err : out;
}

int tare_stacks_text(const struct tare_stacks *t, double percent_above, int fd,
		     struct tare_why *why)
{
	return print_stacks(&(struct printer){
		.t = t, .sort = STACKS_BY_TOTAL, .why = why,
		.least = percent_above / 100 * (double)t->nodes[0].total }, fd);
}

int tare_stacks_collapsed(const struct tare_stacks *t, int fd, struct tare_why *why)
{
	return print_stacks(&(struct printer){ .t = t, .sort = STACKS_BY_BYTES, .why = why }, fd);
}
