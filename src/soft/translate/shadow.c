/* The shadow of a stack: the numbers of the calls that have not returned yet (see MAX_RETURNS in
 * translate.h). It is mapped where the thread uses it, at the first fault. */
#include "sys.h"
#include "text.h"
#include "translate.h"


#define SHADOW_CHUNK (1ull << 20)
/* A stack that grows down through more chunks than this belongs to a deep recursion, which goes
 * through all of it again and again. If each chunk had its own memory, the CPU's caches would hold
 * only half as much of the stack. So all further chunks are the same memory. A call then may
 * overwrite the number of another call, mostly one of the same function. */
#define SHADOW_OWN 2

static long shadow_map(uint64_t at, uint64_t kind)
{
	return sys6(__NR_mmap, (long)at, SHADOW_CHUNK, PROT_READ | PROT_WRITE,
		    (long)(kind | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE), -1, 0);
}

/* Maps the memory that is used many times once more. A forked child must not share it with its
 * parent, where numbers of calls mean something else. */
static long shadow_map_again(struct thread *t, uint64_t at)
{
	if (t->shadow.common) {
		const long got = sys5(__NR_mremap, t->shadow.common, 0, SHADOW_CHUNK,
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
	t->shadow.common = at;
	return got;
}

bool shadow_fault(struct thread *t, uint64_t addr)
{
	if (addr - gs_of(t) >= THREAD_SHADOW)
		return false;
	const uint64_t at = addr & ~(SHADOW_CHUNK - 1);
	t->shadow.run = at + SHADOW_CHUNK == t->shadow.last ? t->shadow.run + 1 : 1;
	t->shadow.last = at;
	const long got = t->shadow.run <= SHADOW_OWN || cache.calls ? shadow_map(at, MAP_PRIVATE) :
						       shadow_map_again(t, at);
	if (got != (long)at && got != -EEXIST)
		no_memory();
	const uint64_t chunk = (at - gs_of(t)) / SHADOW_CHUNK;
	t->shadow.mapped[chunk / 64] |= 1ull << chunk % 64;
	return true;
}

bool shadow_is_mapped(const struct thread *t, uint64_t addr)
{
	const uint64_t chunk = (addr - gs_of(t)) / SHADOW_CHUNK;
	return addr - gs_of(t) < THREAD_SHADOW && t->shadow.mapped[chunk / 64] >> chunk % 64 & 1;
}

void shadow_drop(struct thread *t)
{
	if (t->shadow.last)
		sys2(__NR_munmap, gs_of(t), THREAD_SHADOW);
	t->shadow.last = t->shadow.common = 0;
	mem_zero(t->shadow.mapped, sizeof(t->shadow.mapped));
}
