#include "line-up.h"

#include "why.h"

#include <stdlib.h>

#define BLOCK 256
#define WINDOW_FIRST 4096u
#define WINDOW_MAX (1u << 20)
#define DIFFERENCES_MAX 65536u

/* Where the interval under way is in each run: `at`, or the same place in a block. */
struct place {
	const size_t *at;
	size_t i;
};

int line_up_no_memory(struct line_up *s)
{
	return why_set(s->why, TARE_E_NOMEM, "aggregating");
}

/* The few smallest (largest) values and how often each was. */
static void extreme_insert(struct tare_extremes *e, size_t at, size_t limit,
			   const struct tare_extreme *x)
{
	if (e->n == limit)
		e->n--;
	memmove(&e->list[at + 1], &e->list[at], (e->n - at) * sizeof(*e->list));
	e->list[at] = *x;
	e->n++;
}

static void add_smallest(struct tare_extremes *e, size_t limit, const struct tare_extreme *x)
{
	size_t at = 0;
	while (at < e->n && e->list[at].value < x->value)
		at++;
	if (at < e->n && e->list[at].value == x->value)
		e->list[at].count++;
	else if (at < limit)
		extreme_insert(e, at, limit, x);
}

/* Ascending too: the least of the largest is first, and leaves first. */
static void add_largest(struct tare_extremes *e, size_t limit, const struct tare_extreme *x)
{
	size_t at = e->n;
	while (at && e->list[at - 1].value > x->value)
		at--;
	if (at && e->list[at - 1].value == x->value) {
		e->list[at - 1].count++;
		return;
	}
	if (e->n < limit) {
		memmove(&e->list[at + 1], &e->list[at], (e->n - at) * sizeof(*e->list));
		e->list[at] = *x;
		e->n++;
	} else if (at) {
		memmove(&e->list[0], &e->list[1], (at - 1) * sizeof(*e->list));
		e->list[at - 1] = *x;
	}
}

static inline bool wanted_smallest(const struct tare_extremes *e, size_t limit, uint64_t v)
{
	return e->n < limit || v <= e->list[e->n - 1].value;
}

static inline bool wanted_largest(const struct tare_extremes *e, size_t limit, uint64_t v)
{
	return e->n < limit || v >= e->list[0].value;
}

static inline unsigned bucket_of(uint64_t range)
{
	return range ? 64 - (unsigned)__builtin_clzll(range * 2 - 1) : 0;
}

static struct tare_extreme extreme(const struct line_up *s, const struct point *early,
				   const struct point *late, uint64_t value)
{
	return (struct tare_extreme){ .value = value, .count = 1, .thread = s->thread,
				      .from = early->record, .to = late->record,
				      .parent = point_parent(early) };
}

size_t outlier_of(const int64_t *v, size_t n)
{
	if (n < 3)
		return 0;
	size_t least = v[0] > v[1], most = !least;
	int64_t second_least = v[most], second_most = v[least];
	for (size_t r = 2; r < n; r++) {
		if (v[r] < v[least]) {
			second_least = v[least];
			least = r;
		} else if (v[r] < second_least) {
			second_least = v[r];
		}
		if (v[r] > v[most]) {
			second_most = v[most];
			most = r;
		} else if (v[r] > second_most) {
			second_most = v[r];
		}
	}
	const int64_t below = second_least - v[least], above = v[most] - second_most;
	return below == above ? 0 : below > above ? least + 1 : most + 1;
}

static size_t outlier_at(struct line_up *s, const struct place *where)
{
	for (size_t r = 0; r < s->n; r++) {
		const struct points *const f = &s->feed[r];
		const size_t i = where->at ? where->at[r] : where->i;
		const struct point *const early = &f->buf[f->head + i];
		const struct point *const late = where->at || !i ? &s->prev[r] : early - 1;
		s->value[r] = late->time < early->time ? 0 : (int64_t)(late->time - early->time);
	}
	return outlier_of(s->value, s->n);
}

/* The event that the interval lies right inside of: the one that starts it, or else the one
 * around its first point. */
static void add_to_name(struct line_up *s, const struct point *early, uint64_t range)
{
	struct tare_aggregate_store *const st = s->st;
	const uint64_t owner = point_type(early) == POINT_START ? point_record(early)
								 : point_parent(early);
	if (owner != s->last_owner) {
		s->last_owner = owner;
		s->last_row = owner == NO_RECORD ? 0 : points_row(&st->run[0], owner);
	}
	if (s->last_row >= st->n_varied) {
		const uint32_t n = 2 * s->last_row + 64;
		struct tare_name_variation *const more = realloc(st->varied, n * sizeof(*more));
		if (!more) {
			st->run[0].err = line_up_no_memory(s);
			return;
		}
		memset(more + st->n_varied, 0, (n - st->n_varied) * sizeof(*more));
		st->varied = more;
		st->n_varied = n;
	}
	struct tare_name_variation *const v = &st->varied[s->last_row];
	v->n++;
	v->sum += range;
	v->largest = range > v->largest ? range : v->largest;
}

/* Small ranges, which nearly all are, are only counted, and join the lists at the end;
 * here the first of its size is noted, or a large one. */
static void add_range(struct line_up *s, const struct point *early, const struct point *late,
		      uint64_t range, const struct place *where)
{
	struct tare_aggregate *const a = s->a;
	const size_t limit = s->st->limit;
	struct tare_extreme x = extreme(s, early, late, range);
	if (range < SMALL_RANGES) {
		x.outlier = outlier_at(s, where);
		s->st->small[range] = x;
		return;
	}
	a->histogram[bucket_of(range)]++;
	const bool small = wanted_smallest(&a->smallest_range, limit, range);
	const bool large = wanted_largest(&a->largest_range, limit, range);
	if (small || large)
		x.outlier = outlier_at(s, where);
	if (small)
		add_smallest(&a->smallest_range, limit, &x);
	if (large)
		add_largest(&a->largest_range, limit, &x);
}

void line_up_end(struct line_up *s)
{
	struct tare_aggregate *const a = s->a;
	for (unsigned i = 0; i < SMALL_RANGES; i++) {
		struct tare_extreme *const x = &s->st->small[i];
		x->count = s->st->n_small[i];
		if (!x->count)
			continue;
		a->histogram[bucket_of(i)] += x->count;
		add_smallest(&a->smallest_range, s->st->limit, x);
		add_largest(&a->largest_range, s->st->limit, x);
	}
}

static void add_durations(struct line_up *s, const struct point *early, const struct point *late,
			  uint64_t min, uint64_t max)
{
	const size_t limit = s->st->limit;
	struct tare_extreme x = extreme(s, early, late, min);
	if (wanted_smallest(&s->a->smallest, limit, min))
		add_smallest(&s->a->smallest, limit, &x);
	x.value = max;
	if (wanted_largest(&s->a->largest, limit, max))
		add_largest(&s->a->largest, limit, &x);
	if (s->a->smallest.n == limit)
		s->least_wanted = s->a->smallest.list[limit - 1].value;
	if (s->a->largest.n == limit)
		s->most_wanted = s->a->largest.list[0].value;
}

/* One interval of the first run, from `early` to `late`, with its extremes. */
static inline void add_interval(struct line_up *s, const struct point *early,
				const struct point *late, uint64_t min, uint64_t max,
				const size_t *at, size_t i)
{
	const uint64_t range = max - min;
	if (__builtin_expect(range >= SMALL_RANGES, 0) ||
	    __builtin_expect(s->st->n_small[range]++ == 0, 0))
		add_range(s, early, late, range, &(struct place){ at, i });
	if (__builtin_expect(s->o->by_name && range, 0))
		add_to_name(s, early, range);
	if (__builtin_expect((min <= s->least_wanted) | (max >= s->most_wanted), 0))
		add_durations(s, early, late, min, max);
}

static inline uint64_t distance(struct line_up *s, const struct point *early,
				const struct point *late)
{
	if (__builtin_expect(late->time < early->time, 0)) {
		s->negative++;
		return 0;
	}
	return late->time - early->time;
}

/* How many points from the head are alike in all runs, up to `n`. */
static size_t alike(const struct line_up *s, size_t n)
{
	const struct point *const first = s->feed[0].buf + s->feed[0].head;
	for (size_t r = 1; r < s->n; r++) {
		const struct point *const other = s->feed[r].buf + s->feed[r].head;
		size_t i = 0;
		while (i < n && first[i].key == other[i].key)
			i++;
		n = i;
	}
	return n;
}

/* The interval that ends at point `i` of two runs, where it is more than counted. */
static __attribute__((noinline)) void add_of_two(struct line_up *s, size_t i, uint64_t x, uint64_t y)
{
	const struct point *const early = s->feed[0].buf + s->feed[0].head + i;
	s->negative += (x >> 63) + (y >> 63);
	x = x >> 63 ? 0 : x;
	y = y >> 63 ? 0 : y;
	add_interval(s, early, i ? early - 1 : &s->prev[0], x < y ? x : y, x < y ? y : x, NULL, i);
}

/* Of two runs, most often all that there are, in one pass: points [from, most) from the heads, as
 * long as they are alike. Returns where they part. A value has 48 bits. */
static size_t compare_two(struct line_up *s, size_t from, size_t most)
{
	const struct point *const p = s->feed[0].buf + s->feed[0].head;
	const struct point *const q = s->feed[1].buf + s->feed[1].head;
	if (most && p->key != q->key)
		return 0;
	uint64_t late_p = from && most ? p->time : s->prev[0].time;
	uint64_t late_q = from && most ? q->time : s->prev[1].time;
	uint64_t *const n_small = s->st->n_small;
	const uint64_t end_small = s->o->by_name ? 1 : SMALL_RANGES;	/* nothing varies below */
	size_t i = from;
	for (; i < most && p[i].key == q[i].key; i++) {
		const uint64_t x = late_p - p[i].time, y = late_q - q[i].time;
		const uint64_t min = x < y ? x : y, max = x < y ? y : x;
		late_p = p[i].time;
		late_q = q[i].time;
		if (__builtin_expect((int64_t)max < 0, 0) ||
		    __builtin_expect(max - min >= end_small, 0) ||
		    __builtin_expect(n_small[max - min] == 0, 0) ||
		    __builtin_expect(min <= s->least_wanted, 0) ||
		    __builtin_expect(max >= s->most_wanted, 0))
			add_of_two(s, i, x, y);
		else
			n_small[max - min]++;
	}
	return i < most ? i : most;
}

/* The same of any number of runs, one after the other. */
static void compare_many(struct line_up *s, size_t from, size_t n)
{
	uint64_t min[BLOCK], max[BLOCK];
	for (size_t r = 0; r < s->n; r++) {
		const struct points *const f = &s->feed[r];
		const struct point *const p = f->buf + f->head;
		const struct point *late = from ? &p[0] : &s->prev[r];
		if (r == 0) {
			for (size_t i = from; i < n; late = &p[i++])
				min[i] = max[i] = distance(s, &p[i], late);
			continue;
		}
		for (size_t i = from; i < n; late = &p[i++]) {
			const uint64_t d = distance(s, &p[i], late);
			min[i] = d < min[i] ? d : min[i];
			max[i] = d > max[i] ? d : max[i];
		}
	}
	const struct point *const p = s->feed[0].buf + s->feed[0].head;
	for (size_t i = from; i < n; i++)
		add_interval(s, &p[i], i ? &p[i - 1] : &s->prev[0], min[i], max[i], NULL, i);
}

/* Up to `most` (<= BLOCK) points from the heads, as long as they are alike in all runs; returns
 * how many that are. */
static size_t compare_block(struct line_up *s, size_t most)
{
	const size_t from = !s->has_prev;	/* the first point of all ends no interval */
	const size_t n = s->n == 2 ? compare_two(s, from, most) : alike(s, most);
	if (s->n != 2)
		compare_many(s, from, n);
	s->a->n_intervals += n > from ? n - from : 0;
	for (size_t r = 0; n && r < s->n; r++) {
		struct points *const f = &s->feed[r];
		s->prev[r] = f->buf[f->head + n - 1];
		f->head += n;
	}
	s->has_prev |= n > 0;
	return n;
}

static int fill(struct line_up *s, size_t want, size_t *least, bool *ended)
{
	*least = SIZE_MAX;
	*ended = true;
	for (size_t r = 0; r < s->n; r++) {
		struct points *const f = &s->feed[r];
		if (f->tail - f->head < want && !f->done && !points_fill(f, want))
			return f->run->err;
		const size_t have = f->tail - f->head;
		*least = have < *least ? have : *least;
		*ended &= f->done;
	}
	return 0;
}

/* An event that not all runs share: its End or Instant counts for it. */
static int note_difference(struct line_up *s, size_t run, const struct point *p)
{
	struct tare_aggregate_store *const st = s->st;
	if (point_type(p) == POINT_START)
		return 0;
	struct buf text = { 0 };
	const int err = points_describe(s->a->runs[run], point_record(p), &text, s->why);
	if (err < 0) {
		buf_free(&text);
		return err;
	}
	uint32_t name = names_find(&st->differing, text.data, text.len);
	if (name == NO_NAME && st->differing.n == DIFFERENCES_MAX) {
		s->a->n_more_differences++;
		buf_free(&text);
		return 0;
	}
	if (name == NO_NAME)
		name = names_add(&st->differing, text.data, text.len);
	buf_free(&text);
	if (name == NO_NAME)
		return line_up_no_memory(s);
	if (name >= st->n_differing) {
		const uint32_t n = st->n_differing ? 2 * st->n_differing : 64;
		uint64_t *const counts = realloc(st->counts, n * s->n * sizeof(*counts));
		if (!counts)
			return line_up_no_memory(s);
		memset(counts + st->n_differing * s->n, 0,
		       (n - st->n_differing) * s->n * sizeof(*counts));
		st->counts = counts;
		st->n_differing = n;
	}
	st->counts[name * s->n + run]++;
	return 0;
}

/* The points [from, to) of every run are not shared. */
static int note_region(struct line_up *s, const size_t *from, const size_t *to)
{
	bool any = false;
	for (size_t r = 0; r < s->n; r++) {
		const struct points *const f = &s->feed[r];
		for (size_t i = from[r]; i < to[r]; i++) {
			const int err = note_difference(s, r, &f->buf[f->head + i]);
			if (err < 0)
				return err;
			any = true;
		}
	}
	s->a->n_regions += any;
	return 0;
}

/* The next point that all runs share; at: its place in each. */
static void shared_point(struct line_up *s, const size_t *at)
{
	uint64_t min = UINT64_MAX, max = 0;
	for (size_t r = 0; r < s->n; r++) {
		struct points *const f = &s->feed[r];
		const uint64_t d = distance(s, &f->buf[f->head + at[r]], &s->prev[r]);
		min = d < min ? d : min;
		max = d > max ? d : max;
	}
	s->a->n_intervals++;
	add_interval(s, &s->feed[0].buf[s->feed[0].head + at[0]], &s->prev[0], min, max, at, 0);
}

/* Goes along the first run's window; compares between neighbours, notes the rest. */
static int use_alignment(struct line_up *s, struct alignment *al, size_t *next, size_t *at)
{
	size_t used = al[1].used_a;
	for (size_t r = 1; r < s->n; r++)
		used = al[r].used_a < used ? al[r].used_a : used;
	memset(next, 0, s->n * sizeof(*next));
	for (size_t i = 0; i < used; i++) {
		bool shared = true, adjacent = s->has_prev && i == next[0];
		at[0] = i;
		for (size_t r = 1; r < s->n && shared; r++) {
			at[r] = al[r].match[i];
			shared = al[r].match[i] != NO_MATCH;
			adjacent &= at[r] == next[r];
		}
		if (!shared)
			continue;
		if (adjacent) {
			shared_point(s, at);
		} else {
			s->a->n_skipped += s->has_prev;
			const int err = note_region(s, next, at);
			if (err < 0)
				return err;
		}
		for (size_t r = 0; r < s->n; r++) {
			s->prev[r] = s->feed[r].buf[s->feed[r].head + at[r]];
			next[r] = at[r] + 1;
		}
		s->has_prev = true;
	}
	return 0;
}

/* The points of a run that are looked at. What else waits is no matter, so that the result
 * does not depend on how many points were made at a time. */
static size_t in_window(const struct points *f, size_t window)
{
	return f->tail - f->head < window ? f->tail - f->head : window;
}

/* The window as it is, without a shared point beyond `next`: all of it differs. */
static int give_up(struct line_up *s, size_t window, size_t *next, size_t *at)
{
	for (size_t r = 0; r < s->n; r++)
		at[r] = in_window(&s->feed[r], window);
	const int err = note_region(s, next, at);
	memcpy(next, at, s->n * sizeof(*next));
	s->a->n_skipped += s->has_prev;
	s->has_prev = false;
	return err;
}

static int align_window(struct line_up *s, size_t window, struct alignment *al, size_t *next,
			size_t *at, bool *moved)
{
	size_t least;
	bool ended, lost = false;
	int err = fill(s, window, &least, &ended);
	if (err < 0)
		return err;
	for (size_t r = 0; r < s->n; r++)
		ended &= s->feed[r].tail - s->feed[r].head <= window;
	const struct points *const first = &s->feed[0];
	const size_t n = in_window(first, window);
	for (size_t r = 1; r < s->n; r++) {
		const struct points *const f = &s->feed[r];
		uint32_t *const match = realloc(al[r].match, (n + 1) * sizeof(*match));
		if (!match)
			return line_up_no_memory(s);
		al[r].match = match;
		if (!align_points(first->buf + first->head, n, f->buf + f->head,
				  in_window(f, window), ended, &al[r]))
			return line_up_no_memory(s);
		lost |= al[r].lost && al[r].used_a == 0;
	}
	*moved = false;
	if (lost && !ended && window < WINDOW_MAX)
		return 0;
	err = use_alignment(s, al, next, at);
	if (err == 0 && (ended || next[0] == 0))
		err = ended || window >= WINDOW_MAX ? give_up(s, window, next, at) : 0;
	if (err < 0)
		return err;
	for (size_t r = 0; r < s->n; r++) {
		*moved |= next[r] > 0;
		s->feed[r].head += next[r];
	}
	return 0;
}

/* The runs part here. Larger and larger windows until they meet again. */
static int resolve_difference(struct line_up *s)
{
	struct alignment *const al = calloc(s->n, sizeof(*al));
	size_t *const next = calloc(2 * s->n, sizeof(*next));
	int err = al && next ? 0 : line_up_no_memory(s);
	bool moved = false;
	for (size_t window = WINDOW_FIRST; err == 0 && !moved && window <= WINDOW_MAX; window *= 4)
		err = align_window(s, window, al, next, next + s->n, &moved);
	for (size_t r = 0; al && r < s->n; r++)
		free(al[r].match);
	free(al);
	free(next);
	return err;
}

static void tell(struct line_up *s, uint64_t points)
{
	s->done += points / 2 * s->n;
	if (s->o->progress.tell && s->done - s->told > (1u << 20)) {
		s->told = s->done;
		s->o->progress.tell(s->o->progress.arg, s->done, s->a->n_events);
	}
}

/* One block, or where the runs part. 0: nothing is left to compare. */
static int one_block(struct line_up *s, size_t least)
{
	const size_t n = compare_block(s, least < BLOCK ? least : BLOCK);
	tell(s, n);
	bool rest = false;
	for (size_t r = 0; r < s->n; r++)
		rest |= s->feed[r].head < s->feed[r].tail || !s->feed[r].done;
	if (n || !rest)
		return rest;
	if (s->o->identical)
		return why_set(s->why, TARE_E_MISMATCH,
			       "the runs differ, and identical sequences of events are "
			       "required");
	if (s->n == 1)
		return 0;
	const int err = resolve_difference(s);
	return err < 0 ? err : 1;
}

int line_up_blocks(struct line_up *s)
{
	for (;;) {
		size_t least = SIZE_MAX;
		for (size_t r = 0; r < s->n; r++) {
			const size_t have = s->feed[r].tail - s->feed[r].head;
			least = have < least ? have : least;
		}
		if (least < BLOCK)
			return 0;
		const int more = one_block(s, least);
		if (more <= 0)
			return more;
	}
}

int line_up_rest(struct line_up *s)
{
	for (;;) {
		size_t least;
		bool ended;
		const int err = fill(s, BLOCK, &least, &ended);
		const int more = err < 0 ? err : one_block(s, least);
		if (more <= 0)
			return more;
	}
}
