/* Inside the cpu room.
 *
 * Identification is split so that every part can be tested on every machine:
 *
 *	cpu-cpuid.c     what cpuid's answers mean (x86); the answers come through a
 *			function, so a test can be any CPU
 *	cpu-midr.c      what the files of arm64 mean; they come from a root folder,
 *			so a test can be any machine
 *	x86_64/, aarch64/cpu-here.c
 *			cpu_detect_in(): asks this machine, through one of the two
 *	cpu-lookup.c    identity, name and role to rows
 *	uarch-*.c       the rows
 *
 * The rows and lookups use no libc, so that they also work inside a measured
 * process.
 */
#ifndef CPU_ROOM_H
#define CPU_ROOM_H

#include <tare/cpu.h>

struct cpuid_regs {
	uint32_t eax, ebx, ecx, edx;
};
typedef void cpuid_fn(uint32_t leaf, uint32_t subleaf, struct cpuid_regs *out);

/* Fills *cpu (zeroed by the caller) from cpuid. */
void cpu_from_cpuid(struct tare_cpu *cpu, cpuid_fn *ask);

/* Fills *cpu (zeroed by the caller) from ROOT/sys and ROOT/proc of an arm64
 * machine; `on` is the CPU to describe (the first known one when it is not). */
void cpu_from_midr_files(struct tare_cpu *cpu, const char *root, int on);

/* tare_cpu_detect with another root for everything that is a file. */
void cpu_detect_in(const char *root, struct tare_cpu *cpu);

/* Sets the numbers of counters to those of cpu->uarch; 0 where it is not known. */
void cpu_counters_of_table(struct tare_cpu *cpu);

/* Which x86 models are which row. Model ranges are inclusive; a hybrid model
 * has one id per core type. */
struct cpu_x86_id {
	enum tare_vendor vendor;
	unsigned family;
	unsigned first_model, last_model;
	enum tare_core_type core;
	const struct tare_uarch *uarch;
};

/* arm64: implementer and part number of the MIDR. */
struct cpu_arm_id {
	unsigned implementer, part;
	const struct tare_uarch *uarch;
};

/* Another spelling of a row's name. */
struct cpu_alias {
	const char *alias;
	const struct tare_uarch *uarch;
};

/* What one uarch-*.c file contributes. */
struct cpu_tables {
	const struct tare_uarch *const *uarchs;
	size_t n_uarchs;
	const struct cpu_x86_id *x86_ids;
	size_t n_x86_ids;
	const struct cpu_arm_id *arm_ids;
	size_t n_arm_ids;
	const struct cpu_alias *aliases;
	size_t n_aliases;
};

extern const struct cpu_tables cpu_tables_intel_core, cpu_tables_intel_atom, cpu_tables_amd,
	cpu_tables_arm, cpu_tables_other;

/* All of them: i from 0 until NULL. */
const struct cpu_tables *cpu_tables_at(size_t i);

/* Same letters whatever the case, and '-', '_', ' ' taken as nothing. */
bool cpu_same_name(const char *a, const char *b);

/* Intel's atoms of one hybrid model differ by this number (cpuid 0x1A). */
#define CPU_NATIVE_CRESTMONT 2u

#endif
