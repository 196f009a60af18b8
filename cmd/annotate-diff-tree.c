/* The call trees of two profiles as one: collapsed stacks with two counts, and a differential flame graph.
 *
 * Functions that are partners (annotate-match.c) are one node. Without calls in both profiles the tree is of
 * objects and their functions. In the flame graph a frame is as wide as the larger of its two counts, so that what
 * is only in the base is drawn too. */
#include "annotate-diff.h"

#include "export-show.h"
#include "sink.h"
#include "why.h"

#include <stdlib.h>
#include <string.h>

struct diff_tree {
	struct annotate_tree t;		/* self and total: the larger count */
	struct flame_change *change;	/* of each node */
	struct flame_change *drawn;	/* of each frame that is visited */
	size_t n_drawn;
	struct node_key {
		uint32_t parent, what, node;	/* node: 1 + its place */
	} *table;
	size_t mask;
	const struct profile_diff *d;
	bool calls;
};

static void *space(size_t n, size_t size)
{
	void *const p = calloc(n + 1, size);
	if (!p)
		abort();
	return p;
}

/* ---- making ---- */

static uint32_t node_at(struct diff_tree *x, uint32_t parent, uint32_t what, const char *name)
{
	size_t at = parent * 0x9e3779b1u ^ what * 0x85ebca77u;
	at ^= at >> 15;
	struct node_key *k = &x->table[at & x->mask];
	while (k->node && (k->parent != parent || k->what != what))
		k = &x->table[++at & x->mask];
	if (!k->node) {
		x->t.nodes[x->t.n] = (struct annotate_node){ .parent = parent, .function = ANNOTATE_NONE, .name = name };
		*k = (struct node_key){ parent, what, ++x->t.n };
	}
	return k->node - 1;
}

/* One number for a function and its partner. */
static uint32_t number_of(const struct diff_tree *x, bool is_new, uint32_t function)
{
	if (is_new)
		return function;
	const uint32_t partner = x->d->partner_of_base[function];
	return partner != ANNOTATE_NONE ? partner : (uint32_t)x->d->new->n_functions + function;
}

static const char *name_of(const struct diff_tree *x, bool is_new, uint32_t function)
{
	const uint32_t partner = is_new ? function : x->d->partner_of_base[function];
	return partner != ANNOTATE_NONE ? x->d->new->functions[partner].name : x->d->base->functions[function].name;
}

static void add_self(struct diff_tree *x, uint32_t node, bool is_new, int64_t count)
{
	struct flame_change *const c = &x->change[node];
	*(is_new ? &c->new_self : &c->base_self) += count;
}

static void add_contexts(struct diff_tree *x, const struct tare_codeprofile *p, bool is_new, uint32_t event)
{
	uint32_t *const node_of = space(p->n_contexts, sizeof(*node_of));
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct tare_codeprofile_context *const c = &p->contexts[i];
		node_of[i] = node_at(x, c->parent == ANNOTATE_NONE ? 0 : node_of[c->parent],
				     number_of(x, is_new, c->function), name_of(x, is_new, c->function));
		add_self(x, node_of[i], is_new, c->counts[event]);
		x->t.nodes[node_of[i]].calls += c->calls;
	}
	free(node_of);
}

/* The object of a function's partner in new, or its own. Objects are numbered behind all functions. */
static uint32_t object_node(struct diff_tree *x, const struct tare_codeprofile *p, bool is_new, uint32_t function)
{
	const struct profile_diff *const d = x->d;
	const uint32_t functions = (uint32_t)(d->new->n_functions + d->base->n_functions);
	const uint32_t partner = is_new ? function : d->partner_of_base[function];
	if (partner != ANNOTATE_NONE) {
		const uint32_t o = d->new->functions[partner].object;
		return node_at(x, 0, functions + o, annotate_base(d->new->objects[o].path));
	}
	/* Without a partner: beside the functions of the object with the same name. */
	const uint32_t own = p->functions[function].object;
	const char *const name = annotate_base(p->objects[own].path);
	for (uint32_t o = 0; o < d->new->n_objects; o++)
		if (!strcmp(annotate_base(d->new->objects[o].path), name))
			return node_at(x, 0, functions + o, name);
	return node_at(x, 0, functions + (uint32_t)d->new->n_objects + own, name);
}

static void add_functions(struct diff_tree *x, const struct tare_codeprofile *p, bool is_new, uint32_t event)
{
	for (uint32_t i = 0; i < p->n_functions; i++) {
		const uint32_t object = object_node(x, p, is_new, i);
		add_self(x, node_at(x, object, number_of(x, is_new, i), name_of(x, is_new, i)), is_new,
			 p->functions[i].counts[event]);
	}
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b > 0 ? b : 0;
}

static void open_tree(struct diff_tree *x, const struct profile_diff *d)
{
	const struct tare_codeprofile *const both[] = { d->base, d->new };
	const uint32_t event[] = { d->base_event[0], d->new_event[0] };
	size_t most = 1, cap = 64;
	*x = (struct diff_tree){ .d = d, .calls = d->base->has_calls && d->new->has_calls };
	for (int i = 0; i < 2; i++)
		most += x->calls ? both[i]->n_contexts : both[i]->n_functions + both[i]->n_objects;
	while (cap < 2 * most)
		cap *= 2;
	x->mask = cap - 1;
	x->table = space(cap, sizeof(*x->table));
	x->t.nodes = space(most, sizeof(*x->t.nodes));
	x->change = space(most, sizeof(*x->change));
	x->drawn = space(most, sizeof(*x->drawn));
	x->t.nodes[x->t.n++] = (struct annotate_node){ .function = ANNOTATE_NONE, .name = "all" };
	for (int i = 0; i < 2; i++) {
		if (x->calls)
			add_contexts(x, both[i], i, event[i]);
		else
			add_functions(x, both[i], i, event[i]);
	}
	for (uint32_t i = x->t.n; i-- > 0;) {		/* parents have smaller places */
		struct flame_change *const c = &x->change[i];
		x->t.nodes[i].self = larger(c->base_self, c->new_self);
		c->base += c->base_self;
		c->new += c->new_self;
		if (i) {
			x->change[x->t.nodes[i].parent].base += c->base;
			x->change[x->t.nodes[i].parent].new += c->new;
		}
	}
	annotate_tree_finish(&x->t);
}

static void free_tree(struct diff_tree *x)
{
	annotate_tree_free(&x->t);
	free(x->change);
	free(x->drawn);
	free(x->table);
}

/* ---- flame graph ---- */

struct visit {
	struct diff_tree *x;
	int (*each)(void *arg, const struct tare_stack *s);
	void *arg;
};

static int visit_node(void *arg, const struct annotate_node *n, uint32_t depth)
{
	const struct visit *const v = arg;
	const struct tare_stack s = { .name = n->name, .name_len = strlen(n->name), .depth = depth,
				      .total = (uint64_t)n->total, .self = n->self, .count = n->calls };
	v->x->drawn[v->x->n_drawn++] = v->x->change[n - v->x->t.nodes];
	return v->each(v->arg, &s);
}

static int visit_tree(const void *tree, int (*each)(void *arg, const struct tare_stack *s), void *arg,
		      struct tare_why *why)
{
	struct visit v = { (struct diff_tree *)tree, each, arg };
	(void)why;
	return annotate_tree_walk(&v.x->t, 1, visit_node, &v);
}

int annotate_diff_flamegraph(const struct profile_diff *d, const struct tare_output *out, struct tare_why *why)
{
	struct diff_tree x;
	struct buf title = { 0 };
	open_tree(&x, d);
	const struct tare_profile_info counter = { .counter = d->base->events[d->base_event[0]].name, .unit = "" };
	const struct tare_stacks_info info = { .profile = &counter, .total = (uint64_t)x.t.nodes[0].total,
					       .in_memory = true };
	const struct flame_source source = { &info, visit_tree, &x, x.drawn };
	buf_printf(&title, "%s, compared with %s", d->new->command, d->base->command);
	const int err = buf_failed(&title) ? why_set(why, TARE_E_NOMEM, "flame graph") :
					     flamegraph_draw(&source, title.data, false, out, why);
	buf_free(&title);
	free_tree(&x);
	return err;
}

/* ---- collapsed ---- */

struct stack_line {
	char *path;
	int64_t base, new;
};

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct stack_line *)a)->path, ((const struct stack_line *)b)->path);
}

/* A name must not end a field or a line. */
static void add_name(struct buf *b, const char *name)
{
	for (; *name; name++)
		buf_chr(b, *name == ';' ? ':' : (unsigned char)*name < ' ' ? ' ' : *name);
}

static char *path_of(const struct diff_tree *x, uint32_t node, uint32_t *chain)
{
	struct buf b = { 0 };
	size_t n = 0;
	for (uint32_t i = node; i; i = x->t.nodes[i].parent)
		chain[n++] = i;
	while (n--) {
		add_name(&b, x->t.nodes[chain[n]].name);
		buf_str(&b, n ? ";" : "");
	}
	if (buf_failed(&b) || !b.data)
		abort();
	return b.data;
}

static void put_stacks(struct stack_line *lines, size_t n, struct sink *out)
{
	for (size_t i = 0; i < n;) {
		int64_t base = 0, new = 0;
		size_t k = i;
		for (; k < n && !strcmp(lines[k].path, lines[i].path); k++) {
			base += lines[k].base;
			new += lines[k].new;
		}
		sink_str(out, lines[i].path);
		sink_str(out, " ");
		sink_u64(out, (uint64_t)larger(base, 0));
		sink_str(out, " ");
		sink_u64(out, (uint64_t)larger(new, 0));
		sink_str(out, "\n");
		i = k;
	}
}

int annotate_diff_collapsed(const struct profile_diff *d, const struct tare_output *out, struct tare_why *why)
{
	struct diff_tree x;
	struct sink to;
	size_t n = 0;
	open_tree(&x, d);
	struct stack_line *const lines = space(x.t.n, sizeof(*lines));
	uint32_t *const chain = space(x.t.n, sizeof(*chain));
	for (uint32_t i = 1; i < x.t.n; i++)
		if (x.change[i].base_self || x.change[i].new_self)
			lines[n++] = (struct stack_line){ path_of(&x, i, chain), x.change[i].base_self, x.change[i].new_self };
	if (n)
		qsort(lines, n, sizeof(*lines), by_path);
	int err = sink_open(&to, out->write, out->arg, why);
	if (!err) {
		put_stacks(lines, n, &to);
		err = sink_close(&to, why);
	}
	for (size_t i = 0; i < n; i++)
		free(lines[i].path);
	free(lines);
	free(chain);
	free_tree(&x);
	return err;
}
