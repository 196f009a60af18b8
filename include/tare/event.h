/* Event names to encodings.
 *
 *	struct tare_events *list;
 *	struct tare_why why;
 *	if (tare_events_parse("{instructions:u,branches:u},page-faults", &cpu,
 *			      &list, &why) < 0) …
 *	for (size_t i = 0; i < tare_events_count(list); i++)
 *		puts(tare_events_at(list, i)->name);
 *	tare_events_free(list);
 *
 * The language is perf's: comma lists, groups in braces, modifiers after a
 * colon, generic hardware and software names, rNNNN, pmu/term=value,…/, sysfs
 * PMU events, libpfm4 names; and tare's own: wall-time, zero,
 * EVENT-minus-irqs, EVENT-minus-r0420, EVENT-minus-proc-interrupts,
 * EVENT-minus-page-faults (also behind one of the others), and names that mean
 * the same on every CPU (cond-branches, loads …). tare-events(7) describes the whole language.
 *
 * Threads: tare_events_parse() and tare_event_names_open() may be called by any thread. A list of
 * events never changes: any thread may read it. A list of names is read by one thread at a time,
 * and each list is freed once, when no thread uses it any more. tare_name_source(): any thread.
 *
 * Side effects: names that the tables and the kernel do not have are looked up in libpfm4, which
 * the first such call loads with dlopen(3), where it is installed; it stays loaded. Files of sysfs
 * are read and closed.
 */
#ifndef TARE_EVENT_H
#define TARE_EVENT_H

#include <tare/cpu.h>
#include <tare/err.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tare_event_kind {
	TARE_EVENT_PERF,		/* one perf_event_open */
	TARE_EVENT_MINUS,		/* base minus another event, read as a pair */
	TARE_EVENT_MINUS_TOTAL,		/* base minus totals that cannot be read as a pair
					 * (/proc/interrupts, page faults): whole runs only */
	TARE_EVENT_WALL_TIME,		/* clock, ns */
	TARE_EVENT_ZERO,		/* always 0: the cost of everything but the counter */
};

/* One perf_event_attr, as far as a name can say it. */
struct tare_encoding {
	uint32_t type;			/* PERF_TYPE_… or a dynamic PMU type */
	uint64_t config, config1, config2;
	bool exclude_user, exclude_kernel, exclude_hv, exclude_host, exclude_guest,
		exclude_idle;
	bool pinned;			/* modifier D */
	bool precise_asked;		/* modifier p: refused in counting mode */
	uint64_t reserved[4];
};

/* What TARE_EVENT_MINUS_TOTAL subtracts; a sum of these. */
enum tare_minus_total {
	TARE_MINUS_PROC_INTERRUPTS = 1,
	TARE_MINUS_PAGE_FAULTS = 2,
	TARE_MINUS_PAIR = 4,		/* the event in `minus` as well */
};

/* Made by tare_events_parse() only. */
struct tare_event {
	char *name;			/* as the user wrote it, canonical modifiers */
	enum tare_event_kind kind;
	struct tare_encoding base;
	struct tare_encoding minus;	/* TARE_EVENT_MINUS, or with TARE_MINUS_PAIR */
	unsigned minus_total;		/* of enum tare_minus_total */
	const char *error_bound;	/* stated error of a correction, or NULL */
	enum tare_role role;		/* what it counts, where the tables know */
	const struct tare_event_row *row; /* its table row, or NULL */
	const char *unit;		/* "ns", "instructions", "" */
	double scale;			/* sysfs .scale; 1.0 otherwise */
	int group;			/* events with the same number ≥ 0 go together; -1 alone */
	bool has_modifier;		/* the text has :u, :k … */
	bool needs_engine;		/* this CPU has no such event (base.type is ~0): only the
					 * software engine can count it, by `role`. Opening it on
					 * hardware is TARE_E_EVENT_NOT_ON_CPU with why_engine */
	char *why_engine;		/* that sentence; NULL when !needs_engine */
	char *sysfs_unit;		/* storage of `unit` when the kernel gave it, or NULL */
};

struct tare_events;

/* `cpu` decides what CPU-specific names mean (NULL: this CPU); it is not kept. On error *list is NULL
 * and `why` names the event; for an unknown name why->what lists the nearest known ones.
 * TARE_E_SYNTAX: not the event language. TARE_E_EVENT_UNKNOWN: no such event anywhere.
 * TARE_E_EVENT_NOT_ON_CPU: the tables or libpfm4 have the event for another CPU.
 * TARE_E_TRACEPOINT, TARE_E_NOMEM, TARE_E_INVALID (text or list is NULL). */
int tare_events_parse(const char *text, const struct tare_cpu *cpu,
		      struct tare_events **list, struct tare_why *why);
/* How many events there are; 0 of NULL. */
size_t tare_events_count(const struct tare_events *list);
/* The events, in the order of the text; NULL where i is too large. Valid until the list is freed. */
const struct tare_event *tare_events_at(const struct tare_events *list, size_t i);
void tare_events_free(struct tare_events *list);	/* NULL is allowed */

/* Every name that tare_events_parse() knows on a CPU, for lists and completion.
 *
 *	struct tare_event_names *names;
 *	if (tare_event_names_open(&cpu, &names, &why) < 0) …
 *	for (const struct tare_event_name *n; (n = tare_event_names_next(names));)
 *		printf("%s [%s]\n", n->name, tare_name_source(n->source));
 *	tare_event_names_close(names);
 *
 * Sources come in the order of the enum; a row stays valid until close. */
enum tare_name_source {
	TARE_NAME_HARDWARE,		/* perf's generic hardware events */
	TARE_NAME_SOFTWARE,		/* perf's software events */
	TARE_NAME_CACHE,		/* perf's generic cache events */
	TARE_NAME_ROLE,			/* tare's own names: cond-branches, loads … */
	TARE_NAME_DERIVED,		/* wall-time, zero, EVENT-minus-irqs … */
	TARE_NAME_TABLE,		/* the tables' names for this CPU */
	TARE_NAME_SYSFS,		/* PMU events of this machine's kernel: pmu/name/ */
	TARE_NAME_LIBPFM4,		/* libpfm4's names for this CPU */
};

struct tare_event_name {
	const char *name;		/* parses as it stands */
	enum tare_name_source source;
	const char *alias_of;		/* the canonical name, when this is another spelling */
	const char *note;		/* one line for people, or "" */
	enum tare_role role;
	const struct tare_event_row *row; /* its table row, or NULL */
};

struct tare_event_names;

/* `cpu` NULL: this CPU. The sysfs names are those of this machine and are
 * left out when `cpu` is of another architecture or microarchitecture. 0, TARE_E_NOMEM or
 * TARE_E_INVALID (names is NULL). */
int tare_event_names_open(const struct tare_cpu *cpu, struct tare_event_names **names,
			  struct tare_why *why);
/* The next name; NULL after the last. Valid until close. */
const struct tare_event_name *tare_event_names_next(struct tare_event_names *names);
/* NULL, or why libpfm4 gave no names: it is not installed, or cannot be used. Everything else works
 * without it. Static text. */
const char *tare_event_names_missing(const struct tare_event_names *names);
void tare_event_names_close(struct tare_event_names *names);	/* NULL is allowed */
/* "hardware", "table" …; "unknown" for a number that is no source. Static. */
const char *tare_name_source(enum tare_name_source source);

#ifdef __cplusplus
}
#endif
#endif
