/* Runs the kernels of the library, in full size.
 *
 *	kernel-run list			the kernels that this machine can run, and the counts that
 *					each must have: NAME, 17 counts of its loops
 *	kernel-run 0|1 NAME...		runs each of these, no pass of its loop or all of them
 *
 * Between 0 and 1 only the kernels' loops differ.
 */
#include "kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int list(void)
{
	for (size_t i = 0; i < n_kernels; i++) {
		const struct kernel *const k = kernels[i];
		const char *const lacking = kernel_lacks(k);
		if (lacking) {
			printf("skipped: %s: this CPU has no %s\n", k->name, lacking);
			continue;
		}
		printf("%s", k->name);
		for (int e = 0; e < KERNEL_EVENTS; e++)
			printf(" %" PRIu64, k->loops * k->each[e]);
		printf("\n");
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "list"))
		return list();
	void *const memory = argc > 2 ? kernel_memory_open(NULL) : NULL;
	if (!memory)
		return 2;
	/* Not a truth value: a compiler would make a branch of the multiplication. */
	const uint64_t factor = (uint64_t)(argv[1][0] - '0');
	for (int i = 2; i < argc; i++) {
		const struct kernel *const k = kernel_by_name(argv[i]);
		if (!k)
			return 2;
		k->run(factor * k->loops, memory);
	}
	kernel_memory_close(memory);
	return 0;
}
