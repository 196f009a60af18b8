/* Which functions explain a change: from the counts by function that `tare stat --functions` stores.
 *
 * The two lists become code profiles without instructions, so that functions are paired as tare annotate --diff
 * does (annotate-match.c). */
#include "annotate-diff.h"
#include "compare.h"

#include <stdlib.h>
#include <string.h>

#define NAMED 3u	/* functions for each event */

static void *space(size_t n, size_t size)
{
	void *const p = calloc(n + 1, size);
	if (!p)
		abort();
	return p;
}

static size_t length_of(const struct json_node *array)
{
	size_t n = 0;
	for (const struct json_node *i = array && array->type == JSON_ARRAY ? array->first : NULL; i; i = i->next)
		n++;
	return n;
}

static bool to_i64(const struct json_node *n, int64_t *v)
{
	char *end = NULL;
	if (!n || n->type != JSON_NUMBER)
		return false;
	*v = strtoll(n->text, &end, 10);
	return end && !*end;
}

static bool read_objects(const struct json_node *list, struct tare_codeprofile *p)
{
	p->n_objects = length_of(list);
	p->objects = space(p->n_objects, sizeof(*p->objects));
	size_t i = 0;
	for (const struct json_node *o = p->n_objects ? list->first : NULL; o; o = o->next, i++) {
		const char *const path = json_text(o, "path"), *const id = json_text(o, "build_id");
		const char *const kind = json_text(o, "kind");
		if (!path || !id || !kind)
			return false;
		const bool file = !strcmp(kind, "file");
		p->objects[i] = (struct tare_codeprofile_object){
			.path = path, .build_id = id, .names = "",
			.kind = file ? TARE_CODEPROFILE_FILE : TARE_CODEPROFILE_ANONYMOUS };
	}
	return p->n_objects > 0;
}

static bool read_function(const struct json_node *n, struct tare_codeprofile *p, int64_t *counts)
{
	uint64_t object, offset;
	const char *const name = json_text(n, "function"), *const linkage = json_text(n, "linkage");
	const struct json_node *const list = json_get(n, "counts");
	if (!name || !linkage || !json_to_u64(json_get(n, "object"), &object) || object >= p->n_objects ||
	    !json_to_u64(json_get(n, "offset"), &offset) || length_of(list) != p->n_events)
		return false;
	size_t e = 0;
	for (const struct json_node *c = list->first; c; c = c->next)
		if (!to_i64(c, &counts[e++]))
			return false;
	p->functions[p->n_functions++] = (struct tare_codeprofile_function){
		.name = name, .linkage = linkage, .object = (uint32_t)object, .file = ANNOTATE_NONE, .offset = offset,
		.counts = counts };
	return true;
}

/* The events are those of the runs, in their order. */
static bool read_events(const struct compare_file *f, struct tare_codeprofile *p)
{
	const struct json_node *const runs = json_get(f->root, "runs");
	const struct json_node *const counts = runs ? json_get(runs->first, "counts") : NULL;
	p->n_events = length_of(counts);
	p->events = space(p->n_events, sizeof(*p->events));
	size_t e = 0;
	for (const struct json_node *c = p->n_events ? counts->first : NULL; c; c = c->next) {
		const char *const name = json_text(c, "event");
		if (!name)
			return false;
		p->events[e++].name = name;
	}
	return p->n_events > 0;
}

struct read_profile {
	struct tare_codeprofile p;
	struct tare_codeprofile_task task;
	int64_t *counts;
};

/* False: the file has no counts by function, or they are damaged. */
static bool read_profile(const struct compare_file *f, struct read_profile *r)
{
	const struct json_node *const functions = json_get(f->root, "functions");
	const struct json_node *const list = json_get(functions, "list");
	const size_t n = length_of(list);
	*r = (struct read_profile){ 0 };
	if (!n || !read_events(f, &r->p) || !read_objects(json_get(functions, "objects"), &r->p))
		return false;
	r->p.functions = space(n, sizeof(*r->p.functions));
	r->counts = space(n * r->p.n_events, sizeof(*r->counts));
	for (const struct json_node *i = list->first; i; i = i->next)
		if (!read_function(i, &r->p, r->counts + r->p.n_functions * r->p.n_events))
			return false;
	const char *const exe = json_text(f->program, "path");
	r->task.exe = exe ? exe : "";
	r->p.tasks = &r->task;
	r->p.n_tasks = 1;
	return true;
}

static void free_profile(struct read_profile *r)
{
	free(r->p.events);
	free(r->p.objects);
	free(r->p.functions);
	free(r->counts);
}

/* ---- the largest changes ---- */

static uint64_t size_of(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static void explain(struct comparison *c, const struct profile_diff *d, size_t e)
{
	const char *const event = d->base->events[d->base_event[e]].name;
	const struct function_pair *named[NAMED] = { NULL };
	for (size_t i = 0; i < d->n_differ; i++) {
		const struct function_pair *f = &d->functions[i];
		for (size_t k = 0; f->change[e] && k < NAMED; k++)
			if (!named[k] || size_of(f->change[e]) > size_of(named[k]->change[e])) {
				const struct function_pair *const smaller = named[k];
				named[k] = f;
				if (!smaller)
					break;
				f = smaller;
			}
	}
	for (size_t k = 0; k < NAMED && named[k]; k++) {
		const bool in_new = named[k]->new != ANNOTATE_NONE;
		const struct tare_codeprofile *const p = in_new ? d->new : d->base;
		const struct tare_codeprofile_function *const f = &p->functions[in_new ? named[k]->new : named[k]->base];
		c->functions = realloc(c->functions, (c->n_functions + 1) * sizeof(*c->functions));
		if (!c->functions)
			abort();
		c->functions[c->n_functions++] = (struct compare_function){
			event, f->name, annotate_base(p->objects[f->object].path), pair_base(d, named[k], e),
			pair_new(d, named[k], e) };
	}
}

static bool changed(const struct comparison *c, const char *event)
{
	for (size_t i = 0; i < c->n_lines; i++)
		if (!strcmp(c->lines[i].event, event))
			return c->lines[i].delta != 0;
	return false;
}

void compare_functions(struct comparison *c)
{
	static const struct annotate_opts plain;
	struct read_profile base, new;
	struct profile_diff d = { 0 };
	const bool in_base = read_profile(c->base, &base), in_new = read_profile(c->new, &new);
	if (in_base && in_new && profile_diff(&d, &base.p, &new.p, &plain, NULL) == 0)
		for (size_t e = 0; e < d.n_events; e++)
			if (changed(c, d.base->events[d.base_event[e]].name))
				explain(c, &d, e);
	profile_diff_free(&d);
	free_profile(&base);
	free_profile(&new);
}
