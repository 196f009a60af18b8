/* What the doctor's probes need of the architecture: code whose counts are known
 * (ARCH/doctor-region.S) and the bare read of a counter (ARCH/doctor-read.c). */
#ifndef VERIFY_DOCTOR_REGION_H
#define VERIFY_DOCTOR_REGION_H

#include <linux/perf_event.h>
#include <stdint.h>

/* n rounds over the cell; what a round is: enum tare_region in <tare/doctor.h>. */
void doctor_region_loop(uint64_t n, uint64_t *cell);
void doctor_region_locked(uint64_t n, uint64_t *cell);
void doctor_region_cpuid(uint64_t n, uint64_t *cell);

/* Asks for an event that user space can read, where that must be asked for. */
void doctor_read_ask(struct perf_event_attr *attr);
/* The counter with that index on the event's page (from 1). It may trap. */
uint64_t doctor_read_pmc(unsigned index);

#endif
