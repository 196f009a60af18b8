/* This machine, x86-64: cpuid knows everything. */
#include "cpu-room.h"

#include <cpuid.h>

static void here(uint32_t leaf, uint32_t subleaf, struct cpuid_regs *out)
{
	__cpuid_count(leaf, subleaf, out->eax, out->ebx, out->ecx, out->edx);
}

void cpu_detect_in(const char *root, struct tare_cpu *cpu)
{
	(void)root;
	*cpu = (struct tare_cpu){ 0 };
	cpu_from_cpuid(cpu, here);
}

/* In a virtual machine a cpuid takes as long as a system call or several, and this is some ten of them, so the answer
 * is kept. That of a hybrid CPU depends on the core that the thread runs on, and is not. */
void tare_cpu_detect(struct tare_cpu *cpu)
{
	static struct tare_cpu kept;
	enum { NONE, BEING_WRITTEN, KEPT };
	static int state;		/* one of these; atomic */
	int none = NONE;

	if (!cpu)
		return;
	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == KEPT) {
		*cpu = kept;
		return;
	}
	cpu_detect_in("", cpu);
	if (cpu->hybrid || !__atomic_compare_exchange_n(&state, &none, BEING_WRITTEN, false, __ATOMIC_RELAXED,
							__ATOMIC_RELAXED))
		return;
	kept = *cpu;
	__atomic_store_n(&state, KEPT, __ATOMIC_RELEASE);
}
