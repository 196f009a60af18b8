/* Bare counters. */
#include "bare.h"

#include "pmc-bare.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIXED_BIT (1 << 30)	/* rdpmc's number of a fixed counter, Intel */

int bare_open(struct bare *b, const struct tare_encoding *e, unsigned how)
{
	return bare_open_period(b, e, how, 0);
}

int bare_open_period(struct bare *b, const struct tare_encoding *e, unsigned how, uint64_t period)
{
	struct perf_event_attr attr;
	*b = (struct bare){ .fd = -1 };
	perf_attr_fill(&attr, e);
	attr.sample_period = period;
	attr.pinned = (how & BARE_PINNED) != 0;
	attr.disabled = (how & BARE_STOPPED) != 0;
	if (how & BARE_SILENT)
		attr.exclude_user = attr.exclude_kernel = attr.exclude_hv = 1;
	struct perf_event_attr ask = attr;
	pmc_bare_ask(&ask);
	b->fd = perf_open(&ask, 0, -1, -1);
	if (b->fd < 0)			/* a kernel that does not know the question */
		b->fd = perf_open(&attr, 0, -1, -1);
	if (b->fd < 0)
		return b->fd;
	void *const page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, b->fd, 0);
	b->page = page == MAP_FAILED ? NULL : page;
	return 0;
}

void bare_close(struct bare *b)
{
	if (b->page)
		munmap((void *)(uintptr_t)b->page, (size_t)sysconf(_SC_PAGESIZE));
	if (b->fd >= 0)
		close(b->fd);
	*b = (struct bare){ .fd = -1 };
}

int bare_times(const struct bare *b, struct perf_value *v)
{
	return perf_read(b->fd, v);
}

int bare_read(const struct bare *b, uint64_t *value)
{
	struct perf_value v;
	const int err = perf_read(b->fd, &v);
	if (!err)
		*value = v.value;
	return err;
}

bool bare_on(const struct bare *b)
{
	uint64_t value;
	return b->fd >= 0 && bare_read(b, &value) == 0;
}

int bare_register(const struct bare *b)
{
	return b->page && b->page->index ? (int)b->page->index - 1 : -1;
}

char *bare_register_name(int reg, char *out, size_t size)
{
	if (reg < 0)
		snprintf(out, size, "?");
	else if (reg & FIXED_BIT)
		snprintf(out, size, "fixed %d", reg & ~FIXED_BIT);
	else
		snprintf(out, size, "%d", reg);
	return out;
}

bool bare_pmc(const struct bare *b, uint64_t *value)
{
	volatile struct perf_event_mmap_page *const p = b->page;
	uint32_t seq;
	if (!p || !p->cap_user_rdpmc)
		return false;
	do {
		seq = p->lock;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		const uint32_t index = p->index;
		if (!index)
			return false;
		const unsigned shift = 64u - p->pmc_width;
		*value = (uint64_t)((int64_t)(pmc_bare_read(index) << shift) >> shift) +
			 (uint64_t)p->offset;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (p->lock != seq);
	return true;
}

void bare_start(const struct bare *b)
{
	ioctl(b->fd, PERF_EVENT_IOC_ENABLE, 0);
}

void bare_stop(const struct bare *b)
{
	ioctl(b->fd, PERF_EVENT_IOC_DISABLE, 0);
}
