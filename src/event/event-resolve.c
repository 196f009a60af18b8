/* What one name means: the sources in turn. */
#include "event-room.h"

#include "why.h"

#include <string.h>
#include <strings.h>

static int clock_find(const char *name, struct tare_event *ev)
{
	if (!strcasecmp(name, "wall-time")) {
		ev->kind = TARE_EVENT_WALL_TIME;
		ev->unit = "ns";
		return EVENT_FOUND;
	}
	if (!strcasecmp(name, "zero")) {
		ev->kind = TARE_EVENT_ZERO;
		return EVENT_FOUND;
	}
	return EVENT_NOT_MINE;
}

int event_resolve(const char *name, const struct tare_cpu *cpu, size_t position,
		  struct tare_event *ev, struct tare_why *why)
{
	int found = clock_find(name, ev);
	if (found == EVENT_NOT_MINE)
		found = event_generic_find(name, cpu, ev);
	if (found == EVENT_NOT_MINE)
		found = event_raw_find(name, cpu, ev, why);
	if (found < 0)
		return found;
	if (found == EVENT_FOUND)
		return 0;
	return why_set(why, TARE_E_EVENT_UNKNOWN, "position %zu: %s", position, name);
}

int event_check_mods(const struct tare_event *ev, const char *name, struct event_mods *mods,
		     struct tare_why *why)
{
	return 0;
}
