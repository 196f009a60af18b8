/* What one name means: the sources in turn, and what to say when none knows. */
#include "event-room.h"

#include "why.h"

#include <string.h>

static int ask_sources(const char *name, const struct tare_cpu *cpu, size_t position,
		       struct tare_event *ev, struct tare_why *why)
{
	if (strchr(name, '/')) {
		const int found = event_derived_find(name, cpu, position, ev, why);
		return found ? found : event_pmu_find(name, cpu, position, ev, why);
	}
	int found = event_clock_find(name, ev);
	if (!found)
		found = event_generic_find(name, cpu, ev);
	if (!found)
		found = event_raw_find(name, cpu, ev, why);
	if (!found)
		found = event_derived_find(name, cpu, position, ev, why);
	if (!found)
		found = event_role_find(name, cpu, ev, why);
	if (!found)
		found = event_table_find(name, cpu, ev, why);
	if (!found)
		found = event_sysfs_find(name, cpu, ev, why);
	if (!found)
		found = event_pfm_find(name, cpu, ev, why);
	return found;
}

static int unknown(const char *name, const struct tare_cpu *cpu, size_t position,
		   struct tare_why *why)
{
	int err = event_table_elsewhere(name, cpu, why);
	if (!err)
		err = event_pfm_elsewhere(name, cpu, why);
	if (err)
		return err;
	char near[128];
	const char *const missing = event_pfm_missing();
	if (!why || !event_nearest(name, cpu, near, sizeof(near)))
		near[0] = '\0';
	return why_set(why, TARE_E_EVENT_UNKNOWN, "position %zu: %s%s%s%s%s%s%s", position, name,
		       near[0] ? " (nearest: " : "", near, near[0] ? ")" : "",
		       missing ? "; libpfm4's names are not known here (" : "",
		       missing ? missing : "", missing ? ")" : "");
}

int event_resolve(const char *name, const struct tare_cpu *cpu, size_t position,
		  struct tare_event *ev, struct tare_why *why)
{
	const int found = ask_sources(name, cpu, position, ev, why);

	if (found < 0)
		return found;
	if (found == EVENT_NOT_MINE)
		return unknown(name, cpu, position, why);
	event_attach_row(cpu, ev);
	return 0;
}
