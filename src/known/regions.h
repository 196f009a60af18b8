/* Three loops whose counts are known, in assembly (ARCH/regions.S): plain, with a locked instruction, with
 * cpuid. A kernel (kernel.h) has a count of every event; these have the few that the doctor asks for, and
 * take any number of rounds. */
#ifndef KNOWN_REGIONS_H
#define KNOWN_REGIONS_H

#include <stdint.h>

/* n rounds over the cell; what a round is: enum tare_region in <tare/doctor.h>. */
void region_loop(uint64_t n, uint64_t *cell);
void region_locked(uint64_t n, uint64_t *cell);
void region_cpuid(uint64_t n, uint64_t *cell);

#endif
