/* The part of a profile that ran while one of some functions was on the stack. */
#include "codeprofile-room.h"

#include "why.h"

#include <stdlib.h>
#include <string.h>

struct part {
	struct builder b;
	const struct tare_codeprofile *p;
	uint32_t *objects, *files, *functions;	/* places in the builder; NONE: not there yet */
	uint32_t *contexts;
	bool *in;
};

static uint32_t *no_places(size_t n)
{
	uint32_t *const list = malloc((n + 1) * sizeof(*list));
	for (size_t i = 0; list && i <= n; i++)
		list[i] = NONE;
	return list;
}

static uint32_t file_of(struct part *x, uint32_t file)
{
	if (file == NONE)
		return NONE;
	if (x->files[file] == NONE)
		x->files[file] = builder_file(&x->b, x->p->files[file].path, x->p->files[file].mtime);
	return x->files[file];
}

static uint32_t function_of(struct part *x, uint32_t function)
{
	if (x->functions[function] != NONE)
		return x->functions[function];
	struct tare_codeprofile_function f = x->p->functions[function];
	if (x->objects[f.object] == NONE)
		x->objects[f.object] = builder_object(&x->b, &x->p->objects[f.object]);
	f.object = x->objects[f.object];
	f.file = file_of(x, f.file);
	return x->functions[function] = builder_function(&x->b, &f);
}

/* The calling instruction, without a count. */
static uint32_t site_of(struct part *x, uint32_t site)
{
	if (site == NONE)
		return NONE;
	struct tare_codeprofile_insn in = x->p->insns[site];
	in.function = function_of(x, in.function);
	in.file = file_of(x, in.file);
	in.runs = 0;
	return in.function == NONE ? NONE : builder_insn(&x->b, &in);
}

/* Contexts above the functions are there too, without counts, so that stacks are whole. */
static bool add_context(struct part *x, uint32_t i)
{
	const struct tare_codeprofile_context *const c = &x->p->contexts[i];
	const size_t n = x->p->n_events;
	struct tare_codeprofile_context made = *c;
	if (c->parent != NONE && x->contexts[c->parent] == NONE && !add_context(x, c->parent))
		return false;
	made.parent = c->parent == NONE ? NONE : x->contexts[c->parent];
	made.function = function_of(x, c->function);
	made.site = site_of(x, c->site);
	made.calls = x->in[i] ? c->calls : 0;
	if (made.function == NONE)
		return false;
	x->contexts[i] = builder_context(&x->b, &made);
	if (x->contexts[i] == NONE || !x->in[i])
		return x->contexts[i] != NONE;
	/* Which instructions of a function ran in a context is not known: one without bytes has them all. */
	const uint32_t insn = builder_insn(&x->b, &(struct tare_codeprofile_insn){
		.function = made.function, .file = NONE, .offset = x->p->functions[c->function].offset });
	const uint32_t task = builder_task(&x->b, &(struct tare_codeprofile_task){ .command = "" });
	if (insn == NONE || task == NONE)
		return false;
	for (size_t e = 0; e < n; e++) {
		builder_context_counts(&x->b, x->contexts[i])[e] += c->counts[e];
		builder_insn_counts(&x->b, insn)[e] += c->counts[e];
		builder_task_counts(&x->b, task)[e] += c->counts[e];
		x->b.p->events[e].total += c->counts[e];
	}
	return true;
}

static void add_head(struct part *x)
{
	const struct tare_codeprofile *const p = x->p;
	struct tare_codeprofile *const to = x->b.p;
	for (size_t e = 0; e < p->n_events; e++) {
		struct tare_codeprofile_event event = p->events[e];
		event.total = 0;
		if (p->folded)		/* what was above a folded context is not known */
			event.provenance = TARE_PROV_INCOMPLETE;
		builder_event(&x->b, e, &event);
	}
	for (size_t i = 0; i < p->n_reasons; i++)
		builder_reason(&x->b, p->reasons[i]);
	if (p->folded)
		builder_reason(&x->b, "there were more call contexts than could be told apart");
	to->command = builder_text(&x->b, p->command);
	to->tare = builder_text(&x->b, p->tare);
	to->start_s = p->start_s;
	to->exit_status = p->exit_status;
	to->runs = p->runs;
	to->complete = p->complete && !p->folded;
	to->folded = p->folded;
	to->has_calls = true;
}

int tare_codeprofile_in(const struct tare_codeprofile *p,
			bool (*wanted)(const struct tare_codeprofile_function *f, void *arg), void *arg,
			struct tare_codeprofile **part, struct tare_why *why)
{
	if (!p || !wanted || !part)
		return why_set(why, TARE_E_INVALID, "tare_codeprofile_in: no profile, function, or place for the part");
	*part = NULL;
	if (!p->has_calls)
		return why_set(why, TARE_E_INVALID, "a code profile without calls: what was on the stack is not known");
	struct part x = { .p = p, .objects = no_places(p->n_objects), .files = no_places(p->n_files),
			  .functions = no_places(p->n_functions), .contexts = no_places(p->n_contexts),
			  .in = calloc(p->n_contexts + 1, sizeof(*x.in)) };
	builder_open(&x.b, p->n_events);
	bool ok = !x.b.failed && x.objects && x.files && x.functions && x.contexts && x.in;
	if (ok)
		add_head(&x);
	for (uint32_t i = 0; ok && i < p->n_contexts; i++) {
		const struct tare_codeprofile_context *const c = &p->contexts[i];
		x.in[i] = (c->parent != NONE && x.in[c->parent]) || wanted(&p->functions[c->function], arg);
		if (x.in[i])
			ok = add_context(&x, i);
	}
	x.b.failed |= !ok;
	free(x.objects);
	free(x.files);
	free(x.functions);
	free(x.contexts);
	free(x.in);
	return builder_finish(&x.b, part, why);
}
