/* The call tree of a profile by function: contexts that differ in the calling instruction only are one node.
 * Without contexts, a tree of objects and their functions. Shown as lines, or as a flame graph. */
#include "annotate.h"

#include "export-show.h"
#include "term.h"

#include <stdlib.h>
#include <string.h>

#define SHARE_LEAST 0.5		/* percent: smaller parts of the tree are not shown as lines */
#define NAME_OF_ALL "all"

static void *space(size_t n, size_t size)
{
	void *const p = calloc(n + 1, size);
	if (!p)
		abort();
	return p;
}

/* ---- making ---- */

struct key {
	uint32_t parent, function, node;	/* of the tree; node: 1 + its place */
};

static uint32_t *slot_of(struct key *table, size_t mask, uint32_t parent, uint32_t function)
{
	size_t at = (parent * 0x9e3779b1u ^ function * 0x85ebca77u);
	at ^= at >> 15;
	while (table[at & mask].node &&
	       (table[at & mask].parent != parent || table[at & mask].function != function))
		at++;
	table[at & mask].parent = parent;
	table[at & mask].function = function;
	return &table[at & mask].node;
}

static uint32_t add_node(struct annotate_tree *t, uint32_t parent, uint32_t function, const char *name)
{
	t->nodes[t->n] = (struct annotate_node){ .parent = parent, .function = function, .name = name };
	return t->n++;
}

static void tree_of_contexts(const struct tare_codeprofile *p, struct annotate_tree *t)
{
	size_t cap = 64;
	while (cap < 2 * p->n_contexts + 2)
		cap *= 2;
	struct key *const table = space(cap, sizeof(*table));
	uint32_t *const node_of = space(p->n_contexts, sizeof(*node_of));
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct tare_codeprofile_context *const c = &p->contexts[i];
		const uint32_t parent = c->parent == ANNOTATE_NONE ? 0 : node_of[c->parent];
		uint32_t *const slot = slot_of(table, cap - 1, parent, c->function);
		if (!*slot)
			*slot = 1 + add_node(t, parent, c->function, p->functions[c->function].name);
		node_of[i] = *slot - 1;
		t->nodes[node_of[i]].self += c->counts[t->event];
		t->nodes[node_of[i]].calls += c->calls;
	}
	free(table);
	free(node_of);
}

static void tree_of_objects(const struct tare_codeprofile *p, struct annotate_tree *t)
{
	uint32_t *const node_of = space(p->n_objects, sizeof(*node_of));
	for (uint32_t i = 0; i < p->n_objects; i++)
		node_of[i] = add_node(t, 0, ANNOTATE_NONE, annotate_base(p->objects[i].path));
	for (uint32_t i = 0; i < p->n_functions; i++) {
		const uint32_t n = add_node(t, node_of[p->functions[i].object], i, p->functions[i].name);
		t->nodes[n].self = p->functions[i].counts[t->event];
	}
	free(node_of);
}

static int by_total(const void *a, const void *b, void *arg)
{
	const struct annotate_node *const nodes = arg;
	const struct annotate_node *const x = &nodes[*(const uint32_t *)a], *const y = &nodes[*(const uint32_t *)b];
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	const int names = strcmp(x->name, y->name);
	return names ? names : *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* Children are linked, the largest first. */
static void link_children(struct annotate_tree *t)
{
	uint32_t *const order = space(t->n, sizeof(*order));
	for (uint32_t i = 1; i < t->n; i++)
		order[i - 1] = i;
	if (t->n > 1)
		qsort_r(order, t->n - 1, sizeof(*order), by_total, t->nodes);
	for (uint32_t i = t->n - 1; t->n && i-- > 0;) {
		struct annotate_node *const parent = &t->nodes[t->nodes[order[i]].parent];
		t->nodes[order[i]].next = parent->child;
		parent->child = order[i];
	}
	free(order);
}

void annotate_tree_finish(struct annotate_tree *t)
{
	/* Parents have smaller places. */
	for (uint32_t i = t->n; i-- > 0;) {
		t->nodes[i].total += t->nodes[i].self;
		if (i)
			t->nodes[t->nodes[i].parent].total += t->nodes[i].total;
	}
	link_children(t);
}

void annotate_tree(const struct tare_codeprofile *p, size_t event, struct annotate_tree *t)
{
	*t = (struct annotate_tree){ .event = event };
	t->nodes = space(1 + (p->has_calls ? p->n_contexts : p->n_objects + p->n_functions), sizeof(*t->nodes));
	add_node(t, 0, ANNOTATE_NONE, NAME_OF_ALL);
	if (p->has_calls)
		tree_of_contexts(p, t);
	else
		tree_of_objects(p, t);
	annotate_tree_finish(t);
}

void annotate_tree_free(struct annotate_tree *t)
{
	free(t->nodes);
}

/* ---- walking ---- */

int annotate_tree_walk(const struct annotate_tree *t, int64_t least,
		       int (*each)(void *arg, const struct annotate_node *n, uint32_t depth), void *arg)
{
	uint32_t at = 0, depth = 0;
	for (;;) {
		const int err = each(arg, &t->nodes[at], depth);
		if (err)
			return err;
		uint32_t down = t->nodes[at].child;
		if (down && t->nodes[down].total >= least) {
			at = down;
			depth++;
			continue;
		}
		while (at && !(t->nodes[at].next && t->nodes[t->nodes[at].next].total >= least)) {
			at = t->nodes[at].parent;
			depth--;
		}
		if (!at)
			return 0;
		at = t->nodes[at].next;
	}
}

struct visit {
	int (*each)(void *arg, const struct tare_stack *s);
	void *arg;
};

static int visit_node(void *arg, const struct annotate_node *n, uint32_t depth)
{
	const struct visit *const v = arg;
	const struct tare_stack s = { .name = n->name, .name_len = strlen(n->name), .depth = depth,
				      .total = n->total > 0 ? (uint64_t)n->total : 0, .self = n->self,
				      .count = n->calls };
	return v->each(v->arg, &s);
}

static int visit_tree(const void *tree, int (*each)(void *arg, const struct tare_stack *s), void *arg,
		      struct tare_why *why)
{
	struct visit v = { each, arg };
	(void)why;
	return annotate_tree_walk(tree, 1, visit_node, &v);
}

int annotate_flamegraph(const struct tare_codeprofile *p, bool in_page, const struct tare_output *out,
			struct tare_why *why)
{
	struct annotate_tree t;
	annotate_tree(p, 0, &t);
	const struct tare_profile_info counter = { .counter = p->events[0].name, .unit = "" };
	const struct tare_stacks_info info = {
		.profile = &counter, .total = t.nodes[0].total > 0 ? (uint64_t)t.nodes[0].total : 0,
		.in_memory = true };
	const struct flame_source source = { &info, visit_tree, &t, NULL };
	const int err = flamegraph_draw(&source, p->command, in_page, out, why);
	annotate_tree_free(&t);
	return err;
}

/* ---- as lines ---- */

struct lines {
	const struct annotate *a;
	struct buf *out;
	size_t width;
	int calls;			/* width of the column; 0: there is no room for it */
};

static int put_line(void *arg, const struct annotate_node *n, uint32_t depth)
{
	const struct lines *const l = arg;
	const struct annotate *const a = l->a;
	struct buf cell = { 0 };
	buf_grouped_i64(&cell, n->total);
	buf_printf(l->out, "%*s%8.2f", (int)l->width, cell.data, annotate_share(n->total, a->p->events[0].total));
	cell.len = 0;
	buf_grouped_i64(&cell, n->self);
	buf_printf(l->out, "%*s", (int)l->width, cell.data);
	cell.len = 0;
	buf_grouped(&cell, n->calls);
	const size_t before = 2 * l->width + 8 + (size_t)l->calls + 2, least = 14;	/* columns; of the name */
	size_t indent = 2 * (depth < 60 ? depth : 60);
	if (a->width != SIZE_MAX && before + indent + least > a->width)
		indent = a->width > before + least ? a->width - before - least : 0;
	buf_printf(l->out, "%*s  %*s", l->calls, depth && l->calls ? cell.data : "", (int)indent, "");
	const size_t used = before + indent;
	const size_t start = l->out->len;
	annotate_cut(l->out, n->name, a->width == SIZE_MAX ? SIZE_MAX : a->width > used + 8 ? a->width - used : 8);
	if (l->out->data)
		text_printable(l->out->data + start, l->out->len - start);
	buf_chr(l->out, '\n');
	buf_free(&cell);
	return 0;
}

void annotate_tree_text(const struct annotate *a, struct buf *out)
{
	struct annotate_tree t;
	struct buf total = { 0 };
	annotate_tree(a->p, 0, &t);
	buf_grouped_i64(&total, a->p->events[0].total);
	struct lines l = { a, out, 2 + (total.len > 9 ? total.len : 9), 14 };
	if (a->width != SIZE_MAX && 2 * l.width + 8 + 14 + 2 + 30 > a->width)
		l.calls = 0;
	buf_printf(out, "%s%*s%8s%*s%*s  %s%s\n", term_style(a->fd, STYLE_BOLD), (int)l.width, "inclusive", "%",
		   (int)l.width, "self", l.calls, l.calls ? "calls" : "", "call tree", term_style(a->fd, STYLE_NONE));
	const int64_t least = (int64_t)(SHARE_LEAST / 100 * (double)a->p->events[0].total);
	annotate_tree_walk(&t, least > 0 ? least : 1, put_line, (void *)&l);
	buf_printf(out, "\n Parts below %.1f %% are left out.\n", SHARE_LEAST);
	buf_free(&total);
	annotate_tree_free(&t);
}
