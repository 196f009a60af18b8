/* The call graph of a run, and its system calls, from the code log.
 *
 * The engine writes a context whenever counts are folded, with what was counted since. Here the
 * records of one context become one, and contexts of all tasks are numbered through. A context is in
 * the mappings that its first record was written under.
 */
#include "code.h"

#include "code-abi.h"
#include "role-events.h"
#include "why.h"

#include <tare/measure.h>

#include <stdlib.h>
#include <string.h>

struct task_ids {
	uint32_t *ids;			/* of the task's contexts, by their number there; 0: none */
	uint32_t n;
};

/* What a context counted in one dump. Most runs have none. */
struct dumped {
	uint32_t dump;
	struct dumped *next;		/* of the same context */
	int64_t calls;
	int64_t counts[];
};

struct code_contexts {
	uint32_t events;		/* 1 << enum soft_event */
	unsigned n_events;
	struct tare_code_context *of;	/* by id */
	int64_t **counts;		/* by id */
	struct dumped **dumped;		/* by id; what is in none of them belongs to no dump */
	uint32_t n;
	uint32_t n_tasks;		/* that have contexts: a record, and those before it */
	struct task_ids tasks[SOFT_MAX_RECORDS];
	struct tare_code_syscall *syscalls;
	size_t n_syscalls;
};

static bool ids_up_to(struct task_ids *t, uint32_t number)
{
	if (number < t->n)
		return true;
	uint32_t n = t->n ? t->n : 64;
	while (n <= number)
		n *= 2;
	uint32_t *const larger = realloc(t->ids, n * sizeof(*larger));
	if (!larger)
		return false;
	memset(larger + t->n, 0, (n - t->n) * sizeof(*larger));
	t->ids = larger;
	t->n = n;
	return true;
}

static uint32_t id_in(const struct task_ids *t, uint32_t number)
{
	return number < t->n ? t->ids[number] : 0;
}

/* The numbers of a task's contexts come from memory of the command, which may have damaged it. */
#define MOST_CONTEXTS (64u << 20)

/* 0: no memory. */
static uint32_t new_context(struct code_contexts *x, const struct code_walk *at,
			    const struct code_record *r, const struct code_context *c)
{
	struct task_ids *const t = &x->tasks[r->record];
	int64_t *const counts = calloc(x->n_events, sizeof(*counts));
	if (r->record >= x->n_tasks)
		x->n_tasks = r->record + 1;
	if (!counts || !ids_up_to(t, c->id) || !code_more(&x->of, x->n + 1, sizeof(*x->of)) ||
	    !code_more(&x->counts, x->n + 1, sizeof(*x->counts)) ||
	    !code_more(&x->dumped, x->n + 1, sizeof(*x->dumped))) {
		free(counts);
		return 0;
	}
	const uint32_t id = t->ids[c->id] = ++x->n;
	x->counts[id] = counts;
	x->dumped[id] = NULL;
	x->of[id] = (struct tare_code_context){
		.id = id, .parent = id_in(t, c->parent), .kind = (enum tare_code_context_kind)c->kind,
		.repeats = c->repeats, .cut = c->cut, .pid = r->pid, .tid = code_tid_of(at), .signal = c->signal,
		.site = c->site, .entry = r->pc,
		.site_map = c->site ? code_map_of(at, c->site) : NULL,
		.entry_map = r->pc ? code_map_of(at, r->pc) : NULL, .counts = counts,
		.traced = (uint64_t)r->record << 32 | c->id,
	};
	return id;
}

/* NULL: no memory. */
static struct dumped *dumped_of(struct code_contexts *x, uint32_t id, uint32_t dump)
{
	struct dumped **at = &x->dumped[id];
	while (*at && (*at)->dump != dump)
		at = &(*at)->next;
	if (!*at && (*at = calloc(1, sizeof(**at) + x->n_events * sizeof(int64_t))))
		(*at)->dump = dump;
	return *at;
}

static int add_context(struct code_contexts *x, const struct code_walk *at, const struct code_record *r)
{
	const struct code_context *const c = (const void *)r->bytes;
	if (r->len < sizeof(*c) || c->n_events != x->n_events || !c->id || c->id > MOST_CONTEXTS ||
	    r->len < sizeof(*c) + x->n_events * sizeof(int64_t) || c->kind > TARE_CODE_FOLDED ||
	    r->record >= SOFT_MAX_RECORDS)
		return 0;
	uint32_t id = id_in(&x->tasks[r->record], c->id);
	if (!id && !(id = new_context(x, at, r, c)))
		return TARE_E_NOMEM;
	if (code_is_zeroed(at))
		return 0;
	const uint32_t dump = code_dump_of(at);
	struct dumped *const d = dump ? dumped_of(x, id, dump) : NULL;
	if (dump && !d)
		return TARE_E_NOMEM;
	x->of[id].calls += r->runs;
	if (d)
		d->calls += r->runs;
	for (unsigned i = 0; i < x->n_events; i++) {
		int64_t more_of_it;
		memcpy(&more_of_it, &c->counts[i], sizeof(more_of_it));
		x->counts[id][i] += more_of_it;
		if (d)
			d->counts[i] += more_of_it;
	}
	return 0;
}

static int add_syscall(struct code_contexts *x, const struct code_walk *at, const struct code_record *r)
{
	const struct code_syscall *const s = (const void *)r->bytes;
	if (r->len < sizeof(*s) || r->record >= SOFT_MAX_RECORDS || code_is_zeroed(at))
		return 0;
	if (!code_more(&x->syscalls, x->n_syscalls, sizeof(*x->syscalls)))
		return TARE_E_NOMEM;
	x->syscalls[x->n_syscalls++] = (struct tare_code_syscall){
		.pid = r->pid, .tid = code_tid_of(at), .number = s->number, .address = r->pc,
		.map = code_map_of(at, r->pc), .context = id_in(&x->tasks[r->record], s->context),
		.times = (uint64_t)r->runs, .errors = s->errors,
	};
	return 0;
}

static int add(const struct code_walk *at, const struct code_record *r, void *arg)
{
	if (r->kind == CODE_CONTEXT)
		return add_context(arg, at, r);
	return r->kind == CODE_SYSCALL ? add_syscall(arg, at, r) : 0;
}

struct code_contexts *code_contexts_read(const struct tare_code *c, uint32_t event_mask)
{
	struct code_contexts *const x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->events = code_context_events(event_mask);
	x->n_events = (unsigned)__builtin_popcount(x->events);
	if (code_walk(c, 1u << CODE_CONTEXT | 1u << CODE_SYSCALL, add, x) == 0)
		return x;
	code_contexts_free(x);
	return NULL;
}

void code_contexts_free(struct code_contexts *x)
{
	if (!x)
		return;
	for (uint32_t id = 1; id <= x->n; id++) {
		free(x->counts[id]);
		for (struct dumped *d = x->dumped[id], *next; d; d = next) {
			next = d->next;
			free(d);
		}
	}
	for (uint32_t i = 0; i < x->n_tasks; i++)
		free(x->tasks[i].ids);
	free(x->counts);
	free(x->dumped);
	free(x->of);
	free(x->syscalls);
	free(x);
}

/* ---- handing it out ---- */

/* NULL: why is filled in. */
static const struct code_contexts *asked_for(const struct tare_code *c, struct tare_why *why)
{
	const struct code_contexts *const x = c ? code_contexts_of(c) : NULL;
	if (x && x->n)
		return x;
	why_set(why, TARE_E_INVALID, c ? "the call graph: the run was without it "
					 "(tare_measure_options.calls)" :
					 "the call graph: no list of code");
	return NULL;
}

int tare_code_contexts_each(const struct tare_code *c,
			    int (*what)(const struct tare_code_context *x, void *arg), void *arg,
			    struct tare_why *why)
{
	const struct code_contexts *const x = asked_for(c, why);
	int err = x ? 0 : TARE_E_INVALID;
	for (uint32_t id = 1; !err && id <= x->n; id++)
		err = what(&x->of[id], arg);
	return err;
}

uint32_t tare_code_n_contexts(const struct tare_code *c)
{
	const struct code_contexts *const x = c ? code_contexts_of(c) : NULL;
	return x ? x->n : 0;
}

bool tare_code_context_count(const struct tare_code *c, const struct tare_code_context *x,
			     const struct tare_event *event, int64_t *count)
{
	const struct code_contexts *const all = c ? code_contexts_of(c) : NULL;
	const int e = tare_engine_counts(event) ? role_event(event->role) : -1;
	if (!all || e < 0 || !(all->events >> e & 1))
		return false;
	*count = x->counts[__builtin_popcount(all->events & ((1u << e) - 1))];
	return true;
}

/* What is in no dump: all, less the dumps. */
static void less_dumps(const struct code_contexts *all, uint32_t id, int64_t *calls, int64_t *counts)
{
	for (const struct dumped *d = all->dumped[id]; d; d = d->next) {
		*calls -= d->calls;
		for (unsigned i = 0; i < all->n_events; i++)
			counts[i] -= d->counts[i];
	}
}

bool tare_code_context_in_dump(const struct tare_code *c, const struct tare_code_context *x, uint64_t dump,
			       const struct tare_event *event, int64_t *calls, int64_t *count)
{
	const struct code_contexts *const all = c ? code_contexts_of(c) : NULL;
	const int e = tare_engine_counts(event) ? role_event(event->role) : -1;
	if (!all || !x || !x->id || x->id > all->n || e < 0 || !(all->events >> e & 1))
		return false;
	int64_t counts[SOFT_EVENTS] = { 0 };
	*calls = 0;
	if (!dump) {
		*calls = all->of[x->id].calls;
		memcpy(counts, all->counts[x->id], all->n_events * sizeof(counts[0]));
		less_dumps(all, x->id, calls, counts);
	}
	for (const struct dumped *d = all->dumped[x->id]; dump && d; d = d->next) {
		if (d->dump != dump)
			continue;
		*calls = d->calls;
		memcpy(counts, d->counts, all->n_events * sizeof(counts[0]));
	}
	*count = counts[__builtin_popcount(all->events & ((1u << e) - 1))];
	return true;
}

int tare_code_contexts_in(const struct tare_code *c,
			  bool (*wanted)(const struct tare_code_context *x, void *arg), void *arg,
			  bool *in, struct tare_why *why)
{
	const struct code_contexts *const x = asked_for(c, why);
	if (!x)
		return TARE_E_INVALID;
	in[0] = false;
	for (uint32_t id = 1; id <= x->n; id++)		/* parents come first */
		in[id] = in[x->of[id].parent] || wanted(&x->of[id], arg);
	return 0;
}

int tare_code_syscalls_each(const struct tare_code *c,
			    int (*what)(const struct tare_code_syscall *s, void *arg), void *arg,
			    struct tare_why *why)
{
	const struct code_contexts *const x = c ? code_contexts_of(c) : NULL;
	int err = 0;
	if (!x || !what)
		return why_set(why, TARE_E_INVALID, "tare_code_syscalls_each: no list, or no function");
	for (size_t i = 0; !err && i < x->n_syscalls; i++)
		err = what(&x->syscalls[i], arg);
	return err;
}
