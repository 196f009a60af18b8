/* Sets of events (what `tare stat` counts with) against the real driver. */
#include "guest.h"
#include "tap.h"

#include "set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MANY 20
#define ROUNDS 100000
#define NET (8 * (ROUNDS - 1))	/* known_loop(ROUNDS) beyond known_loop(1) */

struct opened {
	struct tare_events *list;
	const struct tare_event *events[32];
	size_t n;
	struct counter_set *set;
	struct tare_count counts[32];
};

/* Opens a list of events on this thread; a failure of the whole is a failed test. */
static bool open_set(struct opened *o, const char *text, const struct counter_set_opts *opts)
{
	struct tare_why why = { 0 };
	*o = (struct opened){ 0 };
	int err = tare_events_parse(text, NULL, &o->list, &why);
	if (!err) {
		o->n = tare_events_count(o->list);
		for (size_t i = 0; i < o->n; i++)
			o->events[i] = tare_events_at(o->list, i);
		err = counter_set_open(o->events, o->n, opts, &o->set, &why);
	}
	if (err)
		tap_ok(false, "open %s: %s: %s", text, tare_err_name(err), why.what);
	return err == 0;
}

static void close_set(struct opened *o)
{
	counter_set_close(o->set);
	tare_events_free(o->list);
}

NOT_SPECIALISED static uint64_t over_loop(struct opened *o, size_t i, uint64_t n)
{
	counter_set_read(o->set, o->counts);
	const uint64_t before = o->counts[i].raw;
	known_loop(n);
	counter_set_read(o->set, o->counts);
	return o->counts[i].raw - before;
}

static void exact(const char *text, const struct counter_set_opts *opts)
{
	struct opened o;
	if (!open_set(&o, text, opts))
		return;
	tap_is(counter_set_opened(o.set), o.n, "%s: all open", text);
	over_loop(&o, 0, 1);
	for (size_t i = 0; i < o.n; i++) {
		unsigned good = 0;
		for (int run = 0; run < 10; run++)
			good += over_loop(&o, i, ROUNDS) - over_loop(&o, i, 1) == NET;
		tap_is(good, 10, "%s: %s exact, ten of ten", text, o.events[i]->name);
		tap_ok(o.counts[i].state == TARE_COUNT_OK &&
			       o.counts[i].provenance == TARE_PROV_RAW &&
			       o.counts[i].enabled_ns == o.counts[i].running_ns,
		       "%s: %s is raw and ran all the time", text, o.events[i]->name);
	}
	close_set(&o);
}

/* Counts 0 for ever though the kernel opens them: only known code finds out. */
static void silent(const char *text)
{
	struct opened o;
	if (!open_set(&o, text, &(struct counter_set_opts){ 0 }))
		return;
	over_loop(&o, 0, 1000000);
	tap_ok(o.counts[0].state == TARE_COUNT_OK && o.counts[0].value == 0,
	       "%s opens and counts nothing", text);
	close_set(&o);
}

static void refused(const char *text, size_t i, int code)
{
	struct opened o;
	if (!open_set(&o, text, &(struct counter_set_opts){ 0 }))
		return;
	const struct tare_why *const why = counter_set_why(o.set, i);
	tap_ok(why->code == code, "%s: %s is %s", text, o.events[i]->name, tare_err_name(code));
	if (why->code != code)
		tap_note("it is %s: %s", tare_err_name(why->code), why->what);
	counter_set_read(o.set, o.counts);
	tap_ok(o.counts[i].state == TARE_COUNT_NOT_OPENED && o.counts[i].code == code,
	       "%s: and its count says so", text);
	close_set(&o);
}

/* 20 events on 6 counters. Every one counts the same loop; a scaled value is an
 * estimate, so it has a bound: 0.5 %, three times what was ever seen (the kernel
 * rotates every 4 ms, the loop runs for 400). */
static void multiplexed(void)
{
	char text[MANY * 8] = "";
	for (int i = 0; i < MANY; i++)
		strcat(text, i ? ",r08:u" : "r08:u");
	struct opened o;
	if (!open_set(&o, text, &(struct counter_set_opts){ .disabled = true }))
		return;
	const uint64_t rounds = 50000000;
	counter_set_enable(o.set, NULL);
	known_loop(rounds);
	counter_set_disable(o.set, NULL);
	counter_set_read(o.set, o.counts);
	unsigned flagged = 0, near = 0, short_time = 0;
	double worst = 0;
	for (int i = 0; i < MANY; i++) {
		const struct tare_count *const c = &o.counts[i];
		const double off = (double)c->value / (double)(8 * rounds) - 1;
		flagged += c->state == TARE_COUNT_OK && c->provenance == TARE_PROV_SCALED;
		short_time += c->running_ns < c->enabled_ns / 2;
		near += off > -0.005 && off < 0.005;
		worst = off > worst ? off : -off > worst ? -off : worst;
	}
	tap_is(flagged, MANY, "%d events on 6 counters: every one is flagged as scaled", MANY);
	tap_is(short_time, MANY, "%d events on 6 counters: each ran less than half the time", MANY);
	tap_is(near, MANY, "%d events on 6 counters: within 0.5 %% of the truth", MANY);
	tap_note("farthest from the truth: %.3f %%", worst * 100);
	close_set(&o);
}

/* Pinned events are never multiplexed: the seventh gets no counter and no number. */
static void pinned(void)
{
	struct opened o;
	if (!open_set(&o, "r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u",
		      &(struct counter_set_opts){ .pinned = true }))
		return;
	known_loop(1000);
	counter_set_read(o.set, o.counts);
	unsigned counted = 0;
	for (int i = 0; i < 6; i++)
		counted += o.counts[i].state == TARE_COUNT_OK && o.counts[i].value > 8000;
	tap_is(counted, 6, "seven pinned events: six count");
	tap_ok(o.counts[6].state == TARE_COUNT_NOT_SCHEDULED &&
		       o.counts[6].code == TARE_E_NO_COUNTERS && o.counts[6].value == 0 &&
		       o.counts[6].provenance == TARE_PROV_NONE,
	       "seven pinned events: the seventh had no counter (state %d, %s)",
	       o.counts[6].state, tare_err_name(o.counts[6].code));
	close_set(&o);
}

/* A pinned event that had a counter and lost it to somebody stronger. */
static void stolen(void)
{
	struct opened o;
	if (!open_set(&o, "r08:u", &(struct counter_set_opts){ .pinned = true }))
		return;
	counter_set_read(o.set, o.counts);
	tap_ok(o.counts[0].state == TARE_COUNT_OK, "before the theft it counts");
	struct hog hog;
	hog_counters(&hog, HOG_ALL);
	counter_set_read(o.set, o.counts);
	tap_ok(o.counts[0].state == TARE_COUNT_STOLEN && o.counts[0].code == TARE_E_STOLEN,
	       "after it the count is stolen (state %d, %s)", o.counts[0].state,
	       tare_err_name(o.counts[0].code));
	release_counters(&hog);
	close_set(&o);
}

void suite_set(void)
{
	const struct counter_set_opts plain = { 0 }, pin = { .pinned = true };
	exact("instructions:u", &plain);
	exact("instructions:u", &pin);
	exact("{instructions:u,cycles:u}", &plain);
	exact("{r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,cycles:u}", &plain);
	silent("r21:u");
	silent("r09:u");
	refused("branch-misses:u", 0, TARE_E_EVENT_UNSUPPORTED);
	refused("{r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u}", 6, TARE_E_NO_COUNTERS);
	multiplexed();
	pinned();
	stolen();
}

/* The same machine without a PMU. */
void suite_no_pmu(void)
{
	refused("instructions:u", 0, TARE_E_NO_PMU);
	refused("r08:u", 0, TARE_E_NO_PMU);
	refused("branch-misses:u", 0, TARE_E_NO_PMU);
	struct opened o;
	if (!open_set(&o, "page-faults:u", &(struct counter_set_opts){ 0 }))
		return;
	counter_set_read(o.set, o.counts);
	const uint64_t before = o.counts[0].value;
	char *const fresh = aligned_alloc(4096, 64 * 4096);
	for (int i = 0; i < 64; i++)
		((volatile char *)fresh)[i * 4096] = 1;
	counter_set_read(o.set, o.counts);
	tap_ok(o.counts[0].state == TARE_COUNT_OK && o.counts[0].value - before >= 64,
	       "no PMU: page faults still count (%" PRIu64 ")", o.counts[0].value - before);
	free(fresh);
	close_set(&o);
}
