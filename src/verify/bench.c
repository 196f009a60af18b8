/* What a read of a counter costs: tare/bench.h says how it is measured. */
#include <tare/bench.h>

#include "known-work.h"
#include "options-copy.h"
#include "perf-facts.h"
#include "trial.h"
#include "why.h"

#include <math.h>
#include <stdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define READS 10000
#define RUNS 10
#define MOST 1000000000u
#define MOST_RUNS 10000
#define MOST_ROUNDS (1u << 26)	/* of the loop that shows whether a counter counts */
#define CHECKS 3		/* interrupts add to some of them */
#define MOST_BESIDE 2		/* registers that the counter of a row takes */

struct way {
	const char *counter;
	enum tare_path path;
	enum tare_serializer serializer;
};

/* What the library reads by itself, then each serialising instruction that it does not choose. */
static const struct way ways[] = {
	{ "", TARE_PATH_AUTO, TARE_SERIALIZE_AUTO },
	{ "zero", TARE_PATH_ZERO, TARE_SERIALIZE_AUTO },
	{ "wall-time", TARE_PATH_CLOCK, TARE_SERIALIZE_AUTO },
	{ "instructions:u", TARE_PATH_RDPMC, TARE_SERIALIZE_AUTO },
	{ "instructions-minus-irqs:u", TARE_PATH_RDPMC, TARE_SERIALIZE_AUTO },
	{ "instructions:u", TARE_PATH_READ, TARE_SERIALIZE_AUTO },
	{ "instructions-minus-irqs:u", TARE_PATH_READ, TARE_SERIALIZE_AUTO },
	{ "instructions:u", TARE_PATH_RDPMC, TARE_SERIALIZE_NONE },
#ifdef __aarch64__
	{ "instructions:u", TARE_PATH_RDPMC, TARE_SERIALIZE_ISB },
#else
	{ "instructions:u", TARE_PATH_RDPMC, TARE_SERIALIZE_LFENCE },
	{ "instructions:u", TARE_PATH_RDPMC, TARE_SERIALIZE_MFENCE },
	{ "instructions:u", TARE_PATH_RDPMC, TARE_SERIALIZE_SERIALIZE },
	{ "instructions:u", TARE_PATH_RDPMC, TARE_SERIALIZE_CPUID },
#endif
};
#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

struct reads {
	struct tare_counter *c;
	uint64_t n;
	uint64_t sum;
	bool pair;
};

/* The loops differ in the read alone: an asm in place of it uses and changes what a read does. */
static void read_none(void *arg)
{
	struct reads *const r = arg;
	struct tare_counter *c = r->c;

	for (uint64_t i = r->n, v = 0; i; i--) {
		__asm__ volatile("" : "+r"(v), "+r"(c) : : "memory");
		r->sum = v;
	}
}

static void read_one(void *arg)
{
	struct reads *const r = arg;
	struct tare_counter *const c = r->c;

	for (uint64_t i = r->n, v; i; i--) {
		tare_counter_read(c, &v);
		r->sum = v;
	}
}

static void read_pair(void *arg)
{
	struct reads *const r = arg;
	struct tare_counter *const c = r->c;

	for (uint64_t i = r->n, v; i; i--) {
		tare_counter_read_pair(c, &v);
		r->sum = v;
	}
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct bench {
	struct tare_bench_report *report;
	struct tare_events *instructions;	/* what counts the loops */
	double *totals;				/* of the runs */
};

/* Of a trial; `t` NULL: only the time. */
static int run_loop(const struct bench *b, struct trial *t, const struct trial_code *code,
		    struct tare_bench_row *row, struct tare_why *why)
{
	const unsigned runs = b->report->runs;

	for (unsigned k = 0; k < runs; k++) {
		int64_t count = 0;
		int err = 0;
		if (t)
			err = trial_run(t, code, &count, why);
		if (err)
			return err;
		b->totals[k] = (double)count;
		const double begin = now_ns();
		code->function(code->argument);
		const double ns = now_ns() - begin;
		row->ns = k && row->ns < ns ? row->ns : ns;
	}
	qsort(b->totals, runs, sizeof(b->totals[0]), compare);
	row->total = t ? b->totals[runs / 2] : NAN;
	row->distance = t ? fmax(b->totals[runs - 1] - row->total, row->total - b->totals[0]) : NAN;
	return 0;
}

static int measure(const struct bench *b, struct reads *r, struct tare_bench_row *row,
		   struct tare_why *why)
{
	const struct trial_code code = { .function = !r->c ? read_none : r->pair ? read_pair : read_one,
					 .argument = r };
	const struct tare_event *const e = tare_events_at(b->instructions, 0);
	struct trial t;

	if (!e)
		return run_loop(b, NULL, &code, row, why);
	int err = trial_open(&(struct trial_options){ .events = &e, .n = 1 }, &t, why);
	if (err)
		return err;
	err = run_loop(b, &t, &code, row, why);
	trial_close(&t);
	return err;
}

/* The counter of a row. 0 and r->c; or why not. */
static int open_counter(const struct way *w, struct reads *r, struct tare_why *why)
{
	struct tare_counter_options o = TARE_COUNTER_OPTIONS_INIT;
	struct tare_events *list;

	int err = tare_events_parse(w->counter, NULL, &list, why);
	if (err)
		return err;
	if (w->path == TARE_PATH_RDPMC || w->path == TARE_PATH_READ)
		o.path = w->path;
	o.serializer = w->serializer;
	r->pair = tare_events_at(list, 0)->kind == TARE_EVENT_MINUS;
	err = tare_counter_open_event(tare_events_at(list, 0), &o, &r->c, why);
	tare_events_free(list);
	return err;
}

/* The text of some errors says what failed, and the sentence of the code why. */
static void reason_of(const struct tare_why *why, char *out, size_t size)
{
	switch (why->code) {
	case TARE_E_STOLEN:
	case TARE_E_SECCOMP:
	case TARE_E_PARANOID:
	case TARE_E_PERMISSION:
	case TARE_E_BUSY:
		snprintf(out, size, "%.90s: %s", why->what, tare_err_sentence(why->code));
		break;
	default:
		snprintf(out, size, "%.*s", (int)size - 1, why->what);
	}
}

static void measure_way(const struct bench *b, const struct way *w, struct tare_bench_row *row)
{
	struct tare_bench_report *const report = b->report;
	struct reads r = { .n = report->reads };
	struct tare_why why;

	*row = (struct tare_bench_row){ .counter = w->counter, .path = w->path,
					.serializer = w->serializer, .instructions = NAN };
	int err = w->counter[0] ? open_counter(w, &r, &why) : 0;
	if (!err && r.c) {
		row->path = tare_counter_path(r.c, NULL);
		row->serializer = tare_counter_serializer(r.c);
	}
	if (!err)
		err = measure(b, &r, row, &why);
	tare_counter_close(r.c);
	row->measured = !err;
	if (err)
		reason_of(&why, row->missing, sizeof(row->missing));
	if (err)
		return;
	const struct tare_bench_row *const base = &report->rows[0];
	if (!base->measured) {		/* then there is nothing that could be subtracted */
		row->measured = false;
		snprintf(row->missing, sizeof(row->missing), "the loop without a read was not measured: %.110s",
			 base->missing);
		return;
	}
	row->instructions = (row->total - base->total) / (double)report->reads;
	row->ns = fmax(row->ns - (row == base ? 0 : base->ns * (double)report->reads), 0) /
		  (double)report->reads;
}

/* More than the reads of a run take, by the slowest path: a counter that is too narrow shows it. */
static uint64_t rounds_of_check(const struct tare_bench_report *r)
{
	const uint64_t rounds = r->reads * 500 / KNOWN_WORK_PER_ROUND;
	return rounds < 20000 ? 20000 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
}

/* Does it count a loop right, but for the interrupts that come meanwhile? */
static int check_counter(const struct bench *b, struct trial *t, unsigned cpu, struct tare_why *why)
{
	const struct tare_event *const e = t->o.events[0];
	const char *const beside = t->o.fillers ? ", beside another counter," : "";
	struct known_work w = { .rounds = rounds_of_check(b->report), .on = cpu };
	const int64_t wanted = (int64_t)w.rounds * KNOWN_WORK_PER_ROUND;
	int64_t best = INT64_MIN, count[TRIAL_EVENTS], rest[TRIAL_EVENTS];
	int err = known_work_prepare(&w, why);
	if (err)
		return err;
	const struct trial_code code = known_work_code(&w);
	for (int i = 0; !err && i < CHECKS; i++) {
		err = trial_run(t, &code, count, why);
		if (!err)
			err = known_work_rest(t, &w, rest, why);
		if (!err && (best == INT64_MIN || llabs(count[0] - rest[0] - wanted) < llabs(best - wanted)))
			best = count[0] - rest[0];
	}
	known_work_finish(&w);
	if (err || llabs(best - wanted) <= wanted / 100)
		return err;
	if (best <= 0)
		return why_set(why, TARE_E_INVALID, "%s opens, and%s counts nothing of a loop of %jd instructions",
			       e->name, beside, (intmax_t)wanted);
	return why_set(why, TARE_E_INVALID, "%s%s counts %jd of a loop of %jd instructions: `tare verify` finds out why",
		       e->name, beside, (intmax_t)best, (intmax_t)wanted);
}

/* The counter of a row takes registers, so that this one gets others, of which each may count wrongly. */
static int check_registers(const struct bench *b, const struct tare_event *e, unsigned cpu, struct tare_why *why)
{
	struct tare_events *filler;
	int err = tare_events_parse("instructions:u", NULL, &filler, why);

	for (unsigned n = 0; !err && n <= MOST_BESIDE; n++) {
		struct trial t;
		err = trial_open(&(struct trial_options){ .events = &e, .n = 1, .fillers = n,
							  .filler = tare_events_at(filler, 0) }, &t, why);
		if (err && n) {		/* too few counters: rows that need more of them say so */
			err = 0;
			break;
		}
		if (!err) {
			err = check_counter(b, &t, cpu, why);
			trial_close(&t);
		}
	}
	tare_events_free(filler);
	return err;
}

/* Interrupts are taken off where the CPU has an event for them. */
static void choose_event(struct bench *b, unsigned cpu)
{
	static const char *const names[] = { "instructions-minus-irqs:u", "instructions:u" };
	struct tare_why why;

	for (size_t i = 0; i < 2 && !b->instructions; i++) {
		struct tare_events *list;
		if (tare_events_parse(names[i], NULL, &list, &why) < 0)
			continue;
		if (check_registers(b, tare_events_at(list, 0), cpu, &why) < 0) {
			tare_events_free(list);
			continue;
		}
		b->instructions = list;
		b->report->counted_by = names[i];
	}
	if (!b->instructions)
		reason_of(&why, b->report->why_not, sizeof(b->report->why_not));
}

static int check_range(const char *what, uint64_t n, uint64_t most, struct tare_why *why)
{
	if (n <= most)
		return 0;
	return why_set(why, TARE_E_RANGE, "bench: %llu %s; at most %llu", (unsigned long long)n, what,
		       (unsigned long long)most);
}

static int fill(struct bench *b, const struct tare_bench_options *o, struct tare_why *why)
{
	struct tare_bench_report *const r = b->report;
	struct kept *kept;
	unsigned cpu = 0;

	tare_cpu_detect(&r->cpu);
	r->reads = o->reads ? o->reads : READS;
	r->runs = o->runs ? (unsigned)o->runs : RUNS;
	r->simulated = perf_is_virtual("");
	r->rows = calloc(N_WAYS, sizeof(*r->rows));
	b->totals = calloc(r->runs, sizeof(*b->totals));
	if (!r->rows || !b->totals)
		return why_set(why, TARE_E_NOMEM, "bench: %u runs", r->runs);
	const bool stays = known_work_stay(&kept, &cpu, NULL) == 0;
	choose_event(b, cpu);
	for (size_t i = 0; i < N_WAYS; i++)
		if (ways[i].serializer == TARE_SERIALIZE_AUTO ||
		    ways[i].serializer != tare_serializer_auto())
			measure_way(b, &ways[i], &r->rows[r->n_rows++]);
	if (stays)
		known_work_let_go(kept);
	return 0;
}

int tare_bench(const struct tare_bench_options *given, struct tare_bench_report **report,
	       struct tare_why *why)
{
	struct tare_bench_options o;
	struct bench b = { 0 };

	if (!report)
		return why_set(why, TARE_E_INVALID, "tare_bench: report is NULL");
	*report = NULL;
	int err = options_copy(&o, sizeof(o), given, "tare_bench_options", why);
	if (!err)
		err = check_range("reads", o.reads, MOST, why);
	if (!err)
		err = check_range("runs", o.runs, MOST_RUNS, why);
	if (err)
		return err;
	b.report = calloc(1, sizeof(*b.report));
	if (!b.report)
		return why_set(why, TARE_E_NOMEM, "bench: a report");
	err = fill(&b, &o, why);
	tare_events_free(b.instructions);
	free(b.totals);
	if (err)
		tare_bench_free(b.report);
	else
		*report = b.report;
	return err;
}

void tare_bench_free(struct tare_bench_report *r)
{
	if (!r)
		return;
	free(r->rows);
	free(r);
}
