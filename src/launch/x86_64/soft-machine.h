/* The machine of a run: what the engine has to know of it (soft/abi/machine-abi.h). */
#ifndef LAUNCH_SOFT_MACHINE_H
#define LAUNCH_SOFT_MACHINE_H

#include "abi.h"

#include <tare/world.h>

/* `text`: tare_measure_options.machine; NULL: the program sees the host. 0, or an error as of
 * tare_machine_check(). */
int soft_machine_setup(struct soft_machine *m, const char *text, struct tare_why *why);

#endif
