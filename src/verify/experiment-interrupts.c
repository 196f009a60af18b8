/* h: what an event counts for a hardware interrupt.
 *
 * Runs of the same kernel differ in nothing but what happened meanwhile. So the excess of a run
 * over the mean of its kernel's runs is compared with the interrupts of the run over their mean:
 * what a kernel itself counts too much or too little falls out. The number of interrupts is taken
 * from an event that counts them, from /proc/interrupts, or from the time in ticks, whichever
 * explains most.
 */
#include "experiment.h"
#include "loops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEAST_RATE 2e-6		/* for each instruction: twice that of 3,000 interrupts a second */

/* Time differs from run to run, whatever happens, and follows the excess of a few runs by chance. */
#define TICK_RUNS 8

/* Sums over the runs of x (interrupts) and y (excess), each less the mean of its kernel. */
struct fit {
	double xx, xy, yy;
	double seen;			/* interrupts in all */
	double slope, error;		/* of the slope */
	double unexplained;		/* of yy */
};

/* Without page faults: one that comes with the first run must not look like an interrupt. */
static double excess_of(const struct subject *s, const struct observation *o)
{
	return o->excess - s->per_fault * o->faults;
}

/* How far the excess of a kernel's runs is from its middle one. */
static double spread_of(const struct verify *v, const struct subject *s, size_t k,
			double (*value)(const struct verify *, const struct subject *,
					const struct observation *))
{
	double values[64], most = 0;
	const unsigned runs = v->runs < 64 ? v->runs : 64;
	for (unsigned r = 0; r < runs; r++)
		values[r] = value(v, s, &s->seen[k * v->runs + r]);
	const double middle = verify_median(values, runs);
	for (unsigned r = 0; r < runs; r++)
		most = fmax(most, fabs(values[r] - middle));
	return most;
}

static double typical_spread(const struct verify *v, const struct subject *s,
			     double (*value)(const struct verify *, const struct subject *,
					     const struct observation *))
{
	double spread[128];
	size_t n = 0;
	for (size_t k = 0; k < v->n_kernels && n < 128; k++)
		spread[n++] = spread_of(v, s, k, value);
	return n ? verify_median(spread, n) : 0;
}

static double without_faults(const struct verify *v, const struct subject *s,
			     const struct observation *o)
{
	(void)v;
	return excess_of(s, o);
}

/* A kernel whose runs differ far more than those of most kernels has another reason for that; and
 * some CPUs count at random after locked instructions. */
static bool is_wild(const struct verify *v, const struct subject *s, size_t k, double typical)
{
	if (v->n_kernels > 8 && v->kernels[k]->each[KERNEL_LOCKED])
		return true;
	return spread_of(v, s, k, without_faults) > 8 * typical + 16;
}

static void add_kernel(const struct verify *v, const struct subject *s, size_t k,
		       enum interrupt_source source, struct fit *f)
{
	const struct observation *const o = &s->seen[k * v->runs];
	double x = 0, y = 0;
	for (unsigned r = 0; r < v->runs; r++) {
		x += verify_interrupts(v, &o[r], source) / v->runs;
		y += excess_of(s, &o[r]) / v->runs;
	}
	for (unsigned r = 0; r < v->runs; r++) {
		const double dx = verify_interrupts(v, &o[r], source) - x;
		const double dy = excess_of(s, &o[r]) - y;
		f->xx += dx * dx;
		f->xy += dx * dy;
		f->yy += dy * dy;
		f->seen += verify_interrupts(v, &o[r], source);
	}
}

/* The slope, and whether it is more than chance: twice as large as its error, four times. */
static bool fit_source(const struct verify *v, const struct subject *s, enum interrupt_source source,
		       struct fit *f)
{
	const double typical = typical_spread(v, s, without_faults);
	size_t used = 0;
	*f = (struct fit){ 0 };
	for (size_t k = 0; k < v->n_kernels; k++) {
		if (is_wild(v, s, k, typical))
			continue;
		add_kernel(v, s, k, source, f);
		used++;
	}
	const double n = (double)(used * (v->runs - 1));
	if (!(f->xx > 0) || !(f->seen > 0) || n < (source == BY_TICKS ? TICK_RUNS : 2))
		return false;
	f->slope = f->xy / f->xx;
	f->unexplained = fmax(f->yy - f->slope * f->xy, 0);
	f->error = sqrt(f->unexplained / (n - 1) / f->xx);
	return fabs(f->slope) > 4 * f->error && fabs(f->slope) > 0.001;
}

/* Kernels that themselves count nothing too much or too little have more to tell: all their
 * interrupts, not only how these vary. Taken where both agree. */
static void refine(const struct verify *v, const struct subject *s, struct fit *f)
{
	const double typical = typical_spread(v, s, without_faults);
	double xx = 0, xy = 0, yy = 0, n = 0;
	for (size_t k = 0; k < v->n_kernels; k++) {
		for (unsigned r = 0; r < v->runs && !is_wild(v, s, k, typical); r++) {
			const struct observation *const o = &s->seen[k * v->runs + r];
			const double x = verify_interrupts(v, o, s->source), y = excess_of(s, o);
			if (fabs(y) >= (double)v->loops[k] / 4)
				continue;
			xx += x * x;
			xy += x * y;
			yy += y * y;
			n++;
		}
	}
	if (n < 3 || !(xx > 0))
		return;
	const double slope = xy / xx, error = sqrt(fmax(yy - slope * xy, 0) / (n - 1) / xx);
	if (error > f->error || fabs(slope - f->slope) > 4 * f->error)
		return;
	f->slope = slope;
	f->error = error;
}

#define FEW_RUNS 6
#define FEW_ODDS 50	/* one in so many quotients of noise is a whole number in all of a few runs */

/* In a few runs noise may have the same quotient everywhere: there it must be a whole number, and that no chance. An
 * interrupt between the reads of two counters is in one of them only. */
struct few_runs {
	size_t runs;
	double odds, number;
	bool whole;
};

static void add_to_few(struct few_runs *few, double interrupts, double excess)
{
	const double number = round(excess / interrupts), off = fabs(excess - number * interrupts);
	few->whole = (few->runs ? few->whole && number == few->number : true) &&
		     off < (interrupts >= 20 ? 1.5 : 0.5);
	few->number = number;
	few->odds = (few->runs++ ? few->odds : 1) * interrupts;
}

/* One run of each kernel, or interrupts that came as often in each run, cannot be compared with
 * each other. Then with nothing: every interrupt of plain code is taken for the excess of its run,
 * where the quotient is the same everywhere. Most kernels that have interrupts must be plain: what a single
 * one counts too much is the same in each of its runs, too. */
static bool fit_plain(const struct verify *v, const struct subject *s, enum interrupt_source source,
		      struct fit *f)
{
	double low = INFINITY, high = -INFINITY, x = 0, y = 0;
	size_t interrupted = 0, plain = 0;
	struct few_runs few = { 0 };
	*f = (struct fit){ 0 };
	for (size_t k = 0; k < v->n_kernels; k++) {
		bool has = false, used = false;
		for (unsigned r = 0; r < v->runs; r++) {
			const struct observation *const o = &s->seen[k * v->runs + r];
			const double irqs = verify_interrupts(v, o, source);
			has |= irqs >= 4;
			if (!(irqs >= 4) || fabs(excess_of(s, o)) >= (double)v->loops[k] / 2)
				continue;
			used = true;
			add_to_few(&few, irqs, excess_of(s, o));
			low = fmin(low, excess_of(s, o) / irqs);
			high = fmax(high, excess_of(s, o) / irqs);
			x += irqs;
			y += excess_of(s, o);
		}
		interrupted += has;
		plain += used;
	}
	if (!(x > 0) || 2 * plain <= interrupted)
		return false;
	if (few.runs < FEW_RUNS && !(few.whole && few.odds >= FEW_ODDS))
		return false;
	f->seen = x;
	f->slope = y / x;
	f->error = high - low;
	return fabs(f->slope) > 2 * f->error && fabs(f->slope) > 0.001;
}

/* A CPU counts whole numbers. An interrupt between the reads of two counters is in one of them only, and
 * makes the slope a little less than one of them: if it is the number in nearly all runs, it is meant. */
static void make_whole(const struct verify *v, const struct subject *s, struct fit *f)
{
	const double whole = round(f->slope), typical = typical_spread(v, s, without_faults);
	size_t runs = 0, agree = 0;
	for (size_t k = 0; k < v->n_kernels; k++)
		for (unsigned r = 0; r < v->runs && !is_wild(v, s, k, typical); r++) {
			const struct observation *const o = &s->seen[k * v->runs + r];
			const double x = verify_interrupts(v, o, s->source), y = excess_of(s, o);
			if (!(x >= 1) || fabs(y) >= (double)v->loops[k] / 4)
				continue;
			runs++;
			agree += fabs(y - whole * x) < 0.01;
		}
	if (whole != 0 && runs >= 10 && agree * 100 >= runs * 95)
		f->slope = whole;
}

/* Sums of large numbers are rounded: what is a whole number but for that, is meant. No quotient of counts that came
 * in a few thousand runs is as near to one. */
#define ROUNDED 1e-6

static double unrounded(double slope)
{
	return fabs(slope - round(slope)) < ROUNDED ? round(slope) : slope;
}

/* What interrupts between the reads of two counters leave unexplained: one, or a few of all that came. */
#define BETWEEN_READS 0.05

static double left_by_reads(const struct fit *f)
{
	return f->slope * f->slope * (1 + BETWEEN_READS * f->seen);
}

static void find_slope(const struct verify *v, struct subject *s, struct fit *best)
{
	static const enum interrupt_source sources[] = { BY_EVENT, BY_PROC, BY_TICKS };
	bool found = false;
	*best = (struct fit){ 0 };
	for (size_t i = 0; i < 3; i++) {
		struct fit f;
		const bool real = fit_source(v, s, sources[i], &f) ||
				  (sources[i] != BY_TICKS && fit_plain(v, s, sources[i], &f));
		/* Ticks are a guess: only where nothing else explains anything. The event is counted beside the others, so
		 * /proc/interrupts must explain more than an interrupt between two reads. */
		if (!real || (found && (sources[i] == BY_TICKS ||
					f.unexplained + left_by_reads(best) >= best->unexplained)))
			continue;
		*best = f;
		s->source = sources[i];
		found = true;
	}
	if (found) {
		refine(v, s, best);
		make_whole(v, s, best);
		best->slope = unrounded(best->slope);
	}
	s->per_interrupt = found ? best->slope : 0;
	if (!found)
		s->source = v->irq ? BY_EVENT : BY_PROC;
}

/* Code of every kind counts too much, and never the same: the event follows something inside the
 * CPU. The rate is the middle one of the kernels'; each kernel that has a deviation of its own is
 * far from it. */
static void find_rate(const struct verify *v, struct subject *s, double slope_error)
{
	double rates[128], work_done = 0, interrupts = 0;
	size_t n = 0, erratic = 0;
	for (size_t k = 0; k < v->n_kernels && n < 128; k++) {
		double mean = 0, work = 0;
		for (unsigned r = 0; r < v->runs; r++) {
			mean += verify_rest(v, s, &s->seen[k * v->runs + r]) / v->runs;
			work += s->seen[k * v->runs + r].instructions / v->runs;
			if (s->per_interrupt)
				interrupts += verify_interrupts(v, &s->seen[k * v->runs + r],
								s->source) / v->runs;
		}
		work_done += work;
		rates[n++] = mean / work;
		erratic += mean != 0 && spread_of(v, s, k, verify_rest) > 0;
	}
	if (n < 8 || 10 * erratic < 7 * n)
		return;
	const double rate = verify_median(rates, n);
	/* What the amount per interrupt may be wrong by is no rate. */
	if (fabs(rate) < LEAST_RATE || fabs(rate) * work_done < 8 * slope_error * interrupts)
		return;
	size_t like = 0;
	for (size_t i = 0; i < n; i++)
		like += rates[i] / rate > 0.5 && rates[i] / rate < 2;
	if (2 * like > n)
		s->per_instruction = rate;
}

/* Code that nothing disturbs but interrupts. */
static const struct kernel *plain_kernel(void)
{
	const struct kernel *const nops = kernel_by_name("nops");
	return nops ? nops : loops_plain();
}

/* ---- short runs ---- */

/* An event that is not repeatable hides what an interrupt adds to a run of a million instructions. A run
 * of a few thousand has hardly any of that noise, and mostly no interrupt: those with one are compared
 * with all others. */
#define SHORT_INSTRUCTIONS 2000
#define SHORT_INTERRUPTS 40	/* runs with an interrupt, that are waited for */
#define SHORT_RUNS 400000	/* … in so many at most */
#define HIDDEN 0.1		/* error of the amount per interrupt, from which on one may be hidden */

struct short_runs {
	double n[2], sum[2], square;	/* of runs without and with interrupts; square of the former */
	double interrupts;
};

static int count_short(struct verify *v, const struct batch *b, const struct kernel *k,
		       struct short_runs *r, struct tare_why *why)
{
	const struct trial_code code = { .kernel = k,
					 .loops = SHORT_INSTRUCTIONS / k->each[KERNEL_INSTRUCTIONS] };
	int64_t counts[TRIAL_EVENTS];
	struct trial t;
	int err = batch_open(v, b, &t, why);
	for (unsigned i = 0; !err && i < SHORT_RUNS && r->n[1] < SHORT_INTERRUPTS; i++) {
		err = i % 1000 ? 0 : verify_stopped(v, why);
		if (!err)
			err = trial_run(&t, &code, counts, why);
		if (err || t.faults)
			continue;
		const double count = (double)verify_unwrapped(v, counts[0]);
		const double interrupts = (double)verify_unwrapped(v, counts[1]);
		const bool with = interrupts > 0;
		r->n[with]++;
		r->sum[with] += count;
		r->square += with ? 0 : count * count;
		r->interrupts += with ? interrupts : 0;
	}
	trial_close(&t);
	return err;
}

/* Fills the fit with what an interrupt adds to short runs. False: nothing can be told. */
static bool fit_short(struct verify *v, const struct subject *s, struct fit *f)
{
	struct batch b = { .events = { s->event, v->irq }, .n = 1, .n_events = 2 };
	const struct kernel *const k = plain_kernel();
	struct short_runs r = { 0 };
	struct tare_why why;
	if (!v->irq || !k || verify_progress(v, "%s: what an interrupt adds to short runs", s->name) ||
	    count_short(v, &b, k, &r, &why) < 0 || r.n[0] < SHORT_INTERRUPTS || !r.n[1])
		return false;
	const double usual = r.sum[0] / r.n[0];
	const double spread = sqrt(fmax(r.square / r.n[0] - usual * usual, 0));
	f->slope = (r.sum[1] - r.n[1] * usual) / r.interrupts;
	f->error = spread * sqrt(r.n[1]) / r.interrupts;
	f->seen = r.interrupts;
	return true;
}

/* Where the runs of the sections are too different to tell whether an interrupt adds anything. False: they
 * are not. */
static bool look_closer(struct verify *v, struct subject *s, struct fit *f)
{
	struct fit by_runs, closer = { 0 };
	const enum interrupt_source source = v->irq ? BY_EVENT : BY_PROC;
	if (fit_source(v, s, source, &by_runs) || !(by_runs.seen > 0) || !(by_runs.error > HIDDEN))
		return false;
	if (!fit_short(v, s, &closer) || closer.error > HIDDEN + 0.1) {
		verify_doubt(s, "its counts vary too much to tell what an interrupt adds");
		return true;
	}
	if (fabs(closer.slope) < 4 * closer.error || fabs(closer.slope) < 0.5)
		return true;
	if (fabs(closer.slope - round(closer.slope)) < 3 * closer.error)
		closer.slope = round(closer.slope);
	closer.slope = unrounded(closer.slope);
	*f = closer;
	s->source = BY_EVENT;
	s->per_interrupt = closer.slope;
	return true;
}

/* ---- more runs ---- */

/* Interrupts come on this machine, and hardly any came during the runs of the sections: an event of which
 * nothing deviates may count them all the same. */
#define ENOUGH 8		/* interrupts in the runs of the sections */
#define LONG_INSTRUCTIONS 1000000
#define LONG_INTERRUPTS 24	/* that are waited for */
#define LONG_RUNS 4000		/* … in so many runs at most */

static double interrupts_seen(const struct verify *v, const struct subject *s,
			      enum interrupt_source source)
{
	double n = 0;
	for (size_t i = 0; i < v->n_kernels * v->runs; i++)
		n += verify_interrupts(v, &s->seen[i], source);
	return n;
}

/* Runs the same code until enough interrupts came, and compares the counts as fit_source() does. Without an
 * event that counts interrupts /proc/interrupts has their number. */
static int count_long(struct verify *v, const struct batch *b, const struct trial_code *code,
		      struct fit *f, struct tare_why *why)
{
	int64_t counts[TRIAL_EVENTS];
	double n = 0, x = 0, y = 0;
	struct trial t;
	*f = (struct fit){ 0 };
	int err = batch_open(v, b, &t, why);
	for (unsigned i = 0; !err && i < LONG_RUNS && x < LONG_INTERRUPTS; i++) {
		const uint64_t before = b->n_events > 1 ? 0 : verify_proc_interrupts();
		err = verify_stopped(v, why);
		if (!err)
			err = trial_run(&t, code, counts, why);
		if (err || t.faults)
			continue;
		const double dx = b->n_events > 1 ? (double)verify_unwrapped(v, counts[1]) :
						    (double)(verify_proc_interrupts() - before);
		const double dy = (double)verify_unwrapped(v, counts[0]);
		/* the means so far, so that no large numbers are subtracted at the end */
		const double mx = n ? x / n : dx, my = n ? y / n : dy, part = n / (n + 1);
		f->xx += part * (dx - mx) * (dx - mx);
		f->xy += part * (dx - mx) * (dy - my);
		f->yy += part * (dy - my) * (dy - my);
		x += dx;
		y += dy;
		n++;
	}
	trial_close(&t);
	f->seen = x;
	if (err || !(f->xx > 0) || n < 3)
		return err;
	f->slope = unrounded(f->xy / f->xx);
	f->unexplained = fmax(f->yy - f->slope * f->xy, 0);
	f->error = sqrt(f->unexplained / (n - 2) / f->xx);
	return 0;
}

static bool fit_long(struct verify *v, const struct subject *s, struct fit *f)
{
	/* a second event would get the register that counts wrongly */
	const bool by_event = v->irq && v->most_events != 1;
	const struct batch b = { .events = { s->event, v->irq }, .n = 1, .n_events = by_event ? 2 : 1 };
	const struct kernel *const k = plain_kernel();
	const uint64_t most = v->bits ? (1ull << v->bits) / 16 : LONG_INSTRUCTIONS;
	struct tare_why why;
	if (!k || verify_progress(v, "%s: more runs, until interrupts come", s->name))
		return false;
	const uint64_t length = most < LONG_INSTRUCTIONS ? most : LONG_INSTRUCTIONS;
	const struct trial_code code = { .kernel = k,
					 .loops = length / k->each[KERNEL_INSTRUCTIONS] + 1 };
	return count_long(v, &b, &code, f, &why) == 0 && f->seen >= ENOUGH && f->xx > 0;
}

/* Nothing here has the number of interrupts: as many ticks must have passed, with which the excess was
 * compared. */
static void want_ticks(const struct verify *v, struct subject *s)
{
	const double ticks = interrupts_seen(v, s, BY_TICKS);
	if (ticks < ENOUGH || v->runs < 2)
		verify_doubt(s, "nothing here tells the number of interrupts, and %.0f ticks passed during all "
			     "runs: too few to tell what one adds", ticks);
}

static void look_longer(struct verify *v, struct subject *s, struct fit *f)
{
	const double counted = interrupts_seen(v, s, BY_EVENT), listed = interrupts_seen(v, s, BY_PROC);
	const double seen = isnan(counted) ? listed : counted;
	const bool known = v->irq || verify_proc_interrupts();
	const bool come = v->interrupts.proof >= INTERRUPT_NEAR || seen > 0;
	struct fit more;
	if (!known)
		want_ticks(v, s);
	if (!known || !(seen < ENOUGH))
		return;
	if (!come) {
		v->no_interrupts = true;
		return;
	}
	if (!fit_long(v, s, &more) || more.error > HIDDEN) {
		verify_doubt(s, "%.0f interrupt%s came during all runs: too few to tell what one adds", seen,
			     seen == 1 ? "" : "s");
		return;
	}
	if (fabs(more.slope) < 4 * more.error || fabs(more.slope) < 0.001)
		return;
	*f = more;
	s->source = isnan(counted) ? BY_PROC : BY_EVENT;
	s->per_interrupt = more.slope;
}

static const char *source_text(const struct verify *v, enum interrupt_source source)
{
	switch (source) {
	case BY_EVENT: return v->irq->name;
	case BY_PROC: return "/proc/interrupts";
	case BY_TICKS: return "the time in ticks";
	case BY_NOTHING: break;
	}
	return "";
}

static int add_causes(struct verify *v, struct subject *s, const struct fit *f, double page_error)
{
	if (s->per_interrupt) {
		struct tare_verify_cause *const c =
			verify_cause(s, TARE_CAUSE_INTERRUPTS, s->per_interrupt, f->error,
				     s->source == BY_TICKS ? "tick" : "interrupt");
		if (!c)
			return TARE_E_NOMEM;
		snprintf(c->source, sizeof(c->source), "%s", source_text(v, s->source));
		memcpy(v->report->interrupts, c->source, sizeof(v->report->interrupts));
	}
	if (s->per_fault) {
		struct tare_verify_cause *const c = verify_cause(s, TARE_CAUSE_FAULTS, s->per_fault,
								 page_error, "page fault");
		if (!c)
			return TARE_E_NOMEM;
		snprintf(c->source, sizeof(c->source), "fresh pages");
	}
	return 0;
}

/* Each of the two amounts is found with the other subtracted: twice around is enough, because the
 * first has runs without page faults, and the second few interrupts. */
static int examine(struct verify *v, struct subject *s)
{
	struct fit f;
	double page_error;
	for (int i = 0; i < 2; i++) {
		s->per_fault = verify_per_fault(v, s, &page_error);
		find_slope(v, s, &f);
	}
	const bool may_hide = !s->per_interrupt && !v->soft && s->event->kind == TARE_EVENT_PERF;
	if (may_hide && !look_closer(v, s, &f))
		look_longer(v, s, &f);
	s->per_fault = verify_per_fault(v, s, &page_error);
	find_rate(v, s, f.error);
	s->noise = typical_spread(v, s, verify_rest);
	return add_causes(v, s, &f, page_error);
}

static int run(struct verify *v, struct tare_why *why)
{
	bool reads_proc = false;
	(void)why;
	if (!v->report->interrupts[0] && v->irq)
		snprintf(v->report->interrupts, sizeof(v->report->interrupts), "%s", v->irq->name);
	for (size_t i = 0; i < v->n_subjects; i++) {
		struct subject *const s = &v->subjects[i];
		if (s->counted && !s->dead && examine(v, s) < 0)
			return TARE_E_NOMEM;
		reads_proc |= s->source == BY_PROC && s->per_interrupt;
	}
	v->reads_proc = reads_proc;
	if (v->no_interrupts)
		verify_find(v, "interrupts", NULL, TARE_VERDICT_INFO,
			    "none came during all runs: what one adds could not be tried");
	return 0;
}

const struct experiment experiment_interrupts = {
	.name = "interrupts",
	.about = "what an interrupt adds: against an event, /proc/interrupts and ticks",
	.hardware = true, .cause = true, .with = (const char *const[]){ "page-faults", NULL },
	.run = run,
};
