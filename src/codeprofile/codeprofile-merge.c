/* The sum of several profiles. */
#include "codeprofile-room.h"

#include "why.h"

#include <stdlib.h>
#include <string.h>

struct merger {
	struct builder b;
	const struct tare_codeprofile *from;
	uint32_t *objects, *files, *functions, *insns, *tasks, *contexts;	/* places in the builder */
	uint64_t sizes;			/* of all counts that were added */
	bool too_large;
};

static uint32_t moved(const uint32_t *places, uint32_t place)
{
	return place == NONE ? NONE : places[place];
}

static void add(struct merger *m, int64_t *to, const int64_t *from)
{
	if (!add_sizes(&m->sizes, from, m->b.n_events))
		m->too_large = m->b.failed = true;
	for (size_t e = 0; to && !m->b.failed && e < m->b.n_events; e++)
		to[e] += from[e];
}

static bool open_places(struct merger *m)
{
	const struct tare_codeprofile *const p = m->from;
	m->objects = calloc(p->n_objects + 1, sizeof(*m->objects));
	m->files = calloc(p->n_files + 1, sizeof(*m->files));
	m->functions = calloc(p->n_functions + 1, sizeof(*m->functions));
	m->insns = calloc(p->n_insns + 1, sizeof(*m->insns));
	m->tasks = calloc(p->n_tasks + 1, sizeof(*m->tasks));
	m->contexts = calloc(p->n_contexts + 1, sizeof(*m->contexts));
	return m->objects && m->files && m->functions && m->insns && m->tasks && m->contexts;
}

static void free_places(struct merger *m)
{
	free(m->objects);
	free(m->files);
	free(m->functions);
	free(m->insns);
	free(m->tasks);
	free(m->contexts);
}

static void add_code(struct merger *m)
{
	const struct tare_codeprofile *const p = m->from;
	for (size_t i = 0; i < p->n_objects; i++)
		m->objects[i] = builder_object(&m->b, &p->objects[i]);
	for (size_t i = 0; i < p->n_files; i++)
		m->files[i] = builder_file(&m->b, p->files[i].path, p->files[i].mtime);
	for (size_t i = 0; i < p->n_functions; i++) {
		struct tare_codeprofile_function f = p->functions[i];
		f.object = moved(m->objects, f.object);
		f.file = moved(m->files, f.file);
		m->functions[i] = builder_function(&m->b, &f);
	}
	for (size_t i = 0; i < p->n_insns && !m->b.failed; i++) {
		struct tare_codeprofile_insn in = p->insns[i];
		in.function = moved(m->functions, in.function);
		in.file = moved(m->files, in.file);
		m->insns[i] = builder_insn(&m->b, &in);
		add(m, builder_insn_counts(&m->b, m->insns[i]), p->insns[i].counts);
	}
}

static void add_tasks(struct merger *m)
{
	const struct tare_codeprofile *const p = m->from;
	for (size_t i = 0; i < p->n_tasks && !m->b.failed; i++) {
		m->tasks[i] = builder_task(&m->b, &p->tasks[i]);
		add(m, builder_task_counts(&m->b, m->tasks[i]), p->tasks[i].counts);
	}
	for (size_t i = 0; i < p->n_shares && !m->b.failed; i++)
		add(m, builder_share(&m->b, moved(m->tasks, p->shares[i].task),
				     moved(m->functions, p->shares[i].function)), p->shares[i].counts);
}

static void add_calls(struct merger *m)
{
	const struct tare_codeprofile *const p = m->from;
	for (size_t i = 0; i < p->n_contexts && !m->b.failed; i++) {
		struct tare_codeprofile_context c = p->contexts[i];
		c.parent = moved(m->contexts, c.parent);
		c.function = moved(m->functions, c.function);
		c.site = moved(m->insns, c.site);
		m->contexts[i] = builder_context(&m->b, &c);
		add(m, builder_context_counts(&m->b, m->contexts[i]), p->contexts[i].counts);
	}
	for (size_t i = 0; i < p->n_syscalls; i++) {
		struct tare_codeprofile_syscall s = p->syscalls[i];
		s.function = moved(m->functions, s.function);
		builder_syscall(&m->b, &s);
	}
}

static void add_head(struct merger *m, bool first)
{
	const struct tare_codeprofile *const p = m->from;
	struct tare_codeprofile *const to = m->b.p;
	for (size_t e = 0; e < p->n_events; e++) {
		struct tare_codeprofile_event sum = p->events[e];
		if (!first)
			sum.total += to->events[e].total;
		if (!first && to->events[e].provenance == TARE_PROV_INCOMPLETE)
			sum.provenance = TARE_PROV_INCOMPLETE;
		builder_event(&m->b, e, &sum);
	}
	for (size_t i = 0; i < p->n_reasons; i++)
		builder_reason(&m->b, p->reasons[i]);
	to->runs = first ? p->runs : to->runs + p->runs;
	to->complete = (first || to->complete) && p->complete;
	to->has_calls = (first || to->has_calls) && p->has_calls;
	to->folded += p->folded;
	to->exit_status = first ? p->exit_status : -1;
	if (first)
		to->start_s = p->start_s;
	to->tare = builder_text(&m->b, p->tare);
	if (first || !strcmp(to->command, p->command))
		to->command = builder_text(&m->b, p->command);
	else
		to->command = builder_text(&m->b, "several commands");
}

static bool same_events(const struct tare_codeprofile *a, const struct tare_codeprofile *b)
{
	bool same = a->n_events == b->n_events;
	for (size_t e = 0; same && e < a->n_events; e++)
		same = !strcmp(a->events[e].name, b->events[e].name);
	return same;
}

int tare_codeprofile_merge(const struct tare_codeprofile *const *list, size_t n, struct tare_codeprofile **p,
			   struct tare_why *why)
{
	if (!list || !n || !p)
		return why_set(why, TARE_E_INVALID, "tare_codeprofile_merge: no profiles, or no place for the sum");
	*p = NULL;
	for (size_t i = 1; i < n; i++) {
		if (!same_events(list[0], list[i]))
			return why_set(why, TARE_E_MISMATCH, "code profiles of different events: %s and %s",
				       list[0]->events[0].name, list[i]->events[0].name);
		if (list[0]->has_calls != list[i]->has_calls)
			return why_set(why, TARE_E_MISMATCH, "a code profile with calls and one without");
	}
	struct merger m = { 0 };
	builder_open(&m.b, list[0]->n_events);
	for (size_t i = 0; i < n && !m.b.failed; i++) {
		m.from = list[i];
		if (open_places(&m)) {
			add_code(&m);
			add_tasks(&m);
			add_calls(&m);
			if (!m.too_large)
				add_head(&m, i == 0);
		} else {
			m.b.failed = true;
		}
		free_places(&m);
	}
	const int err = builder_finish(&m.b, p, why);
	return m.too_large ? why_set(why, TARE_E_INVALID, "the sum of the code profiles' counts is more than 2^62") : err;
}
