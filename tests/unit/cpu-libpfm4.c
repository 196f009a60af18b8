/* The tables against libpfm4: every event that it knows under the same name must
 * have the same code. Where the two disagree, and we stay with ours, the case is
 * listed below with the reason; a listed case that no longer disagrees fails too, unless
 * it is known to depend on the version. What only one of the two knows is not compared; the
 * number of such events is printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <perfmon/pfmlib.h>

#include <tare/cpu.h>

/* USR, OS, INT, EN: what libpfm4 adds and the kernel decides. */
#define X86_CONTROL 0x530000ull

/* Which libpfm4 PMUs describe a row. */
static const struct { const char *uarch, *pmu; } pairs[] = {
	{ "core2", "core" },
	{ "bonnell", "atom" },
	{ "nehalem", "nhm" }, { "nehalem", "nhm_ex" },
	{ "westmere", "wsm" }, { "westmere", "wsm_dp" },
	{ "sandybridge", "snb" }, { "sandybridge", "snb_ep" },
	{ "ivybridge", "ivb" }, { "ivybridge", "ivb_ep" },
	{ "haswell", "hsw" }, { "haswell", "hsw_ep" },
	{ "broadwell", "bdw" }, { "broadwell", "bdw_ep" },
	{ "skylake", "skl" }, { "skylake", "skx" }, { "skylake", "clx" },
	{ "icelake", "icl" }, { "icelake", "icx" },
	{ "sapphirerapids", "spr" }, { "emeraldrapids", "emr" },
	{ "graniterapids", "gnr" },
	{ "silvermont", "slm" }, { "goldmont", "glm" }, { "tremont", "tmt" },
	{ "knightslanding", "knl" }, { "knightslanding", "knm" },
	{ "goldencove", "adl_glc" }, { "gracemont", "adl_grt" },
	{ "k8", "amd64_k8_revf" }, { "k8", "amd64_k8_revg" },
	{ "k10", "amd64_fam10h_barcelona" }, { "k10", "amd64_fam10h_shanghai" },
	{ "k10", "amd64_fam10h_istanbul" },
	{ "griffin", "amd64_fam11h_turion" }, { "llano", "amd64_fam12h_llano" },
	{ "bobcat", "amd64_fam14h_bobcat" }, { "bulldozer", "amd64_fam15h_interlagos" },
	{ "jaguar", "amd64_fam16h" },
	{ "zen1", "amd64_fam17h_zen1" }, { "zen2", "amd64_fam17h_zen2" },
	{ "zen3", "amd64_fam19h_zen3" }, { "zen4", "amd64_fam19h_zen4" },
	{ "zen5", "amd64_fam1ah_zen5" },
	{ "cortex-a53", "arm_ac53" }, { "cortex-a55", "arm_ac55" }, { "cortex-a57", "arm_ac57" },
	{ "cortex-a76", "arm_ac76" }, { "neoverse-n1", "arm_n1" }, { "neoverse-n2", "arm_n2" },
	{ "neoverse-n3", "arm_n3" }, { "neoverse-v1", "arm_v1" }, { "neoverse-v2", "arm_v2" },
	{ "neoverse-v3", "arm_v3" }, { "a64fx", "arm_a64fx" }, { "thunderx2", "arm_thunderx2" },
	{ "kunpeng", "arm_hisilicon_kunpeng" }, { "xgene", "arm_xgene" },
};

static const struct {
	const char *pmu, *event;
	uint64_t theirs;
	const char *reason;
	bool some;		/* only some versions of libpfm4 disagree */
} exceptions[] = {
	{ "atom", "HW_INT_RCV", 0x01c8,
	  "Intel's list and the paper's r5100c8 have no unit mask; broken there anyway" },
	{ "nhm", "INST_RETIRED.ANY_P", 0x00c0,
	  "Intel's list has the precise form, mask 0x01; 0x00 is the architectural event" },
	{ "nhm_ex", "INST_RETIRED.ANY_P", 0x00c0, "as nhm" },
	{ "nhm", "BR_INST_RETIRED.ALL_BRANCHES", 0x00c4,
	  "Intel's list has the precise form, mask 0x04; 0x00 is the architectural event" },
	{ "nhm_ex", "BR_INST_RETIRED.ALL_BRANCHES", 0x00c4, "as nhm" },
	{ "wsm", "BR_INST_RETIRED.ALL_BRANCHES", 0x00c4, "as nhm" },
	{ "wsm_dp", "BR_INST_RETIRED.ALL_BRANCHES", 0x00c4, "as nhm" },
	{ "snb", "BR_INST_RETIRED.ALL_BRANCHES", 0x04c4,
	  "the other way round: Intel's list has the architectural event, 0x04 is precise" },
	{ "snb_ep", "BR_INST_RETIRED.ALL_BRANCHES", 0x04c4, "as snb" },
	{ "adl_glc", "INST_RETIRED.PREC_DIST", 0x01c0,
	  "Intel's list has the fixed counter's code; libpfm4 before 4.13 has it too", true },
};

static bool used[sizeof(exceptions) / sizeof(exceptions[0])];
static size_t agreed, unknown;

static bool excepted(const char *pmu, const char *event, uint64_t theirs)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++) {
		if (strcmp(exceptions[i].pmu, pmu) || strcmp(exceptions[i].event, event) ||
		    exceptions[i].theirs != theirs)
			continue;
		used[i] = true;
		return true;
	}
	return false;
}

static bool encode(const char *pmu, const char *event, uint64_t *code)
{
	char name[160];
	pfm_pmu_encode_arg_t arg = { .size = sizeof(arg) };

	snprintf(name, sizeof(name), "%s::%s", pmu, event);
	for (char *c = name + strlen(pmu) + 2; *c; c++)
		if (*c == '.')
			*c = ':';
	if (pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_NONE, &arg) != PFM_SUCCESS)
		return false;
	*code = arg.codes[0] & ~X86_CONTROL;
	free(arg.codes);
	return true;
}

/* A libpfm4 is built for one architecture, and may be older than the table. */
static bool has_pmu(const char *name)
{
	for (pfm_pmu_t p = PFM_PMU_NONE; p < PFM_PMU_MAX; p++) {
		pfm_pmu_info_t info = { .size = sizeof(info) };
		if (pfm_get_pmu_info(p, &info) == PFM_SUCCESS && !strcmp(info.name, name))
			return true;
	}
	return false;
}

static int check(const struct tare_uarch *u, const char *pmu)
{
	int wrong = 0;

	for (size_t i = 0; i < u->n_events; i++) {
		const struct tare_event_row *const row = &u->events[i];
		uint64_t code;
		if (!row->has_raw)
			continue;
		if (!encode(pmu, row->name, &code)) {
			unknown++;
			continue;
		}
		if (u->arch == TARE_ARCH_ARM64)
			code &= 0xffff;	/* libpfm4 adds the exception level bits */
		if (code == row->raw) {
			agreed++;
			continue;
		}
		if (excepted(pmu, row->name, code))
			continue;
		print_error("%s %s: %#llx here, %#llx in libpfm4 (%s)\n", u->name, row->name,
			    (unsigned long long)row->raw, (unsigned long long)code, pmu);
		wrong++;
	}
	return wrong;
}

static void codes_agree(void **state)
{
	int wrong = 0;
	size_t pmus = 0;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct tare_uarch *const u = tare_uarch_by_name(pairs[i].uarch);
		assert_non_null(u);
		if (!has_pmu(pairs[i].pmu))
			continue;
		pmus++;
		wrong += check(u, pairs[i].pmu);
	}
	print_message("%zu PMUs: %zu codes agree, %zu events unknown to libpfm4\n", pmus, agreed,
		      unknown);
	assert_int_equal(wrong, 0);
	assert_true(pmus >= 5);
	assert_true(agreed >= 40);
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++)
		if (!used[i] && !exceptions[i].some && has_pmu(exceptions[i].pmu))
			fail_msg("%s %s: listed as an exception, but it agrees", exceptions[i].pmu,
				 exceptions[i].event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_agree),
	};
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	if (pfm_initialize() != PFM_SUCCESS) {
		puts("libpfm4 does not start");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
