#include "role-events.h"

#include "abi.h"
#include "vpmu-abi.h"

#include <stddef.h>

#define NONE (-1)

static const struct {
	enum tare_role role;
	int event;		/* of the engine under `tare stat`; NONE: not counted there */
	int kind;		/* of a row in the virtual PMU; NONE: not counted there */
} table[] = {
	{ TARE_ROLE_INSTRUCTIONS,	SOFT_INSTRUCTIONS,	SOFT_INSTRUCTIONS },
	{ TARE_ROLE_INSTRUCTIONS_FIXED,	SOFT_INSTRUCTIONS,	SOFT_INSTRUCTIONS },
	{ TARE_ROLE_INSTRUCTIONS_PRECISE, NONE,			SOFT_INSTRUCTIONS },
	{ TARE_ROLE_BRANCHES,		SOFT_BRANCHES,		SOFT_BRANCHES },
	{ TARE_ROLE_COND_BRANCHES,	SOFT_COND,		SOFT_COND },
	{ TARE_ROLE_TAKEN_BRANCHES,	SOFT_TAKEN,		SOFT_TAKEN },
	{ TARE_ROLE_FAR_BRANCHES,	SOFT_FAR,		SOFT_FAR },
	{ TARE_ROLE_CALLS,		SOFT_CALLS,		SOFT_CALLS },
	{ TARE_ROLE_RETURNS,		SOFT_RETURNS,		SOFT_RETURNS },
	{ TARE_ROLE_INDIRECT_BRANCHES,	SOFT_INDIRECT,		SOFT_INDIRECT },
	{ TARE_ROLE_LOADS,		SOFT_LOADS,		SOFT_LOADS },
	{ TARE_ROLE_STORES,		SOFT_STORES,		SOFT_STORES },
	{ TARE_ROLE_LOCKED,		SOFT_LOCKED,		SOFT_LOCKED },
	{ TARE_ROLE_X87,		SOFT_X87,		SOFT_X87 },
	/* The CPUs' own events of these roles count operations, or some of the instructions. */
	{ TARE_ROLE_SYSCALLS,		SOFT_SYSCALLS,		NONE },
	{ TARE_ROLE_MULTIPLIES,		SOFT_MULTIPLIES,	NONE },
	{ TARE_ROLE_DIVIDES,		SOFT_DIVIDES,		NONE },
	{ TARE_ROLE_FP,			SOFT_FP,		NONE },
	{ TARE_ROLE_SIMD_INT,		SOFT_SIMD_INT,		NONE },
	/* Made by the virtual PMU itself. */
	{ TARE_ROLE_INTERRUPTS,		NONE,			VPMU_INTERRUPTS },
	{ TARE_ROLE_INTERRUPTS_AND_FAULTS, NONE,		VPMU_INTERRUPTS_AND_FAULTS },
	{ TARE_ROLE_SPECLOCKMAP,	NONE,			VPMU_SPECLOCKMAP },
};

int role_event(enum tare_role role)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].role == role)
			return table[i].event;
	return NONE;
}

static int kind_of_role(enum tare_role role)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].role == role)
			return table[i].kind;
	return NONE;
}

uint8_t role_vpmu_kind(const struct tare_event_row *row)
{
	const unsigned inexact = TARE_TRUST_UOPS | TARE_TRUST_SPECULATIVE | TARE_TRUST_BROKEN;
	const int kind = kind_of_role(row->role);
	if (kind < 0 || (kind < SOFT_EVENTS && row->trust & inexact))
		return VPMU_NOTHING;
	return (uint8_t)kind;
}
