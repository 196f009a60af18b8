/* The last stage of a scan: candidates from the hits of the others, and a confirmation of each (scan-parts.h). */
#include "scan-parts.h"
#include "scan-room.h"

#include <stdlib.h>
#include <string.h>

#define CONFIRM_TRIES 3
#define READ_TRIES 8		/* of a trial, until no interrupt comes between the reads of two counters */
#define CALLS 211		/* system calls, which are neither interrupts nor page faults */

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
	if (h->mask && bits == SCAN_PROBE_BITS && has_hit(s, h->code, 0))
		return false;
	return !scan_several_bits(h->mask) || !bits;
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
			s->candidates[s->n_candidates++] = (struct scan_candidate){
				h->code, h->mask, scan_several_bits(h->mask) };
	}
	return 0;
}

/* Leaves out each bit without which the count stays what is looked for. */
static int reduce(const struct tare_scan *s, struct scan_candidate *c, struct tare_why *why)
{
	for (uint64_t bits = c->mask; bits; bits &= bits - 1) {
		const struct scan_place without = { c->code, c->mask & ~(bits & -bits) };
		struct scan_verdict v;
		const int err = scan_try_batch(s, &without, 1, &v, why);
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
	const uint64_t r = s->plan.rounds, p = s->plan.pages ? s->plan.pages : SCAN_PAGES;
	const uint64_t many = s->irq_rounds ? 2 * s->irq_rounds : 50 * (uint64_t)SCAN_ROUNDS;

	if (s->plan.like == TARE_SCAN_COUNT) {
		for (unsigned k = 0; k < 3; k++)
			t[k] = (struct tare_scan_trial){ .rounds = r * (k + 1),
							 .pages = s->plan.pages * (k + 1),
							 .wanted = s->count * (k + 1) };
		return 3;
	}
	/* All numbers vary, each on its own. */
	const uint64_t works[][3] = { { many, 0, 0 }, { SCAN_ROUNDS, p / 5 * 3, 0 }, { 2 * many, 0, 0 },
				      { many, p / 7, CALLS }, { SCAN_ROUNDS, 2 * p, 0 } };
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
static int open_confirmation(const struct tare_scan *s, const struct scan_code *coded,
			     struct confirmation *c, struct tare_why *why)
{
	const struct tare_event **const events = c->events;
	size_t n = 0;

	if (scan_beside(s))
		events[n++] = scan_beside(s);
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
	if (!err || !scan_is_refusal(err))
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
		const int err = scan_run_trials(s, &c->t, trial, 1, c->instructions, counts, why);
		if (err)
			return err;
		const int64_t n = counts[0][c->candidate];
		trial->count = n > 0 ? (uint64_t)n : 0;
		if (!c->has_again)
			break;
		if (scan_unwrapped(s, counts[0][c->again] - n) == 0)
			return 0;
	}
	*apart = true;
	return 0;
}

/* Counts the candidate alone, with instructions:u where a counter is left for them, in n more trials; ends
 * before where it cannot be what is looked for. Sets *apart as confirm_trial() does. */
static int confirm_counts(const struct tare_scan *s, const struct scan_code *coded,
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

static int confirm_long(const struct tare_scan *s, const struct scan_code *c, struct tare_scan_found *f,
			bool *apart, struct tare_why *why)
{
	f->trials[f->n_trials] = long_trial(s);
	return confirm_counts(s, c, f, 1, apart, why);
}

/* What differs by so little that interrupts between two reads may be the reason is counted again. */
static int confirm_coded(const struct tare_scan *s, const struct scan_code *c, struct tare_scan_found *f,
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
			return !scan_is_refusal(err) ? err : scan_counters_are_gone(s, why) ? TARE_E_STOLEN : 0;
		*found = scan_judge(s->plan.like, f);
		if (!*found || (s->for_one && scan_is_settled(f)) || !scan_may_improve(f, apart))
			break;
	}
	return 0;
}

static bool is_found(const struct tare_scan *s, const struct scan_candidate *c)
{
	for (size_t i = 0; i < s->result.n_found; i++)
		if (s->result.found[i].code == c->code && s->result.found[i].mask == c->mask)
			return true;
	return false;
}

/* One trial of a candidate with interrupts, for its place in the order. */
static int rank_one(const struct tare_scan *s, struct scan_candidate *c, struct tare_why *why)
{
	struct tare_scan_trial trials[TARE_SCAN_TRIALS];
	struct confirmation open;
	struct scan_code coded;
	bool apart;

	confirm_trials(s, trials);
	scan_code_make(s, c->code, c->mask, &coded);
	int err = open_confirmation(s, &coded, &open, why);
	if (!err) {
		err = confirm_trial(s, &open, 1, &trials[0], &apart, why);
		trial_close(&open.t);
	}
	c->off = err ? UINT64_MAX : scan_off_excess(&trials[0]);
	return err && !scan_is_refusal(err) ? err : 0;
}

static int nearer(const void *a, const void *b)
{
	const struct scan_candidate *const x = a, *const y = b;

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
		err = err ? err : scan_report(s, why);
	}
	if (!err)
		qsort(s->candidates, s->n_candidates, sizeof(*s->candidates), nearer);
	return err;
}

static int confirm_one(struct tare_scan *s, struct scan_candidate *c, struct tare_why *why)
{
	struct tare_scan_found f = { .code = c->code };
	struct scan_code coded;

	int err = c->reduce ? reduce(s, c, why) : 0;
	if (err || is_found(s, c))
		return err;
	f.mask = c->mask;
	f.raw = event_space_raw(&s->space, c->code, c->mask);
	f.name = name_of(s, f.raw);
	scan_code_make(s, c->code, c->mask, &coded);
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

int scan_confirm(struct tare_scan *s, struct tare_why *why)
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
			err = scan_report(s, why);
		}
		if (is_settled(s))
			break;
	}
	if (!err)
		sort_found(s);
	return err;
}

int scan_try(struct tare_scan *s, uint64_t raw, struct tare_scan_found *f, bool *found,
	     struct tare_why *why)
{
	struct scan_code coded;

	*f = (struct tare_scan_found){ .raw = raw, .name = name_of(s, raw) };
	scan_code_of_raw(s, raw, &coded);
	memcpy(f->event, coded.name, sizeof(f->event));
	int err = confirm_coded(s, &coded, f, found, why);
	if (!err && *found && !f->is_excess) {
		bool apart;
		err = confirm_long(s, &coded, f, &apart, why);
		*found = !err && scan_judge(s->plan.like, f);
	}
	return err && scan_is_refusal(err) ? 0 : err;
}
