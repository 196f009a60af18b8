/* The program's memory calls: mmap, munmap, mprotect, mremap, madvise, brk, shmat, shmdt.
 *
 * From these calls the engine learns what the program may execute (regions.c). It moves its own
 * memory where the program wants the addresses, and keeps the program from changing it.
 */
#include "guest-room.h"
#include "sys.h"
#include "text.h"

/* Before a call that changes the range, or may do so. */
static void touched(struct thread *t, uint64_t start, uint64_t end)
{
	alias_touched(t, start, end);
	slots_touched(t, start, end);
}

static bool overlaps_code(struct thread *t, uint64_t start, uint64_t end)
{
	bool found = false;
	lock_take();
	for (uint32_t i = 0; i < cache.n_regions && !found; i++)
		found = cache.regions[i].start < end && cache.regions[i].end > start;
	lock_drop();
	return found;
}

/* Execute-only memory must be readable for the engine. So it is natively on CPUs without protection
 * keys. */
static uint64_t readable_prot(uint64_t prot)
{
	return (prot & PROT_ALL) == PROT_EXEC ? prot | PROT_READ : prot;
}

/* PR_SET_MDWE is enforced here and not by the kernel, because the code cache is writable and
 * executable. `fresh`: new memory. */
static bool mdwe_refuses(struct thread *t, uint64_t start, uint64_t end, uint64_t prot, bool fresh)
{
	if (!guest.mdwe || !(prot & PROT_EXEC))
		return false;
	if (prot & PROT_WRITE)
		return true;
	if (fresh)
		return false;
	lock_take();
	const struct region *const r = region_find(start);
	const bool covers = r && r->end >= end;
	lock_drop();
	return !covers;
}

static void new_code(struct thread *t, uint64_t start, uint64_t end, int prot, bool shared,
		     bool anon)
{
	lock_take();
	pages_forget(start, end);
	region_set(start, end, prot, shared, anon);
	if (prot & PROT_EXEC && !shared && shared_overlaps(start, end))
		regions_share(start, end);
	const bool far = cache.window_used && prot & PROT_EXEC && !table_map(start, end - start);
	lock_drop();
	if (far && !table_go_far(t))
		no_memory();
}

/* Of each mapping that the program makes or removes. */
static void note_mapping(struct thread *t, uint64_t start, uint64_t end, bool shared)
{
	lock_take();
	shared_note(start, end, shared);
	lock_drop();
}

static bool is_error(long ret)
{
	return ret < 0 && ret >= -MAX_ERRNO;
}

/* Makes the call for the parts of [start, end) that are not the engine's. */
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

/* mmap without access over all of the zone: sanitizers do this with memory that no part of the
 * program may use. */
static bool forbids_zone(const uint64_t *a, uint64_t end)
{
	return !(a[2] & PROT_ALL) && a[3] & MAP_ANONYMOUS && a[3] & MAP_FIXED &&
	       a[0] <= ZONE_BASE && end >= ZONE_END;
}

/* The range of MAP_32BIT. */
#define START_OF_32BIT 0x40000000ull
#define END_OF_32BIT 0x80000000ull

/* The program wants memory at an address: moves the engine's memory away, or refuses the
 * program. */
static void make_way(struct thread *t, const uint64_t *a, uint64_t end)
{
	const bool must = a[3] & MAP_FIXED;
	if (!must && !place_can_give(a[0], end))
		return;			/* a hint: the kernel chooses another address */
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

/* mmap with a hint and without access over all of the low place (Chromium reserves the lowest 4 GiB
 * so): maps the ranges around the low place. 0: the kernel cannot follow the hint anyway, because
 * the program has memory there. */
static long forbid_low(struct thread *t, const uint64_t *a, uint64_t end)
{
	const uint64_t low = cache.where.low, low_end = low + cache.where.low_size;
	uint64_t part[6] = { a[0], low - a[0], a[2], a[3] | MAP_FIXED_NOREPLACE, a[4], a[5] };
	if (a[2] & PROT_ALL || !(a[3] & MAP_ANONYMOUS) || a[3] & MAP_FIXED || a[0] >= low ||
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

#define INFINITE (~0ull)

static uint64_t total_mapped(void)
{
	char text[32];
	const long fd = sys4(__NR_openat, AT_FDCWD, "/proc/self/statm", O_CLOEXEC, 0);
	const long n = fd < 0 ? 0 : sys3(__NR_read, fd, text, sizeof(text) - 1);
	uint64_t pages;
	if (fd >= 0)
		sys1(__NR_close, fd);
	text[n > 0 ? n : 0] = '\0';
	text_decimal(text, &pages);
	return pages * PAGE;
}

/* The kernel refused memory to the program, because of a limit. If the program would have got it
 * without the engine, the run ends here: the program must not see the error. (The limit counts of
 * the engine: what zone_try_map() mapped, its image and the shared memory.) */
static void check_limit(uint64_t len)
{
	struct { uint64_t now, most; } limit;
	if (sys4(__NR_prlimit64, 0, RLIMIT_AS, 0, &limit) < 0 || limit.now == INFINITE)
		return;
	const uint64_t own = zone_mapped() + sizeof(struct soft_shared) + THREAD_STACK_END +
			     ((uint64_t)etext - (uint64_t)__executable_start) + sizeof(E) +
			     sizeof(cache);
	const uint64_t all = total_mapped();
	if (all && all - own + len <= limit.now)
		no_memory();
}

/* Code of a file that the program has open for writing changes with the file, also in a private mapping. */
static bool file_is_written(const uint64_t *a)
{
	return a[2] & PROT_EXEC && !(a[3] & MAP_ANONYMOUS) &&
	       (sys2(__NR_fcntl, (int32_t)a[4], F_GETFL) & O_ACCMODE) != O_RDONLY;
}

static long do_mmap(struct thread *t, const uint64_t *args)
{
	uint64_t a[6] = { args[0], args[1], readable_prot(args[2]), args[3], args[4], args[5] };
	const uint64_t len = PAGE_UP(a[1]), end = a[0] + len;
	const bool sane = !(a[0] & (PAGE - 1)) && len && end > a[0] && end < USER_END;
	if (mdwe_refuses(t, 0, 0, a[2], true))
		return -EACCES;
	if (!(a[3] & MAP_ANONYMOUS) && (uint32_t)a[4] == E.reserved_fd)
		return -EBADF;
	if (sane && a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
		touched(t, a[0], end);
		code_log_unmaps(t, a[0], end);
	}
	if (sane && forbids_zone(a, end)) {
		const long ret = call_around(t, __NR_mmap, a, a[0], end);
		guest.zone_forbidden |= !is_error(ret);
		return is_error(ret) ? ret : (long)a[0];
	}
	const long around = sane && a[0] ? forbid_low(t, a, end) : 0;
	if (around)
		return around;
	if (sane && a[0])
		make_way(t, a, end);
	long at = gate(t, __NR_mmap, a);
	if (at == -ENOMEM && a[3] & MAP_32BIT && cache.where.low >= START_OF_32BIT &&
	    place_give(t, START_OF_32BIT, END_OF_32BIT))
		at = gate(t, __NR_mmap, a);
	if (at == -ENOMEM)
		check_limit(len);
	if (is_error(at))
		return at;
	const uint64_t start = (uint64_t)at;
	if (table_in_the_way(t, start, start + len) && !table_go_far(t))
		no_memory();
	const bool shared = (a[3] & MAP_KIND) != MAP_PRIVATE || file_is_written(a);
	note_mapping(t, start, start + len, shared);
	if (a[2] & PROT_EXEC || overlaps_code(t, start, start + len))
		new_code(t, start, start + len, (int)a[2] & PROT_ALL, shared, a[3] & MAP_ANONYMOUS);
	if (a[2] & PROT_EXEC && !(a[3] & MAP_ANONYMOUS)) {
		rseq_look_at_file((long)(int32_t)a[4]);
		if (!(a[2] & PROT_WRITE) && !shared)
			kept_mapped((long)(int32_t)a[4], start, start + len);
	}
	return at;
}

/* The kernel keeps a gap between the heap and what comes after it. */
#define BRK_GAP (1ull << 20)

static long do_brk(struct thread *t, const uint64_t *a)
{
	const long now = sys1(__NR_brk, 0);
	if (now > 0 && a[0] > (uint64_t)now && a[0] < USER_END)
		place_give(t, (uint64_t)now, a[0] + BRK_GAP);
	const long end = gate(t, __NR_brk, a);
	if (now > 0 && a[0] > (uint64_t)now && end == now)
		check_limit(a[0] - (uint64_t)now);
	return end;
}

static long do_munmap(struct thread *t, const uint64_t *a)
{
	const uint64_t end = a[0] + PAGE_UP(a[1]);
	const bool sane = !(a[0] & (PAGE - 1)) && a[1] && end > a[0] && end < USER_END;
	if (sane) {
		touched(t, a[0], end);
		code_log_unmaps(t, a[0], end);
	}
	if (sane && overlaps_code(t, a[0], end)) {
		lock_take();
		pages_forget(a[0], end);
		region_clear(a[0], end);
		lock_drop();
	}
	const long ret = sane && engine_owns(a[0], end) ? call_around(t, __NR_munmap, a, a[0], end) :
			 gate(t, __NR_munmap, a);
	if (sane && !ret)
		note_mapping(t, a[0], end, false);
	return ret;
}

static long do_mprotect(struct thread *t, long nr, const uint64_t *args)
{
	const uint64_t a[6] = { args[0], args[1], readable_prot(args[2]), args[3] };
	const uint64_t end = a[0] + PAGE_UP(a[1]);
	touched(t, a[0], end);
	if (engine_owns(a[0], end))
		return -ENOMEM;
	if (mdwe_refuses(t, a[0], end, a[2], false))
		return -EACCES;
	const bool had = overlaps_code(t, a[0], end);
	const long ret = gate(t, nr, a);
	if (!ret && nr == __NR_mprotect && a[2] == PROT_READ)
		slots_protected(t, a[0], end);
	if (ret < 0 || (!had && !(a[2] & PROT_EXEC)))
		return ret;
	lock_take();
	const struct region *const r = region_find(a[0]);
	const bool shared = r && r->shared, anon = !r || r->anon || a[2] & PROT_WRITE;
	lock_drop();
	new_code(t, a[0], end, (int)a[2] & PROT_ALL, shared, anon);
	return ret;
}

static long do_mremap(struct thread *t, const uint64_t *a)
{
	const uint64_t old_end = a[0] + PAGE_UP(a[1]);
	const bool fixed = a[3] & MREMAP_FIXED;
	struct region kept = { 0 };
	touched(t, a[0], old_end);
	code_log_unmaps(t, a[0], old_end);
	if (fixed) {
		touched(t, a[4], a[4] + PAGE_UP(a[2]));
		code_log_unmaps(t, a[4], a[4] + PAGE_UP(a[2]));
	}
	if (engine_owns(a[0], old_end))
		return -EFAULT;
	if (fixed && !place_give(t, a[4], a[4] + PAGE_UP(a[2])))
		return -ENOMEM;
	if (overlaps_code(t, a[0], old_end)) {
		/* the range must have the program's own protection, in one piece */
		pages_unguard(t, a[0], old_end);
		lock_take();
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
	lock_take();
	const bool shared = shared_overlaps(a[0], old_end > a[0] ? old_end : a[0] + 1);
	if (a[1] && !(a[3] & MREMAP_DONTUNMAP))
		shared_note(a[0], old_end, false);
	shared_note(start, start + len, shared);
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
	touched(t, a[0], end);
	const bool own = engine_owns(a[0], end);
	if (own && !(guest.zone_forbidden && a[0] <= ZONE_BASE && end >= ZONE_END))
		return -ENOMEM;
	const long ret = own ? call_around(t, __NR_madvise, a, a[0], end) :
			       gate(t, __NR_madvise, a);
	if (overlaps_code(t, a[0], end)) {
		lock_take();
		cache_invalidate(a[0], end);
		cache_drop_relying(a[0], end);
		lock_drop();
	}
	return ret;
}

#define SHM_SIZE_AT 48		/* shm_segsz in struct shmid64_ds */

/* How large the segment is; 0: there is none. */
static uint64_t shm_size(int id)
{
	uint64_t ds[32] = { 0 };
	return sys3(__NR_shmctl, id, IPC_STAT, ds) < 0 ? 0 : PAGE_UP(ds[SHM_SIZE_AT / 8]);
}

static long do_shmat(struct thread *t, const uint64_t *a)
{
	const uint64_t size = shm_size((int)a[0]);
	const bool there = a[1] && a[1] + size > a[1] && a[1] + size < USER_END;
	if (there) {
		place_give(t, a[1], a[1] + size);
		if (engine_owns(a[1], a[1] + size))
			return -EINVAL;
	}
	if (there && a[2] & SHM_REMAP) {
		touched(t, a[1], a[1] + size);
		code_log_unmaps(t, a[1], a[1] + size);
	}
	const long at = gate(t, __NR_shmat, a);
	if (is_error(at))
		return at;
	const uint64_t start = (uint64_t)at, end = start + size;
	if (table_in_the_way(t, start, end) && !table_go_far(t))
		no_memory();
	note_mapping(t, start, end, true);
	if (a[2] & SHM_EXEC || overlaps_code(t, start, end))
		new_code(t, start, end, PROT_READ | (a[2] & SHM_RDONLY ? 0 : PROT_WRITE) | (a[2] & SHM_EXEC ? PROT_EXEC : 0),
			 true, false);
	return at;
}

static long do_shmdt(struct thread *t, const uint64_t *a)
{
	lock_take();
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
	case __NR_shmat:
		return do_shmat(t, a);
	default:
		return do_shmdt(t, a);
	}
}
