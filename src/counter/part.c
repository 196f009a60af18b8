/* Reading one event of this thread: see part.h. */
#include "part.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* What the inline reads of the public headers take for granted. */
static_assert(offsetof(struct perf_event_mmap_page, index) == 12, "index");
static_assert(offsetof(struct perf_event_mmap_page, offset) == 16, "offset");
static_assert(sizeof(struct tare_counter) == 128, "the page follows the counter");

static void barrier(void)
{
	__asm__ volatile("" ::: "memory");
}

int part_open(struct part *p, const struct tare_encoding *e, int leader_fd, bool pinned,
	      const struct perf_ask *ask, const struct perf_facts *f, struct tare_why *why)
{
	perf_attr_fill(&p->attr, e);
	p->attr.pinned = leader_fd < 0 && (pinned || e->pinned);
	if (p->members > 1) {
		p->attr.read_format |= PERF_FORMAT_GROUP;
		p->attr.disabled = 1;
		/* arm64 leaves a disabled leader out when it checks whether a group
		 * fits its counters, unless it has this. exec closes it anyway. */
		p->attr.enable_on_exec = 1;
	}
	uint64_t config1[3] = { e->config1 };
	const unsigned n = perf_type_is_core(f, e->type) ? pmc_user_config1(e->config1, config1) : 1;
	for (unsigned i = 0; i < n; i++) {
		p->attr.config1 = config1[i];
		p->fd = perf_open(&p->attr, 0, -1, leader_fd);
		if (p->fd >= 0)
			return 0;
		if (p->fd != -EINVAL && p->fd != -EOPNOTSUPP)
			break;
	}
	const int err = -p->fd;
	p->fd = -1;
	return perf_diagnose_open(err, &p->attr, ask, f, why);
}

int part_enable(const struct part *leader)
{
	if (!leader->attr.disabled)
		return 0;
	return ioctl(leader->fd, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
}

int part_map(struct part *p, void *where, size_t page_size)
{
	void *const page = mmap(where, page_size, PROT_READ, MAP_SHARED | MAP_FIXED, p->fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	p->page = page;
	return 0;
}

int part_read(const struct part *p, struct perf_value *v)
{
	struct perf_value all[64];
	if (p->members <= 1)
		return perf_read(p->fd, v);
	const int r = perf_read_group(p->fd, all, p->members);
	if (r == 0)
		*v = all[0];
	return r;
}

void part_close(struct part *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->page = NULL;
	p->index = 0;
	p->select = 0;
}

uint64_t part_key(const volatile struct perf_event_mmap_page *page)
{
	uint64_t key;
	memcpy(&key, (const char *)page + offsetof(struct perf_event_mmap_page, index),
	       sizeof(key));
	return key;
}

static uint64_t sign_extend(uint64_t raw, unsigned width)
{
	const unsigned shift = 64 - width;
	return (uint64_t)((int64_t)(raw << shift) >> shift);
}

struct snapshot {
	uint32_t index;
	int64_t offset;
	unsigned width;
	bool cap;
	uint64_t select, raw, key;
};

/* The page and the register at one moment: retried while the kernel writes, which
 * it does at most a few times a millisecond. */
static void snapshot(struct part *p, bool second, struct snapshot *s)
{
	uint32_t seq;
	do {
		seq = p->page->lock;
		barrier();
		s->index = p->page->index;
		s->offset = p->page->offset;
		s->width = p->page->pmc_width;
		s->cap = p->page->cap_user_rdpmc;
		s->key = part_key(p->page);
		s->select = s->index ? pmc_select(s->index, second) : 0;
		s->raw = 0;
		if (!s->cap || s->width < 2 || s->width > 64 || p->forbidden)
			s->select = 0;
		else if (s->select && !pmc_read(s->select, &s->raw))
			p->forbidden = true;
		if (p->forbidden)
			s->select = 0;
		barrier();
	} while (p->page->lock != seq);
}

/* offset + register is right modulo 2^width; `near` is a recent true value. */
static uint64_t anchor(uint64_t total, uint64_t near, unsigned width)
{
	if (width >= 64)
		return total;
	const int64_t apart = (int64_t)(near - total);
	const int64_t half = (int64_t)1 << (width - 1);
	return total + ((uint64_t)((apart + half) >> width) << width);
}

/* CPUs differ in whether the bits above the width are zero or copies of the sign.
 * A register that is negative now shows which; one that is not will not become so
 * without the kernel restarting it, and that is noticed. */
static uint64_t sign_word(uint64_t raw, unsigned width)
{
	if (width < 64 && raw >> width)
		return 0;
	return 1ull << (width - 1);
}

enum part_found part_sync(struct part *p, bool second)
{
	struct snapshot s = { 0 };
	struct perf_value v;
	if (p->page)
		snapshot(p, second, &s);
	const int status = part_read(p, &v);
	const uint32_t old_index = p->index;
	const int64_t old_offset = p->offset;
	p->index = s.select ? s.index : 0;
	p->select = s.select;
	p->key = s.key;
	if (status)
		return status == 1 ? PART_LOST : PART_FAILED;
	if (!s.select)
		return PART_NO_INDEX;
	p->offset = s.offset;
	p->sign = sign_word(s.raw, s.width);
	const uint64_t extended = p->sign ? sign_extend(s.raw, s.width) : s.raw;
	const uint64_t total = anchor((uint64_t)s.offset + extended, v.value, s.width);
	p->bias = total - (s.raw ^ p->sign);
	if (s.index != old_index)
		return PART_MOVED;
	return (uint32_t)s.offset == (uint32_t)old_offset ? PART_SAME : PART_WRAPPED;
}

bool part_quick(struct part *p, uint64_t *total)
{
	uint64_t raw;
	/* Before too: without a counter the register may be forbidden (arm64: SIGILL). */
	if (!p->select || part_key(p->page) != p->key)
		return false;
	if (!pmc_read(p->select, &raw)) {
		p->forbidden = true;
		return false;
	}
	*total = (raw ^ p->sign) + p->bias;
	barrier();
	return part_key(p->page) == p->key;
}

/* The page's times are those of its last update; the clock tells what has passed
 * since (linux/perf_event.h, struct perf_event_mmap_page). */
static uint64_t since_update(const volatile struct perf_event_mmap_page *page)
{
	if (!page->cap_user_time)
		return 0;
	uint64_t cycles = pmc_cycles();
	if (page->cap_user_time_short)
		cycles = page->time_cycles + ((cycles - page->time_cycles) & page->time_mask);
	const unsigned shift = page->time_shift;
	const uint64_t quotient = cycles >> shift;
	const uint64_t rest = cycles & ((1ull << shift) - 1);
	return page->time_offset + quotient * page->time_mult + ((rest * page->time_mult) >> shift);
}

bool part_timed(struct part *p, struct perf_value *v)
{
	if (!p->page || p->forbidden)
		return false;
	uint32_t seq;
	bool readable;
	do {
		seq = p->page->lock;
		barrier();
		const uint32_t index = p->page->index;
		const unsigned width = p->page->pmc_width;
		const uint64_t select = index ? pmc_select(index, false) : 0;
		readable = select && p->page->cap_user_rdpmc && width >= 2 && width <= 64;
		v->enabled = p->page->time_enabled;
		v->running = p->page->time_running;
		if (readable) {
			const uint64_t passed = since_update(p->page);
			v->enabled += passed;
			v->running += passed;
			uint64_t raw;
			if (!pmc_read(select, &raw)) {
				p->forbidden = true;
				return false;
			}
			v->value = (uint64_t)p->page->offset + sign_extend(raw, width);
		}
		barrier();
	} while (p->page->lock != seq);
	/* Without the page's clock the times are old, and old times scale wrong. */
	return readable && p->page->cap_user_time;
}
