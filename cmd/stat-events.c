/* tare stat: what -d, -M, --all-user and --all-kernel make of the list of events. */
#include "complain.h"
#include "options.h"
#include "stat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char stat_mode(const struct stat_opts *o)
{
	return o->all_user ? 'u' : o->all_kernel ? 'k' : 0;
}

/* ---- --all-user, --all-kernel ---- */

static bool takes_mode(const struct tare_event *e)
{
	return e->kind != TARE_EVENT_WALL_TIME && e->kind != TARE_EVENT_ZERO;
}

/* Modifiers that are not modes: then the name ends in letters after a colon already. */
static bool has_letters(const struct tare_event *e)
{
	const struct tare_encoding *const b = &e->base;
	return b->exclude_host || b->exclude_guest || b->exclude_idle || b->pinned ||
	       b->precise_asked;
}

static bool has_mode(const struct tare_event *e, char mode)
{
	return e->has_modifier && e->base.exclude_hv &&
	       (mode == 'u' ? e->base.exclude_kernel && !e->base.exclude_user :
			      e->base.exclude_user && !e->base.exclude_kernel);
}

static bool put_with_mode(struct buf *b, const struct tare_event *e, char mode)
{
	buf_str(b, e->name);
	if (!takes_mode(e) || has_mode(e, mode))
		return true;
	if (e->has_modifier) {
		complain("stat: %s and the event %s contradict each other",
			 mode == 'u' ? "--all-user" : "--all-kernel", e->name);
		return false;
	}
	const size_t n = strlen(e->name);
	if (!has_letters(e) && e->name[n - 1] != '/')
		buf_chr(b, ':');
	buf_chr(b, mode);
	return true;
}

bool stat_set_mode(struct stat_session *s, struct buf *text)
{
	const char mode = stat_mode(s->o);
	struct tare_events *list;
	struct tare_why why = { 0 };
	if (!mode || !text->len)
		return true;
	if (tare_events_parse(text->data, &s->cpu, &list, &why) < 0) {
		complain_why(&why);
		return false;
	}
	struct buf out = { 0 };
	bool good = true;
	int group = -1;
	for (size_t i = 0; good && i < tare_events_count(list); i++) {
		const struct tare_event *const e = tare_events_at(list, i);
		if (group >= 0 && e->group != group)
			buf_chr(&out, '}');
		if (i)
			buf_chr(&out, ',');
		if (e->group >= 0 && e->group != group)
			buf_chr(&out, '{');
		group = e->group;
		good = put_with_mode(&out, e, mode);
	}
	if (group >= 0)
		buf_chr(&out, '}');
	tare_events_free(list);
	buf_free(text);
	*text = out;
	return good;
}

/* ---- events that other options add ---- */

/* Whether the list has the event, under just that name. */
static bool has_event(const struct stat_session *s, const struct buf *text, const char *name)
{
	struct tare_events *list;
	if (!text->len || tare_events_parse(text->data, &s->cpu, &list, NULL) < 0)
		return false;
	bool found = false;
	for (size_t i = 0; i < tare_events_count(list); i++)
		found |= strcmp(tare_events_at(list, i)->name, name) == 0;
	tare_events_free(list);
	return found;
}

static void moded_name(const struct stat_session *s, const char *event, char *out, size_t size)
{
	const char mode[] = { stat_mode(s->o) ? ':' : '\0', stat_mode(s->o), '\0' };
	snprintf(out, size, "%s%s", event, mode);
}

static void add_event(const struct stat_session *s, struct buf *text, const char *event)
{
	char name[64];
	moded_name(s, event, name, sizeof(name));
	if (!has_event(s, text, name))
		buf_printf(text, "%s%s", text->len ? "," : "", name);
}

/* The backend that `list` gets here, or a negative error. */
static int backend_of(const struct stat_session *s, const char *list, struct tare_why *why)
{
	struct tare_events *events;
	int answer = tare_events_parse(list, &s->cpu, &events, why);
	if (answer)
		return answer;
	answer = tare_backend_for(events, (enum tare_backend)s->o->backend, NULL, 0, why);
	tare_events_free(events);
	return answer;
}

/* ---- -d ---- */

/* perf's, by how often -d is given. */
static const char *const hardware_details[][7] = {
	{ "L1-dcache-loads", "L1-dcache-load-misses", "LLC-loads", "LLC-load-misses" },
	{ "L1-icache-loads", "L1-icache-load-misses", "dTLB-loads", "dTLB-load-misses", "iTLB-loads",
	  "iTLB-load-misses" },
	{ "L1-dcache-prefetches", "L1-dcache-prefetch-misses" },
};
/* The engine knows no caches, but what kinds of instructions there were. */
static const char *const engine_details[] = { "taken-branches", "indirect-branches", "calls",
					      "returns", "syscalls", "multiplies", "divides", "fp",
					      "x87", "simd-int", "locked" };

static void add_hardware_details(struct stat_session *s, struct buf *text, const char *const *names)
{
	for (; *names; names++) {
		char name[64];
		moded_name(s, *names, name, sizeof(name));
		if (backend_of(s, name, NULL) >= 0)
			add_event(s, text, *names);
		else
			stat_skip_event(s, *names);
	}
}

void stat_add_details(struct stat_session *s, struct buf *text)
{
	const size_t levels = sizeof(hardware_details) / sizeof(hardware_details[0]);
	if (!s->o->detailed)
		return;
	if (backend_of(s, text->data, NULL) == TARE_BACKEND_SOFT) {
		for (size_t i = 0; i < sizeof(engine_details) / sizeof(engine_details[0]); i++)
			add_event(s, text, engine_details[i]);
		return;
	}
	for (size_t i = 0; i < levels && i < s->o->detailed; i++)
		add_hardware_details(s, text, hardware_details[i]);
}

/* ---- -M ---- */

static bool unknown_metric(const char *name)
{
	const char *names[64];
	const struct stat_metric *m;
	size_t n = 0;
	for (; n < 63 && (m = stat_metric_at(n)); n++)
		names[n] = m->name;
	names[n] = NULL;
	const char *const near = nearest_word(name, names);
	if (near)
		complain("stat: no metric is called \"%s\"; did you mean %s?", name, near);
	else
		complain("stat: no metric is called \"%s\"; `tare list` shows them", name);
	return false;
}

/* Both events of the metric, tried here. */
static bool can_be_had(const struct stat_session *s, const struct stat_metric *m)
{
	struct tare_why why = { 0 };
	struct buf both = { 0 };
	add_event(s, &both, m->top);
	add_event(s, &both, m->bottom);
	const bool good = backend_of(s, both.data, &why) >= 0;
	buf_free(&both);
	if (good)
		return true;
	struct tare_why named = why;
	snprintf(named.what, sizeof(named.what), "metric %s: %.200s", m->name, why.what);
	if (why.code == TARE_E_NO_PMU)		/* the engine has been tried */
		snprintf(named.remedy, sizeof(named.remedy), "leave this metric out (`tare list` shows "
			 "which metrics this machine can count), or use a machine or VM type that shows "
			 "its PMU");
	complain_why(&named);
	return false;
}

static bool add_metric(struct stat_session *s, struct buf *text, const char *name)
{
	const struct stat_metric *const m = stat_metric_find(name);
	if (!m)
		return unknown_metric(name);
	if (!can_be_had(s, m))
		return false;
	struct stat_asked_metric *const more =
		realloc(s->metrics, (s->n_metrics + 1) * sizeof(*more));
	if (!more)
		abort();
	s->metrics = more;
	more[s->n_metrics++] = (struct stat_asked_metric){ .metric = m };
	/* side by side, so that --exact puts them in one batch where it can */
	add_event(s, text, m->top);
	add_event(s, text, m->bottom);
	return true;
}

bool stat_add_metrics(struct stat_session *s, struct buf *text)
{
	bool good = true;
	if (!s->o->metrics)
		return true;
	char *const names = strdup(s->o->metrics);
	if (!names)
		abort();
	char *rest = names;
	for (char *name; good && (name = strsep(&rest, ","));)
		good = add_metric(s, text, name);
	free(names);
	return good;
}

static size_t index_of(const struct stat_session *s, const char *event)
{
	char name[64];
	moded_name(s, event, name, sizeof(name));
	size_t i = 0;
	while (i + 1 < s->n_events && strcmp(stat_event(s, i)->name, name) != 0)
		i++;
	return i;
}

void stat_place_metrics(struct stat_session *s)
{
	for (size_t i = 0; i < s->n_metrics; i++) {
		s->metrics[i].top = index_of(s, s->metrics[i].metric->top);
		s->metrics[i].bottom = index_of(s, s->metrics[i].metric->bottom);
	}
}

/* ---- -v ---- */

void stat_explain(const struct stat_session *s)
{
	struct tare_why why = { 0 };
	char reason[256] = "";
	const int backend = tare_backend_for(s->events, (enum tare_backend)s->o->backend, reason,
					     sizeof(reason), &why);
	fprintf(stderr, "cpu: %s\n", s->cpu.uarch ? s->cpu.uarch->title : "not in the tables");
	if (backend < 0)
		return;		/* the run itself will say why */
	fprintf(stderr, "backend: %s (%s)\n",
		backend == TARE_BACKEND_SOFT ? "software engine" : "hardware and kernel counters",
		reason);
	for (size_t i = 0; i < s->n_events; i++) {
		const struct tare_event *const e = stat_event(s, i);
		fprintf(stderr, "event %s: ", e->name);
		if (backend == TARE_BACKEND_SOFT && tare_engine_counts(e))
			fprintf(stderr, "software engine, %s\n", tare_role_name(e->role));
		else if (!takes_mode(e))
			fprintf(stderr, "clock\n");
		else
			fprintf(stderr, "perf_event type %" PRIu32 " config 0x%" PRIx64 "%s%s\n",
				e->base.type, e->base.config,
				e->base.exclude_user ? " exclude_user" : "",
				e->base.exclude_kernel ? " exclude_kernel" : "");
	}
	if (s->skipped[0])
		fprintf(stderr, "not available here: %s\n", s->skipped);
}
