/* Per name: how much it took by itself, with what ran inside, how often.
 *
 * The file is walked backwards, so that a parent is met before its children; each
 * thread has a stack of the intervals around the current point. An interval's
 * value is added to its own row and taken from its parent's.
 */
#include "summary-store.h"

#include "options-copy.h"
#include "why.h"

#include <stdlib.h>

/* How many intervals of each row are open in each thread: by thread << 32 | row. */
struct open_rows {
	struct open_row { uint64_t key; uint32_t n; bool used; } *slots;
	uint32_t n, n_slots;
};

/* What the loop over the records needs of a kind. */
struct kind_plane {
	uint32_t plane;		/* what an interval's cell has beside its row */
	uint32_t hit;		/* 1: an instant of it is a hit; 0 */
};

struct pass {
	struct tare_profile *p;
	struct tare_summary_store *store;
	enum tare_group_by by;
	struct resolver *labels;
	struct kinds kinds;
	uint64_t kind_id[64];	/* by the slot in struct kinds */
	struct kind_plane kind[64];
	struct open_rows open;
	uint64_t n_instants, n_integers, overlaps, backwards;
	bool counted_hits;	/* some rows have ROW_COUNTED_HITS */
	struct tare_why *why;
};

/* "thread 3", "thread 3 (worker)": the rows of --by thread. */
static uint32_t thread_row(struct pass *s, uint32_t id)
{
	struct thread *const t = summary_thread(s->store, id);
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
	s->kind_id[slot] = s->kinds.slot[slot].id;
	s->kind[slot] = (struct kind_plane){ number * s->store->n_rows,
					     class == KIND_CACHE_HIT && !s->counted_hits };
}

/* Rows have moved, and the planes begin elsewhere; or not every instant is a hit any more. */
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
	const unsigned i = kind_place(id);
	if (__builtin_expect(s->kind_id[i] != id, 0))
		new_kind(s, id);
	return i;
}

#define BLOCK 256
_Static_assert(2 * BLOCK < ROWS_SPARE, "a record has the names of its kind and its event");

/* The kinds of records come in no order that a branch predictor could learn, and a
 * wrong guess throws away the look-ups under way. So the records of a block are first
 * looked up, all alike: without a branch intervals are put into a list, and hits are counted.
 * Only then the stack is worked on. */
struct block {
	/* Intervals: */
	const uint8_t *tail[BLOCK + 1];	/* the record from its thread on; one more of another thread */
	uint32_t cell[BLOCK];
	size_t n_intervals, n_hits;
	uint64_t late_id[BLOCK];	/* names that are looked up together at the end */
	uint32_t *late_row[BLOCK];	/* and where their rows are added */
	size_t n_late;
	uint32_t late_hit[BLOCK];	/* rows of hits among them */
	size_t n_late_hits;
	uint32_t threads_differ;	/* 0: all records are of one thread */
	uint32_t nowhere;		/* what is no interval and no hit has its row added here */
};

/* The innermost interval around [start, end], from `top` down. */
static struct open_frame *parent_slow(struct open_frame *top, uint64_t start, uint64_t end,
				      uint64_t *overlaps)
{
	for (; top->start > start || end > top->end; top--)
		*overlaps += end > top->start;
	return top;
}

/* The same. How many intervals it leaves is not to be guessed, so up to five are counted
 * without a branch, by their starts. Where more are left, or intervals are not properly one
 * inside the other, they are looked at one by one.
 *
 * Nothing is wrong as long as the interval ends no later than those that it leaves start, of
 * which the lowest starts first; or where it leaves none, no later than the top one ends, which
 * stands above it in place of a start. Then that holds for all below, too. */
HOT struct open_frame *parent_of(struct open_frame *top, uint64_t start, uint64_t end,
				 uint64_t *overlaps)
{
	size_t left = start < top->start;
	left += start < top[-1].start;
	left += start < top[-2].start;
	left += start < top[-3].start;
	left += start < top[-4].start;
	struct open_frame *const parent = top - left;
	if (__builtin_expect(end > parent[1].start, 0) || __builtin_expect(start < parent->start, 0))
		return parent_slow(top, start, end, overlaps);
	return parent;
}

/* Where the stack of a thread is while its intervals are put on it. */
struct stack_top {
	struct open_frame *top;
	struct cell *cells;
	uint64_t start, end;		/* as in struct thread */
	uint64_t overlaps, backwards;
};

HOT struct stack_top stack_begin(const struct tare_summary_store *st, const struct thread *t)
{
	struct open_frame *const top = &t->open[t->depth - 1];
	top[1].start = top->end;
	return (struct stack_top){ .top = top, .cells = st->cells, .start = t->start, .end = t->end };
}

HOT void stack_end(struct pass *s, struct thread *t, const struct stack_top *k)
{
	t->depth = (uint32_t)(k->top - t->open) + 1;
	t->start = k->start;
	t->end = k->end;
	s->overlaps += k->overlaps;
	s->backwards += k->backwards;
}

/* An interval in which the counter stood still has nothing inside: the file does not tell which
 * of several at the same value is around the others, and with a counter such as page-faults
 * there are very many of them. */
HOT void stack_put_empty(struct stack_top *k, const uint64_t at, const uint32_t own)
{
	struct open_frame *const around = parent_slow(k->top, at, at, &k->overlaps);
	if (around->cell == 0) {
		k->start = at < k->start ? at : k->start;
		k->end = at > k->end ? at : k->end;
	}
	k->cells[own].n++;
	k->top = around;
	around[1].start = around->end;
}

/* One interval more. */
HOT void stack_put(struct stack_top *k, const uint8_t *tail, const uint32_t own)
{
	const uint64_t start = mm_tail_start(tail);
	const uint64_t end = mm_tail_end(tail);
	if (__builtin_expect(end <= start, 0)) {
		k->backwards += end < start;
		stack_put_empty(k, start, own);
		return;
	}
	const uint64_t d = end - start;
	struct open_frame *const around = parent_of(k->top, start, end, &k->overlaps);
	const uint32_t parent = around->cell;
	if (__builtin_expect(parent == 0, 0)) {		/* else inside one seen before */
		k->start = start < k->start ? start : k->start;
		k->end = end > k->end ? end : k->end;
	}
	k->cells[parent].inner += d;
	k->cells[own].sum += d;
	k->cells[own].n++;
	around[1] = (struct open_frame){ start, end, own };
	around[2].start = end;
	k->top = around + 1;
}

/* Intervals [i, stop) of the block, which are of one thread; last first. */
static bool intervals(struct pass *s, struct thread *t, const struct block *b, size_t i,
		      size_t stop)
{
	if (!summary_reserve_stack(t, stop - i))
		return false;
	struct stack_top k = stack_begin(s->store, t);
	for (; i < stop; i++)
		stack_put(&k, b->tail[i], b->cell[i]);
	stack_end(s, t, &k);
	return true;
}

static struct other *other_of(struct tare_summary_store *st, uint32_t row)
{
	st->other_end = row < st->other_end ? st->other_end : row + 1;
	return &st->other[row];
}

/* The same where rows are kinds or threads: what is inside an interval of its own row
 * is not to count again in the row's whole. */
static bool intervals_again(struct pass *s, struct thread *t, const struct block *b, size_t i,
			    size_t stop)
{
	struct tare_summary_store *const st = s->store;
	const uint64_t key = (uint64_t)(t - st->thread) << 32;
	for (; i < stop; i++) {
		if (!summary_reserve_stack(t, 1))
			return false;
		const uint64_t start = mm_tail_start(b->tail[i]), raw = mm_tail_end(b->tail[i]);
		const uint64_t end = raw < start ? start : raw;
		struct open_frame *left = &t->open[t->depth - 1];
		uint64_t overlaps = 0;
		const struct open_frame *const parent = parent_slow(left, start, end, &overlaps);
		for (; left > parent; left--)
			*open_row(&s->open, key | left->cell % st->n_rows) -= 1;
		uint32_t *const open = open_row(&s->open, key | b->cell[i] % st->n_rows);
		if (!open)
			return false;
		if (*open && b->cell[i] / st->n_rows + 1 != st->number[PLANE_HASHING])
			other_of(st, b->cell[i] % st->n_rows)->again += end - start;
		*open += end > start;		/* else nothing is inside */
		if (!intervals(s, t, b, i, i + 1))
			return false;
	}
	return true;
}

/* `counted`: 1 where it has been counted as a hit; 0. */
static bool instant_or_integer(struct pass *s, const struct mm_event *e, unsigned kind,
			       unsigned counted)
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
	if (__builtin_expect(!row || !summary_have_rows(st), 0))
		return false;
	if (is_instant) {
		st->cells[row].hits += row >= st->other_end || !(st->other[row].flags & ROW_COUNTED_HITS);
		st->cells[row].hits -= counted;
	} else if (class == KIND_ARTIFACT) {
		struct other *const other = other_of(st, row);
		other->flags |= ROW_ARTIFACT;
		other->artifact += e->p1;
	} else {
		other_of(st, row)->flags |= ROW_USED | ROW_COUNTED_HITS;
		s->counted_hits = true;
		st->cells[row].hits += e->p1;
	}
	return true;
}

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
			*b->late_row[i + k] += name[k] + 1;
	}
}

/* Where the row goes that is looked up late. */
static uint32_t *late_place(struct block *b, const struct mm_event *e, size_t n, bool hit)
{
	if (e->p2 < MM_INTEGER)
		return &b->cell[n];
	if (!hit || e->p2 != MM_INSTANT)
		return &b->nowhere;
	b->late_hit[b->n_late_hits] = 0;
	return &b->late_hit[b->n_late_hits++];
}

/* The row of a record that is not known, where the block has `n` intervals. 0: it needs none, or
 * gets it later; or there is an error, and then nothing more is looked up. */
static __attribute__((noinline)) uint32_t row_slow(struct pass *s, const uint8_t *record,
						   struct block *b, size_t n)
{
	struct mm_event e;
	mm_decode(record, s->p->wide, &e);
	const unsigned kind = kind_slot(s, e.kind);
	if (s->labels->err < 0 || !wants_row(s, &e, kind))
		return 0;
	if (is_hole(&e)) {
		s->labels->err = hole_error(s->p, s->why);
		return 0;
	}
	if (s->by != TARE_BY_ARGS)
		return row_name(s, &e, kind) + 1;
	b->late_id[b->n_late] = e.id;
	b->late_row[b->n_late++] = late_place(b, &e, n, s->kind[kind].hit);
	return 0;
}

/* What is looked up for every record. A copy: the compiler cannot know that what the loop writes
 * does not change it. */
struct row_map {
	struct ids_fast ids;
	const uint32_t *direct;
	uint64_t n_direct;
	struct cell *cells;
	uint32_t thread;		/* of the first record */
};

/* `tail`: of the first record. */
static struct row_map row_map(const struct pass *s, const uint8_t *tail)
{
	const struct resolver *const r = s->labels;
	return (struct row_map){ ids_fast(s->p), r->direct, r->n_direct, s->store->cells,
				 mm_u32(tail) };
}

/* How a loop looks up. */
enum { WIDE = 1, BY_LABEL = 2, NARROW = 4, DENSE = 8 };

/* How the index can be read; 0: there was no memory for a long `direct`. */
static int index_how(const struct pass *s)
{
	return s->labels->n_direct <= UINT16_MAX ? 0 : s->p->narrow ? NARROW : DENSE;
}

HOT uint32_t row_of(const struct row_map *m, uint64_t id, const int how)
{
	if (how & (NARROW | DENSE))
		return m->direct[ids_addr_below(&m->ids, id, m->n_direct, how & NARROW)] >> 1;
	const uint64_t addr = ids_addr(&m->ids, id);
	return m->direct[addr < m->n_direct ? addr : 0] >> 1;
}

/* One record, which is looked up whatever it is. */
HOT void resolve_one(struct pass *s, struct block *b, const struct row_map *map,
		     const uint8_t *tail, size_t *n_intervals, size_t *n_hits, uint32_t *differ,
		     const int how)
{
	const int wide = how & WIDE;
	const uint8_t *const r = tail - (wide ? 16 : 8);
	const size_t n = *n_intervals;
	const uint64_t id = wide ? mm_u64(r + 8) : mm_u32(r + 4);
	const unsigned kind = kind_slot(s, wide ? mm_u64(r) : mm_u32(r));
	const uint64_t type = mm_u64(tail + 8) << (64 - MM_VALUE_BITS);
	size_t row = how & BY_LABEL ? row_of(map, id, how) : 0;
	prefetch_back(r);
	if (__builtin_expect(!row, 0))
		row = row_slow(s, r, b, n);
	b->tail[n] = tail;
	b->cell[n] = (uint32_t)row + s->kind[kind].plane;
	const uint64_t hit = s->kind[kind].hit & (type == MM_INSTANT << (64 - MM_VALUE_BITS));
	map->cells[row].hits += hit;
	*differ |= mm_u32(tail) ^ map->thread;
	*n_hits += hit;
	*n_intervals = n + (type < MM_INTEGER << (64 - MM_VALUE_BITS));
}

static void resolved(struct pass *s, struct block *b, size_t n_intervals, size_t n_hits)
{
	b->n_intervals = n_intervals;
	b->n_hits = n_hits;
	resolve_late(s, b);
	for (size_t i = 0; i < b->n_late_hits; i++)
		s->store->cells[b->late_hit[i]].hits++;
}

HOT void resolve_block(struct pass *s, struct block *b, const uint8_t *records, size_t n_records,
		       const int how)
{
	const size_t size = how & WIDE ? 32 : 24;
	const struct row_map map = row_map(s, records + (how & WIDE ? 16 : 8));
	const uint8_t *tail = records + n_records * size + (how & WIDE ? 16 : 8);
	size_t n = 0, hits = 0;
	uint32_t differ = 0;
	for (size_t i = 0; i < n_records; i++) {
		tail -= size;
		resolve_one(s, b, &map, tail, &n, &hits, &differ, how);
	}
	b->threads_differ = differ;
	resolved(s, b, n, hits);
}

/* Functions of their own, so that the loop has all registers. */
static __attribute__((noinline)) void resolve_narrow(struct pass *s, struct block *b,
						     const uint8_t *records, size_t n)
{
	resolve_block(s, b, records, n, WIDE | BY_LABEL | NARROW);
}

static __attribute__((noinline)) void resolve_dense(struct pass *s, struct block *b,
						    const uint8_t *records, size_t n)
{
	resolve_block(s, b, records, n, WIDE | BY_LABEL | DENSE);
}

static __attribute__((noinline)) void resolve_other(struct pass *s, struct block *b,
						    const uint8_t *records, size_t n, bool by_label)
{
	if (by_label && s->p->wide)
		resolve_block(s, b, records, n, WIDE | BY_LABEL);
	else if (by_label)
		resolve_block(s, b, records, n, BY_LABEL);
	else if (s->p->wide)
		resolve_block(s, b, records, n, WIDE);
	else
		resolve_block(s, b, records, n, 0);
}

/* The same while the intervals of the block before go to their thread's stack: each of these waits
 * for the one before, and the look-ups fill that time. */
HOT void resolve_beside(struct pass *s, struct block *b, const uint8_t *records, size_t n_records,
			const struct block *before, struct thread *t, const int how)
{
	const struct row_map map = row_map(s, records + 16);
	const size_t n_before = before->n_intervals;
	const size_t n_both = n_before < n_records ? n_before : n_records;
	const uint8_t *tail = records + n_records * 32 + 16;
	struct stack_top k = stack_begin(s->store, t);
	size_t n = 0, hits = 0, i = 0;
	uint32_t differ = 0;
	for (; i < n_both; i++) {
		tail -= 32;
		resolve_one(s, b, &map, tail, &n, &hits, &differ, how);
		stack_put(&k, before->tail[i], before->cell[i]);
	}
	for (; i < n_records; i++) {
		tail -= 32;
		resolve_one(s, b, &map, tail, &n, &hits, &differ, how);
	}
	for (i = n_both; i < n_before; i++)
		stack_put(&k, before->tail[i], before->cell[i]);
	stack_end(s, t, &k);
	b->threads_differ = differ;
	resolved(s, b, n, hits);
}

static __attribute__((noinline)) void narrow_beside(struct pass *s, struct block *b,
						    const uint8_t *records, size_t n,
						    const struct block *before, struct thread *t)
{
	resolve_beside(s, b, records, n, before, t, WIDE | BY_LABEL | NARROW);
}

static __attribute__((noinline)) void dense_beside(struct pass *s, struct block *b,
						   const uint8_t *records, size_t n,
						   const struct block *before, struct thread *t)
{
	resolve_beside(s, b, records, n, before, t, WIDE | BY_LABEL | DENSE);
}

/* A block whose intervals are of one thread, with room for them on its stack, and not there yet. */
struct waiting {
	const struct block *b;		/* NULL: none */
	struct thread *t;
};

static void stop_waiting(struct pass *s, struct waiting *w)
{
	if (!w->b)
		return;
	struct stack_top k = stack_begin(s->store, w->t);
	for (size_t i = 0; i < w->b->n_intervals; i++)
		stack_put(&k, w->b->tail[i], w->b->cell[i]);
	stack_end(s, w->t, &k);
	w->b = NULL;
}

/* Afterwards no block waits. */
HOT void resolve_records(struct pass *s, struct block *b, const uint8_t *records, size_t n,
			 struct waiting *w, const int wide, const int by_label)
{
	const int index = wide && by_label ? index_how(s) : 0;
	b->n_late = b->n_late_hits = 0;
	if (index == NARROW && w->b)
		narrow_beside(s, b, records, n, w->b, w->t);
	else if (index == NARROW)
		resolve_narrow(s, b, records, n);
	else if (index == DENSE && w->b)
		dense_beside(s, b, records, n, w->b, w->t);
	else if (index == DENSE)
		resolve_dense(s, b, records, n);
	else
		resolve_other(s, b, records, n, by_label);
	if (!index)
		stop_waiting(s, w);
	w->b = NULL;
}

/* Room for the names of one block more. What the block has looked up moves, too. */
static bool more_rows(struct pass *s, struct block *b)
{
	const uint32_t old = s->store->n_rows;
	if (!summary_grow_rows(s->store))
		return false;
	const uint32_t n = s->store->n_rows;
	for (size_t i = 0; i < b->n_intervals; i++)
		b->cell[i] = b->cell[i] / old * n + b->cell[i] % old;
	note_kinds(s);
	return true;
}

/* There are rows for all names that come up, and cells for the kinds afterwards. */
HOT bool look_up_block(struct pass *s, struct block *b, const uint8_t *records, size_t n,
		       struct waiting *w, const int wide, const int by_label)
{
	resolve_records(s, b, records, n, w, wide, by_label);
	if (s->labels->err < 0 || s->kinds.resolver->err < 0)
		return false;
	if (__builtin_expect(s->store->names.n + 2 * BLOCK >= s->store->n_rows, 0))
		return more_rows(s, b);
	return s->store->made_planes == s->store->n_planes || summary_grow_planes(s->store);
}

/* The records of the block that are no intervals, where not all of them are hits. */
static bool odd_others(struct pass *s, const uint8_t *records, size_t n)
{
	const bool counted_hits = s->counted_hits;
	bool ok = true;
	for (size_t i = n; i-- > 0;) {
		struct mm_event e;
		mm_decode(records + i * s->p->record_size, s->p->wide, &e);
		if (e.p2 < MM_INTEGER)
			continue;
		const unsigned kind = kind_slot(s, e.kind);
		const bool hit = s->kinds.slot[kind].class == KIND_CACHE_HIT && e.p2 == MM_INSTANT;
		ok &= instant_or_integer(s, &e, kind, hit && !counted_hits);
	}
	if (s->counted_hits != counted_hits)
		note_kinds(s);
	return ok;
}

/* How many intervals from `i` on are of one thread. */
static size_t of_one_thread(struct block *b, size_t i)
{
	if (!b->threads_differ)
		return b->n_intervals - i;
	const uint32_t id = mm_u32(b->tail[i]);
	uint8_t other[4];
	mm_put32(other, ~id);
	b->tail[b->n_intervals] = other;
	size_t end = i + 1;
	while (mm_u32(b->tail[end]) == id)
		end++;
	b->tail[b->n_intervals] = NULL;
	return end - i;
}

/* The intervals of a block of its own, or they wait. */
HOT bool block_intervals(struct pass *s, struct block *b, struct waiting *w, const int wide,
			 const int by_label)
{
	for (size_t i = 0, n; i < b->n_intervals; i += n) {
		n = of_one_thread(b, i);
		struct thread *const t = summary_thread(s->store, mm_u32(b->tail[i]));
		if (!t)
			return false;
		if (wide && by_label && n == b->n_intervals) {
			*w = (struct waiting){ b, t };
			return summary_reserve_stack(t, n);
		}
		if (!(by_label ? intervals(s, t, b, i, i + n) : intervals_again(s, t, b, i, i + n)))
			return false;
	}
	return true;
}

/* Most profiles have kinds whose plane no interval is in, and reading it would take memory. As a
 * plane has a power of two of rows, the bits of all cells together tell no plane too few. */
static void note_planes(struct tare_summary_store *st, const struct block *b)
{
	uint64_t pairs = 0;
	for (size_t i = 0; i + 1 < b->n_intervals; i += 2) {
		uint64_t pair;
		memcpy(&pair, &b->cell[i], sizeof(pair));
		pairs |= pair;
	}
	const uint32_t odd = b->n_intervals % 2 ? b->cell[b->n_intervals - 1] : 0;
	const uint32_t bits = (uint32_t)pairs | (uint32_t)(pairs >> 32) | odd;
	if (__builtin_expect(bits / st->n_rows < st->used_planes, 1))
		return;
	uint32_t last = 0;
	for (size_t i = 0; i < b->n_intervals; i++)
		last = b->cell[i] > last ? b->cell[i] : last;
	if (last / st->n_rows >= st->used_planes)
		st->used_planes = last / st->n_rows + 1;
}

HOT bool block_back(struct pass *s, struct block *b, const uint8_t *records, size_t n,
		    struct waiting *w, const int wide, const int by_label)
{
	if (!look_up_block(s, b, records, n, w, wide, by_label))
		return false;
	note_planes(s->store, b);
	if (__builtin_expect(b->n_intervals + b->n_hits == n, 1))
		s->n_instants += n - b->n_intervals;
	else if (!odd_others(s, records, n))
		return false;
	return block_intervals(s, b, w, wide, by_label);
}

HOT bool run_back(struct pass *s, const struct run *run, const int wide, const int by_label)
{
	const size_t size = wide ? 32 : 24;
	struct block blocks[2];
	struct waiting w = { 0 };
	unsigned turn = 0;
	for (size_t end = run->n; end; turn ^= 1) {
		const size_t n = end < BLOCK ? end : BLOCK;
		end -= n;
		if (!block_back(s, &blocks[turn], run->records + end * size, n, &w, wide, by_label))
			return false;
	}
	stop_waiting(s, &w);
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
		if (!ok || s->labels->err < 0 || s->kinds.resolver->err < 0) {
			walk_done(&w);
			return pass_error(s);
		}
		if (progress->tell && total - run.first - told > (1u << 20)) {
			told = total - run.first;
			progress->tell(progress->arg, told, total);
		}
	}
	walk_done(&w);
	return 0;
}

static int summarize(struct pass *s, struct tare_summary *out,
		     const struct tare_summarize_options *o)
{
	s->labels = malloc(sizeof(*s->labels));
	if (!s->labels)
		return why_set(s->why, TARE_E_NOMEM, "%.120s: summary", s->p->path);
	if (o->by == TARE_BY_ARGS)		/* an event id has a dozen bytes and more */
		s->store->n_rows_at_once = s->p->streams[MM_STRINGS].size / 16;
	resolver_init(s->labels, s->p, &s->store->names,
		      o->by == TARE_BY_ARGS ? RESOLVE_ARGS : RESOLVE_LABEL, s->why);
	int err = kinds_init(&s->kinds, s->p, &s->store->names, s->why);
	if (err == 0 && !summary_grow_rows(s->store))
		err = pass_error(s);
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
		if (!summary_make_rows(out))
			err = why_set(s->why, TARE_E_NOMEM, "%.120s: summary", s->p->path);
	}
	kinds_free(&s->kinds);
	resolver_free(s->labels);
	free(s->labels);
	free(s->open.slots);
	return err;
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
	st->used_planes = 1;		/* hits are in it, too */
	struct pass pass = { .p = p, .store = st, .by = o.by, .why = why };
	err = summarize(&pass, s, &o);
	if (err < 0) {
		tare_summary_free(s);
		return err;
	}
	summary_free_sums(st);
	*out = s;
	return 0;
}
