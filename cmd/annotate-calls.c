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
	annotate_number(&total, a->p->events[0].total);
	const int width = 2 + (int)(total.len > 9 ? total.len : 9);
	buf_printf(out, "\n%s%*s%8s%14s  %s%s\n", term_style(a->fd, STYLE_BOLD), width, "inclusive", "%", "calls",
		   title, term_style(a->fd, STYLE_NONE));
	for (size_t i = 0; i < n; i++) {
		const struct link *const l = &list[i];
		cell.len = 0;
		annotate_number(&cell, l->count);
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

/* Edges of the same two functions are one link. Its inclusive value is a sum over call sites; a site below
 * another one of the same link, which only recursion makes, counts in both. */
static size_t links_of(const struct tare_codeprofile *p, uint32_t function, bool callers, struct link *list)
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
		list[k].count += e->counts[0];
	}
	if (n)
		qsort(list, n, sizeof(*list), by_count);
	return n;
}

void annotate_calls(const struct annotate *a, uint32_t function, struct buf *out)
{
	if (!a->p->has_calls)
		return;
	struct link *const list = calloc(a->p->n_edges + 1, sizeof(*list));
	if (!list)
		abort();
	size_t n = links_of(a->p, function, true, list);
	put_links(a, list, n, "called by", out);
	n = links_of(a->p, function, false, list);
	put_links(a, list, n, "calls", out);
	free(list);
}
