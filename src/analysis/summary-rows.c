/* The rows of a summary: its cells added up per name, sorted; and the artifacts. */
#include "summary-store.h"

#include "large.h"
#include "word-sort.h"

#include <stdlib.h>

static int by_artifact(const void *a, const void *b)
{
	return strcmp(((const struct tare_artifact *)a)->name,
		      ((const struct tare_artifact *)b)->name);
}

static const struct cell *cell_of(const struct tare_summary_store *st, enum plane plane, uint32_t row)
{
	static const struct cell none;
	const unsigned number = st->number[plane];
	return number && number <= st->used_planes ? &st->cells[(size_t)(number - 1) * st->n_rows + row] : &none;
}

static int64_t self_of(const struct tare_summary_store *st, uint32_t row)
{
	uint64_t self = 0;
	for (uint32_t plane = 0; plane < st->used_planes; plane++) {
		const struct cell *const c = &st->cells[(size_t)plane * st->n_rows + row];
		self += c->sum - c->inner;
	}
	return (int64_t)self;
}

static uint8_t flags_of(const struct tare_summary_store *st, uint32_t row)
{
	return row < st->other_end ? st->other[row].flags : 0;
}

/* Whether there is anything to show of it. */
static bool has_row(const struct tare_summary_store *st, uint32_t row)
{
	bool any = flags_of(st, row) & ROW_USED;
	for (uint32_t plane = 0; plane < st->used_planes; plane++) {
		const struct cell *const c = &st->cells[(size_t)plane * st->n_rows + row];
		any |= c->n || c->hits;
	}
	return any;
}

/* What rows are sorted by: self values, the largest first, then names. */
static bool row_word(const void *arg, uint32_t row, unsigned i, uint64_t *word)
{
	const struct tare_summary_store *const st = arg;
	const struct name *const name = &st->names.list[row - 1];
	if (i)
		return sized_text_word(st->names.arena.data + name->off, name->len, i - 1, word);
	*word = descending(self_of(st, row));
	return true;
}

static void row_ahead(const void *arg, uint32_t row, unsigned stage)
{
	const struct tare_summary_store *const st = arg;
	const struct name *const name = &st->names.list[row - 1];
	if (stage)
		__builtin_prefetch(st->names.arena.data + name->off);
	else
		__builtin_prefetch(name);
}

/* A row from its cells. */
static void add_up(const struct tare_summary_store *st, uint32_t row, struct tare_summary_row *out)
{
	const struct cell *const plain = cell_of(st, PLANE_PLAIN, row);
	const struct cell *const other = cell_of(st, PLANE_OTHER, row);
	const struct cell *const blocked = cell_of(st, PLANE_BLOCKED, row);
	const struct cell *const load = cell_of(st, PLANE_LOAD, row);
	const struct cell *const hashing = cell_of(st, PLANE_HASHING, row);
	memset(out->reserved, 0, sizeof(out->reserved));
	out->self = self_of(st, row);
	/* Hashing is inside its query, whose time it already is. */
	out->time = plain->sum + other->sum + blocked->sum + load->sum -
		    (row < st->other_end ? st->other[row].again : 0);
	out->misses = plain->n;
	out->count = plain->n + other->n;
	out->hits = plain->hits;
	out->blocked = blocked->sum;
	out->load = (int64_t)(load->sum - load->inner);
	out->hashing = (int64_t)(hashing->sum - hashing->inner);
}

static const char *text_of(const struct tare_summary_store *st, uint32_t row)
{
	return names_text(&st->names, row - 1);
}

static size_t rows_bytes(size_t n)
{
	return (n + 1) * sizeof(struct tare_summary_row);
}

/* Rows by their numbers in order. There may be millions, and each of them misses the cache. */
static void make_rows(struct tare_summary *s, const uint32_t *order, size_t n)
{
	enum { AHEAD = 16 };
	const struct tare_summary_store *const st = s->store;
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n) {
			row_ahead(st, order[i + AHEAD], 0);
			__builtin_prefetch(&st->cells[order[i + AHEAD]]);
		}
		add_up(st, order[i], &s->rows[i]);
		s->rows[i].name = text_of(st, order[i]);
		s->rows[i].name_len = names_len(&st->names, order[i] - 1);
	}
	s->n_rows = n;
}

static bool add_artifact(struct tare_summary *s, uint32_t row)
{
	struct tare_summary_store *const st = s->store;
	struct tare_artifact *const more = realloc(s->artifacts, (s->n_artifacts + 1) * sizeof(*more));
	if (!more)
		return false;
	s->artifacts = more;
	s->artifacts[s->n_artifacts++] = (struct tare_artifact){ .name = text_of(st, row),
								 .value = st->other[row].artifact };
	return true;
}

/* The rows that are there, sorted; and the artifacts. Their memory is that of sorting before. */
static bool find_rows(struct tare_summary *s)
{
	struct tare_summary_store *const st = s->store;
	const uint32_t most = st->names.n < st->n_rows ? st->names.n : st->n_rows ? st->n_rows - 1 : 0;
	uint32_t *const order = malloc(((size_t)most + 1) * sizeof(*order));
	bool ok = order;
	size_t n = 0;
	for (uint32_t row = 1; ok && row <= most; row++) {
		order[n] = row;
		n += has_row(st, row);
		if (flags_of(st, row) & ROW_ARTIFACT)
			ok = add_artifact(s, row);
	}
	st->rows_bytes = rows_bytes(n);
	s->rows = ok ? large_grow(NULL, 0, st->rows_bytes) : NULL;
	if (s->rows) {
		large_fill(s->rows, st->rows_bytes);
		word_sort_in(s->rows, order, n, row_word, row_ahead, st);
		make_rows(s, order, n);
	}
	free(order);
	return s->rows;
}

bool summary_make_rows(struct tare_summary *s)
{
	struct tare_summary_store *const st = s->store;
	if (!find_rows(s))
		return false;
	st->texts = buf_take(&st->names.arena);
	if (s->n_artifacts)
		qsort(s->artifacts, s->n_artifacts, sizeof(*s->artifacts), by_artifact);
	for (uint32_t i = 0; i < st->n_thread; i++)
		if (st->thread[i].start <= st->thread[i].end) {
			s->total += st->thread[i].end - st->thread[i].start;
			s->n_threads++;
		}
	return true;
}
