/* Walks every row of every table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "cpu-room.h"

#include <tare/err.h>

static bool in_list(const struct tare_uarch *u)
{
	for (size_t i = 0; tare_uarch_at(i); i++)
		if (tare_uarch_at(i) == u)
			return true;
	return false;
}

static void names_are_canonical(void **state)
{
	const struct tare_uarch *u, *v;
	size_t n = 0;

	for (size_t i = 0; (u = tare_uarch_at(i)); i++, n++) {
		for (const char *c = u->name; *c; c++)
			if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-", *c))
				fail_msg("%s: not a canonical name", u->name);
		assert_true(strlen(u->title) > strlen("AMD"));
		assert_true(u->arch != TARE_ARCH_UNKNOWN && u->vendor != TARE_VENDOR_UNKNOWN);
		assert_true(u->n_events > 0);
		assert_true(u->gp_counters <= 32 && u->fixed_counters <= 16);
		for (size_t k = 0; k < i; k++) {
			v = tare_uarch_at(k);
			if (cpu_same_name(u->name, v->name) || cpu_same_name(u->title, v->title))
				fail_msg("%s is there twice", u->name);
		}
		assert_ptr_equal(tare_uarch_by_name(u->name), u);
		assert_ptr_equal(tare_uarch_by_name(u->title), u);
	}
	assert_true(n >= 60);
	assert_null(tare_uarch_by_name("no-such-cpu"));
	assert_null(tare_uarch_by_name("AMD Kaby Lake"));
	assert_null(tare_uarch_by_name("Intel"));
	assert_null(tare_uarch_by_name("Intel "));
	assert_null(tare_uarch_by_name("amdzen"));
	assert_null(tare_uarch_by_name(""));
	assert_null(tare_uarch_by_name("-"));
	assert_null(tare_uarch_by_name(NULL));
}

static void aliases_resolve_once(void **state)
{
	const struct cpu_tables *t, *s;

	for (size_t k = 0; (t = cpu_tables_at(k)); k++) {
		for (size_t i = 0; i < t->n_aliases; i++) {
			const char *const alias = t->aliases[i].alias;
			if (tare_uarch_by_name(alias) != t->aliases[i].uarch)
				fail_msg("alias %s leads elsewhere", alias);
			assert_true(in_list(t->aliases[i].uarch));
			for (size_t m = 0; (s = cpu_tables_at(m)); m++)
				for (size_t j = 0; j < s->n_aliases; j++)
					if ((m != k || i != j) &&
					    cpu_same_name(s->aliases[j].alias, alias))
						fail_msg("alias %s is there twice", alias);
		}
	}
	/* The spellings of the event lists that were unified. */
	static const struct { const char *spelling, *name; } want[] = {
		{ "NehalemEP", "nehalem" }, { "NehalemEX", "nehalem" }, { "Nehalem", "nehalem" },
		{ "WestmereEP-SP", "westmere" }, { "WestmereEP-DP", "westmere" },
		{ "WestmereEX", "westmere" }, { "Jaketown", "sandybridge" },
		{ "Sandy Bridge", "sandybridge" }, { "ivytown", "ivybridge" },
		{ "haswellx", "haswell" }, { "broadwellde", "broadwell" },
		{ "skylakex", "skylake" }, { "cascadelakex", "skylake" }, { "SKL", "skylake" },
		{ "snowridgex", "tremont" }, { "elkhartlake", "tremont" },
		{ "sierraforest", "crestmont" }, { "clearwaterforest", "darkmont" },
		{ "EMR", "emeraldrapids" }, { "alderlake", "goldencove" },
		{ "Zen2", "zen2" }, { "Zen 2", "zen2" }, { "zen", "zen1" }, { "Zen+", "zen1" },
		{ "fam10h", "k10" }, { "Phenom", "k10" }, { "Istanbul", "k10" },
		{ "fam14h", "bobcat" }, { "fam15h", "bulldozer" }, { "Pentium D", "netburst" },
		{ "Atom", "bonnell" }, { "cortex_a57", "cortex-a57" }, { "A72", "cortex-a57" },
		{ "Neoverse N1", "neoverse-n1" }, { "fujitsu_a64fx", "a64fx" },
		{ "cavium_tx2", "thunderx2" }, { "hisilicon_kunpeng", "kunpeng" },
		{ "Intel Kaby Lake", "skylake" }, { "AMD Zen", "zen1" }, { "amd zen+", "zen1" },
		{ "Intel Alder Lake", "goldencove" }, { "T1", "niagara" }, { "IA64", "merced" },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct tare_uarch *const u = tare_uarch_by_name(want[i].spelling);
		if (!u || strcmp(u->name, want[i].name))
			fail_msg("%s: %s", want[i].spelling, u ? u->name : "unknown");
	}
}

/* One id, one row. A hybrid model has exactly one row for each core type. */
static void ids_map_to_one_row(void **state)
{
	const struct cpu_tables *t, *s;

	for (size_t k = 0; (t = cpu_tables_at(k)); k++) {
		for (size_t i = 0; i < t->n_x86_ids; i++) {
			const struct cpu_x86_id *const a = &t->x86_ids[i];
			assert_true(in_list(a->uarch));
			assert_true(a->first_model <= a->last_model && a->last_model <= 0xff);
			assert_int_equal(a->uarch->arch, TARE_ARCH_X86_64);
			size_t partners = 0;
			for (size_t m = 0; (s = cpu_tables_at(m)); m++) {
				for (size_t j = 0; j < s->n_x86_ids; j++) {
					const struct cpu_x86_id *const b = &s->x86_ids[j];
					if (a == b || a->vendor != b->vendor ||
					    a->family != b->family ||
					    a->first_model > b->last_model ||
					    b->first_model > a->last_model)
						continue;
					if (a->core == b->core || a->core == TARE_CORE_UNIFORM ||
					    b->core == TARE_CORE_UNIFORM)
						fail_msg("family %#x model %#x is %s and %s",
							 a->family, a->first_model,
							 a->uarch->name, b->uarch->name);
					partners++;
				}
			}
			assert_int_equal(partners, a->core != TARE_CORE_UNIFORM);
			for (unsigned model = a->first_model; model <= a->last_model; model++)
				assert_ptr_equal(tare_uarch_x86(a->vendor, a->family, model, a->core),
						 a->uarch);
		}
		for (size_t i = 0; i < t->n_arm_ids; i++) {
			const struct cpu_arm_id *const a = &t->arm_ids[i];
			assert_true(in_list(a->uarch));
			assert_true(a->implementer <= 0xff && a->part <= 0xfff);
			assert_ptr_equal(tare_uarch_arm(a->implementer << 24 | 0xf0000 |
							a->part << 4 | 3), a->uarch);
			for (size_t j = 0; j < i; j++)
				if (a->implementer == t->arm_ids[j].implementer &&
				    a->part == t->arm_ids[j].part)
					fail_msg("part %#x is there twice", a->part);
		}
	}
}

/* Mistakes of other tools' tables, and neighbours that are easily confused. */
static void known_ids(void **state)
{
	static const struct {
		enum tare_vendor vendor;
		unsigned family, model;
		enum tare_core_type core;
		const char *name;
	} want[] = {
		{ TARE_VENDOR_INTEL, 6, 0x86, TARE_CORE_UNIFORM, "tremont" },
		{ TARE_VENDOR_INTEL, 6, 0xb5, TARE_CORE_PERFORMANCE, "redwoodcove" },
		{ TARE_VENDOR_INTEL, 6, 0xb5, TARE_CORE_EFFICIENT, "crestmont" },
		{ TARE_VENDOR_INTEL, 6, 0x97, TARE_CORE_PERFORMANCE, "goldencove" },
		{ TARE_VENDOR_INTEL, 6, 0x97, TARE_CORE_EFFICIENT, "gracemont" },
		{ TARE_VENDOR_INTEL, 6, 0x97, TARE_CORE_UNIFORM, "goldencove" },
		{ TARE_VENDOR_INTEL, 6, 0xbe, TARE_CORE_UNIFORM, "gracemont" },
		{ TARE_VENDOR_INTEL, 6, 0xbe, TARE_CORE_EFFICIENT, "gracemont" },
		{ TARE_VENDOR_INTEL, 6, 0x55, TARE_CORE_UNIFORM, "skylake" },
		{ TARE_VENDOR_INTEL, 6, 0x3e, TARE_CORE_UNIFORM, "ivybridge" },
		{ TARE_VENDOR_INTEL, 6, 0x8f, TARE_CORE_UNIFORM, "sapphirerapids" },
		{ TARE_VENDOR_INTEL, 6, 0xcf, TARE_CORE_UNIFORM, "emeraldrapids" },
		{ TARE_VENDOR_INTEL, 6, 0xad, TARE_CORE_UNIFORM, "graniterapids" },
		{ TARE_VENDOR_INTEL, 15, 6, TARE_CORE_UNIFORM, "netburst" },
		{ TARE_VENDOR_INTEL, 0x12, 1, TARE_CORE_PERFORMANCE, "coyotecove" },
		{ TARE_VENDOR_INTEL, 0x12, 1, TARE_CORE_EFFICIENT, "arcticwolf" },
		{ TARE_VENDOR_AMD, 0x12, 1, TARE_CORE_UNIFORM, "llano" },
		{ TARE_VENDOR_AMD, 0x15, 2, TARE_CORE_UNIFORM, "bulldozer" },
		{ TARE_VENDOR_AMD, 0x17, 0x01, TARE_CORE_UNIFORM, "zen1" },
		{ TARE_VENDOR_AMD, 0x17, 0x31, TARE_CORE_UNIFORM, "zen2" },
		{ TARE_VENDOR_AMD, 0x17, 0x71, TARE_CORE_UNIFORM, "zen2" },
		{ TARE_VENDOR_AMD, 0x19, 0x01, TARE_CORE_UNIFORM, "zen3" },
		{ TARE_VENDOR_AMD, 0x19, 0x21, TARE_CORE_UNIFORM, "zen3" },
		{ TARE_VENDOR_AMD, 0x19, 0x11, TARE_CORE_UNIFORM, "zen4" },
		{ TARE_VENDOR_AMD, 0x19, 0x61, TARE_CORE_UNIFORM, "zen4" },
		{ TARE_VENDOR_AMD, 0x1a, 0x44, TARE_CORE_UNIFORM, "zen5" },
		{ TARE_VENDOR_AMD, 0x1a, 0x50, TARE_CORE_UNIFORM, "zen6" },
		{ TARE_VENDOR_HYGON, 0x18, 0x01, TARE_CORE_UNIFORM, "zen1" },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct tare_uarch *const u = tare_uarch_x86(
			want[i].vendor, want[i].family, want[i].model, want[i].core);
		if (!u || strcmp(u->name, want[i].name))
			fail_msg("family %#x model %#x: %s, not %s", want[i].family, want[i].model,
				 u ? u->name : "none", want[i].name);
	}
	assert_null(tare_uarch_x86(TARE_VENDOR_INTEL, 6, 0xff, TARE_CORE_UNIFORM));
	assert_null(tare_uarch_x86(TARE_VENDOR_INTEL, 0x17, 0x01, TARE_CORE_UNIFORM));
	assert_null(tare_uarch_x86(TARE_VENDOR_AMD, 6, 0x55, TARE_CORE_UNIFORM));
	assert_null(tare_uarch_arm(0));
	assert_string_equal(tare_uarch_arm(0x410fd0c1)->name, "neoverse-n1");
	assert_string_equal(tare_uarch_arm(0x414fd0c1)->name, "neoverse-n1");
	assert_string_equal(tare_uarch_arm(0x410fd083)->name, "cortex-a57");
	assert_string_equal(tare_uarch_arm(0x410fc090)->name, "cortex-a9");
}

/* What the raw code of an architecture can hold: see the formats in sysfs. */
static uint64_t raw_mask(const struct tare_uarch *u)
{
	if (u->arch != TARE_ARCH_X86_64)
		return 0xffff;
	if (u->vendor == TARE_VENDOR_AMD)
		return 0xfff84ffffull;	/* event 7:0 and 35:32, umask, EDGE, INV, CMASK */
	return 0xff00ff84ffffull;	/* event, umask, EDGE, INV, CMASK, UMASK2 */
}

static size_t check_names(const struct tare_uarch *u, const struct tare_event_row *row)
{
	char one[128];
	size_t n = 1;

	assert_ptr_equal(tare_cpu_event_by_name(u, row->name), row);
	for (const char *a = row->aliases; a && *a; a += strspn(a, " "), n++) {
		const size_t len = strcspn(a, " ");
		assert_true(len < sizeof(one));
		memcpy(one, a, len);
		one[len] = '\0';
		if (tare_cpu_event_by_name(u, one) != row)
			fail_msg("%s: alias %s of %s leads elsewhere", u->name, one, row->name);
		a += len;
	}
	return n;
}

/* "counter 1 only", "counters 0-3" */
static bool names_counters(const char *note)
{
	for (const char *at = note; (at = strstr(at, "counter")); at += 7) {
		const char *const after = at + 7 + (at[7] == 's');
		if (after[0] == ' ' && after[1] >= '0' && after[1] <= '9')
			return true;
	}
	return false;
}

static void every_row_is_whole(void **state)
{
	const unsigned all_bits = 2 * TARE_TRUST_BROKEN - 1;
	const struct tare_uarch *u;
	size_t rows = 0;

	for (size_t i = 0; (u = tare_uarch_at(i)); i++) {
		for (size_t k = 0; k < u->n_events; k++, rows++) {
			const struct tare_event_row *const row = &u->events[k];
			check_names(u, row);
			assert_true(row->name[0] && !strpbrk(row->name, " ,/{}"));
			assert_true((unsigned)row->role < TARE_ROLE_COUNT);
			assert_non_null(row->note);
			/* Which counters fit is data: the field has it, not the note. */
			if (names_counters(row->note))
				fail_msg("%s %s: note \"%s\"", u->name, row->name, row->note);
			if (u->gp_counters && row->counters >> u->gp_counters)
				fail_msg("%s %s: counters %#x of %u", u->name, row->name,
					 (unsigned)row->counters, u->gp_counters);
			assert_true(row->source && strlen(row->source) > 5);
			assert_true(row->trust && !(row->trust & ~all_bits));
			if (row->trust & TARE_TRUST_DETERMINISTIC)
				assert_int_equal(row->trust, TARE_TRUST_DETERMINISTIC);
			if (row->generic && strcmp(row->generic, "instructions") &&
			    strcmp(row->generic, "branches"))
				fail_msg("%s %s: generic name %s", u->name, row->name, row->generic);
			/* A paper's machine may have events that perf cannot name. */
			if (!row->has_raw)
				assert_true(row->raw == 0);
			else if (row->raw & ~raw_mask(u))
				fail_msg("%s %s: raw %#llx", u->name, row->name,
					 (unsigned long long)row->raw);
			for (size_t j = 0; j < k; j++)
				if (row->has_raw && u->events[j].has_raw &&
				    u->events[j].raw == row->raw)
					fail_msg("%s: %s and %s are one event", u->name, row->name,
						 u->events[j].name);
			if (row->role == TARE_ROLE_OTHER)
				continue;
			const struct tare_event_row *const best = tare_cpu_event(u, row->role);
			assert_non_null(best);
			assert_int_equal(best->role, row->role);
		}
		if (u->arch != TARE_ARCH_OTHER || u->n_events > 0)
			assert_non_null(tare_cpu_event(u, TARE_ROLE_INSTRUCTIONS));
	}
	assert_true(rows >= 700);
}

/* The facts that corrections and checks stand on. */
static void facts(void **state)
{
	static const struct {
		const char *cpu;
		enum tare_role role;
		uint64_t raw;
		bool documented;
		const char *letters;
	} want[] = {
		{ "core2", TARE_ROLE_STORES, 0x02c0, true, "DETERMINISTIC" },
		{ "core2", TARE_ROLE_INTERRUPTS, 0x00c8, true, "h" },
		{ "core2", TARE_ROLE_INSTRUCTIONS, 0x00c0, true, "hpEF" },
		{ "core2", TARE_ROLE_BRANCHES, 0x00c4, true, "hpD" },
		{ "core2", TARE_ROLE_COND_BRANCHES, 0x008b, true, "pS" },
		{ "core2", TARE_ROLE_LOADS, 0x01c0, true, "hpD" },
		{ "nehalem", TARE_ROLE_INTERRUPTS, 0x011d, false, "h" },
		{ "nehalem", TARE_ROLE_COND_BRANCHES, 0x01c4, true, "D" },
		{ "nehalem", TARE_ROLE_LOADS, 0x010b, true, "hpM" },
		{ "nehalem", TARE_ROLE_STORES, 0x020b, true, "hpD" },
		{ "nehalem", TARE_ROLE_DIVIDES, 0x1840114, true, "S" },
		{ "westmere", TARE_ROLE_COND_BRANCHES, 0x01c4, true, "DETERMINISTIC" },
		{ "westmere", TARE_ROLE_LOADS, 0x010b, true, "hp" },
		{ "sandybridge", TARE_ROLE_COND_BRANCHES, 0x01c4, true, "DETERMINISTIC" },
		{ "sandybridge", TARE_ROLE_LOAD_UOPS, 0x81d0, true, "U" },
		{ "ivybridge", TARE_ROLE_INTERRUPTS, 0x01cb, false, "h" },
		{ "haswell", TARE_ROLE_INSTRUCTIONS, 0x00c0, true, "hpEF" },
		{ "haswell", TARE_ROLE_INTERRUPTS, 0x01cb, false, "h" },
		{ "skylake", TARE_ROLE_INTERRUPTS, 0x01cb, true, "h" },
		{ "skylake", TARE_ROLE_STORES, 0x82d0, true, "D" },
		{ "skylake", TARE_ROLE_FAR_BRANCHES, 0x40c4, true, "hp" },
		{ "icelake", TARE_ROLE_COND_BRANCHES, 0x11c4, true, "DETERMINISTIC" },
		{ "icelake", TARE_ROLE_INTERRUPTS, 0x01cb, false, "h" },
		{ "lioncove", TARE_ROLE_COND_BRANCHES, 0x100000011c4, true, "DETERMINISTIC" },
		{ "gracemont", TARE_ROLE_COND_BRANCHES, 0x7ec4, true, "DETERMINISTIC" },
		{ "gracemont", TARE_ROLE_FAR_BRANCHES, 0xbfc4, true, "hp" },
		{ "bonnell", TARE_ROLE_INTERRUPTS, 0x00c8, true, "h" },
		{ "bonnell", TARE_ROLE_MULTIPLIES, 0x8112, true, "DETERMINISTIC" },
		{ "k10", TARE_ROLE_INSTRUCTIONS, 0x00c0, true, "hpEFD" },
		{ "k10", TARE_ROLE_BRANCHES, 0x00c2, true, "hp" },
		{ "k10", TARE_ROLE_INTERRUPTS, 0x00cf, true, "h" },
		{ "bobcat", TARE_ROLE_DIVIDES, 0x2403, true, "DETERMINISTIC" },
		{ "bulldozer", TARE_ROLE_INTERRUPTS, 0x00cf, true, "h" },
		{ "zen1", TARE_ROLE_INTERRUPTS, 0x002c, true, "h" },
		{ "zen1", TARE_ROLE_SPECLOCKMAP, 0x0825, true, "-" },
		{ "zen1", TARE_ROLE_INTERRUPTS_AND_FAULTS, 0x0420, false, "hp" },
		{ "zen2", TARE_ROLE_SPECLOCKMAP, 0x0825, true, "-" },
		{ "zen2", TARE_ROLE_INTERRUPTS_AND_FAULTS, 0x0420, false, "hp" },
		{ "zen3", TARE_ROLE_COND_BRANCHES, 0x00d1, true, "DETERMINISTIC" },
		{ "zen3", TARE_ROLE_FAR_BRANCHES, 0x00c6, true, "hp" },
		{ "zen4", TARE_ROLE_INTERRUPTS, 0x002c, true, "h" },	/* not likwid's */
		{ "zen4", TARE_ROLE_SPECLOCKMAP, 0x0825, false, "-" },
		{ "zen4", TARE_ROLE_UNCOND_BRANCHES, 0x1000000c9, true, "-" },
		{ "neoverse-n1", TARE_ROLE_BRANCHES, 0x0021, true, "DETERMINISTIC" },
		{ "cortex-a55", TARE_ROLE_BRANCHES, 0x0021, true, "D" },
		{ "firestorm", TARE_ROLE_TAKEN_BRANCHES, 0x0090, true, "DETERMINISTIC" },
	};
	char letters[32];

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct tare_event_row *const row =
			tare_cpu_event(tare_uarch_by_name(want[i].cpu), want[i].role);
		if (!row || !row->has_raw || row->raw != want[i].raw ||
		    row->documented != want[i].documented ||
		    strcmp(tare_trust_letters(row->trust, letters, sizeof(letters)),
			   want[i].letters))
			fail_msg("%s %s: %s %#llx %s", want[i].cpu, tare_role_name(want[i].role),
				 row ? row->name : "none", row ? (unsigned long long)row->raw : 0,
				 row ? letters : "");
	}
	static const char *const published[] = { "netburst", "power6", "merced", "niagara",
						 "cortex-a8", "cortex-a9" };
	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++)
		assert_non_null(tare_cpu_event(tare_uarch_by_name(published[i]),
					       TARE_ROLE_INSTRUCTIONS));
	assert_null(tare_cpu_event(tare_uarch_by_name("netburst"), TARE_ROLE_INTERRUPTS));
	assert_null(tare_cpu_event(tare_uarch_by_name("skylake"), TARE_ROLE_SPECLOCKMAP));
	assert_null(tare_cpu_event(NULL, TARE_ROLE_INSTRUCTIONS));
	assert_null(tare_cpu_event(tare_uarch_by_name("skylake"), TARE_ROLE_OTHER));
	assert_true(tare_uarch_by_name("nehalem")->irq_event_needs_no_smt);
	assert_false(tare_uarch_by_name("skylake")->irq_event_needs_no_smt);
	assert_true(tare_cpu_event(tare_uarch_by_name("bonnell"), TARE_ROLE_INTERRUPTS)->trust &
		    TARE_TRUST_BROKEN);
}

static void event_names_have_spellings(void **state)
{
	const struct tare_uarch *const skl = tare_uarch_by_name("skylake");
	const struct tare_event_row *const cond = tare_cpu_event(skl, TARE_ROLE_COND_BRANCHES);

	assert_ptr_equal(tare_cpu_event_by_name(skl, "BR_INST_RETIRED.CONDITIONAL"), cond);
	assert_ptr_equal(tare_cpu_event_by_name(skl, "BR_INST_RETIRED:CONDITIONAL"), cond);
	assert_ptr_equal(tare_cpu_event_by_name(skl, "br_inst_retired.conditional"), cond);
	assert_ptr_equal(tare_cpu_event_by_name(skl, "BR_INST_RETIRED.COND"), cond);
	assert_null(tare_cpu_event_by_name(skl, "BR_INST_RETIRED"));
	assert_null(tare_cpu_event_by_name(skl, "BR_INST_RETIRED.CONDITIONAL_NOT"));
	assert_null(tare_cpu_event_by_name(skl, ""));
	assert_null(tare_cpu_event_by_name(skl, NULL));
	assert_null(tare_cpu_event_by_name(NULL, "BR_INST_RETIRED.CONDITIONAL"));
	assert_string_equal(tare_cpu_event_by_name(tare_uarch_by_name("zen2"), "ls_int_taken")->name,
			    "INTERRUPT_TAKEN");
}

static void role_names_are_unique(void **state)
{
	for (unsigned i = 0; i < TARE_ROLE_COUNT; i++) {
		assert_true(strlen(tare_role_name(i)) > 1);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(tare_role_name(i), tare_role_name(k));
	}
	assert_string_equal(tare_role_name(TARE_ROLE_COND_BRANCHES), "cond-branches");
	assert_string_equal(tare_role_name(TARE_ROLE_COUNT), "unknown");
}

static void trust_has_words(void **state)
{
	static const struct { unsigned trust; const char *text, *letters; } want[] = {
		{ 0, "unknown", "-" },
		{ TARE_TRUST_DETERMINISTIC, "deterministic", "DETERMINISTIC" },
		{ TARE_TRUST_UNTESTED, "untested", "-" },
		{ TARE_TRUST_NOISY_INTERRUPTS | TARE_TRUST_NOISY_FAULTS,
		  "noisy: interrupts, page faults", "hp" },
		{ TARE_TRUST_NOISY_INTERRUPTS | TARE_TRUST_NOISY_FAULTS | TARE_TRUST_UNTESTED,
		  "noisy: interrupts, page faults (untested)", "hp" },
		{ TARE_TRUST_NOISY_INTERRUPTS | TARE_TRUST_NOISY_FAULTS |
		  TARE_TRUST_OVER_EXCEPTIONS | TARE_TRUST_OVER_LAZY_FP | TARE_TRUST_OVER_INSNS,
		  "noisy: interrupts, page faults; overcounts: x87/SSE exceptions, lazy FP, "
		  "some instructions", "hpEFD" },
		{ TARE_TRUST_OVER_INSNS, "overcounts: some instructions", "D" },
		{ TARE_TRUST_UNDER_INSNS, "undercounts: some instructions", "M" },
		{ TARE_TRUST_NOISY_FAULTS | TARE_TRUST_SPECULATIVE,
		  "noisy: page faults; counts executed, not retired", "pS" },
		{ TARE_TRUST_UOPS | TARE_TRUST_SPECULATIVE | TARE_TRUST_UNTESTED,
		  "counts micro-ops; counts executed, not retired (untested)", "US" },
		{ TARE_TRUST_NOISY_INTERRUPTS | TARE_TRUST_BROKEN,
		  "broken; noisy: interrupts", "h" },
	};
	char out[160];

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_string_equal(tare_trust_text(want[i].trust, out, sizeof(out)), want[i].text);
		assert_string_equal(tare_trust_letters(want[i].trust, out, sizeof(out)),
				    want[i].letters);
	}
	assert_string_equal(tare_trust_text(TARE_TRUST_DETERMINISTIC, out, 5), "dete");
	out[0] = 'x';
	tare_trust_text(TARE_TRUST_DETERMINISTIC, out, 0);
	assert_int_equal(out[0], 'x');
}

static void cpus_by_name(void **state)
{
	struct tare_cpu cpu;

	assert_int_equal(tare_cpu_from_name("zen3", &cpu), 0);
	assert_int_equal(cpu.arch, TARE_ARCH_X86_64);
	assert_int_equal(cpu.vendor, TARE_VENDOR_AMD);
	assert_int_equal(cpu.family, 0x19);
	assert_int_equal(cpu.model, 0);
	assert_string_equal(cpu.brand, "AMD Zen 3");
	assert_false(cpu.hybrid);
	assert_true(cpu.lfence_serializes);
	assert_int_equal(tare_cpu_from_name("Gracemont", &cpu), 0);
	assert_true(cpu.hybrid);
	assert_int_equal(cpu.core, TARE_CORE_EFFICIENT);
	assert_int_equal(tare_cpu_from_name("neoverse-n1", &cpu), 0);
	assert_int_equal(cpu.midr, 0x410fd0c0);
	assert_int_equal(tare_cpu_from_name("no-such", &cpu), TARE_E_UNTESTED_CPU);
	assert_null(cpu.uarch);
	const struct tare_uarch *u;
	for (size_t i = 0; (u = tare_uarch_at(i)); i++) {
		assert_int_equal(tare_cpu_from_name(u->name, &cpu), 0);
		assert_ptr_equal(cpu.uarch, u);
		if (cpu.family)
			assert_ptr_equal(tare_uarch_x86(cpu.vendor, cpu.family, cpu.model, cpu.core), u);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_canonical),
		cmocka_unit_test(aliases_resolve_once),
		cmocka_unit_test(ids_map_to_one_row),
		cmocka_unit_test(known_ids),
		cmocka_unit_test(every_row_is_whole),
		cmocka_unit_test(facts),
		cmocka_unit_test(event_names_have_spellings),
		cmocka_unit_test(role_names_are_unique),
		cmocka_unit_test(trust_has_words),
		cmocka_unit_test(cpus_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
