/* Call contexts and system calls of a run, with the names of the instructions that are in the profile. */
#include "codeprofile-make.h"

#include "why.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct contexts {
	struct maker *m;
	size_t n_places;		/* those that have code; others are added here */
	uint32_t *in_profile;		/* by id */
	int64_t *sum;			/* of all contexts, by event */
};

/* ---- addresses to instructions ---- */

/* The instruction at an address of a process, in the profile. NONE: it did not run, or out of memory. */
static uint32_t insn_at(struct contexts *x, const struct tare_code_map *map, pid_t pid, uint64_t address,
			const struct mapping **mapping, uint64_t *offset)
{
	*mapping = maker_mapping(x->m, map, pid);
	if (!*mapping) {
		x->m->b.failed = true;
		return NONE;
	}
	struct symbol_object *const o = x->m->places[(*mapping)->place].object;
	*offset = o ? symbol_address(o, map, address) : address;
	const uint32_t place = (*mapping)->place;
	if (place >= x->n_places)	/* no code ran there */
		return NONE;
	if (x->m->o->no_insns)
		return maker_function_at(x->m, place, *offset);
	const size_t end = x->m->place_ends[place];
	const size_t at = maker_code_from(x->m, place ? x->m->place_ends[place - 1] : 0, end, *offset);
	const struct code *const c = at < end ? &x->m->codes[x->m->order[at]] : NULL;
	return c && c->offset == *offset ? c->in_profile : NONE;
}

/* A function that was entered and in which nothing retired: a fault at its first instruction. */
static uint32_t function_without_code(struct contexts *x, const struct mapping *mapping, uint64_t offset)
{
	struct maker *const m = x->m;
	struct symbol_object *const o = m->places[mapping->place].object;
	const uint32_t object = maker_object(m, mapping->place);
	struct symbol_where where = { 0 };
	char name[64];
	if (object == NONE)
		return NONE;
	if (o && !m->o->no_names && symbol_at(o, offset, &where, m->why) == 0 && where.function &&
	    !where.function->is_gap)
		return maker_function(m, object, where.function);
	snprintf(name, sizeof(name), "%.30s+0x%llx", o ? symbol_object_name(o) : "[not known]",
		 (unsigned long long)offset);
	return builder_function(&m->b, &(struct tare_codeprofile_function){
		.name = name, .object = object, .file = NONE, .offset = offset });
}

static uint32_t function_at(struct contexts *x, const struct tare_code_map *map, pid_t pid, uint64_t address)
{
	const struct mapping *mapping;
	uint64_t offset;
	const uint32_t insn = insn_at(x, map, pid, address, &mapping, &offset);
	if (insn != NONE)
		return x->m->b.p->insns[insn].function;
	return mapping ? function_without_code(x, mapping, offset) : NONE;
}

/* "[signal ALRM]": what stands above a handler. */
static uint32_t signal_function(struct contexts *x, int number)
{
	char name[64];
	const char *const known = sigabbrev_np(number);
	const uint32_t object = builder_object(&x->m->b, &(struct tare_codeprofile_object){
		.path = "[signals]", .kind = TARE_CODEPROFILE_UNKNOWN });
	if (known)
		snprintf(name, sizeof(name), "[signal %s]", known);
	else
		snprintf(name, sizeof(name), "[signal %d]", number);
	return object == NONE ? NONE : builder_function(&x->m->b, &(struct tare_codeprofile_function){
		.name = name, .object = object, .file = NONE, .offset = (uint64_t)number });
}

/* ---- contexts ---- */

static enum tare_codeprofile_entry entry_of(const struct tare_code_context *c)
{
	if (c->repeats)
		return TARE_CODEPROFILE_RECURSION;
	switch (c->kind) {
	case TARE_CODE_ROOT:
		return TARE_CODEPROFILE_ROOT;
	case TARE_CODE_THREAD:
		return TARE_CODEPROFILE_THREAD;
	case TARE_CODE_SIGNAL:
		return TARE_CODEPROFILE_SIGNAL;
	case TARE_CODE_TAIL:
		return TARE_CODEPROFILE_TAIL;
	case TARE_CODE_FOLDED:
		return TARE_CODEPROFILE_FOLDED;
	default:
		return TARE_CODEPROFILE_CALL;
	}
}

/* What the context counted and how often it was called; of one dump only, where that is asked for. */
static int64_t count_of(const struct maker *m, const struct tare_code_context *c, size_t event, int64_t *calls)
{
	const struct tare_event *const e = tare_events_at(m->o->events, event);
	int64_t n = 0;
	*calls = c->calls;
	if (m->o->one_dump)
		tare_code_context_in_dump(m->m->code, c, m->o->dump, e, calls, &n);
	else
		tare_code_context_count(m->m->code, c, e, &n);
	return n;
}

static int add_context(const struct tare_code_context *c, void *arg)
{
	struct contexts *const x = arg;
	struct maker *const m = x->m;
	const bool wanted = maker_wants(m, c->pid, c->tid);
	const struct mapping *mapping;
	uint64_t offset;
	int64_t calls;
	count_of(m, c, 0, &calls);
	const struct tare_codeprofile_context made = {
		.parent = c->parent ? x->in_profile[c->parent] : NONE,
		.function = c->kind == TARE_CODE_SIGNAL ? signal_function(x, c->signal) :
							  function_at(x, c->entry_map, c->pid, c->entry),
		.site = c->site ? insn_at(x, c->site_map, c->pid, c->site, &mapping, &offset) : NONE,
		.entry = entry_of(c),
		/* The start of a program is no call. */
		.calls = wanted && calls > 0 ? (uint64_t)calls : 0,
	};
	const uint32_t at = made.function == NONE ? NONE : builder_context(&m->b, &made);
	if (at == NONE || m->b.failed)
		return TARE_E_NOMEM;
	x->in_profile[c->id] = at;
	m->b.p->folded += c->kind == TARE_CODE_FOLDED;
	int64_t *const counts = builder_context_counts(&m->b, at);
	for (size_t e = 0; wanted && e < m->n_events; e++) {
		const int64_t n = count_of(m, c, e, &calls);
		counts[e] += n;
		x->sum[e] += n;
	}
	if (wanted)
		maker_extra_context(m, c->traced, counts);
	return 0;
}

/* What was counted in no known context: processes that were killed. */
static int add_rest(struct contexts *x)
{
	static const char name[] = "[not known]";
	struct builder *const b = &x->m->b;
	bool any = false;
	for (size_t e = 0; e < x->m->n_events; e++)
		any |= x->sum[e] != b->p->events[e].total;
	if (!any)
		return 0;
	const uint32_t object = builder_object(b, &(struct tare_codeprofile_object){
		.path = name, .kind = TARE_CODEPROFILE_UNKNOWN });
	const uint32_t function = object == NONE ? NONE : builder_function(b, &(struct tare_codeprofile_function){
		.name = name, .object = object, .file = NONE });
	const uint32_t at = function == NONE ? NONE : builder_context(b, &(struct tare_codeprofile_context){
		.parent = NONE, .function = function, .site = NONE });
	int64_t *const counts = builder_context_counts(b, at);
	for (size_t e = 0; counts && e < x->m->n_events; e++)
		counts[e] += b->p->events[e].total - x->sum[e];
	return counts ? 0 : TARE_E_NOMEM;
}

/* ---- system calls ---- */

static int add_syscall(const struct tare_code_syscall *s, void *arg)
{
	struct contexts *const x = arg;
	char name[32];
	if (!maker_wants(x->m, s->pid, s->tid))
		return 0;
	const char *const known = tare_code_syscall_name(s->number);
	snprintf(name, sizeof(name), "syscall %d", s->number);
	const uint32_t function = function_at(x, s->map, s->pid, s->address);
	builder_syscall(&x->m->b, &(struct tare_codeprofile_syscall){
		.number = (uint32_t)s->number, .name = known ? known : name, .function = function,
		.times = s->times, .errors = s->errors });
	return x->m->b.failed ? TARE_E_NOMEM : 0;
}

int maker_contexts(struct maker *m)
{
	const uint32_t n = tare_code_n_contexts(m->m->code);
	struct contexts x = { .m = m, .n_places = m->n_places, .in_profile = calloc(n + 1, sizeof(*x.in_profile)),
			      .sum = calloc(m->n_events, sizeof(*x.sum)) };
	int err = x.in_profile && x.sum ? 0 : TARE_E_NOMEM;
	if (!err)
		err = tare_code_syscalls_each(m->m->code, add_syscall, &x, m->why);
	if (!err && n) {
		m->b.p->has_calls = true;
		err = tare_code_contexts_each(m->m->code, add_context, &x, m->why);
		if (!err)
			err = add_rest(&x);
	}
	free(x.in_profile);
	free(x.sum);
	return err;
}
