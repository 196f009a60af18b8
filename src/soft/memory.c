/* The engine's own memory, and what it must know of the program's.
 *
 * Own memory lies at fixed addresses in the zone (abi.h) and is mapped piece by
 * piece, so that a small program under `ulimit -v` pays for what it uses.
 *
 * Of the program's memory the engine keeps the executable regions; what it knows of
 * single pages of code is in pages.c.
 */
#include "engine.h"
#include "sys.h"
#include "text.h"

#include <asm/errno.h>
#include <asm/unistd.h>
#include <linux/mman.h>

#define PROT_R 1
#define PROT_W 2
#define PROT_X 4

static uint64_t zone_bytes;		/* mapped by the next one */

bool zone_try_map(uint64_t addr, uint64_t size)
{
	const long at = sys6(__NR_mmap, (long)addr, (long)size, PROT_R | PROT_W,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
			     -1, 0);
	if (at > 0 && at != (long)addr)		/* a kernel that takes the address for a hint */
		sys2(__NR_munmap, at, size);
	if (at == (long)addr)
		__atomic_fetch_add(&zone_bytes, size, __ATOMIC_RELAXED);
	return at == (long)addr;
}

void *zone_map(uint64_t addr, uint64_t size)
{
	if (!zone_try_map(addr, size))
		no_memory();
	return (void *)addr;
}

/* A page that is needed anyway: with others it costs two thirds of one by one. */
void zone_touch(uint64_t addr, uint64_t size)
{
	sys3(__NR_madvise, addr, size, MADV_POPULATE_WRITE);	/* not there before Linux 5.14 */
}

/* Half a megabyte of small pages, then large ones: most of what a new page costs is
 * per page, but a small program would pay for clearing what it does not use. */
__attribute__((noinline, cold))
void arena_grow_now(uint64_t base, uint64_t *mapped, uint64_t need)
{
	while (*mapped < need) {
		const uint64_t size = *mapped ? ARENA_LARGE : ARENA_SMALL;
		zone_map(base + *mapped, size);
		if (size == ARENA_LARGE)
			sys3(__NR_madvise, base + *mapped, size, MADV_HUGEPAGE);
		*mapped += size;
	}
}

static uint64_t heap_mapped, heap_used = 8;	/* 0 is nobody's place */

void *heap_alloc(size_t size)
{
	const uint64_t at = heap_used;
	heap_used += (size + 7) & ~7ull;
	arena_grow(ZONE_HEAP, &heap_mapped, heap_used);
	return (void *)(ZONE_HEAP + at);
}

void arena_empty(uint64_t base, uint64_t mapped)
{
	if (mapped)
		sys3(__NR_madvise, base, mapped, MADV_DONTNEED);
}

void heap_empty(void)
{
	arena_empty(ZONE_HEAP, heap_mapped);
	heap_used = 8;
}

/* ---- the shadow of a stack, mapped where it is used ---- */

#define SHADOW_CHUNK (1ull << 20)
/* A stack that grows down through more chunks than this belongs to a deep recursion, which
 * goes through all of it again and again. Had each chunk its own memory, caches would hold
 * half as much of the stack. So the further ones are one and the same memory. A call then may
 * overwrite the number of another one, mostly that of the same function. */
#define SHADOW_OWN 2

static long shadow_map(uint64_t at, uint64_t kind)
{
	return sys6(__NR_mmap, (long)at, SHADOW_CHUNK, PROT_R | PROT_W,
		    (long)(kind | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE), -1, 0);
}

/* One more mapping of the memory that is used many times. A forked child must not have it in
 * common with its parent: numbers of calls mean something else there. */
static long shadow_map_again(struct thread *t, uint64_t at)
{
	if (t->shadow_common) {
		const long got = sys5(__NR_mremap, t->shadow_common, 0, SHADOW_CHUNK,
				      MREMAP_MAYMOVE | MREMAP_FIXED, at);
		if (got == (long)at) {
			zone_touch(at, SHADOW_CHUNK);
			return got;
		}
	}
	const long got = shadow_map(at, MAP_SHARED);
	if (got != (long)at)
		return got;
	if (sys3(__NR_madvise, at, SHADOW_CHUNK, MADV_DONTFORK) < 0) {
		sys2(__NR_munmap, at, SHADOW_CHUNK);
		return shadow_map(at, MAP_PRIVATE);
	}
	t->shadow_common = at;
	return got;
}

bool shadow_fault(struct thread *t, uint64_t addr)
{
	if (addr - gs_of(t) >= THREAD_SHADOW)
		return false;
	const uint64_t at = addr & ~(SHADOW_CHUNK - 1);
	t->shadow_run = at + SHADOW_CHUNK == t->shadow_last ? t->shadow_run + 1 : 1;
	t->shadow_last = at;
	const long got = t->shadow_run <= SHADOW_OWN ? shadow_map(at, MAP_PRIVATE) :
						       shadow_map_again(t, at);
	if (got != (long)at && got != -EEXIST)
		no_memory();
	return true;
}

void shadow_drop(struct thread *t)
{
	if (t->shadow_last)
		sys2(__NR_munmap, gs_of(t), THREAD_SHADOW);
	t->shadow_last = t->shadow_common = 0;
}

/* ---- executable regions ---- */

/* Needs the lock: regions move, and the hint is written. */
const struct region *region_find(uint64_t pc)
{
	static uint32_t last;
	const uint32_t hint = last;
	if (hint < E.n_regions && pc >= E.regions[hint].start && pc < E.regions[hint].end)
		return &E.regions[hint];
	uint32_t lo = 0, hi = E.n_regions;
	while (lo < hi) {
		const uint32_t mid = (lo + hi) / 2;
		if (E.regions[mid].end <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == E.n_regions || pc < E.regions[lo].start)
		return NULL;
	last = lo;
	return &E.regions[lo];
}

/* Those that change regions need the lock. */
static void region_insert(uint32_t at, struct region r)
{
	if (E.n_regions == MAX_REGIONS)
		die("too many executable regions", r.start);
	for (uint32_t i = E.n_regions; i > at; i--)
		E.regions[i] = E.regions[i - 1];
	E.regions[at] = r;
	E.n_regions++;
}

static void region_remove(uint32_t at)
{
	for (uint32_t i = at; i + 1 < E.n_regions; i++)
		E.regions[i] = E.regions[i + 1];
	E.n_regions--;
}

void region_clear(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < E.n_regions; i++) {
		struct region *const r = &E.regions[i];
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

/* The tables tell addresses by their low halves, so code that shares them with
 * other code is kept out of the tables, both of it. */
static bool share_low_halves(uint64_t start, uint64_t end)
{
	bool shared = false;
	for (uint32_t i = 0; i < E.n_regions; i++) {
		struct region *const r = &E.regions[i];
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
	if (!(prot & PROT_X))
		return;
	const bool ambiguous = share_low_halves(start, end);
	uint32_t at = 0;
	while (at < E.n_regions && E.regions[at].start < start)
		at++;
	if (at && E.regions[at - 1].end == start && E.regions[at - 1].prot == prot &&
	    E.regions[at - 1].shared == shared && E.regions[at - 1].anon == anon &&
	    E.regions[at - 1].ambiguous == ambiguous) {
		E.regions[at - 1].end = end;
		return;
	}
	region_insert(at, (struct region){ start, end, (uint8_t)prot, shared, anon, ambiguous });
}

/* "start-end rwxp …" of /proc/self/maps, as it was when the engine came in. */
static const char *parse_hex(const char *p, uint64_t *v)
{
	for (*v = 0;; p++) {
		if (*p >= '0' && *p <= '9')
			*v = *v << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*v = *v << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return p;
	}
}

static bool line_ends(const char *p, const char *with)
{
	const size_t n = text_len(with);
	const char *const start = p;
	while (*p && *p != '\n')
		p++;
	return (size_t)(p - start) >= n && mem_equal(p - n, with, n);
}

static void maps_line(const char *p, uint64_t only)
{
	uint64_t start, end;
	p = parse_hex(p, &start) + 1;
	p = parse_hex(p, &end) + 1;
	if (only && (only < start || only >= end))
		return;
	if (start == 0xffffffffff600000ull)
		E.has_vsyscall = true;
	if (line_ends(p, "[vdso]")) {
		E.vdso = start;
		E.vdso_size = end - start;
	}
	places_window(start, end);
	if (p[2] != 'x' || (start >= ZONE_BASE && start < ZONE_END) || start >> 63)
		return;
	const int prot = (p[0] == 'r' ? PROT_R : 0) | (p[1] == 'w' ? PROT_W : 0) | PROT_X;
	/* rwxp 00000000 00:00 0: the inode field tells files */
	const char *q = p + 5;
	for (int field = 0; field < 2; field++) {
		while (*q != ' ')
			q++;
		q++;
	}
	region_set(start, end, prot, p[3] == 's', *q == '0' && prot & PROT_W);
}

/* All executable mappings, or the one that holds the address `only`. */
static long read_maps(uint64_t only)
{
	static char text[65536];
	const long fd = own_open(-100, "/proc/self/maps", 02000000);
	if (fd < 0)
		return fd;
	size_t have = 0;
	for (;;) {
		const long n = sys3(__NR_read, fd, text + have, sizeof(text) - 1 - have);
		if (n <= 0)
			break;
		have += (size_t)n;
		text[have] = '\0';
		char *line = text;
		for (char *p = text; *p; p++) {
			if (*p != '\n')
				continue;
			maps_line(line, only);
			line = p + 1;
		}
		have -= (size_t)(line - text);
		for (size_t i = 0; i < have; i++)
			text[i] = line[i];
	}
	sys1(__NR_close, fd);
	return 0;
}

void regions_init(void)
{
	const long err = read_maps(0);
	if (err == -EMFILE)
		refuse("it has no descriptor free, and the hard limit on open files (ulimit -Hn) "
		       "allows no more: the engine cannot read its /proc/self/maps");
	if (err < 0)
		die("cannot read /proc/self/maps", (uint64_t)-err);
	places_check();
}

bool regions_learn(struct thread *t, uint64_t pc)
{
	if (pc < PAGE || pc >> 47 || engine_owns(pc, pc + 1))
		return false;
	lock_take(t);
	const bool known = region_find(pc);
	if (!known)
		read_maps(pc);
	const bool found = !known && region_find(pc);
	const bool far = found && E.window_used && !table_map(pc, 1);
	lock_drop();
	if (far && !table_go_far(t))
		no_memory();
	return found;
}

/* How far [pc, end) can be read. Code can be mapped and yet not there: a file that
 * was cut short. Asked once per page and translation. */
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

static bool overlaps_code(struct thread *t, uint64_t start, uint64_t end)
{
	bool found = false;
	lock_take(t);
	for (uint32_t i = 0; i < E.n_regions && !found; i++)
		found = E.regions[i].start < end && E.regions[i].end > start;
	lock_drop();
	return found;
}

/* ---- the program's memory calls ---- */

/* Without the lock it is what there was a moment ago: the engine adds to it, and moves parts
 * of it only when the program wants their place (place.c). */
struct engine_view view_own(void)
{
	return (struct engine_view){ E.where, E.n_thread_places,
				     __atomic_load_n(&E.n_segments, __ATOMIC_ACQUIRE), E.segments,
				     t_mapped };
}

/* The first of [start, start + size) in [at, *from). */
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
	if (v->n_thread_places > MAX_ZONE_THREADS)
		own_part(MORE_THREADS, (v->n_thread_places - MAX_ZONE_THREADS) * THREAD_STRIDE, at,
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

/* Execute-only memory is readable for us, as it is natively on CPUs without
 * protection keys. */
static uint64_t readable_prot(uint64_t prot)
{
	return (prot & 7) == PROT_X ? prot | PROT_R : prot;
}

/* PR_SET_MDWE: kept by us, since the code cache itself is writable and executable. */
static bool mdwe_refuses(struct thread *t, uint64_t start, uint64_t end, uint64_t prot, bool fresh)
{
	if (!E.mdwe || !(prot & PROT_X))
		return false;
	if (prot & PROT_W)
		return true;
	if (fresh)
		return false;
	lock_take(t);
	const struct region *const r = region_find(start);
	const bool covers = r && r->end >= end;
	lock_drop();
	return !covers;
}

static void new_code(struct thread *t, uint64_t start, uint64_t end, int prot, bool shared,
		     bool anon)
{
	lock_take(t);
	pages_forget(start, end);
	region_set(start, end, prot, shared, anon);
	const bool far = E.window_used && prot & PROT_X && !table_map(start, end - start);
	lock_drop();
	if (far && !table_go_far(t))
		no_memory();
}

static bool is_error(long ret)
{
	return ret < 0 && ret > -4096;
}

/* A call for [start, end) that leaves the engine's parts alone. */
static long call_around(struct thread *t, long nr, const uint64_t *args, uint64_t start,
			uint64_t end)
{
	uint64_t from, to;
	const struct engine_view v = view_own();
	long ret = 0;
	while (start < end && !is_error(ret)) {
		const bool own = own_range(&v, start, end, &from, &to);
		const uint64_t a[6] = { start, (own ? from : end) - start, args[2], args[3], args[4],
					args[5] };
		if (a[1])
			ret = gate(t, nr, a);
		start = own ? to : end;
	}
	return ret;
}

/* mmap of what nobody may touch, over the zone: sanitizers forbid all memory that no part of
 * the program may use. Nobody notices that the engine is there. */
static bool forbids_zone(const uint64_t *a, uint64_t end)
{
	return !(a[2] & 7) && a[3] & MAP_ANONYMOUS && a[3] & MAP_FIXED &&
	       a[0] <= ZONE_BASE && end >= ZONE_END;
}

/* What MAP_32BIT chooses from. */
#define START_OF_32BIT 0x40000000ull
#define END_OF_32BIT 0x80000000ull

/* The program wants memory at an address: gives way, or says that it cannot. */
static void make_way(struct thread *t, const uint64_t *a, uint64_t end)
{
	const bool must = a[3] & MAP_FIXED;
	if (!must && !place_can_give(a[0], end))
		return;			/* the kernel finds it taken */
	if (place_give(t, a[0], end) || !must)
		return;
	struct line l = { 0 };
	line_str(&l, "the program maps memory of its own at ");
	line_hex(&l, a[0]);
	line_str(&l, ", where the engine is (");
	line_hex(&l, ZONE_BASE);
	line_str(&l, " to ");
	line_hex(&l, ZONE_END);
	line_str(&l, ")");
	l.text[l.len] = '\0';
	refuse(l.text);
}

/* A hint for what nobody may touch, over all of the low place (Chromium keeps the lowest
 * 4 GiB so): around it. 0 if the program has memory there, so that the hint is in vain. */
static long forbid_low(struct thread *t, const uint64_t *a, uint64_t end)
{
	const uint64_t low = E.where.low, low_end = low + E.where.low_size;
	uint64_t part[6] = { a[0], low - a[0], a[2], a[3] | MAP_FIXED_NOREPLACE, a[4], a[5] };
	if (a[2] & 7 || !(a[3] & MAP_ANONYMOUS) || a[3] & MAP_FIXED || a[0] >= low ||
	    end <= low_end || place_can_give(a[0], end))
		return 0;
	if (table_in_the_way(t, a[0], end) && !table_go_far(t))
		return 0;
	if (is_error(gate(t, __NR_mmap, part)))
		return 0;
	part[0] = low_end;
	part[1] = end - low_end;
	if (!is_error(gate(t, __NR_mmap, part)))
		return (long)a[0];
	const uint64_t first[6] = { a[0], low - a[0] };
	gate(t, __NR_munmap, first);
	return 0;
}

/* ---- limits ---- */

#define RLIMIT_AS_ 9
#define INFINITE (~0ull)

static uint64_t total_mapped(void)
{
	char text[32];
	const long fd = sys4(__NR_openat, -100, "/proc/self/statm", 02000000, 0);
	const long n = fd < 0 ? 0 : sys3(__NR_read, fd, text, sizeof(text));
	uint64_t pages = 0;
	if (fd >= 0)
		sys1(__NR_close, fd);
	for (long i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		pages = pages * 10 + (uint64_t)(text[i] - '0');
	return pages * PAGE;
}

/* The kernel refused memory to the program. Would it have got it without us? (What a limit
 * counts of ours: what zone_try_map() mapped and has not been given back, the engine's image
 * and the shared memory.) Then the program must not be told. */
static void check_limit(uint64_t len)
{
	struct { uint64_t now, most; } limit;
	if (sys4(__NR_prlimit64, 0, RLIMIT_AS_, 0, &limit) < 0 || limit.now == INFINITE)
		return;
	const uint64_t own = zone_bytes + sizeof(struct soft_shared) + THREAD_STACK_END +
			     ((uint64_t)etext - (uint64_t)__executable_start) + sizeof(E);
	const uint64_t all = total_mapped();
	if (all && all - own + len <= limit.now)
		no_memory();
}

static long do_mmap(struct thread *t, const uint64_t *args)
{
	uint64_t a[6] = { args[0], args[1], readable_prot(args[2]), args[3], args[4], args[5] };
	const uint64_t len = PAGE_UP(a[1]), end = a[0] + len;
	const bool sane = !(a[0] & (PAGE - 1)) && len && end > a[0] && end >> 47 == 0;
	if (mdwe_refuses(t, 0, 0, a[2], true))
		return -13;
	if (!(a[3] & MAP_ANONYMOUS) && (uint32_t)a[4] == E.reserved_fd)
		return -9;
	if (sane && a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE))
		alias_touched(t, a[0], end);
	if (sane && forbids_zone(a, end)) {
		const long ret = call_around(t, __NR_mmap, a, a[0], end);
		E.zone_forbidden |= !is_error(ret);
		return is_error(ret) ? ret : (long)a[0];
	}
	const long around = sane && a[0] ? forbid_low(t, a, end) : 0;
	if (around)
		return around;
	if (sane && a[0])
		make_way(t, a, end);
	long at = gate(t, __NR_mmap, a);
	if (at == -12 && a[3] & MAP_32BIT && E.where.low >= START_OF_32BIT &&
	    place_give(t, START_OF_32BIT, END_OF_32BIT))
		at = gate(t, __NR_mmap, a);
	if (at == -12)
		check_limit(len);
	if (is_error(at))
		return at;
	const uint64_t start = (uint64_t)at;
	if (table_in_the_way(t, start, start + len) && !table_go_far(t))
		no_memory();
	if (a[2] & PROT_X || overlaps_code(t, start, start + len))
		new_code(t, start, start + len, (int)a[2] & 7, (a[3] & 3) != MAP_PRIVATE,
			 a[3] & MAP_ANONYMOUS);
	if (a[2] & PROT_X && !(a[3] & MAP_ANONYMOUS))
		rseq_look_at_file((long)(int32_t)a[4]);
	return at;
}

/* The kernel keeps a gap between the heap and what comes after it. */
#define BRK_GAP (1ull << 20)

static long do_brk(struct thread *t, const uint64_t *a)
{
	const long now = sys1(__NR_brk, 0);
	if (now > 0 && a[0] > (uint64_t)now && a[0] >> 47 == 0)
		place_give(t, (uint64_t)now, a[0] + BRK_GAP);
	const long end = gate(t, __NR_brk, a);
	if (now > 0 && a[0] > (uint64_t)now && end == now)
		check_limit(a[0] - (uint64_t)now);
	return end;
}

static long do_munmap(struct thread *t, const uint64_t *a)
{
	const uint64_t end = a[0] + PAGE_UP(a[1]);
	const bool sane = !(a[0] & (PAGE - 1)) && a[1] && end > a[0] && end >> 47 == 0;
	if (sane)
		alias_touched(t, a[0], end);
	if (sane && overlaps_code(t, a[0], end)) {
		lock_take(t);
		pages_forget(a[0], end);
		region_clear(a[0], end);
		lock_drop();
	}
	if (sane && engine_owns(a[0], end))
		return call_around(t, __NR_munmap, a, a[0], end);
	return gate(t, __NR_munmap, a);
}

static long do_mprotect(struct thread *t, long nr, const uint64_t *args)
{
	const uint64_t a[6] = { args[0], args[1], readable_prot(args[2]), args[3] };
	const uint64_t end = a[0] + PAGE_UP(a[1]);
	alias_touched(t, a[0], end);
	if (engine_owns(a[0], end))
		return -12;
	if (mdwe_refuses(t, a[0], end, a[2], false))
		return -13;
	const bool had = overlaps_code(t, a[0], end);
	const long ret = gate(t, nr, a);
	if (ret < 0 || (!had && !(a[2] & PROT_X)))
		return ret;
	lock_take(t);
	const struct region *const r = region_find(a[0]);
	const bool shared = r && r->shared, anon = !r || r->anon || a[2] & PROT_W;
	lock_drop();
	new_code(t, a[0], end, (int)a[2] & 7, shared, anon);
	return ret;
}

static long do_mremap(struct thread *t, const uint64_t *a)
{
	const uint64_t old_end = a[0] + PAGE_UP(a[1]);
	const bool fixed = a[3] & MREMAP_FIXED;
	struct region kept = { 0 };
	alias_touched(t, a[0], old_end);
	if (fixed)
		alias_touched(t, a[4], a[4] + PAGE_UP(a[2]));
	if (engine_owns(a[0], old_end))
		return -14;
	if (fixed && !place_give(t, a[4], a[4] + PAGE_UP(a[2])))
		return -12;
	if (overlaps_code(t, a[0], old_end)) {
		/* as one piece, with the program's own protection */
		pages_open(t, a[0], old_end);
		lock_take(t);
		const struct region *const r = region_find(a[0]);
		if (r)
			kept = *r;
		pages_forget(a[0], old_end);
		lock_drop();
	}
	const long at = gate(t, __NR_mremap, a);
	if (is_error(at))
		return at;
	const uint64_t start = (uint64_t)at, len = PAGE_UP(a[2]);
	if (table_in_the_way(t, start, start + len) && !table_go_far(t))
		no_memory();
	lock_take(t);
	if (kept.end)
		region_clear(a[0], old_end);
	lock_drop();
	if (kept.end || overlaps_code(t, start, start + len))
		new_code(t, start, start + len, kept.end ? kept.prot : 0, kept.shared, true);
	return at;
}

static long do_madvise(struct thread *t, const uint64_t *a)
{
	const uint64_t end = a[0] + PAGE_UP(a[1]);
	alias_touched(t, a[0], end);
	const bool own = engine_owns(a[0], end);
	if (own && !(E.zone_forbidden && a[0] <= ZONE_BASE && end >= ZONE_END))
		return -12;
	const long ret = own ? call_around(t, __NR_madvise, a, a[0], end) :
			       gate(t, __NR_madvise, a);
	if (overlaps_code(t, a[0], end)) {
		lock_take(t);
		cache_invalidate(a[0], end);
		lock_drop();
	}
	return ret;
}

static long do_shmdt(struct thread *t, const uint64_t *a)
{
	lock_take(t);
	const struct region *const r = region_find(a[0]);
	if (r) {
		const uint64_t start = r->start, end = r->end;
		pages_forget(start, end);
		region_clear(start, end);
	}
	lock_drop();
	return gate(t, __NR_shmdt, a);
}

long memory_syscall(struct thread *t, long nr, const uint64_t *a)
{
	switch (nr) {
	case __NR_mmap:
		return do_mmap(t, a);
	case __NR_munmap:
		return do_munmap(t, a);
	case __NR_mprotect:
	case __NR_pkey_mprotect:
		return do_mprotect(t, nr, a);
	case __NR_mremap:
		return do_mremap(t, a);
	case __NR_madvise:
		return do_madvise(t, a);
	case __NR_brk:
		return do_brk(t, a);
	default:
		return do_shmdt(t, a);
	}
}
