/* Code that one process has translated, for the next processes of the same program in the run.
 *
 * A shell script or a build runs the same programs again and again, and most of the time of a short
 * program is translating. All of the engine's tables are at the same addresses in every process, and so
 * is the program's code while addresses are not randomised. So what one process leaves at its end can
 * be mapped by another one as it is.
 *
 *	process 1	notes that the program was seen
 *	process 2	writes what it has at its end to the run's memfd (kept_save())
 *	process 3 …	map that, privately, at their start (kept_start())
 *
 * Where the launcher stores code for other runs (SOFT_FLAG_KEEP, launch/kept-store.h), process 1 writes already. If there is
 * a file of an earlier run, process 1 reads it (kept-read.c), and from process 2 on it is in the memfd.
 *
 * What is kept are the arenas of blocks, links and the heap, the code of the segments, and lists of what
 * R, T and the table of pages have. Cells are not: each process counts from 0. The blocks of one
 * mapped file are a *unit*. A unit is out of use (its pages are hidden, R and T do not lead to it) until
 * the process has mapped the same file at the same address: same device, inode, size and times of change,
 * and a hash of the pages that blocks were made from. Nothing is kept where a file was changed in the last
 * two seconds, in which a further change might leave its times as they are. Nothing leads from one unit
 * to another one directly, or nothing is kept.
 *
 * Blocks that rely on constant slots (slots.c) come into use later than the rest of their unit: when the process has the
 * same slots, with the same contents, and the code that they lead to is in use (kept_slots_same()). Until then nothing
 * finds them, neither R nor P leads to them, and links from other blocks lead to stubs.
 *
 * Only processes are kept whose code is all of such files and the vDSO, and which count in cells without
 * anything special (kept_is_plain()) but the code log and calls. (The sites of calls.c are kept, contexts are not.) A process that has taken code over, the child of a fork, and one that
 * does not end by exit_group do not write (kept-save.c). When the cache is emptied, anonymous memory takes the place of
 * what was mapped (kept_forget()).
 */
#include "kept.h"
#include "sys.h"
#include "text.h"

#include <linux/personality.h>

struct kept_code kept;

/* ---- what is mapped ---- */

/* Nothing but cells, and no tables of other kinds that point to blocks. */
bool kept_is_plain(void)
{
	const uint32_t special = SOFT_FLAG_VPMU | SOFT_FLAG_TRACE |
				 SOFT_FLAG_WATCH;
	return !(E.shared->flags & special) && !E.shared->n_stops && !E.machine && !E.hermetic &&
	       !E.shared->files.of;
}

/* `path`: of the file, or "" for the descriptor itself. */
static bool file_of(long fd, const char *path, struct soft_file *f)
{
	struct k_stat st;
	if (sys4(__NR_newfstatat, fd, path, &st, path[0] ? 0 : AT_EMPTY_PATH) < 0)
		return false;
	*f = (struct soft_file){ .dev = st.dev, .ino = st.ino, .size = (uint64_t)st.size,
				 .mtime_s = st.times[2], .mtime_ns = st.times[3], .ctime_s = st.times[4],
				 .ctime_ns = st.times[5] };
	return true;
}

static bool same_file(const struct soft_file *a, const struct soft_file *b)
{
	return mem_equal(a, b, sizeof(*a));
}

/* What this process has read by itself is moved. */
static bool move_piece(const struct piece *p)
{
	return sys5(__NR_mremap, ZONE_KEPT + p->offset, p->size, p->size, MREMAP_MAYMOVE | MREMAP_FIXED, p->at) ==
		       (long)p->at &&
	       (p->prot == (PROT_READ | PROT_WRITE) || sys3(__NR_mprotect, p->at, p->size, p->prot) == 0);
}

static bool map_piece(const struct piece *p)
{
	if (kept.own)
		return move_piece(p);
	return sys6(__NR_mmap, (long)p->at, (long)p->size, p->prot, MAP_PRIVATE | MAP_FIXED, E.reserved_fd,
		    (long)(kept.from->offset + p->offset)) == (long)p->at;
}

static bool map_nothing(const struct piece *p)
{
	return sys6(__NR_mmap, (long)p->at, (long)p->size, p->prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) == (long)p->at;
}

/* T is read far more often than written: most pages of it are never copied. */
static bool take_table(const struct kept_unit *u)
{
	const struct region *const r = region_find(u->unit.start);
	const struct piece p = table_piece(u);
	return r && !r->ambiguous && table_map(u->unit.start, u->unit.end - u->unit.start) && map_piece(&p);
}

/* The kept unit is mapped. If the program has the same code there, its blocks are found from now on. */
static void use(const struct kept_unit *u)
{
	const struct kept_back *const r = kept_backs() + u->back;
	const uint32_t *const pages = kept_pages() + u->page;
	const uint64_t size = kept_head()->pages.size;
	if (!u->hash || kept_hash(&u->unit, pages, u->n_pages, size) != u->hash || !pages_show(pages, u->n_pages))
		return;
	for (uint32_t i = 0; i < u->n_backs; i++)
		*return_at(r[i].n) = r[i].code;
	calls_take_unit(u->unit.start, u->unit.end);
	kept.has_table[u - kept_head()->units] = take_table(u);
	kept.in_use[u - kept_head()->units] = true;
	kept.n_uses++;
}

/* ---- blocks that rely on constant slots ---- */

static uint32_t unit_in_use(uint64_t pc)
{
	for (uint32_t i = 0; i < kept_head()->n_units; i++)
		if (kept.in_use[i] && pc >= kept_head()->units[i].unit.start && pc < kept_head()->units[i].unit.end)
			return i;
	return MAX_UNITS;
}

/* Do the slots lead to the same code as when it was kept? */
static bool lead_to_same(const struct kept_slot *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (unit_in_use(list[i].target) == MAX_UNITS)
			return false;
	return slots_same(list, n);
}

/* R and P lead to these blocks from now on, where they do not lead to another block of this process. */
static void lead_to_late(const struct kept_unit *u)
{
	const struct kept_back *const r = kept_backs() + u->late_back, *const p = kept_backs() + u->late_entry;
	for (uint32_t i = 0; i < u->n_late_backs; i++)
		if (!(block_at(r[i].block)->flags & BLOCK_DEAD))
			*return_at(r[i].n) = r[i].code;
	for (uint32_t i = 0; i < u->n_late_entries; i++)
		if (!(block_at(p[i].block)->flags & BLOCK_DEAD) && *entry_at(p[i].n) == (uint64_t)glue_miss)
			*entry_at(p[i].n) = p[i].code;
}

/* The block returns from call n to `pc`. If a block that still waits for its slots has that number in its list, the list
 * must not be used any more, and so the unit's blocks that rely on slots are not. */
void kept_returns(uint32_t n, uint64_t pc)
{
	const uint32_t i = kept.taken && n <= kept_head()->n_returns ? unit_in_use(pc) : MAX_UNITS;
	if (i == MAX_UNITS || kept.slots_same[i] || kept.slots_differ[i])
		return;
	const struct kept_unit *const u = &kept_head()->units[i];
	const struct kept_back *const r = kept_backs() + u->late_back;
	for (uint32_t k = 0; k < u->n_late_backs; k++)
		kept.slots_differ[i] |= r[k].n == n;
	for (uint32_t k = 0; kept.slots_differ[i] && k < u->n_late_backs; k++)
		block_at(r[k].block)->returns = *return_next(r[k].n) = 0;
}

bool kept_slots_same(uint32_t i)
{
	const struct kept_unit *const u = &kept_head()->units[i];
	const struct kept_slot *const list = kept_slots() + u->slot;
	if (kept.slots_same[i] || kept.slots_differ[i] || !kept.in_use[i])
		return kept.slots_same[i];
	if (kept.looked[i] == slots_changed && kept.used[i] == kept.n_uses)
		return false;
	kept.looked[i] = slots_changed;
	kept.used[i] = kept.n_uses;
	if (!lead_to_same(list, u->n_slots))
		return false;
	slots_rely(list, u->n_slots, u->unit.start, u->unit.end);
	lead_to_late(u);
	return kept.slots_same[i] = true;
}

bool kept_waits(uint32_t id)
{
	if (!kept.taken || id > kept_head()->n_blocks)
		return false;
	const uint32_t i = unit_in_use(block_at(id)->pc);
	return i == MAX_UNITS || !kept_slots_same(i);
}

bool kept_writes(void)
{
	return kept.save_to;
}

static void look_for(const struct unit *m)
{
	for (uint32_t i = 0; kept.taken && i < kept_head()->n_units; i++) {
		const struct kept_unit *const u = &kept_head()->units[i];
		if (kept.waiting[i] && u->unit.start < m->end && m->start < u->unit.end && !same_file(&u->unit.file, &m->file))
			__atomic_store_n(&kept.from->outdated, 1, __ATOMIC_RELAXED);
		if (!kept.waiting[i] || u->unit.start != m->start || u->unit.end != m->end ||
		    !same_file(&u->unit.file, &m->file))
			continue;
		kept.waiting[i] = false;
		use(u);
	}
}

static void add(const struct unit *m)
{
	if (kept.n_units == MAX_UNITS)
		kept.too_many = true;
	else
		kept.units[kept.n_units++] = *m;
	look_for(m);
}

/* `fields`: from the inode on. */
void kept_line(const char *fields, uint64_t start, uint64_t end)
{
	char path[256];
	uint64_t inode;
	size_t n = 0;
	struct unit m = { .start = start, .end = end };
	if (!kept_is_plain())
		return;
	fields = text_decimal(fields, &inode);
	while (*fields == ' ')
		fields++;
	while (fields[n] && fields[n] != '\n' && n < sizeof(path) - 1) {
		path[n] = fields[n];
		n++;
	}
	path[n] = '\0';
	if (start == cache.vdso)
		m.file.dev = ~0ull;	/* the same in all processes */
	else if (path[0] != '/' || !file_of(AT_FDCWD, path, &m.file) || m.file.ino != inode)
		return;
	add(&m);
}

void kept_mapped(long fd, uint64_t start, uint64_t end)
{
	struct unit m = { .start = start, .end = end };
	if (!kept_is_plain() || !file_of(fd, "", &m.file))
		return;
	lock_take();
	add(&m);
	lock_drop();
}

void kept_code_changes(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < kept.n_units; i++)
		if (start < kept.units[i].end && kept.units[i].start < end)
			kept.units[i].end = 0;
	for (uint32_t i = 0; kept.taken && i < kept_head()->n_units; i++)
		if (start < kept_head()->units[i].unit.end && kept_head()->units[i].unit.start < end)
			kept.in_use[i] = false;
}

void kept_never(void)
{
	kept.save_to = NULL;
}

/* ---- taking over ---- */

/* Four sums side by side, so that the CPU works at all of them. */
static uint64_t hash_page(uint64_t hash, const uint64_t *words)
{
	const uint64_t odd = 0x9e3779b97f4a7c15ull;
	uint64_t h[4] = { hash, hash + 1, hash + 2, hash + 3 };
	for (unsigned i = 0; i < PAGE / 8; i += 4)
		for (unsigned k = 0; k < 4; k++)
			h[k] = (h[k] ^ h[k] >> 29 ^ words[i + k]) * odd;
	for (unsigned k = 1; k < 4; k++)
		h[0] = (h[0] ^ h[0] >> 32 ^ h[k]) * odd;
	return h[0];
}

uint64_t kept_hash(const struct unit *u, const uint32_t *list, uint32_t n, uint64_t size)
{
	uint64_t words[PAGE / 8], hash = 1;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t at = pages_hidden(list[i], size);
		if (at < u->start || at >= u->end || !copy_guest(words, (const void *)at, PAGE))
			return 0;
		hash = hash_page(hash ^ at, words);
	}
	return hash | 1;
}

/* Are the things that kept code has the addresses of where they were? */
static bool fits(const struct kept_head *h)
{
	if (h->magic != KEPT_MAGIC || h->n_hoods != cache.n_hoods ||
	    !mem_equal(&h->where.low, &cache.where.low, sizeof(uint32_t)) ||
	    h->where.low_size != cache.where.low_size || h->where.far != cache.where.far ||
	    h->where.table != cache.where.table)
		return false;
	for (uint32_t i = 0; i < cache.n_hoods; i++)
		if (h->hoods[i].start != cache.hoods[i].start || h->hoods[i].end != cache.hoods[i].end)
			return false;
	return true;
}

/* Is memory for all segments there? */
static bool map_segments(const struct kept_head *h)
{
	for (uint32_t i = 0; i < h->n_segments; i++) {
		const struct segment *const s = &h->segments[i];
		const long at = sys6(__NR_mmap, (long)s->base, (long)(s->end - s->base), PROT_ALL,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (at == (long)s->base)
			continue;
		if (at > 0)
			sys2(__NR_munmap, at, s->end - s->base);
		while (i-- > 0)
			sys2(__NR_munmap, h->segments[i].base, h->segments[i].end - h->segments[i].base);
		return false;
	}
	return true;
}

static void take(struct thread *t, const struct kept_head *h)
{
	cache_take(h->n_blocks, h->n_links);
	arena_grow(entries_base(), &cache.where.entries_mapped, (h->n_entries + 1ull) * 8);
	cache.n_entries = h->n_entries;
	heap_take(h->heap);
	for (uint32_t i = 0; i < h->n_pieces; i++)
		if (!map_piece(&h->pieces[i]))
			no_memory();
	cache.n_returns = h->n_returns;
	calls_take(h->n_sites);
	cache.n_segments = h->n_segments;
	cache.live_blocks = h->live_blocks;
	cache.dead_blocks = h->dead_blocks;
	cache.code_bytes = h->code_bytes;
	cache.source_bytes = h->source_bytes;
	for (uint32_t i = 0; i < h->n_segments; i++)
		cache.segments[i] = h->segments[i];
	for (uint32_t i = 0; i < h->n_hoods; i++) {
		cache.hoods[i].next = h->hoods[i].next;
		cache.hoods[i].cur = h->current[i] ? &cache.segments[h->current[i] - 1] : NULL;
	}
	for (uint32_t n = 1; n <= h->n_returns; n++)
		*return_at(n) = (uint64_t)glue_return_miss;
	*return_at(0) = h->return_0;
	pages_take(&h->pages);
	kept.taken = true;
	for (uint32_t i = 0; i < h->n_units; i++) {
		kept.waiting[i] = true;
		kept.looked[i] = ~0u;
	}
	struct soft_record *const r = &E.shared->records[t->record];
	r->blocks = r->had_blocks = cache.n_blocks;
	r->code_bytes = r->had_code = cache.code_bytes;
	r->source_bytes = r->had_source = cache.source_bytes;
}

static bool map_lists(const struct soft_kept *k)
{
	const struct piece lists = { .at = ZONE_KEPT, .size = k->head_size, .prot = PROT_READ };
	kept.mapped = k->head_size;
	if (!zone_try_map(ZONE_KEPT, k->head_size))
		return false;
	if (map_piece(&lists))
		return true;
	sys2(__NR_munmap, ZONE_KEPT, k->head_size);
	return false;
}

static bool take_from(struct thread *t, struct soft_kept *k, bool own)
{
	kept.from = k;
	if (own ? !kept_read_file(k) : !map_lists(k))
		return false;
	kept.own = own;
	if (own)
		kept.mapped = k->file.size;
	if (!fits(kept_head()) || !map_segments(kept_head())) {
		sys2(__NR_munmap, ZONE_KEPT, kept.mapped);
		return false;
	}
	take(t, kept_head());
	return true;
}

/* The place of the program; a new one, if there is none. NULL: all are taken, or it is the first process of the
 * program, and such a process only writes for other runs. */
static struct soft_kept *place_of(const struct soft_file *program)
{
	for (uint32_t i = 0; i < SOFT_MAX_KEPT; i++) {
		struct soft_kept *const k = &E.shared->kept[i];
		uint32_t state = KEPT_FREE;
		if (__atomic_compare_exchange_n(&k->state, &state, KEPT_TAKEN, false, __ATOMIC_ACQUIRE,
						__ATOMIC_ACQUIRE)) {
			k->program = *program;
			__atomic_store_n(&k->state, KEPT_SEEN, __ATOMIC_RELEASE);
			return E.shared->flags & SOFT_FLAG_KEEP ? k : NULL;
		}
		if (state != KEPT_TAKEN && same_file(&k->program, program))
			return k;
	}
	return NULL;
}

bool kept_limited(int what)
{
	struct { uint64_t now, most; } limit;
	return sys4(__NR_prlimit64, 0, what, 0, &limit) < 0 || limit.now != ~0ull;
}

/* T is mapped for all of a unit, where it otherwise is piece by piece. */
static bool memory_is_limited(void)
{
	return kept_limited(RLIMIT_AS) || kept_limited(RLIMIT_DATA);
}

/* The program is the file at the lowest address. */
static bool take_of_program(struct thread *t)
{
	if (!kept_is_plain() || !kept.n_units || kept.too_many || !t->record || memory_is_limited() ||
	    !(sys1(__NR_personality, -1) & ADDR_NO_RANDOMIZE))
		return false;
	struct soft_kept *const k = place_of(&kept.units[0].file);
	const uint32_t state = k ? __atomic_load_n(&k->state, __ATOMIC_ACQUIRE) : KEPT_NOT;
	const bool ready = state == KEPT_READY || state == KEPT_STORED;
	kept.again = ready && E.shared->flags & SOFT_FLAG_KEEP;
	if (state == KEPT_SEEN || kept.again)
		kept.save_to = k;
	return ready && take_from(t, k, state == KEPT_STORED);
}

void kept_start(struct thread *t)
{
	if (!take_of_program(t)) {
		cache_touch();
		if (kept.save_to)
			slots_note();
		return;
	}
	for (uint32_t i = 0; i < kept.n_units; i++)
		look_for(&kept.units[i]);
	if (kept.save_to)
		slots_note();
}

void kept_forget(void)
{
	kept.save_to = NULL;
	if (!kept.taken)
		return;
	bool ok = true;
	for (uint32_t i = 0; i < kept_head()->n_pieces; i++)
		ok &= map_nothing(&kept_head()->pieces[i]);
	for (uint32_t i = 0; i < kept_head()->n_units; i++) {
		const struct piece p = table_piece(&kept_head()->units[i]);
		ok &= !kept.has_table[i] || map_nothing(&p);
	}
	if (!ok)
		no_memory();
	*entry_at(0) = (uint64_t)glue_miss;
	kept.taken = false;
}
