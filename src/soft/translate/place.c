/* Where the tables of indirect jumps and returns are, and moving them out of the program's way.
 *
 *	P, R	in the *low place*. Code uses 32-bit addresses for them, so the low place is in
 *		the lowest 2 GiB, wherever there is room.
 *	T	four bytes for the low half of each address: a range of 16 GiB, mapped only where
 *		code is. It is *near* while the program has no memory in its way: it begins below
 *		2 GiB, and code uses it with one instruction. Else it moves into the zone for good
 *		(*far*); then each indirect branch needs two instructions and a spill more.
 *
 * The program gets the memory that it maps at an address of its choice (MAP_FIXED, a hint, brk,
 * MAP_32BIT), as it would natively. Translated code contains the addresses of the tables. So
 * before a table moves, the other threads are stopped and the cache is emptied (cache_empty()).
 */
#include "translate-room.h"
#include "sys.h"

#define TABLE_NEAR 0x7ff00000ull	/* as high as a 32-bit displacement reaches */
#define TABLE_SIZE (4ull << 32)
#define LOW_FIRST 0x7d000000ull		/* above what MAP_32BIT takes first, below T */
#define LOW_SIZE (16ull << 20)
/* The last resort, where the program has taken all the rest: a program that is not PIE begins at
 * 4 MiB, and its heap may grow from there. */
#define LOW_LAST 0x00100000ull
#define LOW_LITTLE (3ull << 20)

uint8_t t_mapped[T_CHUNKS];

static bool overlap(uint64_t start, uint64_t end, uint64_t from, uint64_t size)
{
	return start < from + size && from < end;
}

/* ---- the low place ---- */

/* Is that range free? mmap tells, and also respects a limit on memory. */
static bool low_try(uint64_t at, uint64_t size)
{
	const long got = sys6(__NR_mmap, (long)at, (long)size, 0,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
			      -1, 0);
	if (got == -ENOMEM && size == LOW_LITTLE)
		no_memory();
	if (got > 0)
		sys2(__NR_munmap, got, size);
	return got == (long)at;
}

/* Makes it the low place: maps R and the first part of P. */
static void low_map(uint64_t at, uint64_t size)
{
	cache.where.low = (uint32_t)at;
	cache.where.low_size = (uint32_t)size;
	arena_grow(returns_base(), &cache.where.returns_mapped, MAX_RETURNS * 8);
	arena_grow(entries_base(), &cache.where.entries_mapped, 8);
	*entry_at(0) = (uint64_t)glue_miss;
}

/* A free range that is not in [start, end); 0: there is none. */
static uint64_t low_free(uint64_t start, uint64_t end, uint64_t *size)
{
	*size = LOW_SIZE;
	for (uint64_t at = LOW_FIRST; at >= LOW_SIZE; at -= LOW_SIZE)
		if (!overlap(start, end, at, LOW_SIZE) && low_try(at, LOW_SIZE))
			return at;
	*size = LOW_LITTLE;
	for (uint64_t at = LOW_LAST; at < LOW_FIRST; at += LOW_LITTLE)
		if (!overlap(start, end, at, LOW_LITTLE) && low_try(at, LOW_LITTLE))
			return at;
	return 0;
}

static bool low_find(uint64_t start, uint64_t end)
{
	uint64_t size;
	const uint64_t at = low_free(start, end, &size);
	if (at)
		low_map(at, size);
	return at;
}

bool place_can_give(uint64_t start, uint64_t end)
{
	uint64_t size;
	return !overlap(start, end, cache.where.low, cache.where.low_size) ||
	       low_free(start, end, &size);
}

uint32_t entries_max(void)
{
	return (uint32_t)((cache.where.low_size - LOW_ENTRIES) / 8 - 1);
}

/* After stop_others() and cache_empty(). */
static bool low_move(uint64_t start, uint64_t end)
{
	sys2(__NR_munmap, entries_base(), cache.where.entries_mapped);
	sys2(__NR_munmap, returns_base(), cache.where.returns_mapped);
	cache.where.entries_mapped = cache.where.returns_mapped = 0;
	return low_find(start, end);
}

/* ---- T ---- */

bool table_is_mapped(uint64_t pc)
{
	return t_mapped[(uint32_t)pc / T_COVER];
}

bool table_map(uint64_t pc, uint64_t len)
{
	for (uint64_t a = pc - pc % T_COVER; a < pc + len; a += T_COVER) {
		const uint32_t i = (uint32_t)a / T_COVER;
		if (t_mapped[i])
			continue;
		if (!zone_try_map(cache.where.table + i * T_CHUNK, T_CHUNK))
			return false;
		__atomic_store_n(&t_mapped[i], 1, __ATOMIC_RELEASE);
	}
	return true;
}

bool table_fault(uint64_t addr)
{
	if (addr < cache.where.table || addr - cache.where.table >= TABLE_SIZE)
		return false;
	const uint64_t i = (addr - cache.where.table) / T_CHUNK;
	return t_mapped[i] /* another thread was faster */ || table_map(i * T_COVER, 1);
}

void table_empty(void)
{
	for (uint32_t i = 0; i < T_CHUNKS; i++)
		if (t_mapped[i])
			sys3(__NR_madvise, cache.where.table + i * T_CHUNK, T_CHUNK, MADV_DONTNEED);
}

static void table_move(void)
{
	for (uint32_t i = 0; i < T_CHUNKS; i++) {
		if (t_mapped[i])
			sys2(__NR_munmap, cache.where.table + i * T_CHUNK, T_CHUNK);
		t_mapped[i] = 0;
	}
	cache.where.table = ZONE_TABLE;
	cache.where.far = true;
}

bool table_go_far(struct thread *t)
{
	if (cache.where.far)
		return true;
	if (!stop_others(t))
		return false;
	if (!cache.where.far) {
		cache_empty();
		table_move();
	}
	release_others();
	return true;
}

/* T is in the way where it is mapped, and where it must be mapped for code that exists already. */
bool table_in_the_way(struct thread *t, uint64_t start, uint64_t end)
{
	if (cache.where.far || !overlap(start, end, cache.where.table, TABLE_SIZE))
		return false;
	bool needed = false;
	lock_take();
	cache.window_used = true;
	for (uint32_t i = 0; i < cache.n_regions && !needed; i++) {
		const uint64_t len = cache.regions[i].end - cache.regions[i].start;
		const uint64_t at = cache.where.table + (uint32_t)cache.regions[i].start * 4ull;
		needed = overlap(start, end, at, len * 4);
	}
	for (uint64_t a = start; a < end && !needed; a = (a | (T_CHUNK - 1)) + 1)
		needed = a >= cache.where.table && a - cache.where.table < TABLE_SIZE &&
			 t_mapped[(a - cache.where.table) / T_CHUNK];
	lock_drop();
	return needed;
}

void places_window(uint64_t start, uint64_t end)
{
	cache.window_used |= overlap(start, end, TABLE_NEAR, TABLE_SIZE);
}

void places_init(void)
{
	cache.where.table = TABLE_NEAR;
	if (!low_find(0, 0))
		refuse("the program leaves no 3 MiB free below 0x80000000, where the engine "
		       "needs them; link it as PIE or with less static data");
}

void places_check(void)
{
	for (uint32_t i = 0; cache.window_used && !cache.where.far && i < cache.n_regions; i++)
		if (!table_map(cache.regions[i].start, cache.regions[i].end - cache.regions[i].start))
			table_move();
}

/* ---- giving way ---- */

static bool segments_overlap(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < cache.n_segments; i++) {
		const struct segment *const s = &cache.segments[i];
		if (overlap(start, end, s->base, s->end - s->base))
			return true;
	}
	return false;
}

/* Signal handlers of other threads read this list without the lock: they find a segment either
 * unchanged or empty. */
static void segments_give(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < cache.n_segments; i++) {
		struct segment *const s = &cache.segments[i];
		const uint64_t base = s->base, size = s->end - s->base;
		if (!overlap(start, end, base, size))
			continue;
		s->end = s->base = 0;
		s->empty = false;
		sys2(__NR_munmap, base, size);
	}
}

bool place_give(struct thread *t, uint64_t start, uint64_t end)
{
	if (overlap(start, end, ZONE_BASE, ZONE_END - ZONE_BASE) || threads_overlap(start, end))
		return false;
	const bool low = overlap(start, end, cache.where.low, cache.where.low_size);
	const bool table = table_in_the_way(t, start, end);
	if (!low && !table && !segments_overlap(start, end))
		return true;
	if (!stop_others(t))
		return false;
	cache_empty();
	segments_give(start, end);
	const bool ok = !low || low_move(start, end);
	if (table && !cache.where.far)
		table_move();
	release_others();
	if (!ok)
		refuse("the program takes the last 3 MiB free below 0x80000000, where the engine "
		       "needs them");
	return true;
}

/* ---- where the engine is ---- */

/* Without the lock it may be outdated: the engine adds to it, and moves parts of it when the
 * program wants their addresses. */
struct engine_view view_own(void)
{
	const uint32_t n = __atomic_load_n(&cache.n_segments, __ATOMIC_ACQUIRE);
	return (struct engine_view){ cache.where, E.n_thread_addresses, n, cache.segments, t_mapped };
}

/* If [start, start + size) begins or lies in [at, *from), sets *from and *to to that part. */
static void own_part(uint64_t start, uint64_t size, uint64_t at, uint64_t *from, uint64_t *to)
{
	if (at < start + size && *from > start) {
		*from = at > start ? at : start;
		*to = start + size;
	}
}

/* The zone, P, R, what is mapped of T, the code cache. */
bool own_range(const struct engine_view *v, uint64_t at, uint64_t end, uint64_t *from,
	       uint64_t *to)
{
	*from = end;
	if (at < ZONE_END && end > ZONE_BASE) {
		*from = at > ZONE_BASE ? at : ZONE_BASE;
		*to = ZONE_END;
	}
	if (v->n_thread_addresses > MAX_ZONE_THREADS)
		own_part(MORE_THREADS, (v->n_thread_addresses - MAX_ZONE_THREADS) * THREAD_STRIDE, at,
			 from, to);
	own_part(v->where.low + LOW_ENTRIES, v->where.entries_mapped, at, from, to);
	own_part(v->where.low, v->where.returns_mapped, at, from, to);
	const uint64_t table = v->where.table, t_end = table + (4ull << 32);
	for (uint64_t a = at < table ? table : at; !v->where.far && a < t_end && a < *from;
	     a += T_CHUNK - (a - table) % T_CHUNK)
		if (v->t_mapped[(a - table) / T_CHUNK]) {
			*from = a;
			*to = a - (a - table) % T_CHUNK + T_CHUNK;
		}
	for (uint32_t i = 0; i < v->n_segments; i++) {
		const struct segment *const s = &v->segments[i];
		if (s->end > at && s->base < *from) {
			*from = s->base > at ? s->base : at;
			*to = s->end;
		}
	}
	return *from < end;
}

bool engine_owns(uint64_t start, uint64_t end)
{
	uint64_t from, to;
	const struct engine_view v = view_own();
	return own_range(&v, start, end, &from, &to);
}
