/* Stands in for event-pfm.c in a build without libpfm4: it knows no names. */
#include "event-room.h"

const char *event_pfm_missing(void)
{
	return "not in this build";
}

int event_pfm_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev,
		   struct tare_why *why)
{
	return EVENT_NOT_MINE;
}

int event_pfm_elsewhere(const char *name, const struct tare_cpu *cpu, struct tare_why *why)
{
	return EVENT_NOT_MINE;
}

void event_pfm_each(const struct tare_cpu *cpu,
		    void (*each)(const char *name, const char *note, void *arg), void *arg)
{
}
