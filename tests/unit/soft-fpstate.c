/* Which FP state a signal frame has (fpstate.h), on CPUs that this machine is not. The sizes
 * are what kernels tell there in their own frames. */
#include "fpstate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* CPUID 0xD of a CPU with AVX-512, PKRU and AMX (Intel); parts of it are the others'. */
static struct fp_facts facts(uint64_t xcr0)
{
	return (struct fp_facts){ .xcr0 = xcr0, .end = {
		[2] = 576 + 256, [5] = 1088 + 64, [6] = 1152 + 512, [7] = 1664 + 1024,
		[9] = 2688 + 8, [17] = 2752 + 64, [18] = 2816 + 8192, [19] = 960 + 128 } };
}

static void expect(const struct fp_facts *f, uint64_t features, uint32_t size)
{
	const struct fp_layout l = fp_layout(f);
	assert_int_equal(l.features, features);
	assert_int_equal(l.size, size);
}

static void plain(void **state)
{
	(void)state;
	const struct fp_facts fx = facts(0), sse = facts(3), avx = facts(7), avx512 = facts(0xe7),
			      pkru = facts(0x207);
	expect(&fx, 0, 512);
	expect(&sse, 3, 576);
	expect(&avx, 7, 832);
	expect(&avx512, 0xe7, 2688);
	expect(&pkru, 0x207, 2696);
	/* AMD places them more closely; what CPUID says counts */
	struct fp_facts zen = facts(0x2e7);
	zen.end[5] = 832 + 64, zen.end[6] = 896 + 512, zen.end[7] = 1408 + 1024;
	zen.end[9] = 2432 + 8;
	expect(&zen, 0x2e7, 2440);
	/* APX has the highest number, not the highest place */
	const struct fp_facts apx = facts(0x802e7);
	expect(&apx, 0x802e7, 2696);
}

/* The configuration of tiles is in every frame, their data only where a thread used them. */
static void tiles(void **state)
{
	(void)state;
	struct fp_facts f = facts(0x602e7);
	expect(&f, 0x202e7, 2816);
	f.permitted = FP_DYNAMIC;
	expect(&f, 0x202e7, 2816);		/* permitted, not used */
	f.in_use = 0x2 | FP_DYNAMIC;
	expect(&f, 0x602e7, 11008);
	f.in_use = 0x2;				/* released, but the kernel has shown them */
	f.seen = 0x602e7;
	expect(&f, 0x602e7, 11008);
	f.seen = 0x202e7;
	expect(&f, 0x202e7, 2816);
	/* no permission: nothing says otherwise */
	f.permitted = 0;
	f.in_use = f.seen = FP_DYNAMIC;
	expect(&f, 0x202e7, 2816);
	/* a kernel that does not enable them */
	struct fp_facts old = facts(0x2e7);
	old.permitted = old.in_use = FP_DYNAMIC;
	expect(&old, 0x2e7, 2696);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(tiles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
