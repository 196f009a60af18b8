/* The tables of machines: every row can be asked for, and answers as a CPU does. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static const struct world_leaf *find(const struct world_leaf *l, unsigned n, uint32_t leaf, uint32_t sub)
{
	for (unsigned i = 0; i < n; i++)
		if (l[i].leaf == leaf && (l[i].each || l[i].sub == sub))
			return &l[i];
	return NULL;
}

static void every_machine(void **state)
{
	const char *name, *about;
	size_t n = 0;
	(void)state;
	for (; (name = tare_machine(n, &about)); n++) {
		struct world_choice c;
		struct world_leaf l[WORLD_MAX_LEAVES];
		assert_int_equal(world_parse(name, &c, NULL), 0);
		assert_string_equal(c.machine->name, name);
		assert_true(about[0]);
		const unsigned leaves = world_leaves(&c, l);
		assert_in_range(leaves, 15, WORLD_MAX_LEAVES);
		for (unsigned i = 0; i < leaves; i++)		/* each answer once, and within the range told */
			assert_ptr_equal(find(l, leaves, l[i].leaf, l[i].sub), &l[i]);
		const uint32_t most = find(l, leaves, 0, 0)->a, more = find(l, leaves, 0x80000000u, 0)->a;
		for (unsigned i = 0; i < leaves; i++)
			assert_true(l[i].leaf <= most || (l[i].leaf >= 0x80000000u && l[i].leaf <= more));
		const bool xsave = find(l, leaves, 1, 0)->c >> 27 & 1;
		assert_int_equal(xsave, c.machine->xcr0 != 0);
		assert_int_equal(xsave, find(l, leaves, 0xd, 0) != NULL);
		/* AVX and AVX-512 have the state that they need */
		assert_int_equal(find(l, leaves, 1, 0)->c >> 28 & 1, c.machine->xcr0 >> 2 & 1);
		assert_int_equal(find(l, leaves, 7, 0)->b >> 16 & 1, c.machine->xcr0 >> 5 & 1);
		for (int i = 0; i < WORLD_CACHES; i++) {
			const struct world_cache *const k = &c.machine->caches[i];
			assert_int_equal(k->kib * 16 % k->ways, 0);
		}
	}
	assert_in_range(n, 9, 100);
}

static void hosts(void **state)
{
	struct world_choice c;
	struct world_host none = { .words = { 0 } }, all;
	struct buf names = { 0 };
	(void)state;
	memset(&all, 0xff, sizeof(all));
	all.fsgsbase = true;
	assert_int_equal(world_parse("x86-64-v3", &c, NULL), 0);
	world_lacks(c.machine, &all, &names);
	assert_int_equal(names.len, 0);
	world_lacks(c.machine, &none, &names);
	assert_non_null(strstr(names.data, "avx2"));
	assert_non_null(strstr(names.data, "lahf_lm"));
	assert_null(strstr(names.data, "avx512"));
	buf_free(&names);
	/* the CPU has AVX and the kernel has not enabled it */
	all.xcr0 = 3;
	world_lacks(c.machine, &all, &names);
	assert_non_null(strstr(names.data, "XCR0"));
	buf_free(&names);
	assert_true(world_has(c.machine, "avx2") && !world_has(c.machine, "avx512f") &&
		    !world_has(c.machine, "erms"));
}

static void sizes(void **state)
{
	(void)state;
	assert_int_equal(world_xsave_size(0), 512);
	assert_int_equal(world_xsave_size(7), 832);
	assert_int_equal(world_xsave_size(0xe7), 2688);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_machine), cmocka_unit_test(hosts), cmocka_unit_test(sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
