/* Per name: how much it took by itself, with what ran inside, how often.
 *
 * The file is walked backwards, so that a parent is met before its children; each
 * thread has a stack of the intervals around the current point. An interval's
 * value is added to its own row and taken from its parent's.
 */
#include "names.h"

#include "large.h"
#include "options-copy.h"
#include "why.h"
#include "word-sort.h"

#include <tare/analysis.h>

#include <stdlib.h>

/* What the intervals of one name took. Those of the classes that a summary tells apart
 * have a cell each, so that adding an interval is the same for all: a plane of cells
 * per class that the profile has, in each a cell per name. Cell 0 takes what has no parent;
 * the cell of a name in the first plane is name + 1. */
struct cell {
	uint64_t sum, n;
	uint64_t inner;		/* of the intervals right inside */
	uint64_t hits;		/* first plane only */
};

enum plane { PLANE_PLAIN, PLANE_OTHER, PLANE_BLOCKED, PLANE_LOAD, PLANE_HASHING, PLANES };

/* What few rows have. */
struct other {
	uint64_t again;		/* of what is inside an interval of the same row */
	uint64_t artifact;
	uint8_t flags;
};

enum { ROW_USED = 1, ROW_COUNTED_HITS = 2, ROW_ARTIFACT = 4 };

struct frame {
	uint64_t start, end;
	uint32_t cell;
};

struct thread {
	struct frame *stack;
	uint32_t depth, cap;
	uint64_t start, end;
	uint32_t row;		/* NO_NAME, or its name with TARE_BY_THREAD */
	bool too_deep;
};

struct tare_summary_store {
	struct names names;
	struct cell *cells;	/* made_planes times n_rows */
	struct other *other;	/* by row */
	uint32_t n_rows;
	uint8_t number[PLANES];	/* of a class's plane among them, + 1; 0: no such kind yet */
	uint32_t n_planes;
	uint32_t made_planes;	/* `cells` has them */
	size_t rows_bytes;	/* of the summary's rows */
	char *texts;		/* of the rows and artifacts */
	size_t texts_len, texts_bytes;
	struct threads threads;
	struct thread *thread;
	uint32_t n_thread, cap_thread;
};

/* How many intervals of each row are open in each thread: by thread << 32 | row. */
struct open_rows {
	struct open_row { uint64_t key; uint32_t n; bool used; } *slots;
	uint32_t n, n_slots;
};

/* A record that is no interval: its row << OTHER_SHIFT and what it is. */
enum { OTHER_INSTANT = 1, OTHER_HIT = 2, OTHER_SHIFT = 2 };
_Static_assert((MM_INSTANT & 1) && !(MM_INTEGER & 1), "the lowest bit tells an instant");

/* A kind's slot in struct kinds with what the loop over the records needs of it. */
struct kind_plane {
	uint64_t id;
	uint32_t plane;		/* what an interval's cell has beside its row */
	uint32_t hit;		/* OTHER_HIT: an instant of it is a hit */
};

struct pass {
	struct tare_profile *p;
	struct tare_summary_store *store;
	enum tare_group_by by;
	struct resolver *labels;
	struct kinds kinds;
	struct kind_plane kind[64];
	struct open_rows open;
	uint64_t n_instants, n_integers, overlaps, backwards;
	struct tare_why *why;
};

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
			uint32_t *const c = &st->thread[i].stack[d].cell;
			*c = old ? *c / old * n + *c % old : 0;
		}
}

/* A row for every name there is. */
static bool grow_rows(struct tare_summary_store *st)
{
	uint32_t n = st->n_rows ? st->n_rows : 256;
	while (n < st->names.n + 1)
		n *= 2;
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

/* Cells for the planes that new kinds have. */
static bool grow_planes(struct tare_summary_store *st)
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

static inline bool have_rows(struct tare_summary_store *st)
{
	return __builtin_expect(st->names.n < st->n_rows, 1) || grow_rows(st);
}

static struct thread *new_threads(struct tare_summary_store *st)
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

static inline struct thread *thread_of(struct tare_summary_store *st, uint32_t id)
{
	const uint32_t i = threads_index(&st->threads, id);
	if (st->n_thread != st->threads.n && !new_threads(st))
		return NULL;
	return i == UINT32_MAX ? NULL : st->thread + i;
}

/* Three frames that enclose every event lie at the bottom of every stack, so that code can read
 * the top frame and the two below without checking the depth. */
#define BOTTOM 3

static bool reserve_stack(struct thread *t, size_t more)
{
	size_t cap = t->cap ? t->cap : STACK_FIRST;
	if (t->stack && t->depth + more < cap)
		return true;
	if (t->depth > NESTING_MOST) {
		t->too_deep = true;
		return false;
	}
	while (cap <= BOTTOM + t->depth + more)		/* one above the top may be looked at */
		cap *= 2;
	if (cap > UINT32_MAX)
		return false;
	struct frame *const stack = realloc(t->stack, cap * sizeof(*stack));
	if (!stack)
		return false;
	if (!t->stack) {
		for (; t->depth < BOTTOM; t->depth++)
			stack[t->depth] = (struct frame){ 0, UINT64_MAX, 0 };
	}
	memset(stack + t->depth, 0, (cap - t->depth) * sizeof(*stack));
	t->stack = stack;
	t->cap = (uint32_t)cap;
	return true;
}

/* "thread 3", "thread 3 (worker)": the rows of --by thread. */
static uint32_t thread_row(struct pass *s, uint32_t id)
{
	struct thread *const t = thread_of(s->store, id);
	if (!t || t->row != NO_NAME)
		return t ? t->row : NO_NAME;
	const char *const name = thread_name(&s->p->info, id);
	struct buf b = { 0 };
	buf_printf(&b, name ? "thread %u (%s)" : "thread %u", id, name);
	if (!buf_failed(&b))
		t->row = names_add(&s->store->names, b.data, b.len);
	buf_free(&b);
	return t->row;
}

static struct open_row *open_slot(const struct open_rows *o, uint64_t key)
{
	const uint32_t mask = o->n_slots - 1;
	uint32_t i = (uint32_t)((key * 0x9E3779B97F4A7C15ull) >> 32) & mask;
	while (o->slots[i].used && o->slots[i].key != key)
		i = (i + 1) & mask;
	return &o->slots[i];
}

static bool grow_open(struct open_rows *o)
{
	const struct open_rows old = *o;
	o->n_slots = old.n_slots ? 2 * old.n_slots : 256;
	o->slots = calloc(o->n_slots, sizeof(*o->slots));
	if (!o->slots) {
		*o = old;
		return false;
	}
	for (uint32_t i = 0; i < old.n_slots; i++)
		if (old.slots[i].used)
			*open_slot(o, old.slots[i].key) = old.slots[i];
	free(old.slots);
	return true;
}

/* NULL: out of memory. */
static uint32_t *open_row(struct open_rows *o, uint64_t key)
{
	if (2 * o->n >= o->n_slots && !grow_open(o))
		return NULL;
	struct open_row *const slot = open_slot(o, key);
	o->n += !slot->used;
	slot->used = true;
	slot->key = key;
	return &slot->n;
}

#define HOT static inline __attribute__((always_inline))

static uint32_t row_name(struct pass *s, const struct mm_event *e, unsigned kind)
{
	if (s->by == TARE_BY_KIND)
		return s->kinds.slot[kind].name;
	if (s->by == TARE_BY_THREAD)
		return thread_row(s, e->thread);
	return resolve(s->labels, e->id);
}

static const uint8_t plane_of[] = {
	[KIND_OTHER] = PLANE_OTHER, [KIND_QUERY] = PLANE_PLAIN, [KIND_GENERIC] = PLANE_PLAIN,
	[KIND_BLOCKED] = PLANE_BLOCKED, [KIND_LOAD] = PLANE_LOAD, [KIND_HASHING] = PLANE_HASHING,
	[KIND_CACHE_HIT] = PLANE_OTHER, [KIND_CACHE_HIT_COUNT] = PLANE_OTHER,
	[KIND_ARTIFACT] = PLANE_OTHER,
};

/* The plane's number; a new one has no cells yet. */
static uint32_t plane_number(struct tare_summary_store *st, enum plane plane)
{
	if (!st->number[plane])
		st->number[plane] = (uint8_t)++st->n_planes;
	return st->number[plane] - 1u;
}

static void note_kind(struct pass *s, unsigned slot)
{
	const enum kind_class class = s->kinds.slot[slot].class;
	const bool used = s->kinds.slot[slot].id != not_here(slot);
	const uint32_t number = used ? plane_number(s->store, plane_of[class]) : 0;
	s->kind[slot] = (struct kind_plane){ s->kinds.slot[slot].id, number * s->store->n_rows,
					     class == KIND_CACHE_HIT ? OTHER_HIT : 0 };
}

/* Rows have moved: the planes begin elsewhere. */
static void note_kinds(struct pass *s)
{
	for (unsigned i = 0; i < 64; i++)
		note_kind(s, i);
}

static void new_kind(struct pass *s, uint64_t id)
{
	if (s->kinds.resolver->err < 0)		/* a good one would hide the error */
		return;
	note_kind(s, kinds_slot(&s->kinds, id));
}

HOT unsigned kind_slot(struct pass *s, uint64_t id)
{
	const unsigned i = (unsigned)((id * 0x9E3779B97F4A7C15ull) >> 58);
	if (__builtin_expect(s->kind[i].id != id, 0))
		new_kind(s, id);
	return i;
}

/* An interval with its names resolved. */
struct item {
	uint64_t start, end;	/* as recorded: the end may be before the start */
	uint32_t cell, thread;
};

static inline bool around(const struct frame *f, uint64_t start, uint64_t end)
{
	return (f->start <= start) & (end <= f->end);
}

static struct frame *parent_slow(struct frame *top, uint64_t start, uint64_t end,
				 uint64_t *overlaps)
{
	for (; !around(top, start, end); top--)
		*overlaps += end > top->start;
	return top;
}

/* The frame around the interval, from `top` down. How many it leaves is not to be
 * guessed, so up to three are counted without a branch, by their starts. Where the
 * intervals are not properly one inside the other, or more are left, they are looked
 * at one by one. */
static inline struct frame *parent_of(struct frame *top, uint64_t start, uint64_t end,
				      uint64_t *overlaps)
{
	const size_t left = (size_t)(top[0].start > start) + (top[-1].start > start) +
			    (top[-2].start > start);
	struct frame *const parent = top - left;
	const bool overlap = (left != 0) & (end > parent[1].start);
	if (__builtin_expect((parent->start > start) | (end > parent->end) | overlap, 0))
		return parent_slow(top, start, end, overlaps);
	return parent;
}

/* The intervals of one thread that follow one another, last first. */
static bool intervals(struct pass *s, struct thread *t, const struct item *e, size_t n)
{
	if (!reserve_stack(t, n))
		return false;
	struct cell *const cells = s->store->cells;
	struct frame *top = t->stack + t->depth - 1;
	uint64_t overlaps = 0;
	for (const struct item *const stop = e + n; e < stop; e++) {
		const uint64_t start = e->start;
		uint64_t end = e->end;
		if (__builtin_expect(end < start, 0)) {
			end = start;
			s->backwards++;
		}
		const uint64_t d = end - start;
		top = parent_of(top, start, end, &overlaps);
		if (__builtin_expect(top->cell == 0, 0)) {	/* else inside one seen before */
			t->start = start < t->start ? start : t->start;
			t->end = end > t->end ? end : t->end;
		}
		cells[top->cell].inner += d;
		struct cell *const c = &cells[e->cell];
		c->sum += d;
		c->n++;
		*++top = (struct frame){ start, end, e->cell };
	}
	t->depth = (uint32_t)(top - t->stack) + 1;
	s->overlaps += overlaps;
	return true;
}

/* The same where rows are kinds or threads: what is inside an interval of its own row
 * is not to count again in the row's whole. */
static bool intervals_again(struct pass *s, struct thread *t, const struct item *e, size_t n)
{
	struct tare_summary_store *const st = s->store;
	const uint64_t key = (uint64_t)(t - st->thread) << 32;
	for (; n; n--, e++) {
		if (!reserve_stack(t, 1))
			return false;
		const struct frame *const top = t->stack + t->depth - 1;
		const uint64_t end = e->end < e->start ? e->start : e->end;
		uint64_t overlaps = 0;
		const struct frame *const parent = parent_of((struct frame *)top, e->start, end,
							     &overlaps);
		for (const struct frame *f = top; f > parent; f--)
			*open_row(&s->open, key | f->cell % st->n_rows) -= 1;
		uint32_t *const open = open_row(&s->open, key | e->cell % st->n_rows);
		if (!open)
			return false;
		if (*open && e->cell / st->n_rows + 1 != st->number[PLANE_HASHING])
			st->other[e->cell % st->n_rows].again += end - e->start;
		++*open;
		if (!intervals(s, t, e, 1))
			return false;
	}
	return true;
}

static bool instant_or_integer(struct pass *s, const struct mm_event *e, unsigned kind)
{
	const unsigned class = s->kinds.slot[kind].class;
	struct tare_summary_store *const st = s->store;
	const bool is_instant = e->p2 == MM_INSTANT;
	s->n_instants += is_instant;
	s->n_integers += !is_instant;
	if (is_instant ? class != KIND_CACHE_HIT
		       : class != KIND_ARTIFACT && class != KIND_CACHE_HIT_COUNT)
		return true;
	const uint32_t row = row_name(s, e, kind) + 1;
	if (__builtin_expect(!row || !have_rows(st), 0))
		return false;
	if (is_instant) {
		st->cells[row].hits += !(st->other[row].flags & ROW_COUNTED_HITS);
	} else if (class == KIND_ARTIFACT) {
		st->other[row].flags |= ROW_ARTIFACT;
		st->other[row].artifact += e->p1;
	} else {
		st->other[row].flags |= ROW_USED | ROW_COUNTED_HITS;
		st->cells[row].hits += e->p1;
	}
	return true;
}

#define BLOCK 256

/* The kinds of records come in no order that a branch predictor could learn, and a
 * wrong guess throws away the look-ups under way. So the records of a block are first
 * looked up, all alike, and sorted without a branch into intervals and others; only
 * then the stack is worked on. The order between intervals and others does not matter:
 * others need no stack. */
struct block {
	struct item item[BLOCK];
	uint32_t other[BLOCK];		/* rows, with OTHER_INSTANT and OTHER_HIT */
	size_t n_intervals, n_others;
	uint64_t late_id[BLOCK];	/* names that are looked up together at the end */
	uint32_t *late_row[BLOCK];	/* and where their rows are added, shifted */
	uint8_t late_shift[BLOCK];
	size_t n_late;
	bool one_thread;
};

/* Has the event a row at all? */
static bool wants_row(const struct pass *s, const struct mm_event *e, unsigned kind)
{
	const enum kind_class class = s->kinds.slot[kind].class;
	if (e->p2 == MM_INSTANT)
		return class == KIND_CACHE_HIT;
	return e->p2 < MM_INTEGER || class == KIND_ARTIFACT || class == KIND_CACHE_HIT_COUNT;
}

/* The events whose names are looked up together: with arguments nearly each has its own. */
static void resolve_late(struct pass *s, struct block *b)
{
	uint32_t name[RESOLVE_MANY];
	for (size_t i = 0, n; i < b->n_late; i += n) {
		n = b->n_late - i < RESOLVE_MANY ? b->n_late - i : RESOLVE_MANY;
		if (!resolve_many(s->labels, b->late_id + i, name, n))
			return;
		for (size_t k = 0; k < n; k++)
			*b->late_row[i + k] += (name[k] + 1) << b->late_shift[i + k];
	}
}

/* The row of a record that is not known. 0: it needs none, or gets it later, into `place`; or
 * there is an error, and then nothing more is looked up. */
static __attribute__((noinline)) uint32_t row_slow(struct pass *s, const uint8_t *record,
						   struct block *b, uint32_t *place)
{
	struct mm_event e;
	mm_decode(record, s->p->wide, &e);
	const unsigned kind = kind_slot(s, e.kind);
	if (s->labels->err < 0 || !wants_row(s, &e, kind))
		return 0;
	if (s->by != TARE_BY_ARGS)
		return row_name(s, &e, kind) + 1;
	b->late_id[b->n_late] = e.id;
	b->late_shift[b->n_late] = e.p2 < MM_INTEGER ? 0 : OTHER_SHIFT;
	b->late_row[b->n_late++] = place;
	return 0;
}

/* Ids, mapped to rows. A copy of what is looked up for every record: the compiler cannot know
 * that the block's writes do not change it. */
struct row_map {
	struct ids_fast ids;
	const uint32_t *direct;
	uint64_t n_direct;
};

HOT uint32_t row_of(const struct row_map *m, uint64_t id)
{
	const uint64_t addr = ids_addr(&m->ids, id);
	return m->direct[addr < m->n_direct ? addr : 0] >> 1;
}

HOT void resolve_block(struct pass *s, struct block *b, const uint8_t *records, size_t n,
		       const int wide, const int by_label)
{
	const size_t size = wide ? 32 : 24;
	const uint32_t thread = mm_u32(records + (wide ? 16 : 8));
	const struct row_map map = { ids_fast(s->p), s->labels->direct, s->labels->n_direct };
	struct item *item = b->item;
	uint32_t *other = b->other;
	uint32_t differ = 0;
	b->n_late = 0;
	for (const uint8_t *r = records + n * size; r > records; ) {
		struct mm_event e;
		r -= size;
		prefetch_back(r);
		mm_decode(r, wide, &e);
		const struct kind_plane *const kind = &s->kind[kind_slot(s, e.kind)];
		const bool is_interval = e.p2 < MM_INTEGER;
		uint32_t row = by_label ? row_of(&map, e.id) : 0;
		if (__builtin_expect(!row, 0))
			row = row_slow(s, r, b, is_interval ? &item->cell : other);
		differ |= e.thread ^ thread;
		*item = (struct item){ e.p1, e.p2, row + kind->plane, e.thread };
		*other = row << OTHER_SHIFT | kind->hit | (e.p2 & OTHER_INSTANT);
		item += is_interval;
		other += !is_interval;
	}
	b->n_intervals = (size_t)(item - b->item);
	b->n_others = (size_t)(other - b->other);
	b->one_thread = !differ;
	resolve_late(s, b);
}

/* New names may need more rows, and then their cells are elsewhere. */
HOT bool look_up_block(struct pass *s, struct block *b, const uint8_t *records, size_t n,
		       const int wide, const int by_label)
{
	for (;;) {
		resolve_block(s, b, records, n, wide, by_label);
		if (s->labels->err < 0 || s->kinds.resolver->err < 0)
			return false;
		if (__builtin_expect(s->store->names.n < s->store->n_rows, 1))
			return s->store->made_planes == s->store->n_planes || grow_planes(s->store);
		if (!grow_rows(s->store))
			return false;
		note_kinds(s);
	}
}

/* The records of the block that are no intervals, where not all of them are hits. */
static bool odd_others(struct pass *s, const uint8_t *records, size_t n)
{
	bool ok = true;
	for (size_t i = n; i-- > 0;) {
		struct mm_event e;
		mm_decode(records + i * s->p->record_size, s->p->wide, &e);
		if (e.p2 >= MM_INTEGER)
			ok &= instant_or_integer(s, &e, kind_slot(s, e.kind));
	}
	return ok;
}

static bool all_hits(const struct block *b)
{
	const uint32_t hit = OTHER_HIT | OTHER_INSTANT;
	uint32_t all = hit;
	for (size_t i = 0; i < b->n_others; i++)
		all &= b->other[i];
	return all == hit;
}

static void hits(struct pass *s, const uint32_t *other, size_t n)
{
	struct tare_summary_store *const st = s->store;
	for (size_t i = 0; i < n; i++) {
		const uint32_t row = other[i] >> OTHER_SHIFT;
		st->cells[row].hits += !(st->other[row].flags & ROW_COUNTED_HITS);
	}
	s->n_instants += n;
}

HOT bool block_back(struct pass *s, const uint8_t *records, size_t n, const int wide,
		    const int by_label)
{
	struct block b;
	if (!look_up_block(s, &b, records, n, wide, by_label))
		return false;
	if (all_hits(&b))
		hits(s, b.other, b.n_others);
	else if (!odd_others(s, records, n))
		return false;
	for (size_t i = 0, end; i < b.n_intervals; i = end) {
		const uint32_t id = b.item[i].thread;
		struct thread *const t = thread_of(s->store, id);
		end = b.one_thread ? b.n_intervals : i;
		while (end < b.n_intervals && b.item[end].thread == id)
			end++;
		if (!t || !(by_label ? intervals(s, t, &b.item[i], end - i)
				     : intervals_again(s, t, &b.item[i], end - i)))
			return false;
	}
	return true;
}

HOT bool run_back(struct pass *s, const struct run *run, const int wide, const int by_label)
{
	const size_t size = wide ? 32 : 24;
	for (size_t end = run->n; end; ) {
		const size_t n = end < BLOCK ? end : BLOCK;
		end -= n;
		if (!block_back(s, run->records + end * size, n, wide, by_label))
			return false;
	}
	return true;
}

static int pass_error(struct pass *s)
{
	if (s->labels->err < 0)
		return s->labels->err;
	if (s->kinds.resolver->err < 0)
		return s->kinds.resolver->err;
	for (uint32_t i = 0; i < s->store->n_thread; i++)
		if (s->store->thread[i].too_deep)
			return nesting_error(s->p, NESTING_MOST, s->why);
	return why_set(s->why, TARE_E_NOMEM, "%.120s: summary", s->p->path);
}

static int walk_all(struct pass *s, const struct tare_progress *progress)
{
	struct walk w;
	struct run run;
	const uint64_t total = s->p->info.n_events;
	const bool by_label = s->by == TARE_BY_LABEL || s->by == TARE_BY_ARGS;
	uint64_t told = 0;
	walk_init(&w, s->p, true);
	while (walk_next(&w, &run)) {
		const bool ok = by_label && s->p->wide ? run_back(s, &run, 1, 1)
				: by_label ? run_back(s, &run, 0, 1)
				: run_back(s, &run, s->p->wide, 0);
		if (!ok || s->labels->err < 0 || s->kinds.resolver->err < 0)
			return pass_error(s);
		if (progress->tell && total - run.first - told > (1u << 20)) {
			told = total - run.first;
			progress->tell(progress->arg, told, total);
		}
	}
	walk_done(&w);
	return 0;
}

static int by_artifact(const void *a, const void *b)
{
	return strcmp(((const struct tare_artifact *)a)->name,
		      ((const struct tare_artifact *)b)->name);
}

static const struct cell *cell_of(const struct tare_summary_store *st, enum plane plane, uint32_t row)
{
	static const struct cell none;
	const unsigned number = st->number[plane];
	return number ? &st->cells[(size_t)(number - 1) * st->n_rows + row] : &none;
}

static int64_t self_of(const struct tare_summary_store *st, uint32_t row)
{
	uint64_t self = 0;
	for (uint32_t plane = 0; plane < st->n_planes; plane++) {
		const struct cell *const c = &st->cells[(size_t)plane * st->n_rows + row];
		self += c->sum - c->inner;
	}
	return (int64_t)self;
}

/* Whether there is anything to show of it. */
static bool has_row(const struct tare_summary_store *st, uint32_t row)
{
	bool any = st->other[row].flags & ROW_USED;
	for (uint32_t plane = 0; plane < st->n_planes; plane++) {
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
	out->self = self_of(st, row);
	/* Hashing is inside its query, whose time it already is. */
	out->time = plain->sum + other->sum + blocked->sum + load->sum - st->other[row].again;
	out->misses = plain->n;
	out->count = plain->n + other->n;
	out->hits = plain->hits;
	out->blocked = blocked->sum;
	out->load = (int64_t)(load->sum - load->inner);
	out->hashing = (int64_t)(hashing->sum - hashing->inner);
}

/* The text of a row, behind those that are there. */
static const char *keep_text(struct tare_summary_store *st, uint32_t row)
{
	const struct name *const name = &st->names.list[row - 1];
	char *const text = st->texts + st->texts_len;
	memcpy(text, st->names.arena.data + name->off, name->len + 1);
	st->texts_len += name->len + 1;
	return text;
}

/* Rows by their numbers in order, their texts side by side in the same order: there may be
 * millions, and whoever goes over them would miss the cache for each. */
static bool make_rows(struct tare_summary *s, const uint32_t *order, size_t n)
{
	enum { AHEAD = 16 };
	struct tare_summary_store *const st = s->store;
	st->rows_bytes = (n + 1) * sizeof(*s->rows);
	s->rows = large_grow(NULL, 0, st->rows_bytes);
	for (size_t i = 0; s->rows && i < n; i++) {
		if (i + AHEAD < n) {
			row_ahead(st, order[i + AHEAD], 0);
			__builtin_prefetch(&st->cells[order[i + AHEAD]]);
			row_ahead(st, order[i + AHEAD / 2], 1);
		}
		add_up(st, order[i], &s->rows[i]);
		s->rows[i].name = keep_text(st, order[i]);
	}
	s->n_rows = s->rows ? n : 0;
	return s->rows;
}

static bool add_artifact(struct tare_summary *s, uint32_t row)
{
	struct tare_summary_store *const st = s->store;
	struct tare_artifact *const more = realloc(s->artifacts, (s->n_artifacts + 1) * sizeof(*more));
	if (!more)
		return false;
	s->artifacts = more;
	s->artifacts[s->n_artifacts++] = (struct tare_artifact){ .name = keep_text(st, row),
								 .value = st->other[row].artifact };
	return true;
}

/* A name may be that of a row and of an artifact. */
static bool reserve_texts(struct tare_summary_store *st)
{
	st->texts_bytes = 2 * st->names.arena.len + 1;
	st->texts = large_grow(NULL, 0, st->texts_bytes);
	return st->texts;
}

/* The rows that are there, sorted; and the artifacts. */
static bool find_rows(struct tare_summary *s)
{
	const struct tare_summary_store *const st = s->store;
	const uint32_t most = st->names.n < st->n_rows ? st->names.n : st->n_rows ? st->n_rows - 1 : 0;
	uint32_t *const order = malloc(((size_t)most + 1) * sizeof(*order));
	bool ok = order && reserve_texts(s->store);
	size_t n = 0;
	for (uint32_t row = 1; ok && row <= most; row++) {
		order[n] = row;
		n += has_row(st, row);
		if (st->other[row].flags & ROW_ARTIFACT)
			ok = add_artifact(s, row);
	}
	ok = ok && word_sort(order, n, row_word, row_ahead, st) && make_rows(s, order, n);
	free(order);
	return ok;
}

static bool collect(struct tare_summary *s)
{
	const struct tare_summary_store *const st = s->store;
	if (!find_rows(s))
		return false;
	if (s->n_artifacts)
		qsort(s->artifacts, s->n_artifacts, sizeof(*s->artifacts), by_artifact);
	for (uint32_t i = 0; i < st->n_thread; i++)
		if (st->thread[i].start <= st->thread[i].end) {
			s->total += st->thread[i].end - st->thread[i].start;
			s->n_threads++;
		}
	return true;
}

static int summarize(struct pass *s, struct tare_summary *out,
		     const struct tare_summarize_options *o)
{
	s->labels = malloc(sizeof(*s->labels));
	if (!s->labels)
		return why_set(s->why, TARE_E_NOMEM, "%.120s: summary", s->p->path);
	resolver_init(s->labels, s->p, &s->store->names,
		      o->by == TARE_BY_ARGS ? RESOLVE_ARGS : RESOLVE_LABEL, s->why);
	int err = kinds_init(&s->kinds, s->p, &s->store->names, s->why);
	if (err == 0) {
		note_kinds(s);
		err = walk_all(s, &o->progress);
	}
	if (err == 0) {
		profile_warn(s->p, TARE_PROFILE_OVERLAP, s->overlaps);
		profile_warn(s->p, TARE_PROFILE_BACKWARDS, s->backwards);
		out->n_instants = s->n_instants;
		out->n_integers = s->n_integers;
		out->n_intervals = s->p->info.n_events - s->n_instants - s->n_integers;
		if (!collect(out))
			err = why_set(s->why, TARE_E_NOMEM, "%.120s: summary", s->p->path);
	}
	kinds_free(&s->kinds);
	resolver_free(s->labels);
	free(s->labels);
	free(s->open.slots);
	return err;
}

/* What only the walk and the making of the rows need. */
static void free_sums(struct tare_summary_store *st)
{
	for (uint32_t i = 0; i < st->n_thread; i++)
		free(st->thread[i].stack);
	free(st->thread);
	threads_free(&st->threads);
	large_free(st->cells, cells_bytes(st));
	large_free(st->other, st->n_rows * sizeof(*st->other));
	names_free(&st->names);
	*st = (struct tare_summary_store){ .rows_bytes = st->rows_bytes, .texts = st->texts,
					   .texts_bytes = st->texts_bytes };
}

int tare_summarize(struct tare_profile *p, const struct tare_summarize_options *given,
		   struct tare_summary **out, struct tare_why *why)
{
	struct tare_summarize_options o;
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the summary");
	*out = NULL;
	if (!p)
		return why_set(why, TARE_E_INVALID, "no profile given");
	int err = options_copy(&o, sizeof(o), given, "tare_summarize_options", why);
	if (err < 0)
		return err;
	struct tare_summary *const s = calloc(1, sizeof(*s));
	struct tare_summary_store *const st = calloc(1, sizeof(*st));
	if (!s || !st) {
		free(s);
		free(st);
		return why_set(why, TARE_E_NOMEM, "%.120s: summary", p->path);
	}
	s->store = st;
	s->info = &p->info;
	st->number[PLANE_PLAIN] = 1;
	st->n_planes = 1;
	struct pass pass = { .p = p, .store = st, .by = o.by, .why = why };
	err = summarize(&pass, s, &o);
	if (err < 0) {
		tare_summary_free(s);
		return err;
	}
	free_sums(st);
	*out = s;
	return 0;
}

void tare_summary_free(struct tare_summary *s)
{
	if (!s)
		return;
	struct tare_summary_store *const st = s->store;
	free_sums(st);
	large_free(s->rows, st->rows_bytes);
	large_free(st->texts, st->texts_bytes);
	free(st);
	free(s->artifacts);
	free(s);
}
