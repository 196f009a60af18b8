/* What one instruction counts as, by Zydis: the second opinion of the tests.
 *
 * Shares nothing with the engine's decoder. The definitions are those of
 * tare-engine(7); where Zydis' idea of an access differs from what hardware
 * counters count (prefetch, nop r/m), zclass.c says so case by case.
 */
#ifndef TESTS_ZCLASS_H
#define TESTS_ZCLASS_H

#include <Zydis/Zydis.h>

#include <stdbool.h>
#include <stdint.h>

enum event {
	EV_INSTRUCTIONS,
	EV_BRANCHES,
	EV_COND,
	EV_TAKEN,		/* of a conditional: known only when it has executed */
	EV_LOADS,
	EV_STORES,
	EV_CALLS,
	EV_RETURNS,
	EV_INDIRECT,
	EV_SYSCALLS,
	EV_MULTIPLIES,
	EV_DIVIDES,
	EV_X87,
	EV_FP,
	EV_SIMD_INT,
	EV_LOCKED,
	EV_FAR,
	EV_COUNT,
};

extern const char *const event_names[EV_COUNT];

struct zclass {
	uint32_t events;	/* bit n: event n happens once when this retires */
	uint8_t length;
	bool known;		/* Zydis decoded it */
	bool rep_string;	/* may stop between iterations */
	bool shadows_next;	/* mov ss, pop ss: no trap before the next one */
	bool jcc_to_next;	/* rip does not tell whether it was taken: cond does */
	uint8_t cond;		/* low 4 bits of a jcc's opcode */
	bool breakpoint;	/* int3, int1: the SIGTRAP is the program's own */
};

void zclass_init(void);
struct zclass zclass_of(const uint8_t *bytes, unsigned avail);

#endif
