/* Serialising instructions: chosen per CPU, selectable, usable by themselves. */
#include "pmc.h"

#include <stdatomic.h>

/* Detected once; two threads that do so together find the same. */
static _Atomic(enum tare_serializer) best;

enum tare_serializer tare_serializer_auto(void)
{
	enum tare_serializer s = atomic_load_explicit(&best, memory_order_relaxed);
	if (s == TARE_SERIALIZE_AUTO) {
		struct tare_cpu cpu;
		tare_cpu_detect(&cpu);
		s = pmc_best_serializer(&cpu);
		atomic_store_explicit(&best, s, memory_order_relaxed);
	}
	return s;
}

void tare_serialize(void)
{
	pmc_serialize(tare_serializer_auto());
}

int tare_serialize_with(enum tare_serializer s)
{
	struct tare_cpu cpu;
	if (s == TARE_SERIALIZE_AUTO) {
		tare_serialize();
		return 0;
	}
	/* Only `serialize` needs asking; the others are everywhere or nowhere. */
	cpu = (struct tare_cpu){ 0 };
	if (s == TARE_SERIALIZE_SERIALIZE)
		tare_cpu_detect(&cpu);
	if (!pmc_can_serialize(s, &cpu))
		return TARE_E_INVALID;
	pmc_serialize(s);
	return 0;
}

const char *tare_serializer_name(enum tare_serializer s)
{
	static const char *const names[] = {
		[TARE_SERIALIZE_AUTO] = "auto",	    [TARE_SERIALIZE_NONE] = "none",
		[TARE_SERIALIZE_LFENCE] = "lfence", [TARE_SERIALIZE_MFENCE] = "mfence",
		[TARE_SERIALIZE_SERIALIZE] = "serialize",
		[TARE_SERIALIZE_CPUID] = "cpuid",   [TARE_SERIALIZE_ISB] = "isb",
	};
	return (unsigned)s < sizeof(names) / sizeof(names[0]) ? names[s] : "unknown";
}
