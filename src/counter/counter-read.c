/* Reading a counter off the fast path, and arming the fast path again. */
#include "counter-room.h"

#include "scale.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void counter_disarm(struct tare_counter *c)
{
	memset(c, 0, sizeof(*c));
}

static bool armed(const struct tare_counter *c)
{
	return c->select || c->pair;
}

/* The total at which values are 0. While the fast read is armed bias has it, since a read that
 * begins again takes off what that counted by one instruction. */
static uint64_t start_of(const struct tare_counter *c, const struct counter_cold *k)
{
	return armed(c) ? k->armed_at - c->bias : k->start;
}

static void disarm(struct tare_counter *c, struct counter_cold *k)
{
	k->start = start_of(c, k);
	c->select = c->pair = 0;
}

/* The words that a fast read compares after the register was read. */
static void set_check(struct tare_counter *c, struct counter_cold *k)
{
	const struct part *const event = &k->parts[0], *const minus = &k->parts[1];
	const struct part *const first = k->b.n_parts == 2 ? minus : event;
	const uint64_t word = pmc_aged(first->select, k->age);
	c->age = k->age;
	c->step = event->select - first->select;
	c->check = pmc_check(word + c->step, k->age) + c->key;
	*(k->b.n_parts == 2 ? &c->pair : &c->select) = word;
}

/* Inline reads have one serialising instruction built in and no times; everything
 * else leaves `select` and `pair` 0 and comes here. */
static void arm(struct tare_counter *c, struct counter_cold *k)
{
	const struct part *const event = &k->parts[0], *const minus = &k->parts[1];
	const bool pair = k->b.n_parts == 2;
	disarm(c, k);
	k->b.resynced = false;
	if (k->b.path != TARE_PATH_RDPMC || !k->b.pinned || !event->select ||
	    (pair && !minus->select) || k->b.serializer != pmc_inline_serializer())
		return;
	k->armed_at = event->bias - (pair ? minus->bias : 0);
	c->sign = event->sign;
	c->key = event->key;
	c->bias = k->armed_at - k->start;
	c->select2 = event->select;
	c->sign2 = minus->sign;
	c->key2 = minus->key;
	c->page2 = (const void *)minus->page;
	set_check(c, k);
}

/* A signal handler may read, and skip, but not while this is half done. */
static void arm_from(struct tare_counter *c, const uint64_t *start)
{
	struct counter_cold *const k = counter_cold(c);
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	disarm(c, k);
	if (start)
		k->start = *start;
	arm(c, k);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void counter_arm(struct tare_counter *c)
{
	arm_from(c, NULL);
}

static void take_off(struct tare_counter *c, struct counter_cold *k, uint64_t n)
{
	if (armed(c))
		__atomic_fetch_sub(&c->bias, n, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&k->start, n, __ATOMIC_RELAXED);
}

/* An odd number, so that it takes long to come back, and none that the kernel's own changes
 * of a page add up to. */
#define AGE_STEP 0x4f1bbcddu

void counter_skip(struct tare_counter *c, uint64_t n)
{
	struct counter_cold *const k = counter_cold(c);
	k->last -= n;
	k->age += AGE_STEP;
	take_off(c, k, n);
	if (armed(c))
		set_check(c, k);
}

void counter_set_again(struct tare_counter *c, uint64_t n)
{
	c->again = counter_cold(c)->again = n;
}

bool counter_disturb(struct tare_counter *c, bool really)
{
	if (!armed(c))
		counter_cold(c)->disturbed = really;
	else if (pmc_begins_again())
		c->check ^= (uint64_t)really << 62;
	else
		return false;
	return true;
}

uint64_t counter_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The value before the start is taken off. *total is set also when the counter
 * was stolen: to what it had counted. */
static int total_of(struct tare_counter *c, struct counter_cold *k, uint64_t *total)
{
	uint64_t parts[2] = { 0 };
	const int owner = bundle_check_owner(&k->b);
	*total = k->last + start_of(c, k);
	if (owner)
		return owner;
	if (k->b.path == TARE_PATH_CLOCK)
		parts[0] = counter_now_ns();
	const int err = bundle_totals(&k->b, parts);
	if (k->b.resynced)
		counter_arm(c);
	if (!err || (err == TARE_E_STOLEN && k->b.path == TARE_PATH_RDPMC))
		*total = parts[0] - parts[1];
	return err;
}

/* A handler that skipped something meanwhile did it before or after the total was read:
 * nothing tells which. */
int tare_counter_read_slow(struct tare_counter *c, uint64_t *value)
{
	struct counter_cold *const k = counter_cold(c);
	for (;;) {
		uint64_t total;
		const uint64_t age = k->age;
		const int err = total_of(c, k, &total);
		*value = k->last = total - start_of(c, k);
		/* one branch, so that either reason has the same instructions */
		if (!((age ^ k->age) | k->disturbed))
			return err;
		k->disturbed = 0;
		take_off(c, k, k->again);
	}
}

int tare_counter_reset(struct tare_counter *c)
{
	if (!c)
		return TARE_E_INVALID;
	struct counter_cold *const k = counter_cold(c);
	uint64_t total;
	const int err = total_of(c, k, &total);
	if (err)
		return err;
	k->last = 0;
	arm_from(c, &total);
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

bool counter_is_core(const struct tare_encoding *e)
{
	return e->type != PERF_TYPE_SOFTWARE && e->type != PERF_TYPE_TRACEPOINT &&
	       e->type != PERF_TYPE_BREAKPOINT;
}

int counter_sample(struct tare_sample *s, const struct perf_value *v, bool pair, uint64_t start,
		   enum perf_simulated sim, bool core)
{
	const struct scaled event = scale_count(v->value, v->enabled, v->running);
	const struct scaled minus =
		pair ? scale_count(v[1].value, v[1].enabled, v[1].running) : (struct scaled){ 0 };
	if (event.never_ran || minus.never_ran)
		return TARE_E_NOT_SCHEDULED;
	*s = (struct tare_sample){
		.value = event.value - minus.value - start,
		.raw = v->value,
		.minus = pair ? v[1].value : 0,
		.enabled_ns = v->enabled,
		.running_ns = v->running,
		.scaled = event.scaled || minus.scaled,
		.percent = event.percent,
	};
	s->provenance = counter_provenance(sim, core, pair, s->scaled);
	return 0;
}

static int sample_clock(struct tare_counter *c, struct tare_sample *s)
{
	const enum tare_path path = counter_cold(c)->b.path;
	const int err = tare_counter_read_slow(c, &s->value);
	s->raw = s->value;
	s->percent = 100.0;
	s->provenance = path == TARE_PATH_ZERO ? TARE_PROV_EXACT : TARE_PROV_RAW;
	return err;
}

int tare_counter_sample(struct tare_counter *c, struct tare_sample *s)
{
	if (!c || !s)
		return TARE_E_INVALID;
	struct counter_cold *const k = counter_cold(c);
	struct perf_value v[2] = { 0 };
	memset(s, 0, sizeof(*s));
	int err = bundle_check_owner(&k->b);
	if (err)
		return err;
	if (k->b.n_parts == 0)
		return sample_clock(c, s);
	err = bundle_values(&k->b, v);
	if (!err)
		err = counter_sample(s, v, k->b.n_parts == 2, start_of(c, k),
				     k->b.simulated[0],
				     counter_is_core(&k->event.base));
	if (!err && s->scaled)
		k->b.status |= TARE_STATUS_SCALED;
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

/* Two reads with nothing between them: each kind by itself, and errors leave at
 * once, so that no choice is made between the two. */
static int empty_pair(struct tare_counter *c, bool pair, uint64_t *apart)
{
	uint64_t a, b;
	if (pair) {
		if (tare_counter_read_pair(c, &a) || tare_counter_read_pair(c, &b))
			return -1;
	} else {
		if (tare_counter_read(c, &a) || tare_counter_read(c, &b))
			return -1;
	}
	*apart = b - a;
	return 0;
}

int tare_counter_overhead(struct tare_counter *c, struct tare_overhead *o)
{
	enum { SAMPLES = 101, WARM = 8 };
	if (!c || !o)
		return TARE_E_INVALID;
	struct counter_cold *const k = counter_cold(c);
	const bool pair = k->b.n_parts == 2;
	uint64_t apart[SAMPLES] = { 0 };
	memset(o, 0, sizeof(*o));
	const int owner = bundle_check_owner(&k->b);
	if (owner)
		return owner;
	for (int i = -WARM; i < SAMPLES; i++) {
		if (empty_pair(c, pair, &apart[i < 0 ? 0 : i]))
			return tare_counter_read_slow(c, &apart[0]);	/* tells why */
	}
	qsort(apart, SAMPLES, sizeof(apart[0]), compare);
	o->samples = SAMPLES;
	o->min = apart[0];
	o->max = apart[SAMPLES - 1];
	most_frequent(apart, SAMPLES, o);
	return 0;
}
