/* The layouts of src/event/pfm-abi.h against libpfm4's own header; and the PMUs end where
 * event-pfm.c expects it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pfm-abi.h"

#include <perfmon/pfmlib_perf_event.h>

#define SAME(ours, theirs, field)                                                         \
	do {                                                                              \
		assert_int_equal(offsetof(struct ours, field), offsetof(theirs, field));  \
		assert_int_equal(sizeof(((struct ours *)0)->field),                       \
				 sizeof(((theirs *)0)->field));                           \
	} while (0)

static void layouts(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct pfm_abi_encode), sizeof(pfm_perf_encode_arg_t));
	SAME(pfm_abi_encode, pfm_perf_encode_arg_t, attr);
	SAME(pfm_abi_encode, pfm_perf_encode_arg_t, size);
	assert_int_equal(sizeof(struct pfm_abi_pmu), sizeof(pfm_pmu_info_t));
	SAME(pfm_abi_pmu, pfm_pmu_info_t, name);
	SAME(pfm_abi_pmu, pfm_pmu_info_t, size);
	SAME(pfm_abi_pmu, pfm_pmu_info_t, type);
	SAME(pfm_abi_pmu, pfm_pmu_info_t, first_event);
	SAME(pfm_abi_pmu, pfm_pmu_info_t, num_fixed_cntrs);
	assert_int_equal(sizeof(struct pfm_abi_event), sizeof(pfm_event_info_t));
	SAME(pfm_abi_event, pfm_event_info_t, name);
	SAME(pfm_abi_event, pfm_event_info_t, desc);
	SAME(pfm_abi_event, pfm_event_info_t, size);
	SAME(pfm_abi_event, pfm_event_info_t, nattrs);
	assert_int_equal(sizeof(struct pfm_abi_attr), sizeof(pfm_event_attr_info_t));
	SAME(pfm_abi_attr, pfm_event_attr_info_t, name);
	SAME(pfm_abi_attr, pfm_event_attr_info_t, desc);
	SAME(pfm_abi_attr, pfm_event_attr_info_t, size);
	SAME(pfm_abi_attr, pfm_event_attr_info_t, type);
}

/* The bit-field has no offset to compare. */
static void presence(void **state)
{
	union {
		pfm_pmu_info_t theirs;
		struct pfm_abi_pmu ours;
	} pmu = { .theirs = { .num_fixed_cntrs = 0 } };
	(void)state;
	assert_false(pmu.ours.is_present);
	pmu.theirs.is_present = 1;
	assert_true(pmu.ours.is_present);
}

static void numbers(void **state)
{
	(void)state;
	assert_int_equal(PFM_ABI_SUCCESS, PFM_SUCCESS);
	assert_int_equal(PFM_ABI_ERR_INVAL, PFM_ERR_INVAL);
	assert_int_equal(PFM_ABI_ERR_FEATCOMB, PFM_ERR_FEATCOMB);
	assert_int_equal(PFM_ABI_ERR_UMASK, PFM_ERR_UMASK);
	assert_int_equal(PFM_ABI_PLM0, PFM_PLM0);
	assert_int_equal(PFM_ABI_PLM3, PFM_PLM3);
	assert_int_equal(PFM_ABI_PLMH, PFM_PLMH);
	assert_int_equal(PFM_ABI_OS_NONE, PFM_OS_NONE);
	assert_int_equal(PFM_ABI_OS_PERF_EVENT, PFM_OS_PERF_EVENT);
	assert_int_equal(PFM_ABI_PMU_TYPE_CORE, PFM_PMU_TYPE_CORE);
	assert_int_equal(PFM_ABI_ATTR_UMASK, PFM_ATTR_UMASK);
}

static void pmus_end(void **state)
{
	(void)state;
	assert_int_equal(pfm_initialize(), PFM_SUCCESS);
	for (int i = 0; i < PFM_PMU_MAX; i++) {
		pfm_pmu_info_t pmu = { .size = sizeof(pmu) };
		assert_int_not_equal(pfm_get_pmu_info((pfm_pmu_t)i, &pmu), PFM_ERR_INVAL);
	}
	pfm_pmu_info_t none = { .size = sizeof(none) };
	assert_int_equal(pfm_get_pmu_info((pfm_pmu_t)100000, &none), PFM_ERR_INVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts),
		cmocka_unit_test(presence),
		cmocka_unit_test(numbers),
		cmocka_unit_test(pmus_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
