/* Kernels with known counts: the tables, and that every kernel and every part of one runs. What
 * they count is checked in tests/asm. */
#include "kernel.h"
#include "loops.h"

#include <errno.h>
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static void the_tables_agree(void **state)
{
	(void)state;
	assert_true(n_kernels > 0);
	for (size_t i = 0; i < n_kernels; i++) {
		const struct kernel *const k = kernels[i];
		assert_ptr_equal(kernel_by_name(k->name), k);
		assert_true(k->loops > 0 && k->n_cases > 0 && k->about[0]);
		uint64_t sum[KERNEL_EVENTS];
		memcpy(sum, k->tail, sizeof(sum));
		for (size_t c = 0; c < k->n_cases; c++) {
			assert_true(k->cases[c].text[0]);
			assert_true(k->at[c] < k->at[c + 1]);
			for (int e = 0; e < KERNEL_EVENTS; e++)
				sum[e] += k->cases[c].counts[e];
		}
		assert_memory_equal(sum, k->each, sizeof(sum));
		assert_true(k->at[k->n_cases] < (size_t)(k->code_end - k->code));
		assert_int_equal(k->once[KERNEL_RETURNS], 1);
	}
	assert_null(kernel_by_name("no such kernel"));
}

/* Without those that only newer CPUs have, too: the paper's sections. */
static void all_together_are_large(void **state)
{
	(void)state;
	static const char newer[] = " rdtscp rdrand rdseed clflushopt fsgsbase serialize bmi1 avx fma f16c "
				    "aes sha_ni xsave avx512f amx_tile atomics ";
	uint64_t sum = 0;
	for (size_t i = 0; i < n_kernels; i++) {
		bool old = true;
		for (const char *const *f = kernels[i]->flags; *f; f++) {
			char word[32];
			snprintf(word, sizeof(word), " %s ", *f);
			old &= !strstr(newer, word);
		}
		if (old)
			sum += kernels[i]->loops * kernels[i]->each[KERNEL_INSTRUCTIONS];
	}
	printf("%zu kernels, %llu instructions\n", n_kernels, (unsigned long long)sum);
	assert_true(sum > 200000000);
}

static void every_event_has_a_role(void **state)
{
	(void)state;
	for (int e = 0; e < KERNEL_EVENTS; e++)
		assert_int_equal(kernel_event_of_role(kernel_event_role((enum kernel_event)e)), e);
	assert_int_equal(kernel_event_of_role(TARE_ROLE_INSTRUCTIONS_FIXED), KERNEL_INSTRUCTIONS);
	assert_int_equal(kernel_event_of_role(TARE_ROLE_CYCLES), -1);
}

/* False, and says why, where this CPU cannot run it. */
static bool runs_here(const struct kernel *k)
{
	const char *const lacking = kernel_lacks(k);
	if (lacking)
		printf("skipped: %s: this CPU has no %s\n", k->name, lacking);
	return !lacking;
}

static void every_kernel_runs(void **state)
{
	(void)state;
	void *const memory = kernel_memory_open(NULL);
	assert_non_null(memory);
	for (size_t i = 0; i < n_kernels; i++)
		for (uint64_t loops = 0; loops < 4 && runs_here(kernels[i]); loops++)
			kernels[i]->run(loops, memory);
	kernel_memory_close(memory);
}

/* A function keeps how its caller rounds: x86 has two control words, for x87 and SSE. */
static void control_words_are_kept(void **state)
{
	(void)state;
	void *const memory = kernel_memory_open(NULL);
	assert_non_null(memory);
	const volatile float five = 5, three = 3;
	assert_int_equal(fesetround(FE_UPWARD), 0);
	const volatile float upward = five / three;
	for (size_t i = 0; i < n_kernels; i++) {
		if (kernel_lacks(kernels[i]))
			continue;
		kernels[i]->run(2, memory);
		const volatile float after = five / three;
		if (fegetround() != FE_UPWARD || after != upward)
			fail_msg("%s changes how its caller rounds", kernels[i]->name);
	}
	fesetround(FE_TONEAREST);
	assert_true(five / three != upward);
	kernel_memory_close(memory);
}

static void the_loops_of_the_report(void **state)
{
	(void)state;
	uint64_t *const memory = kernel_memory_open(NULL);
	assert_non_null(memory);
	assert_int_equal(loops_plain()->each[KERNEL_INSTRUCTIONS], LOOPS_PER_PASS);
	assert_int_equal(loops_atomic()->each[KERNEL_INSTRUCTIONS], LOOPS_PER_PASS);
	assert_int_equal(loops_atomic()->each[KERNEL_LOCKED], 1);
	struct loops_rival *rival = NULL;
	assert_int_equal(loops_rival_start(memory, &rival, NULL), 0);
	memory[0] = 0;
	if (runs_here(loops_atomic())) {
		loops_atomic()->run(100000, memory);
		assert_int_equal(memory[0], 1600000);	/* bytes that its allocator gave */
	}
	const uint64_t additions = loops_rival_stop(rival);
	assert_true(additions > 0);
	assert_int_equal(memory[1], additions);
	assert_int_equal(loops_rival_stop(NULL), 0);
	kernel_memory_close(memory);
}

/* Any subset: none, all, each one alone, all but one, random ones. */
static void every_part_runs(void **state)
{
	(void)state;
	void *const memory = kernel_memory_open(NULL);
	assert_non_null(memory);
	srand(1);
	for (size_t i = 0; i < n_kernels; i++) {
		const struct kernel *const k = kernels[i];
		if (!runs_here(k))
			continue;
		struct kernel_part *part = NULL;
		assert_int_equal(kernel_part_open(k, &part, NULL), 0);
		bool *const wanted = calloc(k->n_cases, sizeof(*wanted));
		assert_non_null(wanted);
		for (size_t turn = 0; turn < 2 * k->n_cases + 22; turn++) {
			for (size_t c = 0; c < k->n_cases; c++)
				wanted[c] = turn < k->n_cases ? c == turn
					  : turn < 2 * k->n_cases ? c != turn - k->n_cases
					  : turn < 2 * k->n_cases + 2 ? turn & 1
					  : rand() & 1;
			uint64_t each[KERNEL_EVENTS] = { 0 };
			kernel_part_choose(part, wanted, each);
			kernel_part_run(part, 2, memory);
		}
		free(wanted);
		kernel_part_close(part);
	}
	kernel_memory_close(memory);
}

static bool refuse_code;
int __real_mprotect(void *at, size_t size, int prot);
int __wrap_mprotect(void *at, size_t size, int prot);

int __wrap_mprotect(void *at, size_t size, int prot)
{
	if (refuse_code && prot & PROT_EXEC) {
		errno = EACCES;
		return -1;
	}
	return __real_mprotect(at, size, prot);
}

static void refused_code_is_an_error(void **state)
{
	(void)state;
	struct kernel_part *part = NULL;
	struct tare_why why = { 0 };
	refuse_code = true;
	const int err = kernel_part_open(kernels[0], &part, &why);
	refuse_code = false;
	assert_int_equal(err, TARE_E_PERMISSION);
	assert_null(part);
	assert_non_null(strstr(why.what, kernels[0]->name));
	assert_non_null(strstr(tare_why_remedy(&why), "MemoryDenyWriteExecute"));
}

static void all_cases_are_the_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_kernels; i++) {
		const struct kernel *const k = kernels[i];
		struct kernel_part *part = NULL;
		assert_int_equal(kernel_part_open(k, &part, NULL), 0);
		bool *const wanted = malloc(k->n_cases);
		assert_non_null(wanted);
		memset(wanted, true, k->n_cases);
		uint64_t each[KERNEL_EVENTS] = { 0 };
		kernel_part_choose(part, wanted, each);
		assert_memory_equal(each, k->each, sizeof(each));
		free(wanted);
		kernel_part_close(part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tables_agree),
		cmocka_unit_test(all_together_are_large),
		cmocka_unit_test(every_event_has_a_role),
		cmocka_unit_test(every_kernel_runs),
		cmocka_unit_test(control_words_are_kept),
		cmocka_unit_test(the_loops_of_the_report),
		cmocka_unit_test(every_part_runs),
		cmocka_unit_test(refused_code_is_an_error),
		cmocka_unit_test(all_cases_are_the_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
