/* A process writes the code that it has translated for the next processes of its program: kept.c says
 * what for. */
#include "kept.h"
#include "sys.h"
#include "text.h"

#define MAX_KEPT_BLOCKS	200000u
#define SETTLED_S	2		/* a file must be unchanged for longer */

static const struct unit *unit_of(uint64_t pc)
{
	for (uint32_t i = 0; i < kept.n_units; i++)
		if (pc >= kept.units[i].start && pc < kept.units[i].end)
			return &kept.units[i];
	return NULL;
}

static bool settled(const struct soft_file *f)
{
	uint64_t now[2];
	if (f->dev == ~0ull)
		return true;
	return sys2(__NR_clock_gettime, CLOCK_REALTIME, now) == 0 && f->mtime_s + SETTLED_S < now[0] &&
	       f->ctime_s + SETTLED_S < now[0];
}

/* Its bytes are those of its file. (For the code log the bytes of all blocks are copied.) */
static bool is_of_file(const struct block *b)
{
	return !(b->flags & BLOCK_CHECKED) && (!b->src || (code_log_wanted() && !code_may_change(b->pc, b->src_len)));
}

/* Is the block part of a unit, with the block that it falls into? */
static bool is_in_unit(uint32_t id)
{
	const struct block *const b = block_at(id), *const next = b + (cache.counts_taken ? 2 : 1);
	const struct unit *const u = unit_of(b->pc);
	return u && b->pc + b->src_len <= u->end && is_of_file(b) &&
	       (!(b->flags & BLOCK_FALLS) || unit_of(next->pc) == u);
}

/* The block whose code has that address; 0: none. (A link that is not used any more has its site nowhere.) */
static uint32_t block_with(uint64_t code)
{
	struct segment *const s = segment_of(code);
	return s ? block_of_code(s, code) : 0;
}

/* The block that leaves by that link; 0: it is dropped. */
static uint32_t block_before(const struct link *l)
{
	const uint32_t from = block_with(l->kind == LINK_JUMP && l->side ? link_at(l->side)->site : l->site);
	return from && (block_at(from)->flags & (BLOCK_DEAD | BLOCK_ENTRY_ONLY | BLOCK_SIDE_EXIT)) == BLOCK_DEAD ? 0 : from;
}

/* Does a block that is not dropped lead to another unit by that link? (One that relies on slots may, if the link
 * leads to its stub: separate().) */
static bool crosses(const struct link *l)
{
	const uint32_t from = block_before(l);
	return from && !block_at(from)->by_slot && unit_of(block_at(from)->pc) != unit_of(l->target);
}

/* A block that relies on slots may be reached only by another one of its unit. */
static bool may_stay(const struct link *l, const struct block *to)
{
	const uint32_t from = block_before(l);
	if (!from || unit_of(block_at(from)->pc) != unit_of(to->pc))
		return !from && !to->by_slot;
	return block_at(from)->by_slot || !to->by_slot;
}

static bool is_alive(uint32_t id)
{
	return !(block_at(id)->flags & (BLOCK_DEAD | BLOCK_SINGLE));
}

/* Marks all blocks of a chain of which one relies on slots. */
static void mark_chain(uint32_t id)
{
	const uint32_t stride = cache.counts_taken ? 2 : 1;
	while (block_at(id)->flags & BLOCK_CHAINED)
		id -= stride;
	for (;; id += stride) {
		block_at(id)->by_slot = true;
		if (!(block_at(id)->flags & BLOCK_FALLS))
			return;
	}
}

/* Blocks that rely on slots are kept if it is known on which. Nothing else leads to them directly, and they lead to no
 * other unit: the process that takes them over finds them when it has the same slots. */
static void separate(void)
{
	const bool keeps = slots_noted() && !cache.calls;
	for (uint32_t id = 1; id <= cache.n_blocks; id++) {
		if (!is_alive(id) || !block_at(id)->by_slot)
			continue;
		if (keeps)
			mark_chain(id);
		else
			cache_drop_chain(id);
	}
	for (uint32_t id = 1; id <= cache.n_blocks; id++)
		if (is_alive(id))
			cache_unlink(id, may_stay);
}

static bool all_settled(void)
{
	for (uint32_t i = 0; i < kept.n_units; i++)
		if (kept.units[i].end && !settled(&kept.units[i].file))
			return false;
	return true;
}

/* Is enough left of the live blocks that there were, for what it costs other runs to read them? */
static bool enough_left(uint32_t before)
{
	return !(E.shared->flags & SOFT_FLAG_KEEP) || cache.live_blocks >= before / 2;
}

static bool can_be_kept(void)
{
	if (!kept_is_plain() || kept.too_many || cache.flushes || cache.mode || cache.n_modes || cache.precise ||
	    cache.no_tsc || cache.traced || cache.n_returns >= MAX_RETURNS - 1 || cache.n_blocks > MAX_KEPT_BLOCKS ||
	    cache.n_segments > MAX_KEPT_SEGMENTS || pages_guarded() || E.n_running != 1 ||
	    kept_limited(RLIMIT_FSIZE) || !all_settled())
		return false;
	const uint32_t live = cache.live_blocks;
	separate();
	if (!enough_left(live) || cache.n_segments > MAX_KEPT_SEGMENTS)
		return false;
	for (uint32_t id = 1; id <= cache.n_blocks; id++)
		if (is_alive(id) && !is_in_unit(id))
			return false;
	for (uint32_t id = 1; id <= cache.n_links; id++)
		if (crosses(link_at(id)))
			return false;
	return true;
}

static bool is_of_unit(uint32_t id, const struct unit *u)
{
	const struct block *const b = block_at(id);
	return b->pc >= u->start && b->pc < u->end && !(b->flags & BLOCK_DEAD);
}

static void list_backs(uint32_t id, uint32_t *n_backs)
{
	for (uint32_t n = block_at(id)->returns; n; n = *return_next(n))
		kept_backs()[(*n_backs)++] = (struct kept_back){ .code = *return_at(n), .n = n, .block = id };
}

/* (T gets an address when a jump comes there for the second time: here it is the next process's first) */
static void make_entry(uint32_t id)
{
	const uint64_t pc = block_at(id)->pc;
	if (block_at(id)->flags & BLOCK_JUMP_ENTRY && (!table_is_mapped(pc) || !*table_cell(pc)))
		entry_set(pc, entry_code(id, ARRIVE_BY_JUMP));
}

/* The blocks of the unit that rely on slots. T has their entries, but P does not lead to them before the process that
 * takes them over has the same slots. */
static void list_late(struct kept_unit *u, uint32_t *n_backs, uint32_t *n_slots)
{
	const uint32_t n = cache.n_blocks;
	u->late_back = *n_backs;
	for (uint32_t id = 1; id <= n; id++)
		if (block_at(id)->by_slot && is_of_unit(id, &u->unit))
			list_backs(id, n_backs);
	u->n_late_backs = *n_backs - u->late_back;
	u->late_entry = *n_backs;
	for (uint32_t id = 1; id <= n; id++) {
		const uint64_t pc = block_at(id)->pc;
		if (!block_at(id)->by_slot || block_at(id)->runs_from || !is_of_unit(id, &u->unit))
			continue;
		make_entry(id);
		const uint32_t entry = table_is_mapped(pc) ? *table_cell(pc) : 0;
		if (!entry || *entry_at(entry) == (uint64_t)glue_miss)
			continue;
		kept_backs()[(*n_backs)++] = (struct kept_back){ .code = *entry_at(entry), .n = entry, .block = id };
		*entry_at(entry) = (uint64_t)glue_miss;
	}
	u->n_late_entries = *n_backs - u->late_entry;
	u->slot = *n_slots;
	u->n_slots = slots_list(u->unit.start, u->unit.end, kept_slots() + u->slot);
	*n_slots += u->n_slots;
}

/* What R and the table of pages have of one unit. */
static void list_unit(struct kept_unit *u, uint32_t *n_backs, uint32_t *n_pages)
{
	u->back = *n_backs;
	u->page = *n_pages;
	for (uint32_t id = 1; id <= cache.n_blocks; id++) {
		const struct block *const b = block_at(id);
		if (b->by_slot || !is_of_unit(id, &u->unit))
			continue;
		make_entry(id);
		list_backs(id, n_backs);
	}
	u->n_backs = *n_backs - u->back;
	u->n_pages = pages_hide(u->unit.start, u->unit.end, kept_pages() + u->page);
	u->hash = kept_hash(&u->unit, kept_pages() + u->page, u->n_pages, pages_keep().size);
	*n_pages += u->n_pages;
}

/* A piece of memory, from the page of `at` on. */
static void add_piece(struct kept_head *h, uint64_t at, uint64_t end, uint32_t prot)
{
	h->pieces[h->n_pieces++] = (struct piece){ .at = PAGE_DOWN(at), .size = PAGE_UP(end) - PAGE_DOWN(at),
						   .prot = prot };
}

static void describe(struct kept_head *h)
{
	const uint32_t rw = PROT_READ | PROT_WRITE;
	h->magic = KEPT_MAGIC;
	h->where = cache.where;
	h->n_blocks = cache.n_blocks;
	h->n_links = cache.n_links;
	h->n_entries = cache.n_entries;
	h->n_returns = cache.n_returns;
	h->n_segments = cache.n_segments;
	h->live_blocks = cache.live_blocks;
	h->dead_blocks = cache.dead_blocks;
	h->code_bytes = cache.code_bytes;
	h->source_bytes = cache.source_bytes;
	h->heap = heap_bytes();
	h->pages = pages_keep();
	h->return_0 = *return_at(0);
	h->n_hoods = cache.n_hoods;
	for (uint32_t i = 0; i < cache.n_hoods; i++) {
		h->hoods[i] = cache.hoods[i];
		h->current[i] = cache.hoods[i].cur ? 1 + (uint32_t)(cache.hoods[i].cur - cache.segments) : 0;
	}
	add_piece(h, ZONE_BLOCKS, ZONE_BLOCKS + (cache.n_blocks + 1ull) * sizeof(struct block), rw);
	add_piece(h, ZONE_LINKS, ZONE_LINKS + (cache.n_links + 1ull) * sizeof(struct link), rw);
	add_piece(h, ZONE_HEAP, ZONE_HEAP + h->heap, rw);
	add_piece(h, entries_base(), entries_base() + (cache.n_entries + 1ull) * 8, rw);
	add_piece(h, ZONE_RETURNS, ZONE_RETURNS + (cache.n_returns + 1ull) * 4, rw);
	if (cache.calls) {
		const uint64_t sites = calls_keep(&h->n_sites);
		add_piece(h, ZONE_SITES, ZONE_SITES + sites, rw);
		add_piece(h, (uint64_t)return_pc(0), (uint64_t)return_pc(cache.n_returns + 1), rw);
	}
	for (uint32_t i = 0; i < cache.n_segments; i++) {
		const struct segment *const s = h->segments + i;
		h->segments[i] = cache.segments[i];
		if (PAGE_UP(s->hot) < PAGE_DOWN(s->cold)) {
			add_piece(h, s->base, s->hot, PROT_ALL);
			add_piece(h, s->cold, s->end, PROT_ALL);
		} else {
			add_piece(h, s->base, s->end, PROT_ALL);
		}
	}
}

static bool is_zero(const uint64_t *page)
{
	uint64_t any = 0;
	for (unsigned i = 0; i < PAGE / 8; i++)
		any |= page[i];
	return !any;
}

/* Pages of zeros stay holes of the memfd. */
static bool write_out(uint64_t at, uint64_t size, uint64_t offset)
{
	for (uint64_t done = 0, n; done < size; done += n) {
		n = PAGE;
		if (is_zero((const uint64_t *)(at + done)))
			continue;
		while (done + n < size && !is_zero((const uint64_t *)(at + done + n)))
			n += PAGE;
		if (__atomic_add_fetch(&E.shared->kept_bytes, n, __ATOMIC_RELAXED) > KEPT_MAX_BYTES)
			return false;
		if (sys4(__NR_pwrite64, E.reserved_fd, at + done, n, offset + done) != (long)n)
			return false;
	}
	return true;
}

/* The pages of T that blocks have entries in. The others are not read: what is mapped of the memfd would get
 * memory by that. */
static bool write_table(const struct kept_unit *u, uint64_t base)
{
	static uint64_t written[KEPT_MAX / PAGE / 64];
	const uint64_t pages = 4 * (u->unit.end - u->unit.start) / PAGE, words = (pages + 63) / 64;
	if (pages > KEPT_MAX / PAGE)
		return false;
	mem_zero(written, words * 8);
	for (uint32_t id = 1; id <= cache.n_blocks; id++) {
		const struct block *const b = block_at(id);
		if (b->flags & BLOCK_DEAD || b->pc < u->unit.start || b->pc >= u->unit.end ||
		    !table_is_mapped(b->pc) || !*table_cell(b->pc))
			continue;
		const uint64_t n = 4 * (b->pc - u->unit.start) / PAGE;
		if (written[n / 64] >> n % 64 & 1)
			continue;
		written[n / 64] |= 1ull << n % 64;
		if (!write_out(PAGE_DOWN(table_cell(b->pc)), PAGE, base + u->table + n * PAGE))
			return false;
	}
	return true;
}

/* Gives all parts their places in the memfd. Returns where they end. (Pieces and T share no large page: kept-read.c.) */
static uint64_t place_parts(struct kept_head *h, uint64_t offset)
{
	for (uint32_t i = 0; i < h->n_pieces; i++) {
		h->pieces[i].offset = offset;
		offset += h->pieces[i].size;
	}
	offset = (offset + ARENA_LARGE - 1) / ARENA_LARGE * ARENA_LARGE;
	for (uint32_t i = 0; i < h->n_units; i++) {
		h->units[i].table = offset;
		offset += table_piece(&h->units[i]).size;
	}
	return offset;
}

/* How many blocks that rely on slots will get an entry, at most. */
static uint32_t count_late(void)
{
	uint32_t n = 0;
	for (uint32_t id = 1; id <= cache.n_blocks; id++)
		n += block_at(id)->by_slot && block_at(id)->flags & BLOCK_JUMP_ENTRY;
	return n;
}

static bool save(struct soft_kept *k)
{
	const uint32_t n_late = count_late();
	const uint64_t lists = (cache.n_returns + cache.n_entries + n_late + 1ull) * sizeof(struct kept_back) +
			       slots_used() * sizeof(struct kept_slot) + pages_keep().used * 4;
	const uint64_t head_size = PAGE_UP(sizeof(struct kept_head) + lists);
	if (kept.taken)
		sys2(__NR_munmap, ZONE_KEPT, kept.mapped);
	kept.taken = false;
	if (!zone_try_map(ZONE_KEPT, head_size))
		return false;
	struct kept_head *const h = kept_head();
	uint32_t n_backs = 0, n_slots = 0, n_pages = 0;
	h->n_backs = cache.n_returns + cache.n_entries + n_late;
	h->n_slots = slots_used();
	for (uint32_t i = 0; i < kept.n_units; i++) {
		if (!kept.units[i].end)
			continue;
		struct kept_unit *const u = &h->units[h->n_units++];
		u->unit = kept.units[i];
		list_late(u, &n_backs, &n_slots);
		list_unit(u, &n_backs, &n_pages);
	}
	h->n_pages = n_pages;
	describe(h);
	const uint64_t size = place_parts(h, head_size);
	const uint64_t used = __atomic_fetch_add(&E.shared->kept_used, size, __ATOMIC_RELAXED);
	if (used + size > KEPT_MAX)
		return false;
	k->offset = KEPT_FILE_OFFSET + used;
	k->head_size = head_size;
	k->size = size;
	bool ok = true;
	for (uint32_t i = 0; i < h->n_pieces && ok; i++)
		ok = write_out(h->pieces[i].at, h->pieces[i].size, k->offset + h->pieces[i].offset);
	for (uint32_t i = 0; i < h->n_units && ok; i++)
		ok = write_table(&h->units[i], k->offset);
	/* (the last byte, so that all holes are part of the file) */
	return ok && write_out(ZONE_KEPT, head_size, k->offset) &&
	       sys4(__NR_pwrite64, E.reserved_fd, "", 1, k->offset + size - 1) == 1;
}

/* ---- again, for other runs ---- */

#define ADDS_BLOCKS	100u

/* Is all kept code in use, and is the rest that has been translated worth keeping, too? */
static bool adds_much(void)
{
	const struct kept_head *const h = kept_head();
	for (uint32_t i = 0; i < h->n_units; i++)
		if (!kept.has_table[i] || !kept_slots_same(i))
			return false;
	return cache.live_blocks >= h->live_blocks + h->live_blocks / 16 + ADDS_BLOCKS;
}

static struct soft_kept *free_place(const struct soft_file *program)
{
	for (uint32_t i = 0; i < SOFT_MAX_KEPT; i++) {
		struct soft_kept *const k = &E.shared->kept[i];
		uint32_t state = KEPT_FREE;
		if (!__atomic_compare_exchange_n(&k->state, &state, KEPT_TAKEN, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		k->program = *program;
		return k;
	}
	return NULL;
}

/* What there is does not fit this process, or it has much to add. One process of the program does that in a run;
 * the processes of this run stay with what there is. */
static void save_again(struct soft_kept *old)
{
	uint32_t again = 0;
	if (kept.taken && !adds_much())
		return;
	if (!can_be_kept() || (kept.taken && (!adds_much() || cache.dead_blocks > cache.live_blocks)) ||
	    !__atomic_compare_exchange_n(&old->again, &again, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	struct soft_kept *const k = free_place(&old->program);
	if (k)
		__atomic_store_n(&k->state, save(k) ? KEPT_READY : KEPT_NOT, __ATOMIC_RELEASE);
}

void kept_save(const struct thread *t)
{
	struct soft_kept *const k = kept.save_to;
	uint32_t state = KEPT_SEEN;
	if (!k || !t->record)
		return;
	if (kept.again)
		save_again(k);
	else if (__atomic_compare_exchange_n(&k->state, &state, KEPT_WRITING, false, __ATOMIC_ACQUIRE,
					     __ATOMIC_RELAXED))
		__atomic_store_n(&k->state, can_be_kept() && save(k) ? KEPT_READY : KEPT_NOT, __ATOMIC_RELEASE);
}
