/* The event language: what a list means, and what each mistake is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <linux/perf_event.h>

#include <tare/event.h>

/* A CPU that is in no table: only names that every CPU has. */
static const struct tare_cpu nobody = { .arch = TARE_ARCH_X86_64 };

static struct tare_events *parse(const char *text)
{
	struct tare_events *list;
	struct tare_why why;

	if (tare_events_parse(text, &nobody, &list, &why) < 0)
		fail_msg("%s: %s", text, why.what);
	return list;
}

static void generic_names(void **state)
{
	static const struct { const char *name; uint32_t type; uint64_t config; } want[] = {
		{ "cycles", PERF_TYPE_HARDWARE, 0 },
		{ "cpu-cycles", PERF_TYPE_HARDWARE, 0 },
		{ "instructions", PERF_TYPE_HARDWARE, 1 },
		{ "cache-references", PERF_TYPE_HARDWARE, 2 },
		{ "cache-misses", PERF_TYPE_HARDWARE, 3 },
		{ "branches", PERF_TYPE_HARDWARE, 4 },
		{ "branch-instructions", PERF_TYPE_HARDWARE, 4 },
		{ "branch-misses", PERF_TYPE_HARDWARE, 5 },
		{ "bus-cycles", PERF_TYPE_HARDWARE, 6 },
		{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, 7 },
		{ "idle-cycles-frontend", PERF_TYPE_HARDWARE, 7 },
		{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, 8 },
		{ "idle-cycles-backend", PERF_TYPE_HARDWARE, 8 },
		{ "ref-cycles", PERF_TYPE_HARDWARE, 9 },
		{ "cpu-clock", PERF_TYPE_SOFTWARE, 0 },
		{ "task-clock", PERF_TYPE_SOFTWARE, 1 },
		{ "page-faults", PERF_TYPE_SOFTWARE, 2 },
		{ "faults", PERF_TYPE_SOFTWARE, 2 },
		{ "context-switches", PERF_TYPE_SOFTWARE, 3 },
		{ "cs", PERF_TYPE_SOFTWARE, 3 },
		{ "cpu-migrations", PERF_TYPE_SOFTWARE, 4 },
		{ "migrations", PERF_TYPE_SOFTWARE, 4 },
		{ "minor-faults", PERF_TYPE_SOFTWARE, 5 },
		{ "major-faults", PERF_TYPE_SOFTWARE, 6 },
		{ "alignment-faults", PERF_TYPE_SOFTWARE, 7 },
		{ "emulation-faults", PERF_TYPE_SOFTWARE, 8 },
		{ "dummy", PERF_TYPE_SOFTWARE, 9 },
		{ "bpf-output", PERF_TYPE_SOFTWARE, 10 },
		{ "cgroup-switches", PERF_TYPE_SOFTWARE, 11 },
		{ "L1-dcache-loads", PERF_TYPE_HW_CACHE, 0x000000 },
		{ "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x010000 },
		{ "L1-dcache-stores", PERF_TYPE_HW_CACHE, 0x000100 },
		{ "L1-dcache-store-misses", PERF_TYPE_HW_CACHE, 0x010100 },
		{ "L1-dcache-prefetches", PERF_TYPE_HW_CACHE, 0x000200 },
		{ "L1-dcache-prefetch-misses", PERF_TYPE_HW_CACHE, 0x010200 },
		{ "L1-icache-loads", PERF_TYPE_HW_CACHE, 0x000001 },
		{ "L1-icache-load-misses", PERF_TYPE_HW_CACHE, 0x010001 },
		{ "L1-icache-prefetches", PERF_TYPE_HW_CACHE, 0x000201 },
		{ "LLC-loads", PERF_TYPE_HW_CACHE, 0x000002 },
		{ "LLC-store-misses", PERF_TYPE_HW_CACHE, 0x010102 },
		{ "dTLB-loads", PERF_TYPE_HW_CACHE, 0x000003 },
		{ "dTLB-store-misses", PERF_TYPE_HW_CACHE, 0x010103 },
		{ "iTLB-load-misses", PERF_TYPE_HW_CACHE, 0x010004 },
		{ "branch-loads", PERF_TYPE_HW_CACHE, 0x000005 },
		{ "branch-load-misses", PERF_TYPE_HW_CACHE, 0x010005 },
		{ "node-prefetch-misses", PERF_TYPE_HW_CACHE, 0x010206 },
		{ "l1d-read-miss", PERF_TYPE_HW_CACHE, 0x010000 },
		{ "LLC-misses", PERF_TYPE_HW_CACHE, 0x010002 },
		{ "l1-d-speculative-read-access", PERF_TYPE_HW_CACHE, 0x000200 },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct tare_events *const list = parse(want[i].name);
		const struct tare_event *const ev = tare_events_at(list, 0);
		assert_int_equal(tare_events_count(list), 1);
		assert_string_equal(ev->name, want[i].name);
		assert_int_equal(ev->kind, TARE_EVENT_PERF);
		if (ev->base.type != want[i].type || ev->base.config != want[i].config)
			fail_msg("%s: type %u config %#llx", want[i].name, ev->base.type,
				 (unsigned long long)ev->base.config);
		assert_int_equal(ev->group, -1);
		assert_false(ev->has_modifier || ev->needs_engine || ev->base.exclude_kernel);
		assert_true(ev->scale == 1.0);
		tare_events_free(list);
	}
}

/* The kernel decides USR, OS, INT and EN; all else is the event. */
static void raw_codes(void **state)
{
	static const struct { const char *name; uint64_t config; } want[] = {
		{ "r5301c4:u", 0x01c4 },	/* the paper's tables */
		{ "r5001c0", 0x01c0 },
		{ "r1d40114:u", 0x1840114 },	/* CMASK 1, INV, EDGE stay */
		{ "r1570114:u", 0x1040114 },
		{ "r508112:u", 0x8112 },
		{ "r100005111c4", 0x100000011c4 },
		{ "r1000000c9", 0x1000000c9 },
		{ "r20ffFFff", 0x20acffff },
		{ "r0", 0 },
		{ "rffffffffffffffff", ~0x530000ull },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct tare_events *const list = parse(want[i].name);
		const struct tare_event *const ev = tare_events_at(list, 0);
		assert_int_equal(ev->base.type, PERF_TYPE_RAW);
		if (ev->base.config != want[i].config)
			fail_msg("%s: config %#llx", want[i].name,
				 (unsigned long long)ev->base.config);
		tare_events_free(list);
	}
	/* Other architectures have no such bits. */
	const struct tare_cpu arm = { .arch = TARE_ARCH_ARM64 };
	struct tare_events *list;
	assert_int_equal(tare_events_parse("r530021", &arm, &list, NULL), 0);
	assert_true(tare_events_at(list, 0)->base.config == 0x530021);
	tare_events_free(list);
	/* A core that is not in the tables has the architecture's events. */
	assert_int_equal(tare_events_parse("INST_RETIRED:u", &arm, &list, NULL), 0);
	assert_true(tare_events_at(list, 0)->base.config == 0x08);
	tare_events_free(list);
}

static void modifiers(void **state)
{
	static const struct {
		const char *text, *name;
		bool eu, ek, eh, ehost, eguest, idle, pinned, precise;
	} want[] = {
		{ "cycles:u", "cycles:u", .ek = true, .eh = true },
		{ "cycles:k", "cycles:k", .eu = true, .eh = true },
		{ "cycles:ku", "cycles:uk", .eh = true },
		{ "cycles:h", "cycles:h", .eu = true, .ek = true },
		{ "cycles:ukh", "cycles:ukh" },
		{ "cycles:uu", "cycles:u", .ek = true, .eh = true },
		{ "cycles:G", "cycles:G", .ehost = true },
		{ "cycles:H", "cycles:H", .eguest = true },
		{ "cycles:GH", "cycles:HG" },
		{ "cycles:I", "cycles:I", .idle = true },
		{ "cycles:Du", "cycles:uD", .ek = true, .eh = true, .pinned = true },
		{ "cycles:pp", "cycles:p", .precise = true },
		{ "{cycles}:u", "cycles:u", .ek = true, .eh = true },
		{ "{cycles:u}:k", "cycles:uk", .eh = true },
		{ "{cycles:D}:u", "cycles:uD", .ek = true, .eh = true, .pinned = true },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct tare_events *const list = parse(want[i].text);
		const struct tare_event *const ev = tare_events_at(list, 0);
		assert_string_equal(ev->name, want[i].name);
		assert_int_equal(ev->base.exclude_user, want[i].eu);
		assert_int_equal(ev->base.exclude_kernel, want[i].ek);
		assert_int_equal(ev->base.exclude_hv, want[i].eh);
		assert_int_equal(ev->base.exclude_host, want[i].ehost);
		assert_int_equal(ev->base.exclude_guest, want[i].eguest);
		assert_int_equal(ev->base.exclude_idle, want[i].idle);
		assert_int_equal(ev->base.pinned, want[i].pinned);
		assert_int_equal(ev->base.precise_asked, want[i].precise);
		tare_events_free(list);
	}
}

static void groups(void **state)
{
	struct tare_events *const list =
		parse("faults , {instructions:u,branches}:D,cs,{ cycles , wall-time }:u");
	static const struct { const char *name; int group; } want[] = {
		{ "faults", -1 }, { "instructions:uD", 0 }, { "branches:D", 0 }, { "cs", -1 },
		{ "cycles:u", 1 }, { "wall-time", 1 },
	};
	assert_int_equal(tare_events_count(list), 6);
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(tare_events_at(list, i)->name, want[i].name);
		assert_int_equal(tare_events_at(list, i)->group, want[i].group);
	}
	assert_null(tare_events_at(list, 6));
	assert_true(tare_events_at(list, 1)->has_modifier);
	assert_false(tare_events_at(list, 2)->has_modifier);
	tare_events_free(list);
	tare_events_free(NULL);
}

static void clocks(void **state)
{
	struct tare_events *const list = parse("wall-time,zero,task-clock");
	assert_int_equal(tare_events_at(list, 0)->kind, TARE_EVENT_WALL_TIME);
	assert_string_equal(tare_events_at(list, 0)->unit, "ns");
	assert_int_equal(tare_events_at(list, 1)->kind, TARE_EVENT_ZERO);
	assert_string_equal(tare_events_at(list, 1)->unit, "");
	assert_string_equal(tare_events_at(list, 2)->unit, "ns");
	tare_events_free(list);
	struct tare_events *const perfs = parse("duration_time");
	assert_int_equal(tare_events_at(perfs, 0)->kind, TARE_EVENT_WALL_TIME);
	tare_events_free(perfs);
}

static void mistakes(void **state)
{
	static const struct { const char *text; int code; const char *what; } bad[] = {
		{ "", TARE_E_SYNTAX, "position 1: the event list is empty" },
		{ "  ", TARE_E_SYNTAX, "position 3: the event list is empty" },
		{ ",", TARE_E_SYNTAX, "position 1: an event was expected, found ','" },
		{ "cycles,", TARE_E_SYNTAX, "position 8: the list ends where an event was expected" },
		{ "cycles,,cs", TARE_E_SYNTAX, "position 8: an event was expected, found ','" },
		{ "cycles:u:k", TARE_E_SYNTAX, "position 9: ':' begins modifiers a second time" },
		{ "cs,faults:u:u:k", TARE_E_SYNTAX, "begins modifiers a second time" },
		{ "{cycles", TARE_E_SYNTAX, "position 1: the group opened here with '{' is not closed" },
		{ "cs,{cycles,", TARE_E_SYNTAX, "position 4: the group opened here" },
		{ "cs,{", TARE_E_SYNTAX, "position 4: the group opened here" },
		{ "{}", TARE_E_SYNTAX, "position 1: the group is empty" },
		{ "cs,{ }", TARE_E_SYNTAX, "position 4: the group is empty" },
		{ "{cycles,}", TARE_E_SYNTAX, "position 9: the group ends where an event was expected" },
		{ "{cycles,{cs}}", TARE_E_SYNTAX,
		  "position 9: a group inside the group opened at position 1" },
		{ "{{cs}}", TARE_E_SYNTAX, "position 2: a group inside the group opened at position 1" },
		{ "cycles}", TARE_E_SYNTAX, "position 7: '}' closes a group that was not opened" },
		{ "}", TARE_E_SYNTAX, "position 1: '}' closes a group that was not opened" },
		{ "{cycles}cs", TARE_E_SYNTAX, "position 9: a comma was expected, found 'c'" },
		{ "cycles{cs}", TARE_E_SYNTAX, "position 7: a comma was expected, found '{'" },
		{ "{cycles{cs}}", TARE_E_SYNTAX, "position 8: a comma was expected, found '{'" },
		{ "cycles cs", TARE_E_SYNTAX, "position 8: a comma was expected, found 'c'" },
		{ "{cycles cs}", TARE_E_SYNTAX, "position 9: ',' or '}' was expected, found 'c'" },
		{ "cycles:x", TARE_E_SYNTAX, "position 8: unknown modifier 'x'" },
		{ "cycles:ux", TARE_E_SYNTAX, "position 9: unknown modifier 'x'" },
		{ "cycles:", TARE_E_SYNTAX, "position 8: a modifier was expected after ':'" },
		{ "cs,cycles:", TARE_E_SYNTAX, "position 11: a modifier was expected after ':'" },
		{ "cycles:S", TARE_E_SYNTAX, "position 8: modifier 'S' (read the group" },
		{ "cycles:uW", TARE_E_SYNTAX, "position 9: modifier 'W'" },
		{ "{cycles}:", TARE_E_SYNTAX, "position 10: a modifier was expected after ':'" },
		{ "{cycles}:q", TARE_E_SYNTAX, "position 10: unknown modifier 'q'" },
		{ "wall-time:u", TARE_E_SYNTAX, "position 1: wall-time takes no modifiers" },
		{ "zero:k", TARE_E_SYNTAX, "position 1: zero takes no modifiers" },
		{ "cpu/event=1", TARE_E_SYNTAX, "position 4: '/' opens a list of terms that is not closed" },
		{ "r12345678901234567", TARE_E_RANGE, "at most 16 hexadecimal digits" },
		{ "r", TARE_E_EVENT_UNKNOWN, "" },
		{ "r12g", TARE_E_EVENT_UNKNOWN, "" },
		{ "no-such-event", TARE_E_EVENT_UNKNOWN, "position 1: no-such-event" },
		{ "cs,no-such-event:u", TARE_E_EVENT_UNKNOWN, "position 4: no-such-event" },
		{ "iTLB-stores", TARE_E_EVENT_UNKNOWN, "iTLB-stores" },
		{ "L1-icache-stores", TARE_E_EVENT_UNKNOWN, "L1-icache-stores" },
		{ "LLC-", TARE_E_EVENT_UNKNOWN, "LLC-" },
		{ "LLC-loads-loads", TARE_E_EVENT_UNKNOWN, "" },
		{ ":u", TARE_E_EVENT_UNKNOWN, "" },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct tare_events *list = (void *)-1;
		struct tare_why why = { 0 };
		const int err = tare_events_parse(bad[i].text, &nobody, &list, &why);
		if (err != bad[i].code || why.code != err || !strstr(why.what, bad[i].what))
			fail_msg("\"%s\": %s \"%s\"", bad[i].text, tare_err_name(err), why.what);
		assert_null(list);
		assert_int_equal(tare_events_parse(bad[i].text, &nobody, &list, NULL), err);
	}
	struct tare_events *list;
	assert_int_equal(tare_events_parse(NULL, &nobody, &list, NULL), TARE_E_INVALID);
	assert_int_equal(tare_events_count(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generic_names),
		cmocka_unit_test(raw_codes),
		cmocka_unit_test(modifiers),
		cmocka_unit_test(groups),
		cmocka_unit_test(clocks),
		cmocka_unit_test(mistakes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
