/* What reading costs in events, by pattern and path, and with each serialising instruction.
 *
 * Patterns: two reads of a running counter (read-read), a start and a read (start-read), a read and
 * a stop (read-stop), a start and a stop (start-stop), each by rdpmc and by read(2). Nothing is
 * between the two, so that what is counted is the error of the pattern. An error that is the same
 * every time can be subtracted; one that varies cannot.
 *
 * Serialising: an instruction that reads a counter can run before the instructions in front of it
 * have retired; it then reads too few events. The same code is counted with each serialising
 * instruction of the CPU, and with none.
 */
#include "steady.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- patterns ---- */

enum { READ_READ, START_READ, READ_STOP, START_STOP, PATTERNS };
static const char *const pattern_names[PATTERNS] = { "read-read", "start-read", "read-stop",
						     "start-stop" };
static const char *const typical_names[PATTERNS] = { "read_read", "start_read", "read_stop",
						     "start_stop" };

struct ask {
	const struct bare *b;
	int pattern;
	bool by_pmc;
	struct steady_code none;	/* no code; the width of the registers */
};

static inline __attribute__((always_inline)) bool get(const struct ask *a, uint64_t *value)
{
	return a->by_pmc ? bare_pmc(a->b, value) : bare_read(a->b, value) == 0;
}

/* The counter is stopped before and after. Its value is then read by read(2), which counts nothing. */
static int count_nothing(void *arg, int64_t *value)
{
	const struct ask *const a = arg;
	uint64_t before = 0, after = 0;
	bool fine = bare_read(a->b, &before) == 0;
	switch (a->pattern) {
	case READ_READ:
		bare_start(a->b);
		fine &= get(a, &before);
		fine &= get(a, &after);
		bare_stop(a->b);
		break;
	case START_READ:
		bare_start(a->b);
		fine &= get(a, &after);
		bare_stop(a->b);
		break;
	case READ_STOP:
		bare_start(a->b);
		fine &= get(a, &before);
		bare_stop(a->b);
		fine &= bare_read(a->b, &after) == 0;
		break;
	default:
		bare_start(a->b);
		bare_stop(a->b);
		fine &= bare_read(a->b, &after) == 0;
	}
	*value = steady_difference(&a->none, before, after);
	return fine ? 0 : TARE_E_STOLEN;
}

static void judge_patterns(struct verify *v, const struct subject *s, bool by_pmc,
			   const struct steady *seen)
{
	char text[200];
	size_t at = 0;
	double spread = 0;
	bool varies = false;
	for (int p = 0; p < PATTERNS; p++) {
		const struct steady *const c = &seen[p];
		varies |= c->agreeing * 2 <= c->runs;
		spread = (double)(c->max - c->min) > spread ? (double)(c->max - c->min) : spread;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %+jd", p ? ", " : "",
				       pattern_names[p], (intmax_t)c->value);
		if (c->min != c->max && at < sizeof(text))
			at += (size_t)snprintf(text + at, sizeof(text) - at, " (%+jd to %+jd)",
					       (intmax_t)c->min, (intmax_t)c->max);
		if (at >= sizeof(text))
			break;
	}
	struct tare_verify_finding *const f =
		verify_find(v, "patterns", s->name, varies ? TARE_VERDICT_CAVEAT : TARE_VERDICT_GOOD,
			    "%s: %s%s", by_pmc ? "by instruction" : "by read(2)", text, varies ? ": not the same every time" : "");
	for (int p = 0; p < PATTERNS; p++)
		verify_number(f, typical_names[p], (double)seen[p].value);
	verify_number(f, "spread", spread);
	verify_number(f, "by_instruction", by_pmc);
}

static void patterns_of(struct verify *v, const struct subject *s, bool by_pmc)
{
	struct bare b;
	struct steady seen[PATTERNS];
	uint64_t value;
	if (bare_open(&b, &s->event->base, BARE_PINNED) < 0 || !bare_on(&b) ||
	    (by_pmc && !bare_pmc(&b, &value))) {
		bare_close(&b);
		return;
	}
	bare_stop(&b);
	int err = 0;
	for (int p = 0; !err && p < PATTERNS; p++) {
		struct ask ask = { &b, p, by_pmc, { .bits = v->bits } };
		err = steady_count(count_nothing, &ask, &seen[p]);
	}
	if (err)
		verify_find(v, "patterns", s->name, TARE_VERDICT_INFO,
			    "inconclusive: the counter was taken away in the middle");
	else
		judge_patterns(v, s, by_pmc, seen);
	bare_close(&b);
}

static int run_patterns(struct verify *v, struct tare_why *why)
{
	int err = 0;
	for (size_t i = 0; !err && i < v->n_subjects; i++) {
		if (!steady_can(&v->subjects[i]))
			continue;
		err = verify_progress(v, "what reading %s costs", v->subjects[i].name);
		if (err)
			break;
		patterns_of(v, &v->subjects[i], true);
		patterns_of(v, &v->subjects[i], false);
	}
	return err;
}

/* ---- serialising instructions ---- */

static const enum tare_serializer serializers[] = {
	TARE_SERIALIZE_NONE, TARE_SERIALIZE_LFENCE, TARE_SERIALIZE_MFENCE,
	TARE_SERIALIZE_SERIALIZE, TARE_SERIALIZE_CPUID, TARE_SERIALIZE_ISB,
};
#define N_SERIALIZERS (sizeof(serializers) / sizeof(serializers[0]))

struct serial_ask {
	struct trial trial;
	struct trial_code code;
	struct tare_why why;
};

static void run_steady(void *arg)
{
	steady_code_run(arg);
}

static int count_trial(void *arg, int64_t *value)
{
	struct serial_ask *const a = arg;
	const int err = trial_run(&a->trial, &a->code, value, &a->why);
	*value = steady_difference(a->code.argument, 0, (uint64_t)*value);
	return err;
}

/* 1: counted; 0: this CPU does not have the instruction, or user space may not read. */
static int count_serialized(const struct subject *s, struct steady_code *code,
			    enum tare_serializer with, struct steady *seen)
{
	struct serial_ask a = { .code = { .function = run_steady, .argument = code } };
	const struct tare_event *const events[] = { s->event };
	if (with != TARE_SERIALIZE_AUTO && tare_serialize_with(with) != 0)
		return 0;
	if (trial_open(&(struct trial_options){ .events = events, .n = 1, .path = TARE_PATH_RDPMC,
						.serializer = with }, &a.trial, &a.why) < 0)
		return 0;
	const int err = steady_count(count_trial, &a, seen);
	trial_close(&a.trial);
	return err ? err : 1;
}

static void judge_serializers(struct verify *v, const struct subject *s,
			      const struct steady_code *code, const struct steady *best,
			      const struct steady *seen, const bool *has)
{
	char text[200], limit[48];
	size_t at = 0;
	int64_t least = 0, off[N_SERIALIZERS] = { 0 };
	double limit_events = 1;
	bool differs = false;
	for (size_t i = 0; i < N_SERIALIZERS && at < sizeof(text); i++) {
		if (!has[i])
			continue;
		const int64_t low = seen[i].min - best->value;
		double shows;
		const enum steady_compare is = steady_compare_means(&seen[i], best, code, &shows);
		off[i] = is == STEADY_DIFFERENT ? steady_shown(&seen[i]) - steady_shown(best) : 0;
		limit_events = fmax(limit_events, shows);
		/* the usual instruction again: does the comparison repeat? */
		if (is == STEADY_UNSETTLED ||
		    (is == STEADY_DIFFERENT && serializers[i] == tare_serializer_auto())) {
			steady_unsettled(v, "serialisers", s, steady_is_clear(&seen[i]) ? best : &seen[i]);
			return;
		}
		if (is == STEADY_DIFFERENT && low < least)
			least = low;
		differs |= is == STEADY_DIFFERENT;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %+jd", at ? ", " : "",
				       tare_serializer_name(serializers[i]), (intmax_t)off[i]);
	}
	const char *const usual = tare_serializer_name(tare_serializer_auto());
	struct tare_verify_finding *const f = differs ?
		verify_find(v, "serialisers", s->name, TARE_VERDICT_CAVEAT, "%s events against %s%s",
			    text, usual, least < 0 ? ": reads come too early" : "") :
		verify_find(v, "serialisers", s->name, TARE_VERDICT_GOOD,
			    "%s events against %s; %s would show", text, usual,
			    steady_limit(code, limit_events, limit, sizeof(limit)));
	for (size_t i = 0; i < N_SERIALIZERS; i++)
		if (has[i])
			verify_number(f, tare_serializer_name(serializers[i]), (double)off[i]);
	verify_number(f, "limit", limit_events / code->events);
	verify_number(f, "limit_events", limit_events);
}

#define TRIES 3			/* where counts differ by what may be chance */

struct serials {
	struct steady_code code;
	struct steady best, seen[N_SERIALIZERS];	/* the usual instruction, and each of them */
	bool has[N_SERIALIZERS];
};

/* 1, 0 or an error, as count_serialized(). */
static int count_usual(const struct subject *s, struct serials *c)
{
	int found;
	do {
		found = count_serialized(s, &c->code, TARE_SERIALIZE_AUTO, &c->best);
	} while (found > 0 && !steady_is_clear(&c->best) && steady_shorten(&c->code));
	return found;
}

static int count_each(const struct subject *s, struct serials *c)
{
	int found = 0;
	for (size_t i = 0; found >= 0 && i < N_SERIALIZERS; i++) {
		found = count_serialized(s, &c->code, serializers[i], &c->seen[i]);
		c->has[i] = found > 0;
		/* Twice: the register that the kernel chose may be the cause. */
		if (c->has[i] && steady_compare(&c->seen[i], &c->best) == STEADY_DIFFERENT)
			found = count_serialized(s, &c->code, serializers[i], &c->seen[i]);
	}
	return found;
}

static bool is_doubtful(const struct serials *c)
{
	double shows;
	for (size_t i = 0; i < N_SERIALIZERS; i++)
		if (c->has[i] && steady_compare_means(&c->seen[i], &c->best, &c->code, &shows) == STEADY_UNSETTLED)
			return true;
	return false;
}

static int serializers_of(struct verify *v, const struct subject *s)
{
	struct serials c;
	if (!steady_code_for(v, s, &c.code))
		return 0;
	int found = 0;
	for (int tries = 0; tries < TRIES; tries++) {
		found = count_usual(s, &c);
		if (found == 0) {
			verify_find(v, "serialisers", s->name, TARE_VERDICT_INFO,
				    "not tried: user space cannot read this counter, and read(2) serialises");
			return 0;
		}
		if (found > 0 && steady_silent(v, "serialisers", s, &c.code, &c.best))
			return 0;
		found = found < 0 ? found : count_each(s, &c);
		if (found < 0 || !is_doubtful(&c))
			break;
	}
	if (found < 0)
		verify_find(v, "serialisers", s->name, TARE_VERDICT_INFO,
			    "inconclusive: the counter was taken away in the middle");
	else
		judge_serializers(v, s, &c.code, &c.best, c.seen, c.has);
	return 0;
}

static int run_serializers(struct verify *v, struct tare_why *why)
{
	int err = 0;
	for (size_t i = 0; !err && i < v->n_subjects; i++) {
		if (!steady_can(&v->subjects[i]))
			continue;
		err = verify_progress(v, "%s with each serialising instruction", v->subjects[i].name);
		if (!err)
			err = serializers_of(v, &v->subjects[i]);
	}
	return err;
}

const struct experiment experiment_patterns = {
	.name = "patterns",
	.about = "the error of read-read, start-read, read-stop and start-stop, by rdpmc and read(2)",
	.hardware = true, .run = run_patterns,
};
const struct experiment experiment_serialisers = {
	.name = "serialisers", .about = "counts read with and without each serialising instruction",
	.hardware = true, .run = run_serializers,
};
