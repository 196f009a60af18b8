/* Counting only parts of a run: what all backends share. See tare/measure.h (struct tare_parts). */
#ifndef LAUNCH_PARTS_H
#define LAUNCH_PARTS_H

#include <tare/measure.h>

struct tare_parts *parts_new(size_t dumps);	/* with room for so many; NULL: no memory */
void parts_free(struct tare_parts *p);		/* NULL is allowed */
/* Makes a dump with a copy of the name and a count for each of the measurement, without values.
 * False: no memory. */
bool parts_dump_init(struct tare_dump *d, const char *name, const struct tare_measurement *m);
/* True, with *why: these options cannot be combined. */
bool parts_refuse(const struct tare_measure_options *o, struct tare_why *why);
/* Takes back what is no count of the parts: where counting was never on, and of the kernel's own
 * events, which count the whole run beside the engine. */
void parts_judge(const struct tare_measure_options *o, struct tare_measurement *m);

/* What was counted between two readings; scaled over its own times. */
struct tare_count parts_since(const struct tare_count *now, const struct tare_count *before);

#endif
