/* Multiplexing's blind spots: how wrong a scaled count is, by length of phase and share of the time.
 *
 * A program with two phases in turn, one with many events and one with few, runs under more
 * counters of the same event than there are registers, so that the kernel makes them take turns.
 * One more counter is pinned and counts all of it. The difference of each estimate from its count
 * is the error of multiplexing alone.
 */
#include "steady.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PERIOD_FILE "/sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms"
#define PERIOD_MS 4
#define COUNTERS 32
#define LEFT 2			/* registers for the counters that take turns */
#define ROUNDS 4		/* a program lasts until each of them had so many turns … */
#define QUICK_ROUNDS 2		/* … or so many, where it has to be quick */
#define SLOW 6.0		/* times as long as the fastest code: not used */
#define SLOWEST 100.0		/* … but where all fast code is alike */

/* Lengths of a phase, in turns. */
static const struct {
	double turns;
	bool quick;			/* also where it has to be quick */
} lengths[] = { { 0.05, true }, { 0.5, false }, { 1.3, true }, { 4, false } };
/* Events for each register that is left. */
static const unsigned crowds[] = { 2, 4 };

struct phases {
	const struct subject *s;
	struct steady_code many, few;	/* of one unit: some 30,000 instructions each */
	double unit_ns;			/* time of a unit */
	double turn_ns;
	unsigned rounds;
	struct bare all;		/* pinned: the truth */
	struct bare held[COUNTERS];	/* pinned: registers that nothing else gets */
	size_t n_held;
	struct bare shared[COUNTERS];
	size_t n_shared;
};

static double turn_ns(void)
{
	unsigned ms = 0;
	FILE *const f = fopen(PERIOD_FILE, "re");
	if (f) {
		if (fscanf(f, "%u", &ms) != 1)
			ms = 0;
		fclose(f);
	}
	return (ms ? ms : PERIOD_MS) * 1e6;
}

static double share_of(const struct kernel *k, const struct subject *s)
{
	return (double)k->each[s->kind] / (double)k->each[KERNEL_INSTRUCTIONS];
}

static void code_of(const struct verify *v, const struct kernel *k, struct steady_code *code)
{
	*code = (struct steady_code){ .run = k->run, .loops = 30000 / k->each[KERNEL_INSTRUCTIONS] + 1,
				      .memory = v->memory, .events = 1, .name = k->name };
}

/* Nanoseconds of the kernel, the least of some runs. */
static double time_of(const struct verify *v, const struct kernel *k)
{
	struct steady_code code;
	double least = INFINITY;
	code_of(v, k, &code);
	for (int i = 0; i < 5; i++) {
		struct timespec from, to;
		clock_gettime(CLOCK_MONOTONIC, &from);
		steady_code_run(&code);
		clock_gettime(CLOCK_MONOTONIC, &to);
		const double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 +
				  (double)(to.tv_nsec - from.tv_nsec);
		least = ns < least ? ns : least;
	}
	return least;
}

/* The kernels with the greatest and the least share of the subject's events, of those that take at most
 * `slow` times as long as the fastest one: the programs last for hundreds of millions of instructions. */
static void choose_kernels(const struct verify *v, const struct subject *s, double slow,
			   const struct kernel **many, const struct kernel **few)
{
	double fastest = INFINITY;
	*many = *few = NULL;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < v->n_kernels; i++) {
			const struct kernel *const k = v->kernels[i];
			if (k->fresh_pages || k->exceptions || k->each[KERNEL_SYSCALLS] ||
			    !k->each[KERNEL_INSTRUCTIONS])
				continue;
			const double ns = time_of(v, k);
			if (!pass) {
				fastest = ns < fastest ? ns : fastest;
				continue;
			}
			if (ns > slow * fastest)
				continue;
			if (!*many || share_of(k, s) > share_of(*many, s))
				*many = k;
			if (!*few || share_of(k, s) < share_of(*few, s))
				*few = k;
		}
}

/* Code with many of the subject's events and code with few; false: there are no two. */
static bool choose_phases(const struct verify *v, struct phases *p)
{
	const struct kernel *many = NULL, *few = NULL;
	bool differ = false;
	for (double slow = SLOW; !differ && slow <= SLOWEST; slow *= 2) {
		choose_kernels(v, p->s, slow, &many, &few);
		differ = many && few && share_of(many, p->s) > share_of(few, p->s);
	}
	if (!differ)
		return false;
	code_of(v, many, &p->many);
	code_of(v, few, &p->few);
	return true;
}

/* The clock of the counters: nanoseconds of one unit of each phase. */
static int measure_unit(struct phases *p)
{
	struct perf_value before, after;
	const int units = 100;
	if (bare_times(&p->all, &before))
		return TARE_E_STOLEN;
	for (int i = 0; i < units; i++) {
		steady_code_run(&p->many);
		steady_code_run(&p->few);
	}
	if (bare_times(&p->all, &after))
		return TARE_E_STOLEN;
	p->unit_ns = (double)(after.enabled - before.enabled) / (2 * units);
	return p->unit_ns > 0 ? 0 : TARE_E_IO;
}

static void close_shared(struct phases *p)
{
	while (p->n_shared)
		bare_close(&p->shared[--p->n_shared]);
}

static void close_held(struct phases *p)
{
	while (p->n_held)
		bare_close(&p->held[--p->n_held]);
}

/* Holds all registers but LEFT; fewer where there are fewer. Returns how many are left. */
static size_t hold_registers(struct phases *p)
{
	size_t left = 0;
	for (; p->n_held < COUNTERS; p->n_held++) {
		struct bare *const b = &p->held[p->n_held];
		if (bare_open(b, &p->s->event->base, BARE_PINNED) < 0)
			break;
		if (!bare_on(b)) {
			bare_close(b);
			break;
		}
	}
	for (; left < LEFT && p->n_held; left++)
		bare_close(&p->held[--p->n_held]);
	return left;
}

static void run_phases(const struct phases *p, double length, unsigned turns)
{
	const double units = length * p->turn_ns / p->unit_ns;
	const unsigned per_phase = units < 1 ? 1 : (unsigned)units;
	const unsigned total = (unsigned)(turns * p->turn_ns / p->unit_ns);
	for (unsigned done = 0; done < total; done += 2 * per_phase) {
		for (unsigned i = 0; i < per_phase; i++)
			steady_code_run(&p->many);
		for (unsigned i = 0; i < per_phase; i++)
			steady_code_run(&p->few);
	}
}

struct cell {
	double share, mean, worst;	/* of the time; relative errors */
	uint64_t truth;
	size_t estimates, unseen;	/* unseen: never on a counter */
};

/* One program under `n` counters that take turns. */
static int measure_cell(struct phases *p, size_t n, double length, struct cell *out)
{
	uint64_t before, after;
	int err = 0;
	*out = (struct cell){ 0 };
	for (; p->n_shared < n && p->n_shared < COUNTERS; p->n_shared++)
		if (bare_open(&p->shared[p->n_shared], &p->s->event->base, BARE_STOPPED) < 0)
			break;
	for (size_t i = 0; i < p->n_shared; i++)
		bare_start(&p->shared[i]);
	err = bare_read(&p->all, &before);
	run_phases(p, length, (unsigned)(p->rounds * p->n_shared));
	if (!err)
		err = bare_read(&p->all, &after);
	for (size_t i = 0; i < p->n_shared; i++)
		bare_stop(&p->shared[i]);
	for (size_t i = 0; !err && i < p->n_shared; i++) {
		struct perf_value v;
		if (bare_times(&p->shared[i], &v) || !v.running) {
			out->unseen++;
			continue;
		}
		const double truth = (double)(out->truth = after - before);
		const double estimate = (double)v.value * (double)v.enabled / (double)v.running;
		const double error = fabs(estimate - truth) / truth;
		out->share += (double)v.running / (double)v.enabled;
		out->mean += error;
		out->worst = error > out->worst ? error : out->worst;
		out->estimates++;
	}
	close_shared(p);
	if (out->estimates) {
		out->share /= (double)out->estimates;
		out->mean /= (double)out->estimates;
	}
	return err ? TARE_E_STOLEN : 0;
}

static void tell_cell(struct verify *v, const struct phases *p, double length, const struct cell *c)
{
	const double ms = p->turn_ns / 1e6;
	struct tare_verify_finding *const f = verify_find(
		v, "multiplexing", p->s->name, TARE_VERDICT_INFO,
		"phases of %.1f ms, on a counter %.0f%% of the time: scaled counts are off by %.1f %% on "
		"average, at most %.1f %% (%zu estimates)", length * ms, 100 * c->share, 100 * c->mean,
		100 * c->worst, c->estimates);
	verify_number(f, "phase_ms", length * ms);
	verify_number(f, "turn_ms", ms);
	verify_number(f, "share", c->share);
	verify_number(f, "mean_error", c->mean);
	verify_number(f, "greatest_error", c->worst);
	verify_number(f, "estimates", (double)c->estimates);
	verify_number(f, "unseen", (double)c->unseen);
	verify_number(f, "truth", (double)c->truth);
}

static int measure_all(struct verify *v, struct phases *p)
{
	const size_t left = hold_registers(p);
	int err = left ? measure_unit(p) : 0;
	if (!left)
		verify_find(v, "multiplexing", p->s->name, TARE_VERDICT_INFO,
			    "not tried: two registers are needed");
	for (size_t c = 0; left && !err && c < sizeof(crowds) / sizeof(crowds[0]); c++)
		for (size_t l = 0; !err && l < sizeof(lengths) / sizeof(lengths[0]); l++) {
			const double length = lengths[l].turns;
			if (v->o.quick && !lengths[l].quick)
				continue;
			struct cell cell;
			err = verify_progress(v, "multiplexing, phases of %.1f ms",
					      length * p->turn_ns / 1e6);
			if (!err)
				err = measure_cell(p, left * crowds[c], length, &cell);
			if (!err && cell.estimates)
				tell_cell(v, p, length, &cell);
		}
	return err;
}

/* Conditional branches: code with many and code with few is in every program. */
static const struct subject *choose(const struct verify *v)
{
	static const enum tare_role roles[] = { TARE_ROLE_COND_BRANCHES, TARE_ROLE_BRANCHES,
						TARE_ROLE_LOADS, TARE_ROLE_STORES };
	for (size_t r = 0; r < sizeof(roles) / sizeof(roles[0]); r++)
		for (size_t i = 0; i < v->n_subjects; i++)
			if (v->subjects[i].role == roles[r] && v->subjects[i].kind >= 0 &&
			    steady_can(&v->subjects[i]))
				return &v->subjects[i];
	return NULL;
}

static int run(struct verify *v, struct tare_why *why)
{
	struct phases *const p = calloc(1, sizeof(*p));
	const struct subject *const s = choose(v);
	int err = 0;
	if (!p)
		return TARE_E_NOMEM;
	p->s = s;
	if (!s) {
		verify_find(v, "multiplexing", NULL, TARE_VERDICT_INFO,
			    "not tried: no event of branches, loads or stores counts here");
	} else if (choose_phases(v, p)) {
		p->turn_ns = turn_ns();
		p->rounds = v->o.quick ? QUICK_ROUNDS : ROUNDS;
		if (bare_open(&p->all, &s->event->base, BARE_PINNED) == 0 && bare_on(&p->all))
			err = measure_all(v, p);
		close_held(p);
		bare_close(&p->all);
	} else {
		verify_find(v, "multiplexing", s->name, TARE_VERDICT_INFO,
			    "not tried: all kernels that run have the same share of it");
	}
	if (err == TARE_E_STOLEN || err == TARE_E_IO) {
		verify_find(v, "multiplexing", s->name, TARE_VERDICT_INFO,
			    "inconclusive: the counter was taken away in the middle");
		err = 0;
	}
	free(p);
	return err;
}

const struct experiment experiment_multiplexing = {
	.name = "multiplexing",
	.about = "the error of scaled counts, by length of a program's phases and share of the time",
	.hardware = true, .run = run,
};
