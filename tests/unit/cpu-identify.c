/* Who a CPU is, from the answers of cpuid and from the files of arm64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu-room.h"

#include <sys/stat.h>
#include <unistd.h>

/* The CPU that answers. */
static struct {
	const char *vendor;		/* 12 letters */
	uint32_t last, signature, leaf1_ecx, leaf7_edx, leaf1a_eax, ext_last, ext21_eax;
	uint32_t leafa_eax, leafa_edx;
	const char *hypervisor, *brand;
} fake;

static void answer(uint32_t leaf, uint32_t subleaf, struct cpuid_regs *r)
{
	char brand[48] = "";

	memset(r, 0, sizeof(*r));
	if (fake.brand)
		memcpy(brand, fake.brand, strlen(fake.brand));
	switch (leaf) {
	case 0:
		r->eax = fake.last;
		memcpy(&r->ebx, fake.vendor, 4);
		memcpy(&r->edx, fake.vendor + 4, 4);
		memcpy(&r->ecx, fake.vendor + 8, 4);
		break;
	case 1:
		r->eax = fake.signature;
		r->ecx = fake.leaf1_ecx;
		break;
	case 7:
		r->edx = fake.leaf7_edx;
		break;
	case 0xa:
		r->eax = fake.leafa_eax;
		r->edx = fake.leafa_edx;
		break;
	case 0x1a:
		r->eax = fake.leaf1a_eax;
		break;
	case 0x40000000:
		if (fake.hypervisor)
			memcpy(&r->ebx, fake.hypervisor, strlen(fake.hypervisor));
		break;
	case 0x80000000:
		r->eax = fake.ext_last;
		break;
	case 0x80000002:
	case 0x80000003:
	case 0x80000004:
		memcpy(r, brand + 16 * (leaf - 0x80000002), 16);
		break;
	case 0x80000021:
		r->eax = fake.ext21_eax;
		break;
	}
}

static struct tare_cpu ask(void)
{
	struct tare_cpu cpu = { 0 };

	cpu_from_cpuid(&cpu, answer);
	assert_int_equal(cpu.arch, TARE_ARCH_X86_64);
	return cpu;
}

static void full_family_and_model(void **state)
{
	static const struct {
		const char *vendor;
		uint32_t signature;
		unsigned family, model, stepping;
		const char *uarch;
	} want[] = {
		{ "GenuineIntel", 0x000906ea, 6, 0x9e, 10, "skylake" },
		{ "GenuineIntel", 0x000106a5, 6, 0x1a, 5, "nehalem" },
		{ "GenuineIntel", 0x00080660, 6, 0x86, 0, "tremont" },
		{ "GenuineIntel", 0x00000f64, 15, 6, 4, "netburst" },
		{ "GenuineIntel", 0x00300f10, 18, 1, 0, "coyotecove" },
		{ "GenuineIntel", 0x00000543, 5, 4, 3, NULL },	/* no extended model in family 5 */
		{ "AuthenticAMD", 0x00800f12, 0x17, 0x01, 2, "zen1" },
		{ "AuthenticAMD", 0x00870f10, 0x17, 0x71, 0, "zen2" },
		{ "AuthenticAMD", 0x00a00f11, 0x19, 0x01, 1, "zen3" },
		{ "AuthenticAMD", 0x00a10f11, 0x19, 0x11, 1, "zen4" },
		{ "AuthenticAMD", 0x00b40f40, 0x1a, 0x44, 0, "zen5" },
		{ "AuthenticAMD", 0x00100f42, 0x10, 0x04, 2, "k10" },
		{ "HygonGenuine", 0x00900f11, 0x18, 0x01, 1, "zen1" },
		{ "CentaurHauls", 0x000006fa, 6, 0x0f, 10, NULL },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		memset(&fake, 0, sizeof(fake));
		fake.vendor = want[i].vendor;
		fake.signature = want[i].signature;
		const struct tare_cpu cpu = ask();
		assert_int_equal(cpu.family, want[i].family);
		assert_int_equal(cpu.model, want[i].model);
		assert_int_equal(cpu.stepping, want[i].stepping);
		if (!want[i].uarch)
			assert_null(cpu.uarch);
		else
			assert_string_equal(cpu.uarch->name, want[i].uarch);
	}
	assert_int_equal(ask().vendor, TARE_VENDOR_OTHER);
}

static void core_types(void **state)
{
	static const struct {
		uint32_t signature, leaf7, leaf1a;
		bool hybrid;
		enum tare_core_type core;
		const char *uarch;
	} want[] = {
		{ 0x00090672, 1 << 15, 0x40000001, true, TARE_CORE_PERFORMANCE, "goldencove" },
		{ 0x00090672, 1 << 15, 0x20000001, true, TARE_CORE_EFFICIENT, "gracemont" },
		{ 0x00090672, 0, 0x20000001, false, TARE_CORE_UNIFORM, "goldencove" },
		{ 0x000b06e0, 0, 0, false, TARE_CORE_UNIFORM, "gracemont" },
		{ 0x000c0652, 1 << 15, 0x20000003, true, TARE_CORE_EFFICIENT, "skymont" },
		{ 0x000c0652, 1 << 15, 0x20000002, true, TARE_CORE_EFFICIENT, "crestmont" },
		{ 0x000c0652, 1 << 15, 0x40000003, true, TARE_CORE_PERFORMANCE, "lioncove" },
		{ 0x000c0652, 1 << 15, 0x10000003, true, TARE_CORE_UNIFORM, "lioncove" },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		memset(&fake, 0, sizeof(fake));
		fake.vendor = "GenuineIntel";
		fake.last = 0x20;
		fake.signature = want[i].signature;
		fake.leaf7_edx = want[i].leaf7;
		fake.leaf1a_eax = want[i].leaf1a;
		const struct tare_cpu cpu = ask();
		assert_int_equal(cpu.hybrid, want[i].hybrid);
		assert_int_equal(cpu.core, want[i].core);
		assert_string_equal(cpu.uarch->name, want[i].uarch);
	}
	fake.last = 0x19;	/* the leaf does not exist */
	assert_int_equal(ask().core, TARE_CORE_UNIFORM);
	fake.last = 6;
	assert_false(ask().hybrid);
	fake.vendor = "AuthenticAMD";
	fake.last = 0x20;
	assert_false(ask().hybrid);
}

static void hypervisors_and_brands(void **state)
{
	memset(&fake, 0, sizeof(fake));
	fake.vendor = "GenuineIntel";
	fake.hypervisor = "KVMKVMKVM";
	fake.ext_last = 0x80000004;
	fake.brand = "   Some CPU @ 3 GHz  ";
	assert_string_equal(ask().hypervisor, "");	/* bit not set: nobody is asked */
	fake.leaf1_ecx = 1u << 31;
	assert_string_equal(ask().hypervisor, "KVMKVMKVM");
	assert_string_equal(ask().brand, "Some CPU @ 3 GHz");
	fake.hypervisor = "VMwareVMware";
	assert_string_equal(ask().hypervisor, "VMwareVMware");
	fake.hypervisor = NULL;
	assert_string_equal(ask().hypervisor, "unknown");
	fake.brand = "0123456789abcdef0123456789abcdef0123456789abcdef";
	assert_string_equal(ask().brand, fake.brand);
	fake.ext_last = 0x80000003;
	assert_string_equal(ask().brand, "");
}

static void serialising(void **state)
{
	memset(&fake, 0, sizeof(fake));
	fake.vendor = "GenuineIntel";
	fake.last = 7;
	assert_true(ask().lfence_serializes);
	assert_false(ask().has_serialize);
	fake.leaf7_edx = 1 << 14;
	assert_true(ask().has_serialize);
	fake.last = 6;
	assert_false(ask().has_serialize);
	fake.vendor = "AuthenticAMD";
	fake.signature = 0x00000543;	/* K6: no lfence at all */
	assert_false(ask().lfence_serializes);
	fake.ext_last = 0x80000021;
	fake.ext21_eax = 4;
	assert_true(ask().lfence_serializes);
	fake.ext_last = 0x80000020;	/* the leaf does not exist */
	assert_false(ask().lfence_serializes);
	fake.signature = 0x00800f12;	/* Zen: the kernel makes it so */
	assert_true(ask().lfence_serializes);
	fake.vendor = "HygonGenuine";
	assert_true(ask().lfence_serializes);
	fake.vendor = "CentaurHauls";
	assert_false(ask().lfence_serializes);
}

/* Skylake has four general counters for each of two threads, all eight without
 * hyperthreading; the tables know its kind, cpuid the CPU. */
static void counters(void **state)
{
	memset(&fake, 0, sizeof(fake));
	fake.vendor = "GenuineIntel";
	fake.signature = 0x000506e3;
	fake.last = 0x16;
	assert_int_equal(ask().gp_counters, 4);		/* no PMU is shown: the tables' */
	assert_int_equal(ask().fixed_counters, 3);
	fake.leafa_eax = 0x07300804;
	fake.leafa_edx = 0x00000603;
	assert_int_equal(ask().gp_counters, 8);
	assert_int_equal(ask().fixed_counters, 3);
	fake.leafa_eax = 0x07300401;
	assert_int_equal(ask().gp_counters, 4);
	assert_int_equal(ask().fixed_counters, 0);
	fake.last = 9;			/* the leaf does not exist */
	fake.leafa_eax = 0x07300804;
	assert_int_equal(ask().gp_counters, 4);
	fake.last = 0x16;
	fake.vendor = "AuthenticAMD";
	fake.signature = 0x00800f12;
	assert_int_equal(ask().gp_counters, 6);
}

/* A root folder with files. */
static char root[] = "/tmp/tare-cpu-XXXXXX";

static void put(const char *path, const char *text, size_t len)
{
	char full[512];

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	FILE *const f = fopen(full, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
}

static void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

static void put_midr(int cpu, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/regs/identification/midr_el1",
		 cpu);
	put_text(path, text);
}

static void clear_root(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s/*", root);
	assert_int_equal(system(command), 0);
}

static struct tare_cpu look(int on)
{
	struct tare_cpu cpu = { 0 };

	cpu_from_midr_files(&cpu, root, on);
	assert_int_equal(cpu.arch, TARE_ARCH_ARM64);
	return cpu;
}

static void midr_from_sysfs(void **state)
{
	clear_root();
	assert_null(look(0).uarch);
	assert_int_equal(look(0).vendor, TARE_VENDOR_UNKNOWN);

	put_midr(0, "0x00000000410fd0c1\n");
	put_midr(1, "0x00000000413fd0c1\n");	/* another variant of the same part */
	struct tare_cpu cpu = look(1);
	assert_int_equal(cpu.midr, 0x413fd0c1);
	assert_int_equal(cpu.vendor, TARE_VENDOR_ARM);
	assert_false(cpu.hybrid);
	assert_string_equal(cpu.uarch->name, "neoverse-n1");
	assert_string_equal(cpu.brand, "Arm Neoverse N1");
	assert_string_equal(cpu.hypervisor, "");
	assert_int_equal(look(77).midr, 0x410fd0c1);	/* not there: the first one */
}

static void big_little(void **state)
{
	clear_root();
	put_midr(0, "0x00000000410fd034\n");
	put_midr(4, "0x00000000410fd083\n");	/* 1 to 3 are offline */
	struct tare_cpu cpu = look(0);
	assert_true(cpu.hybrid);
	assert_int_equal(cpu.core, TARE_CORE_EFFICIENT);
	assert_string_equal(cpu.uarch->name, "cortex-a53");
	cpu = look(4);
	assert_true(cpu.hybrid);
	assert_int_equal(cpu.core, TARE_CORE_PERFORMANCE);
	assert_string_equal(cpu.uarch->name, "cortex-a57");

	put_midr(4, "0x00000000410fffff\n");	/* a part that nobody knows */
	cpu = look(4);
	assert_true(cpu.hybrid);
	assert_null(cpu.uarch);
}

static void midr_from_cpuinfo(void **state)
{
	clear_root();
	put_text("/proc/cpuinfo",
		 "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp\nCPU implementer\t: 0x61\n"
		 "CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0x022\nCPU revision\t: 1\n\n"
		 "processor\t: 1\nCPU implementer\t: 0x61\nCPU architecture: 8\n"
		 "CPU variant\t: 0x1\nCPU part\t: 0x023\nCPU revision\t: 1\n");
	struct tare_cpu cpu = look(0);
	assert_int_equal(cpu.midr, 0x611f0221);
	assert_int_equal(cpu.vendor, TARE_VENDOR_APPLE);
	assert_true(cpu.hybrid);
	assert_string_equal(cpu.uarch->name, "icestorm");
	cpu = look(1);
	assert_string_equal(cpu.uarch->name, "firestorm");
	assert_int_equal(cpu.core, TARE_CORE_PERFORMANCE);

	put_midr(0, "0x00000000481fd010\n");	/* sysfs comes first */
	assert_string_equal(look(0).uarch->name, "kunpeng");
	assert_int_equal(look(0).vendor, TARE_VENDOR_OTHER);
}

static void arm_hypervisors(void **state)
{
	clear_root();
	put("/proc/device-tree/compatible", "linux,dummy-virt", 17);
	assert_string_equal(look(0).hypervisor, "QEMU");
	put_text("/sys/class/dmi/id/sys_vendor", "Some Maker\n");
	assert_string_equal(look(0).hypervisor, "QEMU");
	put_text("/proc/device-tree/compatible", "maker,board");
	assert_string_equal(look(0).hypervisor, "");
	put_text("/sys/class/dmi/id/sys_vendor", "QEMU\n");
	assert_string_equal(look(0).hypervisor, "QEMU");
	put_text("/sys/hypervisor/type", "xen\n");
	assert_string_equal(look(0).hypervisor, "xen");
}

/* This machine: whatever it is, the pieces fit together. */
static void here(void **state)
{
	struct tare_cpu cpu, again;

	memset(&cpu, 0xff, sizeof(cpu));
	tare_cpu_detect(&cpu);
	cpu_detect_in("", &again);
	assert_memory_equal(&cpu, &again, sizeof(cpu));
	assert_true(cpu.arch == TARE_ARCH_X86_64 || cpu.arch == TARE_ARCH_ARM64);
	if (cpu.arch == TARE_ARCH_X86_64) {
		assert_true(cpu.family >= 5);
		assert_ptr_equal(cpu.uarch && cpu.core != TARE_CORE_EFFICIENT ?
				 tare_uarch_x86(cpu.vendor, cpu.family, cpu.model, cpu.core) :
				 cpu.uarch, cpu.uarch);
	}
	assert_null(memchr(cpu.brand, 0xff, sizeof(cpu.brand)));
}

static int make_root(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	clear_root();
	return rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_family_and_model),
		cmocka_unit_test(core_types),
		cmocka_unit_test(hypervisors_and_brands),
		cmocka_unit_test(serialising),
		cmocka_unit_test(midr_from_sysfs),
		cmocka_unit_test(big_little),
		cmocka_unit_test(midr_from_cpuinfo),
		cmocka_unit_test(arm_hypervisors),
		cmocka_unit_test(here),
		cmocka_unit_test(counters),
	};
	return cmocka_run_group_tests(tests, make_root, remove_root);
}
