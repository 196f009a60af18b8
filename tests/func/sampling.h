/* For programs that take samples: a loop of which each instruction is known, and the ring buffer. */
#ifndef TESTS_SAMPLING_H
#define TESTS_SAMPLING_H

#include "vpmu.h"

#define PAGE 4096ul

/* The loop of which each instruction is known: dec, jnz. */
extern const char loop_dec[], loop_jnz[], loop_end[];
__attribute__((noinline, unused)) static void loop(uint64_t n)
{
	__asm__ volatile(".globl loop_dec, loop_jnz, loop_end\n"
			 "loop_dec: dec %0\nloop_jnz: jnz loop_dec\nloop_end:" : "+r"(n) : : "cc");
}

struct ring {
	struct perf_event_mmap_page *page;
	uint64_t size, tail;
};

static inline struct ring ring_map(int fd, unsigned pages, int prot)
{
	void *const p = mmap(NULL, (1 + pages) * PAGE, prot, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED, "mmap of 1 + %u pages: %s", pages, strerror(errno));
	return (struct ring){ .page = p, .size = pages * PAGE };
}

/* The next record, copied; NULL: there is none. */
static inline struct perf_event_header *ring_next(struct ring *r)
{
	static uint64_t copy[8192];
	const char *const data = (const char *)r->page + PAGE;
	const uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	if (r->tail == head)
		return NULL;
	struct perf_event_header *const h = (void *)copy;
	for (uint64_t i = 0; i < 8; i++)
		((char *)copy)[i] = data[(r->tail + i) % r->size];
	for (uint64_t i = 8; i < h->size; i++)
		((char *)copy)[i] = data[(r->tail + i) % r->size];
	r->tail += h->size;
	return h;
}

static inline void ring_done(struct ring *r)
{
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}

static inline struct perf_event_attr sampling(uint64_t period, uint64_t type)
{
	struct perf_event_attr a = vpmu_instructions();
	a.sample_period = period;
	a.sample_type = type;
	a.disabled = 1;
	return a;
}

static inline int open_or_die(const struct perf_event_attr *a, int pid, int group)
{
	const int fd = vpmu_open(a, pid, -1, group, 0);
	CHECK(fd >= 0, "open: %s", strerror(-fd));
	return fd;
}

#endif
