/* The regions of memory that the program may execute. What is known of single pages of code is in
 * pages.c. */
#include "sys.h"
#include "text.h"
#include "calls.h"


const struct region *region_find(uint64_t pc)
{
	static uint32_t last;
	const uint32_t hint = last;
	if (hint < cache.n_regions && pc >= cache.regions[hint].start && pc < cache.regions[hint].end)
		return &cache.regions[hint];
	uint32_t lo = 0, hi = cache.n_regions;
	while (lo < hi) {
		const uint32_t mid = (lo + hi) / 2;
		if (cache.regions[mid].end <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == cache.n_regions || pc < cache.regions[lo].start)
		return NULL;
	last = lo;
	return &cache.regions[lo];
}

static void region_insert(uint32_t at, struct region r)
{
	if (cache.n_regions == MAX_REGIONS)
		die("too many executable regions", r.start);
	for (uint32_t i = cache.n_regions; i > at; i--)
		cache.regions[i] = cache.regions[i - 1];
	cache.regions[at] = r;
	cache.n_regions++;
}

static void region_remove(uint32_t at)
{
	for (uint32_t i = at; i + 1 < cache.n_regions; i++)
		cache.regions[i] = cache.regions[i + 1];
	cache.n_regions--;
}

void region_clear(uint64_t start, uint64_t end)
{
	code_log_maps_changed();
	functions_forget(start, end);
	kept_code_changes(start, end);
	for (uint32_t i = 0; i < cache.n_regions; i++) {
		struct region *const r = &cache.regions[i];
		if (r->end <= start || r->start >= end)
			continue;
		if (r->start < start && r->end > end) {
			struct region tail = *r;
			tail.start = end;
			r->end = start;
			region_insert(i + 1, tail);
			return;
		}
		if (r->start < start)
			r->end = start;
		else if (r->end > end)
			r->start = end;
		else
			region_remove(i--);
	}
}

/* T is indexed by the low halves of addresses. Regions that have the same low halves are all kept
 * out of T: sets `ambiguous` in those that are there, and says whether the new one must have it. */
static bool share_low_halves(uint64_t start, uint64_t end)
{
	bool shared = false;
	for (uint32_t i = 0; i < cache.n_regions; i++) {
		struct region *const r = &cache.regions[i];
		const uint64_t a = (uint32_t)start, b = (uint32_t)r->start;
		const bool wraps = a + (end - start) > 1ull << 32 || b + (r->end - r->start) > 1ull << 32;
		if (!wraps && (a >= b + (r->end - r->start) || b >= a + (end - start)))
			continue;
		shared = true;
		if (!r->ambiguous)
			cache_invalidate(r->start, r->end);
		r->ambiguous = true;
	}
	return shared;
}

void region_set(uint64_t start, uint64_t end, int prot, bool shared, bool anon)
{
	region_clear(start, end);
	if (!(prot & PROT_EXEC))
		return;
	cache.may_guard |= prot & PROT_WRITE || shared;
	const bool ambiguous = share_low_halves(start, end);
	uint32_t at = 0;
	while (at < cache.n_regions && cache.regions[at].start < start)
		at++;
	if (at && cache.regions[at - 1].end == start && cache.regions[at - 1].prot == prot &&
	    cache.regions[at - 1].shared == shared && cache.regions[at - 1].anon == anon &&
	    cache.regions[at - 1].ambiguous == ambiguous) {
		cache.regions[at - 1].end = end;
		return;
	}
	region_insert(at, (struct region){ start, end, (uint8_t)prot, shared, anon, ambiguous });
}

bool region_unchanging(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < cache.n_regions; i++) {
		const struct region *const r = &cache.regions[i];
		if (r->start < end && r->end > start && region_is_fixed(r))
			return true;
	}
	return false;
}

/* ---- memory that is shared ---- */

/* Memory that is not executable is no region, but may be made one later, and then it matters whether
 * other mappings and other processes can change it. So mappings that are shared are noted here. */
#define MAX_SHARED 256

static struct { uint64_t start, end; } shared_memory[MAX_SHARED];
static uint32_t n_shared;
static bool more_shared;		/* than there is room for: any memory may be */

void shared_note(uint64_t start, uint64_t end, bool shared)
{
	for (uint32_t i = 0; i < n_shared; i++)
		if (shared_memory[i].start >= start && shared_memory[i].end <= end)
			shared_memory[i--] = shared_memory[--n_shared];
	if (!shared)
		return;
	if (n_shared == MAX_SHARED) {
		more_shared = true;
		return;
	}
	shared_memory[n_shared].start = start;
	shared_memory[n_shared++].end = end;
}

bool shared_overlaps(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < n_shared; i++)
		if (shared_memory[i].start < end && shared_memory[i].end > start)
			return true;
	return more_shared;
}

struct range {
	uint64_t start, end;
};

/* start-end rwxs … */
static void share_line(const char *p, void *arg)
{
	const struct range *const in = arg;
	uint64_t start, end;
	p = text_hex(p, &start) + 1;
	p = text_hex(p, &end) + 1;
	if (start < in->start)
		start = in->start;
	if (end > in->end)
		end = in->end;
	const struct region *const r = start < end && p[3] == 's' ? region_find(start) : NULL;
	if (r && !r->shared)
		region_set(start, end, r->prot, true, r->anon);
}

void regions_share(uint64_t start, uint64_t end)
{
	struct range r = { start, end };
	if (maps_each(share_line, &r) < 0)
		die("cannot read /proc/self/maps", start);
}

static bool line_ends(const char *p, const char *with)
{
	const size_t n = text_len(with);
	const char *const start = p;
	while (*p && *p != '\n')
		p++;
	return (size_t)(p - start) >= n && mem_equal(p - n, with, n);
}

/* "start-end rwxp …" of /proc/self/maps. *arg: 0, or only the mapping that holds this address. */
static void maps_line(const char *p, void *arg)
{
	const uint64_t only = *(const uint64_t *)arg;
	uint64_t start, end;
	p = text_hex(p, &start) + 1;
	p = text_hex(p, &end) + 1;
	if (only && (only < start || only >= end))
		return;
	if (start == VSYSCALL_PAGE)
		cache.has_vsyscall = true;
	if (line_ends(p, "[vdso]")) {
		cache.vdso = start;
		cache.vdso_size = end - start;
	}
	places_window(start, end);
	if (p[2] != 'x' || (start >= ZONE_BASE && start < ZONE_END) || start >> 63)
		return;
	const int prot = (p[0] == 'r' ? PROT_READ : 0) | (p[1] == 'w' ? PROT_WRITE : 0) | PROT_EXEC;
	/* rwxp 00000000 00:00 0: the inode is 0 if it is not a file */
	const char *q = p + 5;
	for (int field = 0; field < 2; field++) {
		while (*q != ' ')
			q++;
		q++;
	}
	region_set(start, end, prot, p[3] == 's', *q == '0' && prot & PROT_WRITE);
	if (!(prot & PROT_WRITE) && p[3] == 'p')
		kept_line(q, start, end);
}

void regions_init(void)
{
	uint64_t all = 0;
	const long err = maps_each(maps_line, &all);
	if (err == -EMFILE)
		refuse("it has no descriptor free, and the hard limit on open files (ulimit -Hn) "
		       "allows no more: the engine cannot read its /proc/self/maps");
	if (err < 0)
		die("cannot read /proc/self/maps", (uint64_t)-err);
	places_check();
}

bool regions_learn(struct thread *t, uint64_t pc)
{
	if (pc < PAGE || pc >= USER_END || engine_owns(pc, pc + 1))
		return false;
	lock_take();
	const bool known = region_find(pc);
	if (!known)
		maps_each(maps_line, &pc);
	const bool found = !known && region_find(pc);
	const bool far = found && cache.window_used && !table_map(pc, 1);
	lock_drop();
	if (far && !table_go_far(t))
		no_memory();
	return found;
}

/* Code can be mapped and yet fault: in a file that was cut short. So each page is read once for
 * each translation; this is the page that was read last. */
static uint64_t known_page;

void readable_reset(void)
{
	known_page = 1;
}

uint64_t readable_end(uint64_t pc, uint64_t end)
{
	for (uint64_t page = PAGE_DOWN(pc); page < end; page += PAGE) {
		if (page == known_page)
			continue;
		const uint64_t at = page > pc ? page : pc;
		if (glue_peek((const void *)at) < 0)
			return at;
		known_page = page;
	}
	return end;
}
