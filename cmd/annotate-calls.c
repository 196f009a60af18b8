/* tare annotate --calls --function: who calls a function, and what it calls. */
#include "annotate.h"

#include "term.h"

#include <stdlib.h>
#include <string.h>

/* Calls between two functions, from all instructions. */
struct link {
	uint32_t other;			/* the function at the other end */
	bool tail;			/* all of them are jumps */
	uint64_t calls;
	int64_t count;			/* inclusive, of the first event */
};

static int by_count(const void *a, const void *b)
{
	const struct link *const x = a, *const y = b;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return x->other < y->other ? -1 : x->other > y->other;
}

static void put_links(const struct annotate *a, const struct link *list, size_t n, const char *title, struct buf *out)
{
	struct buf total = { 0 }, cell = { 0 };
	buf_grouped_i64(&total, a->p->events[0].total);
	const int width = 2 + (int)(total.len > 9 ? total.len : 9);
	buf_printf(out, "\n%s%*s%8s%14s  %s%s\n", term_style(a->fd, STYLE_BOLD), width, "inclusive", "%", "calls",
		   title, term_style(a->fd, STYLE_NONE));
	for (size_t i = 0; i < n; i++) {
		const struct link *const l = &list[i];
		cell.len = 0;
		buf_grouped_i64(&cell, l->count);
		buf_printf(out, "%*s%8.2f", width, cell.data, annotate_share(l->count, a->p->events[0].total));
		cell.len = 0;
		buf_grouped(&cell, l->calls);
		buf_printf(out, "%14s  ", cell.data);
		annotate_cut(out, l->other == ANNOTATE_NONE ? "[not known]" : a->p->functions[l->other].name,
			     a->width == SIZE_MAX ? SIZE_MAX : a->width > 60 ? a->width - (size_t)width - 40 : 20);
		buf_printf(out, "%s\n", l->tail ? " (tail call)" : "");
	}
	if (!n)
		buf_printf(out, "%*s%8s%14s  none\n", width, "", "", "");
	buf_free(&total);
	buf_free(&cell);
}

/* What ran while a call of `callee` by `caller` was on the stack: each event once, from whichever instructions the
 * calls came. `in` has room for all contexts. */
static int64_t count_in(const struct tare_codeprofile *p, uint32_t caller, uint32_t callee, bool *in)
{
	int64_t sum = 0;
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct tare_codeprofile_context *const c = &p->contexts[i];
		const bool below = c->parent != ANNOTATE_NONE;
		const uint32_t from = c->site != ANNOTATE_NONE ? p->insns[c->site].function :
				      below ? p->contexts[c->parent].function : ANNOTATE_NONE;
		in[i] = (below && in[c->parent]) || (c->function == callee && from == caller && from != ANNOTATE_NONE);
		sum += in[i] ? c->counts[0] : 0;
	}
	return sum;
}

/* Edges of the same two functions are one link. */
static size_t links_of(const struct tare_codeprofile *p, uint32_t function, bool callers, struct link *list, bool *in)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n_edges; i++) {
		const struct tare_codeprofile_edge *const e = &p->edges[i];
		if ((callers ? e->callee : e->caller) != function)
			continue;
		const uint32_t other = callers ? e->caller : e->callee;
		size_t k = 0;
		while (k < n && list[k].other != other)
			k++;
		if (k == n)
			list[n++] = (struct link){ .other = other, .tail = true };
		list[k].tail &= e->tail;
		list[k].calls += e->calls;
	}
	for (size_t k = 0; k < n; k++)
		list[k].count = count_in(p, callers ? list[k].other : function, callers ? function : list[k].other, in);
	if (n)
		qsort(list, n, sizeof(*list), by_count);
	return n;
}

void annotate_calls(const struct annotate *a, uint32_t function, struct buf *out)
{
	if (!a->p->has_calls)
		return;
	struct link *const list = calloc(a->p->n_edges + 1, sizeof(*list));
	bool *const in = calloc(a->p->n_contexts + 1, sizeof(*in));
	if (!list || !in)
		abort();
	size_t n = links_of(a->p, function, true, list, in);
	put_links(a, list, n, "called by", out);
	n = links_of(a->p, function, false, list, in);
	put_links(a, list, n, "calls", out);
	free(in);
	free(list);
}
