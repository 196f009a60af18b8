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

void tare_cpu_detect(struct tare_cpu *cpu)
{
	if (cpu)
		cpu_detect_in("", cpu);
}
