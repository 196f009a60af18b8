/* Inclusive values: what happened while a function was on the stack.
 *
 * The value of a context with the contexts below it is a sum over its part of the tree. A function gets
 * the values of those of its contexts that have no other context of the same function above them, so that
 * each event is in it once, however often the function calls itself. */
#include "codeprofile-room.h"

#include <stdlib.h>

/* Contexts in the order of a walk through the tree, each before those below it. */
struct walk {
	uint32_t *first, *next;		/* children */
	uint32_t *stack;
	uint32_t *depth_of;		/* how often each function is on the stack */
	int64_t *below;			/* the value of each context with those below it */
};

static bool walk_open(struct walk *w, const struct tare_codeprofile *p)
{
	const size_t n = p->n_contexts + 1;
	*w = (struct walk){
		.first = malloc(n * sizeof(*w->first)), .next = malloc(n * sizeof(*w->next)),
		.stack = malloc(n * sizeof(*w->stack)),
		.depth_of = calloc(p->n_functions + 1, sizeof(*w->depth_of)),
		.below = calloc(n * p->n_events, sizeof(*w->below)),
	};
	return w->first && w->next && w->stack && w->depth_of && w->below;
}

static void walk_free(struct walk *w)
{
	free(w->first);
	free(w->next);
	free(w->stack);
	free(w->depth_of);
	free(w->below);
}

/* Parents have smaller places: one pass from the end. The last entry of first[] has the roots. */
static void sum_below(struct walk *w, const struct tare_codeprofile *p)
{
	const size_t n = p->n_contexts, e = p->n_events;
	for (size_t i = 0; i <= n; i++)
		w->first[i] = NONE;
	for (size_t i = n; i-- > 0;) {
		const uint32_t parent = p->contexts[i].parent;
		for (size_t k = 0; k < e; k++) {
			w->below[i * e + k] += p->contexts[i].counts[k];
			if (parent != NONE)
				w->below[parent * e + k] += w->below[i * e + k];
		}
		const size_t list = parent == NONE ? n : parent;
		w->next[i] = w->first[list];
		w->first[list] = (uint32_t)i;
	}
}

static void enter(struct walk *w, const struct tare_codeprofile *p, uint32_t context, int64_t *rows)
{
	const uint32_t f = p->contexts[context].function;
	if (w->depth_of[f]++)
		return;
	for (size_t k = 0; k < p->n_events; k++)
		rows[f * p->n_events + k] += w->below[context * p->n_events + k];
}

bool inclusive_sum(struct tare_codeprofile *p, int64_t *rows)
{
	struct walk w;
	const bool ok = walk_open(&w, p);
	if (ok)
		sum_below(&w, p);
	size_t depth = 0;
	for (uint32_t at = ok ? w.first[p->n_contexts] : NONE; at != NONE || depth;) {
		if (at != NONE) {
			enter(&w, p, at, rows);
			w.stack[depth++] = at;
			at = w.first[at];
			continue;
		}
		const uint32_t left = w.stack[--depth];
		w.depth_of[p->contexts[left].function]--;
		at = w.next[left];
	}
	walk_free(&w);
	return ok;
}
