/* What follows from the contexts: inclusive values, edges, calls.
 *
 * The value of a context with the contexts below it is a sum over its part of the tree. A function (or an
 * edge) gets the values of those of its contexts that have no other context of the same function (edge)
 * above them, so that each event is in it once, however often the function calls itself. */
#include "codeprofile-room.h"

#include <tare/code.h>

#include <stdlib.h>
#include <string.h>

/* The contexts as a tree. */
struct tree {
	const struct tare_codeprofile *p;
	uint32_t *first, *next;		/* children; first[n_contexts]: the roots */
	uint32_t *stack;
	int64_t *below;			/* the value of each context with those below it */
};

static bool tree_open(struct tree *t, const struct tare_codeprofile *p)
{
	const size_t n = p->n_contexts + 1;
	*t = (struct tree){
		.p = p, .first = malloc(n * sizeof(*t->first)), .next = malloc(n * sizeof(*t->next)),
		.stack = malloc(n * sizeof(*t->stack)), .below = calloc(n * p->n_events, sizeof(*t->below)),
	};
	return t->first && t->next && t->stack && t->below;
}

static void tree_free(struct tree *t)
{
	free(t->first);
	free(t->next);
	free(t->stack);
	free(t->below);
}

/* Parents have smaller places: one pass from the end. */
static void sum_below(struct tree *t)
{
	const struct tare_codeprofile *const p = t->p;
	const size_t n = p->n_contexts, e = p->n_events;
	for (size_t i = 0; i <= n; i++)
		t->first[i] = NONE;
	for (size_t i = n; i-- > 0;) {
		const uint32_t parent = p->contexts[i].parent;
		for (size_t k = 0; k < e; k++) {
			t->below[i * e + k] += p->contexts[i].counts[k];
			if (parent != NONE)
				t->below[parent * e + k] += t->below[i * e + k];
		}
		const size_t list = parent == NONE ? n : parent;
		t->next[i] = t->first[list];
		t->first[list] = (uint32_t)i;
	}
}

/* Walks through the tree. keys[context] is what the context is of (NONE: nothing), and on[key] how often
 * that is on the stack. */
static void sum_keys(struct tree *t, const uint32_t *keys, uint32_t *on, int64_t *rows)
{
	const size_t e = t->p->n_events;
	size_t depth = 0;
	for (uint32_t at = t->first[t->p->n_contexts]; at != NONE || depth;) {
		if (at == NONE) {
			const uint32_t left = t->stack[--depth];
			if (keys[left] != NONE)
				on[keys[left]]--;
			at = t->next[left];
			continue;
		}
		if (keys[at] != NONE && !on[keys[at]]++)
			for (size_t k = 0; k < e; k++)
				rows[keys[at] * e + k] += t->below[at * e + k];
		t->stack[depth++] = at;
		at = t->first[at];
	}
}

/* ---- edges ---- */

bool codeprofile_is_tail(const struct tare_codeprofile *p, const struct tare_codeprofile_context *c)
{
	struct tare_code_insn in;
	if (c->site == NONE)
		return c->entry == TARE_CODEPROFILE_TAIL;
	const struct tare_codeprofile_insn *const site = &p->insns[c->site];
	if (!site->size)	/* it stands for all instructions of its function */
		return c->entry == TARE_CODEPROFILE_TAIL;
	return tare_code_insn(site->bytes, site->size, site->offset, &in) && !in.is_call;
}

/* A context that is no root was entered through an edge. */
static bool edge_of(const struct tare_codeprofile *p, uint32_t context, struct tare_codeprofile_edge *e)
{
	const struct tare_codeprofile_context *const c = &p->contexts[context];
	if (c->site == NONE && c->parent == NONE)
		return false;
	*e = (struct tare_codeprofile_edge){
		.caller = c->site == NONE ? p->contexts[c->parent].function : p->insns[c->site].function,
		.callee = c->function, .site = c->site, .tail = codeprofile_is_tail(p, c) };
	return true;
}

struct keyed {
	struct tare_codeprofile_edge edge;
	uint32_t context;
};

static int compare_u32(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int by_ends(const void *a, const void *b)
{
	const struct tare_codeprofile_edge *const x = &((const struct keyed *)a)->edge;
	const struct tare_codeprofile_edge *const y = &((const struct keyed *)b)->edge;
	if (x->caller != y->caller)
		return compare_u32(x->caller, y->caller);
	if (x->site != y->site)
		return compare_u32(x->site, y->site);
	return x->callee != y->callee ? compare_u32(x->callee, y->callee) : compare_u32(x->tail, y->tail);
}

/* p->edges, and in keys[] the edge of each context. */
static bool make_edges(struct tare_codeprofile *p, uint32_t *keys)
{
	struct keyed *const list = calloc(p->n_contexts + 1, sizeof(*list));
	p->edges = calloc(p->n_contexts + 1, sizeof(*p->edges));
	size_t n = 0;
	const bool ok = list && p->edges;
	for (uint32_t i = 0; ok && i < p->n_contexts; i++) {
		keys[i] = NONE;
		list[n].context = i;
		n += edge_of(p, i, &list[n].edge);
	}
	if (ok && n)
		qsort(list, n, sizeof(*list), by_ends);
	for (size_t i = 0; ok && i < n; i++) {
		if (!i || by_ends(&list[i - 1], &list[i]))
			p->edges[p->n_edges++] = list[i].edge;
		const uint32_t edge = (uint32_t)p->n_edges - 1, c = list[i].context;
		keys[c] = edge;
		p->edges[edge].calls += p->contexts[c].calls;
		p->functions[p->contexts[c].function].calls += p->contexts[c].calls;
	}
	free(list);
	return ok;
}

bool inclusive_sum(struct tare_codeprofile *p, int64_t *rows, int64_t **edge_rows)
{
	struct tree t;
	uint32_t *const keys = malloc((p->n_contexts + 1) * sizeof(*keys));
	uint32_t *const on = calloc(p->n_functions + p->n_contexts + 1, sizeof(*on));
	bool ok = tree_open(&t, p) && keys && on;
	if (ok) {
		sum_below(&t);
		for (size_t i = 0; i < p->n_contexts; i++)
			keys[i] = p->contexts[i].function;
		sum_keys(&t, keys, on, rows);
		ok = make_edges(p, keys);
	}
	if (ok)
		ok = (*edge_rows = calloc((p->n_edges + 1) * p->n_events, sizeof(**edge_rows)));
	if (ok)
		sum_keys(&t, keys, on, *edge_rows);
	for (size_t i = 0; ok && i < p->n_edges; i++)
		p->edges[i].counts = *edge_rows + i * p->n_events;
	tree_free(&t);
	free(keys);
	free(on);
	return ok;
}
