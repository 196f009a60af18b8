/* Lines up the runs of one program and finds the intervals that vary.
 *
 * Per thread every run gives its points, last first, in blocks. As long as all
 * blocks are alike they are compared side by side, which is nearly always; where
 * they are not, a window of each run is aligned with the first run's (align.c),
 * the intervals between points that all runs share are compared, and the events
 * that they do not share are counted.
 */
#include "aggregate.h"

#include "options-copy.h"
#include "why.h"

#include <math.h>
#include <stdlib.h>

#define BLOCK 256
#define WINDOW_FIRST 4096u
#define WINDOW_MAX (1u << 20)
#define DIFFERENCES_MAX 65536u

struct pass {
	struct tare_aggregate_store *st;
	struct tare_aggregate *a;
	const struct tare_aggregate_options *o;
	size_t n;
	struct points *feed;		/* per run: the thread under way */
	struct point *prev;		/* per run: the point before the next */
	bool has_prev;
	uint32_t thread;		/* its id in the first run */
	uint64_t negative;
	uint64_t least_wanted, most_wanted;	/* shorter, longer: among the extremes */
	uint64_t done, told;
	int64_t *value;			/* per run, for outlier_of */
	uint64_t last_owner;		/* record whose row is `last_row` */
	uint32_t last_row;
	struct tare_why *why;
};

/* Where the interval under way is in each run: `at`, or the same place in a block. */
struct place {
	const size_t *at;
	size_t i;
};

static int no_memory(struct pass *s)
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

static struct tare_extreme extreme(const struct pass *s, const struct point *early,
				   const struct point *late, uint64_t value)
{
	return (struct tare_extreme){ .value = value, .count = 1, .thread = s->thread,
				      .from = early->record, .to = late->record,
				      .parent = early->parent };
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

static size_t outlier_at(struct pass *s, const struct place *where)
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
static void add_to_name(struct pass *s, const struct point *early, uint64_t range)
{
	struct tare_aggregate_store *const st = s->st;
	const uint64_t owner = point_type(early) == POINT_START ? point_record(early)
								 : early->parent;
	if (owner != s->last_owner) {
		s->last_owner = owner;
		s->last_row = owner == NO_RECORD ? 0 : points_row(&st->run[0], owner);
	}
	if (s->last_row >= st->n_varied) {
		const uint32_t n = 2 * s->last_row + 64;
		struct tare_name_variation *const more = realloc(st->varied, n * sizeof(*more));
		if (!more) {
			st->run[0].err = no_memory(s);
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
static void add_range(struct pass *s, const struct point *early, const struct point *late,
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

static void add_small_ranges(struct pass *s)
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

static void add_durations(struct pass *s, const struct point *early, const struct point *late,
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
static inline void add_interval(struct pass *s, const struct point *early,
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

static inline uint64_t distance(struct pass *s, const struct point *early,
				const struct point *late)
{
	if (__builtin_expect(late->time < early->time, 0)) {
		s->negative++;
		return 0;
	}
	return late->time - early->time;
}

/* How many points from the head are alike in all runs, up to `n`. */
static size_t alike(const struct pass *s, size_t n)
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

/* `n` (<= BLOCK) points from the heads, alike in all runs. */
static void compare_block(struct pass *s, size_t n)
{
	uint64_t min[BLOCK], max[BLOCK];
	const size_t skip = !s->has_prev;	/* the first point of all ends no interval */
	for (size_t r = 0; r < s->n; r++) {
		struct points *const f = &s->feed[r];
		const struct point *const p = f->buf + f->head;
		const struct point *late = skip ? &p[0] : &s->prev[r];
		if (r == 0) {
			for (size_t i = skip; i < n; late = &p[i++])
				min[i] = max[i] = distance(s, &p[i], late);
			continue;
		}
		for (size_t i = skip; i < n; late = &p[i++]) {
			const uint64_t d = distance(s, &p[i], late);
			min[i] = d < min[i] ? d : min[i];
			max[i] = d > max[i] ? d : max[i];
		}
	}
	const struct point *const p = s->feed[0].buf + s->feed[0].head;
	s->a->n_intervals += n > skip ? n - skip : 0;
	for (size_t i = skip; i < n; i++)
		add_interval(s, &p[i], i ? &p[i - 1] : &s->prev[0], min[i], max[i], NULL, i);
	for (size_t r = 0; n && r < s->n; r++) {
		struct points *const f = &s->feed[r];
		s->prev[r] = f->buf[f->head + n - 1];
		f->head += n;
	}
	s->has_prev |= n > 0;
}

static int fill(struct pass *s, size_t want, size_t *least, bool *ended)
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
static int note_difference(struct pass *s, size_t run, const struct point *p)
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
		return no_memory(s);
	if (name >= st->n_differing) {
		const uint32_t n = st->n_differing ? 2 * st->n_differing : 64;
		uint64_t *const counts = realloc(st->counts, n * s->n * sizeof(*counts));
		if (!counts)
			return no_memory(s);
		memset(counts + st->n_differing * s->n, 0,
		       (n - st->n_differing) * s->n * sizeof(*counts));
		st->counts = counts;
		st->n_differing = n;
	}
	st->counts[name * s->n + run]++;
	return 0;
}

/* The points [from, to) of every run are not shared. */
static int note_region(struct pass *s, const size_t *from, const size_t *to)
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
static void shared_point(struct pass *s, const size_t *at)
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
static int use_alignment(struct pass *s, struct alignment *al, size_t *next, size_t *at)
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

/* The window as it is, without a shared point beyond `next`: all of it differs. */
static int give_up(struct pass *s, size_t *next, size_t *at)
{
	for (size_t r = 0; r < s->n; r++)
		at[r] = s->feed[r].tail - s->feed[r].head;
	const int err = note_region(s, next, at);
	memcpy(next, at, s->n * sizeof(*next));
	s->a->n_skipped += s->has_prev;
	s->has_prev = false;
	return err;
}

static int align_window(struct pass *s, size_t window, struct alignment *al, size_t *next,
			size_t *at, bool *moved)
{
	size_t least;
	bool ended, lost = false;
	int err = fill(s, window, &least, &ended);
	if (err < 0)
		return err;
	const struct points *const first = &s->feed[0];
	const size_t n = first->tail - first->head;
	for (size_t r = 1; r < s->n; r++) {
		const struct points *const f = &s->feed[r];
		uint32_t *const match = realloc(al[r].match, (n + 1) * sizeof(*match));
		if (!match)
			return no_memory(s);
		al[r].match = match;
		if (!align_points(first->buf + first->head, n, f->buf + f->head,
				  f->tail - f->head, ended, &al[r]))
			return no_memory(s);
		lost |= al[r].lost && al[r].used_a == 0;
	}
	*moved = false;
	if (lost && !ended && window < WINDOW_MAX)
		return 0;
	err = use_alignment(s, al, next, at);
	if (err == 0 && (ended || next[0] == 0))
		err = ended || window >= WINDOW_MAX ? give_up(s, next, at) : 0;
	if (err < 0)
		return err;
	for (size_t r = 0; r < s->n; r++) {
		*moved |= next[r] > 0;
		s->feed[r].head += next[r];
	}
	return 0;
}

/* The runs part here. Larger and larger windows until they meet again. */
static int resolve_difference(struct pass *s)
{
	struct alignment *const al = calloc(s->n, sizeof(*al));
	size_t *const next = calloc(2 * s->n, sizeof(*next));
	int err = al && next ? 0 : no_memory(s);
	bool moved = false;
	for (size_t window = WINDOW_FIRST; err == 0 && !moved && window <= WINDOW_MAX; window *= 4)
		err = align_window(s, window, al, next, next + s->n, &moved);
	for (size_t r = 0; al && r < s->n; r++)
		free(al[r].match);
	free(al);
	free(next);
	return err;
}

static void tell(struct pass *s, uint64_t points)
{
	s->done += points / 2 * s->n;
	if (s->o->progress.tell && s->done - s->told > (1u << 20)) {
		s->told = s->done;
		s->o->progress.tell(s->o->progress.arg, s->done, s->a->n_events);
	}
}

static int one_thread(struct pass *s)
{
	s->has_prev = false;
	for (;;) {
		size_t least;
		bool ended;
		int err = fill(s, BLOCK, &least, &ended);
		if (err < 0)
			return err;
		const size_t n = alike(s, least < BLOCK ? least : BLOCK);
		compare_block(s, n);
		tell(s, n);
		bool rest = false;
		for (size_t r = 0; r < s->n; r++)
			rest |= s->feed[r].head < s->feed[r].tail || !s->feed[r].done;
		if (!rest)
			return 0;
		if (n)
			continue;
		if (s->o->identical)
			return why_set(s->why, TARE_E_MISMATCH,
				       "the runs differ, and identical sequences of events are "
				       "required");
		if (s->n == 1)
			return 0;
		err = resolve_difference(s);
		if (err < 0)
			return err;
	}
}

/* The thread `ids[r]` of every run (a run without it gives no points). */
static int compare_thread(struct pass *s, const uint32_t *ids)
{
	int err = 0;
	s->thread = ids[0];
	for (size_t r = 0; r < s->n; r++) {
		const int opened = points_open(&s->feed[r], &s->st->run[r], ids[r]);
		err = err < 0 ? err : opened;
	}
	if (err == 0)
		err = one_thread(s);
	for (size_t r = 0; r < s->n; r++)
		points_close(&s->feed[r]);
	s->a->n_threads++;
	return err;
}

static int compare_ids(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* The timed threads of a run, without `skip` if that is done, ascending. */
static uint32_t *other_threads(const struct points_run *r, uint32_t skip, bool done, size_t *n)
{
	uint32_t *const ids = malloc((r->n_range + 1) * sizeof(*ids));
	*n = 0;
	for (uint32_t i = 0; ids && i < r->n_range; i++)
		if (!(done && r->threads.ids[i] == skip) && r->range[i].n_timed)
			ids[(*n)++] = r->threads.ids[i];
	if (ids)
		qsort(ids, *n, sizeof(*ids), compare_ids);
	return ids;
}

static const char *name_in(const struct pass *s, size_t run, uint32_t id)
{
	const char *const name = thread_name(&s->a->runs[run]->info, id);
	return name ? name : "";
}

/* The threads of a run that are still to be compared, ascending. */
struct rest {
	uint32_t *ids;
	bool *taken;
	size_t n, next;		/* none before `next` is left */
};

static int rest_of(struct pass *s, size_t run, uint32_t skip, bool done, struct rest *rest)
{
	rest->ids = other_threads(&s->st->run[run], skip, done, &rest->n);
	rest->taken = calloc(rest->n + 1, sizeof(*rest->taken));
	return rest->ids && rest->taken ? 0 : no_memory(s);
}

static uint32_t take(struct rest *rest, size_t i)
{
	rest->taken[i] = true;
	while (rest->next < rest->n && rest->taken[rest->next])
		rest->next++;
	return rest->ids[i];
}

/* Where the id is, or rest->n. */
static size_t place_of(const struct rest *rest, uint32_t id)
{
	const uint32_t *const at = bsearch(&id, rest->ids, rest->n, sizeof(id), compare_ids);
	return at && !rest->taken[at - rest->ids] ? (size_t)(at - rest->ids) : rest->n;
}

/* The partner of thread `id` of the first run among those of another: of the same name
 * and id, of the same name, of the same id, or else the next one. A number no thread
 * has: none is left. */
static uint32_t partner(const struct pass *s, size_t run, uint32_t id, struct rest *rest)
{
	const char *const name = name_in(s, 0, id);
	const size_t same = place_of(rest, id);
	if (rest->next == rest->n)
		return UINT32_MAX;
	if (same < rest->n && strcmp(name_in(s, run, id), name) == 0)
		return take(rest, same);
	for (size_t i = rest->next; *name && i < rest->n; i++)
		if (!rest->taken[i] && strcmp(name_in(s, run, rest->ids[i]), name) == 0)
			return take(rest, i);
	return take(rest, same < rest->n ? same : rest->next);
}

/* The threads of the first run with their partners, then those that only others have. */
static int compare_rest(struct pass *s, struct rest *rest, uint32_t *ids)
{
	int err = 0;
	for (size_t i = 0; err == 0 && i < rest[0].n; i++) {
		ids[0] = rest[0].ids[i];
		for (size_t r = 1; r < s->n; r++)
			ids[r] = partner(s, r, ids[0], &rest[r]);
		err = compare_thread(s, ids);
	}
	for (size_t r = 1; err == 0 && r < s->n; r++)
		while (err == 0 && rest[r].next < rest[r].n) {
			for (size_t k = 0; k < s->n; k++)
				ids[k] = UINT32_MAX;
			ids[r] = take(&rest[r], rest[r].next);
			err = compare_thread(s, ids);
		}
	return err;
}

static int all_threads(struct pass *s)
{
	uint32_t *const ids = calloc(s->n, sizeof(*ids));
	struct rest *const rest = calloc(s->n, sizeof(*rest));
	bool any = false, same = true;
	int err = ids && rest ? 0 : no_memory(s);
	for (size_t r = 0; err == 0 && r < s->n; r++) {
		any |= points_last_thread(&s->st->run[r], &ids[r]);
		same &= ids[r] == ids[0] &&
			strcmp(name_in(s, r, ids[r]), name_in(s, 0, ids[0])) == 0;
	}
	/* When all runs end in the same thread, the walk over it finds the others. */
	if (err == 0 && any && same)
		err = compare_thread(s, ids);
	for (size_t r = 0; err == 0 && r < s->n; r++) {
		if (!points_scan(&s->st->run[r]))
			err = s->st->run[r].err;
		if (err == 0)
			err = rest_of(s, r, ids[0], same, &rest[r]);
		if (err == 0 && s->o->identical && rest[r].n + same > 1)
			err = why_set(s->why, TARE_E_MISMATCH, "%.120s has more than one thread, and "
				      "one is required",
				      s->a->runs[r]->info.path);
	}
	if (err == 0)
		err = compare_rest(s, rest, ids);
	for (size_t r = 0; rest && r < s->n; r++) {
		free(rest[r].ids);
		free(rest[r].taken);
	}
	free(ids);
	free(rest);
	return err;
}

static int by_number(double x, double y)
{
	return x > y ? -1 : x < y;
}

static double relative(const struct tare_macro_row *r)
{
	const double middle = fabs((double)r->min + (double)r->max) / 2;
	const double half = ((double)r->max - (double)r->min) / 2;
	return half == 0 ? 0 : middle > 0 ? half / middle : INFINITY;
}

static int compare_macro(const void *a, const void *b, void *arg)
{
	const struct tare_macro_row *const x = a, *const y = b;
	int order = 0;
	switch (*(const enum tare_macro_sort *)arg) {
	case TARE_MACRO_VARIATION: {
		const uint64_t dx = (uint64_t)x->max - (uint64_t)x->min;
		const uint64_t dy = (uint64_t)y->max - (uint64_t)y->min;
		order = dx > dy ? -1 : dx < dy;
		break;
	}
	case TARE_MACRO_PERCENT:
		order = by_number(relative(x), relative(y));
		break;
	case TARE_MACRO_NAME:
		return strcmp(x->name, y->name);
	default:
		break;
	}
	if (order)
		return order;
	if (x->max != y->max)
		return x->max > y->max ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int make_macro(struct pass *s)
{
	struct tare_aggregate *const a = s->a;
	const struct tare_aggregate_store *const st = s->st;
	a->macro = calloc(st->names.n + 1, sizeof(*a->macro));
	if (!a->macro)
		return no_memory(s);
	for (uint32_t i = 0; i < st->names.n; i++) {
		struct tare_macro_row row = { .name = names_text(&st->names, i), .min = INT64_MAX,
					      .max = INT64_MIN, .min_count = UINT64_MAX };
		for (size_t r = 0; r < s->n; r++) {
			const struct points_run *const run = &st->run[r];
			const bool has = i + 1 < run->n_self;
			const int64_t v = has ? run->self[i + 1] : 0;
			const uint64_t c = has ? run->count[i + 1] : 0;
			s->value[r] = v;
			row.min = v < row.min ? v : row.min;
			row.max = v > row.max ? v : row.max;
			row.min_count = c < row.min_count ? c : row.min_count;
			row.max_count = c > row.max_count ? c : row.max_count;
		}
		row.outlier = outlier_of(s->value, s->n);
		if (row.max_count)
			a->macro[a->n_macro++] = row;
	}
	enum tare_macro_sort sort = s->o->sort;
	qsort_r(a->macro, a->n_macro, sizeof(*a->macro), compare_macro, &sort);
	a->total_min = UINT64_MAX;
	for (size_t r = 0; r < s->n; r++) {
		const uint64_t total = st->run[r].total;
		s->value[r] = (int64_t)total;
		a->total_min = total < a->total_min ? total : a->total_min;
		a->total_max = total > a->total_max ? total : a->total_max;
	}
	a->total_outlier = outlier_of(s->value, s->n);
	return 0;
}

static int by_variation(const void *a, const void *b)
{
	const struct tare_name_variation *const x = a, *const y = b;
	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int make_by_name(struct pass *s)
{
	struct tare_aggregate *const a = s->a;
	const struct tare_aggregate_store *const st = s->st;
	a->by_name = calloc(st->n_varied + 1, sizeof(*a->by_name));
	if (!a->by_name)
		return no_memory(s);
	for (uint32_t i = 0; i < st->n_varied; i++) {
		if (!st->varied[i].n)
			continue;
		a->by_name[a->n_by_name] = st->varied[i];
		a->by_name[a->n_by_name++].name = i ? names_text(&st->names, i - 1) : "";
	}
	qsort(a->by_name, a->n_by_name, sizeof(*a->by_name), by_variation);
	return st->run[0].err;
}

static uint64_t difference_sum(const struct tare_difference *d, size_t n)
{
	uint64_t sum = 0;
	for (size_t r = 0; r < n; r++)
		sum += d->counts[r];
	return sum;
}

static int by_sum(const void *a, const void *b, void *arg)
{
	const struct tare_difference *const x = a, *const y = b;
	const size_t n = *(const size_t *)arg;
	const uint64_t sx = difference_sum(x, n), sy = difference_sum(y, n);
	if (sx != sy)
		return sx > sy ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int make_differences(struct pass *s)
{
	struct tare_aggregate *const a = s->a;
	struct tare_aggregate_store *const st = s->st;
	a->differences = calloc(st->differing.n + 1, sizeof(*a->differences));
	if (!a->differences)
		return no_memory(s);
	for (uint32_t i = 0; i < st->differing.n; i++)
		a->differences[a->n_differences++] = (struct tare_difference){
			names_text(&st->differing, i), st->counts + i * s->n };
	qsort_r(a->differences, a->n_differences, sizeof(*a->differences), by_sum, &s->n);
	return 0;
}

static bool alloc_extremes(struct tare_extremes *e, size_t limit)
{
	e->list = calloc(limit + 1, sizeof(*e->list));
	return e->list != NULL;
}

static int aggregate(struct pass *s)
{
	struct tare_aggregate *const a = s->a;
	struct tare_aggregate_store *const st = s->st;
	st->run = calloc(s->n, sizeof(*st->run));
	s->feed = calloc(s->n, sizeof(*s->feed));
	s->prev = calloc(s->n, sizeof(*s->prev));
	s->value = calloc(s->n, sizeof(*s->value));
	s->last_owner = NO_RECORD;
	if (!st->run || !s->feed || !s->prev || !s->value || !alloc_extremes(&a->smallest, st->limit) ||
	    !alloc_extremes(&a->largest, st->limit) ||
	    !alloc_extremes(&a->smallest_range, st->limit) ||
	    !alloc_extremes(&a->largest_range, st->limit))
		return no_memory(s);
	int err = 0;
	for (size_t r = 0; err == 0 && r < s->n; r++) {
		err = points_run_init(&st->run[r], a->runs[r], &st->names, s->why);
		a->n_events += a->runs[r]->info.n_events;
	}
	if (err == 0)
		err = all_threads(s);
	add_small_ranges(s);
	for (size_t r = 0; err == 0 && r < s->n; r++) {
		profile_warn(a->runs[r], TARE_PROFILE_OVERLAP, st->run[r].overlaps);
		profile_warn(a->runs[r], TARE_PROFILE_BACKWARDS, st->run[r].backwards);
	}
	if (err == 0)
		err = make_macro(s);
	if (err == 0)
		err = make_by_name(s);
	if (err == 0)
		err = make_differences(s);
	return err;
}

/* What cannot be compared: another counter. */
static int check_runs(struct tare_profile **runs, size_t n, bool any_counter, struct tare_why *why)
{
	if (n == 0)
		return why_set(why, TARE_E_INVALID, "no profile");
	for (size_t r = 1; r < n && !any_counter; r++) {
		const struct tare_profile_info *const x = &runs[0]->info, *const y = &runs[r]->info;
		if (strcmp(x->counter, y->counter) != 0)
			return why_set(why, TARE_E_MISMATCH, "%.80s counts %s, %.80s %s", x->path,
				       x->counter, y->path, y->counter);
	}
	return 0;
}

int tare_aggregate(struct tare_profile **runs, size_t n, const struct tare_aggregate_options *given,
		   struct tare_aggregate **out, struct tare_why *why)
{
	struct tare_aggregate_options o;
	*out = NULL;
	int err = options_copy(&o, sizeof(o), given, "tare_aggregate_options", why);
	if (err == 0)
		err = check_runs(runs, n, o.any_counter, why);
	if (err < 0)
		return err;
	struct tare_aggregate *const a = calloc(1, sizeof(*a));
	struct tare_aggregate_store *const st = calloc(1, sizeof(*st));
	if (!a || !st) {
		free(a);
		free(st);
		return why_set(why, TARE_E_NOMEM, "aggregating");
	}
	a->store = st;
	a->runs = runs;
	a->n_runs = n;
	st->limit = o.limit ? o.limit : 10;
	struct pass s = { .st = st, .a = a, .o = &o, .n = n, .least_wanted = UINT64_MAX, .why = why };
	err = aggregate(&s);
	free(s.feed);
	free(s.prev);
	free(s.value);
	if (err < 0) {
		tare_aggregate_free(a);
		return err;
	}
	*out = a;
	return 0;
}

void tare_aggregate_free(struct tare_aggregate *a)
{
	if (!a)
		return;
	struct tare_aggregate_store *const st = a->store;
	for (size_t r = 0; st->run && r < a->n_runs; r++)
		points_run_free(&st->run[r]);
	free(st->run);
	names_free(&st->names);
	names_free(&st->differing);
	free(st->counts);
	free(st->varied);
	free(a->by_name);
	free(st);
	free(a->smallest.list);
	free(a->largest.list);
	free(a->smallest_range.list);
	free(a->largest_range.list);
	free(a->macro);
	free(a->differences);
	free(a);
}
