/* The kernels with known counts, against the real driver: `instructions` counts of each exactly what
 * its notes say. */
#include "guest.h"
#include "tap.h"

#include "kernel.h"

#include <tare/counter.h>
#include <tare/event.h>

#define LOOPS 40

NOT_SPECIALISED static uint64_t over(struct tare_counter *c, const struct kernel *k, uint64_t loops,
				     void *memory)
{
	uint64_t before = 0, after = 0;
	if (tare_counter_read(c, &before) != 0)
		return UINT64_MAX;
	k->run(loops, memory);
	return tare_counter_read(c, &after) == 0 ? after - before : UINT64_MAX;
}

static void count_kernels(struct tare_counter *c)
{
	void *const memory = kernel_memory_open(NULL);
	if (!tap_ok(memory, "memory for the kernels"))
		return;
	for (size_t i = 0; i < n_kernels; i++) {
		const struct kernel *const k = kernels[i];
		const char *const lacking = kernel_lacks(k);
		if (lacking) {
			tap_note("%s: this CPU has no %s", k->name, lacking);
			continue;
		}
		over(c, k, 0, memory);
		const uint64_t none = over(c, k, 0, memory);
		tap_is(over(c, k, LOOPS, memory) - none, LOOPS * k->each[KERNEL_INSTRUCTIONS],
		       "instructions of the kernel %s", k->name);
	}
	kernel_memory_close(memory);
}

void suite_kernels(void)
{
	struct tare_events *list = NULL;
	struct tare_counter *c = NULL;
	struct tare_why why = { 0 };
	const struct tare_counter_options o = TARE_OPTIONS(counter, .path = TARE_PATH_READ);
	int err = tare_events_parse("instructions:u", NULL, &list, &why);
	if (!err)
		err = tare_counter_open_event(tare_events_at(list, 0), &o, &c, &why);
	tare_events_free(list);
	if (tap_ok(!err, "open instructions:u: %s", why.what))
		count_kernels(c);
	tare_counter_close(c);
}
