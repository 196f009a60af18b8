/* The engine's own memory.
 *
 * It lies at fixed addresses in the zone (abi.h) and is mapped piece by piece, so that a
 * small program under `ulimit -v` pays only for what it uses.
 */
#include "engine.h"
#include "sys.h"

#define HEAP_TOUCH (24ull << 10)

static uint64_t zone_bytes;		/* mapped by zone_try_map() */

uint64_t zone_mapped(void)
{
	return __atomic_load_n(&zone_bytes, __ATOMIC_RELAXED);
}

bool zone_try_map(uint64_t addr, uint64_t size)
{
	const long at = sys6(__NR_mmap, (long)addr, (long)size, PROT_READ | PROT_WRITE,
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

void zone_map_shared(uint64_t addr, uint64_t offset, uint64_t size)
{
	const long got = sys6(__NR_mmap, (long)addr, (long)PAGE_UP(size), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED, E.reserved_fd, (long)offset);
	if (got < 0)
		no_memory();
}

/* Populated together, pages cost two thirds of what they cost one by one. */
void zone_touch(uint64_t addr, uint64_t size)
{
	sys3(__NR_madvise, addr, size, MADV_POPULATE_WRITE);	/* not there before Linux 5.14 */
}

/* Half a megabyte of small pages, then large ones. Most of the cost of a new page is per page, but
 * a small program would pay for clearing parts of a large page that it does not use. */
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

static uint64_t heap_mapped, heap_used = 8;	/* offset 0 means "none" */
static uint64_t heap_touched;		/* small pieces below it have their pages */

/* Small pieces are used at once, and are mostly read first: two faults for each page. So pages for
 * them are populated together. Of large arrays only some pages are used. */
void *heap_alloc(size_t size)
{
	const uint64_t at = heap_used;
	heap_used += (size + 7) & ~7ull;
	arena_grow(ZONE_HEAP, &heap_mapped, heap_used);
	if (size < PAGE && heap_used > heap_touched && heap_mapped == ARENA_SMALL) {
		const uint64_t from = PAGE_DOWN(at);
		heap_touched = from + HEAP_TOUCH < ARENA_SMALL ? from + HEAP_TOUCH : ARENA_SMALL;
		zone_touch(ZONE_HEAP + from, heap_touched - from);
	}
	return (void *)(ZONE_HEAP + at);
}

uint64_t heap_bytes(void)
{
	return heap_used;
}

void heap_take(uint64_t used)
{
	arena_grow(ZONE_HEAP, &heap_mapped, used);
	heap_used = used;
	heap_touched = PAGE_UP(used);
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
	heap_touched = 0;
}

/* ---- threads ---- */

uint64_t thread_address(uint32_t n)
{
	return n < MAX_ZONE_THREADS ? ZONE_THREADS + n * THREAD_STRIDE :
				      MORE_THREADS + (n - MAX_ZONE_THREADS) * THREAD_STRIDE;
}

bool threads_overlap(uint64_t start, uint64_t end)
{
	const uint64_t n = E.n_thread_addresses;
	return n > MAX_ZONE_THREADS && end > MORE_THREADS &&
	       start < MORE_THREADS + (n - MAX_ZONE_THREADS) * THREAD_STRIDE;
}
