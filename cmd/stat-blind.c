/* Blind spots of multiplexing: which scaled counts may be far from the truth.
 *
 * An event that shares a counter with others is counted in turns, and its count is scaled from
 * these turns to the whole run. That is right if the program does the same all the time, or if it
 * changes much faster than the turns or much more slowly. It is wrong if a phase of the program is
 * about as long as a turn: then chance decides which phases the turns meet. What tare can know:
 *
 *  - the number of turns: the time on a counter divided by the kernel's period. A phase can fall
 *    between few turns as a whole.
 *  - the share of the time on a counter.
 *  - the rate of the event from one reading to the next (stat_blind_sample(), every 20 ms while
 *    events take turns). If it jumps, the part of the run between the turns had another rate too.
 *    Differences of neighbours, not of all readings: a program with a few long phases is sampled
 *    well, since turns meet each of them.
 *
 * A rate r with variance s² from turn to turn, seen in n readings during a share p of the time,
 * gives a total with the relative standard error s/r × sqrt((1 - p) / n); s² is half the mean
 * square of the differences of neighbours.
 *
 * What no single run can show: phases that keep step with the turns. The readings then all meet
 * the same phase and agree with each other.
 */
#include "stat.h"
#include "term.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PERIOD_FILE "/sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms"
#define PERIOD_MS 4		/* the kernel's, where it does not say: one tick at 250 Hz */

/* Below these a scaled count gets a warning. Fifty turns that each meet one of two phases by
 * chance give an estimate with a standard error of some 10 %. */
#define FEW_TURNS 50
#define SMALL_SHARE 0.10
#define LARGE_ERROR 0.02

unsigned stat_turn_ms(void)
{
	unsigned ms = 0;
	FILE *const f = fopen(PERIOD_FILE, "re");
	if (f) {
		if (fscanf(f, "%u", &ms) != 1)
			ms = 0;
		fclose(f);
	}
	return ms ? ms : PERIOD_MS;
}

void stat_blind_sample(struct stat_turns *t, const struct tare_count *c, unsigned turn_ms)
{
	if (c->state != TARE_COUNT_OK || c->running_ns < t->running_ns || c->raw < t->raw)
		return;
	const uint64_t running = c->running_ns - t->running_ns;
	if (running * 2 < turn_ms * (uint64_t)1000000)
		return;			/* not half a turn: more next time */
	const double rate = (double)(c->raw - t->raw) / (double)running;
	if (t->n++) {
		const double d = rate - t->rate;
		t->squares += d * d;
	}
	t->rate = rate;
	t->raw = c->raw;
	t->running_ns = c->running_ns;
}

void stat_blind_judge(const struct stat_turns *t, const struct tare_count *c, unsigned turn_ms,
		      struct stat_blind *out)
{
	*out = (struct stat_blind){ .turn_ms = turn_ms };
	if (c->state != TARE_COUNT_OK || c->provenance != TARE_PROV_SCALED || !c->running_ns ||
	    !c->enabled_ns)
		return;
	out->share = (double)c->running_ns / (double)c->enabled_ns;
	out->turns = c->running_ns / (turn_ms * (uint64_t)1000000);
	const double mean = (double)c->raw / (double)c->running_ns;
	if (t && t->n >= 3 && mean > 0) {
		const double variance = t->squares / (double)(t->n - 1) / 2;
		out->error = 2 * sqrt(variance * (1 - out->share) / (double)t->n) / mean;
	}
	out->few_turns = out->turns < FEW_TURNS;
	out->small_share = out->share < SMALL_SHARE;
	out->uneven = out->error > LARGE_ERROR;
	out->warned = out->few_turns || out->small_share || out->uneven;
}

void stat_blind_of(const struct stat_session *s, const struct stat_run *r, size_t event,
		   struct stat_blind *out)
{
	stat_blind_judge(r->turns ? &r->turns[event] : NULL, &r->counts[event], s->turn_ms, out);
}

/* The worst of the runs that count. */
static void worst_of(const struct stat_session *s, size_t event, struct stat_blind *out)
{
	*out = (struct stat_blind){ 0 };
	for (size_t r = 0; r < s->n_runs; r++) {
		struct stat_blind b;
		if (!stat_run_counts(s, &s->runs[r]))
			continue;
		stat_blind_of(s, &s->runs[r], event, &b);
		if (b.warned && (!out->warned || b.error > out->error || b.turns < out->turns))
			*out = b;
	}
}

/* Why the count of this event may be wrong, as a clause. */
static void put_reasons(struct buf *b, const struct stat_blind *blind)
{
	const char *comma = "";
	if (blind->few_turns) {
		buf_printf(b, "on a counter in %ju turn%s of %u ms only", (uintmax_t)blind->turns,
			   blind->turns == 1 ? "" : "s", blind->turn_ms);
		comma = ", ";
	}
	if (blind->small_share || !comma[0]) {
		buf_printf(b, "%son a counter %.1f%% of the time", comma, 100 * blind->share);
		comma = ", ";
	}
	if (blind->uneven)
		buf_printf(b, "%sand its rate changes from turn to turn: about %s%.0f %%", comma,
			   term_plus_minus(), 100 * blind->error);
}

bool stat_blind_line(const struct stat_session *s, size_t event, struct buf *out)
{
	struct stat_blind blind;
	worst_of(s, event, &blind);
	if (!blind.warned)
		return false;
	buf_printf(out, "%s: ", stat_event(s, event)->name);
	put_reasons(out, &blind);
	return true;
}
