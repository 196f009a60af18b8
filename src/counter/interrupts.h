/* The paper's fallback where no interrupt event exists: the interrupts the
 * machine took, from /proc/interrupts, over the run.
 *
 * Its error is stated, not hidden: interrupts of other programs on the same CPUs
 * are in it, and so are those that arrived while the kernel ran (which a user-mode
 * count does not see). It is a bound, best on an idle machine with the program
 * pinned to one CPU: only the given CPUs (the program's affinity) are summed.
 */
#ifndef COUNTER_INTERRUPTS_H
#define COUNTER_INTERRUPTS_H

#include <sched.h>
#include <stdint.h>

uint64_t interrupts_total(const char *root, const cpu_set_t *cpus);

#endif
