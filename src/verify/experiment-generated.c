/* The experiment `generated`: every instruction that this CPU runs, in random sequences whose counts
 * are known (generated.h).
 *
 * The kernels have the instructions that people thought of. Here none is left out: an opcode that an
 * event counts twice, or not at all, is found wherever it is in the decoder's table. A sequence that
 * deviates is cut in two again and again. Where neither half deviates and the whole does, single
 * instructions are left out as long as the rest deviates.
 */
#include "experiment.h"
#include "generated.h"

#include "why.h"

#include <tare/code.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOPS 128u		/* passes of a sequence: a deviation in each makes so many */
#define TRIES 3			/* runs of a sequence; their median counts */
#define SMALLEST 0.25		/* deviation per pass that is looked into */
#define FIRST_SEQUENCES 16	/* that tell whether opcodes are to blame */
#define SLACK 4.0		/* in a run of known code: interrupts between two reads */
#define MOST_CULPRITS 32	/* opcodes that are named for one event */
#define QUICK_PART 10		/* --quick: one of so many forms */

struct search {
	struct verify *v;
	struct subject *s;
	struct generated *g;
	struct trial trial;
	int64_t without;		/* what a run without passes counts */
	double frame;			/* what the loop around the forms deviates by */
	double emms;			/* … and an emms, which stands behind many of them */
	unsigned culprits;		/* forms that deviate */
	unsigned named;			/* … and opcodes, several of which are an opcode's */
	unsigned sets;			/* of instructions that deviate only together */
	unsigned replays;		/* … at random, after locked instructions */
	unsigned fractions;		/* forms that deviate by no whole number */
	size_t *order;			/* the forms that are tried */
	size_t forms;			/* … so many */
	bool no_fp;			/* floating point is left out */
	size_t sequences, deviating;
	bool everywhere;		/* nearly all sequences deviate: given up */
};

struct run_of {
	struct generated *g;
	uint64_t loops;
	void *memory;
};

static void run_sequence(void *arg)
{
	const struct run_of *const r = arg;
	generated_run(r->g, r->loops, r->memory);
}

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

/* The median of several runs: an interrupt, or a fault, is in one of them. */
static int count_passes(struct search *q, uint64_t loops, int64_t *count, struct tare_why *why)
{
	int64_t counts[TRIES];
	struct run_of r = { q->g, loops, q->v->memory };
	const struct trial_code code = { .function = run_sequence, .argument = &r };
	for (int i = 0; i < TRIES; i++) {
		const int err = trial_run(&q->trial, &code, &counts[i], why);
		if (err)
			return err;
		counts[i] = verify_unwrapped(q->v, counts[i]);
	}
	qsort(counts, TRIES, sizeof(*counts), compare);
	*count = counts[TRIES / 2];
	return 0;
}

/* A loop of n passes jumps back n - 1 times; one without a pass jumps over the loop. */
static int64_t expected_of(const uint64_t *each, int kind, uint64_t loops)
{
	return (int64_t)(each[kind] * loops) - (kind == KERNEL_TAKEN_BRANCHES ? 2 : 0);
}

/* What is known of a sequence: its loop, and the emms of its forms. */
static double known_of(const struct search *q, const size_t *which, size_t n)
{
	double known = q->frame;
	for (size_t i = 0; i < n; i++) {
		const struct generated_form *const f = &q->g->forms[which[i]];
		known += f->own_size < f->size || which[i] == q->g->emms ? q->emms : 0;
	}
	return known;
}

/* For each pass, without what is known already. */
static int deviation(struct search *q, const size_t *which, size_t n, double *out, struct tare_why *why)
{
	uint64_t each[KERNEL_EVENTS];
	int64_t count;
	generated_choose(q->g, which, n, each);
	const int err = count_passes(q, LOOPS, &count, why);
	if (err)
		return err;
	*out = (double)(count - q->without - expected_of(each, q->s->kind, LOOPS)) / LOOPS -
	       known_of(q, which, n);
	return 0;
}

/* ---- what deviates ---- */

/* After some locked instructions a CPU counts again what came before them: the experiment on instructions
 * reports that once. */
static bool is_replay(struct search *q, const size_t *which, size_t n, double amount)
{
	size_t locked = 0;
	for (size_t i = 0; i < n; i++)
		locked += q->g->forms[which[i]].counts[KERNEL_LOCKED];
	if (!locked || fabs(amount - round(amount)) <= 1.0 / LOOPS)
		return false;
	q->replays++;
	return true;
}

static void hex_of(const struct generated_form *f, char *out, size_t size)
{
	out[0] = '\0';
	for (unsigned i = 0; i < f->own_size && 2 * i + 3 <= size; i++)
		snprintf(out + 2 * i, 3, "%02x", f->bytes[i]);
}

/* Have the kernels shown it already, or another width of the same opcode? */
static bool known(const struct subject *s, const char *opcode)
{
	for (size_t i = 0; i < s->n_causes; i++) {
		const struct tare_verify_cause *const c = &s->causes[i];
		uint8_t bytes[sizeof(c->code) / 2];
		char name[32];
		size_t n = 0;
		unsigned byte;
		while (sscanf(c->code + 2 * n, "%2x", &byte) == 1 && n < sizeof(bytes))
			bytes[n++] = (uint8_t)byte;
		if (n && !strcmp(tare_code_opcode_name(bytes, n, name, sizeof(name)), opcode))
			return true;
	}
	return false;
}

static void name_culprit(struct search *q, size_t form, double amount)
{
	const struct generated_form *const f = &q->g->forms[form];
	char opcode[32];
	if (is_replay(q, &form, 1, amount))
		return;
	/* an interrupt or two are in the median at most */
	const double off = fabs(amount - round(amount));
	q->fractions += off >= SMALLEST / 2;
	amount = off < SMALLEST / 2 ? round(amount) : amount;
	tare_code_opcode_name(f->bytes, f->size, opcode, sizeof(opcode));
	q->culprits++;
	if (known(q->s, opcode))
		return;
	q->named++;
	struct tare_verify_cause *const c =
		verify_cause(q->s, amount > 0 ? TARE_CAUSE_OVERCOUNTED : TARE_CAUSE_UNDERCOUNTED, amount,
			     fmax(off, 1.0 / LOOPS), "execution");
	if (!c)
		return;
	snprintf(c->instruction, sizeof(c->instruction), "%s", opcode);
	snprintf(c->kernel, sizeof(c->kernel), "generated");
	snprintf(c->source, sizeof(c->source), "generated kernels");
	hex_of(f, c->code, sizeof(c->code));
}

/* A sequence that deviates as a whole only: what cannot be left out of it. */
static int shorten(struct search *q, size_t *which, size_t n, double whole, struct tare_why *why)
{
	for (size_t i = 0; i < n && n > 1;) {
		size_t rest[GENERATED_LONGEST];
		double d;
		memcpy(rest, which, i * sizeof(*rest));
		memcpy(rest + i, which + i + 1, (n - i - 1) * sizeof(*rest));
		const int err = deviation(q, rest, n - 1, &d, why);
		if (err)
			return err;
		if (fabs(d) < SMALLEST) {
			i++;			/* it is needed */
			continue;
		}
		memcpy(which, rest, --n * sizeof(*which));
		whole = d;
	}
	if (n == 1) {
		name_culprit(q, which[0], whole);
		return 0;
	}
	if (is_replay(q, which, n, whole))
		return 0;
	struct tare_verify_cause *const c =
		verify_cause(q->s, whole > 0 ? TARE_CAUSE_OVERCOUNTED : TARE_CAUSE_UNDERCOUNTED, whole,
			     1.0 / LOOPS, "execution");
	char text[sizeof(c->instruction)] = "";
	if (!c)
		return why_set(why, TARE_E_NOMEM, "causes");
	for (size_t i = 0; i < n && strlen(text) + 1 < sizeof(text); i++) {
		char opcode[32];
		const struct generated_form *const f = &q->g->forms[which[i]];
		const size_t at = strlen(text);
		tare_code_opcode_name(f->bytes, f->size, opcode, sizeof(opcode));
		snprintf(text + at, sizeof(text) - at, "%s%s", i ? " + " : "", opcode);
	}
	memcpy(c->instruction, text, sizeof(text));
	snprintf(c->kernel, sizeof(c->kernel), "generated");
	snprintf(c->source, sizeof(c->source), "%zu generated instructions, only together", n);
	q->sets++;
	return 0;
}

/* `whole`: what the sequence deviates by. */
static int search_in(struct search *q, const size_t *which, size_t n, double whole, struct tare_why *why)
{
	if (fabs(whole) < SMALLEST || q->named + q->sets >= MOST_CULPRITS)
		return 0;
	if (n == 1) {
		name_culprit(q, which[0], whole);
		return 0;
	}
	double part[2];
	const size_t half = n / 2;
	int err = deviation(q, which, half, &part[0], why);
	if (!err)
		err = deviation(q, which + half, n - half, &part[1], why);
	if (err)
		return err;
	if (fabs(part[0]) < SMALLEST && fabs(part[1]) < SMALLEST) {
		size_t copy[GENERATED_LONGEST];
		memcpy(copy, which, n * sizeof(*copy));
		return shorten(q, copy, n, whole, why);
	}
	err = search_in(q, which, half, part[0], why);
	return err ? err : search_in(q, which + half, n - half, part[1], why);
}

/* ---- the experiment ---- */

/* Known code, interrupts and page faults subtracted: opcodes add the same in each run, a whole number in each
 * pass. */
static bool only_opcodes_deviate(const struct search *q)
{
	const struct verify *const v = q->v;
	for (size_t k = 0; k < v->n_kernels; k++) {
		const double passes = (double)v->loops[k];
		double least = INFINITY, most = -INFINITY;
		for (unsigned r = 0; r < v->runs; r++) {
			const double rest = verify_rest(v, q->s, &q->s->seen[k * v->runs + r]);
			least = fmin(least, rest);
			most = fmax(most, rest);
		}
		const double middle = (least + most) / 2;
		if (most - least > SLACK || fabs(middle - round(middle / passes) * passes) > SLACK)
			return false;
	}
	return true;
}

/* Nearly all of the first sequences deviate. Either the event counts a whole class of opcodes, each of which
 * adds a whole number, as the conditional branches of Nehalem do; or it deviates for another reason, and no
 * opcode is to blame. */
static bool is_everywhere(const struct search *q)
{
	const bool opcodes = q->culprits && !q->fractions && !q->sets && !q->replays && !q->frame &&
			     only_opcodes_deviate(q);
	return q->sequences == FIRST_SEQUENCES && q->deviating > FIRST_SEQUENCES * 3 / 4 && !opcodes;
}

static int walk(struct search *q, struct tare_why *why)
{
	size_t which[GENERATED_LONGEST];
	for (size_t at = 0; at < q->forms;) {
		size_t n = 0;
		double d;
		while (n < GENERATED_LONGEST && at < q->forms)
			which[n++] = q->order[at++];
		int err = deviation(q, which, n, &d, why);
		q->sequences++;
		q->deviating += fabs(d) >= SMALLEST;
		if (!err)
			err = search_in(q, which, n, d, why);
		q->everywhere = is_everywhere(q);
		if (!err && q->everywhere)
			return 0;
		if (!err)
			err = verify_stopped(q->v, why);
		if (err)
			return err;
	}
	return 0;
}

static void report(struct search *q)
{
	struct tare_verify_finding *f;
	char together[64] = "", again[64] = "", forms[64];
	if (q->no_fp)
		snprintf(forms, sizeof(forms), "%zu of %zu instructions (no floating point)", q->forms,
			 q->g->n_forms);
	else if (q->forms < q->g->n_forms)
		snprintf(forms, sizeof(forms), "%zu of %zu instructions", q->forms, q->g->n_forms);
	else
		snprintf(forms, sizeof(forms), "%zu instructions", q->forms);
	if (q->sets)
		snprintf(together, sizeof(together), ", and %u set%s only together", q->sets,
			 q->sets == 1 ? "" : "s");
	if (q->replays)
		snprintf(again, sizeof(again), "; locked instructions at random");
	if (q->everywhere)
		f = verify_find(q->v, "generated", q->s->name, TARE_VERDICT_CAVEAT,
				"%zu of the first %zu sequences deviate: not single opcodes", q->deviating,
				q->sequences);
	else if (q->culprits || q->sets)
		f = verify_find(q->v, "generated", q->s->name, TARE_VERDICT_CAVEAT,
				"%s%u deviate%s, of %s%s: see its causes",
				q->named + q->sets >= MOST_CULPRITS ? "at least " : "", q->culprits,
				together, forms, again);
	else if (q->replays)
		f = verify_find(q->v, "generated", q->s->name, TARE_VERDICT_CAVEAT,
				"locked instructions deviate at random; the others of %s are as expected",
				forms);
	else
		f = verify_find(q->v, "generated", q->s->name, TARE_VERDICT_GOOD,
				"%zu sequences of %s as expected", q->sequences, forms);
	verify_number(f, "forms", (double)q->forms);
	verify_number(f, "tried", (double)q->g->n_tried);
	verify_number(f, "sequences", (double)q->sequences);
	verify_number(f, "deviating", (double)q->deviating);
	verify_number(f, "instructions", q->culprits);
	verify_number(f, "smallest", SMALLEST);
}

/* What is not traced to instructions leaves no verdict. */
static void find_doubts(struct search *q)
{
	struct subject *const s = q->s;
	char names[120];
	if (q->everywhere)
		verify_doubt(s, "%zu of the first %zu generated sequences deviate, and not for single "
			     "instructions%s%s", q->deviating, q->sequences,
			     verify_left_out(q->v, names, sizeof(names))[0] ? "; not tried: " : "", names);
	if (fabs(q->frame) >= SMALLEST && !q->culprits && !s->has_end)
		verify_doubt(s, "a loop without generated instructions deviates by %+.3g in each pass", q->frame);
	for (size_t i = 0; q->replays && i < s->n_causes; i++)
		if (!strcmp(s->causes[i].instruction, "locked instructions"))
			return;
	if (q->replays)
		verify_doubt(s, "after locked instructions it counts at random; `instructions` looks into that");
}

/* The loop itself, and the emms that is behind many forms. An emms that deviates is named at once: with
 * --quick its turn may not come. */
static int measure_frame(struct search *q, struct tare_why *why)
{
	double frame, emms = 0;
	int err = deviation(q, NULL, 0, &frame, why);
	if (err)
		return err;
	q->frame = fabs(frame) < SMALLEST ? 0 : frame;
	if (q->g->emms < q->g->n_forms)
		err = deviation(q, &q->g->emms, 1, &emms, why);
	if (err || fabs(emms) < SMALLEST)
		return err;
	q->emms = emms;
	name_culprit(q, q->g->emms, emms);
	return 0;
}

/* Whether an instruction of floating point raises an exception depends on what came before it: they are left
 * out where the event counts exceptions. */
static int choose_forms(struct search *q, struct tare_why *why)
{
	const struct generated *const g = q->g;
	const size_t most = g->n_forms / (q->v->o.quick ? QUICK_PART : 1);
	q->no_fp = q->s->per_exception[0] != 0 || q->s->per_exception[1] != 0;
	q->order = calloc(g->n_forms + 1, sizeof(*q->order));
	if (!q->order)
		return why_set(why, TARE_E_NOMEM, "generated kernels");
	for (size_t i = 0; i < most; i++) {
		const uint8_t *const counts = g->forms[i].counts;
		if (!q->no_fp || (!counts[KERNEL_X87] && !counts[KERNEL_FP]))
			q->order[q->forms++] = i;
	}
	return 0;
}

static int examine(struct verify *v, struct subject *s, struct generated *g, struct tare_why *why)
{
	struct search q = { .v = v, .s = s, .g = g };
	const size_t causes = s->n_causes;
	const struct trial_options o = { .events = &s->event, .n = 1, .filler = v->filler,
					 .fillers = v->fillers };
	uint64_t each[KERNEL_EVENTS];
	int err = choose_forms(&q, why);
	if (!err)
		err = trial_open(&o, &q.trial, why);
	if (err == TARE_E_NOMEM) {
		free(q.order);
		return err;
	}
	if (err) {
		free(q.order);
		verify_find(v, "generated", s->name, TARE_VERDICT_INFO, "not run: %s", why->what);
		return 0;
	}
	generated_choose(g, NULL, 0, each);
	err = count_passes(&q, 0, &q.without, why);	/* pages that a child shared are written first */
	if (!err)
		err = count_passes(&q, 0, &q.without, why);
	if (!err)
		err = measure_frame(&q, why);
	if (!err)
		err = walk(&q, why);
	trial_close(&q.trial);
	free(q.order);
	if (q.everywhere)		/* what was found before is nothing of these instructions' */
		s->n_causes = causes;
	if (verify_is_lost(err)) {
		verify_find(v, "generated", s->name, TARE_VERDICT_INFO,
			    "inconclusive: the counter was taken away in the middle");
		verify_doubt(s, "generated instructions could not be tried: %s", why->what);
		return 0;
	}
	if (!err) {
		report(&q);
		find_doubts(&q);
	}
	return err;
}

/* The next sequence of the seed's order; false: there is none. */
static bool next_sequence(struct generated *g, size_t *at, uint64_t *each)
{
	size_t which[GENERATED_LONGEST], n = 0;
	while (n < GENERATED_LONGEST && *at < g->n_forms)
		which[n++] = (*at)++;
	generated_choose(g, which, n, each);
	return n;
}

#define ENGINE_LOOPS 8u		/* the engine is exact: one pass would do */

static void report_engine(struct verify *v, const struct subject *s, struct generated *g, int64_t count)
{
	size_t at = 0, sequences = 0;
	uint64_t each[KERNEL_EVENTS];
	int64_t expected = 0;
	for (; next_sequence(g, &at, each); sequences++)
		expected += expected_of(each, s->kind, ENGINE_LOOPS);
	struct tare_verify_finding *const f =
		verify_find(v, "generated", s->name,
			    count == expected ? TARE_VERDICT_GOOD : TARE_VERDICT_BAD,
			    "%zu sequences of %zu instructions: %+" PRId64 " from what is expected",
			    sequences, g->n_forms, count - expected);
	verify_number(f, "forms", (double)g->n_forms);
	verify_number(f, "tried", (double)g->n_tried);
	verify_number(f, "sequences", (double)sequences);
	verify_number(f, "difference", (double)(count - expected));
}

/* In the engine all sequences run in one child (generated_child), and many events are counted at
 * once. */
static int examine_engine(struct verify *v, struct generated *g, struct tare_why *why)
{
	char name[48];
	snprintf(name, sizeof(name), GENERATED_NAME "%" PRIu64, v->o.seed);
	const struct kernel k = { .name = name };
	const struct trial_code code = { .kernel = &k, .loops = ENGINE_LOOPS };
	int err = 0;
	for (size_t i = 0; i < v->n_subjects && !err;) {
		const struct tare_event *events[TRIAL_EVENTS];
		const struct subject *of[TRIAL_EVENTS];
		int64_t counts[TRIAL_EVENTS];
		struct trial t;
		size_t n = 0;
		for (; i < v->n_subjects && n < TRIAL_EVENTS; i++) {
			if (!v->subjects[i].event || v->subjects[i].kind < 0)
				continue;
			of[n] = &v->subjects[i];
			events[n++] = v->subjects[i].event;
		}
		const struct trial_options o = { .events = events, .n = n, .soft = true,
						 .child = v->o.child };
		if (!n)
			break;
		err = trial_open(&o, &t, why);
		if (err)
			break;
		err = trial_run(&t, &code, counts, why);
		trial_close(&t);
		for (size_t e = 0; e < n && !err; e++)
			report_engine(v, of[e], g, counts[e]);
	}
	return err;
}

int generated_child(uint64_t seed, uint64_t loops, struct tare_why *why)
{
	struct generated g;
	size_t at = 0;
	uint64_t each[KERNEL_EVENTS];
	void *const memory = kernel_memory_open(why);
	const int err = memory ? generated_open(seed, &g, why) : TARE_E_NOMEM;
	while (!err && next_sequence(&g, &at, each))
		generated_run(&g, loops, memory);
	if (!err)
		generated_close(&g);
	kernel_memory_close(memory);
	return err;
}

static int run(struct verify *v, struct tare_why *why)
{
	struct generated g;
	struct tare_why cannot = { 0 };
	int err = verify_progress(v, "instructions that this CPU runs");
	if (err)
		return verify_stopped(v, why);
	if (generated_open(v->o.seed, &g, &cannot) < 0) {
		verify_find(v, "generated", NULL, TARE_VERDICT_INFO, "not run: %s", cannot.what);
		return 0;
	}
	if (v->soft)
		err = examine_engine(v, &g, why);
	for (size_t i = 0; !err && !v->soft && i < v->n_subjects; i++) {
		struct subject *const s = &v->subjects[i];
		if (!s->event || s->absent || s->kind < 0 || s->dead || s->counts_uops)
			continue;
		verify_progress(v, "%zu generated instructions: %s", g.n_forms, s->name);
		err = examine(v, s, &g, why);
	}
	generated_close(&g);
	return err;
}

const struct experiment experiment_generated = {
	.name = "generated",
	.about = "every instruction that this CPU runs, in random sequences",
	.cause = true,
	.with = (const char *const[]){ "page-faults", "interrupts", "exceptions", NULL },
	.run = run,
};
