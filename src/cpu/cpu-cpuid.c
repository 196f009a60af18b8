/* What the answers of cpuid mean.
 *
 * Family and model are the full numbers: the extended family is added when the
 * base family is 15, the extended model is used for families 6 and 15. Peers
 * that compare the base numbers only take one AMD family for another.
 */
#include "cpu-room.h"

#include <string.h>

#define HYPERVISOR_BIT (1u << 31)	/* leaf 1 ecx */
#define SERIALIZE_BIT (1u << 14)	/* leaf 7.0 edx */
#define HYBRID_BIT (1u << 15)		/* leaf 7.0 edx */
#define LFENCE_BIT (1u << 2)		/* leaf 0x80000021 eax */
#define CORE_TYPE_ATOM 0x20u		/* leaf 0x1a eax 31:24 */
#define CORE_TYPE_CORE 0x40u

static enum tare_vendor vendor_of(const struct cpuid_regs *leaf0)
{
	static const struct { char text[13]; enum tare_vendor vendor; } known[] = {
		{ "GenuineIntel", TARE_VENDOR_INTEL },
		{ "AuthenticAMD", TARE_VENDOR_AMD },
		{ "HygonGenuine", TARE_VENDOR_HYGON },
	};
	const uint32_t words[3] = { leaf0->ebx, leaf0->edx, leaf0->ecx };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!memcmp(words, known[i].text, 12))
			return known[i].vendor;
	return TARE_VENDOR_OTHER;
}

static void take_signature(struct tare_cpu *cpu, uint32_t eax)
{
	const unsigned base_family = eax >> 8 & 15, base_model = eax >> 4 & 15;

	cpu->family = base_family;
	cpu->model = base_model;
	cpu->stepping = eax & 15;
	if (base_family == 15)
		cpu->family += eax >> 20 & 255;
	if (base_family == 15 || base_family == 6)
		cpu->model |= (eax >> 16 & 15) << 4;
}

static void take_brand(struct tare_cpu *cpu, cpuid_fn *ask)
{
	char text[49] = "";

	for (uint32_t i = 0; i < 3; i++) {
		struct cpuid_regs r;
		ask(0x80000002 + i, 0, &r);
		memcpy(text + 16 * i, &r, 16);
	}
	const char *start = text;	/* Intel pads on the left */
	while (*start == ' ')
		start++;
	size_t len = strlen(start);
	while (len && start[len - 1] == ' ')
		len--;
	memcpy(cpu->brand, start, len);
}

static void take_hypervisor(struct tare_cpu *cpu, cpuid_fn *ask)
{
	struct cpuid_regs r;

	ask(0x40000000, 0, &r);
	const uint32_t words[3] = { r.ebx, r.ecx, r.edx };
	memcpy(cpu->hypervisor, words, 12);
	if (!cpu->hypervisor[0])
		memcpy(cpu->hypervisor, "unknown", 8);	/* it is there, but has no name */
}

/* The kernel makes lfence serialising on every AMD CPU that has the switch (MSR
 * C001_1029 bit 1); families 0Fh and 11h have no switch and always serialise, and
 * newer ones say so in cpuid. On Intel it always is. */
static bool lfence_serializes(const struct tare_cpu *cpu, cpuid_fn *ask, uint32_t last)
{
	if (cpu->vendor == TARE_VENDOR_INTEL)
		return true;
	if (cpu->vendor != TARE_VENDOR_AMD && cpu->vendor != TARE_VENDOR_HYGON)
		return false;
	if (last >= 0x80000021) {
		struct cpuid_regs r;
		ask(0x80000021, 0, &r);
		if (r.eax & LFENCE_BIT)
			return true;
	}
	return cpu->family >= 0x0f;
}

static uint32_t take_core_type(struct tare_cpu *cpu, cpuid_fn *ask)
{
	struct cpuid_regs r;

	ask(0x1a, 0, &r);
	if (r.eax >> 24 == CORE_TYPE_ATOM)
		cpu->core = TARE_CORE_EFFICIENT;
	else if (r.eax >> 24 == CORE_TYPE_CORE)
		cpu->core = TARE_CORE_PERFORMANCE;
	return r.eax & 0xffffff;
}

/* Leaf 0xA: eax has the version of the PMU (0: none is shown) and the number of general
 * counters in bits 15:8, edx that of the fixed ones in bits 4:0 (SDM volume 3, 20.2). */
static void take_counters(struct tare_cpu *cpu, cpuid_fn *ask, uint32_t last)
{
	struct cpuid_regs r;

	cpu_counters_of_table(cpu);
	if (cpu->vendor != TARE_VENDOR_INTEL || last < 0xa)
		return;
	ask(0xa, 0, &r);
	if ((r.eax & 0xff) == 0 || (r.eax >> 8 & 0xff) == 0)
		return;
	cpu->gp_counters = r.eax >> 8 & 0xff;
	/* Version 1 has no fixed counters, and edx means nothing. */
	cpu->fixed_counters = (r.eax & 0xff) > 1 ? r.edx & 0x1f : 0;
}

void cpu_from_cpuid(struct tare_cpu *cpu, cpuid_fn *ask)
{
	struct cpuid_regs r;
	uint32_t native = 0;

	cpu->arch = TARE_ARCH_X86_64;
	ask(0, 0, &r);
	const uint32_t last = r.eax;
	cpu->vendor = vendor_of(&r);
	ask(1, 0, &r);
	take_signature(cpu, r.eax);
	if (r.ecx & HYPERVISOR_BIT)
		take_hypervisor(cpu, ask);
	ask(0x80000000, 0, &r);
	const uint32_t last_extended = r.eax;
	if (last_extended >= 0x80000004)
		take_brand(cpu, ask);
	cpu->lfence_serializes = lfence_serializes(cpu, ask, last_extended);
	if (last >= 7) {
		ask(7, 0, &r);
		cpu->has_serialize = r.edx & SERIALIZE_BIT;
		cpu->hybrid = cpu->vendor == TARE_VENDOR_INTEL && r.edx & HYBRID_BIT;
	}
	if (cpu->hybrid && last >= 0x1a)
		native = take_core_type(cpu, ask);
	cpu->uarch = tare_uarch_x86(cpu->vendor, cpu->family, cpu->model, cpu->core);
	/* Arrow Lake has two kinds of atom under one model. */
	if (cpu->core == TARE_CORE_EFFICIENT && native == CPU_NATIVE_CRESTMONT)
		cpu->uarch = tare_uarch_by_name("crestmont");
	take_counters(cpu, ask, last);
}
