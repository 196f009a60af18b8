/* Counts parts of kernels with the PMU of skylake that `tare run` shows: each case alone, and random
 * choices of cases. What kernel_part_choose() says is what is counted.
 *
 *	tare run --cpu skylake -- kernel-parts
 */
#include "kernel.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	enum kernel_event event;
	uint64_t raw;
	const char *name;
} events[] = {
	{ KERNEL_INSTRUCTIONS, 0x00c0, "instructions" },
	{ KERNEL_BRANCHES, 0x00c4, "branches" },
	{ KERNEL_LOADS, 0x81d0, "loads" },
	{ KERNEL_STORES, 0x82d0, "stores" },
};
enum { N = sizeof(events) / sizeof(events[0]), LOOPS = 5, RANDOM = 4 };

static int leader = -1;

static int open_counters(void)
{
	for (int i = 0; i < N; i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_RAW, .size = sizeof(attr), .config = events[i].raw,
			.exclude_kernel = 1, .read_format = PERF_FORMAT_GROUP,
		};
		const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0);
		if (fd < 0)
			return -1;
		if (leader < 0)
			leader = fd;
	}
	return 0;
}

static void read_counters(uint64_t *values)
{
	uint64_t data[1 + N];
	if (read(leader, data, sizeof(data)) != sizeof(data))
		exit(2);
	memcpy(values, data + 1, sizeof(data) - sizeof(data[0]));
}

static void count(struct kernel_part *part, uint64_t loops, void *memory, uint64_t *counts)
{
	uint64_t before[N];
	read_counters(before);
	kernel_part_run(part, loops, memory);
	read_counters(counts);
	for (int i = 0; i < N; i++)
		counts[i] -= before[i];
}

static unsigned check(const struct kernel *k, struct kernel_part *part, const bool *wanted,
		      const char *what, void *memory)
{
	uint64_t each[KERNEL_EVENTS] = { 0 }, none[N], some[N];
	kernel_part_choose(part, wanted, each);
	count(part, 0, memory, none);
	count(part, LOOPS, memory, some);
	unsigned wrong = 0;
	for (int i = 0; i < N; i++) {
		const uint64_t got = some[i] - none[i];
		if (got == LOOPS * each[events[i].event])
			continue;
		printf("%s: %s: %s: counted %" PRIu64 ", expected %" PRIu64 "\n", k->name, what,
		       events[i].name, got, LOOPS * each[events[i].event]);
		wrong++;
	}
	return wrong;
}

static unsigned check_kernel(const struct kernel *k, void *memory)
{
	struct kernel_part *part = NULL;
	bool *const wanted = calloc(k->n_cases, sizeof(*wanted));
	if (!wanted || kernel_part_open(k, &part, NULL) < 0)
		exit(2);
	unsigned wrong = 0;
	for (size_t i = 0; i < k->n_cases; i++) {
		wanted[i] = true;
		wrong += check(k, part, wanted, k->cases[i].text, memory);
		wanted[i] = false;
	}
	for (int n = 0; n < RANDOM; n++) {
		for (size_t i = 0; i < k->n_cases; i++)
			wanted[i] = rand() & 1;
		wrong += check(k, part, wanted, "a random choice", memory);
	}
	kernel_part_close(part);
	free(wanted);
	return wrong;
}

int main(void)
{
	void *const memory = kernel_memory_open(NULL);
	if (!memory || open_counters() < 0) {
		printf("no counters: start this with tare run --cpu skylake\n");
		return 1;
	}
	unsigned wrong = 0, checked = 0;
	srand(1);
	for (size_t n = 0; n < n_kernels; n++) {
		const char *const lacking = kernel_lacks(kernels[n]);
		if (lacking) {
			printf("skipped: %s: this CPU has no %s\n", kernels[n]->name, lacking);
			continue;
		}
		wrong += check_kernel(kernels[n], memory);
		checked++;
	}
	printf("%u kernels, %u counts differ\n", checked, wrong);
	return wrong ? 1 : 0;
}
