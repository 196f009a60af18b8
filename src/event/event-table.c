/* Names from the CPU tables, and tare's own names for what they count.
 *
 * A role name (cond-branches, loads …) means the same on every CPU. Where the
 * tables have an event for it, that is its encoding; where not, and the software
 * engine can see it, the event says so (needs_engine) and can still be counted
 * there.
 */
#include "event-room.h"

#include "buf.h"
#include "clocale.h"
#include "why.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Roles that a run under the software engine can count: what an instruction is. */
static const enum tare_role engine_roles[] = {
	TARE_ROLE_INSTRUCTIONS, TARE_ROLE_BRANCHES, TARE_ROLE_COND_BRANCHES,
	TARE_ROLE_TAKEN_BRANCHES, TARE_ROLE_FAR_BRANCHES, TARE_ROLE_CALLS, TARE_ROLE_RETURNS,
	TARE_ROLE_INDIRECT_BRANCHES, TARE_ROLE_SYSCALLS, TARE_ROLE_LOADS, TARE_ROLE_STORES,
	TARE_ROLE_MULTIPLIES, TARE_ROLE_DIVIDES, TARE_ROLE_FP, TARE_ROLE_X87,
	TARE_ROLE_SIMD_INT, TARE_ROLE_LOCKED,
};

bool event_role_in_engine(enum tare_role role)
{
	for (size_t i = 0; i < sizeof(engine_roles) / sizeof(engine_roles[0]); i++)
		if (engine_roles[i] == role)
			return true;
	return false;
}

const char *event_role_alias(enum tare_role role)
{
	switch (role) {
	case TARE_ROLE_COND_BRANCHES: return "conditional-branches";
	case TARE_ROLE_FAR_BRANCHES: return "far-branches";
	default: return NULL;
	}
}

/* "zen1, zen2 and 4 more": the CPUs for which has() is true. Returns how many. */
static size_t list_cpus(struct buf *out, bool (*has)(const struct tare_uarch *, const void *),
			const void *what)
{
	const struct tare_uarch *u;
	size_t n = 0;

	for (size_t i = 0; (u = tare_uarch_at(i)); i++) {
		if (!has(u, what))
			continue;
		if (n < 4)
			buf_printf(out, "%s%s", n ? ", " : "", u->name);
		n++;
	}
	if (n > 4)
		buf_printf(out, " and %zu more", n - 4);
	return n;
}

static bool has_role(const struct tare_uarch *u, const void *role)
{
	const struct tare_event_row *const row = tare_cpu_event(u, *(const enum tare_role *)role);
	return row && row->has_raw;
}

static bool has_name(const struct tare_uarch *u, const void *name)
{
	return tare_cpu_event_by_name(u, name) != NULL;
}

const char *event_cpu_name(const struct tare_cpu *cpu)
{
	if (cpu->uarch)
		return cpu->uarch->name;
	return cpu->brand[0] ? cpu->brand : "this CPU";
}

/* A core that the tables do not know still has its architecture's events by name. */
static const struct tare_uarch *table_of(const struct tare_cpu *cpu)
{
	if (cpu->uarch || cpu->arch != TARE_ARCH_ARM64)
		return cpu->uarch;
	return tare_uarch_by_name("pmuv3");
}

bool event_from_row(const struct tare_event_row *row, const struct tare_cpu *cpu,
		    struct tare_event *ev)
{
	if (row->has_raw) {
		ev->base.type = event_core_pmu_type(cpu);
		ev->base.config = row->raw;
	} else if (!row->generic || event_generic_find(row->generic, cpu, ev) != EVENT_FOUND) {
		return false;
	}
	ev->row = row;
	ev->role = row->role;
	return true;
}

/* The row of what an encoding counts, so that a raw code or perf's own name has
 * a verdict and a role, too. */
void event_attach_row(const struct tare_cpu *cpu, struct tare_event *ev)
{
	const struct tare_uarch *const u = table_of(cpu);

	if (ev->row || ev->kind != TARE_EVENT_PERF || ev->needs_engine)
		return;
	const struct event_generic *g;
	for (size_t i = 0; (g = event_generic_at(i)); i++)
		if (g->type == PERF_TYPE_HARDWARE && ev->base.type == g->type &&
		    (uint32_t)ev->base.config == g->config)
			ev->role = g->role;
	for (size_t i = 0; u && i < u->n_events; i++) {
		const struct tare_event_row *const row = &u->events[i];
		const bool same_code = row->has_raw && row->raw == ev->base.config &&
				       (ev->base.type == PERF_TYPE_RAW ||
					ev->base.type == event_core_pmu_type(cpu));
		const bool same_name = row->generic && ev->base.type == PERF_TYPE_HARDWARE &&
				       row->role == ev->role;
		if (!same_code && !same_name)
			continue;
		ev->row = row;
		ev->role = row->role;
		return;
	}
}

int event_needs_engine(struct tare_event *ev, enum tare_role role, struct buf *reason,
		       struct tare_why *why)
{
	if (buf_failed(reason) || !reason->data) {
		buf_free(reason);
		return why_set(why, TARE_E_NOMEM, "while reading an event list");
	}
	free(ev->why_engine);
	ev->why_engine = reason->data;	/* the buffer's memory is now the event's */
	ev->needs_engine = true;
	ev->role = role;
	ev->base = (struct tare_encoding){ .type = UINT32_MAX };
	return EVENT_FOUND;
}

static int role_without_row(const char *name, enum tare_role role, const struct tare_cpu *cpu,
			    struct tare_event *ev, struct tare_why *why)
{
	const struct tare_event_row *const row = tare_cpu_event(cpu->uarch, role);
	struct buf text = { 0 };

	if (!cpu->uarch)
		buf_printf(&text, "%s: %s is not in the tables, so its event is not known", name,
			   event_cpu_name(cpu));
	else if (row)
		buf_printf(&text, "%s: %s has %s, but perf has no code for it", name,
			   event_cpu_name(cpu), row->name);
	else
		buf_printf(&text, "%s: %s has no such event", name, event_cpu_name(cpu));
	const enum tare_role uops = role == TARE_ROLE_LOADS ? TARE_ROLE_LOAD_UOPS :
				    role == TARE_ROLE_STORES ? TARE_ROLE_STORE_UOPS : TARE_ROLE_OTHER;
	const struct tare_event_row *const instead = tare_cpu_event(cpu->uarch, uops);
	if (instead)
		buf_printf(&text, " (%s counts micro-ops)", tare_role_name(uops));
	struct buf cpus = { 0 };
	if (list_cpus(&cpus, has_role, &role))
		buf_printf(&text, "; found on %s", cpus.data);
	buf_free(&cpus);
	if (event_role_in_engine(role))
		return event_needs_engine(ev, role, &text, why);
	const int err = why_set(why, TARE_E_EVENT_NOT_ON_CPU, "%s", text.data ? text.data : name);
	buf_free(&text);
	return err;
}

int event_role_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev,
		    struct tare_why *why)
{
	for (unsigned i = TARE_ROLE_OTHER + 1; i < TARE_ROLE_COUNT; i++) {
		const enum tare_role role = (enum tare_role)i;
		const char *const other = event_role_alias(role);
		if (clocale_casecmp(name, tare_role_name(role)) && (!other || clocale_casecmp(name, other)))
			continue;
		const struct tare_event_row *const row = tare_cpu_event(cpu->uarch, role);
		if (row && event_from_row(row, cpu, ev))
			return EVENT_FOUND;
		return role_without_row(name, role, cpu, ev, why);
	}
	return EVENT_NOT_MINE;
}

int event_table_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev,
		     struct tare_why *why)
{
	const struct tare_event_row *const row = tare_cpu_event_by_name(table_of(cpu), name);

	if (!row)
		return EVENT_NOT_MINE;
	if (event_from_row(row, cpu, ev))
		return EVENT_FOUND;
	return why_set(why, TARE_E_EVENT_NOT_ON_CPU, "%s: %s has it, but perf has no code for it",
		       name, event_cpu_name(cpu));
}

int event_table_elsewhere(const char *name, const struct tare_cpu *cpu, struct tare_why *why)
{
	struct buf cpus = { 0 };
	int err = EVENT_NOT_MINE;

	if (list_cpus(&cpus, has_name, name))
		err = why_set(why, TARE_E_EVENT_NOT_ON_CPU, "%s: not an event of %s; found on %s",
			      name, event_cpu_name(cpu), cpus.data ? cpus.data : "others");
	buf_free(&cpus);
	return err;
}
