#include "points.h"

#include "why.h"

#include <stdlib.h>

int points_run_init(struct points_run *r, struct tare_profile *p, struct names *names,
		    struct tare_why *why)
{
	*r = (struct points_run){ .p = p, .names = names, .why = why };
	const uint64_t bytes = p->streams[MM_STRINGS].size;
	r->ids = malloc(2 * ID_SETS * sizeof(*r->ids));
	r->n_direct = bytes <= UINT16_MAX ? UINT16_MAX + 1
		      : bytes < ID_DIRECT_BYTES ? bytes + 1 : ID_DIRECT_BYTES;
	r->direct = calloc(r->n_direct, sizeof(*r->direct));
	r->n_known = 1;
	r->cap_known = 64;
	r->known = calloc(r->cap_known, sizeof(*r->known));
	r->block = calloc(p->info.n_events / POINTS_BLOCK + 1, sizeof(*r->block));
	if (!r->ids || !r->direct || !r->known || !r->block)
		return why_set(why, TARE_E_NOMEM, "%.120s: points", p->path);
	for (uint32_t i = 0; i < 2 * ID_SETS; i++)
		r->ids[i].addr = UINT64_MAX;
	for (unsigned i = 0; i < 64; i++)
		r->kind_id[i] = not_here(i);
	return 0;
}

void points_run_free(struct points_run *r)
{
	walk_done(&r->walk);
	buf_free(&r->scratch);
	free(r->ids);
	free(r->direct);
	free(r->known);
	free(r->block);
	threads_free(&r->threads);
	free(r->range);
	free(r->sum);
	free(r->lane);
}

static uint64_t hash_bytes(const char *text, size_t len)
{
	uint64_t h = 0x243F6A8885A308D3ull ^ (len * 0x9E3779B97F4A7C15ull);
	for (; len; ) {
		uint64_t v = 0;
		const size_t n = len < 8 ? len : 8;
		memcpy(&v, text, n);
		h = (h ^ v) * 0xD6E8FEB86659FD93ull;
		h ^= h >> 32;
		text += n;
		len -= n;
	}
	return h * 0x9E3779B97F4A7C15ull;
}

static bool out_of_memory(struct points_run *r)
{
	r->err = why_set(r->why, TARE_E_NOMEM, "%.120s: points", r->p->path);
	return false;
}

static bool grow_sums(struct points_run *r)
{
	uint32_t n = r->n_sum ? r->n_sum : 256;
	while (n < r->names->n + 1)
		n *= 2;
	struct point_sum *const sum = realloc(r->sum, n * sizeof(*sum));
	if (!sum)
		return out_of_memory(r);
	memset(sum + r->n_sum, 0, (n - r->n_sum) * sizeof(*sum));
	r->sum = sum;
	r->n_sum = n;
	return true;
}

/* Among the known ones, if the address has a place there. */
static bool make_known(struct points_run *r, uint64_t addr, const struct id_info *info)
{
	if (!addr || addr >= r->n_direct || addr > r->p->streams[MM_STRINGS].size)
		return true;
	if (r->n_known == r->cap_known) {
		const uint32_t cap = 2 * r->cap_known;
		struct id_info *const known = realloc(r->known, cap * sizeof(*known));
		if (!known)
			return out_of_memory(r);
		r->known = known;
		r->cap_known = cap;
	}
	r->direct[addr] = r->n_known;
	r->known[r->n_known++] = *info;
	return true;
}

/* row 0: r->err says why. */
static const struct id_info *id_slow(struct points_run *r, uint64_t id)
{
	static const struct id_info none;
	if (r->err < 0)			/* a good id would hide the error */
		return &none;
	const uint64_t addr = strings_addr(r->p, id);
	struct id_slot *const set = &r->ids[2 * ((addr * 0x9E3779B97F4A7C15ull) >> 53)];
	if (set[0].addr == addr || set[1].addr == addr)
		return &set[set[0].addr != addr].info;
	struct event_name n;
	r->scratch.len = 0;
	r->err = strings_text(r->p, id, &r->scratch, r->why);
	if (r->err < 0)
		return &none;
	event_name_split(r->scratch.data, r->scratch.len, &n);
	if (n.error)
		profile_warn(r->p, TARE_PROFILE_BAD_EVENT_ID, 1);
	const uint32_t name = names_add(r->names, n.label, n.label_len);
	if (name == NO_NAME || (r->names->n >= r->n_sum && !grow_sums(r))) {
		out_of_memory(r);
		return &none;
	}
	const struct id_info info = { hash_bytes(r->scratch.data, r->scratch.len), name + 1 };
	set[1] = set[0];
	set[0] = (struct id_slot){ addr, info };
	return make_known(r, addr, &info) ? &set[0].info : &none;
}

/* What the loops over the records look up ids in. A copy: the compiler cannot know that what they
 * write does not change it. */
struct id_map {
	struct ids_fast ids;
	const uint32_t *direct;
	uint64_t n_direct;
};

static inline struct id_map id_map(const struct points_run *r)
{
	return (struct id_map){ ids_fast(r->p), r->direct, r->n_direct };
}

/* Valid until the next look-up. */
static inline __attribute__((always_inline)) const struct id_info *id_info_by(struct points_run *r,
		const struct id_map *m, uint64_t id, const int narrow)
{
	const uint32_t known = m->direct[ids_addr_below(&m->ids, id, m->n_direct, narrow)];
	if (__builtin_expect(known != 0, 1))
		return &r->known[known];
	return id_slow(r, id);
}

static const struct id_info *id_info(struct points_run *r, uint64_t id)
{
	const struct id_map map = id_map(r);
	return r->p->narrow ? id_info_by(r, &map, id, 1) : id_info_by(r, &map, id, 0);
}

static uint64_t kind_miss(struct points_run *r, uint64_t id, unsigned slot)
{
	r->scratch.len = 0;
	const int err = strings_text(r->p, id, &r->scratch, r->why);
	if (err < 0) {
		r->err = err;
		return 0;
	}
	r->kind_id[slot] = id;
	r->kind_hash[slot] = hash_bytes(r->scratch.data, r->scratch.len) | 1;
	return r->kind_hash[slot];
}

static inline uint64_t kind_hash(struct points_run *r, uint64_t id)
{
	const unsigned slot = kind_place(id);
	if (__builtin_expect(r->kind_id[slot] == id, 1))
		return r->kind_hash[slot];
	return kind_miss(r, id, slot);
}

bool points_last_thread(struct points_run *r, uint32_t *thread)
{
	struct walk w;
	struct run run;
	walk_init(&w, r->p, true);
	while (walk_next(&w, &run)) {
		for (size_t i = run.n; i-- > 0;) {
			struct mm_event e;
			mm_decode(run.records + i * r->p->record_size, r->p->wide, &e);
			if (e.p2 != MM_INTEGER) {
				*thread = e.thread;
				walk_done(&w);
				return true;
			}
		}
	}
	walk_done(&w);
	return false;
}

/* Three frames that enclose every event lie at the bottom, so that code can read the top frame
 * and the two below without checking the depth. */
#define BOTTOM 3

static bool grow_stack(struct points *s)
{
	const uint32_t cap = s->cap ? 2 * s->cap : 64;
	if (s->depth > NESTING_MOST) {
		s->run->err = nesting_error(s->run->p, NESTING_MOST, s->run->why);
		return false;
	}
	struct point_frame *const stack = realloc(s->stack, cap * sizeof(*stack));
	if (!stack)
		return out_of_memory(s->run);
	if (!s->stack) {
		for (; s->depth < BOTTOM; s->depth++)
			stack[s->depth] = (struct point_frame){ .end = UINT64_MAX,
								.start.record = NO_RECORD };
	}
	memset(stack + s->depth, 0, (cap - s->depth) * sizeof(*stack));
	s->stack = stack;
	s->cap = cap;
	return true;
}

static int make_buffer(struct points *s)
{
	s->start = UINT64_MAX;
	s->buf_cap = 2048;
	s->buf = malloc(s->buf_cap * sizeof(*s->buf));
	if (!s->buf)
		out_of_memory(s->run);
	else
		grow_stack(s);
	return s->run->err;
}

int points_open(struct points *s, struct points_run *run, uint32_t thread)
{
	*s = (struct points){ .run = run, .thread = thread, .note = !run->scanned };
	uint64_t first = 0, end = run->p->info.n_events;
	if (run->scanned) {
		const uint32_t before = run->threads.n;
		const uint32_t i = threads_index(&run->threads, thread);
		if (i >= before || i >= run->n_range) {
			end = 0;
		} else {
			first = run->range[i].first;
			end = run->range[i].end;
		}
	}
	if (run->scanned)
		walk_range(&s->walk, run->p, true, first, end);
	else
		walk_init(&s->walk, run->p, true);
	return make_buffer(s);
}

void points_share(struct points_run *r, bool (*new_thread)(void *, uint32_t), void *arg)
{
	walk_init(&r->walk, r->p, true);
	r->new_thread = new_thread;
	r->new_thread_arg = arg;
}

int points_join(struct points *s, struct points_run *run, uint32_t thread)
{
	*s = (struct points){ .run = run, .thread = thread, .shared = true, .done = run->ended };
	const uint32_t i = threads_index(&run->threads, thread);
	if (i != UINT32_MAX && i >= run->n_lane) {
		const uint32_t n = 2 * i + 16;
		struct points **const more = realloc(run->lane, n * sizeof(*more));
		if (more) {
			memset(more + run->n_lane, 0, (n - run->n_lane) * sizeof(*more));
			run->lane = more;
			run->n_lane = n;
		}
	}
	if (i >= run->n_lane) {
		out_of_memory(run);
		return run->err;
	}
	run->lane[i] = s;
	return make_buffer(s);
}

uint64_t points_waiting(const struct points_run *r)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < r->threads.n && i < r->n_lane; i++)
		n += r->lane[i] ? r->lane[i]->tail - r->lane[i]->head : 0;
	return n;
}

void points_close(struct points *s)
{
	if (!s->shared)
		walk_done(&s->walk);
	if (s->start <= s->end)
		s->run->total += s->end - s->start;
	s->start = UINT64_MAX;
	s->end = 0;
	free(s->stack);
	free(s->buf);
	s->stack = NULL;
	s->buf = NULL;
}

static uint64_t thread_bit(uint32_t thread)
{
	return 1ull << (thread * 0x9E3779B9u >> 26);
}

static inline bool note_thread(struct points_run *r, uint32_t thread, uint64_t number,
			       bool timed)
{
	const uint32_t i = threads_index(&r->threads, thread);
	if (__builtin_expect(i == UINT32_MAX, 0))
		return out_of_memory(r);
	if (__builtin_expect(i >= r->n_range, 0)) {
		if (i >= r->cap_range) {
			const uint32_t cap = 2 * i + 16;
			struct thread_range *const grown = realloc(r->range, cap * sizeof(*grown));
			if (!grown)
				return out_of_memory(r);
			r->range = grown;
			r->cap_range = cap;
		}
		r->n_range = i + 1;
		r->range[i] = (struct thread_range){ .end = number + 1 };
	}
	r->range[i].first = number;
	r->range[i].n_timed += timed;
	r->block[number / POINTS_BLOCK] |= thread_bit(thread);
	return true;
}

bool points_scan(struct points_run *r)
{
	struct walk w;
	struct run run;
	if (r->scanned)
		return true;
	walk_init(&w, r->p, true);
	while (walk_next(&w, &run)) {
		for (size_t i = run.n; i-- > 0;) {
			struct mm_event e;
			mm_decode(run.records + i * r->p->record_size, r->p->wide, &e);
			if (!note_thread(r, e.thread, run.first + i, e.p2 != MM_INTEGER)) {
				walk_done(&w);
				return false;
			}
		}
	}
	walk_done(&w);
	r->scanned = true;
	return true;
}

/* Room for `n` more points behind tail. */
static bool reserve(struct points *s, size_t n)
{
	if (s->head && s->head == s->tail)
		s->head = s->tail = 0;
	if (s->tail + n <= s->buf_cap)
		return true;
	if (s->head > s->buf_cap / 2) {
		memmove(s->buf, s->buf + s->head, (s->tail - s->head) * sizeof(*s->buf));
		s->tail -= s->head;
		s->head = 0;
	}
	if (s->tail + n <= s->buf_cap)
		return true;
	size_t cap = s->buf_cap;
	while (cap < s->tail + n)
		cap *= 2;
	struct point *const buf = realloc(s->buf, cap * sizeof(*buf));
	if (!buf)
		return out_of_memory(s->run);
	s->buf = buf;
	s->buf_cap = cap;
	return true;
}

#define START_SALT 0x4C957F2Dull	/* else a start has the key of its end */

static inline bool around(const struct point_frame *f, uint64_t start, uint64_t end)
{
	return (f->start.time <= start) & (end <= f->end);
}

/* The Start of an interval that the next point leaves. Field by field: a frame is written so,
 * and a wider read would wait for its writes. */
static inline void put_start(struct point *to, const struct point_frame *f)
{
	to->key = f->start.key;
	to->time = f->start.time;
	to->record = f->start.record;
	to->parent = f->start.parent;
}

/* Where intervals are not properly one inside the other, or many are left. */
static struct point_frame *leave_slow(struct point_frame *top, uint64_t start, uint64_t end,
				      struct point **to, uint64_t *overlaps)
{
	for (; !around(top, start, end); top--) {
		*overlaps += end > top->start.time;
		put_start((*to)++, top);
	}
	return top;
}

/* The file was never written where these records are? One of them is looked at. */
static void check_hole(const struct points *s, const struct point_item *item, uint64_t base)
{
	struct mm_event e;
	if (item->start | item->end | s->thread)
		return;
	profile_record(s->run->p, base + (item->number >> 2), &e);
	if (is_hole(&e))
		s->run->err = hole_error(s->run->p, s->run->why);
}

/* Events of the thread, last first: for each the Starts of what it leaves, then its own
 * End or Instant. How many intervals are left is not to be guessed, so up to two are
 * counted without a branch, by their starts, and so is the difference between interval
 * and instant: they take turns at random. There is room for everything.
 *
 * Above the top one its end stands in place of a start: an event ends no later than that, or
 * where it leaves intervals, than the lowest of them starts; else they are looked at one by one. */
static void take_items(struct points *s, const struct point_item *e, size_t n, uint64_t base)
{
	struct point_sum *const sum = s->run->sum;
	struct point *to = s->buf + s->tail;
	struct point_frame *top = s->stack + s->depth - 1;
	uint64_t overlaps = 0;
	base <<= 2;
	top[1].start.time = top->end;
	for (const struct point_item *const stop = e + n; e < stop; e++) {
		const uint64_t start = e->start, end = e->end, key = e->key;
		const uint64_t number = e->number, instant = opaque(number >> 1 & 1);
		const uint64_t record = base + number;
		const size_t left = (size_t)(top[0].start.time > start) +
				    (top[-1].start.time > start);
		struct point_frame *const parent = top - left;
		put_start(&to[0], &top[0]);
		put_start(&to[1], &top[-1]);
		if (__builtin_expect(end > parent[1].start.time, 0) ||
		    __builtin_expect(parent->start.time > start, 0)) {
			top = leave_slow(top, start, end, &to, &overlaps);
		} else {
			top = parent;
			to += left;
		}
		const uint64_t around_it = top->start.record;
		*to++ = (struct point){ key, end, record, around_it };
		const uint64_t d = end - start;		/* 0 of an instant */
		const uint32_t row = e->row;
		sum[top->row].self -= (int64_t)d;
		sum[row].self += (int64_t)d;
		sum[row].count += !instant;
		if (__builtin_expect(!(top->row | instant), 0)) {	/* else inside one seen before */
			s->start = start < s->start ? start : s->start;
			s->end = end > s->end ? end : s->end;
		}
		if (__builtin_expect(!(d | instant), 0) && !s->run->nest_empty) {	/* nothing is inside */
			*to++ = (struct point){ key + START_SALT, start, record & ~3ull, around_it };
			top[1].start.time = top->end;
			continue;
		}
		top[1] = (struct point_frame){ { key + START_SALT, start, record & ~3ull, around_it },
					       end, row };
		top += !instant;
		top[1].start.time = top->end;
	}
	s->tail = (size_t)(to - s->buf);
	s->depth = (uint32_t)(top - s->stack) + 1;
	s->run->overlaps += overlaps;
}

#define ITEMS 256

#define HOT static inline __attribute__((always_inline))

/* The end of a record, above what else its last word has. */
#define TYPE_SHIFT (64 - MM_VALUE_BITS)
HOT uint64_t type_of(const uint8_t *tail)
{
	return mm_u64(tail + 8) << TYPE_SHIFT;
}

/* A record, from its thread on, that is no integer. `number`: << 2 | POINT_END. */
HOT void look_up(struct points_run *r, const struct id_map *map, const uint8_t *tail, uint64_t type,
		 uint64_t number, struct point_item *item, const int wide, const int narrow)
{
	const uint8_t *const names = tail - (wide ? 16 : 8);
	const struct id_info *const id = id_info_by(r, map, wide ? mm_u64(names + 8) : mm_u32(names + 4),
					     narrow);
	const uint64_t kind = kind_hash(r, wide ? mm_u64(names) : mm_u32(names));
	const uint64_t instant = opaque(type == MM_INSTANT << TYPE_SHIFT);
	const uint64_t start = mm_tail_start(tail);
	uint64_t end = type >> TYPE_SHIFT;
	if (__builtin_expect(end < start, 0)) {
		r->backwards++;
		end = start;
	}
	end = type == MM_INSTANT << TYPE_SHIFT ? start : end;
	*item = (struct point_item){ start, end, (id->hash ^ kind) + instant, id->row,
				     (uint32_t)(number + instant) };
}

/* Where the threads of records [from, from + n) lie. All of one thread: `n_timed` of
 * them are timed, and there is no need to look. */
static bool note_records(struct points_run *r, const uint8_t *records, uint64_t from, size_t n,
			 bool one_thread, size_t n_timed)
{
	struct mm_event e;
	if (!one_thread) {
		for (size_t i = n; i-- > 0;) {
			mm_decode(records + i * r->p->record_size, r->p->wide, &e);
			if (!note_thread(r, e.thread, from + i, e.p2 != MM_INTEGER))
				return false;
		}
		return true;
	}
	mm_decode(records, r->p->wide, &e);
	if (!note_thread(r, e.thread, from + n - 1, false))
		return false;
	struct thread_range *const range = &r->range[r->threads.last];
	for (uint64_t b = from / POINTS_BLOCK; b <= (from + n - 1) / POINTS_BLOCK; b++)
		r->block[b] |= thread_bit(e.thread);
	range->first = from;
	range->n_timed += n_timed;
	return true;
}

/* The same with room made for it. */
static bool take_all(struct points *s, const struct point_item *item, size_t n, uint64_t base)
{
	while (s->depth + n + 2 > s->cap)	/* one above the top may be looked at */
		if (!grow_stack(s))
			return false;
	if (!reserve(s, s->depth + 2 * n + 2))
		return false;
	take_items(s, item, n, base);
	if (n)
		check_hole(s, &item[n - 1], base);
	s->any = true;
	return s->run->err == 0;
}

/* The Starts of what is still open. */
static bool end_points(struct points *s)
{
	s->done = true;
	if (!reserve(s, s->depth))
		return false;
	for (; s->depth > BOTTOM; s->depth--)
		put_start(&s->buf[s->tail++], &s->stack[s->depth - 1]);
	return true;
}

static struct points *lane_of(struct points_run *r, uint32_t thread)
{
	const uint32_t i = threads_index(&r->threads, thread);
	if (__builtin_expect(i < r->n_lane && r->lane[i], 1))
		return r->lane[i];
	if (i == UINT32_MAX) {
		out_of_memory(r);
		return NULL;
	}
	return r->new_thread(r->new_thread_arg, thread) ? r->lane[i] : NULL;
}

/* Up to ITEMS records from the end of what is left, of whatever threads. */
HOT bool feed_records(struct points_run *r, const int wide, const int narrow)
{
	const size_t size = wide ? 32 : 24, thread = wide ? 16 : 8;
	struct point_item item[ITEMS];
	const struct id_map map = id_map(r);
	const size_t k = r->left < ITEMS ? r->left : ITEMS;
	const uint8_t *const first = r->records.records + (r->left - k) * size + thread;
	const uint64_t from = r->records.first + r->left - k;
	const uint32_t last_thread = mm_u32(first + (k - 1) * size);
	const uint8_t *tail = first + k * size;
	uint32_t differ = 0;
	uint64_t number = k << 2 | POINT_END;
	struct point_item *to = item;
	r->left -= k;
	do {
		tail -= size;
		number -= 1u << 2;
		prefetch_back(tail);
		const uint64_t type = type_of(tail);
		if (__builtin_expect(type == MM_INTEGER << TYPE_SHIFT, 0))
			continue;
		differ |= mm_u32(tail) ^ last_thread;
		look_up(r, &map, tail, type, number, to++, wide, narrow);
	} while (tail > first);
	const size_t n = (size_t)(to - item);
	if (r->err < 0)
		return false;
	for (size_t i = 0, end; i < n; i = end) {
		const uint32_t id = mm_u32(first + (item[i].number >> 2) * size);
		end = differ ? i + 1 : n;
		while (end < n && mm_u32(first + (item[end].number >> 2) * size) == id)
			end++;
		struct points *const s = lane_of(r, id);
		if (!s || !take_all(s, item + i, end - i, from))
			return false;
	}
	return true;
}

/* Functions of their own, so that each loop has all registers. */
static __attribute__((noinline)) bool feed_narrow(struct points_run *r)
{
	return feed_records(r, 1, 1);
}

static __attribute__((noinline)) bool feed_wide(struct points_run *r)
{
	return feed_records(r, 1, 0);
}

static __attribute__((noinline)) bool feed_other(struct points_run *r)
{
	return r->p->narrow ? feed_records(r, 0, 1) : feed_records(r, 0, 0);
}

bool points_feed(struct points_run *r)
{
	if (r->left || walk_next(&r->walk, &r->records)) {
		r->left = r->left ? r->left : r->records.n;
		if (!r->p->wide)
			return feed_other(r);
		return r->p->narrow ? feed_narrow(r) : feed_wide(r);
	}
	r->ended = true;
	walk_done(&r->walk);
	for (uint32_t i = 0; i < r->n_lane; i++)
		if (r->lane[i] && !end_points(r->lane[i]))
			return false;
	return true;
}

/* Up to ITEMS records from the end of what is left: first the look-ups, which can go
 * on side by side, then the work on the stack, which cannot. */
HOT bool take_records(struct points *s, const int wide, const int narrow)
{
	const size_t size = wide ? 32 : 24, thread = wide ? 16 : 8;
	struct point_item item[ITEMS];
	const struct id_map map = id_map(s->run);
	const size_t k = s->left < ITEMS ? s->left : ITEMS;
	const uint8_t *const records = s->records.records + (s->left - k) * size;
	const uint64_t from = s->records.first + s->left - k;
	uint32_t differ = 0;
	size_t n = 0;
	s->left -= k;
	for (size_t i = k; i-- > 0;) {
		const uint8_t *const tail = records + i * size + thread;
		const uint32_t other = mm_u32(tail) ^ s->thread;
		prefetch_back(tail);
		differ |= other;
		const uint64_t type = type_of(tail);
		if (!other && type != MM_INTEGER << TYPE_SHIFT)
			look_up(s->run, &map, tail, type, i << 2 | POINT_END, &item[n++], wide,
				narrow);
	}
	if (s->run->err < 0 || (s->note && !note_records(s->run, records, from, k, !differ, n)))
		return false;
	return take_all(s, item, n, from);
}

static bool take_some(struct points *s)
{
	const struct tare_profile *const p = s->run->p;
	if (p->narrow)
		return p->wide ? take_records(s, 1, 1) : take_records(s, 0, 1);
	return p->wide ? take_records(s, 1, 0) : take_records(s, 0, 0);
}

/* Passes over blocks that have nothing of the thread, from the end of what is left. */
static void skip_blocks(struct points *s)
{
	const uint64_t bit = thread_bit(s->thread);
	while (s->left) {
		const uint64_t last = s->records.first + s->left - 1;
		if (s->run->block[last / POINTS_BLOCK] & bit)
			return;
		const uint64_t from = last - last % POINTS_BLOCK;
		s->left = from > s->records.first ? (size_t)(from - s->records.first) : 0;
	}
}

bool points_fill(struct points *s, size_t want)
{
	if (!reserve(s, want + 1 > s->tail - s->head ? want + 1 - (s->tail - s->head) : 0))
		return false;
	while (s->shared && s->tail - s->head < want && !s->done) {
		if (!points_feed(s->run))
			return false;
		if (points_waiting(s->run) > POINTS_WAITING_MOST) {
			s->run->err = POINTS_TOO_MANY;
			return false;
		}
	}
	while (!s->shared && s->tail - s->head < want && !s->done) {
		if (!s->left) {
			if (walk_next(&s->walk, &s->records)) {
				s->left = s->records.n;
			} else {
				s->run->scanned = true;
				return end_points(s);
			}
		}
		if (!s->note) {
			skip_blocks(s);
			if (!s->left)
				continue;
		}
		if (!take_some(s))
			return false;
	}
	return true;
}

uint32_t points_row(struct points_run *r, uint64_t record)
{
	struct mm_event e;
	profile_record(r->p, record, &e);
	return id_info(r, e.id)->row;
}

int points_describe(struct tare_profile *p, uint64_t record, struct buf *out,
		    struct tare_why *why)
{
	struct mm_event e;
	struct event_name n;
	struct buf text = { 0 };
	profile_record(p, record, &e);
	int err = strings_text(p, e.kind, &text, why);
	if (err == 0 && !(text.data && (strcmp(text.data, "Query") == 0 ||
					strcmp(text.data, "GenericActivity") == 0))) {
		const size_t from = out->len;
		buf_add(out, text.data, text.len);
		text_tame(out, from);
		buf_chr(out, ' ');
	}
	text.len = 0;
	if (err == 0)
		err = strings_text(p, e.id, &text, why);
	if (err == 0) {
		event_name_split(text.data, text.len, &n);
		buf_chr(out, '`');
		buf_add(out, n.label, n.label_len);
		buf_chr(out, '(');
		for (size_t i = 0; i < n.args_len; i++) {
			if ((unsigned char)n.args[i] == MM_SEPARATOR)
				buf_str(out, ", ");
			else
				buf_chr(out, n.args[i]);
		}
		buf_str(out, ")`");
	}
	buf_free(&text);
	return err;
}
