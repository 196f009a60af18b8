#include "soft-watch.h"

#include "find-task.h"
#include "soft-setup.h"

#include <stdio.h>
#include <stdlib.h>

_Static_assert(WATCH_IN == (int)TARE_WATCH_IN && WATCH_TOGGLE == (int)TARE_WATCH_TOGGLE &&
	       WATCH_DUMP_BEFORE == (int)TARE_WATCH_DUMP_BEFORE && WATCH_DUMP_AFTER == (int)TARE_WATCH_DUMP_AFTER &&
	       WATCH_ZERO_BEFORE == (int)TARE_WATCH_ZERO_BEFORE, "enum tare_watch_what is enum soft_watch");

void soft_watch_serve(const struct tare_measure_options *o, struct soft_slot *slot)
{
	struct soft_watched *const asked = &slot->watch;
	struct tare_watched w = { .address = asked->from };
	pid_t pid, tid;
	if (!o->watch || !find_task(slot, &pid, &tid)) {
		soft_setup_reply(slot, REPLY_REFUSED);
		return;
	}
	asked->entry = 0;
	if (asked->from < asked->end && o->watch->next(pid, asked->end, &w, o->watch->arg)) {
		asked->entry = w.address;
		asked->what = w.what;
		asked->number = w.number;
	}
	soft_setup_reply(slot, REPLY_GO_ON);
}

const char *soft_watch_dump_name(const struct tare_measure_options *o, const char *name, char *room, size_t size)
{
	if (name[0] != SOFT_DUMP_WATCHED || !o->watch || !o->watch->name)
		return name;
	const unsigned number = (unsigned)strtoul(name + 2, NULL, 16);
	snprintf(room, size, "--dump-%s=%s", name[1] == 'b' ? "before" : "after", o->watch->name(number, o->watch->arg));
	return room;
}
