/* Facts come from the tree they are told to read, and from nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/perf_event.h>

#include "interrupts.h"
#include "perf-facts.h"

static char root[64];

static void put(const char *path, const char *text)
{
	char full[256];
	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = strchr(full + strlen(root) + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	FILE *const f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int new_root(void **state)
{
	snprintf(root, sizeof(root), "/tmp/tare-facts-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int drop_root(void **state)
{
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd);
}

static void an_empty_tree_is_unknown(void **state)
{
	struct perf_facts f;
	perf_facts_read(&f, root);
	assert_false(f.has_perf);
	assert_int_equal(f.seccomp, -1);
	assert_int_equal(f.nmi_watchdog, -1);
	assert_int_equal(f.user_access, -1);
	assert_int_equal(f.n_pmus, 0);
	assert_false(f.hypervisor);
	assert_false(f.cap_perfmon);
	assert_int_equal(f.simulated, PERF_SIM_NO);
}

static void an_x86_desktop(void **state)
{
	put("/proc/sys/kernel/perf_event_paranoid", "-1\n");
	put("/proc/sys/kernel/nmi_watchdog", "1\n");
	put("/proc/self/status", "Name:\tx\nCapEff:\t0000004000000000\nSeccomp:\t2\n");
	put("/sys/bus/event_source/devices/cpu/type", "4\n");
	put("/sys/bus/event_source/devices/cpu/rdpmc", "1\n");
	put("/sys/bus/event_source/devices/software/type", "1\n");
	put("/sys/bus/event_source/devices/uncore_imc/cpumask", "0\n");
	struct perf_facts f;
	perf_facts_read(&f, root);
	assert_true(f.has_perf);
	assert_int_equal(f.paranoid, -1);
	assert_int_equal(f.nmi_watchdog, 1);
	assert_true(f.cap_perfmon);
	assert_int_equal(f.seccomp, 2);
	assert_int_equal(f.n_pmus, 1);
	assert_string_equal(f.pmus[0].name, "cpu");
	assert_int_equal(f.pmus[0].type, 4);
	assert_int_equal(f.pmus[0].rdpmc, 1);
	assert_ptr_equal(perf_facts_pmu(&f, PERF_TYPE_HARDWARE, 1), &f.pmus[0]);
	assert_ptr_equal(perf_facts_pmu(&f, PERF_TYPE_RAW, 0xc0), &f.pmus[0]);
	assert_null(perf_facts_pmu(&f, PERF_TYPE_SOFTWARE, 0));
}

static void capabilities_are_bits(void **state)
{
	static const struct { const char *eff; bool can; } caps[] = {
		{ "0000000000000000", false }, { "0000000000200000", true },
		{ "0000004000000000", true },  { "000001ffffffffff", true },
		{ "000001bfffdfffff", false },
	};
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		char text[64];
		snprintf(text, sizeof(text), "CapEff:\t%s\n", caps[i].eff);
		put("/proc/self/status", text);
		struct perf_facts f;
		perf_facts_read(&f, root);
		assert_int_equal(f.cap_perfmon, caps[i].can);
	}
}

static void a_hybrid_laptop(void **state)
{
	put("/sys/bus/event_source/devices/cpu_core/type", "4\n");
	put("/sys/bus/event_source/devices/cpu_core/cpus", "0-11\n");
	put("/sys/bus/event_source/devices/cpu_atom/type", "10\n");
	put("/sys/bus/event_source/devices/cpu_atom/cpus", "12-19\n");
	struct perf_facts f;
	perf_facts_read(&f, root);
	assert_int_equal(f.n_pmus, 2);
	assert_null(perf_facts_pmu(&f, PERF_TYPE_HARDWARE, 1));
	assert_string_equal(perf_facts_pmu(&f, PERF_TYPE_HARDWARE, 10ull << 32 | 1)->name,
			    "cpu_atom");
	assert_string_equal(perf_facts_pmu(&f, 10, 0xc0)->name, "cpu_atom");
	assert_string_equal(perf_facts_pmu(&f, PERF_TYPE_RAW, 0xc0)->name, "cpu_core");
	assert_string_equal(perf_facts_pmu(&f, 10, 0xc0)->cpus, "12-19");
}

static void an_arm_board(void **state)
{
	put("/proc/sys/kernel/perf_user_access", "0\n");
	put("/sys/bus/event_source/devices/armv8_cortex_a72/type", "8\n");
	put("/sys/bus/event_source/devices/armv8_cortex_a72/cpus", "0-3\n");
	put("/sys/bus/event_source/devices/armv8_cortex_a72/format/rdpmc", "config1:1\n");
	struct perf_facts f;
	perf_facts_read(&f, root);
	assert_int_equal(f.user_access, 0);
	assert_int_equal(f.n_pmus, 1);
	assert_true(f.pmus[0].user_access);
	assert_int_equal(f.pmus[0].rdpmc, -1);
	assert_true(perf_type_is_core(&f, 8));
	assert_false(perf_type_is_core(&f, 9));
}

static void hypervisors_are_named(void **state)
{
	struct perf_facts f;
	put("/proc/cpuinfo", "flags\t\t: fpu vme hypervisor lahf_lm\n");
	put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
	perf_facts_read(&f, root);
	assert_true(f.hypervisor);
	assert_string_equal(f.hypervisor_name, "QEMU");
	put("/sys/hypervisor/type", "xen\n");
	perf_facts_read(&f, root);
	assert_string_equal(f.hypervisor_name, "xen");
}

static void an_arm_guest(void **state)
{
	struct perf_facts f;
	put("/proc/cpuinfo", "CPU implementer\t: 0x41\n");
	put("/proc/device-tree/compatible", "raspberrypi,4-model-b");
	perf_facts_read(&f, root);
	assert_false(f.hypervisor);
	put("/proc/device-tree/compatible", "linux,dummy-virt");
	perf_facts_read(&f, root);
	assert_true(f.hypervisor);
	assert_string_equal(f.hypervisor_name, "QEMU");
}

#define CPU "/sys/bus/event_source/devices/cpu/"

static void drop(const char *path)
{
	char full[512];
	snprintf(full, sizeof(full), "%s%s", root, path);
	unlink(full);
}

static void the_simulated_marker(void **state)
{
	struct perf_facts f;
	put(CPU "tare_exact", "");
	perf_facts_read(&f, root);
	assert_int_equal(f.simulated, PERF_SIM_NO);
	put(CPU "tare_simulated", "what it says does not matter");
	perf_facts_read(&f, root);
	assert_int_equal(f.simulated, PERF_SIM_EXACT);
	drop(CPU "tare_exact");
	perf_facts_read(&f, root);
	assert_int_equal(f.simulated, PERF_SIM_FLAWS);
}

/* An exact virtual PMU may have events that are not. */
static void what_is_not_exact(void **state)
{
	static const struct {
		bool exact, as_user;
		const char *cycles;
		struct perf_event_attr a;
		int want;
	} rows[] = {
#define ROW(exact, as_user, cycles, t, c, k, want)                                         \
	{ exact, as_user, cycles, { .type = PERF_TYPE_##t, .config = c, .exclude_kernel = k }, PERF_SIM_##want }
		ROW(1, 0, NULL, HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, EXACT),
		ROW(1, 0, "0x76\n", HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1, FLAWS),
		ROW(1, 0, "0x76\n", HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, 1, FLAWS),
		ROW(1, 0, "0x76\n", HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1, EXACT),
		ROW(1, 0, "0x3c\n0x13c\n", RAW, 0x13c, 1, FLAWS),
		ROW(1, 0, "0x3c\n0x13c\n", RAW, 0xc0, 1, EXACT),
		ROW(1, 1, NULL, RAW, 0xc0, 0, FLAWS),
		ROW(1, 1, NULL, RAW, 0xc0, 1, EXACT),
		ROW(1, 1, "0x76\n", RAW, 0x76, 1, FLAWS),
		ROW(0, 0, "0x76\n", RAW, 0xc0, 1, FLAWS),
#undef ROW
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perf_facts f;
		drop(CPU "tare_exact");
		drop(CPU "tare_cycles");
		drop(CPU "tare_kernel_as_user");
		put(CPU "tare_simulated", "");
		if (rows[i].exact)
			put(CPU "tare_exact", "");
		if (rows[i].cycles)
			put(CPU "tare_cycles", rows[i].cycles);
		if (rows[i].as_user)
			put(CPU "tare_kernel_as_user", "");
		perf_facts_read(&f, root);
		assert_int_equal(perf_facts_simulated(&f, &rows[i].a), rows[i].want);
	}
}

static void cpu_lists(void **state)
{
	assert_true(perf_cpulist_has("", 7));
	assert_true(perf_cpulist_has("0-3,8", 0));
	assert_true(perf_cpulist_has("0-3,8", 3));
	assert_false(perf_cpulist_has("0-3,8", 4));
	assert_true(perf_cpulist_has("0-3,8", 8));
	assert_false(perf_cpulist_has("0-3,8", 9));
	assert_false(perf_cpulist_has("rubbish", 0));
	assert_false(perf_cpulist_has("0-3;8", 8));
}

static void interrupts_by_column(void **state)
{
	put("/proc/interrupts", "           CPU0       CPU2       CPU3\n"
				"  0:         10          1          2   IO-APIC   2-edge  timer\n"
				"LOC:       1000        200         30   Local timer interrupts\n"
				"ERR:          5\n"
				"MIS:          7\n");
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	assert_true(interrupts_total(root, &cpus) == 0);
	CPU_SET(2, &cpus);
	assert_true(interrupts_total(root, &cpus) == 201);
	CPU_SET(3, &cpus);
	CPU_SET(1, &cpus);
	assert_true(interrupts_total(root, &cpus) == 233);
	CPU_SET(0, &cpus);
	assert_true(interrupts_total(root, &cpus) == 1243);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, new_root, drop_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_tree_is_unknown), TEST(an_x86_desktop),
		TEST(capabilities_are_bits),	TEST(a_hybrid_laptop),
		TEST(an_arm_board),		TEST(hypervisors_are_named),
		TEST(an_arm_guest),
		TEST(the_simulated_marker), TEST(what_is_not_exact),	TEST(cpu_lists),
		TEST(interrupts_by_column),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
