/* Reading a counter off the fast path: every path, and what to do when the page
 * is no longer as it was remembered.
 */
#include "counter-room.h"

#include "scale.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRIES 8		/* the kernel changes a page some times a millisecond at most */

void counter_disarm(struct tare_counter *c)
{
	memset(c, 0, sizeof(*c));
}

/* Inline reads have one serialising instruction built in and no times; everything
 * else leaves `select` and `pair` 0 and comes here. */
void counter_arm(struct tare_counter *c)
{
	struct counter_cold *const k = counter_cold(c);
	const struct part *const a = &k->parts[0], *const b = &k->parts[1];
	const bool fast = k->path == TARE_PATH_RDPMC && k->pinned && a->select &&
			  k->serializer == pmc_inline_serializer();
	const bool both = fast && k->n_parts == 2 && b->select;
	c->select = fast && k->n_parts == 1 ? a->select : 0;
	c->pair = both ? b->select : 0;
	c->sign = a->sign;
	c->key = a->key;
	c->bias = a->bias - k->start;
	c->select2 = a->select;
	c->sign2 = b->sign;
	c->key2 = b->key;
	c->page2 = (const void *)b->page;
	if (both)
		c->bias -= b->bias;
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whose counter is it? */
static int check_owner(struct tare_counter *c, struct counter_cold *k)
{
	if (k->path == TARE_PATH_AUTO)
		return TARE_E_NOT_OPENED;
	if (c->alive != COUNTER_ALIVE || (!k->wiped_on_fork && getpid() != k->pid)) {
		k->status |= TARE_STATUS_FORKED;
		return TARE_E_FORKED;
	}
	if (counter_self() != k->tid) {
		k->status |= TARE_STATUS_WRONG_THREAD;
		return TARE_E_WRONG_THREAD;
	}
	return 0;
}

/* By read(2), all parts. A pair is a group: both stand still for neither, but the
 * kernel is between them only for the time of a system call. */
static int total_by_call(struct counter_cold *k, uint64_t *total)
{
	struct perf_value v[2] = { 0 };
	uint64_t part[2] = { 0 };
	for (unsigned i = 0; i < k->n_parts; i++) {
		const int r = perf_read(k->parts[i].fd, &v[i]);
		if (r == 1) {
			k->status |= TARE_STATUS_STOLEN;
			return TARE_E_STOLEN;
		}
		if (r < 0)
			return TARE_E_IO;
		const struct scaled s = scale_count(v[i].value, v[i].enabled, v[i].running);
		if (s.never_ran && v[i].enabled)
			return TARE_E_NOT_SCHEDULED;
		if (s.scaled)
			k->status |= TARE_STATUS_SCALED;
		part[i] = s.never_ran ? v[i].value : s.value;
	}
	*total = part[0] - part[1];
	return 0;
}

static bool quick(const struct counter_cold *k, uint64_t *total)
{
	uint64_t v[2] = { 0 };
	pmc_serialize(k->serializer);
	for (unsigned i = k->n_parts; i--;)	/* what is subtracted first */
		if (!part_quick(&k->parts[i], &v[i]))
			return false;
	*total = v[0] - v[1];
	return true;
}

/* Finds out what happened to the parts. 0: they can be read again. */
static int resync(struct tare_counter *c, struct counter_cold *k)
{
	int err = 0;
	for (unsigned i = 0; i < k->n_parts; i++) {
		switch (part_sync(&k->parts[i], counter_second(k, i))) {
		case PART_SAME:
			break;
		case PART_MOVED:
			k->status |= TARE_STATUS_MOVED;
			break;
		case PART_WRAPPED:
			k->status |= TARE_STATUS_WRAPPED;
			break;
		case PART_LOST:
			k->status |= TARE_STATUS_STOLEN;
			err = TARE_E_STOLEN;
			break;
		case PART_NO_INDEX:
		case PART_FAILED:
			err = err ? err : TARE_E_RDPMC_FORBIDDEN;
			break;
		}
	}
	counter_arm(c);
	return err;
}

/* What was counted until the counter was taken away: without an index, the page's
 * offset is the whole count. */
static void keep_last(struct counter_cold *k)
{
	const uint64_t minus = k->n_parts == 2 ? (uint64_t)k->parts[1].page->offset : 0;
	if (k->parts[0].page->index == 0)
		k->last = (uint64_t)k->parts[0].page->offset - minus - k->start;
}

/* The register; where that is gone for now, read(2) still knows. */
static int total_by_register(struct tare_counter *c, struct counter_cold *k, uint64_t *total)
{
	for (int i = 0; i < TRIES; i++) {
		if (quick(k, total))
			return 0;
		const int err = resync(c, k);
		if (err == TARE_E_STOLEN) {
			keep_last(k);
			return err;
		}
		if (err)
			break;
	}
	k->status |= TARE_STATUS_FELL_BACK;
	return total_by_call(k, total);
}

/* Registers of events that may be multiplexed, with the page's times. */
static int total_by_page(struct counter_cold *k, uint64_t *total)
{
	uint64_t part[2] = { 0 };
	pmc_serialize(k->serializer);
	for (unsigned i = 0; i < k->n_parts; i++) {
		struct perf_value v;
		if (!part_timed(&k->parts[i], &v))
			return total_by_call(k, total);
		const struct scaled s = scale_count(v.value, v.enabled, v.running);
		if (s.scaled)
			k->status |= TARE_STATUS_SCALED;
		part[i] = s.value;
	}
	*total = part[0] - part[1];
	return 0;
}

static int total_of(struct tare_counter *c, struct counter_cold *k, uint64_t *total)
{
	switch (k->path) {
	case TARE_PATH_RDPMC:
		return k->pinned ? total_by_register(c, k, total) : total_by_page(k, total);
	case TARE_PATH_READ:
		return total_by_call(k, total);
	case TARE_PATH_CLOCK:
		*total = now_ns();
		return 0;
	default:
		*total = 0;
		return 0;
	}
}

int tare_counter_read_slow(struct tare_counter *c, uint64_t *value)
{
	struct counter_cold *const k = counter_cold(c);
	uint64_t total;
	int err = check_owner(c, k);
	if (!err)
		err = total_of(c, k, &total);
	if (!err)
		k->last = total - k->start;
	*value = k->last;
	return err;
}

int tare_counter_reset(struct tare_counter *c)
{
	struct counter_cold *const k = counter_cold(c);
	uint64_t total;
	int err = check_owner(c, k);
	if (!err)
		err = total_of(c, k, &total);
	if (err)
		return err;
	k->start = total;
	k->last = 0;
	counter_arm(c);
	return 0;
}

enum tare_provenance counter_provenance(enum perf_simulated sim, bool core, bool corrected,
					bool scaled)
{
	if (scaled)
		return TARE_PROV_SCALED;
	if (core && sim == PERF_SIM_EXACT)
		return TARE_PROV_EXACT;
	if (core && sim == PERF_SIM_FLAWS)
		return TARE_PROV_SIMULATED;
	return corrected ? TARE_PROV_CORRECTED : TARE_PROV_RAW;
}

static bool is_software(const struct counter_cold *k)
{
	return k->event.base.type == PERF_TYPE_SOFTWARE ||
	       k->event.base.type == PERF_TYPE_TRACEPOINT ||
	       k->event.base.type == PERF_TYPE_BREAKPOINT;
}

static int sample_parts(struct counter_cold *k, struct tare_sample *s)
{
	uint64_t part[2] = { 0 };
	for (unsigned i = 0; i < k->n_parts; i++) {
		struct perf_value v;
		const int r = perf_read(k->parts[i].fd, &v);
		if (r)
			return r == 1 ? TARE_E_STOLEN : TARE_E_IO;
		const struct scaled sc = scale_count(v.value, v.enabled, v.running);
		if (sc.never_ran)
			return TARE_E_NOT_SCHEDULED;
		part[i] = sc.value;
		*(i ? &s->minus : &s->raw) = v.value;
		s->scaled |= sc.scaled;
		s->percent = sc.percent;
		s->enabled_ns = v.enabled;
		s->running_ns = v.running;
	}
	s->value = part[0] - part[1] - k->start;
	s->provenance = counter_provenance(k->simulated, !is_software(k), k->n_parts == 2,
					   s->scaled);
	return 0;
}

int tare_counter_sample(struct tare_counter *c, struct tare_sample *s)
{
	struct counter_cold *const k = counter_cold(c);
	*s = (struct tare_sample){ .percent = 100.0 };
	int err = check_owner(c, k);
	if (err)
		return err;
	if (k->n_parts) {
		err = sample_parts(k, s);
		if (err == TARE_E_STOLEN)
			k->status |= TARE_STATUS_STOLEN;
		if (!err && s->scaled)
			k->status |= TARE_STATUS_SCALED;
		return err;
	}
	err = tare_counter_read_slow(c, &s->value);
	s->raw = s->value;
	s->provenance = k->path == TARE_PATH_ZERO ? TARE_PROV_EXACT : TARE_PROV_RAW;
	return err;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* The longest run of equal values; of several as long, the smallest value. */
static void most_frequent(const uint64_t *sorted, unsigned n, struct tare_overhead *o)
{
	for (unsigned i = 0; i < n;) {
		unsigned end = i;
		while (end < n && sorted[end] == sorted[i])
			end++;
		if (end - i > o->agreeing) {
			o->agreeing = end - i;
			o->typical = sorted[i];
		}
		i = end;
	}
}

int tare_counter_overhead(struct tare_counter *c, struct tare_overhead *o)
{
	enum { SAMPLES = 101, WARM = 8 };
	uint64_t apart[SAMPLES];
	const bool pair = counter_cold(c)->n_parts == 2;
	memset(o, 0, sizeof(*o));
	memset(apart, 0, sizeof(apart));	/* its page faults come before the reads */
	for (int i = -WARM; i < SAMPLES; i++) {
		uint64_t a, b;
		int err = pair ? tare_counter_read_pair(c, &a) : tare_counter_read(c, &a);
		err = err ? err : pair ? tare_counter_read_pair(c, &b) : tare_counter_read(c, &b);
		if (err)
			return err;
		apart[i < 0 ? 0 : i] = b - a;
	}
	qsort(apart, SAMPLES, sizeof(apart[0]), compare);
	o->samples = SAMPLES;
	o->min = apart[0];
	o->max = apart[SAMPLES - 1];
	most_frequent(apart, SAMPLES, o);
	return 0;
}
