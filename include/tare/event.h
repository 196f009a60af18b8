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
 * EVENT-minus-page-faults.
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
	TARE_EVENT_MINUS_TOTAL,		/* base minus a total that cannot be read as a
					 * pair (/proc/interrupts, page faults): whole runs only */
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
};

enum tare_minus_total { TARE_MINUS_PROC_INTERRUPTS = 1, TARE_MINUS_PAGE_FAULTS = 2 };

struct tare_event {
	char *name;			/* as the user wrote it, canonical modifiers */
	enum tare_event_kind kind;
	struct tare_encoding base;
	struct tare_encoding minus;	/* TARE_EVENT_MINUS */
	enum tare_minus_total minus_total;
	const char *error_bound;	/* stated error of a correction, or NULL */
	enum tare_role role;		/* what it counts, where the tables know */
	const struct tare_event_row *row; /* its table row, or NULL */
	const char *unit;		/* "ns", "instructions", "" */
	double scale;			/* sysfs .scale; 1.0 otherwise */
	int group;			/* events with the same number ≥ 0 go together; -1 alone */
	bool has_modifier;		/* the user chose :u/:k himself */
};

struct tare_events;

/* `cpu` decides CPU-specific names (NULL: detect). On error *list is NULL and
 * `why` names the event; an unknown name lists the nearest known ones in
 * why->what. TARE_E_EVENT_UNKNOWN: exists nowhere. TARE_E_EVENT_NOT_ON_CPU: the
 * tables or libpfm4 know it for another CPU. */
int tare_events_parse(const char *text, const struct tare_cpu *cpu,
		      struct tare_events **list, struct tare_why *why);
size_t tare_events_count(const struct tare_events *list);
const struct tare_event *tare_events_at(const struct tare_events *list, size_t i);
void tare_events_free(struct tare_events *list);

#ifdef __cplusplus
}
#endif
#endif
