/* Invariants between events: the table of relations, the batches, and the check.
 *
 * A relation is checked within one run of the command, by counts that were on counters all of the
 * time: so nothing but a wrong count can break it. Relations share a batch as long as their events
 * and the witness fit the counters.
 */
#include "options-copy.h"
#include "perf-facts.h"
#include "why.h"

#include <tare/invariants.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WITNESS "instructions:u"
#define WITNESS_CORRECTED "instructions-minus-irqs:u"
#define TERMS 4

enum needs {
	ANY,
	ENGINE,			/* on CPUs, the event of that name counts operations */
	COUNTERS,		/* says something about registers */
	INTEL_COUNTERS,		/* … and has Intel's codes */
	INTEL_CONDITIONAL,	/* … those of CPUs that tell conditional branches apart */
};

struct relation {
	const char *text, *why;
	const char *left[TERMS], *right[TERMS];	/* events to be summed; NULL at the end. A # after
						 * the name: once more, on a counter of its own */
	bool equal;
	enum needs needs;
};

#define AT_MOST(l, r, reason) \
	{ .text = l ":u <= " r ":u", .why = reason, .left = { l ":u" }, .right = { r ":u" } }
#define IN_ENGINE(l, reason) \
	{ .text = l ":u <= instructions:u", .why = reason, .left = { l ":u" },           \
	  .right = { "instructions:u" }, .needs = ENGINE }
#define TWICE(l) \
	{ .text = l ":u = " l ":u on another counter", .why = "two counters count the same", \
	  .left = { l ":u" }, .right = { l ":u#" }, .equal = true, .needs = COUNTERS }

/* Role names mean the same on every CPU. A relation with an event that the CPU does not have is not
 * checked. Calls and returns are not compared with each other: jumps out of functions, signal
 * handlers and new threads have one without the other. */
static const struct relation relations[] = {
	AT_MOST("branches", "instructions", "a branch is an instruction"),
	AT_MOST("cond-branches", "branches", "a conditional branch is a branch"),
	AT_MOST("taken-branches", "branches", "a branch that is taken is a branch"),
	{ .text = "branches:u <= taken-branches:u + cond-branches:u + far-transfers:u",
	  .why = "a near branch that is not taken is conditional",
	  .left = { "branches:u" },
	  .right = { "taken-branches:u", "cond-branches:u", "far-transfers:u" } },
	{ .text = "cond-taken:u + cond-not-taken:u = cond-branches:u",
	  .why = "a conditional branch is taken or not",
	  .left = { "r01c4:u", "r10c4:u" }, .right = { "r11c4:u" }, .equal = true,
	  .needs = INTEL_CONDITIONAL },
	AT_MOST("calls", "taken-branches", "a call is always taken"),
	AT_MOST("returns", "taken-branches", "a return is always taken"),
	AT_MOST("indirect-branches", "branches", "an indirect branch is a branch"),
	{ .text = "cond-branches:u + calls:u + returns:u <= branches:u",
	  .why = "these are different branches",
	  .left = { "cond-branches:u", "calls:u", "returns:u" }, .right = { "branches:u" } },
	AT_MOST("loads", "instructions", "an instruction loads or does not"),
	AT_MOST("stores", "instructions", "an instruction stores or does not"),
	AT_MOST("locked", "instructions", "a locked instruction is an instruction"),
	AT_MOST("x87", "instructions", "an x87 instruction is an instruction"),
	IN_ENGINE("far-transfers", "a far transfer is an instruction"),
	IN_ENGINE("syscalls", "a system call is an instruction"),
	IN_ENGINE("multiplies", "a multiplication is an instruction"),
	IN_ENGINE("divides", "a division is an instruction"),
	IN_ENGINE("fp", "a floating-point operation is an instruction"),
	IN_ENGINE("simd-int", "an integer SIMD operation is an instruction"),
	TWICE("instructions"),
	TWICE("branches"),
	TWICE("cond-branches"),
	{ .text = "instructions:u on the fixed counter = r00c0:u on a general one",
	  .why = "both count retired instructions", .left = { "instructions:u" },
	  .right = { "r00c0:u" }, .equal = true, .needs = INTEL_COUNTERS },
	{ .text = "instructions-minus-irqs:u <= instructions:u",
	  .why = "interrupts are only subtracted", .left = { "instructions-minus-irqs:u" },
	  .right = { "instructions:u" }, .needs = COUNTERS },
	{ .text = "branches-minus-irqs:u <= branches:u",
	  .why = "interrupts are only subtracted", .left = { "branches-minus-irqs:u" },
	  .right = { "branches:u" }, .needs = COUNTERS },
	{ .text = "instructions:u + instructions:k = instructions:uk",
	  .why = "an instruction is executed in one of two modes",
	  .left = { "instructions:u", "instructions:k" }, .right = { "instructions:uk" },
	  .equal = true, .needs = COUNTERS },
	{ .text = "branches:u + branches:k = branches:uk",
	  .why = "a branch is executed in one of two modes",
	  .left = { "branches:u", "branches:k" }, .right = { "branches:uk" }, .equal = true,
	  .needs = COUNTERS },
};
#define N_RELATIONS (sizeof(relations) / sizeof(relations[0]))
#define MAX_TERMS (N_RELATIONS * 2 * TERMS)

const char *tare_invariant_state_name(enum tare_invariant_state s)
{
	switch (s) {
	case TARE_INVARIANT_HOLDS: return "holds";
	case TARE_INVARIANT_BROKEN: return "broken";
	case TARE_INVARIANT_NOT_CHECKED: return "not checked";
	}
	return "unknown";
}

struct batch {
	const char *terms[MAX_TERMS];	/* names, with # */
	size_t n_terms;
	bool has[N_RELATIONS];
	bool corrected;			/* its witness is without interrupts */
};

struct check {
	struct tare_invariants_options o;
	struct tare_cpu cpu;
	struct tare_invariants *r;
	struct batch *batches;
	size_t n_batches;
};

/* ---- events ---- */

static void batch_add_term(struct batch *b, const char *name)
{
	for (size_t i = 0; i < b->n_terms; i++)
		if (!strcmp(b->terms[i], name))
			return;
	b->terms[b->n_terms++] = name;
}

static void batch_add(struct batch *b, size_t relation)
{
	const struct relation *const r = &relations[relation];
	for (size_t i = 0; i < TERMS && r->left[i]; i++)
		batch_add_term(b, r->left[i]);
	for (size_t i = 0; i < TERMS && r->right[i]; i++)
		batch_add_term(b, r->right[i]);
	b->has[relation] = true;
}

/* The events of a batch, the witness behind them. */
static int batch_parse(const struct check *c, const struct batch *b, struct tare_events **list,
		       struct tare_why *why)
{
	char text[MAX_TERMS * 40 + 60];
	size_t at = 0;
	for (size_t i = 0; i < b->n_terms; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%.*s,",
				       (int)strcspn(b->terms[i], "#"), b->terms[i]);
	snprintf(text + at, sizeof(text) - at, "%s", b->corrected ? WITNESS_CORRECTED : WITNESS);
	return tare_events_parse(text, &c->cpu, list, why);
}

static int not_checked(struct check *c, size_t relation, const char *reason)
{
	struct tare_invariant *const i = &c->r->list[relation];
	i->state = TARE_INVARIANT_NOT_CHECKED;
	if (!i->reason[0])
		snprintf(i->reason, sizeof(i->reason), "%s", reason);
	return 0;
}

static const char *lacks(const struct check *c, enum needs needs)
{
	const bool soft = c->r->backend == TARE_BACKEND_SOFT;
	const struct tare_event_row *const cond = tare_cpu_event(c->cpu.uarch,
								 TARE_ROLE_COND_BRANCHES);
	switch (needs) {
	case ANY:
		return NULL;
	case ENGINE:
		return soft ? NULL : "the CPUs' events of this name count something else";
	case INTEL_CONDITIONAL:
		if (!cond || cond->raw != 0x11c4 || c->cpu.vendor != TARE_VENDOR_INTEL)
			return "this CPU has no such events";
		if (c->r->virtual_pmu)
			return "the virtual PMU has no such events";
		break;
	case INTEL_COUNTERS:
		if (c->cpu.vendor != TARE_VENDOR_INTEL)
			return "this CPU has no fixed counter of instructions";
		break;
	case COUNTERS:
		break;
	}
	return soft ? "the engine has no registers, interrupts or kernel mode" : NULL;
}

/* Can this relation be counted here, alone? */
static int try_relation(struct check *c, size_t relation)
{
	struct batch *const one = calloc(1, sizeof(*one));
	struct tare_events *list = NULL;
	struct tare_why why = { 0 };
	const char *const lack = lacks(c, relations[relation].needs);
	char text[256];
	if (!one)
		return TARE_E_NOMEM;
	if (lack) {
		free(one);
		return not_checked(c, relation, lack);
	}
	batch_add(one, relation);
	int err = batch_parse(c, one, &list, &why);
	if (!err)
		err = tare_backend_for(list, c->r->backend, NULL, 0, &why);
	if (err >= 0 && c->r->backend == TARE_BACKEND_HW) {
		err = tare_events_fit(list, &why);
		if (err == 0)
			err = why.code;
		else if (err > 0)
			err = 0;
	}
	tare_events_free(list);
	free(one);
	if (err >= 0) {
		c->r->list[relation].state = TARE_INVARIANT_HOLDS;
		return 0;
	}
	if (why.code == TARE_E_EVENT_NOT_ON_CPU)
		snprintf(text, sizeof(text), "this CPU has no event %.*s",
			 (int)strcspn(why.what, ":"), why.what);
	else
		snprintf(text, sizeof(text), "%.150s: %.100s", why.what,
			 tare_err_sentence(why.code));
	return not_checked(c, relation, text);
}

/* Do the events of the batch fit the counters together? */
static bool batch_fits(const struct check *c, const struct batch *b)
{
	struct tare_events *list;
	struct tare_why why;
	if (c->r->backend == TARE_BACKEND_SOFT)
		return true;
	if (batch_parse(c, b, &list, &why) < 0)
		return false;
	const bool fits = tare_events_fit(list, &why) == 1;
	tare_events_free(list);
	return fits;
}

/* Interrupts come as they like, and what a CPU counts of them is not the program's: the witness is without
 * them where that leaves room for two relations or more. The others then have no witness that can be compared. */
static void choose_witness(struct check *c, struct batch *one)
{
	size_t fit = 0, all = 0;
	for (size_t i = 0; c->r->backend != TARE_BACKEND_SOFT && i < N_RELATIONS; i++) {
		if (c->r->list[i].state == TARE_INVARIANT_NOT_CHECKED)
			continue;
		*one = (struct batch){ .corrected = true };
		batch_add(one, i);
		fit += batch_fits(c, one);
		all++;
	}
	if (fit >= 2 && 2 * fit > all)
		c->r->witness = WITNESS_CORRECTED;
}

static bool has_corrected_witness(const struct check *c)
{
	return !strcmp(c->r->witness, WITNESS_CORRECTED);
}

static int plan(struct check *c)
{
	struct batch *const next = calloc(1, sizeof(*next));
	c->batches = calloc(N_RELATIONS, sizeof(*c->batches));
	if (!next || !c->batches) {
		free(next);
		return TARE_E_NOMEM;
	}
	choose_witness(c, next);
	for (size_t i = 0; i < N_RELATIONS; i++) {
		if (c->r->list[i].state == TARE_INVARIANT_NOT_CHECKED)
			continue;
		size_t b = 0;
		for (; b < c->n_batches; b++) {
			*next = c->batches[b];
			batch_add(next, i);
			if (batch_fits(c, next))
				break;
		}
		if (b == c->n_batches) {
			*next = (struct batch){ .corrected = has_corrected_witness(c) };
			batch_add(next, i);
			next->corrected = next->corrected && batch_fits(c, next);
			c->r->compared += next->corrected == has_corrected_witness(c);
			c->n_batches++;
		}
		c->batches[b] = *next;
	}
	free(next);
	return 0;
}

/* ---- counting ---- */

static const struct tare_count *count_of(const struct batch *b, const struct tare_measurement *m,
					 const char *term)
{
	for (size_t i = 0; i < b->n_terms; i++)
		if (!strcmp(b->terms[i], term))
			return &m->counts[i];
	return NULL;
}

/* The sum of the terms. NULL, or why there is none. */
static const char *sum(const struct batch *b, const struct tare_measurement *m,
		       const char *const *terms, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < TERMS && terms[i]; i++) {
		const struct tare_count *const c = count_of(b, m, terms[i]);
		if (!c || c->state != TARE_COUNT_OK)
			return c ? tare_err_sentence(c->code) : "not counted";
		if (c->provenance == TARE_PROV_SCALED)
			return "its counter was taken away for part of the time";
		if (c->lower_bound || c->uncounted)
			return "part of the command was not counted";
		*out += c->value;
	}
	return NULL;
}

static void judge(struct check *c, size_t relation, const struct batch *b,
		  const struct tare_measurement *m)
{
	const struct relation *const r = &relations[relation];
	struct tare_invariant *const i = &c->r->list[relation];
	uint64_t left, right;
	const char *missing = sum(b, m, r->left, &left);
	if (!missing)
		missing = sum(b, m, r->right, &right);
	if (missing) {
		not_checked(c, relation, missing);
		return;
	}
	const uint64_t excess = left > right ? left - right : r->equal ? right - left : 0;
	if (!excess && i->broken_runs)
		return;				/* the worst run stays */
	i->broken_runs += excess != 0;
	if (excess && excess < i->excess)
		return;
	i->left = left;
	i->right = right;
	i->excess = excess;
}

static void note_witness(struct check *c, const struct tare_count *w, uint64_t *first)
{
	if (w->state != TARE_COUNT_OK)
		return;
	if (*first == UINT64_MAX)
		*first = w->value;
	c->r->witnesses_agree &= *first == w->value;
	if (w->value < c->r->least_witness)
		c->r->least_witness = w->value;
	if (w->value > c->r->most_witness)
		c->r->most_witness = w->value;
}

static int run_batch(struct check *c, const struct batch *b, uint64_t *witness,
		     struct tare_why *why)
{
	struct tare_events *list;
	struct tare_measurement *m = NULL;
	int err = batch_parse(c, b, &list, why);
	if (err)
		return err;
	const struct tare_measure_options o = {
		.size = sizeof(o), .argv = c->o.argv, .events = list, .cpu = &c->cpu,
		.backend = c->r->backend, .aslr = c->o.aslr, .pinned = true, .stop = c->o.stop,
	};
	err = tare_measure(&o, &m, why);
	if (!err && m->stopped)
		err = why_set(why, TARE_E_TIMEOUT, "verify: stopped before its end");
	if (!err) {
		for (size_t i = 0; i < N_RELATIONS; i++)
			if (b->has[i] && c->r->list[i].state != TARE_INVARIANT_NOT_CHECKED)
				judge(c, i, b, m);
		if (b->corrected == has_corrected_witness(c))
			note_witness(c, &m->counts[m->n_counts - 1], witness);
		c->r->simulated |= m->counts[m->n_counts - 1].provenance == TARE_PROV_SIMULATED;
		if (!c->r->exit_status)
			c->r->exit_status = m->exit_status;
	}
	tare_measurement_free(m);
	tare_events_free(list);
	return err;
}

static int run_all(struct check *c, struct tare_why *why)
{
	int err = 0;
	for (unsigned run = 0; !err && run < c->r->runs; run++) {
		uint64_t witness = UINT64_MAX;
		for (size_t b = 0; !err && b < c->n_batches; b++)
			err = run_batch(c, &c->batches[b], &witness, why);
	}
	for (size_t i = 0; i < N_RELATIONS; i++) {
		struct tare_invariant *const v = &c->r->list[i];
		if (v->state == TARE_INVARIANT_NOT_CHECKED)
			continue;
		c->r->checked++;
		if (v->broken_runs)
			v->state = TARE_INVARIANT_BROKEN;
		c->r->broken += v->broken_runs != 0;
	}
	return err;
}

/* ---- the whole ---- */

static int prepare(struct check *c, struct tare_why *why)
{
	struct tare_events *list;
	int err = tare_events_parse(WITNESS, &c->cpu, &list, why);
	if (err)
		return err;
	err = tare_backend_for(list, c->o.backend, NULL, 0, why);
	tare_events_free(list);
	if (err < 0)
		return err;
	c->r->backend = (enum tare_backend)err;
	c->r->virtual_pmu = perf_is_virtual("");
	for (size_t i = 0; i < N_RELATIONS; i++) {
		c->r->list[i].text = relations[i].text;
		c->r->list[i].why = relations[i].why;
		c->r->list[i].equal = relations[i].equal;
		err = try_relation(c, i);
		if (err)
			return why_set(why, err, "invariants");
	}
	err = plan(c);
	return err ? why_set(why, err, "invariants") : 0;
}

int tare_invariants_check(const struct tare_invariants_options *o, struct tare_invariants **result,
			  struct tare_why *why)
{
	struct check c = { 0 };
	int err = options_copy(&c.o, sizeof(c.o), o, "tare_invariants_options", why);
	if (!result)
		return why_set(why, TARE_E_INVALID, "tare_invariants_check: result is NULL");
	*result = NULL;
	if (err)
		return err;
	if (!c.o.argv || !c.o.argv[0])
		return why_set(why, TARE_E_INVALID, "tare_invariants_check: no command");
	c.r = calloc(1, sizeof(*c.r));
	if (c.r)
		c.r->list = calloc(N_RELATIONS, sizeof(*c.r->list));
	if (!c.r || !c.r->list) {
		tare_invariants_free(c.r);
		return why_set(why, TARE_E_NOMEM, "invariants");
	}
	c.r->n = N_RELATIONS;
	c.r->runs = c.o.runs ? c.o.runs : 1;
	c.r->witnesses_agree = true;
	c.r->witness = WITNESS;
	c.r->least_witness = UINT64_MAX;
	tare_cpu_detect(&c.cpu);
	err = prepare(&c, why);
	c.r->batches = (unsigned)c.n_batches;
	if (!err)
		err = run_all(&c, why);
	free(c.batches);
	if (err) {
		tare_invariants_free(c.r);
		return err;
	}
	*result = c.r;
	return 0;
}

void tare_invariants_free(struct tare_invariants *r)
{
	if (!r)
		return;
	free(r->list);
	free(r);
}
