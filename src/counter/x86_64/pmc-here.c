/* rdpmc and the serialising instructions of x86-64. */
#include "pmc.h"

#include <stddef.h>
#include <x86intrin.h>

/* The page's index is the register's number plus one; fixed counters are already
 * 0x40000000 + n there. Bit 63 makes the word non-zero for register 0 and is not
 * looked at by rdpmc, which takes ecx. */
uint64_t pmc_select(uint32_t index, bool second)
{
	return (uint64_t)(index - 1) | 1ull << 63;
}

uint64_t pmc_aged(uint64_t select, uint64_t age)
{
	return select | (age & 0x7fffffff) << 32;
}

uint64_t pmc_check(uint64_t aged, uint64_t age)
{
	return aged;
}

bool pmc_begins_again(void)
{
	return true;
}

/* With a note as the inline reads have it (tare/counter-x86_64.h). */
bool pmc_read(uint64_t select, uint64_t *value)
{
	uint32_t low = 0, high = 0, done;
	__asm__ volatile("xorl %[done], %[done]\n"
			 "8:\trdpmc\n\t"
			 "incl %[done]\n"
			 "9:\n\t"
			 ".pushsection .note.tare.read,\"a?\",@note\n\t"
			 ".balign 4\n\t"
			 ".long 5, 8, 1\n\t"
			 ".asciz \"tare\"\n\t"
			 ".balign 4\n\t"
			 ".long 8b - .\n\t"
			 ".long 9b - .\n\t"
			 ".popsection"
			 : "+a"(low), "+d"(high), [done] "=&r"(done)
			 : "c"((uint32_t)select)
			 : "cc", "memory");
	*value = low | (uint64_t)high << 32;
	return done;
}

bool pmc_can_serialize(enum tare_serializer s, const struct tare_cpu *cpu)
{
	switch (s) {
	case TARE_SERIALIZE_NONE:
	case TARE_SERIALIZE_LFENCE:
	case TARE_SERIALIZE_MFENCE:
	case TARE_SERIALIZE_CPUID:
		return true;
	case TARE_SERIALIZE_SERIALIZE:
		return cpu->has_serialize;
	default:
		return false;
	}
}

/* lfence first: it waits until all before it has retired, which is all that is
 * asked, and does not throw away what was fetched after it as the others do. */
enum tare_serializer pmc_best_serializer(const struct tare_cpu *cpu)
{
	if (cpu->lfence_serializes)
		return TARE_SERIALIZE_LFENCE;
	return cpu->has_serialize ? TARE_SERIALIZE_SERIALIZE : TARE_SERIALIZE_CPUID;
}

enum tare_serializer pmc_inline_serializer(void)
{
	return TARE_SERIALIZE_LFENCE;
}

void pmc_serialize(enum tare_serializer s)
{
	switch (s) {
	case TARE_SERIALIZE_LFENCE:
		__asm__ volatile("lfence" ::: "memory");
		break;
	case TARE_SERIALIZE_MFENCE:
		__asm__ volatile("mfence" ::: "memory");
		break;
	case TARE_SERIALIZE_SERIALIZE:
		/* serialize, as bytes: binutils before 2.35 do not know it */
		__asm__ volatile(".byte 0x0f, 0x01, 0xe8" ::: "memory");
		break;
	case TARE_SERIALIZE_CPUID: {
		uint32_t a = 0, b, c = 0, d;
		__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d)::"memory");
		break;
	}
	default:
		__asm__ volatile("" ::: "memory");
	}
}

unsigned pmc_user_config1(uint64_t config1, uint64_t out[3])
{
	out[0] = config1;
	return 1;
}

uint64_t pmc_cycles(void)
{
	return __rdtsc();
}
