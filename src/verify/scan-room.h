/* Inside verify: a scan of which single codes can be tried (interrupt-event.c). */
#ifndef VERIFY_SCAN_ROOM_H
#define VERIFY_SCAN_ROOM_H

#include <tare/scan.h>

/* As tare_scan_open(). `cpu` has the tables that names come from (NULL: this CPU's). `most_rounds`: no
 * interrupt in so many rounds means that there are none; then the result is TARE_E_TIMEOUT where
 * interrupts are looked for. 0: the usual number. `bits`: counters wrap after so many; 0: where the
 * kernel says.
 * Such a scan is for one event: it ends with the first that is proved, and does not examine to the end
 * what is only like it. */
int scan_open_with(const struct tare_scan_options *o, const struct tare_cpu *cpu,
		   uint64_t most_rounds, unsigned bits, struct tare_scan **scan, struct tare_why *why);
/* Confirms one code, with a long trial at the end. *found: it counts what is looked for, and `f` says how
 * well. A code that the kernel refuses is not found. */
int scan_try(struct tare_scan *scan, uint64_t raw, struct tare_scan_found *f, bool *found,
	     struct tare_why *why);

#endif
