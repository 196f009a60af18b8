/* Does an event come often and evenly enough to be of use for replay?
 *
 * The paper asks for "useful deterministic events": the count must not vary, and the event must
 * occur "with enough frequency and distribution". A replay tool that stops at the n-th event and
 * then goes on step by step needs a short way from each event to the next. An ordinary program
 * runs here (it sorts and looks up words, with the functions of the C library), and at every
 * comparison both the event and the instructions are read: the rate is the quotient of the totals,
 * the longest gap the greatest number of instructions without the event. Events of one step (the
 * longest one is told) are taken as evenly spread in it.
 */
#include "steady.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 400
#define RARE 1000		/* instructions between two events, on average: more is too rare */
#define LONG_GAP 10000		/* instructions */

struct watch_state {
	struct tare_group *group;
	uint64_t last[2];		/* instructions, the event */
	uint64_t first[2];
	uint64_t cost[2];		/* of one step without work */
	uint64_t steps;
	uint64_t gap, longest, step;	/* instructions: since the last event, and greatest */
	int err;
};

/* qsort() and bsearch() pass no argument to the comparison. */
static _Thread_local struct watch_state *watching;

static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

__attribute__((noinline)) static void step(struct watch_state *w)
{
	uint64_t now[2];
	const int err = tare_group_read(w->group, now);
	if (err) {
		w->err = err;
		return;
	}
	const uint64_t instructions = less(now[0] - w->last[0], w->cost[0]);
	const uint64_t events = less(now[1] - w->last[1], w->cost[1]);
	/* Events of one step are taken as evenly spread in it. */
	const uint64_t before = events ? (instructions + events) / (events + 1) : instructions;
	w->gap += before;
	if (w->gap > w->longest)
		w->longest = w->gap;
	if (events)
		w->gap = before;
	if (instructions > w->step)
		w->step = instructions;
	w->steps++;
	w->last[0] = now[0];
	w->last[1] = now[1];
}

static int compare_words(const void *a, const void *b)
{
	step(watching);
	return strcmp(a, b);
}

typedef char word[24];

static void make_words(word *words)
{
	uint32_t x = 12345;
	for (size_t i = 0; i < WORDS; i++) {
		x = x * 1664525u + 1013904223u;
		snprintf(words[i], sizeof(words[i]), "word-%u-%zu", x >> 12, i % 7);
		step(watching);
	}
}

/* An ordinary program: text is made, sorted and looked up. */
static void work(word *words)
{
	word key;
	make_words(words);
	qsort(words, WORDS, sizeof(words[0]), compare_words);
	for (size_t i = 0; i < WORDS; i++) {
		memcpy(key, words[(i * 37) % WORDS], sizeof(key));
		bsearch(key, words, WORDS, sizeof(words[0]), compare_words);
	}
}

static void begin(struct watch_state *w)
{
	w->steps = w->gap = w->longest = w->step = 0;
	w->err = tare_group_read(w->group, w->first);
	memcpy(w->last, w->first, sizeof(w->last));
}

/* What a step itself counts: the least of some without work between them. */
static void measure_cost(struct watch_state *w)
{
	uint64_t least[2] = { UINT64_MAX, UINT64_MAX };
	for (int i = 0; i < 20; i++) {
		const uint64_t before[2] = { w->last[0], w->last[1] };
		step(w);
		for (int k = 0; k < 2; k++)
			if (i && w->last[k] - before[k] < least[k])
				least[k] = w->last[k] - before[k];
	}
	memcpy(w->cost, least, sizeof(w->cost));
}

static void judge(struct verify *v, const struct subject *s, const struct watch_state *w)
{
	const double instructions = (double)less(w->last[0] - w->first[0], w->steps * w->cost[0]);
	const double events = (double)less(w->last[1] - w->first[1], w->steps * w->cost[1]);
	const double rate = events > 0 ? instructions / events : 0;
	const bool frequent = events > 0 && rate <= RARE, even = w->longest <= LONG_GAP;
	char gap[32];
	struct tare_verify_finding *f;
	steady_number((int64_t)w->longest, gap, sizeof(gap));
	if (instructions <= 0) {
		verify_find(v, "replay", s->name, TARE_VERDICT_INFO,
			    "not tried: instructions:u counts nothing, so gaps cannot be measured");
		return;
	}
	if (events <= 0)
		f = verify_find(v, "replay", s->name, TARE_VERDICT_INFO,
				"of no use for replay: ordinary code does not have it");
	else if (!frequent || !even)
		f = verify_find(v, "replay", s->name, TARE_VERDICT_INFO,
				"of little use for replay: one in %.1f instructions, longest gap %s "
				"instructions", rate, gap);
	else if (s->n_causes || s->reason[0])
		f = verify_find(v, "replay", s->name, TARE_VERDICT_INFO,
				"frequent enough for replay (one in %.1f instructions, longest gap %s), "
				"but its count is not deterministic", rate, gap);
	else
		f = verify_find(v, "replay", s->name, TARE_VERDICT_GOOD,
				"useful for replay: one in %.1f instructions, longest gap %s instructions "
				"(steps of %ju at most)", rate, gap, (uintmax_t)w->step);
	verify_number(f, "instructions", instructions);
	verify_number(f, "events", events);
	if (events > 0) {
		verify_number(f, "instructions_per_event", rate);
		verify_number(f, "longest_gap", (double)w->longest);
	}
	verify_number(f, "step", (double)w->step);
	verify_number(f, "useful", events > 0 && frequent && even && !s->n_causes &&
				   !s->reason[0]);
}

static int replay_of(struct verify *v, const struct tare_event *instructions,
		     const struct subject *s, word *words)
{
	const struct tare_event *const events[] = { instructions, s->event };
	struct watch_state w = { 0 };
	struct tare_why why;
	if (tare_group_open(events, 2, NULL, &w.group, &why) < 0) {
		verify_find(v, "replay", s->name, TARE_VERDICT_INFO,
			    "not tried: %.150s", why.what);
		return 0;
	}
	watching = &w;
	begin(&w);
	measure_cost(&w);
	work(words);			/* once to load code and data */
	begin(&w);
	work(words);
	watching = NULL;
	tare_group_close(w.group);
	if (w.err)
		verify_find(v, "replay", s->name, TARE_VERDICT_INFO,
			    "inconclusive: the counter was taken away in the middle");
	else
		judge(v, s, &w);
	return 0;
}

static int run(struct verify *v, struct tare_why *why)
{
	const struct tare_event *const instructions = verify_event(v, "instructions:u");
	word *const words = calloc(WORDS, sizeof(*words));
	int err = words ? 0 : TARE_E_NOMEM;
	for (size_t i = 0; !err && instructions && i < v->n_subjects; i++) {
		if (!steady_can(&v->subjects[i]))
			continue;
		err = verify_progress(v, "%s in an ordinary program", v->subjects[i].name);
		if (!err)
			err = replay_of(v, instructions, &v->subjects[i], words);
	}
	free(words);
	return err;
}

const struct experiment experiment_replay = {
	.name = "replay", .about = "whether an event is frequent and even enough to be of use for replay",
	.hardware = true, .run = run,
};
