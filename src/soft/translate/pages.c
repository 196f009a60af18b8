/* Pages of the program's code: the blocks made from them, and guarding them against stores.
 *
 * A block is found by its pc: by the bucket of its page, then in a list through the blocks. A
 * reference to a block (in a bucket or in block.page_next) also holds the block's offset in the
 * page and whether other blocks follow in the list, so that most searches read no block. A
 * program runs code of the same page for a while, so a search mostly touches memory that was
 * touched a moment ago.
 *
 * Pages that are executable and writable at once are guarded: write-protected when code is
 * translated from them. The first store makes the page writable again and drops its blocks. A
 * page that is written again and again in a short time gets checked blocks instead (emit_check()), for a while:
 * compilers fill a page with code bit by bit, and then it rests.
 */
#include "translate-room.h"
#include "sys.h"
#include "text.h"

#define MAX_RETRIES 1000
#define ALIAS_SCAN (1ull << 30)	/* a larger range is all of memory: aliases are not looked up */
#define BUCKETS 128

/* A reference to a block: its id, and the bits of its address that the bucket does not tell. */
#define REF_ID		0x1ffffffu
#define REF_MORE	(1u << 25)	/* other blocks may follow in the list */
#define REF_OFFSET	0xfc000000u	/* offset_bits() */
_Static_assert(MAX_BLOCKS <= REF_ID, "25 bits");
_Static_assert(PAGE / BUCKETS <= 1u << 6, "6 bits");

struct page {
	uint64_t addr;
	uint32_t heads;		/* in the heap: for each bucket, a list of blocks that begin here */
	uint32_t reaching;	/* list of blocks that begin in the page before and end here */
	uint32_t listed;	/* number of blocks in the lists of the buckets */
	uint8_t writes;		/* how often a store found the page guarded, lately */
	uint8_t guarded : 1;	/* the engine has write-protected it */
	uint8_t checked : 1;	/* new blocks are checked ones … */
	uint8_t wait : 4;	/* … for CHECKED_FOR << wait periods */
	uint16_t when;		/* the period of the last such store */
};

static struct page *pages;		/* open addressing, by page number */
static uint64_t pages_size, pages_used;
static struct page *recent;		/* the last one that was looked up */
static uint32_t n_guarded;		/* guarded pages */

static struct page *page_slot(uint64_t addr)
{
	uint64_t i = (addr / PAGE) & (pages_size - 1);
	while (pages[i].addr && pages[i].addr != addr)
		i = (i + 1) & (pages_size - 1);
	return &pages[i];
}

static void pages_grow(void)
{
	struct page *const old = pages;
	const uint64_t old_size = pages_size;
	pages_size = old_size ? old_size * 2 : 4096;
	pages = heap_alloc(pages_size * sizeof(*pages));
	recent = pages;
	for (uint64_t i = 0; i < old_size; i++)
		if (old[i].addr)
			*page_slot(old[i].addr) = old[i];
}

static struct page *page_get(uint64_t addr, bool create)
{
	if (create && pages_used * 2 >= pages_size)
		pages_grow();
	if (!pages)
		return NULL;
	if (recent->addr == addr && addr)
		return recent;
	struct page *const p = page_slot(addr);
	if (!p->addr) {
		if (!create)
			return NULL;
		p->addr = addr;
		pages_used++;
	}
	return recent = p;
}

static uint32_t *bucket(const struct page *p, uint64_t pc)
{
	return (uint32_t *)(ZONE_HEAP + p->heads) + ((pc ^ pc / BUCKETS) & (BUCKETS - 1));
}

static uint32_t offset_bits(uint64_t pc)
{
	return (uint32_t)(pc % PAGE / BUCKETS) << 26;
}

/* The reference that follows in the list; 0: none. */
static uint32_t after(uint32_t ref)
{
	return ref & REF_MORE ? block_at(ref & REF_ID)->page_next[0] : 0;
}

static uint32_t first_of(uint64_t pc)
{
	const struct page *const p = page_get(PAGE_DOWN(pc), false);
	return p && p->heads ? *bucket(p, pc) : 0;
}

uint32_t block_find(uint64_t pc)
{
	const uint32_t here = offset_bits(pc);
	for (uint32_t ref = first_of(pc); ref; ref = after(ref)) {
		const struct block *const b = block_at(ref & REF_ID);
		if ((ref & REF_OFFSET) == here && !(b->flags & (BLOCK_TWIN | BLOCK_SINGLE)) && !b->runs_from &&
		    !(b->by_slot && kept_waits(ref & REF_ID)))
			return ref & REF_ID;
	}
	return 0;
}

bool block_exists(uint64_t pc)
{
	const uint32_t here = offset_bits(pc);
	uint32_t ref = first_of(pc);
	while (ref && (ref & REF_OFFSET) != here)
		ref = after(ref);
	return ref;
}

void block_note(uint32_t id)
{
	struct block *const b = block_at(id);
	const uint64_t first = PAGE_DOWN(b->pc), last = PAGE_DOWN(b->pc + b->src_len - 1);
	struct page *p = page_get(first, true);
	if (!p->heads)
		p->heads = (uint32_t)((uint64_t)heap_alloc(BUCKETS * 4) - ZONE_HEAP);
	uint32_t *const head = bucket(p, b->pc);
	b->page_next[0] = *head;
	*head = id | offset_bits(b->pc) | (*head ? REF_MORE : 0);
	p->listed++;
	if (last == first)
		return;
	p = page_get(last, true);
	b->page_next[1] = p->reaching;
	p->reaching = id;
}

void block_forget(uint32_t id)
{
	const struct block *const b = block_at(id);
	struct page *const p = page_get(PAGE_DOWN(b->pc), false);
	if (!p || !p->listed)
		return;
	uint32_t *at = bucket(p, b->pc);
	while (*at && (*at & REF_ID) != id)
		at = &block_at(*at & REF_ID)->page_next[0];
	if (!*at)
		return;
	*at = b->page_next[0];
	p->listed--;
}

static void drop_list(uint32_t id, int which)
{
	uint32_t next;
	for (; id; id = next) {
		id &= REF_ID;
		next = block_at(id)->page_next[which];
		if (!(block_at(id)->flags & BLOCK_DEAD))
			cache_drop(id);
	}
}

static void page_drop(struct page *p)
{
	const uint32_t reaching = p->reaching;
	p->reaching = 0;
	drop_list(reaching, 1);
	for (unsigned i = 0; p->listed && i < BUCKETS; i++) {
		uint32_t *const head = (uint32_t *)(ZONE_HEAP + p->heads) + i;
		const uint32_t first = *head;
		for (uint32_t ref = first; ref; ref = block_at(ref & REF_ID)->page_next[0])
			p->listed--;
		*head = 0;
		drop_list(first, 0);
	}
}

bool page_is_checked(uint64_t addr)
{
	struct page *const p = page_get(addr, false);
	return p && p->checked;
}

/* Does the kernel write to that page for a thread? A guard would make it fail. */
static bool kernel_writes(uint64_t page)
{
	for (uint32_t i = 0; i < E.n_threads; i++) {
		const struct thread *const t = thread_at(i);
		for (unsigned k = 0; t->in_use && k < WRITTEN; k++)
			if (t->written[k].start < page + PAGE && t->written[k].end > page)
				return true;
	}
	return false;
}

void page_guard(uint64_t addr)
{
	struct page *const p = page_get(addr, true);
	const struct region *const r = region_find(addr);
	const uint64_t alias = alias_of_code(addr);
	if (!p->guarded && kernel_writes(alias ? alias : addr))
		p->checked = true;
	if (p->guarded || p->checked || !r || !(alias || r->prot & PROT_WRITE))
		return;
	if (sys3(__NR_mprotect, alias ? alias : addr, PAGE,
		 alias ? PROT_READ : (r->prot & ~PROT_WRITE) | PROT_READ) < 0)
		p->checked = true;
	else
		p->guarded = true, n_guarded++;
}

/* A store that finds a page guarded takes some 25 µs, with the blocks that are translated again; a checked block takes
 * several times as long as another one. A period is some 25 ms: in each, one store to a page is forgotten. */
#define WRITES_BEFORE_CHECKING 32
#define PERIOD_BITS	26		/* of the TSC */
#define CHECKED_FOR	8u
#define MOST_WAIT	9u		/* two minutes */

static bool any_checked;
static uint16_t looked_at;		/* the period in which pages were looked at that are checked */

static uint16_t period(void)
{
	return cache.no_tsc ? 0 : (uint16_t)(__builtin_ia32_rdtsc() >> PERIOD_BITS);
}

static void note_write(struct page *p)
{
	const uint16_t now = period(), passed = (uint16_t)(now - p->when);
	p->writes = (uint8_t)(p->writes > passed ? p->writes - passed + 1 : 1);
	p->when = now;
	if (p->writes < WRITES_BEFORE_CHECKING)
		return;
	p->writes = WRITES_BEFORE_CHECKING * 3 / 4;	/* after the wait */
	p->wait = p->wait < MOST_WAIT ? (p->wait + 1) & 15 : MOST_WAIT;
	p->checked = any_checked = true;
}

/* Pages that have had checked blocks for long enough are guarded again. */
static void end_waits(void)
{
	const uint16_t now = period();
	if (!any_checked || (uint16_t)(now - looked_at) < CHECKED_FOR)
		return;
	looked_at = now;
	any_checked = false;
	for (uint64_t i = 0; i < pages_size; i++) {
		struct page *const p = &pages[i];
		if (!p->checked)
			continue;
		if ((uint16_t)(now - p->when) < CHECKED_FOR << p->wait) {
			any_checked = true;
			continue;
		}
		page_drop(p);
		p->checked = false;
		p->when = now;
	}
}

/* Drops the blocks of a guarded page and makes it writable again. */
static void page_unguard(struct page *p)
{
	const struct region *const r = region_find(p->addr);
	const uint64_t alias = alias_of_code(p->addr);
	page_drop(p);
	p->guarded = false;
	n_guarded--;
	sys3(__NR_mprotect, alias ? alias : p->addr, PAGE,
	     r && !alias ? r->prot : PROT_READ | PROT_WRITE);
}

/* Another thread may have made the page writable between the fault and this call: then the store is
 * tried again. If it faults every time, the fault is the program's own. */
bool page_written(struct thread *t, uint64_t addr)
{
	const uint64_t code = alias_code_of(addr);
	struct page *const p = pages ? page_get(PAGE_DOWN(code ? code : addr), false) : NULL;
	if (!p)
		return false;
	if (!p->guarded) {
		const struct region *const r = region_find(addr);
		t->store.retries = t->store.retry_at == addr ? t->store.retries + 1 : 0;
		t->store.retry_at = addr;
		return (code || (r && r->prot & PROT_WRITE)) && t->store.retries < MAX_RETRIES;
	}
	t->store.retry_at = 0;
	note_write(p);
	page_unguard(p);
	end_waits();
	return true;
}

/* Calls `what` for every known page of [start, end). */
static void pages_each(uint64_t start, uint64_t end, void (*what)(struct page *))
{
	if (!pages)
		return;
	start = PAGE_DOWN(start);
	if ((end - start) / PAGE > pages_size) {
		for (uint64_t i = 0; i < pages_size; i++)
			if (pages[i].addr >= start && pages[i].addr < end)
				what(&pages[i]);
		return;
	}
	for (uint64_t a = start; a < end; a += PAGE) {
		struct page *const p = page_get(a, false);
		if (p)
			what(p);
	}
}

void cache_invalidate(uint64_t start, uint64_t end)
{
	pages_each(start, end, page_drop);
}

static void unguard(struct page *p)
{
	if (p->guarded)
		page_unguard(p);
}

bool pages_guarded(void)
{
	return n_guarded;
}

NEEDS_LOCK static void unguard_range(uint64_t start, uint64_t end)
{
	pages_each(start, end, unguard);
	/* a page is known by the address at which it is executed, not by that of its alias */
	for (uint64_t a = start; a < end && end - start < ALIAS_SCAN; a += PAGE) {
		const uint64_t code = alias_code_of(a);
		if (code)
			pages_each(code, code + 1, unguard);
	}
}

bool pages_unguard(struct thread *t, uint64_t start, uint64_t end)
{
	if (!n_guarded)
		return false;
	lock_take();
	unguard_range(start, end);
	lock_drop();
	return true;
}

void pages_written_by_kernel(struct thread *t, unsigned which, uint64_t start, uint64_t size)
{
	t->written[which] = (struct written){ start, start + size };
	if (n_guarded && size)
		unguard_range(start, start + size);
}

bool put_guest(uint64_t to, const void *from, size_t n)
{
	return copy_guest((void *)to, from, n) ||
	       (pages_unguard(thread_self(), to, to + n) && copy_guest((void *)to, from, n));
}

void pages_release(uint64_t start, uint64_t end)
{
	pages_each(start, end, unguard);
	pages_each(start, end, page_drop);
	end_waits();
}

static void page_forget(struct page *p)
{
	page_drop(p);
	n_guarded -= p->guarded;
	p->guarded = false;
}

void pages_forget(uint64_t start, uint64_t end)
{
	if (region_unchanging(start, end))
		cache_drop_relying(start, end);
	pages_each(start, end, page_forget);
}

/* ---- code that is kept for another process ---- */

/* The page is not found while this bit of its address is set: it belongs to a file that is not
 * mapped yet. */
#define PAGE_HIDDEN 1u

struct pages_kept pages_keep(void)
{
	return (struct pages_kept){ (uint64_t)pages, pages_size, pages_used };
}

void pages_take(const struct pages_kept *k)
{
	pages = recent = (struct page *)k->at;
	pages_size = k->size;
	pages_used = k->used;
}

uint32_t pages_hide(uint64_t start, uint64_t end, uint32_t *list)
{
	uint32_t n = 0;
	for (uint64_t i = 0; i < pages_size; i++) {
		if (pages[i].addr < start || pages[i].addr >= end)
			continue;
		pages[i].addr |= PAGE_HIDDEN;
		list[n++] = (uint32_t)i;
	}
	return n;
}

uint64_t pages_hidden(uint32_t place, uint64_t size)
{
	return size == pages_size && pages[place].addr & PAGE_HIDDEN ? PAGE_DOWN(pages[place].addr) : 0;
}

/* (A page that is in the table already has had other code: two of one address there must not be.) */
bool pages_show(const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (page_slot(PAGE_DOWN(pages[list[i]].addr))->addr)
			return false;
	for (uint32_t i = 0; i < n; i++)
		pages[list[i]].addr &= ~(uint64_t)PAGE_HIDDEN;
	return true;
}

/* ---- when the cache is emptied ---- */

static struct page *saved;
static uint64_t n_saved;

/* That a page is guarded must be remembered; that it is written often is worth remembering. */
static bool worth_saving(const struct page *p)
{
	return p->guarded || ((p->checked || p->writes) && region_find(p->addr));
}

void pages_save(void)
{
	n_saved = 0;
	for (uint64_t i = 0; i < pages_size; i++)
		n_saved += worth_saving(&pages[i]);
	if (n_saved)
		saved = zone_map(ZONE_SCRATCH, PAGE_UP(n_saved * sizeof(*saved)));
	for (uint64_t i = 0, n = 0; n < n_saved; i++)
		if (worth_saving(&pages[i]))
			saved[n++] = pages[i];
	pages = recent = NULL;
	pages_size = pages_used = 0;
}

void pages_restore(void)
{
	for (uint64_t i = 0; i < n_saved; i++) {
		struct page *const p = page_get(saved[i].addr, true);
		p->guarded = saved[i].guarded;
		p->checked = saved[i].checked;
		p->writes = saved[i].writes;
		p->wait = saved[i].wait & 15;
		p->when = saved[i].when;
	}
	if (n_saved)
		sys2(__NR_munmap, saved, PAGE_UP(n_saved * sizeof(*saved)));
}
