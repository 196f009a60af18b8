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
#include <stdbool.h>
#include <stdint.h>

struct buf;

uint64_t interrupts_total(const char *root, const cpu_set_t *cpus);

/* The same in two steps, so that little is executed, and few interrupts come, between two readings and
 * what is examined between them. `text` is appended to. False: the file cannot be read. */
bool interrupts_read(const char *root, struct buf *text);
uint64_t interrupts_sum(const struct buf *text, const cpu_set_t *cpus);

#endif
