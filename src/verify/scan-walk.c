/* Walking the event space: the stages sweep and narrow of a scan (scan-parts.h).
 *
 *	sweep	 index k is selector first_code + k / masks with mask first_mask + k % masks
 *	narrow	 index k is the k-th of the list that narrow_place() makes of the sweep's hits
 *
 * So a stage is a function from a number to a code, and the state of a scan is a stage, a number and
 * the hits so far: enough to go on after a kill.
 */
#include "scan-parts.h"

#include <inttypes.h>
#include <stdlib.h>

#define SWEEP_TRIALS 3

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

/* *open: more trials can change whether it matches. */
static struct scan_verdict judge_sweep(const struct tare_scan *s, const struct tare_scan_trial *trials,
				       unsigned n_trials, int64_t (*counts)[TRIAL_EVENTS], size_t i,
				       bool *open)
{
	struct scan_verdict v = { .silent = true, .enough = true, .matches = true };

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
		       struct scan_verdict *verdicts, struct tare_why *why)
{
	struct tare_scan_trial trials[SWEEP_TRIALS];
	int64_t counts[SWEEP_TRIALS][TRIAL_EVENTS];
	const unsigned n = sweep_trials(s, trials);
	bool open = true;

	for (unsigned k = 0; k < n && open; k++) {
		const int err = scan_run_trials(s, t, &trials[k], 1, 0, &counts[k], why);
		if (err)
			return err;
		open = false;
		for (size_t i = 0; i < t->o.n - first; i++)
			verdicts[i] = judge_sweep(s, trials, k + 1, counts, first + i, &open);
	}
	return 0;
}

int scan_try_batch(const struct tare_scan *s, const struct scan_place *places, size_t n,
		   struct scan_verdict *verdicts, struct tare_why *why)
{
	struct scan_code coded[TRIAL_EVENTS];
	const struct tare_event *events[TRIAL_EVENTS];
	const size_t first = scan_beside(s) ? 1 : 0;
	struct trial t;

	events[0] = scan_beside(s);
	for (size_t i = 0; i < n; i++) {
		scan_code_make(s, places[i].code, places[i].mask, &coded[i]);
		events[first + i] = &coded[i].event;
	}
	int err = trial_open(&(struct trial_options){ .events = events, .n = first + n }, &t, why);
	if (!err) {
		err = sweep_batch(s, &t, first, verdicts, why);
		trial_close(&t);
	}
	if (!err)
		return 0;
	if (!scan_is_refusal(err))
		return err;
	if (n == 1 && scan_counters_are_gone(s, why))
		return TARE_E_STOLEN;
	if (n == 1) {
		verdicts[0] = (struct scan_verdict){ .refused = true };
		return 0;
	}
	err = scan_try_batch(s, places, n / 2, verdicts, why);
	return err ? err : scan_try_batch(s, places + n / 2, n - n / 2, verdicts + n / 2, why);
}

bool scan_several_bits(uint64_t mask)
{
	return mask & (mask - 1);
}

uint64_t scan_masks(const struct tare_scan *s)
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
	if (h->stage != TARE_SCAN_SWEEP || !scan_several_bits(h->mask))
		return 0;
	return (unsigned)__builtin_popcountll(h->mask);
}

static struct scan_place narrow_place(const struct tare_scan *s, uint64_t k)
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
		return (struct scan_place){ h->code, mask & -mask };
	}
	return (struct scan_place){ 0, 0 };
}

uint64_t scan_total(const struct tare_scan *s, enum tare_scan_stage stage)
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

struct scan_place scan_place_of(const struct tare_scan *s, enum tare_scan_stage stage, uint64_t k)
{
	if (stage == TARE_SCAN_NARROW)
		return narrow_place(s, k);
	return (struct scan_place){ s->plan.first_code + k / scan_masks(s), mask_of(s, k % scan_masks(s)) };
}

static int add_hit(struct tare_scan *s, enum tare_scan_stage stage, struct scan_place p, bool matches,
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

int scan_report(struct tare_scan *s, struct tare_why *why)
{
	if (s->o.progress && s->o.progress(&s->state, s->o.arg))
		return why_set(why, TARE_E_TIMEOUT, "the scan was stopped in its stage %s, at %" PRIu64
			       " of %" PRIu64, tare_scan_stage_name(s->state.stage), s->state.next,
			       s->state.total);
	return 0;
}

/* Enters what a batch of the stage has shown. */
static int note(struct tare_scan *s, const struct scan_place *places, const struct scan_verdict *v, size_t n,
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
						   scan_several_bits(places[i].mask));
		if (keep && !v[i].refused)
			err = add_hit(s, st->stage, places[i], v[i].matches, why);
	}
	return err;
}

int scan_walk(struct tare_scan *s, struct tare_why *why)
{
	struct tare_scan_state *const st = &s->state;
	int err = 0;

	st->total = scan_total(s, st->stage);
	while (!err && st->next < st->total) {
		struct scan_place places[TRIAL_EVENTS];
		struct scan_verdict verdicts[TRIAL_EVENTS];
		const uint64_t left = st->total - st->next;
		const size_t n = left < s->plan.counters ? (size_t)left : s->plan.counters;
		for (size_t i = 0; i < n; i++)
			places[i] = scan_place_of(s, st->stage, st->next + i);
		err = scan_try_batch(s, places, n, verdicts, why);
		if (!err)
			err = note(s, places, verdicts, n, why);
		if (!err) {
			st->next += n;
			err = scan_report(s, why);
		}
	}
	return err;
}
