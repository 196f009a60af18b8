/* What tare stat makes of counts: derived figures, intervals, series, fields. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stat.h"

enum { MAX_EVENTS = 8, MAX_RUNS = 4 };

/* Runs with made-up counts. */
struct made {
	struct stat_session s;
	struct stat_opts o;
	struct stat_run runs[MAX_RUNS];
	struct tare_measurement m[MAX_RUNS];
	struct tare_measurement *parts[MAX_RUNS];
	struct tare_count counts[MAX_RUNS][MAX_EVENTS];
};

static void make(struct made *x, const char *events, size_t n_runs)
{
	struct tare_why why;
	*x = (struct made){ .o = { .repeat = (unsigned)n_runs, .separator = "," } };
	if (tare_events_parse(events, NULL, &x->s.events, &why) < 0)
		fail_msg("%s", why.what);
	x->s.o = &x->o;
	x->s.n_events = tare_events_count(x->s.events);
	x->s.runs = x->runs;
	x->s.n_runs = n_runs;
	for (size_t r = 0; r < n_runs; r++) {
		x->parts[r] = &x->m[r];
		x->m[r].wall_ns = 3000000000;
		x->runs[r] = (struct stat_run){ .parts = &x->parts[r], .n_parts = 1,
						.counts = x->counts[r], .complete = true };
		for (size_t i = 0; i < x->s.n_events; i++)
			x->counts[r][i] = (struct tare_count){ .provenance = TARE_PROV_RAW,
							       .enabled_ns = 100,
							       .running_ns = 100 };
	}
}

static void derived_is(const struct made *x, size_t event, double low, double high,
		       const char *unit)
{
	struct stat_derived d;
	assert_true(stat_derive(&x->s, x->counts[0], event, x->m[0].wall_ns, &d));
	assert_string_equal(d.unit, unit);
	if (d.value < low || d.value > high)
		fail_msg("%zu: %g is not from %g to %g", event, d.value, low, high);
}

/* The chapter's example of perf stat: 3,677 GHz, 0,76 insn per cycle, 1044,472 M/sec,
 * 7,96% of all branches. */
static void the_chapters_example(void **state)
{
	struct made x;
	make(&x, "cycles,instructions,branches,branch-misses,task-clock", 1);
	static const uint64_t values[] = { 10580290629, 8067576938, 3005772086, 239298395,
					   2877791000 };
	for (size_t i = 0; i < 5; i++)
		x.counts[0][i].value = values[i];
	derived_is(&x, 0, 3.6765, 3.6775, "GHz");
	derived_is(&x, 1, 0.755, 0.765, "insn per cycle");
	derived_is(&x, 2, 1044.4715, 1044.4725, "M/sec");
	derived_is(&x, 3, 7.955, 7.965, "% of all branches");
	derived_is(&x, 4, 0.9592, 0.9593, "CPUs utilized");
	tare_events_free(x.s.events);
}

static void figures_that_would_lie_are_left_out(void **state)
{
	struct made x;
	struct stat_derived d;
	make(&x, "cycles:u,instructions:k,task-clock", 1);
	for (size_t i = 0; i < 3; i++)
		x.counts[0][i].value = 1000;
	/* Not a ratio of two modes; a rate instead. */
	assert_true(stat_derive(&x.s, x.counts[0], 1, 0, &d));
	assert_string_equal(d.unit, "M/sec");
	/* No rate by a clock that we slowed down. */
	x.counts[0][2].perturbed = true;
	assert_false(stat_derive(&x.s, x.counts[0], 1, 0, &d));
	assert_false(stat_derive(&x.s, x.counts[0], 2, 1000, &d));
	/* Nothing by 0. */
	x.counts[0][2] = (struct tare_count){ .provenance = TARE_PROV_RAW };
	assert_false(stat_derive(&x.s, x.counts[0], 0, 0, &d));
	/* Nothing of what was not counted. */
	x.counts[0][0].state = TARE_COUNT_NOT_SCHEDULED;
	assert_false(stat_derive(&x.s, x.counts[0], 0, 0, &d));
	tare_events_free(x.s.events);
}

static void an_interrupted_run_is_left_out(void **state)
{
	struct made x;
	struct stat_series v;
	make(&x, "page-faults", 3);
	x.counts[0][0].value = 10;
	x.counts[1][0].value = 14;
	x.counts[2][0].value = 3;
	x.counts[1][0].provenance = TARE_PROV_SCALED;
	x.runs[2].complete = false;
	stat_series(&x.s, 0, &v);
	assert_int_equal(v.sum.n, 2);
	assert_true(v.sum.min == 10 && v.sum.max == 14);
	assert_int_equal(v.provenance, TARE_PROV_SCALED);
	assert_int_equal(stat_counted_runs(&x.s), 2);
	stat_series_free(&v);
	/* But shown when it is all there is. */
	x.runs[0].complete = x.runs[1].complete = false;
	stat_series(&x.s, 0, &v);
	assert_int_equal(v.sum.n, 3);
	stat_series_free(&v);
	tare_events_free(x.s.events);
}

static void figures_are_of_the_middle_of_the_runs(void **state)
{
	struct made x;
	uint64_t wall;
	make(&x, "page-faults,context-switches", 3);
	x.counts[0][0].value = 10;
	x.counts[1][0].value = 20;
	x.counts[2][0].value = 41;
	x.m[2].wall_ns = 5000000000;
	for (size_t r = 0; r < 3; r++)
		x.counts[r][1].state = TARE_COUNT_STOLEN;
	struct tare_count *const c = stat_middle(&x.s, &wall);
	assert_true(c[0].value == 51 && wall == 8000000000);
	assert_int_equal(c[1].state, TARE_COUNT_STOLEN);
	free(c);
	tare_events_free(x.s.events);
}

static void intervals_are_scaled_by_their_own_times(void **state)
{
	const struct tare_count before = { .value = 100, .raw = 100, .enabled_ns = 1000,
					   .running_ns = 1000, .provenance = TARE_PROV_RAW };
	struct tare_count now = before;
	now.raw = 150;
	now.enabled_ns = 2000;
	now.running_ns = 1250;
	now.value = 150 * 2000 / 1250;
	now.provenance = TARE_PROV_SCALED;
	struct tare_count d = stat_delta(&now, &before);
	assert_true(d.value == 50 * 1000 / 250);
	assert_int_equal(d.provenance, TARE_PROV_SCALED);
	/* An interval in which it had its counter all the time is not an estimate. */
	struct tare_count later = now;
	later.raw += 7;
	later.enabled_ns += 500;
	later.running_ns += 500;
	d = stat_delta(&later, &now);
	assert_true(d.value == 7);
	assert_int_equal(d.provenance, TARE_PROV_RAW);
	/* One in which it never had it has no value. */
	later = now;
	later.enabled_ns += 500;
	d = stat_delta(&later, &now);
	assert_int_equal(d.state, TARE_COUNT_NOT_SCHEDULED);
}

static void fields_are_perfs(void **state)
{
	struct made x;
	struct buf b = { 0 };
	make(&x, "r01c4:u,task-clock,page-faults", 2);
	x.counts[0][0].value = 10;
	x.counts[1][0].value = 13;
	x.counts[0][1].value = x.counts[1][1].value = 1500000;
	for (size_t r = 0; r < 2; r++) {
		x.counts[r][2].state = TARE_COUNT_NOT_SCHEDULED;
		x.counts[r][0].running_ns = 50;
		x.counts[r][0].provenance = TARE_PROV_SCALED;
	}
	x.o.separator = "4";
	stat_csv(&x.s, &b);
	/* A name that contains the separator is quoted. */
	const char *const first = "11.544\"r01c4:u\"413.04%4100450.00444";
	if (strncmp(b.data, first, strlen(first)) != 0)
		fail_msg("%s", b.data);
	buf_free(&b);
	x.o.separator = ",";
	stat_csv(&x.s, &b);
	assert_non_null(strstr(b.data, "\n1.500000,msec,task-clock,0.00%,200,100.00,0.0005,"
				       "CPUs utilized,raw\n"));
	assert_non_null(strstr(b.data, "\n<not counted>,,page-faults,0.00%,0,0.00,,,\n"));
	buf_free(&b);
	tare_events_free(x.s.events);
}

/* `n` readings, one for each turn of 4 ms of every 8 ms, with these rates in turn. */
static struct stat_blind read_turns(size_t n, const double *rates, size_t n_rates)
{
	struct stat_turns t = { 0 };
	struct stat_blind b;
	struct tare_count c = { .provenance = TARE_PROV_SCALED };
	for (size_t i = 0; i < n; i++) {
		c.running_ns += 4000000;
		c.enabled_ns += 8000000;
		c.raw += (uint64_t)(4e6 * rates[i % n_rates]);
		stat_blind_sample(&t, &c, 4);
	}
	stat_blind_judge(&t, &c, 4, &b);
	return b;
}

static void blind_spots(void **state)
{
	static const double steady[] = { 2 }, jumps[] = { 1, 3 };
	double two_phases[200];
	/* the same all the time, in enough turns and in too few */
	struct stat_blind b = read_turns(50, steady, 1);
	assert_false(b.warned);
	assert_true(b.turns == 50 && b.share == 0.5 && b.error == 0);
	b = read_turns(49, steady, 1);
	assert_true(b.warned && b.few_turns && !b.uneven && !b.small_share);
	/* phases as long as turns: neighbours differ by 2, so s² = 2; the mean is 2 */
	b = read_turns(200, jumps, 2);
	assert_true(b.warned && b.uneven && !b.few_turns);
	const double want = 2 * sqrt(2 * 0.5 / 200) / 2;
	if (fabs(b.error - want) > 1e-9)
		fail_msg("%g is not %g", b.error, want);
	/* two phases of a hundred turns each: both are seen as they are */
	for (size_t i = 0; i < 200; i++)
		two_phases[i] = i < 100 ? 1 : 3;
	b = read_turns(200, two_phases, 200);
	assert_false(b.warned);
	/* a small share of the time */
	const struct tare_count c = { .provenance = TARE_PROV_SCALED, .raw = 1000,
				      .running_ns = 400000000, .enabled_ns = 4004000000 };
	stat_blind_judge(NULL, &c, 4, &b);
	assert_true(b.warned && b.small_share && !b.few_turns);
	/* what is not scaled has none */
	const struct tare_count whole = { .provenance = TARE_PROV_RAW, .running_ns = 8,
					  .enabled_ns = 8 };
	stat_blind_judge(NULL, &whole, 4, &b);
	assert_false(b.warned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blind_spots),
		cmocka_unit_test(the_chapters_example),
		cmocka_unit_test(figures_that_would_lie_are_left_out),
		cmocka_unit_test(an_interrupted_run_is_left_out),
		cmocka_unit_test(figures_are_of_the_middle_of_the_runs),
		cmocka_unit_test(intervals_are_scaled_by_their_own_times),
		cmocka_unit_test(fields_are_perfs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
