/* Per name: how much it took by itself, with what ran inside, how often.
 *
 * The file is walked backwards, so that a parent is met before its children; each
 * thread has a stack of the intervals around the current point. An interval's
 * value is added to its own row and taken from its parent's.
 */
#include "names.h"

#include "why.h"

#include <tare/analysis.h>

#include <stdlib.h>

/* One cache line. Row 0 takes what has no parent; the row of a name is name + 1. */
struct row {
	int64_t self;
	uint64_t time, count, misses, hits, blocked;
	int64_t load, hashing;
};

enum { ROW_USED = 1, ROW_COUNTED_HITS = 2, ROW_ARTIFACT = 4 };

struct frame {
	uint64_t start, end;
	uint32_t row;
	uint32_t class;
};

struct thread {
	struct frame *stack;
	uint32_t depth, cap;
	uint64_t start, end;
	uint32_t row;		/* NO_NAME, or its name with TARE_BY_THREAD */
};

struct summary_store {
	struct names names;
	struct row *rows;
	uint64_t *artifact;	/* as rows */
	uint8_t *flags;
	uint32_t n_rows;
	struct threads threads;
	struct thread *thread;
	uint32_t n_thread;
};

struct pass {
	struct tare_profile *p;
	struct summary_store *store;
	enum tare_group_by by;
	struct resolver *labels;
	struct kinds kinds;
	uint64_t n_instants, n_integers, overlaps, backwards;
	struct tare_why *why;
};

/* A row for every name there is. */
static bool grow_rows(struct summary_store *st)
{
	uint32_t n = st->n_rows ? st->n_rows : 256;
	while (n < st->names.n + 1)
		n *= 2;
	struct row *const rows = aligned_alloc(64, n * sizeof(*rows));
	uint64_t *const artifact = realloc(st->artifact, n * sizeof(*artifact));
	if (artifact)
		st->artifact = artifact;
	uint8_t *const flags = realloc(st->flags, n);
	if (flags)
		st->flags = flags;
	if (!rows || !artifact || !flags) {
		free(rows);
		return false;
	}
	const uint32_t old = st->n_rows;
	if (old)
		memcpy(rows, st->rows, old * sizeof(*rows));
	memset(rows + old, 0, (n - old) * sizeof(*rows));
	memset(artifact + old, 0, (n - old) * sizeof(*artifact));
	memset(flags + old, 0, n - old);
	free(st->rows);
	st->rows = rows;
	st->n_rows = n;
	return true;
}

static inline bool have_rows(struct summary_store *st)
{
	return __builtin_expect(st->names.n < st->n_rows, 1) || grow_rows(st);
}

static struct thread *new_threads(struct summary_store *st)
{
	struct thread *const grown = realloc(st->thread, st->threads.n * sizeof(*grown));
	if (!grown)
		return NULL;
	for (uint32_t i = st->n_thread; i < st->threads.n; i++)
		grown[i] = (struct thread){ .row = NO_NAME, .start = UINT64_MAX };
	st->thread = grown;
	st->n_thread = st->threads.n;
	return grown;
}

static inline struct thread *thread_of(struct summary_store *st, uint32_t id)
{
	const uint32_t i = threads_index(&st->threads, id);
	if (st->n_thread != st->threads.n && !new_threads(st))
		return NULL;
	return i == UINT32_MAX ? NULL : st->thread + i;
}

/* Two frames around everything lie at the bottom of every stack, so that a look at
 * the top and the one below needs no question. */
#define BOTTOM 2

static bool grow_stack(struct thread *t)
{
	const uint32_t cap = t->cap ? 2 * t->cap : 64;
	struct frame *const stack = realloc(t->stack, cap * sizeof(*stack));
	if (!stack)
		return false;
	if (!t->stack) {
		stack[0] = stack[1] = (struct frame){ 0, UINT64_MAX, 0, KIND_GENERIC };
		t->depth = BOTTOM;
	}
	t->stack = stack;
	t->cap = cap;
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

#define HOT static inline __attribute__((always_inline))

HOT uint32_t row_name(struct pass *s, const struct mm_event *e, unsigned kind,
		      const int by_label)
{
	if (by_label)
		return resolve(s->labels, e->id);
	if (s->by == TARE_BY_KIND)
		return s->kinds.slot[kind].name;
	if (s->by == TARE_BY_THREAD)
		return thread_row(s, e->thread);
	return resolve(s->labels, e->id);	/* version 8 */
}

static void take_special(struct row *r, unsigned class, int64_t d)
{
	if (class == KIND_HASHING)
		r->hashing -= d;
	else if (class == KIND_LOAD)
		r->load -= d;
}

static void add_special(struct row *r, unsigned class, uint64_t d)
{
	switch (class) {
	case KIND_BLOCKED:
		r->time += d;
		r->blocked += d;
		return;
	case KIND_LOAD:
		r->time += d;
		r->load += (int64_t)d;
		return;
	case KIND_HASHING:	/* inside its query, whose time it already is */
		r->hashing += (int64_t)d;
		return;
	default:
		r->time += d;
		r->count++;
	}
}

static inline bool is_plain(unsigned class)
{
	return class == KIND_QUERY || class == KIND_GENERIC;
}

/* An interval with its names resolved. */
struct item {
	uint64_t start, end;
	uint32_t row, class, thread;
};

static inline bool around(const struct frame *f, uint64_t start, uint64_t end)
{
	return (f->start <= start) & (end <= f->end);
}

/* The frame around the interval, from `top` down. No or one step is done without a
 * branch, which would be guessed wrong as often as right. */
static inline struct frame *parent_of(struct frame *top, uint64_t start, uint64_t end,
				      uint64_t *overlaps)
{
	const bool in_top = around(top, start, end);
	const bool in_next = around(top - 1, start, end);
	*overlaps += !in_top & (end > top->start);
	top -= opaque(!in_top);
	if (in_top | in_next)
		return top;
	for (; !around(top, start, end); top--)
		*overlaps += end > top->start;
	return top;
}

/* The intervals of one thread that follow one another, last first. */
static bool intervals(struct pass *s, struct thread *t, const struct item *e, size_t n)
{
	struct row *const rows = s->store->rows;
	struct frame *top = t->stack + t->depth - 1;
	uint64_t first = t->start, last = t->end, overlaps = 0;
	for (const struct item *const stop = e + n; e < stop; e++) {
		const uint64_t d = e->end - e->start;
		top = parent_of(top, e->start, e->end, &overlaps);
		rows[top->row].self -= (int64_t)d;
		if (__builtin_expect(!is_plain(top->class), 0))
			take_special(&rows[top->row], top->class, (int64_t)d);
		struct row *const r = &rows[e->row];
		r->self += (int64_t)d;
		if (__builtin_expect(is_plain(e->class), 1)) {
			r->time += d;
			r->misses++;
			r->count++;
		} else {
			add_special(r, e->class, d);
			s->store->flags[e->row] |= ROW_USED;
		}
		first = e->start < first ? e->start : first;
		last = e->end > last ? e->end : last;
		if (__builtin_expect(++top == t->stack + t->cap, 0)) {
			t->depth = t->cap;
			if (!grow_stack(t))
				return false;
			top = t->stack + t->depth;
		}
		*top = (struct frame){ e->start, e->end, e->row, e->class };
	}
	t->depth = (uint32_t)(top - t->stack) + 1;
	t->start = first;
	t->end = last;
	s->overlaps += overlaps;
	return true;
}

HOT bool other(struct pass *s, const struct mm_event *e, unsigned kind, const int by_label)
{
	const unsigned class = s->kinds.slot[kind].class;
	struct summary_store *const st = s->store;
	const bool is_instant = e->p2 == MM_INSTANT;
	s->n_instants += is_instant;
	s->n_integers += !is_instant;
	if (is_instant ? class != KIND_CACHE_HIT
		       : class != KIND_ARTIFACT && class != KIND_CACHE_HIT_COUNT)
		return true;
	const uint32_t row = row_name(s, e, kind, by_label) + 1;
	if (__builtin_expect(!row || !have_rows(st), 0))
		return false;
	if (is_instant) {
		st->rows[row].hits += !(st->flags[row] & ROW_COUNTED_HITS);
	} else if (class == KIND_ARTIFACT) {
		st->flags[row] |= ROW_ARTIFACT;
		st->artifact[row] += e->p1;
	} else {
		st->flags[row] |= ROW_USED | ROW_COUNTED_HITS;
		st->rows[row].hits += e->p1;
	}
	return true;
}

#define BLOCK 512

/* The kinds of records come in no order that a branch predictor could learn, and a
 * wrong guess throws away the look-ups under way. So a block is first sorted, with
 * no branch, into intervals and others, then the names are looked up, and only
 * then the stack is worked on. The order between intervals and others does not
 * matter: others need no stack. */
struct block {
	uint16_t interval[BLOCK], other[BLOCK];
	size_t n_intervals, n_others;
	struct item item[BLOCK];
};

HOT void sort_block(struct block *b, const uint8_t *records, size_t n, const int wide)
{
	const size_t size = wide ? 32 : 24;
	size_t n_intervals = 0, n_others = 0;
	for (size_t i = n; i-- > 0;) {
		struct mm_event e;
		mm_decode(records + i * size, wide, &e);
		const bool is_interval = e.p2 < MM_INTEGER;
		b->interval[n_intervals] = (uint16_t)i;
		b->other[n_others] = (uint16_t)i;
		n_intervals += is_interval;
		n_others += !is_interval;
	}
	b->n_intervals = n_intervals;
	b->n_others = n_others;
}

HOT bool resolve_block(struct pass *s, struct block *b, const uint8_t *records, const int wide,
		       const int by_label)
{
	const size_t size = wide ? 32 : 24;
	uint64_t backwards = 0;
	bool ok = true;
	for (size_t i = 0, n = b->n_intervals; i < n; i++) {
		struct mm_event e;
		mm_decode(records + b->interval[i] * size, wide, &e);
		const unsigned kind = kinds_slot(&s->kinds, e.kind);
		const bool back = e.p2 < e.p1;
		const uint32_t row = row_name(s, &e, kind, by_label) + 1;
		backwards += back;
		ok &= row != 0;
		b->item[i] = (struct item){ e.p1, back ? e.p1 : e.p2, row,
					    s->kinds.slot[kind].class, e.thread };
	}
	s->backwards += backwards;
	return ok && have_rows(s->store);
}

HOT bool block_back(struct pass *s, const uint8_t *records, size_t n, const int wide,
		    const int by_label)
{
	const size_t size = wide ? 32 : 24;
	struct block b;
	bool ok = true;
	sort_block(&b, records, n, wide);
	for (size_t i = 0; i < b.n_others; i++) {
		struct mm_event e;
		mm_decode(records + b.other[i] * size, wide, &e);
		ok &= other(s, &e, kinds_slot(&s->kinds, e.kind), by_label);
	}
	if (!ok || !resolve_block(s, &b, records, wide, by_label))
		return false;
	for (size_t i = 0, end; i < b.n_intervals; i = end) {
		const uint32_t id = b.item[i].thread;
		struct thread *const t = thread_of(s->store, id);
		for (end = i; end < b.n_intervals && b.item[end].thread == id; )
			end++;
		if (!t || (!t->stack && !grow_stack(t)) || !intervals(s, t, &b.item[i], end - i))
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
		const bool ok = !s->p->wide ? run_back(s, &run, 0, 0)
				: by_label ? run_back(s, &run, 1, 1) : run_back(s, &run, 1, 0);
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

static int by_self(const void *a, const void *b)
{
	const struct tare_summary_row *const x = a, *const y = b;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_artifact(const void *a, const void *b)
{
	return strcmp(((const struct tare_artifact *)a)->name,
		      ((const struct tare_artifact *)b)->name);
}

static bool collect(struct tare_summary *s)
{
	const struct summary_store *const st = s->store;
	const uint32_t n = st->names.n < st->n_rows ? st->names.n : st->n_rows ? st->n_rows - 1 : 0;
	s->rows = calloc(n + 1, sizeof(*s->rows));
	s->artifacts = calloc(n + 1, sizeof(*s->artifacts));
	if (!s->rows || !s->artifacts)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct row *const r = &st->rows[i + 1];
		const unsigned flags = st->flags[i + 1];
		const char *const name = names_text(&st->names, i);
		if ((flags & ROW_USED) || r->count || r->hits)
			s->rows[s->n_rows++] = (struct tare_summary_row){
				name, r->self, r->time, r->count, r->misses, r->hits,
				r->blocked, r->load, r->hashing };
		if (flags & ROW_ARTIFACT)
			s->artifacts[s->n_artifacts++] =
				(struct tare_artifact){ name, st->artifact[i + 1] };
	}
	qsort(s->rows, s->n_rows, sizeof(*s->rows), by_self);
	qsort(s->artifacts, s->n_artifacts, sizeof(*s->artifacts), by_artifact);
	for (uint32_t i = 0; i < st->n_thread; i++)
		if (st->thread[i].start <= st->thread[i].end) {
			s->total += st->thread[i].end - st->thread[i].start;
			s->n_threads++;
		}
	return true;
}

static int summarize(struct pass *s, struct tare_summary *out,
		     const struct tare_summarize_opts *o)
{
	s->labels = malloc(sizeof(*s->labels));
	if (!s->labels)
		return why_set(s->why, TARE_E_NOMEM, "%.120s: summary", s->p->path);
	resolver_init(s->labels, s->p, &s->store->names,
		      o->by == TARE_BY_ARGS ? RESOLVE_ARGS : RESOLVE_LABEL, s->why);
	int err = kinds_init(&s->kinds, s->p, &s->store->names, s->why);
	if (err == 0)
		err = walk_all(s, &o->progress);
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
	return err;
}

int tare_summarize(struct tare_profile *p, const struct tare_summarize_opts *o,
		   struct tare_summary **out, struct tare_why *why)
{
	*out = NULL;
	struct tare_summary *const s = calloc(1, sizeof(*s));
	struct summary_store *const st = calloc(1, sizeof(*st));
	if (!s || !st) {
		free(s);
		free(st);
		return why_set(why, TARE_E_NOMEM, "%.120s: summary", p->path);
	}
	s->store = st;
	s->info = &p->info;
	struct pass pass = { .p = p, .store = st, .by = o->by, .why = why };
	const int err = summarize(&pass, s, o);
	if (err < 0) {
		tare_summary_free(s);
		return err;
	}
	*out = s;
	return 0;
}

void tare_summary_free(struct tare_summary *s)
{
	if (!s)
		return;
	struct summary_store *const st = s->store;
	for (uint32_t i = 0; i < st->n_thread; i++)
		free(st->thread[i].stack);
	free(st->thread);
	threads_free(&st->threads);
	free(st->rows);
	free(st->artifact);
	free(st->flags);
	names_free(&st->names);
	free(st);
	free(s->rows);
	free(s->artifacts);
	free(s);
}
