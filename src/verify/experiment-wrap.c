/* The end of a counter's width: does the count go on?
 *
 * First: is the register as wide as the PMU says? A counter that is read after every piece of a
 * long run would jump back by 2^N at the end of N bits.
 *
 * The kernel starts a register half of its range below the end, 2^47 events on most CPUs: nothing
 * runs that long. If the end is near (a driver that starts elsewhere, 32-bit counters), a fresh
 * counter is taken beyond it. Otherwise a period makes the kernel start the register that far
 * before its end, which is the same wrap, with an interrupt.
 */
#include "steady.h"

#include "pmc-bare.h"

#include <math.h>
#include <stdio.h>

#define NEAR 3000000ull		/* events that can be waited for */
#define QUICK_BITS 25		/* a jump of a register that is narrower than said is waited for */
#define LONG_BITS 29

/* Events until the register of this counter is at its end; UINT64_MAX: not known. */
static uint64_t distance(const struct bare *b)
{
	uint64_t value;
	if (!bare_pmc(b, &value) || !b->page->index || !b->page->pmc_width)
		return UINT64_MAX;
	const uint64_t reg = pmc_bare_read(b->page->index);
	const uint64_t mask = b->page->pmc_width < 64 ? (1ull << b->page->pmc_width) - 1 : ~0ull;
	return (~reg & mask) + 1;
}

/* A read that does not serialise comes too early on some CPUs, more or less so by what comes before it. */
static int read_pmc(const struct bare *b, uint64_t *value)
{
	tare_serialize();
	return !bare_pmc(b, value);
}

/* One function for both sides of the comparison: what the reads count is then the same. */
__attribute__((noinline)) static int count_between(const struct bare *b,
						   const struct steady_code *code, bool by_pmc,
						   int64_t *value)
{
	uint64_t before = 0, after = 0;
	int err = by_pmc ? read_pmc(b, &before) : bare_read(b, &before);
	steady_code_run(code);
	if (!err)
		err = by_pmc ? read_pmc(b, &after) : bare_read(b, &after);
	*value = (int64_t)(after - before);
	return err ? TARE_E_STOLEN : 0;
}

struct crossing {
	const struct subject *s;
	const struct bare *beyond;	/* a counter that is beyond its end already */
	const struct steady_code *code;
	bool by_pmc;
	unsigned crossed;		/* fresh counters that went beyond the end */
};

/* A fresh counter, from before its end to beyond it. */
static int count_fresh(void *arg, int64_t *value)
{
	struct crossing *const c = arg;
	struct bare b;
	if (bare_open(&b, &c->s->event->base, BARE_PINNED) < 0)
		return TARE_E_IO;
	const uint64_t left = distance(&b);
	const int err = count_between(&b, c->code, c->by_pmc, value);
	c->crossed += left < (uint64_t)*value;
	bare_close(&b);
	return err;
}

static int count_beyond(void *arg, int64_t *value)
{
	const struct crossing *const c = arg;
	return count_between(c->beyond, c->code, c->by_pmc, value);
}

static void judge(struct verify *v, const struct subject *s, const struct crossing *c,
		  uint64_t left, const struct steady *across, const struct steady *beside)
{
	char got[32], want[32], at[32], limit[48];
	struct tare_verify_finding *f;
	const char *const how = c->by_pmc ? "by instruction" : "by read(2)";
	double least;
	const enum steady_compare is = steady_compare_means(across, beside, c->code, &least);
	if (is == STEADY_UNSETTLED) {
		steady_unsettled(v, "wrap", s, steady_is(across) ? beside : across);
		return;
	}
	if (is == STEADY_SAME)
		f = verify_find(v, "wrap", s->name, TARE_VERDICT_GOOD,
				"read %s, the count goes on beyond the end of the register, %s events "
				"from its start; %s would show", how,
				steady_number((int64_t)left, at, sizeof(at)),
				steady_limit(c->code, least, limit, sizeof(limit)));
	else
		f = verify_find(v, "wrap", s->name, TARE_VERDICT_BAD,
				"read %s, the end of the register changes the count: %s across it, %s "
				"elsewhere", how, steady_number(steady_shown(across), got, sizeof(got)),
				steady_number(steady_shown(beside), want, sizeof(want)));
	verify_number(f, "across", (double)steady_shown(across));
	verify_number(f, "elsewhere", (double)steady_shown(beside));
	verify_number(f, "events_to_the_end", (double)left);
	verify_number(f, "crossed", c->crossed);
	verify_number(f, "limit", least / c->code->events);
}

/* An event may fit one register only: the counter that is beyond its end is opened when the fresh
 * ones are closed. */
static void cross(struct verify *v, const struct subject *s, uint64_t left,
		  const struct steady_code *code, bool by_pmc)
{
	struct bare far;
	struct crossing c = { .s = s, .beyond = &far, .code = code, .by_pmc = by_pmc };
	struct steady across, beside;
	int err = steady_count(count_fresh, &c, &across);
	if (bare_open(&far, &s->event->base, BARE_PINNED) < 0)
		err = TARE_E_STOLEN;
	steady_code_run(code);			/* beyond its end */
	if (!err)
		err = steady_count(count_beyond, &c, &beside);
	bare_close(&far);
	if (err)
		verify_find(v, "wrap", s->name, TARE_VERDICT_INFO,
			    "inconclusive: the counter was taken away in the middle");
	else if (c.crossed)
		judge(v, s, &c, left, &across, &beside);
}

/* Code with the event, counted with a period that puts the end of the register into it, or without. */
struct by_period {
	const struct subject *s;
	struct steady_code code;
};

static int count_in_new(const struct by_period *c, uint64_t period, int64_t *value)
{
	struct bare b;
	uint64_t before = 0, after = 0;
	if (bare_open_period(&b, &c->s->event->base, BARE_PINNED, period) < 0)
		return TARE_E_IO;
	int err = bare_read(&b, &before);
	steady_code_run(&c->code);
	if (!err)
		err = bare_read(&b, &after);
	bare_close(&b);
	*value = steady_difference(&c->code, before, after);
	return err ? TARE_E_STOLEN : 0;
}

static uint64_t period_of(const struct by_period *c)
{
	return (uint64_t)(c->code.events * 3 / 4);
}

static int count_with_end(void *arg, int64_t *value)
{
	return count_in_new(arg, period_of(arg), value);
}

static int count_without_end(void *arg, int64_t *value)
{
	return count_in_new(arg, 0, value);
}

/* The interrupt at the end of the period is counted too, by an event that counts interrupts. */
static bool is_own_interrupt(const struct subject *s, int64_t difference)
{
	return s->per_interrupt != 0 && fabs((double)difference - s->per_interrupt) < 0.5;
}

static void judge_period(struct verify *v, const struct subject *s, const struct steady *with,
			 const struct steady *without)
{
	const enum steady_compare is = steady_compare(with, without);
	const bool own = is_own_interrupt(s, with->value - without->value);
	char got[32], want[32];
	struct tare_verify_finding *f;
	steady_number(with->value, got, sizeof(got));
	steady_number(without->value, want, sizeof(want));
	if (is == STEADY_UNSETTLED) {
		steady_unsettled(v, "wrap", s, steady_is(with) ? without : with);
		return;
	}
	if (is == STEADY_SAME || own)
		f = verify_find(v, "wrap", s->name, TARE_VERDICT_GOOD,
				"the count goes on beyond the end of the register (a period that ends in "
				"the code): %s%s%s", got, is == STEADY_SAME ? " both ways" :
				", with the interrupt of the period; without it ",
				is == STEADY_SAME ? "" : want);
	else
		f = verify_find(v, "wrap", s->name, TARE_VERDICT_CAVEAT,
				"%s with the end of the register in the middle, %s without", got, want);
	verify_number(f, "across", (double)with->value);
	verify_number(f, "elsewhere", (double)without->value);
}

/* Interrupts disturb some of the runs: what most of them agree on is compared. */
static void cross_by_period(struct verify *v, const struct subject *s, const struct steady_code *code,
			    unsigned width)
{
	struct by_period c = { .s = s, .code = *code };
	struct steady with, without;
	int err = period_of(&c) ? steady_count(count_with_end, &c, &with) : TARE_E_IO;
	if (!err)
		err = steady_count(count_without_end, &c, &without);
	if (!err) {
		judge_period(v, s, &with, &without);
		return;
	}
	struct tare_verify_finding *const f =
		err == TARE_E_STOLEN ?
		verify_find(v, "wrap", s->name, TARE_VERDICT_INFO,
			    "inconclusive: the counter was taken away in the middle") :
		verify_find(v, "wrap", s->name, TARE_VERDICT_INFO,
			    "not tried: the end of a register of %u bits is too far away, and no "
			    "period makes it near here", width);
	verify_number(f, "width", width);
}

static void wrap_of(struct verify *v, const struct subject *s)
{
	struct bare b;
	struct steady_code code;
	if (!steady_code_for(v, s, &code))
		return;
	const bool open = bare_open(&b, &s->event->base, BARE_PINNED) == 0 && bare_on(&b);
	const uint64_t left = open ? distance(&b) : UINT64_MAX;
	const unsigned width = b.page ? b.page->pmc_width : 0;
	bare_close(&b);
	if (!open)
		return;
	if (code.events <= 1 || left >= NEAR) {
		cross_by_period(v, s, &code, width);
		return;
	}
	const uint64_t times = 2 * (left / (uint64_t)code.events + 1);
	code.loops *= times;
	code.events *= (double)times;
	cross(v, s, left, &code, false);
	cross(v, s, left, &code, true);
}

/* The width of the register that the first event gets. */
static void measure_width(struct verify *v, const struct subject *s)
{
	const unsigned bits = v->o.quick ? QUICK_BITS : LONG_BITS;
	struct tare_verify_finding *f;
	struct steady_code code;
	struct bare b;
	uint64_t at = 0, back = 0;
	bool moved;
	char text[32];
	if (!steady_code_for(v, s, &code) || bare_open(&b, &s->event->base, BARE_PINNED) < 0)
		return;
	const unsigned width = b.page ? b.page->pmc_width : 0;
	if (!bare_on(&b)) {
		bare_close(&b);
		return;
	}
	if (steady_jump(&b, &code, 1ull << bits, &at, &back, &moved))
		f = verify_find(v, "wrap", s->name, TARE_VERDICT_BAD,
				"the register has %.0f bits, where the PMU says %u: the count jumps back",
				round(log2((double)back)), width);
	else if (at)
		f = verify_find(v, "wrap", s->name, TARE_VERDICT_GOOD,
				"no jump in %s events: a register of up to %u bits would show",
				steady_number((int64_t)at, text, sizeof(text)), bits);
	else
		f = NULL;
	bare_close(&b);
	verify_number(f, "width", width);
	verify_number(f, "measured_width", back ? round(log2((double)back)) : 0);
	verify_number(f, "events", (double)at);
}

static int run(struct verify *v, struct tare_why *why)
{
	int err = verify_progress(v, "the width of the registers");
	for (size_t i = 0; !err && i < v->n_subjects; i++) {
		if (!steady_can(&v->subjects[i]))
			continue;
		measure_width(v, &v->subjects[i]);
		break;
	}
	for (size_t i = 0; !err && i < v->n_subjects; i++) {
		if (!steady_can(&v->subjects[i]))
			continue;
		err = verify_progress(v, "%s beyond the end of its register", v->subjects[i].name);
		if (!err)
			wrap_of(v, &v->subjects[i]);
	}
	return err;
}

const struct experiment experiment_wrap = {
	.name = "wrap", .about = "counts beyond the end of a register's width",
	.hardware = true,
	/* the interrupt at the end of a period may be counted */
	.with = (const char *const[]){ "page-faults", "interrupts", NULL },
	.run = run,
};
