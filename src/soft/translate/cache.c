/* Finding, linking and dropping blocks; segments for their code.
 *
 * The dispatcher finds blocks by their page (pages.c). Indirect jumps look into T, which has the
 * number of an entry for each address (by its low half), and into P, which has the address of the
 * entry's code. For an unknown address T has 0, and P[0] leads to the dispatcher. T is filled for
 * an address only when an indirect jump comes there again, so that few of its pages are used.
 * Returns find the number of their call in the shadow of the stack and look into R. To drop a
 * block takes a few stores.
 */
#include "calls.h"
#include "sys.h"
#include "text.h"

/* The first segment of a hood has small pages. Further ones have large pages: the code of a
 * compiler would not fit into the CPU's table of small ones. */
#define SEGMENT_SMALL (1ull << 20)
#define SEGMENT_LARGE (2ull << 20)
/* A block takes some 36 bytes, and 25 of stubs. (With a list for 16 bytes each, the lists of two
 * segments would make the shortest program use a large page of the heap.) */
#define IDS_OF(size) ((size) / 32)

/* Bytes that even the shortest dynamically linked program needs. */
#define FIRST_BLOCKS (168u << 10)
#define FIRST_LINKS (88u << 10)
#define FIRST_HOT (96u << 10)
#define FIRST_COLD (32u << 10)

static uint64_t blocks_mapped, links_mapped, next_mapped;
struct code_cache cache;

/* ---- lookup ---- */

/* Entries are numbered in the order of their making, so that entries in use at the same time are
 * close together. A number is not used again: another thread may have read it from T. */
static uint32_t new_entry(void)
{
	const uint32_t n = ++cache.n_entries;
	if (n >= entries_max())
		die("more targets of indirect branches than a table holds", 0);
	arena_grow(entries_base(), &cache.where.entries_mapped, (n + 1ull) * 8);
	*entry_at(n) = (uint64_t)glue_miss;
	return n;
}

/* Other threads read T and P without the lock: so P is written before T. */
void entry_set(uint64_t pc, uint64_t code)
{
	const struct region *const r = region_find(pc);
	if (!r || r->ambiguous)
		return;
	if (!table_map(pc, 1))
		return;
	const uint32_t n = *table_cell(pc) ? *table_cell(pc) : new_entry();
	*entry_at(n) = code;
	__atomic_store_n(table_cell(pc), n, __ATOMIC_RELEASE);
}

static bool entry_missing(uint64_t pc)
{
	const struct region *const r = region_find(pc);
	return r && !r->ambiguous &&
	       (!table_is_mapped(pc) || !*table_cell(pc) || *entry_at(*table_cell(pc)) == (uint64_t)glue_miss);
}

/* When all numbers are in use, calls share them: the return of one of these calls goes through R,
 * those of the others are looked up in T. */
uint32_t new_return(uint64_t pc)
{
	const uint32_t n = 1 + cache.n_returns++ % (MAX_RETURNS - 1);
	if (n == cache.n_returns)		/* for the first time */
		*return_at(n) = (uint64_t)glue_return_miss;
	if (cache.calls) {
		*return_pc(n) = pc;
	}
	return n;
}

/* A return of the call `n` came to the block, and R had no code for it. */
static void return_set(uint32_t n, uint32_t id)
{
	if (*return_at(n) != (uint64_t)glue_return_miss)
		return;			/* another thread was faster */
	kept_returns(n, block_at(id)->pc);
	*return_at(n) = entry_code(id, ARRIVE_BY_RETURN);
	*return_next(n) = block_at(id)->returns;
	block_at(id)->returns = n;
}

static void leave_tables(uint32_t id)
{
	struct block *const b = block_at(id);
	const uint64_t pc = b->pc;
	if (b->flags & BLOCK_SINGLE)
		return;			/* what T has is of another block */
	if (table_is_mapped(pc) && *table_cell(pc)) {
		*entry_at(*table_cell(pc)) = (uint64_t)glue_miss;
		*table_cell(pc) = 0;
	}
	for (uint32_t n = b->returns; n; n = *return_next(n))
		*return_at(n) = (uint64_t)glue_return_miss;
	b->returns = 0;
}

/* ---- allocation ---- */

uint32_t new_block(void)
{
	const uint32_t id = ++cache.n_blocks;
	if (id >= MAX_BLOCKS)
		die("more blocks than a counter array holds", 0);
	arena_grow(ZONE_BLOCKS, &blocks_mapped, (id + 1ull) * sizeof(struct block));
	if (CELL_BYTES(id) > cache.counts_mapped)
		count_map_cells(CELL_BYTES(id));
	return id;			/* the arena's pages come zeroed */
}

uint32_t new_link(uint64_t target, uint8_t kind)
{
	const uint32_t id = ++cache.n_links;
	arena_grow(ZONE_LINKS, &links_mapped, (id + 1ull) * sizeof(struct link));
	*link_at(id) = (struct link){ .target = target, .kind = kind };
	return id;
}

static void put_trampoline(uint64_t at, const char *to)
{
	uint8_t *const c = (uint8_t *)at;
	c[0] = 0xff;			/* jmp [rip + 2] */
	c[1] = 0x25;
	*(uint32_t *)(c + 2) = 2;
	*(uint64_t *)(c + 8) = (uint64_t)to;
}

/* Prepares a segment for code. */
static void segment_begin(struct segment *s)
{
	put_trampoline(s->base, glue_exit);
	put_trampoline(s->base + 16, glue_miss);
	s->tramp_exit = s->base;
	s->tramp_miss = s->base + 16;
	s->hot = s->base + TRAMPOLINES;
	s->cold = s->end;
	s->ids = heap_alloc(IDS_OF(s->end - s->base) * 4);
	s->n_ids = 0;
	s->empty = false;
	put_return_lookup(s);
	*return_at(0) = cache.calls ? (uint64_t)glue_return_miss : s->return_lookup;
	if (cache.calls)
		put_calls_lookup(s);
}

/* A segment of the hood that a flush has emptied; NULL: there is none. */
static struct segment *segment_again(const struct hood *h)
{
	for (uint32_t i = 0; i < cache.n_segments; i++) {
		struct segment *const s = &cache.segments[i];
		if (!s->empty || s->base < h->start || s->end > h->end)
			continue;
		segment_begin(s);
		return s;
	}
	return NULL;
}

static struct segment *segment_new(struct hood *h)
{
	struct segment *const used = segment_again(h);
	if (used)
		return used;
	if (cache.n_segments == MAX_SEGMENTS)
		die("the code cache is full", 0);
	struct segment *const s = &cache.segments[cache.n_segments];
	const uint64_t size = h->cur ? SEGMENT_LARGE : SEGMENT_SMALL;
	long at = -1;
	h->next = (h->next + size - 1) & ~(size - 1);
	while (h->next + size <= h->end && at < 0) {
		at = sys6(__NR_mmap, (long)h->next, (long)size, PROT_ALL,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		h->next += size;
		if (at > 0 && (uint64_t)at != h->next - size) {
			sys2(__NR_munmap, at, size);
			at = -1;
		}
	}
	if (at < 0)
		return NULL;
	if (!cache.n_segments) {
		zone_touch((uint64_t)at, FIRST_HOT);
		zone_touch((uint64_t)at + size - FIRST_COLD, FIRST_COLD);
	}
	if (size == SEGMENT_LARGE)
		sys3(__NR_madvise, at, size, MADV_HUGEPAGE);
	*s = (struct segment){ .base = (uint64_t)at, .end = (uint64_t)at + size };
	segment_begin(s);
	__atomic_store_n(&cache.n_segments, cache.n_segments + 1, __ATOMIC_RELEASE);
	return s;
}

static bool near(const struct hood *h, uint64_t pc)
{
	const uint64_t far = 0x7ff00000;
	const uint64_t low = h->start < pc ? pc - h->start : h->start - pc;
	const uint64_t high = h->end < pc ? pc - h->end : h->end - pc;
	return low < far && high < far;
}

bool segment_has_ids(const struct segment *s)
{
	return s->n_ids <= IDS_OF(s->end - s->base) - 16;
}

#define SEGMENT_ROOM 12288

struct segment *segment_for(uint64_t pc)
{
	for (uint32_t i = 0; i < cache.n_hoods; i++) {
		struct hood *const h = &cache.hoods[i];
		if (i + 1 < cache.n_hoods && !near(h, pc))
			continue;	/* the last hood is for code anywhere */
		if (!h->cur || h->cur->cold - h->cur->hot < SEGMENT_ROOM ||
		    !segment_has_ids(h->cur)) {
			struct segment *const s = segment_new(h);
			if (!s)
				continue;
			h->cur = s;
		}
		return h->cur;
	}
	no_memory();
}

struct segment *segment_of(uint64_t code)
{
	const uint32_t n = __atomic_load_n(&cache.n_segments, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++)
		if (code >= cache.segments[i].base && code < cache.segments[i].end)
			return &cache.segments[i];
	return NULL;
}

bool in_cache(uint64_t pc)
{
	return segment_of(pc) != NULL;
}

uint32_t block_of_code(struct segment *s, uint64_t code)
{
	uint32_t lo = 0, hi = s->n_ids;
	while (lo < hi) {
		const uint32_t mid = (lo + hi) / 2;
		if (block_at(s->ids[mid])->code <= code)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	const struct block *const b = block_at(s->ids[lo - 1]);
	return code < b->code + b->code_len ? s->ids[lo - 1] : 0;
}

/* ---- links ---- */

static uint64_t block_body(const struct block *b)
{
	return b->code + (b->flags & BLOCK_JUMP_ENTRY ? JUMP_ENTRY_SIZE :
			  b->flags & BLOCK_RETURN_ENTRY ? RETURN_ENTRY_SIZE : 0);
}

void link_patch(uint64_t site, uint64_t to)
{
	__atomic_store_n((uint32_t *)site, (uint32_t)(to - (site + 4)), __ATOMIC_RELAXED);
}

void link_to_stub(const struct link *l)
{
	__atomic_store_n((uint32_t *)l->site, l->to_stub, __ATOMIC_RELAXED);
}

static bool takes_stub(const struct segment *s, uint64_t site)
{
	const int64_t first = (int64_t)(s->base - site), last = (int64_t)(s->end - site);
	return !s->empty && s->cold - s->hot >= 64 && first == (int32_t)first && last == (int32_t)last;
}

/* A segment for the stub of a link: the link's own, or any that its rel32 reaches. NULL: none. */
static struct segment *segment_for_stub(uint64_t site)
{
	struct segment *const own = segment_of(site);
	if (takes_stub(own, site))
		return own;
	for (uint32_t i = cache.n_segments; i-- > 0;)
		if (takes_stub(&cache.segments[i], site))
			return &cache.segments[i];
	for (uint32_t i = 0; i < cache.n_hoods; i++) {
		struct segment *s;
		if (!near(&cache.hoods[i], site) || !(s = segment_new(&cache.hoods[i])))
			continue;
		if (takes_stub(s, site))
			return s;
	}
	return NULL;
}

bool in_reach(uint64_t site, uint64_t to)
{
	const int64_t d = (int64_t)(to - (site + 4));
	return d == (int32_t)d;
}

void link_to(uint32_t id, uint32_t block)
{
	struct link *const l = link_at(id);
	struct block *const b = block_at(block);
	if (!in_reach(l->site, block_body(b)))
		return;			/* out of reach: always through the dispatcher */
	l->linked = true;
	l->next = b->in_links;
	b->in_links = id;
	link_patch(l->site, block_body(b));
}

/* The block that a side exit leads to is dropped. The code of the side exit may rely on what that
 * block does with flags, so it is written again when it is used again. */
static void side_exit_forget(uint32_t id)
{
	struct link *const side = link_at(id);
	side->linked = false;
	link_to_stub(side);
}

static void unlink_one(uint32_t id)
{
	struct link *const l = link_at(id);
	l->linked = false;
	if (l->kind == LINK_JUMP && l->side)
		side_exit_forget(l->side);
	if (!l->to_stub) {
		struct segment *const s = segment_for_stub(l->site);
		if (!s)
			die("no room to unlink a block", l->target);
		put_stub(s, id);
	}
	link_to_stub(l);
}

void cache_unlink(uint32_t block, bool (*stays)(const struct link *l, const struct block *to))
{
	struct block *const b = block_at(block);
	uint32_t *last = &b->in_links;
	uint32_t next;
	for (uint32_t id = b->in_links; id; id = next) {
		next = link_at(id)->next;
		if (stays(link_at(id), b)) {
			*last = id;
			last = &link_at(id)->next;
		} else {
			unlink_one(id);
		}
	}
	*last = 0;
}

/* Sends all links to the block back to their stubs. */
static void unlink_all(struct block *b)
{
	uint32_t next;
	for (uint32_t id = b->in_links; id; id = next) {
		next = link_at(id)->next;
		unlink_one(id);
	}
	b->in_links = 0;
}

/* From the id of a block in a chain to that of the next: a taken branch has the id between. */
static uint32_t stride(uint32_t id)
{
	return cache.counts_taken || cache.modes[block_at(id)->mode].taken ? 2 : 1;
}

/* Its bytes may change from now on, and another thread may be in its code: recover() needs what they were. */
static void keep_source(struct block *b)
{
	if (b->src || E.n_running == 1)
		return;
	uint8_t *const kept = heap_alloc(b->src_len);
	if (copy_guest(kept, (const void *)b->pc, b->src_len))
		b->src = (uint32_t)((uint64_t)kept - ZONE_HEAP);
}

/* Drops the block and the whole chain that it is part of. changed: the program's code may have changed. */
static void drop(uint32_t id, bool changed)
{
	while (block_at(id)->flags & BLOCK_CHAINED)
		id -= stride(id);
	for (;;) {
		struct block *const b = block_at(id);
		const bool falls = b->flags & BLOCK_FALLS;
		if (!(b->flags & BLOCK_DEAD)) {
			b->flags |= BLOCK_DEAD;
			cache.live_blocks--;
			cache.dead_blocks++;
			if (changed)
				keep_source(b);
			unlink_all(b);
			leave_tables(id);
			block_forget(id);
		}
		if (!falls)
			return;
		id += stride(id);
	}
}

void cache_drop(uint32_t id)
{
	drop(id, true);
}

void cache_drop_chain(uint32_t id)
{
	drop(id, false);
}

/* May code at pc rely on code of the range? */
static bool may_rely(uint64_t pc, uint64_t start, uint64_t end)
{
	const struct region *const r = region_find(pc);
	return !r || !region_is_fixed(r) || (r->start < end && r->end > start) || slots_lead(r);
}

void cache_drop_relying(uint64_t start, uint64_t end)
{
	slots_look(start, end);
	for (uint32_t id = 1; id <= cache.n_blocks; id++)
		if ((block_at(id)->flags & (BLOCK_RELIES_ON_NEXT | BLOCK_DEAD)) == BLOCK_RELIES_ON_NEXT &&
		    may_rely(block_at(id)->pc, start, end))
			drop(id, false);
	for (uint32_t id = 1; id <= cache.n_links; id++)
		if (link_at(id)->kind == LINK_SIDE_EXIT && link_at(id)->linked &&
		    may_rely(link_at(id)->target, start, end))
			side_exit_forget(id);
}

/* ---- emptying ---- */

/* The code of dropped blocks stays in the cache, because a thread may still be running it. When
 * more blocks are dead than alive (and there are enough to be worth it), the cache is emptied, and
 * blocks that are needed are translated again. That costs less than the translations since the last
 * flush, and bounds the memory. */
#define FLUSH_DEAD 50000u	/* some 300 bytes each, with their part of the tables */

static bool flush_is_due(void)
{
	return (cache.dead_blocks > FLUSH_DEAD && cache.dead_blocks > cache.live_blocks &&
		cache.dead_blocks > cache.flush_at) ||
	       cache.n_blocks > MAX_BLOCKS - MAX_BLOCKS / 64 || cache.n_entries + 64 > entries_max() ||
	       calls_slots_full();
}

static void segments_empty(void)
{
	for (uint32_t i = 0; i < cache.n_segments; i++) {
		struct segment *const s = &cache.segments[i];
		sys3(__NR_madvise, s->base, s->end - s->base, MADV_DONTNEED);
		s->empty = true;
		s->n_ids = 0;
	}
	for (uint32_t i = 0; i < cache.n_hoods; i++)
		cache.hoods[i].cur = NULL;
}

/* Folds the cells of every thread. */
static void cells_empty(void)
{
	for (uint32_t i = 0; i < E.n_threads; i++) {
		struct thread *const t = thread_at(i);
		if (t->in_use)
			count_fold(t);
		if (t->mapped)
			sys3(__NR_madvise, counts_of(t), cache.counts_mapped, MADV_DONTNEED);
	}
}

void cache_empty(void)
{
	cells_empty();
	cache.flushed_blocks += cache.n_blocks;
	const uint32_t returns = cache.n_returns < MAX_RETURNS ? cache.n_returns : MAX_RETURNS - 1;
	for (uint32_t n = 1; n <= returns; n++)
		*return_at(n) = (uint64_t)glue_return_miss;
	segments_empty();
	table_empty();
	pages_save();
	kept_forget();
	heap_empty();
	arena_empty(ZONE_BLOCKS, blocks_mapped);
	arena_empty(ZONE_LINKS, links_mapped);
	cache.n_blocks = cache.n_links = cache.n_entries = cache.n_returns = 0;
	cache.live_blocks = cache.dead_blocks = cache.flush_at = 0;
	translate_reset();
	calls_forget_sites();
	pages_restore();
	cache.flushes++;
}

/* A tracer would see the signals that stop the other threads, and might suppress them. So the cache
 * of a traced process is emptied only when a table is full. */
static bool tracer_would_see(void)
{
	return cache.traced && E.n_running > 1 && cache.n_blocks <= MAX_BLOCKS - MAX_BLOCKS / 64 &&
	       cache.n_entries + 64 <= entries_max() && is_traced();
}

bool cache_flush(struct thread *t)
{
	if (tracer_would_see() || !stop_others(t))
		return false;
	cache_empty();
	release_others();
	return true;
}

/* ---- the dispatcher ---- */

/* Takes the lock, to enter or make a block. Empties the cache first, if that is due. */
static void lock_take_for_code(struct thread *t)
{
	lock_take_to_enter(t);
	while (flush_is_due()) {
		lock_drop();
		if (!cache_flush(t))
			cache.flush_at = cache.dead_blocks * 2;	/* try again later */
		lock_take_to_enter(t);
	}
}

/* The code of the block; the thread is inside from now on. */
static uint64_t enter(struct thread *t, uint32_t id)
{
	if (id)
		__atomic_store_n(&t->code.inside, true, __ATOMIC_RELAXED);
	return id ? block_body(block_at(id)) : 0;
}

/* Where calls are followed, R leads only to where the call itself returns: each other return changes
 * the context in a way that C must find (a retpoline). */
static bool returns_there(uint32_t n, uint64_t pc)
{
	return !cache.calls || (n < MAX_RETURNS && *return_pc(n) == pc);
}

uint64_t cache_lookup(struct thread *t)
{
	if (PAGE_DOWN(t->pc) == VSYSCALL_PAGE) {
		vsyscall(t);
		return resume(t);
	}
	lock_take_for_code(t);
	/* a number from before a flush may be higher than any call's now: then it means nothing */
	const uint32_t n = t->exit_link == EXIT_RETURN && t->return_number <= cache.n_returns &&
			   returns_there((uint32_t)t->return_number, t->pc) ?
			   (uint32_t)t->return_number : 0;
	const enum arrival how = t->exit_link == EXIT_INDIRECT ? ARRIVE_BY_JUMP :
				 n ? ARRIVE_BY_RETURN : ARRIVE_DIRECTLY;
	enum problem problem = PROBLEM_NONE;
	uint32_t id;
	if (t->code.single_pc == t->pc) {
		t->code.single_pc = 0;
		id = translate_single(t->pc, &problem);
		t->code.stops = 0;
		/* its code does not look at budgets */
		t->vpmu.stepping = cache.modes[cache.mode].budgets;
	} else {
		id = block_find(t->pc);
		if (!id)
			id = translate(t->pc, how, &problem);
		else if (how == ARRIVE_BY_JUMP && entry_missing(t->pc))
			entry_set(t->pc, entry_code(id, how));
		if (id && n)
			return_set(n, id);
	}
	const uint64_t code = enter(t, id);
	lock_drop();
	if (id)
		return code;
	/* Memory that became executable without a call that the engine follows (brk, shmat, a
	 * growing stack) is in /proc/self/maps. If it is not, the CPU raises the fault. */
	if (problem == PROBLEM_NOT_EXECUTABLE && regions_learn(t, t->pc))
		return cache_lookup(t);
	signal_probe(t);
}

uint64_t cache_again(uint32_t id)
{
	const struct block *const b = block_at(id);
	return b->flags & BLOCK_DEAD ? 0 : block_body(b);
}

uint64_t cache_exit(struct thread *t, uint32_t id, uint32_t flushes)
{
	lock_take_for_code(t);
	if (cache.flushes != flushes) {		/* the link is not there any more */
		lock_drop();
		t->exit_link = 1;
		return cache_lookup(t);
	}
	struct link *const l = link_at(id);
	uint32_t to = block_find(t->pc);
	chain_choose(t, id);
	const uint32_t extension = to ? 0 : chain_extend(t, id);
	enum problem ignored;		/* cache_lookup() finds it again */
	if (!to)
		to = extension ? extension :
		     l->kind == LINK_SIDE_EXIT && !l->linked ? translate_side_exit(id, &ignored) :
		     translate(t->pc, ARRIVE_DIRECTLY, &ignored);
	if (to && !extension && !l->linked) {
		if (l->kind == LINK_SIDE_EXIT)
			put_side_exit(id);
		else
			link_to(id, to);
	}
	const uint64_t code = enter(t, to);
	t->code.falling_into = extension && block_at(extension)->runs_from ? extension : 0;
	lock_drop();
	return code ? code : cache_lookup(t);
}

void cache_take(uint32_t blocks, uint32_t links)
{
	cache.n_blocks = blocks;
	cache.n_links = links;
	arena_grow(ZONE_BLOCKS, &blocks_mapped, (blocks + 1ull) * sizeof(struct block));
	arena_grow(ZONE_LINKS, &links_mapped, (links + 1ull) * sizeof(struct link));
	if (CELL_BYTES(blocks) > cache.counts_mapped)
		count_map_cells(CELL_BYTES(blocks));
	zone_touch((uint64_t)counts_of(thread_at(0)), CELL_BYTES(blocks));
}

void cache_touch(void)
{
	zone_touch(ZONE_BLOCKS, FIRST_BLOCKS);
	zone_touch(ZONE_LINKS, FIRST_LINKS);
}

void cache_init(void)
{
	count_map_cells(1);
	arena_grow(ZONE_BLOCKS, &blocks_mapped, FIRST_BLOCKS);
	arena_grow(ZONE_LINKS, &links_mapped, FIRST_LINKS);
	arena_grow(ZONE_RETURNS, &next_mapped, MAX_RETURNS * 4);
}
