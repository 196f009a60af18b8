/* The notes of the kernels against Zydis, case by case and without running them: so kernels for CPUs
 * that this machine is not are checked, too. Cases with branches are left to single-stepping
 * (NAME-step), which is also by Zydis.
 */
#include "kernel.h"
#include "zclass.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool leaves_the_line(uint32_t events)
{
	return events & (1u << EV_BRANCHES | 1u << EV_SYSCALLS);
}

/* False: the bytes are not a plain sequence, or Zydis does not know one of them. */
static bool sum_case(const struct kernel *k, size_t i, uint64_t *sum, const char **why)
{
	const uint8_t *at = k->code + k->at[i], *const end = k->code + k->at[i + 1];
	while (at < end) {
		const struct zclass c = zclass_of(at, (unsigned)(end - at));
		if (!c.known) {
			*why = "unknown to Zydis";
			return false;
		}
		if (leaves_the_line(c.events)) {
			*why = "branches";
			return false;
		}
		for (int e = 0; e < EV_COUNT; e++)
			sum[e] += c.events >> e & 1;
		at += c.length;
	}
	return true;
}

static unsigned compare(const struct kernel *k, size_t i, const uint64_t *sum)
{
	unsigned wrong = 0;
	for (int e = 0; e < EV_COUNT; e++) {
		const uint64_t noted = k->cases[i].counts[e];
		if (sum[e] == noted)
			continue;
		wrong++;
		printf("%s: %s: %s: noted %" PRIu64 ", Zydis %" PRIu64 "\n", k->name,
		       k->cases[i].text, event_names[e], noted, sum[e]);
	}
	return wrong;
}

int main(void)
{
	/* The two lists of events are the same. */
	_Static_assert((int)KERNEL_EVENTS == (int)EV_COUNT &&
		       (int)KERNEL_FAR_TRANSFERS == (int)EV_FAR &&
		       (int)KERNEL_INDIRECT_BRANCHES == (int)EV_INDIRECT &&
		       (int)KERNEL_X87 == (int)EV_X87, "as in zclass.h");
	unsigned cases = 0, left = 0, wrong = 0;
	zclass_init();
	for (size_t n = 0; n < n_kernels; n++) {
		const struct kernel *const k = kernels[n];
		for (size_t i = 0; i < k->n_cases; i++) {
			uint64_t sum[EV_COUNT] = { 0 };
			const char *why = NULL;
			if (sum_case(k, i, sum, &why)) {
				cases++;
				wrong += compare(k, i, sum);
			} else if (!strcmp(why, "branches")) {
				left++;
			} else {
				printf("%s: %s: %s\n", k->name, k->cases[i].text, why);
				wrong++;
			}
		}
	}
	printf("%u cases compared, %u with branches left out, %u counts differ\n", cases, left, wrong);
	return wrong ? 1 : 0;
}
