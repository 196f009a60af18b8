/* Which event of the software engine each role of the CPU tables is: the one table.
 *
 *	role_event(TARE_ROLE_LOADS)	SOFT_LOADS: `tare stat` counts loads in the engine
 *	role_event(TARE_ROLE_CYCLES)	-1: the engine cannot know it
 *	role_vpmu_kind(row)		what a row of the tables counts in the virtual PMU
 *
 * The two differ on purpose. A role is an idea ("floating-point instructions"); a row is an event
 * of one CPU, whose definition may differ from the idea. The virtual PMU shows rows, so it counts
 * those only whose definition is the engine's.
 */
#ifndef MODEL_ROLE_EVENTS_H
#define MODEL_ROLE_EVENTS_H

#include <tare/cpu.h>

#include <stdint.h>

/* enum soft_event, or -1. */
int role_event(enum tare_role role);

/* enum soft_event or enum vpmu_kind; VPMU_NOTHING where the engine would have to guess. */
uint8_t role_vpmu_kind(const struct tare_event_row *row);

#endif
