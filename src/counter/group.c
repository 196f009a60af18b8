/* Groups: several events of the calling thread, on counters together, read together.
 *
 * The gate is a page that fork wipes, followed by the pages of the events; as with
 * counters, a child finds it empty and never touches what lies behind it.
 */
#include "counter-room.h"

#include "options-copy.h"
#include "why.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct member {
	enum tare_event_kind kind;
	unsigned part;			/* its first; a pair has two */
	bool core;
	uint64_t start, last;
};

struct tare_group {
	struct bundle b;
	struct part parts[BUNDLE_MAX];
	struct member *members;
	size_t n;
	uint64_t *gate;
	size_t gate_size;
};

static int bad_event(const struct tare_event *e, struct tare_why *why)
{
	if (e->kind == TARE_EVENT_MINUS_TOTAL)
		return why_set(why, TARE_E_INVALID,
			       "%s: corrects the total of a whole run; inside a program count "
			       "EVENT-minus-irqs", e->name);
	return 0;
}

/* The encodings of all parts, in order. */
static int list_parts(struct tare_group *g, const struct tare_event *const *events,
		      const struct tare_encoding **parts, unsigned *n_parts, struct tare_why *why)
{
	unsigned n = 0;
	for (size_t i = 0; i < g->n; i++) {
		const struct tare_event *const e = events[i];
		const int err = bad_event(e, why);
		if (err)
			return err;
		g->members[i] = (struct member){ .kind = e->kind, .part = n,
						 .core = counter_is_core(&e->base) };
		if (n + 2 > BUNDLE_MAX)
			return why_set(why, TARE_E_NO_COUNTERS, "%s: a group of more than %d",
				       e->name, BUNDLE_MAX);
		if (e->kind == TARE_EVENT_PERF || e->kind == TARE_EVENT_MINUS)
			parts[n++] = &e->base;
		if (e->kind == TARE_EVENT_MINUS)
			parts[n++] = &e->minus;
	}
	*n_parts = n;
	return n ? 0 : why_set(why, TARE_E_INVALID, "a group needs an event to count");
}

static int make_gate(struct tare_group *g, unsigned n_parts)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	g->gate_size = (1 + n_parts) * page;
	g->gate = mmap(NULL, g->gate_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	if (g->gate == MAP_FAILED) {
		g->gate = NULL;
		return TARE_E_NOMEM;
	}
	g->b.wiped_on_fork = bundle_wipe_on_fork(g->gate, page);
	g->b.alive = g->gate;
	return 0;
}

static int open_group(struct tare_group *g, const struct tare_event *const *events,
		      const struct tare_counter_options *o, struct tare_why *why)
{
	const struct tare_encoding *parts[BUNDLE_MAX];
	unsigned n_parts;
	int err = list_parts(g, events, parts, &n_parts, why);
	if (err)
		return err;
	err = make_gate(g, n_parts);
	if (err)
		return why_set(why, err, "a group of %u", n_parts);
	g->b.name = events[0]->name;
	char *const pages = (char *)g->gate + sysconf(_SC_PAGESIZE);
	err = bundle_open(&g->b, parts, n_parts, pages, o, why);
	if (err)
		return err;
	*g->gate = BUNDLE_ALIVE;
	g->b.name = "the group";	/* the events need not outlive it */
	err = tare_group_reset(g);
	if (bundle_may_wait(&g->b, err))
		return 0;
	return err ? why_set(why, err, "%s", events[0]->name) : 0;
}

int tare_group_open(const struct tare_event *const *events, size_t n,
		    const struct tare_counter_options *o, struct tare_group **out,
		    struct tare_why *why)
{
	struct tare_counter_options own;
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the group");
	*out = NULL;
	if (n == 0 || !events)
		return why_set(why, TARE_E_INVALID, "a group needs an event to count");
	for (size_t i = 0; i < n; i++)
		if (!events[i])
			return why_set(why, TARE_E_INVALID, "event %zu of the group is NULL", i);
	int err = options_copy(&own, sizeof(own), o, "tare_counter_options", why);
	if (err)
		return err;
	struct tare_group *const g = calloc(1, sizeof(*g));
	struct member *const members = calloc(n, sizeof(*members));
	if (!g || !members) {
		free(g);
		free(members);
		return why_set(why, TARE_E_NOMEM, "a group of %zu", n);
	}
	g->members = members;
	g->n = n;
	g->b.parts = g->parts;
	err = open_group(g, events, &own, why);
	if (err) {
		tare_group_close(g);
		return err;
	}
	*out = g;
	return 0;
}

void tare_group_close(struct tare_group *g)
{
	if (!g)
		return;
	bundle_close(&g->b);
	if (g->gate)
		munmap(g->gate, g->gate_size);
	free(g->members);
	free(g);
}

static uint64_t total_of(const struct member *m, const uint64_t *parts)
{
	switch (m->kind) {
	case TARE_EVENT_WALL_TIME:
		return counter_now_ns();
	case TARE_EVENT_MINUS:
		return parts[m->part] - parts[m->part + 1];
	case TARE_EVENT_PERF:
		return parts[m->part];
	default:
		return 0;
	}
}

int tare_group_read(struct tare_group *g, uint64_t *values)
{
	uint64_t parts[BUNDLE_MAX];
	if (!g || !values)
		return TARE_E_INVALID;
	int err = bundle_check_owner(&g->b);
	if (!err)
		err = bundle_totals(&g->b, parts);
	for (size_t i = 0; i < g->n; i++) {
		struct member *const m = &g->members[i];
		if (!err)
			m->last = total_of(m, parts) - m->start;
		values[i] = m->last;
	}
	return err;
}

int tare_group_reset(struct tare_group *g)
{
	uint64_t parts[BUNDLE_MAX];
	if (!g)
		return TARE_E_INVALID;
	int err = bundle_check_owner(&g->b);
	if (!err)
		err = bundle_totals(&g->b, parts);
	for (size_t i = 0; !err && i < g->n; i++)
		g->members[i].start = total_of(&g->members[i], parts);
	return err;
}

int tare_group_sample(struct tare_group *g, struct tare_sample *s)
{
	struct perf_value v[BUNDLE_MAX];
	if (!g || !s)
		return TARE_E_INVALID;
	memset(s, 0, g->n * sizeof(*s));
	int err = bundle_check_owner(&g->b);
	if (!err)
		err = bundle_values(&g->b, v);
	for (size_t i = 0; !err && i < g->n; i++) {
		const struct member *const m = &g->members[i];
		const bool pair = m->kind == TARE_EVENT_MINUS;
		if (pair || m->kind == TARE_EVENT_PERF) {
			err = counter_sample(&s[i], &v[m->part], pair, m->start,
					     g->b.simulated[m->part], m->core);
			continue;
		}
		s[i].value = s[i].raw = total_of(m, NULL) - m->start;
		s[i].percent = 100.0;
		s[i].provenance = m->kind == TARE_EVENT_ZERO ? TARE_PROV_EXACT : TARE_PROV_RAW;
	}
	return err;
}

enum tare_path tare_group_path(const struct tare_group *g, const char **reason)
{
	if (reason)
		*reason = g ? g->b.reason.what : "no group given";
	return g ? g->b.path : TARE_PATH_AUTO;
}

unsigned tare_group_status(const struct tare_group *g)
{
	if (!g)
		return 0;
	const bool forked = *g->b.alive != BUNDLE_ALIVE;
	return g->b.status | (forked ? TARE_STATUS_FORKED : 0);
}
