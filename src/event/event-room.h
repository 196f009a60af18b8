/* Inside the event room: the grammar (event-list.c) asks event_resolve()
 * (event-resolve.c), which asks the sources of names in turn; the first that
 * knows a name wins:
 *
 *	event-derived.c   wall-time, zero, EVENT-minus-…
 *	event-generic.c   perf's hardware, software and cache names
 *	event-raw.c       rNNNN
 *	event-table.c     tare's role names, and the names of the CPU tables
 *	event-pmu.c       pmu/term=value,…/ and the kernel's own names in sysfs
 *	event-pfm.c       libpfm4 (event-pfm-none.c where there is none)
 *
 * event-names.c walks them all, for lists and for the nearest names.
 *
 * A source returns EVENT_FOUND with the event filled (never its name, group or
 * modifiers), EVENT_NOT_MINE, or a negative code with `why` filled.
 */
#ifndef EVENT_ROOM_H
#define EVENT_ROOM_H

#include <tare/event.h>

struct buf;

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

/* The sources. */
int event_clock_find(const char *name, struct tare_event *ev);
int event_derived_find(const char *name, const struct tare_cpu *cpu, size_t position,
		       struct tare_event *ev, struct tare_why *why);
int event_generic_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev);
int event_raw_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev,
		   struct tare_why *why);
int event_role_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev,
		    struct tare_why *why);
int event_table_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev,
		     struct tare_why *why);
int event_pmu_find(const char *text, const struct tare_cpu *cpu, size_t position,
		   struct tare_event *ev, struct tare_why *why);
int event_sysfs_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev,
		     struct tare_why *why);
int event_pfm_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev,
		   struct tare_why *why);

/* For a name that no source has here: TARE_E_EVENT_NOT_ON_CPU with the CPUs that
 * have it, or EVENT_NOT_MINE. */
int event_table_elsewhere(const char *name, const struct tare_cpu *cpu, struct tare_why *why);
int event_pfm_elsewhere(const char *name, const struct tare_cpu *cpu, struct tare_why *why);

/* The names most like `name`, commas between them; false when none is near. */
bool event_nearest(const char *name, const struct tare_cpu *cpu, char *out, size_t size);

/* Every generic name but the cache events: i from 0 until NULL. */
struct event_generic {
	const char *name;
	const char *alias_of;
	uint32_t type;
	uint64_t config;
	enum tare_role role;
	const char *unit;
};
const struct event_generic *event_generic_at(size_t i);
/* Every cache event in perf's own spelling: i from 0 until false. */
bool event_cache_name_at(size_t i, char *out, size_t size);
/* "irqs", "r0420" …, "irqs-minus-page-faults": i from 0 until NULL. */
const char *event_correction_at(size_t i);
/* Calls back with "pmu/event/" of every event in sysfs, and with its note. */
void event_sysfs_each(void (*each)(const char *name, const char *note, void *arg), void *arg);
/* Calls back with every name that libpfm4 has for this CPU. */
void event_pfm_each(const struct tare_cpu *cpu,
		    void (*each)(const char *name, const char *note, void *arg), void *arg);

/* NULL, or why libpfm4's names are not known here. */
const char *event_pfm_missing(void);

/* The config as the kernel sees it: what an x86 raw code says beyond the event
 * (USR, OS, INT, EN) is decided by the kernel, not by the code. */
uint64_t event_raw_canonical(uint64_t config, const struct tare_cpu *cpu);

/* Fills encoding, row and role; false when perf has no code for the row. */
bool event_from_row(const struct tare_event_row *row, const struct tare_cpu *cpu,
		    struct tare_event *ev);
void event_attach_row(const struct tare_cpu *cpu, struct tare_event *ev);
bool event_role_in_engine(enum tare_role role);
/* Another spelling of a role's name, or NULL. */
const char *event_role_alias(enum tare_role role);
/* Makes it an event that only the engine can count; takes the text of `reason`. */
int event_needs_engine(struct tare_event *ev, enum tare_role role, struct buf *reason,
		       struct tare_why *why);
/* For messages: the row's name, or the brand. */
const char *event_cpu_name(const struct tare_cpu *cpu);
/* True when `cpu` is the machine that we run on (its sysfs and libpfm4 count). */
bool event_is_here(const struct tare_cpu *cpu);
/* The dynamic type of the PMU of this CPU's core type; false where all cores are alike,
 * or the machine that we run on has no such PMU. */
bool event_hybrid_pmu(const struct tare_cpu *cpu, uint32_t *type);
/* The PMU that raw codes of this CPU are for: PERF_TYPE_RAW, or on a hybrid
 * machine the dynamic type of the PMU of its core type. */
uint32_t event_core_pmu_type(const struct tare_cpu *cpu);

/* Put before /sys; "" but in tests. */
extern const char *event_sysfs_root;

#endif
