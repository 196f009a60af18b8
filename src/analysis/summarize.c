/* Per name: how much it took by itself, with what ran inside, how often.
 *
 * The file is walked backwards, so that a parent is met before its children; each
 * thread has a stack of the intervals around the current point. An interval's
 * value is added to its own row and taken from its parent's.
 */
#include "names.h"

#include "options-copy.h"
#include "why.h"
#include "word-sort.h"

#include <tare/analysis.h>

#include <stdlib.h>

/* What the intervals of one name took. Those of the classes that a summary tells apart
 * have a cell each, so that adding an interval is the same for all: a plane of cells
 * per class, in each a cell per name. Cell 0 takes what has no parent; the cell of
 * a name in the first plane is name + 1. */
struct cell {
	uint64_t sum, n;
	uint64_t inner;		/* of the intervals right inside */
	uint64_t hits;		/* first plane only */
};

enum plane { PLANE_PLAIN, PLANE_OTHER, PLANE_BLOCKED, PLANE_LOAD, PLANE_HASHING, PLANES };

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
	struct cell *cells;	/* PLANES times n_rows */
	uint64_t *again;	/* by row: of what is inside an interval of the same row */
	uint64_t *artifact;	/* by row */
	uint8_t *flags;		/* by row */
	uint32_t n_rows;
	struct threads threads;
	struct thread *thread;
	uint32_t n_thread, cap_thread;
};

/* How many intervals of each row are open in each thread: by thread << 32 | row. */
struct open_rows {
	struct open_row { uint64_t key; uint32_t n; bool used; } *slots;
	uint32_t n, n_slots;
};

/* A kind's slot in struct kinds with what the loop over the records needs of it. */
struct kind_plane {
	uint64_t id;
	uint32_t plane;		/* what an interval's cell has beside its row */
	bool hits;		/* an instant of it is a hit */
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

/* More of an array whose tail is zero. */
static void *grown(void *old, size_t n_old, size_t n, size_t size)
{
	char *const a = realloc(old, n * size);
	if (a)
		memset(a + n_old * size, 0, (n - n_old) * size);
	return a;
}

static bool grow_planes(struct tare_summary_store *st, uint32_t n)
{
	struct cell *const cells = calloc((size_t)PLANES * n, sizeof(*cells));
	if (!cells)
		return false;
	const uint32_t old = st->n_rows;
	for (size_t plane = 0; old && plane < PLANES; plane++)
		memcpy(cells + plane * n, st->cells + plane * old, old * sizeof(*cells));
	free(st->cells);
	st->cells = cells;
	for (uint32_t i = 0; i < st->n_thread; i++)
		for (uint32_t d = 0; d < st->thread[i].depth; d++) {
			uint32_t *const c = &st->thread[i].stack[d].cell;
			*c = old ? *c / old * n + *c % old : 0;
		}
	return true;
}

/* A row for every name there is. */
static bool grow_rows(struct tare_summary_store *st)
{
	const uint32_t old = st->n_rows;
	uint32_t n = old ? old : 256;
	while (n < st->names.n + 1)
		n *= 2;
	if (n > UINT32_MAX / PLANES)
		return false;
	uint64_t *const artifact = grown(st->artifact, old, n, sizeof(*artifact));
	st->artifact = artifact ? artifact : st->artifact;
	uint64_t *const again = grown(st->again, old, n, sizeof(*again));
	st->again = again ? again : st->again;
	uint8_t *const flags = grown(st->flags, old, n, 1);
	st->flags = flags ? flags : st->flags;
	if (!artifact || !again || !flags || !grow_planes(st, n))
		return false;
	st->n_rows = n;
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

static void note_kind(struct pass *s, unsigned slot)
{
	const enum kind_class class = s->kinds.slot[slot].class;
	s->kind[slot] = (struct kind_plane){ s->kinds.slot[slot].id,
					     plane_of[class] * s->store->n_rows,
					     class == KIND_CACHE_HIT };
}

/* Rows have moved: the planes begin elsewhere. */
static void note_kinds(struct pass *s)
{
	for (unsigned i = 0; i < 64; i++)
		note_kind(s, i);
}

static void new_kind(struct pass *s, uint64_t id)
{
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
	uint64_t start, end;
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
		const uint64_t start = e->start, end = e->end;
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
		uint64_t overlaps = 0;
		const struct frame *const parent = parent_of((struct frame *)top, e->start, e->end,
							     &overlaps);
		for (const struct frame *f = top; f > parent; f--)
			*open_row(&s->open, key | f->cell % st->n_rows) -= 1;
		uint32_t *const open = open_row(&s->open, key | e->cell % st->n_rows);
		if (!open)
			return false;
		if (*open && e->cell / st->n_rows != PLANE_HASHING)
			st->again[e->cell % st->n_rows] += e->end - e->start;
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
		st->cells[row].hits += !(st->flags[row] & ROW_COUNTED_HITS);
	} else if (class == KIND_ARTIFACT) {
		st->flags[row] |= ROW_ARTIFACT;
		st->artifact[row] += e->p1;
	} else {
		st->flags[row] |= ROW_USED | ROW_COUNTED_HITS;
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
	uint32_t other[BLOCK];		/* rows */
	size_t n_intervals, n_others;
	bool one_thread;
	bool odd;			/* others that are not simply hits */
};

/* Has the event a row at all? */
static bool wants_row(const struct pass *s, const struct mm_event *e, unsigned kind)
{
	const enum kind_class class = s->kinds.slot[kind].class;
	if (e->p2 == MM_INSTANT)
		return class == KIND_CACHE_HIT;
	return e->p2 < MM_INTEGER || class == KIND_ARTIFACT || class == KIND_CACHE_HIT_COUNT;
}

/* Row 0: the event needs none, or there is an error. */
static __attribute__((noinline)) uint32_t row_slow(struct pass *s, const struct mm_event *e,
						   unsigned kind)
{
	return wants_row(s, e, kind) ? row_name(s, e, kind) + 1 : 0;
}

HOT void resolve_block(struct pass *s, struct block *b, const uint8_t *records, size_t n,
		       const int wide, const int by_label)
{
	const size_t size = wide ? 32 : 24;
	const uint32_t thread = mm_u32(records + (wide ? 16 : 8));
	const uint32_t *const direct = s->labels->direct;
	const uint64_t n_direct = s->labels->n_direct;
	uint32_t differ = 0;
	uint64_t backwards = 0;
	size_t n_intervals = 0, n_others = 0, n_odd = 0;
	for (const uint8_t *r = records + n * size; r > records; ) {
		struct mm_event e;
		r -= size;
		prefetch_back(r);
		mm_decode(r, wide, &e);
		const unsigned kind = kind_slot(s, e.kind);
		const uint64_t addr = by_label ? strings_addr_fast(s->p, e.id) : 0;
		uint32_t row = by_label ? direct[addr < n_direct ? addr : 0] >> 1 : 0;
		if (__builtin_expect(!row, 0))
			row = row_slow(s, &e, kind);
		const bool is_interval = e.p2 < MM_INTEGER, back = e.p2 < e.p1;
		const bool is_hit = (e.p2 == MM_INSTANT) & s->kind[kind].hits;
		differ |= e.thread ^ thread;
		b->item[n_intervals] = (struct item){ e.p1, back ? e.p1 : e.p2,
						      row + s->kind[kind].plane, e.thread };
		b->other[n_others] = row;
		n_intervals += is_interval;
		n_others += !is_interval;
		n_odd += !(is_interval | is_hit);
		backwards += back & is_interval;
	}
	b->n_intervals = n_intervals;
	b->n_others = n_others;
	b->one_thread = !differ;
	b->odd = n_odd != 0;
	s->backwards += backwards;
}

/* New names may need more rows, and then their cells are elsewhere. */
HOT bool look_up_block(struct pass *s, struct block *b, const uint8_t *records, size_t n,
		       const int wide, const int by_label)
{
	const uint64_t backwards = s->backwards;
	for (;;) {
		resolve_block(s, b, records, n, wide, by_label);
		if (s->labels->err < 0 || s->kinds.resolver->err < 0)
			return false;
		if (__builtin_expect(s->store->names.n < s->store->n_rows, 1))
			return true;
		if (!grow_rows(s->store))
			return false;
		note_kinds(s);
		s->backwards = backwards;
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

static void hits(struct pass *s, const uint32_t *row, size_t n)
{
	struct tare_summary_store *const st = s->store;
	for (size_t i = 0; i < n; i++)
		st->cells[row[i]].hits += !(st->flags[row[i]] & ROW_COUNTED_HITS);
	s->n_instants += n;
}

HOT bool block_back(struct pass *s, const uint8_t *records, size_t n, const int wide,
		    const int by_label)
{
	struct block b;
	if (!look_up_block(s, &b, records, n, wide, by_label))
		return false;
	if (!b.odd)
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

/* What the rows are sorted by: self values, the largest first, then names. */
struct row_key {
	int64_t self;
	size_t off;			/* of the name in `texts` */
	uint32_t len;
};

struct row_keys {
	struct row_key *key;
	const char *texts;
};

static bool row_word(const void *arg, uint32_t row, unsigned i, uint64_t *word)
{
	const struct row_keys *const all = arg;
	const struct row_key *const k = &all->key[row];
	if (i)
		return sized_text_word(all->texts + k->off, k->len, i - 1, word);
	*word = descending(k->self);
	return true;
}

static void row_ahead(const void *arg, uint32_t row, unsigned stage)
{
	const struct row_keys *const all = arg;
	if (stage)
		__builtin_prefetch(all->texts + all->key[row].off);
	else
		__builtin_prefetch(&all->key[row]);
}

#define AHEAD 8		/* rows: there may be millions */

/* Rows in the order of `order`, in place of those there are. */
static bool reorder(struct tare_summary *s, const uint32_t *order)
{
	struct tare_summary_row *const rows = malloc((s->n_rows + 1) * sizeof(*rows));
	if (!rows)
		return false;
	for (size_t i = 0; i < s->n_rows; i++) {
		if (i + AHEAD < s->n_rows)
			__builtin_prefetch(&s->rows[order[i + AHEAD]]);
		rows[i] = s->rows[order[i]];
	}
	free(s->rows);
	s->rows = rows;
	return true;
}

static bool sort_rows(struct tare_summary *s, struct row_keys *keys)
{
	uint32_t *const order = malloc((s->n_rows + 1) * sizeof(*order));
	for (size_t i = 0; order && i < s->n_rows; i++)
		order[i] = (uint32_t)i;
	const bool ok = order && word_sort(order, s->n_rows, row_word, row_ahead, keys) &&
			reorder(s, order);
	free(order);
	return ok;
}

static int by_artifact(const void *a, const void *b)
{
	return strcmp(((const struct tare_artifact *)a)->name,
		      ((const struct tare_artifact *)b)->name);
}

/* A row from its cells; false: it has nothing. */
static bool add_up(const struct tare_summary_store *st, uint32_t row, struct tare_summary_row *out)
{
	const struct cell *cell[PLANES];
	bool any = st->flags[row] & ROW_USED;
	*out = (struct tare_summary_row){ 0 };
	for (unsigned plane = 0; plane < PLANES; plane++) {
		const struct cell *const c = &st->cells[(size_t)plane * st->n_rows + row];
		cell[plane] = c;
		any |= c->n || c->hits;
		out->self += (int64_t)(c->sum - c->inner);
		/* Hashing is inside its query, whose time it already is. */
		out->time += plane == PLANE_HASHING ? 0 : c->sum;
	}
	out->time -= st->again[row];
	out->misses = cell[PLANE_PLAIN]->n;
	out->count = cell[PLANE_PLAIN]->n + cell[PLANE_OTHER]->n;
	out->hits = cell[PLANE_PLAIN]->hits;
	out->blocked = cell[PLANE_BLOCKED]->sum;
	out->load = (int64_t)(cell[PLANE_LOAD]->sum - cell[PLANE_LOAD]->inner);
	out->hashing = (int64_t)(cell[PLANE_HASHING]->sum - cell[PLANE_HASHING]->inner);
	return any;
}

static bool collect(struct tare_summary *s)
{
	const struct tare_summary_store *const st = s->store;
	const uint32_t n = st->names.n < st->n_rows ? st->names.n : st->n_rows ? st->n_rows - 1 : 0;
	struct row_keys keys = { malloc((n + 1) * sizeof(*keys.key)), st->names.arena.data };
	s->rows = malloc((n + 1) * sizeof(*s->rows));
	s->artifacts = calloc(n + 1, sizeof(*s->artifacts));
	bool ok = s->rows && s->artifacts && keys.key;
	for (uint32_t i = 0; ok && i < n; i++) {
		const unsigned flags = st->flags[i + 1];
		const struct name *const name = &st->names.list[i];
		struct tare_summary_row *const row = &s->rows[s->n_rows];
		if (add_up(st, i + 1, row)) {
			row->name = keys.texts + name->off;
			keys.key[s->n_rows++] = (struct row_key){ row->self, name->off, name->len };
		}
		if (flags & ROW_ARTIFACT)
			s->artifacts[s->n_artifacts++] = (struct tare_artifact){
				keys.texts + name->off, st->artifact[i + 1] };
	}
	ok = ok && sort_rows(s, &keys);
	free(keys.key);
	if (!ok)
		return false;
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

/* Everything but the texts: the rows have the sums. */
static void free_sums(struct tare_summary_store *st)
{
	for (uint32_t i = 0; i < st->n_thread; i++)
		free(st->thread[i].stack);
	free(st->thread);
	threads_free(&st->threads);
	free(st->cells);
	free(st->again);
	free(st->artifact);
	free(st->flags);
	free(st->names.slots);
	*st = (struct tare_summary_store){ .names = st->names };
	st->names.slots = NULL;
	st->names.n_slots = 0;
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
	names_free(&st->names);
	free(st);
	free(s->rows);
	free(s->artifacts);
	free(s);
}
