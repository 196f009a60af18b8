/* The event language: a list of events and groups, each with modifiers.
 *
 *	list   = item { "," item }
 *	item   = event | "{" event { "," event } "}" [ ":" modifiers ]
 *	event  = name [ ":" modifiers ]
 *	       | pmu "/" [ term { "," term } ] "/" [ [ ":" ] modifiers ]
 *
 * Blanks around items are allowed. A group's modifiers are added to those of its
 * members, as perf does: {a:u,b}:k counts a in both modes. Excluding begins with
 * the first of u, k, h (or G, H): what is not named is left out.
 *
 * This file knows the grammar; event-resolve.c knows what a name means.
 */
#include "event-room.h"

#include "why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
	struct tare_event ev;
	struct event_mods mods;
	char *base_name;		/* as written, without modifiers */
	bool slashes;			/* pmu/…/ form: modifiers follow without a colon */
};

struct tare_events {
	struct item *items;
	size_t n, cap;
};

struct parser {
	const char *text;		/* the whole list */
	const char *at;
	const struct tare_cpu *cpu;
	struct tare_events *list;
	struct tare_why *why;
	int group;			/* number of the open group, or -1 */
	int next_group;
};

#define BLANKS " \t\n"

static void free_event(struct tare_event *ev)
{
	free(ev->name);
	free(ev->why_engine);
	free(ev->sysfs_unit);
}

static size_t position(const struct parser *p, const char *at)
{
	return (size_t)(at - p->text) + 1;
}

static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, BLANKS);
}

static int nomem(struct tare_why *why)
{
	return why_set(why, TARE_E_NOMEM, "while reading an event list");
}

static const char mod_letters[] = "ukhpPHGID";
/* Letters that perf knows and that mean nothing, or something else, here. */
static const struct { char letter; const char *meaning; } refused_mods[] = {
	{ 'S', "read the group with every sample" },
	{ 'W', "split the group when it does not fit" },
	{ 'e', "have the PMU alone" },
	{ 'b', "aggregate with BPF" },
	{ 'R', "keep the event's place when events are regrouped" },
	{ 'X', "read values that retire latency needs" },
};

static int bad_modifier(const struct parser *p, const char *at)
{
	for (size_t i = 0; i < sizeof(refused_mods) / sizeof(refused_mods[0]); i++)
		if (*at == refused_mods[i].letter)
			return why_set(p->why, TARE_E_SYNTAX,
				       "position %zu: modifier '%c' (%s) has no meaning when counting "
				       "exactly; known are u k h H G I D p",
				       position(p, at), *at, refused_mods[i].meaning);
	return why_set(p->why, TARE_E_SYNTAX,
		       "position %zu: unknown modifier '%c'; known are u k h H G I D p",
		       position(p, at), *at);
}

static int parse_mods(const struct parser *p, const char *at, const char *end,
		      struct event_mods *mods)
{
	if (at == end)
		return why_set(p->why, TARE_E_SYNTAX,
			       "position %zu: a modifier was expected after ':'", position(p, at));
	for (; at < end; at++) {
		switch (*at) {
		case 'u': mods->user = true; break;
		case 'k': mods->kernel = true; break;
		case 'h': mods->hv = true; break;
		case 'H': mods->host = true; break;
		case 'G': mods->guest = true; break;
		case 'I': mods->no_idle = true; break;
		case 'D': mods->pinned = true; break;
		case 'p':
		case 'P': mods->precise = true; break;
		default: return bad_modifier(p, at);
		}
	}
	return 0;
}

static void add_mods(struct event_mods *to, const struct event_mods *from)
{
	to->user |= from->user;
	to->kernel |= from->kernel;
	to->hv |= from->hv;
	to->host |= from->host;
	to->guest |= from->guest;
	to->no_idle |= from->no_idle;
	to->pinned |= from->pinned;
	to->precise |= from->precise;
}

static void apply_mods(struct tare_encoding *enc, const struct event_mods *m)
{
	if (m->user || m->kernel || m->hv) {
		enc->exclude_user = !m->user;
		enc->exclude_kernel = !m->kernel;
		enc->exclude_hv = !m->hv;
	}
	if (m->host || m->guest) {
		enc->exclude_host = !m->host;
		enc->exclude_guest = !m->guest;
	}
	enc->exclude_idle |= m->no_idle;
	enc->pinned |= m->pinned;
	enc->precise_asked |= m->precise;
}

/* The name that every output shows: the base as written, modifiers in one order. */
static char *full_name(const struct item *it)
{
	const struct event_mods *const m = &it->mods;
	char mods[16];
	char *out;

	snprintf(mods, sizeof(mods), "%s%s%s%s%s%s%s%s", m->user ? "u" : "", m->kernel ? "k" : "",
		 m->hv ? "h" : "", m->precise ? "p" : "", m->host ? "H" : "",
		 m->guest ? "G" : "", m->no_idle ? "I" : "", m->pinned ? "D" : "");
	if (asprintf(&out, "%s%s%s", it->base_name, !mods[0] || it->slashes ? "" : ":", mods) < 0)
		return NULL;
	return out;
}

static bool takes_mods(const struct tare_event *ev)
{
	return ev->kind != TARE_EVENT_WALL_TIME && ev->kind != TARE_EVENT_ZERO;
}

static bool any_mods(const struct event_mods *m)
{
	return m->user || m->kernel || m->hv || m->host || m->guest || m->no_idle || m->pinned ||
	       m->precise;
}

static int finish_item(const struct parser *p, struct item *it)
{
	struct tare_event *const ev = &it->ev;

	if (!takes_mods(ev))	/* a group's modifiers: not meant for the clock */
		it->mods = (struct event_mods){ 0 };
	const int err = event_check_mods(ev, it->base_name, &it->mods, p->why);
	if (err < 0)
		return err;
	ev->has_modifier = it->mods.user || it->mods.kernel || it->mods.hv;
	apply_mods(&ev->base, &it->mods);
	if (ev->kind == TARE_EVENT_MINUS || ev->kind == TARE_EVENT_MINUS_TOTAL)
		apply_mods(&ev->minus, &it->mods);
	ev->name = full_name(it);
	return ev->name ? 0 : nomem(p->why);
}

static struct item *new_item(struct parser *p)
{
	struct tare_events *const l = p->list;

	if (l->n == l->cap) {
		const size_t cap = l->cap ? 2 * l->cap : 8;
		struct item *const items = realloc(l->items, cap * sizeof(*items));
		if (!items)
			return NULL;
		l->items = items;
		l->cap = cap;
	}
	struct item *const it = &l->items[l->n++];
	*it = (struct item){ .ev = { .group = p->group, .unit = "", .scale = 1.0 } };
	return it;
}

/* An event ends at a comma, a brace, a blank or the end, but not inside /…/. */
static int item_end(const struct parser *p, const char **end)
{
	const char *at = p->at;

	for (; *at && !strchr(",{}" BLANKS, *at); at++) {
		if (*at != '/')
			continue;
		const char *const close = strchr(at + 1, '/');
		if (!close)
			return why_set(p->why, TARE_E_SYNTAX,
				       "position %zu: '/' opens a list of terms that is not closed",
				       position(p, at));
		at = close;
	}
	*end = at;
	return 0;
}

/* Where the modifiers of name[0..end) would begin: behind the last ':' when
 * nothing but modifier letters follow, and there is something before it. */
static const char *mods_of_name(const char *name, const char *end)
{
	const char *const colon = memrchr(name, ':', (size_t)(end - name));

	if (!colon || colon == name || colon + 1 == end ||
	    strspn(colon + 1, mod_letters) < (size_t)(end - colon - 1))
		return NULL;
	return colon + 1;
}

/* pmu/…/u, pmu/…/:u, pmu/…/-minus-irqs:u */
static int parse_slashes(struct parser *p, struct item *it, const char *close, const char *end)
{
	const char *name_end = close + 1;

	it->slashes = *name_end != '-';
	if (!it->slashes)
		name_end += strcspn(name_end, ":,{}" BLANKS);
	it->base_name = strndup(p->at, (size_t)(name_end - p->at));
	if (!it->base_name)
		return nomem(p->why);
	const int err = event_resolve(it->base_name, p->cpu, position(p, p->at), &it->ev, p->why);
	if (err < 0 || name_end == end)
		return err;
	return parse_mods(p, name_end + (*name_end == ':'), end, &it->mods);
}

/* libpfm4 takes modifiers as part of a name, so that event:u:k would be a name with :u,
 * and the :k behind it would take the :u back. */
static bool modified_twice(const struct parser *p, const char *name)
{
	char *const head = strdup(name);
	bool twice = false;

	/* A few times is enough: asking every source takes its time. */
	for (int i = 0; head && i < 4 && !twice; i++) {
		const char *const mods = mods_of_name(head, head + strlen(head));
		if (!mods)
			break;
		head[mods - 1 - head] = '\0';
		struct tare_event ignored = { 0 };
		twice = event_resolve(head, p->cpu, 1, &ignored, NULL) == 0;
		free_event(&ignored);
	}
	free(head);
	return twice;
}

/* subsystem:name, as perf writes tracepoints: two identifiers in lower case, and the second
 * is no list of modifiers that somebody mistyped. */
static bool is_tracepoint(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	const size_t head = strspn(name, letters);
	const char *const tail = name + head + 1;

	return head && name[head] == ':' && strlen(tail) > 2 && !tail[strspn(tail, letters)] &&
	       tail[strspn(tail, mod_letters)];
}

/* A colon may be part of the name (libpfm4's BR_INST_RETIRED:CONDITIONAL) or
 * begin the modifiers, so both readings are tried; the modifiers win. */
static int parse_name(struct parser *p, struct item *it, const char *end)
{
	const char *const mods = mods_of_name(p->at, end);
	const char *const name_end = mods ? mods - 1 : end;

	it->base_name = strndup(p->at, (size_t)(name_end - p->at));
	if (!it->base_name)
		return nomem(p->why);
	int err = event_resolve(it->base_name, p->cpu, position(p, p->at), &it->ev, p->why);
	if (!mods && err == TARE_E_EVENT_UNKNOWN && is_tracepoint(it->base_name))
		return why_set(p->why, TARE_E_TRACEPOINT, "position %zu: %s", position(p, p->at),
			       it->base_name);
	if (!mods && err == TARE_E_EVENT_UNKNOWN) {
		const char *const colon = memrchr(p->at, ':', (size_t)(end - p->at));
		if (!colon || colon == p->at)
			return err;
		it->base_name[colon - p->at] = '\0';
		struct tare_event ignored = { 0 };
		const int head = event_resolve(it->base_name, p->cpu, position(p, p->at), &ignored,
					       NULL);
		free_event(&ignored);
		return head == 0 ? parse_mods(p, colon + 1, end, &it->mods) : err;
	}
	if (mods && (err == 0 || err == TARE_E_EVENT_UNKNOWN) && modified_twice(p, it->base_name))
		return why_set(p->why, TARE_E_SYNTAX,
			       "position %zu: ':' begins modifiers a second time; write them together",
			       position(p, mods - 1));
	if (err == 0 && mods)
		err = parse_mods(p, mods, end, &it->mods);
	return err;
}

static int parse_event(struct parser *p)
{
	const char *end = p->at;

	skip_blanks(p);
	if (!*p->at)
		return why_set(p->why, TARE_E_SYNTAX, "position %zu: %s", position(p, p->at),
			       p->at == p->text + strspn(p->text, BLANKS) ?
			       "the event list is empty" :
			       "the list ends where an event was expected (trailing comma)");
	if (*p->at == '}')	/* parse_group() has its own words for its end */
		return why_set(p->why, TARE_E_SYNTAX,
			       "position %zu: '}' closes a group that was not opened",
			       position(p, p->at));
	if (strchr(",{", *p->at))
		return why_set(p->why, TARE_E_SYNTAX,
			       "position %zu: an event was expected, found '%c'",
			       position(p, p->at), *p->at);
	int err = item_end(p, &end);
	if (err < 0)
		return err;
	struct item *const it = new_item(p);
	if (!it)
		return nomem(p->why);
	const char *const close = memrchr(p->at, '/', (size_t)(end - p->at));
	err = close ? parse_slashes(p, it, close, end) : parse_name(p, it, end);
	if (err < 0)
		return err;
	if (!takes_mods(&it->ev) && any_mods(&it->mods))
		return why_set(p->why, TARE_E_SYNTAX, "position %zu: %s takes no modifiers",
			       position(p, p->at), it->base_name);
	p->at = end;
	skip_blanks(p);
	return 0;
}

static int parse_group_mods(struct parser *p, size_t first)
{
	if (*p->at != ':')
		return 0;
	const char *const start = p->at + 1;
	const char *const end = start + strcspn(start, ",{}" BLANKS);
	struct event_mods mods = { 0 };
	const int err = parse_mods(p, start, end, &mods);
	if (err < 0)
		return err;
	for (size_t i = first; i < p->list->n; i++)
		add_mods(&p->list->items[i].mods, &mods);
	p->at = end;
	return 0;
}

static int parse_group(struct parser *p)
{
	const char *const open = p->at++;
	const size_t first = p->list->n;

	skip_blanks(p);
	if (*p->at == '}')
		return why_set(p->why, TARE_E_SYNTAX, "position %zu: the group is empty",
			       position(p, open));
	p->group = p->next_group++;
	for (;;) {
		skip_blanks(p);
		if (*p->at == '{')
			return why_set(p->why, TARE_E_SYNTAX,
				       "position %zu: a group inside the group opened at position %zu",
				       position(p, p->at), position(p, open));
		if (*p->at == '}')
			return why_set(p->why, TARE_E_SYNTAX,
				       "position %zu: the group ends where an event was expected "
				       "(trailing comma)", position(p, p->at));
		if (!*p->at)
			break;
		const int err = parse_event(p);
		if (err < 0)
			return err;
		if (*p->at != ',')
			break;
		p->at++;
	}
	if (*p->at == '{')
		return why_set(p->why, TARE_E_SYNTAX,
			       "position %zu: a comma was expected, found '{'", position(p, p->at));
	if (*p->at && *p->at != '}')
		return why_set(p->why, TARE_E_SYNTAX,
			       "position %zu: ',' or '}' was expected, found '%c'",
			       position(p, p->at), *p->at);
	if (!*p->at)
		return why_set(p->why, TARE_E_SYNTAX,
			       "position %zu: the group opened here with '{' is not closed",
			       position(p, open));
	p->at++;
	p->group = -1;
	return parse_group_mods(p, first);
}

static int parse_list(struct parser *p)
{
	for (;;) {
		skip_blanks(p);
		const int err = *p->at == '{' ? parse_group(p) : parse_event(p);
		if (err < 0)
			return err;
		skip_blanks(p);
		if (!*p->at)
			return 0;
		if (*p->at == '}')
			return why_set(p->why, TARE_E_SYNTAX,
				       "position %zu: '}' closes a group that was not opened",
				       position(p, p->at));
		if (*p->at != ',')
			return why_set(p->why, TARE_E_SYNTAX,
				       "position %zu: a comma was expected, found '%c'",
				       position(p, p->at), *p->at);
		p->at++;
	}
}

static int finish_list(struct parser *p)
{
	struct tare_events *const l = p->list;

	for (size_t i = 0; i < l->n; i++) {
		const int err = finish_item(p, &l->items[i]);
		if (err < 0)
			return err;
	}
	return 0;
}

int tare_events_parse(const char *text, const struct tare_cpu *cpu, struct tare_events **list,
		      struct tare_why *why)
{
	struct tare_cpu here;

	if (!list)
		return why_set(why, TARE_E_INVALID, "no place given for the events");
	*list = NULL;
	if (!text)
		return why_set(why, TARE_E_INVALID, "no event list given");
	if (!cpu) {
		tare_cpu_detect(&here);
		cpu = &here;
	}
	struct parser p = { .text = text, .at = text, .cpu = cpu, .why = why, .group = -1 };
	p.list = calloc(1, sizeof(*p.list));
	if (!p.list)
		return nomem(why);
	int err = parse_list(&p);
	if (err == 0)
		err = finish_list(&p);
	if (err < 0) {
		tare_events_free(p.list);
		return err;
	}
	*list = p.list;
	return 0;
}

size_t tare_events_count(const struct tare_events *list)
{
	return list ? list->n : 0;
}

const struct tare_event *tare_events_at(const struct tare_events *list, size_t i)
{
	return list && i < list->n ? &list->items[i].ev : NULL;
}

void tare_events_free(struct tare_events *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].base_name);
		free_event(&list->items[i].ev);
	}
	free(list->items);
	free(list);
}
