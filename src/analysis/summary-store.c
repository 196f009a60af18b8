#include "summary-store.h"

#include "large.h"

#include <stdlib.h>

static size_t cells_bytes(const struct tare_summary_store *st)
{
	return (size_t)st->made_planes * st->n_rows * sizeof(*st->cells);
}

/* Only those in use, into zeros: what is never written takes no memory. */
static void copy_cells(struct cell *to, const struct cell *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (from[i].n | from[i].hits | from[i].inner)
			to[i] = from[i];
}

/* Into planes of `n` rows. */
static void move_cells(struct tare_summary_store *st, struct cell *cells, uint32_t n)
{
	const uint32_t old = st->n_rows;
	for (uint32_t plane = 0; plane < st->made_planes; plane++)
		copy_cells(cells + (size_t)plane * n, st->cells + (size_t)plane * old, old);
	large_free(st->cells, cells_bytes(st));
	st->cells = cells;
	st->made_planes = st->n_planes;
	for (uint32_t i = 0; i < st->n_thread; i++)
		for (uint32_t d = 0; d < st->thread[i].depth; d++) {
			uint32_t *const c = &st->thread[i].open[d].cell;
			*c = old ? *c / old * n + *c % old : 0;
		}
}

/* No more than this is taken on a guess. */
#define ROWS_AT_ONCE (4u << 20)

bool summary_grow_rows(struct tare_summary_store *st)
{
	uint32_t n = st->n_rows ? st->n_rows : 256;
	while (n < st->names.n + ROWS_SPARE || (n < st->n_rows_at_once && n < ROWS_AT_ONCE))
		n *= 4;				/* cells are copied, and take no memory before they are used */
	if (n > UINT32_MAX / PLANES)
		return false;
	struct cell *const cells = large_grow(NULL, 0, (size_t)st->n_planes * n * sizeof(*cells));
	struct other *const other = cells ? large_grow(st->other, st->n_rows * sizeof(*other),
						       n * sizeof(*other)) : NULL;
	if (!other) {
		large_free(cells, (size_t)st->n_planes * n * sizeof(*cells));
		return false;
	}
	st->other = other;
	move_cells(st, cells, n);
	st->n_rows = n;
	return true;
}

bool summary_grow_planes(struct tare_summary_store *st)
{
	const size_t plane = st->n_rows * sizeof(*st->cells);
	struct cell *const cells = large_grow(st->cells, st->made_planes * plane,
					      st->n_planes * plane);
	if (!cells)
		return false;
	st->cells = cells;
	st->made_planes = st->n_planes;
	return true;
}

struct thread *summary_new_threads(struct tare_summary_store *st)
{
	if (st->threads.n > st->cap_thread) {
		const uint32_t cap = 2 * st->threads.n + 16;
		struct thread *const more = realloc(st->thread, cap * sizeof(*more));
		if (!more)
			return NULL;
		st->thread = more;
		st->cap_thread = cap;
	}
	for (; st->n_thread < st->threads.n; st->n_thread++)
		st->thread[st->n_thread] = (struct thread){ .row = NO_NAME, .start = UINT64_MAX };
	return st->thread;
}

/* False: out of memory. */
static bool grow_stack(struct thread *t, size_t cap)
{
	struct open_frame *const open = realloc(t->open, cap * sizeof(*open));
	if (!open)
		return false;
	t->open = open;
	t->cap = (uint32_t)cap;
	return true;
}

bool summary_reserve_stack(struct thread *t, size_t more)
{
	size_t cap = t->cap ? t->cap : STACK_FIRST;
	if (t->depth + more < t->cap)
		return true;
	if (t->depth > NESTING_MOST) {
		t->too_deep = true;
		return false;
	}
	while (cap <= BOTTOM + t->depth + more)		/* one above the top may be looked at */
		cap *= 2;
	if (cap > UINT32_MAX || !grow_stack(t, cap))
		return false;
	for (; t->depth < BOTTOM; t->depth++)
		t->open[t->depth] = (struct open_frame){ .end = UINT64_MAX };
	return true;
}

void summary_free_sums(struct tare_summary_store *st)
{
	for (uint32_t i = 0; i < st->n_thread; i++)
		free(st->thread[i].open);
	free(st->thread);
	threads_free(&st->threads);
	large_free(st->cells, cells_bytes(st));
	large_free(st->other, st->n_rows * sizeof(*st->other));
	names_free(&st->names);
	*st = (struct tare_summary_store){ .rows_bytes = st->rows_bytes, .texts = st->texts };
}

void tare_summary_free(struct tare_summary *s)
{
	if (!s)
		return;
	struct tare_summary_store *const st = s->store;
	summary_free_sums(st);
	large_free(s->rows, st->rows_bytes);
	free(st->texts);
	free(st);
	free(s->artifacts);
	free(s);
}
