/* All names that parse on a CPU: for `tare list`, and for the nearest ones to a
 * name that does not.
 */
#include "event-room.h"

#include "buf.h"
#include "clocale.h"
#include "why.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct entry {
	struct tare_event_name name;
	char *text, *note;			/* storage of the above */
};

struct tare_event_names {
	struct entry *entries;
	size_t n, cap, next;
	bool failed;
	bool here;				/* of this machine: libpfm4 was asked */
	enum tare_name_source source;		/* of what add_foreign() adds */
	const struct tare_cpu *cpu;		/* while adding */
};

static struct entry *add(struct tare_event_names *l, enum tare_name_source source,
			 const char *name, const char *note)
{
	if (l->n == l->cap) {
		const size_t cap = l->cap ? 2 * l->cap : 256;
		struct entry *const entries = realloc(l->entries, cap * sizeof(*entries));
		if (!entries) {
			l->failed = true;
			return NULL;
		}
		l->entries = entries;
		l->cap = cap;
	}
	struct entry *const e = &l->entries[l->n];
	*e = (struct entry){ .text = strdup(name), .note = strdup(note) };
	if (!e->text || !e->note) {
		free(e->text);
		free(e->note);
		l->failed = true;
		return NULL;
	}
	l->n++;
	e->name = (struct tare_event_name){ .name = e->text, .note = e->note, .source = source };
	return e;
}

static void add_row(struct tare_event_names *l, enum tare_name_source source, const char *name,
		    const char *note, const struct tare_event_row *row, enum tare_role role)
{
	struct entry *const e = add(l, source, name, note);

	if (!e)
		return;
	e->name.row = row;
	e->name.role = role;
}

static void add_generic(struct tare_event_names *l, const struct tare_cpu *cpu, uint32_t type,
			enum tare_name_source source)
{
	const struct event_generic *g;

	for (size_t i = 0; (g = event_generic_at(i)); i++) {
		if (g->type != type)
			continue;
		struct tare_event ev = { .role = g->role, .base = { .type = g->type, .config = g->config } };
		event_attach_row(cpu, &ev);
		struct entry *const e = add(l, source, g->name, ev.row ? ev.row->note : "");
		if (!e)
			return;
		e->name.role = g->role;
		e->name.row = ev.row;
		e->name.alias_of = g->alias_of;
	}
}

static void add_cache(struct tare_event_names *l)
{
	char name[64];

	for (size_t i = 0; event_cache_name_at(i, name, sizeof(name)); i++)
		add(l, TARE_NAME_CACHE, name, "");
}

/* Generic names that are also role names stay generic. */
static bool is_generic(const char *name)
{
	const struct event_generic *g;

	for (size_t i = 0; (g = event_generic_at(i)); i++)
		if (!strcmp(g->name, name))
			return true;
	return false;
}

static void add_roles(struct tare_event_names *l, const struct tare_cpu *cpu)
{
	for (unsigned i = TARE_ROLE_OTHER + 1; i < TARE_ROLE_COUNT; i++) {
		const enum tare_role role = (enum tare_role)i;
		const struct tare_event_row *const row = tare_cpu_event(cpu->uarch, role);
		const bool on_cpu = row && (row->has_raw || row->generic);
		if (is_generic(tare_role_name(role)) || (!on_cpu && !event_role_in_engine(role)))
			continue;
		const char *const note = on_cpu ? row->name : "counted by the software engine only";
		add_row(l, TARE_NAME_ROLE, tare_role_name(role), note, on_cpu ? row : NULL, role);
		const char *const other = event_role_alias(role);
		if (!other)
			continue;
		add_row(l, TARE_NAME_ROLE, other, note, on_cpu ? row : NULL, role);
		if (!l->failed)
			l->entries[l->n - 1].name.alias_of = tare_role_name(role);
	}
}

/* A correction is listed where it parses. */
static void add_corrections(struct tare_event_names *l, const struct tare_cpu *cpu,
			    const char *base)
{
	const char *suffix;
	char name[128];

	for (size_t i = 0; (suffix = event_correction_at(i)); i++) {
		struct tare_event ev = { .unit = "", .scale = 1.0 };
		snprintf(name, sizeof(name) - 2, "%s-minus-%s", base, suffix);
		if (event_derived_find(name, cpu, 1, &ev, NULL) == EVENT_FOUND) {
			strcat(name, ":u");
			add_row(l, TARE_NAME_DERIVED, name,
				ev.error_bound ? ev.error_bound :
				"counted by the software engine only", ev.row, ev.role);
		}
		free(ev.why_engine);
	}
}

static void add_derived(struct tare_event_names *l, const struct tare_cpu *cpu)
{
	const struct tare_uarch *const u = cpu->uarch;

	add(l, TARE_NAME_DERIVED, "wall-time", "the clock, in nanoseconds");
	struct entry *const perfs = add(l, TARE_NAME_DERIVED, "duration_time", "perf's name");
	if (perfs)
		perfs->name.alias_of = "wall-time";
	add(l, TARE_NAME_DERIVED, "zero", "always 0: what everything but the counter costs");
	add_corrections(l, cpu, "instructions");
	add_corrections(l, cpu, "branches");
	for (size_t i = 0; u && i < u->n_events; i++)
		if (u->events[i].has_raw && !u->events[i].generic)
			add_corrections(l, cpu, u->events[i].name);
}

static void add_aliases(struct tare_event_names *l, const struct tare_event_row *row)
{
	for (const char *a = row->aliases; a && *a; a += strspn(a, " ")) {
		const size_t len = strcspn(a, " ");
		char *const one = strndup(a, len);
		if (!one) {
			l->failed = true;
			return;
		}
		struct entry *const e = add(l, TARE_NAME_TABLE, one, row->note);
		free(one);
		if (!e)
			return;
		e->name.row = row;
		e->name.role = row->role;
		e->name.alias_of = row->name;
		a += len;
	}
}

static void add_table(struct tare_event_names *l, const struct tare_cpu *cpu)
{
	const struct tare_uarch *const u = cpu->uarch;

	for (size_t i = 0; u && i < u->n_events; i++) {
		const struct tare_event_row *const row = &u->events[i];
		if (!row->has_raw && !row->generic)
			continue;
		add_row(l, TARE_NAME_TABLE, row->name, row->note, row, row->role);
		add_aliases(l, row);
	}
}

/* libpfm4 has several PMUs for one CPU (on Intel the architectural one beside the model's),
 * and some names in both: they mean the first one. */
static bool is_listed(const struct tare_event_names *l, const char *name)
{
	for (size_t i = l->n; i-- > 0 && l->entries[i].name.source == l->source;)
		if (strcmp(l->entries[i].text, name) == 0)
			return true;
	return false;
}

/* A name of the kernel's or of libpfm4's: listed if it parses, and once. */
static void add_foreign(const char *name, const char *note, void *arg)
{
	struct tare_event_names *const l = arg;
	struct tare_event ev = { .unit = "", .scale = 1.0 };

	if (l->source == TARE_NAME_LIBPFM4 && tare_cpu_event_by_name(l->cpu->uarch, name))
		return;
	if (is_listed(l, name))
		return;
	if (event_resolve(name, l->cpu, 1, &ev, NULL) == 0)
		add_row(l, l->source, name, note, ev.row, ev.role);
	free(ev.why_engine);
	free(ev.sysfs_unit);
}

int tare_event_names_open(const struct tare_cpu *cpu, struct tare_event_names **names,
			  struct tare_why *why)
{
	struct tare_cpu here;

	if (!names)
		return why_set(why, TARE_E_INVALID, "no place given for the names");
	*names = NULL;
	if (!cpu) {
		tare_cpu_detect(&here);
		cpu = &here;
	}
	struct tare_event_names *const l = calloc(1, sizeof(*l));
	if (!l)
		return why_set(why, TARE_E_NOMEM, "while listing events");
	add_generic(l, cpu, PERF_TYPE_HARDWARE, TARE_NAME_HARDWARE);
	add_generic(l, cpu, PERF_TYPE_SOFTWARE, TARE_NAME_SOFTWARE);
	add_cache(l);
	add_roles(l, cpu);
	add_derived(l, cpu);
	add_table(l, cpu);
	l->cpu = cpu;
	l->source = TARE_NAME_SYSFS;
	l->here = event_is_here(cpu);
	if (l->here)
		event_sysfs_each(add_foreign, l);
	l->source = TARE_NAME_LIBPFM4;
	event_pfm_each(cpu, add_foreign, l);
	l->cpu = NULL;
	if (l->failed) {
		tare_event_names_close(l);
		return why_set(why, TARE_E_NOMEM, "while listing events");
	}
	*names = l;
	return 0;
}

const struct tare_event_name *tare_event_names_next(struct tare_event_names *names)
{
	return names && names->next < names->n ? &names->entries[names->next++].name : NULL;
}

const char *tare_event_names_missing(const struct tare_event_names *names)
{
	return names && names->here ? event_pfm_missing() : NULL;
}

void tare_event_names_close(struct tare_event_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->n; i++) {
		free(names->entries[i].text);
		free(names->entries[i].note);
	}
	free(names->entries);
	free(names);
}

const char *tare_name_source(enum tare_name_source source)
{
	static const char *const texts[] = {
		[TARE_NAME_HARDWARE] = "hardware", [TARE_NAME_SOFTWARE] = "software",
		[TARE_NAME_CACHE] = "cache", [TARE_NAME_ROLE] = "role",
		[TARE_NAME_DERIVED] = "derived", [TARE_NAME_TABLE] = "table",
		[TARE_NAME_SYSFS] = "sysfs", [TARE_NAME_LIBPFM4] = "libpfm4",
	};
	return (size_t)source < sizeof(texts) / sizeof(texts[0]) ? texts[source] : "unknown";
}

/* Names longer than this are not compared: a typo is in a word, not in a book. */
#define LONGEST 63

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static char folded(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '_' || c == '.' || c == ':' ? '-' : c;
}

/* Edits that turn a into b: insert, delete, replace a letter, swap two that stand
 * next to each other. Letters of either case are the same, and so are the marks
 * that join words. */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][LONGEST + 2];
	const size_t la = strlen(a), lb = strlen(b);

	if (la > LONGEST || lb > LONGEST)
		return UINT32_MAX;
	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *const row = rows[i % 3], *const above = rows[(i + 2) % 3];
		const unsigned *const above2 = rows[(i + 1) % 3];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			const bool same = folded(a[i - 1]) == folded(b[j - 1]);
			row[j] = least(least(row[j - 1], above[j]) + 1, above[j - 1] + !same);
			if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
			    folded(a[i - 2]) == folded(b[j - 1]))
				row[j] = least(row[j], above2[j - 2] + 1);
		}
	}
	return rows[la % 3][lb];
}

struct best {
	const char *name;
	unsigned distance;
};

static void offer(struct best best[3], const char *name, unsigned d)
{
	for (size_t i = 0; i < 3; i++)
		if (best[i].name && !clocale_casecmp(best[i].name, name))
			return;
	for (size_t i = 0; i < 3; i++) {
		if (best[i].name && best[i].distance <= d)
			continue;
		memmove(&best[i + 1], &best[i], (2 - i) * sizeof(best[0]));
		best[i] = (struct best){ .name = name, .distance = d };
		return;
	}
}

bool event_nearest(const char *name, const struct tare_cpu *cpu, char *out, size_t size)
{
	/* Of a short name something must be left. */
	const size_t len_of = strlen(name);
	const unsigned limit = (unsigned)(len_of < 3 ? len_of / 2 : len_of < 6 ? 2 : len_of / 3);
	struct best best[3] = { 0 };
	struct tare_event_names *names;

	if (tare_event_names_open(cpu, &names, NULL) < 0)
		return false;
	for (const struct tare_event_name *n; (n = tare_event_names_next(names));) {
		const unsigned d = distance(name, n->name);
		if (d <= limit)
			offer(best, n->name, d);
	}
	size_t len = 0;
	for (size_t i = 0; i < 3 && best[i].name && len < size; i++) {
		/* The third guess is noise when the first is a hit. */
		if (i && best[i].distance > best[0].distance + 2)
			break;
		len += (size_t)snprintf(out + len, size - len, "%s%s", i ? ", " : "", best[i].name);
	}
	tare_event_names_close(names);
	return best[0].name != NULL;
}
