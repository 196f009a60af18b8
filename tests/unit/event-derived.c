/* Names that depend on the CPU: roles, table names, corrections; on every CPU of
 * the tables by name, so no PMU is needed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <linux/perf_event.h>

#include <tare/event.h>

#include "event-room.h"

static const struct tare_cpu nobody = { .arch = TARE_ARCH_X86_64, .brand = "Foo 9000" };

static struct tare_cpu cpu_named(const char *name)
{
	struct tare_cpu cpu;

	if (!name)
		return nobody;
	assert_int_equal(tare_cpu_from_name(name, &cpu), 0);
	return cpu;
}

static struct tare_events *parse(const char *cpu_name, const char *text)
{
	const struct tare_cpu cpu = cpu_named(cpu_name);
	struct tare_events *list;
	struct tare_why why;

	if (tare_events_parse(text, &cpu, &list, &why) < 0)
		fail_msg("%s on %s: %s", text, cpu_name, why.what);
	return list;
}

static void encodings(void **state)
{
	static const struct {
		const char *cpu, *text, *name;
		uint32_t type;
		uint64_t config;
		enum tare_role role;
		const char *row;
	} want[] = {
		{ "skylake", "BR_INST_RETIRED.CONDITIONAL:u", "BR_INST_RETIRED.CONDITIONAL:u",
		  PERF_TYPE_RAW, 0x01c4, TARE_ROLE_COND_BRANCHES, "BR_INST_RETIRED.CONDITIONAL" },
		{ "skylake", "BR_INST_RETIRED:CONDITIONAL:u", "BR_INST_RETIRED:CONDITIONAL:u",
		  PERF_TYPE_RAW, 0x01c4, TARE_ROLE_COND_BRANCHES, "BR_INST_RETIRED.CONDITIONAL" },
		{ "skylake", "br_inst_retired.cond", "br_inst_retired.cond", PERF_TYPE_RAW, 0x01c4,
		  TARE_ROLE_COND_BRANCHES, "BR_INST_RETIRED.CONDITIONAL" },
		{ "skylake", "r5301c4:u", "r5301c4:u", PERF_TYPE_RAW, 0x01c4,
		  TARE_ROLE_COND_BRANCHES, "BR_INST_RETIRED.CONDITIONAL" },
		{ "skylake", "cond-branches:u", "cond-branches:u", PERF_TYPE_RAW, 0x01c4,
		  TARE_ROLE_COND_BRANCHES, "BR_INST_RETIRED.CONDITIONAL" },
		{ "skylake", "interrupts:u", "interrupts:u", PERF_TYPE_RAW, 0x01cb,
		  TARE_ROLE_INTERRUPTS, "HW_INTERRUPTS.RECEIVED" },
		{ "skylake", "far-transfers", "far-transfers", PERF_TYPE_RAW, 0x40c4,
		  TARE_ROLE_FAR_BRANCHES, "BR_INST_RETIRED.FAR_BRANCH" },
		{ "skylake", "far-branches", "far-branches", PERF_TYPE_RAW, 0x40c4,
		  TARE_ROLE_FAR_BRANCHES, "BR_INST_RETIRED.FAR_BRANCH" },
		{ "skylake", "calls", "calls", PERF_TYPE_RAW, 0x02c4, TARE_ROLE_CALLS,
		  "BR_INST_RETIRED.NEAR_CALL" },
		{ "skylake", "INST_RETIRED.ANY", "INST_RETIRED.ANY", PERF_TYPE_HARDWARE, 1,
		  TARE_ROLE_INSTRUCTIONS_FIXED, "INST_RETIRED.ANY" },
		{ "skylake", "instructions", "instructions", PERF_TYPE_HARDWARE, 1,
		  TARE_ROLE_INSTRUCTIONS, "INST_RETIRED.ANY_P" },
		{ "skylake", "branches", "branches", PERF_TYPE_HARDWARE, 4, TARE_ROLE_BRANCHES,
		  "BR_INST_RETIRED.ALL_BRANCHES" },
		{ "skylake", "cpu/event=0xc4,umask=0x1/u", "cpu/event=0xc4,umask=0x1/u",
		  PERF_TYPE_RAW, 0x01c4, TARE_ROLE_COND_BRANCHES, "BR_INST_RETIRED.CONDITIONAL" },
		{ "core2", "stores:u", "stores:u", PERF_TYPE_RAW, 0x02c0, TARE_ROLE_STORES,
		  "INST_RETIRED:STORES" },
		{ "core2", "r5000c8:u", "r5000c8:u", PERF_TYPE_RAW, 0xc8, TARE_ROLE_INTERRUPTS,
		  "HW_INT_RCV" },
		{ "nehalem", "r1d40114:u", "r1d40114:u", PERF_TYPE_RAW, 0x1840114,
		  TARE_ROLE_DIVIDES, "ARITH:DIV" },
		{ "lioncove", "cond-branches", "cond-branches", PERF_TYPE_RAW, 0x100000011c4,
		  TARE_ROLE_COND_BRANCHES, "BR_INST_RETIRED.COND" },
		{ "zen2", "interrupts-and-faults:u", "interrupts-and-faults:u", PERF_TYPE_RAW,
		  0x0420, TARE_ROLE_INTERRUPTS_AND_FAULTS, "UNDOCUMENTED_0420" },
		{ "zen2", "speclockmap", "speclockmap", PERF_TYPE_RAW, 0x0825,
		  TARE_ROLE_SPECLOCKMAP, "LS_LOCKS:SPEC_LOCK_HI_SPEC" },
		{ "zen1", "SpecLockMapCommit", "SpecLockMapCommit", PERF_TYPE_RAW, 0x0825,
		  TARE_ROLE_SPECLOCKMAP, "LOCKS:SPEC_LOCK_MAP_COMMIT" },
		{ "zen3", "ex_ret_cond", "ex_ret_cond", PERF_TYPE_RAW, 0xd1,
		  TARE_ROLE_COND_BRANCHES, "RETIRED_CONDITIONAL_BRANCH_INSTRUCTIONS" },
		{ "zen4", "cpu/event=0x1c9/", "cpu/event=0x1c9/", PERF_TYPE_RAW, 0x1000000c9,
		  TARE_ROLE_UNCOND_BRANCHES, "RETIRED_UNCONDITIONAL_BRANCH_INSTRUCTIONS" },
		{ "neoverse-n1", "INST_RETIRED", "INST_RETIRED", PERF_TYPE_RAW, 8,
		  TARE_ROLE_INSTRUCTIONS, "INST_RETIRED" },
		{ "neoverse-n1", "r86", "r86", PERF_TYPE_RAW, 0x86, TARE_ROLE_INTERRUPTS,
		  "EXC_IRQ" },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct tare_events *const list = parse(want[i].cpu, want[i].text);
		const struct tare_event *const ev = tare_events_at(list, 0);
		if (strcmp(ev->name, want[i].name) || ev->base.type != want[i].type ||
		    ev->base.config != want[i].config || ev->role != want[i].role || !ev->row ||
		    strcmp(ev->row->name, want[i].row))
			fail_msg("%s on %s: %s type %u config %#llx role %s row %s", want[i].text,
				 want[i].cpu, ev->name, ev->base.type,
				 (unsigned long long)ev->base.config, tare_role_name(ev->role),
				 ev->row ? ev->row->name : "none");
		assert_false(ev->needs_engine);
		tare_events_free(list);
	}
}

static void the_engine_counts_the_rest(void **state)
{
	static const struct { const char *cpu, *text; enum tare_role role; const char *why; } want[] = {
		{ "zen3", "loads:u", TARE_ROLE_LOADS, "loads: zen3 has no such event; found on core2" },
		{ "zen3", "calls", TARE_ROLE_CALLS, "zen3 has no such event" },
		{ "haswell", "loads", TARE_ROLE_LOADS, "(load-uops counts micro-ops)" },
		{ "haswell", "stores", TARE_ROLE_STORES, "(store-uops counts micro-ops)" },
		{ "zen3", "fp", TARE_ROLE_FP, "fp: zen3 has no such event" },
		{ "zen3", "simd-int", TARE_ROLE_SIMD_INT, "" },
		{ "zen3", "multiplies", TARE_ROLE_MULTIPLIES, "" },
		{ "zen3", "divides", TARE_ROLE_DIVIDES, "" },
		{ "zen3", "syscalls", TARE_ROLE_SYSCALLS, "found on" },
		{ "netburst", "cond-branches", TARE_ROLE_COND_BRANCHES,
		  "netburst has RETIRED_BRANCH_TYPE:CONDITIONAL, but perf has no code for it" },
		{ NULL, "cond-branches", TARE_ROLE_COND_BRANCHES, "Foo 9000 is not in the tables" },
		{ NULL, "taken-branches", TARE_ROLE_TAKEN_BRANCHES, "" },
		{ NULL, "returns", TARE_ROLE_RETURNS, "" },
		{ NULL, "indirect-branches", TARE_ROLE_INDIRECT_BRANCHES, "" },
		{ NULL, "x87", TARE_ROLE_X87, "" },
		{ NULL, "locked", TARE_ROLE_LOCKED, "" },
		{ NULL, "far-transfers", TARE_ROLE_FAR_BRANCHES, "" },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct tare_events *const list = parse(want[i].cpu, want[i].text);
		const struct tare_event *const ev = tare_events_at(list, 0);
		assert_true(ev->needs_engine);
		assert_int_equal(ev->role, want[i].role);
		assert_int_equal(ev->kind, TARE_EVENT_PERF);
		assert_true(ev->base.type == UINT32_MAX);
		if (!strstr(ev->why_engine, want[i].why))
			fail_msg("%s on %s: %s", want[i].text, want[i].cpu, ev->why_engine);
		tare_events_free(list);
	}
}

static void corrections(void **state)
{
	static const struct {
		const char *cpu, *text, *name;
		enum tare_event_kind kind;
		uint64_t config;
		uint32_t minus_type;
		uint64_t minus;
		unsigned total;		/* of enum tare_minus_total */
		const char *bound;
	} want[] = {
		{ "skylake", "instructions-minus-irqs:u", "instructions-minus-irqs:u",
		  TARE_EVENT_MINUS, 1, PERF_TYPE_RAW, 0x01cb, 0, "off by 1 or 2" },
		{ "skylake", "instructions-minus-irqs", "instructions-minus-irqs:u",
		  TARE_EVENT_MINUS, 1, PERF_TYPE_RAW, 0x01cb, 0, "off by 1 or 2" },
		{ "skylake", "branches-minus-irqs:u", "branches-minus-irqs:u",
		  TARE_EVENT_MINUS, 4, PERF_TYPE_RAW, 0x01cb, 0, "" },
		{ "skylake", "rc0-minus-irqs:u", "rc0-minus-irqs:u",
		  TARE_EVENT_MINUS, 0xc0, PERF_TYPE_RAW, 0x01cb, 0, "" },
		{ "skylake", "cpu/event=0xc0/-minus-irqs:u", "cpu/event=0xc0/-minus-irqs:u",
		  TARE_EVENT_MINUS, 0xc0, PERF_TYPE_RAW, 0x01cb, 0, "" },
		{ "skylake", "MEM_INST_RETIRED.ALL_LOADS-minus-irqs:u",
		  "MEM_INST_RETIRED.ALL_LOADS-minus-irqs:u",
		  TARE_EVENT_MINUS, 0x81d0, PERF_TYPE_RAW, 0x01cb, 0, "" },
		{ "ivybridge", "instructions-minus-irqs:u", "instructions-minus-irqs:u",
		  TARE_EVENT_MINUS, 1, PERF_TYPE_RAW, 0x01cb, 0, "hyperthreading" },
		{ "nehalem", "instructions-minus-irqs:u", "instructions-minus-irqs:u",
		  TARE_EVENT_MINUS, 1, PERF_TYPE_RAW, 0x011d, 0, "hyperthreading" },
		{ "icelake", "instructions-minus-irqs:u", "instructions-minus-irqs:u",
		  TARE_EVENT_MINUS, 1, PERF_TYPE_RAW, 0x01cb, 0, "nobody has published" },
		{ "core2", "loads-minus-irqs:u", "loads-minus-irqs:u",
		  TARE_EVENT_MINUS, 0x01c0, PERF_TYPE_RAW, 0x00c8, 0, "off by 1 or 2" },
		{ "k10", "instructions-minus-irqs:u", "instructions-minus-irqs:u",
		  TARE_EVENT_MINUS, 1, PERF_TYPE_RAW, 0x00cf, 0, "" },
		{ "zen1", "instructions-minus-irqs:u", "instructions-minus-irqs:u",
		  TARE_EVENT_MINUS, 1, PERF_TYPE_RAW, 0x002c, 0, "off by 1 or 2" },
		{ "zen1", "instructions-minus-r0420:u", "instructions-minus-r0420:u",
		  TARE_EVENT_MINUS, 1, PERF_TYPE_RAW, 0x0420, 0, "undocumented" },
		{ "zen5", "branches-minus-r0420", "branches-minus-r0420:u",
		  TARE_EVENT_MINUS, 4, PERF_TYPE_RAW, 0x0420, 0, "undocumented" },
		{ "netburst", "branches-minus-proc-interrupts:u",
		  "branches-minus-proc-interrupts:u", TARE_EVENT_MINUS_TOTAL, 4, 0, 0,
		  TARE_MINUS_PROC_INTERRUPTS, "outside the process" },
		{ "skylake", "instructions-minus-page-faults:u", "instructions-minus-page-faults:u",
		  TARE_EVENT_MINUS_TOTAL, 1, 0, 0, TARE_MINUS_PAGE_FAULTS,
		  "hardware interrupts stay" },
		/* both disturbances, in either order */
		{ "skylake", "instructions-minus-irqs-minus-page-faults",
		  "instructions-minus-irqs-minus-page-faults:u", TARE_EVENT_MINUS_TOTAL, 1,
		  PERF_TYPE_RAW, 0x01cb, TARE_MINUS_PAIR | TARE_MINUS_PAGE_FAULTS,
		  "an interrupt between the two reads makes it off by 1 or 2" },
		{ "skylake", "branches-minus-page-faults-minus-irqs:u",
		  "branches-minus-page-faults-minus-irqs:u", TARE_EVENT_MINUS_TOTAL, 4,
		  PERF_TYPE_RAW, 0x01cb, TARE_MINUS_PAIR | TARE_MINUS_PAGE_FAULTS, "off by 1" },
		{ "icelake", "instructions-minus-irqs-minus-page-faults",
		  "instructions-minus-irqs-minus-page-faults:u", TARE_EVENT_MINUS_TOTAL, 1,
		  PERF_TYPE_RAW, 0x01cb, TARE_MINUS_PAIR | TARE_MINUS_PAGE_FAULTS,
		  "nobody has published" },
		{ "netburst", "branches-minus-proc-interrupts-minus-page-faults:u",
		  "branches-minus-proc-interrupts-minus-page-faults:u", TARE_EVENT_MINUS_TOTAL, 4,
		  0, 0, TARE_MINUS_PROC_INTERRUPTS | TARE_MINUS_PAGE_FAULTS, "outside the process" },
		{ NULL, "instructions-Minus-Page-Faults-MINUS-proc-interrupts",
		  "instructions-Minus-Page-Faults-MINUS-proc-interrupts:u", TARE_EVENT_MINUS_TOTAL,
		  1, 0, 0, TARE_MINUS_PROC_INTERRUPTS | TARE_MINUS_PAGE_FAULTS, "" },
		{ NULL, "instructions-minus-proc-interrupts", "instructions-minus-proc-interrupts:u",
		  TARE_EVENT_MINUS_TOTAL, 1, 0, 0, TARE_MINUS_PROC_INTERRUPTS, "" },
		{ NULL, "branches-minus-page-faults:u", "branches-minus-page-faults:u",
		  TARE_EVENT_MINUS_TOTAL, 4, 0, 0, TARE_MINUS_PAGE_FAULTS, "" },
		{ "skylake", "{Instructions-Minus-IRQs}:D", "Instructions-Minus-IRQs:uD",
		  TARE_EVENT_MINUS, 1, PERF_TYPE_RAW, 0x01cb, 0, "" },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct tare_events *const list = parse(want[i].cpu, want[i].text);
		const struct tare_event *const ev = tare_events_at(list, 0);
		if (strcmp(ev->name, want[i].name) || ev->kind != want[i].kind ||
		    ev->base.config != want[i].config || ev->minus.type != want[i].minus_type ||
		    ev->minus.config != want[i].minus || ev->minus_total != want[i].total ||
		    !ev->error_bound || !strstr(ev->error_bound, want[i].bound) ||
		    (ev->minus_total & TARE_MINUS_PAGE_FAULTS && strstr(ev->error_bound, "faults stay")))
			fail_msg("%s on %s: %s kind %d config %#llx minus %u/%#llx total %u, %s",
				 want[i].text, want[i].cpu, ev->name, ev->kind,
				 (unsigned long long)ev->base.config, ev->minus.type,
				 (unsigned long long)ev->minus.config, ev->minus_total,
				 ev->error_bound ? ev->error_bound : "no bound");
		assert_true(ev->base.exclude_kernel && ev->base.exclude_hv && !ev->base.exclude_user);
		if (ev->minus.config)
			assert_true(ev->minus.exclude_kernel && ev->minus.exclude_hv);
		assert_true(ev->has_modifier);
		tare_events_free(list);
	}
	/* An unknown CPU's interrupt event is not known; the engine needs none. */
	struct tare_events *const list = parse(NULL, "instructions-minus-irqs:u");
	const struct tare_event *const ev = tare_events_at(list, 0);
	assert_true(ev->needs_engine);
	assert_int_equal(ev->kind, TARE_EVENT_MINUS);
	assert_int_equal(ev->role, TARE_ROLE_INSTRUCTIONS);
	assert_non_null(strstr(ev->why_engine, "instructions-minus-proc-interrupts:u"));
	tare_events_free(list);
	struct tare_events *const both = parse(NULL, "instructions-minus-page-faults-minus-irqs");
	assert_true(tare_events_at(both, 0)->needs_engine);
	assert_null(tare_events_at(both, 0)->error_bound);
	assert_int_equal(tare_events_at(both, 0)->role, TARE_ROLE_INSTRUCTIONS);
	tare_events_free(both);
}

static void refusals(void **state)
{
	static const struct { const char *cpu, *text; int code; const char *what; } bad[] = {
		{ "skylake", "cond-branches-minus-irqs:u", TARE_E_INVALID,
		  "cond-branches is not known to count interrupts on skylake (deterministic): "
		  "nothing to subtract, use cond-branches:u" },
		{ "skylake", "stores-minus-irqs:u", TARE_E_INVALID, "nothing to subtract" },
		{ "skylake", "page-faults-minus-irqs", TARE_E_INVALID, "not a hardware counter" },
		{ "skylake", "wall-time-minus-irqs", TARE_E_INVALID, "not a hardware counter" },
		{ "skylake", "zero-minus-page-faults", TARE_E_INVALID, "not a hardware counter" },
		{ "skylake", "cycles-minus-irqs:u", TARE_E_INVALID,
		  "the tables do not say whether cycles counts interrupts on skylake" },
		{ "skylake", "r1234-minus-irqs:u", TARE_E_INVALID, "the tables do not say" },
		{ "skylake", "interrupts-minus-irqs:u", TARE_E_INVALID, "nothing would be left" },
		{ "zen1", "interrupts-and-faults-minus-r0420:u", TARE_E_INVALID,
		  "nothing would be left" },
		{ "skylake", "instructions-minus-irqs:k", TARE_E_INVALID,
		  "holds for user mode only; write instructions-minus-irqs:u" },
		{ "skylake", "{instructions-minus-irqs:u}:k", TARE_E_INVALID, "user mode only" },
		{ "skylake", "instructions-minus-page-faults:uk", TARE_E_INVALID, "user mode only" },
		{ "skylake", "instructions-minus-r0420:u", TARE_E_EVENT_NOT_ON_CPU,
		  "event 0x0420 is AMD Zen's, not of skylake; there is instructions-minus-irqs:u" },
		{ "netburst", "instructions-minus-irqs:u", TARE_E_EVENT_NOT_ON_CPU,
		  "netburst has no interrupt event; for whole runs there is "
		  "instructions-minus-proc-interrupts:u" },
		{ "bonnell", "instructions-minus-irqs:u", TARE_E_EVENT_NOT_ON_CPU,
		  "the interrupt event of bonnell (HW_INT_RCV) does not work" },
		{ "zen3", "loads-minus-irqs:u", TARE_E_EVENT_NOT_ON_CPU, "zen3 has no such event" },
		{ "neoverse-n1", "instructions-minus-irqs:u", TARE_E_INVALID,
		  "not known to count interrupts on neoverse-n1 (untested)" },
		{ "core2", "cond-branches-minus-irqs:u", TARE_E_INVALID, "nothing to subtract" },
		{ "skylake", "instructions-minus-foo:u", TARE_E_SYNTAX,
		  "unknown correction -minus-foo; known are -minus-irqs" },
		{ "skylake", "instructions-minus-:u", TARE_E_SYNTAX, "unknown correction -minus-;" },
		{ "skylake", "instructions-minus-irqs-minus-foo:u", TARE_E_SYNTAX,
		  "unknown correction -minus-foo; known are -minus-irqs" },
		{ "skylake", "instructions-minus-irqs-minus-:u", TARE_E_SYNTAX,
		  "unknown correction -minus-;" },
		{ "skylake", "instructions-minus-irqs-minus-irqs:u", TARE_E_SYNTAX,
		  "-minus-irqs and -minus-irqs subtract the same twice" },
		{ "skylake", "instructions-minus-proc-interrupts-minus-irqs:u", TARE_E_SYNTAX,
		  "-minus-proc-interrupts and -minus-irqs subtract the same twice" },
		{ "zen1", "instructions-minus-r0420-minus-page-faults:u", TARE_E_SYNTAX,
		  "-minus-r0420 and -minus-page-faults subtract the same twice" },
		{ "zen1", "instructions-minus-page-faults-minus-irqs-minus-page-faults:u",
		  TARE_E_SYNTAX, "subtract the same twice; only -minus-page-faults goes with" },
		{ "netburst", "instructions-minus-page-faults-minus-irqs:u",
		  TARE_E_EVENT_NOT_ON_CPU, "netburst has no interrupt event" },
		{ "skylake", "instructions-minus-irqs-minus-page-faults:k", TARE_E_INVALID,
		  "user mode only" },
		{ "skylake", "cond-branches-minus-irqs-minus-page-faults", TARE_E_INVALID,
		  "nothing to subtract" },
		{ "skylake", "instructoins-minus-irqs:u", TARE_E_EVENT_UNKNOWN,
		  "instructoins (nearest: instructions" },
		{ "skylake", "speclockmap", TARE_E_EVENT_NOT_ON_CPU,
		  "speclockmap: skylake has no such event; found on zen1, zen2, zen3, zen4 and" },
		{ NULL, "interrupts", TARE_E_EVENT_NOT_ON_CPU, "Foo 9000 is not in the tables" },
		{ "skylake", "RETIRED_BRANCH_INSTRUCTIONS", TARE_E_EVENT_NOT_ON_CPU,
		  "not an event of skylake; found on k8, k10, griffin, llano and" },
		{ "zen3", "BR_INST_RETIRED.CONDITIONAL:u", TARE_E_EVENT_NOT_ON_CPU,
		  "not an event of zen3; found on nehalem, westmere" },
		{ "zen3", "BR_INST_RETIRED.CONDITIONAL-minus-irqs:u", TARE_E_EVENT_NOT_ON_CPU,
		  "not an event of zen3" },
		{ "skylake", "BR_INST_RETIRED.CONDITIONEL", TARE_E_EVENT_UNKNOWN,
		  "nearest: BR_INST_RETIRED.CONDITIONAL" },
		{ "skylake", "instrutions:u", TARE_E_EVENT_UNKNOWN,
		  "position 1: instrutions (nearest: instructions" },
		{ "skylake", "cycles,brnaches", TARE_E_EVENT_UNKNOWN,
		  "position 8: brnaches (nearest: branches" },
		{ "skylake", "page_faults", TARE_E_EVENT_UNKNOWN, "nearest: page-faults" },
		{ "skylake", "L1-dcache-laods", TARE_E_EVENT_UNKNOWN, "nearest: L1-dcache-loads" },
		{ "skylake", "r", TARE_E_EVENT_UNKNOWN, "position 1: r" },
		{ "skylake", "condbranches", TARE_E_EVENT_UNKNOWN, "nearest: cond-branches" },
		{ "skylake", "cond-branches:x", TARE_E_SYNTAX, "position 15: unknown modifier 'x'" },
		{ "netburst", "UOPS_RETIRED:NBOGUS", TARE_E_EVENT_NOT_ON_CPU,
		  "netburst has it, but perf has no code for it" },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct tare_cpu cpu = cpu_named(bad[i].cpu);
		struct tare_events *list;
		struct tare_why why = { 0 };
		const int err = tare_events_parse(bad[i].text, &cpu, &list, &why);
		if (!strcmp(bad[i].text, "r") && strstr(why.what, "nearest"))
			fail_msg("%s", why.what);	/* two letters are not near to one */
		if (err != bad[i].code || !strstr(why.what, bad[i].what))
			fail_msg("\"%s\" on %s: %s \"%s\"", bad[i].text, bad[i].cpu,
				 tare_err_name(err), why.what);
		assert_null(list);
	}
	struct tare_events *list;
	struct tare_why why = { 0 };
	assert_int_equal(tare_events_parse("xyzzyplugh", &nobody, &list, &why),
			 TARE_E_EVENT_UNKNOWN);
	assert_null(strstr(why.what, "nearest"));
}

/* Every name that is listed must parse, to the row that the list says. */
static void every_listed_name_parses(void **state)
{
	const struct tare_uarch *u;
	size_t total = 0;

	for (size_t i = 0; (u = tare_uarch_at(i)); i++) {
		const struct tare_cpu cpu = cpu_named(u->name);
		struct tare_event_names *names;
		assert_int_equal(tare_event_names_open(&cpu, &names, NULL), 0);
		const struct tare_event_name *n;
		while ((n = tare_event_names_next(names))) {
			struct tare_events *const list = parse(u->name, n->name);
			const struct tare_event *const ev = tare_events_at(list, 0);
			if (ev->role != n->role || ev->row != n->row)
				fail_msg("%s on %s: role %s, listed as %s", n->name, u->name,
					 tare_role_name(ev->role), tare_role_name(n->role));
			assert_non_null(n->note);
			tare_events_free(list);
			total++;
		}
		tare_event_names_close(names);
	}
	assert_true(total > 76 * 80);
}

static void names_have_sources(void **state)
{
	const struct tare_cpu cpu = cpu_named("skylake");
	struct tare_event_names *names;
	size_t count[TARE_NAME_LIBPFM4 + 1] = { 0 };
	enum tare_name_source last = TARE_NAME_HARDWARE;
	bool irqs = false, both = false, alias = false;

	assert_int_equal(tare_event_names_open(&cpu, &names, NULL), 0);
	const struct tare_event_name *n;
	while ((n = tare_event_names_next(names))) {
		assert_true(n->source >= last);
		last = n->source;
		count[n->source]++;
		irqs |= !strcmp(n->name, "instructions-minus-irqs:u");
		both |= !strcmp(n->name, "instructions-minus-irqs-minus-page-faults:u");
		alias |= !strcmp(n->name, "cpu-cycles") && !strcmp(n->alias_of, "cycles");
		assert_null(strstr(n->name, "r0420"));
	}
	tare_event_names_close(names);
	tare_event_names_close(NULL);
	assert_true(irqs && both && alias);
	assert_int_equal(count[TARE_NAME_HARDWARE], 14);
	assert_int_equal(count[TARE_NAME_SOFTWARE], 15);
	assert_int_equal(count[TARE_NAME_CACHE], 2 * (3 + 2 + 3 + 3 + 1 + 1 + 3));
	assert_true(count[TARE_NAME_ROLE] >= 15);
	assert_true(count[TARE_NAME_DERIVED] >= 6);
	assert_true(count[TARE_NAME_TABLE] >= 13);
	for (enum tare_name_source s = 0; s <= TARE_NAME_LIBPFM4; s++)
		assert_string_not_equal(tare_name_source(s), "unknown");
	assert_string_equal(tare_name_source(TARE_NAME_LIBPFM4 + 1), "unknown");
	assert_int_equal(tare_event_names_open(NULL, &names, NULL), 0);
	tare_event_names_close(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodings),
		cmocka_unit_test(the_engine_counts_the_rest),
		cmocka_unit_test(corrections),
		cmocka_unit_test(refusals),
		cmocka_unit_test(every_listed_name_parses),
		cmocka_unit_test(names_have_sources),
	};
	event_sysfs_root = "/nonexistent";	/* this machine's PMUs are another test */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
