/* The bare read of a counter in user space, without what pmc.h and the inline reads do about faults and
 * registers that change: for those who examine just that (doctor, verify). ARCH/pmc-bare.c. */
#ifndef COUNTER_PMC_BARE_H
#define COUNTER_PMC_BARE_H

#include <linux/perf_event.h>
#include <stdint.h>

/* Asks for an event that user space can read, where that must be asked for. */
void pmc_bare_ask(struct perf_event_attr *attr);
/* The counter with that index on the event's page (from 1). It may trap. */
uint64_t pmc_bare_read(unsigned index);

#endif
