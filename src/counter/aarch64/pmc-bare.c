/* Reading a counter in user space: PMEVCNTRn_EL0, and PMCCNTR_EL0 for cycles. */
#include "pmc-bare.h"

#define USER_ACCESS 2		/* config1 bit 1: armv8_pmuv3's "rdpmc" */
#define CYCLE_INDEX 32

void pmc_bare_ask(struct perf_event_attr *attr)
{
	attr->config1 |= USER_ACCESS;
}

#define READ_CASE(n)                                                           \
	case n + 1:                                                            \
		__asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(v));       \
		break;

/* The number is part of the instruction, so each counter has its own. */
uint64_t pmc_bare_read(unsigned index)
{
	uint64_t v = 0;

	__asm__ volatile("isb" ::: "memory");
	switch (index) {
	READ_CASE(0)
	READ_CASE(1)
	READ_CASE(2)
	READ_CASE(3)
	READ_CASE(4)
	READ_CASE(5)
	READ_CASE(6)
	READ_CASE(7)
	READ_CASE(8)
	READ_CASE(9)
	READ_CASE(10)
	READ_CASE(11)
	READ_CASE(12)
	READ_CASE(13)
	READ_CASE(14)
	READ_CASE(15)
	READ_CASE(16)
	READ_CASE(17)
	READ_CASE(18)
	READ_CASE(19)
	READ_CASE(20)
	READ_CASE(21)
	READ_CASE(22)
	READ_CASE(23)
	READ_CASE(24)
	READ_CASE(25)
	READ_CASE(26)
	READ_CASE(27)
	READ_CASE(28)
	READ_CASE(29)
	READ_CASE(30)
	case CYCLE_INDEX:
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(v));
		break;
	}
	return v;
}
