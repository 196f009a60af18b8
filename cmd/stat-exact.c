/* --exact: never multiplex. The events are dealt out to batches that fit the
 * counters at the same time, the command runs once per batch, and every batch also
 * counts instructions:u: where these witnesses agree, the batches saw the same
 * execution, and their counts may be put side by side. */
#include "stat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_batch(const struct stat_session *s, const size_t *index, size_t n,
		       struct tare_events **out, struct tare_why *why)
{
	struct buf text = { 0 };
	for (size_t i = 0; i < n; i++)
		buf_printf(&text, "%s,", stat_event(s, index[i])->name);
	buf_str(&text, STAT_WITNESS);
	const int err = tare_events_parse(text.data, &s->cpu, out, why);
	buf_free(&text);
	return err;
}

/* 1: these fit together with the witness; 0: they do not; negative: error. */
static int fits(const struct stat_session *s, const size_t *index, size_t n,
		struct tare_why *why)
{
	struct tare_events *events;
	const int err = parse_batch(s, index, n, &events, why);
	if (err)
		return err;
	const int answer = tare_events_fit(events, why);
	tare_events_free(events);
	return answer;
}

static int add_batch(struct stat_session *s, const size_t *index, size_t n,
		     struct tare_why *why)
{
	struct stat_batch *const more =
		realloc(s->batches, (s->n_batches + 1) * sizeof(*more));
	if (!more)
		abort();
	s->batches = more;
	struct stat_batch *const b = &more[s->n_batches];
	*b = (struct stat_batch){ .n = n, .index = calloc(n + 1, sizeof(*b->index)) };
	if (!b->index)
		abort();
	memcpy(b->index, index, n * sizeof(*index));
	s->n_batches++;
	return parse_batch(s, index, n, &b->events, why);
}

/* One more way out, where the user has not chosen it already. */
static void offer_engine(const struct stat_session *s, struct tare_why *why)
{
	const size_t len = strlen(why->remedy);
	if (s->o->backend == TARE_BACKEND_HW &&
	    tare_backend_for(s->events, TARE_BACKEND_SOFT, NULL, 0, NULL) == TARE_BACKEND_SOFT)
		snprintf(why->remedy + len, sizeof(why->remedy) - len,
			 "%scount in software (--backend soft)", len ? ", or " : "");
}

int stat_plan_batches(struct stat_session *s, struct tare_why *why)
{
	size_t *const batch = calloc(s->n_events + 1, sizeof(*batch));
	size_t n = 0;
	int err = 0;
	if (!batch)
		abort();
	for (size_t i = 0; !err && i < s->n_events; i++) {
		batch[n] = i;
		const int fit = fits(s, batch, n + 1, why);
		if (fit > 0) {
			n++;
			continue;
		}
		if (fit < 0 || n == 0) {
			err = fit < 0 ? fit : why->code;
			if (fit == 0)
				offer_engine(s, why);
			break;
		}
		err = add_batch(s, batch, n, why);
		n = 0;
		i--;			/* again, as the first of the next batch */
	}
	if (!err && n)
		err = add_batch(s, batch, n, why);
	free(batch);
	return err;
}

bool stat_witnesses_agree(const struct stat_run *r, uint64_t *least, uint64_t *most)
{
	*least = UINT64_MAX;
	*most = 0;
	bool counted = true;
	for (size_t p = 0; p < r->n_parts; p++) {
		const struct tare_count *const w = &r->parts[p]->counts[r->parts[p]->n_counts - 1];
		counted &= w->state == TARE_COUNT_OK;
		if (w->value < *least)
			*least = w->value;
		if (w->value > *most)
			*most = w->value;
	}
	return counted && *least == *most;
}
