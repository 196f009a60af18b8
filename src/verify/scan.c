/* Walking the event space: tare/scan.h says what for, and in which stages.
 *
 *	sweep	 index k is selector first_code + k / masks with mask first_mask + k % masks
 *	narrow	 index k is the k-th of the list that narrow_code() makes of the sweep's hits
 *	confirm	 index k is the k-th candidate that list_candidates() makes of all hits
 *
 * So a stage is a function from a number to a code, and the state of a scan is a stage, a number and
 * the hits so far: enough to go on after a kill.
 */
#include <tare/scan.h>

#include "event-space.h"
#include "known-work.h"
#include "options-copy.h"
#include "perf-free.h"
#include "scan-judge.h"
#include "scan-room.h"
#include "trial.h"
#include "why.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGES 503		/* not a number that something else has by chance */
#define ROUNDS 20000
/* Interrupts that come during the work, where they are looked for: so many that half of the work has
 * some of them nearly always, and a code that counts them is told from one that counts none. */
#define INTERRUPTS 12
#define MOST_ROUNDS (1ull << 29) /* no interrupt for so long, a second or so: there are none */
#define FEWER_ROUNDS (1ull << 26) /* where they are not what is looked for */
#define ARM_LAST_CODE 0x3ff	/* PMUv3: common events; what the maker defines is above or below */
#define PROBE_BITS 8		/* of the mask that the sweep sets */
#define SWEEP_TRIALS 3
#define CONFIRM_TRIES 3
#define READ_TRIES 8		/* of a trial, until no interrupt comes between the reads of two counters */
#define CALLS 211		/* system calls, which are neither interrupts nor page faults */

struct candidate {
	uint64_t code, mask;
	bool reduce;			/* no bit of the mask alone counts as much */
	uint64_t off;			/* from what is proved best (rank_candidates()) */
};

struct tare_scan {
	struct tare_scan_options o;
	struct tare_scan_plan plan;
	struct tare_scan_state state;
	struct tare_scan_result result;
	struct tare_cpu cpu;
	struct event_space space;
	struct kept *kept;
	struct tare_events *like;	/* TARE_SCAN_EVENT */
	struct tare_events *instructions;
	uint64_t count;			/* TARE_SCAN_COUNT */
	uint64_t irq_rounds;		/* so many that interrupts come; 0: none come */
	uint64_t most_rounds;		/* none in so many: none come */
	bool for_one;			/* one event is searched for, not all that are like it */
	unsigned bits;			/* of a counter; 0: as many as the kernel says */
	struct candidate *candidates;
	size_t n_candidates;
	size_t hits_room;
};

const char *tare_scan_like_name(enum tare_scan_like like)
{
	switch (like) {
	case TARE_SCAN_PAGE_FAULTS: return "page-faults";
	case TARE_SCAN_INTERRUPTS: return "interrupts";
	case TARE_SCAN_EVENT: return "event";
	case TARE_SCAN_COUNT: return "count";
	}
	return "unknown";
}

const char *tare_scan_stage_name(enum tare_scan_stage stage)
{
	switch (stage) {
	case TARE_SCAN_SWEEP: return "sweep";
	case TARE_SCAN_NARROW: return "narrow";
	case TARE_SCAN_CONFIRM: return "confirm";
	case TARE_SCAN_DONE: return "done";
	}
	return "unknown";
}

/* ---- counting ---- */

/* One code with the event that it is compared with; storage of a struct tare_event. */
struct coded {
	struct tare_event event;
	char name[sizeof(((struct tare_scan_found *)0)->event)];
};

static void make_raw(const struct tare_scan *s, uint64_t raw, struct coded *c)
{
	memset(c, 0, sizeof(*c));
	event_space_name(&s->space, raw, c->name, sizeof(c->name));
	c->event = (struct tare_event){
		.name = c->name, .kind = TARE_EVENT_PERF, .unit = "", .scale = 1.0, .group = -1,
		.base = { .type = s->space.type, .config = raw, .exclude_kernel = true,
			  .exclude_hv = true },
	};
}

static void make_event(const struct tare_scan *s, uint64_t code, uint64_t mask, struct coded *c)
{
	make_raw(s, event_space_raw(&s->space, code, mask), c);
}

/* The event beside the codes, or NULL. */
static const struct tare_event *beside(const struct tare_scan *s)
{
	return s->like ? tare_events_at(s->like, 0) : NULL;
}

/* Errors that say something of a code, not of the machine. */
static bool is_refusal(int err)
{
	switch (err) {
	case TARE_E_NOMEM:
	case TARE_E_IO:
	case TARE_E_TOO_MANY_FILES:
	case TARE_E_NO_PMU:
	case TARE_E_NO_PERF:
	case TARE_E_PARANOID:
	case TARE_E_SECCOMP:
	case TARE_E_STOLEN:
		return false;
	}
	return true;
}

/* A difference that is small but for wraps of the counter. */
static int64_t unwrapped(const struct tare_scan *s, int64_t difference)
{
	if (!s->bits)
		return difference;
	const unsigned unused = 64 - s->bits;
	return (int64_t)((uint64_t)difference << unused) >> unused;
}

/* Runs the trials' work with the open trial; counts[k][i] is what event i counted of trial k. Fills
 * interrupts and, where the first event is the one to compare with, wanted. Event `instructions` is
 * instructions:u, for the excess; it is not looked at in a trial whose excess is INT64_MIN. */
static int run_trials(const struct tare_scan *s, struct trial *t, struct tare_scan_trial *trials,
		      size_t n, size_t instructions, int64_t (*counts)[TRIAL_EVENTS],
		      struct tare_why *why)
{
	for (size_t k = 0; k < n; k++) {
		struct known_work w = { .rounds = trials[k].rounds, .pages = trials[k].pages,
					.calls = trials[k].calls, .on = s->plan.cpu };
		int err = known_work_prepare(&w, why);
		if (err)
			return err;
		const struct trial_code code = known_work_code(&w);
		err = trial_run(t, &code, counts[k], why);
		known_work_stop(&w);
		int64_t rest[TRIAL_EVENTS];
		if (!err && trials[k].excess != INT64_MIN)
			err = known_work_rest(t, &w, rest, why);
		known_work_finish(&w);
		if (err)
			return err;
		if (trials[k].excess != INT64_MIN)
			trials[k].excess = unwrapped(s, counts[k][instructions] - rest[instructions] -
						     (int64_t)(w.rounds * KNOWN_WORK_PER_ROUND));
		trials[k].interrupts = w.interrupts;
		trials[k].ticks = w.ticks;
		if (beside(s))
			trials[k].wanted = (uint64_t)counts[k][0];
	}
	return 0;
}

/* Twice, with other numbers. Interrupts take long to come, and most codes count none, or far more than
 * there are: the first of their trials is a short one. Returns how many trials there are. */
static unsigned sweep_trials(const struct tare_scan *s, struct tare_scan_trial *trials)
{
	unsigned n = 0;

	if (s->plan.like == TARE_SCAN_INTERRUPTS && s->plan.rounds >= 2)
		trials[n++] = (struct tare_scan_trial){ .rounds = s->plan.rounds / 2,
							.pages = s->plan.pages, .excess = INT64_MIN };
	for (unsigned k = 1; k <= 2; k++)
		trials[n++] = (struct tare_scan_trial){ .rounds = s->plan.rounds * k,
							.pages = s->plan.pages * k, .excess = INT64_MIN,
							.wanted = s->count * k };
	return n;
}

struct place {
	uint64_t code, mask;
};

/* What is known of a code after some trials: `matches`, and whether it counts at least as much. */
struct verdict {
	bool refused, silent, enough, matches;
};

/* *open: more trials can change whether it matches. */
static struct verdict judge_sweep(const struct tare_scan *s, const struct tare_scan_trial *trials,
				  unsigned n_trials, int64_t (*counts)[TRIAL_EVENTS], size_t i,
				  bool *open)
{
	struct verdict v = { .silent = true, .enough = true, .matches = true };

	for (unsigned k = 0; k < n_trials; k++) {
		const struct scan_bounds b = scan_bounds(s->plan.like, &trials[k]);
		const uint64_t n = counts[k][i] > 0 ? (uint64_t)counts[k][i] : 0;
		v.silent &= n == 0;
		v.enough &= n >= b.low;
		v.matches &= n >= b.low && n <= b.high;
	}
	*open |= v.matches;	/* 0 is within the bounds where few interrupts came */
	v.enough &= !v.silent;
	v.matches &= !v.silent;
	return v;
}

/* Trials until none of the codes from event `first` on can be what is looked for: mostly the first one
 * is enough, which is also the shortest. */
static int sweep_batch(const struct tare_scan *s, struct trial *t, size_t first,
		       struct verdict *verdicts, struct tare_why *why)
{
	struct tare_scan_trial trials[SWEEP_TRIALS];
	int64_t counts[SWEEP_TRIALS][TRIAL_EVENTS];
	const unsigned n = sweep_trials(s, trials);
	bool open = true;

	for (unsigned k = 0; k < n && open; k++) {
		const int err = run_trials(s, t, &trials[k], 1, 0, &counts[k], why);
		if (err)
			return err;
		open = false;
		for (size_t i = 0; i < t->o.n - first; i++)
			verdicts[i] = judge_sweep(s, trials, k + 1, counts, first + i, &open);
	}
	return 0;
}

/* A code that cannot be counted is refused; where no event can be counted any more, it says nothing of codes. */
static bool counters_are_gone(const struct tare_scan *s, struct tare_why *why)
{
	const struct tare_event *const instructions = tare_events_at(s->instructions, 0);
	struct trial t;
	struct tare_why here;

	const int err = trial_open(&(struct trial_options){ .events = &instructions, .n = 1 }, &t, &here);
	if (!err)
		trial_close(&t);
	else
		why_set(why, TARE_E_STOLEN, "%s, which could be counted when the scan began", here.what);
	return err;
}

/* The codes together in one group. A group that the kernel refuses, or that does not fit, is tried
 * in halves. */
static int try_batch(const struct tare_scan *s, const struct place *places, size_t n,
		     struct verdict *verdicts, struct tare_why *why)
{
	struct coded coded[TRIAL_EVENTS];
	const struct tare_event *events[TRIAL_EVENTS];
	const size_t first = beside(s) ? 1 : 0;
	struct trial t;

	events[0] = beside(s);
	for (size_t i = 0; i < n; i++) {
		make_event(s, places[i].code, places[i].mask, &coded[i]);
		events[first + i] = &coded[i].event;
	}
	int err = trial_open(&(struct trial_options){ .events = events, .n = first + n }, &t, why);
	if (!err) {
		err = sweep_batch(s, &t, first, verdicts, why);
		trial_close(&t);
	}
	if (!err)
		return 0;
	if (!is_refusal(err))
		return err;
	if (n == 1 && counters_are_gone(s, why))
		return TARE_E_STOLEN;
	if (n == 1) {
		verdicts[0] = (struct verdict){ .refused = true };
		return 0;
	}
	err = try_batch(s, places, n / 2, verdicts, why);
	return err ? err : try_batch(s, places + n / 2, n - n / 2, verdicts + n / 2, why);
}

/* ---- the stages ---- */

static bool several_bits(uint64_t mask)
{
	return mask & (mask - 1);
}

/* Masks of each selector in the sweep: all of the range, or its two ends. */
static uint64_t masks_of(const struct tare_scan *s)
{
	const uint64_t n = s->plan.last_mask - s->plan.first_mask;

	return s->plan.ends_only && n ? 2 : n + 1;
}

static uint64_t mask_of(const struct tare_scan *s, uint64_t k)
{
	return s->plan.ends_only && k ? s->plan.last_mask : s->plan.first_mask + k;
}

/* Each bit of the mask of a sweep's hit is tried alone. */
static uint64_t steps_of(const struct tare_scan_hit *h)
{
	if (h->stage != TARE_SCAN_SWEEP || !several_bits(h->mask))
		return 0;
	return (unsigned)__builtin_popcountll(h->mask);
}

static struct place narrow_place(const struct tare_scan *s, uint64_t k)
{
	for (size_t i = 0; i < s->state.n_hits; i++) {
		const struct tare_scan_hit *const h = &s->state.hits[i];
		const uint64_t n = steps_of(h);
		if (k >= n) {
			k -= n;
			continue;
		}
		uint64_t mask = h->mask;
		for (uint64_t skip = 0; skip < k; skip++)
			mask &= mask - 1;
		return (struct place){ h->code, mask & -mask };
	}
	return (struct place){ 0, 0 };
}

static uint64_t total_of(const struct tare_scan *s, enum tare_scan_stage stage)
{
	uint64_t n = 0;

	switch (stage) {
	case TARE_SCAN_SWEEP:
		return s->plan.codes;
	case TARE_SCAN_NARROW:
		for (size_t i = 0; i < s->state.n_hits; i++)
			n += steps_of(&s->state.hits[i]);
		return n;
	case TARE_SCAN_CONFIRM:
		return s->n_candidates;
	default:
		return 0;
	}
}

static struct place place_of(const struct tare_scan *s, enum tare_scan_stage stage, uint64_t k)
{
	if (stage == TARE_SCAN_NARROW)
		return narrow_place(s, k);
	return (struct place){ s->plan.first_code + k / masks_of(s), mask_of(s, k % masks_of(s)) };
}

static int add_hit(struct tare_scan *s, enum tare_scan_stage stage, struct place p, bool matches,
		   struct tare_why *why)
{
	if (s->state.n_hits == s->hits_room) {
		const size_t room = s->hits_room ? 2 * s->hits_room : 64;
		struct tare_scan_hit *const hits =
			reallocarray(s->state.hits, room, sizeof(*hits));
		if (!hits)
			return why_set(why, TARE_E_NOMEM, "%zu codes", room);
		s->state.hits = hits;
		s->hits_room = room;
	}
	s->state.hits[s->state.n_hits++] = (struct tare_scan_hit){ .stage = stage, .code = p.code,
								   .mask = p.mask, .matches = matches };
	return 0;
}

static int report(struct tare_scan *s, struct tare_why *why)
{
	if (s->o.progress && s->o.progress(&s->state, s->o.arg))
		return why_set(why, TARE_E_TIMEOUT, "the scan was stopped in its stage %s, at %" PRIu64
			       " of %" PRIu64, tare_scan_stage_name(s->state.stage), s->state.next,
			       s->state.total);
	return 0;
}

/* Enters what a batch of the stage has shown. */
static int note(struct tare_scan *s, const struct place *places, const struct verdict *v, size_t n,
		struct tare_why *why)
{
	struct tare_scan_state *const st = &s->state;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		st->tried++;
		st->refused += v[i].refused;
		st->silent += v[i].silent;
		/* More than is wanted may be the sum of several bits. */
		const bool keep = v[i].matches || (v[i].enough && st->stage == TARE_SCAN_SWEEP &&
						   several_bits(places[i].mask));
		if (keep && !v[i].refused)
			err = add_hit(s, st->stage, places[i], v[i].matches, why);
	}
	return err;
}

/* The sweep, or the narrowing. */
static int walk(struct tare_scan *s, struct tare_why *why)
{
	struct tare_scan_state *const st = &s->state;
	int err = 0;

	st->total = total_of(s, st->stage);
	while (!err && st->next < st->total) {
		struct place places[TRIAL_EVENTS];
		struct verdict verdicts[TRIAL_EVENTS];
		const uint64_t left = st->total - st->next;
		const size_t n = left < s->plan.counters ? (size_t)left : s->plan.counters;
		for (size_t i = 0; i < n; i++)
			places[i] = place_of(s, st->stage, st->next + i);
		err = try_batch(s, places, n, verdicts, why);
		if (!err)
			err = note(s, places, verdicts, n, why);
		if (!err) {
			st->next += n;
			err = report(s, why);
		}
	}
	return err;
}

/* ---- from hits to candidates ---- */

static bool has_hit(const struct tare_scan *s, uint64_t code, uint64_t mask)
{
	for (size_t i = 0; i < s->state.n_hits; i++) {
		const struct tare_scan_hit *const h = &s->state.hits[i];
		if (h->matches && h->code == code && h->mask == mask)
			return true;
	}
	return false;
}

/* How many bits alone, of the selector's mask, count what is looked for. */
static unsigned bits_that_match(const struct tare_scan *s, uint64_t code)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->state.n_hits; i++) {
		const struct tare_scan_hit *const h = &s->state.hits[i];
		n += h->matches && h->stage == TARE_SCAN_NARROW && h->code == code;
	}
	return n;
}

/* Each bit that will do, and the mask 0; only this where the mask makes no difference. Where no bit
 * alone will do, the whole mask, less what can be left out of it. */
static bool is_candidate(const struct tare_scan *s, const struct tare_scan_hit *h, size_t at)
{
	if (!h->matches)
		return false;
	for (size_t i = 0; i < at; i++)		/* the narrowing may see what the sweep saw */
		if (s->state.hits[i].matches && s->state.hits[i].code == h->code &&
		    s->state.hits[i].mask == h->mask)
			return false;
	const unsigned bits = bits_that_match(s, h->code);
	if (h->mask && bits == PROBE_BITS && has_hit(s, h->code, 0))
		return false;
	return !several_bits(h->mask) || !bits;
}

static int list_candidates(struct tare_scan *s, struct tare_why *why)
{
	const size_t n = s->state.n_hits;

	free(s->candidates);
	s->n_candidates = 0;
	s->candidates = calloc(n ? n : 1, sizeof(*s->candidates));
	s->result.found = calloc(n ? n : 1, sizeof(*s->result.found));
	if (!s->candidates || !s->result.found)
		return why_set(why, TARE_E_NOMEM, "%zu codes", n);
	for (size_t i = 0; i < n; i++) {
		const struct tare_scan_hit *const h = &s->state.hits[i];
		if (is_candidate(s, h, i))
			s->candidates[s->n_candidates++] = (struct candidate){
				h->code, h->mask, several_bits(h->mask) };
	}
	return 0;
}

/* Leaves out each bit without which the count stays what is looked for. */
static int reduce(const struct tare_scan *s, struct candidate *c, struct tare_why *why)
{
	for (uint64_t bits = c->mask; bits; bits &= bits - 1) {
		const struct place without = { c->code, c->mask & ~(bits & -bits) };
		struct verdict v;
		const int err = try_batch(s, &without, 1, &v, why);
		if (err)
			return err;
		if (v.matches && !v.refused)
			c->mask = without.mask;
	}
	return 0;
}

/* ---- confirmation ---- */

static size_t confirm_trials(const struct tare_scan *s, struct tare_scan_trial *t)
{
	const uint64_t r = s->plan.rounds, p = s->plan.pages ? s->plan.pages : PAGES;
	const uint64_t many = s->irq_rounds ? 2 * s->irq_rounds : 50 * (uint64_t)ROUNDS;

	if (s->plan.like == TARE_SCAN_COUNT) {
		for (unsigned k = 0; k < 3; k++)
			t[k] = (struct tare_scan_trial){ .rounds = r * (k + 1),
							 .pages = s->plan.pages * (k + 1),
							 .wanted = s->count * (k + 1) };
		return 3;
	}
	/* All numbers vary, each on its own. */
	const uint64_t works[][3] = { { many, 0, 0 }, { ROUNDS, p / 5 * 3, 0 }, { 2 * many, 0, 0 },
				      { many, p / 7, CALLS }, { ROUNDS, 2 * p, 0 } };
	const size_t n = sizeof(works) / sizeof(works[0]);
	for (size_t k = 0; k < n; k++)
		t[k] = (struct tare_scan_trial){ .rounds = works[k][0], .pages = works[k][1],
						 .calls = works[k][2] };
	return n;
}

/* With the other trials some 400 interrupts: a code that misses one of a few dozen is told from one that counts all. */
static struct tare_scan_trial long_trial(const struct tare_scan *s)
{
	return (struct tare_scan_trial){ .rounds = 24 * s->irq_rounds };
}

static const char *name_of(const struct tare_scan *s, uint64_t raw)
{
	const struct tare_uarch *const u = s->cpu.uarch;

	for (size_t i = 0; u && i < u->n_events; i++)
		if (u->events[i].has_raw && u->events[i].raw == raw)
			return u->events[i].name;
	return NULL;
}

/* The counters of a confirmation. They are read one after the other, the last event first, and an interrupt
 * between two reads is in one of the counts only. So the candidate is counted twice, and read before and
 * after instructions:u: where both counts are the same, no such interrupt came. */
struct confirmation {
	struct trial t;
	const struct tare_event *events[4];	/* of the trial, as long as it is open */
	size_t candidate, instructions, again;
	bool has_instructions, has_again;
};

/* Where there are not enough counters, first the second count of the candidate is left out. */
static int open_confirmation(const struct tare_scan *s, const struct coded *coded,
			     struct confirmation *c, struct tare_why *why)
{
	const struct tare_event **const events = c->events;
	size_t n = 0;

	if (beside(s))
		events[n++] = beside(s);
	c->candidate = n;
	events[n++] = &coded->event;
	c->instructions = n;
	events[n++] = tare_events_at(s->instructions, 0);
	c->again = n;
	events[n++] = &coded->event;
	c->has_instructions = c->has_again = true;
	int err = trial_open(&(struct trial_options){ .events = events, .n = n }, &c->t, why);
	if (!err)
		return 0;
	c->has_again = false;
	err = trial_open(&(struct trial_options){ .events = events, .n = n - 1 }, &c->t, why);
	if (!err || !is_refusal(err))
		return err;
	c->has_instructions = false;
	return trial_open(&(struct trial_options){ .events = events, .n = n - 2 }, &c->t, why);
}

/* One trial, repeated up to `tries` times while the two counts of the candidate differ. *apart: they differ to
 * the end, or the candidate is counted once only, so an interrupt may have come between two reads. */
static int confirm_trial(const struct tare_scan *s, struct confirmation *c, unsigned tries,
			 struct tare_scan_trial *trial, bool *apart, struct tare_why *why)
{
	const struct tare_scan_trial before = *trial;
	int64_t counts[1][TRIAL_EVENTS];

	for (unsigned k = 0; k < tries; k++) {
		*trial = before;
		if (!c->has_instructions)
			trial->excess = INT64_MIN;
		const int err = run_trials(s, &c->t, trial, 1, c->instructions, counts, why);
		if (err)
			return err;
		const int64_t n = counts[0][c->candidate];
		trial->count = n > 0 ? (uint64_t)n : 0;
		if (!c->has_again)
			break;
		if (unwrapped(s, counts[0][c->again] - n) == 0)
			return 0;
	}
	*apart = true;
	return 0;
}

/* Counts the candidate alone, with instructions:u where a counter is left for them, in n more trials; ends
 * before where it cannot be what is looked for. Sets *apart as confirm_trial() does. */
static int confirm_counts(const struct tare_scan *s, const struct coded *coded,
			  struct tare_scan_found *f, size_t n_trials, bool *apart,
			  struct tare_why *why)
{
	struct confirmation c;
	int err = open_confirmation(s, coded, &c, why);

	if (err)
		return err;
	for (const size_t end = f->n_trials + n_trials; !err && f->n_trials < end;) {
		err = confirm_trial(s, &c, READ_TRIES, &f->trials[f->n_trials], apart, why);
		f->n_trials++;
		if (!err && (!scan_is_possible(s->plan.like, f) || (s->for_one && !scan_may_be_best(f))))
			break;
	}
	trial_close(&c.t);
	return err;
}

static int confirm_long(const struct tare_scan *s, const struct coded *c, struct tare_scan_found *f,
			bool *apart, struct tare_why *why)
{
	f->trials[f->n_trials] = long_trial(s);
	return confirm_counts(s, c, f, 1, apart, why);
}

/* What differs by so little that interrupts between two reads may be the reason is counted again. */
static int confirm_coded(const struct tare_scan *s, const struct coded *c, struct tare_scan_found *f,
			 bool *found, struct tare_why *why)
{
	*found = false;
	for (unsigned k = 0; k < CONFIRM_TRIES; k++) {
		bool apart = false;
		f->n_trials = 0;
		const size_t n = confirm_trials(s, f->trials);
		int err = confirm_counts(s, c, f, n, &apart, why);
		if (!err && f->n_trials < n)
			return 0;
		if (!err && scan_judge(s->plan.like, f) && (f->is_excess || (s->for_one && scan_is_near(f))))
			err = confirm_long(s, c, f, &apart, why);
		if (err)
			return !is_refusal(err) ? err : counters_are_gone(s, why) ? TARE_E_STOLEN : 0;
		*found = scan_judge(s->plan.like, f);
		if (!*found || (s->for_one && scan_is_settled(f)) || !scan_may_improve(f, apart))
			break;
	}
	return 0;
}

static bool is_found(const struct tare_scan *s, const struct candidate *c)
{
	for (size_t i = 0; i < s->result.n_found; i++)
		if (s->result.found[i].code == c->code && s->result.found[i].mask == c->mask)
			return true;
	return false;
}

/* One trial of a candidate with interrupts, for its place in the order. */
static int rank_one(const struct tare_scan *s, struct candidate *c, struct tare_why *why)
{
	struct tare_scan_trial trials[TARE_SCAN_TRIALS];
	struct confirmation open;
	struct coded coded;
	bool apart;

	confirm_trials(s, trials);
	make_event(s, c->code, c->mask, &coded);
	int err = open_confirmation(s, &coded, &open, why);
	if (!err) {
		err = confirm_trial(s, &open, 1, &trials[0], &apart, why);
		trial_close(&open.t);
	}
	c->off = err ? UINT64_MAX : scan_off_excess(&trials[0]);
	return err && !is_refusal(err) ? err : 0;
}

static int nearer(const void *a, const void *b)
{
	const struct candidate *const x = a, *const y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return x->mask < y->mask ? -1 : x->mask > y->mask;
}

/* A search for one event ends with the first one that settles it, and a confirmation takes ten times as long
 * as one trial, or more. So one trial of each candidate decides which is confirmed first. */
static int rank_candidates(struct tare_scan *s, struct tare_why *why)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->n_candidates; i++) {
		err = rank_one(s, &s->candidates[i], why);
		s->state.next++;
		err = err ? err : report(s, why);
	}
	if (!err)
		qsort(s->candidates, s->n_candidates, sizeof(*s->candidates), nearer);
	return err;
}

static int confirm_one(struct tare_scan *s, struct candidate *c, struct tare_why *why)
{
	struct tare_scan_found f = { .code = c->code };
	struct coded coded;

	int err = c->reduce ? reduce(s, c, why) : 0;
	if (err || is_found(s, c))
		return err;
	f.mask = c->mask;
	f.raw = event_space_raw(&s->space, c->code, c->mask);
	f.name = name_of(s, f.raw);
	make_event(s, c->code, c->mask, &coded);
	memcpy(f.event, coded.name, sizeof(f.event));
	bool found;
	err = confirm_coded(s, &coded, &f, &found, why);
	if (!err && found)
		s->result.found[s->result.n_found++] = f;
	return err;
}

/* The last one that was found is what a scan for one event is after. */
static bool is_settled(const struct tare_scan *s)
{
	return s->for_one && s->result.n_found && scan_is_settled(&s->result.found[s->result.n_found - 1]);
}

/* The best first. (Distances of different numbers of trials are compared; what is settled is not.) */
static void sort_found(struct tare_scan *s)
{
	struct tare_scan_found *const found = s->result.found;
	const size_t n = s->result.n_found;

	if (is_settled(s)) {
		const struct tare_scan_found last = found[n - 1];
		found[n - 1] = found[0];
		found[0] = last;
	} else {
		qsort(found, n, sizeof(found[0]), scan_compare);
	}
}

/* Short, so that a scan that goes on does it from the beginning. */
static int confirm(struct tare_scan *s, struct tare_why *why)
{
	int err = list_candidates(s, why);

	s->state.next = 0;
	s->state.total = s->n_candidates * (s->for_one ? 2 : 1);
	if (!err && s->for_one)
		err = rank_candidates(s, why);
	for (size_t i = 0; !err && i < s->n_candidates; i++) {
		err = confirm_one(s, &s->candidates[i], why);
		if (!err) {
			s->state.next++;
			err = report(s, why);
		}
		if (is_settled(s))
			break;
	}
	if (!err)
		sort_found(s);
	return err;
}

int tare_scan_run(struct tare_scan *s, struct tare_why *why)
{
	struct tare_scan_state *const st = &s->state;
	int err = 0;

	while (!err && st->stage < TARE_SCAN_CONFIRM) {
		err = walk(s, why);
		if (!err) {
			st->stage++;
			st->next = 0;
		}
	}
	if (!err && st->stage == TARE_SCAN_CONFIRM)
		err = confirm(s, why);
	if (err)
		return err;
	st->stage = TARE_SCAN_DONE;
	s->result.tried = st->tried;
	s->result.refused = st->refused;
	s->result.silent = st->silent;
	return 0;
}

/* ---- opening ---- */

/* The event to compare with; the codes are counted in user mode. */
static int parse_event(struct tare_scan *s, const char *like, struct tare_why *why)
{
	char user[200];

	int err = tare_events_parse(like, &s->cpu, &s->like, why);
	if (err)
		return err;
	if (tare_events_count(s->like) != 1)
		return why_set(why, TARE_E_INVALID, "\"%.100s\" is %zu events; a scan compares with one",
			       like, tare_events_count(s->like));
	if (beside(s)->kind == TARE_EVENT_WALL_TIME || beside(s)->kind == TARE_EVENT_ZERO)
		return why_set(why, TARE_E_INVALID, "%s is no event that a counter counts", like);
	if (beside(s)->base.exclude_user)
		return why_set(why, TARE_E_INVALID, "%s leaves out user mode, in which a scan counts", like);
	if (!trial_user_name(beside(s), user, sizeof(user)))
		return 0;
	tare_events_free(s->like);
	s->like = NULL;
	return tare_events_parse(user, &s->cpu, &s->like, why);
}

static int parse_like(struct tare_scan *s, struct tare_why *why)
{
	const char *const like = s->o.like;
	char *end;

	if (!like || !*like)
		return why_set(why, TARE_E_INVALID, "nothing to look for: page-faults, interrupts, an "
			       "event, or a number");
	if (!strcmp(like, "page-faults") || !strcmp(like, "faults")) {
		s->plan.like = TARE_SCAN_PAGE_FAULTS;
		return 0;
	}
	if (!strcmp(like, "interrupts") || !strcmp(like, "irqs")) {
		s->plan.like = TARE_SCAN_INTERRUPTS;
		return 0;
	}
	if (like[0] >= '0' && like[0] <= '9') {
		s->plan.like = TARE_SCAN_COUNT;
		s->count = strtoull(like, &end, 0);
		if (*end || !s->count || s->count > UINT64_MAX / 8)
			return why_set(why, TARE_E_RANGE, "\"%.60s\" is no count from 1 to %" PRIu64, like,
				       UINT64_MAX / 8);
		return 0;
	}
	s->plan.like = TARE_SCAN_EVENT;
	return parse_event(s, like, why);
}

static int check_range(const char *what, const struct config_bits *bits, uint64_t first,
		       uint64_t last, struct tare_why *why)
{
	const uint64_t most = config_bits_max(bits);

	if (first > last)
		return why_set(why, TARE_E_RANGE, "%s 0x%" PRIx64 "-0x%" PRIx64
			       ": the first is greater than the last", what, first, last);
	if (last <= most)
		return 0;
	if (!bits->width)
		return why_set(why, TARE_E_RANGE, "%s 0x%" PRIx64 ": this PMU has none", what, last);
	return why_set(why, TARE_E_RANGE, "%s 0x%" PRIx64 ": this PMU has %u bits for it, 0x0-0x%" PRIx64,
		       what, last, bits->width, most);
}

static int plan_space(struct tare_scan *s, struct tare_why *why)
{
	struct tare_scan_plan *const p = &s->plan;

	int err = event_space_find(&s->space, "", &s->cpu, p->cpu, why);
	if (err)
		return err;
	p->code_bits = s->space.code.width;
	p->mask_bits = s->space.mask.width;
	p->first_code = s->o.has_codes ? s->o.first_code : 0;
	p->last_code = s->o.has_codes ? s->o.last_code : config_bits_max(&s->space.code);
	if (!s->o.has_codes && !p->mask_bits && p->last_code > ARM_LAST_CODE)
		p->last_code = ARM_LAST_CODE;
	const uint64_t all = config_bits_max(&s->space.mask) & ((1u << PROBE_BITS) - 1);
	p->first_mask = s->o.has_masks ? s->o.first_mask : 0;
	p->last_mask = s->o.has_masks ? s->o.last_mask : all;
	p->ends_only = !s->o.has_masks;
	err = check_range("event selector", &s->space.code, p->first_code, p->last_code, why);
	if (!err)
		err = check_range("mask", &s->space.mask, p->first_mask, p->last_mask, why);
	p->codes = err ? 0 : (p->last_code - p->first_code + 1) * masks_of(s);
	return err;
}

static int try_open(const struct tare_event *const *events, size_t n, struct tare_why *why)
{
	struct tare_group *g;

	const int err = tare_group_open(events, n, NULL, &g, why);
	if (!err)
		tare_group_close(g);
	return err;
}

/* Opens what every PMU has, for the one clear error where nothing can be opened; and what every batch has, with
 * one code beside it. */
static int plan_counters(struct tare_scan *s, struct tare_why *why)
{
	const struct tare_event *const instructions = tare_events_at(s->instructions, 0);
	const struct tare_event *const both[] = { beside(s), instructions };

	int err = try_open(&instructions, 1, why);
	if (!err && beside(s))
		err = try_open(both, 1, why);
	if (!err && beside(s))
		err = try_open(both, 2, why);
	if (err)
		return err;
	const int free = perf_free_counters() - (beside(s) ? 1 : 0);
	const int most = TRIAL_EVENTS - 1;
	s->plan.counters = (unsigned)(free < 1 ? 1 : free > most ? most : free);
	s->plan.batches = (s->plan.codes + s->plan.counters - 1) / s->plan.counters;
	return 0;
}

static int plan_work(struct tare_scan *s, struct tare_why *why)
{
	struct tare_scan_plan *const p = &s->plan;
	const bool irqs = p->like == TARE_SCAN_INTERRUPTS;

	if (p->like != TARE_SCAN_COUNT)
		s->irq_rounds = known_work_calibrate(p->cpu, INTERRUPTS,
						     irqs ? s->most_rounds : FEWER_ROUNDS);
	if (irqs && !s->irq_rounds) {
		why_set(why, TARE_E_TIMEOUT, "fewer than %d interrupts came on CPU %u during %llu "
			"instructions, by /proc/interrupts and ticks", INTERRUPTS, p->cpu,
			(unsigned long long)s->most_rounds * KNOWN_WORK_PER_ROUND);
		why_remedy(why, "choose a CPU that has a tick (taskset; see nohz_full on the kernel's "
			   "command line)");
		return TARE_E_TIMEOUT;
	}
	p->rounds = s->o.rounds ? s->o.rounds : irqs ? s->irq_rounds : ROUNDS;
	p->pages = s->o.pages ? s->o.pages : irqs || p->like == TARE_SCAN_COUNT ? 0 : PAGES;
	p->interrupts = irqs ? INTERRUPTS : 0;
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* How long a batch takes: the first one, tried twice, since the first time is slower. */
static int plan_time(struct tare_scan *s, struct tare_why *why)
{
	struct place places[TRIAL_EVENTS];
	struct verdict verdicts[TRIAL_EVENTS];
	const size_t n = s->plan.codes < s->plan.counters ? s->plan.codes : s->plan.counters;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		places[i] = place_of(s, TARE_SCAN_SWEEP, i);
	for (unsigned k = 0; k < 2 && !err; k++) {
		const uint64_t begin = now_ns();
		err = try_batch(s, places, n, verdicts, why);
		s->plan.batch_ns = now_ns() - begin;
	}
	return err;
}

static int copy_state(struct tare_scan *s, struct tare_why *why)
{
	const struct tare_scan_state *const from = s->o.resume;

	if (!from)
		return 0;
	s->state = *from;
	s->state.hits = calloc(from->n_hits ? from->n_hits : 1, sizeof(*from->hits));
	s->hits_room = s->state.hits ? from->n_hits : 0;
	if (!s->state.hits)
		return why_set(why, TARE_E_NOMEM, "%zu codes", from->n_hits);
	if (from->n_hits)
		memcpy(s->state.hits, from->hits, from->n_hits * sizeof(*from->hits));
	if (from->stage < TARE_SCAN_CONFIRM && from->next > total_of(s, from->stage))
		return why_set(why, TARE_E_MISMATCH, "the earlier scan was at %" PRIu64 " of its stage %s, "
			       "which has %" PRIu64, from->next, tare_scan_stage_name(from->stage),
			       total_of(s, from->stage));
	return 0;
}

static int open_scan(struct tare_scan *s, struct tare_why *why)
{
	int err = known_work_stay(&s->kept, &s->plan.cpu, why);
	if (!err)
		err = tare_events_parse("instructions:u", &s->cpu, &s->instructions, why);
	if (!err)
		err = parse_like(s, why);
	if (!err)
		err = plan_space(s, why);
	if (!err)
		err = plan_counters(s, why);
	if (!err)
		err = plan_work(s, why);
	if (!err)
		err = plan_time(s, why);
	return err ? err : copy_state(s, why);
}

int scan_open_with(const struct tare_scan_options *o, const struct tare_cpu *cpu,
		   uint64_t most_rounds, unsigned bits, struct tare_scan **out, struct tare_why *why)
{
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the scan");
	*out = NULL;
	struct tare_scan *const s = calloc(1, sizeof(*s));
	if (!s)
		return why_set(why, TARE_E_NOMEM, "a scan");
	s->most_rounds = most_rounds ? most_rounds : MOST_ROUNDS;
	s->bits = bits;
	s->for_one = most_rounds;
	if (cpu)
		s->cpu = *cpu;
	else
		tare_cpu_detect(&s->cpu);
	int err = options_copy(&s->o, sizeof(s->o), o, "tare_scan_options", why);
	if (!err)
		err = open_scan(s, why);
	if (err) {
		tare_scan_close(s);
		return err;
	}
	*out = s;
	return 0;
}

int tare_scan_open(const struct tare_scan_options *o, struct tare_scan **out, struct tare_why *why)
{
	return scan_open_with(o, NULL, 0, 0, out, why);
}

int scan_try(struct tare_scan *s, uint64_t raw, struct tare_scan_found *f, bool *found,
	     struct tare_why *why)
{
	struct coded coded;

	*f = (struct tare_scan_found){ .raw = raw, .name = name_of(s, raw) };
	make_raw(s, raw, &coded);
	memcpy(f->event, coded.name, sizeof(f->event));
	int err = confirm_coded(s, &coded, f, found, why);
	if (!err && *found && !f->is_excess) {
		bool apart;
		err = confirm_long(s, &coded, f, &apart, why);
		*found = !err && scan_judge(s->plan.like, f);
	}
	return err && is_refusal(err) ? 0 : err;
}

const struct tare_scan_plan *tare_scan_plan(const struct tare_scan *s)
{
	return &s->plan;
}

const struct tare_scan_result *tare_scan_result(const struct tare_scan *s)
{
	return &s->result;
}

void tare_scan_close(struct tare_scan *s)
{
	if (!s)
		return;
	known_work_let_go(s->kept);
	tare_events_free(s->like);
	tare_events_free(s->instructions);
	free(s->candidates);
	free(s->state.hits);
	free(s->result.found);
	free(s);
}
