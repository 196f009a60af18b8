/* The table of roles: every event of the engine has one role, and the event room, which gives names
 * to what the engine counts, knows the same roles. */
#include "role-events.h"

#include "event-room.h"
#include "vpmu-abi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void each_event_has_a_role(void **state)
{
	unsigned roles[SOFT_EVENTS] = { 0 };
	(void)state;
	for (unsigned i = 0; i < TARE_ROLE_COUNT; i++) {
		const int event = role_event((enum tare_role)i);
		assert_true(event >= -1 && event < SOFT_EVENTS);
		if (event >= 0)
			roles[event]++;
	}
	/* instructions also have the role of the fixed counter */
	for (int k = 0; k < SOFT_EVENTS; k++)
		assert_int_equal(roles[k], k == SOFT_INSTRUCTIONS ? 2 : 1);
}

static void names_and_counts_agree(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TARE_ROLE_COUNT; i++) {
		const enum tare_role role = (enum tare_role)i;
		if (role == TARE_ROLE_INSTRUCTIONS_FIXED)
			continue;	/* `instructions` is its name */
		if (event_role_in_engine(role) != (role_event(role) >= 0))
			fail_msg("%s: named %d, counted %d", tare_role_name(role),
				 event_role_in_engine(role), role_event(role));
	}
}

/* The virtual PMU counts a row only where the engine's event is what the row counts. */
static void rows(void **state)
{
	(void)state;
	struct tare_event_row row = { .role = TARE_ROLE_LOADS, .trust = TARE_TRUST_DETERMINISTIC };
	assert_int_equal(role_vpmu_kind(&row), SOFT_LOADS);
	row.trust = TARE_TRUST_UOPS;
	assert_int_equal(role_vpmu_kind(&row), VPMU_NOTHING);
	row.role = TARE_ROLE_INTERRUPTS;
	assert_int_equal(role_vpmu_kind(&row), VPMU_INTERRUPTS);
	row.trust = TARE_TRUST_DETERMINISTIC;
	row.role = TARE_ROLE_FP;
	assert_int_equal(role_vpmu_kind(&row), VPMU_NOTHING);
	row.role = TARE_ROLE_OTHER;
	assert_int_equal(role_vpmu_kind(&row), VPMU_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_event_has_a_role),
		cmocka_unit_test(names_and_counts_agree),
		cmocka_unit_test(rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
