/* Steady counts. */
#include "steady.h"

#include "regions.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTRUCTIONS 30000
#define LOOP_INSTRUCTIONS 4	/* of a round of region_loop() */

static void run_region(uint64_t loops, void *memory)
{
	region_loop(loops, memory);
}

/* After such an instruction a read that does not serialise cannot come too early. */
static bool serialises(const struct kernel *k)
{
	static const char *const names[] = { "fence", "cpuid", "serialize", "isb" };
	for (size_t c = 0; c < k->n_cases; c++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strstr(k->cases[c].text, names[i]))
				return true;
	return false;
}

/* Nothing in it that the kernel has a part in, nothing that counts differently in each pass, and nothing
 * that serialises. */
static bool is_plain(const struct kernel *k)
{
	return !serialises(k) && !k->fresh_pages && !k->exceptions && !k->each[KERNEL_SYSCALLS] &&
	       !k->each[KERNEL_FAR_TRANSFERS] && k->each[KERNEL_INSTRUCTIONS];
}

bool steady_code_for(const struct verify *v, const struct subject *s, struct steady_code *code)
{
	const struct kernel *best = NULL;
	double most = -1;
	for (size_t i = 0; i < v->n_kernels; i++) {
		const struct kernel *const k = v->kernels[i];
		if (!is_plain(k))
			continue;
		const double share = s->kind < 0 ? 0 : (double)k->each[s->kind] /
							(double)k->each[KERNEL_INSTRUCTIONS];
		if (share > most) {
			most = share;
			best = k;
		}
	}
	if (!best || (s->kind >= 0 && !best->each[s->kind])) {
		*code = (struct steady_code){ .run = run_region, .loops = INSTRUCTIONS / LOOP_INSTRUCTIONS,
					      .memory = v->memory, .events = 1, .bits = v->bits,
					      .name = "a loop" };
		return s->kind < 0;
	}
	const uint64_t loops = INSTRUCTIONS / best->each[KERNEL_INSTRUCTIONS] + 1;
	*code = (struct steady_code){ .run = best->run, .loops = loops, .memory = v->memory, .events = 1,
				      .bits = v->bits, .name = best->name };
	if (s->kind >= 0)
		code->events = (double)(best->once[s->kind] + loops * best->each[s->kind]);
	return true;
}

#define SHORTEST 2		/* quarters of INSTRUCTIONS: reads that come too early need a thousand */

bool steady_shorten(struct steady_code *code)
{
	if (code->quarters == SHORTEST || code->loops < 4)
		return false;
	code->quarters++;
	code->loops /= 4;
	code->events = fmax(code->events / 4, 1);
	return true;
}

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static void summarize(int64_t *seen, unsigned n, struct steady *out)
{
	qsort(seen, n, sizeof(seen[0]), compare);
	*out = (struct steady){ .runs = n, .min = seen[0], .max = seen[n - 1] };
	for (unsigned i = 0, same = 0; i < n; i++) {
		same = i && seen[i] == seen[i - 1] ? same + 1 : 1;
		if (same > out->agreeing) {
			out->agreeing = same;
			out->value = seen[i];
		}
		out->mean += (double)seen[i] / n;
	}
	double square = 0;
	for (unsigned i = 0; i < n; i++)
		square += ((double)seen[i] - out->mean) * ((double)seen[i] - out->mean);
	out->error = sqrt(square / (n - 1) / n);
}

int steady_count(int (*count)(void *arg, int64_t *value), void *arg, struct steady *out)
{
	int64_t seen[5 * STEADY_RUNS], value;
	unsigned n = 0;
	for (int i = 0; i < STEADY_WARM_UP; i++) {
		const int err = count(arg, &value);
		if (err)
			return err;
	}
	do {
		for (unsigned i = 0; i < STEADY_RUNS; i++) {
			const int err = count(arg, &seen[n]);
			if (err)
				return err;
			n++;
		}
		summarize(seen, n, out);
	} while (!steady_is_clear(out) && n < 5 * STEADY_RUNS);
	return 0;
}

enum steady_compare steady_compare(const struct steady *a, const struct steady *b)
{
	if (a->min > b->max || a->max < b->min)
		return STEADY_DIFFERENT;
	if (!steady_is(a) || !steady_is(b))
		return STEADY_UNSETTLED;
	if (a->value == b->value)
		return STEADY_SAME;
	return steady_is_clear(a) && steady_is_clear(b) ? STEADY_DIFFERENT : STEADY_UNSETTLED;
}

#define SIGMAS 7		/* of a difference of means that is no chance */
#define FEW_SIGMAS 3		/* of one that may be none */
#define COARSE 0.01		/* of the events: a limit above that says nothing */

enum steady_compare steady_compare_means(const struct steady *a, const struct steady *b,
					 const struct steady_code *code, double *least)
{
	const enum steady_compare modes = steady_compare(a, b);
	const double error = sqrt(a->error * a->error + b->error * b->error);
	const double distance = fabs(a->mean - b->mean);
	const bool noisy = !steady_is_clear(a) || !steady_is_clear(b);
	*least = 1;
	if (!noisy || a->runs + b->runs < 6 * STEADY_RUNS)
		return modes;
	*least = fmax(SIGMAS * error, 1);
	if (*least > fmax(COARSE * code->events, 1) || (distance > FEW_SIGMAS * error && distance <= *least))
		return STEADY_UNSETTLED;
	return distance > *least ? STEADY_DIFFERENT : STEADY_SAME;
}

int64_t steady_shown(const struct steady *s)
{
	return steady_is_clear(s) ? s->value : llround(s->mean);
}

int64_t steady_difference(const struct steady_code *code, uint64_t before, uint64_t after)
{
	const int64_t n = (int64_t)(after - before);
	return n < 0 && code->bits ? n + (1ll << code->bits) : n;
}

int steady_bare_count(void *arg, int64_t *value)
{
	const struct steady_bare *const s = arg;
	uint64_t before = 0, after = 0;
	int err = bare_read(s->counter, &before);
	steady_code_run(s->code);
	if (!err)
		err = bare_read(s->counter, &after);
	*value = steady_difference(s->code, before, after);
	return err > 0 ? TARE_E_STOLEN : err < 0 ? TARE_E_IO : 0;
}

bool steady_jump(const struct bare *counter, const struct steady_code *code, uint64_t until,
		 uint64_t *at, uint64_t *back, bool *moved)
{
	struct steady_bare how = { counter, code };
	const int reg = bare_register(counter);
	struct steady piece;
	uint64_t first, last, now;
	*at = *back = 0;
	*moved = false;
	if (steady_count(steady_bare_count, &how, &piece) || bare_read(counter, &first) ||
	    piece.value <= 0)
		return false;
	for (last = first; last - first < until; last = now) {
		steady_code_run(code);
		if (bare_read(counter, &now))
			return false;
		*moved |= bare_register(counter) != reg;
		const int64_t jump = (int64_t)(now - last);
		if (jump * 2 < piece.value) {
			*at = last;
			*back = (uint64_t)(piece.value - jump);
			return true;
		}
	}
	*at = last;
	return false;
}

bool steady_can(const struct subject *s)
{
	return s->event && s->event->kind == TARE_EVENT_PERF && !s->event->needs_engine && !s->absent &&
	       !s->dead && !s->unsteady;
}

char *steady_number(int64_t value, char *out, size_t size)
{
	char digits[24];
	const int n = snprintf(digits, sizeof(digits), "%jd", (intmax_t)value);
	size_t to = 0;
	for (int i = 0; i < n && to + 2 < size; i++) {
		if (i && digits[i - 1] != '-' && (n - i) % 3 == 0)
			out[to++] = ',';
		out[to++] = digits[i];
	}
	out[to] = '\0';
	return out;
}

char *steady_limit(const struct steady_code *code, double least, char *out, size_t size)
{
	char number[32];
	snprintf(out, size, "1 in %s", steady_number((int64_t)(code->events / least), number, sizeof(number)));
	return out;
}

bool steady_silent(struct verify *v, const char *experiment, const struct subject *s,
		   const struct steady_code *code, const struct steady *seen)
{
	char number[32];
	if (s->kind < 0 || seen->min || seen->max)
		return false;
	verify_find(v, experiment, s->name, TARE_VERDICT_INFO,
		    "inconclusive: the event counts nothing of code that has %s of it",
		    steady_number((int64_t)code->events, number, sizeof(number)));
	return true;
}

void steady_unsettled(struct verify *v, const char *experiment, const struct subject *s,
		      const struct steady *seen)
{
	char low[32], high[32];
	struct tare_verify_finding *const f = verify_find(
		v, experiment, s->name, TARE_VERDICT_INFO,
		"inconclusive: only %u of %u runs of the same code agree (%s to %s)", seen->agreeing,
		seen->runs, steady_number(seen->min, low, sizeof(low)),
		steady_number(seen->max, high, sizeof(high)));
	verify_number(f, "agreeing", seen->agreeing);
	verify_number(f, "runs", seen->runs);
}

void steady_judge(struct verify *v, const char *experiment, const struct subject *s,
		  const struct steady_code *code, const struct steady *one,
		  const struct steady *other, const char *where)
{
	char got[32], want[32], limit[48];
	struct tare_verify_finding *f;
	double least;
	const enum steady_compare is = steady_compare_means(one, other, code, &least);
	if (steady_silent(v, experiment, s, code, one))
		return;
	if (is == STEADY_UNSETTLED) {
		steady_unsettled(v, experiment, s, steady_is(one) ? other : one);
		return;
	}
	if (is == STEADY_SAME)
		f = verify_find(v, experiment, s->name, TARE_VERDICT_GOOD, "the same %s; %s would show",
				where, steady_limit(code, least, limit, sizeof(limit)));
	else
		f = verify_find(v, experiment, s->name, TARE_VERDICT_BAD, "%s %s, %s without",
				steady_number(steady_shown(other), got, sizeof(got)), where,
				steady_number(steady_shown(one), want, sizeof(want)));
	verify_number(f, "with", (double)steady_shown(other));
	verify_number(f, "without", (double)steady_shown(one));
	verify_number(f, "limit", least / code->events);
}

static void *do_nothing(void *arg)
{
	return arg;
}

void steady_have_threads(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, do_nothing, NULL) == 0)
		pthread_join(thread, NULL);
}
