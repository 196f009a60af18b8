/* The PMU's system registers and the barrier of arm64. */
#include "pmc.h"

#include <stddef.h>

/* pmc-regs.S: a load and a return for each register, eight bytes a piece. */
extern const char counter_pmc_x9[], counter_pmc_x10[] __attribute__((visibility("hidden")));

#define REGS 32		/* pmevcntr0_el0 … pmevcntr30_el0, then pmccntr_el0 */

/* The page's index is the event counter's number plus one, and 32 for the cycle
 * counter, which is counter 31 of the PMU. Above that is the instruction counter
 * of PMUv3.9, which no kernel lets programs read so far. */
uint64_t pmc_select(uint32_t index, bool second)
{
	if (index > REGS)
		return 0;
	const char *const table = second ? counter_pmc_x10 : counter_pmc_x9;
	return (uint64_t)(uintptr_t)(table + 8u * (index - 1));
}

uint64_t pmc_aged(uint64_t select, uint64_t age)
{
	return select;
}

uint64_t pmc_check(uint64_t aged, uint64_t age)
{
	return age;
}

bool pmc_begins_again(void)
{
	return false;
}

bool pmc_read(uint64_t select, uint64_t *value)
{
	uint64_t v, v2;
	const bool second = select >= (uintptr_t)counter_pmc_x10 &&
			    select < (uintptr_t)counter_pmc_x10 + 8u * REGS;
	__asm__ volatile("blr %2\n\tmov %0, x9\n\tmov %1, x10"
			 : "=&r"(v), "=&r"(v2)
			 : "r"(select)
			 : "x9", "x10", "x30", "memory");
	*value = second ? v2 : v;
	return true;
}

/* Where kernel.perf_user_access is taken back, the kernel takes the index away too. */
int pmc_guard_signal(void)
{
	return 0;
}

bool pmc_guard_recover(const siginfo_t *info, void *context)
{
	return false;
}

bool pmc_can_serialize(enum tare_serializer s, const struct tare_cpu *cpu)
{
	return s == TARE_SERIALIZE_NONE || s == TARE_SERIALIZE_ISB;
}

enum tare_serializer pmc_best_serializer(const struct tare_cpu *cpu)
{
	return TARE_SERIALIZE_ISB;
}

enum tare_serializer pmc_inline_serializer(void)
{
	return TARE_SERIALIZE_ISB;
}

void pmc_serialize(enum tare_serializer s)
{
	if (s == TARE_SERIALIZE_ISB)
		__asm__ volatile("isb" ::: "memory");
	else
		__asm__ volatile("" ::: "memory");
}

/* Bit 1 of config1 asks for user access, bit 0 for 64 bits. Without bit 0 the
 * width is 32 and the kernel rewinds the register every 2^31 events; with it a
 * CPU before PMUv3p5 would need two chained counters, which cannot be read by the
 * program, and refuses with EOPNOTSUPP (the cycle counter always has 64). Kernels
 * before 5.17 know neither and refuse with EINVAL. */
unsigned pmc_user_config1(uint64_t config1, uint64_t out[3])
{
	out[0] = config1 | 3;
	out[1] = config1 | 2;
	out[2] = config1;
	return 3;
}

uint64_t pmc_cycles(void)
{
	uint64_t v;
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(v)::"memory");
	return v;
}
