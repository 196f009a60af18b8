/* Inside the event room: the grammar (event-list.c) asks the sources of names
 * in turn, the first that knows a name wins:
 *
 *	event-generic.c   perf's hardware, software and cache names
 *	event-raw.c       rNNNN
 *	event-pmu.c       pmu/term=value,…/ and the kernel's own names in sysfs
 *	event-table.c     tare's role names, and the names of the CPU tables
 *	event-pfm.c       libpfm4
 *
 * A source returns EVENT_FOUND with the event filled (never its name, group or
 * modifiers), EVENT_NOT_MINE, or a negative code with `why` filled.
 */
#ifndef EVENT_ROOM_H
#define EVENT_ROOM_H

#include <tare/event.h>

enum { EVENT_NOT_MINE = 0, EVENT_FOUND = 1 };

/* The modifiers of one event: what was named, not yet what it excludes. */
struct event_mods {
	bool user, kernel, hv, host, guest, no_idle, pinned, precise;
};

/* Fills kind, encodings, role, row … from a name without modifiers. 0, or a
 * negative code; `position` is where the name stands in the list. */
int event_resolve(const char *name, const struct tare_cpu *cpu, size_t position,
		  struct tare_event *ev, struct tare_why *why);
/* Whether an event can have these modifiers; may add those it implies. */
int event_check_mods(const struct tare_event *ev, const char *name, struct event_mods *mods,
		     struct tare_why *why);

int event_generic_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev);
int event_raw_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev,
		   struct tare_why *why);

/* Every generic name, in order: *i starts at 0; NULL at the end. */
struct event_generic {
	const char *name;
	const char *alias_of;
	uint32_t type;
	uint64_t config;
	enum tare_role role;
	const char *unit;
};
const struct event_generic *event_generic_at(size_t i);

/* The config as the kernel sees it: what an x86 raw code says beyond the event
 * (USR, OS, INT, EN) is decided by the kernel, not by the code. */
uint64_t event_raw_canonical(uint64_t config, const struct tare_cpu *cpu);

#endif
