/* Functions that switch counting (tare_measure_options.watch), seen from the launcher.
 *
 *	soft_watch_serve(o, slot);		// REQ_WATCH: the tracer thread asks the caller's function
 *	soft_watch_dump_name(o, name, …);	// the name of a dump for such a function
 */
#ifndef LAUNCH_SOFT_WATCH_H
#define LAUNCH_SOFT_WATCH_H

#include "abi.h"

#include <tare/measure.h>

void soft_watch_serve(const struct tare_measure_options *o, struct soft_slot *slot);
/* `name` is what the engine gave the dump. Returns it, or the name of the function in `room`. */
const char *soft_watch_dump_name(const struct tare_measure_options *o, const char *name, char *room, size_t size);

#endif
