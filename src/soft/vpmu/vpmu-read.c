/* What read() of an event's descriptor gives: one event or its group, in all formats.
 *
 * A group may have software events in it. Their values are the kernel's, asked through
 * their own descriptors in this process; a process that has none of a member gives what was
 * last read.
 *
 * PERF_FORMAT_LOST gives the number of tasks that the event was to count and that ran natively,
 * without the engine: the kernel's word for events that happened and are not in the value. An
 * event for which it is 0 has counted everything.
 */
#include "vpmu-sampling.h"

#include "sys.h"

#include <linux/perf_event.h>

#define MAX_WORDS 2048		/* 16 KiB: larger groups are refused (vpmu-calls.c) */

struct reading {
	uint64_t value, enabled, running, lost;
};

static uint64_t ns(uint64_t instructions)
{
	return (instructions + VPMU_PER_NS - 1) / VPMU_PER_NS;
}

/* With everything inherited from it. */
static struct reading total(uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	struct reading r = { .value = vpmu_value(e) + e->child_value };
	vpmu_times(e, &r.enabled, &r.running);
	r.enabled += e->child_enabled;
	r.running += e->child_running;
	r.lost = vpmu_lost(e) + e->child_lost + (e->sampler ? vpmu_sampler(i)->lost : 0);
	for (uint32_t c = e->children; c; c = vpmu_event(c)->next_child) {
		const struct reading k = total(c);
		r.value += k.value;
		r.enabled += k.enabled;
		r.running += k.running;
		r.lost += k.lost;
	}
	return r;
}

/* Its place in what the kernel knows as its group: all software events, if one leads. */
static unsigned place(uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	unsigned n = 0;
	if (!vpmu_event(e->leader)->software || e->leader == i)
		return 0;
	for (uint32_t k = vpmu_slot(e->slot)->events; k && k != i; k = vpmu_event(k)->next)
		n += vpmu_event(k)->software && vpmu_event(k)->leader == e->leader;
	return n;
}

static void read_kernel(uint32_t i, struct reading *r)
{
	struct vpmu_event *const e = vpmu_event(i);
	uint64_t w[512];
	const uint64_t f = e->read_format;
	const long fd = fd_of_event(i);
	const long got = fd < 0 ? -1 : sys3(__NR_read, fd, w, sizeof(w));
	if (got >= 8) {
		const bool group = f & PERF_FORMAT_GROUP;
		unsigned at = 1;
		if (f & PERF_FORMAT_TOTAL_TIME_ENABLED)
			e->enabled = w[at++];
		if (f & PERF_FORMAT_TOTAL_TIME_RUNNING)
			e->running = w[at++];
		if (group)
			at += place(i) * (1 + !!(f & PERF_FORMAT_ID) + !!(f & PERF_FORMAT_LOST));
		else
			at = 0;
		if (at < (unsigned long)got / 8 && !e->is_faults)
			e->value = w[at];
	}
	*r = (struct reading){ .value = e->value, .enabled = e->enabled, .running = e->running };
}

static struct reading reading_of(uint32_t i)
{
	struct reading r;
	if (vpmu_event(i)->software) {
		read_kernel(i, &r);
		if (vpmu_event(i)->is_faults)
			r.value = total(i).value;
		return r;
	}
	r = total(i);
	r.enabled = ns(r.enabled);
	r.running = ns(r.running);
	return r;
}

static unsigned one_entry(uint64_t *w, uint64_t format, uint32_t i, const struct reading *r)
{
	unsigned n = 0;
	w[n++] = r->value;
	if (format & PERF_FORMAT_ID)
		w[n++] = vpmu_event(i)->id;
	if (format & PERF_FORMAT_LOST)
		w[n++] = r->lost;
	return n;
}

unsigned read_words(uint64_t *w, uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	const uint64_t format = e->read_format;
	const bool group = format & PERF_FORMAT_GROUP;
	const struct reading first = reading_of(group ? e->leader : i);
	unsigned n = 0;
	w[n++] = group ? 1 : first.value;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		w[n++] = first.enabled;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		w[n++] = first.running;
	if (!group) {
		if (format & PERF_FORMAT_ID)
			w[n++] = e->id;
		if (format & PERF_FORMAT_LOST)
			w[n++] = first.lost;
		return n;
	}
	const unsigned entry = one_entry(w + n, format, e->leader, &first);
	n += entry;
	for (uint32_t k = vpmu_slot(e->slot)->events; k && n + entry <= MAX_WORDS;
	     k = vpmu_event(k)->next) {
		if (k == e->leader || vpmu_event(k)->leader != e->leader || vpmu_event(k)->parent)
			continue;
		const struct reading r = reading_of(k);
		n += one_entry(w + n, format, k, &r);
		w[0]++;
	}
	return n;
}

/* The kernel does not know all of its group, or the value of one of them. */
bool vpmu_reads(uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	if (!(e->read_format & PERF_FORMAT_GROUP))
		return e->is_faults;
	for (uint32_t k = vpmu_slot(e->slot)->events; k; k = vpmu_event(k)->next)
		if (vpmu_event(k)->leader == e->leader &&
		    (!vpmu_event(k)->software || vpmu_event(k)->is_faults))
			return true;
	return false;
}

long vpmu_read_event(struct thread *t, uint32_t i, uint64_t to, uint64_t size)
{
	uint64_t words[MAX_WORDS];
	vpmu_lock(t);
	const bool failed = vpmu_event(i)->state == VE_ERROR;
	const unsigned n = failed ? 0 : read_words(words, i);
	vpmu_unlock();
	if (failed)
		return 0;
	if (size < n * 8)
		return -ENOSPC;
	return put_guest(to, words, n * 8) ? (long)n * 8 : -EFAULT;
}

struct k_iovec {
	uint64_t base, len;
};

/* As the kernel does it for files that know only read(): one after the other, until one is
 * not filled. */
long vpmu_readv_event(struct thread *t, uint32_t i, uint64_t iov, uint64_t n)
{
	long sum = 0;
	if (n > 1024)
		return -EINVAL;
	for (uint64_t k = 0; k < n; k++) {
		struct k_iovec v;
		if (!copy_guest(&v, (const void *)(iov + k * sizeof(v)), sizeof(v)))
			return sum ? sum : -EFAULT;
		const long got = vpmu_read_event(t, i, v.base, v.len);
		if (got < 0)
			return sum ? sum : got;
		sum += got;
		if ((uint64_t)got < v.len)
			break;
	}
	return sum;
}
