/* The event space of a PMU: which bits of perf_event_attr.config are the event's selector, and which
 * the mask that chooses among the events of a selector.
 *
 * The kernel says it in the PMU's folder in sysfs, as format/event and format/umask:
 *
 *	AMD	config:0-7,32-35	config:8-15
 *	Intel	config:0-7		config:8-15	(newer kernels: config:8-15,40-47)
 *	Arm	config:0-15		–
 */
#ifndef VERIFY_EVENT_SPACE_H
#define VERIFY_EVENT_SPACE_H

#include <tare/cpu.h>
#include <tare/err.h>

#include <stddef.h>
#include <stdint.h>

/* Bits of config, as a list of ranges: the low bits of a value go to the first range. */
struct config_bits {
	unsigned width;			/* bits in all */
	unsigned n;
	struct { unsigned first, last; } ranges[8];
};

struct event_space {
	char pmu[32];			/* "cpu", "cpu_atom" */
	uint32_t type;			/* of perf_event_attr: PERF_TYPE_RAW, or that of the PMU where
					 * the machine has several */
	struct config_bits code, mask;
};

/* "config:0-7,32-35". False: not of config, or malformed. */
bool config_bits_parse(const char *text, struct config_bits *bits);
/* The value in its place. Bits of the value beyond the width are left out. */
uint64_t config_bits_put(const struct config_bits *bits, uint64_t value);
/* The largest value. */
uint64_t config_bits_max(const struct config_bits *bits);

/* The PMU that counts on CPU number `on`. `root`: "" or, in tests, a tree with sys/ and proc/.
 * TARE_E_NO_PMU, TARE_E_FORMAT. */
int event_space_find(struct event_space *s, const char *root, const struct tare_cpu *cpu,
		     unsigned on, struct tare_why *why);
uint64_t event_space_raw(const struct event_space *s, uint64_t code, uint64_t mask);
/* The code as tare_events_parse() takes it: "r0420:u"; returns out. */
char *event_space_name(const struct event_space *s, uint64_t raw, char *out, size_t size);

#endif
