/* E: what an event counts for a floating-point exception.
 *
 * The same divisions, by 1 and by 0: the second raise an exception each, which is masked. Nothing
 * else differs.
 */
#include "experiment.h"
#include "fp-code.h"

#include <math.h>
#include <stdio.h>

#define ROUNDS 2000
#define RUNS 5

struct divisions {
	const struct fp_division *division;
	double divisor;
};

static void divide(void *arg)
{
	const struct divisions *const d = arg;
	d->division->run(ROUNDS, &d->divisor);
}

/* Counts of both, interrupts and page faults subtracted; then the difference for each division. */
static int compare(struct verify *v, const struct batch *b, struct trial *t,
		   const struct fp_division *division, double (*out)[RUNS], unsigned run,
		   struct tare_why *why)
{
	struct divisions by_one = { division, 1 }, by_zero = { division, 0 };
	const struct trial_code one = { .function = divide, .argument = &by_one };
	const struct trial_code zero = { .function = divide, .argument = &by_zero };
	struct observation with[TRIAL_EVENTS], without[TRIAL_EVENTS];
	int err = batch_count(v, b, t, &one, NULL, without, why);
	if (!err)
		err = batch_count(v, b, t, &zero, NULL, with, why);
	for (size_t i = 0; !err && i < b->n; i++)
		out[i][run] = (verify_rest(v, b->subjects[i], &with[i]) -
			       verify_rest(v, b->subjects[i], &without[i])) / ROUNDS;
	return err;
}

static int judge(struct subject *s, const struct fp_division *division, size_t number, double *runs)
{
	const double limit = verify_limit(s) / ROUNDS, middle = verify_median(runs, RUNS);
	if (fabs(middle) <= limit)
		return 0;
	const double amount = fabs(middle - round(middle)) <= limit ? round(middle) : middle;
	const double error = fmax(runs[RUNS - 1] - middle, middle - runs[0]);
	struct tare_verify_cause *const c = verify_cause(s, TARE_CAUSE_EXCEPTIONS, amount, error,
							 "exception");
	if (!c)
		return TARE_E_NOMEM;
	s->per_exception[number] = amount;
	snprintf(c->source, sizeof(c->source), "%s divisions by 0", division->name);
	return 0;
}

static int examine(struct verify *v, const struct batch *b, struct tare_why *why)
{
	double seen[TRIAL_EVENTS][RUNS];
	struct trial t;
	int err = batch_open(v, b, &t, why);
	for (size_t d = 0; !err && d < n_fp_divisions; d++) {
		err = compare(v, b, &t, &fp_divisions[d], seen, 0, why);	/* loads the code */
		for (unsigned r = 0; !err && r < RUNS; r++)
			err = compare(v, b, &t, &fp_divisions[d], seen, r, why);
		for (size_t i = 0; !err && i < b->n; i++)
			err = judge(b->subjects[i], &fp_divisions[d], d, seen[i]);
	}
	trial_close(&t);
	return err;
}

static int run(struct verify *v, struct tare_why *why)
{
	for (size_t i = 0; i < v->n_batches; i++) {
		const struct batch *const b = &v->batches[i];
		const int err = examine(v, b, why);
		if (err && !verify_is_lost(err))
			return err;
		for (size_t k = 0; err && k < b->n; k++)
			verify_doubt(b->subjects[k], "exceptions could not be tried: %s", why->what);
	}
	return 0;
}

/* The kernels of exceptions have one in each case. */
double verify_exceptions_of(const struct subject *s, const struct kernel *k, size_t c)
{
	if (!k->exceptions || k->exceptions != k->n_cases)
		return 0;
	return s->per_exception[k->cases[c].counts[KERNEL_X87] || n_fp_divisions < 2 ? 0 : 1];
}

/* Arithmetic raises an exception in each pass, alone or because another instruction clears the flag. */
bool verify_is_exceptions(const struct subject *s, const struct kernel *k, double each)
{
	if ((!k->each[KERNEL_X87] && !k->each[KERNEL_FP]) || k->exceptions == k->n_cases)
		return false;	/* of the latter they are subtracted already */
	for (int i = 0; i < 2; i++)
		if (s->per_exception[i] && each / s->per_exception[i] > 0 &&
		    fmod(each, s->per_exception[i]) == 0)
			return true;
	return false;
}

const struct experiment experiment_exceptions = {
	.name = "exceptions",
	.about = "what a floating-point exception adds: divisions by 1 and by 0",
	.hardware = true, .cause = true,
	.with = (const char *const[]){ "page-faults", "interrupts", NULL },
	.run = run,
};
