/* A profile in which calls go past the stubs of PLTs: what a stub counted is its caller's, and the function behind
 * it is called by the caller.
 *
 * A stub is entered by a call and leaves by a jump: to the function, or, before a lazily bound slot is resolved,
 * through the PLT's first entry to the dynamic linker, which jumps to the function when it has found it. In the
 * profile that is made here the caller calls the function in both cases, and the dynamic linker in the second one.
 * A stub whose callers are not all known is left as it is.
 *
 * In the contexts of a recursion, a jump that is in the path already leads to a context with the parent of what jumped
 * (TARE_CODEPROFILE_RECURSION): who jumped is then looked for among the contexts with the same parent.
 */
#include "codeprofile-room.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PASSED 6		/* stubs and the dynamic linker, behind each other */

struct folding {
	const struct tare_codeprofile *p;
	enum passage {
		PASSAGE_NONE,
		PASSAGE_STUB,		/* it is left out */
		PASSAGE_LINKER,		/* its jumps lead to functions that stubs have asked it for */
	} *passage;			/* of each function */
	struct places again;		/* contexts of these that are RECURSION, by parent and function, … */
	bool *several;			/* … and of each whether there are more of these */
	uint32_t *to;			/* of each context: its place among those that stay */
	struct tare_codeprofile_context *contexts;
	struct tare_codeprofile_insn *insns;
	int64_t *counts;		/* of the instructions */
};

static bool is_stub(const struct folding *f, const struct tare_codeprofile_context *c)
{
	return f->passage[c->function] == PASSAGE_STUB;
}

/* Contexts of other threads than those of the profile are there, too. */
static bool is_used(const struct tare_codeprofile *p, const struct tare_codeprofile_context *c)
{
	for (size_t e = 0; e < p->n_events; e++)
		if (c->counts[e])
			return true;
	return c->calls;
}

/* ---- where stubs are called from ---- */

struct pair {
	const struct tare_codeprofile *p;
	uint32_t parent, function;
};

static bool is_pair(const void *arg, uint32_t place)
{
	const struct pair *const k = arg;
	const struct tare_codeprofile_context *const c = &k->p->contexts[place];
	return c->parent == k->parent && c->function == k->function;
}

static uint32_t *find_again(struct folding *f, uint32_t parent, uint32_t function)
{
	const struct pair k = { f->p, parent, function };
	return places_find(&f->again, hash_u64(hash_u64(HASH_START, parent), function), is_pair, &k);
}

/* False: out of memory. */
static bool note_recursions(struct folding *f)
{
	for (uint32_t i = 0; i < f->p->n_contexts; i++) {
		const struct tare_codeprofile_context *const c = &f->p->contexts[i];
		if (c->entry != TARE_CODEPROFILE_RECURSION || !f->passage[c->function] || !is_used(f->p, c))
			continue;
		uint32_t *const slot = find_again(f, c->parent, c->function);
		if (!slot)
			return false;
		if (*slot) {
			f->several[*slot - 1] = true;
		} else {
			*slot = i + 1;
			f->again.n++;
		}
	}
	return true;
}

/* The context of the stub, or of the dynamic linker, whose jump leads to context c. NONE: it is not known. */
static uint32_t jumped_from(struct folding *f, const struct tare_codeprofile_context *c)
{
	const uint32_t function = f->p->insns[c->site].function;
	if (c->parent == NONE)
		return NONE;
	if (f->p->contexts[c->parent].function == function)
		return c->parent;
	const uint32_t *const slot = find_again(f, c->parent, function);
	return slot && *slot && !f->several[*slot - 1] ? *slot - 1 : NONE;
}

/* The dynamic linker calls functions of its own, too. */
static bool is_passed(const struct folding *f, const struct tare_codeprofile_context *c)
{
	const enum passage by = c->site == NONE ? PASSAGE_NONE : f->passage[f->p->insns[c->site].function];
	return by == PASSAGE_STUB || (by == PASSAGE_LINKER && codeprofile_is_tail(f->p, c));
}

/* From where context c is entered, when what is passed is left out. False: it is not known. */
static bool entered_from(struct folding *f, const struct tare_codeprofile_context *c,
			 struct tare_codeprofile_context *from)
{
	*from = *c;
	for (unsigned i = 0; is_passed(f, from); i++) {
		const uint32_t by = i < MOST_PASSED ? jumped_from(f, from) : NONE;
		if (by == NONE)
			return false;
		from->parent = f->p->contexts[by].parent;
		from->site = f->p->contexts[by].site;
		if (from->entry != TARE_CODEPROFILE_RECURSION)
			from->entry = f->p->contexts[by].entry;
	}
	return true;
}

/* The context, or the nearest one above it that stays. (Below a recursion, a context can have that of a stub as its
 * parent, because the function behind the stub was on the stack already.) */
static uint32_t staying(struct folding *f, uint32_t context)
{
	while (context != NONE && is_stub(f, &f->p->contexts[context])) {
		struct tare_codeprofile_context from;
		entered_from(f, &f->p->contexts[context], &from);
		context = from.parent;
	}
	return context;
}

/* ---- which stubs are left out ---- */

static enum passage passage_of(const char *name)
{
	static const char linker[] = "_dl_runtime_resolve";
	const size_t n = strlen(name);
	if (n > 4 && !strcmp(name + n - 4, "@plt"))
		return PASSAGE_STUB;
	return strncmp(name, linker, sizeof(linker) - 1) ? PASSAGE_NONE : PASSAGE_LINKER;
}

/* All that a stub counted must be in contexts with a call. */
static void check_counts(struct folding *f, int64_t *sums)
{
	const struct tare_codeprofile *const p = f->p;
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct tare_codeprofile_context *const c = &p->contexts[i];
		if (!is_stub(f, c) || !is_used(p, c))
			continue;
		if (c->parent == NONE || c->site == NONE)
			f->passage[c->function] = PASSAGE_NONE;
		for (size_t e = 0; e < p->n_events; e++)
			sums[c->function * p->n_events + e] += c->counts[e];
	}
	for (size_t i = 0; i < p->n_functions; i++)
		if (f->passage[i] == PASSAGE_STUB &&
		    memcmp(sums + i * p->n_events, p->functions[i].counts, p->n_events * sizeof(*sums)) != 0)
			f->passage[i] = PASSAGE_NONE;
}

/* And what is behind it must have one caller each. What is found out for one stub may matter to another one. */
static void check_callers(struct folding *f)
{
	const struct tare_codeprofile *const p = f->p;
	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < p->n_contexts; i++) {
			struct tare_codeprofile_context from;
			if (!is_used(p, &p->contexts[i]) || entered_from(f, &p->contexts[i], &from))
				continue;
			f->passage[p->insns[p->contexts[i].site].function] = PASSAGE_NONE;
			again = true;
		}
	}
}

/* False: out of memory. */
static bool choose_stubs(struct folding *f)
{
	const struct tare_codeprofile *const p = f->p;
	int64_t *const sums = calloc(p->n_functions * p->n_events + 1, sizeof(*sums));
	bool ok = sums;
	for (size_t i = 0; ok && i < p->n_functions; i++)
		f->passage[i] = passage_of(p->functions[i].name);
	if (ok)
		check_counts(f, sums);
	free(sums);
	ok = ok && note_recursions(f);
	if (ok)
		check_callers(f);
	return ok;
}

/* ---- the profile without them ---- */

static void add(int64_t *to, const int64_t *counts, size_t n)
{
	for (size_t e = 0; e < n; e++)
		to[e] += counts[e];
}

/* What the stub counted in this context is the calling instruction's. */
static void move_counts(struct folding *f, const struct tare_codeprofile_context *c,
			const struct tare_codeprofile_context *from, int64_t *context_counts)
{
	const size_t n = f->p->n_events;
	add(f->counts + from->site * n, c->counts, n);
	if (from->parent != NONE)
		add(context_counts + from->parent * n, c->counts, n);
}

static void fold_contexts(struct folding *f, struct tare_codeprofile *q, int64_t *context_counts)
{
	const struct tare_codeprofile *const p = f->p;
	q->n_contexts = 0;
	for (uint32_t i = 0; i < p->n_contexts; i++) {
		const struct tare_codeprofile_context *const c = &p->contexts[i];
		struct tare_codeprofile_context made;
		entered_from(f, c, &made);
		made.parent = staying(f, made.parent);
		f->to[i] = NONE;
		if (is_stub(f, c)) {
			if (is_used(p, c))
				move_counts(f, c, &made, context_counts);
			continue;
		}
		add(context_counts + i * p->n_events, c->counts, p->n_events);
		made.counts = context_counts + i * p->n_events;
		made.parent = made.parent == NONE ? NONE : f->to[made.parent];
		f->to[i] = (uint32_t)q->n_contexts;
		f->contexts[q->n_contexts++] = made;
	}
}

static void fold_insns(struct folding *f)
{
	const struct tare_codeprofile *const p = f->p;
	for (size_t i = 0; i < p->n_insns; i++) {
		f->insns[i] = p->insns[i];
		f->insns[i].counts = f->counts + i * p->n_events;
		if (f->passage[p->insns[i].function] != PASSAGE_STUB)
			add(f->counts + i * p->n_events, p->insns[i].counts, p->n_events);
	}
}

int codeprofile_without_stubs(const struct tare_codeprofile *p, struct tare_codeprofile **out, struct tare_why *why)
{
	struct tare_codeprofile q = *p;
	struct folding f = { .p = p };
	int64_t *const context_counts = calloc(p->n_contexts * p->n_events + 1, sizeof(*context_counts));
	f.passage = calloc(p->n_functions + 1, sizeof(*f.passage));
	f.several = calloc(p->n_contexts + 1, sizeof(*f.several));
	f.to = calloc(p->n_contexts + 1, sizeof(*f.to));
	f.contexts = calloc(p->n_contexts + 1, sizeof(*f.contexts));
	f.insns = calloc(p->n_insns + 1, sizeof(*f.insns));
	f.counts = calloc(p->n_insns * p->n_events + 1, sizeof(*f.counts));
	int err = TARE_E_NOMEM;
	if (context_counts && f.passage && f.several && f.to && f.contexts && f.insns && f.counts && choose_stubs(&f)) {
		fold_contexts(&f, &q, context_counts);
		fold_insns(&f);
		q.contexts = f.contexts;
		q.insns = f.insns;
		err = tare_codeprofile_merge((const struct tare_codeprofile *[]){ &q }, 1, out, why);
	}
	free(context_counts);
	free(f.passage);
	places_free(&f.again);
	free(f.several);
	free(f.to);
	free(f.contexts);
	free(f.insns);
	free(f.counts);
	return err;
}
