/* pmu/term=value,…/ and the kernel's own event names, from a folder made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/perf_event.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tare/event.h>

#include "event-room.h"

static char root[] = "/tmp/tare-pmu-XXXXXX";

static void put(const char *path, const char *text)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/sys/bus/event_source/devices/%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	FILE *const f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int make_root(void **state)
{
	if (!mkdtemp(root))
		return -1;
	put("cpu/type", "4\n");
	put("cpu/format/event", "config:0-7,32-35\n");
	put("cpu/format/umask", "config:8-15\n");
	put("cpu/format/edge", "config:18\n");
	put("cpu/format/inv", "config:23\n");
	put("cpu/format/cmask", "config:24-31\n");
	put("cpu/format/ldlat", "config1:0-15\n");
	put("cpu/format/wide", "config2:0-63\n");
	put("cpu/format/odd", "config:5-1\n");
	put("cpu/format/strange", "elsewhere:0-7\n");
	put("cpu/format/empty", "config:\n");
	put("cpu/events/branch-instructions", "event=0xc2\n");
	put("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	put("cpu/events/param", "event=0xcd,umask=?\n");
	put("cpu/events/shared", "event=0x10\n");
	put("power/type", "22\n");
	put("power/format/event", "config:0-7\n");
	put("power/events/energy-pkg", "event=0x02\n");
	put("power/events/energy-pkg.scale", "2.3283064365386962890625e-10\n");
	put("power/events/energy-pkg.unit", "Joules\n");
	put("power/events/shared", "event=0x11\n");
	put("uncore_imc_0/type", "30\n");
	put("uncore_imc_0/format/event", "config:0-7\n");
	put("uncore_imc_0/events/cas", "event=0x04,umask=0x03\n");
	put("uncore_imc_0/format/umask", "config:8-15\n");
	put("uncore_imc_1/type", "31\n");
	put("uncore_imc_1/format/event", "config:0-7\n");
	put("uncore_imc_1/events/cas", "event=0x04\n");
	put("broken/type", "many\n");
	event_sysfs_root = root;
	return 0;
}

static int remove_root(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static struct tare_cpu amd(void)
{
	struct tare_cpu cpu;

	assert_int_equal(tare_cpu_from_name("zen3", &cpu), 0);
	return cpu;
}

static void terms(void **state)
{
	static const struct {
		const char *text, *name;
		uint32_t type;
		uint64_t config, config1, config2;
		double scale;
		const char *unit;
	} want[] = {
		{ "cpu/event=0xc4/", "cpu/event=0xc4/", 4, 0xc4, 0, 0, 1, "" },
		{ "cpu/event=0xc4,umask=0x20/u", "cpu/event=0xc4,umask=0x20/u", 4, 0x20c4, 0, 0, 1, "" },
		{ "cpu/event=0xc4,umask=32/:uD", "cpu/event=0xc4,umask=32/uD", 4, 0x20c4, 0, 0, 1, "" },
		{ "cpu/event=0x1c9/", "cpu/event=0x1c9/", 4, 0x1000000c9, 0, 0, 1, "" },
		{ "cpu/event=0xfff/", "cpu/event=0xfff/", 4, 0xf000000ff, 0, 0, 1, "" },
		{ "cpu/event=1,edge,inv,cmask=2/", "cpu/event=1,edge,inv,cmask=2/", 4, 0x2840001,
		  0, 0, 1, "" },
		{ "cpu/event=1,edge=0/", "cpu/event=1,edge=0/", 4, 1, 0, 0, 1, "" },
		{ "cpu/event=1,ldlat=0xffff,wide=0xffffffffffffffff/",
		  "cpu/event=1,ldlat=0xffff,wide=0xffffffffffffffff/", 4, 1, 0xffff, UINT64_MAX, 1, "" },
		{ "cpu/config=0x5301c4,config1=7,config2=8/",
		  "cpu/config=0x5301c4,config1=7,config2=8/", 4, 0x1c4, 7, 8, 1, "" },
		{ "cpu/r5301c4/", "cpu/r5301c4/", 4, 0x1c4, 0, 0, 1, "" },
		{ "cpu/branch-instructions/k", "cpu/branch-instructions/k", 4, 0xc2, 0, 0, 1, "" },
		{ "cpu/mem-loads,ldlat=30/", "cpu/mem-loads,ldlat=30/", 4, 0x1cd, 30, 0, 1, "" },
		{ "mem-loads:u", "mem-loads:u", 4, 0x1cd, 3, 0, 1, "" },
		{ "power/energy-pkg/", "power/energy-pkg/", 22, 2, 0, 0,
		  2.3283064365386962890625e-10, "Joules" },
		{ "energy-pkg", "energy-pkg", 22, 2, 0, 0, 2.3283064365386962890625e-10, "Joules" },
		{ "power/config=0x5301c4/", "power/config=0x5301c4/", 22, 0x5301c4, 0, 0, 1, "" },
		{ "shared", "shared", 4, 0x10, 0, 0, 1, "" },	/* the core's comes first */
		{ "uncore_imc_0/cas/", "uncore_imc_0/cas/", 30, 0x304, 0, 0, 1, "" },
		{ "{cpu/event=1/}:u", "cpu/event=1/u", 4, 1, 0, 0, 1, "" },
	};
	const struct tare_cpu cpu = amd();

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct tare_events *list;
		struct tare_why why;
		if (tare_events_parse(want[i].text, &cpu, &list, &why) < 0)
			fail_msg("%s: %s", want[i].text, why.what);
		const struct tare_event *const ev = tare_events_at(list, 0);
		if (strcmp(ev->name, want[i].name) || ev->base.type != want[i].type ||
		    ev->base.config != want[i].config || ev->base.config1 != want[i].config1 ||
		    ev->base.config2 != want[i].config2 || ev->scale != want[i].scale ||
		    strcmp(ev->unit, want[i].unit))
			fail_msg("%s: %s %u %#llx %#llx %#llx %g %s", want[i].text, ev->name,
				 ev->base.type, (unsigned long long)ev->base.config,
				 (unsigned long long)ev->base.config1,
				 (unsigned long long)ev->base.config2, ev->scale, ev->unit);
		assert_int_equal(tare_events_count(list), 1);
		tare_events_free(list);
	}
}

static void commas_inside_slashes(void **state)
{
	const struct tare_cpu cpu = amd();
	struct tare_events *list;

	assert_int_equal(tare_events_parse("{cpu/event=1,umask=2/u,cs},power/energy-pkg/,r3", &cpu,
					   &list, NULL), 0);
	assert_int_equal(tare_events_count(list), 4);
	assert_true(tare_events_at(list, 0)->base.config == 0x201);
	assert_string_equal(tare_events_at(list, 1)->name, "cs");
	assert_true(tare_events_at(list, 3)->base.config == 3);
	tare_events_free(list);
}

static void mistakes(void **state)
{
	static const struct { const char *text; int code; const char *what; } bad[] = {
		{ "cpu/event=0x1000/", TARE_E_RANGE, "event=0x1000 does not fit its 12 bits" },
		{ "cpu/umask=256/", TARE_E_RANGE, "umask=0x100 does not fit its 8 bits" },
		{ "cpu/edge=2/", TARE_E_RANGE, "does not fit its 1 bits" },
		{ "cpu/event=/", TARE_E_SYNTAX, "event= is not a number" },
		{ "cpu/event=0x/", TARE_E_SYNTAX, "event=0x is not a number" },
		{ "cpu/event=12x/", TARE_E_SYNTAX, "event=12x is not a number" },
		{ "cpu/event=-1/", TARE_E_SYNTAX, "event=-1 is not a number" },
		{ "cpu/event=99999999999999999999/", TARE_E_SYNTAX, "is not a number" },
		{ "cpu/event=1==2/", TARE_E_SYNTAX, "is not a number" },
		{ "cs,cpu/evnt=1/", TARE_E_SYNTAX,
		  "position 4: cpu/evnt=1/: PMU cpu has no term or event evnt; terms: cmask edge" },
		{ "cpu/no-such-event/", TARE_E_SYNTAX, "no term or event no-such-event" },
		{ "cpu//", TARE_E_SYNTAX, "position 1: cpu//: no terms between the slashes" },
		{ "cpu/event=1,,umask=2/", TARE_E_SYNTAX, "a term was expected next to ','" },
		{ "cpu/event=1,/", TARE_E_SYNTAX, "a term was expected next to ','" },
		{ "cpu/,event=1/", TARE_E_SYNTAX, "a term was expected next to ','" },
		{ "cpu/event=1", TARE_E_SYNTAX, "position 4: '/' opens a list of terms" },
		{ "cpu/event=1/x", TARE_E_SYNTAX, "position 13: unknown modifier 'x'" },
		{ "cpu/event=1/u:", TARE_E_SYNTAX, "position 14: unknown modifier ':'" },
		{ "cpu/event=1/:", TARE_E_SYNTAX, "a modifier was expected after ':'" },
		{ "cpu/event=1/umask=2/", TARE_E_SYNTAX, "position 20: '/' opens a list" },
		{ "cpu/event=1/cpu/event=2/", TARE_E_SYNTAX, "one pair of slashes" },
		{ "/event=1/", TARE_E_SYNTAX, "a PMU's name was expected before '/'" },
		{ "../event=1/", TARE_E_SYNTAX, "a PMU's name was expected before '/'" },
		{ "nopmu/event=1/", TARE_E_EVENT_UNKNOWN,
		  "this machine has no PMU nopmu; it has: broken cpu power uncore_imc_0" },
		{ "broken/event=1/", TARE_E_EVENT_UNKNOWN, "this machine has no PMU broken" },
		{ "cpu/odd=1/", TARE_E_FORMAT, "format of odd is not understood" },
		{ "cpu/strange=1/", TARE_E_FORMAT, "format of strange is not understood" },
		{ "cpu/empty=1/", TARE_E_FORMAT, "format of empty is not understood" },
		{ "cpu/param/", TARE_E_SYNTAX, "umask=? is not a number" },
		{ "cpu/branch-instructions=1/", TARE_E_SYNTAX, "no term or event" },
		{ "cas", TARE_E_SYNTAX,
		  "cas: several PMUs have it, choose one: uncore_imc_0/cas/ uncore_imc_1/cas/" },
		{ "power/energy-pkg.unit/", TARE_E_SYNTAX, "no term or event energy-pkg.unit" },
		{ "cpu/event=0xc0/-minus-", TARE_E_SYNTAX, "unknown correction" },
	};
	const struct tare_cpu cpu = amd();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct tare_events *list;
		struct tare_why why = { 0 };
		const int err = tare_events_parse(bad[i].text, &cpu, &list, &why);
		if (err != bad[i].code || !strstr(why.what, bad[i].what))
			fail_msg("\"%s\": %s \"%s\"", bad[i].text, tare_err_name(err), why.what);
		assert_null(list);
	}
}

/* A machine without counters has no cpu PMU; the list must mean the same. */
static void without_a_pmu(void **state)
{
	static const struct { const char *cpu, *text; uint32_t type; uint64_t config; } want[] = {
		{ "zen3", "cpu/event=0xc4,umask=0x1,edge,inv,cmask=3/", PERF_TYPE_RAW, 0x38401c4 },
		{ "zen3", "cpu/event=0x1c9/", PERF_TYPE_RAW, 0x1000000c9 },
		{ "skylake", "cpu/event=0xc4,umask=0x1,any,in_tx_cp/", PERF_TYPE_RAW, 0x2002001c4 },
		{ "skylake", "cpu/instructions/u", PERF_TYPE_HARDWARE, 1 },
		{ "neoverse-n1", "armv8_pmuv3_0/event=0x8001/", PERF_TYPE_RAW, 0x8001 },
	};
	static const struct { const char *cpu, *text; int code; } bad[] = {
		{ "skylake", "cpu/event=0x1c9/", TARE_E_RANGE },
		{ "zen3", "cpu/any/", TARE_E_SYNTAX },
		{ "zen3", "cpu_core/event=1/", TARE_E_EVENT_UNKNOWN },
		{ "zen3", "cpux/event=1/", TARE_E_EVENT_UNKNOWN },
		{ "neoverse-n1", "cpu/event=1/", TARE_E_EVENT_UNKNOWN },
		{ "skylake", "cpu/page-faults/", TARE_E_SYNTAX },
	};
	struct tare_cpu cpu;
	struct tare_events *list;

	event_sysfs_root = "/nonexistent";
	struct tare_why why = { 0 };
	assert_int_equal(tare_cpu_from_name("zen3", &cpu), 0);
	assert_int_equal(tare_events_parse("cpu/foo=1/", &cpu, &list, &why), TARE_E_SYNTAX);
	assert_non_null(strstr(why.what, "terms: event umask edge inv cmask"));
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(tare_cpu_from_name(want[i].cpu, &cpu), 0);
		assert_int_equal(tare_events_parse(want[i].text, &cpu, &list, NULL), 0);
		assert_int_equal(tare_events_at(list, 0)->base.type, want[i].type);
		assert_true(tare_events_at(list, 0)->base.config == want[i].config);
		tare_events_free(list);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(tare_cpu_from_name(bad[i].cpu, &cpu), 0);
		assert_int_equal(tare_events_parse(bad[i].text, &cpu, &list, NULL), bad[i].code);
	}
	event_sysfs_root = root;
}

/* On a hybrid machine a raw code belongs to the PMU of its core type. */
static void hybrid_machines(void **state)
{
	struct tare_cpu cpu;
	struct tare_events *list;

	put("cpu_core/type", "4\n");
	put("cpu_core/format/event", "config:0-7\n");
	put("cpu_atom/type", "10\n");
	put("cpu_atom/format/event", "config:0-7\n");
	assert_int_equal(tare_cpu_from_name("gracemont", &cpu), 0);
	assert_int_equal(tare_events_parse("cond-branches,cpu_atom/event=0xc4/", &cpu, &list, NULL), 0);
	assert_int_equal(tare_events_at(list, 0)->base.type, 10);
	assert_true(tare_events_at(list, 0)->base.config == 0x7ec4);
	assert_int_equal(tare_events_at(list, 1)->base.type, 10);
	assert_int_equal(tare_events_at(list, 1)->role, TARE_ROLE_BRANCHES);
	tare_events_free(list);
	/* A generic name says so in the upper half of its config; the kernel's own do not. */
	assert_int_equal(tare_events_parse("instructions,LLC-load-misses,page-faults,wall-time", &cpu,
					   &list, NULL), 0);
	assert_int_equal(tare_events_at(list, 0)->base.type, PERF_TYPE_HARDWARE);
	assert_true(tare_events_at(list, 0)->base.config == (10ull << 32 | 1));
	assert_int_equal(tare_events_at(list, 0)->role, TARE_ROLE_INSTRUCTIONS);
	assert_non_null(tare_events_at(list, 0)->row);
	assert_int_equal(tare_events_at(list, 1)->base.type, PERF_TYPE_HW_CACHE);
	assert_true(tare_events_at(list, 1)->base.config == (10ull << 32 | 0x10002));
	assert_true(tare_events_at(list, 2)->base.config == PERF_COUNT_SW_PAGE_FAULTS);
	assert_true(tare_events_at(list, 3)->base.config == 0);
	tare_events_free(list);
	assert_int_equal(tare_cpu_from_name("goldencove", &cpu), 0);
	assert_int_equal(tare_events_parse("cond-branches,instructions-minus-irqs:u", &cpu, &list,
					   NULL), 0);
	assert_int_equal(tare_events_at(list, 0)->base.type, 4);
	assert_int_equal(tare_events_at(list, 1)->minus.type, 4);
	assert_true(tare_events_at(list, 1)->base.config == (4ull << 32 | 1));
	tare_events_free(list);
	/* Cores that are all alike need none. */
	assert_int_equal(tare_cpu_from_name("skylake", &cpu), 0);
	assert_int_equal(tare_events_parse("instructions", &cpu, &list, NULL), 0);
	assert_true(tare_events_at(list, 0)->base.config == 1);
	tare_events_free(list);
}

static size_t seen;

static void see(const char *name, const char *note, void *arg)
{
	static const char *const want[] = {
		"cpu/branch-instructions/", "cpu/mem-loads/", "cpu/param/", "cpu/shared/",
		"power/energy-pkg/", "power/shared/", "uncore_imc_0/cas/", "uncore_imc_1/cas/",
	};
	assert_true(seen < sizeof(want) / sizeof(want[0]));
	assert_string_equal(name, want[seen]);
	assert_true(strstr(note, "event=") == note);
	seen++;
}

static void lists_events(void **state)
{
	event_sysfs_each(see, NULL);
	assert_int_equal(seen, 8);
}

/* libpfm4 names work for the CPU that we run on, if it knows that CPU. */
static void libpfm4_names(void **state)
{
	struct tare_cpu cpu;
	struct tare_events *list;
	struct tare_why why;

	tare_cpu_detect(&cpu);
	int err = tare_events_parse("perf::PERF_COUNT_HW_INSTRUCTIONS:u", &cpu, &list, &why);
	if (err == TARE_E_EVENT_UNKNOWN) {
		print_message("skipped: names of libpfm4: built without it\n");
		skip();
	}
	assert_int_equal(err, 0);
	assert_int_equal(tare_events_at(list, 0)->base.type, PERF_TYPE_HARDWARE);
	assert_true(tare_events_at(list, 0)->base.config == 1);
	assert_int_equal(tare_events_at(list, 0)->role, TARE_ROLE_INSTRUCTIONS);
	assert_true(tare_events_at(list, 0)->base.exclude_kernel);
	assert_false(tare_events_at(list, 0)->base.exclude_user);
	tare_events_free(list);
	assert_int_equal(tare_events_parse("PERF_COUNT_HW_INSTRUCTIONS", &cpu, &list, &why), 0);
	assert_false(tare_events_at(list, 0)->base.exclude_hv);
	tare_events_free(list);
	assert_int_equal(tare_events_parse("PERF_COUNT_HW_INSTRUCTIONS:k=0", &cpu, &list, &why), 0);
	assert_true(tare_events_at(list, 0)->base.exclude_kernel);
	tare_events_free(list);

	/* An event of another CPU is told apart from none at all. Both are in no
	 * table of ours. */
	const struct tare_cpu other = { .arch = TARE_ARCH_X86_64, .brand = "Foo 9000" };
	err = tare_events_parse("DTLB_MISSES:PDE_MISS", &other, &list, &why);
	if (cpu.arch == TARE_ARCH_X86_64) {
		assert_int_equal(err, TARE_E_EVENT_NOT_ON_CPU);
		assert_non_null(strstr(why.what, "libpfm4 has it for"));
	}
	assert_int_equal(tare_events_parse("DTLB_MISSES:NO_SUCH_MASK", &other, &list, &why),
			 TARE_E_EVENT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terms),
		cmocka_unit_test(commas_inside_slashes),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(without_a_pmu),
		cmocka_unit_test(lists_events),
		cmocka_unit_test(hybrid_machines),
		cmocka_unit_test(libpfm4_names),
	};
	return cmocka_run_group_tests(tests, make_root, remove_root);
}
