#include "diverge-room.h"

#include <stdlib.h>
#include <string.h>

#define STOPS 8000		/* in a run, about */
#define TRIES 12		/* pairs that do not show what the pair before them has shown … */
#define CHEAP 1000000000	/* … and as many more as execute so many instructions */
#define MORE_TRIES 24
#define SKIPPED_TRIES 8		/* where the parting of another task is known */
#define AGAIN 6			/* pairs, to see the stacks of one that parts where another one did */
#define BEFORE 1000		/* states before the place where two runs are thought to part, … */
#define BEHIND 4000		/* … and behind it */

/* A value that differs in one pair of runs may be the same in the next ones: the last digit of a process number
 * differs mostly, the first one seldom. */
static unsigned tries_of(const struct diverge *v, uint64_t count)
{
	const uint64_t more = CHEAP / (2 * (count ? count : v->longest) + 1);
	return TRIES + (unsigned)(more < MORE_TRIES ? more : MORE_TRIES);
}

static bool same_way(const struct look *a, const struct look *b)
{
	return a->count == b->count && a->way == b->way && a->call == b->call;
}

/* The number of stops from the start at which both have the same way. */
static size_t same_stops(const struct track *a, const struct track *b)
{
	size_t i = 0;
	while (i < a->n && i < b->n && same_way(&a->looks[i], &b->looks[i]))
		i++;
	return i;
}

static const struct track no_track;

/* ---- the parting ---- */

static bool is_skipped(const struct diverge *v, uint32_t task)
{
	for (unsigned i = 0; i < v->n_skipped; i++)
		if (v->skipped[i] == task)
			return true;
	return false;
}

/* The thread of which two stops differ first. NULL: there is none. *n: its equal stops. */
static const struct track *first_that_parts(const struct diverge *v, const struct pair *p, size_t *n)
{
	const struct track *first = NULL;
	for (size_t i = 0; i < p->side[0].n_tracks; i++) {
		const struct track *const a = &p->side[0].tracks[i];
		if (is_skipped(v, a->task))
			continue;
		const struct track *b = diverge_probe_track(&p->side[1], a->task);
		if (!b)
			b = &no_track;
		const size_t same = same_stops(a, b);
		if (same == a->n && same == b->n)
			continue;
		if (first && first->begun + *n <= a->begun + same)
			continue;
		first = a;
		*n = same;
	}
	return first;
}

static uint64_t step_of(uint64_t from, uint64_t to)
{
	return (to - from) / STOPS + 1;
}

/* Both have the same way up to *lo, and not at *hi. */
static int narrow_parting(struct diverge *v, uint32_t *task, uint64_t *lo, uint64_t *hi)
{
	struct pair p;
	const uint64_t every = step_of(*lo, *hi);
	const struct probe_request r = { .first = *lo ? *lo : 1, .every = every, .task = *task,
					 .until = *task ? *hi : 0 };
	const int err = diverge_pair_run(v, r, &p);
	if (err)
		return err;
	size_t same = 0;
	const struct track *const a = first_that_parts(v, &p, &same);
	int found = 0;
	if (a) {
		const struct track *const b = diverge_probe_track(&p.side[1], a->task);
		const struct look *const at = same < a->n ? &a->looks[same] : NULL;
		const struct look *const other = b && same < b->n ? &b->looks[same] : NULL;
		uint64_t diff = at ? at->count : other->count;
		if (at && other && other->count < diff)
			diff = other->count;
		found = same || !*lo ? 1 : -1;
		*task = a->task;
		*hi = diff;
		*lo = same ? a->looks[same - 1].count : 0;
	}
	diverge_pair_free(&p);
	return found < 0 ? 2 : found;
}

#define WINDOW 2000	/* stops at which two runs part are looked for with all that the thread has */

/* Sends the search back to the start, where a pair has parted before the place that is looked at. */
static void back(const struct diverge *v, struct parting *at, uint64_t *hi, uint64_t before)
{
	*hi = before ? before : v->longest + STOPS;
	at->count = 0;
	if (!before)
		at->task = 0;
}

/* Until the stops are close enough together. 1, 0 or an error. */
static int narrow(struct diverge *v, struct parting *at, uint64_t *hi, unsigned *tries)
{
	while (!at->task || *hi - at->count > WINDOW) {
		if (diverge_is_over(v))
			return 0;
		const int got = narrow_parting(v, &at->task, &at->count, hi);
		if (got < 0)
			return got;
		if (got == 1)
			continue;
		if (!(*tries)--)
			return 0;
		if (got == 0 && *tries % 4 == 0)
			back(v, at, hi, 0);
	}
	return 1;
}

/* All states around the place. Two runs may part anywhere in them. */
static int look_around(struct diverge *v, struct parting *at, uint64_t *hi)
{
	const uint64_t first = at->count > BEFORE ? at->count - BEFORE : 1;
	const struct probe_request r = { .first = first, .every = 1, .until = *hi + BEHIND, .task = at->task,
					 .states = true, .coarse = first > 1 ? step_of(0, v->longest) : 0 };
	const int err = diverge_pair_run(v, r, &at->pair);
	if (err)
		return err;
	const struct track *const a = at->pair.track[0], *const b = at->pair.track[1];
	const size_t same = same_stops(a, b);
	if (same && (same < a->n || same < b->n)) {
		at->first = first;
		at->count = a->looks[same - 1].count;
		return 1;
	}
	if (!same && first == 1 && a->n && b->n) {
		at->first = first;
		at->count = 0;
		return 1;
	}
	back(v, at, hi, same ? 0 : first);
	diverge_pair_free(&at->pair);
	return 0;
}

int diverge_search_parting(struct diverge *v, struct parting *at)
{
	uint64_t hi = 0;
	unsigned tries = v->n_skipped ? SKIPPED_TRIES : tries_of(v, 0);
	*at = (struct parting){ 0 };
	back(v, at, &hi, 0);
	for (;;) {
		int got = narrow(v, at, &hi, &tries);
		if (got == 1)
			got = look_around(v, at, &hi);
		if (got || !tries-- || diverge_is_over(v))
			return got;
	}
}

/* ---- memory ---- */

/* `close`: only the last stops, one after the other, and others before as in look_around(). Stops change when other
 * threads run, so that some write the memory in time only if there are stops as in the pair that parted. */
static int narrow_memory(struct diverge *v, uint32_t task, const struct flow_memory *m, bool close, uint64_t *lo,
			 uint64_t *hi)
{
	struct pair p;
	const uint64_t least = *lo ? *lo : 1, from = close && *hi > least + BEFORE ? *hi - BEFORE : least;
	const uint64_t every = step_of(from, *hi);
	const struct probe_request r = { .first = *hi - (*hi - from) / every * every, .every = every, .until = *hi,
					 .task = task, .watched = m, .coarse = close && from > 1 ? step_of(0, v->longest) : 0 };
	const int err = diverge_pair_run(v, r, &p);
	if (err)
		return err;
	const struct look *const a = p.track[0]->looks, *const b = p.track[1]->looks;
	const size_t n = p.track[0]->n;
	int found = 0;
	if (n && n == p.track[1]->n && same_stops(p.track[0], p.track[1]) == n && a[n - 1].count == *hi &&
	    a[n - 1].memory != b[n - 1].memory) {
		size_t i = n - 1;
		while (i > 0 && a[i - 1].memory != b[i - 1].memory)
			i--;
		found = 1;
		*hi = a[i].count;
		if (i)
			*lo = a[i - 1].count;
	}
	diverge_pair_free(&p);
	return found;
}

int diverge_search_memory(struct diverge *v, uint32_t task, const struct flow_memory *m, uint64_t count, uint64_t *lo)
{
	uint64_t hi = count;
	*lo = 0;
	const unsigned most = tries_of(v, count);
	/* (each second time, also after a pair that showed something: else memory that differs from the start on
	 * would be followed back by BEFORE instructions for each pair) */
	bool close = false;
	for (unsigned tries = 0; tries < most && hi - *lo > 1 && !diverge_is_over(v); close = !close) {
		const int got = narrow_memory(v, task, m, close, lo, &hi);
		if (got < 0)
			return got;
		if (got == 0) {		/* this pair parted before, or the memory was the same */
			tries++;
			if (tries % 20 == 0) {
				*lo = 0;
				hi = count;
			}
		}
	}
	if (hi == 1)
		return 2;
	return hi - *lo == 1;
}

#define WRITER_RUNS 6

/* Does the memory change between two stops, without the instruction between them? */
static bool changes_by_itself(const struct track *t, uint64_t address)
{
	for (size_t i = 0; i + 1 < t->n && !(t->ended && i + 2 == t->n); i++) {
		const struct flow *const w = &t->states[i].flow;
		const bool plain = w->size && !w->vectors_read && w->vector_written < 0 && t->looks[i].call < 0;
		if (plain && t->looks[i + 1].count == t->looks[i].count + 1 && t->looks[i + 1].memory != t->looks[i].memory &&
		    !diverge_flow_writes(w, address))
			return true;
	}
	return false;
}

int diverge_search_writer(struct diverge *v, uint32_t task, const struct flow_memory *m, uint64_t count)
{
	struct probe_request r = { .first = count > BEFORE ? count - BEFORE : 1, .every = 1, .until = count + BEHIND,
				   .task = task, .states = true, .watched = m };
	bool found = false;
	for (int i = 0; i < WRITER_RUNS && !found && !diverge_is_over(v); i++) {
		struct probe p;
		r.side = i % 2;
		const int err = diverge_probe_run(v, &r, &p);
		if (err)
			return err;
		const struct track *const t = diverge_probe_track(&p, task);
		found = t && changes_by_itself(t, m[r.side].address);
		diverge_probe_free(&p);
	}
	return found;
}

/* ---- states ---- */

int diverge_search_states(struct diverge *v, uint32_t task, uint64_t first, uint64_t last, struct pair *p)
{
	const struct probe_request r = { .first = first, .every = 1, .until = last + 1, .task = task, .states = true };
	const size_t n = (size_t)(last - first + 1);
	const unsigned most = tries_of(v, last);
	for (unsigned tries = 0; tries < most && !diverge_is_over(v); tries++) {
		const int err = diverge_pair_run(v, r, p);
		if (err)
			return err;
		if (same_stops(p->track[0], p->track[1]) >= n && p->track[0]->looks[n - 1].count == last)
			return 1;
		diverge_pair_free(p);
	}
	return 0;
}

int diverge_search_again(struct diverge *v, uint32_t task, uint64_t count,
			 void (*at_end)(const struct tare_stop *stop, int side, void *arg), void *arg)
{
	const struct probe_request r = { .first = count, .every = 1, .until = count + 1, .task = task, .at_end = at_end, .arg = arg };
	for (unsigned tries = 0; tries < AGAIN && !diverge_is_over(v); tries++) {
		struct pair p;
		const int err = diverge_pair_run(v, r, &p);
		if (err)
			return err;
		const bool done = same_stops(p.track[0], p.track[1]) == 1;
		diverge_pair_free(&p);
		if (done)
			return 1;
	}
	return 0;
}
