/* This machine, arm64: the kernel's files know the MIDR of every core. */
#include "cpu-room.h"

#include <sched.h>

void cpu_detect_in(const char *root, struct tare_cpu *cpu)
{
	*cpu = (struct tare_cpu){ 0 };
	cpu_from_midr_files(cpu, root, sched_getcpu());
}

void tare_cpu_detect(struct tare_cpu *cpu)
{
	if (cpu)
		cpu_detect_in("", cpu);
}
