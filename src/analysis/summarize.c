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

/* With the row of a record that is no interval: an instant of its kind is no hit. */
#define OTHER_ODD 0x80000000u
_Static_assert((MM_INSTANT & 1) && !(MM_INTEGER & 1), "the lowest bit tells an instant");

/* A kind's slot in struct kinds with what the loop over the records needs of it. */
struct kind_plane {
	uint64_t id;
	uint32_t plane;		/* what an interval's cell has beside its row */
	uint32_t odd;		/* OTHER_ODD, or 0: an instant of it is a hit */
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
	s->kind[slot] = (struct kind_plane){ s->kinds.slot[slot].id, number * s->store->n_rows,
					     class == KIND_CACHE_HIT ? 0 : OTHER_ODD };
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

#define BLOCK 256

/* The kinds of records come in no order that a branch predictor could learn, and a
 * wrong guess throws away the look-ups under way. So the records of a block are first
 * looked up, all alike, and sorted without a branch into intervals and others; only
 * then the stack is worked on. The order between intervals and others does not matter:
 * others need no stack. */
struct block {
	/* Intervals: */
	const uint8_t *tail[BLOCK];	/* the record from its thread on */
	uint32_t cell[BLOCK];
	/* Others: */
	uint32_t row[BLOCK];		/* | OTHER_ODD */
	uint32_t type[BLOCK];		/* the end's low half: MM_INSTANT or MM_INTEGER */
	size_t n_intervals, n_others;
	uint64_t late_id[BLOCK];	/* names that are looked up together at the end */
	uint32_t *late_row[BLOCK];	/* and where their rows are added */
	size_t n_late;
};

/* The innermost interval around [start, end], from `top` down. */
static size_t parent_slow(const struct thread *t, size_t top, uint64_t start, uint64_t end,
			  uint64_t *overlaps)
{
	for (; t->open_start[top] > start || end > t->open_end[top]; top--)
		*overlaps += end > t->open_start[top];
	return top;
}

/* The same. How many intervals it leaves is not to be guessed, so up to three are counted
 * without a branch, by their starts. Where more are left, or intervals are not properly one
 * inside the other, they are looked at one by one.
 *
 * Nothing is wrong as long as the interval ends no later than the top one, which then holds
 * for those below too, and no later than those that it leaves start. Where it leaves none,
 * the place above the top has one that was left before, and that starts later too; or
 * else looking at them one by one takes only time. */
HOT size_t parent_of(const struct thread *t, size_t top, uint64_t start, uint64_t end,
		     uint64_t top_start, uint64_t top_end, uint64_t *overlaps)
{
	const uint64_t *const open_start = t->open_start;
	size_t parent = top;
	parent -= start < top_start;
	parent -= start < open_start[top - 1];
	parent -= start < open_start[top - 2];
	if (__builtin_expect(end > top_end, 0) ||
	    __builtin_expect(end > open_start[parent + 1], 0) ||
	    __builtin_expect(start < open_start[parent], 0))
		return parent_slow(t, top, start, end, overlaps);
	return parent;
}

/* Where the stack of a thread is while its intervals are put on it: of the arrays, which stay
 * where they are, and what is needed for every interval. */
struct stack_top {
	struct thread open;
	struct cell *cells;
	size_t top;
	uint64_t start, end;		/* of the top one */
	uint64_t overlaps, backwards;
};

HOT struct stack_top stack_begin(const struct tare_summary_store *st, const struct thread *t)
{
	const size_t top = t->depth - 1;
	return (struct stack_top){ .open = *t, .cells = st->cells, .top = top,
				   .start = t->open_start[top], .end = t->open_end[top] };
}

HOT void stack_end(struct pass *s, struct thread *t, const struct stack_top *k)
{
	t->depth = (uint32_t)k->top + 1;
	t->start = k->open.start;
	t->end = k->open.end;
	s->overlaps += k->overlaps;
	s->backwards += k->backwards;
}

/* An interval in which the counter stood still has nothing inside: the file does not tell which
 * of several at the same value is around the others, and with a counter such as page-faults
 * there are very many of them. */
HOT void stack_put_empty(struct stack_top *k, const uint64_t at, const uint32_t own)
{
	const size_t around = parent_slow(&k->open, k->top, at, at, &k->overlaps);
	if (k->open.open_cell[around] == 0) {
		k->open.start = at < k->open.start ? at : k->open.start;
		k->open.end = at > k->open.end ? at : k->open.end;
	}
	k->cells[own].n++;
	k->top = around;
	k->start = k->open.open_start[around];
	k->end = k->open.open_end[around];
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
	const size_t around = parent_of(&k->open, k->top, start, end, k->start, k->end, &k->overlaps);
	const uint32_t parent = k->open.open_cell[around];
	if (__builtin_expect(parent == 0, 0)) {		/* else inside one seen before */
		k->open.start = start < k->open.start ? start : k->open.start;
		k->open.end = end > k->open.end ? end : k->open.end;
	}
	k->cells[parent].inner += d;
	k->cells[own].sum += d;
	k->cells[own].n++;
	k->top = around + 1;
	k->open.open_start[k->top] = k->start = start;
	k->open.open_end[k->top] = k->end = end;
	k->open.open_cell[k->top] = own;
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
		const size_t top = t->depth - 1;
		uint64_t overlaps = 0;
		const size_t parent = parent_slow(t, top, start, end, &overlaps);
		for (size_t left = top; left > parent; left--)
			*open_row(&s->open, key | t->open_cell[left] % st->n_rows) -= 1;
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
	if (__builtin_expect(!row || !summary_have_rows(st), 0))
		return false;
	if (is_instant) {
		st->cells[row].hits += row >= st->other_end || !(st->other[row].flags & ROW_COUNTED_HITS);
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
	if (is_hole(&e)) {
		s->labels->err = hole_error(s->p, s->why);
		return 0;
	}
	if (s->by != TARE_BY_ARGS)
		return row_name(s, &e, kind) + 1;
	b->late_id[b->n_late] = e.id;
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

/* One record, which is looked up whatever it is: into both lists, and counted in one. */
HOT size_t resolve_one(struct pass *s, struct block *b, const struct row_map *map, const uint8_t *r,
		       size_t n, size_t others, const int wide, const int by_label)
{
	const uint64_t id = wide ? mm_u64(r + 8) : mm_u32(r + 4);
	const struct kind_plane *const kind = &s->kind[kind_slot(s, wide ? mm_u64(r) : mm_u32(r))];
	const size_t is_interval = mm_is_interval(r, wide), tail = wide ? 16 : 8;
	uint32_t row = by_label ? row_of(map, id) : 0;
	prefetch_back(r);
	if (__builtin_expect(!row, 0))
		row = row_slow(s, r, b, is_interval ? &b->cell[n] : &b->row[others]);
	b->tail[n] = r + tail;
	b->cell[n] = row + kind->plane;
	b->row[others] = row | kind->odd;
	b->type[others] = mm_u32(r + tail + 8);
	return n + is_interval;
}

static void resolved(struct pass *s, struct block *b, size_t n_intervals, size_t n_records)
{
	b->n_intervals = n_intervals;
	b->n_others = n_records - n_intervals;
	resolve_late(s, b);
}

HOT void resolve_block(struct pass *s, struct block *b, const uint8_t *records, size_t n_records,
		       const int wide, const int by_label)
{
	const size_t size = wide ? 32 : 24;
	const struct row_map map = { ids_fast(s->p), s->labels->direct, s->labels->n_direct };
	const uint8_t *r = records + n_records * size;
	size_t n = 0;
	b->n_late = 0;
	for (size_t i = 0; i < n_records; i++) {
		r -= size;
		n = resolve_one(s, b, &map, r, n, i - n, wide, by_label);
	}
	resolved(s, b, n, n_records);
}

/* Functions of their own, so that the loop has all registers. */
static __attribute__((noinline)) void resolve_wide(struct pass *s, struct block *b,
						   const uint8_t *records, size_t n)
{
	resolve_block(s, b, records, n, 1, 1);
}

static __attribute__((noinline)) void resolve_other(struct pass *s, struct block *b,
						    const uint8_t *records, size_t n, bool by_label)
{
	if (by_label)
		resolve_block(s, b, records, n, 0, 1);
	else
		resolve_block(s, b, records, n, s->p->wide, 0);
}

/* The same while the intervals of the block before go to their thread's stack: each of these waits
 * for the one before, and the look-ups fill that time. */
static __attribute__((noinline)) void resolve_beside(struct pass *s, struct block *b,
						     const uint8_t *records, size_t n_records,
						     const struct block *before, struct thread *t)
{
	const struct row_map map = { ids_fast(s->p), s->labels->direct, s->labels->n_direct };
	const size_t n_before = before->n_intervals;
	const size_t n_both = n_before < n_records ? n_before : n_records;
	const uint8_t *r = records + n_records * 32;
	struct stack_top k = stack_begin(s->store, t);
	size_t n = 0, i = 0;
	b->n_late = 0;
	for (; i < n_both; i++) {
		r -= 32;
		n = resolve_one(s, b, &map, r, n, i - n, 1, 1);
		stack_put(&k, before->tail[i], before->cell[i]);
	}
	for (; i < n_records; i++) {
		r -= 32;
		n = resolve_one(s, b, &map, r, n, i - n, 1, 1);
	}
	for (i = n_both; i < n_before; i++)
		stack_put(&k, before->tail[i], before->cell[i]);
	stack_end(s, t, &k);
	resolved(s, b, n, n_records);
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

HOT void resolve_records(struct pass *s, struct block *b, const uint8_t *records, size_t n,
			 struct waiting *w, const int wide, const int by_label)
{
	if (wide && by_label && w->b) {
		resolve_beside(s, b, records, n, w->b, w->t);
		w->b = NULL;
	} else if (wide && by_label) {
		resolve_wide(s, b, records, n);
	} else {
		resolve_other(s, b, records, n, by_label);
	}
}

/* New names may need more rows, and then their cells are elsewhere. Afterwards no block waits. */
HOT bool look_up_block(struct pass *s, struct block *b, const uint8_t *records, size_t n,
		       struct waiting *w, const int wide, const int by_label)
{
	for (;;) {
		resolve_records(s, b, records, n, w, wide, by_label);
		if (s->labels->err < 0 || s->kinds.resolver->err < 0)
			return false;
		if (__builtin_expect(s->store->names.n < s->store->n_rows, 1))
			return s->store->made_planes == s->store->n_planes || summary_grow_planes(s->store);
		if (!summary_grow_rows(s->store))
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

/* Are all of them instants of kinds that are hits? */
static bool all_hits(const struct block *b)
{
	uint32_t odd = 0, instants = 1;
	for (size_t i = 0; i < b->n_others; i++) {
		odd |= b->row[i];
		instants &= b->type[i];
	}
	return instants && !(odd & OTHER_ODD);
}

static void hits(struct pass *s, const struct block *b)
{
	struct tare_summary_store *const st = s->store;
	for (size_t i = 0; i < b->n_others; i++)
		st->cells[b->row[i]].hits++;
	s->n_instants += b->n_others;
}

/* How many intervals from `i` on are of one thread. */
static size_t of_one_thread(const struct block *b, size_t i)
{
	const uint32_t id = mm_u32(b->tail[i]);
	size_t end = i + 1;
	while (end < b->n_intervals && mm_u32(b->tail[end]) == id)
		end++;
	return end - i;
}

/* The intervals of a block of its own, or they wait. */
HOT bool block_intervals(struct pass *s, const struct block *b, struct waiting *w, const int wide,
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

/* Most profiles have kinds whose plane no interval is in, and reading it would take memory. */
static void note_planes(struct tare_summary_store *st, const struct block *b)
{
	uint32_t last = 0;
	for (size_t i = 0; i < b->n_intervals; i++)
		last = b->cell[i] > last ? b->cell[i] : last;
	if (__builtin_expect(last / st->n_rows >= st->used_planes, 0))
		st->used_planes = last / st->n_rows + 1;
}

HOT bool block_back(struct pass *s, struct block *b, const uint8_t *records, size_t n,
		    struct waiting *w, const int wide, const int by_label)
{
	if (!look_up_block(s, b, records, n, w, wide, by_label))
		return false;
	note_planes(s->store, b);
	if (!s->counted_hits && all_hits(b))
		hits(s, b);
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
